"""Pieces of the pages that notebooks show: headings, tables, drawings side by side.

Plain HTML with inline styles that take their colours from the page: no scripts, no style sheets, no
identifiers that could meet those of another output. Everything that comes from outside is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_LINE = "border-top:1px solid rgba(128,128,128,0.25)"


def page(*parts: str) -> str:
    """Parts below each other."""
    return f'<div style="font-family:system-ui,sans-serif;line-height:1.4">{"".join(parts)}</div>'


def heading(name: str, about: str = "") -> str:
    """A name, and beside it in lighter letters what it is."""
    beside = f' <span style="opacity:0.7">{escape(about)}</span>' if about else ""
    return f'<div style="margin-bottom:0.4em"><b>{escape(name)}</b>{beside}</div>'


def beside(*parts: str) -> str:
    """Parts next to each other, below each other where there is no room."""
    cells = "".join(f"<div>{part}</div>" for part in parts if part)
    return (
        f'<div style="display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start">{cells}</div>'
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    """Rows of texts; `numbers` are the columns that are aligned to the right."""
    lines = [_row("th", head, numbers)] if head else []
    lines += [_row("td", row, numbers) for row in rows]
    return f'<table style="border-collapse:collapse;font-size:90%">{"".join(lines)}</table>'


def _row(tag: str, cells: Sequence[str], numbers: Sequence[int]) -> str:
    texts: list[str] = []
    for k, cell in enumerate(cells):
        side = "right" if k in numbers else "left"
        style = f"text-align:{side};padding:1px 10px 1px 0;vertical-align:top;{_LINE}"
        texts.append(f'<{tag} style="{style}">{escape(cell)}</{tag}>')
    return f'<tr style="background:none">{"".join(texts)}</tr>'


def folded(summary: str, content: str) -> str:
    """Something that is shown on a click."""
    return (
        f'<details style="margin-top:0.4em"><summary style="cursor:pointer">{escape(summary)}'
        f"</summary>{content}</details>"
    )


def warning(text: str) -> str:
    """A line in red."""
    return f'<div style="color:#C0392B;margin-top:0.4em">{escape(text)}</div>'


def remark(text: str) -> str:
    """A line in lighter letters."""
    return f'<div style="opacity:0.7;margin-top:0.4em">{escape(text)}</div>'


def short(value: float) -> str:
    """A number with five digits."""
    return f"{value + 0.0:.5g}".replace("-", "−")
