"""RK4 in NumPy over the whole batch, and on Python floats for one vehicle."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import integrate, record
from ...arrays import AnyArray
from ...model import Vehicle
from ..work import RK4_DT, Weave
from . import Advance, Drive


def numpy_rk4(vehicle: Vehicle, dt: float) -> Advance:
    """RK4 with the vehicle's function called on arrays of all vehicles, in the precision of x."""
    model = vehicle.model
    update = integrate.discretise(model, integrate.get("rk4"))
    w, p = record.build(model.Disturbance), vehicle.params

    def advance(x: AnyArray, u: AnyArray, steps: int) -> AnyArray:
        state = record.unflatten(model.State, tuple(np.ascontiguousarray(x.T)))
        held = record.unflatten(model.Input, tuple(np.ascontiguousarray(u.T)))
        for _ in range(steps):
            state, _ = update(state, held, w, p, dt)
        return np.stack(record.flatten(state), axis=1)

    return advance


def python_rk4(course: Weave) -> Drive:
    """RK4 with the vehicle's function called on floats."""
    model, p = course.vehicle.model, course.vehicle.params
    update = integrate.discretise(model, integrate.get("rk4"))
    w = record.build(model.Disturbance)
    start = record.unflatten(model.State, course.x0.tolist())
    state: Any = start

    def reset() -> None:
        nonlocal state
        state = start

    def step(row: Any) -> None:
        nonlocal state
        state, _ = update(state, row, w, p, RK4_DT)

    rows = [record.unflatten(model.Input, row) for row in course.held_rows(RK4_DT).tolist()]
    return Drive(rows, reset, step, lambda: record.flatten(state))
