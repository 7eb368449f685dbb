"""Any vehicle as a node: its input, state and outputs as messages made from its records.

A vehicle with a body also takes `cmd_vel` and `drive`, of which the latest counts, and publishes
`odom`, `/tf` and `imu`. For vehicles with torques, forces or accelerations as inputs the speed is
controlled at every tick; those with a speed as input get it directly.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from math import ceil, cos, inf, isfinite, sin, tan
from typing import Any, NamedTuple

import numpy as np

from ...control.car import abilities_of
from ...core import record
from ...core.body import Demand, Pose, Velocity, Wheel, body_of
from ...core.checks import positive
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...run.simulator import Simulator
from ...sensors.motion import motion_of
from ...sensors.navigation import STANDARD_GRAVITY
from ...units import m_s, m_s2, rad, rad_s, s
from ...vehicles.registry import COMMAND_DRIVEN, get
from ..dds import DEFAULT
from ..node import SECOND, Node
from . import common
from .common import STAMP, Broadcaster, HotTopic, Rigid, header, inside

_TO_SPEED: s = 0.5
"""Time constant of the speed control: long compared with the dead times of drives."""
_TO_TRIM: s = 2.0
"""Time constant of the compensation of resistance."""
_COMMANDS = DEFAULT._replace(depth=100)
"""Depth for lock-step, in which every command counts and none may replace another."""


class Target(NamedTuple):
    v: m_s
    omega: rad_s
    steer: rad
    most: m_s2 = inf
    """Largest acceleration towards the speed."""


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
        self._trim: m_s2 = 0.0
        """Acceleration that compensates resistance."""
        self._expected: tuple[m_s, m_s2] | None = None
        """Speed at the last tick, and the acceleration expected in the period after it."""
        effect = " and the vehicle is stopped"
        self._watchdog = common.Watchdog(node, self._stop, 1.0, dynamic=False, effect=effect)
        self._counted = node.name("~/input")
        node.commanded[self._counted] = 0
        node.subscribe("~/input", common.declared(vehicle, "Input").name, self._input, _COMMANDS)
        if node.parameters["field_topics"]:
            for place, name in enumerate(common.field_names(vehicle.Input)):
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
            # Driving resistance changes its sign with the direction of travel.
            self._trim = 0.0
        self._command = command
        self._watchdog.heard()
        self._node.commanded[self._counted] += 1

    def _input(self, message: Any) -> None:
        Input = self._vehicle.Input
        numbers = [getattr(message, name) for name in common.field_names(Input)]
        self._take(record.build(Input, numbers))

    def _single(self, place: int) -> Callable[[Any], None]:
        """Return a function that sets one number of the input and leaves the others unchanged."""
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
        self._take(Target(v, omega, common.steer_for(self._can, v, omega)))

    def _drive(self, message: Any) -> None:
        drive = message.drive
        wanted = {"steering_angle": drive.steering_angle, "speed": drive.speed}
        _must_be_finite({**wanted, "acceleration": drive.acceleration})
        steer = common.limited(drive.steering_angle, self._can.steer_max)
        # In this message an acceleration of 0 stands for the largest possible acceleration.
        most = abs(drive.acceleration) or inf
        self._take(Target(drive.speed, 0.0, steer, most))

    def input(self, x: Any, u: Any) -> Any:
        """Input record of the next step, from the state and the input of the last one."""
        self._watchdog.look()
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
            self._trim = common.limited(learnt, self._can.a_drive)
        if asked.v == 0.0:
            self._trim = 0.0
        wanted = (asked.v - actual) / _TO_SPEED + self._trim
        sent = common.acceleration_for(self._can, wanted, actual, asked.most)
        self._expected = (actual, sent - self._trim)
        return sent

    def interrupted(self) -> None:
        """Discard the expected acceleration after a teleport."""
        self._expected = None

    def _stop(self) -> None:
        self.forget()
        if self._vehicle.model.body is not None:
            self._command = Target(0.0, 0.0, 0.0)

    def forget(self) -> None:
        """Discard all commands and apply the inputs of a vehicle at rest."""
        self._command = record.at_rest(self._vehicle.Input)
        self._watchdog.forget()
        self._trim, self._expected = 0.0, None


def _must_be_finite(numbers: dict[str, float]) -> None:
    for name, value in numbers.items():
        if not isfinite(value):
            raise InvalidValue(
                f"{name} = {value} must be finite; the previous value stays in effect"
            )


Stamp = tuple[int, int]


class RecordTopics:
    """The topics `~/state` and, for a vehicle with outputs, `~/outputs`.

    With the parameter `field_topics` each of their numbers also has a topic of its own.
    """

    def __init__(self, node: Node, vehicle: Vehicle, frame: str) -> None:
        self._parts: dict[str, tuple[HotTopic, list[HotTopic]]] = {}
        for part in ("State", "Outputs"):
            topic = f"~/{part.lower()}"
            names = common.field_names(common.record_class(vehicle, part))
            if part == "State" or names:
                kind = common.declared(vehicle, part).name
                whole = HotTopic(node, topic, kind, (*STAMP, *names), header=header(frame))
                single = names if node.parameters["field_topics"] else ()
                number = "std_msgs/msg/Float64"
                singles = [HotTopic(node, f"{topic}/{n}", number, ("data",)) for n in single]
                self._parts[part] = whole, singles

    def send(self, stamp: Stamp, simulator: Simulator) -> None:
        for part, (whole, singles) in self._parts.items():
            if part == "State":
                values = simulator.state
            elif any(one.topic.is_heard for one in (whole, *singles)):
                values = simulator.outputs()
            else:
                continue
            numbers = record.flatten(values)
            whole.send(*stamp, *numbers)
            for single, number in zip(singles, numbers, strict=False):
                single.send(number)


class BodyTopics:
    """The topics `odom`, `/tf`, `imu` and `joint_states` of a vehicle with a body.

    Args:
        node: the node; its parameters select what is published.
        vehicle: a vehicle with a body. The pose is that of its reference point.
        frame: frame in which the vehicle moves.
        base: frame of the vehicle.
    """

    def __init__(self, node: Node, vehicle: Vehicle, frame: str, base: str) -> None:
        self._vehicle = vehicle
        declare = node.parameters.declare
        pose = inside("pose.pose", *common.POSITION[:2], *common.ORIENTATION[2:])
        paths = (*STAMP, *pose, *inside("twist.twist", "linear.x", "linear.y", "angular.z"))
        about: dict[str, Any] = {"header": header(frame), "child_frame_id": base}
        self._odometry = HotTopic(node, "odom", "nav_msgs/msg/Odometry", paths, **about)
        self._transform = None
        if declare("publish_tf", True, "Whether the vehicle's frame is published on /tf."):
            self._transform = Broadcaster(node, [(frame, base)])
        self._imu = None
        # A discrete vehicle has no acceleration.
        if vehicle.model.continuous:
            turn = (*common.ORIENTATION[2:], "angular_velocity.z")
            paths = (*STAMP, *turn, *inside("linear_acceleration", *"xyz"))
            kind = "sensor_msgs/msg/Imu"
            self._imu = HotTopic(node, "imu", kind, paths, header=header(base))
        self._joints = None
        if declare("publish_joint_states", False, "Whether angles of wheels are published."):
            self._joints = Joints(node, vehicle)

    def send(self, stamp: Stamp, simulator: Simulator) -> None:
        x, u, vehicle = simulator.state, simulator.input, self._vehicle
        body = body_of(vehicle, "odometry")
        *place, yaw = body.pose(x, vehicle.params)
        velocity = body.velocity(x, u, vehicle.params)
        turn = (sin(0.5 * yaw), cos(0.5 * yaw))
        self._odometry.send(*stamp, *place, *turn, *velocity)
        if self._transform is not None:
            self._transform.send(stamp, Rigid((place[0], place[1], 0.0), (0.0, 0.0, *turn)))
        if self._imu is not None and self._imu.topic.is_heard:
            motion = motion_of(vehicle, x, u, simulator.disturbance)
            # At rest an accelerometer shows the reaction to gravity.
            force = (motion.a_x, motion.a_y, STANDARD_GRAVITY)
            self._imu.send(*stamp, *turn, velocity.omega, *force)
        if self._joints is not None:
            self._joints.send(stamp, simulator, velocity.v_x, velocity.omega)


class Joints:
    """The topic `joint_states`: steering and rolling angles of the wheels.

    Args:
        node: the node.
        vehicle: the vehicle. A wheel without a spin state rolls without slip.
    """

    def __init__(self, node: Node, vehicle: Vehicle) -> None:
        self._wheels = vehicle.geometry.wheels
        self._steered = [wheel for wheel in self._wheels if wheel.steer]
        names = [f"{wheel.name}_steer" for wheel in self._steered]
        names += [f"{wheel.name}_wheel" for wheel in self._wheels]
        zeros, kind = np.zeros(len(names)), "sensor_msgs/msg/JointState"
        self._topic = HotTopic(
            node, "joint_states", kind, STAMP, name=names, position=zeros, velocity=zeros
        )
        self._position = self._topic.message.array("position")
        self._velocity = self._topic.message.array("velocity")
        self._rolled = np.zeros(len(self._wheels))

    def send(self, stamp: Stamp, simulator: Simulator, v_x: m_s, omega: rad_s) -> None:
        """Publish the wheel angles one step after the last call."""
        known = {**simulator.outputs()._asdict(), **simulator.state._asdict()}
        rates = [self._rate(wheel, known, v_x, omega) for wheel in self._wheels]
        self._rolled += simulator.dt * np.array(rates)
        angles = [known[wheel.steer] for wheel in self._steered]
        self._position[:] = [*angles, *self._rolled]
        self._velocity[len(angles) :] = rates
        self._topic.send(*stamp)

    def _rate(self, wheel: Wheel, known: dict[str, float], v_x: m_s, omega: rad_s) -> rad_s:
        if wheel.spin:
            return known[wheel.spin]
        angle = known[wheel.steer] if wheel.steer else wheel.yaw
        along, across = v_x - omega * wheel.y, omega * wheel.x
        return (along * cos(angle) + across * sin(angle)) / wheel.radius


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
        own = vehicle
        if isinstance(own, str):
            own = get(own)(**({"compat": compat} if own in COMMAND_DRIVEN else {}))
        declare = node.parameters.declare
        check = partial(positive, "period", unit="s")
        self.period: s = declare("period", 0.01, "Of a tick, in s.", check=check)
        check = partial(positive, "step", unit="s")
        step = declare("step", 0.001, "Longest step of the integrator, in s.", check=check)
        integrator = declare("integrator", "auto", "How a step is made.")
        frame = declare("odom_frame_id", "odom", "The frame in which it moves.")
        base = declare("base_frame_id", "base_link", "The frame of the vehicle.")
        about = (
            "Whether every field has a topic of its own, a std_msgs/Float64 that all tools know."
        )
        declare("field_topics", False, about)
        # Inputs are clipped, as actuators stop at their ends: messages must not end the simulation.
        with warnings.catch_warnings(record=True) as notes:
            warnings.simplefilter("always")
            changed = own.with_params(_numbers(node, "params", own.params))
        for note in notes:
            node.log("warn", str(note.message))
        self.vehicle = changed.with_clipped_inputs()
        # Pass a whole state rather than named fields, so that all wheels roll.
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
            lambda message: self.put(common.planar_pose(message, frame)),
        )
        common.serve_set_pose(node, frame, self.put)

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
        """Move the vehicle to a pose, at rest; its command is unchanged."""
        vehicle, simulator = self.vehicle, self.simulator
        body = vehicle.model.body
        if body is None:
            raise InvalidValue(f"{vehicle.name} has no body that could be moved to another pose")
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
    """Integrator steps per tick; None for a discrete model, which has its own.

    The steps are short enough for an explicit method. An implicit one may have no solution where
    tyre forces change their sign, as in a car that stops and reverses, and takes long to compile.
    """
    if not vehicle.model.continuous:
        return None
    return max(vehicle.model.substeps, ceil(period / step - 1e-9))
