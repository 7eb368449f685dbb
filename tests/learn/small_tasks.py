"""A task that is quick to compile: a kinematic car on a ring, whose episodes end soon."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np

from skidpad.core.body import Demand, Velocity, body_of
from skidpad.core.model import Vehicle
from skidpad.geometry.maps.track import Track
from skidpad.learn import Lidar, Start, Task, track_point
from skidpad.learn.course import Course
from skidpad.ops import atan, logical_and
from skidpad.units import Allowed, m, m_s, one
from skidpad.vehicles import kinematic_bicycle


def boxed(vehicle: Vehicle) -> Vehicle:
    """With the box about its outline for one: of six parts, contacts take long to compile."""
    corners = np.concatenate([np.array(outline) for outline in vehicle.geometry.outlines])
    (rear, right), (front, left) = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
    box = ((rear, right), (front, right), (front, left), (rear, left))
    return replace(vehicle, outlines=(box,))


CAR = boxed(kinematic_bicycle())


class Seen(NamedTuple):
    v: Annotated[m_s, Allowed(-5.0, 25.0)]
    n: Annotated[m, Allowed(-5.0, 5.0)]


def ring(radius: float = 20.0, width: float = 2.0) -> Track:
    """A loop with walls `width` from its middle."""
    angle = np.linspace(0.0, 2.0 * np.pi, 80, endpoint=False)
    out = np.column_stack([np.cos(angle), np.sin(angle)])
    edges = [
        np.hstack([r * out, np.roll(r * out, -1, axis=0)]) for r in (radius - width, radius + width)
    ]
    half = np.full(len(angle), width)
    return Track(radius * out, half, half, True, np.concatenate(edges), None, "ring")


def _begun(x: Any, p: Any, course: Course, d: Any, agent: Any) -> Start:
    s = d.s * course.length + 4.0 * agent
    body = body_of(CAR, "a test")
    at = track_point(course, s, 0.0)
    pose = at._replace(yaw=at.yaw + d.yaw)
    return Start(body.placed(x, pose, Velocity(6.0, 0.0, 0.0), p), s)


def small_task(**options: Any) -> Task:
    """Keep to the middle of a ring; 12 periods at most, with errors of what is seen."""
    return _made(**options) if options else _usual()


@cache
def _usual() -> Task:
    """Traced once: nobody changes a task."""
    return _made()


class Gated(NamedTuple):
    """Whether the gate of a lapping task closes."""

    closes: one = 0.0


def _lapping(x: Any, p: Any, course: Course, d: Any) -> Start:
    s = d.s * course.length
    body = body_of(CAR, "a test")
    begun = body.placed(x, track_point(course, s, d.n), Velocity(20.0, 0.0, 1.0), p)
    return Start(begun._replace(steer=_turning(p)), s)


def _turning(p: Any) -> Any:
    """The steering angle at which the rear axle would go round a ring of 20 m."""
    return atan((p.l_f + p.l_r) / 20.0)


def _lap(x: Any, a: Any, p: Any) -> Any:
    demand = Demand(steer=_turning(p) + 0.001 * a.steer, a=5.0 * (20.0 - x.v_x))
    return body_of(CAR, "a test").command(x, demand, p)


def lapping_task(*, gate: bool = True) -> Task:
    """Round a ring of 20 m at 20 m/s for 7 s, whatever is done; with a gate, half of the episodes
    end after 40 m."""
    return small_task(
        observe=lambda place, velocity: Seen(velocity.v_x, place.n),
        tracks=(ring(width=8.0),),
        lidar=None,
        noise={},
        ended=lambda place, q: {"closed": logical_and(place.progress > 40.0, q.closes > 0.5)},
        successes=("duration",),
        Params=Gated,
        randomised={"task.closes": {"levels": [0, 1]} if gate else 0.0},
        draws={"s": {"range": [0.0, 1.0]}, "n": {"range": [-0.5, 0.5]}},
        start=_lapping,
        act=_lap,
        dt=0.1,
        substeps=40,
        duration=7.0,
    )


def _made(**options: Any) -> Task:
    settings: dict[str, Any] = {
        "name": "ring",
        "vehicle": CAR,
        "Observation": Seen,
        "observe": lambda place, velocity: Seen(velocity.v_x, place.n),
        "reward": lambda place: place.gained,
        "ended": lambda place, contact: (place.n * place.n + contact) > 0.2,
        "start": _begun,
        "tracks": (ring(), ring(24.0)),
        "draws": {"s": {"range": [0.0, 1.0]}, "yaw": {"range": [-0.8, 0.8]}},
        "noise": {"n": {"normal": {"mean": 0.0, "std": 0.05}}},
        "lidar": Lidar(5, range=20.0, noise=0.1),
        "duration": 0.24,
        "dt": 0.02,
        "substeps": 20,
    }
    return Task(**{**settings, **options})
