"""Pictures of what a log tells about a vehicle: axle curves, and pedal maps with their coverage.

`axle_figure` is drawn by `study.identify.AxleCurves.plot`, `map_figure` by `PedalMaps.plot`. Both
take their results as plain arrays in records with the fields named below.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.arrays import Array
from . import style
from .style import COLOURS, DASHES, GREY, INK, FilePath, Size, symbol

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_POINTS = 6000
"""Largest number of samples drawn per axle; of more, every n-th is drawn."""
HEAVY = 500.0
"""Force in N from which forces are drawn in kN."""


def axle_figure(
    t: Array,
    axles: Mapping[str, Any],
    bins: Sequence[Any],
    curves: Sequence[Any] = (),
    *,
    path: FilePath = None,
    title: str = "",
    size: Size = None,
) -> Figure:
    """Lateral force over slip angle of the front and the rear axle, and the friction they used.

    Args:
        t: times of the samples in s, (n,).
        axles: samples by title, front first: `alpha` in rad, `F_y` in N, `friction_used`, (n,).
        bins: medians of each axle: `alpha`, `F_y`, `low`, `high`.
        curves: tyres of vehicles: `name`, `alpha`, `F_y_f`, `F_y_r`.
        path: PNG, SVG or PDF to write, by its suffix.
        title: title of the figure.
        size: width and height in inches.
    """
    style.check(path, "matplotlib", size)
    largest = max(float(np.nanmax(np.abs(axle.F_y))) for axle in axles.values())
    scale, unit = (1e-3, "kN") if largest >= HEAVY else (1.0, "N")
    with style.new_figure((4.4, 4.4), (3.4, 2.0), size) as (figure, grid):
        first = None
        for k, (name, axle) in enumerate(axles.items()):
            axes = figure.add_subplot(grid[0, k], sharey=first)
            first = first or axes
            axes.set_title(name)
            axes.set_xlabel(f"slip angle {symbol('alpha')} [°]")
            # Samples as a cloud, and medians with the spread of the samples.
            known = np.flatnonzero(np.isfinite(axle.alpha))
            known = known[:: max(1, len(known) // MOST_POINTS)]
            angle, force = np.rad2deg(axle.alpha[known]), scale * axle.F_y[known]
            cloud: Any = {"color": GREY, "markersize": 2.0, "alpha": 0.25, "rasterized": True}
            axes.plot(angle, force, ".", label="samples", **cloud)
            spread = scale * np.array([bins[k].F_y - bins[k].low, bins[k].high - bins[k].F_y])
            axes.errorbar(
                np.rad2deg(bins[k].alpha),
                scale * bins[k].F_y,
                yerr=np.maximum(spread, 0.0),
                fmt="o",
                color=INK,
                markersize=3.5,
                elinewidth=0.8,
                zorder=5.0,
                label="median and 16 to 84 %",
            )
            for line in (axes.axhline, axes.axvline):
                line(0.0, color=GREY, linewidth=0.6)
            for number, curve in enumerate(curves):
                force = curve.F_y_r if k else curve.F_y_f
                axes.plot(
                    np.rad2deg(curve.alpha),
                    scale * force,
                    color=COLOURS[1 + number % 7],
                    linewidth=1.6,
                    zorder=6.0,
                    label=style.literal(curve.name),
                )
            if k == 0:
                axes.set_ylabel(f"lateral force {symbol('F_y')} [{unit}]")
        below = figure.add_subplot(grid[1, :])
        below.set_title("Friction used")
        for k, (name, axle) in enumerate(axles.items()):
            used = axle.friction_used
            below.plot(t, used, color=(INK, COLOURS[0])[k % 2], linewidth=0.8, label=name.lower())
        below.set(xlabel="time [s]", ylabel="force / load")
        below.set_ylim(bottom=0.0)
        style.legend_above(below)
        style.headings(figure, title, first.get_legend_handles_labels()[0] if first else ())
    return style.write_figure(figure, path)


def map_figure(
    maps: Mapping[str, Any], *, path: FilePath = None, title: str = "", size: Size = None
) -> Figure:
    """Values of each map over its column coordinate, next to the number of samples in each cell.

    Args:
        maps: by title: `rows`, `columns`, `values`, `coverage` (rows, columns), `filled` (the same,
            truth values), and the texts `row_name`, `column_name`, `value_name` with their units.
        path: PNG, SVG or PDF to write, by its suffix.
        title: title of the figure.
        size: width and height in inches.
    """
    style.check(path, "matplotlib", size)
    with style.new_figure((4.6, 4.2), (3.1,) * len(maps), size) as (figure, grid):
        for k, (name, one) in enumerate(maps.items()):
            values, counts = (figure.add_subplot(grid[k, column]) for column in (0, 1))
            values.set(title=name, xlabel=one.column_name, ylabel=one.value_name)
            colours = style.shades(len(one.rows))
            for row, colour, line, filled in zip(
                one.rows, colours, one.values, one.filled, strict=True
            ):
                values.plot(one.columns, line, color=colour, linestyle=DASHES, linewidth=0.8)
                measured = np.where(filled, np.nan, line)
                values.plot(one.columns, measured, color=colour, marker="o", markersize=3.0)
                at = (float(one.columns[-1]), float(line[-1]))
                style.label_at(values, f"{row:.3g}", at, xytext=(4.0, -2.5), color=colour)
            counts.set(title="Samples", xlabel=one.column_name, ylabel=one.row_name)
            _draw_counts(counts, one)
        style.headings(figure, title)
    return style.write_figure(figure, path)


def _draw_counts(axes: Axes, one: Any) -> None:
    """Draw the number of samples of each cell as a colour and a text; filled cells are crossed."""
    rows, columns = len(one.rows), len(one.columns)
    axes.grid(visible=False)
    shown = np.log10(np.maximum(one.coverage, 0.5))
    axes.imshow(
        shown, origin="lower", aspect="auto", cmap="Blues", vmin=0.0, vmax=max(4.0, shown.max())
    )
    for i, k in np.ndindex(rows, columns):
        n = int(one.coverage[i, k])
        text = "×" if one.filled[i, k] else (str(n) if n < 1000 else f"{n / 1000.0:.2g}k")
        colour = "white" if n > 1000 else INK
        axes.text(k, i, text, ha="center", va="center", fontsize=6.0, color=colour)
    step = max(1, columns // 8)
    axes.set_xticks(range(0, columns, step), [f"{v:.3g}" for v in one.columns[::step]])
    axes.set_yticks(range(rows), [f"{v:.3g}" for v in one.rows])
