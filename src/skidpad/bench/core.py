"""The group `core`: fleets, gradients, single steps, compilation and import on the CPU.

Fleets are compared with NumPy, SciPy, CasADi and JAX by steps per second, single steps from Python
by their median time. All contenders of single steps drive the same slalom; their end states are
compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ..core import record
from ..run.fleet import Fleet
from ..run.simulator import Simulator
from . import fresh, gradients
from . import peers_jax as jax_scan
from .peers import (
    Advance,
    Drive,
    casadi_buffer_calls,
    casadi_calls,
    casadi_collocation,
    casadi_map,
    casadi_rk4,
    in_threads,
    numpy_rk4,
    python_rk4,
    scipy_calls,
    scipy_radau,
    scipy_rk45,
)
from .timing import (
    RATE,
    TIME,
    Budget,
    Entry,
    Measured,
    best_rate,
    each,
    interleaved,
    seconds,
    typical,
)
from .work import (
    RADAU_DT,
    RK4_DT,
    FleetWork,
    Reference,
    Weave,
    fleet_reference,
    fleet_work,
    skip_transient,
    weave,
    weave_reference,
)

OWN = "skidpad"
THREADS = (1, 2)
DOUBLE_ONLY = "computes in float64 only"
NO_METHOD = "has no implicit method of its own"

Contender = tuple[str, int]
"""Name of a contender, and its number of threads."""


class Run(NamedTuple):
    steps: int
    """Steps per call, summed over the vehicles."""
    call: Callable[[], object]


def rk4_entries(budget: Budget) -> Iterator[Entry]:
    """Fleets by RK4 at 1 ms, in both precisions, with one thread and with two."""
    work = fleet_work(budget.vehicles, RK4_DT, budget.rk4_steps, budget.checked)
    reference = fleet_reference(work)
    entries: list[Entry] = []
    for precision in jax_scan.PRECISIONS:
        entries += _of_precision(work.cast(precision), precision, reference, budget)
    yield from sorted(entries, key=lambda entry: entry.details["threads"])


def radau_entries(budget: Budget) -> Iterator[Entry]:
    """Fleets by Radau IIA with 3 stages at 10 ms, with actuators of 1 ms, on one thread."""
    work = fleet_work(budget.vehicles, RADAU_DT, budget.radau_steps, budget.checked)
    reference = fleet_reference(work)
    fleet = Fleet(work.vehicle, work.dt, "radau", threads=1)
    error = reference.error(work.rollout(fleet)[: work.checked])
    run = Run(len(work.x0) * work.steps, partial(work.rollout, fleet))
    own = _rates({(OWN, 1): run}, budget)[OWN, 1]._replace(error=error)
    collocation = casadi_collocation(work.vehicle, work.dt)
    peers = {
        "scipy": _few(scipy_radau(work.vehicle, work.dt), work, reference),
        "casadi": _few(casadi_map(collocation, 1), work, reference),
    }
    name = "fleet.four_wheel.radau.float64.threads1"
    yield Entry(name, RATE, own, peers, {"jax": NO_METHOD}, _details(work, fleet))


def _of_precision(
    work: FleetWork, precision: str, reference: Reference, budget: Budget
) -> Iterator[Entry]:
    """Entries of one precision; all contenders are measured alternately, so that ratios are
    reliable."""
    fleets = {
        n: Fleet(work.vehicle, work.dt, "rk4", precision=precision, threads=n) for n in THREADS
    }
    # These rollouts also compile.
    errors = {n: reference.error(work.rollout(f)[: work.checked]) for n, f in fleets.items()}
    rates = _rates(_runs(fleets, work, precision, budget), budget)
    for n in THREADS:
        found = jax_scan.results(budget, n)
        if not isinstance(found, str):
            one = found[precision]
            rates["jax", n] = best_rate(len(work.x0) * one["steps"], one["times"])
    peer_errors = _peer_errors(work, precision, reference, budget)
    for n, fleet in fleets.items():
        own = rates[OWN, n]._replace(error=errors[n])
        peers, alone = _peers(rates, n, peer_errors)
        absent = {name: DOUBLE_ONLY for name in ("scipy", "casadi") if name not in peers}
        if isinstance(jax := jax_scan.results(budget, 1), str):
            absent["jax"] = jax
        details = {**_details(work, fleet), "peers_with_one_thread": alone}
        if n > 1:
            details["scaling"] = own.value / rates[OWN, 1].value
        name = f"fleet.four_wheel.rk4.{precision}.threads{n}"
        yield Entry(name, RATE, own, peers, absent, details)


def _runs(
    fleets: dict[int, Fleet], work: FleetWork, precision: str, budget: Budget
) -> dict[Contender, Run]:
    amount = len(work.x0) * work.steps
    runs = {(OWN, n): Run(amount, partial(work.rollout, f)) for n, f in fleets.items()}
    later = skip_transient(work)
    for n in fleets:
        for name, advance in _advances(work, precision, n).items():
            runs[name, n] = _fitted(advance, later, budget.peer_seconds)
    return runs


def _advances(work: FleetWork, precision: str, threads: int) -> dict[str, Advance]:
    car, dt = work.vehicle, work.dt
    advances = {"numpy": in_threads(numpy_rk4(car, dt), threads)}
    if precision == "float64":
        advances["scipy"] = in_threads(scipy_rk45(car, dt), threads)
        advances["casadi"] = casadi_map(casadi_rk4(car, dt), threads)
    return advances


def _fitted(advance: Advance, work: FleetWork, time: float) -> Run:
    """Timed run of as many steps as fit into a time in s, at least one."""
    one = seconds(partial(advance, work.x0, work.u, 1))
    steps = min(max(int(time / one), 1), work.steps)
    return Run(len(work.x0) * steps, partial(advance, work.x0, work.u, steps))


def _rates(runs: dict[Contender, Run], budget: Budget) -> dict[Contender, Measured]:
    times = interleaved([run.call for run in runs.values()], budget.repeats)
    return {
        who: best_rate(run.steps, own) for (who, run), own in zip(runs.items(), times, strict=True)
    }


def _peer_errors(
    work: FleetWork, precision: str, reference: Reference, budget: Budget
) -> dict[str, float]:
    """Errors of the peers at the end of a full rollout of the checked vehicles."""
    few = work.first(work.checked)
    advances = _advances(work, precision, 1)
    ends = {name: advance(few.x0, few.u, few.steps) for name, advance in advances.items()}
    jax = jax_scan.results(budget, 1)
    if not isinstance(jax, str):
        ends["jax"] = np.array(jax[precision]["end"])
    return {name: reference.error(end) for name, end in ends.items()}


def _peers(
    rates: dict[Contender, Measured], threads: int, errors: dict[str, float]
) -> tuple[dict[str, Measured], list[str]]:
    """Results of the peers with `threads` threads, and the names of those that are faster with one
    thread, whose one-thread result is used instead."""
    names = [name for name, n in rates if n == threads and name != OWN]
    alone = [name for name in names if rates[name, 1].value > rates[name, threads].value]
    peers = {
        name: rates[name, 1 if name in alone else threads]._replace(error=errors[name])
        for name in names
    }
    return peers, alone


def _few(advance: Advance, work: FleetWork, reference: Reference) -> Measured:
    """Rate and error of one rollout of the checked vehicles, for peers whose rate does not improve
    with a larger batch, which would take minutes."""
    few = work.first(work.checked)
    advance(few.x0, few.u, 1)
    begin = perf_counter()
    end = advance(few.x0, few.u, few.steps)
    rate = len(few.x0) * few.steps / (perf_counter() - begin)
    return Measured(rate, None, reference.error(end))


def _details(work: FleetWork, fleet: Fleet) -> dict[str, Any]:
    return {**work.details(), "lanes": fleet.lanes, "threads": fleet.threads}


POSE_AND_VELOCITY = 6
"""Number of leading state fields for pose and velocity: x, y, yaw, v_x, v_y, omega."""


def _rk4_steps(course: Weave, reference: Reference, budget: Budget) -> Iterator[Entry]:
    """Single steps of RK4 at 1 ms with the input as record, array and keywords."""
    peers = {
        "python": _drive(python_rk4(course), reference, 1),
        "scipy": _drive(scipy_calls(course, RK4_DT, "RK45"), reference, 1),
        "casadi": _drive(casadi_calls(course, RK4_DT), reference, 1),
        "casadi_buffer": _drive(
            casadi_buffer_calls(course, RK4_DT), reference, budget.weave_repeats
        ),
    }

    def measure(found: dict[str, Any]) -> Measured:
        error = reference.error(found["step"]["end"])
        return typical(found["step"]["times"])._replace(error=error)

    jax, absent = jax_scan.as_peer(jax_scan.results(budget, 1), measure)
    peers |= jax
    for form, suffix in (("record", ""), ("array", ".array"), ("keywords", ".keywords")):
        drive = _own(course, RK4_DT, "rk4", form)
        own = _drive(drive, reference, budget.weave_repeats)
        details = _steps_details(drive, RK4_DT, form, reference)
        yield Entry(f"step.four_wheel.rk4{suffix}", TIME, own, peers, absent, details)


def _own(course: Weave, dt: float, integrator: str, form: str) -> Drive:
    simulator = Simulator(course.vehicle, dt=dt, integrator=integrator)
    kind = course.vehicle.Input
    table = course.held_rows(dt)

    forms: dict[str, list[Any]] = {
        "record": [record.unflatten(kind, row) for row in table.tolist()],
        "array": list(table),
        "keywords": [dict(zip(record.names(kind), row, strict=True)) for row in table.tolist()],
    }
    return Drive(
        forms[form],
        lambda: simulator.reset(course.x0),
        (lambda row: simulator.step(**row)) if form == "keywords" else simulator.step,
        lambda: record.flatten(simulator.state),
    )


def _steps_details(drive: Drive, dt: float, form: str, reference: Reference) -> dict[str, Any]:
    return {
        "dt": dt,
        "calls": len(drive.rows),
        "input": form,
        "pose_and_velocity_error": reference.distance(drive.state(), POSE_AND_VELOCITY),
    }


def _drive(drive: Drive, reference: Reference, repeats: int) -> Measured:
    """Median time over all calls of all repetitions, and the error at the end of the last one."""
    step, times = drive.step, list[float]()
    for row in drive.rows[:10]:
        step(row)
    for _ in range(repeats):
        drive.reset()
        times += each(step, drive.rows)
    return typical(times)._replace(error=reference.error(drive.state()))


def entries(budget: Budget) -> Iterator[Entry]:
    yield from rk4_entries(budget)
    yield from radau_entries(budget)
    yield from gradients.entries(budget)
    course = weave(budget.weave)
    reference = weave_reference(course)
    yield from _rk4_steps(course, reference, budget)
    peers = {
        "scipy": _drive(scipy_calls(course, RADAU_DT, "Radau"), reference, 1),
        "casadi": _drive(casadi_calls(course, RADAU_DT), reference, 1),
    }
    # Radau makes a tenth of the calls; the same number of them is timed.
    repeats = budget.weave_repeats * round(RADAU_DT / RK4_DT)
    drive = _own(course, RADAU_DT, "radau", "record")
    own = _drive(drive, reference, repeats)
    details = _steps_details(drive, RADAU_DT, "record", reference)
    absent = {"jax": "has no implicit method of its own"}
    yield Entry("step.four_wheel.radau", TIME, own, peers, absent, details)
    yield from fresh.compile_entries(budget)
    yield from fresh.import_entries(budget)
