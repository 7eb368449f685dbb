"""Fleets: steps per second, beside NumPy, SciPy, CasADi and JAX."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ..arrays import AnyArray
from ..run.fleet import Fleet
from .budget import Budget
from .clock import best_rate, interleaved, seconds
from .entry import RATE, Entry, Measured
from .peers import Advance, arrays, casadi_vm, in_threads, jax_scan, scipy_ivp
from .work import RADAU_DT, RK4_DT, FleetWork, Reference, fleet_reference, fleet_work, settled

OWN = "skidpad"
THREADS = (1, 2)
DOUBLE_ONLY = "computes in float64 only"
NO_METHOD = "has no implicit method of its own"

Contender = tuple[str, int]
"""Who, and with how many threads."""


class Run(NamedTuple):
    """Something to time."""

    steps: int
    """Steps of single vehicles that one call makes."""
    call: Callable[[], object]


def rk4_entries(budget: Budget) -> Iterator[Entry]:
    """RK4 at 1 ms, in both precisions, with one thread and with two."""
    work = fleet_work(budget.vehicles, RK4_DT, budget.rk4_steps, budget.checked)
    reference = fleet_reference(work)
    entries: list[Entry] = []
    for precision in jax_scan.PRECISIONS:
        entries += _of_precision(work.cast(precision), precision, reference, budget)
    yield from sorted(entries, key=lambda entry: entry.details["threads"])


def radau_entries(budget: Budget) -> Iterator[Entry]:
    """Radau IIA with 3 stages at 10 ms, actuators of 1 ms, one thread."""
    work = fleet_work(budget.vehicles, RADAU_DT, budget.radau_steps, budget.checked)
    reference = fleet_reference(work)
    fleet = Fleet(work.vehicle, work.dt, "radau", threads=1)
    error = reference.error(_rollout(fleet, work)[: work.checked])
    run = Run(len(work.x0) * work.steps, partial(_rollout, fleet, work))
    own = _rates({(OWN, 1): run}, budget)[OWN, 1]._replace(error=error)
    collocation = casadi_vm.collocation_function(work.vehicle, work.dt)
    peers = {
        "scipy": _few(scipy_ivp.radau_each(work.vehicle, work.dt), work, reference),
        "casadi": _few(casadi_vm.mapped(collocation, 1), work, reference),
    }
    name = "fleet.four_wheel.radau.float64.threads1"
    yield Entry(name, RATE, own, peers, {"jax": NO_METHOD}, _details(work, fleet))


def _of_precision(
    work: FleetWork, precision: str, reference: Reference, budget: Budget
) -> Iterator[Entry]:
    """The entries of one precision. All take turns on the clock, so that their ratios are sound."""
    fleets = {
        n: Fleet(work.vehicle, work.dt, "rk4", precision=precision, threads=n) for n in THREADS
    }
    # These rollouts also compile, before the clock starts.
    errors = {n: reference.error(_rollout(f, work)[: work.checked]) for n, f in fleets.items()}
    rates = _rates(_runs(fleets, work, precision, budget), budget)
    rates |= _jax_rates(work, precision, budget)
    peer_errors = _peer_errors(work, precision, reference, budget)
    for n, fleet in fleets.items():
        own = rates[OWN, n]._replace(error=errors[n])
        peers, alone = _peers(rates, n, peer_errors)
        details = {**_details(work, fleet), "peers_with_one_thread": alone}
        if n > 1:
            details["scaling"] = own.value / rates[OWN, 1].value
        name = f"fleet.four_wheel.rk4.{precision}.threads{n}"
        yield Entry(name, RATE, own, peers, _absent(peers, budget), details)


def _rollout(fleet: Fleet, work: FleetWork) -> AnyArray:
    return fleet.rollout(work.x0, work.u, steps=work.steps, every=work.steps)[-1]


def _runs(
    fleets: dict[int, Fleet], work: FleetWork, precision: str, budget: Budget
) -> dict[Contender, Run]:
    amount = len(work.x0) * work.steps
    runs = {(OWN, n): Run(amount, partial(_rollout, f, work)) for n, f in fleets.items()}
    later = settled(work)
    for n in fleets:
        for name, advance in _advances(work, precision, n).items():
            runs[name, n] = _fitted(advance, later, budget.peer_seconds)
    return runs


def _advances(work: FleetWork, precision: str, threads: int) -> dict[str, Advance]:
    car, dt = work.vehicle, work.dt
    advances = {"numpy": in_threads(arrays.numpy_rk4(car, dt), threads)}
    if precision == "float64":
        advances["scipy"] = in_threads(scipy_ivp.stacked_rk45(car, dt), threads)
        advances["casadi"] = casadi_vm.mapped(casadi_vm.rk4_function(car, dt), threads)
    return advances


def _fitted(advance: Advance, work: FleetWork, time: float) -> Run:
    """As many steps as go into the time, in s, and at least one."""
    one = seconds(partial(advance, work.x0, work.u, 1))
    steps = min(max(int(time / one), 1), work.steps)
    return Run(len(work.x0) * steps, partial(advance, work.x0, work.u, steps))


def _rates(runs: dict[Contender, Run], budget: Budget) -> dict[Contender, Measured]:
    times = interleaved([run.call for run in runs.values()], budget.repeats)
    return {
        who: best_rate(run.steps, own) for (who, run), own in zip(runs.items(), times, strict=True)
    }


def _jax_rates(work: FleetWork, precision: str, budget: Budget) -> dict[Contender, Measured]:
    rates: dict[Contender, Measured] = {}
    for n in THREADS:
        results = jax_scan.results(budget, n)
        if not isinstance(results, str):
            one = results[precision]
            rates["jax", n] = best_rate(len(work.x0) * one["steps"], one["times"])
    return rates


def _peer_errors(
    work: FleetWork, precision: str, reference: Reference, budget: Budget
) -> dict[str, float]:
    """Errors at the end of the rollout, which each peer makes in full with the checked vehicles."""
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
    """The peers with up to so many threads, and those who are faster with one than with more."""
    names = [name for name, n in rates if n == threads and name != OWN]
    alone = [name for name in names if rates[name, 1].value > rates[name, threads].value]
    peers = {
        name: rates[name, 1 if name in alone else threads]._replace(error=errors[name])
        for name in names
    }
    return peers, alone


def _absent(peers: dict[str, Measured], budget: Budget) -> dict[str, str]:
    absent = {name: DOUBLE_ONLY for name in ("scipy", "casadi") if name not in peers}
    jax = jax_scan.results(budget, 1)
    return {**absent, "jax": jax} if isinstance(jax, str) else absent


def _few(advance: Advance, work: FleetWork, reference: Reference) -> Measured:
    """Rate and error of one rollout of the checked vehicles.

    For peers that gain nothing from a larger batch and would need minutes for one.
    """
    few = work.first(work.checked)
    advance(few.x0, few.u, 1)
    begin = perf_counter()
    end = advance(few.x0, few.u, few.steps)
    rate = len(few.x0) * few.steps / (perf_counter() - begin)
    return Measured(rate, None, reference.error(end))


def _details(work: FleetWork, fleet: Fleet) -> dict[str, Any]:
    return {
        "vehicles": len(work.x0),
        "steps": work.steps,
        "dt": work.dt,
        "lanes": fleet.lanes,
        "threads": fleet.threads,
    }
