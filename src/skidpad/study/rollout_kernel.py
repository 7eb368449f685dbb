"""The compiled loop of a drive: vehicle, policy and metrics in one kernel.

`Folding` compiles folds into a step: their numbers are further states of the step Program
(`JoinedStep`), and their code reads only inputs of the Program, so that no bit of the motion
changes. Each fold is a function of its own (`SampleKernel`), which rounds the same for any caller,
so that a metric has the same bits in combination with any other metrics. For the sample after the
last step the same functions are called once more, separately. The command of a policy is recomputed
in a function, as for the outputs of a closed loop.

`Loop` compiles a drive and runs it, strip by strip. `rollouts` makes the strips.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from .. import ops
from ..compile.cpu import CpuMap, RolloutArrays
from ..compile.lower import lower
from ..compile.plant import Plant
from ..compile.program import Instruction, Port, Program
from ..compile.trace import trace
from ..core import record
from ..core.arrays import Array, Mask
from ..core.backends import called
from ..core.model import Model, Vehicle
from ..core.policy import Nothing, Policy
from ..errors import InvalidValue
from ..integrate import compiled_integrator
from ..integrate.base import Integrator, as_written
from ..run import arguments, delay
from ..run.monte_carlo import TOLD, noisy
from ..run.runner import Engines, Runner, Settings
from ..run.stability import choose_integrator
from .experiment import Resources
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
        """Port and field of each input that the function reads, since every argument costs time."""

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
    """Joins the Program of a step with the update of the folds; the code of the step stays
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
        """Renumber the function of a call, to follow the functions of the motion."""
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
        """Index of the fold value that becomes NaN when a run fails."""
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
    """Return `so_far`, or NaN if a state is infinite or NaN."""
    for state in states:
        so_far = so_far + 0.0 * state
    return so_far


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
    """A compiled drive: vehicle, policy and metrics in one kernel."""

    def __init__(
        self,
        vehicle: Vehicle,
        settings: Settings,
        integrator: str | Integrator,
        policy: Policy | None,
        noisy_state: bool,
        Log: type | None,
        folds: Mapping[str, Fold],
        until: Quantity | None,
    ) -> None:
        """Compile the loop.

        `noisy_state` adds noise to the state that the policy receives; `Log` is the record class of
        the columns of a log, if there is one.
        """
        method = compiled_integrator(
            choose_integrator(vehicle, integrator, settings.dt, settings.substeps)
        )
        self.base = Runner(Plant.of(vehicle, method), settings.replace(integrator=method))
        """Runner of the vehicle alone."""
        with_noise = policy is not None and noisy_state
        Reference = Nothing if policy is None else policy.Reference
        if policy is not None and noisy_state:
            policy = noisy(policy, vehicle.model.State)

        def own_reference(r: Any) -> Any:
            return getattr(r, TOLD, Nothing()) if with_noise else r

        self.runner = self.base if policy is None else self.base.loop(policy)
        """Runner of the vehicle with its policy, without folds."""
        self.folding = Folding(
            vehicle.model,
            policy,
            own_reference,
            Reference,
            Log,
            folds,
            until,
            self.base.engines.substeps,
        )
        self._engines: dict[Resources, Engines] = {}
        self._closing: dict[Resources, CpuMap] = {}

    @cached_property
    def plant(self) -> Plant:
        """Plant of the loop with folds, to be compiled."""
        plant = self.runner.plant
        return replace(plant, step=self.folding.step(plant.step), vehicle=None, method=None)

    @cached_property
    def digests(self) -> dict[str, Any]:
        """Digests of Programs in IEEE operations, for the functions of the drive: its motion, the
        condition that ends it and each metric separately."""
        folding, runner = self.folding, self.runner

        def digest(program: Program) -> str:
            return lower(program, runner.settings.precision).digest

        return {
            "motion": digest(runner.plant.step),
            "until": digest(replace(folding, folds={}).closing),
            "metrics": {
                name: digest(replace(folding, folds={name: fold}).closing)
                for name, fold in folding.folds.items()
            },
        }

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
            queue = None
            if channels := engines.channels:
                late = delay.whole_steps(delay.ages(channels, params, engines.settings.dt))
                queue = delay.queue_of(channels, late, pending, space)
            out = arguments.empty(2, count, now.shape[2], space, "aos")
            out[0] = now[0]
            engine = engines.undelayed if queue is None else engines.rollout
            health = engine.run(arrays, out, strip.steps, queue)
            if not np.isfinite(arguments.on_host(health)[1]).all():
                what, values = engines.inputs, strip.inputs
                if np.isfinite(values).all():
                    what, values = "disturbances", strip.disturbances
                _, run, field = np.argwhere(~np.isfinite(values))[0]
                raise InvalidValue(
                    f"{what}: number {field} of run {run} of the chunk is not finite"
                )
            if queue is not None:
                own = u[:, :, : queue.pending.shape[2]]
                pending = delay.pending_after(own, queue, strip.steps, space)
            now, last = out[1:], strip.last
        assert last is not None
        ended = arguments.on_host(now)[0]
        # The last sample is folded in on the host, with the same function as all others.
        precision = self.base.settings.precision
        if resources not in self._closing:
            self._closing[resources] = CpuMap(self.folding.closing, precision, resources.threads)
        n = record.size(self.folding.model.State)
        dtype = np.dtype(precision)
        substep = self.base.settings.dt / self.folding.substeps
        ports = [
            ended[None, :, :n],
            ended[None, :, n:states],
            ended[None, :, states:],
            last.astype(dtype),
            p.astype(dtype),
            np.full((1, 1, 1), substep, dtype),
        ]
        kept, results = self._closing[resources].run(
            [np.ascontiguousarray(a) for a in ports], len(ended)
        )
        failed: Mask = np.asarray(~np.isfinite(kept[0, :, self.folding.sound]))
        return Outcome(ended[:, :states].astype(float), results[0].astype(float), failed)
