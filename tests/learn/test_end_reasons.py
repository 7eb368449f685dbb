"""Why episodes of the shipped tasks end: as their page has it, with the successes among them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from skidpad.learn import tasks
from skidpad.learn.programs import compile_task

PAGE = Path(__file__).parents[2] / "docs" / "learn.md"
NAMES = ("race", "race_others", "drift", "lane_change", "park", "navigate", "follow")


def cell_of(name: str) -> str:
    """The reasons of a task in the table of the page."""
    table = PAGE.read_text("utf-8").partition("| task | reasons;")[2].partition("\n\n")[0]
    found = re.search(rf"^\| `{name}` \| (.*) \|$", table, re.MULTILINE)
    assert found, name
    return found[1]


@pytest.mark.parametrize("name", NAMES)
def test_reasons_are_those_of_the_page(name: str) -> None:
    task, cell = getattr(tasks, name)(), cell_of(name)
    assert re.findall(r"`(\w+)`", cell) == [*compile_task(task).reasons, "duration"]
    assert set(re.findall(r"\*\*`(\w+)`\*\*", cell)) == set(task.successes)
