"""Any vehicle as a node: its input, state and outputs as messages made from its records.

A vehicle with a body also takes `cmd_vel` and `drive`, of which the latest counts, and publishes
`odom`, `/tf` and `imu`. For vehicles with torques, forces or accelerations as inputs the speed is
regulated at every tick; those with a speed as input get it directly.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from math import atan, ceil, copysign, cos, inf, isfinite, sin, tan
from typing import Any, NamedTuple

import numpy as np

from ...control.car import abilities_of
from ...core import record
from ...core.body import Demand, Pose, Velocity, Wheel, body_of
from ...core.checks import not_negative, positive
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...run.simulator import Simulator
from ...sensors.imu import STANDARD_GRAVITY
from ...sensors.motion import motion_of
from ...units import m_s, m_s2, rad, rad_s, s
from ...vehicles import COMMAND_DRIVEN, get
from ..messages.prepared import Prepared
from ..node import SECOND, Node
from ..transforms import Broadcaster, Rigid
from ..transport import DEFAULT
from .common import (
    ORIENTATION,
    STAMP,
    HotTopic,
    declared,
    field_names,
    header,
    inside,
    leaf_numbers,
    planar_pose,
    record_class,
    serve_set_pose,
)

_TO_SPEED: s = 0.5
"""Time constant of the speed control: long compared with dead times of drives."""
_TO_TRIM: s = 2.0
"""Time constant of the compensation of resistance."""
_COMMANDS = DEFAULT._replace(depth=100)
"""In lock-step every command counts, so none may replace another."""


class Target(NamedTuple):
    """A commanded motion."""

    v: m_s
    omega: rad_s
    steer: rad
    most: m_s2 = inf
    """Largest acceleration on the way to the speed."""


class Commands:
    """The input of a vehicle, from its last command.

    Args:
        node: the node. In lock-step any command advances time.
        vehicle: the vehicle. Without a body it takes its own inputs only.
    """

    def __init__(self, node: Node, vehicle: Vehicle) -> None:
        self._node, self._vehicle = node, vehicle
        self._command: Any = record.at_rest(vehicle.Input)
        """An Input record, or a `Target`."""
        self._heard: int | None = None
        self._trim: m_s2 = 0.0
        """Acceleration that compensates resistance."""
        self._expected: tuple[m_s, m_s2] | None = None
        """Speed at the last tick, and the acceleration expected from it."""
        self._timeout = node.parameters.declare(
            "command_timeout",
            1.0,
            "Age in s at which a command no longer counts and the vehicle is stopped; 0: never.",
            check=partial(not_negative, "command_timeout", unit="s"),
        )
        self._counted = node.name("~/input")
        node.commanded[self._counted] = 0
        node.subscribe("~/input", declared(vehicle, "Input").name, self._input, _COMMANDS)
        if node.parameters["field_topics"]:
            for place, name in enumerate(field_names(vehicle.Input)):
                node.subscribe(f"~/input/{name}", "std_msgs/msg/Float64", self._single(place))
        if vehicle.model.body is None:
            return
        self._can = abilities_of(vehicle)
        stamped = node.parameters.declare(
            "stamped_cmd_vel", False, "Whether cmd_vel is a TwistStamped, as Nav2 has it by now."
        )
        kind = "TwistStamped" if stamped else "Twist"
        node.subscribe("cmd_vel", f"geometry_msgs/msg/{kind}", self._twist, _COMMANDS)
        if vehicle.model.body.steer is not None:
            kind = "ackermann_msgs/msg/AckermannDriveStamped"
            node.subscribe("drive", kind, self._drive, _COMMANDS)

    def _take(self, command: Any) -> None:
        before = self._command
        if not (isinstance(command, Target) and isinstance(before, Target)) or (
            command.v * before.v <= 0.0
        ):
            # Resistance changes its sign with the direction of travel.
            self._trim = 0.0
        self._command, self._heard = command, self._node.elapsed
        self._node.commanded[self._counted] += 1

    def _input(self, message: Any) -> None:
        self._take(leaf_numbers(self._vehicle.Input, message))

    def _single(self, place: int) -> Callable[[Any], None]:
        """A function that sets one number of the input and keeps the others."""
        Input: Any = self._vehicle.Input

        def take(message: Any) -> None:
            before = self._command
            start = record.at_rest(Input) if isinstance(before, Target) else before
            numbers = [*record.flatten(start)]
            numbers[place] = message.data
            self._take(record.build(Input, numbers))

        return take

    def _twist(self, message: Any) -> None:
        twist = getattr(message, "twist", message)
        v, omega = twist.linear.x, twist.angular.z
        _must_be_finite({"linear.x": v, "angular.z": omega})
        self._take(Target(v, omega, self._angle(v, omega)))

    def _angle(self, v: m_s, omega: rad_s) -> rad:
        """The steering angle for a yaw rate; full lock at rest."""
        most = self._can.steer_max
        if v == 0.0 or omega == 0.0:
            return copysign(most, omega) if omega else 0.0
        return min(max(atan(self._can.wheel_base * omega / v), -most), most)

    def _drive(self, message: Any) -> None:
        drive = message.drive
        wanted = {"steering_angle": drive.steering_angle, "speed": drive.speed}
        _must_be_finite({**wanted, "acceleration": drive.acceleration})
        steer = min(max(drive.steering_angle, -self._can.steer_max), self._can.steer_max)
        # In this message an acceleration of 0 stands for the largest one.
        most = abs(drive.acceleration) or inf
        self._take(Target(drive.speed, 0.0, steer, most))

    def input(self, x: Any, u: Any) -> Any:
        """The Input record of the next step, from the state and the input of the last."""
        self._stop_if_late()
        asked = self._command
        if not isinstance(asked, Target):
            self._expected = None
            return asked
        body, p = self._vehicle.model.body, self._vehicle.params
        assert body is not None
        actual = body.speed_of(x, u, p)
        a = self._acceleration(actual, asked)
        omega = asked.omega or asked.v * tan(asked.steer) / self._can.wheel_base
        return body.command(x, Demand(asked.steer, a, asked.v, omega), p)

    def _acceleration(self, actual: m_s, asked: Target) -> m_s2:
        if self._expected is not None:  # compare the expected acceleration with the actual one
            before, a = self._expected
            period = self._node.parameters["period"]
            learnt = self._trim + (a - (actual - before) / period) * period / _TO_TRIM
            self._trim = min(max(learnt, -self._can.a_drive), self._can.a_drive)
        if asked.v == 0.0:
            self._trim = 0.0
        wanted = (asked.v - actual) / _TO_SPEED + self._trim
        brakes = wanted * actual < 0.0
        limit = min(self._can.a_brake if brakes else self._can.a_drive, asked.most)
        sent = min(max(wanted, -limit), limit)
        self._expected = (actual, sent - self._trim)
        return sent

    def interrupted(self) -> None:
        """Drop the expected acceleration after a teleport."""
        self._expected = None

    def _stop_if_late(self) -> None:
        if self._heard is None or self._timeout == 0.0:
            return
        age = (self._node.elapsed - self._heard) / SECOND
        if age <= self._timeout:
            return
        self._node.log("warn", f"no command for {age:.3g} s: the vehicle is stopped")
        self.forget()
        if self._vehicle.model.body is not None:
            self._command = Target(0.0, 0.0, 0.0)

    def forget(self) -> None:
        """Forget all commands: apply the inputs at rest."""
        self._command, self._heard = record.at_rest(self._vehicle.Input), None
        self._trim, self._expected = 0.0, None


def _must_be_finite(numbers: dict[str, float]) -> None:
    for name, value in numbers.items():
        if not isfinite(value):
            raise InvalidValue(f"{name} = {value} must be finite; the one before holds")


Stamp = tuple[int, int]


class RecordTopics:
    """`~/state` and, for a vehicle with outputs, `~/outputs`.

    With the parameter `field_topics` each of their numbers is also on its own topic.
    """

    def __init__(self, node: Node, vehicle: Vehicle, frame: str) -> None:
        self._state = RecordTopic(node, vehicle, "State", frame)
        self._outputs = None
        if record.size(vehicle.model.Outputs):
            self._outputs = RecordTopic(node, vehicle, "Outputs", frame)

    def send(self, stamp: Stamp, simulator: Simulator) -> None:
        """Publish the present records."""
        self._state.send(stamp, simulator.state)
        if self._outputs is not None and self._outputs.wanted:
            self._outputs.send(stamp, simulator.outputs())


class RecordTopic:
    """The topics of a vehicle's state or outputs."""

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
        """Whether any of the topics has a subscriber or a bag."""
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
        node: the node; its parameters say what is published.
        vehicle: a vehicle with a body. The pose is that of its reference point.
        frame: frame in which the vehicle moves.
        base: frame of the vehicle.
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
        # A vehicle that is not continuous has no acceleration.
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
        """Publish the present motion."""
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
            # At rest an accelerometer shows the reaction to gravity.
            force = (motion.a_x, motion.a_y, STANDARD_GRAVITY)
            self._imu.send(*stamp, *turn, velocity.omega, *force)
        if self._joints is not None:
            self._joints.send(stamp, simulator, velocity.v_x, velocity.omega)


class Joints:
    """`joint_states`: steering and rolling angles of the wheels.

    Args:
        node: the node.
        vehicle: the vehicle. A wheel without a spin of its own rolls without slip.
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
        """Publish the wheels, a step after the last call."""
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


def _vehicle(name: str, compat: str | None) -> Vehicle:
    """The vehicle of a name; `compat` goes with Autoware's alone."""
    return get(name)(**({"compat": compat} if name in COMMAND_DRIVEN else {}))


class SingleVehicle:
    """Any vehicle as a program of a node, as in `skidpad ros2 vehicle`.

    Args:
        node: its node, with the parameters of the vehicle as `params.NAME` and its initial state as
            `initial.NAME`.
        vehicle: the vehicle, or the name of a registered one.
        compat: "upstream" for the errors of Autoware's vehicles, or None.
    """

    def __init__(self, node: Node, vehicle: Vehicle | str, *, compat: str | None = None) -> None:
        self._node = node
        own = _vehicle(vehicle, compat) if isinstance(vehicle, str) else vehicle
        declare = node.parameters.declare
        self.period: s = declare(
            "period", 0.01, "Of a tick, in s.", check=partial(positive, "period", unit="s")
        )
        step = declare(
            "step",
            0.001,
            "Longest step of the integrator, in s.",
            check=partial(positive, "step", unit="s"),
        )
        integrator = declare("integrator", "auto", "How a step is made.")
        frame = declare("odom_frame_id", "odom", "The frame in which it moves.")
        base = declare("base_frame_id", "base_link", "The frame of the vehicle.")
        declare(
            "field_topics",
            False,
            "Whether every field has a topic of its own, a std_msgs/Float64 that all tools know.",
        )
        # Inputs are clipped, as actuators stop at their ends: messages must not end the simulation.
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always")
            changed = own.with_params(_numbers(node, "params", own.params))
        for note in notes:
            node.log("warn", str(note.message))
        self.vehicle = changed.with_clipped_inputs()
        # A whole state rather than names, so that unnamed wheels roll.
        State = self.vehicle.State
        self._start = record.build(State, _numbers(node, "initial", record.build(State)))
        self.simulator = Simulator(
            self.vehicle, self.period, integrator, substeps=_substeps(own, self.period, step)
        )
        self.simulator.reset(self._start)
        self._commands = Commands(node, self.vehicle)
        self._records = RecordTopics(node, self.vehicle, base)
        self._body = None
        if self.vehicle.model.body is not None:
            self._body = BodyTopics(node, self.vehicle, frame, base)
        node.subscribe(
            "initialpose",
            "geometry_msgs/msg/PoseWithCovarianceStamped",
            lambda message: self.put(planar_pose(message, frame)),
        )
        serve_set_pose(node, frame, self.put)

    def __repr__(self) -> str:
        return f"SingleVehicle({self._node!r})"

    def tick(self) -> None:
        """Make a step and publish it."""
        simulator = self.simulator
        simulator.step(self._commands.input(simulator.state, simulator.input))
        stamp = divmod(self._node.clock.now(), SECOND)
        self._records.send(stamp, simulator)
        if self._body is not None:
            self._body.send(stamp, simulator)

    def reset(self) -> None:
        """Return to the initial state, without commands."""
        self.simulator.reset(self._start)
        self._commands.forget()

    def put(self, pose: Pose) -> None:
        """Move the vehicle to a pose, at rest, keeping its command."""
        vehicle, simulator = self.vehicle, self.simulator
        body = vehicle.model.body
        if body is None:
            raise InvalidValue(f"{vehicle.name} has no body that could be put somewhere else")
        at_rest = Velocity(0.0, 0.0, 0.0)
        simulator.reset(body.placed(simulator.state, pose, at_rest, vehicle.params))
        self._commands.interrupted()


def _numbers(node: Node, group: str, default: Any) -> dict[str, float]:
    """Declare a parameter for each leaf of a record; returns their values by dotted name."""
    leaves = zip(record.fields(type(default)), record.flatten(default), strict=True)
    return {
        leaf.name: node.parameters.declare(
            f"{group}.{leaf.name}", float(value), f"{leaf.doc} In {leaf.unit}."
        )
        for leaf, value in leaves
    }


def _substeps(vehicle: Vehicle, period: s, step: s) -> int | None:
    """Steps of the integrator in a tick; None for a discrete model, which has its own.

    Short steps are explicit. An implicit one may have no solution where tyre forces change their
    sign, as in a car that stops and reverses, and takes long to compile.
    """
    if not vehicle.model.continuous:
        return None
    return max(vehicle.model.substeps, ceil(period / step - 1e-9))
