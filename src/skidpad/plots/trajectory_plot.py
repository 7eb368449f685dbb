"""The figure of a run: its path and panels of what was recorded over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..arrays import Array
from ..errors import InvalidValue
from ..trajectory.trajectory import Trajectory
from .figures.matplotlib_marks import DASHES as DASH_STYLES
from .figures.matplotlib_style import DPI, FORMATS, STYLE, save
from .figures.sheet import INK, Axis, Cell, Curve, Diagram, Sheet, room
from .numbers.thin import thinned
from .panels import Panel, chosen_panels, panels, speed
from .path_diagram import path_diagram

if TYPE_CHECKING:
    from matplotlib.figure import Figure


__all__ = ["DASHES", "DPI", "FORMATS", "INK", "STYLE", "figure", "run_sheet", "save"]

DASHES = DASH_STYLES["dash"]


def plot(
    trajectory: Trajectory,
    *,
    path: Any,
    title: str | None,
    columns: Sequence[str] | None,
    backend: str,
    size: Any,
) -> Any:
    """The figure described at `Trajectory.plot`, by any of the painters."""
    from .figures.figure import check, figure

    check(backend, path, size)
    sheet = run_sheet(trajectory, title=title, columns=columns)
    return figure(sheet, backend=backend, path=path, size=size)


def figure(
    trajectory: Trajectory, *, title: str | None = None, columns: Sequence[str] | None = None
) -> Figure:
    """The figure described at `Trajectory.plot`, drawn with Matplotlib."""
    from .figures import paint_matplotlib

    return paint_matplotlib.figure(run_sheet(trajectory, title=title, columns=columns))


def run_sheet(
    trajectory: Trajectory,
    *,
    title: str | None = None,
    columns: Sequence[str] | None = None,
    path: Diagram | None = None,
) -> Sheet:
    """Path and panels of a run; with `columns` panels of these alone. `path` stands in for the
    plain diagram of the path."""
    shown = panels(trajectory) if columns is None else chosen_panels(trajectory, columns)
    if path is None and columns is None and {"x", "y"} <= set(trajectory.names):
        path = path_diagram(trajectory, speed(trajectory))
    if not shown and path is None:
        raise InvalidValue(
            "nothing to plot: name some columns with columns=[...], of "
            f"{', '.join(trajectory.names) or 'none'}"
        )
    error = trajectory.error
    return laid_out(
        [panel_diagram(trajectory.t, panel) for panel in shown],
        path,
        title=trajectory.name if title is None else title,
        warning="" if error is None else f"ended early at {trajectory.t[-1]:g} s: {error}",
    )


def laid_out(
    diagrams: Sequence[Diagram], path: Diagram | None, *, title: str, warning: str
) -> Sheet:
    """A path at the left over the whole height, and diagrams over time in stacks beside it."""
    count, with_path = len(diagrams), path is not None
    # From five on the panels stand in two stacks, so that none gets too flat.
    stacks = 2 if count > 4 else min(count, 1)
    rows = max(1, -(-count // max(stacks, 1)))
    height = max(4.4, 1.5 * rows + 0.7) if with_path else 1.9 * rows + 0.7
    cells = [Cell(path, 0, 0, rows)] if path is not None else []
    for i, diagram in enumerate(diagrams):
        stack, row = divmod(i, rows)
        if not (row == rows - 1 or i == count - 1):
            diagram = diagram._replace(x=diagram.x._replace(label="", ticks=False))
        cells.append(Cell(diagram, row, stack + with_path))
    return Sheet(
        tuple(cells),
        widths=(*[5.5] * with_path, *[4.4] * stacks),
        heights=(height / rows,) * rows,
        title=title,
        warning=warning,
    )


def panel_diagram(t: Array, panel: Panel) -> Diagram:
    """A panel over time; inputs are dashed and stepped."""
    curves: list[Curve] = []
    for line in panel.lines:
        times, values = thinned(t, line.values)
        dash, width = ("dash", 1.0) if line.held else ("solid", 1.4)
        curves.append(Curve(times, values, line.label, line.colour, dash, width, steps=line.held))
    low, high = room([line.values for line in panel.lines])
    return Diagram(
        tuple(curves),
        f"{panel.title} [{panel.unit}]",
        x=Axis("time [s]", group="time"),
        y=Axis(low=low, high=high),
    )
