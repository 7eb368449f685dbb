"""Bodies of CommonRoad's cars: what they share, and how each kind of state moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ...body import (
    Acceleration,
    Body,
    Geometry,
    Limits,
    Outline,
    Pose,
    Trailer,
    Velocity,
    Wheel,
    Wish,
    box,
    car_outline,
    estimated_mass,
    four_wheels,
    plate_inertia,
    sliding_acceleration,
)
from ...components.actuator import rate_limited_lag
from ...components.centre_track import drift, following, path_acceleration, rolling, rolling_rate
from ...components.single_track import yaw_rate
from ...ops import atan2, cos, sin, sqrt, where
from ...units import kg, m, m_s, rad_s, s
from .records import BicycleInput, CarInput

STEER_TIME: s = 0.1
"""Time constant with which a steering rate brings the wheels to the angle wished for."""
WHEEL_RADIUS: m = 0.32
WHEEL_WIDTH: m = 0.2
"""Of a passenger car whose parameters have none."""
HEIGHT: m = 1.45
TRACK_SHARE = 0.85
"""Of the width, where the parameters have no track."""

TRAILER_TAIL = 0.3
"""Share of a trailer behind its axle."""
TRUCK_WHEEL: m = 0.5
"""Radius of a wheel."""
TRUCK_HEIGHT: m = 3.9

CENTRE_OF_MASS, REAR_AXLE = "centre of mass", "middle of the rear axle"


def pose(x: Any, p: Any) -> Pose:
    """Pose of the reference point."""
    return Pose(x.x, x.y, x.yaw)


def speed(x: Any, p: Any) -> m_s:
    """Of a state that has the speed over ground."""
    return x.v


def command(Input: Any) -> Callable[[Any, Wish, Any], Any]:
    """The steering rate and acceleration of an input record."""

    def by_rate(x: Any, wish: Wish, p: Any) -> Any:
        rate = rate_limited_lag(x.steer, wish.steer, STEER_TIME, p.steer_max, p.steer_rate_max)
        return Input(steer_rate=rate, a=wish.a)

    return by_rate


def sized(p: Any, *, rear: bool, mass: kg | None = None) -> Geometry:
    """Outline and wheels about the axles; `rear`: seen from the rear axle."""
    shift = p.l_r if rear else 0.0
    front_axle, rear_axle = p.l_f + shift, shift - p.l_r
    track = TRACK_SHARE * p.width
    radius: m = getattr(p, "R_w", WHEEL_RADIUS)
    mass = estimated_mass(p.length, p.width) if mass is None else mass
    middle = 0.5 * (front_axle + rear_axle)
    outline = car_outline(middle - 0.5 * p.length, middle + 0.5 * p.length, p.width)
    return Geometry(
        front_axle=front_axle,
        rear_axle=rear_axle,
        wheels=four_wheels(front_axle, rear_axle, track, radius, WHEEL_WIDTH),
        outlines=(outline,),
        height=HEIGHT,
        mass=mass,
        inertia=getattr(p, "I_z", plate_inertia(mass, p.length, p.width)),
        centre_of_mass=(shift, 0.0),
    )


def limits(p: Any) -> Limits:
    """Of the cars KS to MB, whose models keep to them."""
    return Limits(
        steer_max=p.steer_max,
        steer_rate_max=p.steer_rate_max,
        v_max=p.v_max,
        v_min=p.v_min,
        a_max=p.a_max,
        a_min=-p.a_max,
        inputs=_ranges(p.steer_rate_max, p.a_max),
    )


def bicycle_limits(p: Any) -> Limits:
    """Of the bicycles, which leave it to the controller to keep to them."""
    return Limits(
        steer_max=p.steer_max,
        steer_rate_max=p.steer_rate_max,
        a_max=p.a_long_max,
        a_min=-p.a_long_max,
        grip=p.a_lat_max,
        inputs=_ranges(p.steer_rate_max, p.a_long_max),
    )


def _ranges(steer_rate: rad_s, a: float) -> dict[str, tuple[float, float]]:
    return {"steer_rate": (-steer_rate, steer_rate), "a": (-a, a)}


def rear_axle_velocity(x: Any, u: Any, p: Any) -> Velocity:
    """Of KS and KST: the rear axle rolls straight ahead."""
    return Velocity(x.v, 0.0 * x.v, yaw_rate(x.v, x.steer, p.l_f + p.l_r))


def rear_axle_acceleration(x: Any, rate: Any, p: Any) -> Acceleration:
    """Of KS and KST."""
    omega, omega_rate = following(x.v, rate.v, x.steer, rate.steer, p.l_f + p.l_r)
    return Acceleration(rate.v, x.v * omega, omega_rate)


def rear_axle_placed(x: Any, pose: Pose, velocity: Velocity, p: Any) -> Any:
    """KS or KST elsewhere; sideways and in turning it moves as its wheels roll."""
    return x._replace(**pose._asdict(), v=velocity.v_x)


def rolling_velocity(x: Any, u: Any, p: Any) -> Velocity:
    """Of the kinematic bicycle: its centre of mass drifts as the steering prescribes."""
    beta, omega = rolling(x.v, x.steer, p.l_f, p.l_r)
    return Velocity(x.v * cos(beta), x.v * sin(beta), omega)


def rolling_acceleration(x: Any, rate: Any, p: Any) -> Acceleration:
    """Of the kinematic bicycle."""
    beta, omega = rolling(x.v, x.steer, p.l_f, p.l_r)
    beta_rate, omega_rate = rolling_rate(x.v, rate.v, x.steer, rate.steer, p.l_f, p.l_r)
    a = path_acceleration(x.v, beta, rate.v, omega + beta_rate)
    return Acceleration(a.x, a.y, omega_rate)


def rolling_placed(x: Any, pose: Pose, velocity: Velocity, p: Any) -> Any:
    """The kinematic bicycle elsewhere: of a velocity the part the way it drifts stays."""
    beta = drift(x.steer, p.l_f, p.l_r)
    v = velocity.v_x * cos(beta) + velocity.v_y * sin(beta)
    return x._replace(**pose._asdict(), v=v)


def slipping_velocity(x: Any, u: Any, p: Any) -> Velocity:
    """Of ST and STD: speed and slip angle at the centre of mass."""
    return Velocity(x.v * cos(x.beta), x.v * sin(x.beta), x.omega)


def slipping_acceleration(x: Any, rate: Any, p: Any) -> Acceleration:
    """Of ST and STD."""
    a = path_acceleration(x.v, x.beta, rate.v, x.omega + rate.beta)
    return Acceleration(a.x, a.y, rate.omega)


def slipping_placed(x: Any, pose: Pose, velocity: Velocity, p: Any) -> Any:
    """ST or STD elsewhere, in any motion; a car that moves back has a negative speed."""
    way = where(velocity.v_x < 0.0, -1.0, 1.0)
    along, across = way * velocity.v_x, way * velocity.v_y
    v = way * sqrt(along * along + across * across)
    return x._replace(**pose._asdict(), v=v, beta=atan2(across, along), omega=velocity.omega)


def sliding_velocity(x: Any, u: Any, p: Any) -> Velocity:
    """Of MB and the dynamic bicycle, which have it in their state."""
    return Velocity(x.v_x, x.v_y, x.omega)


def sliding_placed(x: Any, pose: Pose, velocity: Velocity, p: Any) -> Any:
    """MB or the dynamic bicycle elsewhere, in any motion."""
    return x._replace(**pose._asdict(), **velocity._asdict())


def rear_axle_body(Input: Any, geometry: Callable[[Any], Geometry]) -> Body:
    """The body of a car whose rear axle rolls."""
    return Body(
        reference=REAR_AXLE,
        pose=pose,
        velocity=rear_axle_velocity,
        acceleration=rear_axle_acceleration,
        placed=rear_axle_placed,
        geometry=geometry,
        limits=limits,
        command=command(Input),
    )


def rolling_body() -> Body:
    """The body of the kinematic bicycle."""
    return Body(
        reference=CENTRE_OF_MASS,
        pose=pose,
        velocity=rolling_velocity,
        speed=speed,
        acceleration=rolling_acceleration,
        placed=rolling_placed,
        geometry=without_mass,
        limits=bicycle_limits,
        command=command(BicycleInput),
    )


def slipping_body() -> Body:
    """The body of ST and STD."""
    return Body(
        reference=CENTRE_OF_MASS,
        pose=pose,
        velocity=slipping_velocity,
        speed=speed,
        acceleration=slipping_acceleration,
        placed=slipping_placed,
        geometry=seen_from_the_mass,
        limits=limits,
        command=command(CarInput),
    )


def sliding_body(
    Input: Any, geometry: Callable[[Any], Geometry], limits: Callable[[Any], Limits]
) -> Body:
    """The body of a car whose state has the velocity of its centre of mass."""
    return Body(
        reference=CENTRE_OF_MASS,
        pose=pose,
        velocity=sliding_velocity,
        acceleration=sliding_acceleration,
        placed=sliding_placed,
        geometry=geometry,
        limits=limits,
        command=command(Input),
    )


def without_mass(p: Any) -> Geometry:
    """The geometry of the kinematic bicycle, whose mass is an estimate."""
    return sized(p, rear=False)


def springs_geometry(p: Any) -> Geometry:
    """The geometry of MB, which has a track and the forces of each wheel."""
    shape = sized(p, rear=False, mass=p.m)
    track = 0.5 * (p.front.track + p.rear.track)
    wheels = four_wheels(shape.front_axle, shape.rear_axle, track, p.R_w, WHEEL_WIDTH, forces=True)
    spinning = (replace(wheel, spin=f"omega_{wheel.name}") for wheel in wheels)
    return replace(shape, wheels=tuple(spinning))


def on_spinning_wheels(p: Any) -> Geometry:
    """The geometry of STD, whose wheels of an axle spin together."""
    shape = sized(p, rear=False, mass=p.m)
    spinning = (replace(wheel, spin=f"omega_{wheel.name[0]}") for wheel in shape.wheels)
    return replace(shape, wheels=tuple(spinning))


def seen_from_the_rear(p: Any) -> Geometry:
    """The geometry of KS."""
    return sized(p, rear=True)


def seen_from_the_mass(p: Any) -> Geometry:
    """The geometry of a car described from its centre of mass, with a mass."""
    return sized(p, rear=False, mass=p.m)


def with_trailer(p: Any) -> Geometry:
    """The geometry of KST: a tractor and its semi-trailer, whose axle is near its end."""
    tractor = sized(p, rear=True)
    half = 0.5 * p.trailer_width
    ahead = p.trailer_length - TRAILER_TAIL * p.trailer_length
    wheels = tuple(
        Wheel(f"t{side}", 0.0, sign * (half - 0.5 * WHEEL_WIDTH), TRUCK_WHEEL, WHEEL_WIDTH)
        for side, sign in (("l", 1.0), ("r", -1.0))
    )
    outline: Outline = box(ahead - p.trailer_length, ahead, p.trailer_width)
    trailer = Trailer(0.0, p.l_trailer, "hitch", (outline,), wheels)
    return replace(tractor, trailer=trailer, height=TRUCK_HEIGHT)
