"""What vehicles look like from above: outlines and wheels, from the geometry of their body."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..body import Geometry, Outline, Trailer, body_of
from ..body import Wheel as BodyWheel
from ..brief import brief_repr
from ..model import Vehicle
from .description import Wheel


class BodyShape(NamedTuple):
    """Outlines and wheels in the frame of the vehicle's reference point, in m."""

    outlines: tuple[Outline, ...]
    wheels: tuple[BodyWheel | Wheel, ...] = ()
    """Wheels of a body name the fields that turn and load them; others stand as they are."""
    trailer: BodyShape | None = None
    """In the frame of the trailer's axle, with what hangs behind it in turn."""
    hitch_x: float = 0.0
    """Where the trailer hangs, ahead of the reference point."""
    drawbar: float = 0.0
    """From the hitch back to the trailer's axle."""
    hitch: str = ""
    """The field of the state with the trailer's heading from that of this shape."""

    __repr__ = brief_repr


def shape_of(vehicle: Vehicle) -> BodyShape:
    """The shape of a vehicle with its parameters."""
    body_of(vehicle, "a picture")
    return _with_trailer(vehicle.geometry)


def _with_trailer(unit: Geometry | Trailer) -> BodyShape:
    trailer, shape = unit.trailer, BodyShape(unit.outlines, unit.wheels)
    if trailer is None:
        return shape
    hung = (trailer.hitch_x, trailer.drawbar, trailer.angle)
    return BodyShape(shape.outlines, shape.wheels, _with_trailer(trailer), *hung)


def drawn_wheels(
    wheels: Sequence[BodyWheel | Wheel], places: Mapping[Any, int]
) -> tuple[Wheel, ...]:
    """The wheels of a shape with the places of their channels, which are given by name."""
    return tuple(
        Wheel(
            wheel.name,
            wheel.x,
            wheel.y,
            wheel.length,
            wheel.width,
            wheel.yaw,
            steer=places.get(wheel.steer),
            F_x=places.get(wheel.F_x),
            F_y=places.get(wheel.F_y),
            F_z=places.get(wheel.F_z),
            use=places.get(wheel.use),
        )
        for wheel in wheels
    )
