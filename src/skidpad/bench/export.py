"""The group `export`: a step of a car as C, FMU and WebAssembly, beside the simulator's."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import numpy as np

from ..arrays import Array
from ..export import Exported
from ..run.simulator import Simulator
from . import browser, export_work
from .budget import Budget
from .clock import interleaved
from .entry import TIME, Entry, Measured
from .export_work import CARS, Drive, Unit, car

STEPS = 2000
"""Of a timed drive."""
CONTROL = 1000.0
"""Steps a second of a car that is driven in real time."""
NOTHING = Measured(float("nan"), None)


def entries(budget: Budget) -> Iterator[Entry]:
    """Each car as C, as an FMU and in a browser."""
    for name in CARS:
        work = car(name)
        drive = export_work.native(work)
        for compiler in export_work.compilers():
            with tempfile.TemporaryDirectory() as folder:
                yield _c_entry(name, compiler, work, drive, Path(folder), budget)
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            yield from _fmu_entries(name, work, drive, Path(folder), budget)
        yield from _page_entries(name, work, drive, budget)


def _c_entry(
    name: str, compiler: str, work: Exported, drive: Drive, folder: Path, budget: Budget
) -> Entry:
    c = export_work.as_c(work, folder, compiler)
    size = (folder / f"{work.name}.c").stat().st_size
    own, other, error = _beside(partial(c, STEPS), partial(drive, STEPS), STEPS, budget)
    details = {"steps": STEPS, "integrator": work.method.name, "source_kB": size / 1e3}
    return Entry(
        f"export.c.{compiler}.{name}", TIME, own._replace(error=error), {"llvm": other}, {}, details
    )


def _fmu_entries(
    name: str, work: Exported, drive: Drive, folder: Path, budget: Budget
) -> Iterator[Entry]:
    """Many steps in one call, which is the code alone, and a step a call, as a master makes it."""
    compilers = export_work.compilers()
    missing = "needs fmpy" if find_spec("fmpy") is None else "needs a C compiler"
    if find_spec("fmpy") is None or not compilers:
        yield Entry(f"export.fmu.kernel.{name}", TIME, NOTHING, absent={"fmpy": missing})
        return
    unit = Unit(work, folder, compilers[0])
    details = {"integrator": work.method.name, "compiler": compilers[0], "FMI": 3}
    try:
        own, other, error = _beside(
            partial(unit.drive, STEPS), partial(drive, STEPS), STEPS, budget
        )
        yield Entry(
            *(f"export.fmu.kernel.{name}", TIME, own._replace(error=error)),
            *({"llvm": other}, {}, {**details, "steps": STEPS}),
        )
        stepped = partial(unit.drive, 1, STEPS)
        own, other, error = _beside(stepped, _by_calls(work, STEPS), STEPS, budget)
        yield Entry(
            *(f"export.fmu.step.{name}", TIME, own._replace(error=error)),
            *({"Simulator.step": other}, {}, {**details, "calls": STEPS}),
        )
    finally:
        unit.close()


def _by_calls(work: Exported, calls: int) -> Callable[[], Array]:
    """As one steps a `Simulator` from Python."""
    vehicle = work.vehicle
    sim = Simulator(vehicle, work.dt, work.method)
    start = vehicle.State(*export_work.start_of(vehicle))
    row = vehicle.Input(*export_work.input_of(vehicle))

    def drive() -> Array:
        sim.reset(start)
        for _ in range(calls):
            sim.step(row)
        return np.array(sim.state)

    return drive


def _page_entries(name: str, work: Exported, drive: Drive, budget: Budget) -> Iterator[Entry]:
    missing = browser.why_not()
    if missing is not None:
        yield Entry(f"export.wasm.fused.{name}", TIME, NOTHING, absent={"chromium": missing})
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


def _beside(
    own: Callable[[], Array], other: Callable[[], Array], steps: int, budget: Budget
) -> tuple[Measured, Measured, float]:
    """Two drives in turns: time of a step of each, and how far apart they end."""
    error = _largest(own(), other())
    mine, theirs = interleaved([own, other], 2 * budget.repeats)
    return _per_step(mine, steps), _per_step(theirs, steps), error


def _largest(own: Array, other: Array) -> float:
    return float(np.max(np.abs(own - other)))


def _per_step(times: Sequence[float], steps: int) -> Measured:
    """Time of a step by the best run: what disturbs a run can only make it slower."""
    best = min(times)
    return Measured(best / steps, median(times) / best - 1.0)
