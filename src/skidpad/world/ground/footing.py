"""Where vehicles stand on the ground, and how they lie on it."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...body import Geometry, WheelPlace, standing_points
from ...plane.pose import to_world
from ...road.road import Road
from ...units import m, s
from ..motion.bodies import Bodies
from .on_road import feels
from .terrain import Terrain

_CLIMB: m = 0.3
"""How high vehicles without wheels get onto things."""

_ALL = slice(None)


class Footing:
    """Where the vehicles of a group stand on the ground.

    They lie on the plane that fits best, in the sense of least squares, the heights at their
    `standing_points`.
    """

    def __init__(self, bodies: Bodies, start: dict[str, m], road: Road | None = None) -> None:
        self.bodies = bodies
        self.feels_road = feels(bodies.group.vehicles[0], road)
        """Whether they feel the road of the world by themselves."""
        names = bodies.group.names
        shapes = [vehicle.geometry for vehicle in bodies.group.vehicles]
        self.wheels = len(shapes[0].wheels)
        """How many wheels each of them has."""
        self._wheel_places = np.array([[(w.x, w.y) for w in shape.wheels] for shape in shapes])
        feelers = np.array([_feelers(shape) for shape in shapes])
        self._points, self._reach = feelers[:, :, :2], feelers[:, :, 2]
        """Where heights are read, (B, n, 2) from the reference points, and how far up, (B, n)."""
        self._fit = np.linalg.pinv(
            np.concatenate([np.ones((*self._points.shape[:2], 1)), self._points], axis=2)
        )
        self.heights: Array = np.tile(
            np.array([[start[name]] for name in names]), self._points.shape[1]
        )
        """Of the ground at those points, (B, n), when it was last looked at."""

    def road_heights(self, terrain: Terrain, poses: Array) -> Array:
        """Heights of the road alone where the vehicles stand, (B, n)."""
        return terrain.road_height(*in_world(poses, self._points))

    @property
    def poses(self) -> Array:
        """Poses x, y, yaw (B, 3) of the vehicles as they are now."""
        return self.bodies.poses

    def wheel_places(self, poses: Array) -> tuple[Array, Array]:
        """World coordinates x, y of the wheels, (B, wheels) each."""
        return in_world(poses, self._wheel_places)

    @property
    def wheel_heights(self) -> Array:
        """Heights of the ground under the wheels, (B, wheels), when it was last looked at."""
        return self.heights.reshape(len(self.heights), self.wheels, -1).mean(axis=2)

    def heights_under(self, terrain: Terrain, time: s, poses: Array, rows: slice = _ALL) -> Array:
        """Heights of the ground where some of the vehicles stand, (rows, n)."""
        x, y = in_world(poses, self._points[rows])
        return terrain.height(x, y, self.heights[rows] + self._reach[rows], time)

    def lying(self, heights: Array, rows: slice = _ALL) -> tuple[Array, Array, Array]:
        """Height of the reference point, pitch and roll of vehicles on ground of these heights."""
        # From the first height, so that level ground is level to the bit.
        base = heights[:, :1]
        rise, along, across = np.einsum("bkn,bn->kb", self._fit[rows], heights - base)
        return base[:, 0] + rise, np.arctan(0.0 - along), np.arctan(across / np.hypot(1.0, along))


def in_world(poses: Array, points: Array) -> tuple[Array, Array]:
    """World coordinates of points (B, n, 2) seen from poses (B, 3)."""
    return to_world(poses.T[:, :, None], points[..., 0], points[..., 1])


def _feelers(shape: Geometry) -> list[tuple[m, m, m]]:
    """Points of a vehicle under which heights are read, and how far up it gets there."""
    if not shape.wheels:
        x, y = zip(*(point for outline in shape.outlines for point in outline), strict=True)
        return [(a, b, _CLIMB) for a in (min(x), max(x)) for b in (min(y), max(y))]
    wheels = [WheelPlace(w.x, w.y, w.radius) for w in shape.wheels]
    points = standing_points(wheels)
    # A wheel gets onto what is not higher than its axle.
    reach = [w.radius for w in wheels for _ in range(len(points) // len(wheels))]
    return [(x, y, up) for (x, y), up in zip(points, reach, strict=True)]
