"""`scipy.integrate.solve_ivp` on a NumPy right-hand side.

Fleets hold their inputs, so that one call covers the rollout; `max_step` makes the solver take the
same dt, or less where its error control (SciPy's default tolerances) asks for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import AnyArray
from ...model import Vehicle
from ..work import Weave, derivative_of
from . import Advance, Drive


def stacked_rk45(vehicle: Vehicle, dt: float) -> Advance:
    """RK45 on the states of all vehicles as one long vector."""

    def advance(x: AnyArray, u: AnyArray, steps: int) -> AnyArray:
        columns = np.ascontiguousarray(x.T)
        derivative = derivative_of(vehicle, np.ascontiguousarray(u.T))

        def right_hand_side(_: float, y: AnyArray) -> AnyArray:
            return derivative(y.reshape(columns.shape)).ravel()

        end = _solve(right_hand_side, columns.ravel(), steps * dt, "RK45", max_step=dt)
        return end.reshape(columns.shape).T

    return advance


def radau_each(vehicle: Vehicle, dt: float) -> Advance:
    """Radau on one vehicle after the other: together their Jacobian would be a huge matrix."""

    def advance(x: AnyArray, u: AnyArray, steps: int) -> AnyArray:
        ends = [
            _solve(_on_floats(vehicle, row), start, steps * dt, "Radau", max_step=dt)
            for start, row in zip(x, u.tolist(), strict=True)
        ]
        return np.array(ends)

    return advance


def single(course: Weave, dt: float, method: str) -> Drive:
    """One call of `solve_ivp` a step, as in closed loop."""
    state = course.x0

    def reset() -> None:
        nonlocal state
        state = course.x0

    def step(row: list[float]) -> None:
        nonlocal state
        state = _solve(_on_floats(course.vehicle, row), state, dt, method)

    return Drive(course.held_rows(dt).tolist(), reset, step, lambda: state)


def _on_floats(vehicle: Vehicle, row: list[float]) -> Any:
    # One vehicle is faster on Python floats than on NumPy scalars.
    derivative = derivative_of(vehicle, row)
    return lambda _, y: derivative(y.tolist())


def _solve(f: Any, y: AnyArray, duration: float, method: str, **options: Any) -> AnyArray:
    from scipy.integrate import solve_ivp

    # t_eval keeps it from storing every step.
    solution: Any = solve_ivp(f, (0.0, duration), y, method=method, t_eval=(duration,), **options)
    if not solution.success:
        raise RuntimeError(solution.message)
    return solution.y[:, -1]
