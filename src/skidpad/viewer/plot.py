"""The figure of a run, drawn with matplotlib's object interface: no display, no global state."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..atomic import replacing
from ..columns import Array
from ..errors import InvalidValue
from ..trajectory import Trajectory
from .panels import TARGET, Panel, chosen_panels, panels, speed
from .path import draw_path
from .thin import thinned

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")
DPI = 150
DASHES = (0, (3, 1.6))
INK = "#333333"
FAINT = "#E2E2E2"

STYLE: dict[Any, Any] = {
    "font.size": 8.5,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlecolor": INK,
    "axes.edgecolor": "#999999",
    "axes.labelcolor": INK,
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.useoffset": False,
    "grid.color": FAINT,
    "grid.linewidth": 0.5,
    "xtick.color": "#666666",
    "ytick.color": "#666666",
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "lines.linewidth": 1.3,
    "lines.solid_capstyle": "round",
    # Text as text: SVG files stay small and searchable.
    "svg.fonttype": "none",
}


def figure(
    trajectory: Trajectory, *, title: str | None = None, columns: Sequence[str] | None = None
) -> Figure:
    """The figure described at `Trajectory.plot`."""
    from matplotlib import rc_context

    shown = panels(trajectory) if columns is None else chosen_panels(trajectory, columns)
    with_path = columns is None and {"x", "y"} <= set(trajectory.names)
    if not shown and not with_path:
        raise InvalidValue(
            "nothing to plot: name some columns with columns=[...], of "
            f"{', '.join(trajectory.names) or 'none'}"
        )
    with rc_context(STYLE):
        drawn, path_axes, panel_axes = _layout(len(shown), with_path)
        if path_axes is not None:
            draw_path(path_axes, trajectory, speed(trajectory))
        for axes, panel in zip(panel_axes, shown, strict=True):
            _draw_panel(axes, trajectory.t, panel)
        _headings(drawn, trajectory, trajectory.name if title is None else title)
    return drawn


def save(drawn: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as PNG, SVG or PDF by the suffix of the path."""
    from matplotlib import rc_context

    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise InvalidValue(f"cannot plot to {Path(path)}: the suffix must be {', '.join(FORMATS)}")
    # Without the date in it, the same run gives the same file.
    undated = {".png": None, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[suffix]
    with rc_context(STYLE), replacing(path) as temporary:
        drawn.savefig(temporary, dpi=DPI, format=suffix[1:], metadata=undated)


def _layout(count: int, with_path: bool) -> tuple[Figure, Axes | None, list[Axes]]:
    """The figure, the axes of the path if wanted, and one axes per panel with time in common."""
    from matplotlib.figure import Figure

    # From five on the panels stand in two stacks, so that none gets too flat.
    stacks = 2 if count > 4 else min(count, 1)
    rows = max(1, -(-count // max(stacks, 1)))
    ratios = [1.25] * with_path + [1.0] * stacks
    height = max(4.4, 1.5 * rows + 0.7) if with_path else 1.9 * rows + 0.7
    drawn = Figure(figsize=(4.4 * sum(ratios), height), layout="constrained", facecolor="white")
    drawn.get_layout_engine().set(w_pad=0.06, h_pad=0.05)  # type: ignore[union-attr]
    grid = drawn.add_gridspec(rows, len(ratios), width_ratios=ratios)
    path_axes = drawn.add_subplot(grid[:, 0]) if with_path else None
    panel_axes: list[Axes] = []
    for i in range(count):
        stack, row = divmod(i, rows)
        axes = drawn.add_subplot(
            grid[row, stack + with_path], sharex=panel_axes[0] if panel_axes else None
        )
        panel_axes.append(axes)
        if row == rows - 1 or i == count - 1:
            axes.set_xlabel("time [s]")
        else:
            axes.tick_params(labelbottom=False)
    return drawn, path_axes, panel_axes


def _draw_panel(axes: Axes, t: Array, panel: Panel) -> None:
    axes.set_title(f"{panel.title} [{panel.unit}]")
    alone = t.size == 1
    for line in panel.lines:
        times, values = thinned(t, line.values)
        axes.plot(
            times,
            values,
            color=line.colour,
            label=line.label,
            linestyle=DASHES if line.held else "-",
            linewidth=1.0 if line.held else 1.4,
            drawstyle="steps-post" if line.held else "default",
            marker="o" if alone else "",
            markersize=4,
        )
    _set_range(axes, panel)
    _legend(axes, panel)


def _legend(axes: Axes, panel: Panel) -> None:
    """Above the frame at the right, where it covers no data; targets share one dashed entry."""
    from matplotlib.lines import Line2D

    if len(panel.lines) == 1 and not panel.lines[0].held:
        return
    own = [line for line in panel.lines if not (line.held and line.label == TARGET)]
    entries = [
        Line2D([], [], color=line.colour, linestyle=DASHES if line.held else "-", label=line.label)
        for line in own
    ]
    if len(own) < len(panel.lines):
        colour = own[0].colour if len(own) == 1 else "#888888"
        entries.append(Line2D([], [], color=colour, linestyle=DASHES, linewidth=1.0, label=TARGET))
    axes.legend(
        handles=entries,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=len(entries),
        handlelength=1.4,
        columnspacing=1.0,
        handletextpad=0.5,
        borderaxespad=0.0,
        borderpad=0.25,
    )


def _set_range(axes: Axes, panel: Panel) -> None:
    """Room above and below; a constant gets a span that does not blow up its rounding."""
    values = np.concatenate([line.values[np.isfinite(line.values)] for line in panel.lines])
    if values.size == 0:
        return
    low, high = float(values.min()), float(values.max())
    least = 1e-3 * max(1.0, abs(low), abs(high))
    if high - low < least:
        middle, half = 0.5 * (low + high), max(0.5, 0.1 * abs(high))
        axes.set_ylim(middle - half, middle + half)
    else:
        axes.set_ylim(low - 0.06 * (high - low), high + 0.06 * (high - low))


def _headings(drawn: Figure, trajectory: Trajectory, title: str) -> None:
    if title:
        drawn.suptitle(title, x=0.01, ha="left", fontsize=12, fontweight="bold", color=INK)
    if trajectory.error is not None:
        text = f"ended early at {trajectory.t[-1]:g} s: {trajectory.error}"
        drawn.supxlabel(text, x=0.01, ha="left", fontsize=8.5, color="#B03000", wrap=True)
