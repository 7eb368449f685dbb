"""The group `tyres`: a Magic Formula tyre in SIMD lanes and single calls, and cars with tyres."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from .. import tyres, vehicles
from ..compile.cpu import CpuMap
from ..compile.gpu import CudaMap
from ..compile.program import Program
from ..core import record
from ..core.arrays import AnyArray
from ..core.model import Vehicle
from ..run.fleet import Fleet
from ..tyres.simple import LoadSensitiveTyre
from ..tyres.tyre import evaluate_at
from ..vehicles.parts.spinning_wheel import FirstOrderSlip
from . import peers_jax as jax_peer
from .device import Device, on_host
from .timing import (
    EVALUATIONS,
    RATE,
    TIME,
    Budget,
    Entry,
    Measured,
    best_rate,
    each,
    interleaved,
    typical,
)
from .work import (
    RK4_DT,
    SEED,
    TYRE,
    TyreWork,
    combined,
    start_at,
    tyre_program,
    tyre_work,
)

PRECISIONS = ("float64", "float32")
CALLS = 2000
CAR_STEPS = 40
"""Steps of a rollout of cars; a step costs several times that of the four-wheel car."""


def entries(budget: Budget) -> Iterator[Entry]:
    program = tyre_program()
    work = tyre_work(budget.vehicles)
    for precision in PRECISIONS:
        yield _in_lanes(program, work.cast(precision), precision, budget)
    yield _single(budget)
    yield from _cars(budget)


def _in_lanes(program: Program, work: TyreWork, precision: str, budget: Budget) -> Entry:
    """Evaluations in SIMD lanes on one thread, arrays in and out."""
    engine = CpuMap(program, precision, 1, shared=(1,))
    # Inputs of neighbouring contacts lie side by side.
    ports, count = [work.columns[None].swapaxes(1, 2), work.leaves()[None, None]], work.contacts

    def own() -> AnyArray:
        return engine.run(ports, count)[0][0].T

    calls = [own, partial(combined, work.tyre, *work.columns)]
    errors = [work.error(call()) for call in calls]
    times = interleaved(calls, 5 * budget.repeats)
    rates = [
        best_rate(count, run)._replace(error=error)
        for run, error in zip(times, errors, strict=True)
    ]
    jax, absent = _jax("cpu", precision, work, budget)
    peers = {"numpy": rates[1], **jax}
    details = {"contacts": count, "lanes": engine.lanes, "operations": program.operations}
    name = f"tyre.mf61.{precision}.threads1"
    return Entry(name, EVALUATIONS, rates[0], peers, absent, details)


def _jax(
    device: str, precision: str, work: TyreWork, budget: Budget
) -> tuple[dict[str, Measured], dict[str, str]]:
    def measure(found: dict[str, Any]) -> Measured:
        rate = best_rate(work.contacts, found["times"])
        return rate._replace(error=work.first(len(found["forces"][0])).error(found["forces"]))

    answer = jax_peer.tyre(device, precision, work.contacts, 5 * budget.repeats)
    return jax_peer.as_peer(answer, measure)


def _single(budget: Budget) -> Entry:
    tyre = tyres.get(TYRE)
    random = np.random.default_rng(SEED)
    loads, angles = random.uniform(500.0, 8000.0, CALLS), random.uniform(-0.3, 0.3, CALLS)
    contacts = list(zip(loads.tolist(), angles.tolist(), strict=True))

    def own(contact: tuple[float, float]) -> Any:
        F_z, alpha = contact
        return tyre.forces(F_z=F_z, alpha=alpha, kappa=0.02, gamma=0.01, v_x=20.0)

    def python(contact: tuple[float, float]) -> Any:
        F_z, alpha = contact
        values = (F_z, 0.02, alpha, 0.01, 0.0, 20.0, tyre.pressure, 1.0)
        return evaluate_at("forces", tyre.record, 1.0, values)

    python(contacts[0])
    own(contacts[0])
    jax, absent = jax_peer.as_peer(
        jax_peer.tyre("cpu", "float64", budget.vehicles, 5 * budget.repeats),
        lambda found: typical(found["calls"]),
    )
    peers = {"python": typical(each(python, contacts[:200])), **jax}
    figures = typical(each(own, contacts * budget.weave_repeats))
    return Entry("tyre.call", TIME, figures, peers, absent, {"calls": len(contacts)})


def _cars(budget: Budget) -> Iterator[Entry]:
    """Cars by RK4 at 1 ms on one thread: with the Magic Formula, with a simple tyre, and a Formula
    Student car whose wheels do not spin."""
    cars = {
        "mf61": vehicles.two_track(tyre=tyres.get(TYRE), slip=FirstOrderSlip()),
        "load_sensitive": vehicles.two_track(tyre=LoadSensitiveTyre(), slip=FirstOrderSlip()),
        "four_wheel": vehicles.four_wheel(),
    }
    count = budget.vehicles // 4
    rollouts = [_rollout(car, count) for car in cars.values()]
    for rollout in rollouts:
        rollout()
    times = interleaved(rollouts, budget.repeats)
    rates = {name: best_rate(count * CAR_STEPS, own) for name, own in zip(cars, times, strict=True)}
    details = {"vehicles": count, "steps": CAR_STEPS, "dt": RK4_DT}
    for name in ("mf61", "load_sensitive"):
        others = {other: rate for other, rate in rates.items() if other != name}
        yield Entry(f"tyre.car.{name}.float64.threads1", RATE, rates[name], others, {}, details)


def _rollout(car: Vehicle, count: int) -> Any:
    """Rollout of cars at 20 m/s with small individual steering angles and drive inputs."""
    random = np.random.default_rng(SEED)
    fleet = Fleet(car, RK4_DT, "rk4", threads=1)
    x0 = np.tile(start_at(car, 20.0), (count, 1))
    u = np.zeros((count, record.size(car.Input)))
    names = record.names(car.Input)
    u[:, names.index("steer")] = random.uniform(-0.05, 0.05, count)
    for wheel in ("tau_rl", "tau_rr"):
        u[:, names.index(wheel)] = random.uniform(0.0, 20.0, count)
    return partial(fleet.rollout, x0, u, steps=CAR_STEPS, every=CAR_STEPS)


def device_entry(device: Device, program: Program, count: int, budget: Budget) -> Entry:
    """Evaluations in float32 on a device, with input and output arrays there."""
    work = tyre_work(count).cast("float32")
    engine = (
        CpuMap(program, "float32", 1, shared=(1,))
        if device.name == "cpu"
        else CudaMap(program, "float32")
    )
    columns, leaves = (device.xp.asarray(array) for array in (work.columns, work.leaves()))
    ports = [columns[None].swapaxes(1, 2), leaves[None, None]]

    def call() -> Any:
        return engine.run(ports, count)

    checked = jax_peer.TYRE_CHECKED
    error = work.first(checked).error(on_host(call()[0][0, :checked].T))
    times = interleaved([device.finished(call)], 5 * budget.repeats)[0]
    own = best_rate(count, times)._replace(error=error)
    peers, absent = _jax(device.name, "float32", work, budget)
    details = {"contacts": count, "operations": program.operations}
    return Entry(f"tyre.mf61.float32.{device.name}", EVALUATIONS, own, peers, absent, details)
