"""Small tasks for tests: a light car on a ring between two walls."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np

import skidpad as sp
from learn.small_tasks import boxed
from skidpad.core.body import Velocity, body_of
from skidpad.geometry.maps.track import Track
from skidpad.learn import Start, Task, track_point
from skidpad.units import Allowed, m, m_s, one, rad

RADIUS, HALF_WIDTH = 20.0, 3.0


class Seen(NamedTuple):
    v: Annotated[m_s, Allowed(-5.0, 20.0)]
    n: Annotated[m, Allowed(-5.0, 5.0)]
    heading: Annotated[rad, Allowed(-4.0, 4.0)]


class Kept(NamedTuple):
    periods: one = 0.0


CAR = boxed(sp.vehicles.kinematic_bicycle())
BODY = body_of(CAR, "a test")


def ring(radius: float = RADIUS, half_width: float = HALF_WIDTH, points: int = 120) -> Track:
    """A circle about the origin, counter-clockwise."""
    angle = np.arange(points) * 2.0 * np.pi / points
    unit = np.column_stack([np.cos(angle), np.sin(angle)])
    left, right = (radius - half_width) * unit, (radius + half_width) * unit
    walls = np.concatenate([np.hstack([w, np.roll(w, -1, axis=0)]) for w in (left, right)])
    width = np.full(points, half_width)
    return Track(radius * unit, width, width, closed=True, walls=walls, name="ring")


def observe(place: Any, velocity: Velocity) -> Seen:
    return Seen(velocity.v_x, place.n, place.heading)


def reward(place: Any, contact: Any) -> Any:
    return place.gained - 5.0 * contact


def ended(contact: Any) -> Any:
    return contact > 0.5


def start(x: Any, p: Any, course: Any, d: Any) -> Start:
    s = d.s * course.length
    pose = track_point(course, s, d.n)
    return Start(BODY.placed(x, pose, Velocity(d.v, 0.0, 0.0), p), s)


DRAWS = {"s": {"range": [0.0, 1.0]}, "n": {"range": [-0.5, 0.5]}, "v": {"range": [2.0, 6.0]}}


def task(**changes: Any) -> Task:
    """The task of driving round a ring."""
    return _made(**changes) if changes else _usual()


@cache
def _usual() -> Task:
    """Traced once: nobody changes a task."""
    return _made()


def _made(**changes: Any) -> Task:
    parts: dict[str, Any] = {
        "name": "ring", "vehicle": CAR, "Observation": Seen, "observe": observe, "reward": reward,
        "ended": ended, "start": start, "tracks": (ring(),), "draws": DRAWS, "dt": 0.02,
        "substeps": 20, "duration": 2.0, **changes,
    }  # fmt: skip
    return Task(**parts)


def actions(count: int, steps: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Actions (steps, count, 2) that now and then end in a wall."""
    drawn = np.random.default_rng(seed).uniform(-1.0, 1.0, (steps, count, 2))
    return drawn.astype(np.float32)
