"""Race tracks: a centre line with borders, from various sources or random by seed.

Centre line of the ring of free cells in an occupancy grid (`way_around`): everything that is not
part of the ring is either enclosed by it or around it. The centre line is equidistant from both:
the line on which the difference of the two distances is 0. It is a single closed line, since the
set of points nearer to one connected set than to another is itself connected to the first.
Obstacles within the ring belong to the nearer of the two sides, so that the line passes them where
there is more room.

The borders of a track (`border`) are offset lines at its widths from its centre line, trimmed where
they fold in tight bends. Inside of a bend that is tighter than the track is wide, the offset line
runs backwards and crosses itself. The loop in between is not reachable by a car and is cut off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.arrays import Array, Mask
from ...core.checks import flag, floats, instance_of, positive
from ...core.files import brief_repr
from ...errors import InvalidValue
from ...units import m, rad
from ..line import Crossings, Line, arc_length, blurred, crossings, even_curve, lengths, vertices
from ..polygon import frozen, line_edges, points_of, ring_edges, signed_area
from .cones import cone_outlines, line_between
from .map import DistanceField, Map, distances_to_cells, from_shapes, segments_of
from .occupancy import Grid, pose_of

_WIDEST_STEP: m = 0.5
_STEPS_ACROSS = 8.0
"""Default number of steps of the line per mean width."""
_BLUR = 0.25
"""Smoothing length of the line as a share of the mean width, since borders are stairs of
cells."""
_BY_EDGES, _BY_CORNERS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]]), np.ones((3, 3))
"""Connectivity of cells: by edges where a car drives, by corners where it does not."""


class Way(NamedTuple):
    """A closed centre line in m, and its distances to both sides."""

    centre: Array
    left: Array
    right: Array


def way_around(grid: Grid, start: tuple[m, m, rad] | None, spacing: m | None) -> Way:
    """Centre line of the ring of free cells; see `Track.of_grid`."""
    pose = None if start is None else pose_of("start", start)
    if pose is not None and not all(map(math.isfinite, pose)):
        raise InvalidValue(f"start = {pose} must be finite")
    free = ~grid.occupied if grid.unknown is None else ~(grid.occupied | grid.unknown)
    numbers, _ = _areas(np.pad(free, 1), _BY_EDGES)
    ring = _largest_ring(numbers, grid) if pose is None else _ring_at(numbers, grid, pose)
    # Crop with a margin of one cell, as wide as the border of the padded grid.
    (top, bottom), (first, last) = (
        np.flatnonzero(ring.any(axis=axis))[[0, -1]].tolist() for axis in (1, 0)
    )
    ring, corner = ring[top - 1 : bottom + 2, first - 1 : last + 2], (first - 2, top - 2)
    within, around = _sides(ring)
    origin = grid.resolution * corner[0], grid.resolution * corner[1], 0.0
    inner, outer = (
        DistanceField(grid.resolution * distances_to_cells(cells), grid.resolution, origin)
        for cells in (within, around)
    )
    # Find points between the inner half, where the values are negative, and the outer half.
    values = inner.values - outer.values
    negative = values < 0.0
    points: dict[tuple[int, int, int], tuple[float, float]] = {}
    for across in (0, 1):
        near, far = (values[:, :-1], values[:, 1:]) if across else (values[:-1], values[1:])
        for r, c in np.argwhere((near < 0.0) != (far < 0.0)).tolist():
            share = float(near[r, c] / (near[r, c] - far[r, c]))
            x, y = (c + share, float(r)) if across else (float(c), r + share)
            points[r, c, across] = x + 0.5, y + 0.5
    loop = grid.resolution * (np.array(_traced(points, negative)) + corner)
    if signed_area(loop) < 0.0:
        loop = loop[::-1]
    width = float(np.mean(inner.at(loop) + outer.at(loop)))
    loop = _smoothed(loop, _BLUR * width, grid.resolution)
    step = spacing or max(grid.resolution, min(width / _STEPS_ACROSS, _WIDEST_STEP))
    centre = even_curve(loop, step, closed=True).points
    way = Way(centre, inner.at(centre), outer.at(centre))
    way = way if pose is None else _begun(way, grid, pose)
    return Way(grid.to_world(way.centre), way.left, way.right)


def _ring_at(numbers: NDArray[np.int64], grid: Grid, start: tuple[m, m, rad]) -> Mask:
    row, column = (grid.cell_of([start[:2]])[0] + 1).tolist()
    inside = 0 <= row < numbers.shape[0] and 0 <= column < numbers.shape[1]
    if not inside or numbers[row, column] == 0:
        raise InvalidValue(
            f"start = {start} is not in a free cell of the grid; it covers "
            f"{tuple(round(value, 6) for value in grid.bounds)}"
        )
    ring = numbers == numbers[row, column]
    if not _encloses(ring):
        raise InvalidValue(
            f"the free cells around start = {start} enclose nothing: a track is a ring. Are there "
            "gaps in its walls?"
        )
    return ring


def _largest_ring(numbers: NDArray[np.int64], grid: Grid) -> Mask:
    rim = np.concatenate([numbers[1], numbers[-2], numbers[:, 1], numbers[:, -2]])
    sizes = np.bincount(numbers.ravel())
    sizes[np.append(rim, 0)] = 0
    for number in np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)]:
        if _encloses(numbers == number):
            return numbers == number
    raise InvalidValue(
        f"the grid of {grid.shape[0]} x {grid.shape[1]} cells has no ring of free cells that does "
        "not reach its edge; give start = (x, y, yaw) on the track, or close gaps in its walls"
    )


def _areas(cells: Mask, neighbours: Any) -> tuple[NDArray[np.int64], int]:
    """Labels of connected areas of cells, from 1, and their number."""
    from scipy.ndimage import label

    numbers, count = cast("tuple[Any, int]", label(cells, neighbours))
    return numbers.astype(np.int64), count


def _encloses(ring: Mask) -> bool:
    return _areas(~ring, _BY_CORNERS)[1] > 1


def _sides(ring: Mask) -> tuple[Mask, Mask]:
    """Masks of the obstacle cells within the ring of free cells and around it."""
    numbers, _ = _areas(~ring, _BY_CORNERS)
    sizes = np.bincount(numbers.ravel())
    sizes[[0, numbers[0, 0]]] = 0
    infield = int(sizes.argmax())
    within, around = numbers == infield, numbers == numbers[0, 0]
    islands = ~(ring | within | around)
    if islands.any():
        inner, outer = map(distances_to_cells, (within, around))
        for number in np.unique(numbers[islands]):
            cells = numbers == number
            nearer = inner[cells].min() <= outer[cells].min()
            (within if nearer else around)[cells] = True
    return within, around


def _traced(points: dict[tuple[int, int, int], tuple[float, float]], negative: Mask) -> list[Any]:
    """Longest closed line through points on edges between neighbouring cell centres."""
    best: list[Any] = []
    left = dict.fromkeys(points)
    while left:
        first = next(iter(left))
        chain = [first]
        del left[first]
        while True:
            ahead = [edge for edge in _beside(chain[-1], negative) if edge in left]
            if not ahead:
                break
            chain.append(ahead[0])
            del left[ahead[0]]
        best = max(best, chain, key=len)
    return [points[edge] for edge in best]


def _beside(edge: tuple[int, int, int], negative: Mask) -> list[tuple[int, int, int]]:
    """Edges to which a contour line continues from a given edge, through the squares on both
    sides.
    """
    r, c, across = edge
    squares = [(r - 1, c), (r, c)] if across else [(r, c - 1), (r, c)]
    neighbours: list[tuple[int, int, int]] = []
    for row, column in squares:
        if not (0 <= row < negative.shape[0] - 1 and 0 <= column < negative.shape[1] - 1):
            continue
        # Sides of the square whose lower left centre is (row, column): below, right, above, left.
        sides = [(row, column, 1), (row, column + 1, 0), (row + 1, column, 1), (row, column, 0)]
        a, b = negative[row, column], negative[row, column + 1]
        d, e = negative[row + 1, column], negative[row + 1, column + 1]
        changes = a != b, b != e, d != e, a != d
        crossed = [side for side, change in zip(sides, changes, strict=True) if change]
        if len(crossed) == 4:
            # The two negative corners are connected: each line cuts off one of the other corners.
            pairs = {0: 1, 1: 0, 2: 3, 3: 2} if a else {0: 3, 3: 0, 1: 2, 2: 1}
            neighbours.append(sides[pairs[sides.index(edge)]])
        else:
            neighbours += [side for side in crossed if side != edge]
    return neighbours


def _smoothed(loop: Array, blur: m, resolution: m) -> Array:
    """Smooth a closed line that follows stairs of cells."""
    closed = np.vstack([loop, loop[:1]])
    s = arc_length(closed)
    count = max(64, round(float(s[-1]) / resolution))
    at = np.linspace(0.0, s[-1], count, endpoint=False)
    even = np.column_stack([np.interp(at, s, column) for column in closed.T])
    smooth = blurred(even, float(s[-1]) / count, blur)
    # Choose few points, so that the curve is smooth, but enough to follow the bends.
    return smooth[:: max(1, int(0.5 * blur / resolution))]


def _begun(way: Way, grid: Grid, start: tuple[m, m, rad]) -> Way:
    """Start a closed line near a pose, and orient it in the direction of the pose."""
    x, y, yaw = start
    place = grid.to_grid(np.array([[x, y]]))[0]
    first = int(np.argmin(np.hypot(*(way.centre - place).T)))
    heading = float(Line.through(way.centre, closed=True).heading[first])
    way = Way(*(np.roll(values, -first, axis=0) for values in way))
    if math.cos(yaw - grid.origin[2] - heading) >= 0.0:
        return way
    centre, left, right = (np.roll(values[::-1], 1, axis=0) for values in way)
    return Way(centre, right, left)


Side = Literal["left", "right"]


SPACING: m = 0.5
"""Default spacing of the points of a centre line."""
LEAST_POINTS = 4
_BORDERS = cast("Array", None)
"""Default of `walls`: walls are made from the borders."""
_STRAIGHT = 0.005
"""Tolerance of walls simplified from the borders, as a share of the least distance to a border:
few and long walls speed up lidars and contacts."""
_UNEVEN = 0.01
"""Largest relative deviation of a centre line's step from the mean."""


class NarrowPlace(NamedTuple):
    """The narrowest place of a track."""

    s: m
    """Distance along the centre line."""
    x: m
    """x coordinate of the narrowest place in m."""
    y: m
    """y coordinate of the narrowest place in m."""
    width: m
    """Width from border to border."""


@dataclass(frozen=True, eq=False)
class Track:
    """A centre line with the distances to its borders, and the obstacles around it.

    The driving direction is the order of its points. `Track.between` makes one from points and
    widths, `of_cones` from cones, `of_grid` from an occupancy grid, `read_track` from a file and
    `random_track` from a seed. Arrays are read-only.
    """

    centre: Array
    """Equidistant points in m, shape (n, 2), n at least 4; a closed track does not repeat the
    first."""
    left: Array
    """Distance of each point from the left border in m, above 0, shape (n,)."""
    right: Array
    """Distance of each point from the right border in m, above 0, shape (n,)."""
    closed: bool = True
    """Whether the last point is followed by the first."""
    walls: Array = _BORDERS
    """Segments x0, y0, x1, y1 in m that lidars see and cars hit, shape (k, 4). Unless given or
    there is a grid, they are the borders to within 0.5 % of the least distance to one."""
    grid: Grid | None = None
    """Occupied cells of a track made from a grid; obstacles in addition to the walls."""
    name: str = "track"
    """Name in pictures and errors."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        set_field(self, "closed", flag("closed", self.closed))
        set_field(self, "centre", points_of("centre", self.centre, LEAST_POINTS))
        for side in ("left", "right"):
            set_field(self, side, _widths(side, getattr(self, side), len(self.centre)))
        self._check_line()
        if self.grid is not None and not isinstance(self.grid, Grid):
            raise InvalidValue(f"grid must be a Grid or None, got a {type(self.grid).__name__}")
        if self.walls is _BORDERS:
            nothing = np.empty((0, 4))
            set_field(self, "walls", frozen(self._border_walls() if self.grid is None else nothing))
        else:
            set_field(self, "walls", segments_of(self.walls))

    @classmethod
    def between(
        cls,
        points: ArrayLike,
        left: ArrayLike,
        right: ArrayLike,
        *,
        closed: bool = True,
        spacing: m = SPACING,
        name: str = "track",
        walls: ArrayLike | None = None,
    ) -> Track:
        """Track along the smooth line through points (n, 2), n at least 4, in m.

        `left` and `right` are the distances to the borders, one for all points or one for each, and
        linear in between. `spacing` is the approximate distance of the points of the result.
        """
        flag("closed", closed)
        through = vertices(points)
        if closed and len(through) > 2 and (through[0] == through[-1]).all():
            through = through[:-1]
            left, right = (w if np.ndim(w) == 0 else np.asarray(w)[:-1] for w in (left, right))
        if len(through) < LEAST_POINTS:
            raise InvalidValue(
                f"points has {len(through)} different points; a track needs at least {LEAST_POINTS}"
            )
        widths = [_widths(*side, len(through)) for side in (("left", left), ("right", right))]
        spacing = positive("spacing", spacing, "m")
        curve = even_curve(through, spacing, closed=closed)
        pieces = lengths(curve.points)
        if pieces.max() - pieces.min() > _UNEVEN * pieces.max():
            x, y = curve.points[int(pieces.argmin())].tolist()
            raise InvalidValue(
                f"the line through points turns too sharply near ({x:.6g}, {y:.6g}) for "
                f"spacing = {spacing:g} m; give a smaller one, or smoother points"
            )
        return cls(
            curve.points,
            *(curve.between(side) for side in widths),
            closed=closed,
            walls=cast("Array", walls),
            name=name,
        )

    @classmethod
    def of_cones(
        cls,
        left: ArrayLike,
        right: ArrayLike,
        start: ArrayLike = (),
        *,
        cone_radius: m | None = None,
        spacing: m = SPACING,
        name: str = "track",
    ) -> Track:
        """Track between left (blue) and right (yellow) cones (n, 2) in m, in any order.

        It begins near the `start` (orange) cones, if there are any. The walls are the cones:
        octagons of `cone_radius` in m, by default of the sizes of Formula Student.
        """
        each = points_of("left", left), points_of("right", right), points_of("start", start)
        cones = np.concatenate(each)
        colours = np.repeat(("blue", "yellow", "orange"), [len(them) for them in each]).tolist()
        rows = line_between(cones, colours)
        if rows is None:
            raise InvalidValue(
                f"{len(each[0])} left and {len(each[1])} right cones make no track: needed are two "
                "rows of cones, one on each side"
            )
        solids = from_shapes(cone_outlines(cones, colours, cone_radius), inside="solid", name=name)
        return cls.of_centre_line(
            rows, walls=solids.segments, spacing=spacing, name=name, smooth=True
        )

    @classmethod
    def of_centre_line(
        cls,
        rows: Array,
        *,
        closed: bool | None = None,
        walls: Array | None = None,
        spacing: m = SPACING,
        name: str = "track",
        smooth: bool = False,
    ) -> Track:
        """Track along a `Map.centre_line` (n, 6): s, x, y, phi, kappa, w; w is half its width.

        `walls` are segments (k, 4) in m; None: the borders. `smooth` averages the line over the
        spacing of its rows, which removes the wavering of a line between cones.
        """
        comes_back = len(rows) > 2 and bool((rows[0, 1:3] == rows[-1, 1:3]).all())
        points, width = rows[: len(rows) - comes_back, 1:3], rows[: len(rows) - comes_back, 5]
        closed = comes_back if closed is None else closed
        track = cls.between(points, width, width, closed=closed, spacing=spacing, name=name)
        if smooth:
            step = track.length / (len(track.centre) - (not closed))
            line = blurred(track.centre, step, float(np.mean(lengths(points))), closed=closed)
            curve = even_curve(line, step, closed=closed)
            sides = curve.between(track.left), curve.between(track.right)
            track = cls(curve.points, *sides, closed=closed, name=name)
        return track if walls is None else replace(track, walls=walls)

    @classmethod
    def of_grid(
        cls,
        grid: Grid,
        start: tuple[m, m, rad] | None = None,
        *,
        spacing: m | None = None,
        name: str = "track",
    ) -> Track:
        """Track along the ring of free cells of an occupancy grid, as in F1TENTH's maps.

        The centre line is equidistant from the obstacles within the ring and those around it. The
        line begins near the pose `start` (x, y, yaw) and has its direction; without one the ring is
        the largest that does not reach the edge of the grid, and the direction is
        counter-clockwise. `spacing` is the approximate distance of its points, by default an eighth
        of the mean width, at most 0.5 m.
        """
        instance_of("grid", grid, Grid)
        step = None if spacing is None else positive("spacing", spacing, "m")
        return cls(*way_around(grid, start, step), closed=True, grid=grid, name=name)

    def _check_line(self) -> None:
        """Raise unless the steps of the centre line are even and it does not cross itself."""
        line, steps = self.line, lengths(self.line.points)
        mean = float(steps.mean())
        off = np.abs(steps - mean)
        if off.max() > _UNEVEN * mean:
            k = int(off.argmax())
            raise InvalidValue(
                f"centre[{k}] is {steps[k]:.6g} m from the next point, where the mean step is "
                f"{mean:.6g} m; the points must be equally spaced: Track.between returns such "
                "points"
            )
        intersections = crossings(line_edges(line.points))
        if len(intersections):
            x, y = intersections.points[0].tolist()
            a, b = line.s[[intersections.first[0], intersections.second[0]]].tolist()
            raise InvalidValue(
                f"the centre line crosses itself near ({x:.6g}, {y:.6g}), at s = {a:.6g} m and at "
                f"s = {b:.6g} m; a track in the plane must not"
            )

    @cached_property
    def line(self) -> Line:
        """The centre line."""
        return Line.through(self.centre, closed=self.closed, name="centre")

    @property
    def length(self) -> m:
        """Length of the centre line; for a closed track, of a lap."""
        return self.line.length

    @cached_property
    def borders(self) -> tuple[Array, Array]:
        """Left and right border as points (k, 2) in m, with folds inside of tight bends trimmed."""
        left, right = border(self.line, self.left, "left"), border(self.line, self.right, "right")
        walls = edges(left, self.closed), edges(right, self.closed)
        intersections = crossings(np.concatenate(walls))
        if len(intersections):
            x, y = intersections.points[0].tolist()
            raise InvalidValue(
                f"the left border crosses the right one near ({x:.6g}, {y:.6g}); the track must "
                "not lie over itself: give smaller widths"
            )
        return frozen(left), frozen(right)

    def _border_walls(self) -> Array:
        tolerance = _STRAIGHT * float(min(self.left.min(), self.right.min()))
        sides = [simplify_border(side, self.closed, tolerance) for side in self.borders]
        return np.concatenate([edges(side, self.closed) for side in sides])

    @cached_property
    def map(self) -> Map:
        """Walls and grid for lidars and collision checks."""
        return Map(segments=self.walls, grid=self.grid, name=self.name)

    @property
    def narrowest(self) -> m:
        """Least width of the track, from border to border; see `narrowest_place`."""
        return self.narrowest_place.width

    @cached_property
    def narrowest_place(self) -> NarrowPlace:
        """Position and width at the narrowest place."""
        width = self.left + self.right
        k = int(width.argmin())
        x, y = self.centre[k].tolist()
        return NarrowPlace(float(self.line.s[k]), x, y, float(width[k]))

    def check_width(self, least: m) -> None:
        """Raise unless the track has at least this width in m everywhere; the error names the
        place."""
        least = positive("least", least, "m")
        place = self.narrowest_place
        if place.width < least:
            count = int(np.count_nonzero(self.left + self.right < least))
            raise InvalidValue(
                f"track {self.name!r} is {place.width:.4g} m wide at s = {place.s:.6g} m, "
                f"({place.x:.6g}, {place.y:.6g}), and at {count} of {len(self.centre)} points too "
                f"narrow; needed are {least:.4g} m"
            )

    def reversed(self) -> Track:
        """The track in the opposite direction; a closed one has the same first point."""
        first = 1 if self.closed else 0
        centre, left, right = (
            np.roll(values[::-1], first, axis=0) for values in (self.centre, self.left, self.right)
        )
        return replace(self, centre=centre, left=right, right=left)

    def mirrored(self) -> Track:
        """The track reflected about the world's x axis: y becomes -y, left becomes right."""
        return replace(
            self,
            centre=self.centre * [1.0, -1.0],
            left=self.right,
            right=self.left,
            walls=self.walls * [1.0, -1.0, 1.0, -1.0],
            grid=None if self.grid is None else self.grid.mirrored(),
        )


def _widths(side: str, values: Any, count: int) -> Array:
    """Distances (count,) to a border, above 0; a single one applies to all points."""
    widths = np.array(floats(side, values))
    if widths.ndim == 0:
        widths = np.full(count, widths)
    if widths.shape != (count,):
        raise InvalidValue(f"{side} has shape {widths.shape}; allowed is ({count},)")
    bad = np.flatnonzero(~((widths > 0.0) & (widths < np.inf)))
    if len(bad):
        raise InvalidValue(
            f"{side}[{bad[0]}] = {widths[bad[0]]:g} m must be finite and greater than 0"
        )
    return frozen(widths)


def random_track(
    seed: int = 0,
    *,
    length: m = 300.0,
    width: m = 3.5,
    radius: m = 4.5,
    spacing: m = 0.5,
    name: str = "",
) -> Track:
    """Random closed track from a seed, starting at the origin and counter-clockwise.

    It has this length and width, no bend of its centre line is tighter than `radius`, and parts
    that do not follow each other are at least half a width apart. The defaults have the size of
    Formula Student tracks; F1TENTH's have about `length=60, width=2, radius=1, spacing=0.2`,
    road courses `length=5000, width=12, radius=15, spacing=2`. It depends only on the seed and
    the sizes. `spacing` is the approximate distance between points of its centre line.
    """
    from ...random.race_track import random_track as made

    return made(seed, length, width, radius, spacing, name or f"random track {seed}")


class _Border(NamedTuple):
    points: Array
    """Points, (k, 2)."""
    at: Array
    """Index of the corresponding point of the centre line; NaN where a loop was cut."""

    def check_fold(
        self, loop: NDArray[np.int64], cross: Array, line: Line, side: Side, width: m
    ) -> None:
        """Raise unless a loop is a fold of a bend.

        A fold runs in the opposite direction to the bend, or is so short or small that it is no
        separate area, such as the end of a keyhole.
        """
        feet = self.at[loop]
        feet = feet[~np.isnan(feet)].astype(int)
        area = signed_area(np.vstack([cross, self.points[loop]]))
        if not len(feet) or (area < 0.0) == (side == "left"):
            return
        s = line.s[feet[0]], line.s[feet[-1]]
        along = (s[1] - s[0]) % line.length if line.closed else s[1] - s[0]
        if along > math.pi * width and abs(area) > width * width:
            x, y = cross.tolist()
            raise InvalidValue(
                f"the {side} border crosses itself near ({x:.6g}, {y:.6g}), at s = {s[0]:.6g} m "
                f"and at s = {s[1]:.6g} m: these parts of the track are too near for its width; "
                f"give a smaller {side}"
            )

    def cut(self, intersections: Crossings, line: Line, side: Side, width: m) -> _Border:
        """Remove loops from the border, the shortest ones first, none of which lies in another."""
        count = len(self.points)
        spans = intersections.second - intersections.first
        # On a closed border, the loop is the shorter of the two parts between the crossing edges.
        outer = line.closed & (2 * spans > count)
        order = np.argsort(np.where(outer, count - spans, spans), kind="stable")
        points, at = self.points.copy(), self.at.copy()
        remaining, touched = np.ones(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
        for k in order.tolist():
            loop = _loop(
                int(intersections.first[k]), int(intersections.second[k]), count, bool(outer[k])
            )
            around = np.concatenate([loop[:1] - 1, loop, loop[-1:] + 1]) % count
            if touched[around].any():
                continue
            self.check_fold(loop, intersections.points[k], line, side, width)
            touched[around] = True
            # Move the first point of the loop to the crossing of the edges.
            remaining[loop[1:]] = False
            points[loop[0]], at[loop[0]] = intersections.points[k], math.nan
        return _Border(points[remaining], at[remaining])


def border(line: Line, width: Array, side: Side) -> Array:
    """Offset line at `width` (n,) in m to one side of a centre line, (k, 2), without
    self-crossings."""
    points = line.beside(width if side == "left" else -width)
    whole = _Border(points, np.arange(len(points), dtype=float))
    # At most as many passes as points are needed, since each pass removes some.
    for _ in range(len(points)):
        intersections = crossings(edges(whole.points, line.closed))
        if len(intersections):
            whole = whole.cut(intersections, line, side, float(width.max()))
            continue
        forward = _forward(whole, line)
        if forward.all():
            break
        whole = _Border(whole.points[forward], whole.at[forward])
        if len(whole.points) < 3:
            break
    _check_around(whole.points, line, width, side)
    return whole.points


def edges(border: Array, closed: bool) -> Array:
    """Segments (n, 4) between consecutive points of a border."""
    return ring_edges(border) if closed else line_edges(border)


def simplify_border(border: Array, closed: bool, tolerance: m) -> Array:
    """Simplify a border (k, 2) to fewer points; removed points are within `tolerance` in m of the
    simplified line.
    """
    points = border.tolist()
    if closed:
        points.append(points[0])
    kept, ahead, low, high, reach = [0], 0.0, -math.pi, math.pi, 0.0
    for k in range(1, len(points)):
        begin, end = points[kept[-1]], points[k]
        off, away = _turn(begin, end, ahead), math.dist(begin, end)
        if not low <= off <= high or away < reach:
            kept.append(k - 1)
        if k == kept[-1] + 1:
            ahead, off, low, high = _turn(points[k - 1], points[k], 0.0), 0.0, -math.pi, math.pi
            away = math.dist(points[k - 1], points[k])
        # Range of directions in which a line from the last kept point passes close enough to this
        # point.
        half = math.asin(min(tolerance / max(away, tolerance), 1.0))
        low, high, reach = max(low, off - half), min(high, off + half), away
    return border[kept if closed else [*kept, len(border) - 1]]


def _turn(begin: list[m], end: list[m], ahead: rad) -> rad:
    """Direction from one point to another relative to `ahead`, in [-π, π]."""
    return math.remainder(math.atan2(end[1] - begin[1], end[0] - begin[0]) - ahead, math.tau)


def _loop(first: int, second: int, count: int, outer: bool) -> NDArray[np.int64]:
    """Indices of the points between two crossing edges, in order along the border."""
    begin, end = (second, first + count) if outer else (first, second)
    return np.arange(begin + 1, end + 1) % count


def _forward(whole: _Border, line: Line) -> Mask:
    """Mask of the points that are not at an end of a backward step, as in a fold shorter than two
    steps."""
    follows = np.roll(np.arange(len(whole.points)), -1)
    steps = whole.points[follows] - whole.points
    if not line.closed:
        steps[-1] = 0.0
    feet = np.where(np.isnan(whole.at), whole.at[follows], whole.at)
    heading = line.heading[np.nan_to_num(feet).astype(int)]
    ahead = np.cos(heading) * steps[:, 0] + np.sin(heading) * steps[:, 1]
    backwards = (ahead < 0.0) & ~np.isnan(whole.at) & ~np.isnan(whole.at[follows])
    return ~(backwards | np.roll(backwards, 1))


def _check_around(points: Array, line: Line, width: Array, side: Side) -> None:
    """Raise unless a border winds around as its centre line does: a bend that is inverted as a
    whole has no border."""
    enough = len(points) >= 3
    if enough and (not line.closed or signed_area(points) * signed_area(line.vertices) > 0.0):
        return
    bend = line.curvature[: len(width)] * (1.0 if side == "left" else -1.0)
    k = int(np.argmax(width * bend))
    radius = 1.0 / max(float(bend[k]), 1e-300)
    raise InvalidValue(
        f"{side}[{k}] = {float(width[k]):g} m reaches beyond the centre of the bend at "
        f"s = {line.s[k]:.6g} m, of radius {radius:.4g} m; give a smaller {side}"
    )
