"""Tracks to race on: a centre line with borders, whatever they came from, or from a seed.

The borders of a track, at the end, are lines at its widths from its centre line, cut where they
fold in tight bends. Inside of a bend that is tighter than the track is wide there, the line at a
constant distance runs backwards and crosses itself. What lies between is a loop that no car can be
in, and is cut off.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.arrays import Array, Mask
from ...core.checks import flag, floats, positive
from ...core.files import brief_repr
from ...errors import InvalidValue
from ...units import m, rad
from ..line import Crossings, Line, blurred, crossings, even_curve, lengths, vertices
from ..polygon import frozen, line_edges, points_of, ring_edges, signed_area
from .cones import cone_outlines, line_between
from .grid import Grid
from .map import Map, from_shapes, segments_of
from .track_of_grid import way_around

Side = Literal["left", "right"]


SPACING: m = 0.5
"""Distance of the points of a centre line, by default."""
LEAST_POINTS = 4
_BORDERS = cast("Array", None)
"""Walls that are to be made of the borders."""
_STRAIGHT = 0.005
"""Share of the least distance to a border by which its wall may differ from it: few and long walls
make fast lidars and contacts."""
_UNEVEN = 0.01
"""Share by which a step of a centre line may differ from the mean one."""


class NarrowPlace(NamedTuple):
    """A place of a track."""

    s: m
    """Distance along the centre line."""
    x: m
    """Position."""
    y: m
    """Position."""
    width: m
    """Width from border to border."""


@dataclass(frozen=True, eq=False)
class Track:
    """A centre line with the distances to its borders, and what stands around it.

    It is driven in the order of its points. `Track.between` makes one of any points and widths,
    `of_cones` of cones, `of_grid` of an occupancy grid, `read_track` of a file and `random_track`
    of a seed. Arrays are read-only.
    """

    centre: Array
    """Points in m at equal distances, shape (n, 2), n at least 4; of a closed track the first is
    not repeated."""
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
    """Occupied cells, where the track is from such; they are obstacles as walls are."""
    name: str = "track"
    """Shown on pictures and in errors."""

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
        """The track along the smooth line through points (n, 2), n at least 4, in m.

        `left` and `right` are the distances to the borders, one for all points or one for each;
        they are linear between these. `spacing` is about the distance of the points of the result.
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
        """The track between left (blue) and right (yellow) cones (n, 2) in m, in any order.

        It begins near the `start` (orange) cones, if there are some. The walls are the cones:
        octagons of `cone_radius` in m, without one of the sizes of Formula Student.
        """
        by_colour = {
            colour: points_of(what, cones)
            for colour, what, cones in zip(
                ("blue", "yellow", "orange"),
                ("left", "right", "start"),
                (left, right, start),
                strict=True,
            )
        }
        cones = np.concatenate(list(by_colour.values()))
        colours = [colour for colour, them in by_colour.items() for _ in them]
        rows = line_between(cones, colours)
        if rows is None:
            raise InvalidValue(
                f"{len(by_colour['blue'])} left and {len(by_colour['yellow'])} right cones make no "
                "track: needed are two rows of cones, one on each side"
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
        """The track along a `Map.centre_line` (n, 6): s, x, y, phi, kappa, w; w is half its width.

        `walls` are segments (k, 4) in m; None: the borders. `smooth` averages the line over the
        distance of its rows: one between cones wavers.
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
        """The track around the ring of free cells of an occupancy grid, as F1TENTH's maps are.

        Its line is everywhere as far from what is within the ring as from what is around it. It
        begins near the pose `start` (x, y, yaw) and runs its way; without one the ring is the
        largest that does not reach the edge of the grid, and is run counter-clockwise. `spacing`
        is about the distance of its points; by itself an eighth of the mean width, at most 0.5 m.
        """
        if not isinstance(grid, Grid):
            raise InvalidValue(f"grid must be a Grid, got a {type(grid).__name__}")
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
                f"{mean:.6g} m; the points must be equally spaced: Track.between makes them so"
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
        """Length of the centre line; of a closed track that of a lap."""
        return self.line.length

    @cached_property
    def borders(self) -> tuple[Array, Array]:
        """Left and right border as points (k, 2) in m; what folds inside of tight bends is cut."""
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
        """Least width of the track, from border to border; `narrowest_place` says where."""
        return self.narrowest_place.width

    @cached_property
    def narrowest_place(self) -> NarrowPlace:
        """Where the track is narrowest."""
        width = self.left + self.right
        k = int(width.argmin())
        x, y = self.centre[k].tolist()
        return NarrowPlace(float(self.line.s[k]), x, y, float(width[k]))

    def check_width(self, least: m) -> None:
        """Raise unless the track is at least so wide in m everywhere; the error says where not."""
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
        """The same track the other way; a closed one has the same first point."""
        first = 1 if self.closed else 0
        centre, left, right = (
            np.roll(values[::-1], first, axis=0) for values in (self.centre, self.left, self.right)
        )
        return replace(self, centre=centre, left=right, right=left)

    def mirrored(self) -> Track:
        """The track seen in a mirror along the world's x axis: y becomes -y, left becomes right."""
        return replace(
            self,
            centre=self.centre * [1.0, -1.0],
            left=self.right,
            right=self.left,
            walls=self.walls * [1.0, -1.0, 1.0, -1.0],
            grid=None if self.grid is None else self.grid.mirrored(),
        )


def _widths(side: str, values: Any, count: int) -> Array:
    """Distances (count,) to a border, above 0; one is that of all points."""
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
    """The closed track of a seed, from the origin on and counter-clockwise.

    It has this length and width, no bend of its centre line is tighter than `radius`, and
    parts that do not follow each other are at least half a width apart. By itself it is of the size
    of Formula Student's; F1TENTH's have about `length=60, width=2, radius=1, spacing=0.2`, road
    courses `length=5000, width=12, radius=15, spacing=2`. It depends on its seed and the sizes
    alone. `spacing` is about the distance between points of its centre line.
    """
    from ...random.race_track import random_track as made

    return made(seed, length, width, radius, spacing, name or f"random track {seed}")


class _Border(NamedTuple):
    points: Array
    """(k, 2)."""
    at: Array
    """Number of the point of the centre line that each belongs to; NaN where a loop was cut."""


def border(line: Line, width: Array, side: Side) -> Array:
    """The line at `width` (n,) in m to one side of a centre line, (k, 2), never across itself."""
    points = line.beside(width if side == "left" else -width)
    whole = _Border(points, np.arange(len(points), dtype=float))
    # Each round takes points away.
    for _ in range(len(points)):
        intersections = crossings(edges(whole.points, line.closed))
        if len(intersections):
            whole = _cut(whole, intersections, line, side, float(width.max()))
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
    """The segments (n, 4) of a border."""
    return ring_edges(border) if closed else line_edges(border)


def simplify_border(border: Array, closed: bool, tolerance: m) -> Array:
    """Some points of a border (k, 2), few enough: the others are within `tolerance` in m of the
    lines between these."""
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
        # Directions in which a line from there passes this point closely enough.
        half = math.asin(min(tolerance / max(away, tolerance), 1.0))
        low, high, reach = max(low, off - half), min(high, off + half), away
    return border[kept if closed else [*kept, len(border) - 1]]


def _turn(begin: list[m], end: list[m], ahead: rad) -> rad:
    """The direction from one point to another, from that of `ahead`, in [-π, π]."""
    return math.remainder(math.atan2(end[1] - begin[1], end[0] - begin[0]) - ahead, math.tau)


def _cut(whole: _Border, intersections: Crossings, line: Line, side: Side, width: m) -> _Border:
    """The border without the shortest loops, of which none lies in another."""
    count = len(whole.points)
    spans = intersections.second - intersections.first
    # Of a closed border the loop is the shorter way round.
    outer = line.closed & (2 * spans > count)
    order = np.argsort(np.where(outer, count - spans, spans), kind="stable")
    points, at = whole.points.copy(), whole.at.copy()
    remaining, touched = np.ones(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
    for k in order.tolist():
        loop = _loop(
            int(intersections.first[k]), int(intersections.second[k]), count, bool(outer[k])
        )
        around = np.concatenate([loop[:1] - 1, loop, loop[-1:] + 1]) % count
        if touched[around].any():
            continue
        _check_fold(whole, loop, intersections.points[k], line, side, width)
        touched[around] = True
        # The first of them moves to where the edges cross.
        remaining[loop[1:]] = False
        points[loop[0]], at[loop[0]] = intersections.points[k], math.nan
    return _Border(points[remaining], at[remaining])


def _loop(first: int, second: int, count: int, outer: bool) -> NDArray[np.int64]:
    """Numbers of the points between two crossing edges, in order along the border."""
    begin, end = (second, first + count) if outer else (first, second)
    return np.arange(begin + 1, end + 1) % count


def _check_fold(
    whole: _Border, loop: NDArray[np.int64], cross: Array, line: Line, side: Side, width: m
) -> None:
    """Raise unless a loop is a fold of a bend, one that runs the other way round than the bend, or
    so short or small that it is no place of its own, as the end of a keyhole."""
    feet = whole.at[loop]
    feet = feet[~np.isnan(feet)].astype(int)
    area = signed_area(np.vstack([cross, whole.points[loop]]))
    if not len(feet) or (area < 0.0) == (side == "left"):
        return
    s = line.s[feet[0]], line.s[feet[-1]]
    along = (s[1] - s[0]) % line.length if line.closed else s[1] - s[0]
    if along > math.pi * width and abs(area) > width * width:
        x, y = cross.tolist()
        raise InvalidValue(
            f"the {side} border crosses itself near ({x:.6g}, {y:.6g}), at s = {s[0]:.6g} m and "
            f"at s = {s[1]:.6g} m: these parts of the track are too near for its width; give a "
            f"smaller {side}"
        )


def _forward(whole: _Border, line: Line) -> Mask:
    """Which points are not at an end of a step backwards, as a fold shorter than two steps has."""
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
    """Raise unless a border goes around as its centre line does: a bend that is turned inside out
    as a whole has no border."""
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
