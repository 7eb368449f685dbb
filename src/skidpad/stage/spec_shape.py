"""The shape of a vehicle of a world file."""

from __future__ import annotations

from typing import Any

from ..model import Vehicle
from ..vehicles.wheeled import KINDS, Description
from ..world.scene.scene import VehicleSpec
from .description import Outline, Wheel
from .shapes import BodyShape, shape_of


def spec_shape(spec: VehicleSpec, vehicle: Vehicle) -> BodyShape:
    """Chassis and wheels as the file says, or those of a vehicle of skidpad's own."""
    if not isinstance(spec.dynamics, Description):
        shape = shape_of(vehicle)
        if spec.shape is None or spec.shape.made_from == "default":
            return shape
        return shape._replace(outlines=tuple(_outline(part) for part in spec.shape.parts))
    description = spec.dynamics
    outlines = (description.chassis.shape,) if spec.shape is None else spec.shape.parts
    wheels = tuple(
        Wheel(name, w.x, w.y, w.diameter, w.width, w.yaw)
        for name, w in zip(KINDS[description.kind].wheels, description.wheels, strict=True)
    )
    return BodyShape(tuple(_outline(part) for part in outlines), wheels)


def _outline(points: Any) -> Outline:
    return tuple((float(x), float(y)) for x, y in points)
