"""`python -m skidpad.bench.proving_ground_job`: all manoeuvres of a two-track car, timed.

Prints a JSON object with seconds. Everything that will be needed is imported before the clock
starts; what is compiled is not.
"""

from __future__ import annotations

import json
import tempfile
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any

from .. import vehicles
from ..study import manoeuvres
from .fresh_job import LOADED_LATE


def main() -> None:
    """Drive, then write the report where there is one."""
    for module in LOADED_LATE:
        import_module(f"skidpad.compile.{module}")
    begin = perf_counter()
    car = manoeuvres.Subject(vehicles.two_track())
    results = manoeuvres.perform(manoeuvres.STANDARD, [car])
    driven = perf_counter() - begin
    done = [result for result in results if result.findings is not None]
    print(
        json.dumps(
            {
                "manoeuvres": driven,
                "report": _report(results),
                "count": len(done),
                "drives": sum(len(result.runs) for result in done),
            }
        )
    )


def _report(results: Any) -> float | None:
    """Seconds for the page, or None where the manoeuvres have none."""
    Evaluation: Any = getattr(manoeuvres, "Evaluation", None)
    if not hasattr(Evaluation, "to_html"):
        return None
    with tempfile.TemporaryDirectory() as folder:
        begin = perf_counter()
        Evaluation(results).to_html(Path(folder) / "report.html")
        return perf_counter() - begin


if __name__ == "__main__":
    main()
