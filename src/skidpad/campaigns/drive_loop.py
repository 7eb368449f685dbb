"""A drive as it is compiled: vehicle, policy and folds in one kernel, and what runs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np

from .. import record
from ..arrays import AnyArray, Array, Mask
from ..compile.cpu import CpuMap, Late, RolloutArrays
from ..compile.plant import Plant
from ..errors import InvalidValue
from ..integrate import compiled_integrator
from ..integrate.base import Integrator
from ..model import Vehicle
from ..policy import Nothing, Policy
from ..run import batch, delay
from ..run.engines import Engines
from ..run.monte_carlo.sampled import TOLD, noisy
from ..run.runner import Runner
from ..run.settings import Settings
from ..run.stability import chosen
from .experiment import Means
from .folded import Folding
from .folds import Fold, Quantity


@dataclass(frozen=True)
class Driven:
    """What is compiled: everything of a drive but its numbers."""

    vehicle: Vehicle
    dt: float
    integrator: str | Integrator
    substeps: int | None
    precision: str
    policy: Policy | None
    noisy: bool
    Log: type | None
    folds: Mapping[str, Fold]
    until: Quantity | None


class Strip(NamedTuple):
    """Some steps of all runs with what drives them, on the host."""

    steps: int
    inputs: Array
    """(1 or steps, 1 or runs, n): inputs or references, the noise and the log behind them."""
    disturbances: Array
    """(1 or steps, 1 or runs, n)"""
    last: Array
    """(1, 1 or runs, n): what the sample after these steps is told."""


class Outcome(NamedTuple):
    """Runs after their last sample."""

    states: Array
    """(runs, n): of the vehicle, then the memory of its policy."""
    results: Array
    """(runs, 1 + folds): when it ended, and what came out of the folds."""
    failed: Mask


Feed = Callable[[Array], Strip | None]
"""Gives the next strip for the states (runs, n) of the moment; None at the end."""


class Loop:
    """Runs one compiled drive."""

    def __init__(self, driven: Driven) -> None:
        settings = Settings(
            driven.dt, None, driven.precision, substeps=driven.substeps, on_diverge="mask"
        )
        vehicle = driven.vehicle
        method = compiled_integrator(
            chosen(vehicle, driven.integrator, settings.dt, settings.substeps)
        )
        self.base = Runner(Plant.of(vehicle, method), settings.replace(integrator=method))
        """Of the vehicle alone."""
        policy, told = driven.policy, _itself
        if policy is not None and driven.noisy:
            told = attrgetter(TOLD) if record.size(policy.Reference) else _nothing
            policy = noisy(policy, vehicle.model.State)
        self.runner = self.base if policy is None else self.base.loop(policy)
        """Of the vehicle with its policy, without folds."""
        self.folding = Folding(
            vehicle.model,
            policy,
            told,
            Nothing if driven.policy is None else driven.policy.Reference,
            driven.Log,
            driven.folds,
            driven.until,
            self.base.engines.substeps,
        )
        self._engines: dict[Means, Engines] = {}
        self._closing: dict[Means, CpuMap] = {}

    @cached_property
    def plant(self) -> Plant:
        """What is compiled: the loop with folds."""
        plant = self.runner.plant
        return replace(plant, step=self.folding.step(plant.step), vehicle=None, method=None)

    def engines(self, means: Means) -> Engines:
        """What runs the plant with folds; made once for each of the means."""
        if means not in self._engines:
            runner = self.runner
            settings = runner.settings.replace(device=means.device, threads=means.threads)
            self._engines[means] = Engines(self.plant, settings, runner.engines.inputs)
        return self._engines[means]

    def run(
        self, x: Array, p: Array, strips: Feed, means: Means, before: Array | None = None
    ) -> Outcome:
        """Runs from states (1, runs, n) on with parameters (1, 1 or runs, n): `strips` gives the
        next strip for the states (runs, n) of the moment, until it gives None. `before` are
        commands (rows, 1, n) that have not acted yet."""
        engines = self.engines(means)
        space = engines.space
        states, count = x.shape[2], x.shape[1]
        kept = np.broadcast_to(np.array(self.folding.start), (1, count, len(self.folding.start)))
        now = space.xp.asarray(np.concatenate([x, kept], axis=2), space.dtype)
        params = space.xp.asarray(p, space.dtype)
        told, pending = None, before
        while (strip := strips(batch.on_host(now)[0, :, :states])) is not None:
            u, w = (space.xp.asarray(a, space.dtype) for a in (strip.inputs, strip.disturbances))
            arrays = RolloutArrays(now, u, w, params)
            queue = _queue(engines, arrays, pending)
            out = batch.empty(2, count, now.shape[2], space, "aos")
            out[0] = now[0]
            engine = engines.undelayed if queue is None else engines.rollout
            health = engine.run(arrays, out, strip.steps, queue)
            _check_inputs(engines, health, strip)
            if queue is not None:
                own = u[:, :, : queue.pending.shape[2]]
                pending = delay.pending_after(own, queue, strip.steps, space)
            now, told = out[1:], strip.last
        assert told is not None
        return self._closed(batch.on_host(now)[0], told, p, states, means)

    def _closed(self, now: AnyArray, told: Array, p: Array, states: int, means: Means) -> Outcome:
        """The last sample, folded on the processor by the same function as the others."""
        precision = self.base.settings.precision
        if means not in self._closing:
            self._closing[means] = CpuMap(self.folding.closing, precision, means.threads)
        n = record.size(self.folding.model.State)
        dtype = np.dtype(precision)
        substep = self.base.settings.dt / self.folding.substeps
        ports = [
            now[None, :, :n],
            now[None, :, n:states],
            now[None, :, states:],
            told.astype(dtype),
            p.astype(dtype),
            np.full((1, 1, 1), substep, dtype),
        ]
        kept, results = self._closing[means].run([np.ascontiguousarray(a) for a in ports], len(now))
        failed: Mask = np.asarray(~np.isfinite(kept[0, :, self.folding.sound]))
        return Outcome(now[:, :states].astype(float), results[0].astype(float), failed)


def _queue(engines: Engines, arrays: RolloutArrays, pending: Any) -> Late | None:
    channels = engines.channels
    if not channels:
        return None
    ages = delay.ages(channels, arrays.p, engines.settings.dt)
    return delay.queue_of(channels, delay.whole_steps(ages), pending, engines.space)


def _check_inputs(engines: Engines, health: AnyArray, strip: Strip) -> None:
    if np.isfinite(batch.on_host(health)[1]).all():
        return
    what, values = engines.inputs, strip.inputs
    if np.isfinite(values).all():
        what, values = "disturbances", strip.disturbances
    _, run, field = np.argwhere(~np.isfinite(values))[0]
    raise InvalidValue(f"{what}: number {field} of run {run} of the chunk is not finite")


def _itself(value: Any) -> Any:
    return value


def _nothing(value: Any) -> Any:
    return Nothing()
