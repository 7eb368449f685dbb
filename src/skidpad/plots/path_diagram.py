"""The path over ground, coloured by speed: what the diagram shows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Array
from ..trajectory.trajectory import Trajectory
from .figures.sheet import BLUE, INK, Arrows, Axis, Curve, Diagram, Dots, Mark, Scale, Trail, room

MOST_SEGMENTS = 4000
ARROWS = 7
"""Heading arrows along the path, at equal distances."""


def path_diagram(
    trajectory: Trajectory,
    speed: Array | None,
    *,
    below: Sequence[Mark] = (),
    above: Sequence[Mark] = (),
    darts: bool = True,
    within: Array | None = None,
) -> Diagram:
    """x to the right and y up, equal scales; start, end and headings marked.

    `below` and `above` are marks under and over the line; `within` are points (n, 2) that have to
    be seen besides.
    """
    x, y = trajectory["x"], trajectory["y"]
    line, scale = _line(x, y, speed)
    marks: list[Mark] = [*below, line]
    if darts and "yaw" in trajectory:
        marks += _headings(trajectory)
    marks += above
    marks += [
        Dots(x[:1], y[:1], "start", INK, "ring", 8.0),
        Dots(x[-1:], y[-1:], "end", INK, "square", 5.0),
    ]
    seen = (
        np.column_stack([x, y]) if within is None else np.vstack([np.column_stack([x, y]), within])
    )
    across, up = _ranges(seen)
    return Diagram(
        tuple(marks), "Path [m]", Axis("x", low=across[0], high=across[1]),
        Axis("y", low=up[0], high=up[1]), equal=True, scale=scale,
    )  # fmt: skip


def _line(x: Array, y: Array, speed: Array | None) -> tuple[Curve | Trail, Scale | None]:
    step = max(1, x.size // MOST_SEGMENTS)
    rows = np.unique(np.append(np.arange(0, x.size, step), x.size - 1))
    if speed is None or _constant(speed[np.isfinite(speed)]) or rows.size < 2:
        return Curve(x[rows], y[rows], colour=BLUE, width=2.2), None
    known = speed[np.isfinite(speed)]
    scale = Scale("speed [m/s]", float(known.min()), float(known.max()))
    return Trail(x[rows], y[rows], speed[rows]), scale


def _constant(values: Array) -> bool:
    """Within one per cent: a scale of colours would only show ripple."""
    return values.size == 0 or bool(np.ptp(values) < 1e-2 * max(1.0, np.abs(values).max()))


def _headings(trajectory: Trajectory) -> list[Mark]:
    """Small darts that point where the vehicle points, which in a slide is not along the path."""
    x, y, yaw = trajectory["x"], trajectory["y"], trajectory["yaw"]
    covered = travelled(trajectory)
    if not covered[-1] > 0.0:
        return []
    at = np.searchsorted(covered, covered[-1] * (np.arange(ARROWS) + 0.5) / ARROWS)
    return [Arrows(x[at], y[at], np.cos(yaw[at]), np.sin(yaw[at]))]


def travelled(trajectory: Trajectory) -> Array:
    """Distance over ground up to each sample, in m."""
    x, y = trajectory["x"], trajectory["y"]
    return np.append(0.0, np.cumsum(np.hypot(np.diff(x), np.diff(y))))


def _ranges(points: Array) -> tuple[tuple[float | None, float | None], ...]:
    """Room around the path, and at least a metre across, so that a parked car has a place."""
    known = points[np.isfinite(points).all(axis=1)]
    if not len(known):
        return (None, None), (None, None)
    low, high = known.min(axis=0), known.max(axis=0)
    short = np.maximum(0.0, 1.0 - (high - low)) / 2.0
    wide = np.array([low - short, high + short])
    return room([wide[:, 0]], 0.08), room([wide[:, 1]], 0.08)
