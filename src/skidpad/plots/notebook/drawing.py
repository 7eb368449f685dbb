"""A figure as an SVG element within a page: the same figure gives the same text.

Matplotlib's own SVG is a file. Within a page its style sheet would reach everything else, and its
identifiers those of another output; so both go. Ink has the colour of the page's text, so that the
drawing is at home on light and on dark pages. There are no scripts, and nothing is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from html import escape
from io import StringIO
from typing import Any

from ...errors import MissingExtra
from ..layout import require_matplotlib
from ..style import FAINT, INK, STYLE, TICKS
from .html_parts import remark

MOST_POINTS = 600
"""Of a line in a page."""
MOST_PIECES = 300
"""Of a path coloured by speed."""
PIXELS = 1.15
"""Per point, so that letters are as high as those of tables."""
_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_COLOURS = {
    INK: "currentColor",
    TICKS: "currentColor",
    FAINT.lower(): "rgba(128,128,128,0.25)",
}
_ROOT = (
    'role="img" font-family="system-ui, sans-serif" stroke-linejoin="round" '
    'style="max-width:100%;height:auto"'
)


def drawing(
    title: str, blank: AbstractContextManager[tuple[Any, Any]], draw: Callable[[Any, Any], None]
) -> str:
    """What `draw` draws on a blank figure and its grid, of `layout.new_figure`, as an SVG element;
    where Matplotlib is missing, a remark that says what to install."""
    try:
        require_matplotlib()
    except MissingExtra as error:
        return remark(str(error))
    with blank as (figure, grid):
        draw(figure, grid)
    return inline_svg(figure, title)


def inline_svg(figure: Any, title: str) -> str:
    """The figure as an SVG element."""
    from matplotlib import rc_context

    buffer = StringIO()
    with rc_context(STYLE):
        figure.savefig(buffer, format="svg", transparent=True, metadata=_METADATA)
    text = buffer.getvalue()
    text = text[text.index("<svg ") :]
    text = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", text, count=1, flags=re.DOTALL)
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    text = re.sub(r'(?<= style=")[^"]*(?=")', lambda match: _style(match[0]), text)
    # Hundredths of a point cannot be seen.
    text = re.sub(r' (?:d|x|y|transform)="[^"]*"', lambda match: _rounded(match[0]), text)
    text = re.sub(r"\s*\n\s*", "", text)
    head, body = text.split(">", 1)
    head = re.sub(r'"([\d.]+)pt"', lambda match: f'"{PIXELS * float(match[1]):.0f}"', head)
    return f"{head} {_ROOT}><title>{escape(title)}</title>{body}"


def _style(text: str) -> str:
    text = re.sub(r"font-family: [^;]*(; |$)", "", text)
    for colour, in_page in _COLOURS.items():
        text = text.replace(colour, in_page)
    return text


def _rounded(text: str) -> str:
    return re.sub(r"(\.\d\d)\d+", r"\1", text)
