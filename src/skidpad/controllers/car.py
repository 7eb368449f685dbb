"""A vehicle as a steering law sees it: where its axles are, how it moves, how it is commanded.

The laws read a `Motion` and ask for a `Wish`; a `Car` is what they read it with. `car_of` makes one
of the vehicle's body. For a vehicle without a body give a `Car` of your own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Annotated, Any, NamedTuple, get_type_hints

from .. import record
from ..body import Wish, body_of
from ..ops import cos, sin
from ..recipes import made_once
from ..units import m, m_s, positive, rad, rad_s, s
from .line import Motion

__all__ = ["Car", "Geometry", "after", "car_of", "front_axle", "push", "rear_axle"]

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
    command: Callable[[Any, Wish, Any], Any]
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

    def command(x: Any, wish: Wish, g: Any) -> Any:
        return body.command(x, wish, g.vehicle)

    return Car(_geometry(vehicle, geometry), motion, omega, speed, command)


def push(car: Car, State: type) -> tuple[float, ...]:
    """How far each input is moved by asking a car at rest for an acceleration of 1 m/s²."""
    at_rest = record.build(State)
    more, none = (car.command(at_rest, Wish(a=a), car.geometry) for a in (1.0, 0.0))
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
