"""Folds compiled into the step of a vehicle, behind its state, without a bit of its motion changed.

The numbers that the folds keep are further states of the step Program. They are updated by one
function of it that takes nothing but inputs of the Program: so whether a product of the motion goes
into a sum is decided as it is without folds, and the function rounds the same wherever it is
called. It is called once more, alone, for the sample after the last step, which has no step.
What a policy commands is computed in the function again, as the outputs of a closed loop do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from .. import ops, record
from ..calls import called
from ..compile.program import Instruction, Port, Program
from ..compile.trace import trace
from ..errors import InvalidValue
from ..integrate.as_written import as_written
from ..model import Model
from ..policy import Policy
from .expression_names import Records
from .expressions import TRUTH
from .folds import Fold, Quantity, quantity_function

_COUNT, _ENDED = 0, 1
"""Numbers ahead of those of the folds: samples so far, and when the run ended (NaN: not yet)."""
_X, _U, _P, _DT, _START = 0, 1, 3, 4, 5
"""Input ports of a step Program, see `kernels.STEP_PORTS`."""


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
        if self.policy is not None and record.size(self.Told):
            kinds["r"] = self.Told
        if self.Log is not None:
            kinds["log"] = self.Log
        return kinds

    @property
    def start(self) -> tuple[float, ...]:
        """Numbers before the first sample."""
        kept = [value for fold in self.folds.values() for value in fold.start]
        return (0.0, math.nan, *kept)

    @property
    def log_columns(self) -> tuple[str, ...]:
        """Those columns of the log that quantities read."""
        names = self.ports[3].fields
        read = {names[place] for port, place in self._used if port == 3}
        log = () if self.Log is None else record.names(self.Log)
        return tuple(name for name in log if f"log.{name}" in read)

    def check(self) -> None:
        """Raise for what cannot be compiled, with its name."""
        parts = {f"metric {n!r}": replace(self, folds={n: f}) for n, f in self.folds.items()}
        if self.until is not None:
            parts = {name: replace(part, until=None) for name, part in parts.items()}
            parts["until"] = replace(self, folds={})
        for name, part in parts.items():
            try:
                part._traced(name)
            except (AttributeError, InvalidValue) as error:
                raise InvalidValue(f"{name}: {error}") from error

    def step(self, motion: Program) -> Program:
        """The step Program of the loop with the folds behind its states."""
        return _Joined(self, motion).program()

    @cached_property
    def closing(self) -> Program:
        """The sample after the last step, and what comes out: ports as of `ports`, to the numbers
        kept and the results."""
        kernel, leaves = self._kernel, self._used

        def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
            kept = called(kernel, *(ports[port][field] for port, field in leaves))
            with as_written(ports[-1][0]):
                results = self._results(kept, ports[-1][0])
            # All of them, so that the function is the one of the step to the last bit.
            return kept, results

        outputs = (self._kept_port, Port("y", ("ended_at", *self.folds)))
        return trace("closing", function, self.ports, outputs)

    @cached_property
    def calling(self) -> Program:
        """The numbers after a sample, by a call."""
        kernel, leaves = self._kernel, self._used

        def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
            return (called(kernel, *(ports[port][field] for port, field in leaves)),)

        return trace("folding", function, self.ports, (self._kept_port,))

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
        numbered = [
            f"{name}.{k}" for name, fold in self.folds.items() for k in range(len(fold.start))
        ]
        return Port("a", ("count", "ended_at", *numbered))

    @cached_property
    def _used(self) -> tuple[tuple[int, int], ...]:
        """Port and field of what the update needs; each argument of a call costs."""
        plain = self._traced("folds")
        return tuple(sorted({i.imm for i in plain.code if i.op == "input"}))

    def _traced(self, name: str) -> Program:
        """The update without a call."""

        def function(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
            with as_written(ports[-1][0]):
                return (self._updated(ports),)

        return trace(name, function, self.ports, (self._kept_port,))

    @cached_property
    def _kernel(self) -> Callable[..., tuple[Any, ...]]:
        import casadi as ca

        used = self._used
        # Symbols for what is not needed either: a number would be computed with.
        blank = [[ca.SX.sym(field) for field in port.fields] for port in self.ports]

        def folds(*leaves: Any) -> tuple[Any, ...]:
            ports = [list(port) for port in blank]
            for (port, field), leaf in zip(used, leaves, strict=True):
                ports[port][field] = leaf
            return self._updated(ports)

        return folds

    def _updated(self, ports: Sequence[Sequence[Any]]) -> tuple[Any, ...]:
        """The numbers after a sample."""
        kept = ports[2]
        count, ended = kept[_COUNT], kept[_ENDED]
        sample = self._sample(ports, count)
        after = [count + 1.0]
        place = len((_COUNT, _ENDED))
        for fold in self.folds.values():
            own = tuple(kept[place : place + len(fold.start)])
            after += fold.updated(own, sample, self.records)
            place += len(own)
        if self.until is None:
            return (after[0], ended, *after[1:])
        going = ops.not_equal(ended, ended)
        event = quantity_function(self.until, self.records, TRUTH)(sample)
        ends = ops.where(ops.logical_and(going, event), sample["t"], ended)
        count, *rest = (
            ops.where(going, new, old)
            for new, old in zip(after, (kept[_COUNT], *kept[_ENDED + 1 :]), strict=True)
        )
        return (count, ends, *rest)

    def _sample(self, ports: Sequence[Sequence[Any]], count: Any) -> dict[str, Any]:
        states, memory, _, told, params, (dt,) = ports
        x = record.unflatten(self.model.State, states)
        n = record.size(self.model.Params)
        p = record.unflatten(self.model.Params, params[:n])
        period = dt if self.substeps == 1 else float(self.substeps) * dt
        sample = {"x": x, "p": p, "n": count, "t": count * period, "dt": period}
        if self.Log is not None:
            width = record.size(self.Log)
            told, log = told[:-width], told[-width:]
            sample["log"] = record.unflatten(self.Log, log)
        if self.policy is None:
            return {**sample, "u": record.unflatten(self.model.Input, told)}
        r = record.unflatten(self.policy.Reference, told)
        m = record.unflatten(self.policy.Memory, memory)
        own = record.unflatten(self.policy.Params, params[n:])
        u, _ = self.policy.command(x, m, r, own, period)
        return {**sample, "u": u, "r": self.told(r)}

    def _results(self, kept: Sequence[Any], dt: Any) -> tuple[Any, ...]:
        period = dt if self.substeps == 1 else float(self.substeps) * dt
        place, results = len((_COUNT, _ENDED)), [kept[_ENDED]]
        for fold in self.folds.values():
            own = tuple(kept[place : place + len(fold.start)])
            results.append(fold.ended(own, kept[_COUNT], period))
            place += len(own)
        return tuple(results)


class _Joined:
    """A step Program with the call of the folds behind it."""

    def __init__(self, folding: Folding, motion: Program) -> None:
        self._folding, self._motion = folding, motion
        self._code = list(motion.code)
        self._inputs = {i.imm: k for k, i in enumerate(motion.code) if i.op == "input"}
        self._states = len(motion.inputs[_X].fields)

    def program(self) -> Program:
        """The whole."""
        folding, motion = self._folding, self._motion
        kept = self._appended(folding.calling)
        states, residual = motion.results
        if folding.until is not None:
            states, residual = self._halted(kept[_ENDED], states, residual)
        return replace(
            motion,
            name=f"{motion.name}.folded",
            inputs=self._ports(),
            outputs=(self._longer(motion.outputs[0]), motion.outputs[1]),
            code=tuple(self._code),
            results=((*states, *kept), residual),
            functions=(*motion.functions, *folding.calling.functions),
        )

    def _ports(self) -> tuple[Port, ...]:
        x, u, w, p, dt, start = self._motion.inputs
        told = Port(u.name, self._folding.ports[3].fields)
        if self._folding.substeps > 1:
            start = Port(start.name, self._longer(x).fields)
        return (self._longer(x), told, w, p, dt, start)

    def _longer(self, port: Port) -> Port:
        names = self._folding.ports[2].fields
        return Port(port.name, (*port.fields, *(f"folds.{name}" for name in names)))

    def _appended(self, part: Program) -> tuple[int, ...]:
        """Where the results of the folds' Program are in the code, which has it from now on."""
        place: list[int] = []
        for i in part.code:
            if i.op == "input":
                place.append(self._input(*i.imm))
                continue
            i = i._replace(args=tuple(place[a] for a in i.args))
            if i.op == "call":
                number, times = i.imm
                i = i._replace(imm=(number + len(self._motion.functions), times))
            place.append(self._added(i))
        return tuple(place[r] for r in part.results[0])

    def _input(self, port: int, field: int) -> int:
        """An input of the folds, by port and field, as one of the step."""
        # With sub-steps a sample is the state at the start of the whole step.
        state = _X if self._folding.substeps == 1 else _START
        before = (0, len(self._folding.ports[0].fields), self._states)
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
        """States and residual of a vehicle that stays where it is from its end on."""
        over = self._added(Instruction("eq", (ended, ended)))
        stay = [self._read(_X, k) for k in range(len(states))]
        none = self._added(Instruction("const", (), 0.0))
        choose = [*zip(stay, states, strict=True), *((none, r) for r in residual)]
        chosen = [self._added(Instruction("select", (over, old, new))) for old, new in choose]
        return tuple(chosen[: len(states)]), tuple(chosen[len(states) :])
