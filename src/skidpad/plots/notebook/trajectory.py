"""What a notebook shows of a trajectory: figures of the run, its path and small diagrams."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...brief import counted
from ...trajectory.columns import ROLES, span
from ...trajectory.trajectory import Trajectory
from ..figures.path import draw_path
from ..figures.trajectory import draw_panels
from ..layout import new_figure
from ..numbers.motion import speed, travelled
from ..numbers.panels import panels
from .drawing import MOST_PIECES, MOST_POINTS, drawing
from .html_parts import beside, folded, heading, page, short, table, warning

MOST_PANELS = 3


def trajectory_html(run: Trajectory) -> str:
    """The page of a trajectory."""
    ended = "" if run.error is None else warning(f"ended early: {run.error}")
    return page(
        heading(run.name or "trajectory", f"{counted(len(run), 'sample')}, {span(run.t)}"),
        beside(_drawing(run), table((), _figures(run), [1])),
        ended,
        folded(counted(len(run.columns), "column"), _columns(run)),
    )


def _figures(run: Trajectory) -> list[tuple[str, str, str]]:
    """Names, values and units of what a run shows."""
    figures = [("duration", short(run.duration), "s")]
    if len(run) > 1:
        figures.append(("mean time between samples", short(run.duration / (len(run) - 1)), "s"))
    if {"x", "y"} <= set(run.names):
        figures.append(("distance", short(float(travelled(run)[-1])), "m"))
    whole = speed(run)
    if whole is not None:
        figures.append(("top speed", short(_most(whole)), "m/s"))
    # Least and most with their signs: a car that only brakes has no acceleration forward.
    for name, words in (("a_x", "acceleration forward"), ("a_y", "acceleration to the left")):
        if name in run:
            least, most = -_most(-run[name]), _most(run[name])
            figures.append((words, f"{short(least)} to {short(most)}", "m/s²"))
    return figures


def _most(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.max()) if known.size else float("nan")


def _drawing(run: Trajectory) -> str:
    shown = panels(run)[:MOST_PANELS]
    with_path = {"x", "y"} <= set(run.names)
    if not shown and not with_path:
        return ""
    rows = max(1, len(shown))
    height = 3.6 if with_path else 1.2 * rows

    def draw(figure: Any, grid: Any) -> None:
        if with_path:
            draw_path(figure.add_subplot(grid[:, 0]), run, most=MOST_PIECES)
        draw_panels(figure, grid, int(with_path), run.t, shown, most=MOST_POINTS)

    widths = (*[4.4] * with_path, *[3.9] * bool(shown))
    return drawing(run.name, new_figure(widths, (height / rows,) * rows), draw)


def _columns(run: Trajectory) -> str:
    rows = [
        (column.role, column.name, "" if column.unit.symbol == "1" else column.unit.symbol)
        for role in ROLES
        for column in run.columns
        if column.role == role
    ]
    return table(("", "name", "unit"), rows)
