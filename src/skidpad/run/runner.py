"""`Runner`: runs a plant with given settings, from the caller's arguments to samples.

`Settings` are the checked step, integrator, precision and device of everything that runs a vehicle;
`Engines` holds the compiled code for them and alone chooses between the CPU and a GPU. `Fleet`,
Monte Carlo and the vehicles of a world use `Runner`: it raises for failures of a rollout, with
vehicle and time, or masks them. `Rollout` is one call of `Fleet.rollout`, and `OutputRows` computes
the outputs of one vehicle along a run. Simulators, fleets, worlds and reproduced programs raise the
same errors for a failed step.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from ..compile import pipeline
from ..compile.closed_loop import closed_loop, policy_of
from ..compile.cpu import (
    BoundRollout,
    CpuAdjoint,
    CpuMap,
    CpuRollout,
    Late,
    RolloutArrays,
    StepOptions,
)
from ..compile.gpu import CudaAdjoint, CudaMap, CudaRollout
from ..compile.plant import Plant
from ..compile.program import Program
from ..core import record
from ..core.arrays import AnyArray
from ..core.checks import instance_of, one_of, positive_step, steps_of, whole
from ..core.files import shown
from ..core.model import Vehicle
from ..core.policy import Policy
from ..core.progress import Choice, Progress, watching
from ..errors import InvalidValue, SimulationDiverged, StepNotConverged
from ..integrate.base import Integrator
from ..integrate.radau import RESIDUAL_TOLERANCE
from . import arguments, delay
from . import arguments as batch
from .arguments import Plausible, consistent_states
from .delay import Channels
from .stability import check_plant

PRECISIONS = ("float64", "float32")
DEVICES = ("cpu", "cuda")
ON_DIVERGE = ("raise", "mask", "return")
"""Setting for runs in which a state diverges or a step fails.

"raise" an exception, "mask" with NaN from there on, or "return" the part before, with a warning.
"""


@dataclass(frozen=True)
class Settings:
    """Step, integrator, precision and device of everything that runs a vehicle.

    The defaults are those of `Simulator` and `Fleet`, whose docstrings explain each one. A value
    that cannot be used raises `InvalidValue`.
    """

    dt: float
    """Step in s."""
    integrator: Integrator | None
    """Integration method; None for a plant from a file, whose step is already traced."""
    precision: str = "float64"
    device: str = "cpu"
    threads: int | None = None
    """Number of threads on the CPU; all processors if None."""
    lanes: int | None = None
    """Vehicles per instruction; chosen from the size of the program if None."""
    fast: bool = False
    substeps: int | None = None
    """Steps of the integrator within one step of dt; the model's default if None."""
    on_diverge: str = "raise"

    def __post_init__(self) -> None:
        one_of("precision", self.precision, PRECISIONS)
        self._set("dt", positive_step(self.dt, self.precision))
        if self.integrator is not None and self.integrator.adaptive and self.precision != "float64":
            raise InvalidValue(f"{self.integrator.name!r} has float64 only, not {self.precision!r}")
        one_of("device", self.device, DEVICES)
        one_of("on_diverge", self.on_diverge, ON_DIVERGE)
        if self.lanes is not None:
            one_of("lanes", self.lanes, pipeline.LANES)
        if self.threads is not None:
            allowed = "at least 1, or None for all processors"
            self._set("threads", whole("threads", self.threads, allowed))
        if self.substeps is not None:
            self._set("substeps", whole("substeps", self.substeps, "at least 1"))
        if self.fast and self.device != "cuda":
            raise InvalidValue("fast = True is for device = 'cuda'; the CPU is always exact")

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def replace(self, **changes: Any) -> Self:
        """Return the settings with some changes, checked."""
        return dataclasses.replace(self, **changes)

    @property
    def tolerance(self) -> float:
        """Newton residual above which an implicit step is rejected.

        For float64 it is `RESIDUAL_TOLERANCE`; for float32, which cannot resolve less, 1e-4.
        """
        return RESIDUAL_TOLERANCE if self.precision == "float64" else 1e-4


RolloutEngine = CpuRollout | CudaRollout
MapEngine = CpuMap | CudaMap
AdjointEngine = CpuAdjoint | CudaAdjoint


@dataclass(frozen=True)
class Engines:
    """The engines of one plant with some settings, each created on first use."""

    plant: Plant
    settings: Settings
    inputs: str = "controls"
    """Name of the inputs as the caller knows them, for errors."""

    @cached_property
    def space(self) -> arguments.Space:
        return arguments.Space.of(self.settings.device, self.settings.precision)

    @property
    def substeps(self) -> int:
        return self.settings.substeps or self.plant.substeps

    @cached_property
    def channels(self) -> Channels:
        return Channels.of(self.plant)

    @cached_property
    def rollout(self) -> RolloutEngine:
        """Engine that runs many steps of many vehicles, delayed inputs included."""
        return self._rollout(self.channels.fields)

    @cached_property
    def undelayed(self) -> RolloutEngine:
        """Like `rollout`, but all inputs take effect at once, including those that the model
        delays."""
        return self._rollout(()) if self.channels else self.rollout

    def _rollout(self, delayed: tuple[int, ...]) -> RolloutEngine:
        s = self.settings
        options = StepOptions(s.dt, s.tolerance, s.precision, self.substeps, delayed)
        if s.device == "cuda":
            return CudaRollout(self.plant.step, options, fast=s.fast)
        return CpuRollout(self.plant.step, options, s.lanes, s.threads)

    def map(self, program: Program) -> MapEngine:
        """Engine that evaluates a Program once per vehicle."""
        s = self.settings
        if s.device == "cuda":
            return CudaMap(program, s.precision)
        return CpuMap(program, s.precision, s.threads)

    @cached_property
    def outputs(self) -> CpuMap:
        """Engine that evaluates the plant's outputs, always on the CPU."""
        return CpuMap(self.plant.outputs, self.settings.precision, self.settings.threads)

    def adjoint(self, program: Program) -> AdjointEngine:
        """Engine that runs an adjoint Program backwards over a rollout."""
        s = self.settings
        if self.substeps != 1:
            raise InvalidValue(f"gradients need substeps = 1, this fleet has {self.substeps}")
        if s.device == "cuda":
            return CudaAdjoint(program, dt=s.dt, precision=s.precision)
        return CpuAdjoint(program, dt=s.dt, precision=s.precision, threads=s.threads)


def not_numbers(kind: type, row: Any) -> InvalidValue:
    """Make the error for an input row that is not one finite number per field."""
    names = record.names(kind)
    if len(row) != len(names):
        return InvalidValue(
            f"Input takes {len(names)} numbers ({', '.join(names)}), got {len(row)}"
        )
    for name, value in zip(names, row, strict=True):
        try:
            finite = bool(np.isfinite(float(value)))
        except (TypeError, ValueError, OverflowError):
            finite = None
        if finite is None or isinstance(value, str):
            return InvalidValue(f"Input.{name} = {shown(value)} must be a number")
        if not finite:
            return InvalidValue(f"Input.{name} = {value} must be finite")
    return InvalidValue(f"Input {row!r} cannot be used: a value is too large for the precision")


def foreign_snapshot() -> InvalidValue:
    """Make the error for a snapshot that belongs to another simulator."""
    return InvalidValue(
        "this snapshot is not of this simulator: vehicle, parameters, dt, integrator and precision "
        "must be the same"
    )


AT_THE_END = 0.9
"""Fraction of a validity limit above which the last finite state counts as at the limit."""


def cause_of_end(vehicle: Vehicle | None, state: Any) -> str:
    """Reason why a vehicle diverged at the validity limit of its equations; empty if it did not."""
    for name, (size, what) in () if vehicle is None else vehicle.model.ends.items():
        value = getattr(state, name, 0.0)
        if abs(value) > AT_THE_END * size:
            return f"The vehicle {what}: {name} = {value:.3g}; its equations end at {size:g}"
    return ""


def diverged(time: float, state: Any, vehicle: Vehicle | None = None) -> SimulationDiverged:
    """Make the error for a step from `time` in s that ends in a state that is not finite."""
    why = cause_of_end(vehicle, state)
    return SimulationDiverged(
        f"the state became NaN or infinite in the step from t = {time:g} s; the last finite state "
        f"is {state}. {why or 'Take a smaller dt or an implicit integrator'}",
        time=time,
        last_state=state,
    )


def not_converged(time: float, residual: float, tolerance: float, dt: float) -> StepNotConverged:
    """Make the error for an implicit step of dt from `time`, both in s, that did not converge."""
    return StepNotConverged(
        f"the step from t = {time:g} s left a Newton residual of {residual:.3g}; allowed is "
        f"{tolerance:g}. Take a smaller dt than {dt:g} s",
        time=time,
        residual=residual,
    )


def _first_bad(states: AnyArray) -> int:
    """Index of the first sample (n, nx) that is not finite."""
    return int(np.argmax(~np.isfinite(states).all(axis=1)))


def _only(array: AnyArray, vehicle: int, begin: int, steps: int) -> AnyArray:
    """Slice one vehicle out of an array (step, vehicle, field), from step `begin` on."""
    column = array if array.shape[1] == 1 else array[:, vehicle : vehicle + 1]
    return column if column.shape[0] == 1 else column[begin : begin + steps]


_MANY = 32
"""Least number of vehicles with own parameters for which outputs are computed sample by sample.

With fewer vehicles than samples, outputs are computed vehicle by vehicle.
"""


class Runner:
    """Runs rollouts of one plant, converts arguments and handles failures.

    Args:
        plant: a vehicle alone, or with its policy compiled in.
        settings: step, integrator, precision and device.
        inputs: the caller's name of the inputs, for errors; that of a fleet if None.
        plausible: sanity checks of arguments; those of the plant if None.
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
        """Convert arguments of a rollout to checked arrays (step, vehicle, field).

        The sanity checks are those of `plausible`.
        """
        plant, space, inputs = self.plant, self.space, self.engines.inputs
        p = self.own_params if params is None else self.parameters(params)
        arrays = RolloutArrays(
            x=batch.states(plant.State, consistent_states(plant, x0, p, layout), space, layout),
            u=batch.series(plant.Input, inputs, controls, space, layout),
            w=batch.series(plant.Disturbance, "disturbances", disturbances, space, layout),
            p=p,
        )
        if self.engines.channels:
            # The kernel checks inputs in effect only, so check the last commands, which act in a
            # later rollout.
            batch.finite(plant.Input, inputs, arrays.u)
        series = {"x0": arrays.x, inputs: arrays.u, "disturbances": arrays.w}
        batch.batch_size(**series, params=arrays.p)
        return arrays

    @cached_property
    def own_params(self) -> AnyArray:
        """The plant's parameters (1, 1, np) on the rollouts' device, checked and copied once."""
        return self.parameters(None)

    def parameters(self, params: Any) -> AnyArray:
        """Parameters (1, B or 1, np) on the device of the rollouts, checked."""
        return batch.parameters(self.plant.Params, self.plant.params, params, self.space)

    @cached_property
    def _own_ages(self) -> AnyArray:
        """Delays in steps with the plant's parameters, computed once to avoid reads from a GPU."""
        return delay.ages(self.engines.channels, self.own_params, self.settings.dt)

    def queue(
        self, arguments: RolloutArrays, pending: Any = None, layout: str = "aos"
    ) -> Late | None:
        """Return the queue of delayed commands at the start of a rollout; None if nothing is
        delayed.
        """
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
        """Make the error for a command queue passed to a model without dead time."""
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
        """Run a rollout; returns samples (sample, vehicle, field), and raises or masks divergence.

        Without a queue the inputs take effect at once; `lengths` (step,) are the step lengths in s
        if they differ. The progress advances by the steps of all vehicles. With `may_end_early`
        and the setting on_diverge = "return", a rollout that fails returns the samples before, with
        a warning.
        """
        count = vehicles(arguments, queue)
        out = batch.empty(steps // every + 1, count, arguments.x.shape[2], self.space, layout)
        out[0] = arguments.x[0]
        engine = self.engines.undelayed if queue is None else self.engines.rollout
        health = engine.run(arguments, out, every, queue, lengths=lengths, progress=progress)
        try:
            self.judge(arguments, out, health, queue, every, lengths)
        except (SimulationDiverged, StepNotConverged) as error:
            if not may_end_early or self.settings.on_diverge != "return":
                raise
            fine = batch.on_host(np.isfinite(out).all(axis=(1, 2)))
            out = out if fine.all() else out[: int(np.argmin(fine))]
            warnings.warn(f"rollout ended after {len(out)} samples: {error}", stacklevel=3)
        return out

    def acting_over(self, arguments: RolloutArrays, lengths: AnyArray) -> RolloutArrays:
        """Convert the commands of a model with dead time to the inputs in effect, for undelayed
        rollouts.

        The steps have different `lengths` (step,), in s.
        """
        channels, dt = self.engines.channels, self.settings.dt
        ages = delay.ages(channels, arguments.p, dt)
        u = delay.acting_over(channels, arguments.u, ages, lengths / dt, self.space)
        return arguments._replace(u=u)

    def bound(
        self, arguments: RolloutArrays, out: AnyArray, queue: Late | None = None
    ) -> BoundRollout:
        """Prepare repeated steps of the same arrays; see `CpuRollout.bound`.

        The steps run on the caller's thread. Each call reads the present content of the arrays;
        `judge` checks its result.
        """
        engine = self.engines.rollout
        assert isinstance(engine, CpuRollout)
        return engine.bound(arguments, out, queue)

    def judge(
        self,
        arguments: RolloutArrays,
        out: AnyArray,
        health: AnyArray,
        queue: Late | None = None,
        every: int = 1,
        lengths: AnyArray | None = None,
    ) -> None:
        """Raise for failures in a rollout, or mask the vehicles that diverged.

        Args:
            out: samples (sample, vehicle, field).
            health: status of each vehicle from the engine, (3, vehicle).
            queue: the delayed inputs at the start.
            lengths: step lengths in s, (step,), if they differ.
        """
        diverged, bad_input, _ = batch.on_host(~np.isfinite(health))
        if bad_input.any():
            what, kind, array = self.engines.inputs, self.plant.Input, arguments.u
            if np.isfinite(array).all():
                what, kind, array = "disturbances", self.plant.Disturbance, arguments.w
            raise InvalidValue(batch.not_finite(kind, what, array))
        failed = np.flatnonzero(diverged)
        if len(failed) and self.settings.on_diverge != "mask":
            raise self._failure(failed, arguments, out, every, queue, lengths)
        for vehicle in failed.tolist():
            out[_first_bad(out[:, vehicle]) :, vehicle] = np.nan

    def _failure(
        self,
        failed: AnyArray,
        arguments: RolloutArrays,
        out: AnyArray,
        every: int,
        queue: Late | None,
        lengths: AnyArray | None,
    ) -> StepNotConverged | SimulationDiverged:
        """Make the error for failed vehicles; the first one is simulated again alone to find the
        time.
        """
        v, size, engine = int(failed[0]), out.shape[2], self.engines.undelayed
        bad = _first_bad(out[:, v])
        begin = (bad - 1) * every
        states = batch.empty(every + 1, 1, size, self.space, "aos")
        states[0, 0] = out[bad - 1, v]
        if queue is not None:
            # Inputs in effect in each of the vehicle's first steps.
            end, only = begin + every, delay.of_vehicle(queue, v)
            own_u, fields = _only(arguments.u, v, 0, end), self.engines.channels.fields
            u = delay.acting(own_u, only, fields, end, self.space)
            arguments = arguments._replace(u=u)
        alone = RolloutArrays(states[:1], *(_only(a, v, begin, every) for a in arguments[1:]))
        own = None if lengths is None else lengths[begin : begin + every]
        engine.run(alone, states, 1, lengths=own)
        last = _first_bad(states[:, 0]) - 1
        own = None if own is None else own[last : last + 1]
        failing = (_only(a, 0, last, 1) for a in alone[1:])
        step = RolloutArrays(states[last : last + 1], *failing)
        after = batch.empty(2, 1, size, self.space, "aos")
        residual = float(engine.run(step, after, 1, lengths=own)[2, 0])
        time = (begin + last) * self.settings.dt
        if lengths is not None:
            time = float(lengths[: begin + last].sum())
        state = record.unflatten(self.plant.State, states[last, 0].tolist())
        listed = ", ".join(map(str, failed[:8])) + (", ..." if len(failed) > 8 else "")
        who = f"{len(failed)} of {out.shape[1]} vehicles ({listed})"
        tolerance, why = self.settings.tolerance, cause_of_end(self.plant.vehicle, state)
        if self.plant.implicit and not residual <= tolerance and not why:
            return StepNotConverged(
                f"{who} failed: the step of vehicle {v} from t = {time:g} s left a Newton residual "
                f"of {residual:.3g}; allowed is {tolerance:g}. Take a smaller dt",
                time=time,
                residual=residual,
            )
        return SimulationDiverged(
            f"{who} diverged; vehicle {v} last had a finite state at t = {time:g} s: {state}"
            + (f". {why}" if why else ""),
            time=time,
            last_state=state,
            vehicles=tuple(int(k) for k in failed),
        )

    def outputs(self, x: Any, controls: Any, start: Any, params: Any, w: Any) -> AnyArray:
        """Outputs (..., ny) at states (..., nx), on the CPU; see `Fleet.outputs`."""
        plant, masked = self.plant, self.settings.on_diverge == "mask"
        space = batch.Space.of("cpu", self.settings.precision)
        x = x if batch.is_named(plant.State, x) else batch.numbers("x", x, space)
        shape = np.shape(x)[:-1]
        p = batch.parameters(plant.Params, plant.params, params, space)
        u = batch.rows(plant.Input, self.engines.inputs, controls, space, shape)
        disturbed = batch.rows(plant.Disturbance, "disturbances", w, space, shape)
        # In a closed loop the policy gives the command, which may depend on the step.
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
        # Parameters are already checked, once per vehicle instead of once per state.
        if p.shape[1] > 1:
            p = batch.rows(plant.Params, "params", p[0], space, shape, masked=True)
        ports = [states, before, u, disturbed, p, *dt]
        return self.engines.outputs.run(ports, states.shape[1])[0].reshape(*shape, -1)

    def _sampled_outputs(
        self, x: AnyArray, u: AnyArray, w: AnyArray, p: AnyArray, dt: list[AnyArray]
    ) -> AnyArray:
        """Outputs at states (..., B, nx) of many vehicles, sample by sample.

        This avoids a copy of the parameters for each sample, and neighbouring vehicles are adjacent
        in memory.
        """
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
        """Outputs at states (..., B, nx), vehicle by vehicle with all its samples.

        This avoids a copy of the parameters for each sample, and the samples of a vehicle are
        adjacent in memory.
        """
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
        """States (..., B, nx) as (samples, B, nx); raises for other arrays."""
        if x.shape[-1] != record.size(self.plant.State):
            raise InvalidValue(
                f"x has shape {x.shape}; expected (..., {record.size(self.plant.State)})"
            )
        return x.reshape(-1, *x.shape[-2:])

    def loop(self, policy: Policy) -> Runner:
        """Return the runner of the closed loop with a policy, compiled once for all policy
        parameters.

        The parameters of the plant are those of the first policy.
        """
        instance_of("policy", policy, Policy)
        code = (policy.act, policy.Memory, policy.Reference, policy.Params, policy.name)
        if code not in self._loops:
            self._loops[code] = self._with_policy(policy)
        return self._loops[code]

    def closed_loop(self, policy: Policy) -> Runner:
        """Return the runner of the closed loop with a policy and its parameters; see
        `Fleet.closed_loop`.
        """
        loop, own = self.loop(policy), record.flatten(policy.params)
        values = (*record.flatten(self.plant.params), *own)
        if values == record.flatten(loop.plant.params):
            return loop
        plant = replace(loop.plant, params=record.unflatten(loop.plant.Params, values))
        return Runner(plant, loop.settings, plausible=loop.plausible)

    def _with_policy(self, policy: Policy) -> Runner:
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
    return max(array.shape[1] for array in (*arguments, *(queue or ())))


class Callers(NamedTuple):
    """Arrays of a rollout or its derivatives as the caller passed them."""

    x0: Any
    controls: Any
    params: Any
    disturbances: Any


@dataclass(frozen=True)
class Rollout:
    """Arguments of `Fleet.rollout`; the method `states` computes its result."""

    callers: Callers
    policy: Policy | None
    memory: Any
    policy_params: Any
    return_memory: bool
    every: int
    steps: int | None
    dt: Any
    layout: str
    pending: Any
    return_pending: bool

    def states(self, fleet: Runner, progress: Choice) -> Any:
        """Run the rollout and return the result of `Fleet.rollout`."""
        one_of("layout", self.layout, batch.LAYOUTS)
        runner, arrays = self._arrays(fleet)
        runner.plausible.check(arrays, own_params=self.callers.params is None)
        steps, every, lengths = self._times(fleet)
        queue = fleet.queue(arrays, self.pending, self.layout)
        if queue is None and self.return_pending:
            raise fleet.no_dead_time()
        # Some models count updates instead of measuring their length.
        counted = fleet.plant.dead_time_rule == "nearest"
        if queue is not None and lengths is not None and not counted:
            if self.pending is not None or self.return_pending:
                raise InvalidValue(
                    "pending and return_pending are for steps of one length, not dt="
                )
            arrays, queue = runner.acting_over(arrays, lengths), None
        work = steps * vehicles(arrays, queue)
        with watching(work, "steps", "rollout", progress) as watch:
            out = runner.samples(
                arrays,
                steps,
                every,
                self.layout,
                queue,
                lengths=lengths,
                progress=watch,
                may_end_early=True,
            )
        nx = record.size(fleet.plant.State)
        states = self._laid_out(out[..., :nx], fleet)
        if queue is not None and self.return_pending:
            done = (len(out) - 1) * every
            after = delay.pending_after(arrays.u, queue, done, runner.space)
            return states, self._laid_out(after, fleet)
        return (states, self._laid_out(out[..., nx:], fleet)) if self.return_memory else states

    def _arrays(self, fleet: Runner) -> tuple[Runner, RolloutArrays]:
        """The runner of the vehicle or the closed loop, and its checked arrays."""
        policy, memory, layout = self.policy, self.memory, self.layout
        if policy is None:
            if memory is not None or self.policy_params is not None or self.return_memory:
                raise InvalidValue("memory, policy_params and return_memory need policy=")
            return fleet, fleet.arguments(*self.callers, layout)
        plant, loop = fleet.plant, fleet.loop(policy)
        x0, references, params, disturbances = self.callers
        space = loop.space
        u = batch.series(policy.Reference, "references", references, space, layout)
        w = batch.series(plant.Disturbance, "disturbances", disturbances, space, layout)
        p = batch.parameters(plant.Params, plant.params, params, space)
        x = batch.states(plant.State, consistent_states(plant, x0, p, layout), space, layout)
        if memory is None or isinstance(memory, (Mapping, policy.Memory)):
            m = batch.series(policy.Memory, "memory", memory, space, layout)
        else:
            array = batch.numbers("memory", memory, space)
            array = np.swapaxes(array, -1, -2) if layout == "soa" and array.ndim > 1 else array
            m = batch.rows(policy.Memory, "memory", array, space, array.shape[:-1])
        try:
            own = batch.parameters(policy.Params, policy.params, self.policy_params, space)
        except InvalidValue as error:
            raise InvalidValue(f"policy_params: {error}") from error
        batch.batch_size(x0=x, memory=m, references=u, disturbances=w, params=p, policy_params=own)

        def joined(a: AnyArray, b: AnyArray) -> AnyArray:
            """Concatenate the fields of two arrays (1, vehicle or 1, field)."""
            if not b.shape[2]:
                return a
            count = max(a.shape[1], b.shape[1])
            wide = [np.broadcast_to(part, (1, count, part.shape[2])) for part in (a, b)]
            return space.xp.concatenate(wide, axis=2)

        return loop, RolloutArrays(joined(x, m), u, w, joined(p, own))

    def _times(self, fleet: Runner) -> tuple[int, int, AnyArray | None]:
        """Number of steps, steps between samples, and step lengths in s if they differ."""
        dt, steps = self.dt, self.steps
        if dt is not None and np.ndim(dt) != 1:
            raise InvalidValue(
                f"dt has shape {np.shape(dt)}; expected (T,), the length of each step in s: one "
                "length for all steps is given to Fleet(dt=...)"
            )
        steps = np.size(dt) if steps is None and dt is not None else steps
        total = steps_of(steps, self.callers.controls, self.callers.disturbances)
        every = whole("every", self.every, f"at least 1 and divide the {total} steps")
        if total % every:
            raise InvalidValue(f"every = {every} must be at least 1 and divide the {total} steps")
        lengths = None if dt is None else batch.lengths(dt, total, fleet.settings.precision)
        if lengths is not None:
            check_plant(fleet.plant, float(lengths.max()), fleet.engines.substeps)
        return total, every, lengths

    def _laid_out(self, samples: AnyArray, fleet: Runner) -> Any:
        """Convert samples (sample, vehicle, field) to the caller's layout and device."""
        space = fleet.space
        samples = samples if self.layout == "aos" else np.swapaxes(samples, -1, -2)
        if (
            fleet.settings.device == "cuda"
        ):  # not every library accepts an array with gaps between its rows
            samples = space.xp.ascontiguousarray(samples)
        return batch.to_callers_device(samples, space, *self.callers)


class OutputRows:
    """Outputs of one vehicle at the samples of a run, compiled on first use."""

    def __init__(self, vehicle: Vehicle, precision: str) -> None:
        self._vehicle, self._precision = vehicle, precision
        self._params = np.array([record.flatten(vehicle.params)], dtype=precision)

    def along(self, states: AnyArray, inputs: AnyArray, disturbance: Any) -> AnyArray:
        """Outputs (T, ny) at states (T, nx) with inputs (T, nu).

        At the first sample the input of the next step applies, at others the input of the step
        before.
        """
        led_there = np.vstack([inputs[:1], inputs[:-1]])
        before = np.vstack([states[:1], states[:-1]])
        return self.at(states, before, led_there, disturbance)

    def at(
        self, states: AnyArray, before: AnyArray, inputs: AnyArray, disturbance: Any
    ) -> AnyArray:
        """Outputs (T, ny) at states (T, nx), each reached from the one `before` with its input."""
        shared = (np.array([record.flatten(disturbance)]), self._params)
        ports = [np.asarray(a, self._precision)[None] for a in (states, before, inputs, *shared)]
        return self._map.run(ports, len(states))[0][0].astype(float)

    @cached_property
    def _map(self) -> CpuMap:
        return CpuMap(pipeline.outputs_program(self._vehicle), self._precision, 1)
