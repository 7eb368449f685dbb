"""Where vehicles stand on the ground, and how they lie on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...arrays import Array
from ...model import Vehicle
from ...units import m, s
from ..motion.groups import Group
from .terrain import Terrain

_REACH: m = 0.3
"""How high vehicles without wheels of their own get onto things."""
_AROUND = np.array([(a, b) for a in (-0.5, 0.5) for b in (-0.5, 0.5)])
"""Where such a vehicle feels the ground, in m from its reference point."""

_ALL = slice(None)


class Footing:
    """Where the vehicles of a group stand on the ground.

    They lie on the plane that fits best, in the sense of least squares, the heights under their
    wheels. Two wheels do not make a plane: there the heights are those one radius before and behind
    each wheel, so that the roll is that of the axle and the pitch that of the ground along it.
    """

    def __init__(self, group: Group, vehicles: dict[str, Vehicle], start: dict[str, m]) -> None:
        self.group = group
        self.columns = {name: k for k, name in enumerate(group.model.Disturbance._fields)}
        """Of the disturbances, by name."""
        known = group.model.Params._fields
        self.wheels = [
            wheel
            for wheel in (n.removeprefix("mu_") for n in self.columns if n.startswith("mu_"))
            if f"wheel_{wheel}" in known
        ]
        """Names of the wheels that have friction of their own."""
        self._pose = [group.fields[name] for name in ("x", "y", "yaw")]
        params = [vehicles[name].params for name in group.names]
        hubs = [[getattr(p, f"wheel_{wheel}") for wheel in self.wheels] for p in params]
        self.grips = _grips(params) if "mu_scale" in self.columns else None
        """Friction of the tyres of each car, (B,); None where there is no factor on it."""
        self._wheel_places = np.array(
            [[(h.x, h.y) for h in row] for row in hubs] if self.wheels else [*map(_corners, params)]
        )
        self._points, self._reach = _points(hubs, params)
        """Where heights are read, (B, n, 2) from the reference points, and how far up, (B, n)."""
        self._fit = np.linalg.pinv(
            np.concatenate([np.ones((*self._points.shape[:2], 1)), self._points], axis=2)
        )
        self.heights: Array = np.tile(
            np.array([[start[name]] for name in group.names]), self._points.shape[1]
        )
        """Of the ground at those points, (B, n), when it was last looked at."""

    @property
    def poses(self) -> Array:
        """Poses x, y, yaw (B, 3) of the vehicles as they are now."""
        return self.group.state[:, self._pose]

    def wheel_places(self, poses: Array) -> tuple[Array, Array]:
        """World coordinates x, y of the wheels, (B, wheels) each; cars have four."""
        return in_world(poses, self._wheel_places)

    @property
    def wheel_heights(self) -> Array:
        """Heights of the ground under the wheels, (B, wheels), when it was last looked at."""
        count = self._wheel_places.shape[1]
        return self.heights.reshape(len(self.heights), count, -1).mean(axis=2)

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
    x, y, yaw = poses.T[:, :, None]
    c, s_ = np.cos(yaw), np.sin(yaw)
    ahead, left = points[..., 0], points[..., 1]
    return x + c * ahead - s_ * left, y + s_ * ahead + c * left


def _points(hubs: list[list[Any]], params: list[Any]) -> tuple[Array, Array]:
    if not hubs or not hubs[0]:
        points = np.array([_corners(p) for p in params])
        return points, np.full(points.shape[:2], _REACH)
    sides = (-1.0, 1.0) if len(hubs[0]) == 2 else (0.0,)
    points = [[(h.x + k * h.radius, h.y) for h in row for k in sides] for row in hubs]
    # A wheel gets onto what is not higher than its axle.
    reach = [[h.radius for h in row for _ in sides] for row in hubs]
    return np.array(points), np.array(reach)


def _corners(p: Any) -> Array:
    """Where the four wheels of a car stand, as far as its parameters tell."""
    if not all(hasattr(p, name) for name in ("l_f", "l_r", "track")):
        return _AROUND
    half = 0.5 * p.track
    return np.array([(x, y) for x in (-p.l_r, p.l_f) for y in (-half, half)])


def _grips(params: list[Any]) -> Array | None:
    tyres = [getattr(p, "tyre", None) for p in params]
    known = all(hasattr(tyre, "D") for tyre in tyres)
    return np.array([tyre.D for tyre in tyres if tyre is not None]) if known else None
