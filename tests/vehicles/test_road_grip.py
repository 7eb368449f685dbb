"""Less grip of the road: the peak of the tyres goes down, their stiffness does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.core import record
from skidpad.tyres.simple import MagicFormula, friction_on_road
from skidpad.vehicles.formula import External

road_car = pytest.mark.parametrize("car", [sp.vehicles.four_wheel], ids=["four_wheel"])
"""A car whose `mu_scale` is one factor for all tyres."""


def lateral(car: Any, v_y: float, mu: float) -> float:
    """Lateral friction of the rear left tyre of a car that drifts at 15 m/s, straight ahead."""
    x = record.build(car.State, v_x=15.0, v_y=v_y)
    out = car.outputs(x, car.Input(), External(mu_scale=mu))
    return out.F_y_rl / out.F_z_rl


@road_car
@pytest.mark.parametrize("mu", [0.1, 0.5, 1.0, 1.4])
def test_cornering_stiffness_is_the_tyres_on_any_road(car: Any, mu: float) -> None:
    tyre = car().params.tyre
    v_y = 1e-6
    slope = lateral(car(), -v_y, mu) / (v_y / 15.0)
    assert slope == pytest.approx(tyre.B * tyre.C * tyre.D, rel=1e-6)


@pytest.mark.slow
@road_car
def test_the_peak_goes_with_the_grip(car: Any) -> None:
    drifts = np.linspace(0.0, 15.0, 4001)
    for mu in (0.2, 0.6):
        most = max(lateral(car(), -float(v_y), mu) for v_y in drifts)
        assert most == pytest.approx(mu * car().params.tyre.D, rel=1e-4)


def test_the_curve_is_that_of_a_tyre_with_less_friction_and_the_same_stiffness() -> None:
    """mu f(alpha / mu) is the formula with mu D for D and B / mu for B: B C D is as it was."""
    tyre = MagicFormula()
    for mu in (0.3, 1.0, 1.2):
        other = tyre._replace(D=mu * tyre.D, B=tyre.B / mu)
        for alpha in (-0.3, -0.02, 0.0, 1e-3, 0.1):
            expected = other.friction(alpha)
            assert friction_on_road([alpha], tyre, mu)[0] == pytest.approx(expected, rel=1e-14)
    assert friction_on_road([0.1, -0.1], tyre, 0.0) == [0.0, 0.0]


@road_car
def test_gradients_are_finite_on_ice(car: Any) -> None:
    import casadi

    model = car.model
    w, x = casadi.SX.sym("w", 4), casadi.SX.sym("x", 11)
    arguments = model.State(*casadi.vertsplit(x)), model.Input(), External(*casadi.vertsplit(w))
    rates = casadi.vertcat(*model.derivative(*arguments, car().params))
    function = casadi.Function("f", [x, w], [casadi.jacobian(rates, casadi.vertcat(x, w))])
    for mu in (0.0, 1e-9, 0.05):
        for v_x in (5.0, 20.0):
            start = [0.0, 0.0, 0.0, v_x, 0.3, 0.2, 0.05, 10.0, 10.0, 10.0, 10.0]
            assert np.all(np.isfinite(np.array(function(start, [0.0, 0.0, 0.0, mu]))))
