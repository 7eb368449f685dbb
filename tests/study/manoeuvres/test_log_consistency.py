"""Columns of a log that contradict each other are refused with the one that is likely wrong."""

from __future__ import annotations

import re
from itertools import product

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.study.logs.log import Channel, Log
from skidpad.study.logs.reading import read_log
from skidpad.study.manoeuvres import Subject, drive_of_log, perform, select
from skidpad.study.manoeuvres.logs import SIGNALS
from study.manoeuvres.fakes import COARSE

CAR = Subject(sp.vehicles.two_track())
TESTS = ("sine_with_dwell", "split_braking", "obstacle_avoidance", "step_steer", "braking_in_turn")
DEGREE = 180.0 / np.pi


def weaving(seed: int | None = None) -> dict[str, np.ndarray]:
    """A point that weaves at 20 m/s, slower and faster, in closed form; with noise of a seed."""
    t = np.arange(0.0, 20.0, 0.02)
    v = 20.0 + 2.0 * np.sin(0.5 * t)
    omega = 0.2 * np.sin(1.3 * t) + 0.05
    yaw = 0.2 / 1.3 * (1.0 - np.cos(1.3 * t)) + 0.05 * t
    steer = 0.15 * omega
    way = {
        "x": np.cumsum(v * np.cos(yaw)) * 0.02,
        "y": np.cumsum(v * np.sin(yaw)) * 0.02,
    }
    columns = {"t": t, "v_x": v, "omega": omega, "yaw": yaw, "steer": steer, **way}
    columns |= {"a_y": v * omega, "a_x": np.cos(0.5 * t)}
    if seed is not None:
        noise = np.random.default_rng(seed)
        sizes = {"v_x": 0.05, "omega": 0.005, "yaw": 1e-3, "a_y": 0.2, "a_x": 0.2, "steer": 1e-3}
        columns |= {k: columns[k] + noise.normal(0.0, s, len(t)) for k, s in sizes.items()}
    return columns


def log_of(columns: dict[str, np.ndarray], *names: str) -> Log:
    t = columns["t"]
    return Log("drive.csv", {name: Channel(t, columns[name]) for name in names})


@pytest.mark.parametrize("seed", [None, 1])
@pytest.mark.parametrize(
    "names",
    [
        ("v_x", "omega", "yaw", "steer", "x", "y", "a_y", "a_x"),
        ("v_x", "omega", "a_y"),
        ("v_x", "yaw", "x", "y"),
        ("v_x", "steer", "omega"),
    ],
)
def test_columns_that_agree_pass(names: tuple[str, ...], seed: int | None) -> None:
    _, notes = drive_of_log(log_of(weaving(seed), *names))
    assert not [note for note in notes if "agree" in note]


@pytest.mark.parametrize(
    ("wrong", "factor", "names", "words"),
    [
        ("omega", -1.0, ("v_x", "omega", "a_y", "steer"), "omega likely has its sign reversed"),
        ("a_y", -1.0, ("v_x", "omega", "a_y", "steer"), "a_y likely has its sign reversed"),
        ("yaw", -1.0, ("v_x", "omega", "a_y", "yaw"), "yaw likely has its sign reversed"),
        ("omega", DEGREE, ("v_x", "omega", "a_y"), "omega is likely in deg/s"),
        ("omega", DEGREE, ("v_x", "omega"), "omega is likely in deg/s"),
        ("omega", -DEGREE, ("v_x", "omega", "a_y", "steer"), "omega is likely in deg/s"),
        ("yaw", DEGREE, ("v_x", "omega", "yaw", "a_y"), "yaw is likely in deg,"),
        ("v_x", 3.6, ("v_x", "omega", "a_y"), "v_x is likely in km/h"),
        ("v_x", 3.6, ("v_x", "x", "y"), "v_x is likely in km/h"),
        ("a_y", 1.0 / 9.80665, ("v_x", "omega", "a_y"), "a_y is likely in g,"),
        ("steer", DEGREE, ("v_x", "steer", "omega"), "steer reaches .* is it in deg"),
    ],
)
@pytest.mark.parametrize("seed", [None, 2])
def test_one_wrong_column_is_named(
    wrong: str, factor: float, names: tuple[str, ...], words: str, seed: int | None
) -> None:
    columns = weaving(seed)
    columns[wrong] = factor * columns[wrong]
    with pytest.raises(InvalidValue, match=words) as caught:
        drive_of_log(log_of(columns, *names))
    blamed = [name for name in names if f"{name} likely" in str(caught.value)]
    assert blamed in ([], [wrong])


def test_columns_that_have_nothing_in_common_are_noted() -> None:
    columns = weaving()
    columns["v_y"] = 0.0 * columns["t"]
    columns["a_y"] = np.random.default_rng(3).normal(0.0, 3.0, len(columns["t"]))
    _, notes = drive_of_log(log_of(columns, "v_x", "v_y", "omega", "a_y"))
    assert any("hardly agree" in note for note in notes)


def test_steering_against_a_fast_turn_is_noted() -> None:
    """By hand: a car that drifts in a circle with 8 m/s², steered against it: not refused."""
    columns = weaving()
    columns |= {"omega": 0.0 * columns["t"] + 0.4, "v_x": 0.0 * columns["t"] + 20.0}
    columns["steer"] = -0.1 - 0.02 * np.sin(columns["t"])
    _, notes = drive_of_log(log_of(columns, "v_x", "omega", "steer"))
    assert any("correlation -0.9" in n and "as of a car that slides" in n for n in notes)


@pytest.mark.parametrize(
    ("wrong", "names", "words"),
    [
        ("steer", ("v_x", "omega", "steer"), "steer has the sign opposite to omega"),
        ("steer", ("v_x", "omega", "a_y", "steer"), "steer has the sign opposite to omega"),
        ("steer", ("v_x", "yaw", "steer"), "steer has the sign opposite to the rate of yaw"),
        ("steer", ("v_x", "a_y", "steer"), "steer has the sign opposite to a_y"),
        ("a_x", ("v_x", "a_x"), "a_x is .* times the change of v_x"),
        ("a_y", ("v_x", "omega", "a_y"), "a_y .* times v_x times omega"),
    ],
)
@pytest.mark.parametrize("noise", [0.0, 0.45])
def test_a_reversed_channel_is_refused_also_with_noise(
    wrong: str, names: tuple[str, ...], words: str, noise: float
) -> None:
    """Noise as large as half of the channel, slow as that of a banked road: the correlation is
    told, and what turns the channel round; turned round, the log is taken."""
    columns = weaving()
    columns["v_x"] = 20.0 + 4.0 * np.sin(0.5 * columns["t"])
    columns["a_x"], columns["a_y"] = 2.0 * np.cos(0.5 * columns["t"]), columns["v_x"] * 0.25
    columns["a_y"] = columns["v_x"] * columns["omega"]
    size = noise * float(np.sqrt(np.mean(columns[wrong] ** 2)))
    slow = np.sqrt(2.0) * size * np.sin(0.9 * columns["t"] + 0.5)
    columns[wrong] = -(columns[wrong] + slow)
    log = log_of(columns, *names)
    with pytest.raises(InvalidValue, match=words if not noise else wrong) as caught:
        drive_of_log(log)
    assert f"{wrong} likely has its sign reversed" in str(caught.value)
    assert f"--map COLUMN=-{wrong}" in str(caught.value)
    (said,) = re.findall(r"correlation (-\d\.\d\d)", str(caught.value))
    assert float(said) == pytest.approx(-1.0 / np.sqrt(1.0 + noise**2), abs=0.12)
    drive_of_log(read_log(log, {wrong: f"-{wrong}"}))


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_offsets_of_sensors_on_a_straight_road_are_no_contradiction(sign: float) -> None:
    t = np.arange(0.0, 30.0, 0.02)
    rng = np.random.default_rng(5)
    columns = {
        "t": t,
        "v_x": 25.0 + 0.0 * t,
        "omega": 0.015 + rng.normal(0.0, 0.002, len(t)),
        "a_y": sign * 0.5 + rng.normal(0.0, 0.1, len(t)),
    }
    drive_of_log(log_of(columns, "v_x", "omega", "a_y"))


DROPPED = (
    (),
    ("v_y", "sideslip"),
    ("v_y", "sideslip", "yaw", "x", "y"),
    ("omega", "v_y"),
    ("omega", "yaw", "v_y", "sideslip"),
)


@pytest.mark.slow_cases("obstacle_avoidance", "split_braking")
@pytest.mark.parametrize("name", TESTS)
def test_what_vehicles_do_is_no_contradiction(name: str) -> None:
    """At the limit, spinning, catching a spin, with a part of the columns: none is refused."""
    (result,) = perform([select([name])[0]], [CAR], COARSE)
    assert result.runs
    for run, dropped in product(result.runs, DROPPED):
        series = {
            signal: Channel(run.t, run[signal][:, 0])
            for signal in SIGNALS
            if signal in run and signal not in dropped and np.isfinite(run[signal][:, 0]).all()
        }
        if "v_x" in series:
            drive_of_log(Log(run.label, series))
