"""Where the vehicles of a group think they are, by counting their own steps with a wrong measure.

Every step's motion, seen from the vehicle, is multiplied by its factors and added to the pose. To
keep the cost of a world step low, poses are only noted, and reckoned many steps at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...arrays import Array
from ...plane.pose import rotated, unrotated
from ...random import streams
from ..scene.scene import VehicleSpec

SPREAD = 0.02
"""Standard deviation of the factors that the file does not give."""
_MOST = 256
"""Steps that are noted before they are reckoned."""


class DeadReckoning:
    """Odometry poses of vehicles, from poses (B, 3) noted at every step."""

    def __init__(self, start: Array, factors: Array) -> None:
        self._factors = factors
        self._noted: list[Array] = [start.copy()]
        # Upstream's odometry starts at the vehicle's own origin, wherever that is in the world.
        self._pose = np.zeros_like(start)

    def note(self, poses: Array) -> None:
        """Take in where the vehicles are after a step."""
        self._noted.append(poses)
        if len(self._noted) > _MOST:
            self._reckon()

    def pose(self, row: int) -> tuple[float, float, float]:
        """Where a vehicle thinks it is: x, y, yaw from its start, yaw not wrapped."""
        x, y, yaw = self.poses()[row].tolist()
        return x, y, yaw

    def poses(self) -> Array:
        """Where all of them think they are, (B, 3), as they do now: not to be kept."""
        self._reckon()
        return self._pose

    def carry(self, row: int, pose: Sequence[float]) -> None:
        """Put a vehicle elsewhere without its noticing."""
        self._reckon()
        self._noted[-1][row] = pose

    def _reckon(self) -> None:
        if len(self._noted) < 2:
            return
        poses = np.array(self._noted)
        self._noted = [poses[-1]]
        moved = poses[1:] - poses[:-1]
        ahead, left = unrotated(moved[:, :, 0], moved[:, :, 1], poses[:-1, :, 2])
        # Poses and steps below each other, added up one after the other, so that the bits do not
        # depend on when somebody asks.
        way = np.empty_like(poses)
        way[0] = self._pose
        k_x, k_y, k_yaw = self._factors.T
        way[1:, :, 2] = k_yaw * moved[:, :, 2]
        yaw = np.cumsum(way[:, :, 2], axis=0)
        way[1:, :, 0], way[1:, :, 1] = rotated(k_x * ahead, k_y * left, yaw[:-1])
        self._pose = np.cumsum(way, axis=0)[-1]

    def snapshot(self) -> Any:
        """Everything that changes."""
        self._reckon()
        return self._noted[-1].copy(), self._pose.copy()

    def restore(self, snapshot: Any) -> None:
        """Put back what `snapshot` gave."""
        last, pose = snapshot
        self._noted, self._pose = [last.copy()], pose.copy()


def factors_of(specs: Sequence[VehicleSpec], seed: int, numbers: Sequence[int]) -> Array:
    """Factors (B, 3) on x, y and yaw; what the file does not give is drawn for each vehicle."""
    drawn = 1.0 + SPREAD * streams.normals(seed, "odometry", 0, numbers, 3)[0]
    for row, spec in enumerate(specs):
        o = spec.odometry
        for k, factor in enumerate((o.x_multiplier, o.y_multiplier, o.yaw_multiplier)):
            if factor is not None:
                drawn[row, k] = factor
    return drawn
