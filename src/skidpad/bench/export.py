"""The group `export`: a step of a car as C, FMU and WebAssembly, beside the simulator's."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np

from ..arrays import Array
from ..export import Exported
from . import browser, export_work
from .budget import Budget
from .clock import interleaved
from .entry import TIME, Entry, Measured
from .export_work import CARS, Drive, car

STEPS = 2000
"""Of a timed drive."""
CONTROL = 1000.0
"""Steps a second of a car that is driven in real time."""


def entries(budget: Budget) -> Iterator[Entry]:
    """Each car as C and in a browser."""
    for name in CARS:
        work = car(name)
        drive = export_work.native(work)
        with tempfile.TemporaryDirectory() as folder:
            yield _c_entry(name, work, drive, Path(folder), budget)
            yield from _page_entries(name, work, drive, budget)


def _c_entry(name: str, work: Exported, drive: Drive, folder: Path, budget: Budget) -> Entry:
    c = export_work.as_c(work, folder)
    size = (folder / f"{work.name}.c").stat().st_size
    pair, error = _beside(c, drive, 2 * budget.repeats)
    own, other = (_per_step(times, STEPS) for times in pair)
    details = {"steps": STEPS, "integrator": work.method.name, "source_kB": size / 1e3}
    return Entry(f"export.c.{name}", TIME, own._replace(error=error), {"llvm": other}, {}, details)


def _page_entries(name: str, work: Exported, drive: Drive, budget: Budget) -> Iterator[Entry]:
    missing = browser.why_not()
    if missing is not None:
        nothing = Measured(float("nan"), None)
        yield Entry(f"export.wasm.fused.{name}", TIME, nothing, absent={"chromium": missing})
        return
    wasm = export_work.modules(work)
    native = _per_step(interleaved([partial(drive, STEPS)], 2 * budget.repeats)[0], STEPS)
    with browser.page() as tab:
        for kind, module in (("fused", wasm.fused), ("exact", wasm.exact)):
            there = export_work.in_page(tab, work, wasm, kind)
            there(STEPS)  # compiled better while it runs
            runs = [there(STEPS) for _ in range(2 * budget.repeats)]
            own = _per_step([run["seconds"] for run in runs], STEPS)
            error = _largest(np.array(runs[0]["state"]), drive(STEPS))
            details = {"module_kB": len(module) / 1e3, "share_of_a_core": CONTROL * own.value}
            yield Entry(
                *(f"export.wasm.{kind}.{name}", TIME, own._replace(error=error)),
                *({"llvm": native}, {}, details),
            )


def _beside(own: Drive, other: Drive, repeats: int) -> tuple[list[list[float]], float]:
    """Times of two drives in turns, and how far apart they end."""
    error = _largest(own(STEPS), other(STEPS))
    return interleaved([partial(own, STEPS), partial(other, STEPS)], repeats), error


def _largest(own: Array, other: Array) -> float:
    return float(np.max(np.abs(own - other)))


def _per_step(times: Sequence[float], steps: int) -> Measured:
    """Time of a step by the best run: what disturbs a run can only make it slower."""
    best = min(times)
    return Measured(best / steps, median(times) / best - 1.0)
