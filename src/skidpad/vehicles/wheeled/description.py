"""Descriptions of wheeled robots: chassis, wheels, friction, drivetrain and controller, checked.

A `Description` holds what a world file contains about a vehicle; `build.vehicle` makes the vehicle.
Positions are relative to the vehicle's reference point, x forward, y left; lengths in m. `KINDS`
defines for each kind of vehicle its wheels, its drive, and upstream's defaults.

Mass, centre of mass and yaw inertia are those of a chassis that is a plate of even thickness and
density, and of wheels that are boxes as long as their diameter, as in Box2D, which MVSim uses.
Steering the wheels does not change the result.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...control.pid import Form, Gains
from ...control.wheeled import (
    ACKERMANN,
    DIFFERENTIAL,
    DRIVETRAIN,
    Controller,
    ackermann_controller,
    differential_controller,
    drivetrain_controller,
)
from ...core import record
from ...core.checks import finite, must_be
from ...core.files import brief_repr
from ...errors import InvalidValue
from ...geometry.polygon import hull as convex_hull
from ...geometry.polygon import moments
from ...units import non_negative, positive
from ..parts.wheel_friction import DRIVETRAINS, Ellipse, Friction, Law, Splits, WardIagnemma

Points = tuple[tuple[float, float], ...]

_ROBOT: Points = ((-0.4, -0.5), (-0.4, 0.5), (0.4, 0.5), (0.6, 0.3), (0.6, -0.3), (0.4, -0.5))
_CAR: Points = ((-0.8, -1.0), (-0.8, 1.0), (1.5, 0.9), (1.8, 0.8), (1.8, -0.8), (1.5, -0.9))
_CAR_PLACES: Points = ((0.0, 0.9), (0.0, -0.9), (1.3, 1.0), (1.3, -1.0))
_CORNERS = ("rl", "rr", "fl", "fr")


@dataclass(frozen=True)
class Kind:
    """Properties common to all vehicles of a kind."""

    wheels: tuple[str, ...]
    """Names of the wheels in the order of world files; the first two are a left and a right
    one, which odometry uses."""
    places: Points
    """Default positions of the wheels."""
    controllers: tuple[str, ...]
    controller: Callable[[str, Form], Controller]
    drives: tuple[int | None, ...] = ()
    """Index of each wheel's torque in the controller's output; unused with one motor."""
    gains: tuple[tuple[str, Gains], ...] = ()
    """Default gains, by controller."""
    steered: bool = False
    """Whether the last two wheels steer."""
    one_motor: bool = False
    """Whether one motor drives the wheels through a drivetrain."""
    caster: int | None = None
    """Index of the swivelling wheel, if any."""
    mass: float = 15.0
    """Default mass of the chassis, in kg."""
    shape: Points = _ROBOT
    """Default outline of the chassis."""
    z_min: float = 0.05
    """Default height of the chassis's lower side."""
    z_max: float = 0.6
    """Default height of the chassis's upper side."""

    def default_gains(self, controller: str) -> Gains:
        return dict(self.gains).get(controller, Gains())

    @property
    def driven(self) -> int:
        """Number of wheels, or motors, driven by a torque of the controller."""
        return 1 if self.one_motor else sum(side is not None for side in self.drives)


def _differential(
    wheels: tuple[str, ...], places: Points, *drives: int | None, **rest: Any
) -> Kind:
    return Kind(wheels, places, DIFFERENTIAL, differential_controller, drives, **rest)


def _car(**rest: Any) -> Kind:
    return Kind(
        _CORNERS,
        _CAR_PLACES,
        steered=True,
        mass=500.0,
        shape=_CAR,
        z_min=0.2,
        z_max=1.4,
        **rest,
    )


_STRONG = Gains(KP=100.0)

KINDS: dict[str, Kind] = {
    "differential": _differential(("left", "right"), ((0.0, 0.5), (0.0, -0.5)), 0, 1),
    "differential_3_wheels": _differential(
        ("left", "right", "caster"), ((0.0, 0.5), (0.0, -0.5), (0.5, 0.0)), 0, 1, None, caster=2
    ),
    "differential_4_wheels": _differential(
        _CORNERS, ((0.0, 0.5), (0.0, -0.5), (0.5, 0.5), (0.5, -0.5)), 0, 1, 0, 1
    ),
    "ackermann": _car(
        controllers=ACKERMANN,
        controller=ackermann_controller,
        drives=(None, None, 0, 1),
        gains=(("twist_front_steer_pid", _STRONG), ("front_steer_pid", _STRONG)),
    ),
    "ackermann_drivetrain": _car(
        controllers=DRIVETRAIN,
        controller=drivetrain_controller,
        one_motor=True,
        gains=(
            ("twist_front_steer_pid", Gains(KP=100.0, max_torque=400.0)),
            ("front_steer_pid", _STRONG),
        ),
    ),
}
"""Kinds of vehicles by their names in world files."""

FRICTIONS: dict[str, type] = {"default": Friction, "wardiagnemma": WardIagnemma, "ellipse": Ellipse}
"""Friction models by their names in world files."""
LOADS = ("dynamic", "static")


@dataclass(frozen=True)
class Wheel:
    """Position, size, mass and inertia of a wheel."""

    x: float
    """Forward position."""
    y: float
    """Leftward position."""
    yaw: float = 0.0
    """Angle relative to the vehicle in rad, positive to the left."""
    diameter: float = 0.4
    width: float = 0.2
    mass: float = 2.0
    """Mass in kg."""
    inertia: float | None = None
    """Inertia about the axle, in kg·m²; that of a solid disc if None."""

    def __post_init__(self) -> None:
        for name in ("diameter", "width", "mass"):
            must_be(f"wheel {name}", getattr(self, name), positive)
        for name in ("x", "y", "yaw"):
            finite(f"wheel {name}", getattr(self, name))
        if self.inertia is not None:
            must_be("wheel inertia", self.inertia, positive)

    @property
    def spin_inertia(self) -> float:
        """Inertia about the axle in kg·m²."""
        if self.inertia is not None:
            return self.inertia
        return 0.5 * self.mass * (0.5 * self.diameter) ** 2


@dataclass(frozen=True)
class Chassis:
    """The body without wheels: a plate of even thickness."""

    mass: float
    """Mass in kg."""
    shape: tuple[tuple[float, float], ...]
    """Corners of its outline in order, either clockwise or anticlockwise."""
    z_min: float
    """Height of its lower side."""
    z_max: float
    """Height of its upper side."""
    linear_damping: float | None = None
    """Linear damping: drag over mass and speed, in 1/s; 0.1 if None."""
    angular_damping: float | None = None
    """Angular damping: resistance moment over inertia and yaw rate, in 1/s; 0.1 if None."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        must_be("chassis mass", self.mass, positive)
        if len(self.shape) < 3:
            raise InvalidValue(f"chassis shape has {len(self.shape)} corners; it needs at least 3")
        for k, corner in enumerate(self.shape):
            for value in corner:
                finite(f"chassis shape corner {k}", value)
        for name in ("z_min", "z_max"):
            finite(f"chassis {name}", getattr(self, name))
        if not self.z_max >= self.z_min:
            raise InvalidValue(
                f"chassis z_max = {self.z_max} must not be below z_min = {self.z_min}"
            )
        for name in ("linear_damping", "angular_damping"):
            if getattr(self, name) is not None:
                must_be(f"chassis {name}", getattr(self, name), non_negative)


@dataclass(frozen=True)
class Drivetrain:
    """Drivetrain by which one motor drives four wheels."""

    kind: str = "torsen_4wd"
    splits: Splits = field(default_factory=Splits)

    def __post_init__(self) -> None:
        if self.kind not in DRIVETRAINS:
            raise InvalidValue(record.unknown_name("skidpad", self.kind, DRIVETRAINS, "drivetrain"))
        record.check(self.splits)


@dataclass(frozen=True)
class Control:
    """Controller of a vehicle."""

    kind: str = "raw"
    gains: Gains | None = None
    """Gains of the controller; those of the kind if None, see `KINDS`."""
    form: Form = field(default_factory=Form)
    set_point: Mapping[str, float] = field(default_factory=dict[str, float])
    """Input before the first command, by field name."""

    __repr__ = brief_repr


@dataclass(frozen=True)
class Description:
    """Description of a wheeled vehicle; `differential` and `ackermann` have upstream's defaults."""

    kind: str
    """Kind of vehicle: a key of `KINDS`."""
    chassis: Chassis
    wheels: tuple[Wheel, ...]
    """Wheels, in the order of the kind."""
    friction: Law = field(default_factory=Friction)
    """Friction between wheels and ground; its class selects the friction model."""
    control: Control = field(default_factory=Control)
    drivetrain: Drivetrain | None = None
    """Drivetrain, for kinds with one motor."""
    steer_max: float = math.radians(30.0)
    """Largest steering angle in rad, for kinds that steer."""
    gravity: float = 9.81
    """Gravity in m/s²."""
    friction_circle: bool = True
    """Whether friction limits a wheel's resultant force, else each component separately."""
    loads: str = "dynamic"
    """Load model: "dynamic" has load transfer by acceleration, "static" does not."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InvalidValue(record.unknown_name("skidpad", self.kind, list(KINDS), "dynamics"))
        kind = KINDS[self.kind]
        if len(self.wheels) != len(kind.wheels):
            raise InvalidValue(
                f"{self.kind} has {len(kind.wheels)} wheels ({', '.join(kind.wheels)}), "
                f"got {len(self.wheels)}"
            )
        if self.control.kind not in kind.controllers:
            raise InvalidValue(
                record.unknown_name(self.kind, self.control.kind, kind.controllers, "controller")
            )
        if self.loads not in LOADS:
            raise InvalidValue(f"loads = {self.loads!r} is unknown; allowed are {', '.join(LOADS)}")
        if type(self.friction) not in FRICTIONS.values():
            raise InvalidValue(f"friction {self.friction!r} is unknown")
        record.check(self.friction)
        must_be("world gravity", self.gravity, positive)
        self._check_places(kind.steered)
        self._check_drive(kind)

    def _check_places(self, steered: bool) -> None:
        wheels: Sequence[Wheel] = list(self.wheels)
        left, right = wheels[0], wheels[1]
        if not left.y > right.y:
            raise InvalidValue(
                f"wheels of {self.kind}: the left one at y = {left.y} must stand to the left of "
                f"the right one at y = {right.y}"
            )
        if len(self.wheels) > 2 and in_line([(wheel.x, wheel.y) for wheel in self.wheels]):
            raise InvalidValue(
                f"wheels of {self.kind} stand in line; they could not share its load"
            )
        if steered:
            front, beside = wheels[2], wheels[3]
            if not (front.x > left.x and front.y > beside.y):
                raise InvalidValue(
                    f"wheels of {self.kind}: the front ones must stand before the rear ones at "
                    f"x = {left.x}, left of each other; got x = {front.x}, y = {front.y} and "
                    f"{beside.y}"
                )
            if not 0.0 <= self.steer_max < 0.5 * math.pi - 0.01:
                raise InvalidValue(
                    f"steer_max = {self.steer_max} rad must be from 0 to {0.5 * math.pi - 0.01:g}"
                )

    def _check_drive(self, kind: Any) -> None:
        if kind.one_motor != (self.drivetrain is not None):
            wants = "needs a" if kind.one_motor else "has no"
            raise InvalidValue(f"{self.kind} {wants} drivetrain")
        if self.control.gains is not None:
            record.check(self.control.gains)
        controller = kind.controller(self.control.kind, self.control.form)
        record.build(controller.Input, self.control.set_point)


def differential(wheels: int = 2, **changes: Any) -> Description:
    """Return a robot with differential drive on 2, 3 or 4 wheels.

    `changes` are fields of `Description`.
    """
    names = {2: "differential", 3: "differential_3_wheels", 4: "differential_4_wheels"}
    if wheels not in names:
        raise InvalidValue(f"wheels = {wheels} of a differential drive must be 2, 3 or 4")
    return default_description(names[wheels], **changes)


def ackermann(drivetrain: str | None = None, **changes: Any) -> Description:
    """Return a car with Ackermann steering, driven at its front wheels or through a drivetrain.

    If `drivetrain` is given, one motor drives the wheels through it. `changes` are fields of
    `Description`.
    """
    if drivetrain is None:
        return default_description("ackermann", **changes)
    fields = {"drivetrain": Drivetrain(drivetrain), **changes}
    return default_description("ackermann_drivetrain", **fields)


def default_description(kind: str, **changes: Any) -> Description:
    """Return the vehicle of this kind with upstream's defaults; keywords replace fields."""
    if kind not in KINDS:
        raise InvalidValue(record.unknown_name("skidpad", kind, list(KINDS), "dynamics"))
    known = KINDS[kind]
    parts: dict[str, Any] = {
        "chassis": Chassis(known.mass, known.shape, known.z_min, known.z_max),
        "wheels": tuple(Wheel(x, y) for x, y in known.places),
        "drivetrain": Drivetrain() if known.one_motor else None,
    }
    return Description(kind, **(parts | changes))


def in_line(points: Sequence[tuple[float, float]]) -> bool:
    """Whether all points are on one straight line, up to rounding."""
    x_0, y_0 = points[0]
    rays = [(x - x_0, y - y_0) for x, y in points[1:]]
    a_x, a_y = max(rays, key=lambda ray: math.hypot(*ray))
    size = math.hypot(a_x, a_y)
    return all(abs(a_x * b_y - a_y * b_x) <= 1e-9 * size * size for b_x, b_y in rays)


DAMPING = 0.1
"""Default damping of a body, in 1/s."""


class MassProperties(NamedTuple):
    """Mass, centre of mass (from the reference point) and yaw inertia of a vehicle."""

    mass: float
    com_x: float
    com_y: float
    com_z: float
    """Height of the centre of mass above the ground."""
    I_z: float
    """Yaw inertia about the centre of mass."""


def mass_properties(d: Description, *, hull: bool = False) -> MassProperties:
    """Mass, centre of mass and yaw inertia of a described vehicle.

    With `hull` the mass is spread over the convex hull of the chassis, as in Box2D.
    """
    chassis = d.chassis
    plate = moments(convex_hull(chassis.shape) if hull else chassis.shape)
    parts = [(chassis.mass, plate.x, plate.y, 0.5 * (chassis.z_min + chassis.z_max), plate.polar)]
    for wheel in d.wheels:
        box = (wheel.diameter**2 + wheel.width**2) / 12.0
        parts.append((wheel.mass, wheel.x, wheel.y, 0.5 * wheel.diameter, box))
    mass = sum(part[0] for part in parts)
    x, y, z = (sum(part[0] * part[k] for part in parts) / mass for k in (1, 2, 3))
    I_z = sum(m * (polar + (p_x - x) ** 2 + (p_y - y) ** 2) for m, p_x, p_y, _, polar in parts)
    return MassProperties(mass, x, y, z, I_z)


def damping(chassis: Chassis, *, upstream: bool = False) -> tuple[float, float]:
    """Linear and angular damping of a chassis, in 1/s.

    MVSim (`upstream`) writes eight bytes into a number of four bytes: the lower half of a linear
    damping becomes the linear one, the upper half the angular one; of an angular damping the lower
    half remains.
    """
    linear, angular = chassis.linear_damping, chassis.angular_damping
    if not upstream:
        return DAMPING if linear is None else linear, DAMPING if angular is None else angular
    linear, angular = DAMPING, DAMPING
    if chassis.linear_damping is not None:
        linear, angular = struct.unpack("<ff", struct.pack("<d", chassis.linear_damping))
    if chassis.angular_damping is not None:
        angular = struct.unpack("<ff", struct.pack("<d", chassis.angular_damping))[0]
    return linear, angular
