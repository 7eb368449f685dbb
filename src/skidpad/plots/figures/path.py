"""The path over ground, coloured by speed, with the vehicle drawn at intervals, on a map."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...arrays import Array
from ...errors import InvalidValue
from ...model import Vehicle
from ...plane.maps import Map
from ...stage import BodyShape, Stage
from ...trajectory.trajectory import Trajectory
from ..layout import (
    FilePath,
    Size,
    check,
    colour_bar,
    equal_axes,
    finished,
    headings,
    legend_above,
    new_figure,
    room,
)
from ..numbers.bodies import placed_along
from ..numbers.motion import moments, speed, travelled, with_motion
from ..style import BLUE, INK
from .map import draw_map
from .scenery import draw_bodies, draw_stage, stage_extent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FILLS = {"vehicle": "#9FB4C7", "trailer": "#C2CDD6"}
MOST_PIECES = 4000
"""Pieces of a coloured path; longer recordings are thinned."""
DARTS = 7
"""Marks along the path where the vehicle points, at equal distances."""
ABOVE_BODIES = 3.5
"""Of the path, which vehicles close to each other would hide."""
_DART = np.array([[-0.7, -0.6], [1.0, 0.0], [-0.7, 0.6], [-0.3, 0.0], [-0.7, -0.6]])


def path(
    run: Trajectory,
    vehicle: Vehicle | BodyShape | None = None,
    *,
    map: Map | Stage | None = None,
    every: float | None = None,
    count: int = 12,
    path: FilePath = None,
    backend: str = "matplotlib",
    title: str | None = None,
    size: Size = None,
) -> Figure:
    """The path over ground, coloured by speed, with the vehicle as it was at intervals.

    The vehicle is drawn every so many seconds, or `count` times at equal distances; its shape comes
    from its parameters, and its place from its body; without it the columns x and y are taken.
    `map` draws walls and cones: a `Map`, or what stands still on a `Stage`.
    """
    check(path, backend, size)
    with new_figure((7.0,), (7.0,), size) as (figure, grid):
        axes = figure.add_subplot(grid[0, 0])
        draw_path(axes, run, vehicle, map, every=every, count=count)
        if size is None:
            # Shaped as the path is.
            (x0, x1), (y0, y1) = axes.get_xlim(), axes.get_ylim()
            ratio = float(np.clip((y1 - y0) / (x1 - x0), 0.3, 1.4))
            figure.set_size_inches(7.0, 7.0 * ratio * 0.86 + 0.8)
        headings(figure, run.name if title is None else title)
    return finished(figure, path)


def draw_path(
    axes: Axes,
    run: Trajectory,
    vehicle: Vehicle | BodyShape | None = None,
    ground: Map | Stage | None = None,
    *,
    every: float | None = None,
    count: int = 12,
    most: int = MOST_PIECES,
) -> None:
    """Map, path and vehicles on axes with equal scales, x to the right and y up; start and end are
    marked. Without a vehicle small darts show where it points. `most` bounds the pieces."""
    recorded, run = run, with_motion(run, vehicle)
    _check_place(run, vehicle)
    bodies = [] if vehicle is None else placed_along(recorded, vehicle, moments(run, every, count))
    x, y = run["x"], run["y"]
    seen = [np.column_stack([x, y]), *(o for body in bodies for o in body.outlines)]
    if ground is not None:
        seen.append(_extent(ground))
    if isinstance(ground, Stage):
        draw_stage(axes, ground)
    elif ground is not None:
        draw_map(axes, ground, line_colour="#B9C4CE")
    _draw_line(axes, x, y, speed(run), most)
    if vehicle is None and "yaw" in run:
        _draw_darts(axes, run)
    draw_bodies(axes, bodies, FILLS, alpha=0.7)
    axes.plot(x[:1], y[:1], "o", label="start", color="white", mec=INK, ms=8.0, mew=1.3, zorder=4.0)
    axes.plot(x[-1:], y[-1:], "s", label="end", color=INK, mec="white", ms=5.0, mew=1.3, zorder=4.0)
    equal_axes(axes, *_ranges(np.vstack(seen)))
    axes.set(title="Path [m]", xlabel="x", ylabel="y")
    legend_above(axes)


def _check_place(run: Trajectory, vehicle: Vehicle | BodyShape | None) -> None:
    needed = {"x", "y"} if vehicle is None else {"x", "y", "yaw"}
    if not needed <= set(run.names):
        raise InvalidValue(
            "a path needs the columns x and y, and to draw a vehicle yaw; or else the vehicle that "
            "the run was recorded with, and all of its states and inputs in the run; there are "
            f"{', '.join(run.names) or 'none'}"
        )


def _draw_line(axes: Axes, x: Array, y: Array, speeds: Array | None, most: int) -> None:
    """The line, coloured by speed where that changes by more than a per cent, which is ripple."""
    from matplotlib.collections import LineCollection

    rows = np.unique(np.append(np.arange(0, x.size, -(-x.size // most)), x.size - 1))
    known = np.empty(0) if speeds is None else speeds[np.isfinite(speeds)]
    span = 1e-2 * max(1.0, float(np.abs(known).max(initial=0.0)))
    if speeds is None or rows.size < 2 or not known.size or np.ptp(known) < span:
        axes.plot(x[rows], y[rows], color=BLUE, linewidth=2.2, zorder=ABOVE_BODIES)
        return
    points, values = np.column_stack([x, y])[rows], speeds[rows]
    line = LineCollection(
        list(np.stack([points[:-1], points[1:]], axis=1)), linewidth=2.2, zorder=ABOVE_BODIES
    )
    line.set_array(0.5 * (values[:-1] + values[1:]))
    line.set_clim(float(known.min()), float(known.max()))
    line.set_capstyle("round")
    axes.add_collection(line)
    colour_bar(axes, line, "speed [m/s]")


def _draw_darts(axes: Axes, run: Trajectory) -> None:
    """Small darts that point where the vehicle points, which in a slide is not along the path."""
    from matplotlib.markers import MarkerStyle
    from matplotlib.transforms import Affine2D

    covered = travelled(run)
    if not covered[-1] > 0.0:
        return
    for k in np.searchsorted(covered, covered[-1] * (np.arange(DARTS) + 0.5) / DARTS):
        turned = Affine2D().rotate(float(run["yaw"][k]))
        dart = MarkerStyle(_DART, transform=turned)
        axes.plot(run["x"][k], run["y"][k], marker=dart, ms=9.0, mew=0.0, color=INK, zorder=3.6)


def _extent(ground: Map | Stage) -> Array:
    """Points (n, 2) that a picture of the ground has to show."""
    if isinstance(ground, Stage):
        return stage_extent(ground)
    x0, y0, x1, y1 = ground.bounds
    return np.array([[x0, y0], [x1, y1]])


def _ranges(points: Array) -> tuple[tuple[float | None, float | None], ...]:
    """Room around the path, and at least a metre across, so that a parked car has a place."""
    known = points[np.isfinite(points).all(axis=1)]
    if not len(known):
        return (None, None), (None, None)
    low, high = known.min(axis=0), known.max(axis=0)
    short = np.maximum(0.0, 1.0 - (high - low)) / 2.0
    wide = np.array([low - short, high + short])
    return room([wide[:, 0]], 0.08), room([wide[:, 1]], 0.08)
