"""How figures look and how they are written: the same run gives the same file."""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InvalidValue
from ..files import path_of, replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")
DPI = 150
_CELL_DPI = 100
"""In notebooks, where a figure of 8 inches then fills the width of a cell."""

INK, GREY, FAINT, RED = "#333333", "#888888", "#E2E2E2", "#B03000"
TICKS = "#666666"
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#555555", "#A08C00")
"""Line colours in order; the first six are Okabe and Ito's palette for colour-blind readers."""
BLUE, ORANGE, GREEN = COLOURS[:3]
SCALE = "viridis"
"""Colour map of values: its lightness alone tells them apart, for colour-blind readers and on grey
paper."""
_LIGHTEST = 0.86
"""Share of the colour map up to which a line is seen on white paper."""

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
    # Else the names of parts within an SVG are random.
    "svg.hashsalt": "skidpad",
}


def shades(count: int) -> list[str]:
    """Colours of an ordered series, such as speeds or loads, from dark to light."""
    from matplotlib import colormaps
    from matplotlib.colors import to_hex

    places = np.linspace(0.05, _LIGHTEST, count) if count > 1 else np.array([0.35])
    return [to_hex(colormaps[SCALE](float(place))) for place in places]


def check_suffix(path: str | os.PathLike[str]) -> str:
    """The suffix of a file that a figure can be written to; raises for others."""
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
    # Without the date in it, the same run gives the same file.
    undated = {".png": None, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[suffix]
    with rc_context(STYLE), replacing(path) as temporary:
        figure.savefig(temporary, dpi=DPI, format=suffix[1:], metadata=undated)


def picture(figure: Figure) -> bytes:
    """A figure as the PNG that a notebook shows when it is the value of a cell."""
    from matplotlib import rc_context

    file = BytesIO()
    with rc_context(STYLE):
        figure.savefig(file, dpi=_CELL_DPI, format="png")
    return file.getvalue()
