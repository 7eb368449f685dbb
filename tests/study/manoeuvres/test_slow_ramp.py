"""A slow ramp to the limit: against ramps by hand, linear theory, and what grip must do to it."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import skidpad as sp
from skidpad.errors import InvalidValue
from skidpad.study.manoeuvres import ConstantSpeed, Result, SlowRamp, Subject, adapt, perform
from skidpad.study.manoeuvres.case_run import CaseRun, from_columns
from skidpad.study.manoeuvres.logs import measure_drive
from study.manoeuvres.fakes import COARSE

V = 80.0 / 3.6


@cache
def results() -> Result:
    """A car as it is, and with its mass further back; without drag there is little thrust."""
    vehicle = sp.vehicles.single_track(C_drag=0.0)
    car = Subject(vehicle, {"l_f": vehicle.params.l_f + np.array([0.0, 0.3, 0.6])})
    (result,) = perform([SlowRamp()], [car], COARSE)
    return result


def by_hand(car: sp.Vehicle, driven: str, angles: np.ndarray) -> float:
    """Largest lateral acceleration, angle by angle in a Simulator, half a second each, with a
    driver of one line."""
    sim = sp.Simulator(car, dt=0.002)
    sim.reset(v_x=V)
    peak = 0.0
    for angle in angles.tolist():
        for _ in range(250):
            tau = float(np.clip(3000.0 * (V - sim.state.v_x) + 60.0, -1000.0, 1000.0))
            sim.step(steer=angle, **{f"tau_{driven}l": tau, f"tau_{driven}r": tau})
        peak = max(peak, float(sim.outputs().a_y))
    return peak


@pytest.mark.slow
def test_the_limit_is_the_peak_of_a_ramp_by_hand() -> None:
    """Of a car with the engine behind, far beyond where tyres are linear."""
    car = sp.vehicles.two_track("sports")
    (result,) = perform([SlowRamp()], [Subject(car)], COARSE)
    peak = by_hand(car, "r", np.arange(0.0, 0.22, 0.002))
    assert result["max_lateral_acceleration"] == pytest.approx(peak, rel=0.005)


@pytest.mark.slow
def test_grip_moves_the_limit_as_by_hand() -> None:
    """By one per cent of lateral grip each, smoothly: it is no step of a grid."""
    car = sp.vehicles.two_track()
    mu = car.params.tyres.tyre.lateral.mu * np.array([0.99, 1.0, 1.01])
    (result,) = perform([SlowRamp()], [Subject(car, {"tyres.tyre.lateral.mu": mu})], COARSE)
    limit = result["max_lateral_acceleration"]
    angles = np.arange(0.0, 0.15, 0.0025)
    hand = [by_hand(car.with_params({"tyres.tyre.lateral.mu": k}), "f", angles) for k in mu]
    np.testing.assert_allclose(limit, hand, rtol=1e-3)
    np.testing.assert_allclose(np.diff(limit), np.diff(hand), rtol=0.03)


def test_the_gradient_is_that_of_linear_theory() -> None:
    """Of all variants; it is a small difference of the slips of both axles."""
    findings = results().findings
    assert findings is not None
    K = findings["understeer_gradient"]
    slips = [theory.bicycle.sideslip_gradient for theory in results().car.theories(V)]
    np.testing.assert_allclose(K.value, K.theory, atol=0.02 * np.abs(slips).min())


@pytest.mark.slow_cases("car2-1.0")
@pytest.mark.parametrize(
    ("car", "rear"),
    [
        (sp.vehicles.two_track(), 0.0),
        (sp.vehicles.two_track("sports"), 0.0),
        (sp.vehicles.two_track(drive_front=0.0), 1.0),  # spins under power
        (sp.vehicles.two_track("sports", roll_front=0.2), 1.0),  # its rear tyres carry the roll
    ],
)
def test_which_end_gives_way_is_told(car: sp.Vehicle, rear: float) -> None:
    """A car that spins at the limit has a limit all the same, that of the turns before."""
    (result,) = perform([SlowRamp()], [Subject(car)], COARSE)
    assert result["rear_gives_way"] == rear
    assert (result.runs[-1].outcomes == ("spun",)) == bool(rear)
    assert 0.7 * result.car.grip < result["max_lateral_acceleration"] < result.car.grip
    assert result.findings is not None
    said = f"the {'rear' if rear else 'front'} gives way at the limit"
    assert said in result.findings.notes


def test_a_limit_beyond_the_largest_angle_is_said_to_be_there() -> None:
    """At walking pace the steering ends before the tyres do: neither end gives way."""
    (result,) = perform([SlowRamp(speed=4.0)], [Subject(sp.vehicles.single_track())], COARSE)
    assert result.findings is not None
    assert np.isnan(result["rear_gives_way"])
    assert any("still grows" in note for note in result.findings.notes)
    assert not any("gives way" in note for note in result.findings.notes)


@pytest.mark.slow
def test_the_limit_is_above_steady_turns() -> None:
    """Also of a car of which the first, faster ramp leaves balance long before the limit."""
    car = Subject(sp.vehicles.two_track("small_scale"))
    ramp, turns = perform([SlowRamp(), ConstantSpeed()], [car], COARSE)
    assert turns["largest_steady_lateral_acceleration"] < ramp["max_lateral_acceleration"]
    assert ramp["max_lateral_acceleration"] < car.grip
    assert np.isfinite(ramp["rear_gives_way"])


def test_a_log_of_a_ramp_gives_its_limit() -> None:
    """One with a step of the wheels is none."""
    run = results().runs[-1].variant(0)
    log = as_log(run, run.t + 3.0)
    test = adapt(SlowRamp(), log)
    assert isinstance(test, SlowRamp)
    assert test.sides == ("right",)
    assert test.speed == pytest.approx(V, rel=0.01)
    found = measure_drive(test, Subject(sp.vehicles.single_track(C_drag=0.0)), log)
    for metric in found.metrics:
        assert metric.value[0] == pytest.approx(results()[metric.name][0], rel=1e-3)
    with pytest.raises(InvalidValue, match="no slow ramp"):
        adapt(SlowRamp(), as_log(run, 0.1 * run.t))


def as_log(run: CaseRun, t: np.ndarray) -> CaseRun:
    return from_columns("log.csv", t, {name: rows[:, 0] for name, rows in run.signals.items()})
