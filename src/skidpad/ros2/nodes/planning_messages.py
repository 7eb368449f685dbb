"""The reports of a planning simulator as messages, on the topics of Autoware's node."""

from __future__ import annotations

from typing import Any

from ...compat.autoware import Reports, Settings
from ...compat.autoware.reporter import (
    ACCELERATION_COVARIANCE,
    ACCELERATION_FRAME,
    IMU_COVARIANCE,
    IMU_FRAME,
    POSE_COVARIANCE,
)
from ...ros_messages import message_type
from ...units import m
from ..clock import SECOND
from ..node import Node
from ..transforms import Broadcaster, Rigid
from ..transport import DEFAULT
from .hot_topic import ORIENTATION, POSITION, STAMP, HotTopic, inside

ONE = DEFAULT._replace(depth=1)
"""The quality of service of all topics but `/tf`, as upstream's."""
_BARE_STAMP = ("stamp.sec", "stamp.nanosec")
_VEHICLE = "autoware_vehicle_msgs/msg"


def header(frame: str) -> Any:
    """A header of a frame."""
    return message_type("std_msgs/msg/Header").Record(frame_id=frame)


class ReportTopics:
    """Publishes reports.

    Args:
        node: whose topics they are.
        settings: frames and what is published at all.
        actuation: whether the model has pedals to report.
    """

    def __init__(self, node: Node, settings: Settings, *, actuation: bool) -> None:
        origin, vehicle = settings.origin_frame_id, settings.simulated_frame_id
        self._odometry = HotTopic(
            node,
            "output/odometry",
            "nav_msgs/msg/Odometry",
            (
                *STAMP,
                *inside("pose.pose", *POSITION, *ORIENTATION),
                *inside("twist.twist", "linear.x", "angular.z"),
            ),
            ONE,
            header=header(origin),
            child_frame_id=vehicle,
        )
        self.state_covariances(settings.x_stddev, settings.y_stddev)
        PoseWithCovariance = message_type("geometry_msgs/msg/PoseWithCovariance").Record
        self._pose = HotTopic(
            node,
            "output/pose",
            "geometry_msgs/msg/PoseWithCovarianceStamped",
            (*STAMP, *inside("pose.pose", *POSITION, *ORIENTATION)),
            ONE,
            header=header(origin),
            pose=PoseWithCovariance(covariance=POSE_COVARIANCE),
        )
        self._transform = Broadcaster(node, [(origin, vehicle)])
        self._motion(node, vehicle)
        self._switches(node)
        self._steering = None
        if settings.enable_pub_steer:
            self._steering = HotTopic(
                node,
                "output/steering",
                f"{_VEHICLE}/SteeringReport",
                (*_BARE_STAMP, "steering_tire_angle"),
                ONE,
            )
        self._actuation = None
        if actuation:
            self._actuation = HotTopic(
                node,
                "output/actuation_status",
                "tier4_vehicle_msgs/msg/ActuationStatusStamped",
                (*STAMP, *inside("status", "accel_status", "brake_status", "steer_status")),
                ONE,
                header=header(vehicle),
            )

    def _motion(self, node: Node, vehicle: str) -> None:
        self._velocity = HotTopic(
            node,
            "output/twist",
            f"{_VEHICLE}/VelocityReport",
            (*STAMP, "longitudinal_velocity", "lateral_velocity", "heading_rate"),
            ONE,
            header=header(vehicle),
        )
        Accel = message_type("geometry_msgs/msg/AccelWithCovariance").Record
        self._acceleration = HotTopic(
            node,
            "output/acceleration",
            "geometry_msgs/msg/AccelWithCovarianceStamped",
            (*STAMP, *inside("accel.accel.linear", "x", "y")),
            ONE,
            header=header(ACCELERATION_FRAME),
            accel=Accel(covariance=ACCELERATION_COVARIANCE),
        )
        self._imu = HotTopic(
            node,
            "output/imu",
            "sensor_msgs/msg/Imu",
            (*STAMP, *ORIENTATION, "angular_velocity.z", *inside("linear_acceleration", "x", "y")),
            ONE,
            header=header(IMU_FRAME),
            orientation_covariance=IMU_COVARIANCE,
            angular_velocity_covariance=IMU_COVARIANCE,
            linear_acceleration_covariance=IMU_COVARIANCE,
        )

    def _switches(self, node: Node) -> None:
        def topic(name: str, kind: str, field: str = "report") -> HotTopic:
            return HotTopic(
                node, f"output/{name}", f"{_VEHICLE}/{kind}", (*_BARE_STAMP, field), ONE
            )

        self._mode = topic("control_mode_report", "ControlModeReport", "mode")
        self._gear = topic("gear_report", "GearReport")
        self._turn = topic("turn_indicators_report", "TurnIndicatorsReport")
        self._hazard = topic("hazard_lights_report", "HazardLightsReport")

    def state_covariances(self, x_stddev: m, y_stddev: m) -> None:
        """Set the two numbers that go into the odometry's covariance."""
        covariance = self._odometry.message.array("pose.covariance")
        covariance[0], covariance[7] = x_stddev, y_stddev

    def send(self, now: int, reports: Reports) -> None:
        """Publish what there is to report, with the time `now` in ns, in upstream's order."""
        stamp = divmod(now, SECOND)
        if reports.odometry is not None:
            self._send_motion(stamp, reports)
        self._mode.send(*stamp, reports.control_mode.mode)
        if reports.gear is not None:
            self._gear.send(*stamp, reports.gear.gear)
        if reports.turn_indicators is not None:
            self._turn.send(*stamp, reports.turn_indicators.turn_indicators)
        if reports.hazard_lights is not None:
            self._hazard.send(*stamp, reports.hazard_lights.hazard_lights)
        if reports.transform is not None:
            x, y, z, turn = reports.transform.pose
            self._transform.send(stamp, Rigid((x, y, z), turn))
        if reports.steering is not None and self._steering is not None:
            self._steering.send(*stamp, reports.steering.steer)
        status = reports.actuation_status
        if status is not None and self._actuation is not None:
            self._actuation.send(*stamp, status.accel, status.brake, status.steer)

    def _send_motion(self, stamp: tuple[int, int], reports: Reports) -> None:
        # What there is of the motion there is all together.
        motion: Any = (reports.odometry, reports.velocity, reports.acceleration, reports.imu)
        odometry, velocity, acceleration, imu = motion
        x, y, z, turn = odometry.pose
        self._odometry.send(*stamp, x, y, z, *turn, odometry.v_x, odometry.omega)
        self._pose.send(*stamp, x, y, z, *turn)
        self._velocity.send(*stamp, velocity.v_x, velocity.v_y, velocity.omega)
        self._acceleration.send(*stamp, acceleration.a_x, acceleration.a_y)
        self._imu.send(*stamp, *imu.orientation, imu.omega, imu.a_x, imu.a_y)
