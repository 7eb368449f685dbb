"""Fleets: steps per second, beside NumPy, SciPy, CasADi and JAX."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from ..compile.host import Array
from ..fleet import Fleet
from .budget import Budget
from .clock import best_rate, interleaved, seconds
from .entry import RATE, Entry, Measured
from .peers import Advance, arrays, casadi_vm, in_threads, jax_scan, scipy_ivp
from .work import RADAU_DT, RK4_DT, FleetWork, end_error, fleet_reference, fleet_work

THREADS = (1, 2)
DOUBLE_ONLY = "computes in float64 only"


def rk4_entries(budget: Budget) -> Iterator[Entry]:
    """RK4 at 1 ms, in both precisions, with one thread and with two."""
    work = fleet_work(budget.vehicles, RK4_DT, budget.rk4_steps, budget.checked)
    reference = fleet_reference(work)
    found = {
        precision: _both_thread_counts(work.cast(precision), precision, reference, budget)
        for precision in jax_scan.PRECISIONS
    }
    for k in range(len(THREADS)):
        for entries in found.values():
            yield entries[k]


def _both_thread_counts(
    work: FleetWork, precision: str, reference: Array, budget: Budget
) -> list[Entry]:
    """The entries of one precision; the thread counts take turns, so that their ratio is sound."""
    fleets = [Fleet(work.vehicle, work.dt, "rk4", precision=precision, threads=n) for n in THREADS]
    owns = _own(fleets, work, reference, budget)
    errors: dict[str, float] = {}
    entries: list[Entry] = []
    for threads, fleet, own in zip(THREADS, fleets, owns, strict=True):
        peers, absent = _rk4_peers(work, precision, threads, reference, errors, budget)
        details = {**_sizes(work, fleet), "threads": threads}
        if threads > 1:
            details["scaling"] = own.value / owns[0].value
        name = f"fleet.four_wheel.rk4.{precision}.threads{threads}"
        entries.append(Entry(name, RATE, own, peers, absent, details))
    return entries


def _own(fleets: list[Fleet], work: FleetWork, reference: Array, budget: Budget) -> list[Measured]:
    def rollout(fleet: Fleet) -> Array:
        return fleet.rollout(work.x0, work.u, steps=work.steps, every=work.steps)[-1]

    # The first rollout compiles; its result is as good as any other.
    errors = [end_error(rollout(fleet)[: work.checked], reference) for fleet in fleets]
    times = interleaved([partial(rollout, fleet) for fleet in fleets], budget.repeats)
    amount = len(work.x0) * work.steps
    return [
        best_rate(amount, own)._replace(error=error)
        for own, error in zip(times, errors, strict=True)
    ]


def _sizes(work: FleetWork, fleet: Fleet) -> dict[str, Any]:
    return {"vehicles": len(work.x0), "steps": work.steps, "dt": work.dt, "lanes": fleet.lanes}


def _rk4_peers(
    work: FleetWork,
    precision: str,
    threads: int,
    reference: Array,
    errors: dict[str, float],
    budget: Budget,
) -> tuple[dict[str, Measured], dict[str, str]]:
    """The peers, and who is absent; `errors` keeps what does not depend on the threads."""
    car, dt = work.vehicle, work.dt
    advances = {"numpy": in_threads(arrays.numpy_rk4(car, dt), threads)}
    absent: dict[str, str] = {}
    if precision == "float64":
        advances["scipy"] = in_threads(scipy_ivp.stacked_rk45(car, dt), threads)
        advances["casadi"] = casadi_vm.mapped(casadi_vm.rk4_function(car, dt), threads)
    else:
        absent = {"scipy": DOUBLE_ONLY, "casadi": DOUBLE_ONLY}
    peers: dict[str, Measured] = {}
    for name, advance in advances.items():
        if name not in errors:
            errors[name] = _end_error(advance, work, reference)
        peers[name] = _peer_rate(advance, work, budget)._replace(error=errors[name])
    jax = jax_scan.results(budget, threads)
    if isinstance(jax, str):
        absent["jax"] = jax
    else:
        peers["jax"] = _jax_rate(jax[precision], work, reference)
    return peers, absent


def radau_entries(budget: Budget) -> Iterator[Entry]:
    """Radau IIA with 3 stages at 10 ms, actuators of 1 ms, one thread."""
    work = fleet_work(budget.vehicles, RADAU_DT, budget.radau_steps, budget.checked)
    reference = fleet_reference(work)
    fleet = Fleet(work.vehicle, work.dt, "radau", threads=1)
    (own,) = _own([fleet], work, reference, budget)
    collocation = casadi_vm.collocation_function(work.vehicle, work.dt)
    advances = {
        "scipy": scipy_ivp.radau_each(work.vehicle, work.dt),
        "casadi": casadi_vm.mapped(collocation, 1),
    }
    # Neither gains from a larger batch, and all vehicles would take them minutes.
    few = work.first(work.checked)
    peers = {
        name: _peer_rate(advance, few, budget)._replace(error=_end_error(advance, work, reference))
        for name, advance in advances.items()
    }
    absent = {"jax": "has no implicit method of its own"}
    details = {**_sizes(work, fleet), "threads": 1}
    yield Entry("fleet.four_wheel.radau.float64.threads1", RATE, own, peers, absent, details)


def _end_error(advance: Advance, work: FleetWork, reference: Array) -> float:
    few = work.first(work.checked)
    return end_error(advance(few.x0, few.u, work.steps), reference)


def _peer_rate(advance: Advance, work: FleetWork, budget: Budget) -> Measured:
    """Best of several runs over as many steps as the time allows."""
    advance(work.x0, work.u, 1)
    one = seconds(partial(advance, work.x0, work.u, 1))
    steps = min(max(int(budget.peer_seconds / one), 1), work.steps)
    (times,) = interleaved([partial(advance, work.x0, work.u, steps)], budget.peer_repeats)
    return best_rate(len(work.x0) * steps, times)


def _jax_rate(found: dict[str, Any], work: FleetWork, reference: Array) -> Measured:
    rate = best_rate(len(work.x0) * found["steps"], found["times"])
    return rate._replace(error=end_error(found["end"], reference))
