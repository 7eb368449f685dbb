"""The figure of a run: its path and panels of what was recorded over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...arrays import Array
from ...errors import InvalidValue
from ...model import Vehicle
from ...plane.maps import Map
from ...stage import BodyShape, Stage
from ...trajectory.trajectory import Trajectory
from ..layout import FilePath, Size, check, finished, headings, legend_above, new_figure, room
from ..numbers.motion import with_motion
from ..numbers.panels import Panel, chosen_panels, panels
from ..numbers.thin import MOST_POINTS, thinned
from ..style import DASHES
from ..words import literal
from .path import draw_path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def trajectory(
    run: Trajectory,
    vehicle: Vehicle | BodyShape | None = None,
    *,
    map: Map | Stage | None = None,
    columns: Sequence[str] | None = None,
    every: float | None = None,
    count: int = 12,
    path: FilePath = None,
    backend: str = "matplotlib",
    title: str | None = None,
    size: Size = None,
) -> Figure:
    """A run: its path, as `plots.path` has it, beside panels of what was recorded.

    With the vehicle, its motion is what its body tells, whatever its states are called.

    `columns` shows panels of these in place of the usual ones, with the path only where there is a
    vehicle or a map.
    """
    check(path, backend, size)
    moving = with_motion(run, vehicle)
    shown = panels(moving) if columns is None else chosen_panels(moving, columns)
    with_path = columns is None and {"x", "y"} <= set(run.names)
    with_path = with_path or vehicle is not None or map is not None
    if not shown and not with_path:
        raise InvalidValue(
            "nothing to plot: name some columns with columns=[...], of "
            f"{', '.join(run.names) or 'none'}"
        )
    # From five on the panels stand in two stacks, so that none gets too flat.
    stacks = 2 if len(shown) > 4 else min(len(shown), 1)
    rows = max(1, -(-len(shown) // max(stacks, 1)))
    height = max(4.4, 1.5 * rows + 0.7) if with_path else 1.9 * rows + 0.7
    widths = (*[5.5] * with_path, *[4.4] * stacks)
    with new_figure(widths, (height / rows,) * rows, size) as (figure, grid):
        if with_path:
            axes = figure.add_subplot(grid[:, 0])
            draw_path(axes, run, vehicle, map, every=every, count=count)
        draw_panels(figure, grid, int(with_path), run.t, shown)
        warning = "" if run.error is None else f"ended early at {run.t[-1]:g} s: {run.error}"
        headings(figure, run.name if title is None else title, warning=warning)
    return finished(figure, path)


def draw_panels(
    figure: Figure,
    grid: Any,
    column: int,
    t: Array,
    shown: Sequence[Panel],
    *,
    most: int = MOST_POINTS,
) -> None:
    """Panels over a common time from a column of the grid on, stack by stack; numbers stand at the
    lowest of each."""
    first: Axes | None = None
    for i, panel in enumerate(shown):
        stack, row = divmod(i, grid.nrows)
        axes = figure.add_subplot(grid[row, column + stack], sharex=first)
        first = first or axes
        _draw_panel(axes, t, panel, most)
        lowest = row == grid.nrows - 1 or i == len(shown) - 1
        axes.tick_params(labelbottom=lowest)
        axes.set_xlabel("time [s]" if lowest else "")


def _draw_panel(axes: Axes, t: Array, panel: Panel, most: int) -> None:
    """Lines over time; inputs are dashed and stepped."""
    whole: Any = {"linewidth": 1.4}
    steps: Any = {"linestyle": DASHES, "linewidth": 1.0, "drawstyle": "steps-post"}
    for line in panel.lines:
        times, values = thinned(t, line.values, most)
        look = steps if line.held else whole
        # A single sample would be an invisible line.
        marker = "o" if times.size == 1 else ""
        label = literal(line.label)
        axes.plot(times, values, color=line.colour, label=label, marker=marker, ms=4.0, **look)
    axes.set_title(literal(f"{panel.title} [{panel.unit}]"))
    axes.set_ylim(*room([line.values for line in panel.lines]))
    legend_above(axes)
