"""Tracks in compiled code: the position of a vehicle along a track, and the walls near it.

All tracks of a task are shared arrays; an environment stores the indices of its own track's arrays
as leaves of a record, so environments on different tracks share one kernel.

For contact tests the ground is divided into square cells. Each cell lists all wall segments that a
vehicle with its reference point in the cell can reach, so a test reads a single list of bounded
length: there are no branches, and lanes, GPU and plain Python give the same result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from math import hypot
from typing import Any, NamedTuple

import numpy as np

from ..control.car import Deviation, advance
from ..control.path_following import heading_error
from ..core.arrays import AnyArray, Array, ArrayNumber, shared_array
from ..core.backends import called
from ..core.body import Pose, Velocity
from ..errors import InvalidValue
from ..geometry.line import LinePoint
from ..geometry.maps.map import border_segments
from ..geometry.maps.occupancy import Grid
from ..geometry.maps.track import Track
from ..geometry.pose import rotated, to_body
from ..ops import clip, floor, logical_and, logical_or, maximum, minimum, read, where
from ..units import m, m_s, one, per_m, rad

MOST = 256
"""Largest number of walls in a cell's list: each of them is tested in every control period."""
_CELLS_PER_RADIUS = 3.0
_LEAST_CELLS, _MOST_CELLS = 0.05, 4.0
"""Shortest and longest edge of a cell, in m."""


class Walls(NamedTuple):
    """Cell lists and wall segments of a track, as leaves of a record."""

    lists: one
    """Index of the shared array with first wall and wall count of every cell, row by row."""
    segments: one
    """Index of the shared array of walls: x0, y0, x1, y1 in m, from the corner of the grid."""
    x: m
    """x of the outer corner of the first cell, in the world frame."""
    y: m
    """y of the outer corner of the first cell, in the world frame."""
    edge: m
    """Edge length of a cell."""
    columns: one
    """Number of cells along x."""
    rows: one
    """Number of cells along y."""


class WallLists(NamedTuple):
    records: list[Walls]
    most: int
    """Length of the longest list."""


def walls_of(maps: Sequence[tuple[Array, Grid | None]], radius: m) -> WallLists:
    """Cell lists of the walls of several maps.

    Args:
        maps: for each map its wall segments (k, 4) and its occupancy grid, or None.
        radius: distance from the vehicle's reference point to its farthest point, in m.
    """
    made = [
        _lists(
            segments if grid is None else np.concatenate([segments, border_segments(grid)]), radius
        )
        for segments, grid in maps
    ]
    return WallLists([walls for walls, _ in made], max(count for _, count in made))


def touches(walls: Walls, most: int, pose: Pose, parts: Sequence[Sequence[tuple[Any, Any]]]) -> Any:
    """Whether a vehicle at a pose touches a wall: 1.0 or 0.0.

    Args:
        walls: walls of the vehicle's track.
        most: length of the longest cell list.
        pose: pose of the vehicle's reference point.
        parts: convex parts of its outline, counter-clockwise, in m from the reference point.
    """
    # Coordinates relative to the corner of the map, so that float32 keeps its digits.
    here = Pose(pose.x - walls.x, pose.y - walls.y, pose.yaw)
    column = clip(floor(here.x / walls.edge), 0.0, walls.columns - 1.0)
    row = clip(floor(here.y / walls.edge), 0.0, walls.rows - 1.0)
    cell = 2.0 * (row * walls.columns + column)
    first, count = read(walls.lists, cell), read(walls.lists, cell + 1.0)
    # One function called for each wall: many copies would take long to compile.
    meets = partial(_meets, parts)
    hit: Any = 0.0
    for k in range(most):
        at = 4.0 * (first + float(k))
        ends = [read(walls.segments, at + float(j)) for j in range(4)]
        begin, end = to_body(here, ends[0], ends[1]), to_body(here, ends[2], ends[3])
        hit = where(count > float(k), maximum(hit, called(meets, begin, end)), hit)
    return hit


def _meets(parts: Sequence[Sequence[tuple[Any, Any]]], begin: Any, end: Any) -> Any:
    """Separating-axis test: 1.0 if a segment touches one of several convex polygons, else 0.0."""
    along_x, along_y = end[0] - begin[0], end[1] - begin[1]
    from_origin = along_x * begin[1] - along_y * begin[0]
    met: Any = False
    for corners in parts:
        # Above 0 to the left of the segment; above 0 within an edge.
        sides = [along_x * y - along_y * x - from_origin for x, y in corners]
        depths = [maximum(height(*begin), height(*end)) for height in _heights(corners)]
        across = logical_and(reduce(minimum, sides) <= 0.0, reduce(maximum, sides) >= 0.0)
        met = logical_or(met, logical_and(across, reduce(minimum, depths) >= 0.0))
    return where(met, 1.0, 0.0)


def _heights(corners: Sequence[tuple[Any, Any]]) -> list[Callable[[Any, Any], Any]]:
    """For each edge of a convex polygon, a function for a point's signed distance inwards, in m."""
    heights: list[Callable[[Any, Any], Any]] = []
    for (x0, y0), (x1, y1) in zip(corners, (*corners[1:], corners[0]), strict=True):
        length = hypot(x1 - x0, y1 - y0)
        n_x, n_y = (y0 - y1) / length, (x1 - x0) / length
        heights.append(partial(_height, n_x, n_y, n_x * x0 + n_y * y0))
    return heights


def _height(n_x: float, n_y: float, least: m, x: Any, y: Any) -> Any:
    return n_x * x + n_y * y - least


def _lists(segments: Array, radius: m) -> tuple[Walls, int]:
    if not len(segments):
        nothing = shared_array([0.0, 0.0])
        return Walls(nothing, shared_array(np.zeros(4)), 0.0, 0.0, 1.0, 1.0, 1.0), 0
    ends = segments.reshape(-1, 2)
    edge = float(np.clip(radius / _CELLS_PER_RADIUS, _LEAST_CELLS, _MOST_CELLS))
    # A cell beyond the walls' box lists nothing that is not in reach of the cells at its edge.
    low = ends.min(axis=0) - radius - edge
    columns, rows = (np.ceil((ends.max(axis=0) + radius + edge - low) / edge)).astype(int).tolist()
    near = _near(segments, low, edge, (rows, columns), radius + edge * np.sqrt(0.5))
    counts = np.bincount(near[:, 0], minlength=rows * columns)
    most = int(counts.max())
    if most > MOST:
        x, y = low + edge * (np.array(divmod(int(counts.argmax()), columns))[::-1] + 0.5)
        raise InvalidValue(
            f"near ({x:.1f}, {y:.1f}) m there are {most} walls within {radius:.2f} m, the reach of "
            f"the vehicle; at most {MOST} are supported: use a coarser map"
        )
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    lists = np.column_stack([first, counts])
    listed = (segments - np.tile(low, 2))[near[:, 1]]
    x, y = low.tolist()
    numbers = shared_array(lists), shared_array(listed)
    return Walls(*numbers, x, y, edge, float(columns), float(rows)), most


def _near(segments: Array, low: Array, edge: m, shape: tuple[int, int], reach: m) -> AnyArray:
    """Index pairs (cell, segment), shape (n, 2), of segments within `reach` of the cell's centre.

    Sorted by cell.
    """
    rows, columns = shape
    boxes = np.column_stack([
        np.minimum(segments[:, :2], segments[:, 2:]) - reach - low,
        np.maximum(segments[:, :2], segments[:, 2:]) + reach - low,
    ])  # fmt: skip
    bounds = np.floor(boxes / edge).astype(int)
    bounds = np.clip(bounds, 0, [columns - 1, rows - 1, columns - 1, rows - 1])
    # All cells of the boxes of all segments, in a row.
    wide, high = (bounds[:, k + 2] - bounds[:, k] + 1 for k in range(2))
    counts = wide * high
    number = np.repeat(np.arange(len(segments)), counts)
    within = np.arange(len(number)) - np.repeat(np.cumsum(counts) - counts, counts)
    up, across = np.divmod(within, wide[number])
    cells = np.column_stack([bounds[number, 0] + across, bounds[number, 1] + up])
    middles = low + edge * (cells + 0.5)
    chosen = _distances(middles, segments[number]) <= reach
    pairs = np.column_stack([cells[:, 1] * columns + cells[:, 0], number])[chosen]
    return pairs[np.argsort(pairs[:, 0], kind="stable")]


def _distances(points: Array, segments: Array) -> Array:
    """Distance of each point (n, 2) from the segment (n, 4) in the same row."""
    along, offset = segments[:, 2:] - segments[:, :2], points - segments[:, :2]
    squared = np.maximum((along * along).sum(axis=1), np.finfo(float).tiny)
    share = np.clip((offset * along).sum(axis=1) / squared, 0.0, 1.0)
    return np.hypot(*(offset - share[:, None] * along).T)


COLUMNS = ("x", "y", "heading", "curvature", "left", "right")
"""Columns of the table of a centre line."""
_NEWTON_STEPS = 2
"""Newton steps from the closest point of the previous period to that of the current one."""


class Course(NamedTuple):
    """A track in compiled code: its centre line and walls, as leaves of a record."""

    track: one
    """Index of the track in its task."""
    line: one
    """Index of the shared array of its centre line, with rows of `COLUMNS` at equal spacing."""
    step: m
    """Spacing of the rows."""
    length: m
    """Length of a lap, or of the whole line on an open track."""
    closed: one
    """1 on a closed track, else 0."""
    walls: Walls
    """Cell lists and segments of its walls."""


class Place(NamedTuple):
    """Position of a vehicle's reference point relative to the centre line of its track."""

    s: m
    """Distance along the centre line from its first point; on a loop, modulo the lap length."""
    n: m
    """Offset from the centre line, positive to the left."""
    heading: rad
    """Heading of the vehicle relative to the line, from -π to π, positive to the left."""
    curvature: per_m
    """Curvature of the line, positive to the left."""
    left: m
    """Distance from the centre line to the left border."""
    right: m
    """Distance from the centre line to the right border."""
    progress: m
    """Distance along the line since the start, whole laps included."""
    gained: m
    """Progress in the last control period."""
    v_s: m_s
    """Component of the velocity along the line."""
    course: Course
    """The track, for `curvature_ahead` and `point_at`."""

    @property
    def off_track(self) -> Any:
        """Whether the reference point is beyond a border."""
        return logical_or(self.n > self.left, self.n < -self.right)

    @property
    def at_end(self) -> Any:
        """Whether the reference point is at the end of an open track."""
        return logical_and(self.course.closed < 0.5, self.s >= self.course.length)


class PlaceMemory(NamedTuple):
    """Memory of a vehicle's `Place` that is carried from one control period to the next."""

    s: m = 0.0
    """Distance along the centre line; on a loop, modulo the lap length."""
    progress: m = 0.0
    """Distance travelled along the line since the start."""


class Courses:
    """Tracks of a task, with their shared arrays.

    Args:
        tracks: one or more tracks.
        radius: distance from the vehicle's reference point to its farthest point, in m; walls
            farther away cannot be hit.
    """

    def __init__(self, tracks: Sequence[Track], radius: m) -> None:
        if not tracks:
            raise InvalidValue("a course needs at least one track")
        self.tracks = tuple(tracks)
        lists = walls_of([(track.walls, track.grid) for track in tracks], radius)
        self.most_walls = lists.most
        """Length of the longest list of walls near a vehicle."""
        self.records = [
            _course(k, track, walls)
            for k, (track, walls) in enumerate(zip(tracks, lists.records, strict=True))
        ]
        self.table = _table(self.records)
        """Shared array of all records, one row per track, for kernels that select one."""

    @classmethod
    def restored(cls, tracks: Sequence[Track], records: Sequence[Course], most: int) -> Courses:
        """Courses from a saved file, whose tables are used instead of being recomputed."""
        made = object.__new__(cls)
        made.tracks, made.records, made.most_walls = tuple(tracks), list(records), most
        made.table = _table(records)
        return made

    def course(self, number: Any, table: Any) -> Course:
        """Course of the track with index `number`, read from `table`; both may be traced."""
        size = len(_leaves(self.records[0]))
        first = clip(floor(number), 0.0, len(self.tracks) - 1.0) * float(size)
        return course_of([read(table, first + float(k)) for k in range(size)])


def course_of(leaves: Sequence[Any]) -> Course:
    outer = len(Course._fields) - 1
    return Course._make([*leaves[:outer], Walls(*leaves[outer:])])


def _table(records: Sequence[Course]) -> ArrayNumber:
    return shared_array(np.array([_leaves(course) for course in records]))


def _leaves(course: Course) -> list[Any]:
    return [*course[:-1], *course.walls]


def _course(number: int, track: Track, walls: Walls) -> Course:
    line = track.line
    count = len(track.centre)
    # The first row of a loop is repeated at its end, with the heading after a lap.
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
    """Point of the centre line at distance `s` along it, in m; on a loop, modulo its length."""
    return LinePoint(*_row(course, s, 4))


def borders_at(course: Course, s: Any) -> tuple[m, m]:
    """Distances in m from the centre line to left and right border, at distance `s` along it."""
    *_, left, right = _row(course, s, len(COLUMNS))
    return left, right


def curvature_ahead(place: Place, distance: Any) -> per_m:
    """Curvature of the centre line `distance` metres ahead of a place, positive to the left."""
    index, share = _index(place.course, place.s + distance)
    return _between(place.course.line, index, share, COLUMNS.index("curvature"))


def track_point(course: Course, s: Any, n: Any = 0.0) -> Pose:
    """Pose `n` m to the left of the centre line at distance `s` in m, heading along the line."""
    point = point_at(course, s)
    aside_x, aside_y = rotated(0.0, n, point.heading)
    return Pose(point.x + aside_x, point.y + aside_y, point.heading)


def placed_at(course: Course, s: Any, pose: Pose, velocity: Velocity) -> tuple[Place, PlaceMemory]:
    """Initial place and memory of a vehicle that starts near a distance `s` along the line."""
    start = PlaceMemory(_within_lap(course, s), 0.0)
    place, _ = place_of(course, start, pose, velocity)
    place = place._replace(progress=0.0 * place.s, gained=0.0 * place.s)
    return place, PlaceMemory(place.s, place.progress)


def place_of(
    course: Course, before: PlaceMemory, pose: Pose, velocity: Velocity
) -> tuple[Place, PlaceMemory]:
    """Place of a vehicle and its new memory, from the memory of the previous control period."""
    s = before.s
    for _ in range(_NEWTON_STEPS):
        point = point_at(course, s)
        ahead, left = to_body(point[:3], pose.x, pose.y)
        s = s + advance(Deviation(ahead, left, 0.0), point.curvature)
    # Beyond the end of an open line, the place stays at the last point and progress stops.
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
