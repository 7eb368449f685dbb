"""Cars whose actuators have smooth limits, for optimisers.

    car = sp.vehicles.with_smooth_limits(sp.vehicles.four_wheel())

A limit that is a corner has no slope beyond it: an optimiser that asks for more steering than there
is gets no hint to ask for less, and one that lies on the corner has no gradient.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, get_type_hints

from ..core import record
from ..core.model import Model, Vehicle, made_by
from ..core.record import made_once
from ..errors import InvalidValue
from ..units import one, positive
from .bicycles import derivative as single_track_derivative
from .car_state import Input, State

__all__ = ["with_smooth_limits"]

WIDTH = 0.3
"""Rounding of a corner as part of the limit: a lane change that IPOPT does not solve in 200 steps
with corners, or with 0.05, takes it about 20."""


def with_smooth_limits(vehicle: Vehicle, width: float = WIDTH) -> Vehicle:
    """The same car with the corners of its steering, steering rate and torque limits rounded.

    `width` is the size of a corner as part of its limit. It is a parameter of the vehicle, too
    (`limit_width`). For `four_wheel`, `kinematic_bicycle`, `single_track` and
    `formula_student(compat="0.1")`.
    """
    params = vehicle.params
    if hasattr(params, "limit_width"):
        return Vehicle(vehicle.model, record.build(type(params), params, limit_width=width))
    model = smooth(vehicle.model)
    return Vehicle(model, record.build(model.Params, params._asdict(), limit_width=width))


def smooth(model: Model) -> Model:
    """The same model with a parameter limit_width; there is one such model of each."""
    wheel_torques = model.State is State and model.Input is Input
    if not (wheel_torques or model.derivative is single_track_derivative) or model.reproduces:
        raise InvalidValue(
            f"{model.name!r} has no limits that can be smooth; allowed are four_wheel, "
            "kinematic_bicycle, single_track and formula_student(compat='0.1')"
        )
    kept = vars(model)
    if "_smooth" not in kept:
        kept["_smooth"] = made_by(
            smooth, model, model=replace(model, Params=_with_width(model.Params))
        )
    return kept["_smooth"]


@made_once
def _with_width(Params: Any) -> Any:
    hints = get_type_hints(Params, include_extras=True)
    hints["limit_width"] = Annotated[one, positive]
    docs = {leaf.name: leaf.doc for leaf in record.fields(Params) if "." not in leaf.name}
    docs["limit_width"] = "Rounding of the actuators' limits as part of each."
    defaults = {**Params._field_defaults, "limit_width": WIDTH}
    return record.define("Params", hints, defaults, docs, Params.__doc__ or "")
