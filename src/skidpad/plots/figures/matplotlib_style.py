"""How Matplotlib figures look and how they are written: the same run gives the same file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import InvalidValue
from ...files import replacing
from .sheet import INK

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = (".png", ".svg", ".pdf")
DPI = 150
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
    "mathtext.fontset": "dejavusans",
    # Text as text: files stay small and searchable, and editors can change it. Journals refuse
    # the outlines that a PDF has otherwise (Type 3 fonts).
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
}


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
