"""Where all robots of a world are, as messages say it: positions, quaternions, twists.

One table for each kind of message, a row for each robot, computed for all of them together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...arrays import Array
from ...plane.pose import unrotated
from ...world.world import World

Rows = list[list[float]]


class Numbers(NamedTuple):
    """Of one moment, in the order of the world's vehicles."""

    truth: Rows
    """Position x, y, z, quaternion x, y, z, w, then v_x, v_y and omega along the vehicle."""
    odometry: Rows
    """Position x, y, quaternion z, w, then v_x and omega."""
    correction: Rows
    """Of the frame `odom` on the map: position x, y, z, quaternion x, y, z, w."""


def numbers_of(world: World, *, corrected: bool) -> Numbers:
    """The numbers of this moment; not `corrected`, `odom` lies at the origin of the map."""
    motion, odometry = world.motion(), world.odometry()
    lying = world.attitudes() if world.uneven else np.zeros((len(motion), 3))
    yaw = motion[:, 2]
    turn = quaternions(lying[:, 2], lying[:, 1], yaw)
    ahead, left = unrotated(motion[:, 3], motion[:, 4], yaw)
    truth = np.column_stack([motion[:, :2], lying[:, 0], turn, ahead, left, motion[:, 5]])
    half = 0.5 * odometry[:, 2]
    z, w = np.sin(half), np.cos(half)
    reckoned = np.column_stack([odometry[:, :2], z, w, odometry[:, 3:]])
    at = _correction(truth, odometry, z, w) if corrected else _origins(len(truth))
    return Numbers(truth.tolist(), reckoned.tolist(), at.tolist())


def quaternions(roll: Array, pitch: Array, yaw: Array) -> Array:
    """Quaternions x, y, z, w (n, 4) of a yaw, then a pitch, then a roll about the turned axes."""
    (c_r, s_r), (c_p, s_p), (c_y, s_y) = (
        (np.cos(0.5 * angle), np.sin(0.5 * angle)) for angle in (roll, pitch, yaw)
    )
    return np.stack(
        [
            s_r * c_p * c_y - c_r * s_p * s_y,
            c_r * s_p * c_y + s_r * c_p * s_y,
            c_r * c_p * s_y - s_r * s_p * c_y,
            c_r * c_p * c_y + s_r * s_p * s_y,
        ],
        axis=1,
    )


def _correction(truth: Array, odometry: Array, z: Array, w: Array) -> Array:
    """Where `odom` must lie on the map for the vehicle to be where it is."""
    q_x, q_y, q_z, q_w = truth[:, 3:7].T
    # The vehicle's turn, less the one about z that the odometry tells.
    turn = np.stack(
        [q_x * w - q_y * z, q_y * w + q_x * z, q_z * w - q_w * z, q_w * w + q_z * z], axis=1
    )
    a, b, c, d = turn.T
    x, y = odometry[:, 0], odometry[:, 1]
    place = truth[:, :3] - np.stack(
        [
            (1.0 - 2.0 * (b * b + c * c)) * x + 2.0 * (a * b - c * d) * y,
            2.0 * (a * b + c * d) * x + (1.0 - 2.0 * (a * a + c * c)) * y,
            2.0 * (a * c - b * d) * x + 2.0 * (b * c + a * d) * y,
        ],
        axis=1,
    )
    return np.column_stack([place, turn])


def _origins(count: int) -> Array:
    return np.tile([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], (count, 1))
