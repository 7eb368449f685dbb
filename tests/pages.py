"""The pages of the documentation and the blocks of code in them, for tests."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^`]*)$")


class Block(NamedTuple):
    """A fenced block: its info string, the line its text begins on (from 1) and its lines."""

    info: str
    line: int
    text: list[str]


def blocks(page: str) -> list[Block]:
    complete: list[Block] = []
    current: Block | None = None
    indent = 0
    for number, line in enumerate(page.splitlines(), start=1):
        fence = FENCE.match(line)
        if fence and current is None:
            indent = len(fence["indent"])
            current = Block(fence["info"].strip(), number + 1, [])
        elif fence and current is not None:
            complete.append(current)
            current = None
        elif current is not None:
            current.text.append(line[indent:])
    return complete


def python_blocks(page: str) -> list[Block]:
    return [block for block in blocks(page) if block.info.split()[:1] == ["python"]]


def script(page: str) -> str:
    """The page with all but the blocks to run made empty, so that line numbers are the page's."""
    lines = [""] * len(page.splitlines())
    for block in python_blocks(page):
        if block.info == "python":
            lines[block.line - 1 : block.line - 1 + len(block.text)] = block.text
    return "\n".join(lines) + "\n"


def tables(page: str) -> list[list[list[str]]]:
    """The tables of a page: rows of cells without their quotes, the head first."""
    lines = [line.strip() for line in page.splitlines()]
    rows: list[list[list[str]]] = [[]]
    for line in lines:
        if not line.startswith("|"):
            rows.append([])
        elif not set(line) <= set("|-: "):
            rows[-1].append(
                [cell.strip().strip("`") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            )
    return [table for table in rows if table]
