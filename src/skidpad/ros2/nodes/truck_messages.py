"""What the truck's node tells: every message of one state of its engine."""

from __future__ import annotations

from math import cos, sin
from typing import Any

from ...compat.truck import EngineState, LidarModel, Status
from ...plane.pose import unrotated
from ...ros_messages import message_type
from ...units import s
from ..node import Node
from ..transforms import Broadcaster, Listener, Rigid
from ..transport import Qos
from .hot_topic import STAMP, HotTopic, inside

WORLD, ODOM, BASE = "world", "odom_ekf", "base"
_SPEED_VARIANCE = 1e-4
"""Of the wheel odometry, in m²/s²."""
_PLACE = tuple(f"pose.position.{axis}" for axis in "xy")
_TURN = tuple(f"pose.orientation.{axis}" for axis in "zw")
_GYRO, _FORCE = (
    tuple(f"{name}.{axis}" for axis in "xyz")
    for name in ("angular_velocity", "linear_acceleration")
)
_TWIST = ("linear.x", "linear.y", "angular.z")
_STEERING = tuple(
    f"{moment}_{side}_steering" for moment in ("current", "target") for side in ("left", "right")
)
_SPINS = tuple(
    f"{axle}_{side}_wheel_velocity" for axle in ("front", "rear") for side in ("left", "right")
)


class TruckMessages:
    """Publishes states of an engine.

    Args:
        node: whose topics they are.
        lidar: where its rays point.
        rays: how many a scan has.
        period: time between two states.
        qos: of all topics but `/tf`.
        upstream: whether messages are those of the program, its errors included.
    """

    def __init__(
        self, node: Node, lidar: LidarModel, rays: int, period: s, qos: Qos, *, upstream: bool
    ) -> None:
        self._node, self._upstream = node, upstream
        self._localization = HotTopic(
            node,
            "/simulator/localization",
            "nav_msgs/msg/Odometry",
            (*STAMP, *inside("pose", *_PLACE, *_TURN), *inside("twist.twist", *_TWIST)),
            qos,
            header=_header(WORLD),
            child_frame_id=BASE,
        )
        self._wheels = HotTopic(
            node,
            "/hardware/wheel/odometry",
            "nav_msgs/msg/Odometry",
            (*STAMP, "twist.twist.linear.x"),
            qos,
            header=_header(BASE),
            child_frame_id="" if upstream else BASE,
            twist=_speed_covariance(),
        )
        self._telemetry = HotTopic(
            node,
            "/hardware/telemetry",
            "truck_msgs/msg/HardwareTelemetry",
            (*STAMP, "current_rps", "target_rps", *_STEERING, *_SPINS),
            qos,
            header=_header(BASE),
        )
        gyro, force = (f"gyro_{path}" for path in _GYRO), (f"accel_{path}" for path in _FORCE)
        self._state = HotTopic(
            node,
            "/simulator/state",
            "truck_msgs/msg/SimulationState",
            (*STAMP, "speed", "steering", "collision", *_PLACE, *_TURN, *gyro, *force),
            qos,
            header=_header(BASE),
        )
        scan = _scan(lidar, rays, period, upstream=upstream)
        self._scan = HotTopic(node, "/lidar/scan", "sensor_msgs/msg/LaserScan", STAMP, qos, **scan)
        self._ranges = self._scan.message.array("ranges")
        self._imu = HotTopic(
            node,
            "/camera/imu",
            "sensor_msgs/msg/Imu",
            (*STAMP, *_GYRO, *_FORCE),
            qos,
            header=_header("camera_imu_optical_frame"),
            # -1 says that there is no orientation.
            orientation_covariance=[-1.0] + [0.0] * 8,
        )
        self._broadcaster = Broadcaster(node, [(WORLD, ODOM)])
        self._listener = Listener(node)

    def send(self, state: EngineState) -> None:
        """Publish all of them, stamped with the node's time."""
        stamp, pose = self._node.stamp(), state.odom_base_pose
        place, turn = (pose.x, pose.y), (sin(0.5 * pose.yaw), cos(0.5 * pose.yaw))
        speed = state.base_twist.velocity
        velocity = state.odom_base_linear_velocity
        if not self._upstream:
            # The twist of an Odometry is in the axes of its child frame.
            velocity = unrotated(*velocity, pose.yaw)
        gyro, force = state.gyro_angular_velocity, state.accel_linear_acceleration
        self._localization.send(*stamp, *place, *turn, *velocity, state.base_angular_velocity)
        self._wheels.send(*stamp, speed if self._upstream else velocity[0])
        self._send_transform(stamp, Rigid.planar(*pose))
        self._telemetry.send(*stamp, *_telemetry(state))
        middle, hit = state.current_steering.middle, state.status is Status.COLLISION
        self._state.send(*stamp, speed, middle, hit, *place, *turn, *gyro, *force)
        self._ranges[:] = state.lidar_ranges
        self._scan.send(*stamp)
        self._imu.send(*stamp, *gyro, *force)

    def _send_transform(self, stamp: Any, base: Rigid) -> None:
        """Where the odometry's frame is, if somebody tells where the base is in it."""
        within = self._listener.where(BASE, ODOM)
        if within is not None:
            self._broadcaster.send(stamp, base @ within.inverse())


def _telemetry(state: EngineState) -> tuple[float, ...]:
    now, target, spin = state.current_steering, state.target_steering, state.wheel_velocity
    motor = (state.current_motor_rps, state.target_motor_rps)
    return *motor, now.left, now.right, target.left, target.right, *spin


def _header(frame: str) -> Any:
    return message_type("std_msgs/msg/Header").Record(frame_id=frame)


def _speed_covariance() -> Any:
    covariance = [_SPEED_VARIANCE] + [0.0] * 35
    return message_type("geometry_msgs/msg/TwistWithCovariance").Record(covariance=covariance)


def _scan(lidar: LidarModel, rays: int, period: s, *, upstream: bool) -> dict[str, Any]:
    last = lidar.angle_min + (rays - 1) * lidar.angle_increment
    return {
        "header": _header("lidar_link"),
        "angle_min": lidar.angle_min,
        "angle_max": lidar.angle_max if upstream else last,
        "angle_increment": lidar.angle_increment,
        "scan_time": period,
        "range_min": lidar.range_min,
        "range_max": lidar.range_max,
        "ranges": [0.0] * rays,
    }
