"""A vehicle as controllers see it: its axles, its motion, its limits, and how it is commanded.

The steering laws read a `Motion` and return a `Demand`; a `Car` is what they read it with. `car_of`
makes one of the vehicle's body. For a vehicle without a body give a `Car` of your own.
`abilities_of` are the most that a driver with keys demands of a vehicle, from its limits and its
geometry. `deviation` is the place of a vehicle relative to a line on the ground.

Conversions between a car's descriptions (speed and steering, body velocities, rear axle, continuous
angles): a car without tyre slip moves at its centre of mass by the angle β = atan(l_r / l
tan(steer)) to its heading, whichever way it rolls. commonroad-control turns β round in reverse,
although its kinematic model does not; `compat="upstream"` repeats that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, pi, tau
from typing import Annotated, Any, NamedTuple, get_type_hints

from ..core import record
from ..core.body import Demand, body_of
from ..core.model import Vehicle
from ..core.record import made_once
from ..errors import InvalidValue
from ..geometry.line import LinePoint
from ..geometry.pose import rotated, to_body
from ..ops import atan2, cos, floor, maximum, sign, sin, sqrt, where
from ..units import m, m_s, m_s2, one, per_m, positive, rad, rad_s, s
from ..vehicles.parts.kinematics import curvature_of, drift, speed_ratio

_GRIP: m_s2 = 0.8 * 9.81
"""Grip of a vehicle whose model sets no limit."""
_DRIVE_SHARE, _BRAKE_SHARE, _TURN_SHARE = 0.55, 0.75, 0.85
"""Shares of the grip. What drive and brake leave is there to turn with; a driver with keys who
turns harder than this loses the formula_student car when the turn goes the other way."""
_COAST_SHARE: one = 0.1
"""Share of full braking."""
_SLOW: m_s = 5.0
_TIME_TO_SPEED, _TIME_TO_STOP = 1.5, 0.7
"""Seconds to the speed of a slow vehicle and back."""
_SPEED_PER_SIZE = 5.0
"""Speed in m/s that a metre of wheelbase makes one want."""
_FASTEST, _FASTEST_BY_SIZE = 60.0, 20.0
_FASTEST_BACK: m_s = 6.0
_STEER: rad = 0.5
"""Largest angle of a vehicle whose model sets no limit."""


class Abilities(NamedTuple):
    """How fast, how hard and how tight a vehicle goes under keys."""

    v_max: m_s
    v_back: m_s
    """Largest speed in reverse."""
    a_drive: m_s2
    a_brake: m_s2
    a_back: m_s2
    """Acceleration in reverse."""
    a_coast: m_s2
    """How it slows down when no key is held, added to what its model does."""
    a_turn: m_s2
    """Across the vehicle, about what its tyres hold."""
    wheel_base: m
    steer_max: rad
    """Largest steering angle; 0 for a vehicle that turns on the spot instead."""
    omega_max: rad_s
    """Largest yaw rate of a vehicle that turns on the spot."""
    handbrake: one
    """How far it is pulled: about what makes tyres slide. 0 of one that has none."""


def abilities_of(vehicle: Vehicle) -> Abilities:
    """Abilities of a vehicle with its present parameters; a heavier one later is driven alike."""
    body_of(vehicle, "a driver")
    limits, base = vehicle.limits, max(vehicle.geometry.wheel_base, 0.1)
    grip = limits.grip if limits.grip < inf else _GRIP
    by_size = min(max(_SPEED_PER_SIZE * base, 1.0), _FASTEST_BY_SIZE)
    # What says how hard it drives is driven to its limits; of others one wants what fits them.
    v_max = min(limits.v_max, _FASTEST if limits.a_max < inf else by_size)
    slow = v_max < _SLOW
    a_drive = min(_DRIVE_SHARE * grip, limits.a_max, v_max / _TIME_TO_SPEED if slow else inf)
    a_brake = min(_BRAKE_SHARE * grip, -limits.a_min, v_max / _TIME_TO_STOP if slow else inf)
    return Abilities(
        v_max=v_max,
        v_back=min(-limits.v_min if limits.v_min > -inf else 0.4 * v_max, _FASTEST_BACK),
        a_drive=a_drive,
        a_brake=a_brake,
        a_back=0.6 * a_drive,
        a_coast=_COAST_SHARE * a_brake,
        a_turn=_TURN_SHARE * grip,
        wheel_base=base,
        steer_max=min(limits.steer_max, 1.0) if limits.steer_max < inf else _STEER,
        omega_max=min(limits.omega_max or inf, 3.0, v_max / base),
        handbrake=min(1.0, grip / limits.a_max) if limits.handbrake else 0.0,
    )


class BodyVelocity(NamedTuple):
    """Motion of the centre of mass in the car's frame."""

    v_x: m_s
    """Velocity along the car, forward positive."""
    v_y: m_s
    """Velocity across the car, positive to the left."""
    omega: rad_s
    """Yaw rate, positive to the left."""


def rolling_velocity(
    v: m_s, steer: rad, l_f: m, l_r: m, *, compat: str | None = None
) -> BodyVelocity:
    """Body velocity of a car without tyre slip whose centre of mass has the speed `v`.

    `v` is negative in reverse.
    """
    beta = drift(steer, l_f, l_r)
    if upstream(compat):
        beta = sign(v) * beta
    across = v * sin(beta)
    # The rear axle does not move sideways, so the car turns about a point on its line.
    return BodyVelocity(v * cos(beta), across, across / l_r)


def signed_speed(v_x: m_s, v_y: m_s) -> m_s:
    """Speed over ground, negative where the car rolls backwards; 0 where it slides sideways."""
    return sign(v_x) * sqrt(v_x * v_x + v_y * v_y)


def slip_of_velocity(v_x: m_s, v_y: m_s) -> rad:
    """Angle from the heading to the velocity, in [-π, π]; its gradient is NaN at standstill."""
    return atan2(v_y, v_x)


def dynamic_state(x: Any, dynamic: Any, *, compat: str | None = None) -> Any:
    """The state of a dynamic bicycle (a Vehicle) that moves as a kinematic one in state `x`."""
    p = dynamic.params
    velocity = rolling_velocity(x.v, x.steer, p.l_f, p.l_r, compat=compat)
    return dynamic.State(x=x.x, y=x.y, yaw=x.yaw, steer=x.steer, **velocity._asdict())


def kinematic_state(x: Any, kinematic: Any) -> Any:
    """The state of a kinematic bicycle (a Vehicle) nearest to a dynamic one in state `x`.

    Lateral velocity and yaw rate of a kinematic bicycle follow from its steering, so they are lost.
    """
    return kinematic.State(x=x.x, y=x.y, v=signed_speed(x.v_x, x.v_y), yaw=x.yaw, steer=x.steer)


def speed_at_centre(v_rear: m_s, steer: rad, l_f: m, l_r: m) -> m_s:
    """Speed of the centre of mass of a car without tyre slip, from that of its rear axle."""
    return v_rear * speed_ratio(curvature_of(steer, l_f + l_r), l_r, 0.0)


def speed_at_rear(v: m_s, steer: rad, l_f: m, l_r: m) -> m_s:
    """Speed of the rear axle of a car without tyre slip, from that of its centre of mass."""
    return v / speed_ratio(curvature_of(steer, l_f + l_r), l_r, 0.0)


def wrapped(angle: rad) -> rad:
    """The same direction in [-π, π)."""
    return unwrapped(0.0 * angle, angle)


def unwrapped(previous: rad, following: rad) -> rad:
    """The direction `following` by the angle nearest to `previous`: in [-π, π) of it."""
    nearest = following - tau * floor((following - previous + pi) / tau)
    # Rounding may leave the angle a hair outside.
    return where(nearest - previous >= pi, nearest - tau, nearest)


def upstream(compat: str | None) -> bool:
    """Whether upstream's behaviour is asked for."""
    if compat not in (None, "upstream"):
        raise InvalidValue(f'compat = {compat!r} is unknown; allowed are None and "upstream"')
    return compat == "upstream"


NEAREST_TO_CENTRE: one = 0.1
"""Share of a bend's radius that `advance` keeps from its centre, where any foot is as good."""


class Motion(NamedTuple):
    """Position and velocity of the point of a vehicle that is to stay on the line."""

    x: m
    """Position in the world frame."""
    y: m
    """Position in the world frame."""
    yaw: rad
    """Heading of the vehicle from the world x axis, positive to the left."""
    v_x: m_s
    """Velocity along the vehicle, forward positive."""
    v_y: m_s
    """Velocity across the vehicle, positive to the left."""


class Deviation(NamedTuple):
    """A vehicle seen from a point of a line."""

    ahead: m
    """Distance along the tangent, positive beyond the point."""
    left: m
    """Distance across the tangent, positive to the left of the line."""
    v_left: m_s
    """Velocity across the tangent, positive to the left."""


def deviation(motion: Motion, point: LinePoint) -> Deviation:
    """The motion in the frame of a point of the line, whose x axis is the tangent."""
    ahead, left = to_body(point[:3], motion.x, motion.y)
    _, v_left = rotated(motion.v_x, motion.v_y, motion.yaw - point.heading)
    return Deviation(ahead, left, v_left)


def advance(seen: Deviation, curvature: per_m) -> m:
    """Distance along the line from the point to the foot of the perpendicular from the vehicle.

    One Newton step: exact on a straight, and called once per control step it stays on the foot, as
    its error falls with the square of the distance driven since the last call. A vehicle near the
    centre of a bend, or beyond it, advances slowly but finitely.
    """
    return seen.ahead / maximum(1.0 - curvature * seen.left, NEAREST_TO_CENTRE)


STEER_MAX: rad = 0.6
"""Largest steering angle asked for of a vehicle that has no limit of its own."""


class Geometry(NamedTuple):
    """Where the axles are, and how far the wheels are turned."""

    l_f: m
    """Distance from the point whose position is known forward to the front axle."""
    l_r: m
    """Distance from that point back to the rear axle; 0 if it is the rear axle."""
    steer_max: Annotated[rad, positive] = STEER_MAX
    """Largest steering angle asked for, either side."""


@dataclass(frozen=True)
class Car:
    """How a controller reads and commands a vehicle; the functions are pure.

    Each gets the geometry, which is a parameter of the policy: what the controller believes.
    """

    geometry: Any
    """A record with the fields of `Geometry`, and what else the functions need."""
    motion: Callable[[Any, Any], Motion]
    """Position and velocity of the point that is known."""
    omega: Callable[[Any, Any], rad_s]
    """Yaw rate, positive to the left."""
    speed: Callable[[Any], m_s]
    """The speed that is compared with a reference's, negative in reverse."""
    command: Callable[[Any, Demand, Any], Any]
    """The vehicle's input, from its state and what is asked for."""


def rear_axle(motion: Motion, g: Any) -> tuple[m, m]:
    """Position of the middle of the rear axle in the world frame."""
    return motion.x - g.l_r * cos(motion.yaw), motion.y - g.l_r * sin(motion.yaw)


def front_axle(motion: Motion, g: Any) -> tuple[m, m]:
    """Position of the middle of the front axle in the world frame."""
    return motion.x + g.l_f * cos(motion.yaw), motion.y + g.l_f * sin(motion.yaw)


def after(motion: Motion, t: s) -> Motion:
    """The motion a time later if it goes straight on as it moves now."""
    c, sine = cos(motion.yaw), sin(motion.yaw)
    return motion._replace(
        x=motion.x + t * (motion.v_x * c - motion.v_y * sine),
        y=motion.y + t * (motion.v_x * sine + motion.v_y * c),
    )


def car_of(vehicle: Any, **geometry: float) -> Car:
    """How to read and command a vehicle with a body.

    Its geometry also holds the vehicle's parameters, as `vehicle`. Keywords replace numbers in it.
    """
    body = body_of(vehicle, "a controller")
    at_rest = record.build(vehicle.Input)

    def motion(x: Any, g: Any) -> Motion:
        velocity = body.velocity(x, at_rest, g.vehicle)
        return Motion(*body.pose(x, g.vehicle), velocity.v_x, velocity.v_y)

    def omega(x: Any, g: Any) -> rad_s:
        return body.velocity(x, at_rest, g.vehicle).omega

    def speed(x: Any) -> m_s:
        return body.speed_of(x, at_rest, vehicle.params)

    def command(x: Any, demand: Demand, g: Any) -> Any:
        return body.command(x, demand, g.vehicle)

    return Car(_geometry(vehicle, geometry), motion, omega, speed, command)


def push(car: Car, State: type) -> tuple[float, ...]:
    """How far each input is moved by asking a car at rest for an acceleration of 1 m/s²."""
    at_rest = record.build(State)
    more, none = (car.command(at_rest, Demand(a=a), car.geometry) for a in (1.0, 0.0))
    return tuple(b - a for a, b in zip(record.flatten(none), record.flatten(more), strict=True))


def _geometry(vehicle: Any, changes: dict[str, float]) -> Any:
    shape, most = vehicle.geometry, vehicle.limits.steer_max
    # One that turns on the spot has no angle, but a law may still think in one.
    steer_max = most if 0.0 < most < inf else STEER_MAX
    axles = Geometry(shape.rear_axle + shape.wheel_base, -shape.rear_axle, steer_max)
    kind = _with_params(type(vehicle.params))
    return record.build(kind, kind(*axles, vehicle.params), **changes)


@made_once
def _with_params(Params: type) -> Any:
    """The class of a `Geometry` with parameters of this class beside it."""
    hints = {**get_type_hints(Geometry, include_extras=True), "vehicle": Params}
    docs = {leaf.name: leaf.doc for leaf in record.fields(Geometry)}
    return record.define("Geometry", hints, docs=docs, doc=Geometry.__doc__ or "")
