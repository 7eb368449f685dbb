"""Comparing a model with a run: nothing for itself, known errors for another."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import skidpad as sp
from skidpad.study.identify import compare
from skidpad.vehicles.command_driven import autoware
from study.identify.drives import BASE, DT, MODEL, NOISE, TRUTH, commands, drive, log_of, noisy

SPEEDS = {"IDEAL_STEER_VEL": 5.0, "DELAY_STEER_VEL": 5.0}


@pytest.fixture(scope="module")
def run() -> sp.Trajectory:
    return drive()


@pytest.mark.parametrize("window", [None, 4.0])
def test_a_run_replayed_by_its_own_model_is_itself(
    run: sp.Trajectory, window: float | None
) -> None:
    found = compare(run, MODEL, {**BASE, **TRUTH}, window=window)
    assert [e.channel for e in found.errors] == ["position", "yaw", "v_x", "a_x", "omega", "steer"]
    assert max(e.max for e in found.errors) < 1e-9
    assert len(found.starts) == (1 if window is None else 4)


@pytest.mark.parametrize("compat", [None, "upstream"])
@pytest.mark.parametrize(
    "name",
    [
        "IDEAL_STEER_VEL",
        "IDEAL_STEER_ACC",
        "IDEAL_STEER_ACC_GEARED",
        "DELAY_STEER_VEL",
        "DELAY_STEER_ACC",
        "DELAY_STEER_ACC_GEARED_WO_FALL_GUARD",
    ],
)
def test_every_kind_of_model_replays_itself(name: str, compat: str | None) -> None:
    car = autoware(name, BASE, compat=compat)
    rng = np.random.default_rng(5)
    rows = np.repeat(rng.uniform(-0.2, 0.2, (12, len(car.Input._fields))), 5, axis=0)
    rows[:, 0] += SPEEDS.get(name, 0.0)
    if "gear" in car.Input._fields:
        rows[:, car.Input._fields.index("gear")] = 2.0
    simulator = sp.Simulator(car, DT)
    simulator.reset(v_x=5.0)
    found = compare(simulator.run(rows), name, BASE, compat=compat)
    assert max(e.max for e in found.errors) < 1e-9


def test_a_wrong_bias_shows_in_yaw_rate_and_not_in_steering(run: sp.Trajectory) -> None:
    wrong = {**BASE, **TRUTH, "steer_bias": TRUTH["steer_bias"] - 0.01}
    found = compare(run, MODEL, wrong)
    assert found["steer"].max < 1e-12
    # The true angle is larger by 0.01 rad, so the car turns faster by v 0.01 / (L cos² steer).
    faster = run["v_x"] * 0.01 / 2.79 / np.cos(run["steer"]) ** 2
    assert found["omega"].mean == pytest.approx(faster.mean(), rel=0.02)
    assert found["omega"].rmse >= abs(found["omega"].mean)
    assert found["position"].max > 1.0


def test_a_wrong_dead_time_shifts_the_replay(run: sp.Trajectory) -> None:
    later = {**BASE, **TRUTH, "acc_time_delay": TRUTH["acc_time_delay"] + 4 * DT}
    curve = compare(run, MODEL, later).curves["a_x"]
    # After the first second, in which both forget how they started.
    np.testing.assert_allclose(curve.replayed[200:], curve.recorded[196:-4], atol=1e-6)


def test_noise_is_all_that_remains_with_the_right_parameters(run: sp.Trajectory) -> None:
    found = compare(log_of(noisy(run)), MODEL, {**BASE, **TRUTH}, window=4.0)
    for name in ("a_x", "omega", "steer"):
        assert found[name].rmse == pytest.approx(NOISE[name], rel=0.25)


def test_wrapped_yaw_makes_no_error(run: sp.Trajectory) -> None:
    columns = noisy(run, scale=0.0)
    columns["yaw"] = np.mod(columns["yaw"] + 3.1, 2.0 * np.pi) - np.pi
    turned = compare(log_of(columns), MODEL, {**BASE, **TRUTH})
    assert turned["yaw"].max < 1e-9


def test_channels_that_were_not_logged_are_left_out(run: sp.Trajectory) -> None:
    kept = ("t", "v_x", "omega", "u_acceleration", "u_steer")
    columns = {name: values for name, values in noisy(run, scale=0.0).items() if name in kept}
    found = compare(log_of(columns), MODEL, {**BASE, **TRUTH})
    assert [e.channel for e in found.errors] == ["v_x", "omega"]
    # Steering and acceleration of the start are guessed: what they did to the velocity remains.
    assert np.ptp(found.curves["v_x"].error[80:]) < 1e-3
    assert np.abs(found.curves["omega"].error[80:]).max() < 0.03 * np.ptp(columns["omega"])


def test_a_slow_log_is_replayed_in_short_steps() -> None:
    # One step of 0.1 s would make steering with a lag of 0.03 s unstable.
    quick = {**BASE, "steer_time_constant": 0.03, "steer_time_delay": 0.125}
    simulator = sp.Simulator(autoware(MODEL, quick), DT)
    simulator.reset(v_x=8.0)
    amplitudes = {"acceleration": 1.0, "steer": 0.12}
    rows = np.repeat(commands(np.random.default_rng(2), 100, amplitudes), 4, axis=0)
    found = compare(simulator.run(rows)[::4], MODEL, quick)
    assert found.dt == pytest.approx(0.1)
    assert max(e.max for e in found.errors) < 1e-9


def test_windows_with_a_gap_are_left_out(run: sp.Trajectory) -> None:
    columns = noisy(run, scale=0.0)
    late = columns["t"] + np.where(np.arange(len(run)) >= 300, 1.0, 0.0)
    found = compare(log_of({**columns, "t": late}), MODEL, {**BASE, **TRUTH}, window=2.0)
    assert max(e.max for e in found.errors) < 1e-9
    assert all(not 5.5 < t < 8.5 for t in found.starts)
    assert "gap" in found.notes[0]


@pytest.mark.slow
def test_the_plot_has_every_channel_and_its_error(run: sp.Trajectory, tmp_path: Path) -> None:
    found = compare(log_of(noisy(run)), MODEL, BASE, window=4.0)
    drawn = found.plot(tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    titles = [axes.get_title(loc="left") for axes in drawn.axes]
    for title in ("x [m]", "Yaw [°]", "Velocity [m/s]", "Yaw rate [°/s]", "Path [m]"):
        assert title in titles
    below = drawn.axes[titles.index("Steering angle [°]") + 1]
    shown = np.concatenate([np.asarray(line.get_ydata()) for line in below.lines[:1]])
    most = np.rad2deg(found["steer"].max)
    assert np.nanmax(np.abs(shown)) == pytest.approx(most)


def test_what_cannot_be_compared_says_so(run: sp.Trajectory) -> None:
    with pytest.raises(sp.InvalidValue, match="vehicle_model_type = 'DELAY' is unknown"):
        compare(run, "DELAY", BASE)
    with pytest.raises(sp.InvalidValue, match="cannot be compiled"):
        compare(run, "LEARNED_STEER_VEL", BASE)
    with pytest.raises(sp.InvalidValue, match=r"window = -1"):
        compare(run, MODEL, BASE, window=-1.0)
    with pytest.raises(sp.InvalidValue, match=r"is 0\.5 s long; dead times of 0\.475 s"):
        compare(run[:21], MODEL, {**BASE, "acc_time_delay": 0.46})
    late = run.t + np.where(np.arange(len(run)) >= 300, 1.0, 0.0)
    with pytest.raises(sp.InvalidValue, match="gap without samples in every window"):
        compare(log_of({**noisy(run), "t": late}), MODEL, BASE, window=30.0)


def test_a_replay_that_diverges_is_named(run: sp.Trajectory) -> None:
    columns = noisy(run)
    columns["v_x"] = np.full(len(run), 1e300)
    columns["x"] = np.full(len(run), 1e308)
    with pytest.raises(sp.SimulationDiverged, match="diverges in the replay: x is not finite"):
        compare(log_of(columns), MODEL, {**BASE, "vel_lim": 1e308})
