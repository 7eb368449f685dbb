"""Sensors: what a vehicle could know about its motion, with rate, delay, noise and bias.

Every sensor is a value that says what it is; `measure` is its reading without errors, `runner` puts
it into a loop, `along` reads it along a recorded run and `along_fleet` over many at once.
"""

from __future__ import annotations

from .. import record
from ..plane.geodesy import Origin
from .full_state import FullState
from .gnss import Gnss, GnssReading
from .imu import Imu, ImuReading
from .knobs import PERFECT, Channel
from .lidar import Lidar, LidarRunner, Scan, Twist, outlines
from .motion import Motion, motion_along, motion_of
from .mounting import FRAMES, Mounting, in_frame
from .odometry import Growth, Odometry, OdometryReading
from .readings import Readings
from .runner import Runner
from .sensor import Sensor
from .wheel_speed import WheelSpeed, WheelSpeedReading

__all__ = [
    "FRAMES",
    "PERFECT",
    "Channel",
    "FullState",
    "Gnss",
    "GnssReading",
    "Growth",
    "Imu",
    "ImuReading",
    "Lidar",
    "LidarRunner",
    "Motion",
    "Mounting",
    "Odometry",
    "OdometryReading",
    "Origin",
    "Readings",
    "Runner",
    "Scan",
    "Sensor",
    "Twist",
    "WheelSpeed",
    "WheelSpeedReading",
    "in_frame",
    "motion_along",
    "motion_of",
    "outlines",
]

record.document_all()
