"""The grip of the ground as the disturbance of a vehicle, and vehicles that tasks at the limit
need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core import record
from ...core.body import GroundUnder, body_of
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...study.manoeuvres.subject import Subject, tyres_needed
from ...units import one

GripLaw = Callable[[Any, Any, Any, Sequence[one]], Any]
"""Of the state, the input, the parameters and a factor on the friction under each wheel, the
`Disturbance`."""


def sliding(vehicle: Vehicle, purpose: str) -> Vehicle:
    """The vehicle; raises, with `purpose` as in "a drift", for one whose tyres cannot slide."""
    body_of(vehicle, purpose)
    lacks = tyres_needed(Subject(vehicle))
    if lacks:
        raise InvalidValue(f"{purpose} needs a vehicle on tyres: {lacks}")
    return vehicle


def grip_law(vehicle: Vehicle, purpose: str) -> GripLaw:
    """How the friction under the wheels of a vehicle acts on it; raises if it does not."""
    body, model = body_of(vehicle, purpose), vehicle.model

    def disturbance(x: Any, u: Any, p: Any, grip: Sequence[one]) -> Any:
        assert body.on_ground is not None
        ground = GroundUnder(g=0.0, grip=tuple(grip))
        return body.on_ground(x, u, record.build(model.Disturbance), ground, p)[1]

    calm = record.build(model.Disturbance)
    x, u, p = record.build(model.State), record.build(model.Input), vehicle.params
    half = [0.5] * len(body.geometry(p).wheels)
    if body.on_ground is None or disturbance(x, u, p, half) == calm:
        raise InvalidValue(
            f"{purpose} needs a vehicle whose Disturbance has a factor on friction, as four_wheel "
            f"(mu_scale) and two_track (mu_fl to mu_rr) have; that of {vehicle.name!r} has "
            f"{', '.join(record.names(model.Disturbance)) or 'nothing'}"
        )
    return disturbance
