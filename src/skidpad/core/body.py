"""A vehicle as a body: its motion, its shape, how it is driven.

A model declares it with a `Body`; worlds, pages, sensors, controllers and plots read the body and
never the names of fields. A model without one still simulates. The contract:

1. `reference` names the point of the vehicle whose motion is given. All places on the vehicle are
   relative to it, x forward, y to the left, in m.
2. `pose(x, p)` is the pose of that point in the world, `velocity(x, u, p)` its velocity in body
   axes. `speed(x, p)`, if given, is the speed of references and set-points, negative in reverse,
   for a state that has the length of the velocity; by default it is `v_x`.
3. `acceleration(x, rate, p)`, if given, is the acceleration over ground in body axes and the rate
   of the yaw rate, from state and time derivative. By default it is the derivative of `velocity`
   along the motion; for a discrete model it is then unknown.
4. `placed(x, pose, velocity, p)` is the state with the body moved to a pose and set in motion, as a
   contact or a user does. Motion that the model cannot have (sliding sideways) is left out, all
   other states stay.
5. `geometry(p)` and `limits(p)` are plain values, from parameters that are numbers.
6. `command(x, demand, p)` is the input that fulfils a demand, as far as the limits allow.
7. `steer(x, u, p)`, if it steers, is the angle of its front wheels.
8. `on_ground(x, u, w, ground, p)`, if the ground acts on it, is the input and the disturbance with
   the effects of the ground in place of the previous ones. `wheels(p)`, if `geometry` does not take
   symbols, are the places of the wheels, for roads that compile.
9. `odometry(x, u, p)`, if wheels measure another motion than `velocity`, is that motion.
10. All but `geometry` and `limits` are pure and built from `skidpad.ops`, so that they take
    numbers, arrays with a value per vehicle, and symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, NamedTuple

from ..errors import InvalidValue
from ..ops import where
from ..units import kg, kg_m2, m, m_s, m_s2, one, rad, rad_s, rad_s2
from . import record
from .files import brief_repr

__all__ = [
    "body_of",
    "box",
    "car_geometry",
    "plate_inertia",
]

Point = tuple[float, float]
"""x and y in m from the reference point."""
Outline = tuple[Point, ...]
"""Corners in order, in m from the reference point."""


class Pose(NamedTuple):
    """Position of a point of a vehicle, and the heading of the vehicle."""

    x: m
    """Position in the world frame."""
    y: m
    """Position in the world frame."""
    yaw: rad
    """Heading from the world's x axis, positive to the left, not wrapped."""


class Velocity(NamedTuple):
    """Velocity of a point of a vehicle over ground, in body axes."""

    v_x: m_s
    """Forward positive."""
    v_y: m_s
    """Positive to the left."""
    omega: rad_s
    """Yaw rate, positive to the left."""


class Acceleration(NamedTuple):
    """Acceleration of a point of a vehicle over ground, in body axes, with the yaw acceleration."""

    a_x: m_s2
    """Forward positive: v_x' - v_y omega."""
    a_y: m_s2
    """Positive to the left: v_y' + v_x omega."""
    omega_rate: rad_s2
    """Rate of the yaw rate."""


class Demand(NamedTuple):
    """Demand of a driver or a controller. Each vehicle takes the fields that it understands."""

    steer: rad = 0.0
    """Angle of the front wheels, positive to the left."""
    a: m_s2 = 0.0
    """Acceleration along the vehicle, forward positive."""
    v: m_s = 0.0
    """Demanded speed, for vehicles that take one."""
    omega: rad_s = 0.0
    """Demanded yaw rate, positive to the left, for vehicles that take one."""
    handbrake: one = 0.0
    """Share to which it is pulled, 0 to 1, for vehicles with a handbrake."""


class Down(NamedTuple):
    """The downward unit vector in body axes, without its component normal to the ground."""

    x: one
    """Positive downhill ahead."""
    y: one
    """Positive downhill to the left."""


class GroundUnder(NamedTuple):
    """Properties of the ground under a vehicle; None where the ground has no value."""

    g: m_s2
    """Gravity."""
    down: Down | None = None
    """Direction of the slope."""
    mu: tuple[one, ...] | None = None
    """Friction under each wheel of the geometry; negative: that of the vehicle itself."""
    rolling: tuple[one, ...] | None = None
    """Rolling resistance over load under each wheel; negative: that of the vehicle itself."""
    grip: tuple[one, ...] | None = None
    """Factor on the friction under each wheel."""

    def friction_shares(self, own: Sequence[one]) -> tuple[one, ...] | None:
        """Friction under each wheel over the vehicle's own; None where the ground has no value."""
        if self.mu is None:
            return self.grip
        shares = tuple(
            where(mu < 0.0, 1.0, mu / peak) for mu, peak in zip(self.mu, own, strict=True)
        )
        if self.grip is None:
            return shares
        return tuple(share * grip for share, grip in zip(shares, self.grip, strict=True))


@dataclass(frozen=True)
class Wheel:
    """A wheel. The strings name fields of the state or the outputs, or are empty."""

    name: str
    x: m
    """Position of its centre, forward of the reference point."""
    y: m
    """Position of its centre, to the left of the reference point."""
    radius: m
    width: m
    yaw: rad = 0.0
    """Angle on the vehicle of a wheel that does not steer, positive to the left."""
    steer: str = ""
    """The field with its angle on the vehicle, if it steers."""
    spin: str = ""
    """The field with its rate of turning in rad/s, positive forward, if it spins by itself."""
    F_x: str = ""
    """The field with its force along the wheel, in N."""
    F_y: str = ""
    """The field with its force across the wheel, positive to the left, in N."""
    F_z: str = ""
    """The field with its load, in N."""
    use: str = ""
    """The field with the share of its grip that is used, 0 to 1."""

    @property
    def length(self) -> m:
        """Length seen from above: its diameter."""
        return 2.0 * self.radius


class WheelPlace(NamedTuple):
    """Place of a wheel on a vehicle."""

    x: m
    """Forward of the reference point."""
    y: m
    """To the left of the reference point."""
    radius: m


@dataclass(frozen=True)
class Trailer:
    """A trailer behind a vehicle, or behind another trailer."""

    hitch_x: m
    """Position of its hitch, forward of the reference point of the vehicle, or of the axle of the
    trailer ahead."""
    drawbar: m
    """Distance from the hitch back to the trailer's axle."""
    angle: str
    """The field of the state with its heading from that of the unit ahead, positive to the left."""
    outlines: tuple[Outline, ...]
    """Seen from the middle of the trailer's axle."""
    wheels: tuple[Wheel, ...] = ()
    """Seen from the middle of the trailer's axle."""
    trailer: Trailer | None = None
    """The trailer behind it."""

    __repr__ = brief_repr


@dataclass(frozen=True)
class Geometry:
    """Shape and mass of a vehicle, seen from its reference point."""

    front_axle: m
    """Position of the front axle; the only axle of a vehicle with one."""
    rear_axle: m
    """Position of the rear axle, negative behind the reference point."""
    wheels: tuple[Wheel, ...]
    outlines: tuple[Outline, ...]
    """Outline from above, one or more polygons."""
    height: m
    """Height above the ground."""
    mass: kg
    inertia: kg_m2
    """Yaw inertia about the centre of mass."""
    centre_of_mass: Point = (0.0, 0.0)
    trailer: Trailer | None = None

    __repr__ = brief_repr

    @property
    def trailers(self) -> tuple[Trailer, ...]:
        """All its trailers, in order."""
        chain: list[Trailer] = []
        trailer = self.trailer
        while trailer is not None:
            chain.append(trailer)
            trailer = trailer.trailer
        return tuple(chain)

    @property
    def wheel_base(self) -> m:
        """Distance between the axles; of a vehicle with one axle, between its wheels."""
        return self.front_axle - self.rear_axle or self.track

    @property
    def track(self) -> m:
        """Distance between the outermost wheels."""
        across = [wheel.y for wheel in self.wheels]
        return max(across) - min(across) if across else 0.0


@dataclass(frozen=True)
class Limits:
    """Limits of a vehicle; infinite where its model sets none."""

    steer_max: rad = inf
    """Largest angle of the front wheels, either side; 0 for a vehicle that does not steer."""
    steer_rate_max: rad_s = inf
    v_max: m_s = inf
    v_min: m_s = -inf
    """Highest speed in reverse, negative."""
    a_max: m_s2 = inf
    """Largest acceleration of its drive."""
    a_min: m_s2 = -inf
    """Largest deceleration of its brakes, negative."""
    grip: m_s2 = inf
    """Largest acceleration over ground from its tyres, in any direction."""
    omega_max: rad_s = inf
    """Largest yaw rate of a vehicle that turns on the spot."""
    handbrake: bool = False
    """Whether it has a handbrake, for `Demand.handbrake`."""
    inputs: Mapping[str, tuple[float, float]] = field(
        default_factory=dict[str, tuple[float, float]]
    )
    """Lowest and highest value of inputs that have a range, by their names."""
    not_kept: tuple[str, ...] = ()
    """Limits among "steer" and "v" that the model itself may exceed: they are for planners, and no
    start is refused for them."""

    __repr__ = brief_repr


@dataclass(frozen=True)
class Body:
    """A model's description of the vehicle as a body; see the module text for the contract."""

    reference: str
    pose: Callable[[Any, Any], Pose]
    velocity: Callable[[Any, Any, Any], Velocity]
    placed: Callable[[Any, Pose, Velocity, Any], Any]
    geometry: Callable[[Any], Geometry]
    limits: Callable[[Any], Limits]
    command: Callable[[Any, Demand, Any], Any]
    acceleration: Callable[[Any, Any, Any], Acceleration] | None = None
    steer: Callable[[Any, Any, Any], rad] | None = None
    on_ground: Callable[[Any, Any, Any, GroundUnder, Any], tuple[Any, Any]] | None = None
    odometry: Callable[[Any, Any, Any], Velocity] | None = None
    speed: Callable[[Any, Any], m_s] | None = None
    wheels: Callable[[Any], Sequence[WheelPlace]] | None = None
    gravity: str = ""
    """The parameter with the gravity of its world, if there is one."""
    lessens_loads: bool = False
    """Whether it reduces its wheel loads by itself on a slope."""
    imposed: bool = False
    """Whether its motion is prescribed, whatever its previous motion."""

    __repr__ = brief_repr

    def wheel_places(self, p: Any) -> list[WheelPlace]:
        """Places of its wheels, from parameters that may be symbols if the body takes them."""
        wheels = self.geometry(p).wheels if self.wheels is None else self.wheels(p)
        return [WheelPlace(wheel.x, wheel.y, wheel.radius) for wheel in wheels]

    def speed_of(self, x: Any, u: Any, p: Any) -> m_s:
        """The speed for references and set-points."""
        return self.velocity(x, u, p).v_x if self.speed is None else self.speed(x, p)


def standing_points(wheels: Sequence[WheelPlace]) -> list[tuple[m, m]]:
    """Points of a vehicle whose heights determine its attitude on the ground.

    Two wheels do not define a plane: then the points are one radius before and behind each wheel,
    so that the roll is that of the axle and the pitch that of the ground along it.
    """
    if len(wheels) != 2:
        return [(w.x, w.y) for w in wheels]
    return [(w.x + k * w.radius, w.y) for w in wheels for k in (-1.0, 1.0)]


def own_fields(State: type, read: Callable[[Any], Sequence[Any]]) -> tuple[str | None, ...]:
    """The state fields that `read(x)` consists of; None in place of a value that it computes."""
    # Recognised by identity: a computed value is another object, even if it is equal.
    probes = [1.0 + k / 64.0 for k in range(record.size(State))]
    values = read(record.unflatten(State, probes))
    by_probe = {id(probe): name for probe, name in zip(probes, record.names(State), strict=True)}
    return tuple(by_probe.get(id(value)) for value in values)


def body_of(vehicle: Any, purpose: str) -> Body:
    """The body of a vehicle; raises if its model has none, with `purpose` as in "a world"."""
    body: Body | None = vehicle.model.body
    if body is None:
        raise InvalidValue(
            f"{purpose} needs to know the body of {vehicle.name!r}, and its model has none: give "
            "Model(..., body=skidpad.Body(...)), which says how it moves, what shape it has and "
            "how it is driven; docs/bodies.md shows how"
        )
    return body


def car_geometry(
    *,
    front_axle: m,
    rear_axle: m,
    front: m,
    rear: m,
    width: m,
    height: m,
    track: m | None = None,
    wheel_radius: m = 0.32,
    wheel_width: m = 0.2,
    mass: kg | None = None,
    inertia: kg_m2 | None = None,
    centre_of_mass: Point | None = None,
    steer: str = "steer",
    forces: bool = False,
) -> Geometry:
    """A car on four wheels between two ends, all seen from its reference point.

    Missing values are estimated: a track of 0.85 widths, mass and inertia from the area of the
    outline, the centre of mass midway between the axles. `steer` is the field with the angle of the
    front wheels; `forces`: see `four_wheels`.
    """
    length = front - rear
    mass = estimated_mass(length, width) if mass is None else mass
    track = 0.85 * width if track is None else track
    return Geometry(
        front_axle=front_axle,
        rear_axle=rear_axle,
        wheels=four_wheels(
            front_axle, rear_axle, track, wheel_radius, wheel_width, steer=steer, forces=forces
        ),
        outlines=(car_outline(rear, front, width),),
        height=height,
        mass=mass,
        inertia=plate_inertia(mass, length, width) if inertia is None else inertia,
        centre_of_mass=centre_of_mass or (0.5 * (front_axle + rear_axle), 0.0),
    )


_MASS_PER_AREA = 190.0
"""Mass of cars over the area of their outline, in kg/m²: 1540 kg for 4.5 m by 1.8 m."""


def estimated_mass(length: m, width: m) -> kg:
    """Mass of a vehicle whose model has none, estimated from the area of its outline."""
    return _MASS_PER_AREA * length * width


def plate_inertia(mass: kg, length: m, width: m) -> kg_m2:
    """Yaw inertia of a rectangular plate about its middle: an estimate where a model has none."""
    return mass * (length * length + width * width) / 12.0


def box(rear: m, front: m, width: m) -> Outline:
    """A rectangle as long as from `rear` to `front`, about the vehicle's axis."""
    half = 0.5 * width
    return ((rear, -half), (front, -half), (front, half), (rear, half))


def car_outline(rear: m, front: m, width: m) -> Outline:
    """A rectangle whose front corners are cut: one sees which way it points."""
    half, corner = 0.5 * width, 0.18 * width
    nose = 1.6 * corner
    return (
        (rear + 0.5 * corner, -half),
        (front - nose, -half),
        (front, -half + corner),
        (front, half - corner),
        (front - nose, half),
        (rear + 0.5 * corner, half),
        (rear, half - 0.5 * corner),
        (rear, -half + 0.5 * corner),
    )


def four_wheels(
    front_axle: m,
    rear_axle: m,
    track: m,
    radius: m,
    width: m,
    *,
    steer: str = "steer",
    forces: bool = False,
) -> tuple[Wheel, ...]:
    """The wheels fl, fr, rl, rr of a car; the front ones turn as the field `steer` says.

    With `forces` the model has outputs `F_x_fl`, `F_y_fl`, `F_z_fl` and so on.
    """
    places = {
        "fl": (front_axle, 0.5 * track),
        "fr": (front_axle, -0.5 * track),
        "rl": (rear_axle, 0.5 * track),
        "rr": (rear_axle, -0.5 * track),
    }
    return tuple(
        Wheel(
            name,
            x,
            y,
            radius,
            width,
            steer=steer if name[0] == "f" else "",
            F_x=f"F_x_{name}" if forces else "",
            F_y=f"F_y_{name}" if forces else "",
            F_z=f"F_z_{name}" if forces else "",
        )
        for name, (x, y) in places.items()
    )


record.document_all()
