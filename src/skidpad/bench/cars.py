"""The groups `cars` and `tyres`: fleets and steps of cars, and a Magic Formula tyre.

Cars are measured as fleets on one thread, in single steps from Python and in their first step. The
rate of a fleet is compared with a limit: the multiplications per second that a core can start. A
tyre is measured in SIMD lanes, in single calls and on cars.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache, partial
from typing import Any

import numpy as np

from .. import tyres, vehicles
from ..compile.cpu import CpuMap, CpuRollout, RolloutArrays, StepOptions
from ..compile.gpu import CudaMap
from ..compile.lower import lower
from ..compile.passes import with_held_parts
from ..compile.pipeline import step_program
from ..compile.program import NOT_RUN, Port, Program
from ..compile.trace import trace
from ..core import record
from ..core.arrays import AnyArray
from ..core.model import Vehicle
from ..run.fleet import Fleet
from ..run.simulator import Simulator
from ..tyres.simple import LoadSensitiveTyre
from ..tyres.tyre import evaluate_at
from ..vehicles.parts.spinning_wheel import FirstOrderSlip
from . import peers_jax as jax_device
from . import peers_jax as jax_peer
from .core import first_call
from .timing import (
    EVALUATIONS,
    RATE,
    TIME,
    Budget,
    Entry,
    Measured,
    best_rate,
    cold_and_cached,
    each,
    interleaved,
    typical,
)
from .work import (
    CAR_RADAU_DT,
    CAR_SPEED,
    RK4_DT,
    SEED,
    TYRE,
    Device,
    FleetWork,
    TyreWork,
    available_cars,
    car,
    car_work,
    combined,
    fleet_reference,
    on_host,
    start_at,
    tyre_program,
    tyre_work,
)

CHAINS = 12
"""Number of independent chains of products, more than a core executes at once."""
LENGTH = 40
"""Number of products in a chain per step."""
VEHICLES, CHAIN_STEPS, REPEATS = 512, 200, 20


def every_step(traced: Program, precision: str) -> Counter[str]:
    """Number of operations of each kind in a time step, with those of called functions."""
    program = with_held_parts(lower(traced, precision))
    counts: Counter[str] = Counter()

    def add(code: Any, times: int) -> None:
        for i in code:
            if i.op == "call":
                add(program.functions[i.imm[0]].code, times * i.imm[1])
            elif i.op not in NOT_RUN:
                counts[i.op] += times

    add([i for i, held in zip(program.code, program.held, strict=True) if not held], 1)
    return counts


def products(counts: Counter[str]) -> int:
    return counts["mul"] + counts["fma"]


@cache
def products_per_second(precision: str) -> float:
    """Fused multiply-adds per second of one thread in all SIMD lanes, without other work: the limit
    for products per step times steps per second."""
    engine = CpuRollout(chains_of_products(), StepOptions(1.0, 1.0, precision), None, 1)
    none = np.zeros((1, 1, 0), precision)
    arrays = RolloutArrays(np.ones((1, VEHICLES, CHAINS), precision), none, none, none)
    out = np.zeros((2, VEHICLES, CHAINS), precision)
    times = interleaved([lambda: engine.run(arrays, out, CHAIN_STEPS)], REPEATS)[0]
    return best_rate(CHAINS * LENGTH * VEHICLES * CHAIN_STEPS, times).value


def chains_of_products() -> Program:
    """Build a program whose step consists of fused multiply-adds only."""

    def step(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
        chains = list(ports[0])
        for _ in range(LENGTH):
            # Factors depend on dt, so that the compiler cannot fold them into one.
            chains = [x * ports[4][0] + 0.5 for x in chains]
        return tuple(chains), ()

    names = tuple(f"x{k}" for k in range(CHAINS))
    ports = [Port("x", names), *(Port(name, ()) for name in ("u", "w", "p"))]
    inputs = (*ports, Port("dt", ("dt",)), Port("start", ()))
    return trace("products", step, inputs, (Port("x", names), Port("residual", ())))


PRECISIONS = ("float64", "float32")
STEPS = 40
"""Steps of a rollout; a step of these cars costs several times that of the four-wheel car."""
JAX_VEHICLES, JAX_STEPS, JAX_REPEATS = 1024, 10, 3
CALLS = 1000
MAIN = ("two_track", "full_car")
"""Cars that are compared with JAX, and whose single and first steps are measured."""
LFDM = {
    "lfdm_11_dof": 6.461e6,
    "lfdm_18_dof": 3.835e6,
    "lfdm_24_dof": 2.720e6,
}
"""Published number of 1 ms steps per second of one thread of an i7-13700K, for comparison.

Unjhawala et al., A Library of Lower Fidelity Dynamics Models, Journal of Open Source Software,
2024: 10 s of acceleration, 1000 divided by the published RTF. Its half-implicit step evaluates
the right-hand side once, RK4 four times. Its tyres are TMeasy; its model with 11 degrees of
freedom is a single track, 18 adds roll, 24 adds heave, pitch and suspension travel.
"""
EVALUATIONS_PER_STEP = 4
"""Evaluations of the right-hand side per step of RK4."""


def entries(budget: Budget) -> Iterator[Entry]:
    names = available_cars()
    for precision in PRECISIONS:
        yield from _fleets(names, precision, budget)
    for name in (name for name in MAIN if name in names):
        yield _single(name, "rk4", RK4_DT, budget)
        yield _single(name, "radau", CAR_RADAU_DT, budget)
        # Time to build the car and make its first step in a fresh process, without imports,
        # with an empty and with a filled cache
        for integrator in ("rk4", "radau"):
            job = partial(first_call, f"{integrator}:{name}")
            for kind, times in cold_and_cached(job, budget.fresh).items():
                yield Entry(f"compile.{name}.{integrator}.{kind}", TIME, typical(times))


def _fleets(names: list[str], precision: str, budget: Budget) -> Iterator[Entry]:
    """Fleets of cars by RK4 at 1 ms on one thread, measured alternately."""
    count, steps = budget.vehicles // 4, min(STEPS, budget.rk4_steps)
    works = {name: car_work(name, count, steps, budget.checked) for name in names}
    cast = {name: work.cast(precision) for name, work in works.items()}
    fleets = {
        name: Fleet(work.vehicle, work.dt, "rk4", precision=precision, threads=1)
        for name, work in cast.items()
    }
    runs = [partial(cast[name].rollout, fleets[name]) for name in names]
    ends = {name: run() for name, run in zip(names, runs, strict=True)}  # also compiles
    times = dict(zip(names, interleaved(runs, budget.repeats), strict=True))
    for name in names:
        work, error = works[name], fleet_reference(works[name]).error
        own = best_rate(count * steps, times[name])
        own = own._replace(error=error(ends[name][: work.checked]))
        peers, absent = _jax(name, precision, budget) if name in MAIN else ({}, {})
        details = _details(fleets[name], work, precision, own.value)
        details |= LFDM if name in MAIN else {}
        yield Entry(f"fleet.{name}.rk4.{precision}.threads1", RATE, own, peers, absent, details)


def _jax(name: str, precision: str, budget: Budget) -> tuple[dict[str, Measured], dict[str, str]]:
    """Rate of JAX as a peer, measured with fewer cars and steps."""
    if budget.repeats < JAX_REPEATS:
        return {}, {"jax": "left out of a quick run: XLA compiles it for minutes"}
    work = car_work(name, min(budget.vehicles // 4, JAX_VEHICLES), JAX_STEPS, budget.checked)

    def measure(found: dict[str, Any]) -> Measured:
        rate = best_rate(len(work.x0) * found["steps"], found["times"])
        return rate._replace(error=fleet_reference(work).error(found["end"]))

    return jax_device.as_peer(jax_device.cars(name, precision, work, JAX_REPEATS), measure)


def _details(fleet: Fleet, work: FleetWork, precision: str, rate: float) -> dict[str, Any]:
    """Details of an entry: sizes, operations, and the achieved fraction of the limit."""
    counts = every_step(step_program(work.vehicle, "rk4"), precision)
    limit = products_per_second(precision) / products(counts)
    return {
        **work.details(),
        "lanes": fleet.lanes,
        "operations": counts.total(),
        "products": products(counts),
        "divisions_and_roots": counts["div"] + counts["sqrt"],
        "limit_by_products": limit,
        "share_of_limit": rate / limit,
        "evaluations_per_second": EVALUATIONS_PER_STEP * rate,
    }


def _single(name: str, integrator: str, dt: float, budget: Budget) -> Entry:
    """Entry for the median time of one step from Python, with the input as a record."""
    vehicle = car(name)
    simulator = Simulator(vehicle, dt=dt, integrator=integrator)
    inputs = [record.build(vehicle.Input, steer=steer) for steer in (0.02, -0.02)]
    times: list[float] = []
    for _ in range(budget.weave_repeats):
        simulator.reset(v_x=CAR_SPEED)
        simulator.step(inputs[0])
        times += each(simulator.step, (inputs[(k // 50) % 2] for k in range(CALLS)))
    return Entry(
        f"step.{name}.{integrator}", TIME, typical(times), details={"dt": dt, "calls": len(times)}
    )


TYRE_PRECISIONS = ("float64", "float32")
TYRE_CALLS = 2000
CAR_STEPS = 40
"""Steps of a rollout of cars; a step costs several times that of the four-wheel car."""


def tyre_entries(budget: Budget) -> Iterator[Entry]:
    program = tyre_program()
    work = tyre_work(budget.vehicles)
    for precision in TYRE_PRECISIONS:
        yield _in_lanes(program, work.cast(precision), precision, budget)
    tyre = tyres.get(TYRE)
    random = np.random.default_rng(SEED)
    loads, angles = random.uniform(500.0, 8000.0, TYRE_CALLS), random.uniform(-0.3, 0.3, TYRE_CALLS)
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
    yield Entry("tyre.call", TIME, figures, peers, absent, {"calls": len(contacts)})
    yield from _cars(budget)


def _in_lanes(program: Program, work: TyreWork, precision: str, budget: Budget) -> Entry:
    """Entry for tyre evaluations in SIMD lanes on one thread, with arrays in and out."""
    engine = CpuMap(program, precision, 1, shared=(1,))
    # Inputs of neighbouring contacts are adjacent in memory.
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
    jax, absent = _tyre_jax("cpu", precision, work, budget)
    peers = {"numpy": rates[1], **jax}
    details = {"contacts": count, "lanes": engine.lanes, "operations": program.operations}
    name = f"tyre.mf61.{precision}.threads1"
    return Entry(name, EVALUATIONS, rates[0], peers, absent, details)


def _tyre_jax(
    device: str, precision: str, work: TyreWork, budget: Budget
) -> tuple[dict[str, Measured], dict[str, str]]:
    def measure(found: dict[str, Any]) -> Measured:
        rate = best_rate(work.contacts, found["times"])
        return rate._replace(error=work.first(len(found["forces"][0])).error(found["forces"]))

    answer = jax_peer.tyre(device, precision, work.contacts, 5 * budget.repeats)
    return jax_peer.as_peer(answer, measure)


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
    """Entry for tyre evaluations in float32 on a device, with input and output arrays in its
    memory.
    """
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
    peers, absent = _tyre_jax(device.name, "float32", work, budget)
    details = {"contacts": count, "operations": program.operations}
    return Entry(f"tyre.mf61.float32.{device.name}", EVALUATIONS, own, peers, absent, details)
