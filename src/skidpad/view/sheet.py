"""Table of texts with one layout for the terminal, notebooks and reports.

`cli.sheets` draws it on a terminal; `notebook` and `report` are HTML. Everything is escaped, except
cells that are already HTML (`Html`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape

_CELL = "padding:1px 10px 1px 0;vertical-align:top;border-top:1px solid rgba(128,128,128,0.25)"
_UNFOLDED = 3
"""Most columns of a table that fit on a narrow screen."""


class Html(str):
    """A cell that is already HTML; `style` is the inline style of its element in a report."""

    style: str

    def __new__(cls, text: str, style: str = "") -> Html:
        """Cell of this text."""
        cell = super().__new__(cls, text)
        cell.style = style
        return cell


@dataclass(frozen=True)
class Sheet:
    """Rows of texts with column heads."""

    heads: Sequence[str]
    """Column heads; empty for a table without heads."""
    rows: Sequence[Sequence[str]]
    numbers: Collection[int] = ()
    """Right-aligned columns."""
    wraps: Collection[int] = ()
    """Columns of sentences, which may be wrapped on a terminal."""
    failed: Collection[int] = ()
    """Rows that reports highlight in red."""
    grouped: bool = False
    """Whether consecutive rows of a report with the same first cell share it."""

    def without(self, column: int) -> Sheet:
        """A copy without one column; negative indices count from the end."""
        column %= len(self.heads)
        kept = [k for k in range(len(self.heads)) if k != column]
        heads, *rows = ([row[k] for k in kept] for row in (self.heads, *self.rows))
        numbers, wraps = (
            [n for n, k in enumerate(kept) if k in own] for own in (self.numbers, self.wraps)
        )
        return Sheet(heads, rows, numbers, wraps)

    def notebook(self) -> str:
        """HTML with inline styles, which take their colours from the page around it."""
        lines = [self._line("th", self.heads)] if self.heads else []
        lines += [self._line("td", row) for row in self.rows]
        return f'<table style="border-collapse:collapse;font-size:90%">{"".join(lines)}</table>'

    def _line(self, tag: str, cells: Sequence[str]) -> str:
        sides = ("right" if k in self.numbers else "left" for k in range(len(cells)))
        texts = (
            f'<{tag} style="text-align:{side};{_CELL}">{_html(cell)}</{tag}>'
            for side, cell in zip(sides, cells, strict=True)
        )
        return f'<tr style="background:none">{"".join(texts)}</tr>'

    def report(self, about: str = "", kind: str = "") -> str:
        """HTML for a page with the style of reports, below a remark.

        `kind` is the CSS class of the table. Without one, rows of many cells are folded on narrow
        screens: one line for each cell, with its head.
        """
        kinds = ["number" if k in self.numbers else "text" for k in range(len(self.heads))]
        heads = "".join(
            f'<th scope="col" class="{own}">{escape(name)}</th>'
            for own, name in zip(kinds, self.heads, strict=True)
        )
        lines: list[str] = []
        for k, (first, *others) in enumerate(self.rows):
            cells = f'<th scope="row">{_html(first)}</th>'
            if self.grouped:
                same = [n for n, row in enumerate(self.rows) if row[0] == first]
                head = f'<th scope="rowgroup" rowspan="{len(same)}">{_html(first)}</th>'
                cells = head if same[0] == k else ""
            for own, name, cell in zip(kinds[1:], self.heads[1:], others, strict=False):
                style = f' style="{cell.style}"' if isinstance(cell, Html) and cell.style else ""
                look = f'{style} class="{own}" data-head="{escape(name)}"'
                cells += f"<td{look}>{_html(cell)}</td>"
            failed = ' class="failed"' if k in self.failed else ""
            lines.append(f"<tr{failed}>{cells}</tr>")
        kind = kind or ("metrics" if len(self.heads) > _UNFOLDED else "")
        table = f'<table class="{kind}">' if kind else "<table>"
        return (
            (f'<p class="source">{escape(about)}</p>' if about else "")
            + f'<div class="scroll">{table}<thead><tr>{heads}</tr></thead>'
            f"<tbody>{''.join(lines)}</tbody></table></div>"
        )


def _html(cell: str) -> str:
    return cell if isinstance(cell, Html) else escape(cell)
