"""Inputs of a planning simulator (commands, gears, lights, modes, poses) and its motion contract.

Enumerations have the numbers of `autoware_vehicle_msgs`. A message may be given as a record, a
mapping, a sequence or keywords; missing fields are zero.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from ctypes import c_float
from enum import IntEnum
from math import isfinite, isinf
from typing import Any, NamedTuple, Protocol

from ...core import record
from ...errors import InvalidValue
from ...units import m, m_s, m_s2, one, rad, rad_s
from ...vehicles.parts.actuators import Gear as Gear


class ControlMode(IntEnum):
    """Source of the commands; only AUTONOMOUS and MANUAL can be requested of the simulator."""

    NO_COMMAND = 0
    AUTONOMOUS = 1
    AUTONOMOUS_STEER_ONLY = 2
    AUTONOMOUS_VELOCITY_ONLY = 3
    MANUAL = 4
    DISENGAGED = 5
    NOT_READY = 6


class TurnIndicators(IntEnum):
    """Direction indicator command."""

    NO_COMMAND = 0
    DISABLE = 1
    ENABLE_LEFT = 2
    ENABLE_RIGHT = 3


class HazardLights(IntEnum):
    """Hazard light command."""

    NO_COMMAND = 0
    DISABLE = 1
    ENABLE = 2


class ControlCommand(NamedTuple):
    """Command of a trajectory follower, stored as 32-bit floats as in the message."""

    velocity: m_s = 0.0
    """Target velocity, positive forwards in any gear; used by the `..._STEER_VEL` models only."""
    acceleration: m_s2 = 0.0
    """Target acceleration in the direction of the gear: in REVERSE, positive means faster
    backwards. Used by the `..._ACC...` models only."""
    steer: rad = 0.0
    """Target tyre angle, positive to the left."""


class ActuationCommand(NamedTuple):
    """Command of the actuators of a vehicle, for the `ACTUATION_CMD...` models."""

    accel: one = 0.0
    """Accelerator pedal, in the unit of the accel map; the acceleration in m/s² without a
    conversion.

    It takes precedence if both pedals are pressed.
    """
    brake: one = 0.0
    """Brake pedal, in the unit of the brake map."""
    steer: one = 0.0
    """Steering, positive to the left.

    By model: tyre angle in rad, steering wheel angle in rad, or the row coordinate of the steer
    map.
    """


class InitialPose(NamedTuple):
    """Start pose of the vehicle: centre of its rear axle, in the origin frame."""

    x: m = 0.0
    y: m = 0.0
    yaw: rad = 0.0
    """Heading, positive to the left; `reports.yaw_of` computes it from a quaternion."""
    z: m = 0.0
    """Height, reported until a trajectory sets another; it has no effect on the motion."""


def single(value: float) -> float:
    """A number rounded to a 32-bit float; infinite if it is too large."""
    return c_float(value).value


def control_command(message: Any, fields: Mapping[str, Any]) -> ControlCommand:
    """A checked command, rounded to 32-bit floats."""
    exact = checked_record(ControlCommand, message, fields)
    rounded = ControlCommand(*map(single, exact))
    for name, value, kept in zip(ControlCommand._fields, exact, rounded, strict=True):
        if isinf(kept):
            raise InvalidValue(f"ControlCommand.{name} = {value} does not fit a 32-bit float")
    return rounded


def checked_record(kind: Any, message: Any, fields: Mapping[str, Any]) -> Any:
    """A record of this kind from a message or its fields; raises `InvalidValue`."""
    # Another record with the same fields, such as the converter's, means the same.
    if type(message) is not kind and getattr(message, "_fields", None) == kind._fields:
        message = kind(*message)
    # A usual call has finite floats under known names; all checks take as long as three ticks.
    plain: Any = None if fields else message
    if message is None:
        with contextlib.suppress(TypeError):
            plain = kind(**fields)
    usual = type(plain) is kind and all(isinstance(value, float) for value in plain)
    return plain if usual and isfinite(sum(plain)) else record.build(kind, message, **fields)


def gear_number(value: Any) -> Gear | int:
    """The gear by member, number or name, or any other number that fits the message (0 to 255).

    For the upstream program a number without a name is a gear that does not drive.
    """
    try:
        return member(Gear, value)
    except InvalidValue:
        if isinstance(value, int) and 0 <= value <= 255:
            return int(value)
        raise


def member(kind: type[IntEnum], value: Any) -> Any:
    """Member of an enumeration by member, number or name; raises `InvalidValue` for others."""
    try:
        return kind[value] if isinstance(value, str) else kind(value)
    except (KeyError, ValueError):
        allowed = ", ".join(f"{item.name} = {item.value}" for item in kind)
        raise InvalidValue(
            f"{kind.__name__} = {value!r} is unknown; allowed are {allowed}"
        ) from None


class Motion(NamedTuple):
    """Motion of a vehicle at the centre of its rear axle."""

    x: m
    y: m
    yaw: rad
    """Heading from the x axis, positive to the left; never wrapped."""
    v_x: m_s
    """Forward velocity."""
    v_y: m_s
    """Lateral velocity, positive to the left."""
    a_x: m_s2
    """Longitudinal acceleration, positive forwards."""
    omega: rad_s
    """Yaw rate, positive to the left."""
    steer: rad
    """Measured tyre angle, positive to the left: the true one plus the bias."""


class MotionModel(Protocol):
    """A vehicle of a planning simulator: commands in, motion out, steps of any length."""

    name: str
    """Upstream's vehicle_model_type."""
    inputs: tuple[str, ...]
    """Names of the inputs, in order."""

    def set_state(
        self, x: float, y: float, yaw: float, v_x: float, steer: float = 0.0, a_x: float = 0.0
    ) -> None:
        """Move the vehicle to a state; delayed commands stay queued."""
        ...

    def set_input(self, row: Sequence[float]) -> None:
        """Set the latest command, in the order of `inputs`."""
        ...

    def step(self, dt: float) -> None:
        """Advance by `dt` in s with the latest command; a step that fails changes nothing."""
        ...

    @property
    def motion(self) -> Motion:
        """Motion after the last step."""
        ...

    def actuation_status(self) -> tuple[float, float] | None:
        """Accelerator and brake pedal positions that explain the motion; None for a vehicle without
        pedals."""
        ...
