"""Straight driving at a steady speed: the state and input that a linearisation starts from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ... import record
from ...body import Velocity, Wish, body_of
from ...checks import positive, vehicle_of
from ...errors import InvalidValue
from ...model import Vehicle

STEPS = 30
TOLERANCE = 1e-10
"""Of the acceleration in m/s² that is left."""
_SMALLEST = 1e-13
"""Newton's steps beside the values, below which there is only rounding."""


class Symbols(NamedTuple):
    """A vehicle's equations on CasADi symbols: columns, and the records of them."""

    columns: tuple[Any, Any, Any]
    """State, input and parameters."""
    x: Any
    u: Any
    p: Any
    rate: Any
    """Column of the state's derivative; nothing disturbs."""


def symbols(vehicle: Vehicle) -> Symbols:
    """The equations of a continuous vehicle as expressions."""
    import casadi as ca

    traced, model = vehicle.casadi(), vehicle.model
    columns = traced.x, traced.u, traced.p
    x, u, p = (
        record.unflatten(kind, ca.vertsplit(column) if column.numel() else [])
        for kind, column in zip((model.State, model.Input, model.Params), columns, strict=True)
    )
    calm = ca.DM(list(record.flatten(record.build(model.Disturbance))))
    return Symbols(columns, x, u, p, ca.substitute(traced.f_expl, traced.w, calm))


def straight(
    vehicle: Vehicle, speed: float, inputs: Mapping[str, float] | None = None
) -> tuple[Any, Any]:
    """State and input of a vehicle that drives straight ahead at a steady `speed` in m/s.

    The input is what its body commands for the acceleration that holds the speed; what is neither
    pose nor velocity, as torques of actuators and turning wheels, is in balance. `inputs` says
    otherwise of some. Raises where nothing holds the speed.
    """
    speed, vehicle = positive("speed", speed, "m/s"), vehicle_of(vehicle)
    model, body, p = vehicle.model, body_of(vehicle, "straight driving"), vehicle.params
    rest = record.build(model.State)
    x = body.placed(rest, body.pose(rest, p), Velocity(speed, 0.0, 0.0), p)
    if abs(body.velocity(x, record.build(model.Input), p).v_x - speed) > 1e-9 * speed:
        raise InvalidValue(f"{vehicle.name!r} cannot be set in motion at {speed:g} m/s")
    if model.settle is not None:
        x = model.settle(x, p)
    x, a = _balance(vehicle, x, speed, inputs or {}) if model.continuous else (x, 0.0)
    u = record.build(model.Input, inputs or {}, base=body.command(x, Wish(a=a, v=speed), p))
    return record.build(model.State, x), u


def _balance(
    vehicle: Vehicle, x: Any, speed: float, held_inputs: Mapping[str, float]
) -> tuple[Any, float]:
    """The state with what is neither pose nor velocity in balance, and the acceleration to ask for
    so that there is none; by Newton's method."""
    function, inner = _imbalance(vehicle, speed, held_inputs)
    p = np.array(record.flatten(vehicle.params), dtype=float)
    row, a = np.array(record.flatten(x), dtype=float), 0.0
    for _ in range(STEPS):
        left, by_values = (np.asarray(value) for value in function(row, a, p))
        if not (np.isfinite(left).all() and np.isfinite(by_values).all()):
            break
        # Least squares, as a steering angle that nothing brings back has no balance of its own.
        step = np.linalg.lstsq(by_values, -left.ravel(), rcond=None)[0]
        if np.abs(step).max(initial=0.0) <= _SMALLEST * (
            1.0 + np.abs(row[inner]).max(initial=abs(a))
        ):
            if np.abs(left[len(inner) :]).max(initial=0.0) < TOLERANCE:
                return record.unflatten(vehicle.State, row.tolist()), a
            break
        row[inner] += step[: len(inner)]
        a += float(step[len(inner) :].sum())
    raise InvalidValue(
        f"nothing that its body commands holds {vehicle.name!r} at {speed:g} m/s: give the inputs "
        "or another speed"
    )


def _imbalance(
    vehicle: Vehicle, speed: float, held_inputs: Mapping[str, float]
) -> tuple[Any, list[int]]:
    """Rates of the inner states and the acceleration along the vehicle, with their derivatives by
    the inner states and the wish, as a CasADi function of state, wish and parameters; and the
    places of the inner states, on which neither pose nor velocity depends. The acceleration is
    left out where the inputs that it needs are held."""
    import casadi as ca

    body, (columns, x, u, p, rate) = body_of(vehicle, "straight driving"), symbols(vehicle)
    a = type(columns[0]).sym("a")
    commands = body.command(x, Wish(a=a, v=speed), p)
    names, values = record.names(vehicle.Input), record.flatten(commands)
    driven = ca.vertcat(
        *(held_inputs.get(name, value) for name, value in zip(names, values, strict=True))
    )
    motion = ca.vertcat(*body.velocity(x, u, p), *body.pose(x, p))
    moving = ca.sum1(ca.jacobian(motion, columns[0]).sparsity()).T
    inner = [k for k in range(columns[0].numel()) if not moving.has_nz(k, 0)]
    left, driven_by_wish = rate[inner], ca.jacobian(driven, a)
    if driven_by_wish.nnz():
        left = ca.vertcat(left, ca.jtimes(motion[0], columns[0], rate))
    left = ca.substitute(left, columns[1], driven)
    by_values = ca.jacobian(left, columns[0])[:, inner]
    if driven_by_wish.nnz():
        by_values = ca.horzcat(by_values, ca.jacobian(left, a))
    return ca.Function("imbalance", [columns[0], a, columns[2]], [left, by_values]), inner
