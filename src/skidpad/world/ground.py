"""What the ground does to vehicles: friction that differs from place to place, and slopes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..model import Vehicle
from ..units import m, rad, s
from .groups import Group
from .scene import PropertyRegion, Scene
from .terrain import Terrain

Array = NDArray[np.float64]
_OVERRIDES = {"friction_mu": "mu", "friction_C_rr": "rolling"}
"""Names of regions, and the disturbances that they set for each wheel."""
_REACH: m = 0.3
"""How high vehicles without wheels of their own get onto things."""
_AROUND = np.array([(a, b) for a in (-0.5, 0.5) for b in (-0.5, 0.5)])
"""Where such a vehicle feels the ground, in m from its reference point."""

_ALL = slice(None)


class Ground:
    """The ground of a scene under the vehicles of some groups."""

    def __init__(self, scene: Scene, groups: list[Group], vehicles: dict[str, Vehicle]) -> None:
        self._regions = [
            e for e in scene.elements if isinstance(e, PropertyRegion) and e.name in _OVERRIDES
        ]
        self._terrain = Terrain(scene)
        self._time: s = 0.0
        start = {spec.name: spec.pose.z for spec in scene.vehicles}
        self._footings = [_Footing(group, vehicles, start) for group in groups]
        self._at = {
            name: (footing, row)
            for footing in self._footings
            for row, name in enumerate(footing.group.names)
        }

    @property
    def differs(self) -> bool:
        """Whether the ground does anything to anyone: only then `act` has to be called."""
        return bool(self._regions) or not self._terrain.level

    def attitude(self, name: str) -> tuple[m, rad, rad]:
        """Height, pitch and roll of a vehicle where it is now.

        Pitch is positive with the nose down, roll with the right side down. A yaw, then this pitch,
        then this roll turn the world's axes into those of the vehicle.
        """
        if self._terrain.level:
            return 0.0, 0.0, 0.0
        footing, row = self._at[name]
        rows = slice(row, row + 1)
        heights = footing.heights_under(self._terrain, self._time, footing.poses[rows], rows)
        z, pitch, roll = (float(v[0]) for v in footing.lying(heights, rows))
        return z, pitch, roll

    def act(self, poses: Mapping[str, tuple[m, m, rad]], time: s = 0.0) -> None:
        """Set what the ground does to every vehicle in the step that begins at a time.

        `poses` are x, y, yaw of the vehicles by name.
        """
        self._time = time
        if not self.differs:
            return
        for footing in self._footings:
            at = np.array([poses[name] for name in footing.group.names])
            if not self._terrain.level:
                self._settle(footing, at)
            if self._regions and footing.wheels:
                self._set_friction(footing, at)

    def _settle(self, footing: _Footing, poses: Array) -> None:
        """Put vehicles on the ground, and let slopes pull at them."""
        footing.heights[:] = footing.heights_under(self._terrain, self._time, poses)
        _, pitch, roll = footing.lying(footing.heights)
        footing.pull(pitch, roll)

    def _set_friction(self, footing: _Footing, poses: Array) -> None:
        x, y = footing.wheel_places(poses)
        columns = footing.columns
        for region, field in _OVERRIDES.items():
            values = np.full(x.shape, -1.0)
            # Backwards, so that the first of those that overlap is the last to be written.
            for r in reversed(self._regions):
                if r.name != region or not r.z_min <= 0.0 <= r.z_max:
                    continue
                inside = (x >= r.x_min) & (x <= r.x_max) & (y >= r.y_min) & (y <= r.y_max)
                values[inside] = float(r.value)
            at = [columns[f"{field}_{wheel}"] for wheel in footing.wheels]
            footing.group.disturbances[:, at] = values

    def snapshot(self) -> tuple[Any, ...]:
        """Copies of everything that changes."""
        return self._time, *(footing.heights.copy() for footing in self._footings)

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        """Put back what `snapshot` gave."""
        self._time, *heights = snapshot
        for footing, kept in zip(self._footings, heights, strict=True):
            footing.heights[:] = kept


class _Footing:
    """Where the vehicles of a group stand on the ground.

    They lie on the plane that fits best, in the sense of least squares, the heights under their
    wheels. Two wheels do not make a plane: there the heights are those one radius before and behind
    each wheel, so that the roll is that of the axle and the pitch that of the ground along it.
    """

    def __init__(self, group: Group, vehicles: dict[str, Vehicle], start: dict[str, float]) -> None:
        self.group = group
        self.columns = {name: k for k, name in enumerate(group.model.Disturbance._fields)}
        known = group.model.Params._fields
        self.wheels = [
            wheel
            for wheel in (n.removeprefix("mu_") for n in self.columns if n.startswith("mu_"))
            if f"wheel_{wheel}" in known
        ]
        self._pose = [group.fields[name] for name in ("x", "y", "yaw")]
        params = [vehicles[name].params for name in group.names]
        hubs = [[getattr(p, f"wheel_{wheel}") for wheel in self.wheels] for p in params]
        self._wheel_places = np.array([[(h.x, h.y) for h in row] for row in hubs])
        self._points, self._reach = _points(hubs, len(params))
        """Where heights are read, (B, n, 2) from the reference points, and how far up, (B, n)."""
        self._fit = np.linalg.pinv(
            np.concatenate([np.ones((*self._points.shape[:2], 1)), self._points], axis=2)
        )
        self.heights: Array = np.tile(
            np.array([[start.get(name, 0.0)] for name in group.names]), self._points.shape[1]
        )
        """Of the ground at those points, (B, n), when it was last looked at."""

    @property
    def poses(self) -> Array:
        """Poses x, y, yaw (B, 3) of the vehicles as they are now."""
        return self.group.state[:, self._pose]

    def wheel_places(self, poses: Array) -> tuple[Array, Array]:
        """World coordinates x, y of the wheels, (B, wheels) each."""
        return _in_world(poses, self._wheel_places)

    def heights_under(self, terrain: Terrain, time: s, poses: Array, rows: slice = _ALL) -> Array:
        """Heights of the ground where some of the vehicles stand, (rows, n)."""
        x, y = _in_world(poses, self._points[rows])
        return terrain.height(x, y, self.heights[rows] + self._reach[rows], time)

    def lying(self, heights: Array, rows: slice = _ALL) -> tuple[Array, Array, Array]:
        """Height of the reference point, pitch and roll of vehicles on ground of these heights."""
        # From the first height, so that level ground is level to the bit.
        base = heights[:, :1]
        rise, along, across = np.einsum("bkn,bn->kb", self._fit[rows], heights - base)
        return base[:, 0] + rise, np.arctan(0.0 - along), np.arctan(across / np.hypot(1.0, along))

    def pull(self, pitch: Array, roll: Array) -> None:
        """Tell vehicles that know of slopes where down is."""
        if "slope_x" in self.columns:
            self.group.disturbances[:, self.columns["slope_x"]] = np.sin(pitch)
            self.group.disturbances[:, self.columns["slope_y"]] = 0.0 - np.cos(pitch) * np.sin(roll)


def _in_world(poses: Array, points: Array) -> tuple[Array, Array]:
    """World coordinates of points (B, n, 2) seen from poses (B, 3)."""
    x, y, yaw = poses.T[:, :, None]
    c, s_ = np.cos(yaw), np.sin(yaw)
    ahead, left = points[..., 0], points[..., 1]
    return x + c * ahead - s_ * left, y + s_ * ahead + c * left


def _points(hubs: list[list[Any]], count: int) -> tuple[Array, Array]:
    if not hubs or not hubs[0]:
        return np.tile(_AROUND, (count, 1, 1)), np.full((count, len(_AROUND)), _REACH)
    sides = (-1.0, 1.0) if len(hubs[0]) == 2 else (0.0,)
    points = [[(h.x + k * h.radius, h.y) for h in row for k in sides] for row in hubs]
    # A wheel gets onto what is not higher than its axle.
    reach = [[h.radius for h in row for _ in sides] for row in hubs]
    return np.array(points), np.array(reach)
