"""JAX: `jit` of `vmap` in `scan` for fleets, `jit` of the step for single steps; its own process.

JAX decides on its threads when it starts, and on double precision for the whole process. So the
work is done by `python -m skidpad.bench.peers.jax_scan`, which reads its task from stdin and writes
what it found to stdout, both JSON.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from time import perf_counter
from typing import Any

import numpy as np

from ... import integrate, record
from ...model import Vehicle
from ..budget import Budget
from ..work import RK4_DT, FleetWork, Weave, fleet_work, weave
from . import jax_device

TIMED_STEPS = 20
"""Steps of a timed call; the length of a `scan` is compiled in, so that no run can fit it."""
PRECISIONS = ("float64", "float32")


@cache
def results(budget: Budget, threads: int) -> jax_device.Answer:
    """What JAX achieves with this many threads, or why it could not be measured.

    For each precision the `times` in s of so many `steps`. With one thread also `first_call` in s
    and `end` states of a rollout of the checked vehicles, and `step` with `times`, `first_call` and
    `end` of the weave.
    """
    task = {
        "vehicles": budget.vehicles,
        "steps": budget.rk4_steps,
        "checked": budget.checked,
        "repeats": budget.repeats,
        "weave": budget.weave,
        "threads": threads,
    }
    return jax_device.answer(__name__, task, _thread_settings(threads))


def _thread_settings(threads: int) -> dict[str, str]:
    """NPROC sizes XLA's pool of threads; the flag keeps its matrix library from making more."""
    settings = {"JAX_PLATFORMS": "cpu", "NPROC": str(threads)}
    if threads == 1:
        settings["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    return settings


def _main() -> None:
    task = json.load(sys.stdin)
    import jax

    jax.config.update("jax_enable_x64", True)
    work = fleet_work(task["vehicles"], RK4_DT, task["steps"], task["checked"])
    alone = task["threads"] == 1
    answer: dict[str, Any] = {}
    for name in PRECISIONS:
        answer[name] = _throughput(work.cast(name), task["repeats"])
        if alone:
            answer[name] |= _end(work.first(work.checked).cast(name))
    if alone:
        answer["step"] = _single(weave(task["weave"]))
    json.dump(answer, sys.stdout)


def _throughput(work: FleetWork, repeats: int) -> dict[str, Any]:
    steps = min(TIMED_STEPS, work.steps)
    compiled, x, u = _rollout(work, steps)
    _timed(compiled, x, u)
    return {"steps": steps, "times": [_timed(compiled, x, u)[0] for _ in range(repeats)]}


def _end(work: FleetWork) -> dict[str, Any]:
    compiled, x, u = _rollout(work, work.steps)
    first_call, x = _timed(compiled, x, u)
    end = np.stack([np.asarray(column, dtype=float) for column in x], axis=1)
    return {"first_call": first_call, "end": end.tolist()}


def _rollout(work: FleetWork, steps: int) -> tuple[Any, Any, Any]:
    """The function to compile, and start states and inputs as tuples of columns."""
    import jax

    one = _step(work.vehicle, work.dt)

    def rollout(x: Any, u: Any) -> Any:
        def body(states: Any, _: Any) -> tuple[Any, None]:
            return jax.vmap(one)(states, u), None

        return jax.lax.scan(body, x, None, length=steps)[0]

    x, u = (tuple(jax.numpy.asarray(column) for column in a.T) for a in (work.x0, work.u))
    return jax.jit(rollout), x, u


def _single(course: Weave) -> dict[str, Any]:
    import jax

    one = _step(course.vehicle, RK4_DT)
    # One array in and one out is faster than eleven numbers.
    compiled = jax.jit(lambda x, u: jax.numpy.stack(one(tuple(x), tuple(u))))
    rows = list(course.held_rows(RK4_DT))
    first_call, _ = _timed(compiled, course.x0, rows[0])
    times: list[float] = []
    x: Any = course.x0
    for row in rows:
        elapsed, x = _timed(compiled, x, row)
        times.append(elapsed)
    return {"times": times, "first_call": first_call, "end": np.asarray(x).tolist()}


def _step(vehicle: Vehicle, dt: float) -> Any:
    model = vehicle.model
    update = integrate.discretise(model, integrate.get("rk4"))
    w, p = record.build(model.Disturbance), vehicle.params

    def step(x: tuple[Any, ...], u: tuple[Any, ...]) -> tuple[Any, ...]:
        state, held = record.unflatten(model.State, x), record.unflatten(model.Input, u)
        return record.flatten(update(state, held, w, p, dt)[0])

    return step


def _timed(function: Any, x: Any, u: Any) -> tuple[float, Any]:
    import jax

    begin = perf_counter()
    result = jax.block_until_ready(function(x, u))
    return perf_counter() - begin, result


if __name__ == "__main__":
    _main()
