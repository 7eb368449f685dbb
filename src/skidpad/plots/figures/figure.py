"""From a sheet to a figure: by which painter, and into which file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ...errors import InvalidValue
from ...files import replacing
from .sheet import Sheet

BACKENDS = ("matplotlib", "plotly")
PAGE = ".html"


def figure(
    sheet: Sheet,
    *,
    backend: str = "matplotlib",
    path: str | os.PathLike[str] | None = None,
    size: tuple[float, float] | None = None,
) -> Any:
    """The sheet as a Matplotlib or Plotly figure; with `path` also written to a file.

    Matplotlib writes PNG, SVG and PDF, Plotly one HTML page that needs no network. `size` is width
    and height in inches.
    """
    check(backend, path, size)
    sheet = sheet.sized(size)
    if backend == "plotly":
        from . import paint_plotly

        drawn = paint_plotly.figure(sheet)
        if path is not None:
            with replacing(path) as temporary:
                drawn.write_html(temporary, include_plotlyjs=True)
        return drawn
    from . import paint_matplotlib
    from .matplotlib_style import save

    drawn = paint_matplotlib.figure(sheet)
    if path is not None:
        save(drawn, path)
    return drawn


def check(
    backend: str, path: str | os.PathLike[str] | None, size: tuple[float, float] | None = None
) -> None:
    """Raise for a back end, a file or a size that there is not, before anything is computed."""
    if backend not in BACKENDS:
        raise InvalidValue(f"backend = {backend!r} is unknown; allowed are {', '.join(BACKENDS)}")
    if size is not None and not (len(size) == 2 and all(0.5 <= s <= 100.0 for s in size)):
        raise InvalidValue(f"size = {size} must be width and height in inches, from 0.5 to 100")
    if path is None:
        return
    suffix = Path(path).suffix.lower()
    if backend == "plotly" and suffix != PAGE:
        raise InvalidValue(f"cannot plot to {Path(path)}: Plotly writes {PAGE}")
    if backend == "matplotlib" and suffix == PAGE:
        raise InvalidValue(f"cannot plot to {Path(path)}: a page needs backend='plotly'")
