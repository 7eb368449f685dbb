"""Lines through points: their length, direction and curvature, and what of them is nearest.

Directions and curvatures are those of the circle through three neighbouring points, so they are
exact where the points lie on a straight or on a circle. Left of a line is positive.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import Array
from ..errors import InvalidValue
from .state_conversion import upstream

AT_ONCE = 1_000_000
"""Pairs of a point and a segment that are looked at together, to bound the memory."""


class Nearest(NamedTuple):
    """The point of a line that is nearest to each of some places."""

    s: Array
    """Distance along the line to it, m; negative before the start if the line goes on there."""
    left: Array
    """Distance from it, m; positive where the place is to the left of the line."""


def vertices(points: ArrayLike, name: str = "points") -> Array:
    """The points of a line as (n, 2), checked: at least two, finite, no two in a row the same."""
    try:
        line = np.array(points, dtype=float)
    except (TypeError, ValueError):
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


def distances(line: Array) -> Array:
    """Distance along the line to each of its points, m."""
    return np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))])


def directions(line: Array) -> tuple[Array, Array]:
    """Heading in rad, continuous along the line, and curvature in 1/m at each point."""
    steps = np.diff(line, axis=0)
    lengths = np.hypot(*steps.T)
    chords = np.unwrap(np.arctan2(steps[:, 1], steps[:, 0]))
    if len(line) == 2:
        return np.repeat(chords, 2), np.zeros(2)
    across = np.hypot(*(line[2:] - line[:-2]).T)
    turn = np.sin(np.diff(chords))
    # A line that turns on the spot has no circle; it keeps a finite curvature.
    inner = 2.0 * turn / np.maximum(across, 1e-9 * (lengths[1:] + lengths[:-1]))
    sine = np.clip(0.5 * inner * lengths[:-1], -1.0, 1.0)
    heading = chords[:-1] + np.arcsin(sine)
    curvature = np.concatenate([inner[:1], inner, inner[-1:]])
    # A chord of a circle has the mean direction of its ends.
    ends = 2.0 * chords[0] - heading[0], 2.0 * chords[-1] - heading[-1]
    return np.concatenate([[ends[0]], heading, [ends[1]]]), curvature


def nearest(line: Array, places: Array, ends: tuple[float, float] | None = None) -> Nearest:
    """The nearest point of the line for each of the places (k, 2).

    With `ends`, headings in rad, the line goes on straight at its start and its end.
    """
    pieces = _pieces(line, ends)
    size = max(1, AT_ONCE // len(pieces.length))
    parts = [_nearest(pieces, places[k : k + size]) for k in range(0, len(places), size)]
    return Nearest(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def signed_distance(points: ArrayLike, line: ArrayLike, *, compat: str | None = None) -> Any:
    """Distance from each point to the line, which ends at its ends; positive to its left, m.

    One point (2,) gives a number, (k, 2) an array. At a corner the left is that of the mean
    direction there, at an end that of the first or last segment; straight ahead of an end is left.
    `compat="upstream"` repeats commonroad-control, for which all places nearest to the start are to
    its left.
    """
    places = np.atleast_2d(np.asarray(points, dtype=float))
    if places.ndim != 2 or places.shape[1] != 2 or not np.isfinite(places).all():
        raise InvalidValue(f"points must be finite and of shape (2,) or (k, 2), got {points!r}")
    s, left = nearest(vertices(line, "line"), places)
    if upstream(compat):
        left = np.where(s == 0.0, np.abs(left), left)
    return float(left[0]) if np.ndim(points) == 1 else left


class _Pieces(NamedTuple):
    """Straight pieces: from `origin` by `low` to `high` along the unit vector `along`."""

    origin: Array
    along: Array
    low: Array
    high: Array
    s: Array
    before: Array
    """Direction of left and right at the lower end of the piece."""
    after: Array
    length: Array


def _pieces(line: Array, ends: tuple[float, float] | None) -> _Pieces:
    steps = np.diff(line, axis=0)
    length = np.hypot(*steps.T)
    along = steps / length[:, None]
    origin, low, high, s = line[:-1], np.zeros(len(length)), length, distances(line)[:-1]
    if ends is not None:
        rays = np.array([[np.cos(h), np.sin(h)] for h in ends])
        along = np.vstack([rays[:1], along, rays[1:]])
        origin = np.vstack([line[:1], origin, line[-1:]])
        low = np.concatenate([[-np.inf], low, [0.0]])
        high = np.concatenate([[0.0], high, [np.inf]])
        s = np.concatenate([[0.0], s, [s[-1] + length[-1]]])
    corners = along[:-1] + along[1:]
    before = np.vstack([along[:1], corners])
    after = np.vstack([corners, along[-1:]])
    return _Pieces(origin, along, low, high, s, before, after, high)


def _nearest(pieces: _Pieces, places: Array) -> Nearest:
    """All pieces for all places, then the best of each."""
    from_origin = places[:, None] - pieces.origin
    wanted = (from_origin * pieces.along).sum(axis=-1)
    reached = np.clip(wanted, pieces.low, pieces.high)
    apart = from_origin - reached[..., None] * pieces.along
    distance = np.hypot(apart[..., 0], apart[..., 1])
    best = distance.argmin(axis=1)
    row = np.arange(len(places))
    at, offset = reached[row, best], apart[row, best]
    direction = np.where((at <= pieces.low[best])[:, None], pieces.before[best], pieces.along[best])
    direction = np.where((at >= pieces.high[best])[:, None], pieces.after[best], direction)
    side = direction[:, 0] * offset[:, 1] - direction[:, 1] * offset[:, 0]
    sign = np.where(side < 0.0, -1.0, 1.0)
    return Nearest(pieces.s[best] + at, sign * distance[row, best])
