"""The body of `ackermann_truck`."""

from __future__ import annotations

from ..body import (
    Body,
    Geometry,
    Limits,
    Pose,
    Velocity,
    Wheel,
    Wish,
    car_outline,
    estimated_mass,
    plate_inertia,
)
from ..components.ackermann import Twist, curvature_of, twist_at
from ..components.actuator import limited
from ..components.single_track import yaw_rate
from .ackermann_truck_records import Input, Params, State, curvature_limit, steer_limit


def pose(x: State, p: Params) -> Pose:
    """Pose of the middle of the rear axle."""
    return Pose(x.x, x.y, x.yaw)


def velocity(x: State, u: Input, p: Params) -> Velocity:
    """Velocity of the middle of the rear axle, which does not slip sideways."""
    return Velocity(x.v_x, 0.0 * x.v_x, yaw_rate(x.v_x, x.steer, p.wheel_base))


def placed(x: State, pose: Pose, velocity: Velocity, p: Params) -> State:
    """The truck elsewhere, rolling; sideways and in turning it moves as its wheels roll."""
    return x._replace(**pose._asdict(), v_x=velocity.v_x)


def geometry(p: Params) -> Geometry:
    """Body and wheels as the parameters say; the mass is an estimate from the size."""
    behind = p.base_to_tail - p.base_to_rear
    front, half = p.length - behind, 0.5 * p.track
    places = {
        "fl": (p.wheel_base, half, "steer_fl"),
        "fr": (p.wheel_base, -half, "steer_fr"),
        "rl": (0.0, half, ""),
        "rr": (0.0, -half, ""),
    }
    wheels = (
        Wheel(name, x, y, p.wheel_radius, p.wheel_width, steer=steer)
        for name, (x, y, steer) in places.items()
    )
    mass = estimated_mass(p.length, p.width)
    return Geometry(
        front_axle=p.wheel_base,
        rear_axle=0.0,
        wheels=tuple(wheels),
        outlines=(car_outline(-behind, front, p.width),),
        height=0.6 * p.width,
        mass=mass,
        inertia=plate_inertia(mass, p.length, p.width),
        centre_of_mass=(0.5 * (front - behind), 0.0),
    )


def limits(p: Params) -> Limits:
    """Those of the parameters."""
    bend = float(curvature_limit(p))
    return Limits(
        steer_max=float(steer_limit(p)),
        steer_rate_max=p.steer_rate_max,
        v_max=p.v_max,
        v_min=p.v_min,
        a_max=p.a_max,
        a_min=-p.d_max,
        inputs={"velocity": (p.v_min, p.v_max), "curvature": (-bend, bend)},
    )


def command(x: State, wish: Wish, p: Params) -> Input:
    """Speed and curvature of the base point, from those wished for of the rear axle."""
    steer = limited(wish.steer, steer_limit(p))
    base = twist_at(Twist(curvature_of(steer, p.wheel_base), wish.v), p.base_to_rear, 0.0)
    return Input(velocity=base.velocity, curvature=base.curvature)


TRUCK = Body(
    reference="middle of the rear axle",
    pose=pose,
    velocity=velocity,
    placed=placed,
    geometry=geometry,
    limits=limits,
    command=command,
)
