"""What the ground does to vehicles: friction that differs from place to place, and slopes."""

from __future__ import annotations

from math import cos, sin
from typing import Any

from ..model import Vehicle
from ..units import m, rad
from .groups import Group
from .scene import PropertyRegion, Scene

_OVERRIDES = {"friction_mu": "mu", "friction_C_rr": "rolling"}
"""Names of regions, and the disturbances that they set for each wheel."""


class Ground:
    """The ground of a scene under the vehicles of some groups."""

    def __init__(self, scene: Scene, groups: list[Group], vehicles: dict[str, Vehicle]) -> None:
        self._regions = [
            e for e in scene.elements if isinstance(e, PropertyRegion) and e.name in _OVERRIDES
        ]
        self._groups = [group for group in groups if self._wheels(group)]
        self._places = {
            name: [(p.x, p.y) for p in _wheel_params(vehicles[name])]
            for group in self._groups
            for name in group.names
        }

    @staticmethod
    def _wheels(group: Group) -> list[str]:
        names = group.model.Disturbance._fields
        return [name.removeprefix("mu_") for name in names if name.startswith("mu_")]

    def attitude(self, name: str) -> tuple[m, rad, rad]:
        """Height, pitch and roll of a vehicle."""
        return 0.0, 0.0, 0.0

    def act(self, poses: dict[str, tuple[float, float, float]]) -> None:
        """Set what the ground does to every vehicle in the coming step."""
        if not self._regions:
            return
        for group in self._groups:
            columns = {n: k for k, n in enumerate(group.model.Disturbance._fields)}
            for row, name in enumerate(group.names):
                self._under(
                    group.disturbances[row], columns, self._wheels(group), name, poses[name]
                )

    def _under(
        self,
        row: Any,
        columns: dict[str, int],
        wheels: list[str],
        name: str,
        pose: tuple[float, float, float],
    ) -> None:
        x, y, yaw = pose
        c, s = cos(yaw), sin(yaw)
        for wheel, (p, q) in zip(wheels, self._places[name], strict=True):
            here = x + c * p - s * q, y + s * p + c * q
            for region, field in _OVERRIDES.items():
                row[columns[f"{field}_{wheel}"]] = self._value(region, here)

    def _value(self, name: str, here: tuple[m, m]) -> float:
        """The first region of this name around a point; -1 if none is. Wheels are at z = 0."""
        for r in self._regions:
            inside = r.x_min <= here[0] <= r.x_max and r.y_min <= here[1] <= r.y_max
            if r.name == name and inside and r.z_min <= 0.0 <= r.z_max:
                return float(r.value)
        return -1.0


def _wheel_params(vehicle: Vehicle) -> list[Any]:
    params = vehicle.params
    return [getattr(params, name) for name in params._fields if name.startswith("wheel_")]
