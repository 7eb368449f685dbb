"""`skidpad` alone: what one can do next, by what one may want."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from .. import __version__
from ..extras import EXTRAS

if TYPE_CHECKING:
    from rich.console import RenderableType


class Suggestion(NamedTuple):
    """A command to try."""

    wish: str
    command: str
    """As it is typed, without `skidpad`."""
    extras: tuple[str, ...] = ()
    """What it needs beyond the base."""


SUGGESTIONS = (
    Suggestion("see which vehicles there are", "models"),
    Suggestion("read one of them, field by field", "models four_wheel"),
    Suggestion("have a lap driven and recorded", "run lap --out lap", ("recording",)),
    Suggestion("watch that recording", "replay lap/lap.mcap", ("recording",)),
    Suggestion("drive in the browser yourself", "serve", ("viewer", "world")),
    Suggestion("mail somebody a car to drive", "html --drive four_wheel car.html", ("recording",)),
    Suggestion("put a car to the standard tests", "test two_track --html report.html"),
    Suggestion("run thousands from one file", "campaign --help", ("campaigns",)),
    Suggestion("take a vehicle to other tools", "export fmu four_wheel", ("export",)),
    Suggestion("know how fast it is here", "bench core --quick"),
)
"""From the first look to studies. Each runs as it stands, on files of those before it at most."""


def start_screen() -> RenderableType:
    """The suggestions, what to install for those that do not run here, and where all else is."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    grid.add_column()
    grid.add_column(style="bold cyan", overflow="fold")
    for suggestion in SUGGESTIONS:
        grid.add_row(suggestion.wish, f"skidpad {suggestion.command}")
    heading = Text.assemble(
        ("skidpad", "bold"), f" {__version__} simulates ground vehicles. You can"
    )
    notes = ["All commands: skidpad --help. Completion by TAB: skidpad --install-completion."]
    if missing := missing_extras():
        notes.append(f'Some of these need more: pip install "skidpad[{",".join(missing)}]"')
    return Group(
        heading, "", Padding(grid, (0, 0, 0, 2)), "", *(Text(note, "dim") for note in notes)
    )


def missing_extras() -> list[str]:
    """Extras that suggestions need and of which a package is not installed; nothing is imported."""
    needed = dict.fromkeys(extra for suggestion in SUGGESTIONS for extra in suggestion.extras)
    return [
        extra for extra in needed if any(find_spec(package) is None for package in EXTRAS[extra])
    ]
