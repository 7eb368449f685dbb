"""The modes of a vehicle as it drives, and the longest stable step of a method with them."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Any

import numpy as np

from .. import record
from ..arrays import Array
from ..body import Body, Velocity, Wish, own_fields
from ..compile.explained import explained
from ..compile.plant import StableStep
from ..compile.stored_traces import stored
from ..errors import InvalidValue
from ..integrate.as_written import making_expressions
from ..integrate.base import Integrator, flat_result
from ..integrate.stability import longest_step
from ..model import Model, Vehicle
from ..units import m_s
from .kept import Kept

DRIVING: m_s = 1.0
"""Speed from which a vehicle is driven; slower, it starts or comes to rest."""
SPEEDS = (0.0, 0.1, 0.2, 0.5, DRIVING, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 50.0)
"""In m/s, as far as the vehicle goes and its model is meant (`Model.slowest`)."""
SHARES = (0.0, 0.1, 0.25, 0.5, 1.0)
"""Of the top speed of a vehicle that does not go twice as fast as `DRIVING`."""
TURNED = 0.9
"""Share of the largest steering angle at which the modes are looked at too; a model may have a
corner at the whole of it."""


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
    return _TABLES.get(
        model,
        key,
        lambda: stored(model, ("modes", *key), lambda: tuple(_table(vehicle, method.bind(model)))),
    )


def _table(vehicle: Vehicle, method: Integrator) -> list[StableStep]:
    model = vehicle.model
    jacobian = _JACOBIANS.get(model, None, lambda: _Jacobian(model))
    rows: list[StableStep] = []
    for speed in _speeds(vehicle):
        matrices = (jacobian(vehicle, x, u) for x, u in _moments(vehicle, speed))
        # Brakes and drive do not change the modes of every model.
        different = {matrix.tobytes(): matrix for matrix in matrices}.values()
        # A model need not have slopes everywhere; where it has none nothing can be said.
        ends = [longest_step(method, matrix) for matrix in different if np.isfinite(matrix).all()]
        if ends:
            dt, eigenvalue = min(ends, key=lambda end: end.dt)
            rows.append(StableStep(speed, dt, eigenvalue))
    return rows


def _speeds(vehicle: Vehicle) -> tuple[m_s | None, ...]:
    if vehicle.model.body is None:
        return (None,)
    top, least = vehicle.limits.v_max, vehicle.model.slowest
    speeds = tuple(share * top for share in SHARES) if top < 2.0 * DRIVING else SPEEDS
    return tuple(v for v in speeds if least <= v <= top) or (min(least, top),)


def _moments(vehicle: Vehicle, speed: m_s | None) -> Iterator[tuple[Any, Any]]:
    """States and inputs of driving at a speed, actuators at rest: straight on, with the wheels
    turned, and as hard on the drive and the brakes as the vehicle can be."""
    model, p = vehicle.model, vehicle.params
    rest = record.at_rest(model.State)
    if speed is None or model.body is None:
        yield rest, record.at_rest(model.Input)
        return
    body, limits = model.body, vehicle.limits
    turned, angle = _steering(model, body, p), TURNED * limits.steer_max
    wishes = [Wish(v=speed), Wish(v=speed, a=limits.a_max), Wish(v=speed, a=limits.a_min)]
    if turned is not None:
        wishes.append(Wish(v=speed, steer=angle))
    for wish in wishes:
        if not all(map(isfinite, wish)):
            continue
        try:
            x = body.placed(rest, body.pose(rest, p), Velocity(speed, 0.0, 0.0), p)
            if turned is not None:
                x = _with_leaf(x, turned, wish.steer)
            x = x if model.settle is None else model.settle(x, p)
            yield x, body.command(x, wish, p)
        except ArithmeticError:  # a body that divides by its speed says nothing at rest
            continue


def _with_leaf(x: Any, place: int, value: float) -> Any:
    leaves = list(record.flatten(x))
    leaves[place] = value
    return record.unflatten(type(x), leaves)


def _steering(model: Model, body: Body, p: Any) -> int | None:
    """The place of the state that is the angle of the front wheels, if one is."""
    if body.steer is None:
        return None
    steer, u = body.steer, record.at_rest(model.Input)
    (name,) = own_fields(model.State, lambda x: (steer(x, u, p),))
    return None if name is None else record.names(model.State).index(name)


class _Jacobian:
    """The derivative of a model's rate by its state; what it holds over a step is constant.

    CasADi's interpreter evaluates it: a compiled one would take longer to make than these few calls
    do.
    """

    @making_expressions()
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
        with explained(model.name):
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
