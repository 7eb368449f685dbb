"""Records and parameters of the command-driven models.

The body point is the middle of the rear axle (`base_link`). ISO 8855: x forward, y left, z up.

`PARAMETERS` lists every parameter of Autoware's simple_planning_simulator: type, default, unit,
meaning, and the models that use it. The defaults are those in upstream's source (autoware.universe
b8ce82e), which its YAML files override and from which its documentation differs in places. The
parameter records of the models are generated from that table.

Arguments named `upstream` select the points in which the upstream program differs from the repaired
models; docs/errata.md has the evidence for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Annotated, Any, Literal, NamedTuple

from ... import units
from ...core import record
from ...core.record import extended, made_once
from ...ops import maximum, where
from ...units import Allowed, Unit, m, m_s, m_s2, non_negative, one, positive, rad, rad_s, s
from ..parts.actuators import Gear, forbids, limited
from ..parts.assembly import Units
from ..parts.steering import Column, MechanicalSteering
from ..registry import COMMAND_DRIVEN as NAMES

gear = Annotated[one, Allowed(min(Gear).value, max(Gear).value, whole=True)]
"""A gear selector position by its number; see `skidpad.vehicles.parts.actuators.Gear`."""


class State(NamedTuple):
    """Pose, velocity, steering and acceleration."""

    x: m = 0.0
    """Position of the middle of the rear axle in the world frame."""
    y: m = 0.0
    """Position of the middle of the rear axle in the world frame."""
    yaw: rad = 0.0
    """Heading from the world x axis, positive to the left, not wrapped."""
    v_x: m_s = 0.0
    """Velocity along the car, forward positive."""
    steer: rad = 0.0
    """True tyre angle, positive to the left."""
    a_x: m_s2 = 0.0
    """Longitudinal acceleration: the state of the drive lag, or the acceleration reported last."""


@extended
class GearedState(State):
    """State of a car with a lagging drive whose gear may stop it."""

    a_stop: m_s2 = 0.0
    """Acceleration by which the gear stopped the car in the last update; 0 if it did not."""


@extended
class PedalState(State):
    """State of a car driven by a pedal, without a guard against rolling back."""

    pedal: m_s2 = 0.0
    """Pedal position as an acceleration: positive drives in the gear's direction, negative
    brakes."""


@extended
class MechanicalState(GearedState):
    """State of a geared car with a steering column."""

    steer_target: rad = 0.0
    """Tyre angle demanded in the last update, before any limit."""
    column: Column = Column()
    """State of the steering column and its controller."""


class VelocityInput(NamedTuple):
    """Commands of the models driven by velocity."""

    velocity: m_s = 0.0
    """Longitudinal velocity demanded, forward positive."""
    steer: rad = 0.0
    """Tyre angle demanded, positive to the left."""


class AccelerationInput(NamedTuple):
    """Commands of the models driven by acceleration without gears."""

    acceleration: m_s2 = 0.0
    """Longitudinal acceleration demanded, forward positive, slope included."""
    steer: rad = 0.0
    """Tyre angle demanded, positive to the left."""


class GearedInput(NamedTuple):
    """Commands of the models driven by acceleration and gear."""

    acceleration: m_s2 = 0.0
    """Longitudinal acceleration demanded, forward positive in every gear, slope included."""
    steer: rad = 0.0
    """Tyre angle demanded, positive to the left."""
    gear: gear = float(Gear.DRIVE)
    """Gear selector position."""


class PedalInput(NamedTuple):
    """Commands of the model without a guard against rolling back."""

    acceleration: m_s2 = 0.0
    """Pedal demanded, as an acceleration: positive drives in the gear's direction."""
    steer: rad = 0.0
    """Tyre angle demanded, positive to the left."""
    gear: gear = float(Gear.DRIVE)
    """Gear selector position."""
    slope: m_s2 = 0.0
    """Longitudinal acceleration by the slope of the road, positive if downhill ahead."""


class ActuationInput(NamedTuple):
    """Commands of the models driven by pedals and steering actuation."""

    accel: one = 0.0
    """Accelerator: a coordinate of its map, or without a map an acceleration in m/s²."""
    brake: one = 0.0
    """Brake: a coordinate of its map."""
    steer: rad = 0.0
    """Tyre angle, steering wheel angle or coordinate of the steering map, positive to the left."""
    gear: gear = float(Gear.DRIVE)
    """Gear selector position."""
    slope: m_s2 = 0.0
    """Longitudinal acceleration by the slope of the road, positive if downhill ahead."""


class Report(NamedTuple):
    """Motion and steering that the car reports."""

    v_x: m_s
    """Longitudinal velocity, forward positive."""
    v_y: m_s
    """Lateral velocity, positive to the left; always 0, since the wheels do not slip."""
    a_x: m_s2
    """Longitudinal acceleration, forward positive."""
    omega: rad_s
    """Yaw rate, positive to the left."""
    steer: rad
    """Measured tyre angle, positive to the left: the true angle plus the bias."""


Kind = Literal["double", "integer", "bool", "string", "strings", "path"]
"""Types of parameters; "path" is the path of a CSV map."""


UNREAD = frozenset({"angvel_noise_stddev", "convert_steer_cmd", "convert_steer_cmd_method"})
"""Parameters that upstream documents but its program never reads."""


@dataclass(frozen=True)
class Parameter:
    """Name, type, default, unit and meaning of one parameter."""

    name: str
    kind: Kind
    default: Any
    """Default; None for a parameter that `models` require."""
    unit: str
    meaning: str
    models: tuple[str, ...] = ()
    """Models that use it; empty if the simulator around the model uses it."""
    allowed: Allowed | None = None
    """Allowed range of a number."""
    example: float | None = None
    """Value in upstream's sample file, if there is no default."""

    @property
    def unread(self) -> bool:
        """Whether upstream documents the parameter but its program never reads it."""
        return self.name in UNREAD


LEARNED = ("LEARNED_STEER_VEL",)
DELAY = tuple(name for name in NAMES if name.startswith("DELAY"))
ACTUATION = tuple(name for name in NAMES if name.startswith("ACTUATION"))
WHEELED = tuple(name for name in NAMES if name not in LEARNED)
LAGGED = (*DELAY, *ACTUATION)
MECHANICAL = ("ACTUATION_CMD_MECHANICAL",)
GEAR_RATIO = ("ACTUATION_CMD_VGR", *MECHANICAL)
STEER_LAGGED = tuple(name for name in LAGGED if name not in MECHANICAL)
VELOCITY = ("DELAY_STEER_VEL",)
ACCELERATION = tuple(name for name in DELAY if name not in VELOCITY)
MAPPED = ("DELAY_STEER_MAP_ACC_GEARED",)
SCALED = tuple(name for name in ACCELERATION if name not in MAPPED)
STEER_MAPPED = ("ACTUATION_CMD_STEER_MAP",)


def _number(
    name: str,
    default: float | None,
    unit: str,
    meaning: str,
    models: Sequence[str] = (),
    allowed: Allowed | None = non_negative,
) -> Parameter:
    return Parameter(name, "double", default, unit, meaning, tuple(models), allowed)


def _map(
    name: str, row: str, models: Sequence[str], column: str = "velocity", cell: str = "acceleration"
) -> Parameter:
    meaning = f"CSV map from {row} (rows) and {column} (columns) to {cell}"
    return Parameter(name, "path", None, "1", meaning, tuple(models))


def _switch(name: str, default: bool | None, meaning: str, models: Sequence[str] = ()) -> Parameter:
    return Parameter(name, "bool", default, "1", meaning, tuple(models))


def _text(name: str, default: str, meaning: str) -> Parameter:
    return Parameter(name, "string", default, "1", meaning)


def _mechanical(name: str, example: float, unit: str, meaning: str) -> Parameter:
    allowed = positive if name == "inertia" else None
    if name.endswith(("limit", "threshold", "time")):
        allowed = non_negative
    full = f"mechanical_params.{name}"
    return Parameter(full, "double", None, unit, meaning, MECHANICAL, allowed, example)


_FACTOR = "factor on the commanded %s; below 0 it counts as 0"
_NODE = (
    _text("simulated_frame_id", "base_link", "frame of the vehicle"),
    _text("origin_frame_id", "odom", "frame in which the vehicle moves"),
    _text("vehicle_model_type", "IDEAL_STEER_VEL", "name of the model"),
    _text(
        "initialize_source",
        "INITIAL_POSE_TOPIC",
        "ORIGIN: start at the origin; INITIAL_POSE_TOPIC: wait for an initial pose",
    ),
    Parameter(
        "timer_sampling_time_ms", "integer", 25, "ms", "nominal period of updates", (), positive
    ),
    _switch(
        "initial_engage_state",
        True,
        "whether the vehicle moves before it is engaged; upstream has no default, its launch "
        "files pass true",
    ),
    _switch("add_measurement_noise", False, "whether Gaussian noise is added to the reports"),
    _number("pos_noise_stddev", 0.01, "m", "standard deviation of the noise of x and y"),
    _number("vel_noise_stddev", 0.01, "m/s", "standard deviation of the noise of velocity"),
    _number("rpy_noise_stddev", 1e-4, "rad", "standard deviation of the noise of yaw"),
    _number("steer_noise_stddev", 1e-4, "rad", "standard deviation of the noise of steering"),
    _number("angvel_noise_stddev", 0.0, "rad/s", "noise of the yaw rate: no effect"),
    _number("x_stddev", 1e-4, "m", "written as the covariance of x"),
    _number("y_stddev", 1e-4, "m", "written as the covariance of y"),
    _switch("enable_road_slope_simulation", False, "whether slopes accelerate the vehicle"),
    _switch("enable_pub_steer", True, "whether the steering angle is reported"),
)

_MODEL = (
    _number("wheel_base", 2.79, "m", "distance between the axles", WHEELED, positive),
    _number("vel_lim", 50.0, "m/s", "limit of velocity", LAGGED),
    _number("vel_rate_lim", 7.0, "m/s²", "limit of acceleration", LAGGED),
    _number("steer_lim", 1.0, "rad", "limit of the steering angle", LAGGED),
    _number("steer_rate_lim", 5.0, "rad/s", "limit of the steering rate", STEER_LAGGED),
    _number("acc_time_delay", 0.1, "s", "dead time of the acceleration", ACCELERATION),
    _number("acc_time_constant", 0.1, "s", "time constant of acceleration", ACCELERATION),
    _number("vel_time_delay", 0.25, "s", "dead time of the velocity", VELOCITY),
    _number("vel_time_constant", 0.5, "s", "time constant of velocity", VELOCITY),
    _number("steer_time_delay", 0.24, "s", "dead time of steering", LAGGED),
    _number("steer_time_constant", 0.27, "s", "time constant of steering", STEER_LAGGED),
    _number("steer_dead_band", 0.0, "rad", "dead band of steering", (*VELOCITY, *SCALED)),
    _number("steer_bias", 0.0, "rad", "reported minus true steering angle", LAGGED, None),
    _number("debug_acc_scaling_factor", 1.0, "1", _FACTOR % "acceleration", SCALED, None),
    _number("debug_steer_scaling_factor", 1.0, "1", _FACTOR % "steering angle", SCALED, None),
    _map("acceleration_map_path", "commanded acceleration", MAPPED),
    *(
        Parameter(name, "strings", ("",), "1", meaning, LEARNED)
        for name, meaning in (
            ("model_module_paths", "Python modules of the sub-models, as they are imported"),
            ("model_param_paths", "files given to the sub-models' load_params; empty for none"),
            ("model_class_names", "classes of the sub-models, one per module"),
        )
    ),
    _number("accel_time_delay", None, "s", "dead time of the accelerator", ACTUATION),
    _number("accel_time_constant", None, "s", "time constant when accelerating", ACTUATION),
    _number("brake_time_delay", None, "s", "dead time of the brake", ACTUATION),
    _number("brake_time_constant", None, "s", "time constant when braking", ACTUATION),
    _switch("convert_accel_cmd", None, "whether accel_map_path is used", ACTUATION),
    _switch("convert_brake_cmd", None, "whether brake_map_path is used", ACTUATION),
    _map("accel_map_path", "accelerator", ACTUATION),
    _map("brake_map_path", "brake", ACTUATION),
    _map("steer_map_path", "steering command", STEER_MAPPED, "steering angle", "steering rate"),
    _switch("convert_steer_cmd", False, "no effect: the model's name chooses"),
    _text("convert_steer_cmd_method", "", "no effect: the model's name chooses"),
    _number("vgr_coef_a", None, "1", "gear ratio of steering at rest", GEAR_RATIO, None),
    _number("vgr_coef_b", None, "s²/m²", "its growth with velocity squared", GEAR_RATIO, None),
    _number("vgr_coef_c", None, "1/rad", "its fall with the wheel's angle", GEAR_RATIO, None),
)

_MECHANICAL = (
    _mechanical("kp", 386.9151820510161, "N·m/rad", "proportional gain"),
    _mechanical("ki", 5.460970982628869, "N·m/(rad·s)", "integral gain"),
    _mechanical("kd", 0.03550834077602694, "N·m·s/rad", "derivative gain"),
    _mechanical("ff_gain", 0.03051963576179274, "N·m/rad", "gain on the target angle"),
    _mechanical("angle_limit", 10.0, "rad", "limit of the controlled angle"),
    _mechanical("rate_limit", 3.0, "rad/s", "limit of the controlled rate"),
    _mechanical("dead_zone_threshold", 0.00708241866710033, "N·m", "torque that starts motion"),
    _mechanical("poly_a", 0.15251276182076065, "1/(N·m)²", "torque cubed"),
    _mechanical("poly_b", -0.17301900674117585, "1/(N·m)", "torque squared"),
    _mechanical("poly_c", 1.5896528355739639, "1", "torque"),
    _mechanical("poly_d", 0.002300899817071436, "N·m·s³/m³", "speed cubed"),
    _mechanical("poly_e", -0.0418928856764797, "N·m·s²/m²", "speed squared"),
    _mechanical("poly_f", 0.18449047960081838, "N·m·s/m", "speed"),
    _mechanical("poly_g", -0.06320887302605509, "s/m", "torque times speed"),
    _mechanical("poly_h", 0.18696796150634806, "N·m", "constant"),
    _mechanical("inertia", 25.17844747941984, "kg·m²", "inertia of the steering"),
    _mechanical("damping", 117.00653795106054, "N·m·s/rad", "viscous friction"),
    _mechanical("stiffness", 0.17526182368541224, "N·m/rad", "return to the centre"),
    _mechanical("friction", 0.6596571248682918, "N·m", "dry friction"),
    _mechanical("steering_torque_limit", 30.0, "N·m", "limit of the torque"),
    _mechanical("torque_delay_time", 0.0007641271506616108, "s", "wait before the first motion"),
)

PARAMETERS = {p.name: p for p in (*_NODE, *_MODEL, *_MECHANICAL)}
"""All parameters by name: of the simulator, the models and the mechanical steering."""

SILENT = frozenset(
    {
        *("wheel_radius", "wheel_width", "wheel_tread", "vehicle_height", "max_steer_angle"),
        *(f"{side}_overhang" for side in ("front", "rear", "left", "right")),
        *("cg_to_front_m", "cg_to_rear_m", "mass_kg", "yaw_inertia_kgm2", "width_m"),
        *("front_corner_stiffness", "rear_corner_stiffness"),
        *("front_overhang_m", "rear_overhang_m"),
        *(f"mechanical_params.vgr_coef_{letter}" for letter in "abc"),
        "use_sim_time",
    }
)
"""Names in Autoware's files that the simulator does not use; they give no warning.

They are those of vehicle_info.param.yaml and vehicle_characteristics.param.yaml, a second
set of gear-ratio coefficients in the sample of the mechanical steering, and one every ROS
node has.
"""

ALIASES = {
    "wheelbase": "wheel_base",
    "queue_dt": "timer_sampling_time_ms",
    "acceleration_map": "acceleration_map_path",
    "accel_map": "accel_map_path",
    "brake_map": "brake_map_path",
    "steer_map": "steer_map_path",
}
"""Aliases of parameters; `queue_dt` is in s, and a map under its short name may be a table."""

MAPS = {path: short for short, path in ALIASES.items() if path.endswith("_map_path")}
"""Short name of each map, for the table itself, by the parameter that holds its path."""


def table() -> list[tuple[str, str, str, str, str, str]]:
    """Rows of the parameter table for a page: name, type, default, unit, models, meaning."""

    def default_of(p: Parameter) -> str:
        if p.default is None:
            return "required" + ("" if p.example is None else f" (sample: {p.example!r})")
        if isinstance(p.default, bool):
            return str(p.default).lower()
        return str(list(p.default) if p.kind == "strings" else p.default)

    return [
        (p.name, p.kind, default_of(p), p.unit, ", ".join(p.models) or "all", p.meaning)
        for p in PARAMETERS.values()
    ]


_UNITS: dict[str, Any] = {
    "1": one,
    "m": units.m,
    "m/s": m_s,
    "m/s²": m_s2,
    "rad": rad,
    "rad/s": units.rad_s,
    "s": s,
    "s²/m²": Annotated[float, Unit("s²/m²", length=-2, time=2)],
    "1/rad": Annotated[float, Unit("1/rad")],
}
"""Units of the models' parameters, by symbol."""

_FLOORS: dict[str, tuple[float, str, tuple[str, ...]]] = {
    "least_time_constant": (0.03, "Time constants below this count as this.", LAGGED),
    "least_dt": (1e-5, "Least duration of an update in a division.", WHEELED),
}
"""Durations hard-coded in upstream's program: value, meaning, models that need them."""

TABLE_UNITS: dict[str, Units] = {
    "acceleration_map": (m_s2, m_s, m_s2),
    "accel_map": (one, m_s, m_s2),
    "brake_map": (one, m_s, m_s2),
    "steer_map": (rad, rad, rad),
}
"""Units of rows, columns and values of each map.

The rows of a steering map are in the unit of its command; its values are rates, but used as
angles divided by the time constant of steering.
"""


def table_units(key: str, upstream: bool) -> Units:
    """Units of a map; upstream looks the columns of a steering map up by velocity."""
    row, column, value = TABLE_UNITS[key]
    return row, m_s if upstream and key == "steer_map" else column, value


def maps(name: str) -> tuple[str, ...]:
    if name in MAPPED:
        return ("acceleration_map",)
    if not name.startswith("ACTUATION"):
        return ()
    return ("accel_map", "brake_map", "steer_map")[: 3 if name in STEER_MAPPED else 2]


@made_once
def params_type(name: str, *tables: type) -> Any:
    """Parameter record type of a model; `tables` are the classes of its maps, in order."""
    assert name in WHEELED
    hints: dict[str, Any] = {}
    defaults: dict[str, Any] = {}
    docs: dict[str, str] = {}
    for leaf in PARAMETERS.values():
        if name in leaf.models and leaf.kind == "double" and "." not in leaf.name:
            unit = _UNITS[leaf.unit]
            hints[leaf.name] = Annotated[unit, leaf.allowed] if leaf.allowed else unit
            docs[leaf.name] = f"{leaf.meaning[0].upper()}{leaf.meaning[1:]}."
            if leaf.default is not None:
                defaults[leaf.name] = leaf.default
    if name in MECHANICAL:
        hints["mechanical_params"] = MechanicalSteering
    hints |= dict(zip(maps(name), tables, strict=True))
    for floor, (value, doc, models) in _FLOORS.items():
        if name in models:
            hints[floor], defaults[floor], docs[floor] = Annotated[s, positive], value, doc
    return record.define("Params", hints, defaults, docs, f"The {name} parameters.")


PROGRAM = "simple_planning_simulator of autoware.universe 0.43.0 (b8ce82e)"
"""The program that the upstream mode reproduces."""


def velocity_change(before: m_s, after: m_s, dt: s, p: Any, reported: m_s2, upstream: bool) -> m_s2:
    """Acceleration from a change of velocity; for dt = 0, the acceleration reported before.

    Upstream it is infinite or NaN for dt = 0.
    """
    passes = dt > 0.0
    # The reciprocal is taken of a number above 0 in either case: Python would raise at 0.
    by_dt = 1.0 / where(passes, dt, p.least_dt)
    if upstream:
        return (after - before) * where(passes, by_dt, inf)
    return where(passes, (after - before) * by_dt, reported)


def guarded(before: Any, after: Any, gear: one, dt: s, p: Any, upstream: bool) -> Any:
    """State after an update, or the state of a stopped car if the gear forbids its velocity.

    A stopped car returns to its pose at the start of the update; its steering still moves. The stop
    resets the drive, and the acceleration reported for it stays within its limit. Upstream leaves
    the whole deceleration in the drive, where it decays with the lag.
    """
    stops = forbids(gear, after.v_x)
    stopping = before.v_x * (-1.0 / maximum(dt, p.least_dt))
    a_x, a_stop = (stopping, 0.0) if upstream else (0.0, limited(stopping, p.vel_rate_lim))
    return after._replace(
        x=where(stops, before.x, after.x),
        y=where(stops, before.y, after.y),
        yaw=where(stops, before.yaw, after.yaw),
        v_x=where(stops, 0.0, after.v_x),
        a_x=where(stops, a_x, after.a_x),
        a_stop=where(stops, a_stop, 0.0),
    )
