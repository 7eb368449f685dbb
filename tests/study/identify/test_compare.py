"""Vehicles compared with recorded runs: known errors, and which model the runs support."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.errors import InvalidValue
from skidpad.ops import sqrt
from skidpad.study.identify import compare
from skidpad.study.identify.comparison import choose
from skidpad.study.identify.window_errors import ReplayedLog
from skidpad.study.logs.log import Channel, Log
from skidpad.study.logs.preparation import Prepared
from skidpad.study.rollouts import AS_RECORDED
from skidpad.vehicles.command_driven import autoware
from study.identify.drives import BASE, MODEL, TRUTH
from study.identify.drives import drive as autoware_drive

DT = 0.01
NAMES = ("x", "y", "yaw", "v_x", "v_y", "omega", "steer", "a_x", "a_y")
CAR = sp.vehicles.single_track()


def run_of(vehicle: Any, seconds: float, v_x: float = 20.0, size: float = 0.04) -> sp.Trajectory:
    """A weave with a slowly changing amplitude."""
    t = DT * np.arange(round(seconds / DT))
    table = np.zeros((len(t), record.size(vehicle.Input)))
    inputs = record.names(vehicle.Input)
    table[:, inputs.index("steer")] = size * np.sin(1.6 * t) * np.sin(0.3 * t)
    table[:, inputs.index("F_drive")] = 300.0
    simulator = sp.Simulator(vehicle, dt=DT)
    simulator.reset(v_x=v_x)
    return simulator.run(table)


def prepared(run: sp.Trajectory, name: str = "drive", noise: float = 0.0, **own: Any) -> Prepared:
    """The run as a preparation of its log would return it, with some channels replaced.

    The channels that are compared have noise.
    """
    rng = np.random.default_rng(3)
    noisy = {n: run[n] + noise * rng.normal(size=len(run)) for n in NAMES}
    channels = noisy | {n: run[n] for n in ("steer", "v_x")} | own
    return Prepared(name, run.t, DT, channels, {}, {}, {}, (), ())


@pytest.fixture(scope="module")
def run() -> sp.Trajectory:
    return run_of(CAR, 40.0)


def kinematic() -> sp.Vehicle:
    p = CAR.params
    return sp.vehicles.kinematic_bicycle(l_f=p.l_f, l_r=p.l_r, m=p.m, I_z=p.I_z)


def test_a_car_that_made_the_log_is_the_one_that_it_supports(run: sp.Trajectory) -> None:
    found = compare({"rolling": kinematic(), "sliding": CAR}, prepared(run))
    assert list(found.vehicles) == ["rolling", "sliding"]
    assert found.verdict.startswith("The logs support sliding.")
    (pair,) = found.pairs
    assert (pair.vehicle, pair.other, pair.is_certain) == ("rolling", "sliding", True)
    assert found.error("omega", vehicle="sliding").rmse < 2e-3
    assert found.error("omega", vehicle="rolling").rmse > 0.01


def test_a_simpler_car_is_supported_if_the_log_does_not_tell_them_apart() -> None:
    # At 4 m/s and small angles the tyres hardly slip, and the noise hides the rest.
    slow = prepared(run_of(CAR, 40.0, v_x=4.0, size=0.02), noise=0.2)
    found = compare([CAR, kinematic()], slow, window=2.0)
    assert found.verdict.startswith("The logs support kinematic_bicycle.")
    both = found.error("a_y", vehicle="kinematic_bicycle"), found.error("a_y", 0.0, "single_track")
    assert both[0].rmse == pytest.approx(both[1].rmse, rel=0.1)


def test_constant_errors_of_sensors_are_the_errors(run: sp.Trajectory) -> None:
    shifted = prepared(run, omega=run["omega"] - 0.02, a_y=run["a_y"] + 0.5)
    found = compare(CAR, shifted)
    for horizon in (0.0, 0.5, 2.0):
        assert found.error("omega", horizon).mean == pytest.approx(0.02, abs=1e-3)
        assert found.error("omega", horizon).rmse == pytest.approx(0.02, rel=0.03)
        assert found.error("a_y", horizon).mean == pytest.approx(-0.5, abs=0.01)
    assert found.error("a_y").unit == "m/s²"
    assert found.verdict == ""


def test_errors_at_a_horizon_are_those_of_that_time(run: sp.Trajectory) -> None:
    found = compare(CAR.with_params(m=1.3 * CAR.params.m), prepared(run), window=5.0, stride=2.5)
    (one,) = found.replays
    assert one.t.shape == (found.windows, 501)
    np.testing.assert_allclose(np.diff(one.t[:, 0]), 2.5, atol=1e-9)
    for horizon in (0.5, 1.0, 2.0, 5.0):
        at = one.errors[one.channels.index("omega"), :, round(horizon / DT)]
        error = found.error("omega", horizon)
        assert error.rmse == pytest.approx(np.sqrt(np.mean(at**2)))
        assert (error.max, error.windows) == (np.abs(at).max(), found.windows)
    assert found.horizons == (0.0, 0.5, 1.0, 2.0, 5.0)
    assert found.error("position", 0.5).rmse < found.error("position", 5.0).rmse


def test_paths_start_from_the_measured_pose_after_the_run_in(run: sp.Trajectory) -> None:
    wrong = {"wrong": CAR.with_params(l_f=0.9 * CAR.params.l_f)}
    here = compare(wrong, prepared(run))
    c, s = np.cos(2.0), np.sin(2.0)
    x, y = c * run["x"] - s * run["y"] + 50.0, s * run["x"] + c * run["y"] - 20.0
    turned = np.mod(run["yaw"] + 2.0 + np.pi, 2.0 * np.pi) - np.pi
    there = compare(wrong, prepared(run, x=x, y=y, yaw=turned))
    (one,) = here.replays
    np.testing.assert_allclose(one.errors[:3, :, 0], 0.0, atol=1e-9)
    for horizon in here.horizons:
        for channel in ("position", "yaw", "v_y"):
            expected = here.error(channel, horizon).rmse
            assert there.error(channel, horizon).rmse == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("slip", [True, False])
def test_paths_without_a_heading_start_along_the_track(run: sp.Trajectory, slip: bool) -> None:
    """As of GNSS positions in a car without an inertial platform, with and without sideslip."""
    c, s = np.cos(2.0), np.sin(2.0)
    x, y = c * run["x"] - s * run["y"] + 50.0, s * run["x"] + c * run["y"] - 20.0
    drive = prepared(run, x=x, y=y)
    for name in ("yaw", *([] if slip else ["v_y"])):
        del drive.channels[name]  # type: ignore[attr-defined]
    found = compare([CAR, kinematic()], drive, window=5.0)
    assert found.error("position", 5.0, "single_track").rmse < 0.5
    assert found.error("position", 5.0, "kinematic_bicycle").rmse < 15.0
    assert any("has no heading" in note for note in found.notes)


def test_what_diverges_is_counted_and_not_chosen(run: sp.Trajectory) -> None:
    ks = sp.vehicles.commonroad_ks()
    model = ks.model
    assert model.derivative is not None
    rate = model.derivative

    def breaking(x: Any, u: Any, w: Any, p: Any) -> Any:
        after = rate(x, u, w, p)
        return after._replace(yaw=after.yaw + 0.0 * sqrt(500.0 - x.x))

    broken = sp.Vehicle(replace(model, name="broken", derivative=breaking), ks.params)
    found = compare([broken, CAR], prepared(run), window=4.0)
    error = found.error("omega", vehicle="broken")
    assert 0 < error.diverged < error.windows == found.windows
    assert error.rmse == np.inf
    late = next(one.t[:, -1] for one in found.replays if one.vehicle == "broken")
    beyond = np.interp(late, run.t, run["x"]) > 500.0
    assert abs(error.diverged - beyond.sum()) <= 1
    assert found.pairs == ()
    assert found.verdict == (
        f"The logs support single_track. broken diverges in {error.diverged} of "
        f"{found.windows} windows and is left out of the choice."
    )


def test_all_vehicles_replay_the_same_windows(run: sp.Trajectory) -> None:
    holed = run["v_x"].copy()
    holed[1800:1810] = np.nan
    whole = compare([kinematic(), CAR], prepared(run), window=4.0, stride=4.0)
    found = compare([kinematic(), CAR], prepared(run, v_x=holed), window=4.0, stride=4.0)
    assert found.windows == whole.windows - 1
    for one in found.replays:
        assert not np.any((one.t[:, 0] < 18.0) & (one.t[:, -1] > 18.1))
    times = [one.t for one in found.replays]
    np.testing.assert_array_equal(times[0], times[1])


def test_errors_of_several_logs_are_those_over_all_of_them(run: sp.Trajectory) -> None:
    first, second = prepared(run, "a"), prepared(run[:2001], "b", omega=run["omega"][:2001] + 0.01)
    both = compare(CAR, [first, second], window=4.0, stride=4.0)
    assert both.logs == ("a", "b")
    alone = [compare(CAR, one, window=4.0, stride=4.0) for one in (first, second)]
    squares = [one.error("omega").rmse ** 2 * one.windows for one in alone]
    assert both.windows == sum(one.windows for one in alone)
    assert both.error("omega").rmse == pytest.approx(np.sqrt(sum(squares) / both.windows), rel=1e-6)


def test_windows_are_as_long_as_the_logs_contain_eight_times(run: sp.Trajectory) -> None:
    lengths = [compare(kinematic(), prepared(run[: 100 * n + 1])).window for n in (39, 20, 9)]
    assert lengths == [2.0, 2.0, 1.0]
    short = prepared(run[:2401])
    assert compare(kinematic(), [short] * 3).window == 5.0
    assert compare(kinematic(), [short] * 4).window == 10.0


def test_an_angle_of_the_hand_wheel_is_calibrated(run: sp.Trajectory) -> None:
    drive = prepared(run, steering_wheel=16.0 * run["steer"])
    del drive.channels["steer"]  # type: ignore[attr-defined]
    ratio = {"log.steer_ratio": 1.0 / 16.0}
    good = compare({"a": CAR, "b": CAR}, drive, calibration={**ratio, "b": {"delay.a_y": 0.0}})
    assert good.error("omega", vehicle="a").rmse == good.error("omega", vehicle="b").rmse < 2e-3
    wrong = compare(CAR, drive, calibration={"log.steer_ratio": 1.0 / 8.0})
    assert wrong.error("omega").rmse > 0.05


@pytest.mark.parametrize(
    ("factor", "words"), [(-1.0, "likely has its sign reversed"), (180.0 / np.pi, "is it in deg")]
)
def test_a_faulty_angle_of_the_hand_wheel_is_refused(
    run: sp.Trajectory, factor: float, words: str
) -> None:
    columns = {n: run[n] for n in ("v_x", "v_y", "omega", "a_y")}
    columns["steering_wheel"] = 16.0 * factor * run["steer"]
    log = Log("drive", {name: Channel(run.t, values) for name, values in columns.items()})
    with pytest.raises(InvalidValue, match=f"steering_wheel .*{words}"):
        compare(CAR, log)


@pytest.mark.parametrize("correlation", [0.0, 0.3])
def test_intervals_of_the_difference_cover_it(correlation: float) -> None:
    """Of 300 recordings of 20 windows; sequences of windows that are alike included."""
    rng = np.random.default_rng(1)
    t = np.arange(20)[:, None] + np.array([0.0, 1.0])
    zero = np.zeros((1, 20, 2))
    covered = 0
    for _ in range(300):
        own = rng.normal(size=40)
        for k in range(1, 40):
            own[k] = correlation * own[k - 1] + np.sqrt(1.0 - correlation**2) * own[k]
        logs = [
            ReplayedLog(name, "log", ("omega",), t, zero, zero + errors, zero + errors)
            for name, errors in (
                ("best", 1.0),
                ("other", np.repeat(1.4 + 0.1 * own[20:], 2).reshape(1, 20, 2)),
            )
        ]
        ((pair,), _) = choose(("best", "other"), logs)
        covered += pair.low <= 0.4 <= pair.high
    assert 0.9 <= covered / 300 <= 0.99


def replayed(name: str, errors: Any) -> ReplayedLog:
    """One window of two samples for each error."""
    t = np.arange(len(errors))[:, None] + np.array([0.0, 1.0])
    table = np.repeat(np.asarray(errors, dtype=float), 2).reshape(1, -1, 2)
    return ReplayedLog(name, "log", ("omega",), t, 0.0 * table, table, table)


def test_errors_that_grow_with_the_motion_are_told_apart() -> None:
    """Errors in a growing sine differ by a factor of 30, and the ratio of two vehicles does not."""
    rng = np.random.default_rng(2)
    growth = np.geomspace(0.02, 0.6, 11)
    good = 0.01 * np.exp(0.2 * rng.normal(size=11))
    logs = [replayed("rough", growth), replayed("fine", good)]
    ((pair,), verdict) = choose(("rough", "fine"), logs)
    assert pair.is_certain
    assert verdict.startswith("The logs support fine. Its error is the smallest.")


def test_an_uncertain_vehicle_with_several_times_the_error_is_not_chosen() -> None:
    few = [replayed("rough", [1.0, 1.1, 9.0]), replayed("fine", [1.0, 1.2, 1.0])]
    ((pair,), verdict) = choose(("rough", "fine"), few)
    assert not pair.is_certain
    assert pair.mean_ratio > 3.0
    assert verdict.startswith(
        "The logs cannot tell fine from rough. The error of fine is the smallest."
    )


@pytest.mark.parametrize("correlation", [0.0, 0.3])
def test_equal_vehicles_are_rarely_told_apart(correlation: float) -> None:
    rng = np.random.default_rng(4)
    alarms = 0
    for _ in range(300):
        own = rng.normal(size=(2, 20))
        for k in range(1, 20):
            own[:, k] = correlation * own[:, k - 1] + np.sqrt(1.0 - correlation**2) * own[:, k]
        logs = [replayed(n, np.exp(e)) for n, e in zip(("a", "b"), 0.5 * own, strict=True)]
        ((pair,), _) = choose(("a", "b"), logs)
        alarms += pair.is_certain
    assert alarms / 300 <= 0.1  # as the intervals, which hold in 9 of 10 cases at least


def test_vehicles_are_named_and_numbered(run: sp.Trajectory) -> None:
    drive = prepared(run[:1001])
    found = compare([CAR, CAR.with_params(m=1.1 * CAR.params.m), "commonroad_ks"], drive)
    assert list(found.vehicles) == ["commonroad_ks", "single_track", "single_track 2"]
    assert found.vehicles["single_track 2"].params.m == 1.1 * CAR.params.m


def test_a_run_of_autoware_s_model_is_replayed_by_its_commands(tmp_path: Path) -> None:
    run = autoware_drive(steps=400)
    path = tmp_path / "run.csv"
    run.to_csv(path)
    own = autoware(MODEL, {**BASE, **TRUTH})
    found = compare(own, path, dt=0.025, without=AS_RECORDED)
    assert set(found.channels) >= {"position", "yaw", "v_x", "a_x", "omega", "steer"}
    assert max(error.max for error in found.errors) < 1e-6
    # A steering bias of the model that the log does not have turns the car.
    other = compare(autoware(MODEL, {**BASE, **TRUTH, "steer_bias": 0.0}), path, dt=0.025)
    assert other.error("omega").rmse > 0.01


def test_files_of_one_drive_are_joined(run: sp.Trajectory, tmp_path: Path) -> None:
    def write(name: str, rows: Any, *columns: str) -> Path:
        table = np.column_stack([run.t[rows], *(run[c][rows] for c in columns)])
        path = tmp_path / name
        np.savetxt(path, table, "%.9g", ",", header=",".join(["t", *columns]), comments="")
        return path

    fast = write("imu.csv", slice(None), "omega", "steer", "a_x", "a_y")
    slow = write("gnss.csv", slice(None, None, 5), "v_x", "v_y")
    found = compare(CAR, [(fast, slow)], window=5.0)
    assert set(found.channels) == {"v_y", "omega", "a_y"}
    assert found.error("omega").rmse < 3e-3


@pytest.mark.slow
def test_plots_show_every_channel_and_horizon(run: sp.Trajectory, tmp_path: Path) -> None:
    found = compare([kinematic(), CAR], prepared(run), window=5.0)
    figure = found.plot(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    below = figure.axes[titles.index("Heading [°]") + 1]
    drawn = np.asarray(below.lines[0].get_ydata())
    assert np.nanmax(np.abs(drawn)) == pytest.approx(
        np.rad2deg(found.error("yaw", vehicle="kinematic_bicycle").max), rel=0.2
    )
    errors = found.plot_horizons(tmp_path / "b.png")
    names = {text.get_text() for text in errors.legends[0].get_texts()}
    assert names == {"kinematic_bicycle", "single_track"}
    shown = next(a for a in errors.axes if a.get_title(loc="left") == "Heading [°]")
    expected = [np.rad2deg(found.error("yaw", h).rmse) for h in found.horizons[1:]]
    np.testing.assert_allclose(np.asarray(shown.lines[0].get_ydata()), expected)


def test_what_cannot_be_compared_says_so(run: sp.Trajectory) -> None:
    drive = prepared(run[:1001])
    with pytest.raises(InvalidValue, match=r"window = -1"):
        compare(CAR, drive, window=-1.0)
    with pytest.raises(InvalidValue, match="no recorded run"):
        compare(CAR, [])
    with pytest.raises(InvalidValue, match="at least one vehicle"):
        compare([], drive)
    with pytest.raises(InvalidValue, match="'imu_x' must begin with log"):
        compare(CAR, drive, calibration={"imu_x": 1.0})
    with pytest.raises(InvalidValue, match="imu_z"):
        compare(CAR, drive, calibration={"log.imu_z": 1.0})
    with pytest.raises(InvalidValue, match=r"has no channel 'omegaa'|omegaa"):
        compare(CAR, drive, channels=["omegaa"])
    found = compare(CAR, drive)
    with pytest.raises(InvalidValue, match="no error of 'v_z' at 0 s"):
        found.error("v_z")
    with pytest.raises(InvalidValue, match="two_track"):
        found.error("omega", vehicle="two_track")
    with pytest.raises(InvalidValue, match="run2"):
        found.plot(log="run2")
    log = Log("short", {n: Channel(run.t[:40], run[n][:40]) for n in NAMES})
    with pytest.raises(InvalidValue, match="0\\.39 s to replay"):
        compare(CAR, log, without=["filter"])
