"""Sensors: measurements of a vehicle's motion, with rate, delay, noise and bias.

Every sensor is an immutable description; `measure` is its reading without errors, `runner` uses it
in a simulation loop, `along` reads it along a recorded run and `along_fleet` along many at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core import record
from ..core.lazy import lazy_attributes

if TYPE_CHECKING:
    from ..geometry.geodesy import Origin
    from .lidar import Lidar, Scan, outlines
    from .models import (
        FullState,
        FullStateFeedback,
        MountedSensor,
        OutputFunction,
        SelectedOutputs,
    )
    from .motion import Motion, Mounting, in_frame, motion_along, motion_of
    from .navigation import Gnss, Growth, Imu, Odometry, WheelSpeed
    from .sensor import PERFECT, Channel, Sensor

__all__ = [
    "PERFECT", "Channel", "FullState", "FullStateFeedback", "Gnss", "Growth", "Imu", "Lidar",
    "Motion", "MountedSensor", "Mounting", "Odometry", "Origin", "OutputFunction", "Scan",
    "SelectedOutputs", "Sensor", "WheelSpeed", "in_frame", "motion_along",
    "motion_of", "outlines",
]  # fmt: skip

__getattr__ = lazy_attributes(
    __name__,
    {
        "..geometry.geodesy": ("Origin",),
        ".lidar": ("Lidar", "Scan", "outlines"),
        ".models": (
            *("FullState", "FullStateFeedback", "MountedSensor", "OutputFunction"),
            *("SelectedOutputs",),
        ),
        ".motion": ("Motion", "Mounting", "in_frame", "motion_along", "motion_of"),
        ".navigation": ("Gnss", "Growth", "Imu", "Odometry", "WheelSpeed"),
        ".sensor": ("PERFECT", "Channel", "Sensor"),
    },
)

record.document_all()
