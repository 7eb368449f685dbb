"""What others tell a vehicle to do: its own inputs, `cmd_vel`, or `drive`; the latest counts.

A speed that was asked for is regulated at every tick, for vehicles that are commanded torques,
forces or accelerations; those that are commanded a speed get it as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from math import atan, copysign, inf, isfinite, tan
from typing import Any, NamedTuple

from ... import record
from ...body import Wish
from ...checks import not_negative
from ...controllers.abilities import abilities_of
from ...errors import InvalidValue
from ...model import Vehicle
from ...units import m_s, m_s2, rad, rad_s, s
from ..clock import SECOND
from ..node import Node
from ..transport import DEFAULT
from .record_messages import declared, field_names, leaf_numbers

_TO_SPEED: s = 0.5
"""In which the speed gets near what was asked for: long against dead times of drives."""
_TO_TRIM: s = 2.0
"""In which resistance is made up for."""
_COMMANDS = DEFAULT._replace(depth=100)
"""In lock-step every command counts, so none may push out another."""


class Asked(NamedTuple):
    """A motion that was asked for."""

    v: m_s
    omega: rad_s
    steer: rad
    most: m_s2 = inf
    """Largest acceleration on the way to the speed."""


class Commands:
    """The input of one vehicle, from what was commanded last.

    Args:
        node: hears the commands. In lock-step any of them lets time go on.
        vehicle: what is driven. Without a body it takes its own inputs only.
    """

    def __init__(self, node: Node, vehicle: Vehicle) -> None:
        self._node, self._vehicle = node, vehicle
        self._command: Any = record.at_rest(vehicle.Input)
        """An Input record, or an `Asked`."""
        self._heard: int | None = None
        self._trim: m_s2 = 0.0
        """Acceleration that makes up for what slows the vehicle down."""
        self._expected: tuple[m_s, m_s2] | None = None
        """Speed at the last tick, and the acceleration that was to come of it."""
        self._timeout = node.parameters.declare(
            "command_timeout",
            1.0,
            "Age in s at which a command no longer counts and the vehicle is stopped; 0: never.",
            check=_must_be_an_age,
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
        if not (isinstance(command, Asked) and isinstance(before, Asked)) or (
            command.v * before.v <= 0.0
        ):
            # Resistance turns around with the direction of travel.
            self._trim = 0.0
        self._command, self._heard = command, self._node.elapsed
        self._node.commanded[self._counted] += 1

    def _input(self, message: Any) -> None:
        self._take(leaf_numbers(self._vehicle.Input, message))

    def _single(self, place: int) -> Callable[[Any], None]:
        """What takes one number of the input; the others stay."""
        Input: Any = self._vehicle.Input

        def take(message: Any) -> None:
            before = self._command
            start = record.at_rest(Input) if isinstance(before, Asked) else before
            numbers = [*record.flatten(start)]
            numbers[place] = message.data
            self._take(record.build(Input, numbers))

        return take

    def _twist(self, message: Any) -> None:
        twist = getattr(message, "twist", message)
        v, omega = twist.linear.x, twist.angular.z
        _must_be_finite({"linear.x": v, "angular.z": omega})
        self._take(Asked(v, omega, self._angle(v, omega)))

    def _angle(self, v: m_s, omega: rad_s) -> rad:
        """The steering angle for a yaw rate; at rest, all that there is of it."""
        most = self._can.steer_max
        if v == 0.0 or omega == 0.0:
            return copysign(most, omega) if omega else 0.0
        return min(max(atan(self._can.wheel_base * omega / v), -most), most)

    def _drive(self, message: Any) -> None:
        drive = message.drive
        wanted = {"steering_angle": drive.steering_angle, "speed": drive.speed}
        _must_be_finite({**wanted, "acceleration": drive.acceleration})
        steer = min(max(drive.steering_angle, -self._can.steer_max), self._can.steer_max)
        # An acceleration of 0 stands for as fast as possible there.
        most = abs(drive.acceleration) or inf
        self._take(Asked(drive.speed, 0.0, steer, most))

    def input(self, x: Any, u: Any) -> Any:
        """The Input record for the coming step, from the state and the input of the last."""
        self._stop_if_late()
        asked = self._command
        if not isinstance(asked, Asked):
            self._expected = None
            return asked
        body, p = self._vehicle.model.body, self._vehicle.params
        assert body is not None
        actual = body.speed_of(x, u, p)
        a = self._acceleration(actual, asked)
        omega = asked.omega or asked.v * tan(asked.steer) / self._can.wheel_base
        return body.command(x, Wish(asked.steer, a, asked.v, omega), p)

    def _acceleration(self, actual: m_s, asked: Asked) -> m_s2:
        self._learn_resistance(actual)
        if asked.v == 0.0:
            self._trim = 0.0
        wanted = (asked.v - actual) / _TO_SPEED + self._trim
        brakes = wanted * actual < 0.0
        limit = min(self._can.a_brake if brakes else self._can.a_drive, asked.most)
        sent = min(max(wanted, -limit), limit)
        self._expected = (actual, sent - self._trim)
        return sent

    def _learn_resistance(self, actual: m_s) -> None:
        """Compare the acceleration that was to be expected with what has become of it."""
        if self._expected is not None:
            before, a = self._expected
            gone = self._node.parameters["period"]
            learnt = self._trim + (a - (actual - before) / gone) * gone / _TO_TRIM
            self._trim = min(max(learnt, -self._can.a_drive), self._can.a_drive)
            self._expected = None

    def interrupted(self) -> None:
        """The vehicle was put elsewhere: its speed says nothing about what was commanded."""
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
            self._command = Asked(0.0, 0.0, 0.0)

    def forget(self) -> None:
        """Go on as if nothing had been commanded: with the inputs at rest."""
        self._command, self._heard = record.at_rest(self._vehicle.Input), None
        self._trim, self._expected = 0.0, None


def _must_be_an_age(value: s) -> None:
    not_negative("command_timeout", value, "s")


def _must_be_finite(numbers: dict[str, float]) -> None:
    for name, value in numbers.items():
        if not isfinite(value):
            raise InvalidValue(f"{name} = {value} must be finite; the one before holds")
