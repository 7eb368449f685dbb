"""Drift task: follow a circle with a large sideslip angle on a low-friction road.

The reward is that of Cai et al., "High-speed autonomous drifting with deep reinforcement learning",
IEEE Robotics and Automation Letters 5 (2020): speed along the circle times the accuracy of position
and sideslip, each an exponential of its error. The heading, which they reward as well, follows from
both. `grip_law` turns the friction of the ground into a disturbance, also for other tasks.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import pi
from typing import Annotated, Any, NamedTuple

import numpy as np

from ...core import record
from ...core.body import Body, GroundUnder, Velocity, body_of
from ...core.checks import must_be, positive
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...geometry.maps.track import Track
from ...ops import abs, atan2, exp, logical_or, sqrt, where
from ...study.manoeuvres.subject import Subject, tyres_needed
from ...units import Allowed, m, m_s, m_s2, one, rad, rad_s
from ...vehicles.twin_track.model import two_track
from ..course import Course, Place, track_point
from ..task import Start, Task

SPACING: m = 0.5
"""Largest spacing of the points of the circle."""
SLOW: m_s = 0.5
"""Speed below which the sideslip angle fades out, as it is undefined at rest.

Driving backwards at this speed counts as a spin.
"""


GripLaw = Callable[[Any, Any, Any, Sequence[one]], Any]
"""Function for the `Disturbance` from state, input, parameters, wheel friction factors."""


def sliding(vehicle: Vehicle, purpose: str) -> Vehicle:
    """The vehicle; raises if its tyres cannot slide, with `purpose` as in "a drift"."""
    body_of(vehicle, purpose)
    lacks = tyres_needed(Subject(vehicle))
    if lacks:
        raise InvalidValue(f"{purpose} needs a vehicle on tyres: {lacks}")
    return vehicle


def grip_law(vehicle: Vehicle, purpose: str) -> GripLaw:
    """Disturbance by the friction under the wheels; raises if the vehicle has no such effect."""
    body, model = body_of(vehicle, purpose), vehicle.model

    def disturbance(x: Any, u: Any, p: Any, grip: Sequence[one]) -> Any:
        assert body.on_ground is not None
        ground = GroundUnder(g=0.0, grip=tuple(grip))
        return body.on_ground(x, u, record.build(model.Disturbance), ground, p)[1]

    calm = record.build(model.Disturbance)
    x, u, p = record.build(model.State), record.build(model.Input), vehicle.params
    half = [0.5] * len(body.geometry(p).wheels)
    if body.on_ground is None or disturbance(x, u, p, half) == calm:
        raise InvalidValue(
            f"{purpose} needs a vehicle whose Disturbance has a factor on friction, as four_wheel "
            f"(mu_scale) and two_track (mu_fl to mu_rr) have; that of {vehicle.name!r} has "
            f"{', '.join(record.names(model.Disturbance)) or 'nothing'}"
        )
    return disturbance


class DriftParams(NamedTuple):
    """Setpoints of a drift, and weights of its reward."""

    mu: one = 0.4
    """Friction of the road relative to the road on which the tyres were measured."""
    sideslip: rad = 0.5
    """Setpoint of the angle from the velocity to the heading, positive into the circle."""
    ring: m = 6.0
    """Distance from the circle to the edge of the road, on either side."""
    slip_worth: one = 0.6
    """Weight of the sideslip in the reward per metre; the position has the remaining weight."""
    slip_scale: rad = 0.175
    """Sideslip error at which its reward falls to 1/e: 10 degrees, as in Cai et al."""
    place_scale: m = 2.0
    """Distance from the circle at which the position's reward falls to 1/e, as in Cai et al."""
    failed: one = 20.0
    """Cost of leaving the ring or spinning; a metre of drifting is worth 1."""


class Seen(NamedTuple):
    v_x: Annotated[m_s, Allowed(-30.0, 30.0)]
    """Longitudinal velocity."""
    v_y: Annotated[m_s, Allowed(-20.0, 20.0)]
    """Lateral velocity, positive to the left."""
    omega: Annotated[rad_s, Allowed(-4.0, 4.0)]
    """Yaw rate, positive to the left."""
    sideslip: Annotated[rad, Allowed(-1.6, 1.6)]
    """Angle from the velocity to the heading, positive into the circle."""
    n: Annotated[m, Allowed(-10.0, 10.0)]
    """Offset from the circle, positive inside it."""
    heading: Annotated[rad, Allowed(-3.2, 3.2)]
    """Heading relative to the circle, positive to the left."""
    steer: Annotated[rad, Allowed(-1.0, 1.0)]
    """Steering angle of the front wheels, positive to the left."""


def drift(
    vehicle: Vehicle | None = None,
    *,
    radius: m = 20.0,
    mu: one = 0.4,
    sideslip: rad = 0.5,
    ring: m = 6.0,
    randomised: Mapping[str, Any] | None = None,
    **options: Any,
) -> Task:
    """The task of drifting round a circle to the left: a metre at the demanded sideslip is worth 1,
    a metre driven without sliding 0.4.

    An episode starts without sliding, on the circle or near it. It ends when the vehicle leaves the
    ring or spins.

    Args:
        vehicle: the vehicle; a `two_track` sports car with rear-wheel drive if None.
        radius: radius of the circle in m.
        mu: friction of the road relative to the road on which the tyres were measured.
        sideslip: setpoint in rad, 0.1 to 1.2; positive into the circle.
        ring: distance from the circle to the edge of the road in m, on either side.
        randomised: distributions of parameters, see `Task.randomised`; `task.mu` is the friction.
        options: further fields of the `Task`.
    """
    car = sliding(two_track("sports") if vehicle is None else vehicle, "a drift")
    law, body = grip_law(car, "a drift"), car.model.body
    assert body is not None
    radius, ring = positive("radius", radius, "m"), positive("ring", ring, "m")
    if not ring < radius:
        raise InvalidValue(f"ring = {ring:g} m must be below radius = {radius:g} m")
    setpoints = {
        "mu": positive("mu", mu),
        "sideslip": must_be("sideslip", sideslip, Allowed(0.1, 1.2), "rad"),
        "ring": ring,
    }
    draws = {"s": {"range": [0.0, 1.0]}, "n": {"range": [-1.0, 1.0]}, "v": {"range": [0.6, 0.9]}}
    settings: dict[str, Any] = {
        "name": "drift", "draws": draws, "Params": DriftParams, "params": setpoints,
        "randomised": randomised or {}, "duration": 20.0,
        "successes": ("duration",), "integrator": "auto", **options,
    }  # fmt: skip
    return Task(
        vehicle=car,
        Observation=Seen,
        observe=partial(observe, body),
        reward=reward,
        ended=end_reasons,
        start=partial(start, body, car.limits.grip, radius),
        disturb=partial(disturb, law, len(car.geometry.wheels)),
        tracks=(circle(radius, ring),),
        **settings,
    )


def circle(radius: m, ring: m) -> Track:
    """Circular track about the origin, to the left, with `ring` in m to either border."""
    count = max(24, int(np.ceil(2.0 * pi * radius / SPACING)))
    angle = np.arange(count) * (2.0 * pi / count)
    centre = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    width = np.full(count, ring)
    name = f"circle of {radius:g} m"
    return Track(centre, width, width, closed=True, walls=np.empty((0, 4)), name=name)


def sideslip_of(velocity: Velocity) -> rad:
    """Angle from the direction of motion to the heading, positive to the left, below π/2."""
    return -atan2(velocity.v_y, sqrt(velocity.v_x * velocity.v_x + SLOW * SLOW))


def observe(body: Body, x: Any, u: Any, p: Any, place: Place, velocity: Velocity) -> Seen:
    assert body.steer is not None
    slip = sideslip_of(velocity)
    return Seen(*velocity, slip, place.n, place.heading, body.steer(x, u, p))


def end_reasons(place: Place, velocity: Velocity, q: DriftParams) -> dict[str, Any]:
    """Reasons for the end: off the ring, or spun and moving backwards."""
    return {"off_track": abs(place.n) > q.ring, "spin": velocity.v_x < -SLOW}


def reward(place: Place, velocity: Velocity, q: DriftParams) -> Any:
    """Progress of the period in m, weighted by the accuracy of position and sideslip."""
    slid = exp(-abs(sideslip_of(velocity) - q.sideslip) / q.slip_scale)
    held = exp(-abs(place.n) / q.place_scale)
    failed = logical_or(*end_reasons(place, velocity, q).values())
    worth = q.slip_worth * slid + (1.0 - q.slip_worth) * held
    return place.gained * worth - where(failed, q.failed, 0.0)


def disturb(law: GripLaw, wheels: int, x: Any, u: Any, p: Any, q: DriftParams) -> Any:
    """Disturbance from the friction of the road, the same under all wheels."""
    return law(x, u, p, [q.mu] * wheels)


def start(
    body: Body, grip: m_s2, radius: m, x: Any, p: Any, course: Course, d: Any, q: DriftParams
) -> Start:
    """Start on the circle, at a fraction of the speed at which the tyres just hold."""
    s = d.s * course.length
    v = d.v * sqrt(q.mu * grip * radius)
    turning = Velocity(v, 0.0, v / radius)
    return Start(body.placed(x, track_point(course, s, d.n), turning, p), s)
