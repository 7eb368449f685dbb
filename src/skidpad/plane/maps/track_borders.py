"""The borders of a track: lines beside its centre line, cut where they fold in tight bends.

Inside of a bend that is tighter than the track is wide there, the line at a constant distance runs
backwards and crosses itself. What lies between is a loop that no car can be in, and is cut off.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, Mask
from ...errors import InvalidValue
from ...units import m, rad
from ..crossings import Crossings, crossings
from ..line import Line
from ..polygon import line_edges, ring_edges, signed_area

Side = Literal["left", "right"]


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


def straightened(border: Array, closed: bool, tolerance: m) -> Array:
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


def check_apart(left: Array, right: Array, line: Line) -> None:
    """Raise where the left border crosses the right one."""
    walls = edges(left, line.closed), edges(right, line.closed)
    intersections = crossings(np.concatenate(walls))
    if len(intersections):
        x, y = intersections.points[0].tolist()
        raise InvalidValue(
            f"the left border crosses the right one near ({x:.6g}, {y:.6g}); the track must not "
            "lie over itself: give smaller widths"
        )


def check_simple(line: Line) -> None:
    """Raise where a centre line crosses itself."""
    intersections = crossings(line_edges(line.points))
    if len(intersections):
        x, y = intersections.points[0].tolist()
        a, b = line.s[[intersections.first[0], intersections.second[0]]].tolist()
        raise InvalidValue(
            f"the centre line crosses itself near ({x:.6g}, {y:.6g}), at s = {a:.6g} m and at "
            f"s = {b:.6g} m; a track in the plane must not"
        )


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
