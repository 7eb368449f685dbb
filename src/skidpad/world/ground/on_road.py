"""Vehicles that feel the road of a world by themselves, as they do in a `Simulator`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

from ...brief import listed
from ...model import Vehicle
from ...road.grip import FullGrip
from ...road.road import Road
from ..errors import WorldWarning
from ..motion.build import BuiltVehicle


def feels(vehicle: Vehicle, road: Road | None) -> bool:
    """Whether a vehicle feels the heights of a road: they are among its parameters."""
    own = getattr(vehicle.params, "road", None)
    return road is not None and own is not None and own.surface == road.surface


def warn_of_own_roads(built: Mapping[str, BuiltVehicle], road: Road | None) -> None:
    """Name the vehicles that are on a road in a world that is not."""
    flat = Road().record
    own = [
        f"{name} ({made.vehicle.name})"
        for name, made in sorted(built.items())
        if road is None and getattr(made.vehicle.params, "road", flat) != flat
    ]
    if own:
        warnings.warn(
            "the ground of the world is level, while vehicles are on a road of their own, which "
            "World(scene, road=road) makes that of all: " + listed(own, 12),
            WorldWarning,
            stacklevel=4,
        )


def warn_of_no_grip(built: Mapping[str, BuiltVehicle], road: Road | None) -> None:
    """Name the vehicles whose models the grip of a road does nothing to."""
    if road is None or isinstance(road.friction, FullGrip):
        return
    without = [
        f"{name} ({made.vehicle.name})"
        for name, made in sorted(built.items())
        if getattr(getattr(made.vehicle.params, "road", None), "grip", None) != road.friction
    ]
    if without:
        warnings.warn(
            "the grip of the road does nothing to vehicles whose models have no friction that it "
            "could change: " + listed(without, 12),
            WorldWarning,
            stacklevel=4,
        )
