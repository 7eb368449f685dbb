"""Sine with dwell: its angle over time, its unit, and who passes."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import skidpad as sp
from skidpad.study.manoeuvres import Result, Subject, perform
from skidpad.study.manoeuvres.case_run import from_columns
from skidpad.study.manoeuvres.steady_state import angle_line
from skidpad.study.manoeuvres.transient_response import (
    END,
    REGRESSION,
    SineWithDwell,
    moved_aside,
    ratio_of,
    sine_with_dwell,
    yaw_left,
)
from skidpad.vehicles.parts.steering import SteeringWheel
from study.manoeuvres.fakes import COARSE


def test_the_angle_is_a_sine_that_pauses_at_its_second_peak() -> None:
    """0.7 Hz, half a second of pause, nothing before and after."""
    t = np.linspace(-1.0, 4.0, 5001)
    angle = sine_with_dwell(t)
    np.testing.assert_allclose(
        angle[t < 1.0714], np.where(t < 0, 0, np.sin(1.4 * np.pi * t))[t < 1.0714]
    )
    assert (angle[(t > 1.0715) & (t < 1.5714)] == -1.0).all()
    assert (angle[t > 1.0 / 0.7 + 0.5] == 0.0).all()
    assert np.abs(np.diff(angle)).max() < 1.4 * np.pi * 0.001 * 1.001  # no jump


def test_shares_and_ways_are_those_of_a_known_motion() -> None:
    """Yaw rate that decays by itself, and a constant acceleration aside."""
    t = np.linspace(-1.0, END + 2.0, 1000)
    omega = np.where(t < END, -0.4, -0.4 * np.exp(-(t - END)))
    columns = {"omega": omega, "x": 20.0 * t, "y": np.where(t > 0.0, 2.0 * t**2, 0.0)}
    run = from_columns("known", t, columns | {"yaw": 0.0 * t})
    np.testing.assert_allclose(yaw_left(run, 1.0), np.exp(-1.0), rtol=1e-4)
    np.testing.assert_allclose(moved_aside(run), 2.0 * 1.07**2, rtol=1e-4)


@cache
def results() -> Result:
    """A car as it is and one with its mass behind."""
    car = Subject(sp.vehicles.single_track(), {"l_f": np.array([0.9, 1.45])})
    (result,) = perform([SineWithDwell()], [car], COARSE)
    return result


def test_the_unit_is_the_angle_of_linear_theory() -> None:
    """At 0.3 g tyres are still nearly linear."""
    car = results().car
    gains = [theory.gains["a_y"] for theory in car.theories(80.0 / 3.6)]
    np.testing.assert_allclose(results()["unit_angle"], 0.3 * 9.81 / np.array(gains), rtol=0.1)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_the_unit_is_a_linear_regression(side: float) -> None:
    """Of a softening tyre, a_y = 150 d - 900 d² with d = 0.004 t, to either side: from levels of
    0.1 to 0.375 g, of which the angles are known."""
    t = np.linspace(-1.0, 12.0, 1301)
    steer = 0.004 * np.maximum(t, 0.0)
    columns = {"steer": side * steer, "a_y": side * (150.0 * steer - 900.0 * steer**2)}
    line = angle_line(from_columns("ramp", t, columns), "a_y", *REGRESSION)
    levels = np.linspace(0.1 * 9.81, 0.375 * 9.81, 10_001)
    angles = (150.0 - np.sqrt(150.0**2 - 4.0 * 900.0 * levels)) / (2.0 * 900.0)
    slope, at_zero = np.polyfit(levels, angles, 1)
    assert line.slope[0] == pytest.approx(slope, rel=2e-3)
    found = line.at_zero[0] + 0.3 * 9.81 * line.slope[0]
    assert found == pytest.approx(at_zero + 0.3 * 9.81 * slope, rel=2e-4)
    through = np.interp(0.3 * 9.81, levels, angles)
    assert found > through * (1.0 + 1e-3)  # amid its ends a line lies above a curve that bends up


@pytest.mark.parametrize(
    ("ratio", "degrees"),
    [
        pytest.param(16.0, 270.0, id="the larger of 6.5 A and 270°"),
        pytest.param(42.0, None, id="6.5 A, between 270° and 300°"),
        pytest.param(60.0, 300.0, id="at most 300°"),
    ],
)
def test_the_last_angle_is_that_of_the_steering_wheel(ratio: float, degrees: float | None) -> None:
    """49 CFR 571.126, S7.9.4; A is 0.018 rad, so 6.5 A are 107°, 282° and 403° of the wheel."""
    car = Subject(sp.vehicles.single_track(l_f=0.9))
    (result,) = perform([SineWithDwell(steering_ratio=ratio)], [car], COARSE)
    unit, largest = result["unit_angle"], [np.abs(run.inputs[..., 0]).max() for run in result.last]  # type: ignore[index]
    last = 6.5 * unit[0] if degrees is None else np.deg2rad(degrees) / ratio
    assert max(largest) == pytest.approx(last, rel=1e-3)
    assert largest[0] == pytest.approx(1.5 * unit[0], rel=1e-3)
    steps = np.diff(np.unique(np.round(largest, 9)))
    assert steps.max() < 0.51 * unit[0]


def test_the_ratio_of_a_steering_wheel_is_the_vehicles_own() -> None:
    """And one without a steering wheel is told what that leaves out."""
    wheel = sp.vehicles.two_track(steering=SteeringWheel(18.0))
    assert ratio_of(Subject(wheel), None) == pytest.approx(18.0)
    assert ratio_of(Subject(wheel), 15.0) == pytest.approx(15.0)
    assert ratio_of(results().car, None) is None
    findings = results().findings
    assert findings is not None
    assert any("270°" in note for note in findings.notes)


def test_a_car_with_its_mass_behind_spins_sooner() -> None:
    """And both answer far enough."""
    ahead, behind = results()["largest_factor_passed"]
    assert behind < ahead
    assert (results()["least_displacement"] > 1.83).all()
