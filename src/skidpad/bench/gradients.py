"""Gradients of rollouts with respect to all inputs: steps per second, compared with JAX."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ..core.arrays import AnyArray
from ..run.fleet import Fleet
from . import peers_jax as jax_device
from .device import Device, on_host, resources
from .timing import RATE, Budget, Entry, best_rate, interleaved
from .work import GradientWork, Reference, Source, gradient_reference, gradient_work

STEPS = 100
CPU_VEHICLES = 4096
SAME_BITS = 64
"""Number of vehicles, from the first, whose derivatives are compared with the CPU's bit for
bit."""


def entries(budget: Budget) -> Iterator[Entry]:
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
