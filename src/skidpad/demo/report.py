"""What the demo prints, within 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from .drive import DT, Summary
from .sweep import Sweep

G = 9.81
"""Gravity in m/s², the unit in which drivers count acceleration."""
NAME_WIDTH = 20
"""Columns for the names, so that the tables line up."""


def run_table(shown: Summary) -> RenderableType:
    """The figures of the run of one car."""
    best = f", best {min(shown.lap_times):.2f} s" if shown.lap_times else ""
    rows = (
        ("laps", f"{len(shown.lap_times)} in {sum(shown.lap_times):.2f} s{best}"),
        ("speed", f"mean {shown.mean_speed:.2f} m/s, top {shown.top_speed:.2f} m/s"),
        ("lateral acceleration", f"peak {shown.a_lateral:.1f} m/s² ({shown.a_lateral / G:.2f} g)"),
        ("distance to the line", f"at most {shown.deviation:.2f} m"),
        ("wheel loads", f"{shown.load:.0f} N or more"),
        ("real-time factor", f"{shown.real_time_factor:.0f} with the driver in Python"),
    )
    title = f"Formula Student car on the skidpad, from standstill, {1000 * DT:.0f} ms step"
    return _table(title, rows)


def sweep_table(swept: Sweep) -> RenderableType:
    """The figures of the fleet."""
    low, high = 100 * swept.grip.min(), 100 * swept.grip.max()
    cars = f"{len(swept.grip)} with {low:.0f} to {high:.0f} % grip"
    rows = (
        ("cars", f"{cars}, {swept.duration:.1f} s each"),
        ("kept their lane", _kept(swept)),
        ("speed", f"{swept.rate / 1e6:.1f} million steps/s with the drivers compiled in"),
    )
    return _table("The same lap by a fleet", rows)


def _kept(swept: Sweep) -> str:
    count = int(swept.kept.sum())
    if count in (0, len(swept.kept)):
        return "none" if count == 0 else "all"
    lost = swept.grip[~swept.kept]
    return f"{count}, all of those above {100 * float(lost.max()):.0f} % grip"


def files_note(files: Sequence[tuple[str, Path]]) -> RenderableType:
    """Where the files are, whole paths whatever the width."""
    lines = [Text.assemble((f"{what:{NAME_WIDTH}}   ", "cyan"), str(path)) for what, path in files]
    return Group(*lines)


def _table(title: str, rows: Sequence[tuple[str, str]]) -> RenderableType:
    table = Table.grid(padding=(0, 3, 0, 0))
    table.add_column(style="cyan", no_wrap=True, min_width=NAME_WIDTH)
    table.add_column()
    for name, value in rows:
        table.add_row(name, value)
    return Group(Text(title, style="bold"), table, Text())
