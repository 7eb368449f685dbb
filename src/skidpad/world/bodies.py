"""Pose and velocity of the vehicles of a group, between their own states and the world's axes."""

from __future__ import annotations

from math import cos, sin
from typing import Any

import numpy as np

from ..compile.host import Array
from .contacts import Moving
from .groups import Group


class Bodies:
    """Which fields of a group's state are its motion.

    A model whose wheels cannot slide has no sideways velocity: of what a contact does to it, the
    part along the vehicle stays.
    """

    def __init__(self, group: Group) -> None:
        self.group = group
        fields = group.fields
        self._pose = [fields[name] for name in ("x", "y", "yaw")]
        self._v_x = fields["v_x"]
        self._v_y = fields.get("v_y")
        self._omega = fields.get("omega")

    @property
    def poses(self) -> Array:
        """Poses x, y, yaw (B, 3)."""
        return self.group.state[:, self._pose]

    def speed(self) -> Array:
        """How fast each vehicle moves (B,), in m/s."""
        state = self.group.state
        across = state[:, self._v_y] if self._v_y is not None else 0.0
        return np.hypot(state[:, self._v_x], across)

    def moving(self, row: int, before: Array) -> Moving:
        """Pose before the step with the velocity after it, in world axes."""
        now, then = self.group.state[row].tolist(), before[row].tolist()
        x, y, yaw = (then[k] for k in self._pose)
        v_x = now[self._v_x]
        v_y = 0.0 if self._v_y is None else now[self._v_y]
        omega = now[self._omega] if self._omega is not None else self._turning(row, before)
        c, s = cos(yaw), sin(yaw)
        return Moving(x, y, yaw, c * v_x - s * v_y, s * v_x + c * v_y, omega)

    def _turning(self, row: int, before: Array) -> float:
        after = float(self.group.state[row, self._pose[2]])
        return (after - float(before[row, self._pose[2]])) / self.group.dt

    def put(self, row: int, moving: Moving) -> None:
        """Write a pose and a velocity in world axes into the state."""
        state = self.group.state
        for k, value in zip(self._pose, moving, strict=False):
            state[row, k] = value
        c, s = cos(moving.yaw), sin(moving.yaw)
        state[row, self._v_x] = c * moving.v_x + s * moving.v_y
        if self._v_y is not None:
            state[row, self._v_y] = c * moving.v_y - s * moving.v_x
        if self._omega is not None:
            state[row, self._omega] = moving.omega

    def velocity(self, row: int) -> tuple[float, float, float]:
        """Velocity v_x, v_y, omega in body axes."""
        state: Any = self.group.state[row]
        v_y = 0.0 if self._v_y is None else float(state[self._v_y])
        omega = 0.0 if self._omega is None else float(state[self._omega])
        return float(state[self._v_x]), v_y, omega
