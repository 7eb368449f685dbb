"""Bodies of the command-driven models: a car seen from the middle of its rear axle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any

from ...body import Body, Geometry, GroundUnder, Limits, Wish, car_geometry
from ...components.actuator import limited
from ...components.car_bodies import rolling_car
from ...components.gear import Gear
from ...components.gear_ratio import gear_ratio, wheel_angle
from ...components.table import NoTable
from ...ops import logical_and, logical_or, maximum, where
from ...units import m, m_s, m_s2, one, rad
from .records import AccelerationInput, ActuationInput, GearedInput, PedalInput, VelocityInput

FRONT_OVERHANG, REAR_OVERHANG, WIDTH = 0.37, 0.37, 0.66
"""Shares of the wheelbase, which is all that a model has: 4.86 m by 1.84 m at 2.79 m."""
TRACK = 0.58
WHEEL_RADIUS, WHEEL_WIDTH = 0.13, 0.08
HEIGHT: m = 1.7
STILL: m_s = 0.02
"""Speed below which the gear may change."""
PEDAL_DRIVE: m_s2 = 4.0
PEDAL_BRAKE: m_s2 = 6.0
"""Accelerations that pedals pushed down are taken to give: the maps are not inverted here."""
FULL_RATE: rad = 0.1
"""Distance from the angle wished for from which a steering map is used to its end."""


def geometry(p: Any) -> Geometry:
    """A car in proportion to its wheelbase; the mass is an estimate from the size."""
    base = p.wheel_base
    return car_geometry(
        front_axle=base,
        rear_axle=0.0,
        front=(1.0 + FRONT_OVERHANG) * base,
        rear=-REAR_OVERHANG * base,
        width=WIDTH * base,
        height=HEIGHT,
        track=TRACK * base,
        wheel_radius=WHEEL_RADIUS * base,
        wheel_width=WHEEL_WIDTH * base,
    )


def unlimited(p: Any) -> Limits:
    """Of the ideal models."""
    return Limits()


def limits(p: Any) -> Limits:
    """Of the models that lag behind their commands."""
    return Limits(
        steer_max=p.steer_lim,
        # A steering column has a limit of its own, on another angle.
        steer_rate_max=getattr(p, "steer_rate_lim", inf),
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


def _backwards(x: Any, wish: Wish) -> Any:
    """Whether the gear is to be reverse: rolling back, or at rest and wanting to."""
    return logical_or(x.v_x < -STILL, logical_and(x.v_x < STILL, wish.a < 0.0))


def _gear(back: Any) -> one:
    return where(back, float(Gear.REVERSE), float(Gear.DRIVE))


def driven_in_gear(x: Any, wish: Wish, p: Any) -> GearedInput:
    """The acceleration is forward in every gear."""
    return GearedInput(wish.a, wish.steer, _gear(_backwards(x, wish)))


def driven_by_pedal(x: Any, wish: Wish, p: Any) -> PedalInput:
    """The pedal drives in the direction of the gear."""
    back = _backwards(x, wish)
    return PedalInput(where(back, -wish.a, wish.a), wish.steer, _gear(back))


def driven_by_pedals(x: Any, wish: Wish, p: Any) -> ActuationInput:
    """Accelerator and brake as shares of what they are taken to give, or what they are to give
    where there is no map."""
    back = _backwards(x, wish)
    along = where(back, -wish.a, wish.a)
    drive, brake = maximum(along, 0.0), maximum(-along, 0.0)
    if not isinstance(p.accel_map, NoTable):
        drive = drive * (1.0 / PEDAL_DRIVE)
    if isinstance(p.brake_map, NoTable):
        return ActuationInput(drive - brake, 0.0 * brake, wish.steer, _gear(back))
    return ActuationInput(drive, brake * (1.0 / PEDAL_BRAKE), wish.steer, _gear(back))


def by_steering_wheel(x: Any, steer: rad, p: Any) -> rad:
    """The angle of a steering wheel with a variable gear ratio for a tyre angle."""
    coefficients = (p.vgr_coef_a, p.vgr_coef_b, p.vgr_coef_c)
    held = wheel_angle(x.v_x, x.steer, *coefficients)
    return steer * gear_ratio(x.v_x, held, *coefficients)


def by_steering_map(x: Any, steer: rad, p: Any) -> one:
    """A coordinate of the map of steering rates that turns the wheels towards a tyre angle."""
    rows, _ = type(p.steer_map).size
    most = p.steer_map[rows - 1]
    return limited((steer - x.steer) * (most * (1.0 / FULL_RATE)), most)


_COMMANDS: dict[type, Callable[[Any, Wish, Any], Any]] = {
    VelocityInput: driven_by_velocity,
    AccelerationInput: driven_by_acceleration,
    GearedInput: driven_in_gear,
    PedalInput: driven_by_pedal,
    ActuationInput: driven_by_pedals,
}


def on_ground(x: Any, u: Any, w: Any, ground: GroundUnder, p: Any) -> tuple[Any, Any]:
    """What knows of slopes is told the acceleration along the car."""
    return (u if ground.down is None else u._replace(slope=ground.g * ground.down.x)), w


def car(
    Input: Any, *, ideal: bool = False, steering: Callable[[Any, rad, Any], Any] | None = None
) -> Body:
    """The body of a model with this input; an ideal one has no limits.

    `steering(x, steer, p)` is the input that turns the tyres to an angle, where it is not that.
    """
    drive = _COMMANDS[Input]

    def command(x: Any, wish: Wish, p: Any) -> Any:
        if ideal:
            return drive(x, wish, p)
        steer = limited(wish.steer, p.steer_lim)
        u = drive(x, wish._replace(steer=steer), p)
        return u if steering is None else u._replace(steer=steering(x, steer, p))

    def own_limits(p: Any) -> Limits:
        every = limits(p)
        # Pedals are in units of their maps, and so is what turns the wheels by other means.
        known = () if steering is not None or Input is ActuationInput else Input._fields
        ranges = {name: ends for name, ends in every.inputs.items() if name in known}
        return replace(every, inputs=ranges)

    return rolling_car(
        wheel_base=lambda p: p.wheel_base,
        geometry=geometry,
        limits=unlimited if ideal else own_limits,
        command=command,
        on_ground=on_ground if Input in (PedalInput, ActuationInput) else None,
    )
