"""Tables that cut off nothing: where they do not fit, their cells stand below each other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

LEAST_TEXT = 24
"""Characters that a column of sentences takes at least to be read."""
_AROUND = 2
"""Characters around all columns."""


class Legible:
    """A table whose columns that do not wrap, those with numbers, are shown as they are."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if needed(self.table) <= options.max_width:
            yield self.table
        else:
            yield from _stacked(self.table)


def needed(table: Table) -> int:
    """Characters that a table takes at least to be read."""
    _, right, _, left = table.padding
    between = left + 1 + right
    return sum(map(_width, table.columns)) + between * (len(table.columns) - 1) + _AROUND


def _width(column: Column) -> int:
    texts = [_plain(column.header), *map(_plain, column.cells)]
    widest = max(map(cell_len, texts), default=0)
    if not column.no_wrap:
        widest = min(widest, LEAST_TEXT)
    return max(widest, column.min_width or 0)


def _stacked(table: Table) -> Iterator[RenderableType]:
    """The first cell of each row as a heading, the others below with the names of their columns."""
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
