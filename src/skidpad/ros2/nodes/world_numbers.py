"""Where all robots of a world are, as messages say it: positions, quaternions, twists.

One table for each kind of message, a row for each robot, computed for all of them together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Array
from ...recording.rotations import quaternions
from ...world.world import World

_ORIGIN = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)


class Numbers(NamedTuple):
    """Of one moment, a row for each of the world's vehicles in their order."""

    truth: Array
    """Position x, y, z, quaternion x, y, z, w, then v_x, v_y and omega along the vehicle."""
    odometry: Array
    """Position x, y, quaternion z, w, then v_x and omega."""
    correction: Array
    """Of the frame `odom` on the map: position x, y, z, quaternion x, y, z, w."""


def numbers_of(world: World, *, corrected: bool) -> Numbers:
    """The numbers of this moment; not `corrected`, `odom` lies at the origin of the map."""
    motion, odometry = world.motion(in_world=False), world.odometry()
    count, yaw = len(motion), motion[:, 2]
    truth = np.zeros((count, 10))
    truth[:, :2], truth[:, 7:] = motion[:, :2], motion[:, 3:]
    if world.uneven:
        z, pitch, roll = world.attitudes().T
        truth[:, 2], truth[:, 3:7] = z, quaternions(yaw, pitch, roll)
    else:
        truth[:, 5], truth[:, 6] = np.sin(0.5 * yaw), np.cos(0.5 * yaw)
    half = 0.5 * odometry[:, 2]
    reckoned = np.empty((count, 6))
    reckoned[:, :2], reckoned[:, 4:] = odometry[:, :2], odometry[:, 3:]
    reckoned[:, 2], reckoned[:, 3] = np.sin(half), np.cos(half)
    if not corrected:
        at = np.tile(_ORIGIN, (count, 1))
    elif world.uneven:
        at = _correction(truth, reckoned)
    else:
        at = _level_correction(truth, reckoned)
    return Numbers(truth, reckoned, at)


def _level_correction(truth: Array, reckoned: Array) -> Array:
    """As `_correction`, of vehicles that lie level."""
    x, y, z, w = reckoned.T[:4]
    q_z, q_w = truth[:, 5] * w - truth[:, 6] * z, truth[:, 6] * w + truth[:, 5] * z
    cosine, sine = q_w * q_w - q_z * q_z, 2.0 * q_z * q_w
    at = np.zeros((len(truth), 7))
    at[:, 0] = truth[:, 0] - (cosine * x - sine * y)
    at[:, 1] = truth[:, 1] - (sine * x + cosine * y)
    at[:, 5], at[:, 6] = q_z, q_w
    return at


def _correction(truth: Array, reckoned: Array) -> Array:
    """Where `odom` must lie on the map for the vehicle to be where it is."""
    x, y, z, w = reckoned.T[:4]
    q_x, q_y, q_z, q_w = truth[:, 3:7].T
    # The vehicle's turn, less the one about z that the odometry tells.
    turn = np.stack(
        [q_x * w - q_y * z, q_y * w + q_x * z, q_z * w - q_w * z, q_w * w + q_z * z], axis=1
    )
    a, b, c, d = turn.T
    place = truth[:, :3] - np.stack(
        [
            (1.0 - 2.0 * (b * b + c * c)) * x + 2.0 * (a * b - c * d) * y,
            2.0 * (a * b + c * d) * x + (1.0 - 2.0 * (a * a + c * c)) * y,
            2.0 * (a * c - b * d) * x + 2.0 * (b * c + a * d) * y,
        ],
        axis=1,
    )
    return np.column_stack([place, turn])
