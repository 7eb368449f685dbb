"""Drift: round a circle with a large sideslip, on a road with little grip.

The reward is that of Cai et al., "High-speed autonomous drifting with deep reinforcement learning",
IEEE Robotics and Automation Letters 5 (2020): speed times how near place and sideslip are to what
is asked for, each an exponential of its error. Speed is that along the circle; the heading, which
they reward besides, follows from both.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from math import pi
from typing import Annotated, Any, NamedTuple

import numpy as np

from ...core.body import Body, Velocity
from ...core.checks import must_be, positive
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...geometry.maps.track import Track
from ...ops import abs, atan2, exp, logical_or, sqrt, where
from ...units import Allowed, m, m_s, m_s2, one, rad, rad_s
from ...vehicles.twin_track.model import two_track
from ..course import Course, Place, track_point
from ..task import Start, Task
from .ground import GripLaw, grip_law, sliding

SPACING: m = 0.5
"""Of the points of the circle, at most."""
SLOW: m_s = 0.5
"""Speed at which a sideslip fades out, as a vehicle at rest has none; who goes backwards as fast
has spun."""


class DriftParams(NamedTuple):
    """What is asked for, and what it is worth."""

    mu: one = 0.4
    """Friction of the road over that on which the tyres were measured."""
    sideslip: rad = 0.5
    """Asked for: how far the vehicle points into the circle, from the way it goes."""
    ring: m = 6.0
    """From the circle to where the road ends, on either side."""
    slip_worth: one = 0.6
    """Share of the worth of a metre that the sideslip decides; the place decides the rest."""
    slip_scale: rad = 0.175
    """Error of the sideslip at which 1/e is left of its share: 10 degrees, as Cai et al. have."""
    place_scale: m = 2.0
    """Distance from the circle at which 1/e is left of its share, as Cai et al. have."""
    failed: one = 20.0
    """Lost by leaving the ring or spinning; a metre of drifting is worth 1."""


class Seen(NamedTuple):
    """What is seen."""

    v_x: Annotated[m_s, Allowed(-30.0, 30.0)]
    """Velocity along the vehicle."""
    v_y: Annotated[m_s, Allowed(-20.0, 20.0)]
    """Velocity across it, positive to the left."""
    omega: Annotated[rad_s, Allowed(-4.0, 4.0)]
    """Yaw rate, positive to the left."""
    sideslip: Annotated[rad, Allowed(-1.6, 1.6)]
    """From the way it goes to where it points, positive if that is into the circle."""
    n: Annotated[m, Allowed(-10.0, 10.0)]
    """From the circle, positive inside of it."""
    heading: Annotated[rad, Allowed(-3.2, 3.2)]
    """From that of the circle, positive to the left."""
    steer: Annotated[rad, Allowed(-1.0, 1.0)]
    """Angle of the front wheels, positive to the left."""


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
    """The task of drifting round a circle to the left: a metre of it with the sideslip that is
    asked for is worth 1, one driven at grip 0.4.

    An episode begins at grip, on the circle or near it. It ends where the vehicle leaves the ring
    or spins.

    Args:
        vehicle: what is driven; a `two_track` sports car with rear drive if None.
        radius: of the circle in m.
        mu: friction of the road over that on which the tyres were measured.
        sideslip: asked for in rad, 0.1 to 1.2; positive into the circle.
        ring: from the circle to where the road ends in m, on either side.
        randomised: distributions of parameters, see `Task.randomised`; `task.mu` is the friction.
        options: further fields of the `Task`.
    """
    car = sliding(two_track("sports") if vehicle is None else vehicle, "a drift")
    law, body = grip_law(car, "a drift"), car.model.body
    assert body is not None
    radius, ring = positive("radius", radius, "m"), positive("ring", ring, "m")
    if not ring < radius:
        raise InvalidValue(f"ring = {ring:g} m must be below radius = {radius:g} m")
    asked = {
        "mu": positive("mu", mu),
        "sideslip": must_be("sideslip", sideslip, Allowed(0.1, 1.2), "rad"),
        "ring": ring,
    }
    draws = {"s": {"range": [0.0, 1.0]}, "n": {"range": [-1.0, 1.0]}, "v": {"range": [0.6, 0.9]}}
    settings: dict[str, Any] = {
        "name": "drift", "draws": draws, "Params": DriftParams, "params": asked,
        "randomised": randomised or {}, "duration": 20.0,
        "successes": ("duration",), "integrator": "auto", **options,
    }  # fmt: skip
    return Task(
        vehicle=car,
        Observation=Seen,
        observe=partial(observed, body),
        reward=rewarded,
        ended=over,
        start=partial(begun, body, car.limits.grip, radius),
        disturb=partial(disturbed, law, len(car.geometry.wheels)),
        tracks=(circle(radius, ring),),
        **settings,
    )


def circle(radius: m, ring: m) -> Track:
    """A circle about the origin, to the left, on an open road of a width either side."""
    count = max(24, int(np.ceil(2.0 * pi * radius / SPACING)))
    angle = np.arange(count) * (2.0 * pi / count)
    centre = radius * np.column_stack([np.cos(angle), np.sin(angle)])
    width = np.full(count, ring)
    name = f"circle of {radius:g} m"
    return Track(centre, width, width, closed=True, walls=np.empty((0, 4)), name=name)


def sideslip_of(velocity: Velocity) -> rad:
    """From the way a vehicle goes to where it points, positive to the left, below π/2."""
    return -atan2(velocity.v_y, sqrt(velocity.v_x * velocity.v_x + SLOW * SLOW))


def observed(body: Body, x: Any, u: Any, p: Any, place: Place, velocity: Velocity) -> Seen:
    """What is seen at a place."""
    assert body.steer is not None
    slip = sideslip_of(velocity)
    return Seen(*velocity, slip, place.n, place.heading, body.steer(x, u, p))


def over(place: Place, velocity: Velocity, q: DriftParams) -> dict[str, Any]:
    """Whether the vehicle is off the ring, or has spun and goes backwards."""
    return {"off_track": abs(place.n) > q.ring, "spin": velocity.v_x < -SLOW}


def failed(place: Place, velocity: Velocity, q: DriftParams) -> Any:
    """Whether one of these holds."""
    return logical_or(*over(place, velocity, q).values())


def rewarded(place: Place, velocity: Velocity, q: DriftParams) -> Any:
    """Progress of the period in m, as much of it as place and sideslip are worth."""
    slid = exp(-abs(sideslip_of(velocity) - q.sideslip) / q.slip_scale)
    held = exp(-abs(place.n) / q.place_scale)
    worth = q.slip_worth * slid + (1.0 - q.slip_worth) * held
    return place.gained * worth - where(failed(place, velocity, q), q.failed, 0.0)


def disturbed(law: GripLaw, wheels: int, x: Any, u: Any, p: Any, q: DriftParams) -> Any:
    """The friction of the road, under all wheels alike."""
    return law(x, u, p, [q.mu] * wheels)


def begun(
    body: Body, grip: m_s2, radius: m, x: Any, p: Any, course: Course, d: Any, q: DriftParams
) -> Start:
    """Along the circle, at a share of the speed at which its tyres hold the vehicle on it."""
    s = d.s * course.length
    v = d.v * sqrt(q.mu * grip * radius)
    turning = Velocity(v, 0.0, v / radius)
    return Start(body.placed(x, track_point(course, s, d.n), turning, p), s)
