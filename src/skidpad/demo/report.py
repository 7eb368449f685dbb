"""What the demo prints, within 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from .drive import DT, Summary
from .sweep import Sweep

G = 9.81
"""Gravity in m/s², the unit in which drivers count acceleration."""


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
    rows = (
        (
            "cars",
            f"{len(swept.grip)} with {low:.0f} to {high:.0f} % grip, {swept.duration:.1f} s each",
        ),
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
    width = max(len(what) for what, _ in files)
    lines = [Text.assemble((f"{what:{width}}  ", "dim"), str(path)) for what, path in files]
    return Group(*lines)


def _table(title: str, rows: Sequence[tuple[str, str]]) -> Table:
    table = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE,
        show_header=False,
        pad_edge=False,
    )
    table.add_column(style="cyan", no_wrap=True)
    table.add_column()
    for name, value in rows:
        table.add_row(name, value)
    return table
