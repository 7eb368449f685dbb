"""Polylines: length, direction and curvature, nearest points, and crossings.

Directions and curvatures are those of the circle through three neighbouring points, so they are
exact where the points lie on a straight or on a circle. Left of a line is positive.

Everything here uses array lookups, which cannot be traced. Policies that are compiled with
a vehicle use a line as a function of the distance instead (`control.Reference.table`).

`even_curve` and `blurred` make smooth curves through points; `crossings` finds where lines of many
short segments cross each other.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from math import floor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.arrays import Array
from ..core.files import brief_repr
from ..errors import InvalidValue
from ..ops import cos, sin, where
from ..units import m, per_m, rad
from .polygon import distances, frozen, line_edges

MANY = 1_000_000
"""Number of pairs of positions and segments from which a spatial index is used."""


class LinePoint(NamedTuple):
    """A point of a line, in the world frame."""

    x: m
    """x coordinate."""
    y: m
    """y coordinate."""
    heading: rad
    """Direction of the line from the world x axis, positive to the left."""
    curvature: per_m
    """Rate of the heading over distance, positive in a left turn."""


class Nearest(NamedTuple):
    """Nearest points of a line to some positions."""

    s: Array
    """Distance along the line in m; negative before the start if the line is extended there."""
    left: Array
    """Offset from the line in m, positive if the position is to the left of it."""


def vertices(points: ArrayLike, name: str = "points") -> Array:
    """Checked points of a line (n, 2): at least two, finite, no consecutive duplicates."""
    try:
        line = np.array(points, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"{name} must be an array (n, 2) of numbers in m") from None
    if line.ndim != 2 or line.shape[1] != 2 or len(line) < 2:
        raise InvalidValue(f"{name} must have shape (n, 2) with n at least 2, got {line.shape}")
    if not np.isfinite(line).all():
        bad = int(np.flatnonzero(~np.isfinite(line).all(axis=1))[0])
        raise InvalidValue(f"{name}[{bad}] = {line[bad].tolist()} must be finite")
    same = np.flatnonzero((np.diff(line, axis=0) == 0.0).all(axis=1))
    if len(same):
        raise InvalidValue(
            f"{name}[{same[0] + 1}] = {line[same[0] + 1].tolist()} repeats the point before it; "
            "a line needs a direction everywhere"
        )
    return line


def lengths(points: Array) -> Array:
    """Lengths in m of the segments between points (n, 2) or (n, 3), shape (n - 1,)."""
    return np.hypot.reduce(np.diff(points, axis=0).T)


def arc_length(points: Array) -> Array:
    """Arc length in m from the first of points (n, 2) or (n, 3) to each."""
    return np.concatenate([[0.0], np.cumsum(lengths(points))])


def divided(points: Array, parts: int) -> Array:
    """Points that divide a polyline into parts of equal length, ends included."""
    s = arc_length(points)
    marks = np.linspace(0.0, s[-1], parts + 1)
    return np.column_stack([np.interp(marks, s, column) for column in points.T])


def directions(points: Array, *, closed: bool = False) -> tuple[Array, Array]:
    """Heading in rad, continuous along the line, and curvature in 1/m at points (n, 2), each (n,).

    A closed line has one more value: the first point again, one lap later.
    """
    if closed:
        points = np.vstack([points[-1:], points, points[:2]])
    steps, pieces = np.diff(points, axis=0), lengths(points)
    chords = np.unwrap(np.arctan2(steps[:, 1], steps[:, 0]))
    if len(points) == 2:
        return np.repeat(chords, 2), np.zeros(2)
    across = np.hypot(*(points[2:] - points[:-2]).T)
    turn = np.sin(np.diff(chords))
    # Limit the curvature where the line reverses on the spot and no circle exists.
    inner = 2.0 * turn / np.maximum(across, 1e-9 * (pieces[1:] + pieces[:-1]))
    heading = chords[:-1] + np.arcsin(np.clip(0.5 * inner * pieces[:-1], -1.0, 1.0))
    if closed:
        return heading, inner
    curvature = np.concatenate([inner[:1], inner, inner[-1:]])
    # A chord of a circle has the mean direction of its ends.
    ends = 2.0 * chords[0] - heading[0], 2.0 * chords[-1] - heading[-1]
    return np.concatenate([[ends[0]], heading, [ends[1]]]), curvature


def smooth_loop(points: Array, spacing: m) -> Array:
    """Equidistant points, about `spacing` apart, along the smooth closed curve through points."""
    from scipy.interpolate import CubicSpline

    # The first pass uses chord lengths, which approach the lengths along the curve only for closely
    # spaced points; the second pass corrects them.
    for _ in range(2):
        closed = np.vstack([points, points[:1]])
        s = arc_length(closed)
        at = np.linspace(0.0, s[-1], round(s[-1] / spacing), endpoint=False)
        points = CubicSpline(s, closed, bc_type="periodic")(at)
    return points


class Spot(NamedTuple):
    """Position on a line: index of a point, and fraction of the segment to the next."""

    row: Any
    share: Any
    lap: Any
    """Number of complete laps of a closed line before it."""
    beyond: Any
    """Distance in m beyond the end of an open line; negative before its start."""

    def between(self, values: Array) -> Any:
        """Linear interpolation of values at the points of a line."""
        if isinstance(self.row, int):
            low, high = values.item(self.row), values.item(self.row + 1)
        else:
            low, high = values[self.row], values[self.row + 1]
        return low + self.share * (high - low)


@dataclass(frozen=True, eq=False)
class Line:
    """A polyline with heading and curvature at its points, interpolated linearly in between.

    A closed one repeats its first point at the end, with a lap added to `s` and to the heading.
    """

    s: Array
    """Arc length to each point in m, increasing, shape (n,)."""
    x: Array
    """Positions in m, shape (n,)."""
    y: Array
    heading: Array
    """Heading at each point in rad, not wrapped, shape (n,)."""
    curvature: Array
    """Curvature at each point in 1/m, shape (n,)."""
    closed: bool = False

    __repr__ = brief_repr

    @classmethod
    def through(cls, points: ArrayLike, *, closed: bool = False, name: str = "points") -> Line:
        """Make a line through points (n, 2) in m; the points of a closed line do not repeat the
        first.
        """
        line = vertices(points, name)
        heading, curvature = directions(line, closed=closed)
        if closed:
            line = np.vstack([line, line[:1]])
        s, x, y = arc_length(line), line[:, 0].copy(), line[:, 1].copy()
        s, x, y, heading, curvature = map(frozen, (s, x, y, heading, curvature))
        return cls(s, x, y, heading, curvature, closed)

    @property
    def length(self) -> m:
        """Length of the line; for a closed one, of a lap."""
        return float(self.s[-1] - self.s[0])

    @property
    def vertices(self) -> Array:
        """Points of the line, (n, 2), for a closed line without the repeated last one, (n - 1,
        2).
        """
        return self.points[:-1] if self.closed else self.points

    @cached_property
    def points(self) -> Array:
        """Positions in m, shape (n, 2)."""
        return frozen(np.column_stack([self.x, self.y]))

    def resampled(self, spacing: m) -> Line:
        """Line through equidistant points on this one, about `spacing` apart."""
        points = divided(self.points, max(2, round(self.length / spacing)))
        return Line.through(points[:-1] if self.closed else points, closed=self.closed)

    def beside(self, left: ArrayLike) -> Array:
        """Points offset from the `vertices` to the left by a distance in m, one for all or one for
        each.
        """
        heading = self.heading[: len(self.vertices)]
        normal = np.column_stack([-np.sin(heading), np.cos(heading)])
        return self.vertices + np.asarray(left)[..., None] * normal

    def spot(self, s: Any) -> Spot:
        """Positions at arc lengths in m, one or many."""
        if isinstance(s, (float, int)):
            return self._one_spot(s)
        lap = np.floor((s - self.s[0]) / self.length) if self.closed else np.zeros(np.shape(s))
        inside = np.clip(s - lap * self.length, self.s[0], self.s[-1])
        row = np.clip(np.searchsorted(self.s, inside, "right") - 1, 0, len(self.s) - 2)
        share = (inside - self.s[row]) / (self.s[row + 1] - self.s[row])
        return Spot(row, share, lap, 0.0 * lap if self.closed else s - inside)

    def _one_spot(self, s: float) -> Spot:
        """Position at a single arc length, without the overhead of arrays, for controllers in
        Python."""
        marks = self._marks
        lap = floor((s - marks[0]) / (marks[-1] - marks[0])) if self.closed else 0
        inside = min(max(s - lap * (marks[-1] - marks[0]), marks[0]), marks[-1])
        row = min(bisect_right(marks, inside), len(marks) - 1) - 1
        share = (inside - marks[row]) / (marks[row + 1] - marks[row])
        return Spot(row, share, lap, 0.0 if self.closed else s - inside)

    @cached_property
    def _marks(self) -> list[float]:
        return self.s.tolist()

    @cached_property
    def _turn(self) -> rad:
        """Total change of heading over a lap in rad."""
        return float(self.heading[-1] - self.heading[0])

    def at(self, s: Any) -> LinePoint:
        """Evaluate the line at one or many arc lengths in m.

        An open line continues straight beyond its ends. Laps of a closed one are equal except
        for the heading, which grows by the turn of each lap.
        """
        return self.point(self.spot(s))

    def point(self, spot: Spot) -> LinePoint:
        """Evaluate the line at positions returned by `spot`."""
        columns = self.x, self.y, self.heading, self.curvature
        x, y, heading, curvature = (spot.between(column) for column in columns)
        if self.closed:
            return LinePoint(x, y, heading + spot.lap * self._turn, curvature)
        x, y = x + spot.beyond * cos(heading), y + spot.beyond * sin(heading)
        return LinePoint(x, y, heading, where(spot.beyond == 0.0, curvature, 0.0))

    def project(self, places: ArrayLike, *, beyond: bool = False) -> Nearest:
        """Nearest point of the line for each position (k, 2) in m.

        At a corner, left refers to the mean direction there. With `beyond` an open line continues
        straight before its start and after its end.
        """
        places = np.asarray(places, dtype=float)
        if places.ndim != 2 or places.shape[1] != 2:
            raise InvalidValue(f"places has shape {places.shape}; allowed is (k, 2)")
        pieces, row = self._pieces, self._nearest_pieces(places)
        along, length, offset = pieces.along[row], pieces.length[row], places - self.points[row]
        reached = np.clip((offset * along).sum(axis=1), 0.0, length)
        share, at_end = reached / length, reached >= length
        # Use the end point itself, so that both adjacent segments give the same result.
        gap = np.where(
            at_end[:, None], places - self.points[row + 1], offset - reached[:, None] * along
        )
        s = np.where(at_end, self.s[row + 1], self.s[row] + share * (self.s[row + 1] - self.s[row]))
        ahead = np.where((reached <= 0.0)[:, None], pieces.corner[row], along)
        ahead = np.where(at_end[:, None], pieces.corner[row + 1], ahead)
        nearest = Nearest(s, _to_the_left(gap, ahead))
        if beyond and not self.closed:
            for end, sign in ((0, -1.0), (-1, 1.0)):
                nearest = self._beyond(places, nearest, end, sign)
        return nearest

    def _beyond(self, places: Array, nearest: Nearest, end: int, sign: float) -> Nearest:
        """Replace nearest points by points on the straight extension beyond an end, where these are
        nearer.
        """
        ahead = np.array([np.cos(self.heading[end]), np.sin(self.heading[end])])
        offset = places - self.points[end]
        reached = sign * np.maximum(sign * (offset @ ahead), 0.0)
        corner = np.where((reached == 0.0)[:, None], ahead + self._pieces.along[end], ahead)
        left = _to_the_left(offset - reached[:, None] * ahead, corner)
        better = np.abs(left) <= np.abs(nearest.left)
        return Nearest(
            np.where(better, self.s[end] + reached, nearest.s), np.where(better, left, nearest.left)
        )

    @cached_property
    def _pieces(self) -> _Pieces:
        steps = np.diff(self.points, axis=0)
        # Empty segments of repeated points are harmless: a neighbour is as near.
        length = np.maximum(np.hypot(*steps.T), np.finfo(float).tiny)
        along = steps / length[:, None]
        ends = along[-1:] + along[:1] if self.closed else None
        first, last = (along[:1], along[-1:]) if ends is None else (ends, ends)
        return _Pieces(along, length, np.vstack([first, along[:-1] + along[1:], last]))

    def _nearest_pieces(self, places: Array) -> NDArray[np.int64]:
        """Index of the nearest segment for each position."""
        segments = line_edges(self.points)
        if len(places) * len(segments) < MANY:
            return distances(places, segments).argmin(axis=1)
        return self._index.search(places)[1]

    @cached_property
    def _index(self) -> Any:
        # Imported here, as it loads compiled loops that most lines do not need.
        from .index import Nearby

        return Nearby(line_edges(self.points))

    def nearest_vertex(self, x: m, y: m, begin: m, end: m) -> m:
        """Arc length of the nearest point between `begin` and `end`, which may be on different
        laps; `begin` if the range has no points."""
        first, last = self.spot(begin), self.spot(end)
        count = len(self.vertices)
        numbers = np.arange(first.row + first.lap * count, last.row + last.lap * count + 2)
        lap, row = np.divmod(numbers, count) if self.closed else (0.0, numbers)
        s = self.s[row] + lap * self.length
        gap = np.where(
            (s >= begin) & (s <= end), np.hypot(self.x[row] - x, self.y[row] - y), np.inf
        )
        best = int(gap.argmin())
        return float(s[best]) if gap[best] < np.inf else begin


class _Pieces(NamedTuple):
    along: Array
    """Unit direction vectors, (n - 1, 2)."""
    length: Array
    corner: Array
    """Mean directions at the points, not normalised, (n, 2)."""


def _to_the_left(offset: Array, direction: Array) -> Array:
    """Signed lengths of offsets (k, 2) from a line, negative to the right of its direction."""
    side = direction[:, 0] * offset[:, 1] - direction[:, 1] * offset[:, 0]
    return np.where(side < 0.0, -1.0, 1.0) * np.hypot(offset[:, 0], offset[:, 1])


_EVEN = 1e-9
"""Relative tolerance of equal steps."""
_MOST_ROUNDS = 200


class EvenCurve(NamedTuple):
    """Equidistant points along a smooth curve."""

    points: Array
    """Points in m, shape (n, 2); a closed curve does not repeat the first."""
    knots: Array
    """Positions relative to the given points: 3.25 is a quarter of the way from the fourth to
    the fifth, along the chord; shape (n,)."""

    def between(self, values: Array) -> Array:
        """Linear interpolation of values at the given points."""
        # Append the first point, to which a closed curve returns.
        around = np.append(values, values[0])
        return np.interp(self.knots, np.arange(len(around)), around)


def even_curve(points: Array, spacing: m, *, closed: bool, least: int = 4) -> EvenCurve:
    """Smooth curve through points (n, 2), n at least 4, in steps of about `spacing`.

    All steps have the same length, unless the curve turns within less than a step; there are at
    least `least` of them.
    """
    from scipy.interpolate import CubicSpline

    through = np.vstack([points, points[:1]]) if closed else points
    at = arc_length(through)
    curve = CubicSpline(at, through, bc_type="periodic" if closed else "not-a-knot")
    fine = np.linspace(0.0, at[-1], 16 * len(through))
    steps = max(least, round(float(lengths(curve(fine)).sum()) / spacing))
    marks = np.linspace(0.0, at[-1], steps + 1)
    for _ in range(_MOST_ROUNDS):
        reached = arc_length(curve(marks))
        step = reached[-1] / steps
        if np.abs(np.diff(reached) - step).max() <= _EVEN * step:
            break
        marks = np.interp(step * np.arange(steps + 1), reached, marks)
        marks[-1] = at[-1]
    knots = np.interp(marks, at, np.arange(len(through), dtype=float))
    return EvenCurve(curve(marks)[: steps + (not closed)], knots[: steps + (not closed)])


def blurred(points: Array, spacing: m, width: m, *, closed: bool = True) -> Array:
    """Equidistant points along a line, smoothed along it by a Gaussian of this width.

    An open line keeps its ends.
    """
    if not closed:
        # The offset from the straight between the ends is 0 at both ends; it continues with
        # its mirror image of opposite sign, so its averages at the ends are 0 too.
        share = np.linspace(0.0, 1.0, len(points))[:, None]
        straight = points[0] + share * (points[-1] - points[0])
        beside = points - straight
        around = np.vstack([beside, -beside[-2:0:-1]])
        return straight + blurred(around, spacing, width)[: len(points)]
    frequency = np.fft.rfftfreq(len(points), spacing)
    gain = np.exp(-2.0 * (np.pi * frequency * width) ** 2)
    return np.fft.irfft(np.fft.rfft(points, axis=0) * gain[:, None], len(points), axis=0)


_FEW = 1500
"""Segments up to which pairs are found by sorting: a tree needs SciPy, whose import takes long."""


class Crossings(NamedTuple):
    first: NDArray[np.int64]
    """Index of the first segment, shape (k,)."""
    second: NDArray[np.int64]
    """Index of the second segment, shape (k,)."""
    points: Array
    """Crossing points, (k, 2)."""

    def __len__(self) -> int:
        return len(self.first)


def crossings(segments: Array) -> Crossings:
    """All crossings of segments (n, 4), except between segments that share an endpoint.

    Fast if the segments have similar lengths.
    """
    middles, along = 0.5 * (segments[:, :2] + segments[:, 2:]), segments[:, 2:] - segments[:, :2]
    # If two segments meet, their middles are not farther apart than half the sum of their lengths.
    reach = float(np.hypot(*along.T).max())
    pairs = np.sort(_pairs(middles, reach * (1.0 + 1e-9)), axis=1)
    pairs = pairs[~_joined(segments[pairs[:, 0]], segments[pairs[:, 1]])]
    s, t = crossing_shares(segments[pairs[:, 0]], segments[pairs[:, 1]])
    # A segment contains its start but not its end, so that a crossing at a corner is found once.
    hits = (s >= 0.0) & (s < 1.0) & (t >= 0.0) & (t < 1.0)
    first, second = pairs[hits].T
    return Crossings(first, second, segments[first, :2] + s[hits, None] * along[first])


def crossing_shares(p: Array, q: Array) -> tuple[Array, Array]:
    """Crossing of the lines through segments p and q (..., 4), as shares of both lengths; not
    finite for parallel lines.
    """
    u, v, gap = p[..., 2:] - p[..., :2], q[..., 2:] - q[..., :2], q[..., :2] - p[..., :2]
    across = _cross(u, v)
    with np.errstate(divide="ignore", invalid="ignore"):
        return _cross(gap, v) / across, _cross(gap, u) / across


def _pairs(points: Array, reach: float) -> NDArray[np.int64]:
    """Pairs of points (n, 2) within a distance of each other, (k, 2)."""
    if len(points) <= _FEW:
        # Sort along the longer side of the bounding box, where each point has only a few near
        # neighbours.
        side = points[:, int(np.ptp(points, axis=0).argmax())]
        order = np.argsort(side, kind="stable")
        count = np.arange(len(points))
        after = np.searchsorted(side[order], side[order] + reach, side="right") - count - 1
        first = np.repeat(count, after)
        second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(after) - after, after)
        pairs = np.sort(np.stack([order[first], order[second]], axis=1), axis=1)
        near = np.hypot(*(points[pairs[:, 0]] - points[pairs[:, 1]]).T) <= reach
        pairs = pairs[near]
        return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))].astype(np.int64)
    from scipy.spatial import KDTree

    tree: Any = KDTree(points)
    return tree.query_pairs(reach, output_type="ndarray").astype(np.int64)


def _joined(a: Array, b: Array) -> Any:
    """Mask of the pairs of segments that share an end."""
    ends = [(a[:, i : i + 2] == b[:, j : j + 2]).all(axis=1) for i in (0, 2) for j in (0, 2)]
    return np.any(ends, axis=0)


def _cross(a: Array, b: Array) -> Array:
    return a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
