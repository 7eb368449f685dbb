"""What a planning simulator is told: commands, gears, lights, control modes, initial poses.

The numbers of the enumerations are those of `autoware_vehicle_msgs`. A record may be given as such,
as a mapping, a sequence or keywords; fields that are not given are zero.

What a planning simulator asks of a vehicle: commands in, motion out, steps of any length.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ctypes import c_float
from enum import IntEnum
from math import isfinite, isinf
from typing import Any, NamedTuple, Protocol

from ...core import record
from ...errors import InvalidValue
from ...units import m, m_s, m_s2, one, rad, rad_s
from ...vehicles.parts.drive_command import Gear as Gear


class ControlMode(IntEnum):
    """Who drives. Only AUTONOMOUS and MANUAL can be requested of the simulator."""

    NO_COMMAND = 0
    AUTONOMOUS = 1
    AUTONOMOUS_STEER_ONLY = 2
    AUTONOMOUS_VELOCITY_ONLY = 3
    MANUAL = 4
    DISENGAGED = 5
    NOT_READY = 6


class TurnIndicators(IntEnum):
    """Direction indicators."""

    NO_COMMAND = 0
    DISABLE = 1
    ENABLE_LEFT = 2
    ENABLE_RIGHT = 3


class HazardLights(IntEnum):
    """Hazard lights."""

    NO_COMMAND = 0
    DISABLE = 1
    ENABLE = 2


class ControlCommand(NamedTuple):
    """What a trajectory follower asks for. Kept as 32-bit floats, as the message has them."""

    velocity: m_s = 0.0
    """Target velocity, positive forwards in any gear. Used by the `..._STEER_VEL` models only."""
    acceleration: m_s2 = 0.0
    """Target acceleration in the direction of the gear: in REVERSE, positive means faster
    backwards. Used by the `..._ACC...` models only."""
    steer: rad = 0.0
    """Target tyre angle, positive to the left."""


class ActuationCommand(NamedTuple):
    """What is sent to the actuators of a vehicle; for the `ACTUATION_CMD...` models."""

    accel: one = 0.0
    """Accelerator pedal, in the unit of the accel map; the acceleration in m/s² where the
    command is not converted. It wins if both pedals are pressed."""
    brake: one = 0.0
    """Brake pedal, in the unit of the brake map."""
    steer: one = 0.0
    """Steering: tyre angle in rad, steering wheel angle in rad, or the row coordinate of the
    steer map, by model. Positive to the left."""


class InitialPose(NamedTuple):
    """Where the vehicle is put: the centre of its rear axle, in the origin frame."""

    x: m = 0.0
    y: m = 0.0
    yaw: rad = 0.0
    """Heading, positive to the left. From a quaternion: `planning.pose.yaw_of`."""
    z: m = 0.0
    """Height. Reported until a trajectory gives another; it has no effect on the motion."""


def single(value: float) -> float:
    """The number rounded to a 32-bit float; infinite where that has no such number."""
    return c_float(value).value


def control_command(message: Any, fields: Mapping[str, Any]) -> ControlCommand:
    """A checked command, rounded to 32-bit floats; raises `InvalidValue`."""
    exact = _built(ControlCommand, message, fields)
    rounded = ControlCommand(*map(single, exact))
    for name, value, kept in zip(ControlCommand._fields, exact, rounded, strict=True):
        if isinf(kept):
            raise InvalidValue(f"ControlCommand.{name} = {value} does not fit a 32-bit float")
    return rounded


def actuation_command(message: Any, fields: Mapping[str, Any]) -> ActuationCommand:
    """A checked command; raises `InvalidValue`."""
    return _built(ActuationCommand, message, fields)


def initial_pose(message: Any, fields: Mapping[str, Any]) -> InitialPose:
    """A checked pose; raises `InvalidValue`."""
    return _built(InitialPose, message, fields)


def _built(kind: Any, message: Any, fields: Mapping[str, Any]) -> Any:
    # Another record with the same fields, such as the converter's, means the same.
    if type(message) is not kind and getattr(message, "_fields", None) == kind._fields:
        message = kind(*message)
    plain = _plain(kind, message, fields)
    return record.build(kind, message, **fields) if plain is None else plain


def _plain(kind: Any, message: Any, fields: Mapping[str, Any]) -> Any:
    """The record of a usual call, finite floats under names that exist; None for any other.

    To build a record with all checks takes as long as three ticks.
    """
    try:
        built = kind(**fields) if message is None else message
    except TypeError:
        return None
    usual = type(built) is kind and all(isinstance(value, float) for value in built)
    return (
        built if usual and (built is not message or not fields) and isfinite(sum(built)) else None
    )


def gear_number(value: Any) -> Gear | int:
    """The gear by number, name or itself, or any other number that fits the message (0 to 255).

    The program takes a number without a name for a gear that drives nowhere.
    """
    try:
        return member(Gear, value)
    except InvalidValue:
        if isinstance(value, int) and 0 <= value <= 255:
            return int(value)
        raise


def member(kind: type[IntEnum], value: Any) -> Any:
    """The member of an enumeration by number, name or itself; raises `InvalidValue`."""
    try:
        return kind[value] if isinstance(value, str) else kind(value)
    except (KeyError, ValueError):
        allowed = ", ".join(f"{item.name} = {item.value}" for item in kind)
        raise InvalidValue(
            f"{kind.__name__} = {value!r} is unknown; allowed are {allowed}"
        ) from None


class Motion(NamedTuple):
    """What a vehicle reports of itself; the body point is the middle of the rear axle."""

    x: m
    y: m
    yaw: rad
    """From the x axis to the left; never wrapped."""
    v_x: m_s
    """Forward."""
    v_y: m_s
    """To the left."""
    a_x: m_s2
    """Forward."""
    omega: rad_s
    """Yaw rate, to the left."""
    steer: rad
    """Measured tyre angle, to the left; the true one plus the bias."""


class MotionModel(Protocol):
    """A vehicle that takes commands and moves."""

    name: str
    """Upstream's vehicle_model_type."""
    inputs: tuple[str, ...]
    """Names of the inputs, in order."""

    def set_state(
        self,
        x: float,
        y: float,
        yaw: float,
        v_x: float,
        steer: float = 0.0,
        a_x: float = 0.0,
    ) -> None:
        """Put the vehicle somewhere else. Commands that have not acted yet stay queued."""
        ...

    def set_input(self, row: Sequence[float]) -> None:
        """The latest command, in the order of `inputs`."""
        ...

    def step(self, dt: float) -> None:
        """One update of dt in s with the latest command; a step that fails changes nothing."""
        ...

    @property
    def motion(self) -> Motion:
        """As reported after the last update."""
        ...

    def actuation_status(self) -> tuple[float, float] | None:
        """Positions of accelerator and brake pedal that explain the motion; None if the vehicle
        has no pedals."""
        ...
