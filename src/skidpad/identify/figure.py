"""The figure of a comparison: recorded against replayed, the error below."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..plots.layout import check, finished, headings, new_figure
from ..plots.numbers.thin import thinned
from ..plots.style import BLUE, DASHES, GREY, ORANGE
from ..plots.words import on_screen, screen_unit
from .recording import CHANNELS
from .replay import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RECORDED: Any = {"color": GREY, "linewidth": 2.2}
REPLAYED: Any = {"color": BLUE, "linewidth": 1.2, "linestyle": DASHES}
ERROR: Any = {"color": ORANGE, "linewidth": 1.0}
TITLES = {
    "x": "x",
    "y": "y",
    "yaw": "Yaw",
    "v_x": "Velocity",
    "a_x": "Acceleration",
    "omega": "Yaw rate",
    "steer": "Steering angle",
}
MOST_MARKS = 40
"""Starts of windows that are marked; more would hide the curves."""


def replay_figure(
    title: str,
    curves: Mapping[str, Curve],
    starts: Array,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Two stacks of channels, each with its error below it; `starts` are those of the windows in
    s. Written if there is a path."""
    check(path, "matplotlib", None)
    stacks = 2 if len(curves) > 2 else 1
    rows = -(-len(curves) // stacks)
    with new_figure((5.2,) * stacks, (1.85, 0.85) * rows) as (figure, grid):
        first: Axes | None = None
        for i, (name, curve) in enumerate(curves.items()):
            stack, row = divmod(i, rows)
            above = figure.add_subplot(grid[2 * row, stack], sharex=first)
            first = first or above
            below = figure.add_subplot(grid[2 * row + 1, stack], sharex=first)
            _draw(above, below, name, curve, starts)
            above.tick_params(labelbottom=False)
            below.tick_params(labelbottom=row == rows - 1 or i == len(curves) - 1)
            below.set_xlabel("time [s]" if row == rows - 1 else "")
        if len(curves) % stacks and {"x", "y"} <= set(curves):
            _draw_path(figure.add_subplot(grid[2 * rows - 2 :, stacks - 1]), curves, starts)
        headings(figure, title, _keys())
    return finished(figure, path)


def _draw(above: Axes, below: Axes, name: str, curve: Curve, starts: Array) -> None:
    unit = CHANNELS[name][0]
    recorded, replayed, error = (
        on_screen(values, unit) for values in (curve.recorded, curve.replayed, curve.error)
    )
    above.set_title(f"{TITLES[name]} [{screen_unit(unit)}]")
    above.plot(*_line(curve.t, recorded, starts), **RECORDED)
    above.plot(*_line(curve.t, replayed, starts), **REPLAYED)
    below.plot(*_line(curve.t, error, starts), **ERROR)
    below.axhline(0.0, color="#999999", linewidth=0.6, zorder=1)
    below.set_ylabel("error")
    most = 1.1 * float(np.abs(error).max())
    # A replay that agrees to rounding shows a flat line, not the rounding.
    least = 1e-9 * max(1.0, float(np.abs(recorded).max()))
    below.set_ylim(-max(most, least), max(most, least))
    below.locator_params(axis="y", nbins=3)
    if 1 < len(starts) <= MOST_MARKS:
        for axes in (above, below):
            axes.vlines(
                starts[1:],
                0.0,
                1.0,
                transform=axes.get_xaxis_transform(),
                color="#BBBBBB",
                linewidth=0.6,
                linestyle=":",
            )


def _draw_path(axes: Axes, curves: Mapping[str, Curve], starts: Array) -> None:
    """Both paths over ground, in the place that an odd number of channels leaves."""
    x, y = curves["x"], curves["y"]
    axes.set_title("Path [m]")
    axes.set_aspect("equal", adjustable="datalim")
    axes.plot(_broken(x.recorded, starts), _broken(y.recorded, starts), **RECORDED)
    axes.plot(_broken(x.replayed, starts), _broken(y.replayed, starts), **REPLAYED)


def _line(t: Array, values: Array, starts: Array) -> tuple[Array, Array]:
    """The samples to draw, with the line broken where a window starts again."""
    return thinned(_broken(t, starts), _broken(values, starts))


def _broken(values: Array, starts: Array) -> Array:
    """The values of all windows, which are equally long, with NaN between them."""
    table = values.reshape(len(starts), -1)
    return np.pad(table, ((0, 0), (0, 1)), constant_values=np.nan).ravel()[:-1]


def _keys() -> list[Any]:
    from matplotlib.lines import Line2D

    looks = {"recorded": RECORDED, "replayed": REPLAYED, "replayed - recorded": ERROR}
    return [Line2D([], [], label=label, **look) for label, look in looks.items()]
