"""The modes of a vehicle in straight driving, and the longest stable step of a method with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import record
from ..arrays import Array
from ..body import Velocity, Wish
from ..compile.plant import StableStep
from ..errors import InvalidValue
from ..integrate.base import Integrator, flat_result
from ..integrate.stability import longest_step
from ..model import Model, Vehicle
from ..units import m_s
from .kept import Kept

SPEEDS = (1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 50.0)
"""In m/s, as far as the vehicle goes; slower, slip angles are as stiff as one likes."""
SHARES = (0.1, 0.25, 0.5, 1.0)
"""Of the top speed of a vehicle that is slower than the second of these speeds."""


_TABLES: Kept[tuple[StableStep, ...]] = Kept()
_JACOBIANS: Kept[_Jacobian] = Kept()


def stable_steps(vehicle: Vehicle, method: Integrator) -> tuple[StableStep, ...]:
    """The longest stable step at each speed; empty where every step is.

    So it is of discrete models, which have no modes but their own, and of methods that are stable
    with every step.
    """
    model = vehicle.model
    if not model.continuous or method.implicit or method.adaptive:
        return ()
    key = (method, record.flatten(vehicle.params))
    return _TABLES.get(model, key, lambda: tuple(_table(vehicle, method.bind(model))))


def _table(vehicle: Vehicle, method: Integrator) -> list[StableStep]:
    model = vehicle.model
    jacobian = _JACOBIANS.get(model, None, lambda: _Jacobian(model))
    rows: list[StableStep] = []
    for speed in _speeds(vehicle):
        matrix = jacobian(vehicle, *_straight(vehicle, speed))
        # A model need not have slopes everywhere; where it has none nothing can be said.
        if np.isfinite(matrix).all():
            dt, eigenvalue = longest_step(method, matrix)
            rows.append(StableStep(speed, dt, eigenvalue))
    return rows


def _speeds(vehicle: Vehicle) -> tuple[m_s | None, ...]:
    if vehicle.model.body is None:
        return (None,)
    top = vehicle.limits.v_max
    if top < SPEEDS[1]:
        return tuple(share * top for share in SHARES)
    return tuple(v for v in SPEEDS if v <= top)


def _straight(vehicle: Vehicle, speed: m_s | None) -> tuple[Any, Any]:
    """State and input in straight driving at a speed, actuators at rest."""
    model, p = vehicle.model, vehicle.params
    x, u = record.at_rest(model.State), record.at_rest(model.Input)
    if speed is None or model.body is None:
        return x, u
    body = model.body
    x = body.placed(x, body.pose(x, p), Velocity(speed, 0.0, 0.0), p)
    x = x if model.settle is None else model.settle(x, p)
    return x, body.command(x, Wish(v=speed), p)


class _Jacobian:
    """The derivative of a model's rate by its state; what it holds over a step is constant.

    CasADi's interpreter evaluates it: a compiled one would take longer to make than these few calls
    do.
    """

    def __init__(self, model: Model) -> None:
        import casadi as ca

        kinds = (model.State, model.State, model.Input, model.Disturbance, model.Params)
        columns = [
            ca.SX.sym(name, record.size(kind))
            for name, kind in zip(("x", "start", "u", "w", "p"), kinds, strict=True)
        ]
        x, start, u, w, p = (
            record.unflatten(kind, ca.vertsplit(column) if column.numel() else [])
            for kind, column in zip(kinds, columns, strict=True)
        )
        assert model.derivative is not None
        rate = model.derivative(x, model.held_input(start, u, w, p), w, p)
        rates = flat_result(model, "derivative", rate)
        if len(rates) != columns[0].numel():
            raise InvalidValue(
                f"the derivative of {model.name!r} has {len(rates)} values for "
                f"{columns[0].numel()} states"
            )
        leaves = ca.vertcat(*(ca.SX(leaf) for leaf in rates))
        self._function = ca.Function("jacobian", columns, [ca.jacobian(leaves, columns[0])])
        self._calm = record.flatten(record.at_rest(model.Disturbance))

    def __call__(self, vehicle: Vehicle, x: Any, u: Any) -> Array:
        row = record.flatten(x)
        columns = (row, row, record.flatten(u), self._calm, record.flatten(vehicle.params))
        return np.array(self._function(*map(list, columns)).full())
