"""The shape of a vehicle: rigid units, itself and its trailers, each at a pose of its own."""

from __future__ import annotations

from collections.abc import Sequence
from math import hypot
from typing import Any, NamedTuple

from .. import record
from ..body import Outline, Pose
from ..model import Vehicle
from ..plane.outline import cleaned, convex_parts
from ..plane.pose import towed
from ..units import m

Parts = tuple[Outline, ...]
"""Convex polygons, counter-clockwise."""


class Unit(NamedTuple):
    """What moves as one: a vehicle, or a trailer behind the unit before."""

    parts: Parts
    """Of its outline, in m from its reference point; that of a trailer is the middle of its
    axle."""
    hitch_x: m = 0.0
    """Where a trailer hangs, forward of the reference point of the unit before."""
    drawbar: m = 0.0
    """From there back to its axle."""
    angle: int = -1
    """Which leaf of the state is its heading less that of the unit before."""

    @property
    def radius(self) -> m:
        """Largest distance of its outline from its reference point."""
        return max(hypot(x, y) for part in self.parts for x, y in part)


def units_of(vehicle: Vehicle) -> tuple[Unit, ...]:
    """A vehicle and all that it tows, in order."""
    geometry, names = vehicle.geometry, record.names(vehicle.model.State)
    trailers = (
        Unit(_parts(t.outlines), t.hitch_x, t.drawbar, names.index(t.angle))
        for t in geometry.trailers
    )
    return (Unit(_parts(geometry.outlines)), *trailers)


def unit_poses(units: Sequence[Unit], pose: Pose, x: Any) -> list[Pose]:
    """Where the units are, from the pose and the state of the vehicle, which may be symbols."""
    leaves, poses = record.flatten(x), [pose]
    for unit in units[1:]:
        poses.append(towed(poses[-1], unit.hitch_x, unit.drawbar, leaves[unit.angle]))
    return poses


def _parts(outlines: Sequence[Outline]) -> Parts:
    return tuple(part for outline in outlines for part in convex_parts(cleaned(outline)))
