"""The node of robotics-laboratory/truck's `simulator_2d`, with skidpad's own engine.

Topics, types and parameters are those of the program at commit 332ff42; docs/ros2_vehicle.md lists
them, and the errors that are repaired unless compat="upstream".
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from itertools import chain
from math import cos, sin, sqrt
from typing import Any

from ...compat.truck.engine import Engine
from ...compat.truck.model_file import EngineState, LidarModel, Noise, Status
from ...core.body import Pose
from ...core.checks import not_negative, one_of, positive
from ...core.files import brief_repr
from ...geometry.pose import unrotated
from ...units import s
from ..dds import Qos
from ..node import Node
from .common import (
    STAMP,
    Broadcaster,
    HotTopic,
    Listener,
    Rigid,
    Watchdog,
    header,
    inside,
    serve_set_pose,
)

WORLD, ODOM, BASE = "world", "odom_ekf", "base"
_SPEED_VARIANCE = 1e-4
"""Variance of the wheel odometry, in m²/s²."""
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
    """Publishes the states of an engine.

    Args:
        node: the node.
        lidar: directions and ranges of its rays.
        rays: number of rays of a scan.
        period: time between two states in s.
        qos: quality of service of all topics but `/tf`.
        upstream: whether messages have the errors of the program.
    """

    def __init__(
        self, node: Node, lidar: LidarModel, rays: int, period: s, qos: Qos, *, upstream: bool
    ) -> None:
        self._node, self._upstream = node, upstream

        def hot(topic: str, kind: str, paths: Iterable[str], frame: str, **more: Any) -> HotTopic:
            paths = (*STAMP, *paths)
            return HotTopic(node, topic, kind, paths, qos, header=header(frame), **more)

        self._localization = hot(
            "/simulator/localization",
            "nav_msgs/msg/Odometry",
            (*inside("pose", *_PLACE, *_TURN), *inside("twist.twist", *_TWIST)),
            WORLD,
            child_frame_id=BASE,
        )
        self._wheels = hot(
            "/hardware/wheel/odometry",
            "nav_msgs/msg/Odometry",
            ("twist.twist.linear.x",),
            BASE,
            child_frame_id="" if upstream else BASE,
            twist=((), [_SPEED_VARIANCE] + [0.0] * 35),
        )
        motor = ("current_rps", "target_rps")
        self._telemetry = hot(
            *("/hardware/telemetry", "truck_msgs/msg/HardwareTelemetry"),
            *((*motor, *_STEERING, *_SPINS), BASE),
        )
        readings = (f"gyro_{path}" for path in _GYRO), (f"accel_{path}" for path in _FORCE)
        state = ("speed", "steering", "collision", *_PLACE, *_TURN, *chain(*readings))
        self._state = hot("/simulator/state", "truck_msgs/msg/SimulationState", state, BASE)
        same = ("angle_min", "angle_max", "angle_increment", "range_min", "range_max")
        fields: dict[str, Any] = {name: getattr(lidar, name) for name in same}
        if not upstream:
            fields["angle_max"] = lidar.angle_min + (rays - 1) * lidar.angle_increment
        fields |= {"scan_time": period, "ranges": [0.0] * rays}
        self._scan = hot("/lidar/scan", "sensor_msgs/msg/LaserScan", (), "lidar_link", **fields)
        self._ranges = self._scan.message.array("ranges")
        self._imu = hot(
            "/camera/imu",
            "sensor_msgs/msg/Imu",
            (*_GYRO, *_FORCE),
            "camera_imu_optical_frame",
            # A first covariance of -1 means that there is no orientation.
            orientation_covariance=[-1.0] + [0.0] * 8,
        )
        self._broadcaster = Broadcaster(node, [(WORLD, ODOM)])
        self._listener = Listener(node)

    def send(self, state: EngineState) -> None:
        """Publish all messages, stamped with the node's time."""
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
        within = self._listener.where(BASE, ODOM)
        if within is not None:  # the odometry frame, if another node publishes the base in it
            self._broadcaster.send(stamp, Rigid.planar(*pose) @ within.inverse())
        now, target = state.current_steering, state.target_steering
        motor = (state.current_motor_rps, state.target_motor_rps)
        angles = (now.left, now.right, target.left, target.right)
        self._telemetry.send(*stamp, *motor, *angles, *state.wheel_velocity)
        middle, hit = state.current_steering.middle, state.status is Status.COLLISION
        self._state.send(*stamp, speed, middle, hit, *place, *turn, *gyro, *force)
        self._ranges[:] = state.lidar_ranges
        self._scan.send(*stamp)
        self._imu.send(*stamp, *gyro, *force)


NAME = "simulator"
"""Node name of the upstream program."""
_WAITING_COMMANDS = 100
"""Depth of the command topic: larger than upstream's 1, so that lock-step loses no command.

In real time only the newest command since the last tick is used.
"""


class Truck:
    """The truck as a program of a node.

    Args:
        node: its node, with simulated time rather than the system clock.
        compat: None, or "upstream" to reproduce the program with its errors.
    """

    __repr__ = brief_repr

    def __init__(self, node: Node, *, compat: str | None = None) -> None:
        one_of("compat", compat, (None, "upstream"))
        declare = node.parameters.declare
        check = partial(positive, "update_period", unit="s")
        self.period: s = declare("update_period", 0.01, "Time of one tick in s.", check=check)
        self._start = Pose(
            *(declare(f"initial_{name}", 0.0, "Of the base point.") for name in Pose._fields)
        )
        self.engine = Engine(
            declare("model_config", "", "A model.yaml; the default truck if empty.") or None,
            declare("map_config", "", "A map file; no obstacles if empty.") or None,
            compat=compat,
            integration_step=declare("integration_step", 0.001, "Inner step in s."),
            precision=declare("calculations_precision", 1e-8, "Tolerance of speed and steering."),
            noise={name: _noise(node, name, compat) for name in ("lidar", "gyro", "accel")},
            seed=declare("seed", 0, "Of the noise."),
        )
        """The simulated truck."""
        self.engine.reset_base(self._start)
        known = partial(one_of, "qos", allowed=(0, 1, _BEST_EFFORT))
        reliable = declare("qos", 0, _QOS, check=known) != _BEST_EFFORT
        state, qos = self.engine.state(), Qos(reliable, depth=1)
        lidar, rays = self.engine.model.lidar, len(state.lidar_ranges)
        self._messages = TruckMessages(
            node, lidar, rays, self.period, qos, upstream=compat is not None
        )
        self._curvature = 0.0
        self._watchdog = Watchdog(node, self._stop)
        waiting = qos._replace(depth=_WAITING_COMMANDS)
        node.obey("/control/command", "truck_msgs/msg/Control", self._command, waiting)
        serve_set_pose(node, WORLD, self.engine.reset_base)
        self._messages.send(state)

    def tick(self) -> None:
        """Advance by the period and publish everything."""
        self._watchdog.look()
        self.engine.advance(self.period)
        self._messages.send(self.engine.state())

    def reset(self) -> None:
        """Return to the initial pose, at rest and without a command, and publish the state."""
        self.engine.reset()
        self.engine.reset_base(self._start)
        self._watchdog.forget()
        self._messages.send(self.engine.state())

    def _command(self, message: Any) -> None:
        acceleration = message.acceleration if message.has_acceleration else None
        self.engine.set_base_control(message.velocity, acceleration, message.curvature)
        self._curvature = message.curvature
        self._watchdog.heard()

    def _stop(self) -> None:
        self.engine.set_base_control(0.0, self._curvature)


_BEST_EFFORT = 2
_QOS = "Reliability by its number in rmw: 0 and 1 are reliable, 2 is best effort."


def _noise(node: Node, sensor: str, compat: str | None) -> Noise:
    def declare(name: str, default: Any, meaning: str) -> Any:
        return node.parameters.declare(f"sensor_noise.{sensor}.{name}", default, meaning)

    on = declare("enable", False, "Whether there is any.")
    mean = declare("mean", 0.0, "In the unit of the sensor.")
    variance = declare("variance", 0.0, "In the square of that unit.")
    not_negative(f"sensor_noise.{sensor}.variance", variance)
    # Upstream uses the variance as the standard deviation.
    return Noise(mean, variance if compat else sqrt(variance)) if on else Noise()
