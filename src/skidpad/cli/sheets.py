"""Tables on a terminal: layout of a `view.sheet.Sheet`, facts and notes.

Tables truncate nothing: where the columns do not fit, the cells of a row are stacked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rich import box
from rich.cells import cell_len as cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.console import Group as Group
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from ..view.sheet import Sheet

LEAST_TEXT = 24
"""Least readable width of a column of sentences, in characters."""
_AROUND = 2
"""Characters of margin around all columns."""


class Legible:
    """Table that never wraps its number columns and switches to another layout on narrow screens.

    `narrow` is the alternative layout and `least` its width in characters. If no layout fits, the
    cells of each row are stacked.
    """

    def __init__(self, table: Table, narrow: RenderableType | None = None, least: int = 0) -> None:
        self.table, self.narrow, self.least = table, narrow, least

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        _, right, _, left = self.table.padding
        columns = self.table.columns
        needed = sum(map(_width, columns)) + (left + 1 + right) * (len(columns) - 1) + _AROUND
        if needed <= options.max_width:
            yield self.table
        elif self.narrow is not None and self.least <= options.max_width:
            yield self.narrow
        else:
            yield from _stacked(self.table)


def _width(column: Column) -> int:
    widest = max(map(cell_len, map(_plain, (column.header, *column.cells))), default=0)
    if not column.no_wrap:
        widest = min(widest, LEAST_TEXT)
    return max(widest, column.min_width or 0)


def _stacked(table: Table) -> Iterator[RenderableType]:
    """Stacked layout: the first cell of each row is a heading; the other cells follow with column
    names.
    """
    if table.title:
        yield Text(_plain(table.title), "bold")
    first, *others = table.columns
    names = [_plain(column.header) for column in others]
    for head, *cells in zip(*(column.cells for column in (first, *others)), strict=True):
        yield Text(_plain(head), str(first.style), overflow="fold")
        for name, cell in zip(names, map(_plain, cells), strict=True):
            if cell:
                line = Text.assemble((f"{name} ", "dim"), cell, overflow="fold")
                yield Padding(line, (0, 0, 0, 2))


def _plain(cell: Any) -> str:
    return cell.plain if isinstance(cell, Text) else str(cell)


def plain_table(**look: Any) -> Table:
    """Empty table style: no columns yet, and a single line below the header."""
    look = {"pad_edge": False, "show_edge": False, **look}
    return Table(box=box.SIMPLE_HEAD, **look)


def table(sheet: Sheet, first: str = "cyan", **look: Any) -> Table:
    """Table of a sheet; `first` is the style of its first column."""
    made = plain_table(**look)
    for k, head in enumerate(sheet.heads):
        style = first if k == 0 else ""
        justify = "right" if k in sheet.numbers else "left"
        wraps: Any = {"overflow": "fold"} if k in sheet.wraps else {"no_wrap": True}
        made.add_column(head, style=style, justify=justify, **wraps)
    for row in sheet.rows:
        made.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    return made


def legible(sheet: Sheet, **look: Any) -> Legible:
    """Table of a sheet that fits narrow terminals too."""
    return Legible(table(sheet, **look))


def facts(rows: Iterable[tuple[str, str | Text]]) -> Table:
    """Table of facts: dimmed names on the left, values on the right."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows:
        grid.add_row(name, value if isinstance(value, Text) else Text(value))
    return grid


def notes(texts: Iterable[str], kind: str = "note") -> list[Text]:
    """Notes as yellow lines, one per text."""
    return [Text(f"{kind}: {text}", "yellow") for text in texts]


def print_files(files: Mapping[str, Path]) -> None:
    """Print a line for each written file, with what it contains."""
    from ..demo.performing import file_line

    for what, path in files.items():
        Console(soft_wrap=True).print(file_line(what, path))
