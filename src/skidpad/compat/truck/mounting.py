"""Where the sensors sit on the truck, from the middle of the rear axle, which its state is of."""

from __future__ import annotations

import math

import numpy as np

from ...errors import InvalidValue
from ...sensing.mounting import Mounting
from .frames import Transform
from .model_file import TruckModel

LIDAR = "lidar_link"
IMU = "camera_imu_optical_frame"
BASE = "base"
_LEVEL = 1e-6
"""Sine of the tilt of a lidar that counts as level."""


def mounting_of(model: TruckModel, frame: str) -> Mounting:
    """Pose of a frame on the truck, by its fixed transforms from the base."""
    pose = model.placed_frames.pose(frame, seen_from=BASE)
    x, y, z = pose.translation.tolist()
    return Mounting(model.params.base_to_rear + x, y, z, *_angles(pose))


def level_mounting_of(model: TruckModel, frame: str) -> Mounting:
    """Pose of a frame whose z axis points up; raises if it does not."""
    up = model.placed_frames.pose(frame, seen_from=BASE).rotation[:, 2]
    if np.hypot(up[0], up[1]) > _LEVEL or up[2] < 0.0:
        raise InvalidValue(
            f"tf_static: the z axis of {frame!r} points along {np.round(up, 6).tolist()} of the "
            "base; the lidar must be level, upright"
        )
    return mounting_of(model, frame)


def _angles(pose: Transform) -> tuple[float, float, float]:
    """Roll, pitch and yaw of the axes of a frame."""
    r = pose.rotation
    pitch = -math.asin(max(-1.0, min(1.0, float(r[2, 0]))))
    if math.hypot(r[0, 0], r[1, 0]) < 1e-12:
        # Straight up or down, where roll and yaw turn about one axis: all of it is yaw.
        return 0.0, pitch, math.atan2(-r[0, 1], r[1, 1])
    return math.atan2(r[2, 1], r[2, 2]), pitch, math.atan2(r[1, 0], r[0, 0])
