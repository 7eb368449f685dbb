"""CasADi's virtual machine: the same step as a `casadi.Function`, with parameters as constants."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np

from ... import integrate
from ...core import record
from ...core.arrays import AnyArray
from ...core.model import Vehicle
from ..work import RADAU_DT, RK4_DT, Weave
from . import Advance, Drive


def rk4_function(vehicle: Vehicle, dt: float) -> Any:
    x, u, state, held = _symbols(vehicle)
    update = integrate.discretise(vehicle.model, integrate.get("rk4"))
    w = record.build(vehicle.model.Disturbance)
    following, _ = update(state, held, w, vehicle.params, dt)
    return ca.Function("rk4", [x, u], [ca.vertcat(*record.flatten(following))], {"cse": True})


def collocation_function(vehicle: Vehicle, dt: float) -> Any:
    """CasADi's Radau collocation with 3 points, one element per step, as a Function of x and u."""
    x, u, state, held = _symbols(vehicle)
    rate = vehicle.derivative(state, held)
    problem = {"x": x, "u": u, "ode": ca.vertcat(*record.flatten(rate))}
    options = {
        "collocation_scheme": "radau",
        "interpolation_order": 3,
        "number_of_finite_elements": 1,
    }
    solver = ca.integrator("radau", "collocation", problem, 0.0, dt, options)
    return solver.factory("step", ["x0", "u"], ["xf"])


def _symbols(vehicle: Vehicle) -> tuple[Any, Any, Any, Any]:
    model = vehicle.model
    kinds = (model.State, model.Input)
    x, u = (ca.SX.sym(name, record.size(kind)) for name, kind in zip("xu", kinds, strict=True))
    state = record.unflatten(model.State, ca.vertsplit(x))
    return x, u, state, record.unflatten(model.Input, ca.vertsplit(u))


def mapped(function: Any, threads: int) -> Advance:
    """The step mapped over the batch, with one call per time step."""
    maps: dict[int, Any] = {}

    def map_of(count: int) -> Any:
        if count not in maps:
            maps[count] = (
                function.map(count) if threads == 1 else function.map(count, "thread", threads)
            )
        return maps[count]

    def advance(x: AnyArray, u: AnyArray, steps: int) -> AnyArray:
        states, inputs = ca.DM(x.T), ca.DM(u.T)
        for _ in range(steps):
            states = map_of(len(x))(states, inputs)
        return np.asarray(states.full()).T

    return advance


def called(course: Weave, dt: float) -> Drive:
    """Drive that calls the Function with arrays, the usual way."""
    function = _function_for(course.vehicle, dt)
    start = ca.DM(course.x0)
    state = start

    def reset() -> None:
        nonlocal state
        state = start

    def step(row: Any) -> None:
        nonlocal state
        state = function(state, row)

    return Drive(list(course.held_rows(dt)), reset, step, lambda: np.ravel(state.full()))


def buffered(course: Weave, dt: float) -> Drive:
    """Drive with CasADi's buffer interface, its fastest call: memory bound once, no checks or
    records."""
    function = _function_for(course.vehicle, dt)
    memory, trigger = function.buffer()
    x, u = course.x0.copy(), np.zeros(course.rows.shape[1])
    memory.set_arg(0, x.data)
    memory.set_arg(1, u.data)
    following = np.zeros_like(x)
    memory.set_res(0, following.data)

    def reset() -> None:
        x[:] = course.x0

    def step(row: AnyArray) -> None:
        u[:] = row
        trigger()
        x[:] = following

    def state() -> AnyArray:
        # Named here so that it lives as long as this Drive: `trigger` does not keep it.
        assert memory is not None
        return x.copy()

    return Drive(list(course.held_rows(dt)), reset, step, state)


def _function_for(vehicle: Vehicle, dt: float) -> Any:
    methods = {RK4_DT: rk4_function, RADAU_DT: collocation_function}
    return methods[dt](vehicle, dt)
