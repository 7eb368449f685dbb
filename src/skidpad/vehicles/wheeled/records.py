"""Records of wheeled vehicles, put together for the wheels and the controller that one has.

The reference point is the one that wheels and chassis are described from. ISO 8855: x forward, y
left, z up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from ... import record
from ...controllers.wheeled import Controller
from ...units import (
    N,
    Nm,
    kg,
    kg_m2,
    m,
    m_s,
    m_s2,
    non_negative,
    one,
    per_s,
    positive,
    rad,
    rad_s,
    s,
)

Fields = dict[str, tuple[Any, Any, str]]
"""Unit or record, default (None: none) and meaning of each field."""


class Body(NamedTuple):
    """The rigid body that chassis and wheels form."""

    chassis_mass: Annotated[kg, positive]
    """Mass without wheels."""
    com_x: m
    """Centre of mass with wheels, from the reference point."""
    com_y: m
    """Centre of mass with wheels, from the reference point."""
    com_z: Annotated[m, non_negative]
    """Height of the centre of mass above the ground."""
    I_z: Annotated[kg_m2, positive]
    """Yaw inertia with wheels about the centre of mass."""
    linear_damping: per_s
    """Drag over mass and speed."""
    angular_damping: per_s
    """Resistance to turning over inertia and yaw rate."""
    height: Annotated[m, non_negative] = 0.6
    """Of the upper side of the chassis above the ground; it does not influence the motion."""


class WheelParams(NamedTuple):
    """A wheel."""

    x: m
    """Position from the reference point, forward."""
    y: m
    """Position from the reference point, to the left."""
    yaw: rad
    """Angle on the vehicle, positive to the left; of no effect where the wheel steers."""
    radius: Annotated[m, positive]
    mass: Annotated[kg, positive]
    inertia: Annotated[kg_m2, positive]
    """About the axle."""
    width: Annotated[m, positive] = 0.2
    """It does not influence the motion."""


def record_type(name: str, doc: str, fields: Mapping[str, tuple[Any, Any, str]]) -> Any:
    """A record class from units, defaults and meanings."""
    hints = {field: unit for field, (unit, _, _) in fields.items()}
    defaults = {field: value for field, (_, value, _) in fields.items() if value is not None}
    docs = {field: meaning for field, (_, _, meaning) in fields.items()}
    return record.define(name, hints, defaults, docs, doc)


def state_type(wheels: Sequence[str], steered: bool, leans: bool, controller: Controller) -> Any:
    """Pose, velocity, spin of each wheel, angles of steered ones, and what is remembered."""
    fields: Fields = {
        "x": (m, 0.0, "Position of the reference point in the world frame."),
        "y": (m, 0.0, "Position of the reference point in the world frame."),
        "yaw": (rad, 0.0, "Heading from the world x axis, positive to the left, not wrapped."),
        "v_x": (m_s, 0.0, "Velocity of the reference point along the vehicle, forward positive."),
        "v_y": (m_s, 0.0, "Velocity of the reference point across it, positive to the left."),
        "omega": (rad_s, 0.0, "Yaw rate, positive to the left."),
    }
    for wheel in wheels:
        meaning = f"Spin of the wheel {wheel} about its axle, positive when it rolls forward."
        fields[f"spin_{wheel}"] = (rad_s, 0.0, meaning)
    if steered:
        for wheel in wheels[-2:]:
            fields[f"steer_{wheel}"] = (rad, 0.0, f"Angle of the wheel {wheel}, left positive.")
    if leans:
        meaning = "the wheels push the body, which the loads follow: force over mass,"
        fields["a_x"] = (m_s2, 0.0, f"How {meaning} along the vehicle.")
        fields["a_y"] = (m_s2, 0.0, f"How {meaning} across it, positive to the left.")
    if controller.Memory._fields:
        fields["control"] = (controller.Memory, _blank(controller.Memory), "Its memory.")
    return record_type("State", "State of a wheeled vehicle.", fields)


def _blank(memory: Any) -> Any:
    """The memory before the first step."""
    hints = memory.__annotations__
    return memory(*(hints[name]() for name in memory._fields))


def params_type(
    wheels: Sequence[str],
    steered: bool,
    leans: bool,
    friction: type,
    splits: type | None,
    gains: Any,
) -> Any:
    """Everything that has a number."""
    fields: Fields = {"body": (Body, None, "The rigid body.")}
    for wheel in wheels:
        fields[f"wheel_{wheel}"] = (WheelParams, None, f"The wheel {wheel}.")
    fields["friction"] = (friction, None, "Friction between wheels and ground.")
    if gains._fields:
        fields["control"] = (gains, None, "Gains of the controller.")
    if splits is not None:
        fields["drivetrain"] = (splits, None, "How the differentials are set.")
    if steered:
        meaning = "Largest angle of a wheel in the middle of the front axle, either side."
        fields["steer_max"] = (Annotated[rad, non_negative], None, meaning)
    fields["g"] = (Annotated[m_s2, positive], 9.81, "Gravity.")
    if leans:
        meaning = "Time constant with which the wheel loads follow the forces of the wheels."
        fields["load_lag"] = (Annotated[s, non_negative], 0.05, meaning)
    return record_type("Params", "Parameters of a wheeled vehicle.", fields)


def disturbance_type(wheels: Sequence[str]) -> Any:
    """What the world does to a vehicle in a step; the defaults do nothing."""
    fields: Fields = {
        "slope_x": (one, 0.0, "Downward unit vector in body axes, x: positive downhill ahead."),
        "slope_y": (one, 0.0, "Downward unit vector in body axes, y: positive downhill left."),
        "F_x": (N, 0.0, "Force at the centre of mass along the vehicle, forward positive."),
        "F_y": (N, 0.0, "Force at the centre of mass across the vehicle, positive to the left."),
        "M_z": (Nm, 0.0, "Yaw moment about the centre of mass, positive to the left."),
    }
    for wheel in wheels:
        under = f"under the wheel {wheel}, in place of its own; negative: its own."
        fields[f"mu_{wheel}"] = (one, -1.0, f"Friction {under}")
        fields[f"rolling_{wheel}"] = (one, -1.0, f"Rolling resistance over load {under}")
    return record_type("Ground", "What ground and contacts do to a wheeled vehicle.", fields)


def outputs_type(wheels: Sequence[str]) -> Any:
    """What a vehicle tells besides its state."""
    fields: Fields = {
        "v_odometry": (m_s, None, "Velocity along the vehicle as the wheels tell it."),
        "omega_odometry": (rad_s, None, "Yaw rate as the wheels tell it, positive to the left."),
    }
    for wheel in wheels:
        fields[f"F_z_{wheel}"] = (N, None, f"Load on the wheel {wheel}.")
        slip = f"of the contact patch of the wheel {wheel} over ground"
        fields[f"slip_x_{wheel}"] = (m_s, None, f"Velocity {slip}, along the wheel.")
        fields[f"slip_y_{wheel}"] = (m_s, None, f"Velocity {slip}, across it, left positive.")
    return record_type("Outputs", "Odometry, loads and slip of a wheeled vehicle.", fields)
