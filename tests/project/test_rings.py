"""docs/architecture.md lists the rings; the imports of the package are held against the list."""

from __future__ import annotations

import re
from pathlib import Path

from project.test_imports import part_graph

PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"


def listed() -> list[str]:
    """The parts of the package from the innermost to the outermost, as the page has them."""
    block = re.search(r"```rings\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    assert block is not None
    return [part for line in block.group(1).splitlines() for part in line.split(":", 1)[1].split()]


def test_every_part_is_listed_once() -> None:
    assert sorted(listed()) == sorted(part_graph())


def test_imports_go_inwards() -> None:
    rank = {part: k for k, part in enumerate(listed())}
    outwards = [
        f"{part} imports {other}"
        for part, others in part_graph().items()
        for other in others
        if rank[other] >= rank[part]
    ]
    assert outwards == []
