"""The group `core`: fleets, gradients, single steps, compilation and import on the CPU.

Fleets are compared with NumPy, SciPy, CasADi and JAX by steps per second, single steps from Python
by their median time. All contenders of single steps drive the same slalom; their end states are
compared.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from ..compile import pipeline
from ..core import record
from ..core.arrays import AnyArray
from ..run.fleet import Fleet
from ..run.simulator import Simulator
from . import peers_jax as jax_device
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
    environment,
    interleaved,
    run_job,
    seconds,
    typical,
)
from .work import (
    RADAU_DT,
    RK4_DT,
    Device,
    FleetWork,
    GradientWork,
    Reference,
    Source,
    Weave,
    fleet_reference,
    fleet_work,
    gradient_reference,
    gradient_work,
    on_host,
    resources,
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
    # These first rollouts also compile the kernels.
    errors = {n: reference.error(work.rollout(f)[: work.checked]) for n, f in fleets.items()}
    rates = _rates(_runs(fleets, work, precision, budget), budget)
    for n in THREADS:
        found = jax_scan.results(budget, n)
        if not isinstance(found, str):
            one = found[precision]
            rates["jax", n] = best_rate(len(work.x0) * one["steps"], one["times"])
    # Errors of the peers at the end of a full rollout of the checked vehicles
    few = work.first(work.checked)
    advances = _advances(work, precision, 1)
    ends = {name: advance(few.x0, few.u, few.steps) for name, advance in advances.items()}
    found = jax_scan.results(budget, 1)
    if not isinstance(found, str):
        ends["jax"] = np.array(found[precision]["end"])
    peer_errors = {name: reference.error(end) for name, end in ends.items()}
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
    """Function that times a run of as many steps as fit into `time` in s, at least one."""
    one = seconds(partial(advance, work.x0, work.u, 1))
    steps = min(max(int(time / one), 1), work.steps)
    return Run(len(work.x0) * steps, partial(advance, work.x0, work.u, steps))


def _rates(runs: dict[Contender, Run], budget: Budget) -> dict[Contender, Measured]:
    times = interleaved([run.call for run in runs.values()], budget.repeats)
    return {
        who: best_rate(run.steps, own) for (who, run), own in zip(runs.items(), times, strict=True)
    }


def _peers(
    rates: dict[Contender, Measured], threads: int, errors: dict[str, float]
) -> tuple[dict[str, Measured], list[str]]:
    """Results of the peers with `threads` threads, and the names of peers that are faster with one
    thread; for these the one-thread result is used.
    """
    names = [name for name, n in rates if n == threads and name != OWN]
    alone = [name for name in names if rates[name, 1].value > rates[name, threads].value]
    peers = {
        name: rates[name, 1 if name in alone else threads]._replace(error=errors[name])
        for name in names
    }
    return peers, alone


def _few(advance: Advance, work: FleetWork, reference: Reference) -> Measured:
    """Rate and error of a peer, measured on one rollout of the checked vehicles only.

    Used for peers that take minutes for the whole fleet and gain nothing from a larger batch.
    """
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
    yield from gradient_entries(budget)
    course = weave(budget.weave)
    reference = weave_reference(course)
    yield from _rk4_steps(course, reference, budget)
    peers = {
        "scipy": _drive(scipy_calls(course, RADAU_DT, "Radau"), reference, 1),
        "casadi": _drive(casadi_calls(course, RADAU_DT), reference, 1),
    }
    # A Radau course has a tenth of the calls, so it is repeated until the same number is timed.
    repeats = budget.weave_repeats * round(RADAU_DT / RK4_DT)
    drive = _own(course, RADAU_DT, "radau", "record")
    own = _drive(drive, reference, repeats)
    details = _steps_details(drive, RADAU_DT, "record", reference)
    absent = {"jax": NO_METHOD}
    yield Entry("step.four_wheel.radau", TIME, own, peers, absent, details)
    yield from compile_entries(budget)
    yield from import_entries(budget)


def compile_entries(budget: Budget) -> Iterator[Entry]:
    """Median times of first calls, without imports, with an empty and a filled cache."""
    jobs = {"cold": "step", "cached": "step", "fleet": "fleet", "casadi": "casadi"}
    times: dict[str, list[float]] = {kind: [] for kind in jobs}
    for _ in range(budget.fresh):
        with tempfile.TemporaryDirectory() as cache:
            for kind, job in jobs.items():
                times[kind].append(first_call(job, cache))
    casadi = {"casadi": typical(times["casadi"])}
    name = "compile.four_wheel"
    jax, absent = _jax_first_call(budget, "step")
    yield Entry(f"{name}.cold", TIME, typical(times["cold"]), {**casadi, **jax}, absent)
    yield Entry(f"{name}.cached", TIME, typical(times["cached"]))
    jax, absent = _jax_first_call(budget, "float64")
    details = {"lanes": max(pipeline.LANES)}
    yield Entry(f"{name}.fleet", TIME, typical(times["fleet"]), jax, absent, details)


def _jax_first_call(budget: Budget, part: str) -> tuple[dict[str, Measured], dict[str, str]]:
    return jax_scan.as_peer(
        jax_scan.results(budget, 1), lambda found: Measured(found[part]["first_call"], None)
    )


def first_call(name: str, cache: str) -> float:
    """Time in s of a job of `fresh_job` in a fresh process with this cache folder."""
    return float(run_job("fresh_job", name, SKIDPAD_CACHE=cache))


IMPORTS = {
    "import": "import skidpad",
    "import.simulator": "import skidpad; skidpad.Simulator, skidpad.Fleet, skidpad.vehicles",
}
"""Import statements by entry; names of skidpad load on first use."""
PEER_IMPORTS = {
    "scipy": "import scipy.integrate",
    "casadi": "import casadi",
    "jax": "import jax.numpy",
}


def interpreter_times(statements: Sequence[str], repeats: int) -> list[list[float]]:
    """Times in s of fresh interpreters that execute each statement, measured alternately."""
    commands = ([sys.executable, "-c", statement] for statement in statements)
    settings: dict[str, Any] = {"env": environment(), "check": True, "capture_output": True}
    return interleaved([partial(subprocess.run, c, **settings) for c in commands], repeats)


def import_entries(budget: Budget) -> Iterator[Entry]:
    """Median times of imports in a fresh interpreter, minus the time of an empty program."""
    absent = {name: "not installed" for name in PEER_IMPORTS if find_spec(name) is None}
    peers = [name for name in PEER_IMPORTS if name not in absent]
    statements = ["pass", *IMPORTS.values(), *(PEER_IMPORTS[name] for name in peers)]
    ours = 1 + len(IMPORTS)
    interpreter_times(statements[:ours], 1)  # reads skidpad's files once
    bare, *times = interpreter_times(statements[:ours], 3 * budget.fresh)
    times += interpreter_times(statements[ours:], budget.fresh)
    measured = [_less(own, median(bare)) for own in times]
    beside = dict(zip(peers, measured[len(IMPORTS) :], strict=True))
    for name, own in zip(IMPORTS, measured, strict=False):
        yield Entry(name, TIME, own, beside, absent, {"interpreter": median(bare)})


def _less(times: list[float], bare: float) -> Measured:
    whole = typical(times)
    # The difference may be zero or less because of noise, but a ratio needs a positive number.
    value = max(whole.value - bare, 1e-6)
    spread = None if whole.spread is None else whole.spread * whole.value / value
    return Measured(value, spread)


STEPS = 100
CPU_VEHICLES = 4096
SAME_BITS = 64
"""Number of vehicles, from the first, whose derivatives are compared with the CPU's bit for
bit."""


def gradient_entries(budget: Budget) -> Iterator[Entry]:
    """Gradients on one thread of the CPU in float64."""
    work = gradient_work(min(budget.vehicles, CPU_VEHICLES), STEPS, budget.checked)
    name = "gradient.four_wheel.float64.threads1"
    cpu = Device.of("cpu")
    yield gradient_entry(name, work, Source.of(), cpu, "float64", budget, threads=1)


def gradient_entry(
    name: str,
    work: GradientWork,
    source: Source,
    device: Device,
    precision: str,
    budget: Budget,
    **options: Any,
) -> Entry:
    """Rate of gradients with respect to all inputs, and the rate of the rollout alone."""
    reference = gradient_reference(work)
    work = work.cast(precision)
    fleet = source.fleet(precision=precision, device=device.name, **options)
    x0, u = device.vehicles_last(work.x0), device.vehicles_last(work.u)
    backward = partial(fleet.gradient, x0, u, source.cost, wrt="controls")
    forward = partial(fleet.rollout, x0, u, every=work.steps)
    value, gradient = backward()
    forward()
    actions = [device.finished(backward), device.finished(forward)]
    times, forward_times = interleaved(actions, budget.repeats)
    amount = len(work.x0) * work.steps
    derivatives = on_host(gradient.controls)
    own = best_rate(amount, times)._replace(error=_error(reference, derivatives[:, : work.checked]))
    rate = best_rate(amount, forward_times).value
    details = {
        **work.details(),
        "wrt": "controls",
        "forward": rate,
        "of_forward": own.value / rate,
        "kernels": resources(fleet),
    }
    if device.name != "cpu":
        details["same_bits_as_cpu"] = _same_bits(
            source, work, on_host(value), derivatives, precision
        )
    del value, gradient, x0, u, backward, forward, actions
    device.free()
    jax = jax_device.gradient(device.name, precision, work, budget.repeats)
    if isinstance(jax, str):
        return Entry(name, RATE, own, {}, {"jax": jax}, details)
    rates = {
        form: best_rate(amount, run["times"])._replace(
            error=_error(reference, np.array(run["gradient"]))
        )
        for form, run in jax.items()
    }
    peers = {"jax": rates.pop("vmap")}
    if rates:
        form = max(rates, key=lambda name: rates[name].value)
        peers["jax_columns"], details["jax_columns_form"] = rates[form], form
    return Entry(name, RATE, own, peers, {}, details)


def _error(reference: Reference, gradient: AnyArray) -> float:
    """Largest error of derivatives (T, K, nu), relative to the largest derivative of the same
    input."""
    return reference.error(np.swapaxes(gradient, 0, 1))


def _same_bits(
    source: Source, work: GradientWork, value: AnyArray, gradient: AnyArray, precision: str
) -> bool:
    """Whether cost and derivatives of the first vehicles equal those of the CPU bit for bit."""
    few = work.first(SAME_BITS)
    fleet: Fleet = source.fleet(precision=precision)
    cost, derived = fleet.gradient(few.x0, few.u, source.cost, wrt="controls")
    here = np.ascontiguousarray(gradient[:, :SAME_BITS])
    return (
        value[:SAME_BITS].tobytes() == cost.tobytes()
        and here.tobytes() == np.ascontiguousarray(derived.controls).tobytes()
    )
