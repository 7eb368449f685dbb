"""The frame of every figure: what is refused, its size, title, legends and ranges."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arrays import Array
from ..errors import InvalidValue
from ..extras import require
from .style import DASHES, GREY, INK, RED, STYLE, check_suffix, picture, save
from .words import literal

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec

FilePath = str | os.PathLike[str] | None
Size = tuple[float, float] | None
"""Width and height in inches."""
_TITLE_SIZE = 12.0
_POINTS = 72.0
"""Per inch."""
_MOST_COLUMNS = 5
"""Of a legend."""


def check(path: FilePath, backend: str, size: Size) -> None:
    """Raise for a file, a library or a size that there is not, before anything is computed."""
    if backend != "matplotlib":
        raise InvalidValue(
            f"backend = {backend!r}: figures are drawn by matplotlib; Plotly figures are gone. For "
            'a file use path="figure.svg", for an interactive picture the replay page: '
            "trajectory.show(vehicle) in a notebook, Film.to_html for a file"
        )
    if size is not None:
        pair = np.shape(size) == (2,) and all(0.5 <= s <= 100.0 for s in size)
        if not pair:
            raise InvalidValue(f"size = {size} must be width and height in inches, from 0.5 to 100")
    if path is not None:
        check_suffix(path)
    require_matplotlib()


def require_matplotlib() -> None:
    """Raise where Matplotlib is not installed."""
    require("matplotlib", purpose="a figure")


@contextmanager
def new_figure(
    widths: Sequence[float], heights: Sequence[float], size: Size = None
) -> Generator[tuple[Figure, GridSpec]]:
    """A figure in the house style and a grid for its axes, with columns and rows of these inches.

    `size` stretches the whole. The style holds within the block.
    """
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    with rc_context(STYLE):
        figure: Any = Figure(
            figsize=size or (sum(widths), sum(heights)),
            layout=ConstrainedLayoutEngine(w_pad=0.06, h_pad=0.05),
            facecolor="white",
        )
        # Notebooks learn to show figures when pyplot is imported, which these are made without.
        figure._repr_png_ = partial(picture, figure)
        yield (
            figure,
            figure.add_gridspec(
                len(heights), len(widths), width_ratios=widths, height_ratios=heights
            ),
        )


def finished(figure: Figure, path: FilePath) -> Figure:
    """The figure, written to a file if there is a path."""
    if path is not None:
        save(figure, path)
    return figure


def headings(figure: Figure, title: str, keys: Sequence[Artist] = (), *, warning: str = "") -> None:
    """Title at the left, a legend of the whole figure at the right, a warning in red below.

    Where title and legend do not fit beside each other, the legend stands below the title.
    """
    text, width = literal(title), _POINTS * figure.get_figwidth()
    title_width = _text_width(text, _TITLE_SIZE, "bold")
    columns, legend_width = _legend_columns(keys, width)
    beside = not title or title_width + legend_width < 0.97 * width
    if title:
        look: Any = {"fontsize": _TITLE_SIZE, "fontweight": "bold", "color": INK, "wrap": True}
        line = figure.suptitle(text, x=0.01, ha="left", **look)
        if keys and not beside:
            lines = int(np.ceil(title_width / (0.95 * width)))
            _stack(figure, line, 1.25 * lines * _TITLE_SIZE + 4.0, keys, columns)
    if keys and beside:
        figure.legend(handles=list(keys), loc="outside upper right", ncols=columns)
    if warning:
        text = literal(warning)
        figure.supxlabel(text, x=0.01, ha="left", fontsize=8.5, color=RED, wrap=True)


def _stack(
    figure: Figure, title: Any, title_height: float, keys: Sequence[Artist], columns: int
) -> None:
    """A legend below the title, which is so many points high; the axes get the room below both.

    Matplotlib's own layout would put both into one band at the top.
    """
    height = _POINTS * figure.get_figheight()
    top = 1.0 - title_height / height
    legend = figure.legend(
        handles=list(keys), loc="upper right", ncols=columns, bbox_to_anchor=(0.0, 0.0, 1.0, top)
    )
    title.set_y(1.0 - 3.0 / height)
    for part in (title, legend):
        part.set_in_layout(False)
    rows = -(-len(keys) // columns)
    top -= (1.5 * rows + 0.8) * STYLE["legend.fontsize"] / height
    engine: Any = figure.get_layout_engine()
    engine.set(rect=(0.0, 0.0, 1.0, top))


def _legend_columns(keys: Sequence[Artist], width: float) -> tuple[int, float]:
    """Columns of a legend that fit into a width in points, and its own width."""
    if not keys:
        return 0, 0.0
    font = STYLE["legend.fontsize"]
    # Handle, gap and the space between columns, as Matplotlib has them.
    widths = [_text_width(str(key.get_label()), font) + (2.0 + 0.8 + 2.0) * font for key in keys]
    if len(keys) <= _MOST_COLUMNS and sum(widths) < width:
        return len(keys), sum(widths)
    columns = max(1, min(_MOST_COLUMNS, len(keys), int(width / max(widths))))
    return columns, columns * max(widths)


def _text_width(text: str, size: float, weight: str = "normal") -> float:
    """In points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    if not text.strip():
        return 0.0
    shape: Any = TextPath((0.0, 0.0), text, size=size, prop=FontProperties(weight=weight))
    return float(shape.get_extents().width)


def legend_above(axes: Axes, **options: Any) -> None:
    """A legend above the axes at the right, where it covers no data; none for a single plain line,
    which is what the title says. Lines of several colours with one label have one grey entry."""
    from matplotlib.lines import Line2D

    entries: dict[str, Any] = {}
    shared: dict[str, Any] = {}
    artists: list[Any]
    artists, labels = axes.get_legend_handles_labels()
    for handle, label in zip(artists, labels, strict=True):
        known = entries.setdefault(label, handle)
        if isinstance(known, Line2D) and known.get_color() != handle.get_color():
            shared[label] = Line2D([], [], color=GREY, linestyle=DASHES, linewidth=1.0, label=label)
    # What several have in common comes after them.
    handles = [*(h for label, h in entries.items() if label not in shared), *shared.values()]
    if not handles or (len(handles) == 1 and handles[0].get_linestyle() == "-"):
        return
    axes.legend(
        handles=handles,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        ncols=len(handles),
        borderaxespad=0.0,
        borderpad=0.25,
        handlelength=1.4,
        columnspacing=1.0,
        handletextpad=0.5,
        **options,
    )


def colour_bar(axes: Axes, coloured: Any, label: str) -> None:
    """A slim scale at the right of what colours mean."""
    bar: Any = axes.figure.colorbar(coloured, ax=axes, fraction=0.035, pad=0.02, aspect=32)
    bar.set_label(label)
    bar.outline.set_visible(False)
    bar.solids.set_alpha(1.0)


def equal_axes(axes: Axes, x: tuple[Any, Any], y: tuple[Any, Any]) -> None:
    """Scales that are equal; one of the ranges gives way. Comes after everything is drawn."""
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlim(*x, auto=True)
    axes.set_ylim(*y, auto=True)


def room(values: Iterable[Array], share: float = 0.06) -> tuple[float | None, float | None]:
    """A range with room above and below.

    A constant gets a span that does not blow up its rounding; nothing finite gets no range.
    """
    parts = [np.asarray(v, dtype=float).ravel() for v in values]
    known = np.concatenate([np.empty(0), *(p[np.isfinite(p)] for p in parts)])
    if known.size == 0:
        return None, None
    low, high = float(known.min()), float(known.max())
    if high - low < 1e-3 * max(1.0, abs(low), abs(high)):
        middle, half = 0.5 * (low + high), max(0.5, 0.1 * abs(high))
        return middle - half, middle + half
    return low - share * (high - low), high + share * (high - low)
