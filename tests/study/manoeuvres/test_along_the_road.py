"""Braking, coasting and tight turns against closed forms."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import skidpad as sp
from skidpad.study.manoeuvres import Acceleration, Result, Subject, perform
from skidpad.study.manoeuvres.case_run import from_columns
from skidpad.study.manoeuvres.logs import measure_drive
from skidpad.study.manoeuvres.longitudinal import (
    CoastDown,
    StraightBraking,
    mean_deceleration,
    stopping_distance,
)
from skidpad.study.manoeuvres.steady_state import TurningCircle
from study.manoeuvres.fakes import COARSE, KERNELS


@cache
def results() -> dict[str, Result]:
    """Two masses of a car."""
    car = Subject(sp.vehicles.single_track(), {"m": np.array([1000.0, 1500.0])})
    found = perform([StraightBraking(), CoastDown(), TurningCircle()], [car], COARSE)
    return {result.manoeuvre.name: result for result in found}


@pytest.mark.parametrize("samples", [7001, 701])
def test_distance_and_deceleration_of_an_even_stop(samples: int) -> None:
    """v² / (2 a), and a, however far samples are apart: here 1 ms, and 10 ms as usual."""
    t = np.linspace(-1.0, 6.0, samples)
    v = np.where(t < 0.0, 30.0, np.maximum(30.0 - 8.0 * t, 0.0))
    run = from_columns("even", t, {"v_x": v, "speed": v})
    np.testing.assert_allclose(stopping_distance(run), 30.0**2 / 16.0, rtol=1e-4)
    np.testing.assert_allclose(mean_deceleration(run), 8.0, rtol=1e-4)


@pytest.mark.slow
def test_a_car_stops_within_what_its_grip_allows() -> None:
    """No shorter, and not much longer: its tyres lose grip with load, its brakes lag."""
    findings = results()["straight_braking"].findings
    assert findings is not None
    way = findings["stopping_distance"]
    assert (way.value > 0.9 * way.theory).all()
    assert (way.value < 1.3 * way.theory).all()


def test_coasting_tells_the_drag_of_the_air() -> None:
    """C / (2 m) of each car, and the same deceleration of rolling for both."""
    findings, p = results()["coast_down"].findings, sp.vehicles.single_track().params
    assert findings is not None
    drag = 0.5 * p.C_drag / np.array([1000.0, 1500.0])
    np.testing.assert_allclose(findings["resistance_square"].value, drag, rtol=1e-3)
    np.testing.assert_allclose(findings["resistance_linear"].value, 0.0, atol=1e-6)
    light, heavy = findings["resistance_constant"].value
    assert light == pytest.approx(heavy, rel=0.05)


def test_a_slow_turn_is_that_of_geometry() -> None:
    """Tyres hardly slip at walking pace."""
    findings = results()["turning_circle"].findings
    assert findings is not None
    kerb = findings["kerb_to_kerb"]
    np.testing.assert_allclose(kerb.value, kerb.theory, rtol=0.01)
    assert (findings["wall_to_wall"].value > kerb.value).all()


def test_a_kinematic_car_turns_exactly_so() -> None:
    """To the last digits."""
    (result,) = perform([TurningCircle()], [Subject(sp.vehicles.kinematic_bicycle())], KERNELS)
    assert result.findings is not None
    kerb = result.findings["kerb_to_kerb"]
    np.testing.assert_allclose(kerb.value, kerb.theory, rtol=1e-9)


LAUNCHED = {
    "two_track": sp.vehicles.two_track,
    "two_track:sports": lambda: sp.vehicles.two_track("sports"),
    "two_track:suv": lambda: sp.vehicles.two_track("suv"),
    "single_track:sports": lambda: sp.vehicles.single_track("sports"),
    "full_car:sports": lambda: sp.vehicles.full_car("sports"),
    "formula_student": sp.vehicles.formula_student,
    "four_wheel": sp.vehicles.four_wheel,
}


@pytest.mark.slow_cases("two_track:suv", "full_car:sports", "two_track:sports")
@pytest.mark.parametrize("name", LAUNCHED)
def test_a_launch_never_loses_speed(name: str) -> None:
    """Whatever the drive gives: where tyres do not hold it, a gentler launch counts."""
    car = Subject(LAUNCHED[name](), name=name)
    (result,) = perform([Acceleration()], [car], KERNELS)
    assert result.findings is not None
    (curve,) = result.findings.charts[0].curves
    assert np.diff(curve.y).min() > -1e-3
    values = {metric.name: float(metric.value[0]) for metric in result.findings.metrics}
    assert values["time_to_50_km_h"] < values["time_to_100_km_h"]
    assert values["speed_at_end"] >= curve.y[curve.x < 20.0].max() - 1e-3


def test_of_too_much_drive_the_tyres_take_what_they_hold() -> None:
    """Time to a speed is at least that of an even acceleration with all of the grip."""
    car = Subject(sp.vehicles.two_track("sports", tau_max=2600.0))
    (result,) = perform([Acceleration()], [car], COARSE)
    assert result.findings is not None
    assert result["time_to_100_km_h"] > 100.0 / 3.6 / car.grip
    assert result["time_to_100_km_h"] < 1.5 * 100.0 / 3.6 / car.grip
    (note,) = result.findings.notes
    assert "leaves its course" in note


def test_a_log_of_speed_alone_tells_times_to_speeds() -> None:
    t = np.arange(0.0, 40.0, 0.05)
    v = 5.0 * np.clip(t - 3.0, 0.0, None)
    unknown = np.full(t.shape, np.nan)
    columns = {"v_x": v, "speed": v, "sideslip": unknown, "x": unknown, "y": unknown}
    log = from_columns("speed.csv", t, columns | {"yaw": unknown})
    found = measure_drive(Acceleration(), Subject(sp.vehicles.two_track()), log)
    assert found["time_to_100_km_h"].value == pytest.approx(100.0 / 3.6 / 5.0, abs=0.11)
    assert np.isnan(found["time_over_75_m"].value).all()
