"""Where vehicles stand on the ground, and how they lie on it."""

from __future__ import annotations

from math import inf
from typing import Any

import numpy as np

from ...arrays import Array
from ...body import Geometry, WheelPlace, standing_points
from ...plane.pose import to_world
from ...road.road import Road
from ...units import m, m_s2, rad, s
from ..motion.bodies import Bodies
from .flight import GIVE, Flags, Ride, advance, local_slopes, standing
from .on_road import feels
from .terrain import Terrain

_CLIMB: m = 0.3
"""How high vehicles without wheels get onto things."""

_AROUND: m = 0.02
"""Distance around a point over which the slope of the ground under it is measured."""
_SAME_SLOPE = 0.02
"""Largest difference of slope between a vehicle's plane and the ground under its wheels with which
it counts as lying on that ground."""
_ALL = slice(None)


class Footing:
    """Where the vehicles of a group stand on the ground.

    They lie on the plane that fits best, in the sense of least squares, the heights at their
    `standing_points`, which ride on the ground or fall: see `flight`.
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
        # A vehicle whose equations contain the road stays on it, as in a `Simulator`.
        self._give = np.full_like(self._reach, inf) if self.feels_road else GIVE * self._reach
        start_heights = np.array([[start[name]] for name in names])
        self.ride = standing(np.tile(start_heights, self._points.shape[1]))
        """Ride of those points when the ground was last evaluated."""
        self._last: Ride | None = None
        self._at: s = 0.0
        """The ride a step before, if that was looked at."""
        self._fresh = np.ones(len(names), dtype=bool)
        """Whether vehicles were put somewhere and have not moved since, (B,)."""

    @property
    def heights(self) -> Array:
        """At which those points ride, (B, n), when the ground was last looked at."""
        return self.ride.heights

    def put(self, row: int, height: m) -> None:
        """Let a vehicle stand on ground of one height."""
        one = standing(np.full((1, self.heights.shape[1]), height))
        for own, new in zip(self.ride, one, strict=True):
            own[row] = new[0]
        self._fresh[row], self._last = True, None

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

    def ride_on(self, terrain: Terrain, time: s, poses: Array, g: m_s2, dt: s) -> None:
        """Let the vehicles ride on the ground under them, a step after it was looked at.

        Of two calls for the same time the second replaces the first.
        """
        if self._last is not None and time == self._at:
            self.ride = self._last
        fresh, start = self._fresh, self.ride
        ground = self.heights_under(terrain, time, poses)
        if fresh.any():
            still = standing(ground)
            start = Ride._make(
                np.where(fresh.reshape(-1, *[1] * (old.ndim - 1)), new, old)
                for new, old in zip(still, start, strict=True)
            )
        self._last, self._at = self.ride, time
        self.ride = advance(start, ground, self._give, self.bodies.speeds(), g, dt)
        self._fresh = np.zeros_like(fresh)

    def lie_on(self, ground: Array) -> None:
        """Let all points be on ground of these heights, wherever they were."""
        self.ride = self.ride._replace(heights=ground)

    def heights_after(
        self, terrain: Terrain, time: s, rows: slice, g: m_s2, dt: s, *, falls: bool
    ) -> Array:
        """Heights at which the points of some vehicles ride where these are now, a step after
        the ground was looked at; if it `falls` away, they fall."""
        ground = self.heights_under(terrain, time, self.poses[rows], rows)
        if not falls or self._fresh[rows].any():
            return ground
        give, speeds = self._give[rows], self.bodies.speeds()[rows]
        return advance(self.ride.part(rows), ground, give, speeds, g, dt).heights

    def felt(self, terrain: Terrain, time: s, poses: Array) -> tuple[Array, Array]:
        """Pitch and roll of the ground that the vehicles feel, (B,) each.

        It is the plane that they lie on, but under those that are loose the ground at the points
        that touch it: across an edge, both may be level. There is none in free flight.
        """
        _, pitch, roll = self.lying(self.heights)
        for row in np.flatnonzero(self.ride.loose).tolist():
            along, across = self._local_slope(terrain, time, poses, row)
            if not self._agrees(row, pitch[row], roll[row], along, across):
                pitch[row] = np.arctan(0.0 - along)
                roll[row] = np.arctan(across / np.hypot(1.0, along))
        return pitch, roll

    def tighten(self, terrain: Terrain, time: s, poses: Array, hung: Flags) -> None:
        """Let vehicles be loose no more that lie on the ground again; not those that are `hung`
        with the chassis over an edge, (B,)."""
        _, pitch, roll = self.lying(self.heights)
        for row in np.flatnonzero(self.ride.loose & ~hung).tolist():
            slope = self._local_slope(terrain, time, poses, row)
            self.ride.loose[row] = not self._agrees(row, pitch[row], roll[row], *slope)

    def _agrees(self, row: int, pitch: rad, roll: rad, along: float, across: float) -> bool:
        lies = -np.tan(pitch), np.tan(roll) * np.hypot(1.0, np.tan(pitch))
        apart = max(abs(lies[0] - along), abs(lies[1] - across))
        return not self.ride.in_air[row].any() and bool(apart < _SAME_SLOPE)

    def _local_slope(
        self, terrain: Terrain, time: s, poses: Array, row: int
    ) -> tuple[float, float]:
        """Mean slope ahead and to the left under the points that hold a vehicle up."""
        # Those that only tyre and suspension keep on ground that falls away are not held up by it.
        touching = self.ride.free[row] <= self.ride.heights[row]
        touching &= ~self.ride.in_air[row]
        if not touching.any():
            return 0.0, 0.0
        points = self._points[row][touching]
        reach = (self.heights[row] + self._reach[row])[touching]
        aside = _AROUND * np.array([(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)])
        x, y = in_world(poses[row : row + 1], (points + aside[:, None]).reshape(1, -1, 2))
        under, *around = terrain.height(x[0], y[0], np.tile(reach, 5), time).reshape(5, -1)
        along, across = local_slopes(under, around, _AROUND)
        return float(along.mean()), float(across.mean())

    @property
    def in_air(self) -> Flags:
        """Whether wheels touch nothing, (B, wheels)."""
        count = len(self.heights)
        return np.logical_and.reduce(self.ride.in_air.reshape(count, self.wheels, -1), axis=2)

    def snapshot(self) -> tuple[Any, ...]:
        """Copies of everything that changes."""
        return _copy(self.ride), self._fresh.copy()

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        """Put back what `snapshot` gave."""
        ride, fresh = snapshot
        self.ride, self._fresh = _copy(ride), fresh.copy()
        self._last = None

    def lying(self, heights: Array, rows: slice = _ALL) -> tuple[Array, Array, Array]:
        """Height of the reference point, pitch and roll of vehicles on ground of these heights."""
        # From the first height, so that level ground is level to the bit.
        base = heights[:, :1]
        rise, along, across = np.einsum("bkn,bn->kb", self._fit[rows], heights - base)
        return base[:, 0] + rise, np.arctan(0.0 - along), np.arctan(across / np.hypot(1.0, along))


def _copy(ride: Ride) -> Ride:
    return Ride._make(values.copy() for values in ride)


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
