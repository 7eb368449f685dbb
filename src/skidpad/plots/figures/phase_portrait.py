"""The phase portrait of a vehicle: where motions in a plane go, and which of them come back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array
from ...errors import InvalidValue
from ...model import Vehicle
from ..layout import FilePath, Size, check, finished, headings, legend_above, new_figure
from ..numbers.fixed_points import FixedPoint, fixed_points
from ..numbers.phase_plane import Plane
from ..numbers.streamlines import Streams, boundary, streams
from ..style import GREEN, ORANGE
from ..words import axis_label, factor

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Range = tuple[float, float] | None
_MARKERS: dict[str, Any] = {
    "stable": {"marker": "o", "color": GREEN, "markeredgecolor": "white"},
    "saddle": {"marker": "x", "color": ORANGE},
    "unstable": {"marker": "o", "markerfacecolor": "white", "markeredgecolor": ORANGE},
}
_LINE = "#7A9DB8"


def phase_portrait(
    vehicle: Vehicle,
    x: str = "beta",
    y: str = "omega",
    *,
    speed: float,
    steer: float = 0.0,
    state: Mapping[str, float] | None = None,
    inputs: Mapping[str, float] | None = None,
    x_range: Range = None,
    y_range: Range = None,
    path: FilePath = None,
    backend: str = "matplotlib",
    title: str | None = None,
    size: Size = None,
) -> Figure:
    """Where the motion of a vehicle goes from any point of a plane, with speed and steering held.

    `x` is "beta" or "v_y", `y` mostly "omega"; other states need a range. `speed` in m/s, `steer`
    in rad, ranges in SI units. `state` and `inputs` are values of the others. Points where nothing
    changes are marked as stable, saddles or unstable; the boundary through the saddles encloses the
    motions that come back by themselves.
    """
    check(path, backend, size)
    plane = Plane(vehicle, (x, y), speed=speed, steer=steer, state=state, inputs=inputs)
    ranges = [_range(plane, x, x_range), _range(plane, y, y_range)]
    low, high = np.array(ranges).T
    by = np.array([factor(plane.unit(name)) for name in plane.names])
    flow = streams(plane.rates, low, high)
    points = fixed_points(plane.rates, low, high)
    borders = [line for point in points for line in boundary(plane.rates, point, low, high)]
    with new_figure((5.6,), (4.6,), size) as (figure, grid):
        axes = figure.add_subplot(grid[0, 0])
        axes.grid(False)
        axes.set(
            xlim=(by[0] * low[0], by[0] * high[0]),
            ylim=(by[1] * low[1], by[1] * high[1]),
            xlabel=axis_label(x, plane.unit(x)),
            ylabel=axis_label(y, plane.unit(y)),
        )
        _draw_flow(axes, flow, by)
        if borders:
            border = _joined(borders, by)
            axes.plot(*border, color=ORANGE, lw=1.8, label="stability boundary", zorder=3.0)
        _draw_points(axes, points, by)
        legend_above(axes)
        own = f"{vehicle.name} at {speed:g} m/s, steered by {math.degrees(steer):.3g}°"
        headings(figure, own if title is None else title)
    return finished(figure, path)


def _range(plane: Plane, name: str, limits: Range) -> tuple[float, float]:
    """The range asked for, or slip angles of 30° and yaw rates that a car can have."""
    if limits is None:
        most = {
            "beta": np.deg2rad(30.0),
            "v_y": 0.5 * plane.speed,
            "omega": max(0.5, 2.5 * 9.81 / plane.speed),
        }.get(name)
        if most is None:
            raise InvalidValue(f"say which range of {name!r} to show: x_range= or y_range=")
        return -float(most), float(most)
    low, high = limits
    if not (np.isfinite([low, high]).all() and low < high):
        raise InvalidValue(f"range of {name} = {limits} must be two numbers, the lower one first")
    return float(low), float(high)


def _draw_flow(axes: Axes, flow: Streams, by: Array) -> None:
    from matplotlib.patches import FancyArrowPatch

    axes.plot(*_joined(flow.lines, by), color=_LINE, linewidth=1.0, zorder=2.0)
    # A patch, as in unequal axes a direction is known only when the figure is laid out.
    for head, direction in zip(flow.heads * by, flow.directions * by, strict=True):
        axes.add_patch(
            FancyArrowPatch(
                tuple(head - direction),
                tuple(head),
                arrowstyle="-|>",
                mutation_scale=8.0,
                color=_LINE,
                linewidth=0.0,
                shrinkA=0.0,
                shrinkB=0.0,
                zorder=2.5,
            )
        )


def _draw_points(axes: Axes, points: Sequence[FixedPoint], by: Array) -> None:
    for kind, look in _MARKERS.items():
        places = np.array([point.at for point in points if point.kind == kind]).reshape(-1, 2) * by
        if len(places):
            axes.plot(*places.T, ls="none", ms=8.0, mew=1.3, label=kind, zorder=4.0, **look)


def _joined(lines: Sequence[Array], by: Array) -> tuple[Array, Array]:
    """Many lines as one, broken by NaN between them."""
    broken = [np.vstack([line * by, [[np.nan, np.nan]]]) for line in lines]
    points = np.concatenate(broken)[:-1] if broken else np.empty((0, 2))
    return points[:, 0], points[:, 1]
