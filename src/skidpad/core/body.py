"""`Body`, the description of a vehicle as a body: its motion, shape, limits and commands.

A model declares it with a `Body`. Worlds, pages, sensors, controllers and plots use the body and
never the names of fields. A model without a body can still be simulated. The contract:

1. `reference` names the point of the vehicle whose motion is described. All positions on the
   vehicle are relative to it, x forward, y to the left, in m.
2. `pose(x, p)` is the pose of that point in the world, `velocity(x, u, p)` its velocity in body
   axes. `speed(x, p)`, if given, is the speed for references and set-points, negative in reverse,
   for a model whose state has the magnitude of the velocity; by default it is `v_x`.
3. `acceleration(x, rate, p)`, if given, is the acceleration over ground in body axes and the yaw
   acceleration, from the state and its time derivative. By default it is the derivative of
   `velocity` along the motion; for a discrete model it is then unknown.
4. `placed(x, pose, velocity, p)` is the state with the body at a given pose and velocity, as after
   a contact or when a user moves it. Motion that the model cannot have (sliding sideways) is
   dropped, all other states stay.
5. `geometry(p)` and `limits(p)` are plain values, from parameters that are numbers.
6. `command(x, demand, p)` is the input that fulfils a demand, as far as the limits allow.
7. `steer(x, u, p)`, if the vehicle steers, is the angle of its front wheels.
8. `on_ground(x, u, w, ground, p)`, if the ground affects it, returns the input and the disturbance
   with the effects of this ground in place of the previous ones. `wheels(p)` returns the positions
   of the wheels for roads that are compiled; it is needed if `geometry` does not accept symbols.
9. `odometry(x, u, p)`, if given, is the motion that the wheels measure, where it differs from
   `velocity`.
10. All but `geometry` and `limits` are pure and built from `skidpad.ops`, so that they accept
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

__all__ = ["body_of", "box", "car_geometry", "plate_inertia"]

Point = tuple[float, float]
"""x and y in m, relative to the reference point."""
Outline = tuple[Point, ...]
"""Corners in order, in m, relative to the reference point."""


class Pose(NamedTuple):
    """Position of a point of a vehicle, and the heading of the vehicle."""

    x: m
    """Position in the world frame, in m."""
    y: m
    """Position in the world frame, in m."""
    yaw: rad
    """Heading in rad from the world's x axis, positive to the left, not wrapped."""


class Velocity(NamedTuple):
    """Velocity of a point of a vehicle over ground, in body axes."""

    v_x: m_s
    """Longitudinal velocity in m/s, positive forward."""
    v_y: m_s
    """Lateral velocity in m/s, positive to the left."""
    omega: rad_s
    """Yaw rate in rad/s, positive to the left."""


class Acceleration(NamedTuple):
    """Acceleration of a point of a vehicle over ground, in body axes, with the yaw acceleration."""

    a_x: m_s2
    """Longitudinal acceleration v_x' - v_y omega in m/s², positive forward."""
    a_y: m_s2
    """Lateral acceleration v_y' + v_x omega in m/s², positive to the left."""
    omega_rate: rad_s2
    """Yaw acceleration in rad/s², positive to the left."""


class Demand(NamedTuple):
    """Demand of a driver or a controller; each vehicle uses the fields that it supports."""

    steer: rad = 0.0
    """Angle of the front wheels in rad, positive to the left."""
    a: m_s2 = 0.0
    """Longitudinal acceleration in m/s², positive forward."""
    v: m_s = 0.0
    """Demanded speed in m/s, for vehicles with speed commands."""
    omega: rad_s = 0.0
    """Demanded yaw rate in rad/s, positive to the left, for vehicles with yaw-rate commands."""
    handbrake: one = 0.0
    """Application of the handbrake, from 0 to 1, for vehicles that have one."""


class Down(NamedTuple):
    """Component of the downward unit vector parallel to the ground, in body axes."""

    x: one
    """Forward component, positive if the ground descends ahead."""
    y: one
    """Leftward component, positive if the ground descends to the left."""


class GroundUnder(NamedTuple):
    """Properties of the ground under a vehicle; a field is None if the ground does not define
    it.
    """

    g: m_s2
    """Gravitational acceleration in m/s²."""
    down: Down | None = None
    """Direction of the slope."""
    mu: tuple[one, ...] | None = None
    """Friction coefficient under each wheel of the geometry; negative for the vehicle's own
    value."""
    rolling: tuple[one, ...] | None = None
    """Rolling resistance coefficient (force over load) under each wheel; negative for the
    vehicle's own value."""
    grip: tuple[one, ...] | None = None
    """Factor on the friction coefficient under each wheel."""

    def friction_shares(self, own: Sequence[one]) -> tuple[one, ...] | None:
        """Friction under each wheel relative to the vehicle's own; None if the ground does not
        define it."""
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
    """Position and size of a wheel, and the fields that describe it; strings name state or output
    fields, or are empty.
    """

    name: str
    x: m
    """Position of its centre in m, forward of the reference point."""
    y: m
    """Position of its centre in m, to the left of the reference point."""
    radius: m
    width: m
    yaw: rad = 0.0
    """Angle of an unsteered wheel relative to the vehicle in rad, positive to the left."""
    steer: str = ""
    """Field with its angle relative to the vehicle in rad, if it steers."""
    spin: str = ""
    """Field with its rotational speed in rad/s, positive forward, if it spins independently."""
    F_x: str = ""
    """Field with the longitudinal tyre force in N, in wheel axes."""
    F_y: str = ""
    """Field with the lateral tyre force in N, in wheel axes, positive to the left."""
    F_z: str = ""
    """Field with its vertical load in N."""
    use: str = ""
    """Field with the utilised share of its grip, 0 to 1."""

    @property
    def length(self) -> m:
        """Length seen from above in m: its diameter."""
        return 2.0 * self.radius


class WheelPlace(NamedTuple):
    x: m
    """Position in m, forward of the reference point."""
    y: m
    """Position in m, to the left of the reference point."""
    radius: m


@dataclass(frozen=True)
class Trailer:
    """A trailer behind a vehicle, or behind another trailer."""

    hitch_x: m
    """Position of its hitch in m, forward of the reference point of the vehicle, or of the axle
    of the trailer ahead."""
    drawbar: m
    """Distance in m from the hitch back to the trailer's axle."""
    angle: str
    """State field with its heading relative to the unit ahead in rad, positive to the left."""
    outlines: tuple[Outline, ...]
    """Outlines relative to the middle of the trailer's axle, in m."""
    wheels: tuple[Wheel, ...] = ()
    """Wheels, with positions relative to the middle of the trailer's axle."""
    trailer: Trailer | None = None
    """The trailer behind this one."""

    __repr__ = brief_repr


@dataclass(frozen=True)
class Geometry:
    """Shape and mass of a vehicle; positions are relative to its reference point."""

    front_axle: m
    """Position of the front axle in m, or of the only axle; positive in front of the reference
    point."""
    rear_axle: m
    """Position of the rear axle in m, negative behind the reference point."""
    wheels: tuple[Wheel, ...]
    outlines: tuple[Outline, ...]
    """Outline from above, one or more polygons, in m."""
    height: m
    """Height above the ground, in m."""
    mass: kg
    inertia: kg_m2
    """Yaw inertia about the centre of mass, in kg·m²."""
    centre_of_mass: Point = (0.0, 0.0)
    trailer: Trailer | None = None

    __repr__ = brief_repr

    @property
    def trailers(self) -> tuple[Trailer, ...]:
        """All trailers, from front to rear."""
        chain: list[Trailer] = []
        trailer = self.trailer
        while trailer is not None:
            chain.append(trailer)
            trailer = trailer.trailer
        return tuple(chain)

    @property
    def wheel_base(self) -> m:
        """Distance in m between the axles; for a vehicle with one axle, between its wheels."""
        return self.front_axle - self.rear_axle or self.track

    @property
    def track(self) -> m:
        """Distance in m between the outermost wheels."""
        across = [wheel.y for wheel in self.wheels]
        return max(across) - min(across) if across else 0.0


@dataclass(frozen=True)
class Limits:
    """Limits of a vehicle; infinite if its model has none."""

    steer_max: rad = inf
    """Largest steering angle of the front wheels to either side, in rad; 0 for a vehicle that
    does not steer."""
    steer_rate_max: rad_s = inf
    v_max: m_s = inf
    v_min: m_s = -inf
    """Largest speed in reverse, negative, in m/s."""
    a_max: m_s2 = inf
    """Largest acceleration by the vehicle's drive, in m/s²."""
    a_min: m_s2 = -inf
    """Largest deceleration by the vehicle's brakes, negative, in m/s²."""
    grip: m_s2 = inf
    """Largest acceleration over ground that its tyres allow in any direction, in m/s²."""
    omega_max: rad_s = inf
    """Largest yaw rate of a vehicle that turns on the spot, in rad/s."""
    handbrake: bool = False
    """Whether the vehicle has a handbrake, which `Demand.handbrake` applies."""
    inputs: Mapping[str, tuple[float, float]] = field(
        default_factory=dict[str, tuple[float, float]]
    )
    """Smallest and largest value of each input that has a range, by name."""
    not_kept: tuple[str, ...] = ()
    """Names among "steer" and "v" of limits that the model itself may exceed: only planners observe
    such limits, and a start state beyond them is accepted.
    """

    __repr__ = brief_repr


@dataclass(frozen=True)
class Body:
    """A model's description of the vehicle as a body; see the docstring of this module for the
    contract."""

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
    """Name of the parameter with the gravitational acceleration, if there is one."""
    lessens_loads: bool = False
    """Whether the model itself reduces its wheel loads on a slope."""
    imposed: bool = False
    """Whether the vehicle's motion is prescribed by the inputs, independent of its previous
    motion.
    """

    __repr__ = brief_repr

    def wheel_places(self, p: Any) -> list[WheelPlace]:
        """Return the positions of the wheels; the parameters may be symbols if the body accepts
        these.
        """
        wheels = self.geometry(p).wheels if self.wheels is None else self.wheels(p)
        return [WheelPlace(wheel.x, wheel.y, wheel.radius) for wheel in wheels]

    def speed_of(self, x: Any, u: Any, p: Any) -> m_s:
        """Speed in m/s for references and set-points, negative in reverse."""
        return self.velocity(x, u, p).v_x if self.speed is None else self.speed(x, p)


def standing_points(wheels: Sequence[WheelPlace]) -> list[tuple[m, m]]:
    """Points (x, y) in m of a vehicle whose ground heights determine its attitude.

    Two wheels do not define a plane: then the points are one radius in front of and behind each
    wheel, so that the roll follows the axle and the pitch follows the ground along it.
    """
    if len(wheels) != 2:
        return [(w.x, w.y) for w in wheels]
    return [(w.x + k * w.radius, w.y) for w in wheels for k in (-1.0, 1.0)]


def own_fields(State: type, read: Callable[[Any], Sequence[Any]]) -> tuple[str | None, ...]:
    """Names of the state fields that `read(x)` returns unchanged; None for values that it
    computes.
    """
    # Recognised by identity: a computed value is another object, even if it is equal.
    probes = [1.0 + k / 64.0 for k in range(record.size(State))]
    values = read(record.unflatten(State, probes))
    by_probe = {id(probe): name for probe, name in zip(probes, record.names(State), strict=True)}
    return tuple(by_probe.get(id(value)) for value in values)


def body_of(vehicle: Any, purpose: str) -> Body:
    """Return the body of a vehicle; raises if its model has none.

    `purpose` names the use in the error, as in "a world".
    """
    body: Body | None = vehicle.model.body
    if body is None:
        raise InvalidValue(
            f"{purpose} needs to know the body of {vehicle.name!r}, and its model has none: give "
            "Model(..., body=skidpad.Body(...)) with its motion, shape and commands; see "
            "docs/bodies.md"
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
    """Geometry of a car with four wheels; positions in m are relative to its reference point.

    Missing values are estimated: track as 0.85 of the width, mass and inertia from the area of the
    outline, the centre of mass midway between the axles. `steer` is the field with the angle of the
    front wheels; `forces`: see `four_wheels`.
    """
    length = front - rear
    mass = _MASS_PER_AREA * length * width if mass is None else mass
    track = 0.85 * width if track is None else track
    # Rectangle with cut front corners, which show the direction of the vehicle; all in m
    half, corner = 0.5 * width, 0.18 * width
    nose = 1.6 * corner
    return Geometry(
        front_axle=front_axle,
        rear_axle=rear_axle,
        wheels=four_wheels(
            front_axle, rear_axle, track, wheel_radius, wheel_width, steer=steer, forces=forces
        ),
        outlines=(
            (
                (rear + 0.5 * corner, -half),
                (front - nose, -half),
                (front, -half + corner),
                (front, half - corner),
                (front - nose, half),
                (rear + 0.5 * corner, half),
                (rear, half - 0.5 * corner),
                (rear, -half + 0.5 * corner),
            ),
        ),
        height=height,
        mass=mass,
        inertia=plate_inertia(mass, length, width) if inertia is None else inertia,
        centre_of_mass=centre_of_mass or (0.5 * (front_axle + rear_axle), 0.0),
    )


_MASS_PER_AREA = 190.0
"""Mass of cars per area of their outline, in kg/m²: 1540 kg for 4.5 m by 1.8 m."""


def plate_inertia(mass: kg, length: m, width: m) -> kg_m2:
    """Yaw inertia in kg·m² of a rectangular plate about its centre, an estimate for models without
    one."""
    return mass * (length * length + width * width) / 12.0


def box(rear: m, front: m, width: m) -> Outline:
    """Rectangle from `rear` to `front`, symmetric about the vehicle's axis; all in m."""
    half = 0.5 * width
    return ((rear, -half), (front, -half), (front, half), (rear, half))


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
    """Wheels fl, fr, rl, rr of a car; the field `steer` has the angle of the front wheels.

    With `forces` the model has outputs `F_x_fl`, `F_y_fl`, `F_z_fl` and so on.
    """
    axles, sides = {"f": front_axle, "r": rear_axle}, {"l": 0.5 * track, "r": -0.5 * track}
    places = {end + side: (x, y) for end, x in axles.items() for side, y in sides.items()}
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
