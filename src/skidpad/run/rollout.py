"""A rollout as a fleet is asked for it: from what the caller gave to the samples that he gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .. import record
from ..arrays import AnyArray
from ..checks import one_of, steps_of, whole
from ..compile.cpu import RolloutArrays
from ..errors import InvalidValue
from ..policy import Policy
from ..progress import Choice, watching
from . import batch, delay
from .loop_arguments import LoopArguments, loop_arrays
from .runner import Runner, vehicles
from .stability import check_plant


@dataclass(frozen=True, kw_only=True)
class Rollout:
    """The arguments of `Fleet.rollout`."""

    x0: Any
    controls: Any
    every: int
    steps: int | None
    dt: Any
    params: Any
    disturbances: Any
    layout: str
    policy: Policy | None
    memory: Any
    policy_params: Any
    return_memory: bool
    pending: Any
    return_pending: bool

    def states(self, fleet: Runner, progress: Choice) -> Any:
        """What `Fleet.rollout` returns."""
        one_of("layout", self.layout, batch.LAYOUTS)
        runner, arrays = self._arrays(fleet)
        runner.plausible.check(arrays, own_params=self.params is None)
        times = self._times(fleet)
        queue = fleet.queue(arrays, self.pending, self.layout)
        if queue is None and self.return_pending:
            raise fleet.no_dead_time()
        # Some models count updates, whatever their length.
        counted = fleet.plant.dead_time_rule == "nearest"
        if queue is not None and times.lengths is not None and not counted:
            if self.pending is not None or self.return_pending:
                raise InvalidValue(
                    "pending and return_pending are for steps of one length, not dt="
                )
            arrays, queue = runner.acting_over(arrays, times.lengths), None
        work = times.steps * vehicles(arrays, queue)
        with watching(work, "steps", "rollout", progress) as watch:
            out = runner.samples(
                arrays,
                times.steps,
                times.every,
                self.layout,
                queue,
                lengths=times.lengths,
                progress=watch,
                may_end_early=True,
            )
        nx = record.size(fleet.plant.State)
        states = self._laid_out(out[..., :nx], fleet)
        if queue is not None and self.return_pending:
            done = (len(out) - 1) * times.every
            after = delay.pending_after(arrays.u, queue, done, runner.space)
            return states, self._laid_out(after, fleet)
        return (states, self._laid_out(out[..., nx:], fleet)) if self.return_memory else states

    def _arrays(self, fleet: Runner) -> tuple[Runner, RolloutArrays]:
        """What runs, the vehicle or its closed loop, and its arrays."""
        own = (self.x0, self.controls, self.params, self.disturbances)
        if self.policy is not None:
            runner = fleet.loop(self.policy)
            loop = LoopArguments(*own, self.memory, self.policy_params)
            return runner, loop_arrays(fleet.plant, self.policy, loop, runner.space, self.layout)
        if self.memory is not None or self.policy_params is not None or self.return_memory:
            raise InvalidValue("memory, policy_params and return_memory go with a policy=")
        return fleet, fleet.arguments(*own, self.layout)

    def _times(self, fleet: Runner) -> _Times:
        dt, steps = self.dt, self.steps
        if dt is not None and np.ndim(dt) != 1:
            raise InvalidValue(
                f"dt has shape {np.shape(dt)}; expected (T,), the length of each step in s: one "
                "length for all steps is given to Fleet(dt=...)"
            )
        steps = np.size(dt) if steps is None and dt is not None else steps
        total = steps_of(steps, self.controls, self.disturbances)
        every = whole("every", self.every, f"at least 1 and divide the {total} steps")
        if total % every:
            raise InvalidValue(f"every = {every} must be at least 1 and divide the {total} steps")
        lengths = None if dt is None else batch.lengths(dt, total, fleet.settings.precision)
        if lengths is not None:
            check_plant(fleet.plant, float(lengths.max()), fleet.engines.substeps)
        return _Times(total, every, lengths)

    def _laid_out(self, samples: AnyArray, fleet: Runner) -> Any:
        """Samples (sample, vehicle, field) in the layout and the place that the caller wants."""
        space = fleet.space
        samples = samples if self.layout == "aos" else np.swapaxes(samples, -1, -2)
        if fleet.settings.device == "cuda":  # not every library takes an array with gaps
            samples = space.xp.ascontiguousarray(samples)
        callers = (self.x0, self.controls, self.params, self.disturbances)
        return batch.where_wanted(samples, space, *callers)


class _Times(NamedTuple):
    """How long a rollout is."""

    steps: int
    every: int
    lengths: AnyArray | None
    """Of the steps in s, where they differ."""
