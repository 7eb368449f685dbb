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
    Check("Handling compared with linear theory", handling.single_track),
    Check("Handling compared with linear theory", handling.two_track),
    Check("Handling compared with linear theory", handling.full_car),
    Check("Handling compared with linear theory", handling.formula_student),
    Check("Handling compared with linear theory", handling.brains2_family),
    Check("Handling compared with linear theory", handling.commonroad),
    Check("Handling compared with linear theory", handling.trailers),
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

This page shows how accurate skidpad is. It compares its results with closed forms, the linear
theory of the literature, standards, and recordings of other programs. `make validation` computes
all comparisons and writes this page; the tests repeat them and check that the page is up to date.

- The **difference** is relative to the reference. A row that compares many numbers shows the
  largest reference value and skidpad's value in its place. Its difference is the largest of all,
  relative to the scale of the column, or for whole runs to 1 in SI units.
- The **tolerance** is the accuracy of the reference: rounding for derivatives and for recordings in
  double precision, 1e-3 and more for programs that compute in single precision, and three standard
  deviations for means of random roads. Where the theory assumes infinitely small angles, or wheels
  without slip, the tolerance is at most 0.5 %, a tenth of the tolerance in VDSim's own table.
- A difference below a hundredth of its tolerance is shown as an upper bound.
- The proving ground uses wide turns (240 m, 0.0125 rad), for which the theory holds. In a tight
  turn, such as 0.05 rad, a car with parallel front wheels differs from the theory by some per cent.
- Recorded programs are reproduced with their errors (`compat="upstream"`) unless a row says
  otherwise; [Errata](errata.md) lists the errors and skidpad's corrections.
"""
COLUMNS = ("what", "quantity", "reference", "ours", "difference", "tolerance", "verdict", "source")
SEEN = """## Devices

Bit identity between GPU and CPU can only be tested on a machine with a GPU. These runs of
`skidpad bench` confirmed it:

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
