"""The entries as a table, from 80 columns up; progress goes to stderr."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from .entry import EVALUATIONS, RATE, REAL_TIME, Entry

_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""), (1e-3, "m"), (1e-6, "µ"), (1e-9, "n"))
_SIGNS = {RATE: "/s", EVALUATIONS: "/s", REAL_TIME: "rt"}
LEGEND = (
    "Steps or evaluations per second (/s), seconds (s) or times real time (rt). × says how many "
    "times as fast skidpad is as the line's peer. Noise is how far runs differ. Error is the "
    "largest difference of the end states from a solution with tolerance 1e-12, or of forces from "
    "extended precision, relative to each field's scale; of exports, from the simulator itself."
)


def show(machine: Mapping[str, Any], versions: Mapping[str, Any], entries: Iterable[Entry]) -> None:
    """Measure and print."""
    console = Console()
    with Console(stderr=True).status("measuring") as status:
        rows: list[Entry] = []
        for entry in entries:
            rows.append(entry)
            status.update(f"measured {entry.name}")
    console.print(table(rows))
    console.print(Text(_about(machine, versions), "dim"))
    console.print(Text(LEGEND, "dim"))


def table(entries: Iterable[Entry]) -> Table:
    """An entry in bold, its peers below it, and a rule between entries."""
    grid = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    # A long name folds, so that its figures always show.
    grid.add_column("entry", overflow="fold")
    for heading in ("value", "noise", "×", "error"):
        grid.add_column(heading, justify="right", no_wrap=True)
    above: Entry | None = None
    for entry in entries:
        for row in _rows(entry, above):
            grid.add_row(*row)
        grid.add_section()
        above = entry
    return grid


def _rows(entry: Entry, above: Entry | None) -> Iterable[tuple[Text, ...]]:
    own = entry.own
    yield _row("bold cyan", entry.name, quantity(own.value, entry.unit), own.spread, "", own.error)
    if "scaling" in entry.details:
        yield _row("", "  times one thread", "", None, f"{entry.details['scaling']:.2f}", None)
    if above is not None and entry.peers and entry.peers == above.peers:
        yield _row("dim", "  peers as above", "", None, "", None)
        return
    slowed = entry.details.get("peers_with_one_thread", ())
    for name, peer in entry.peers.items():
        shown = f"  {name} (with one thread)" if name in slowed else f"  {name}"
        ratio = entry.ratio(name)
        times = f"{ratio:.0f}" if ratio >= 99.95 else f"{ratio:.3g}"
        value = quantity(peer.value, entry.unit)
        yield _row("", shown, value, peer.spread, times, peer.error)
    for name, reason in entry.absent.items():
        yield _row("dim", f"  {name}: {reason}", "", None, "", None)


def _row(
    style: str, name: str, value: str, noise: float | None, ratio: str, error: float | None
) -> tuple[Text, ...]:
    spread = "" if noise is None else f"{100.0 * noise:.0f} %"
    return (
        Text(name, style),
        Text(value, style if style == "dim" else "bold" if style else ""),
        Text(spread, "dim"),
        Text(ratio),
        Text("" if error is None else f"{error:.1e}"),
    )


def quantity(value: float, unit: str) -> str:
    """A rate or a time with three digits and a prefix: `11.3 M/s`, `2.82 µs`, `1.22 krt`."""
    factor, prefix = next(
        ((f, p) for f, p in _PREFIXES if abs(value) >= 0.9995 * f), (_PREFIXES[-1])
    )
    return f"{value / factor:#.3g} {prefix}{_SIGNS.get(unit, unit)}".replace(". ", " ")


def _about(machine: Mapping[str, Any], versions: Mapping[str, Any]) -> str:
    libraries = ", ".join(f"{name} {version}" for name, version in versions.items() if version)
    load = "" if machine["load"] is None else f" Load before: {machine['load']}."
    return (
        f"{machine['cpu']}, {machine['cores']} cores, {machine['vector_bits']}-bit vectors, "
        f"{machine['os']}, Python {machine['python']}; {libraries}.{load}"
    )
