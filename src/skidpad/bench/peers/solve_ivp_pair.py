"""Simulation as commonroad-control does it: a CasADi function, `solve_ivp` for both trajectories.

Every step of the disturbance is two calls of `solve_ivp` with SciPy's default tolerances, the
nominal and the perturbed one, whether they differ or not; the right-hand side is a call of a CasADi
function from Python.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

import numpy as np

from ... import record
from ...arrays import AnyArray
from ...model import Vehicle


def simulating(
    vehicle: Vehicle, delta_t_w: float
) -> Callable[[AnyArray, AnyArray, float], AnyArray]:
    """A function of the start, the input and the duration that returns the last perturbed state."""
    from scipy.integrate import solve_ivp

    f = _casadi_derivative(vehicle)
    w = np.zeros(record.size(vehicle.model.Disturbance))

    def advanced(x: AnyArray, u: AnyArray, step: float) -> AnyArray:
        def right_hand_side(_: float, y: AnyArray) -> AnyArray:
            return np.asarray(f(y, u, w)).ravel()

        solution: Any = solve_ivp(right_hand_side, (0.0, step), x, method="RK45")
        return solution.y[:, -1]

    def simulate(x0: AnyArray, u: AnyArray, t_final: float) -> AnyArray:
        steps = ceil(t_final / delta_t_w)
        nominal = perturbed = x0
        for _ in range(steps):
            nominal = advanced(nominal, u, t_final / steps)
            perturbed = advanced(perturbed, u, t_final / steps)
        return perturbed

    return simulate


def _casadi_derivative(vehicle: Vehicle) -> Any:
    import casadi as ca

    model = vehicle.model
    symbols = [
        ca.SX.sym(name, record.size(kind))
        for name, kind in (("x", model.State), ("u", model.Input), ("w", model.Disturbance))
    ]
    x, u, w = (
        record.unflatten(kind, ca.vertsplit(symbol))
        for kind, symbol in zip((model.State, model.Input, model.Disturbance), symbols, strict=True)
    )
    rate = record.flatten(vehicle.derivative(x, u, w))
    return ca.Function("f", symbols, [ca.vertcat(*rate)])
