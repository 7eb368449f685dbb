"""Drawing a sheet with Matplotlib's object interface: no display, no global state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .matplotlib_marks import DASHES, MARKERS, draw
from .matplotlib_style import STYLE
from .sheet import (
    INK,
    Areas,
    Axis,
    Band,
    Cell,
    Curve,
    Diagram,
    Dots,
    Key,
    Scale,
    Sheet,
    colour_of,
    legend,
)
from .symbols import mathtext

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOUR_MAP = "viridis"


def figure(sheet: Sheet) -> Figure:
    """The sheet as a Matplotlib figure."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context(STYLE):
        drawn = Figure(
            figsize=(sum(sheet.widths), sum(sheet.heights)),
            layout="constrained",
            facecolor="white",
        )
        drawn.get_layout_engine().set(w_pad=0.06, h_pad=0.05)  # type: ignore[union-attr]
        grid = drawn.add_gridspec(
            len(sheet.heights),
            len(sheet.widths),
            width_ratios=sheet.widths,
            height_ratios=sheet.heights,
        )
        groups: dict[tuple[str, str], Axes] = {}
        for cell in sheet.cells:
            _draw_diagram(_axes(drawn, grid, cell, groups), cell.diagram)
        _headings(drawn, sheet)
    return drawn


def _axes(drawn: Figure, grid: Any, cell: Cell, groups: dict[tuple[str, str], Axes]) -> Axes:
    """The axes of a cell, tied to those that share a range with it."""
    keys = {"sharex": ("x", cell.diagram.x.group), "sharey": ("y", cell.diagram.y.group)}
    shared: dict[str, Any] = {name: groups.get(key) for name, key in keys.items()}
    part = grid[cell.row : cell.row + cell.rows, cell.column : cell.column + cell.columns]
    axes = drawn.add_subplot(part, **shared)
    for key in keys.values():
        if key[1]:
            groups.setdefault(key, axes)
    return axes


def _draw_diagram(axes: Axes, diagram: Diagram) -> None:
    axes.set_title(mathtext(diagram.title))
    axes.grid(diagram.grid)
    if diagram.equal:
        axes.set_aspect("equal", adjustable="datalim")
    _set_axis(axes, "x", diagram.x)
    _set_axis(axes, "y", diagram.y)
    coloured = [
        made
        for order, mark in enumerate(diagram.marks)
        if (made := draw(axes, mark, diagram, 2.0 + 0.01 * order)) is not None
    ]
    _set_limits(axes, diagram)
    if coloured and diagram.scale is not None:
        _colour_bar(axes, coloured, diagram.scale)
    if diagram.legend != "none":
        _legend(axes, legend(diagram), diagram.legend)


def _set_axis(axes: Axes, name: str, axis: Axis) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, MultipleLocator, NullFormatter

    own = axes.xaxis if name == "x" else axes.yaxis
    own.set_label_text(mathtext(axis.label))
    if axis.log:
        (axes.set_xscale if name == "x" else axes.set_yscale)("log")
        # 0.5, 1, 2 read better than powers of ten over the few decades of a vehicle.
        own.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        own.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        own.set_minor_formatter(NullFormatter())
        axes.grid(True, which="minor", axis="x" if name == "x" else "y", alpha=0.4)
    if axis.step is not None:
        own.set_major_locator(MultipleLocator(axis.step))
    if not axis.ticks:
        hidden: dict[str, Any] = {"labelbottom" if name == "x" else "labelleft": False}
        axes.tick_params(**hidden)


def _set_limits(axes: Axes, diagram: Diagram) -> None:
    # With equal scales one of the ranges has to give way, so they are not fixed.
    auto = True if diagram.equal else None
    for axis, set_range in ((diagram.x, axes.set_xlim), (diagram.y, axes.set_ylim)):
        if axis.low is not None and axis.high is not None:
            set_range(axis.low, axis.high, auto=auto)


def _colour_bar(axes: Axes, coloured: Sequence[Any], scale: Scale) -> None:
    for mappable in coloured:
        mappable.set_cmap(COLOUR_MAP)
        mappable.set_clim(scale.low, scale.high)
    bar = axes.figure.colorbar(coloured[0], ax=axes, fraction=0.035, pad=0.02, aspect=32)
    bar.set_label(mathtext(scale.label))
    bar.outline.set_visible(False)
    if bar.solids is not None:
        bar.solids.set_alpha(1.0)


def _legend(axes: Axes, keys: Sequence[Key], place: Any) -> None:
    """The legend of one diagram, where it has anything to tell."""
    if not keys or (len(keys) == 1 and _speaks_for_itself(keys[0])):
        return
    handles = [_handle(key) for key in keys]
    spacing: dict[str, Any] = {"handlelength": 1.4, "columnspacing": 1.0, "handletextpad": 0.5}
    if place != "above":
        axes.legend(handles=handles, loc=place, **spacing)
        return
    axes.legend(
        handles=handles,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=len(keys),
        borderaxespad=0.0,
        borderpad=0.25,
        **spacing,
    )


def _speaks_for_itself(key: Key) -> bool:
    """A single plain line is what the title says."""
    return isinstance(key.mark, Curve) and key.mark.dash == "solid"


def _handle(key: Key) -> Any:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    label, mark = mathtext(key.label), key.mark
    if isinstance(mark, (Band, Areas)):
        edge = mark.edge or "none" if isinstance(mark, Areas) else "none"
        return Patch(facecolor=key.colour, edgecolor=edge, alpha=mark.opacity, label=label)
    if isinstance(mark, Dots):
        hollow = mark.symbol == "ring"
        return Line2D(
            [],
            [],
            linestyle="none",
            marker=MARKERS[mark.symbol],
            markersize=min(mark.size, 6.0),
            markerfacecolor="white" if hollow else key.colour,
            markeredgecolor=key.colour if hollow or mark.symbol == "cross" else "white",
            markeredgewidth=1.3,
            label=label,
        )
    assert isinstance(mark, Curve)
    return Line2D(
        [], [], color=key.colour, linestyle=DASHES[mark.dash], linewidth=mark.width, label=label
    )


def _headings(drawn: Figure, sheet: Sheet) -> None:
    if sheet.keys:
        handles = [_handle(Key(mark.label, mark, colour_of(mark))) for mark in sheet.keys]
        drawn.legend(handles=handles, loc="outside upper right", ncols=min(5, len(handles)))
    if sheet.title:
        drawn.suptitle(
            mathtext(sheet.title), x=0.01, ha="left", fontsize=12, fontweight="bold", color=INK
        )
    if sheet.warning:
        drawn.supxlabel(sheet.warning, x=0.01, ha="left", fontsize=8.5, color="#B03000", wrap=True)
