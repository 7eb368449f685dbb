"""Tracks as compiled code reads them: where a vehicle is along one, and which walls are near.

All tracks of a task are shared arrays; an environment holds the numbers of its own one as leaves of
a record, so environments on different tracks share one kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..body import Pose, Velocity
from ..controllers.following import heading_error
from ..controllers.line import Deviation, advance
from ..errors import InvalidValue
from ..ops import clip, floor, logical_and, logical_or, read, where
from ..plane.line import Line, LinePoint
from ..plane.maps.track import Track
from ..plane.pose import rotated, to_body
from ..shared_arrays import ArrayNumber, shared_array
from ..units import m, m_s, one, per_m, rad
from .walls import Walls, walls_of

COLUMNS = ("x", "y", "heading", "curvature", "left", "right")
"""Of a row of the line."""
_LOOKS = 2
"""Newton steps from the foot of the last period to that of this one."""


class Course(NamedTuple):
    """One track, as leaves of a record."""

    track: one
    """Its number among those of the task."""
    line: one
    """Number of the array of its centre line, rows of `COLUMNS`, equally far apart."""
    step: m
    """Distance of the rows."""
    length: m
    """Of a lap, or from end to end."""
    closed: one
    """1 if it is a loop, else 0."""
    walls: Walls
    """What there is to hit."""


class Place(NamedTuple):
    """Where a vehicle is on its track. The point meant is the body's reference point."""

    s: m
    """Along the centre line, from its first point; below a lap."""
    n: m
    """From the centre line, positive to the left of it."""
    heading: rad
    """Of the vehicle from that of the line, from -π to π, positive to the left."""
    curvature: per_m
    """Of the line, positive to the left."""
    left: m
    """From the centre line to the left border."""
    right: m
    """From the centre line to the right border."""
    progress: m
    """Along the line since the start; whole laps count."""
    gained: m
    """Of this, in the last control period."""
    v_s: m_s
    """Velocity along the line."""
    course: Course
    """The track itself, for `curvature_ahead` and `point_at`."""

    @property
    def off_track(self) -> Any:
        """Whether the reference point is beyond a border."""
        return logical_or(self.n > self.left, self.n < -self.right)

    @property
    def at_end(self) -> Any:
        """Whether it has come to the end of a track that is no loop."""
        return logical_and(self.course.closed < 0.5, self.s >= self.course.length)


class PlaceMemory(NamedTuple):
    """What is kept of a place from period to period."""

    s: m = 0.0
    """Along the centre line; below a lap."""
    progress: m = 0.0
    """Since the start."""


class Courses:
    """The tracks of a task, and their arrays.

    Args:
        tracks: one or more.
        radius: of the vehicle about its reference point, in m: walls that are farther away cannot
            be hit.
    """

    def __init__(self, tracks: Sequence[Track], radius: m) -> None:
        if not tracks:
            raise InvalidValue("a course needs at least one track")
        self.tracks = tuple(tracks)
        lists = walls_of([(track.walls, track.grid) for track in tracks], radius)
        self.most_walls = lists.most
        """Walls that a vehicle can be near at a time, at most."""
        self.records = [
            _course(k, track, walls)
            for k, (track, walls) in enumerate(zip(tracks, lists.records, strict=True))
        ]
        """A `Course` for each track."""
        self.table = _table(self.records)
        """All of them, a row for each track, for kernels that choose one."""

    @classmethod
    def restored(cls, tracks: Sequence[Track], records: Sequence[Course], most: int) -> Courses:
        """Those of a file: what follows from the tracks is taken as it is."""
        made = object.__new__(cls)
        made.tracks, made.records, made.most_walls = tuple(tracks), list(records), most
        made.table = _table(records)
        return made

    def chosen(self, number: Any, table: Any) -> Course:
        """The course of a track by its number and that of the table; both may be traced."""
        size = len(_leaves(self.records[0]))
        first = clip(floor(number), 0.0, len(self.tracks) - 1.0) * float(size)
        return course_of([read(table, first + float(k)) for k in range(size)])


def course_of(leaves: Sequence[Any]) -> Course:
    """The record of its leaves."""
    outer = len(Course._fields) - 1
    return Course._make([*leaves[:outer], Walls(*leaves[outer:])])


def _table(records: Sequence[Course]) -> ArrayNumber:
    return shared_array(np.array([_leaves(course) for course in records]))


def _leaves(course: Course) -> list[Any]:
    return [*course[:-1], *course.walls]


def _course(number: int, track: Track, walls: Walls) -> Course:
    line = Line.through(track.centre, closed=track.closed)
    count = len(track.centre)
    # Of a loop the first row comes again at the end, with the heading of a lap on.
    s = np.linspace(0.0, line.length, count + 1 if track.closed else count)
    at = line.at(s)
    widths = [np.append(w, w[0]) if track.closed else w for w in (track.left, track.right)]
    rows = np.column_stack([at.x, at.y, at.heading, at.curvature, *widths])
    return Course(
        float(number),
        shared_array(rows),
        float(s[1]),
        float(line.length),
        float(track.closed),
        walls,
    )


def point_at(course: Course, s: Any) -> LinePoint:
    """The point of the centre line at a distance along it, in m; a loop goes on and on."""
    return LinePoint(*_row(course, s, 4))


def borders_at(course: Course, s: Any) -> tuple[m, m]:
    """From the centre line to the left and the right border at a distance along it, in m."""
    *_, left, right = _row(course, s, len(COLUMNS))
    return left, right


def curvature_ahead(place: Place, distance: Any) -> per_m:
    """Of the centre line a distance in m ahead of a place, positive to the left."""
    index, share = _index(place.course, place.s + distance)
    return _between(place.course.line, index, share, COLUMNS.index("curvature"))


def track_point(course: Course, s: Any, n: Any = 0.0) -> Pose:
    """The pose at a distance `s` along the line and `n` to the left of it, along the line."""
    point = point_at(course, s)
    aside_x, aside_y = rotated(0.0, n, point.heading)
    return Pose(point.x + aside_x, point.y + aside_y, point.heading)


def placed_at(course: Course, s: Any, pose: Pose, velocity: Velocity) -> tuple[Place, PlaceMemory]:
    """Where a vehicle is that starts near a distance `s` along the line."""
    start = PlaceMemory(_within_lap(course, s), 0.0)
    place, _ = place_of(course, start, pose, velocity)
    place = place._replace(progress=0.0 * place.s, gained=0.0 * place.s)
    return place, PlaceMemory(place.s, place.progress)


def place_of(
    course: Course, before: PlaceMemory, pose: Pose, velocity: Velocity
) -> tuple[Place, PlaceMemory]:
    """Where a vehicle is, from where it was a control period ago."""
    s = before.s
    for _ in range(_LOOKS):
        point = point_at(course, s)
        ahead, left = to_body(point[:3], pose.x, pose.y)
        s = s + advance(Deviation(ahead, left, 0.0), point.curvature)
    # An open line ends: who drives on stays at its last point, and gains nothing more.
    s = where(course.closed > 0.5, s, clip(s, 0.0, course.length))
    gained = s - before.s
    s = _within_lap(course, s)
    x, y, heading, curvature, left_border, right_border = _row(course, s, len(COLUMNS))
    _, n = to_body((x, y, heading), pose.x, pose.y)
    off = heading_error(pose.yaw, heading)
    v_s, _ = rotated(velocity.v_x, velocity.v_y, off)
    progress = before.progress + gained
    place = Place(s, n, off, curvature, left_border, right_border, progress, gained, v_s, course)
    return place, PlaceMemory(s, progress)


def _within_lap(course: Course, s: Any) -> Any:
    laps = floor(s / course.length) * where(course.closed > 0.5, 1.0, 0.0)
    return s - laps * course.length


def _row(course: Course, s: Any, columns: int) -> list[Any]:
    index, share = _index(course, s)
    return [_between(course.line, index, share, k) for k in range(columns)]


def _index(course: Course, s: Any) -> tuple[Any, Any]:
    along = clip(_within_lap(course, s), 0.0, course.length) / course.step
    last = floor(course.length / course.step + 0.5) - 1.0
    index = clip(floor(along), 0.0, last)
    return index, along - index


def _between(line: Any, index: Any, share: Any, column: int) -> Any:
    first = index * float(len(COLUMNS)) + float(column)
    low, high = read(line, first), read(line, first + float(len(COLUMNS)))
    return low + share * (high - low)
