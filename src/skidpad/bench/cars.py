"""The group `cars`: fleets of cars on one thread, single steps from Python, and first steps.

How many products a step needs, and how many this core starts in a second.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import cache, partial
from time import perf_counter
from typing import Any

import numpy as np

from ..compile.cpu import CpuRollout, RolloutArrays
from ..compile.lower import lower
from ..compile.passes import with_held_parts
from ..compile.pipeline import step_program
from ..compile.program import NOT_RUN, Port, Program
from ..compile.trace import trace
from ..core import record
from ..core.arrays import AnyArray
from ..run.fleet import Fleet
from ..run.simulator import Simulator
from .car_work import CAR_RADAU_DT, CAR_SPEED, car, car_work, present
from .fresh import first_call
from .peers import jax as jax_device
from .timing import RATE, TIME, Budget, Entry, Measured, best_rate, interleaved, typical
from .work import RK4_DT, FleetWork, fleet_reference

CHAINS = 12
"""Products that do not wait for each other: more than a core has under way."""
LENGTH = 40
"""Products of a chain in a step."""
VEHICLES, CORE_LIMIT_STEPS, REPEATS = 512, 200, 20


def every_step(traced: Program, precision: str) -> Counter[str]:
    """Operations of a step within the loop over time, calls counted as often as they are made."""
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
    """Multiplications and fused ones."""
    return counts["mul"] + counts["fma"]


@cache
def products_per_second(precision: str) -> float:
    """Fused products a second that one thread reaches with nothing else to do, over all lanes.

    Steps a second times the products of one cannot be more.
    """
    engine = CpuRollout(
        chains_of_products(), dt=1.0, tolerance=1.0, precision=precision, lanes=None, threads=1
    )
    none = np.zeros((1, 1, 0), precision)
    arrays = RolloutArrays(np.ones((1, VEHICLES, CHAINS), precision), none, none, none)
    out = np.zeros((2, VEHICLES, CHAINS), precision)
    times = interleaved([lambda: engine.run(arrays, out, CORE_LIMIT_STEPS)], REPEATS)[0]
    return best_rate(CHAINS * LENGTH * VEHICLES * CORE_LIMIT_STEPS, times).value


def chains_of_products() -> Program:
    """A step of nothing but fused products."""
    names = tuple(f"x{k}" for k in range(CHAINS))
    ports = [Port("x", names), *(Port(name, ()) for name in ("u", "w", "p"))]
    inputs = (*ports, Port("dt", ("dt",)), Port("start", ()))
    return trace("products", _step, inputs, (Port("x", names), Port("residual", ())))


def _step(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
    chains = list(ports[0])
    for _ in range(LENGTH):
        # dt keeps the factors from being folded into one.
        chains = [x * ports[4][0] + 0.5 for x in chains]
    return tuple(chains), ()


PRECISIONS = ("float64", "float32")
STEPS = 40
"""Steps of a rollout: a step of these cars is several times the work of the four-wheel car."""
JAX_VEHICLES, JAX_STEPS, JAX_REPEATS = 1024, 10, 3
CALLS = 1000
"""Single steps on the clock in one repetition."""
MAIN = ("two_track", "full_car")
"""Cars that are measured beside JAX, alone and from a first step on."""
FIRST_STEPS = {"two_track": ("rk4", "radau"), "full_car": ("rk4", "radau")}
LFDM = {
    "lfdm_11_dof": 6.461e6,
    "lfdm_18_dof": 3.835e6,
    "lfdm_24_dof": 2.720e6,
}
"""Published steps of 1 ms per second of one thread of an i7-13700K (Unjhawala et al., A Library of
Lower Fidelity Dynamics Models, Journal of Open Source Software, 2024: 10 s of acceleration, its
1/RTF times 1000). Its half-implicit step evaluates the right-hand side once, RK4 four times; its
tyres are TMeasy, its 11 degrees are a single track, 18 have roll, 24 heave, pitch and travel."""
EVALUATIONS = 4
"""Of the right-hand side in a step of RK4."""


def entries(budget: Budget) -> Iterator[Entry]:
    """All figures of cars on the CPU."""
    names = present()
    for precision in PRECISIONS:
        yield from _fleets(names, precision, budget)
    for name in (name for name in MAIN if name in names):
        yield _single(name, "rk4", RK4_DT, budget)
        yield _single(name, "radau", CAR_RADAU_DT, budget)
        yield from _first_steps(name, budget)


def _fleets(names: list[str], precision: str, budget: Budget) -> Iterator[Entry]:
    """Cars by RK4 at 1 ms on one thread; all take turns on the clock."""
    count, steps = budget.vehicles // 4, min(STEPS, budget.rk4_steps)
    works = {name: car_work(name, count, steps, budget.checked) for name in names}
    cast = {name: work.cast(precision) for name, work in works.items()}
    fleets = {
        name: Fleet(work.vehicle, work.dt, "rk4", precision=precision, threads=1)
        for name, work in cast.items()
    }
    ends = {name: _rollout(fleets[name], work) for name, work in cast.items()}  # also compiles
    runs = [partial(_rollout, fleets[name], cast[name]) for name in names]
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
    """JAX as a peer, with fewer cars and steps than ours: a rate needs no more of them."""
    if budget.repeats < JAX_REPEATS:
        return {}, {"jax": "left out of a quick run: XLA compiles it for minutes"}
    work = car_work(name, min(budget.vehicles // 4, JAX_VEHICLES), JAX_STEPS, budget.checked)
    jax = jax_device.cars(name, precision, work, JAX_REPEATS)
    if isinstance(jax, str):
        return {}, {"jax": jax}
    rate = best_rate(len(work.x0) * jax["steps"], jax["times"])
    return {"jax": rate._replace(error=fleet_reference(work).error(jax["end"]))}, {}


def _rollout(fleet: Fleet, work: FleetWork) -> AnyArray:
    return fleet.rollout(work.x0, work.u, steps=work.steps, every=work.steps)[-1]


def _details(fleet: Fleet, work: FleetWork, precision: str, rate: float) -> dict[str, Any]:
    """Sizes, operations, and the part of the products that the core could start at best."""
    counts = every_step(step_program(work.vehicle, "rk4"), precision)
    limit = products_per_second(precision) / products(counts)
    return {
        "vehicles": len(work.x0),
        "steps": work.steps,
        "dt": work.dt,
        "lanes": fleet.lanes,
        "operations": counts.total(),
        "products": products(counts),
        "divisions_and_roots": counts["div"] + counts["sqrt"],
        "limit_by_products": limit,
        "share_of_limit": rate / limit,
        "evaluations_per_second": EVALUATIONS * rate,
    }


def _single(name: str, integrator: str, dt: float, budget: Budget) -> Entry:
    """One step from Python with the input as a record: the median."""
    vehicle = car(name)
    simulator = Simulator(vehicle, dt=dt, integrator=integrator)
    inputs = [record.build(vehicle.Input, steer=steer) for steer in (0.02, -0.02)]
    times: list[float] = []
    for _ in range(budget.weave_repeats):
        simulator.reset(v_x=CAR_SPEED)
        simulator.step(inputs[0])
        for k in range(CALLS):
            u = inputs[(k // 50) % 2]
            begin = perf_counter()
            simulator.step(u)
            times.append(perf_counter() - begin)
    return Entry(
        f"step.{name}.{integrator}", TIME, typical(times), details={"dt": dt, "calls": len(times)}
    )


def _first_steps(name: str, budget: Budget) -> Iterator[Entry]:
    """The car put together and its first step in a fresh process, imports excluded, with an empty
    cache and with a filled one."""
    for integrator in FIRST_STEPS[name]:
        job = f"{integrator}:{name}"
        cold: list[float] = []
        cached: list[float] = []
        for _ in range(budget.fresh):
            with tempfile.TemporaryDirectory() as cache:
                cold.append(first_call(job, cache))
                cached.append(first_call(job, cache))
        yield Entry(f"compile.{name}.{integrator}.cold", TIME, typical(cold))
        yield Entry(f"compile.{name}.{integrator}.cached", TIME, typical(cached))
