"""Inertial units that are turned, tilted, biased, late, or not at the reference point."""

from __future__ import annotations

import numpy as np
import pytest

from skidpad.core.arrays import Array
from skidpad.study.logs.cleaning import low_pass
from skidpad.study.logs.imu import G
from skidpad.study.logs.preparation import Prepared, prepare
from study.logs.faulty_logs import NOISE, log_of, noisy, truth
from study.logs.test_preparation import T, both, line_of


def error(prepared: Prepared, name: str, true: Array | None = None) -> float:
    """Root mean square error of a channel below 2 Hz, without the noise that it keeps."""
    difference = prepared[name] - np.interp(prepared.t, T, truth()[name] if true is None else true)
    return float(np.sqrt(np.nanmean(low_pass(difference, 2.0, prepared.dt) ** 2)))


WITHOUT_SIDEWAYS = ("v_y", "x", "y")


def sensed(
    angle: float = 0.0, ahead: float = 0.0, left: float = 0.0, offsets: tuple[float, float] = (0, 0)
) -> dict[str, Array]:
    """What accelerometers show that are turned to the left, and mounted elsewhere."""
    omega = truth()["omega"]
    rate = np.gradient(omega, T)
    a_x = truth()["a_x"] - rate * left - omega**2 * ahead
    a_y = truth()["a_y"] + rate * ahead - omega**2 * left
    c, s = np.cos(angle), np.sin(angle)
    return {"a_x": c * a_x + s * a_y + offsets[0], "a_y": c * a_y - s * a_x + offsets[1]}


def interval(prepared: Prepared, words: str) -> tuple[float, float]:
    """The 95 % interval after some words in the lines of the unit."""
    (text,) = [line.text for line in prepared.lines if line.step == "imu" and words in line.text]
    low, high = text.split(words)[1].split("(")[1].split(")")[0].split(" to ")
    return float(low), float(high)


def test_angle_place_and_offsets_are_found_together() -> None:
    columns = noisy(**sensed(np.deg2rad(4.0), 0.8, 0.3, (0.3, -0.2)))
    with_it, without = both(log_of(columns), "imu")
    for name in ("a_x", "a_y"):
        assert error(with_it, name) < 0.4 * NOISE[name]
        assert error(without, name) > 2.0 * NOISE[name]
    low, high = interval(with_it, "turned to the left by")
    assert low < 4.0 < high < low + 0.5
    low, high = interval(with_it, "forward")
    assert low < 0.8 < high < low + 0.2
    low, high = interval(with_it, "m, to the left")
    assert (low + high) / 2.0 == pytest.approx(0.3, abs=0.02)
    assert "taken out" in [line for line in with_it.lines if line.step == "imu"][-1].text


def test_a_given_place_is_taken() -> None:
    columns = noisy(without=WITHOUT_SIDEWAYS, **sensed(0.0, 1.2, -0.4))
    prepared = prepare(log_of(columns), imu=(1.2, -0.4))
    assert error(prepared, "a_x") < 0.4 * NOISE["a_x"]
    assert error(prepared, "a_y") < 0.4 * NOISE["a_y"]
    assert error(prepare(log_of(columns)), "a_y") > 2.0 * NOISE["a_y"]


def test_offsets_are_found_without_the_lateral_velocity() -> None:
    columns = noisy(without=WITHOUT_SIDEWAYS, **sensed(offsets=(0.5, -0.4)))
    prepared = prepare(log_of(columns))
    assert abs(prepared["a_x"].mean() - truth()["a_x"].mean()) < 0.05
    assert abs(prepared["a_y"].mean() - truth()["a_y"].mean()) < 0.08
    assert "as of a tilt by 3 degrees" in line_of(prepared, "imu", "a_x").text


def test_a_late_acceleration_is_told_from_a_sensor_ahead() -> None:
    late = {"a_y": np.interp(T - 0.05, T, truth()["a_y"])}
    prepared = prepare(log_of(noisy(**late)))
    assert prepared.latency["a_y"].value == pytest.approx(0.05, abs=0.006)
    assert error(prepared, "a_y") < 0.5 * NOISE["a_y"]
    assert not [line for line in prepared.lines if "moved from" in line.text]
    ahead = prepare(log_of(noisy(**sensed(ahead=1.0))))
    assert "a_y" not in ahead.latency
    assert [line for line in ahead.lines if "moved from" in line.text]


@pytest.mark.parametrize("turn", [1.0, -1.0])
def test_a_unit_that_is_mounted_a_quarter_turn_round_is_turned_back(turn: float) -> None:
    columns = noisy(without=WITHOUT_SIDEWAYS, **sensed(turn * np.pi / 2.0))
    with_it, without = both(log_of(columns), "axes")
    side = "left" if turn > 0.0 else "right"
    assert f"a quarter turn to the {side}" in line_of(with_it, "axes", "a_x").text
    assert error(with_it, "a_y") < 0.4 * NOISE["a_y"]
    assert error(without, "a_y") > 0.5


def test_the_bias_of_a_gyro_is_found_by_standing_still_or_by_the_heading() -> None:
    columns = noisy()
    columns["omega"] = columns["omega"] + 0.01
    by_yaw, without = both(log_of(columns), "imu")
    assert ", by yaw" in line_of(by_yaw, "imu", "omega").text
    low, high = interval(by_yaw, "bias")
    assert low < 0.01 < high < low + 0.002
    assert error(by_yaw, "omega") < 0.5 * error(without, "omega")
    stopped = {name: np.concatenate([values[:3000], np.zeros(500), values[3000:]])
               for name, values in columns.items()}  # fmt: skip
    stopped["t"] = 0.01 * np.arange(len(stopped["t"]))
    stopped["omega"][3000:3500] = 0.01 + 0.005 * np.random.default_rng(1).normal(size=500)
    names = ("t", "v_x", "omega", "steer")
    prepared = prepare(log_of({name: stopped[name] for name in names}))
    assert "s of standing still" in line_of(prepared, "imu", "omega").text
    low, high = interval(prepared, "bias")
    assert low < 0.01 < high < low + 0.005


def test_gravity_is_taken_out_by_roll_if_it_is_in() -> None:
    """A body that rolls to the right in a left turn shows more than a_y: ISO 8855."""
    roll = 0.006 * np.interp(T - 0.05, T, truth()["a_y"])
    shown = truth()["a_y"] * np.cos(roll) + G * np.sin(roll)
    with_it, without = both(log_of(noisy(a_y=shown, roll=roll)), "gravity")
    assert error(with_it, "a_y") < 0.4 * NOISE["a_y"]
    assert error(without, "a_y") > 1.5 * NOISE["a_y"]
    assert "gravity taken out by roll" in line_of(with_it, "gravity", "a_y").text
    already = prepare(log_of(noisy(roll=roll)))
    assert not [line for line in already.lines if line.step == "gravity"]
    assert error(already, "a_y") < 0.4 * NOISE["a_y"]


def test_gravity_is_taken_out_by_pitch() -> None:
    """Its nose dips when a car brakes: more deceleration is shown."""
    pitch = -0.01 * truth()["a_x"]
    shown = truth()["a_x"] * np.cos(pitch) - G * np.sin(pitch)
    prepared = prepare(log_of(noisy(a_x=shown, pitch=pitch)))
    assert error(prepared, "a_x") < 0.4 * NOISE["a_x"]


def test_a_rolling_body_and_a_banked_road_are_reported_and_left() -> None:
    shown = 1.06 * truth()["a_y"]
    line = line_of(prepare(log_of(noisy(a_y=shown))), "gravity", "a_y")
    assert line.text.startswith("1.0")
    assert "3.4 degrees at 1 g" in line.text or "3.5 degrees at 1 g" in line.text
    assert line.share == 0.0
    bank = 0.06 * np.sin(0.3 * T)
    columns = noisy(without=WITHOUT_SIDEWAYS, a_y=truth()["a_y"] + G * np.sin(bank))
    prepared = prepare(log_of(columns))
    assert "bank of" in line_of(prepared, "gravity", "a_y").text
    assert error(prepared, "a_y", columns["a_y"]) < 1.1 * NOISE["a_y"]


def test_the_bias_of_a_gyro_is_no_offset_of_a_y() -> None:
    """v_x times the bias looks like an offset, but varies with the speed."""
    columns = noisy(without=("yaw", "x", "y"), omega=truth()["omega"] + 0.006)
    prepared = prepare(log_of(columns))
    low, high = interval(prepared, "bias")
    assert 0.0 < low < 0.006 < high
    assert not [line for line in prepared.lines if "offset" in line.text]
    assert error(prepared, "a_y") < 0.5 * NOISE["a_y"]
    assert abs(prepared["omega"].mean() - truth()["omega"].mean()) < 0.002


def test_at_constant_speed_neither_a_bias_nor_an_offset_is_taken_out() -> None:
    speed = np.full(len(T), 20.0)
    columns = noisy(
        without=("yaw", "x", "y", "v_y", "a_x"),
        **{"v_x": speed, "a_y": speed * truth()["omega"] - 0.3},
    )
    prepared = prepare(log_of(columns))
    (line,) = [line for line in prepared.lines if line.step == "imu"]
    assert "or a bias of omega" in line.text
    assert line.share == 0.0


@pytest.mark.parametrize("early", [False, True])
def test_a_late_sideslip_moves_no_other_channel(early: bool) -> None:
    sideslip = np.arctan2(truth()["v_y"], truth()["v_x"])
    late = -0.04 if early else 0.04
    columns = noisy(
        without=("yaw", "x", "y", "v_y"),
        sideslip=np.interp(T - late, T, sideslip)
        + 0.001 * np.random.default_rng(3).normal(size=len(T)),
    )
    prepared = prepare(log_of(columns))
    texts = [line.text for line in prepared.lines if line.step == "imu"]
    assert not [text for text in texts if "moved from" in text or ": moved" in text]
    low, high = interval(prepared, "disagree by")
    assert low < 0.04 < high < low + 0.03
    assert f"sideslip is probably {'early' if early else 'late'}" in texts[0]
    assert "delay.sideslip" in texts[0]
    assert error(prepared, "a_y") < 0.4 * NOISE["a_y"]


def test_an_early_acceleration_is_moved_later() -> None:
    early = {"a_y": np.interp(T + 0.05, T, truth()["a_y"])}
    prepared = prepare(log_of(noisy(**early)))
    (line,) = [line for line in prepared.lines if line.step == "imu"]
    assert line.text.startswith("0.0")
    assert line.text.endswith("s early: moved later")
