"""Lane change task: the ISO 3888 cone course, as fast as possible, with a patch of ice.

Lanes, cones and the path of proving-ground drivers are those of `manoeuvres.lane_change`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from math import hypot
from typing import Annotated, Any, NamedTuple

import numpy as np

from ...core import record
from ...core.arrays import Array, values_of
from ...core.body import Body, Pose, Velocity
from ...core.checks import must_be, one_of
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...geometry.line import Line
from ...geometry.maps.track import Track
from ...geometry.pose import to_world
from ...ops import abs, clip, logical_and, logical_or, where
from ...study.manoeuvres.cone_courses import LEAD, DoubleLaneChange, Lane, ObstacleAvoidance, course
from ...study.manoeuvres.subject import Subject
from ...units import Allowed, m, m_s, one, per_m
from ...vehicles.twin_track.model import two_track
from ...view.stage import Polygon
from ..course import Course, Place, curvature_ahead, track_point
from ..task import Start, Task, box, lane_of
from .drift import GripLaw, grip_law
from .race import Seen, record_hints

COURSES = {"ISO 3888-1": DoubleLaneChange, "ISO 3888-2": ObstacleAvoidance}
"""Cone courses by the name of their standard."""
AHEAD: tuple[m, ...] = (2.0, 5.0, 10.0, 15.0, 20.0, 30.0)
"""Distances ahead at which the curvature of the path is observed."""
SPACING: m = 0.5
"""Spacing of the points of the path."""
ROOM: m = 8.0
"""Distance from the path to the edge of the field, next to and between the lanes."""


class LaneChangeParams(NamedTuple):
    """Weights of the reward, and friction of the road."""

    mu: one = 1.0
    """Friction of the road outside the ice, relative to that of the tyre measurement."""
    crash: one = 50.0
    """Cost of touching a border of a lane or missing a lane; a metre is worth up to 1."""


class Ice(NamedTuple):
    """Memory of a lane change, set at its start: a patch of ice and the entry speed."""

    x: m = 0.0
    """Centre of the patch, along the course from the first cones."""
    y: m = 0.0
    """Centre of the patch across the course, positive to the left."""
    length: m = 0.0
    """Length along the course; 0 for no ice."""
    width: m = 0.0
    """Width across the course."""
    mu: one = 1.0
    """Friction of the patch relative to that of the road."""
    entry: m_s = 1.0
    """Speed at the start."""


def lane_change(
    vehicle: Vehicle | None = None,
    *,
    standard: str = "ISO 3888-1",
    speeds: tuple[m_s, m_s] = (12.0, 22.0),
    ice: tuple[one, one] | None = (0.1, 0.7),
    randomised: Mapping[str, Any] | None = None,
    crash: one = 50.0,
    ahead: Sequence[m] = AHEAD,
    **options: Any,
) -> Task:
    """The task of a double lane change at the limit: a metre of the path is worth the share of the
    entry speed that is left, at most 1; touching a border of a lane or missing it costs `crash`.

    An episode ends at such a failure, or when the whole vehicle has passed the course. The ice is
    not observed.

    Args:
        vehicle: the vehicle, 1 m to 3 m wide; a `two_track` compact car if None.
        standard: "ISO 3888-1", the double lane change, or "ISO 3888-2", the obstacle avoidance.
        speeds: lowest and highest entry speed in m/s.
        ice: lowest and highest friction of a patch of ice relative to the road; None for no ice.
        randomised: distributions of parameters, see `Task.randomised`; `task.mu` is the road.
        crash: cost of touching a border or missing a lane.
        ahead: distances in m at which the curvature of the path is observed.
        options: further fields of the `Task`.
    """
    car = two_track("compact") if vehicle is None else vehicle
    one_of("standard", standard, tuple(COURSES))
    manoeuvre, subject = COURSES[standard](), Subject(car)
    lacks = manoeuvre.unfit(subject)
    if lacks:
        raise InvalidValue(f"a lane change needs another vehicle: {lacks}")
    law, lanes = grip_law(car, "a lane change"), manoeuvre.lanes(subject)
    corners = [corner for outline in car.geometry.outlines for corner in outline]
    wheels = [(wheel.x, wheel.y) for wheel in car.geometry.wheels]
    reach = max(hypot(*corner) for corner in corners)
    Observation = _observation(tuple(ahead))
    track = lane_track(lanes, max(y for _, y in corners) - min(y for _, y in corners))
    settings: dict[str, Any] = {
        "name": "lane_change", "draws": _draws(lanes, speeds, ice), "Params": LaneChangeParams,
        "params": {"crash": crash}, "randomised": randomised or {}, "duration": 30.0,
        "successes": ("through",), "integrator": "auto", **options,
    }  # fmt: skip
    return Task(
        vehicle=car,
        Observation=Observation,
        observe=partial(observe, Observation, tuple(ahead)),
        reward=partial(reward, lanes),
        ended=partial(end_reasons, lanes, reach),
        start=partial(start, car.body),
        Memory=Ice,
        disturb=partial(disturb, law, wheels),
        tracks=(track,),
        marks=partial(marks, lane_of(track)),
        **settings,
    )


def lane_track(lanes: Sequence[Lane], width: m) -> Track:
    """Track along the path through the lanes for this vehicle width; lane borders are walls."""
    path = course(lanes, width)
    x, y = (np.asarray(values_of(grid.values)) for grid in (path.x, path.y))
    driven = x <= lanes[-1].end + LEAD
    line = Line.through(np.column_stack([x[driven], y[driven]])).resampled(SPACING)
    left, right = np.full(len(line.x), ROOM), np.full(len(line.x), ROOM)
    for lane in lanes:
        inside = (line.x >= lane.begin) & (line.x <= lane.end)
        left[inside], right[inside] = lane.left - line.y[inside], line.y[inside] - lane.right
    return Track(line.points, left, right, closed=False, walls=borders(lanes), name="lane change")


def borders(lanes: Sequence[Lane]) -> Array:
    """Both borders of each lane as segments x0, y0, x1, y1 in m, (n, 4)."""
    return np.array(
        [[lane.begin, y, lane.end, y] for lane in lanes for y in (lane.right, lane.left)]
    )


def _draws(
    lanes: Sequence[Lane], speeds: tuple[m_s, m_s], ice: tuple[one, one] | None
) -> dict[str, Any]:
    low, high = speeds
    if not 0.0 < low <= high:
        raise InvalidValue(f"speeds = {speeds!r} must be positive, the lowest first, in m/s")
    for share in ice or ():
        must_be("ice", share, Allowed(0.01, 1.0))
    across = min(lane.right for lane in lanes), max(lane.left for lane in lanes)
    return {
        "s": {"range": [5.0, 15.0]},
        "v": _between(low, high),
        "x": {"range": [lanes[0].begin, lanes[-1].end]},
        "y": {"range": list(across)},
        "length": {"range": [5.0, 25.0]} if ice else 0.0,
        "width": {"range": [1.0, 6.0]},
        "mu": _between(*ice) if ice else 1.0,
    }


def _between(low: float, high: float) -> Any:
    return {"range": [low, high]} if low != high else low


def _observation(ahead: tuple[m, ...]) -> type:
    """Record class: race observation, entry speed, and curvature of the path ahead."""
    entry = {"entry": Annotated[m_s, Allowed(0.0, 60.0)]}
    bent = {f"curvature_{k}": Annotated[per_m, Allowed(-0.3, 0.3)] for k in range(len(ahead))}
    return record.define("Observation", {**record_hints(Seen), **entry, **bent}, doc="Seen.")


def observe(
    Observation: type, ahead: tuple[m, ...], place: Place, velocity: Velocity, m: Ice
) -> Any:
    bends = [curvature_ahead(place, distance) for distance in ahead]
    where_on = (place.n, place.heading, place.left, place.right)
    return Observation(*velocity, *where_on, m.entry, *bends)


def missed(lanes: Sequence[Lane], place: Place, pose: Pose) -> Any:
    """Whether the reference point is next to a lane instead of in it, or off the field."""
    beside = abs(place.n) > ROOM
    for lane in lanes:
        along = logical_and(pose.x >= lane.begin, pose.x <= lane.end)
        across = logical_or(pose.y < lane.right, pose.y > lane.left)
        beside = logical_or(beside, logical_and(along, across))
    return beside


def reward(
    lanes: Sequence[Lane], place: Place, pose: Pose, contact: Any, m: Ice, q: LaneChangeParams
) -> Any:
    """Progress of the period in m, times the share of the entry speed, minus failure costs."""
    kept = clip(place.v_s / m.entry, 0.0, 1.0)
    crashed = logical_or(contact > 0.5, missed(lanes, place, pose))
    return place.gained * kept - where(crashed, q.crash, 0.0)


def end_reasons(
    lanes: Sequence[Lane], reach: m, place: Place, pose: Pose, contact: Any
) -> dict[str, Any]:
    """Reasons for the end: a border was touched, a lane missed, or the whole vehicle is through."""
    return {
        "contact": contact > 0.5,
        "missed_lane": missed(lanes, place, pose),
        "through": pose.x > lanes[-1].end + reach,
    }


def start(body: Body, x: Any, p: Any, course: Course, d: Any) -> Start:
    """Start on the straight before the lanes, at the entry speed."""
    velocity = Velocity(d.v, 0.0, 0.0)
    patch = Ice(d.x, d.y, d.length, d.width, d.mu, d.v)
    return Start(body.placed(x, track_point(course, d.s), velocity, p), d.s, patch)


def marks(lane: Polygon, m: Ice) -> list[Polygon]:
    ice = [box(f"ice {m.mu:.2f}", m.x, m.y, m.length, m.width)] if m.length > 0.0 else []
    return [lane, *ice]


def disturb(
    law: GripLaw,
    wheels: Sequence[tuple[m, m]],
    x: Any,
    u: Any,
    p: Any,
    pose: Pose,
    m: Ice,
    q: LaneChangeParams,
) -> Any:
    """Disturbance from the friction under each wheel, on the ice or on the road."""
    grips: list[Any] = []
    for wheel in wheels:
        along, across = to_world(pose, *wheel)
        on_ice = logical_and(abs(along - m.x) < 0.5 * m.length, abs(across - m.y) < 0.5 * m.width)
        grips.append(q.mu * where(on_ice, m.mu, 1.0))
    return law(x, u, p, grips)
