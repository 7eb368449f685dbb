"""A vehicle as controllers see it: its axles, its motion, its limits, and how it is commanded.

The steering laws read a `Motion` and return a `Demand`; a `Car` has the functions for both.
`car_of` makes one from the vehicle's body. For a vehicle without a body pass a `Car` of your own.
`abilities_of` returns the largest demands of a driver with keys, from a vehicle's limits and
geometry. `deviation` is the position of a vehicle relative to a line on the ground.

Conversions between a car's descriptions (speed and steering, body velocities, rear axle, continuous
angles): the centre of mass of a car without tyre slip moves at the angle β = atan(l_r / l
tan(steer)) to its heading, forwards and in reverse. commonroad-control changes the sign of β in
reverse, although its kinematic model does not; `compat="upstream"` reproduces that.
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
"""Default grip, for a vehicle whose model has no limit."""
_DRIVE_SHARE, _BRAKE_SHARE, _TURN_SHARE = 0.55, 0.75, 0.85
"""Shares of the grip used for driving, braking and turning.

The remaining grip is available for turning while driving or braking. With a higher turning
share a driver with keys loses control of the formula_student car when the turn reverses.
"""
_COAST_SHARE: one = 0.1
"""Coasting deceleration as a share of full braking."""
_SLOW: m_s = 5.0
_TIME_TO_SPEED, _TIME_TO_STOP = 1.5, 0.7
"""Time in s that a slow vehicle takes to its top speed, and time to stop from it."""
_SPEED_PER_SIZE = 5.0
"""Comfortable speed per wheelbase, in m/s per m."""
_FASTEST, _FASTEST_BY_SIZE = 60.0, 20.0
_FASTEST_BACK: m_s = 6.0
_STEER: rad = 0.5
"""Default steering limit, for a vehicle whose model has none."""


class Abilities(NamedTuple):
    """Largest speeds, accelerations and steering demands of a vehicle driven with keys."""

    v_max: m_s
    v_back: m_s
    """Largest speed in reverse."""
    a_drive: m_s2
    a_brake: m_s2
    a_back: m_s2
    """Acceleration in reverse."""
    a_coast: m_s2
    """Deceleration when no key is held, in addition to the deceleration by the model's own
    resistance."""
    a_turn: m_s2
    """Lateral acceleration, near the limit of the tyres."""
    wheel_base: m
    steer_max: rad
    """Largest steering angle; 0 for a vehicle that turns on the spot instead of steering."""
    omega_max: rad_s
    """Largest yaw rate of a vehicle that turns on the spot."""
    handbrake: one
    """Handbrake command from which the tyres start to slide; 0 without a handbrake."""


def abilities_of(vehicle: Vehicle) -> Abilities:
    """Abilities of a vehicle, from its current parameters; later changes are ignored."""
    body_of(vehicle, "a driver")
    limits, base = vehicle.limits, max(vehicle.geometry.wheel_base, 0.1)
    grip = limits.grip if limits.grip < inf else _GRIP
    by_size = min(max(_SPEED_PER_SIZE * base, 1.0), _FASTEST_BY_SIZE)
    # A vehicle with an acceleration limit is driven up to its limits; for others the limits are
    # guessed from their size.
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
    """Velocity of the centre of mass in the car's frame."""

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
    # The rear axle does not move sideways, so the car turns about a point on the line of that axle.
    return BodyVelocity(v * cos(beta), across, across / l_r)


def signed_speed(v_x: m_s, v_y: m_s) -> m_s:
    """Speed over ground in m/s, negative when rolling backwards, 0 when sliding sideways."""
    return sign(v_x) * sqrt(v_x * v_x + v_y * v_y)


def slip_of_velocity(v_x: m_s, v_y: m_s) -> rad:
    """Sideslip angle from the heading to the velocity, in [-π, π] rad; its gradient is NaN at
    standstill.
    """
    return atan2(v_y, v_x)


def dynamic_state(x: Any, dynamic: Any, *, compat: str | None = None) -> Any:
    """State of a dynamic bicycle (a Vehicle) that moves like a kinematic one in state `x`."""
    p = dynamic.params
    velocity = rolling_velocity(x.v, x.steer, p.l_f, p.l_r, compat=compat)
    return dynamic.State(x=x.x, y=x.y, yaw=x.yaw, steer=x.steer, **velocity._asdict())


def kinematic_state(x: Any, kinematic: Any) -> Any:
    """State of a kinematic bicycle (a Vehicle) closest to a dynamic one in state `x`.

    Lateral velocity and yaw rate are lost: in a kinematic bicycle they follow from the steering
    angle.
    """
    return kinematic.State(x=x.x, y=x.y, v=signed_speed(x.v_x, x.v_y), yaw=x.yaw, steer=x.steer)


def speed_at_centre(v_rear: m_s, steer: rad, l_f: m, l_r: m) -> m_s:
    """Speed of the centre of mass of a car without tyre slip, from the speed of its rear axle."""
    return v_rear * speed_ratio(curvature_of(steer, l_f + l_r), l_r, 0.0)


def speed_at_rear(v: m_s, steer: rad, l_f: m, l_r: m) -> m_s:
    """Speed of the rear axle of a car without tyre slip, from the speed of its centre of mass."""
    return v / speed_ratio(curvature_of(steer, l_f + l_r), l_r, 0.0)


def wrapped(angle: rad) -> rad:
    """Angle wrapped to [-π, π)."""
    return unwrapped(0.0 * angle, angle)


def unwrapped(previous: rad, following: rad) -> rad:
    """Angle equivalent to `following` and nearest to `previous`: within [-π, π) of it."""
    nearest = following - tau * floor((following - previous + pi) / tau)
    # Rounding may leave the angle slightly outside [-π, π).
    return where(nearest - previous >= pi, nearest - tau, nearest)


def upstream(compat: str | None) -> bool:
    """Whether `compat` selects upstream's behaviour; raises for unknown values."""
    if compat not in (None, "upstream"):
        raise InvalidValue(f'compat = {compat!r} is unknown; allowed are None and "upstream"')
    return compat == "upstream"


NEAREST_TO_CENTRE: one = 0.1
"""Smallest distance from a bend's centre in `advance`, over its radius.

At the centre every point of the bend is equally near.
"""


class Motion(NamedTuple):
    """Position and velocity of the point of the vehicle that follows the line."""

    x: m
    """x of the point in the world frame."""
    y: m
    """y of the point in the world frame."""
    yaw: rad
    """Heading of the vehicle from the world x axis, positive to the left."""
    v_x: m_s
    """Velocity along the vehicle, forward positive."""
    v_y: m_s
    """Velocity across the vehicle, positive to the left."""


class Deviation(NamedTuple):
    """Position and lateral velocity of a vehicle relative to a point of a line."""

    ahead: m
    """Distance along the tangent, positive beyond the point."""
    left: m
    """Distance across the tangent, positive to the left of the line."""
    v_left: m_s
    """Velocity across the tangent, positive to the left."""


def deviation(motion: Motion, point: LinePoint) -> Deviation:
    """Motion in the frame of a point of the line, whose x axis is the tangent."""
    ahead, left = to_body(point[:3], motion.x, motion.y)
    _, v_left = rotated(motion.v_x, motion.v_y, motion.yaw - point.heading)
    return Deviation(ahead, left, v_left)


def advance(seen: Deviation, curvature: per_m) -> m:
    """Distance along the line from the point to the foot of the perpendicular from the vehicle.

    One Newton step: exact on a straight; called once per control step it stays at the foot, as its
    error falls with the square of the distance driven since the last call. For a vehicle near the
    centre of a bend, or beyond it, the distance stays finite.
    """
    return seen.ahead / maximum(1.0 - curvature * seen.left, NEAREST_TO_CENTRE)


STEER_MAX: rad = 0.6
"""Default limit of the demanded steering angle, for a vehicle without a limit."""


class Geometry(NamedTuple):
    """Positions of the axles, and the steering limit."""

    l_f: m
    """Distance from the reference point forward to the front axle."""
    l_r: m
    """Distance from the reference point back to the rear axle; 0 if the reference point is on the
    rear axle."""
    steer_max: Annotated[rad, positive] = STEER_MAX
    """Largest demanded steering angle, in either direction."""


@dataclass(frozen=True)
class Car:
    """Pure functions with which a controller reads and commands a vehicle.

    Each takes the geometry, which is a parameter of the policy, so it may differ from the
    vehicle's.
    """

    geometry: Any
    """Record with the fields of `Geometry` and whatever else the functions need."""
    motion: Callable[[Any, Any], Motion]
    """Position and velocity of the reference point."""
    omega: Callable[[Any, Any], rad_s]
    """Yaw rate, positive to the left."""
    speed: Callable[[Any], m_s]
    """Speed that is compared with the reference speed, negative in reverse."""
    command: Callable[[Any, Demand, Any], Any]
    """Input of the vehicle, from its state and a demand."""


def rear_axle(motion: Motion, g: Any) -> tuple[m, m]:
    """Position of the middle of the rear axle in the world frame."""
    return motion.x - g.l_r * cos(motion.yaw), motion.y - g.l_r * sin(motion.yaw)


def front_axle(motion: Motion, g: Any) -> tuple[m, m]:
    """Position of the middle of the front axle in the world frame."""
    return motion.x + g.l_f * cos(motion.yaw), motion.y + g.l_f * sin(motion.yaw)


def after(motion: Motion, t: s) -> Motion:
    """Motion after a time t, extrapolated in a straight line at the current velocity."""
    c, sine = cos(motion.yaw), sin(motion.yaw)
    return motion._replace(
        x=motion.x + t * (motion.v_x * c - motion.v_y * sine),
        y=motion.y + t * (motion.v_x * sine + motion.v_y * c),
    )


def car_of(vehicle: Any, **geometry: float) -> Car:
    """Make the `Car` of a vehicle with a body: functions to read and command it.

    The geometry also holds the vehicle's parameters, as `vehicle`. Keywords replace fields of the
    geometry.
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
    """Change of each input when 1 m/s² is demanded of a car at rest."""
    at_rest = record.build(State)
    more, none = (car.command(at_rest, Demand(a=a), car.geometry) for a in (1.0, 0.0))
    return tuple(b - a for a, b in zip(record.flatten(none), record.flatten(more), strict=True))


def _geometry(vehicle: Any, changes: dict[str, float]) -> Any:
    shape, most = vehicle.geometry, vehicle.limits.steer_max
    # A vehicle that turns on the spot has no steering angle, but a control law may still compute
    # one.
    steer_max = most if 0.0 < most < inf else STEER_MAX
    axles = Geometry(shape.rear_axle + shape.wheel_base, -shape.rear_axle, steer_max)
    kind = _with_params(type(vehicle.params))
    return record.build(kind, kind(*axles, vehicle.params), **changes)


@made_once
def _with_params(Params: type) -> Any:
    """Class of a `Geometry` with an additional field for parameters of this class."""
    hints = {**get_type_hints(Geometry, include_extras=True), "vehicle": Params}
    docs = {leaf.name: leaf.doc for leaf in record.fields(Geometry)}
    return record.define("Geometry", hints, docs=docs, doc=Geometry.__doc__ or "")
