"""The group `gpu`: a million vehicles, gradients and single calls on a CUDA device, and JAX.

The functions take the device, so that the tests can measure on the CPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import AnyArray
from ..run.fleet import Fleet
from . import cars
from . import peers_jax as jax_device
from .core import STEPS as GRADIENT_STEPS
from .core import gradient_entry
from .timing import RATE, TIME, Budget, Entry, Measured, best_rate, interleaved, typical
from .work import (
    RK4_DT,
    Device,
    FleetWork,
    Reference,
    Source,
    fleet_reference,
    fleet_work,
    gradient_work,
    on_host,
    resources,
    tyre_program,
)

SAME_BITS = 64
"""Number of vehicles, from the first, whose end state is compared with the CPU's bit for bit."""


class Sizes(NamedTuple):
    """Numbers of vehicles and steps; the entries are defined by them, so `--quick` does not change
    the number of vehicles."""

    fleet: tuple[int, int]
    gradient: tuple[int, int] = (65_536, GRADIENT_STEPS)
    call: tuple[int, int] = (4096, 200)


def entries(budget: Budget, plants: Path | None = None) -> Iterator[Entry]:
    """Measure all entries of a GPU; `plants` as for `Source.of`."""
    # Several times the steps of the CPU's rollouts, so that the start of a kernel is negligible.
    sizes = Sizes(fleet=(1 << 20, 4 * budget.rk4_steps))
    device = Device.of("cuda")
    yield from measured(device, Source.of(plants), sizes, budget)
    yield cars.device_entry(device, tyre_program(plants), 1 << 22, budget)


def measured(device: Device, source: Source, sizes: Sizes, budget: Budget) -> Iterator[Entry]:
    """Measure the entries of the group on any device, whose name they contain."""
    # RK4 at 1 ms with constant inputs, in both precisions
    fleet_job = fleet_work(sizes.fleet[0], RK4_DT, sizes.fleet[1], budget.checked)
    reference = fleet_reference(fleet_job)
    for precision in ("float32", "float64"):
        yield from _of_precision(device, source, fleet_job.cast(precision), reference, budget)
        device.free()
    work = gradient_work(*sizes.gradient, budget.checked)
    name = f"gradient.four_wheel.float32.{device.name}"
    yield gradient_entry(name, work, source, device, "float32", budget)
    yield call_entry(device, source, sizes.call, budget)


def _of_precision(
    device: Device, source: Source, work: FleetWork, reference: Reference, budget: Budget
) -> Iterator[Entry]:
    precision = str(work.x0.dtype)
    fast_too = precision == "float32" and device.name == "cuda"
    x0, u = (device.vehicles_last(a).T for a in (work.x0, work.u))
    fleets = {
        fast: source.fleet(precision=precision, device=device.name, fast=fast)
        for fast in ((False, True) if fast_too else (False,))
    }
    calls = {
        fast: partial(f.rollout, x0, u, steps=work.steps, every=work.steps, layout="soa")
        for fast, f in fleets.items()
    }
    ends = {fast: call()[-1] for fast, call in calls.items()}
    times = interleaved([device.finished(call) for call in calls.values()], budget.repeats)

    def measure(found: dict[str, Any]) -> Measured:
        rate = best_rate(len(work.x0) * found["steps"], found["times"])
        return rate._replace(error=reference.error(found["end"]))

    jax = jax_device.fleet(device.name, precision, work, budget.repeats)
    peers, absent = jax_device.as_peer(jax, measure)
    for (fast, fleet), own_times in zip(fleets.items(), times, strict=True):
        own = best_rate(len(work.x0) * work.steps, own_times)
        own = own._replace(error=reference.error(on_host(ends[fast][:, : work.checked]).T))
        name = f"fleet.four_wheel.rk4.{precision}.{device.name}{'.fast' if fast else ''}"
        details: dict[str, Any] = {**work.details(), "kernels": resources(fleet)}
        if fast:
            details["deviation_from_exact"] = deviation(device, fleet, ends[True], ends[False])
        else:
            details["same_bits_as_cpu"] = _same_bits(source, work, ends[False])
        yield Entry(name, RATE, own, peers, absent, details)


def deviation(device: Device, fleet: Fleet, end: Any, exact: Any) -> dict[str, float]:
    """Largest difference of end states (nx, B) by field, relative to the field's largest value."""
    xp = device.xp
    difference, scale = (on_host(xp.abs(a).max(axis=1)) for a in (end - exact, exact))
    relative = difference / np.where(scale > 0.0, scale, 1.0)
    names: tuple[str, ...] = fleet.plant.step.inputs[0].fields
    return {name: float(value) for name, value in zip(names, relative, strict=True)}


def _same_bits(source: Source, work: FleetWork, end: Any) -> bool:
    """Whether the first vehicles end in the same state as on the CPU, bit for bit."""
    few = work.first(SAME_BITS)
    fleet = source.fleet(precision=str(work.x0.dtype))
    on_cpu = fleet.rollout(few.x0, few.u, steps=work.steps, every=work.steps)[-1]
    on_device = np.ascontiguousarray(on_host(end[:, :SAME_BITS]).T)
    return on_device.tobytes() == np.ascontiguousarray(on_cpu).tobytes()


def call_entry(device: Device, source: Source, size: tuple[int, int], budget: Budget) -> Entry:
    """Median time of one call in float32: NumPy arrays in and out, constant inputs, end states."""
    vehicles, steps = size
    work = fleet_work(vehicles, RK4_DT, steps, budget.checked)
    reference = fleet_reference(work)
    work = work.cast("float32")
    fleet = source.fleet(precision="float32", device=device.name)
    repeats = 10 * budget.repeats
    # Forms of a call: start states and inputs as NumPy or device arrays, inputs constant or one
    # row per step
    streamed: AnyArray = np.broadcast_to(work.u, (work.steps, *work.u.shape)).copy()
    there = [device.xp.asarray(a) for a in (work.x0, work.u, streamed)]
    forms = {
        "numpy": (work.x0, work.u),
        "device_arrays": (there[0], there[1]),
        "numpy_streamed": (work.x0, streamed),
        "device_arrays_streamed": (there[0], there[2]),
    }
    calls = [partial(fleet.rollout, x0, u, steps=steps, every=steps) for x0, u in forms.values()]
    end, *_ = [call()[-1] for call in calls]
    times = interleaved([device.finished(call) for call in calls], repeats)
    medians = {form: typical(own) for form, own in zip(forms, times, strict=True)}
    own = medians["numpy"]._replace(error=reference.error(end[: work.checked]))
    details = {**work.details(), "kernels": resources(fleet)}
    details |= {form: median.value for form, median in medians.items()}
    name = f"call.four_wheel.{device.name}{vehicles}"
    jax = jax_device.call(device.name, "float32", work, repeats)
    if isinstance(jax, str):
        return Entry(name, TIME, own, {}, {"jax": jax}, details)
    peer = typical(jax["numpy"])._replace(error=reference.error(jax["end"]))
    details["jax_device_arrays"] = typical(jax["device"]).value
    return Entry(name, TIME, own, {"jax": peer}, {}, details)
