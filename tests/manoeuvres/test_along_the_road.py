"""Braking, coasting and tight turns against closed forms."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import skidpad as sp
from manoeuvres.fakes import KERNELS
from skidpad.manoeuvres import (
    CoastDown,
    Result,
    StraightBraking,
    Subject,
    TurningCircle,
    perform,
)
from skidpad.manoeuvres.braking import mean_deceleration, stopping_distance
from skidpad.manoeuvres.case_run import from_columns


@cache
def results() -> dict[str, Result]:
    """Two masses of a car."""
    car = Subject(sp.vehicles.single_track(), {"m": np.array([1000.0, 1500.0])})
    found = perform([StraightBraking(), CoastDown(), TurningCircle()], [car], KERNELS)
    return {result.manoeuvre.name: result for result in found}


@pytest.mark.parametrize("samples", [7001, 701])
def test_distance_and_deceleration_of_an_even_stop(samples: int) -> None:
    """v² / (2 a), and a, however far samples are apart: here 1 ms, and 10 ms as usual."""
    t = np.linspace(-1.0, 6.0, samples)
    v = np.where(t < 0.0, 30.0, np.maximum(30.0 - 8.0 * t, 0.0))
    run = from_columns("even", t, {"v_x": v, "speed": v})
    np.testing.assert_allclose(stopping_distance(run), 30.0**2 / 16.0, rtol=1e-4)
    np.testing.assert_allclose(mean_deceleration(run), 8.0, rtol=1e-4)


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
