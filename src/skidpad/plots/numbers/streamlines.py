"""Lines along a field in a plane, evenly spread: each is a motion of the vehicle, integrated.

Lines are followed by distance on the picture rather than by time, so that they are equally smooth
where the motion is fast and where it is slow. Where a line comes near another one it ends, after
B. Jobard and W. Lefer, Creating Evenly-Spaced Streamlines of Arbitrary Density (1997), with cells
in place of distances.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...arrays import Array
from .fixed_points import Field, FixedPoint

CELLS = 51
"""Cells across and up; a cell and those around it belong to one line."""
STEP = 0.005
"""Length of a step as a share of the picture."""
LEAST_LENGTH = 0.15
"""Lines shorter than this share of the picture are left out."""
MOST_STEPS = 600
_NUDGE = 1e-3
"""How far beside a saddle its boundary begins, as a share of the picture."""


class Streams(NamedTuple):
    """Lines and the places of their arrows."""

    lines: list[Array]
    """Each (n, 2), in the direction of the motion."""
    heads: Array
    """Points (lines, 2) in the middle of each."""
    directions: Array
    """Direction (lines, 2) of the motion there."""


def streams(field: Field, low: Array, high: Array) -> Streams:
    """Lines that fill the rectangle between two corners."""
    span = high - low

    def unit_field(points: Array) -> Array:
        return field(low + span * points) / span

    seeds = _seeds()
    forward, backward = (followed(unit_field, seeds, sign) for sign in (1.0, -1.0))
    lines = _spread(seeds, forward, backward)
    middles = [len(line) // 2 for line in lines]
    heads = np.array([line[k] for line, k in zip(lines, middles, strict=True)]).reshape(-1, 2)
    before = np.array([line[k - 1] for line, k in zip(lines, middles, strict=True)]).reshape(-1, 2)
    return Streams(
        [low + span * line for line in lines], low + span * heads, span * (heads - before)
    )


def followed(field: Field, starts: Array, sign: float) -> list[Array]:
    """Lines from points (n, 2) of the unit square along the field, or against it for sign -1.

    Each ends where it leaves the square, or where the field vanishes or turns back on itself.
    """
    at, count = starts.copy(), len(starts)
    paths = np.full((MOST_STEPS + 1, count, 2), np.nan)
    paths[0] = at
    alive = np.ones(count, bool)
    last = _direction(field, at, sign)
    for step in range(1, MOST_STEPS + 1):
        rows = np.flatnonzero(alive)
        if not rows.size:
            break
        moved, direction = _stepped(field, at[rows], sign)
        inside = ((moved >= 0.0) & (moved <= 1.0)).all(axis=1)
        onwards = (direction * last[rows]).sum(axis=1) > 0.0
        good = inside & onwards & np.isfinite(moved).all(axis=1)
        alive[rows[~good]] = False
        rows, moved, direction = rows[good], moved[good], direction[good]
        at[rows], last[rows] = moved, direction
        paths[step, rows] = moved
    return [path[np.isfinite(path[:, 0])] for path in paths.transpose(1, 0, 2)]


def boundary(field: Field, point: FixedPoint, low: Array, high: Array) -> list[Array]:
    """The motions that end in a saddle: on one side of them the car comes back, on the other not.

    They are followed backwards in time from beside the saddle, along its stable direction.
    """
    if point.kind != "saddle":
        return []
    span = high - low
    values, vectors = np.linalg.eig(point.jacobian)
    inwards = np.real(vectors[:, int(np.argmin(np.real(values)))]) / span
    inwards /= np.hypot(*inwards)
    at = (point.at - low) / span
    starts = np.array([at + _NUDGE * inwards, at - _NUDGE * inwards])
    lines = followed(lambda p: field(low + span * p) / span, starts, -1.0)
    return [low + span * np.vstack([at, line]) for line in lines]


def _direction(field: Field, points: Array, sign: float) -> Array:
    rates = field(points)
    length = np.hypot(rates[:, 0], rates[:, 1])
    # A point where nothing moves gets no direction, and its line ends.
    return sign * rates / np.where(length > 0.0, length, np.inf)[:, None]


def _stepped(field: Field, at: Array, sign: float) -> tuple[Array, Array]:
    """The classical Runge-Kutta step of one length, and the direction at its start."""
    k1 = _direction(field, at, sign)
    k2 = _direction(field, at + 0.5 * STEP * k1, sign)
    k3 = _direction(field, at + 0.5 * STEP * k2, sign)
    k4 = _direction(field, at + STEP * k3, sign)
    return at + (STEP / 6.0) * (k1 + 2.0 * k2 + 2.0 * k3 + k4), k1


def _seeds() -> Array:
    """Middles of every third cell, from the rim inwards: lines that cross the picture first."""
    middle = (np.arange(1, CELLS, 3) + 0.5) / CELLS
    grid = np.stack(np.meshgrid(middle, middle, indexing="ij"), axis=-1).reshape(-1, 2)
    rim = np.minimum(grid, 1.0 - grid).min(axis=1)
    return grid[np.argsort(rim, kind="stable")]


def _spread(seeds: Array, forward: Sequence[Array], backward: Sequence[Array]) -> list[Array]:
    taken = np.zeros((CELLS, CELLS), bool)
    lines: list[Array] = []
    for k, seed in enumerate(seeds):
        if taken[_cell(seed[None])[0]]:
            continue
        ahead, behind = (_free(path[k], taken) for path in (forward, backward))
        line = np.concatenate([behind[:0:-1], ahead])
        if len(line) * STEP < LEAST_LENGTH:
            continue
        for i, j in _cell(line):
            taken[max(0, i - 1) : i + 2, max(0, j - 1) : j + 2] = True
        lines.append(line)
    return lines


def _free(path: Array, taken: Array) -> Array:
    """The part of a line before it enters a cell of another."""
    hits = [k for k, cell in enumerate(_cell(path)) if taken[cell]]
    return path[: hits[0]] if hits else path


def _cell(points: Array) -> list[tuple[int, int]]:
    cells = np.clip((points * CELLS).astype(int), 0, CELLS - 1)
    return [(int(i), int(j)) for i, j in cells]
