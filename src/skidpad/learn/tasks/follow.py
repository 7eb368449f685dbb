"""Path following task: stay on a reference line at its speed, for learned and other controllers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np

from ...control.reference import Reference, reference_of
from ...control.speed import Grip, speed_profile
from ...core import record
from ...core.arrays import Array, shared_array
from ...core.body import Body, Velocity, body_of
from ...core.checks import positive
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...geometry.line import Line
from ...geometry.maps.track import Track
from ...ops import abs, clip, floor, logical_and, read, where
from ...units import Allowed, Unit, m, m_s, one, per_m, per_s, rad, rad_s, s
from ...vehicles.formula import four_wheel
from ..course import Course, Place, curvature_ahead, track_point
from ..task import Start, Task
from .race import record_hints

AHEAD: tuple[m, ...] = (2.0, 5.0, 10.0, 20.0)
"""Distances ahead at which curvature and speed of the reference are observed."""
SPACING: m = 0.5
"""Approximate spacing of the points of the line and of its speeds."""
FASTEST: m_s = 60.0
"""Upper bound of an observed speed."""
COMFORT = Grip(a_lateral=4.0, a_drive=2.0, a_brake=3.0, v_max=15.0)
"""Accelerations and top speed of the default references."""
SHARE: one = 0.8
"""Top speed of the default references relative to the top speed of a slow vehicle."""
per_m2_s = Annotated[float, Unit("1/(m² s)", length=-2, time=-1)]
s_per_m2 = Annotated[float, Unit("s/m²", length=-2, time=1)]


class FollowParams(NamedTuple):
    """Reference speeds, and the costs of deviations."""

    speeds: one
    """Index of the shared array with the speeds of all references in m/s, concatenated."""
    points: one
    """Number of speeds of each reference, at equal distances from end to end."""
    width: m = 3.0
    """Offset at which the reference is lost."""
    lost: one = 300.0
    """Cost of losing the reference."""
    n_cost: per_m2_s = 1.0
    """Cost of an offset, per square metre and second."""
    heading_cost: per_s = 1.0
    """Cost of a heading error, per rad² and second."""
    v_cost: s_per_m2 = 0.1
    """Cost of a speed error, per (m/s)² and second."""


class Seen(NamedTuple):
    """Observation of a reference line; curvature and speed ahead are appended."""

    v_x: Annotated[m_s, Allowed(-10.0, FASTEST)]
    """Longitudinal velocity."""
    v_y: Annotated[m_s, Allowed(-15.0, 15.0)]
    """Lateral velocity, positive to the left."""
    omega: Annotated[rad_s, Allowed(-6.0, 6.0)]
    """Yaw rate, positive to the left."""
    n: Annotated[m, Allowed(-10.0, 10.0)]
    """Offset from the line, positive to the left."""
    heading: Annotated[rad, Allowed(-3.2, 3.2)]
    """Heading relative to the line, positive to the left."""
    v_error: Annotated[m_s, Allowed(-FASTEST, FASTEST)]
    """Speed of the vehicle minus the reference speed."""
    curvature: Annotated[per_m, Allowed(-1.5, 1.5)]
    """Curvature of the line at the vehicle, positive to the left."""


def follow(
    vehicle: Vehicle | None = None,
    *,
    reference: Reference | Sequence[Reference] | None = None,
    width: m = 3.0,
    randomised: Mapping[str, Any] | None = None,
    ahead: Sequence[m] = AHEAD,
    **options: Any,
) -> Task:
    """The task of following a reference: a second costs the squares of offset (m), heading error
    (rad) and a tenth of the square of the speed error (m/s); an offset of `width` ends the episode
    and costs 300.

    An episode starts anywhere on a reference, on an open one in its first half, near it and near
    its speed. It ends at the end of an open reference, at no cost.

    Args:
        vehicle: the vehicle; `four_wheel` if None.
        reference: one or several lines with speeds, one of which is used per episode; if None,
            smooth loops at up to 15 m/s, or 0.8 of the top speed of a slow vehicle.
        width: offset in m at which the reference is lost.
        randomised: distributions of parameters, see `Task.randomised`.
        ahead: distances in m at which curvature and speed of the reference are observed.
        options: further fields of the `Task`.
    """
    car = four_wheel() if vehicle is None else vehicle
    body = body_of(car, "a task that follows a reference")
    references = _references(reference, car)
    _check_speeds(car, references)
    width = positive("width", width, "m")
    speeds = _speeds(references)
    Observation = _observation(tuple(ahead))
    draws = {
        "s": {"range": [0.0, 1.0]}, "n": {"range": [-0.1, 0.1]},
        "heading": {"range": [-0.1, 0.1]}, "v": {"range": [0.8, 1.1]},
    }  # fmt: skip
    params = {"speeds": shared_array(speeds), "points": float(speeds.shape[1]), "width": width}
    settings: dict[str, Any] = {
        "name": "follow", "draws": draws, "Params": FollowParams, "params": params,
        "randomised": randomised or {}, "duration": 30.0,
        "successes": ("duration", "end_of_line"), "integrator": "auto", **options,
    }  # fmt: skip
    return Task(
        vehicle=car,
        Observation=Observation,
        observe=partial(observe, Observation, body, tuple(ahead)),
        reward=partial(reward, body),
        ended=end_reasons,
        start=partial(start, body),
        tracks=tuple(_track(each, width) for each in references),
        **settings,
    )


def speed_at(course: Course, q: FollowParams, s: Any) -> m_s:
    """Reference speed at a distance along the line in m; on a loop, modulo its length."""
    share = s / course.length
    share = clip(share - floor(share) * where(course.closed > 0.5, 1.0, 0.0), 0.0, 1.0)
    at = share * (q.points - 1.0)
    index = clip(floor(at), 0.0, q.points - 2.0)
    first = course.track * q.points + index
    low, high = read(q.speeds, first), read(q.speeds, first + 1.0)
    return low + (at - index) * (high - low)


def v_error(body: Body, x: Any, u: Any, p: Any, place: Place, q: FollowParams) -> m_s:
    """Speed of the vehicle minus the reference speed at its place."""
    return body.speed_of(x, u, p) - speed_at(place.course, q, place.s)


def observe(
    Observation: type,
    body: Body,
    ahead: tuple[m, ...],
    x: Any,
    u: Any,
    p: Any,
    place: Place,
    velocity: Velocity,
    q: FollowParams,
) -> Any:
    error = v_error(body, x, u, p, place, q)
    bends = [curvature_ahead(place, distance) for distance in ahead]
    speeds = [speed_at(place.course, q, place.s + distance) for distance in ahead]
    here = (place.n, place.heading, error, place.curvature)
    return Observation(*velocity, *here, *bends, *speeds)


def reward(body: Body, x: Any, u: Any, p: Any, place: Place, q: FollowParams, dt: s) -> Any:
    error = v_error(body, x, u, p, place, q)
    rate = (
        q.n_cost * place.n * place.n
        + q.heading_cost * place.heading * place.heading
        + q.v_cost * error * error
    )
    return -(dt * rate) - where(is_lost(place, q), q.lost, 0.0)


def is_lost(place: Place, q: FollowParams) -> Any:
    return abs(place.n) > q.width


def end_reasons(place: Place, q: FollowParams) -> dict[str, Any]:
    """Reasons for the end: the reference is lost, or the end of an open one is reached."""
    course = place.course
    at_end = logical_and(course.closed < 0.5, place.s >= course.length - 0.5 * course.step)
    return {"lost": is_lost(place, q), "end_of_line": at_end}


def start(body: Body, x: Any, p: Any, course: Course, d: Any, q: FollowParams) -> Start:
    """Start near a reference (in the first half of an open one) and near its speed."""
    s = d.s * course.length * where(course.closed > 0.5, 1.0, 0.5)
    at = track_point(course, s, d.n * q.width)
    v = d.v * speed_at(course, q, s)
    pose = at._replace(yaw=at.yaw + d.heading)
    return Start(body.placed(x, pose, Velocity(v, 0.0, 0.0), p), s)


def _observation(ahead: tuple[m, ...]) -> type:
    """Record class of `Seen` with the curvature in 1/m and speed in m/s at some distances ahead."""
    bent = {f"curvature_{k}": Annotated[per_m, Allowed(-1.5, 1.5)] for k in range(len(ahead))}
    fast = {f"v_{k}": Annotated[m_s, Allowed(0.0, FASTEST)] for k in range(len(ahead))}
    return record.define("Observation", {**record_hints(Seen), **bent, **fast}, doc="Observation.")


def _references(
    reference: Reference | Sequence[Reference] | None, vehicle: Vehicle
) -> tuple[Reference, ...]:
    if reference is None:
        from ...geometry.maps.track import random_track

        v_max = min(COMFORT.v_max, SHARE * vehicle.limits.v_max)
        loops = [random_track(seed).centre for seed in range(4)]
        grip = COMFORT._replace(v_max=v_max)
        return tuple(
            Reference.along(loop, speed_profile(Line.through(loop, closed=True), grip), closed=True)
            for loop in loops
        )
    several = (reference,) if isinstance(reference, Reference) else tuple(reference)
    if not several:
        raise InvalidValue("reference must be a Reference or several, got none")
    return tuple(reference_of(each) for each in several)


def _check_speeds(vehicle: Vehicle, references: Sequence[Reference]) -> None:
    """Raise if a reference is faster than the vehicle or than the largest observable speed."""
    most = min(vehicle.limits.v_max, FASTEST)
    for k, reference in enumerate(references):
        fastest = float(np.max(reference.points.v))
        if fastest > most:
            raise InvalidValue(
                f"reference[{k}] has {fastest:.1f} m/s; {vehicle.name!r} is to drive at most "
                f"{most:.1f} m/s"
            )


def _speeds(references: Sequence[Reference]) -> Array:
    """Speeds of each reference at n equally spaced points from end to end, (k, n)."""
    count = max(2, *(int(np.ceil(each.length / SPACING)) + 1 for each in references))
    at = np.linspace(0.0, 1.0, count)
    return np.stack([each.at_distance(each.length * at).v for each in references])


def _track(reference: Reference, width: m) -> Track:
    line = reference.line.resampled(SPACING)
    width_here = np.full(len(line.vertices), width)
    return Track(
        line.vertices, width_here, width_here, closed=reference.closed, walls=np.empty((0, 4)),
        name="reference",
    )  # fmt: skip
