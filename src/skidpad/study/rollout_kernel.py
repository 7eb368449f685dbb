"""The compiled loop of a drive: vehicle, policy and metrics in one kernel, and its arrays.

`Folding` compiles folds into a step: their numbers are further states of the step Program
(`JoinedStep`), and their code reads only inputs of the Program, so that no bit of the motion
changes. Each fold is a function of its own (`SampleKernel`), which rounds the same for any caller,
so that a metric has the same bits in combination with any other metrics. For the sample after the
last step the same functions are called once more, separately. The command of a policy is recomputed
in a function, as for the outputs of a closed loop.

`Loop` compiles and runs a drive. `RowArrays` turns rows of a campaign into arrays: parameters,
start states, inputs and disturbances. A factor is a parameter of the vehicle (`m`, `tyres.D`) or of
its policy (`policy.k_p`), a field of the start state (`x0.v_x`), of constant controls or references
(`input.steer`) or of a constant disturbance (`disturbance.F_y`).

`Strips` cuts a run into strips of steps with their inputs, the columns of a log and random numbers.
Disturbances and noise of many steps are drawn in advance, so that one call of the kernel runs them
all; for a model that reads the states of the runs, a strip is one step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

import numpy as np

from .. import ops
from ..compile.cpu import CpuMap, Late, RolloutArrays
from ..compile.plant import Plant
from ..compile.program import Instruction, Port, Program
from ..compile.trace import trace
from ..core import record
from ..core.arrays import AnyArray, Array, ArrayNumber, Mask
from ..core.backends import called
from ..core.model import Model, Vehicle
from ..core.policy import Nothing, Policy
from ..core.record import Field
from ..errors import InvalidValue
from ..integrate import compiled_integrator
from ..integrate.base import Integrator, as_written
from ..random.model import UncertaintyModel, draw_sample
from ..random.streams import Draw
from ..run import arguments, delay
from ..run.arguments import consistent_rows, make_consistent, record_of_rows
from ..run.monte_carlo import TOLD, noisy
from ..run.runner import Runner
from ..run.settings import Engines, Settings
from ..run.stability import choose_integrator
from .experiment import Resources, Rows
from .metrics import TRUTH, Fold, Quantity, Records, quantity_function

SCALARS = ("t", "n", "dt")
"""Parts of a sample that are not records: time in s, sample number, step in s."""

Sample = Mapping[str, Any]
"""Records by name, and the scalars `t`, `n` and `dt`."""


class SampleKernel:
    """A function of a sample and some numbers, compiled with only those inputs that it needs.

    Args:
        name: name for error messages.
        function: takes the sample and the numbers; returns a tuple of `results` numbers.
        records: classes of the records of a sample.
        numbers: count of the numbers.
        results: count of the results.
    """

    def __init__(
        self,
        name: str,
        function: Callable[[Sample, tuple[Any, ...]], tuple[Any, ...]],
        records: Records,
        numbers: int,
        results: int,
    ) -> None:
        self.name, self._function, self._records = name, function, records
        self._numbers, self._results = numbers, results

    def call(self, sample: Sample, numbers: Sequence[Any]) -> tuple[Any, ...]:
        """Insert a call of the compiled function into the traced code; returns its results."""
        flat = [record.flatten(sample[name]) for name in self._records]
        ports = [*flat, [sample[name] for name in SCALARS], numbers]
        return called(self._kernel, *(ports[port][field] for port, field in self._used))

    def reads(self, name: str) -> frozenset[str]:
        """Fields of a record that the function reads."""
        place = list(self._records).index(name)
        names = record.names(self._records[name])
        return frozenset(names[field] for port, field in self._used if port == place)

    @cached_property
    def _ports(self) -> tuple[Port, ...]:
        kinds = [Port(name, record.names(kind)) for name, kind in self._records.items()]
        numbers = tuple(f"a{k}" for k in range(self._numbers))
        return (*kinds, Port("sample", SCALARS), Port("a", numbers))

    @cached_property
    def _used(self) -> tuple[tuple[int, int], ...]:
        """Port and field of each input that the function reads; every argument costs time."""

        def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
            with as_written(ports[-2][0]):
                return (self._evaluated(ports),)

        results = (Port("r", tuple(f"r{k}" for k in range(self._results))),)
        try:
            plain = trace(self.name, function, self._ports, results)
        except (AttributeError, InvalidValue) as error:
            raise InvalidValue(f"{self.name}: {error}") from error
        return tuple(sorted({i.imm for i in plain.code if i.op == "input"}))

    @cached_property
    def _kernel(self) -> Callable[..., tuple[Any, ...]]:
        import casadi as ca

        used = self._used
        # Symbols for unneeded inputs too, as constants would be folded.
        blank = [[ca.SX.sym(field) for field in port.fields] for port in self._ports]

        def fold(*leaves: Any) -> tuple[Any, ...]:
            ports = [list(port) for port in blank]
            for (port, field), leaf in zip(used, leaves, strict=True):
                ports[port][field] = leaf
            return self._evaluated(ports)

        return fold

    def _evaluated(self, ports: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
        *kinds, scalars, numbers = ports
        pairs = zip(self._records.items(), kinds, strict=True)
        sample = {name: record.unflatten(kind, values) for (name, kind), values in pairs}
        return self._function(sample | dict(zip(SCALARS, scalars, strict=True)), tuple(numbers))


_X, _U, _P, _DT, _START = 0, 1, 3, 4, 5
"""Input ports of a step Program."""


class JoinedStep:
    """Joins the Program of a step and the update of numbers, leaving the code of the step
    unchanged.

    Args:
        motion: Program of the step.
        update: Program with the ports of `Folding.ports` (states, memory, numbers, input,
            parameters and dt) that computes the numbers after a sample.
        substeps: substeps of the step; a sample is the state at the start of the whole step.
        halt: index of the number that stops the vehicle when it is not NaN; None if none does.
    """

    def __init__(self, motion: Program, update: Program, substeps: int, halt: int | None) -> None:
        self._motion, self._update, self._substeps, self._halt = motion, update, substeps, halt
        self._code = list(motion.code)
        self._inputs = {i.imm: k for k, i in enumerate(motion.code) if i.op == "input"}

    def program(self) -> Program:
        """The joint Program."""
        motion, update = self._motion, self._update
        kept = self._appended()
        states, residual = motion.results
        if self._halt is not None:
            states, residual = self._halted(kept[self._halt], states, residual)
        moved = [replace(f, code=tuple(map(self._renumbered, f.code))) for f in update.functions]
        return replace(
            motion,
            name=f"{motion.name}.folded",
            inputs=self._ports(),
            outputs=(self._longer(motion.outputs[0]), motion.outputs[1]),
            code=tuple(self._code),
            results=((*states, *kept), residual),
            functions=(*motion.functions, *moved),
        )

    def _ports(self) -> tuple[Port, ...]:
        x, u, w, p, dt, start = self._motion.inputs
        inputs = Port(u.name, self._update.inputs[3].fields)
        if self._substeps > 1 or start.fields:
            start = Port(start.name, self._longer(x).fields)
        return (self._longer(x), inputs, w, p, dt, start)

    def _longer(self, port: Port) -> Port:
        names = self._update.outputs[0].fields
        return Port(port.name, (*port.fields, *(f"folds.{name}" for name in names)))

    def _appended(self) -> tuple[int, ...]:
        """Append the update to the code; returns the value numbers of its results."""
        place: list[int] = []
        for i in self._update.code:
            if i.op == "input":
                place.append(self._input(*i.imm))
            else:
                moved = i._replace(args=tuple(place[a] for a in i.args))
                place.append(self._added(self._renumbered(moved)))
        return tuple(place[r] for r in self._update.results[0])

    def _renumbered(self, i: Instruction) -> Instruction:
        """Shift the function number of a call past the functions of the motion."""
        if i.op != "call":
            return i
        number, times = i.imm
        return i._replace(imm=(number + len(self._motion.functions), times))

    def _input(self, port: int, field: int) -> int:
        """Index of the step input that corresponds to a port and field of the update."""
        state = _X if self._substeps == 1 else _START
        before = (0, len(self._update.inputs[0].fields), len(self._motion.inputs[_X].fields))
        places = {0: state, 1: state, 2: state, 3: _U, 4: _P, 5: _DT}
        return self._read(places[port], field + (before[port] if port < len(before) else 0))

    def _read(self, port: int, field: int) -> int:
        if (port, field) not in self._inputs:
            self._inputs[port, field] = self._added(Instruction("input", (), (port, field)))
        return self._inputs[port, field]

    def _added(self, instruction: Instruction) -> int:
        self._code.append(instruction)
        return len(self._code) - 1

    def _halted(
        self, ended: int, states: tuple[int, ...], residual: tuple[int, ...]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """States and residual of a vehicle, frozen after the end of its run."""
        over = self._added(Instruction("eq", (ended, ended)))
        stay = [self._read(_X, k) for k in range(len(states))]
        none = self._added(Instruction("const", (), 0.0))
        choose = [*zip(stay, states, strict=True), *((none, r) for r in residual)]
        chosen = [self._added(Instruction("select", (over, old, new))) for old, new in choose]
        return tuple(chosen[: len(states)]), tuple(chosen[len(states) :])


_COUNT, _ENDED, _SOUND, _FIRST = 0, 1, 2, 3
"""Indices of the numbers: samples so far, time in s at which the run ended (NaN: not yet),
soundness (0 while all states were finite at every sample, then NaN), and the first number of
the folds."""


@dataclass(frozen=True)
class Folding:
    """Compiles all folds of one closed loop into its step."""

    model: Model
    policy: Policy | None
    """The compiled policy, whose reference includes the measurement noise, if there is any."""
    own_reference: Callable[[Any], Any]
    """Function that extracts the user's reference from that of the compiled policy."""
    Reference: type
    Log: type | None
    """Record class of the log's columns, which follow the reference."""
    folds: Mapping[str, Fold]
    until: Quantity | None
    substeps: int

    @cached_property
    def records(self) -> Records:
        kinds: dict[str, type] = {
            "x": self.model.State,
            "u": self.model.Input,
            "p": self.model.Params,
        }
        if record.size(self.model.Outputs):
            kinds["y"] = self.model.Outputs
        if self.policy is not None and record.size(self.Reference):
            kinds["r"] = self.Reference
        if self.Log is not None:
            kinds["log"] = self.Log
        return kinds

    @property
    def start(self) -> tuple[float, ...]:
        """Numbers before the first sample."""
        kept = [value for fold in self.folds.values() for value in fold.start]
        return (0.0, math.nan, 0.0, *kept)

    @property
    def sound(self) -> int:
        """Index of the number that becomes NaN when a run fails."""
        return _SOUND

    @property
    def log_columns(self) -> tuple[str, ...]:
        """Columns of the log that quantities read."""
        if self.Log is None:
            return ()
        read = frozenset[str]().union(*(kernel.reads("log") for kernel in self._all_kernels))
        return tuple(name for name in record.names(self.Log) if name in read)

    def step(self, motion: Program) -> Program:
        """Step Program of the loop with the numbers of the folds appended to its states."""
        halt = None if self.until is None else _ENDED
        return JoinedStep(motion, self.update, self.substeps, halt).program()

    @cached_property
    def update(self) -> Program:
        """Program with inputs `ports` that computes the numbers after a sample."""

        def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
            with as_written(ports[-1][0]):
                return (self._updated(ports),)

        return trace("folding", function, self.ports, (self._kept_port,), whole_kernels=True)

    @cached_property
    def closing(self) -> Program:
        """Program with inputs `ports` that folds in the last sample and returns the final numbers
        and the results."""

        def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
            with as_written(ports[-1][0]):
                kept = self._updated(ports)
                return kept, self._results(kept, ports[-1][0])

        outputs = (self._kept_port, Port("y", ("ended_at", *self.folds)))
        return trace("closing", function, self.ports, outputs, whole_kernels=True)

    @cached_property
    def ports(self) -> tuple[Port, ...]:
        """Input ports: states of the vehicle, memory of the policy, numbers, input or reference
        followed by the log, parameters of vehicle and policy, and dt of a substep."""
        policy = self.policy
        inputs = record.names(self.model.Input if policy is None else policy.Reference)
        log = () if self.Log is None else tuple(f"log.{n}" for n in record.names(self.Log))
        own = () if policy is None else tuple(f"policy.{n}" for n in record.names(policy.Params))
        return (
            Port("x", record.names(self.model.State)),
            Port("m", () if policy is None else record.names(policy.Memory)),
            self._kept_port,
            Port("r", (*inputs, *log)),
            Port("p", (*record.names(self.model.Params), *own)),
            Port("dt", ("dt",)),
        )

    @cached_property
    def _kept_port(self) -> Port:
        places = [(name, k) for name, fold in self.folds.items() for k in range(len(fold.start))]
        return Port("a", ("count", "ended_at", "sound", *(f"{name}.{k}" for name, k in places)))

    @cached_property
    def _kernels(self) -> list[SampleKernel]:
        return [self._kernel(name, fold) for name, fold in self.folds.items()]

    @property
    def _all_kernels(self) -> list[SampleKernel]:
        return [*self._kernels, *([] if self._event is None else [self._event])]

    def _kernel(self, name: str, fold: Fold) -> SampleKernel:
        def updated(sample: Mapping[str, Any], numbers: tuple[Any, ...]) -> tuple[Any, ...]:
            return fold.updated(numbers, sample, self.records)

        size = len(fold.start)
        return SampleKernel(f"metric {name!r}", updated, self.records, size, size)

    @cached_property
    def _event(self) -> SampleKernel | None:
        """Kernel that computes whether a run ends at a sample, as 1 or 0; None without `until`."""
        until = self.until
        if until is None:
            return None

        def ends(sample: Mapping[str, Any], _: tuple[Any, ...]) -> tuple[Any, ...]:
            happens = quantity_function(until, self.records, TRUTH)(sample)
            return (ops.where(happens, 1.0, 0.0),)

        return SampleKernel("until", ends, self.records, 0, 1)

    def _updated(self, ports: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
        """Numbers after a sample, of all folds."""
        kept = ports[2]
        count, ended = kept[_COUNT], kept[_ENDED]
        sample = self._sample(ports, count)
        sound = called(_finite_check, kept[_SOUND], *ports[0], *ports[1])
        after, place = [count + 1.0, sound], _FIRST
        for kernel, fold in zip(self._kernels, self.folds.values(), strict=True):
            own = kept[place : place + len(fold.start)]
            after += kernel.call(sample, own)
            place += len(own)
        if self._event is None:
            return (after[0], ended, *after[1:])
        going = ops.not_equal(ended, ended)
        (happens,) = self._event.call(sample, ())
        over = ops.logical_and(going, ops.greater(happens, 0.0))
        before = (count, *kept[_SOUND:])
        pairs = zip(after, before, strict=True)
        count, *rest = (ops.where(going, new, old) for new, old in pairs)
        return (count, ops.where(over, sample["t"], ended), *rest)

    def _sample(self, ports: Sequence[Sequence[Any]], count: Any) -> dict[str, Any]:
        states, _, _, inputs, params, (dt,) = ports
        n = record.size(self.model.Params)
        period = dt if self.substeps == 1 else float(self.substeps) * dt
        sample = {
            "x": record.unflatten(self.model.State, states),
            "p": record.unflatten(self.model.Params, params[:n]),
            "n": count,
            "t": count * period,
            "dt": period,
        }
        if self.Log is not None:
            width = record.size(self.Log)
            inputs, log = inputs[:-width], inputs[-width:]
            sample["log"] = record.unflatten(self.Log, log)
        if self.policy is None:
            u = record.unflatten(self.model.Input, inputs)
            return {**sample, "u": u, "y": self._outputs(sample, u)}
        r = record.unflatten(self.policy.Reference, inputs)
        u = called(self._command, tuple(states), tuple(ports[1]), r, tuple(params[n:]), period)
        return {**sample, "u": u, "y": self._outputs(sample, u), "r": self.own_reference(r)}

    def _outputs(self, sample: Mapping[str, Any], u: Any) -> Any:
        """Undisturbed outputs of the model at a sample; defaults if no quantity reads them."""
        model = self.model
        if not self._reads_outputs:
            return record.at_rest(model.Outputs)

        def outputs(states: Any, inputs: Any, params: Any) -> tuple[Any, ...]:
            x, p = record.unflatten(model.State, states), record.unflatten(model.Params, params)
            given, calm = record.unflatten(model.Input, inputs), record.at_rest(model.Disturbance)
            y = model.outputs(x, model.held_input(x, given, calm, p), calm, p)
            return record.flatten(y)

        parts = (record.flatten(part) for part in (sample["x"], u, sample["p"]))
        return record.unflatten(model.Outputs, called(outputs, *parts))

    @cached_property
    def _reads_outputs(self) -> bool:
        return "y" in self.records and any(kernel.reads("y") for kernel in self._all_kernels)

    def _command(self, states: Any, memory: Any, r: Any, params: Any, period: Any) -> Any:
        policy = self.policy
        assert policy is not None
        x, m = record.unflatten(self.model.State, states), record.unflatten(policy.Memory, memory)
        return policy.command(x, m, r, record.unflatten(policy.Params, params), period)[0]

    def _results(self, kept: Sequence[Any], dt: Any) -> tuple[Any, ...]:
        period = dt if self.substeps == 1 else float(self.substeps) * dt
        results, place = [kept[_ENDED]], _FIRST
        for fold in self.folds.values():
            own = tuple(kept[place : place + len(fold.start)])
            results.append(called(fold.ended, own, kept[_COUNT], period))
            place += len(own)
        return tuple(results)


def _finite_check(so_far: Any, *states: Any) -> Any:
    """Return the soundness number, or NaN if a state is infinite or NaN."""
    for state in states:
        so_far = so_far + 0.0 * state
    return so_far


@dataclass(frozen=True)
class Driven:
    """Vehicle, policy and metrics that are compiled for a drive, without their numbers."""

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
    """Consecutive steps of all runs with their inputs and disturbances, in host memory."""

    steps: int
    inputs: Array
    """Inputs or references, followed by the noise and the log, (1 or steps, 1 or runs, n)."""
    disturbances: Array
    """Disturbances, (1 or steps, 1 or runs, n)."""
    last: Array
    """Inputs of the sample after these steps, (1, 1 or runs, n)."""


class Outcome(NamedTuple):
    """States and results of runs after their last sample."""

    states: Array
    """States of the vehicle, then the memory of its policy, (runs, n)."""
    results: Array
    """Time in s at which each run ended, then the results of the folds, (runs, 1 + folds)."""
    failed: Mask


Feed = Callable[[Array], Strip | None]
"""Function from the current states (runs, n) to the next strip; None at the end."""


class Loop:
    """Runs one compiled drive."""

    def __init__(self, driven: Driven) -> None:
        settings = Settings(
            driven.dt, None, driven.precision, substeps=driven.substeps, on_diverge="mask"
        )
        vehicle = driven.vehicle
        method = compiled_integrator(
            choose_integrator(vehicle, driven.integrator, settings.dt, settings.substeps)
        )
        self.base = Runner(Plant.of(vehicle, method), settings.replace(integrator=method))
        """Runner of the vehicle alone."""
        policy = driven.policy
        with_noise = policy is not None and driven.noisy
        if policy is not None and driven.noisy:
            policy = noisy(policy, vehicle.model.State)

        def own_reference(r: Any) -> Any:
            return getattr(r, TOLD, Nothing()) if with_noise else r

        self.runner = self.base if policy is None else self.base.loop(policy)
        """Runner of the vehicle with its policy, without folds."""
        self.folding = Folding(
            vehicle.model,
            policy,
            own_reference,
            Nothing if driven.policy is None else driven.policy.Reference,
            driven.Log,
            driven.folds,
            driven.until,
            self.base.engines.substeps,
        )
        self._engines: dict[Resources, Engines] = {}
        self._closing: dict[Resources, CpuMap] = {}

    @cached_property
    def plant(self) -> Plant:
        """Plant of the loop with folds, to be compiled."""
        plant = self.runner.plant
        return replace(plant, step=self.folding.step(plant.step), vehicle=None, method=None)

    def engines(self, resources: Resources) -> Engines:
        """Engines that run the plant with folds, cached by resources."""
        if resources not in self._engines:
            runner = self.runner
            settings = runner.settings.replace(device=resources.device, threads=resources.threads)
            self._engines[resources] = Engines(self.plant, settings, runner.engines.inputs)
        return self._engines[resources]

    def run(
        self, x: Array, p: Array, strips: Feed, resources: Resources, before: Array | None = None
    ) -> Outcome:
        """Run from the states `x` (1, runs, n) with parameters `p` (1, 1 or runs, n).

        `strips` returns the next strip for the current states (runs, n), and None at the end;
        `before` has the pending commands (rows, 1, n).
        """
        engines = self.engines(resources)
        space = engines.space
        states, count = x.shape[2], x.shape[1]
        kept = np.broadcast_to(np.array(self.folding.start), (1, count, len(self.folding.start)))
        now = space.xp.asarray(np.concatenate([x, kept], axis=2), space.dtype)
        params = space.xp.asarray(p, space.dtype)
        last, pending = None, before
        while (strip := strips(arguments.on_host(now)[0, :, :states])) is not None:
            u, w = (space.xp.asarray(a, space.dtype) for a in (strip.inputs, strip.disturbances))
            arrays = RolloutArrays(now, u, w, params)
            queue = _queue(engines, arrays, pending)
            out = arguments.empty(2, count, now.shape[2], space, "aos")
            out[0] = now[0]
            engine = engines.undelayed if queue is None else engines.rollout
            health = engine.run(arrays, out, strip.steps, queue)
            if not np.isfinite(arguments.on_host(health)[1]).all():
                raise _not_finite(engines, strip)
            if queue is not None:
                own = u[:, :, : queue.pending.shape[2]]
                pending = delay.pending_after(own, queue, strip.steps, space)
            now, last = out[1:], strip.last
        assert last is not None
        return self._closed(arguments.on_host(now)[0], last, p, states, resources)

    def _closed(
        self, now: AnyArray, last: Array, p: Array, states: int, resources: Resources
    ) -> Outcome:
        """Fold in the last sample, on the host with the same function as all others."""
        precision = self.base.settings.precision
        if resources not in self._closing:
            self._closing[resources] = CpuMap(self.folding.closing, precision, resources.threads)
        n = record.size(self.folding.model.State)
        dtype = np.dtype(precision)
        substep = self.base.settings.dt / self.folding.substeps
        ports = [
            now[None, :, :n],
            now[None, :, n:states],
            now[None, :, states:],
            last.astype(dtype),
            p.astype(dtype),
            np.full((1, 1, 1), substep, dtype),
        ]
        kept, results = self._closing[resources].run(
            [np.ascontiguousarray(a) for a in ports], len(now)
        )
        failed: Mask = np.asarray(~np.isfinite(kept[0, :, self.folding.sound]))
        return Outcome(now[:, :states].astype(float), results[0].astype(float), failed)


def _queue(engines: Engines, arrays: RolloutArrays, pending: Any) -> Late | None:
    channels = engines.channels
    if not channels:
        return None
    ages = delay.ages(channels, arrays.p, engines.settings.dt)
    return delay.queue_of(channels, delay.whole_steps(ages), pending, engines.space)


def _not_finite(engines: Engines, strip: Strip) -> InvalidValue:
    what, values = engines.inputs, strip.inputs
    if np.isfinite(values).all():
        what, values = "disturbances", strip.disturbances
    _, run, field = np.argwhere(~np.isfinite(values))[0]
    return InvalidValue(f"{what}: number {field} of run {run} of the chunk is not finite")


X0, INPUT, DISTURBANCE = "x0.", "input.", "disturbance."


class Prepared(NamedTuple):
    """Arrays of runs that are ready to start, in host memory."""

    x: Array
    """States of the vehicle, then the memory of its policy, (1, runs, n)."""
    p: Array
    """Parameters of the vehicle, then those of its policy, (1, 1 or runs, n)."""
    u: Array
    """Controls or references, (1 or steps, 1 or runs, n)."""
    w: Array
    """Constant disturbances, (1, 1 or runs, n)."""


@dataclass(frozen=True)
class Common:
    """Validated settings that all runs of a drive share."""

    x0: Any
    """Start state: a record, a mapping, an array (n,), or an `UncertaintyModel`."""
    memory: Array
    """Initial memory of the policy, (n,)."""
    inputs: Array
    """Controls or references, (1 or steps, 1, n)."""
    params: Mapping[str, Any]
    """Parameters of vehicle and policy by name: numbers, or models to draw them from."""
    disturbed: bool
    """Whether disturbances are drawn at random rather than constant."""


@dataclass(frozen=True)
class RowArrays:
    runner: Runner
    base: Runner
    Reference: type
    common: Common

    @cached_property
    def factors(self) -> dict[str, Field]:
        """Fields that factors set, by factor name."""
        named: dict[str, Field] = {}
        for prefix, kind, closed in self._groups:
            if not closed:
                named |= {prefix + leaf.name: leaf for leaf in record.fields(kind)}
        return {name: leaf for name, leaf in named.items() if name not in self._arrays}

    @property
    def _groups(self) -> list[tuple[str, type, str]]:
        """Prefix and record class of each group of factors, and why the group cannot be used; else
        empty."""
        plant, common = self.base.plant, self.common
        drawn = "starts are drawn from x0, an uncertainty model"
        table = "the inputs are a table with a row per step; hold them to vary one"
        disturbed = "disturbances are drawn at every step; give no model to hold one"
        return [
            ("", self.runner.plant.Params, ""),
            (X0, plant.State, drawn if isinstance(common.x0, UncertaintyModel) else ""),
            (INPUT, self.Reference, table if len(common.inputs) > 1 else ""),
            (DISTURBANCE, plant.Disturbance, disturbed if common.disturbed else ""),
        ]

    @cached_property
    def _arrays(self) -> frozenset[str]:
        """Parameters that identify shared arrays; factors cannot vary them, as numbers between two
        arrays have no meaning."""
        plant = self.runner.plant
        pairs = zip(record.names(plant.Params), record.flatten(plant.params), strict=True)
        return frozenset(name for name, value in pairs if isinstance(value, ArrayNumber))

    def check_name(self, name: str) -> Field:
        """Field that a factor sets; raises for an unknown name and suggests the nearest one."""
        if name in self.factors:
            return self.factors[name]
        for prefix, _, closed in self._groups:
            if closed and name.startswith(prefix):
                raise InvalidValue(f"factor {name!r}: {closed}")
        allowed = tuple(self.factors)
        raise InvalidValue(record.unknown_name("the drive", name, allowed, "factor"))

    def prepare(self, rows: Rows) -> Prepared:
        for name in rows.factors:
            self.check_name(name)
        p = self._params(rows)
        return Prepared(
            self._starts(rows, p),
            p,
            self._held(self.Reference, "inputs", self.common.inputs, INPUT, rows),
            self._disturbances(rows),
        )

    def _params(self, rows: Rows) -> Array:
        plant, count = self.runner.plant, len(rows.runs)
        columns: dict[str, Any] = {}
        for name, source in self.common.params.items():
            if isinstance(source, UncertaintyModel):
                draw = self.draw(rows, f"params.{name}")
                source = draw_sample(source, draw, source.start(count))[0][:, 0]
            columns[name] = source
        names = record.names(plant.Params)
        columns |= {name: value for name, value in rows.factors.items() if name in names}
        space = arguments.Space.of("cpu", self.base.settings.precision)
        p = arguments.parameters(plant.Params, plant.params, columns or None, space)
        same = p.shape[1] > 1 and not any(np.ndim(c) for c in columns.values())
        return p[:, :1] if same else p

    def _starts(self, rows: Rows, p: Array) -> Array:
        plant, count, x0 = self.base.plant, len(rows.runs), self.common.x0
        own = p[:, :, : record.size(plant.Params)]
        if isinstance(x0, UncertaintyModel):
            states, _ = draw_sample(x0, self.draw(rows, "start"), x0.start(count))
            states = consistent_rows(plant, states, own)
        else:
            states = self._start_by_name(rows, own)
        states = arguments.finite(
            plant.State, "x0", np.broadcast_to(states, (1, count, states.shape[-1]))
        )
        memory = np.broadcast_to(self.common.memory, (1, count, self.common.memory.size))
        return np.concatenate([states, memory], axis=2)

    def _start_by_name(self, rows: Rows, own: Array) -> AnyArray:
        """Start states (1 or runs, n) with fields that are factors; dependent fields are made
        consistent with the parameters of each run, unless the start is given as a whole state
        array."""
        State, x0 = self.base.plant.State, self.common.x0
        chosen = _of_prefix(rows.factors, X0)
        start = record.build(State, x0)
        values = dict(zip(record.names(State), record.flatten(start), strict=True)) | chosen
        if x0 is None or isinstance(x0, (Mapping, State)):
            whole = record.unflatten(State, list(values.values()))
            params = record_of_rows(self.base.plant.Params, own)
            whole = make_consistent(self.base.plant, whole, params, x0, tuple(chosen))
            values = dict(zip(record.names(State), record.flatten(whole), strict=True))
        table = np.stack(np.broadcast_arrays(*values.values()), axis=-1)
        return arguments.in_range(State, "x0", np.atleast_2d(table)[None])[0]

    def _held(self, kind: type, what: str, base: Array, prefix: str, rows: Rows) -> Array:
        """Constant rows (1, 1 or runs, n) with fields that are factors."""
        chosen = _of_prefix(rows.factors, prefix)
        if not chosen:
            return base
        table = np.repeat(base, len(rows.runs), axis=1)
        for name, values in chosen.items():
            table[0, :, record.names(kind).index(name)] = values
        return arguments.in_range(kind, what, arguments.finite(kind, what, table))

    def _disturbances(self, rows: Rows) -> Array:
        kind = self.base.plant.Disturbance
        neutral = np.array(record.flatten(record.build(kind)), dtype=float).reshape(1, 1, -1)
        return self._held(kind, "disturbance", neutral, DISTURBANCE, rows)

    def draw(self, rows: Rows, channel: str, threads: int | None = None) -> Draw:
        """Random numbers of these runs at the first step, as in `Fleet.monte_carlo`."""
        dt = self.base.settings.dt
        return Draw(rows.seed, channel, rows.runs, 0, dt, threads=threads)


def _of_prefix(factors: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    """Factors whose names begin with the prefix, by name without the prefix."""
    size = len(prefix)
    return {name[size:]: np.asarray(v) for name, v in factors.items() if name.startswith(prefix)}


MOST_NUMBERS = 4_000_000
"""Largest number of values in the arrays of a strip: 32 MB."""
LONGEST = 1024
"""Largest number of steps in a strip with random numbers."""


class Course(NamedTuple):
    """Number of steps, uncertainty models and log of a run."""

    steps: int
    disturbance: UncertaintyModel | None
    noise: UncertaintyModel | None
    log: Array | None
    """Columns of the log, (steps + 1, columns)."""


class Strips:
    """Iterates over the strips of a run; call it with the states (runs, n) for the next one."""

    def __init__(
        self,
        course: Course,
        arrays: RowArrays,
        rows: Rows,
        prepared: Prepared,
        threads: int | None = None,
    ) -> None:
        self._course, self._arrays, self._rows, self._prepared = course, arrays, rows, prepared
        self._threads = threads
        count = len(rows.runs)
        self._models = {"disturbance": course.disturbance, "noise": course.noise}
        self._memory = {
            name: None if model is None else model.start(count)
            for name, model in self._models.items()
        }
        self._done, self._longest = 0, self._length(count)

    def _length(self, count: int) -> int:
        """Number of steps in a strip: all of them, if its arrays stay small."""
        course, (_, _, u, w) = self._course, self._prepared
        drawing = course.disturbance is not None or course.noise is not None
        if not drawing and (course.log is None or u.shape[1] == 1):
            return course.steps
        noise = 0 if course.noise is None else course.noise.dim
        width = u.shape[2] + w.shape[2] + noise
        return max(1, min(LONGEST, MOST_NUMBERS // (count * max(width, 1))))

    def __call__(self, states: Array) -> Strip | None:
        """Next strip; None at the end."""
        if self._done == self._course.steps:
            return None
        steps = min(self._longest, self._course.steps - self._done)
        try:
            drawn_ahead = self._drawn(steps, _AHEAD if steps > 1 else states)
        except _StatesNeeded:
            self._longest = steps = 1
            drawn_ahead = self._drawn(steps, states)
        strip = self._strip(steps, drawn_ahead)
        self._done += steps
        return strip

    def _drawn(self, steps: int, states: Any) -> dict[str, Array]:
        """Random rows (steps, runs, n) by name; `states` are known only if `steps` is 1."""
        memory, table = dict(self._memory), dict[str, list[Array]]()
        draws = {
            name: self._arrays.draw(self._rows, name, self._threads)
            for name, model in self._models.items()
            if model is not None
        }
        for step in range(self._done, self._done + steps):
            for name, draw in draws.items():
                model = self._models[name]
                assert model is not None
                numbers, memory[name] = draw_sample(model, draw.at(step), memory[name], states)
                table.setdefault(name, []).append(numbers)
        self._memory = memory
        return {name: np.stack(numbers) for name, numbers in table.items()}

    def _strip(self, steps: int, drawn_ahead: dict[str, Array]) -> Strip:
        _, _, u, w = self._prepared
        rows = slice(self._done, self._done + steps)
        u = u if len(u) == 1 else u[rows]
        u = _joined(u, drawn_ahead.get("noise"))
        log = self._course.log
        last = u[-1:]
        if log is not None:
            last = _joined(last, log[None, rows.stop : rows.stop + 1])
            u = _joined(u, log[rows, None])
        return Strip(steps, u, drawn_ahead.get("disturbance", w), last)


def _joined(a: Array, b: Array | None) -> Array:
    """Concatenates the fields of two arrays (1 or steps, 1 or runs, field)."""
    if b is None:
        return a
    outer = np.broadcast_shapes(a.shape[:2], b.shape[:2])
    return np.concatenate(
        [np.broadcast_to(part, (*outer, part.shape[2])) for part in (a, b)], axis=2
    )


class _StatesNeeded(Exception):
    """A model read the states of the runs, which are not known in advance."""


class _Ahead:
    """Placeholder for states that are not yet known; any use of it raises `_StatesNeeded`."""

    def _needed(self, *_: Any, **__: Any) -> NoReturn:
        raise _StatesNeeded

    __getattr__ = __getitem__ = __len__ = __iter__ = __bool__ = __float__ = _needed
    __array__ = __array_ufunc__ = __array_function__ = __eq__ = __ne__ = _needed
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _needed
    __truediv__ = __rtruediv__ = __neg__ = __lt__ = __gt__ = __abs__ = _needed
    __hash__ = object.__hash__


_AHEAD: Any = _Ahead()
