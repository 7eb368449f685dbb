"""JAX as a peer: `jit` of `vmap` in `scan` for fleets, gradients, single steps and tyres.

JAX fixes the number of threads at the start and double precision for the whole process. So each job
runs as `python -m skidpad.bench.peers_jax`, which reads its task from stdin and writes the result
to stdout, both as JSON; the memory of a GPU is free again when it ends.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np

from .. import integrate
from ..core import record
from ..core.arrays import AnyArray
from ..core.model import Vehicle
from .timing import Budget, Measured, environment
from .work import (
    COST,
    RK4_DT,
    FleetWork,
    GradientWork,
    Weave,
    car_work,
    combined,
    fleet_work,
    gradient_work,
    tyre_work,
    weave,
)

TIME_LIMIT_S = 240.0
"""Time limit of a job in s, compilation included."""
CAR_TIME_LIMIT_S = 1200.0
"""Time limit of a job with a car in s; XLA compiles its sixteen tyres per step for minutes."""
TIMED_STEPS = 100
"""Steps of a timed rollout: enough for the start-up cost to be negligible, few enough to
repeat."""
CORE_STEPS = 20
"""Steps of a timed rollout in the group `core`."""
PRECISIONS = ("float64", "float32")
TYRE_CHECKED = 256
"""Number of contacts, from the first, whose forces are compared with the reference."""
TYRE_CALLS = 500

Answer = dict[str, Any] | str
"""Result of a job, or the reason why it has no result."""


def as_peer(
    answer: Answer, measure: Callable[[dict[str, Any]], Measured]
) -> tuple[dict[str, Measured], dict[str, str]]:
    """The peers and the absent peers of an entry: JAX with its result, or with the reason."""
    return ({}, {"jax": answer}) if isinstance(answer, str) else ({"jax": measure(answer)}, {})


def fleet(device: str, precision: str, work: FleetWork, repeats: int) -> Answer:
    """Time fleets: `times` in s of `steps` steps, and the `end` states of the checked vehicles."""
    return _on_work("fleet", device, precision, work, repeats)


def gradient(device: str, precision: str, work: GradientWork, repeats: int) -> Answer:
    """Time gradients: `times` in s and the `gradient` (T, K, nu) of the checked vehicles, by
    method.

    The methods are `vmap`, the usual one, and `columns` and `columns_checkpoint`, if they ran.
    """
    return _on_work("gradient", device, precision, work, repeats)


def call(device: str, precision: str, work: FleetWork, repeats: int) -> Answer:
    """Time one call: `numpy` and `device` are times in s with arrays of either; `end` as in
    `fleet`."""
    return _on_work("call", device, precision, work, repeats)


def cars(name: str, precision: str, work: FleetWork, repeats: int) -> Answer:
    """Time a car of `car_work` as in `fleet`, on one thread of the CPU."""
    return _on_work("fleet", "cpu", precision, work, repeats, name)


@cache
def results(budget: Budget, threads: int) -> Answer:
    """Results of the group `core` with a number of threads.

    For each precision the `times` in s of `steps` steps. With one thread also `first_call` in s
    and `end` states of a rollout of the checked vehicles, and `step` with `times`, `first_call` and
    `end` of the slalom.
    """
    task = {
        "job": "core",
        "vehicles": budget.vehicles,
        "steps": budget.rk4_steps,
        "checked": budget.checked,
        "repeats": budget.repeats,
        "weave": budget.weave,
        "threads": threads,
    }
    return _answer(task, _settings("cpu", threads))


@cache
def tyre(device: str, precision: str, count: int, repeats: int) -> Answer:
    """Time tyres: `times` in s of all contacts, `forces` (3, K) of the first ones and, on the CPU,
    `calls`, times in s of single calls with numbers."""
    task = {"device": device, "precision": precision, "count": count, "repeats": repeats}
    return _answer({"job": "tyre", **task}, _settings(device), TIME_LIMIT_S)


def _on_work(
    job: str,
    device: str,
    precision: str,
    work: FleetWork | GradientWork,
    repeats: int,
    car: str | None = None,
) -> Answer:
    task = {
        "job": job,
        "car": car,
        "precision": precision,
        "vehicles": len(work.x0),
        "steps": work.steps,
        "dt": work.dt,
        "checked": work.checked,
        "repeats": repeats,
    }
    limit = TIME_LIMIT_S if car is None else CAR_TIME_LIMIT_S
    return _answer(task, _settings(device), limit)


def _answer(
    task: Mapping[str, Any], settings: Mapping[str, str], limit: float | None = None
) -> Answer:
    """Result of a task in a process with these environment variables; `limit` is in s."""
    if find_spec("jax") is None:
        return "not installed"
    try:
        run = subprocess.run(
            [sys.executable, "-m", __name__],
            input=json.dumps(task),
            env=environment(**settings),
            capture_output=True,
            text=True,
            timeout=limit,
        )
    except subprocess.TimeoutExpired as error:
        return f"took more than {error.timeout:.0f} s"
    if run.returncode:
        lines = run.stderr.strip().splitlines()
        return f"failed: {lines[-1] if lines else f'exit code {run.returncode}'}"
    return json.loads(run.stdout)


def _settings(device: str, threads: int = 1) -> dict[str, str]:
    """Environment variables for JAX on a device; on the CPU with this number of threads."""
    if device != "cpu":
        # By default JAX allocates three quarters of the GPU memory, part of which skidpad holds.
        return {"JAX_PLATFORMS": device, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    # NPROC sizes XLA's pool of threads; the flag keeps its matrix library from making more.
    settings = {"JAX_PLATFORMS": "cpu", "NPROC": str(threads)}
    if threads == 1:
        settings["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    return settings


def main() -> None:
    """Execute the task on stdin and write the result to stdout."""
    task = json.load(sys.stdin)
    import jax

    jax.config.update("jax_enable_x64", True)
    json.dump(_JOBS[task["job"]](task), sys.stdout)


def _fleet_work(task: Mapping[str, Any]) -> FleetWork:
    vehicles, steps, checked = task["vehicles"], task["steps"], task["checked"]
    if task["car"] is None:
        work = fleet_work(vehicles, task["dt"], steps, checked)
    else:
        work = car_work(task["car"], vehicles, steps, checked)
    return work.cast(task["precision"])


def _core(task: Mapping[str, Any]) -> dict[str, Any]:
    work = fleet_work(task["vehicles"], RK4_DT, task["steps"], task["checked"])
    found: dict[str, Any] = {}
    for precision in PRECISIONS:
        own, steps = work.cast(precision), min(CORE_STEPS, work.steps)
        times = _times(partial(*_rollout(own, steps)), task["repeats"])
        found[precision] = {"steps": steps, "times": times}
        if task["threads"] == 1:
            first_call, end = _timed(*_rollout(own.first(own.checked), own.steps))
            found[precision] |= {"first_call": first_call, "end": _rows(end).tolist()}
    if task["threads"] == 1:
        found["step"] = _single(weave(task["weave"]))
    return found


def _fleet(task: Mapping[str, Any]) -> dict[str, Any]:
    work = _fleet_work(task)
    steps = min(TIMED_STEPS, work.steps)
    rollout = partial(*_rollout(work, steps))
    times = _times(rollout, task["repeats"])
    if steps < work.steps:
        rollout = partial(*_rollout(work.first(work.checked), work.steps))
    return {"steps": steps, "times": times, "end": _rows(rollout())[: work.checked].tolist()}


def _rollout(work: FleetWork, steps: int) -> tuple[Any, Any, Any]:
    """Compiled rollout that returns end states, with its start states and constant inputs."""
    x, u = _columns(work.vehicle.State, work.x0), _columns(work.vehicle.Input, work.u)
    return _compiled_rollout(work.vehicle, work.dt, steps), x, u


def _compiled_rollout(vehicle: Vehicle, dt: float, steps: int) -> Any:
    """Compiled function from start states and constant inputs to end states, as records of columns
    (B,)."""
    import jax

    step = _step(vehicle, dt)

    def rollout(x: Any, u: Any) -> Any:
        return jax.lax.scan(lambda state, _: (step(state, u), None), x, None, length=steps)[0]

    return jax.jit(rollout)


def _single(course: Weave) -> dict[str, Any]:
    import jax

    State, Input = course.vehicle.State, course.vehicle.Input
    one = _step(course.vehicle, RK4_DT, one=True)

    @jax.jit  # one input and one output array are faster than eleven numbers
    def step(x: Any, u: Any) -> Any:
        after = one(record.unflatten(State, tuple(x)), record.unflatten(Input, tuple(u)))
        return jax.numpy.stack(record.flatten(after))

    rows = list(course.held_rows(RK4_DT))
    first_call, _ = _timed(step, course.x0, rows[0])
    times: list[float] = []
    x: Any = course.x0
    for row in rows:
        elapsed, x = _timed(step, x, row)
        times.append(elapsed)
    return {"times": times, "first_call": first_call, "end": np.asarray(x).tolist()}


def _call(task: Mapping[str, Any]) -> dict[str, Any]:
    import jax
    import jax.numpy as jnp

    work, repeats = _fleet_work(task), task["repeats"]
    model = work.vehicle.model
    inner = _compiled_rollout(work.vehicle, work.dt, work.steps)

    @jax.jit
    def rollout(x: Any, u: Any) -> Any:
        state, held = (
            record.unflatten(kind, tuple(a.T)) for kind, a in ((model.State, x), (model.Input, u))
        )
        return jnp.stack(record.flatten(inner(state, held)), axis=1)

    there = [jnp.asarray(a) for a in (work.x0, work.u)]
    end = np.asarray(rollout(*there), dtype=float)[: work.checked]
    return {
        "numpy": _times(lambda: np.asarray(rollout(work.x0, work.u)), repeats),
        "device": _times(partial(rollout, *there), repeats),
        "end": end.tolist(),
    }


def _gradient(task: Mapping[str, Any]) -> dict[str, Any]:
    import jax

    work = gradient_work(task["vehicles"], task["steps"], task["checked"])
    work, repeats = work.cast(task["precision"]), task["repeats"]
    results = {"vmap": _gradient_by_vmap(work, repeats)}
    x, u = _columns(work.vehicle.State, work.x0), _columns(work.vehicle.Input, work.u)
    for form, wrapped in (("columns", lambda body: body), ("columns_checkpoint", jax.checkpoint)):
        derivative = jax.jit(jax.value_and_grad(_total(work.vehicle, work.dt, wrapped)))
        try:
            times = _times(partial(derivative, u, x), repeats)
        except jax.errors.JaxRuntimeError:  # such as out of memory
            continue
        few = jax.tree.map(lambda column: column[:, : work.checked], derivative(u, x)[1])
        results[form] = {"times": times, "gradient": _rows(few).tolist()}
    return results


def _gradient_by_vmap(work: GradientWork, repeats: int) -> dict[str, Any]:
    """Gradient of one vehicle's rollout, with state and inputs as vectors, mapped over the
    vehicles."""
    import jax
    import jax.numpy as jnp

    model = work.vehicle.model
    total = _total(work.vehicle, work.dt, lambda body: body, one=True)

    def one_vehicle(controls: Any, start: Any) -> Any:
        u, x = (
            record.unflatten(kind, tuple(jnp.moveaxis(a, -1, 0)))
            for kind, a in ((model.Input, controls), (model.State, start))
        )
        return total(u, x)

    derivative = jax.jit(jax.vmap(jax.value_and_grad(one_vehicle), in_axes=(1, 0), out_axes=(0, 1)))
    u, x = jnp.asarray(work.u), jnp.asarray(work.x0)
    times = _times(partial(derivative, u, x), repeats)
    few = derivative(u, x)[1][:, : work.checked]
    return {"times": times, "gradient": np.asarray(few, dtype=float).tolist()}


def _total(vehicle: Vehicle, dt: float, wrapped: Any, *, one: bool = False) -> Any:
    """Sum of all vehicles' costs as a function of inputs (T, B) and start states (B,); with `one`,
    of a single vehicle, without the axis B."""
    import jax

    step, p = _step(vehicle, dt, one=one), vehicle.params

    def total(controls: Any, start: Any) -> Any:
        def body(state: Any, held: Any) -> tuple[Any, Any]:
            return step(state, held), COST.at_step(state, held, p, None)

        end, stages = jax.lax.scan(wrapped(body), start, controls)
        return stages.sum() + COST.at_end(end, p, None).sum()

    return total


def _step(vehicle: Vehicle, dt: float, *, one: bool = False) -> Any:
    import jax

    model = vehicle.model
    update = integrate.discretise(model, integrate.get("rk4"))
    w, p = record.build(model.Disturbance), vehicle.params

    def step(x: Any, u: Any) -> Any:
        return update(x, u, w, p, dt)[0]

    return step if one else jax.vmap(step)


def _tyre(task: Mapping[str, Any]) -> dict[str, Any]:
    import jax

    work, repeats = tyre_work(task["count"]).cast(task["precision"]), task["repeats"]
    forces = jax.jit(partial(combined, work.tyre))
    columns = [jax.numpy.asarray(column) for column in work.columns]
    first = np.array(jax.block_until_ready(forces(*columns)), dtype=float)[:, :TYRE_CHECKED]
    found = {"times": _times(partial(forces, *columns), repeats), "forces": first.tolist()}
    if task["device"] == "cpu":
        found["calls"] = _times(partial(forces, 4000.0, 0.02, 0.05, 0.01), TYRE_CALLS)
    return found


def _columns(kind: type, array: AnyArray) -> Any:
    """Record of device arrays (..., B) from an array (..., B, n); JAX is fastest on columns."""
    import jax.numpy as jnp

    columns = np.moveaxis(array, -1, 0)
    return record.unflatten(kind, tuple(jnp.asarray(np.ascontiguousarray(c)) for c in columns))


def _rows(columns: Any) -> AnyArray:
    return np.stack([np.asarray(c, dtype=float) for c in record.flatten(columns)], axis=-1)


def _timed(function: Any, *arguments: Any) -> tuple[float, Any]:
    """Time of a call in s, and its result."""
    import jax

    begin = perf_counter()
    result = jax.block_until_ready(function(*arguments))
    return perf_counter() - begin, result


def _times(action: Any, repeats: int) -> list[float]:
    """Times in s of an action, without its first run, which compiles."""
    _timed(action)
    return [_timed(action)[0] for _ in range(repeats)]


_JOBS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "core": _core,
    "fleet": _fleet,
    "call": _call,
    "gradient": _gradient,
    "tyre": _tyre,
}

if __name__ == "__main__":
    main()
