"""Sensors: what a vehicle could know about its motion, with rate, delay, noise and bias.

Every sensor is a value that says what it is; `measure` is its reading without errors, `runner` puts
it into a loop, `along` reads it along a recorded run and `along_fleet` over many at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import lazy_attributes

if TYPE_CHECKING:
    from ..geometry.geodesy import (
        Origin,
    )
    from .channels import (
        PERFECT,
        Channel,
        Readings,
    )
    from .gnss import (
        Gnss,
        GnssReading,
    )
    from .imu import (
        Imu,
        ImuReading,
    )
    from .lidar import (
        Lidar,
        LidarRunner,
        Scan,
        Twist,
        outlines,
    )
    from .models import (
        FullState,
    )
    from .motion import (
        FRAMES,
        Motion,
        Mounting,
        in_frame,
        motion_along,
        motion_of,
    )
    from .odometry import (
        Growth,
        Odometry,
        OdometryReading,
        WheelSpeed,
        WheelSpeedReading,
    )
    from .runner import (
        Runner,
    )
    from .sensor import (
        Sensor,
    )

from ..core import record

__all__ = [
    "FRAMES",
    "PERFECT",
    "Channel",
    "FullState",
    "FullStateFeedback",
    "Gnss",
    "GnssReading",
    "Growth",
    "Imu",
    "ImuReading",
    "Lidar",
    "LidarRunner",
    "Motion",
    "MountedSensor",
    "Mounting",
    "Odometry",
    "OdometryReading",
    "Origin",
    "OutputFunction",
    "Readings",
    "Runner",
    "Scan",
    "SelectedOutputs",
    "Sensor",
    "SensorModel",
    "Twist",
    "WheelSpeed",
    "WheelSpeedReading",
    "in_frame",
    "motion_along",
    "motion_of",
    "outlines",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        "..geometry.geodesy": ("Origin",),
        ".channels": (
            "Channel",
            "PERFECT",
            "Readings",
        ),
        ".gnss": (
            "Gnss",
            "GnssReading",
        ),
        ".imu": (
            "Imu",
            "ImuReading",
        ),
        ".lidar": (
            "Lidar",
            "LidarRunner",
            "Scan",
            "Twist",
            "outlines",
        ),
        ".models": (
            "FullState",
            "FullStateFeedback",
            "MountedSensor",
            "OutputFunction",
            "SelectedOutputs",
            "SensorModel",
        ),
        ".motion": (
            "FRAMES",
            "Motion",
            "Mounting",
            "in_frame",
            "motion_along",
            "motion_of",
        ),
        ".odometry": (
            "Growth",
            "Odometry",
            "OdometryReading",
            "WheelSpeed",
            "WheelSpeedReading",
        ),
        ".runner": ("Runner",),
        ".sensor": ("Sensor",),
    },
)

record.document_all()
