"""Style of figures, printed names of quantities, and the frame of every figure.

The same run gives the same file. The frame comprises argument checks, size, title, legends and axis
ranges; names of quantities are those of vehicles' records.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.arrays import Array
from ...core.files import path_of, replacing
from ...errors import InvalidValue, require

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.gridspec import GridSpec

FORMATS = (".png", ".svg", ".pdf")
DPI = 150
_CELL_DPI = 100
"""Resolution in notebooks, where a figure of 8 inches fills the width of a cell."""

INK, GREY, FAINT, RED = "#333333", "#888888", "#E2E2E2", "#B03000"
TICKS = "#666666"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#555555", "#A08C00")
"""Line colours in order; the first six are Okabe and Ito's colour-blind-safe palette."""
BLUE, ORANGE, GREEN = COLOURS[:3]
SCALE = "viridis"
"""Colour map of values, distinguishable by lightness alone for colour-blind readers and grey
print."""
_LIGHTEST = 0.86
"""Share of the colour map up to which a line is visible on white paper."""

DASHES: Any = (0, (3, 1.6))
DOTS: Any = (0, (1, 1.5))

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
    "xtick.color": TICKS,
    "ytick.color": TICKS,
    "xtick.major.size": 2.5,
    "ytick.major.size": 2.5,
    "text.color": INK,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "lines.linewidth": 1.3,
    "lines.solid_capstyle": "round",
    "mathtext.fontset": "dejavusans",
    "image.cmap": SCALE,
    # Text as text: files stay small and searchable, and editors can change it. Journals refuse
    # the outlines that a PDF has otherwise (Type 3 fonts).
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    # Without it, the identifiers within an SVG are random.
    "svg.hashsalt": "skidpad",
}


def shades(count: int) -> list[str]:
    """Colours of an ordered series, such as speeds or loads, from dark to light."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    places = np.linspace(0.05, _LIGHTEST, count) if count > 1 else np.array([0.35])
    return [to_hex(colormaps[SCALE](float(place))) for place in places]


def check_suffix(path: str | os.PathLike[str]) -> str:
    """Suffix of a figure file; raises if the format is not supported."""
    suffix = path_of(path).suffix.lower()
    if suffix not in FORMATS:
        named = f"{', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
        html = suffix.startswith(".htm")
        page = "; a page to zoom and point at is written by Film.to_html" if html else ""
        raise InvalidValue(f"cannot plot to {Path(path)}: the suffix must be {named}{page}")
    return suffix


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure as PNG, SVG or PDF by the suffix of the path."""
    from matplotlib import rc_context

    suffix = check_suffix(path)
    # Without a date, the same run gives the same file.
    undated = {".png": None, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[suffix]
    with rc_context(STYLE), replacing(path) as temporary:
        figure.savefig(temporary, dpi=DPI, format=suffix[1:], metadata=undated)


def picture(figure: Figure) -> bytes:
    """PNG of a figure, which a notebook shows as the value of a cell."""
    from matplotlib import rc_context

    file = BytesIO()
    with rc_context(STYLE):
        figure.savefig(file, dpi=_CELL_DPI, format="png")
    return file.getvalue()


DEGREES = {"rad": "°", "rad/s": "°/s", "rad/s²": "°/s²"}
"""Screen units of angles, which are in radians everywhere else."""
GREEK = {"alpha": "α", "beta": "β", "delta": "δ", "kappa": "κ", "mu": "μ", "omega": "ω", "tau": "τ"}
WORDS = {
    "x": "Position",
    "y": "Position",
    "position": "Distance",
    "yaw": "Heading",
    "v": "Speed",
    "v_x": "Velocity forward",
    "v_y": "Velocity to the left",
    "omega": "Yaw rate",
    "beta": "Slip angle",
    "steer": "Steering angle",
    "a_x": "Acceleration forward",
    "a_y": "Acceleration to the left",
    "a_long": "Acceleration forward",
    "a_lat": "Acceleration to the left",
}
_SYMBOLLESS = frozenset({"position", "yaw", "steer", "a_long", "a_lat"})
"""Quantities whose symbol would repeat their name."""


def factor(unit: str) -> float:
    """Factor from an SI unit to the screen unit."""
    return float(np.rad2deg(1.0)) if unit in DEGREES else 1.0


def on_screen(values: Array, unit: str) -> Array:
    return np.rad2deg(values) if unit in DEGREES else values


def screen_unit(unit: str) -> str:
    return DEGREES.get(unit, unit)


def symbol(name: str) -> str:
    """A name as a printed symbol: F_z_fl is F with the index z,fl."""
    letter, _, index = name.partition("_")
    letter = GREEK.get(letter, letter)
    upright = letter if len(letter) == 1 else f"\\mathrm{{{letter}}}"
    lower = index.replace("_", ",")
    return f"${upright}_{{\\mathrm{{{lower}}}}}$" if index else f"${upright}$"


def literal(text: str) -> str:
    """External text with dollar signs escaped, so that it is not read as mathematics."""
    return text.replace("$", r"\$")


def quantity_title(name: str, unit: str) -> str:
    """Heading of a quantity: words, symbol and unit, or its name if it has no words."""
    words = WORDS.get(name)
    if words is None:
        heading = literal(name)
    else:
        heading = words if name in _SYMBOLLESS else f"{words} {symbol(name)}"
    return f"{heading} [{screen_unit(unit)}]" if unit else heading


def axis_label(name: str, unit: str) -> str:
    """Label of an axis: words, symbol and unit."""
    heading = quantity_title(name, unit)
    return heading[0].lower() + heading[1:] if name in WORDS else heading


FilePath = str | os.PathLike[str] | None
Size = tuple[float, float] | None
"""Width and height in inches."""
_TITLE_SIZE = 12.0
_POINTS = 72.0
"""Points per inch."""
_MOST_COLUMNS = 5


def check(path: FilePath, backend: str, size: Size) -> None:
    """Raise for an unsupported file, backend or size, before anything is computed."""
    if backend != "matplotlib":
        raise InvalidValue(
            f"backend = {backend!r}: figures are drawn by matplotlib. For a file use "
            'path="figure.svg", for an interactive picture the replay page: '
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
    """Raise if Matplotlib is not installed."""
    require("matplotlib", purpose="a figure")


@contextmanager
def new_figure(
    widths: Sequence[float], heights: Sequence[float], size: Size = None
) -> Generator[tuple[Figure, GridSpec]]:
    """A figure in the house style and a grid of axes, with columns and rows of these sizes in
    inches.

    `size` scales the whole figure. The style applies within the block.
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
        # Notebooks learn to display figures when pyplot is imported, which is not done here.
        figure._repr_png_ = partial(picture, figure)
        sizes = {"width_ratios": widths, "height_ratios": heights}
        yield figure, figure.add_gridspec(len(heights), len(widths), **sizes)


def write_figure(figure: Figure, path: FilePath) -> Figure:
    """Write the figure if there is a path, and return it."""
    if path is not None:
        save(figure, path)
    return figure


def headings(figure: Figure, title: str, keys: Sequence[Artist] = (), *, warning: str = "") -> None:
    """Add a title at the left, a figure legend at the right and a warning in red below.

    If title and legend do not fit next to each other, the legend is placed below the title.
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
            # Legend below the title, axes below both: Matplotlib's own layout would put title and
            # legend into one band at the top.
            height = _POINTS * figure.get_figheight()
            top = 1.0 - (1.25 * lines * _TITLE_SIZE + 4.0) / height
            legend = figure.legend(
                handles=list(keys),
                loc="upper right",
                ncols=columns,
                bbox_to_anchor=(0.0, 0.0, 1.0, top),
            )
            line.set_y(1.0 - 3.0 / height)
            for part in (line, legend):
                part.set_in_layout(False)
            rows = -(-len(keys) // columns)
            top -= (1.5 * rows + 0.8) * STYLE["legend.fontsize"] / height
            engine: Any = figure.get_layout_engine()
            engine.set(rect=(0.0, 0.0, 1.0, top))
    if keys and beside:
        figure.legend(handles=list(keys), loc="outside upper right", ncols=columns)
    if warning:
        text = literal(warning)
        figure.supxlabel(text, x=0.01, ha="left", fontsize=8.5, color=RED, wrap=True)


def _legend_columns(keys: Sequence[Artist], width: float) -> tuple[int, float]:
    """Number of legend columns that fit into a width in points, and the width of the legend."""
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
    """Width in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    if not text.strip():
        return 0.0
    shape: Any = TextPath((0.0, 0.0), text, size=size, prop=FontProperties(weight=weight))
    return float(shape.get_extents().width)


def legend_above(axes: Axes, **options: Any) -> None:
    """Add a legend above the axes at the right, where it covers no data.

    A single plain line has no legend, since the title names it. Lines of several colours with one
    label share one grey entry.
    """
    from matplotlib.lines import Line2D

    entries: dict[str, Any] = {}
    shared: dict[str, Any] = {}
    artists: list[Any]
    artists, labels = axes.get_legend_handles_labels()
    for handle, label in zip(artists, labels, strict=True):
        known = entries.setdefault(label, handle)
        if isinstance(known, Line2D) and known.get_color() != handle.get_color():
            shared[label] = Line2D([], [], color=GREY, linestyle=DASHES, linewidth=1.0, label=label)
    # A label shared by several lines comes after the others.
    handles = [*(h for label, h in entries.items() if label not in shared), *shared.values()]
    if not handles or (len(handles) == 1 and handles[0].get_linestyle() == "-"):
        return
    put_legend(axes, handles, **{"handlelength": 1.4, **options})


def put_legend(axes: Axes, handles: Sequence[Any], **options: Any) -> None:
    """Add a legend above the axes at the right, next to the title."""
    where = {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.0}
    room = {"borderpad": 0.25, "columnspacing": 1.0, "handletextpad": 0.5}
    axes.legend(handles=list(handles), ncols=len(handles), **where, **room, **options)


def label_at(axes: Axes, text: str, at: tuple[float, float], **options: Any) -> None:
    """Write a small text at a point of the axes, with an offset `xytext` in points."""
    axes.annotate(text, at, textcoords="offset points", fontsize=7.5, zorder=5.0, **options)


def colour_bar(axes: Axes, coloured: Any, label: str) -> None:
    bar: Any = axes.figure.colorbar(coloured, ax=axes, fraction=0.035, pad=0.02, aspect=32)
    bar.set_label(label)
    bar.outline.set_visible(False)
    bar.solids.set_alpha(1.0)


def equal_axes(axes: Axes, x: tuple[Any, Any], y: tuple[Any, Any]) -> None:
    """Set equal scales, extending one of the ranges; call it after everything is drawn."""
    axes.set_aspect("equal", adjustable="datalim")
    axes.set_xlim(*x, auto=True)
    axes.set_ylim(*y, auto=True)


def room(values: Iterable[Array], share: float = 0.06) -> tuple[float | None, float | None]:
    """Axis range with a margin above and below.

    A constant gets a span that does not magnify its rounding; without finite values there is no
    range.
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
