"""Steady turns and steps against the linear theory of the same car, all variants at once."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import skidpad as sp
from skidpad.study.manoeuvres import Case, ConstantSpeed, Result, StepSteer, Subject, perform
from skidpad.study.manoeuvres.steady_state import ConstantRadius, ConstantSteer, slope_at_zero
from study.manoeuvres.fakes import COARSE, KERNELS

SMALL = StepSteer(speed=20.0, a_y=0.5, rise=0.01)


@cache
def car() -> Subject:
    """Two variants, the second with its mass further back; without drag there is little thrust."""
    return Subject(sp.vehicles.single_track(C_drag=0.0), {"l_f": np.array([1.0, 1.3])})


@cache
def results() -> dict[str, Result]:
    """What each manoeuvre finds."""
    manoeuvres = ConstantRadius(), ConstantSpeed(), ConstantSteer()
    found = [*perform(manoeuvres, [car()], COARSE), *perform([SMALL], [car()], KERNELS)]
    return {result.manoeuvre.name: result for result in found}


def test_theory_is_that_of_the_tyres() -> None:
    """Axle stiffness times slip at the load of each axle is what carries the car in a turn."""
    bicycle = car().theory(20.0).bicycle
    p = car().vehicle.params
    assert bicycle.l_f == p.l_f
    assert bicycle.m == p.m
    # At 40 m/s the same axles: their stiffness does not depend on speed.
    faster = car().theory(40.0).bicycle
    np.testing.assert_allclose([faster.C_f, faster.C_r], [bicycle.C_f, bicycle.C_r], rtol=2e-3)


def test_a_car_that_nothing_resists_has_a_theory() -> None:
    """It keeps any speed, which is no reason to have no steady turn. On tyres in proportion to
    load and without trail, W_f / C_f - W_r / C_r is nothing, and the yaw gain is v / L."""
    free = {"tyres.tyre.carcass.rolling": 0.0, "C_drag": 0.0, "tyres.tyre.trail": 0.0}
    p = sp.vehicles.formula_student(free).params
    gains = Subject(sp.vehicles.formula_student(free)).theory(15.0).gains
    assert gains["omega"] == pytest.approx(15.0 / (p.l_f + p.l_r), rel=1e-6)
    # One that is told a rate of steering has none, whatever it is told.
    assert np.isnan(Subject(sp.vehicles.commonroad_st()).theory(15.0).gains["omega"])


@pytest.mark.parametrize("name", ["constant_radius", "constant_speed", "constant_steer"])
def test_gradients_are_those_of_linear_theory(name: str) -> None:
    """The sideslip of the rear axle, and that of the front axle beside it, from all three ways."""
    findings = results()[name].findings
    assert findings is not None
    slip, K = findings["sideslip_gradient"], findings["understeer_gradient"]
    np.testing.assert_allclose(slip.value, slip.theory, rtol=1e-3)
    # The gradient is a small difference of the slips of both axles.
    np.testing.assert_allclose(K.value, K.theory, atol=0.015 * np.abs(slip.theory).min())


def test_more_mass_behind_is_less_understeer() -> None:
    """By theory and by every way to drive it."""
    for name in ("constant_radius", "constant_speed", "constant_steer"):
        ahead, behind = results()[name]["understeer_gradient"]
        assert behind < ahead


def test_a_small_step_is_answered_as_by_linear_theory() -> None:
    """Yaw rate over time, sample by sample."""
    result = results()["step_steer"]
    run = result.runs[-2]
    for k, theory in enumerate(car().theories(20.0)):
        angle = run["steer"][-1, k]
        linear = theory.step(run.t - 0.5 * SMALL.rise)["omega"] * angle
        late = run.t > 0.03
        error = np.abs(run["omega"][late, k] - linear[late]).max()
        assert error < 0.01 * np.abs(linear).max()


def test_the_angle_of_a_step_is_the_one_that_was_asked_for() -> None:
    """4 m/s² in the steady turn, where tyres are no longer linear, of cars that differ."""
    variants = {"m": np.array([900.0, 1100.0, 1300.0]), "l_f": np.array([1.0, 1.2, 1.1])}
    steep = Subject(sp.vehicles.single_track(C_drag=0.0), variants)
    (result,) = perform([StepSteer()], [steep], COARSE)
    np.testing.assert_allclose(result["steady_lateral_acceleration"], 4.0, rtol=2e-3)


def test_who_cannot_says_why() -> None:
    """A kinematic car has no tyres."""
    (result,) = perform([SMALL], [Subject(sp.vehicles.kinematic_bicycle())], KERNELS)
    assert result.findings is None
    assert "no tyres" in result.unfit


def test_a_car_that_spins_is_said_to_have_spun() -> None:
    """A full turn of the wheel at speed with the handbrake on."""
    case = Case(label="spin", duration=3.0, v=25.0, steer=0.3, handbrake=1.0, hold=0.0, run_in=0.1)
    (run,) = KERNELS.drive([(Subject(sp.vehicles.four_wheel()), case)])
    assert run.outcomes == ("spun",)


def test_points_of_a_circle_are_on_it() -> None:
    """At its limit a car that is too fast goes wide; that is no point of the handling diagram."""
    chart = next(c for c in results()["constant_radius"].findings.charts)  # type: ignore[union-attr]
    curve = chart.curves[0]
    # Beyond the kinematic angle it needs ever more, and never jumps to the end of its steering.
    assert np.abs(curve.y).max() < 0.2
    assert (np.diff(curve.y[curve.x > 0.0]) > -1e-3).all()


def test_sensitivity_is_that_of_linear_theory() -> None:
    """v² / (L + K v²), the closed form of the single-track model, of both variants."""
    found = results()["constant_speed"]
    v = found.manoeuvre.speed  # type: ignore[attr-defined]
    closed = v**2 / (car().wheel_base + found["understeer_gradient"] * v**2)
    np.testing.assert_allclose(found["steering_sensitivity"], closed, rtol=5e-3)
    assert found.findings is not None
    theory = found.findings["steering_sensitivity"].theory
    np.testing.assert_allclose(found["steering_sensitivity"], theory, rtol=1e-2)


@pytest.mark.slow
def test_a_car_without_a_steady_turn_has_no_values_and_a_note() -> None:
    """A tall body that rocks for ever: nothing is found, and zero would be a number."""
    rocks = Subject(sp.vehicles.full_car(z_cg=1.0))
    (result,) = perform([ConstantRadius()], [rocks], COARSE)
    assert result.findings is not None
    assert np.isnan(result["largest_steady_lateral_acceleration"]).all()
    notes = "; ".join(result.findings.notes)
    assert "diverged" in notes
    assert "never became steady" in notes


def test_no_turn_enters_or_leaves_the_fit_of_a_gradient_at_once() -> None:
    """A point next to the largest lateral acceleration that is fitted, a little to either side: the
    slope moves as little as the point does. The fifth power is what the cubic fit leaves over."""
    x = np.array([0.5, 1.0, 1.5, -0.5, -1.0, -1.5])[:, None] * np.ones(41)
    last = np.linspace(1.99, 2.01, 41)
    x = np.concatenate([x, last[None], -last[None]])
    slopes = slope_at_zero(x, x + 0.1 * x**5, 2.0)
    moves = np.abs(np.diff(slopes))
    assert moves.max() < 3.0 * np.median(moves)
    exact = slope_at_zero(x, 0.3 + 2.0 * x - 0.1 * x**3, 2.0)
    np.testing.assert_allclose(exact, 2.0, rtol=1e-9)
