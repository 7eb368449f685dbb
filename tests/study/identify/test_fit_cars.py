"""Cars with tyres fitted to logs of their motion: values, intervals, and what stays unknown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.study.identify import fit
from skidpad.study.identify.drives import prepare_logs
from skidpad.study.identify.fitting import Fit
from skidpad.study.identify.replay import Guess, Replay
from skidpad.study.logs import Log
from skidpad.study.logs.log import Channel

DT = 0.01
CAR = sp.vehicles.single_track("sports")
TRUTH = dict(zip(record.names(CAR.Params), record.flatten(CAR.params), strict=True))
STIFFNESS = ("tyres.front.lateral.K", "tyres.rear.lateral.K")
FREE = ("I_z", *STIFFNESS, "tyres.*.lateral.mu", "log.steer_offset")
NOISE = {"x": 0.02, "y": 0.02, "yaw": 0.002, "v_y": 0.03, "omega": 0.005, "a_y": 0.1}
NOISE |= {"v_x": 0.01, "steer": 1e-4}
"""Standard deviations in SI units."""
START = CAR.with_params({"I_z": 1.2 * TRUTH["I_z"], STIFFNESS[0]: 4.5e4, STIFFNESS[1]: 1.45e5})


def first_order(rng: np.random.Generator, tau: float, shape: tuple[int, ...]) -> np.ndarray:
    """Noise of standard deviation 1 over the first axis, with a correlation time in s."""
    keep = np.exp(-DT / tau) if tau else 0.0
    noise, table = rng.normal(size=shape), np.empty(shape)
    table[0] = noise[0]
    for k in range(1, len(table)):
        table[k] = keep * table[k - 1] + np.sqrt(1.0 - keep**2) * noise[k]
    return table


def drives(
    count: int,
    seconds: float,
    *,
    tau: float = 0.0,
    wind: float = 0.0,
    amplitude: float = 0.07,
    speed: float = 18.0,
) -> list[Log]:
    """Logs of random steering.

    Args:
        count, seconds: number of logs and their length.
        tau: correlation time of the noise of the sensors in s; white if 0.
        wind: standard deviation in N and N·m of a side force and a yaw moment that no sensor sees,
            with a correlation time of 0.5 s.
        amplitude: largest steering angle in rad.
        speed: speed at the start in m/s.
    """
    rng, steps = np.random.default_rng(3), round(seconds / DT)
    u = np.zeros((steps, count, 2))
    for k in range(count):
        begin = 0
        while begin < steps:
            end = begin + int(rng.integers(40, 200))
            u[begin:end, k, 0] = amplitude * rng.uniform(-1.0, 1.0)
            begin = end
    u[..., 1] = 400.0 + 800.0 * np.sin(0.3 * DT * np.arange(steps))[:, None]
    w = np.tile(record.flatten(record.build(CAR.model.Disturbance)), (steps, count, 1))
    w[..., 1:3] += wind * first_order(rng, 0.5, (steps, count, 2))
    x0 = np.array(record.flatten(record.build(CAR.State, {"v_x": speed})))
    fleet = sp.Fleet(CAR, DT)
    x = fleet.rollout(np.tile(x0, (count, 1)), u, disturbances=w)
    y = fleet.outputs(x, np.concatenate([u, u[-1:]]), disturbances=np.concatenate([w, w[-1:]]))
    states, outputs = record.names(CAR.State), record.names(CAR.model.Outputs)
    logs: list[Log] = []
    for k in range(count):
        channels: dict[str, Channel] = {}
        for name, sigma in NOISE.items():
            own = tau if name not in ("v_x", "steer") else 0.0
            table, names = (x, states) if name in states else (y, outputs)
            values = table[:, k, names.index(name)]
            noisy = values + sigma * first_order(rng, own, values.shape)
            channels[name] = Channel(DT * np.arange(steps + 1), noisy)
        logs.append(Log(f"log {k}", channels))
    return logs


@pytest.fixture(scope="module")
def found() -> Fit:
    return fit(START, drives(1, 24.0), FREE)


def test_parameters_come_back_from_a_log_of_motion(found: Fit) -> None:
    for name in ("I_z", *STIFFNESS):
        assert found[name].start == pytest.approx(record_value(START, name))
        assert found[name].value == pytest.approx(TRUTH[name], rel=0.02)
        assert record_value(found.vehicle, name) == found[name].value
    assert found["tyres.*.lateral.mu"].value == pytest.approx(1.0, abs=0.05)
    assert abs(found["log.steer_offset"].value) < 1e-3
    factor = found["tyres.*.lateral.mu"].value
    for axle in ("front", "rear"):
        name = f"tyres.{axle}.lateral.mu"
        assert record_value(found.vehicle, name) == pytest.approx(factor * TRUTH[name])


def record_value(vehicle: Any, name: str) -> float:
    return dict(zip(record.names(vehicle.Params), record.flatten(vehicle.params), strict=True))[
        name
    ]


def test_held_out_errors_are_beside_those_of_the_training(found: Fit) -> None:
    for part in ("training", "held out"):
        # The end of the log has only a few windows of 5 s.
        for horizon in (0.0, 0.5) if part == "held out" else (0.0, 0.5, 5.0):
            row = found.error("omega", horizon, part)
            assert row.after < row.before
        assert found.error("omega", part=part).after == pytest.approx(NOISE["omega"], rel=0.3)
    assert {row.horizon for row in found.errors if row.part == "training"} >= {0.5, 1.0, 2.0, 5.0}
    cut = 0.7 * 24.0
    assert max(r.drive.t[r.rows].max() for r in found.replays) <= cut + 1e-9
    assert min(r.drive.t[r.rows].min() for r in found.held_out) >= cut - 1e-9


def test_several_starts_reach_the_same_values(found: Fit) -> None:
    assert len(found.starts) == 3
    first, *others = found.starts
    for other in others:
        assert other.begin != first.begin
        np.testing.assert_allclose(other.values[:3], first.values[:3], rtol=0.01)
    assert not any("ended at other values" in note for note in found.notes)


def test_several_logs_are_fitted_at_once_and_whole_logs_held_out() -> None:
    one, two, three = drives(3, 15.0)
    found = fit(START, [one, two], FREE[:3], hold_out=three, starts=1)
    assert found.logs == ("log 0", "log 1")
    assert [replay.drive.name for replay in found.held_out] == ["log 2"]
    for name in FREE[:3]:
        assert found[name].value == pytest.approx(TRUTH[name], rel=0.05)


def test_speeds_that_were_not_fitted_and_offsets_near_zero_are_noted_and_fitted() -> None:
    (slow,), (fast,) = drives(1, 12.0), drives(1, 8.0, amplitude=0.02, speed=30.0)
    channels = dict(slow.channels)
    wheel = channels.pop("steer")
    channels["steering_wheel"] = wheel._replace(values=15.0 * wheel.values)
    by_hand = Log("by hand", channels)
    found = fit(CAR, by_hand, ["I_z", "log.steer_offset"], hold_out=fast, starts=1)
    assert abs(found["log.steer_offset"].value) < 0.01
    assert any("30" in note and "at another speed" in note for note in found.notes)


def test_outliers_hardly_move_robust_estimates() -> None:
    (log,) = drives(1, 10.0)
    bad = log["omega"].values.copy()
    bad[500:515] += 2.0
    spoilt = Log("spoilt", {**log.channels, "omega": log["omega"]._replace(values=bad)})
    more: Any = {"hold_out": 0.0, "starts": 1, "without": ["spikes"], "channels": ["omega"]}
    wider: dict[str, float] = {}
    for loss in ("huber", "squares"):
        pair = [fit(START, own, ["I_z"], loss=loss, **more)["I_z"] for own in (log, spoilt)]
        clean, other = (e.high - e.low for e in pair)
        wider[loss] = other / clean
        assert pair[1].value == pytest.approx(TRUTH["I_z"], rel=0.02)
    assert wider["huber"] < 1.3
    assert wider["squares"] > 2.0


def test_a_prior_counts_as_much_as_it_says() -> None:
    (log,) = drives(1, 15.0)
    more = {"hold_out": 0.0, "starts": 1}
    tight = fit(START, log, FREE[:3], priors={"I_z": (2500.0, 1.0)}, **more)
    assert tight["I_z"].value == pytest.approx(2500.0, abs=10.0)
    bounded = fit(START, log, FREE[:3], bounds={"I_z": (2200.0, 2600.0)}, **more)
    assert bounded["I_z"].value == pytest.approx(2200.0)
    assert bounded["I_z"].at_bound == "low"


def test_mass_inertia_and_stiffness_have_one_scale_in_lateral_motion() -> None:
    """Tyres far below their limit: only ratios of forces to masses show."""
    (log,) = drives(1, 15.0, amplitude=0.01)
    found = fit(START, log, ["m", "I_z", *STIFFNESS], hold_out=0.0, starts=1)
    (worst, *_) = found.untold
    assert {"m", "I_z", *STIFFNESS} == set(worst.names)
    assert "weighed" in worst.text
    assert "trade off" in worst.text
    rows = found.correlations
    np.testing.assert_allclose(np.diag(rows), 1.0)
    assert rows[0, 1] > 0.9


def test_friction_that_was_never_used_is_refused_with_an_advice() -> None:
    (log,) = drives(1, 15.0, amplitude=0.002)
    with pytest.raises(sp.InvalidValue) as caught:
        fit(START, log, ["tyres.*.lateral.mu", *STIFFNESS], hold_out=0.0, starts=1)
    text = str(caught.value)
    assert "does not tell tyres.*.lateral.mu" in text
    assert "closer to the limit of grip" in text
    assert f"Fit the others with --free {STIFFNESS[0]} --free {STIFFNESS[1]}" in text


@pytest.mark.slow
def test_what_is_fitted_by_default_is_what_the_log_tells() -> None:
    (log,) = drives(1, 15.0, amplitude=0.002)
    found = fit(START, log, hold_out=0.0, starts=1)
    assert {*STIFFNESS, "log.steer_offset"} <= set(found.names)
    assert not any("lateral.mu" in name for name in found.names)
    assert any("not fitted" in note and "lateral.mu" in note for note in found.notes)


def test_a_delay_of_a_channel_is_estimated() -> None:
    (log,) = drives(1, 15.0)
    t, values = log["omega"].t, log["omega"].values
    late = log["omega"]._replace(values=np.interp(t - 0.06, t, values))
    shifted = Log("late", {**log.channels, "omega": late})
    names = ["delay.omega", "I_z"]
    # Without the steps that would move channels relative to each other before.
    found = fit(CAR, shifted, names, hold_out=0.0, starts=1, without=["latency", "imu"])
    assert found["delay.omega"].low <= 0.06 <= found["delay.omega"].high
    assert found["delay.omega"].value == pytest.approx(0.06, abs=0.002)


def test_few_windows_are_noted() -> None:
    (log,) = drives(1, 10.0)
    found = fit(START, log, ["I_z"], hold_out=0.0, starts=1, window=4.0)
    assert found.windows == 2
    assert any("rest on 2 windows" in note for note in found.notes)


def test_the_file_is_what_params_reads(found: Fit, tmp_path: Path) -> None:
    import yaml

    values = yaml.safe_load(found.write(tmp_path / "car.yaml").read_text())
    assert values["log.steer_offset"] == found["log.steer_offset"].value
    own = {name: value for name, value in values.items() if not name.startswith("log.")}
    assert START.with_params(own) == found.vehicle


def test_the_plot_shows_what_was_held_out(found: Fit, tmp_path: Path) -> None:
    found.plot(tmp_path / "fit.png")
    assert (tmp_path / "fit.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(sp.InvalidValue, match="'other'"):
        found.plot(log="other")


@pytest.mark.slow
def test_friction_is_right_where_turning_slows_the_car(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tyres brake a car that turns; a replay that is slower by that needs less friction."""
    for name in NOISE:
        monkeypatch.setitem(NOISE, name, 0.0)
    (log,) = drives(1, 30.0)
    found = fit(CAR, log, FREE, hold_out=0.0, starts=1)
    assert found["tyres.*.lateral.mu"].value == pytest.approx(1.0, abs=0.001)
    for name in STIFFNESS:
        assert found[name].value == pytest.approx(TRUTH[name], rel=2e-4)


def test_a_replay_learns_to_follow_the_speed_of_a_car_that_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in NOISE:
        monkeypatch.setitem(NOISE, name, 0.0)
    (drive,) = prepare_logs(drives(1, 12.0), without=["filter"])
    replay = Replay(CAR, drive, window=3.0, channels=["v_x"])

    def error() -> float:
        return float(np.sqrt(np.mean(replay.errors(replay.run()) ** 2)))

    before = error()
    replay.follow_speed(Guess())
    after = error()
    assert before > 0.005
    assert after < 0.1 * before
    replay.follow_speed(Guess())
    assert error() == after
    # Windows of a car that cannot make the logged speed are left alone.
    weak = CAR.with_params({"drive.F_max": 1.0, "drive.F_min": -1.0, "C_drag": 50.0})
    slower = Replay(weak, drive, window=3.0, channels=["v_x"])
    first = slower.run()
    slower.follow_speed(Guess())
    np.testing.assert_array_equal(slower.run(), first)


def test_wrong_demands_are_named() -> None:
    (log,) = drives(1, 15.0)
    for options, message in (
        ({"free": ["I_zz"]}, "'I_zz'; did you mean"),
        ({"free": ["tyres.*.nothing"]}, r"tyres\.\*\.nothing matches no"),
        ({"free": ["I_z"], "bounds": {"m": (1.0, 2.0)}}, "bounds of m"),
        ({"free": ["I_z"], "bounds": {"I_z": (3.0, 2.0)}}, "must be numbers that go up"),
        ({"free": ["delay.v_z"]}, "'v_z'"),
        ({"free": ["tyres.*.lateral.K", STIFFNESS[0]]}, f"both set {STIFFNESS[0]}"),
        ({"free": ["I_z"], "loss": "cubic"}, "'cubic'"),
        ({"free": ["I_z"], "hold_out": 1.0}, "hold_out"),
    ):
        with pytest.raises(sp.InvalidValue, match=message):
            fit(CAR, log, **options)  # type: ignore[arg-type]


def coverage(logs: list[Log]) -> np.ndarray:
    """Share of the 95 % intervals of each parameter that hold the truth."""
    hits: list[list[bool]] = []
    for log in logs:
        own = fit(START, log, FREE, hold_out=0.0, starts=1)
        truth = [TRUTH.get(e.name, float("*" in e.name)) for e in own.estimates]
        hits.append([e.low <= t <= e.high for e, t in zip(own.estimates, truth, strict=True)])
    return np.mean(hits, axis=0)


def test_intervals_hold_under_errors_that_follow_each_other() -> None:
    # 30 intervals of 95 %, five to a log: fewer than 23 hits are rarer than 1 in 1000 even if
    # those of one log are not independent.
    assert coverage(drives(6, 12.0, tau=0.2, wind=300.0)).mean() >= 23 / 30


@pytest.mark.slow
@pytest.mark.parametrize(("tau", "wind"), [(0.0, 0.0), (0.2, 300.0)], ids=["white", "coloured"])
def test_intervals_cover_the_truth_as_often_as_they_say(tau: float, wind: float) -> None:
    found = coverage(drives(200, 60.0, tau=tau, wind=wind))
    assert 0.90 <= found.mean() <= 0.99
    # Shares of 200 logs have a standard deviation of 2 %.
    assert found.min() >= 0.90 - 2.0 * 0.02
