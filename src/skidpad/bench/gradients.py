"""Gradients of rollouts with respect to all controls: steps per second, beside JAX."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .. import integrate, record
from ..arrays import AnyArray
from ..model import Vehicle
from ..run.fleet import Fleet
from .budget import Budget
from .clock import best_rate, interleaved
from .device import Device, on_host, resources
from .entry import RATE, Entry
from .source import COST, Source
from .work import RK4_DT, SEED, Reference, fleet_work

STEPS = 100
CPU_VEHICLES = 4096
LOWEST = (-0.009, 0.0, 0.0, 0.0, 0.0)
HIGHEST = (0.009, 20.0, 20.0, 20.0, 20.0)
"""Range of the inputs, in rad and N·m."""
SAME_BITS = 64
"""Vehicles, the first ones, whose derivatives are compared with the CPU's bit for bit."""

_STENCIL = ((-2.0, 1.0 / 12.0), (-1.0, -2.0 / 3.0), (1.0, 2.0 / 3.0), (2.0, -1.0 / 12.0))
"""Places and weights of a central difference of fourth order."""


class GradientWork(NamedTuple):
    """Vehicles to roll out, each with a random input of its own at every step."""

    vehicle: Vehicle
    dt: float
    x0: AnyArray
    """Start states (B, nx)."""
    u: AnyArray
    """Inputs (T, B, nu)."""
    checked: int
    """How many vehicles, from the first, have a reference."""

    @property
    def steps(self) -> int:
        """Steps of a rollout."""
        return len(self.u)

    def first(self, count: int) -> GradientWork:
        """The same work with only the first vehicles."""
        return self._replace(x0=self.x0[:count], u=self.u[:, :count])

    def cast(self, precision: str) -> GradientWork:
        """The same work in another precision."""
        return self._replace(x0=self.x0.astype(precision), u=self.u.astype(precision))


def gradient_work(count: int, steps: int, checked: int) -> GradientWork:
    """`count` four-wheel cars at 10 m/s, steering within ±0.009 rad, torques from 0 to 20 N·m.

    That is too little steering to reach the limit of its rate, where the cost has a kink and
    central differences would say nothing.
    """
    some = fleet_work(count, RK4_DT, steps, checked)
    u = np.random.default_rng(SEED).uniform(LOWEST, HIGHEST, (steps, count, len(LOWEST)))
    return GradientWork(some.vehicle, RK4_DT, some.x0, u, some.checked)


def gradient_reference(work: GradientWork) -> Reference:
    """Derivatives (K T, nu) of the checked vehicles' costs, by central differences in float64.

    The vehicle's function is called directly on arrays, one column for every moved input.
    """
    some = work.first(work.checked)
    steps, count, inputs = some.u.shape
    # Small beside the range of each input, large beside the rounding of the cost.
    moves = 2e-3 * np.array(HIGHEST)
    total = np.zeros((steps, inputs, count))
    for place, weight in _STENCIL:
        moved = np.broadcast_to(some.u[:, None, None], (steps, steps, inputs, count, inputs)).copy()
        at, of = np.ix_(range(steps), range(inputs))
        moved[at, at, of, :, of] += (place * moves)[None, :, None]
        x0 = np.broadcast_to(some.x0, (steps, inputs, *some.x0.shape))
        flat = moved.reshape(steps, -1, inputs)
        costs = _costs(some.vehicle, some.dt, x0.reshape(-1, some.x0.shape[1]), flat)
        total += weight * costs.reshape(steps, inputs, count) / moves[:, None]
    end = np.moveaxis(total, 2, 0).reshape(-1, inputs)
    return Reference(end, np.abs(end).max(axis=0))


def _costs(vehicle: Vehicle, dt: float, x0: AnyArray, u: AnyArray) -> AnyArray:
    """The cost (N,) of rollouts from x0 (N, nx) with inputs (T, N, nu)."""
    model, p = vehicle.model, vehicle.params
    update = integrate.discretise(model, integrate.get("rk4"))
    w = record.build(model.Disturbance)
    state: Any = record.unflatten(model.State, tuple(np.ascontiguousarray(x0.T)))
    cost: Any = 0.0
    for row in u:
        held = record.unflatten(model.Input, tuple(np.ascontiguousarray(row.T)))
        cost = cost + COST.at_step(state, held, p, None)
        state, _ = update(state, held, w, p, dt)
    return cost + COST.at_end(state, p, None)


def entries(budget: Budget) -> Iterator[Entry]:
    """One thread of the CPU in float64."""
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
    """Rate of gradients with respect to all controls, and that of the rollout alone beside it."""
    from .peers import jax_device

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
    found = on_host(gradient.controls)
    own = best_rate(amount, times)._replace(error=_error(reference, found[:, : work.checked]))
    rate = best_rate(amount, forward_times).value
    details = {
        "vehicles": len(work.x0),
        "steps": work.steps,
        "dt": work.dt,
        "wrt": "controls",
        "forward": rate,
        "of_forward": own.value / rate,
        "kernels": resources(fleet),
    }
    if device.name != "cpu":
        details["same_bits_as_cpu"] = _same_bits(source, work, on_host(value), found, precision)
    del value, gradient, x0, u, backward, forward, actions
    device.free()
    jax = jax_device.gradient(device.name, precision, work, budget.repeats)
    if isinstance(jax, str):
        return Entry(name, RATE, own, {}, {"jax": jax}, details)
    rates = {
        form: best_rate(amount, found["times"])._replace(
            error=_error(reference, np.array(found["gradient"]))
        )
        for form, found in jax.items()
    }
    peers = {"jax": rates.pop("vmap")}
    if rates:
        form = max(rates, key=lambda name: rates[name].value)
        peers["jax_columns"], details["jax_columns_form"] = rates[form], form
    return Entry(name, RATE, own, peers, {}, details)


def _error(reference: Reference, gradient: AnyArray) -> float:
    """Largest error of derivatives (T, K, nu), relative to the largest of the same input."""
    return reference.error(np.swapaxes(gradient, 0, 1))


def _same_bits(
    source: Source, work: GradientWork, value: AnyArray, gradient: AnyArray, precision: str
) -> bool:
    """Whether the first vehicles have the cost and the derivatives of the CPU to the last bit."""
    few = work.first(SAME_BITS)
    fleet: Fleet = source.fleet(precision=precision)
    wanted, derived = fleet.gradient(few.x0, few.u, source.cost, wrt="controls")
    here = np.ascontiguousarray(gradient[:, :SAME_BITS])
    return (
        value[:SAME_BITS].tobytes() == wanted.tobytes()
        and here.tobytes() == np.ascontiguousarray(derived.controls).tobytes()
    )
