"""Docstrings as Markdown: they are that already, but for lists of arguments and indented code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from textwrap import dedent

TITLES = {"Args:": "Arguments", "Returns:": "Returns", "Raises:": "Raises"}
NAMED = re.compile(r"(?P<name>\*{0,2}\w[\w., *]*): (?P<text>.*)")


def as_markdown(text: str | None) -> str:
    """The text of a docstring without its indentation, as Markdown that ends with a line break."""
    lines = (text or "").strip().split("\n")
    written: list[str] = []
    while lines:
        line = lines.pop(0)
        if line in TITLES:
            block = list(indented(lines))
            written += ["", f"**{TITLES[line]}**", "", *listed(block), ""]
            del lines[: len(block)]
        elif (
            line.startswith("    ")
            and not written[-1]
            and is_code(block := [line, *indented(lines)])
        ):
            # Without a fence it would be text of a list that stands before it.
            written += ["```python", dedent("\n".join(block)).strip(), "```", ""]
            del lines[: len(block) - 1]
        else:
            written.append(line)
    return "\n".join(written) + "\n"


def indented(lines: list[str]) -> Iterator[str]:
    """The lines at the beginning that are indented or empty."""
    for line in lines:
        if line and not line.startswith(" "):
            return
        yield line


def is_code(block: list[str]) -> bool:
    """Whether lines are Python."""
    try:
        return bool(ast.parse(dedent("\n".join(block))).body)
    except SyntaxError:
        return False


def listed(block: list[str]) -> list[str]:
    """Entries such as `name: text` as a list; further lines stay with their entry."""
    items: list[str] = []
    for line in dedent("\n".join(block)).strip("\n").split("\n"):
        entry = NAMED.fullmatch(line)
        if entry:
            items.append(f"- `{entry['name']}`: {entry['text']}")
        else:
            items.append(f"  {line.strip()}" if items and line.strip() else line.strip())
    return items
