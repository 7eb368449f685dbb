"""Readings of the sensors of robots as messages: LaserScan, Imu, NavSatFix."""

from __future__ import annotations

from math import isnan
from typing import Any

import numpy as np

from ...recording.rotations import quaternion
from ...ros_messages import message_type
from ...units import rad
from ...world.scene import sensors as specs
from ...world.scene.scene import Pose
from ..node import Node
from ..transforms import Rigid
from ..transport import Qos
from .hot_topic import ORIENTATION, inside
from .stream import Stream
from .world_names import RobotNames

NEAREST = 0.02
"""Range in m below which upstream calls a reading invalid."""
_NOT_MEASURED = -1.0
"""First number of a covariance that says that there is no estimate."""
_FIX, _GPS = 0, 1
_DIAGONAL_KNOWN = 2


def rigid_of(pose: Pose) -> Rigid:
    """Where a sensor sits on its vehicle, as a frame."""
    return Rigid((pose.x, pose.y, pose.z), quaternion(pose.yaw, pose.pitch, pose.roll))


class LaserTopic:
    """Scans of a lidar."""

    def __init__(
        self, node: Node, names: RobotNames, spec: specs.Laser, qos: Qos, upstream: bool
    ) -> None:
        step = spec.fov / (spec.nrays - 1) if spec.nrays > 1 else 0.0
        first = -0.5 * spec.fov if spec.nrays > 1 else 0.0
        self.stream = Stream(
            node,
            names.topic(spec.name),
            "sensor_msgs/msg/LaserScan",
            (),
            qos,
            header=_header(names.frame(spec.name)),
            angle_min=first,
            angle_max=-first,
            angle_increment=step,
            scan_time=0.0 if upstream else spec.period,
            range_min=NEAREST,
            range_max=spec.max_range,
            ranges=np.zeros(spec.nrays, np.float32),
        )
        self._ranges = self.stream.message.array("ranges")
        # To upstream what is not seen is as far away as the lidar sees.
        self._farthest = spec.max_range if upstream else None

    def send(self, stamp: tuple[int, int], reading: Any) -> None:
        """Publish a scan."""
        if self._farthest is None:
            self._ranges[:] = reading.ranges
        else:
            np.minimum(reading.ranges, self._farthest, out=self._ranges, casting="same_kind")
        self.stream.send(*stamp)


class ImuTopic:
    """Readings of an inertial unit; its attitude is that of the unit, from east and north."""

    def __init__(self, node: Node, names: RobotNames, spec: specs.Imu, qos: Qos, east: rad) -> None:
        attitude = spec.orientation_std_noise**2 if spec.measure_orientation else 0.0
        orientation = _diagonal(attitude, attitude, attitude)
        if not spec.measure_orientation:
            orientation[0] = _NOT_MEASURED
        self.stream = Stream(
            node,
            names.topic(spec.name),
            "sensor_msgs/msg/Imu",
            (
                *inside("angular_velocity", *"xyz"),
                *inside("linear_acceleration", *"xyz"),
                *ORIENTATION,
            ),
            qos,
            header=_header(names.frame(spec.name)),
            orientation_covariance=orientation,
            angular_velocity_covariance=_diagonal(*[spec.angular_velocity_white_noise**2] * 3),
            linear_acceleration_covariance=_diagonal(
                *[spec.linear_acceleration_white_noise**2] * 3
            ),
        )
        self._east = Rigid.planar(0.0, 0.0, east)
        self._mounting = rigid_of(spec.pose)

    def send(self, stamp: tuple[int, int], reading: Any) -> None:
        """Publish a reading."""
        turn = (0.0, 0.0, 0.0, 1.0)
        if not isnan(reading.yaw):
            vehicle = rigid_of(Pose(0.0, 0.0, 0.0, reading.yaw, reading.pitch, reading.roll))
            turn = (self._east @ vehicle @ self._mounting).rotation
        self.stream.send(*stamp, *reading[3:6], *reading[:3], *turn)


class GnssTopic:
    """Positions of a satellite receiver."""

    def __init__(self, node: Node, names: RobotNames, spec: specs.Gnss, qos: Qos) -> None:
        Status = message_type("sensor_msgs/msg/NavSatStatus").Record
        across, up = spec.horizontal_std_noise**2, spec.vertical_std_noise**2
        self.stream = Stream(
            node,
            names.topic(spec.name),
            "sensor_msgs/msg/NavSatFix",
            ("latitude", "longitude", "altitude"),
            qos,
            header=_header(names.frame(spec.name)),
            status=Status(_FIX, _GPS),
            position_covariance=_diagonal(across, across, up),
            position_covariance_type=_DIAGONAL_KNOWN,
        )

    def send(self, stamp: tuple[int, int], reading: Any) -> None:
        """Publish a position."""
        self.stream.send(*stamp, reading.latitude, reading.longitude, reading.altitude)


SensorTopic = LaserTopic | ImuTopic | GnssTopic


def sensor_topic(
    node: Node, names: RobotNames, spec: specs.Sensor, qos: Qos, *, east: rad, upstream: bool
) -> SensorTopic | None:
    """The topic of a sensor; None for kinds that have none."""
    if isinstance(spec, specs.Laser):
        return LaserTopic(node, names, spec, qos, upstream)
    if isinstance(spec, specs.Imu):
        return ImuTopic(node, names, spec, qos, east)
    return GnssTopic(node, names, spec, qos) if isinstance(spec, specs.Gnss) else None


def _diagonal(*variances: float) -> list[float]:
    return np.diag(variances).ravel().tolist()


def _header(frame: str) -> Any:
    return message_type("std_msgs/msg/Header").Record(frame_id=frame)
