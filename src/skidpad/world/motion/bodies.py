"""Pose and velocity of the vehicles of a group, between their own states and the world's axes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import cos, sin
from typing import Any

import numpy as np

from ...arrays import AnyArray
from ..contact.solids import Moving
from .groups import Group


class Bodies:
    """Which fields of a group's state are its motion.

    A model whose wheels cannot slide has no sideways velocity: of what a contact does to it, the
    part along the vehicle stays.
    """

    def __init__(self, group: Group) -> None:
        self.group = group
        fields = group.fields
        self._pose = tuple(fields[name] for name in ("x", "y", "yaw"))
        self._v_x = fields["v_x"]
        self._v_y = fields.get("v_y")
        self._omega = fields.get("omega")
        self._posed, self._placed = columns(self._pose), columns(self._pose[:2])
        known = (k for k in (self._v_y, self._omega) if k is not None)
        self._moved = columns((*self._pose, self._v_x, *known))

    @property
    def poses(self) -> AnyArray:
        """Poses x, y, yaw (B, 3), a copy."""
        return self.group.state[:, self._posed].copy()

    @property
    def places(self) -> AnyArray:
        """Positions x, y (B, 2), as they are now: not to be kept."""
        return self.group.state[:, self._placed]

    def speed(self) -> AnyArray:
        """How fast each vehicle moves (B,), in m/s."""
        state = self.group.state
        across = state[:, self._v_y] if self._v_y is not None else 0.0
        return np.hypot(state[:, self._v_x], across)

    def moving(self, rows: Sequence[int], before: AnyArray) -> list[Moving]:
        """Poses before the step with the velocities after it, of some vehicles in world axes."""
        now, then = self.group.state[rows].tolist(), before[rows].tolist()
        return [self._moving(a, b) for a, b in zip(now, then, strict=True)]

    def _moving(self, now: list[float], then: list[float]) -> Moving:
        at_x, at_y, at_yaw = self._pose
        yaw, v_x = then[at_yaw], now[self._v_x]
        v_y = 0.0 if self._v_y is None else now[self._v_y]
        turned = now[at_yaw] - yaw
        omega = turned / self.group.dt if self._omega is None else now[self._omega]
        c, s = cos(yaw), sin(yaw)
        return Moving(then[at_x], then[at_y], yaw, c * v_x - s * v_y, s * v_x + c * v_y, omega)

    def put(self, rows: Iterable[int], movings: Iterable[Moving]) -> None:
        """Write poses and velocities in world axes into the states of some vehicles."""
        state, moved = self.group.state, self._moved
        for row, (x, y, yaw, v_x, v_y, omega) in zip(rows, movings, strict=True):
            c, s = cos(yaw), sin(yaw)
            motion = [x, y, yaw, c * v_x + s * v_y]
            if self._v_y is not None:
                motion.append(c * v_y - s * v_x)
            if self._omega is not None:
                motion.append(omega)
            state[row, moved] = motion

    def velocity(self, row: int) -> tuple[float, float, float]:
        """Velocity v_x, v_y, omega in body axes."""
        state: Any = self.group.state[row]
        v_y = 0.0 if self._v_y is None else float(state[self._v_y])
        omega = 0.0 if self._omega is None else float(state[self._omega])
        return float(state[self._v_x]), v_y, omega


def columns(indices: Sequence[int]) -> slice | list[int]:
    """Columns of an array as a slice where they lie side by side: NumPy is many times faster."""
    first = indices[0]
    if list(indices) == list(range(first, first + len(indices))):
        return slice(first, first + len(indices))
    return list(indices)
