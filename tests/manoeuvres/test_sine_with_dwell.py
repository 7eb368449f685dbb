"""Sine with dwell: its angle over time, its unit, and who passes."""

from __future__ import annotations

from functools import cache

import numpy as np

import skidpad as sp
from manoeuvres.fakes import COARSE
from skidpad.manoeuvres import Result, SineWithDwell, Subject, perform
from skidpad.manoeuvres.case_run import from_columns
from skidpad.manoeuvres.sine_with_dwell import END, moved_aside, sine_with_dwell, yaw_left


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


def test_a_car_with_its_mass_behind_spins_sooner() -> None:
    """And both answer far enough."""
    ahead, behind = results()["largest_factor_passed"]
    assert behind < ahead
    assert (results()["least_displacement"] > 1.83).all()
