"""What the ground does to vehicles: friction that differs from place to place, and slopes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ...arrays import Array
from ...model import Vehicle
from ...units import m, rad, s
from ..contact.contacts import Moving
from ..errors import WorldWarning
from ..motion.groups import Group
from ..scene.scene import Scene, VehicleSpec
from .footing import Footing
from .regions import Regions
from .slopes import Down, down, pull_of
from .terrain import Terrain

_OVERRIDES = {"friction_mu": "mu", "friction_C_rr": "rolling"}
"""Names of regions, and the disturbances that they set for each wheel."""
_TALL: m = 2.0
"""How high a vehicle reaches whose file does not say it."""


class Ground:
    """The ground of a scene under the vehicles of some groups.

    Args:
        scene: what there is.
        groups: the vehicles.
        vehicles: the same by name, for their parameters.
        at: where a block is that may be pushed; by default where it starts.
    """

    def __init__(
        self,
        scene: Scene,
        groups: list[Group],
        vehicles: dict[str, Vehicle],
        at: Callable[[str], Moving] | None = None,
    ) -> None:
        self._friction = {name: Regions(scene, name) for name in _OVERRIDES}
        self._regions = any(self._friction.values())
        self._terrain = Terrain(scene)
        # Upstream looks for regions where the wheels would be if the ground were at z = 0.
        self._flat_regions = scene.compat == "upstream"
        self._time: s = 0.0
        specs = {spec.name: spec for spec in scene.vehicles}
        start = {name: self._start(specs[name]) for group in groups for name in group.names}
        if at is not None:
            self._terrain.follow(at)
        self._footings = [Footing(group, vehicles, start) for group in groups]
        self._pulls = [pull_of(group, scene.settings.gravity) for group in groups]
        if self._terrain.sloping:
            _warn_of_those_not_pulled(groups, self._pulls)
        self._at = {
            name: (footing, row)
            for footing in self._footings
            for row, name in enumerate(footing.group.names)
        }

    def _start(self, spec: VehicleSpec) -> m:
        """Height of the ground under a vehicle at the start."""
        if spec.skip_elevation_adjust or self._terrain.level:
            return spec.pose.z
        return self._terrain.start(spec.pose, _TALL if spec.shape is None else spec.shape.z_max)

    @property
    def differs(self) -> bool:
        """Whether the ground does anything to anyone: only then `act` has to be called."""
        return self._regions or not self._terrain.level

    @property
    def level(self) -> bool:
        """Whether it is at z = 0 everywhere, for ever."""
        return self._terrain.level

    def heights_at(self, x: Array, y: Array, reach: Array, *, solid: bool = False) -> Array:
        """Heights of the ground at points of the world, as far as it is not above `reach`.

        With `solid`, ramps and bumps with a body count however high they are.
        """
        found = self._terrain.height(x, y, reach, self._time)
        higher = self._terrain.solid_height(x, y, self._time) if solid else None
        return found if higher is None else np.fmax(found, higher)

    def heights_under(self, group: int) -> Array:
        """Heights of the ground where a group's vehicles stand, (B, n), when last put on it."""
        return self._footings[group].heights

    def wheel_heights(self, group: int) -> Array | None:
        """Heights of the ground under a group's wheels, (B, wheels); None if it has none."""
        footing = self._footings[group]
        return footing.wheel_heights if footing.wheels else None

    def lying(self, group: int) -> tuple[Array, Array, Array]:
        """Heights, pitch and roll of a group's vehicles, (B,) each, when last put on it."""
        footing = self._footings[group]
        return footing.lying(footing.heights)

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

    def act(self, time: s) -> None:
        """Set what the ground does to every vehicle in the step that begins at a time."""
        self._time = time
        if not self.differs:
            return
        for footing, pull in zip(self._footings, self._pulls, strict=True):
            poses = footing.poses
            if not self._terrain.level:
                self._settle(footing, pull, poses)
            if self._regions:
                self._set_friction(footing, poses)

    def _settle(self, footing: Footing, pull: Callable[[Down], None] | None, poses: Array) -> None:
        """Put vehicles on the ground, and let slopes pull at them."""
        footing.heights[:] = footing.heights_under(self._terrain, self._time, poses)
        if pull is not None:
            _, pitch, roll = footing.lying(footing.heights)
            pull(down(pitch, roll))

    def _set_friction(self, footing: Footing, poses: Array) -> None:
        x, y = footing.wheel_places(poses)
        level = self._flat_regions or self._terrain.level
        z = np.zeros_like(x) if level else footing.wheel_heights
        told = footing.group.disturbances
        for name, field in _OVERRIDES.items() if footing.wheels else ():
            at = [footing.columns[f"{field}_{wheel}"] for wheel in footing.wheels]
            told[:, at] = self._friction[name].numbers(x, y, z, outside=-1.0)
        if footing.grips is not None:
            # Cars have one factor on the friction of all tyres: the mean of the four.
            mu = self._friction["friction_mu"].numbers(x, y, z, outside=np.nan)
            own = footing.grips[:, None]
            scale = np.where(np.isnan(mu), 1.0, mu / own).mean(axis=1)
            told[:, footing.columns["mu_scale"]] = scale

    def snapshot(self) -> tuple[Any, ...]:
        """Copies of everything that changes."""
        return self._time, *(footing.heights.copy() for footing in self._footings)

    def restore(self, snapshot: tuple[Any, ...]) -> None:
        """Put back what `snapshot` gave."""
        self._time, *heights = snapshot
        for footing, kept in zip(self._footings, heights, strict=True):
            footing.heights[:] = kept


def _warn_of_those_not_pulled(groups: list[Group], pulls: list[Any]) -> None:
    without = [
        f"{name} ({group.model.name})"
        for group, pull in zip(groups, pulls, strict=True)
        if pull is None
        for name in group.names
    ]
    if without:
        warnings.warn(
            "slopes do not pull at vehicles whose models take neither a force nor an acceleration: "
            + ", ".join(without),
            WorldWarning,
            stacklevel=5,
        )
