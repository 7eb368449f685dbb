"""All checks of the validation report, in the order of its page, and the page as text."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from validation.rows import (
    ground,
    handling,
    motion,
    numerics,
    programs,
    proving,
    robots,
    tyre_rows,
)
from validation.rows.row import Check, Row, texts

__all__ = ["CHECKS", "PAGE", "page", "rows_of"]

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "validation.md"
RESULTS = ROOT / "benchmarks" / "results"

CHECKS = (
    Check("Handling beside linear theory", handling.single_track),
    Check("Handling beside linear theory", handling.two_track),
    Check("Handling beside linear theory", handling.full_car),
    Check("Handling beside linear theory", handling.formula_student),
    Check("Handling beside linear theory", handling.brains2_family),
    Check("Handling beside linear theory", handling.commonroad),
    Check("Handling beside linear theory", handling.trailers),
    Check("Manoeuvres of the proving ground", proving.single_track),
    Check("Manoeuvres of the proving ground", proving.two_track, slow=True),
    Check("Manoeuvres of the proving ground", proving.along_the_road, slow=True),
    Check("Manoeuvres of the proving ground", proving.even_stop, slow=True),
    Check("Driving, stopping and commands", motion.coasting, slow=True),
    Check("Driving, stopping and commands", motion.braking, slow=True),
    Check("Driving, stopping and commands", motion.truck),
    Check("Driving, stopping and commands", motion.robots),
    Check("Driving, stopping and commands", motion.commands),
    Check("Tyres", tyre_rows.mfeval),
    Check("Tyres", tyre_rows.other_programs),
    Check("Tyres", tyre_rows.simple_tyres),
    Check("Tyres", tyre_rows.relaxation),
    Check("Roads and suspensions", ground.roughness),
    Check("Roads and suspensions", ground.slopes_and_banks),
    Check("Roads and suspensions", ground.quarter_car),
    Check("Roads and suspensions", ground.waves, slow=True),
    Check("Roads and suspensions", ground.standing, slow=True),
    Check("Integrators and gradients", numerics.orders),
    Check("Integrators and gradients", numerics.single_steps),
    Check("Integrators and gradients", numerics.gradients, slow=True),
    Check("Sensors", numerics.exact_ranges),
    Check("Sensors", numerics.truck_scans),
    Check("Sensors", motion.sensors),
    Check("Sensors", numerics.places),
    Check("Recorded programs", programs.brains2_rates),
    Check("Recorded programs", programs.commonroad_rates),
    Check("Recorded programs", programs.commonroad_runs, slow=True),
    Check("Recorded programs", programs.autoware_runs, slow=True),
    Check("Recorded programs", robots.mvsim_runs, slow=True),
    Check("Recorded programs", robots.truck_runs),
    Check("Recorded programs", robots.box2d_scenes),
)

HEAD = """# Validation

Numbers of skidpad beside numbers that are not its own: closed forms, the linear theory of the
books, standards, and recordings of other programs. `make validation` computes all of it and writes
this page; the tests compute it too and compare it with what is written here.

- The **difference** is relative to the reference. Where many numbers are compared, the row shows
  the largest of the reference with ours in its place, and the difference is the largest of all: of
  the scale of its column or, of whole runs, of 1 in SI units.
- The **tolerance** is the accuracy of the reference: rounding for derivatives and what was recorded
  in double precision, 1e-3 and more for programs that compute in single precision, three standard
  deviations for means of random roads. Where theory is that of infinitely small angles, or of
  wheels that do not slip, it is at most 0.5 %, a tenth of what VDSim allows in its own table.
- A difference below a hundredth of its tolerance is shown as such.
- Turns of the proving ground are wide here (240 m, 0.0125 rad), for which theory holds. In a tight
  one, such as 0.05 rad, a car whose front wheels stay parallel is some per cent from it.
- Recorded programs are repeated with their errors (`compat="upstream"`) unless a row says
  otherwise; [errata](errata.md) lists them and what skidpad does instead.
"""
COLUMNS = ("what", "quantity", "reference", "ours", "difference", "tolerance", "verdict", "source")
SEEN = """## Devices

That a GPU gives the bits of a CPU cannot be computed on a machine without one. It was seen when
`skidpad bench` measured its speed:

| what | GPU and CPU | seen on | date |
|---|---|---|---|
"""


def rows_of(checks: Sequence[Check]) -> dict[str, list[Row]]:
    """The rows of these checks by part of the page."""
    parts: dict[str, list[Row]] = {}
    for check in checks:
        parts.setdefault(check.part, []).extend(check.rows())
    return parts


def page(parts: dict[str, list[Row]]) -> str:
    """The page with these rows."""
    rows = [row for part in parts.values() for row in part]
    good = sum(row.good for row in rows)
    lines = [HEAD, f"{good} of {len(rows)} rows are within their tolerance.", ""]
    for title, part in parts.items():
        lines += [f"## {title}", "", _line(COLUMNS), _line(["---"] * len(COLUMNS))]
        lines += [_line(texts(row)) for row in part] + [""]
    return "\n".join(lines) + "\n" + SEEN + "\n".join(_seen()) + "\n"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _seen() -> Iterator[str]:
    """The newest sight of the same bits of each entry of the benchmarks."""
    sights: dict[str, str] = {}
    for file in sorted(RESULTS.glob("*.json")):
        told = json.loads(file.read_text("utf-8"))
        date, machine = file.stem[:10], file.stem[11:].partition("-")[0]
        for entry in told["entries"]:
            same = entry["details"].get("same_bits_as_cpu")
            if same is not None:
                verdict = "the same bits" if same else "DIFFERENT bits"
                name = entry["name"]
                sights[name] = _line([f"`{name}`", verdict, machine.upper(), date])
    yield from sights.values()
