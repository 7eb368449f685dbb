"""How vehicles lie on the road that is among their parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from ..body import standing_points
from ..model import Vehicle
from ..plane.pose import to_world
from ..road.contact import wheel_contact
from ..road.fitted_plane import fitted_plane
from ..road.road import Road

__all__ = ["attitude_on_road", "road_under"]


def road_under(vehicle: Any) -> Road | None:
    """The road that a vehicle is on; None if its parameters have none."""
    own: Any = getattr(vehicle.params, "road", None) if isinstance(vehicle, Vehicle) else None
    known = getattr(own, "_fields", ()) == ("surface", "grip")
    return Road(own.surface, own.grip) if known else None


def attitude_on_road(vehicle: Vehicle, road: Road, poses: Array) -> tuple[Array, Array, Array]:
    """Height, pitch and roll (n,) each of a vehicle at poses (n, 3) on a road.

    Pitch is positive with the nose down, roll with the right side down.
    """
    points = standing_points(vehicle.body.wheel_places(vehicle.params))
    yaw: Any = poses[:, 2]
    contacts = [wheel_contact(road.record, *to_world(poses.T, *at), yaw) for at in points]
    plane = fitted_plane(contacts, points)
    middle = np.mean(points, axis=0)
    z = plane.z - plane.slope * middle[0] - plane.bank * middle[1]
    pitch, roll = np.arctan(-plane.slope), np.arctan(plane.bank / np.hypot(1.0, plane.slope))
    z, pitch, roll = (np.broadcast_to(value, yaw.shape) for value in (z, pitch, roll))
    return z, pitch, roll
