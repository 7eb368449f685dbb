"""What a notebook shows of a trajectory: figures of the run, its path and small diagrams."""

from __future__ import annotations

import numpy as np

from ...trajectory.columns import ROLES, span
from ...trajectory.trajectory import Trajectory
from ..panels import panels, speed
from ..path_diagram import path_diagram, travelled
from ..trajectory_plot import panel_diagram
from .html_parts import beside, folded, heading, page, short, table, warning
from .paint_svg import drawing
from .sheet import Cell, Diagram, Sheet

MOST_PANELS = 3


def trajectory_html(run: Trajectory) -> str:
    """The page of a trajectory."""
    ended = "" if run.error is None else warning(f"ended early: {run.error}")
    return page(
        heading(run.name or "trajectory", f"{len(run)} samples, {span(run.t)}"),
        beside(_drawing(run), table((), _figures(run), [1])),
        ended,
        folded(f"{len(run.columns)} columns", _columns(run)),
    )


def _figures(run: Trajectory) -> list[tuple[str, str, str]]:
    """Names, values and units of what a run shows."""
    found = [("duration", short(run.duration), "s")]
    if len(run) > 1:
        found.append(("mean time between samples", short(run.duration / (len(run) - 1)), "s"))
    if {"x", "y"} <= set(run.names):
        found.append(("distance", short(float(travelled(run)[-1])), "m"))
    whole = speed(run)
    if whole is not None:
        found.append(("top speed", short(_most(whole)), "m/s"))
    for name, words in (("a_x", "acceleration forward"), ("a_y", "acceleration to the side")):
        if name in run:
            found.append((f"largest {words}", short(_most(np.abs(run[name]))), "m/s²"))
    return found


def _most(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.max()) if known.size else float("nan")


def _drawing(run: Trajectory) -> str:
    shown = [panel_diagram(run.t, panel) for panel in panels(run)[:MOST_PANELS]]
    with_path = {"x", "y"} <= set(run.names)
    if not shown and not with_path:
        return ""
    rows = max(1, len(shown))
    cells: list[Cell] = []
    if with_path:
        path = path_diagram(run, speed(run))
        axes = {"x": path.x._replace(label=""), "y": path.y._replace(label="")}
        cells.append(Cell(path._replace(legend="none", **axes), 0, 0, rows))
    for k, diagram in enumerate(shown):
        cells.append(Cell(_in_stack(diagram, k == rows - 1), k, int(with_path)))
    widths = (*[3.9] * with_path, *[3.9] * bool(shown))
    height = 3.6 if with_path else 1.2 * rows
    return drawing(Sheet(tuple(cells), widths, (height / rows,) * rows, title=run.name))


def _in_stack(diagram: Diagram, lowest: bool) -> Diagram:
    axis = diagram.x._replace(label="time [s]" if lowest else "", ticks=lowest)
    return diagram._replace(x=axis)


def _columns(run: Trajectory) -> str:
    rows = [
        (column.role, column.name, "" if column.unit.symbol == "1" else column.unit.symbol)
        for role in ROLES
        for column in run.columns
        if column.role == role
    ]
    return table(("", "name", "unit"), rows)
