"""Runner: a plant under settings, from what a caller gives to samples: checked, run, judged.

Everything that runs many vehicles composes it: `Fleet`, Monte Carlo, the groups of a world.
"""

from __future__ import annotations

import warnings
from functools import cached_property
from typing import Any

import numpy as np

from .. import record
from ..arrays import AnyArray
from ..checks import must_be_policy
from ..compile.bound import BoundRollout
from ..compile.closed_loop import closed_loop, policy_of
from ..compile.cpu import CpuRollout, Late, RolloutArrays
from ..compile.plant import Plant
from ..errors import InvalidValue, SimulationDiverged, StepNotConverged
from ..policy import Policy
from ..progress import Progress
from . import batch, delay, verdict
from .engines import Engines
from .plausible import Plausible
from .settings import Settings
from .start import settled

_MANY = 32
"""Vehicles with parameters of their own from which on outputs are computed sample by sample where
there are as many vehicles as samples; where there are fewer, always vehicle by vehicle."""


class Runner:
    """Runs one plant.

    Args:
        plant: what to run: a vehicle alone, or with its policy compiled in.
        settings: how.
        inputs: what the caller calls the inputs, for errors; what a fleet calls them if None.
        plausible: what looks at arguments, if the plant itself cannot tell.
    """

    def __init__(
        self,
        plant: Plant,
        settings: Settings,
        inputs: str | None = None,
        plausible: Plausible | None = None,
    ) -> None:
        self.plant, self.settings = plant, settings
        own = "controls" if policy_of(plant) is None else "references"
        self.engines = Engines(plant, settings, inputs or own)
        if policy_of(plant) is not None and self.engines.substeps != plant.substeps:
            raise InvalidValue(
                f"substeps = {settings.substeps}, but {plant.name!r} was compiled with a command "
                f"every {plant.substeps}; give them to the fleet that `closed_loop` is called on"
            )
        self.space = self.engines.space
        self._loops: dict[Any, Runner] = {}
        self.plausible = plausible or Plausible(
            plant, settings.dt, self.engines.substeps, self.engines.inputs
        )

    def arguments(
        self, x0: Any, controls: Any, params: Any, disturbances: Any, layout: str = "aos"
    ) -> RolloutArrays:
        """The arguments of a rollout as arrays (step, vehicle, field) of numbers that can be used;
        `plausible` tells whether they can be meant."""
        plant, space, inputs = self.plant, self.space, self.engines.inputs
        p = self.own_params if params is None else self.parameters(params)
        arrays = RolloutArrays(
            x=batch.states(plant.State, settled(plant, x0, p, layout), space, layout),
            u=batch.series(plant.Input, inputs, controls, space, layout),
            w=batch.series(plant.Disturbance, "disturbances", disturbances, space, layout),
            p=p,
        )
        if self.engines.channels:
            # The kernel looks at what acts; here the last ones act in a later rollout.
            batch.finite(plant.Input, inputs, arrays.u)
        series = {"x0": arrays.x, inputs: arrays.u, "disturbances": arrays.w}
        batch.batch_size(**series, params=arrays.p)
        return arrays

    @cached_property
    def own_params(self) -> AnyArray:
        """The plant's parameters (1, 1, np) where the rollouts run: checked and put there once."""
        return self.parameters(None)

    def parameters(self, params: Any) -> AnyArray:
        """Parameters (1, B or 1, np) where the rollouts run, checked."""
        return batch.parameters(self.plant.Params, self.plant.params, params, self.space)

    @cached_property
    def _own_ages(self) -> AnyArray:
        """Delays in steps with the plant's parameters, worked out once: a GPU need not be asked."""
        return delay.ages(self.engines.channels, self.own_params, self.settings.dt)

    def queue(
        self, arguments: RolloutArrays, pending: Any = None, layout: str = "aos"
    ) -> Late | None:
        """The queue of delayed commands that a rollout starts with; None if nothing is delayed."""
        channels = self.engines.channels
        if not channels:
            if pending is not None:
                raise self.no_dead_time()
            return None
        own = arguments.p is self.own_params
        ages = self._own_ages if own else delay.ages(channels, arguments.p, self.settings.dt)
        queue = delay.queue_of(channels, delay.whole_steps(ages), pending, self.space, layout)
        x, u, p = arguments.x, arguments.u, arguments.p
        batch.batch_size(x0=x, controls=u, params=p, pending=queue.pending)
        return queue

    def no_dead_time(self) -> InvalidValue:
        """The error for a queue where nothing is delayed."""
        return InvalidValue(
            "pending and return_pending are for models with dead time; "
            f"{self.plant.name!r} has none"
        )

    def samples(
        self,
        arguments: RolloutArrays,
        steps: int,
        every: int,
        layout: str = "aos",
        queue: Late | None = None,
        *,
        lengths: AnyArray | None = None,
        progress: Progress | None = None,
        may_end_early: bool = False,
    ) -> AnyArray:
        """Samples (sample, vehicle, field) of a rollout that went well, or masked.

        Without a queue the inputs act at once; `lengths` (step,) are those of steps in s that
        differ. The progress is advanced by the steps of all vehicles. Where it may end early, and
        the settings say "return", a rollout that fails gives the samples before, with a warning.
        """
        count = vehicles(arguments, queue)
        out = batch.empty(steps // every + 1, count, arguments.x.shape[2], self.space, layout)
        out[0] = arguments.x[0]
        engine = self.engines.undelayed if queue is None else self.engines.rollout
        health = engine.run(arguments, out, every, queue, lengths=lengths, progress=progress)
        try:
            verdict.judge(self.engines, arguments, out, every, health, queue, lengths)
        except (SimulationDiverged, StepNotConverged) as error:
            if not may_end_early or self.settings.on_diverge != "return":
                raise
            out = out[: verdict.good_samples(out)]
            warnings.warn(f"rollout ended after {len(out)} samples: {error}", stacklevel=3)
        return out

    def acting_over(self, arguments: RolloutArrays, lengths: AnyArray) -> RolloutArrays:
        """The arguments of a model with dead time with inputs as they act in steps that differ in
        length: (step,), in s."""
        channels, dt = self.engines.channels, self.settings.dt
        ages = delay.ages(channels, arguments.p, dt)
        u = delay.acting_over(channels, arguments.u, ages, lengths / dt, self.space)
        return arguments._replace(u=u)

    def bound(
        self, arguments: RolloutArrays, out: AnyArray, queue: Late | None = None
    ) -> BoundRollout:
        """Steps of these arrays over and over, on the caller's thread; see `CpuRollout.bound`.

        What is written into the arrays is what the next call gets. `judge` says whether a call went
        well.
        """
        engine = self.engines.rollout
        assert isinstance(engine, CpuRollout)
        return engine.bound(arguments, out, queue)

    def judge(
        self, arguments: RolloutArrays, out: AnyArray, health: AnyArray, queue: Late | None = None
    ) -> None:
        """Raise for what went wrong in steps of bound arrays, or mask it."""
        verdict.judge(self.engines, arguments, out, 1, health, queue)

    def outputs(self, x: Any, controls: Any, start: Any, params: Any, w: Any) -> AnyArray:
        """Outputs (..., ny) at states (..., nx), on the processor; see `Fleet.outputs`."""
        plant, masked = self.plant, self.settings.on_diverge == "mask"
        space = batch.Space.of("cpu", self.settings.precision)
        x = x if batch.goes_by_name(plant.State, x) else batch.numbers("x", x, space)
        shape = np.shape(x)[:-1]
        p = batch.parameters(plant.Params, plant.params, params, space)
        u = batch.rows(plant.Input, self.engines.inputs, controls, space, shape)
        disturbed = batch.rows(plant.Disturbance, "disturbances", w, space, shape)
        # A closed loop asks its policy for the command, and that may depend on the step.
        timed = plant.outputs.inputs[-1].name == "dt"
        dt = [np.full((1, 1, 1), self.settings.dt, space.dtype)] if timed else []
        if masked and start is None and p.shape[1] > 1 and shape[-1:] == (p.shape[1],):
            if p.shape[1] < np.prod(shape[:-1]):
                return self._outputs_of_each(x, u, disturbed, p, dt)
            if p.shape[1] >= _MANY:
                return self._sampled_outputs(x, u, disturbed, p, dt)
        states = batch.rows(plant.State, "x", x, space, shape, masked=masked)
        before = states
        if start is not None:
            before = batch.rows(plant.State, "start", start, space, shape, masked=masked)
        # Looked at already, and once per vehicle, not per state: not to be looked at again.
        if p.shape[1] > 1:
            p = batch.rows(plant.Params, "params", p[0], space, shape, masked=True)
        ports = [states, before, u, disturbed, p, *dt]
        return self.engines.outputs.run(ports, states.shape[1])[0].reshape(*shape, -1)

    def _sampled_outputs(
        self, x: AnyArray, u: AnyArray, w: AnyArray, p: AnyArray, dt: list[AnyArray]
    ) -> AnyArray:
        """Outputs at states (..., B, nx) of many vehicles, sample by sample: without a copy of the
        parameters for each sample, and with neighbours side by side in memory."""
        samples, (*outer, count) = self._samples_of(x), x.shape[:-1]
        p = np.ascontiguousarray(p.swapaxes(1, 2)).swapaxes(1, 2)
        room = np.empty((len(samples), record.size(self.plant.Outputs), count), x.dtype)
        out = room.swapaxes(1, 2)
        for k, states in enumerate(samples):
            part = np.s_[:, k * count : (k + 1) * count]
            others = [a if a.shape[1] == 1 else a[part] for a in (u, w)]
            ports = [states[None], states[None], *others, p, *dt]
            self.engines.outputs.run(ports, count, [out[k : k + 1]])
        return out.reshape(*outer, count, -1) if len(outer) != 1 else out

    def _outputs_of_each(
        self, x: AnyArray, u: AnyArray, w: AnyArray, p: AnyArray, dt: list[AnyArray]
    ) -> AnyArray:
        """Outputs at states (..., B, nx) of vehicles, one after the other with all its samples:
        without a copy of the parameters for each sample, and with the samples of a vehicle side by
        side in memory."""
        samples, (*outer, count) = self._samples_of(x), x.shape[:-1]
        room = np.empty((count, record.size(self.plant.Outputs), len(samples)), x.dtype)
        for k in range(count):
            states = samples[None, :, k]
            others = [a if a.shape[1] == 1 else a[:, k::count] for a in (u, w)]
            ports = [states, states, *others, p[:, k : k + 1], *dt]
            self.engines.outputs.run(ports, len(samples), [room[k].T[None]])
        out = room.transpose(2, 0, 1)
        return out.reshape(*outer, count, -1) if len(outer) != 1 else out

    def _samples_of(self, x: AnyArray) -> AnyArray:
        """States (..., B, nx) as (samples, B, nx), if they are states."""
        if x.shape[-1] != record.size(self.plant.State):
            raise InvalidValue(
                f"x has shape {x.shape}; expected (..., {record.size(self.plant.State)})"
            )
        return x.reshape(-1, *x.shape[-2:])

    def loop(self, policy: Policy) -> Runner:
        """The closed loop with a policy, compiled once whatever the policy's parameters."""
        must_be_policy(policy)
        code = (policy.act, policy.Memory, policy.Reference, policy.Params, policy.name)
        if code not in self._loops:
            self._loops[code] = self.closed_loop(policy)
        return self._loops[code]

    def closed_loop(self, policy: Policy) -> Runner:
        """What runs this vehicle with a policy compiled in; see `Fleet.closed_loop`."""
        must_be_policy(policy)
        plant, substeps = self.plant, self.engines.substeps
        if self.engines.channels:
            raise InvalidValue(
                f"{plant.name!r} has dead time, which a policy compiled into the loop cannot "
                "have; step the rollouts one command at a time and pass `pending` on"
            )
        if plant.vehicle is None or plant.method is None:
            raise InvalidValue(
                f"{plant.name!r} was loaded from a file or is a closed loop: a policy can "
                "only be compiled with a model; make the closed loop first and save that"
            )
        looped = closed_loop(plant.vehicle, plant.method, policy, substeps)
        settings = self.settings.replace(substeps=substeps)
        return Runner(looped, settings, plausible=self.plausible.driven())


def vehicles(arguments: RolloutArrays, queue: Late | None) -> int:
    """How many a rollout has."""
    return max(array.shape[1] for array in (*arguments, *(queue or ())))
