"""The figure of a comparison: recorded against replayed, the error below."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..arrays import Array
from ..plots.numbers.thin import thinned
from ..plots.panels import COLOURS, DEGREES
from ..plots.trajectory_plot import DASHES, INK, STYLE
from .recording import CHANNELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from .comparison import Comparison, Curve

RECORDED, REPLAYED, ERROR = "#888888", COLOURS[0], COLOURS[1]
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


def figure(comparison: Comparison) -> Figure:
    """Two stacks of channels, each with its error below it."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    shown = list(comparison.curves.items())
    stacks = 2 if len(shown) > 2 else 1
    rows = -(-len(shown) // stacks)
    with rc_context(STYLE):
        drawn = Figure(
            figsize=(5.2 * stacks, 2.35 * rows + 0.7), layout="constrained", facecolor="white"
        )
        grid = drawn.add_gridspec(2 * rows, stacks, height_ratios=[2.2, 1.0] * rows)
        first: Axes | None = None
        for i, (name, curve) in enumerate(shown):
            stack, row = divmod(i, rows)
            above = drawn.add_subplot(grid[2 * row, stack], sharex=first)
            first = first or above
            below = drawn.add_subplot(grid[2 * row + 1, stack], sharex=first)
            _draw(above, below, name, curve, comparison.starts)
            above.tick_params(labelbottom=False)
            below.tick_params(labelbottom=row == rows - 1 or i == len(shown) - 1)
            if row == rows - 1:
                below.set_xlabel("time [s]")
        if len(shown) % stacks and {"x", "y"} <= set(comparison.curves):
            _draw_path(drawn.add_subplot(grid[2 * rows - 2 :, stacks - 1]), comparison)
        _legend(drawn)
        title = f"{comparison.log} replayed by {comparison.model}"
        drawn.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold", color=INK)
    return drawn


def _draw(above: Axes, below: Axes, name: str, curve: Curve, starts: Array) -> None:
    unit = CHANNELS[name][0]
    by = np.rad2deg(1.0) if unit in DEGREES else 1.0
    above.set_title(f"{TITLES[name]} [{DEGREES.get(unit, unit)}]")
    above.plot(*_line(curve.t, by * curve.recorded, starts), color=RECORDED, linewidth=2.2)
    above.plot(
        *_line(curve.t, by * curve.replayed, starts),
        color=REPLAYED,
        linewidth=1.2,
        linestyle=DASHES,
    )
    below.plot(*_line(curve.t, by * curve.error, starts), color=ERROR, linewidth=1.0)
    below.axhline(0.0, color="#999999", linewidth=0.6, zorder=1)
    below.set_ylabel("error")
    most = 1.1 * float(np.abs(by * curve.error).max())
    least = 1e-9 * max(1.0, float(np.abs(by * curve.recorded).max()))
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


def _draw_path(axes: Axes, comparison: Comparison) -> None:
    """Both paths over ground, in the place that an odd number of channels leaves."""
    x, y = comparison.curves["x"], comparison.curves["y"]
    axes.set_title("Path [m]")
    axes.set_aspect("equal", adjustable="datalim")
    lines = (
        (x.recorded, y.recorded, RECORDED, 2.2, "-"),
        (x.replayed, y.replayed, REPLAYED, 1.2, DASHES),
    )
    for a, b, colour, width, dashes in lines:
        along, across = (_broken(v, comparison.starts) for v in (a, b))
        axes.plot(along, across, color=colour, linewidth=width, linestyle=dashes)


def _line(t: Array, values: Array, starts: Array) -> tuple[Array, Array]:
    """The samples to draw, with the line broken where a window starts again."""
    return thinned(_broken(t, starts), _broken(values, starts))


def _broken(values: Array, starts: Array) -> Array:
    """The values of all windows, which are equally long, with NaN between them."""
    table = values.reshape(len(starts), -1)
    return np.pad(table, ((0, 0), (0, 1)), constant_values=np.nan).ravel()[:-1]


def _legend(drawn: Figure) -> None:
    from matplotlib.lines import Line2D

    entries = [
        Line2D([], [], color=RECORDED, linewidth=2.2, label="recorded"),
        Line2D([], [], color=REPLAYED, linestyle=DASHES, label="replayed"),
        Line2D([], [], color=ERROR, label="replayed - recorded"),
    ]
    drawn.legend(handles=entries, loc="outside upper right", ncols=3, handlelength=1.8)
