"""Bodies of CommonRoad's cars: what they share, and how each kind of state moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...core.body import (
    Acceleration,
    Body,
    Demand,
    Geometry,
    GroundUnder,
    Limits,
    Outline,
    Pose,
    Trailer,
    Velocity,
    Wheel,
    box,
    car_geometry,
)
from ...geometry.pose import unrotated
from ...ops import atan2, cos, sin, sqrt, where
from ...tyres.low_speed import dynamic_share, mixed
from ...units import kg, m, m_s, m_s2, rad_s, s
from ..parts.actuators import limited, rate_limited_lag
from ..parts.car_bodies import rolling_car, sliding_car, sliding_placed
from ..parts.drive_command import demanded_acceleration
from ..parts.kinematics import (
    centre_track_rolling,
    drift,
    path_acceleration,
    rolling_rate,
    yaw_rate,
)
from .records import BicycleInput, CarInput

STEER_TIME: s = 0.1
"""Time constant with which a steering rate brings the wheels to the angle demanded."""
HEIGHT: m = 1.45
"""Height of a passenger car."""

TRAILER_TAIL = 0.3
"""Share of a trailer behind its axle."""
TRUCK_WHEEL: m = 0.5
TRUCK_TYRE: m = 0.3
"""Radius and width of a wheel."""
TRUCK_HEIGHT: m = 3.9


def command(Input: Any, a_max: Callable[[Any], m_s2]) -> Callable[[Any, Demand, Any], Any]:
    """The steering rate and acceleration of an input record."""

    def by_rate(x: Any, demand: Demand, p: Any) -> Any:
        """Turns the wheels to the angle demanded, and drives as demanded; slowed, it stops."""
        rate = rate_limited_lag(x.steer, demand.steer, STEER_TIME, p.steer_max, p.steer_rate_max)
        along = x.v if "v" in type(x)._fields else x.v_x
        return Input(steer_rate=rate, a=limited(demanded_acceleration(demand, along), a_max(p)))

    return by_rate


car_command = command(CarInput, lambda p: p.a_max)
bicycle_command = command(BicycleInput, lambda p: p.a_long_max)


def sized(p: Any, *, rear: bool = False, mass: kg | None = None, **others: Any) -> Geometry:
    """Outline and wheels about the axles; `rear`: seen from the rear axle."""
    shift: m = p.l_r if rear else 0.0
    front_axle, rear_axle = p.l_f + shift, shift - p.l_r
    middle = 0.5 * (front_axle + rear_axle)
    return car_geometry(
        front_axle=front_axle,
        rear_axle=rear_axle,
        front=middle + 0.5 * p.length,
        rear=middle - 0.5 * p.length,
        width=p.width,
        height=HEIGHT,
        mass=mass,
        centre_of_mass=(shift, 0.0),
        **others,
    )


def limits(p: Any) -> Limits:
    """Limits of the cars KS to MB, whose models keep to them."""
    return Limits(
        steer_max=p.steer_max,
        steer_rate_max=p.steer_rate_max,
        v_max=p.v_max,
        v_min=p.v_min,
        a_max=p.a_max,
        a_min=-p.a_max,
        inputs=_ranges(p.steer_rate_max, p.a_max),
    )


def spinning_limits(p: Any) -> Limits:
    """Limits of STD and MB; a car that has spun round slides backwards as fast as it came."""
    return replace(limits(p), not_kept=("v",))


def bicycle_limits(p: Any) -> Limits:
    """Limits of the bicycles, which leave it to the controller to keep to them."""
    return Limits(
        not_kept=("steer",),
        steer_max=p.steer_max,
        steer_rate_max=p.steer_rate_max,
        a_max=p.a_long_max,
        a_min=-p.a_long_max,
        grip=p.a_lat_max,
        inputs=_ranges(p.steer_rate_max, p.a_long_max),
    )


def _ranges(steer_rate: rad_s, a: float) -> dict[str, tuple[float, float]]:
    return {"steer_rate": (-steer_rate, steer_rate), "a": (-a, a)}


def speed(x: Any, p: Any) -> m_s:
    """`Body.speed` of a state with the length of the velocity, negative in reverse."""
    return x.v


def rolling_velocity(x: Any, u: Any, p: Any) -> Velocity:
    """Velocity of the kinematic bicycle: its centre of mass drifts as the steering prescribes."""
    beta, omega = centre_track_rolling(x.v, x.steer, p.l_f, p.l_r)
    return Velocity(x.v * cos(beta), x.v * sin(beta), omega)


def rolling_acceleration(x: Any, rate: Any, p: Any) -> Acceleration:
    """Acceleration of the kinematic bicycle."""
    beta, omega = centre_track_rolling(x.v, x.steer, p.l_f, p.l_r)
    beta_rate, omega_rate = rolling_rate(x.v, rate.v, x.steer, rate.steer, p.l_f, p.l_r)
    a = path_acceleration(x.v, beta, rate.v, omega + beta_rate)
    return Acceleration(a.x, a.y, omega_rate)


def rolling_placed(x: Any, pose: Pose, velocity: Velocity, p: Any) -> Any:
    """The kinematic bicycle elsewhere: of a velocity the part the way it drifts stays."""
    beta = drift(x.steer, p.l_f, p.l_r)
    v, _ = unrotated(velocity.v_x, velocity.v_y, beta)
    return x._replace(**pose._asdict(), v=v)


def slipping_velocity(x: Any, u: Any, p: Any) -> Velocity:
    """Velocity of ST and STD by speed and slip angle; a slow car follows its wheels."""
    share, line = dynamic_share(x.v, p), centre_track_rolling(x.v, x.steer, p.l_f, p.l_r)
    beta = mixed(share, x.beta, line.beta)
    return Velocity(x.v * cos(beta), x.v * sin(beta), mixed(share, x.omega, line.omega))


def slipping_placed(x: Any, pose: Pose, velocity: Velocity, p: Any) -> Any:
    """ST or STD elsewhere, in any motion; a car that moves back has a negative speed."""
    way = where(velocity.v_x < 0.0, -1.0, 1.0)
    along, across = way * velocity.v_x, way * velocity.v_y
    v = way * sqrt(along * along + across * across)
    return x._replace(**pose._asdict(), v=v, beta=atan2(across, along), omega=velocity.omega)


def springs_velocity(x: Any, u: Any, p: Any) -> Velocity:
    """Velocity of MB, as its state has it; a slow car follows its wheels."""
    share, omega = dynamic_share(x.v_x, p), yaw_rate(x.v_x, x.steer, p.l_f + p.l_r)
    return Velocity(x.v_x, mixed(share, x.v_y, p.l_r * omega), mixed(share, x.omega, omega))


def springs_placed(x: Any, pose: Pose, velocity: Velocity, p: Any) -> Any:
    """MB elsewhere, in any motion: its axles move along with the body, its wheels spin on."""
    across, turn = velocity.v_y - x.v_y, velocity.omega - x.omega
    front, rear = x.v_y_f + across + p.l_f * turn, x.v_y_r + across - p.l_r * turn
    return sliding_placed(x, pose, velocity, p)._replace(v_y_f=front, v_y_r=rear)


def on_slope(*fields: str) -> Callable[[Any, Any, Any, GroundUnder, Any], tuple[Any, Any]]:
    """Gravity as disturbances of velocities along the car and, the others, across it.

    A car without a velocity across it is held by its wheels.
    """

    def on_ground(x: Any, u: Any, w: Any, ground: GroundUnder, p: Any) -> tuple[Any, Any]:
        if ground.down is None:
            return u, w
        along, across = ground.g * ground.down.x, ground.g * ground.down.y
        pulls = {name: across if k else along for k, name in enumerate(fields)}
        return u, w._replace(**pulls)

    return on_ground


def slipping_on_ground(x: Any, u: Any, w: Any, ground: GroundUnder, p: Any) -> tuple[Any, Any]:
    """Gravity on ST and STD along their direction of travel; across it their tyres hold them."""
    if ground.down is None:
        return u, w
    along, _ = unrotated(ground.down.x, ground.down.y, x.beta)
    return u, w._replace(v=ground.g * along)


def rolling_on_ground(x: Any, u: Any, w: Any, ground: GroundUnder, p: Any) -> tuple[Any, Any]:
    """Gravity on the kinematic bicycle along the direction in which its centre of mass moves."""
    if ground.down is None:
        return u, w
    beta, _ = centre_track_rolling(x.v, x.steer, p.l_f, p.l_r)
    along, _ = unrotated(ground.down.x, ground.down.y, beta)
    return u, w._replace(v=ground.g * along)


def rear_axle_body(geometry: Callable[[Any], Geometry]) -> Body:
    """The body of KS or KST, whose rear axle rolls."""
    return rolling_car(
        wheel_base=lambda p: p.l_f + p.l_r,
        speed="v",
        geometry=geometry,
        limits=limits,
        command=car_command,
        on_ground=on_slope("v"),
    )


def rolling_body() -> Body:
    """The body of the kinematic bicycle."""
    return sliding_car(
        velocity=rolling_velocity,
        speed=speed,
        acceleration=rolling_acceleration,
        placed=rolling_placed,
        geometry=sized,
        limits=bicycle_limits,
        command=bicycle_command,
        on_ground=rolling_on_ground,
    )


def slipping_body(
    geometry: Callable[[Any], Geometry],
    velocity: Callable[[Any, Any, Any], Velocity] = slipping_velocity,
    limits: Callable[[Any], Limits] = limits,
) -> Body:
    """The body of ST or STD."""
    return sliding_car(
        velocity=velocity,
        speed=speed,
        acceleration=None,
        placed=slipping_placed,
        geometry=geometry,
        limits=limits,
        command=car_command,
        on_ground=slipping_on_ground,
        gravity="g",
    )


def dynamic_bicycle_body() -> Body:
    """The body of the dynamic bicycle."""
    return sliding_car(
        geometry=seen_from_the_mass,
        limits=bicycle_limits,
        command=bicycle_command,
        on_ground=on_slope("v_x", "v_y"),
        gravity="g",
    )


def springs_body(velocity: Callable[[Any, Any, Any], Velocity] = springs_velocity) -> Body:
    """The body of MB."""
    return sliding_car(
        velocity=velocity,
        acceleration=None,
        placed=springs_placed,
        geometry=springs_geometry,
        limits=spinning_limits,
        command=car_command,
        on_ground=on_slope("v_x", "v_y", "v_y_f", "v_y_r"),
        gravity="g",
    )


def springs_geometry(p: Any) -> Geometry:
    """The geometry of MB, which has a track and the forces of each wheel."""
    track = 0.5 * (p.front.track + p.rear.track)
    shape = sized(p, mass=p.m, inertia=p.I_z, wheel_radius=p.R_w, track=track, forces=True)
    return _spinning(shape, lambda wheel: wheel)


def seen_from_the_rear(p: Any) -> Geometry:
    """The geometry of KS."""
    return sized(p, rear=True)


def seen_from_the_mass(p: Any) -> Geometry:
    """The geometry of a car with a mass."""
    return sized(p, mass=p.m, inertia=p.I_z)


def on_spinning_wheels(p: Any) -> Geometry:
    """The geometry of STD, whose wheels of an axle spin together."""
    shape = sized(p, mass=p.m, inertia=p.I_z, wheel_radius=p.R_w)
    return _spinning(shape, lambda wheel: wheel[0])


def _spinning(shape: Geometry, named: Callable[[str], str]) -> Geometry:
    """A shape whose wheels spin at the rates omega_NAME of the state, by their names."""
    wheels = (replace(wheel, spin=f"omega_{named(wheel.name)}") for wheel in shape.wheels)
    return replace(shape, wheels=tuple(wheels))


def with_trailer(p: Any) -> Geometry:
    """The geometry of KST: a tractor and its semi-trailer, whose axle is near its end."""
    tractor = sized(p, rear=True)
    half = 0.5 * p.trailer_width
    ahead = p.trailer_length - TRAILER_TAIL * p.trailer_length
    wheels = tuple(
        Wheel(f"t{side}", 0.0, sign * (half - 0.5 * TRUCK_TYRE), TRUCK_WHEEL, TRUCK_TYRE)
        for side, sign in (("l", 1.0), ("r", -1.0))
    )
    outline: Outline = box(ahead - p.trailer_length, ahead, p.trailer_width)
    trailer = Trailer(0.0, p.l_trailer, "hitch", (outline,), wheels)
    return replace(tractor, trailer=trailer, height=TRUCK_HEIGHT)
