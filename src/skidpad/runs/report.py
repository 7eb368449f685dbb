"""What `skidpad run` prints while it runs and at the end."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from math import degrees
from pathlib import Path
from typing import NamedTuple

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from ..brief import counted
from ..progress import interactive, watching
from ..units import s
from .figures import Figures
from .performing import Outcome, Performance
from .show import Show

MOST_ROWS = 60
"""Vehicles that are listed; of more, the first ones."""
WIDE = 110
"""Columns of a terminal from which on there is room for the final poses."""
NONE = "–"


class Column(NamedTuple):
    """A column of the table."""

    name: str
    unit: str
    cell: Callable[[Figures], str]


def _laps(one: Figures) -> str:
    return NONE if one.lap_times is None else str(len(one.lap_times))


def _best(one: Figures) -> str:
    return f"{min(one.lap_times):.2f}" if one.lap_times else NONE


COLUMNS = (
    Column("distance", "m", lambda one: f"{one.distance:.2f}"),
    Column("laps", "", _laps),
    Column("best\nlap", "s", _best),
    Column("top\nspeed", "m/s", lambda one: f"{one.top_speed:.2f}"),
    Column("peak acc.\nalong", "m/s²", lambda one: f"{one.a_along:.2f}"),
    Column("\nacross", "m/s²", lambda one: f"{one.a_across:.2f}"),
    Column(
        "colli-\nsions", "", lambda one: NONE if one.collisions is None else str(one.collisions)
    ),
    Column("effort", "", lambda one: f"{one.effort:.2f}"),
)
LAPS = ("laps", "best\nlap")
"""Columns that are left out where nobody drives laps."""
LEAST = ("effort", "\nacross", "peak acc.\nalong", "laps", "colli-\nsions", "top\nspeed")
"""Columns that are left out where there is no room for all, the first of them first."""
POSES = (
    Column("ends at\nx", "m", lambda one: f"{one.pose[0]:.2f}"),
    Column("\ny", "m", lambda one: f"{one.pose[1]:.2f}"),
    Column("\nyaw", "°", lambda one: f"{degrees(one.pose[2]):.1f}"),
)
"""Where vehicles end."""


def run_table(outcome: Outcome, listed: Sequence[str], width: int = 80) -> RenderableType:
    """A line for each of the vehicles that are listed, and how fast the run was."""
    every = {one.name: one for one in outcome.tally.figures()}
    figures = [every[name] for name in listed[:MOST_ROWS]]
    columns = _columns(figures, width)
    while _needed(figures, columns) > width and len(columns) > 1:
        least = next((name for name in LEAST if name in [one.name for one in columns]), None)
        columns = [one for one in columns if one.name != least] if least else columns[:-1]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("vehicle", style="bold cyan", overflow="fold", min_width=7)
    for one in columns:
        table.add_column(f"{one.name}\n{one.unit}", justify="right", no_wrap=True)
    for vehicle in figures:
        table.add_row(vehicle.name, *(one.cell(vehicle) for one in columns))
    parts: list[RenderableType] = [table]
    if len(figures) < len(every):
        parts.append(Text(f"and {len(every) - len(figures)} more", "dim"))
    return Group(*parts, Text(_summary(outcome, len(every)), "dim"))


def _columns(figures: Sequence[Figures], width: int) -> list[Column]:
    laps = any(one.lap_times is not None for one in figures)
    shown = [one for one in COLUMNS if laps or one.name not in LAPS]
    return [*shown, *POSES] if width >= WIDE else shown


def _needed(figures: Sequence[Figures], columns: Sequence[Column]) -> int:
    """Characters that a table takes without a word being broken."""
    widest = max(len("vehicle"), *(len(one.name) for one in figures)) if figures else 7
    cells = [
        [*column.name.split("\n"), column.unit, *(column.cell(one) for one in figures)]
        for column in columns
    ]
    # A space before and one behind each column, but not around the table.
    return min(widest, 20) + sum(2 + max(map(len, texts)) for texts in cells)


def _summary(outcome: Outcome, vehicles: int) -> str:
    done, elapsed = outcome.done, outcome.elapsed
    how = f"stopped at {done:.3f} s of {outcome.wanted:g} s" if outcome.stopped else f"{done:.3f} s"
    factor = f": {done / elapsed:.3g} times real time" if done and elapsed > 0.0 else ""
    return f"{how} in {elapsed:.3f} s{factor}, {counted(vehicles, 'vehicle')}"


@contextmanager
def watched(duration: s, quiet: bool) -> Generator[Callable[[s], None]]:
    """A bar unless quiet; gives the function to be told the simulated time in s."""
    with watching(duration, "s", "run", progress=not quiet and interactive()) as bar:
        yield lambda time: bar.advance(time - bar.done)


def report(show: Show, performance: Performance) -> None:
    """The table of the vehicles, how fast the run was, and where its files are."""
    console = Console()
    console.print(run_table(performance.outcome, show.listed, console.width))
    for line in show.remarks:
        console.print(Text(line, "dim"))
    # soft_wrap: a path is to be copied, so it is never broken into lines.
    for what, path in (("recording", performance.recording), ("replay page", performance.page)):
        if path is not None:
            console.print(file_line(what, path), soft_wrap=True)


def file_line(what: str, path: Path) -> Text:
    """Where a file is."""
    size = path.stat().st_size
    shown = f"{size / 1e6:.1f} MB" if size >= 1e5 else f"{size / 1e3:.0f} kB"
    return Text.assemble((f"{what:12}", "cyan"), str(path), (f"  {shown}", "dim"))
