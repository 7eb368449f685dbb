"""Folds compiled into the step of a vehicle, behind its state, without a bit of its motion changed.

The numbers that the folds keep are further states of the step Program (`joined_step`), each fold a
function of it (`fold_kernels`). For the sample after the last step, which has no step, the same
functions are called once more, alone. What a policy commands is computed in a function again, as
the outputs of a closed loop do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .. import ops, record
from ..calls import called
from ..compile.program import Port, Program
from ..compile.trace import trace
from ..integrate.as_written import as_written
from ..model import Model
from ..policy import Policy
from .expression_names import Records
from .expressions import TRUTH
from .fold_kernels import SampleKernel
from .folds import Fold, Quantity, quantity_function
from .joined_step import JoinedStep

_COUNT, _ENDED, _SOUND, _FIRST = 0, 1, 2, 3
"""Ahead of the numbers of the folds: samples so far, when the run ended (NaN: not yet), and 0 as
long as all states were finite at every sample, then NaN."""


@dataclass(frozen=True)
class Folding:
    """What is folded over the runs of one closed loop."""

    model: Model
    policy: Policy | None
    """As it is compiled: with the noise among what it is told, if there is any."""
    told: Callable[[Any], Any]
    """From the reference as it is compiled to what the user's policy is told."""
    Told: type
    Log: type | None
    """Columns of a log that stand behind the reference."""
    folds: Mapping[str, Fold]
    until: Quantity | None
    substeps: int

    @cached_property
    def records(self) -> Records:
        """Classes of what quantities may read."""
        kinds: dict[str, type] = {
            "x": self.model.State,
            "u": self.model.Input,
            "p": self.model.Params,
        }
        if record.size(self.model.Outputs):
            kinds["y"] = self.model.Outputs
        if self.policy is not None and record.size(self.Told):
            kinds["r"] = self.Told
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
        """Place among the numbers kept of the one that is not finite of a run that failed."""
        return _SOUND

    @property
    def log_columns(self) -> tuple[str, ...]:
        """Those columns of the log that quantities read."""
        if self.Log is None:
            return ()
        kernels = [*self._kernels, *([] if self._event is None else [self._event])]
        read = frozenset[str]().union(*(kernel.reads("log") for kernel in kernels))
        return tuple(name for name in record.names(self.Log) if name in read)

    def step(self, motion: Program) -> Program:
        """The step Program of the loop with the folds behind its states."""
        halt = None if self.until is None else _ENDED
        return JoinedStep(motion, self.update, self.substeps, halt).program()

    @cached_property
    def update(self) -> Program:
        """The numbers after a sample, of `ports`."""

        def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
            with as_written(ports[-1][0]):
                return (self._updated(ports),)

        return trace("folding", function, self.ports, (self._kept_port,), whole_kernels=True)

    @cached_property
    def closing(self) -> Program:
        """The numbers after the last sample, of `ports`, and what comes out."""

        def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
            with as_written(ports[-1][0]):
                kept = self._updated(ports)
                return kept, self._results(kept, ports[-1][0])

        outputs = (self._kept_port, Port("y", ("ended_at", *self.folds)))
        return trace("closing", function, self.ports, outputs, whole_kernels=True)

    @cached_property
    def ports(self) -> tuple[Port, ...]:
        """States of the vehicle, memory of the policy, numbers kept, input or reference with the
        log behind, parameters of vehicle and policy, and dt of a sub-step."""
        policy = self.policy
        told = record.names(self.model.Input if policy is None else policy.Reference)
        log = () if self.Log is None else tuple(f"log.{n}" for n in record.names(self.Log))
        own = () if policy is None else tuple(f"policy.{n}" for n in record.names(policy.Params))
        return (
            Port("x", record.names(self.model.State)),
            Port("m", () if policy is None else record.names(policy.Memory)),
            self._kept_port,
            Port("r", (*told, *log)),
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

    def _kernel(self, name: str, fold: Fold) -> SampleKernel:
        def updated(sample: Mapping[str, Any], numbers: tuple[Any, ...]) -> tuple[Any, ...]:
            return fold.updated(numbers, sample, self.records)

        size = len(fold.start)
        return SampleKernel(f"metric {name!r}", updated, self.records, size, size)

    @cached_property
    def _event(self) -> SampleKernel | None:
        """Whether a run ends, as 1 or 0."""
        until = self.until
        if until is None:
            return None

        def ends(sample: Mapping[str, Any], _: tuple[Any, ...]) -> tuple[Any, ...]:
            happens = quantity_function(until, self.records, TRUTH)(sample)
            return (ops.where(happens, 1.0, 0.0),)

        return SampleKernel("until", ends, self.records, 0, 1)

    def _updated(self, ports: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
        """The numbers after a sample."""
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
        states, _, _, told, params, (dt,) = ports
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
            told, log = told[:-width], told[-width:]
            sample["log"] = record.unflatten(self.Log, log)
        if self.policy is None:
            u = record.unflatten(self.model.Input, told)
            return {**sample, "u": u, "y": self._outputs(sample, u)}
        r = record.unflatten(self.policy.Reference, told)
        u = called(self._command, tuple(states), tuple(ports[1]), r, tuple(params[n:]), period)
        return {**sample, "u": u, "y": self._outputs(sample, u), "r": self.told(r)}

    def _outputs(self, sample: Mapping[str, Any], u: Any) -> Any:
        """Outputs of the model at a sample, undisturbed; blank where no quantity reads them."""
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
        kernels = [*self._kernels, *([] if self._event is None else [self._event])]
        return "y" in self.records and any(kernel.reads("y") for kernel in kernels)

    def _command(self, states: Any, memory: Any, r: Any, params: Any, period: Any) -> Any:
        """What the policy commands at a sample."""
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
    """What it was so far, or NaN if a state is infinite or NaN."""
    for state in states:
        so_far = so_far + 0.0 * state
    return so_far
