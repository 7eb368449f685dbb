"""What a vehicle tells of itself: its records, and what everybody understands of a body."""

from __future__ import annotations

from math import cos, sin
from typing import Any

import numpy as np

from ... import record
from ...body import Wheel, body_of
from ...model import Vehicle
from ...ros_messages import Prepared, message_type
from ...run.simulator import Simulator
from ...sensing.imu import STANDARD_GRAVITY
from ...sensing.motion import motion_of
from ...units import m_s, rad_s
from ..clock import SECOND
from ..node import Node
from ..transforms import Broadcaster, Rigid
from .hot_topic import ORIENTATION, STAMP, HotTopic, inside
from .record_messages import declared, field_names, record_class

Stamp = tuple[int, int]


def header(frame: str) -> Any:
    """A header of a frame."""
    return message_type("std_msgs/msg/Header").Record(frame_id=frame)


class RecordTopics:
    """`~/state` and, if there are any, `~/outputs`; with the parameter `field_topics` every number
    of them on a topic of its own, too."""

    def __init__(self, node: Node, vehicle: Vehicle, frame: str) -> None:
        self._state = RecordTopic(node, vehicle, "State", frame)
        self._outputs = None
        if record.size(vehicle.model.Outputs):
            self._outputs = RecordTopic(node, vehicle, "Outputs", frame)

    def send(self, stamp: Stamp, simulator: Simulator) -> None:
        """Publish the records of a moment."""
        self._state.send(stamp, simulator.state)
        if self._outputs is not None and self._outputs.wanted:
            self._outputs.send(stamp, simulator.outputs())


class RecordTopic:
    """A part of a vehicle: its state or its outputs."""

    def __init__(self, node: Node, vehicle: Vehicle, part: str, frame: str) -> None:
        names = field_names(record_class(vehicle, part))
        topic = f"~/{part.lower()}"
        kind = declared(vehicle, part).name
        self._whole = HotTopic(node, topic, kind, (*STAMP, *names), header=header(frame))
        self._singles: list[HotTopic] = []
        if node.parameters["field_topics"]:
            number = "std_msgs/msg/Float64"
            self._singles = [HotTopic(node, f"{topic}/{n}", number, ("data",)) for n in names]

    @property
    def wanted(self) -> bool:
        """Whether anybody would get any of it."""
        return self._whole.wanted or any(single.wanted for single in self._singles)

    def send(self, stamp: Stamp, values: Any) -> None:
        """Publish the numbers of a record."""
        numbers = record.flatten(values)
        self._whole.send(*stamp, *numbers)
        for single, number in zip(self._singles, numbers, strict=False):
            single.send(number)


class BodyTopics:
    """`odom`, `/tf`, `imu` and `joint_states` of a vehicle with a body.

    Args:
        node: whose topics they are; it declares what is published.
        vehicle: with a body. The pose is that of its reference point.
        frame: in which it moves.
        base: the frame of the vehicle.
    """

    def __init__(self, node: Node, vehicle: Vehicle, frame: str, base: str) -> None:
        self._vehicle = vehicle
        declare = node.parameters.declare
        self._odometry = HotTopic(
            node,
            "odom",
            "nav_msgs/msg/Odometry",
            (
                *STAMP,
                *inside("pose.pose", "position.x", "position.y", *ORIENTATION[2:]),
                *inside("twist.twist", "linear.x", "linear.y", "angular.z"),
            ),
            header=header(frame),
            child_frame_id=base,
        )
        self._transform = None
        if declare("publish_tf", True, "Whether the vehicle's frame is published on /tf."):
            self._transform = Broadcaster(node, [(frame, base)])
        self._imu = None
        # What is not continuous knows no acceleration.
        if vehicle.model.continuous:
            self._imu = HotTopic(
                node,
                "imu",
                "sensor_msgs/msg/Imu",
                (
                    *STAMP,
                    *ORIENTATION[2:],
                    "angular_velocity.z",
                    *inside("linear_acceleration", "x", "y", "z"),
                ),
                header=header(base),
            )
        self._joints = None
        if declare("publish_joint_states", False, "Whether angles of wheels are published."):
            self._joints = Joints(node, vehicle)

    def send(self, stamp: Stamp, simulator: Simulator) -> None:
        """Publish the motion of a moment."""
        x, u, vehicle = simulator.state, simulator.input, self._vehicle
        body = body_of(vehicle, "odometry")
        *place, yaw = body.pose(x, vehicle.params)
        velocity = body.velocity(x, u, vehicle.params)
        turn = (sin(0.5 * yaw), cos(0.5 * yaw))
        self._odometry.send(*stamp, *place, *turn, *velocity)
        if self._transform is not None:
            self._transform.send(stamp, Rigid((place[0], place[1], 0.0), (0.0, 0.0, *turn)))
        if self._imu is not None and self._imu.wanted:
            motion = motion_of(vehicle, x, u, simulator.disturbance)
            # At rest an accelerometer shows that it is held up against gravity.
            force = (motion.a_x, motion.a_y, STANDARD_GRAVITY)
            self._imu.send(*stamp, *turn, velocity.omega, *force)
        if self._joints is not None:
            self._joints.send(stamp, simulator, velocity.v_x, velocity.omega)


class Joints:
    """`joint_states`: the steering angle and the rolling of every wheel.

    Args:
        node: whose topic it is.
        vehicle: has the wheels. A wheel that does not spin by itself rolls without slip.
    """

    def __init__(self, node: Node, vehicle: Vehicle) -> None:
        self._wheels = vehicle.geometry.wheels
        self._steered = [wheel for wheel in self._wheels if wheel.steer]
        names = [f"{wheel.name}_steer" for wheel in self._steered]
        names += [f"{wheel.name}_wheel" for wheel in self._wheels]
        zeros = np.zeros(len(names))
        self._topic = node.publisher("joint_states", "sensor_msgs/msg/JointState")
        message = self._topic.type.Record(name=names, position=zeros, velocity=zeros)
        self._message = Prepared(self._topic.type, message)
        self._stamp = self._message.patcher(*STAMP)
        self._position = self._message.array("position")
        self._velocity = self._message.array("velocity")
        self._rolled = np.zeros(len(self._wheels))

    def send(self, stamp: Stamp, simulator: Simulator, v_x: m_s, omega: rad_s) -> None:
        """Publish the wheels of a moment, a step after the last."""
        known = {**simulator.outputs()._asdict(), **simulator.state._asdict()}
        rates = [self._rate(wheel, known, v_x, omega) for wheel in self._wheels]
        self._rolled += simulator.dt * np.array(rates)
        angles = [known[wheel.steer] for wheel in self._steered]
        self._position[:] = [*angles, *self._rolled]
        self._velocity[len(angles) :] = rates
        self._stamp(*stamp)
        self._topic.write(self._message.data)

    def _rate(self, wheel: Wheel, known: dict[str, float], v_x: m_s, omega: rad_s) -> rad_s:
        if wheel.spin:
            return known[wheel.spin]
        angle = known[wheel.steer] if wheel.steer else wheel.yaw
        along, across = v_x - omega * wheel.y, omega * wheel.x
        return (along * cos(angle) + across * sin(angle)) / wheel.radius


def stamp_of(nanoseconds: int) -> Stamp:
    """A time as seconds and nanoseconds."""
    return divmod(nanoseconds, SECOND)
