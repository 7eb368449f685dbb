"""Figures of speed on the pages are those of the latest results that were kept."""

from __future__ import annotations

import json
import re

from pages import PAGES, ROOT, tables
from printed import rounds_to

RESULTS = ROOT / "benchmarks" / "results"
FIGURE = re.compile(r"(?P<number>\d[\d.]*)(?: / [\d./ ]+)? (?P<unit>billion|million|µs|ms|s)\b")
UNITS = {"billion": 1e9, "million": 1e6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}


def latest() -> dict[str, dict[str, float]]:
    """Values by entry and machine; files are named by date and machine."""
    values: dict[str, dict[str, float]] = {}
    for file in sorted(RESULTS.glob("*.json")):
        machine = file.stem.split("-")[3]
        for entry in json.loads(file.read_text("utf-8"))["entries"]:
            values.setdefault(entry["name"], {})[machine] = entry["value"]
    return values


def quoted() -> list[tuple[str, str, str, str]]:
    """Page, entry, number and unit of every row that begins with an entry and its figure."""
    rows = [
        (page.name, row) for page in PAGES for t in tables(page.read_text("utf-8")) for row in t
    ]
    found: list[tuple[str, str, str, str]] = []
    for page, row in rows:
        figure = FIGURE.match(row[1]) if len(row) > 1 else None
        if figure:
            entry = re.split(r"[`,]", row[0])[0]
            found.append((page, entry, figure["number"], figure["unit"]))
    return found


def test_figures_are_those_of_the_latest_results() -> None:
    values = latest()
    rows = [row for row in quoted() if row[1] in values]
    assert len(rows) > 20
    stale = [
        (page, entry, f"{number} {unit}", values[entry])
        for page, entry, number, unit in rows
        if not any(rounds_to(str(v / UNITS[unit]), number) for v in values[entry].values())
    ]
    assert not stale
