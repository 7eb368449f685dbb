"""Every picture of the documentation is drawn by a tool and shown by a page."""

from __future__ import annotations

import re
from pathlib import Path

from pages import PAGES, ROOT

IMAGE = re.compile(r"!\[[^\]]*\]\((?P<target>[^)\s]+)\)")
DRAWN = re.compile(r'^    "(?P<name>\w+\.png)": \w+,$', re.MULTILINE)


def shown() -> set[Path]:
    return {
        (page.parent / image["target"]).resolve()
        for page in PAGES
        for image in IMAGE.finditer(page.read_text("utf-8"))
        if "//" not in image["target"]
    }


def test_pages_show_pictures_that_are_there_and_all_of_them() -> None:
    there = {path for kind in ("png", "svg") for path in (ROOT / "docs").rglob(f"*.{kind}")}
    assert shown() == there


def test_every_picture_is_drawn_by_a_tool() -> None:
    tool = (ROOT / "tools" / "make_pictures.py").read_text("utf-8")
    drawn = {image["name"] for image in DRAWN.finditer(tool)}
    assert {path.name for path in shown()} == drawn | {"rings.svg"}
