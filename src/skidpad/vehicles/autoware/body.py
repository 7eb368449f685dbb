"""Bodies of the command-driven models: a car seen from the middle of its rear axle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from ...body import (
    Body,
    Geometry,
    Limits,
    Pose,
    Velocity,
    Wish,
    car_outline,
    estimated_mass,
    four_wheels,
    plate_inertia,
)
from ...components.actuator import limited
from ...components.gear import Gear
from ...components.single_track import yaw_rate
from ...ops import logical_and, logical_or, where
from ...units import m, m_s, one, rad_s
from .records import AccelerationInput, GearedInput, PedalInput, VelocityInput

FRONT_OVERHANG, REAR_OVERHANG, WIDTH = 0.37, 0.37, 0.66
"""Shares of the wheelbase, which is all that a model has: 4.86 m by 1.84 m at 2.79 m."""
TRACK = 0.58
WHEEL_RADIUS, WHEEL_WIDTH = 0.13, 0.08
HEIGHT: m = 1.7
LimitsOf = Callable[[Any], Limits]
STILL: m_s = 0.02
"""Speed below which the gear may change."""


def pose(x: Any, p: Any) -> Pose:
    """Pose of the middle of the rear axle."""
    return Pose(x.x, x.y, x.yaw)


def velocity(x: Any, u: Any, p: Any) -> Velocity:
    """Velocity of the rear axle as the state has it."""
    return Velocity(x.v_x, 0.0 * x.v_x, yaw_rate(x.v_x, x.steer, p.wheel_base))


def placed(x: Any, pose: Pose, velocity: Velocity, p: Any) -> Any:
    """The car elsewhere; sideways and in turning it moves as its wheels roll."""
    return x._replace(**pose._asdict(), v_x=velocity.v_x)


def geometry(p: Any) -> Geometry:
    """A car in proportion to its wheelbase; the mass is an estimate from the size."""
    base = p.wheel_base
    rear, front, width = -REAR_OVERHANG * base, (1.0 + FRONT_OVERHANG) * base, WIDTH * base
    length = front - rear
    mass = estimated_mass(length, width)
    radius = WHEEL_RADIUS * base
    return Geometry(
        front_axle=base,
        rear_axle=0.0,
        wheels=four_wheels(base, 0.0, TRACK * base, radius, WHEEL_WIDTH * base),
        outlines=(car_outline(rear, front, width),),
        height=HEIGHT,
        mass=mass,
        inertia=plate_inertia(mass, length, width),
        centre_of_mass=(0.5 * base, 0.0),
    )


def unlimited(p: Any) -> Limits:
    """Of the ideal models."""
    return Limits()


def limits(p: Any, steer_rate: rad_s | None = None) -> Limits:
    """Of the models that lag behind their commands; `steer_rate`: of a steering of another kind."""
    return Limits(
        steer_max=p.steer_lim,
        steer_rate_max=p.steer_rate_lim if steer_rate is None else steer_rate,
        v_max=p.vel_lim,
        v_min=-p.vel_lim,
        a_max=p.vel_rate_lim,
        a_min=-p.vel_rate_lim,
        inputs={
            "steer": (-p.steer_lim, p.steer_lim),
            "velocity": (-p.vel_lim, p.vel_lim),
            "acceleration": (-p.vel_rate_lim, p.vel_rate_lim),
        },
    )


def driven_by_velocity(x: Any, wish: Wish, p: Any) -> VelocityInput:
    """Speed and steering as wished."""
    return VelocityInput(wish.v, wish.steer)


def driven_by_acceleration(x: Any, wish: Wish, p: Any) -> AccelerationInput:
    """Acceleration and steering as wished."""
    return AccelerationInput(wish.a, wish.steer)


def backwards(x: Any, wish: Wish) -> Any:
    """Whether the gear is to be reverse: rolling back, or at rest and wanting to."""
    return logical_or(x.v_x < -STILL, logical_and(x.v_x < STILL, wish.a < 0.0))


def gear(back: Any) -> one:
    """Reverse or drive."""
    return where(back, float(Gear.REVERSE), float(Gear.DRIVE))


def driven_in_gear(x: Any, wish: Wish, p: Any) -> GearedInput:
    """The acceleration is forward in every gear."""
    return GearedInput(wish.a, wish.steer, gear(backwards(x, wish)))


def driven_by_pedal(x: Any, wish: Wish, p: Any) -> PedalInput:
    """The pedal drives in the direction of the gear."""
    back = backwards(x, wish)
    return PedalInput(where(back, -wish.a, wish.a), wish.steer, gear(back))


_COMMANDS: dict[type, Callable[[Any, Wish, Any], Any]] = {
    VelocityInput: driven_by_velocity,
    AccelerationInput: driven_by_acceleration,
    GearedInput: driven_in_gear,
    PedalInput: driven_by_pedal,
}


def _within_limits(command: Callable[[Any, Wish, Any], Any], x: Any, wish: Wish, p: Any) -> Any:
    return command(x, wish._replace(steer=limited(wish.steer, p.steer_lim)), p)


def car(Input: Any, *, ideal: bool = False) -> Body:
    """The body of a model with this input; an ideal one has no limits."""
    command = _COMMANDS[Input]
    if ideal:
        return car_driven_by(command, unlimited)

    def limits_of(p: Any) -> Limits:
        every = limits(p)
        known = {name: ends for name, ends in every.inputs.items() if name in Input._fields}
        return replace(every, inputs=known)

    return car_driven_by(partial(_within_limits, command), limits_of)


def car_driven_by(command: Callable[[Any, Wish, Any], Any], limits: LimitsOf) -> Body:
    """The body of a model that is commanded so."""
    return Body(
        reference="middle of the rear axle",
        pose=pose,
        velocity=velocity,
        placed=placed,
        geometry=geometry,
        limits=limits,
        command=command,
    )
