"""Vehicles whose fields have other names, so that only the body tells how they move."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple, get_type_hints

import skidpad as sp
from skidpad.core.model import NoOutputs


def renamed(vehicle: sp.Vehicle) -> sp.Vehicle:
    """The same vehicle, with states q0, q1, ... and inputs r0, r1, ..., and without outputs."""
    model, body = vehicle.model, vehicle.body
    State, Input = _other_names(model.State, "q"), _other_names(model.Input, "r")
    derivative, settle, pose, velocity = model.derivative, model.settle, body.pose, body.velocity
    assert derivative is not None
    old = dict(zip(("", *model.State._fields), ("", *State._fields), strict=True))

    def x_of(x: Any) -> Any:
        return model.State(*x)

    def u_of(u: Any) -> Any:
        return model.Input(*u)

    def geometry(p: Any) -> sp.Geometry:
        shape = body.geometry(p)
        wheels = (replace(wheel, steer=old.get(wheel.steer, "")) for wheel in shape.wheels)
        return replace(shape, wheels=tuple(wheels))

    own = sp.Body(
        body.reference,
        pose=lambda x, p: pose(x_of(x), p),
        velocity=lambda x, u, p: velocity(x_of(x), u_of(u), p),
        placed=lambda x, *rest: State(*body.placed(x_of(x), *rest)),
        geometry=geometry,
        limits=body.limits,
        command=lambda x, demand, p: Input(*body.command(x_of(x), demand, p)),
        steer=None if body.steer is None else lambda x, u, p: body.steer(x_of(x), u_of(u), p),
    )
    changes = {
        "name": f"renamed {model.name}",
        "State": State,
        "Input": Input,
        "Outputs": NoOutputs,
        "derivative": lambda x, u, w, p: State(*derivative(x_of(x), u_of(u), w, p)),
        "outputs": lambda x, u, w, p: NoOutputs(),
        "settle": None if settle is None else lambda x, p: State(*settle(x_of(x), p)),
        "body": own,
        "hold": None,
        "energy": None,
    }
    return sp.Vehicle(replace(model, **changes), vehicle.params)


def _other_names(kind: Any, letter: str) -> Any:
    hints = get_type_hints(kind, include_extras=True)
    fields = [(f"{letter}{k}", hints[name]) for k, name in enumerate(kind._fields)]
    other: Any = NamedTuple(kind.__name__, fields)
    other.__new__.__defaults__ = (0.0,) * len(fields)
    other._field_defaults = dict.fromkeys(other._fields, 0.0)
    return other
