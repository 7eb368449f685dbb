"""JAX: `jit` of `vmap` in `scan` for fleets, `jit` of the step for single steps; its own process.

JAX decides on its threads when it starts, and on double precision for the whole process. So the
work is done by `python -m skidpad.bench.peers.jax`, which reads its task from stdin and writes
what it found to stdout, both JSON.

JAX on the device that skidpad is measured on: `jit` of `vmap` in `scan`, and its gradient.

Each job runs as `python -m skidpad.bench.peers.jax` in a process of its own, which reads its
task from stdin and writes what it found to stdout, both JSON: double precision holds for a whole
process, and the device's memory is free again at its end.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from functools import cache, partial
from importlib.util import find_spec
from time import perf_counter
from typing import Any

import numpy as np

from ... import integrate
from ...core import record
from ...core.arrays import AnyArray
from ...core.model import Vehicle
from ..car_work import car_work
from ..timing import Budget, environment
from ..work import COST, RK4_DT, FleetWork, GradientWork, Weave, fleet_work, gradient_work, weave

TIME_LIMIT_S = 240.0
"""A job that takes longer, compilation included, counts as failed."""
CAR_TIME_LIMIT_S = 1200.0
"""The same for a car, whose sixteen tyres a step XLA compiles for minutes."""
JAX_DEVICE_TIMED_STEPS = 100
"""Steps of a timed rollout: enough that starting it costs nothing, few enough to be repeated."""

Answer = dict[str, Any] | str
"""What was found, or why nothing was."""


def fleet(device: str, precision: str, work: FleetWork, repeats: int) -> Answer:
    """`times` in s of `steps` steps, and the `end` states of the checked vehicles."""
    return _job("fleet", device, precision, work, repeats)


def gradient(device: str, precision: str, work: GradientWork, repeats: int) -> Answer:
    """For each form of the same gradient, `times` in s and the `gradient` (T, K, nu) of the checked
    vehicles: `vmap`, as one writes it, and if they ran `columns` and `columns_checkpoint`."""
    return _job("gradient", device, precision, work, repeats)


def call(device: str, precision: str, work: FleetWork, repeats: int) -> Answer:
    """`numpy` and `device`: times in s of one call with arrays of either; `end` as in `fleet`."""
    return _job("call", device, precision, work, repeats)


def cars(name: str, precision: str, work: FleetWork, repeats: int) -> Answer:
    """As `fleet`, of a car of `car_work`, on one thread of the processor."""
    return _job("fleet", "cpu", precision, work, repeats, name)


def _job(
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
    return answer(__name__, task, settings(device), limit)


def answer(
    module: str, task: Mapping[str, Any], settings: Mapping[str, str], limit: float | None = None
) -> Answer:
    """What a module of this package answers to a task, in a process with these settings; `limit`
    is in s."""
    if find_spec("jax") is None:
        return "not installed"
    try:
        run = subprocess.run(
            [sys.executable, "-m", module],
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


def settings(device: str) -> dict[str, str]:
    """Environment in which JAX computes on a device, on the CPU with one thread."""
    if device == "cpu":  # one thread, as the entries here have it
        flags = "--xla_cpu_multi_thread_eigen=false"
        return {"JAX_PLATFORMS": "cpu", "NPROC": "1", "XLA_FLAGS": flags}
    # By default JAX takes three quarters of the memory, of which skidpad holds some.
    return {"JAX_PLATFORMS": device, "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}


def _jax_device_main() -> None:
    task = json.load(sys.stdin)
    import jax

    jax.config.update("jax_enable_x64", True)
    precision, repeats = task["precision"], task["repeats"]
    sizes = task["vehicles"], task["steps"], task["checked"]
    if task["job"] == "gradient":
        result = _gradient(gradient_work(*sizes).cast(precision), repeats)
    else:
        vehicles, steps, checked = sizes
        if task["car"] is None:
            work = fleet_work(vehicles, task["dt"], steps, checked).cast(precision)
        else:
            work = car_work(task["car"], vehicles, steps, checked).cast(precision)
        result = (_fleet if task["job"] == "fleet" else _call)(work, repeats)
    json.dump(result, sys.stdout)


def _fleet(work: FleetWork, repeats: int) -> dict[str, Any]:
    steps = min(JAX_DEVICE_TIMED_STEPS, work.steps)
    x, u = _columns(work.vehicle.State, work.x0), _columns(work.vehicle.Input, work.u)
    rollout = _jax_device_rollout(work.vehicle, work.dt, steps)
    times = _times(partial(rollout, x, u), repeats)
    if steps < work.steps:
        few = work.first(work.checked)
        x, u = _columns(work.vehicle.State, few.x0), _columns(work.vehicle.Input, few.u)
        rollout = _jax_device_rollout(work.vehicle, work.dt, work.steps)
    end = _rows(rollout(x, u))[: work.checked]
    return {"steps": steps, "times": times, "end": end.tolist()}


def _jax_device_rollout(vehicle: Vehicle, dt: float, steps: int) -> Any:
    """End states from start states and held inputs, all records of columns (B,)."""
    import jax

    step = _jax_device_step(vehicle, dt)

    def rollout(x: Any, u: Any) -> Any:
        return jax.lax.scan(lambda state, _: (step(state, u), None), x, None, length=steps)[0]

    return jax.jit(rollout)


def _call(work: FleetWork, repeats: int) -> dict[str, Any]:
    import jax
    import jax.numpy as jnp

    model = work.vehicle.model
    inner = _jax_device_rollout(work.vehicle, work.dt, work.steps)

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


def _gradient(work: GradientWork, repeats: int) -> dict[str, Any]:
    import jax

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
    """`grad` of one vehicle's rollout, its state and inputs as vectors, mapped over vehicles."""
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
    """The sum of all vehicles' costs as a function of inputs (T, B) and start states (B,); with
    `one`, of a single vehicle and without the B."""
    import jax

    step, p = _jax_device_step(vehicle, dt, one=one), vehicle.params

    def total(controls: Any, start: Any) -> Any:
        def body(state: Any, held: Any) -> tuple[Any, Any]:
            return step(state, held), COST.at_step(state, held, p, None)

        end, stages = jax.lax.scan(wrapped(body), start, controls)
        return stages.sum() + COST.at_end(end, p, None).sum()

    return total


def _jax_device_step(vehicle: Vehicle, dt: float, *, one: bool = False) -> Any:
    import jax

    model = vehicle.model
    update = integrate.discretise(model, integrate.get("rk4"))
    w, p = record.build(model.Disturbance), vehicle.params

    def step(x: Any, u: Any) -> Any:
        return update(x, u, w, p, dt)[0]

    return step if one else jax.vmap(step)


def _columns(kind: type, array: AnyArray) -> Any:
    """A record of device arrays (..., B) from an array (..., B, n): JAX is fastest on columns."""
    import jax.numpy as jnp

    columns = np.moveaxis(array, -1, 0)
    return record.unflatten(kind, tuple(jnp.asarray(np.ascontiguousarray(c)) for c in columns))


def _rows(columns: Any) -> AnyArray:
    return np.stack([np.asarray(c, dtype=float) for c in record.flatten(columns)], axis=-1)


def _times(action: Any, repeats: int) -> list[float]:
    """Times in s of an action, its first run, which compiles, left out."""
    import jax

    jax.block_until_ready(action())
    times: list[float] = []
    for _ in range(repeats):
        begin = perf_counter()
        jax.block_until_ready(action())
        times.append(perf_counter() - begin)
    return times


if __name__ == "__main__":
    _jax_device_main()

TIMED_STEPS = 20
"""Steps of a timed call; the length of a `scan` is compiled in, so that no run can fit it."""
PRECISIONS = ("float64", "float32")


@cache
def results(budget: Budget, threads: int) -> Answer:
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
    return answer(__name__, task, _thread_settings(threads))


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
