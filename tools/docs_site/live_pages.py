"""Live pages in the site: recorded while it is built, and shown in frames.

A page asks for one by a comment, `<!-- live: lap -->`, which plain Markdown does not show. On the
site a frame with the live page comes in its place, and in place of a picture that follows it.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

MARK = re.compile(r"^<!-- live: (?P<name>\w+) -->$(?:\n+!\[[^\]]*\]\([^)\s]+\)$)?", re.MULTILINE)
FRAME = """<div class="live"><iframe src="{address}" title="{title}" loading="lazy"
allowfullscreen></iframe><p><a href="{address}">Alone on a page</a></p></div>"""
PATIENCE = 300.0
"""Seconds after which a command counts as stuck."""


class LivePage(NamedTuple):
    """A page that stands by itself and is shown in a frame."""

    title: str
    """For those who do not see it."""
    write: Callable[[Path], None]
    """Writes it to a file."""


def command(*arguments: str) -> None:
    """Run a command of skidpad; only its errors are shown."""
    line = [sys.executable, "-m", "skidpad", *arguments]
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL, timeout=PATIENCE)


def replay(*arguments: str) -> Callable[[Path], None]:
    """What writes the replay page of a run; arguments of `skidpad run`."""

    def write(page: Path) -> None:
        with TemporaryDirectory() as folder:
            command("run", *arguments, "--quiet", "--out", folder)
            (made,) = Path(folder).glob("*.html")
            page.write_bytes(made.read_bytes())

    return write


def drive(*arguments: str) -> Callable[[Path], None]:
    """What writes a page that drives; arguments of `skidpad html --drive`."""
    return lambda page: command("html", "--drive", *arguments, str(page))


PAGES = {
    "drive": LivePage("A car to drive", drive("formula_student", "--track", "1")),
    "lap": LivePage("Replay of two laps on a cone track", replay("lap")),
    "warehouse": LivePage("Replay of robots in a warehouse", replay("warehouse")),
}
"""By the names under which pages ask for them."""


def asked(text: str) -> list[str]:
    """The live pages that a page asks for."""
    return [mark["name"] for mark in MARK.finditer(text)]


def framed(text: str, folder: str) -> str:
    """A page with frames where it asks for them; the live pages are in a folder of the site."""

    def frame(mark: re.Match[str]) -> str:
        name = mark["name"]
        return FRAME.format(address=f"{folder}/{name}.html", title=PAGES[name].title)

    return MARK.sub(frame, text)


def record(folder: Path) -> None:
    """Write all live pages to a folder."""
    folder.mkdir(parents=True)
    for name, page in PAGES.items():
        page.write(folder / f"{name}.html")
