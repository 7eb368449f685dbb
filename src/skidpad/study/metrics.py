"""Metrics as folds over the samples of a run, updated while the run proceeds.

A `Fold` has start numbers, an update for every sample (the start of a run and the state after each
step) and a result. The functions are pure, built from `skidpad.ops` and compiled into the
simulation loop. They declare what they need by the names of their arguments:

* `a`: the accumulated numbers, a tuple; for the result, those after the last sample;
* `v`: the value of `of` at this sample, if the fold has a quantity;
* `x`, `u`, `p`, `y`, `t`, `r`, `log`: state, input of the coming step, parameters and undisturbed
  outputs of the vehicle, time in s, reference of the policy, and the columns of a log;
* `n`: the number of the sample, from 0; for the result, the number of samples;
* `dt`: the step in s.

A quantity is a function of some of `x`, `u`, `p`, `y`, `t`, `r` and `log`, or a text
(`expressions`). No step follows the last sample; its input is the command computed in that state,
or the last row of a table of controls.

`Folding` compiles folds into a step: their numbers are further states of the step Program
(`JoinedStep`), and their code reads only inputs of the Program, so that no bit of the motion
changes. Each fold is a function of its own (`SampleKernel`), which rounds the same for any caller,
so that a metric has the same bits in combination with any other metrics. For the sample after the
last step the same functions are called once more, separately. The command of a policy is recomputed
in a function, as for the outputs of a closed loop.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from .. import ops
from ..compile.program import Instruction, Port, Program
from ..compile.trace import trace
from ..core import record
from ..core.backends import called
from ..core.checks import ROUNDING, not_negative, steps_in
from ..core.files import brief_repr, shown
from ..core.model import Model, arguments
from ..core.policy import Policy
from ..errors import InvalidValue
from ..integrate.base import as_written
from .expressions import NUMBER, TRUTH, Expression, Records

Quantity = Callable[..., Any] | str
"""A function of named arguments, or a text that `expressions` parses."""
OF_SAMPLE = ("x", "u", "p", "y", "t", "r", "log")
"""Argument names that a quantity may use."""
OF_UPDATE = ("a", "v", *OF_SAMPLE, "n", "dt")
OF_RESULT = ("a", "n", "dt")


@dataclass(frozen=True)
class Fold:
    """A metric of a run; the docstring of this module lists the arguments of its functions."""

    start: tuple[float, ...]
    """Accumulated numbers before the first sample; they may be infinite or NaN."""
    update: Callable[..., tuple[Any, ...]]
    """Function that returns the accumulated numbers after a sample, as many as in `start`."""
    result: Callable[..., Any]
    """Function that returns the metric from the numbers; for a truth value, nonzero is true."""
    of: Quantity | None = None
    """The quantity whose value is the argument `v` of the update."""
    unit: str | None = None
    """Symbol of the SI unit; None takes the unit of the quantity, if its text has one."""
    meaning: str = ""
    """Meaning of the metric in one sentence."""
    kind: str = "number"
    """"number" or "truth", as in a column."""
    of_truth: bool = False
    """Whether the quantity is a condition rather than a number."""
    needs: float = 0.0
    """Time in s that a run must reach for the metric to exist."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", _numbers(self.start))
        if self.kind not in (NUMBER, TRUTH):
            raise InvalidValue(f"kind = {self.kind!r} of a fold must be {NUMBER!r} or {TRUTH!r}")
        asked = set(arguments("update of a fold", self.update, OF_UPDATE))
        asked |= set(arguments("result of a fold", self.result, OF_RESULT))
        unknown = asked - set(OF_UPDATE)
        if unknown:
            raise InvalidValue(
                f"a fold asks for {', '.join(sorted(unknown))}; allowed are {', '.join(OF_UPDATE)}"
            )
        if "v" in asked and self.of is None:
            raise InvalidValue("the update of a fold asks for v, the value of `of`, which is None")
        if isinstance(self.of, str):
            Expression(self.of)
        elif self.of is not None:
            for name in arguments("a quantity", self.of, OF_SAMPLE):
                if name not in OF_SAMPLE:
                    raise InvalidValue(
                        f"a quantity asks for {name!r}; allowed are {', '.join(OF_SAMPLE)}"
                    )

    def check_time(self, name: str, steps: int, dt: float) -> None:
        """Raise unless runs of this number of steps have a sample at the time `needs`."""
        if self.needs > steps * dt * (1.0 + ROUNDING):
            raise InvalidValue(
                f"metric {name!r} needs t = {self.needs:g} s; a run ends at {steps * dt:g} s"
            )
        steps_in(self.needs, dt, f"time of metric {name!r}")

    def unit_for(self, records: Records) -> str:
        """Symbol of the unit; empty if unknown."""
        if self.unit is not None:
            return self.unit
        return Expression(self.of).unit(records) if isinstance(self.of, str) else ""

    def updated(self, a: tuple[Any, ...], sample: Mapping[str, Any], records: Records) -> Any:
        """Accumulated numbers after a sample: records by name, and `t`, `n`, `dt`."""
        values = {**sample, "a": a}
        if self.of is not None:
            kind = TRUTH if self.of_truth else NUMBER
            values["v"] = quantity_function(self.of, records, kind)(sample)
        names = arguments("update", self.update, OF_UPDATE)
        after = self.update(**{name: values[name] for name in names})
        if not isinstance(after, tuple) or len(after) != len(self.start):
            raise InvalidValue(
                f"the update of a fold must return a tuple of {len(self.start)} numbers, as many "
                f"as it starts with; it returned {after!r}"
            )
        return after

    def ended(self, a: tuple[Any, ...], n: Any, dt: Any) -> Any:
        """Metric from the accumulated numbers after the last sample."""
        values = {"a": a, "n": n, "dt": dt}
        names = arguments("result", self.result, OF_RESULT)
        return self.result(**{name: values[name] for name in names})


def quantity_function(
    of: Quantity, records: Records, kind: str
) -> Callable[[Mapping[str, Any]], Any]:
    """Convert a quantity to a function of records by name; raises if it needs a missing record."""
    if isinstance(of, str):
        return Expression(of).function(records, kind)
    names = arguments("a quantity", of, OF_SAMPLE)
    for name in names:
        if name not in (*records, "t"):
            missing = {"log": "no log", "y": "no output of the model"}
            what = missing.get(name, "no policy with a reference")
            raise InvalidValue(f"a quantity asks for {name!r}, but there is {what}")
    if kind == TRUTH:
        return lambda sample: _truth(of(**{name: sample[name] for name in names}))
    return lambda sample: of(**{name: sample[name] for name in names})


_TRUTHS = frozenset(("OP_LT", "OP_LE", "OP_EQ", "OP_NE", "OP_NOT", "OP_AND", "OP_OR"))


def _truth(value: Any) -> Any:
    """Return the value if it is traced from a comparison; raises for a number, since any nonzero
    number would count as true."""
    import casadi as ca

    names = {getattr(ca, name) for name in _TRUTHS}
    if isinstance(value, bool) or (isinstance(value, ca.SX) and value.op() in names):
        return value
    raise InvalidValue(
        "an event must say True or False, as `lambda x: abs(x.y) > 0.3` does; it gave "
        + ("None: a `return` may be missing" if value is None else f"a number, {str(value)[:60]}")
    )


def highest(of: Quantity, unit: str | None = None) -> Fold:
    """Largest value of a quantity; NaN if it was ever NaN."""
    return Fold((-math.inf,), _larger, _first, of, unit, f"highest {_text(of)}")


def lowest(of: Quantity, unit: str | None = None) -> Fold:
    """Smallest value of a quantity; NaN if it was ever NaN."""
    return Fold((math.inf,), _smaller, _first, of, unit, f"lowest {_text(of)}")


def mean(of: Quantity, unit: str | None = None) -> Fold:
    """Mean of a quantity over all samples."""
    return Fold((0.0,), _added, _per_sample, of, unit, f"mean of {_text(of)}")


def rms(of: Quantity, unit: str | None = None) -> Fold:
    """Root of the mean square of a quantity over all samples."""
    return Fold((0.0,), _added_square, _root, of, unit, f"root mean square of {_text(of)}")


def last(of: Quantity, unit: str | None = None) -> Fold:
    """Value of a quantity at the last sample."""
    return Fold((math.nan,), _replaced, _first, of, unit, f"{_text(of)} at the end")


def at(of: Quantity, time: float, unit: str | None = None) -> Fold:
    """Value of a quantity at a time in s, a whole number of steps; NaN if a run ended before."""
    time = not_negative("time", time, "s")
    update = partial(_taken, time=time)
    meaning = f"{_text(of)} at t = {time:g} s"
    return Fold((math.nan,), update, _first, of, unit, meaning, needs=time)


def integral(of: Quantity, unit: str | None = None) -> Fold:
    """Integral of a quantity over time in s, by the trapezoidal rule.

    `unit` is the unit of the quantity times s; it is not derived.
    """
    return Fold((0.0, 0.0), _summed, _first, of, unit or "", f"integral of {_text(of)} over time")


def time_of_highest(of: Quantity) -> Fold:
    """Time in s at which a quantity first had its largest value; NaN if it was ever NaN."""
    meaning = f"time of the highest {_text(of)}"
    return Fold((-math.inf, 0.0), _larger_with_time, _second_if_sound, of, "s", meaning)


def happened(event: Quantity) -> Fold:
    """Whether a condition was met at any sample."""
    meaning = f"whether {_text(event)} happened"
    return Fold((0.0,), _noted, _first, event, "", meaning, TRUTH, of_truth=True)


def first_time(event: Quantity) -> Fold:
    """Time in s at which a condition was first met; NaN if it never was."""
    meaning = f"time at which {_text(event)} first happened"
    return Fold((math.nan,), _noted_time, _first, event, "s", meaning, of_truth=True)


READY: dict[str, Callable[..., Fold]] = {
    fold.__name__: fold
    for fold in (
        highest, lowest, mean, rms, last, at, integral, time_of_highest, happened, first_time
    )
}  # fmt: skip
"""Fold factories that a plan file can name."""


def fold_of(plain: Any) -> Fold:
    """Make a fold from plain values as in plan files, with its other arguments:
    `{"highest": "abs(v_y)"}`, `{"at": "v_x", "time": 2.0, "unit": "m/s"}`."""
    if isinstance(plain, Fold):
        return plain
    named = [name for name in plain if name in READY] if isinstance(plain, Mapping) else []
    if len(named) != 1 or not isinstance(plain[named[0]], str):
        raise InvalidValue(
            f"metric {plain!r} must be the name of a fold and a text, such as "
            f"{{'highest': 'abs(v_y)'}}; allowed are {', '.join(READY)}"
        )
    make, others = READY[named[0]], {name: plain[name] for name in plain if name not in READY}
    allowed = [name for name in inspect.signature(make).parameters if name not in ("of", "event")]
    for name in others:
        if name not in allowed:
            raise InvalidValue(record.unknown_name(named[0], str(name), allowed, "argument"))
    if "time" in allowed and "time" not in others:
        raise InvalidValue(f"metric {plain!r} needs its time in s: {{'at': 'v_x', 'time': 2.0}}")
    return make(plain[named[0]], **others)


def _numbers(start: Any) -> tuple[float, ...]:
    try:
        return tuple(float(value) for value in (start if isinstance(start, tuple) else (start,)))
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(
            f"start = {shown(start)} of a fold must be a tuple of numbers, such as (0.0,)"
        ) from error


def _text(of: Quantity) -> str:
    return of if isinstance(of, str) else getattr(of, "__name__", "a quantity")


def _first(a: Any) -> Any:
    return a[0]


def _second_if_sound(a: Any) -> Any:
    return ops.where(ops.equal(a[0], a[0]), a[1], a[0])


def _per_sample(a: Any, n: Any) -> Any:
    return a[0] / n


def _root(a: Any, n: Any) -> Any:
    return ops.sqrt(a[0] / n)


def _larger(a: Any, v: Any) -> Any:
    return (ops.maximum(a[0], v),)


def _smaller(a: Any, v: Any) -> Any:
    return (ops.minimum(a[0], v),)


def _added(a: Any, v: Any) -> Any:
    return (a[0] + v,)


def _added_square(a: Any, v: Any) -> Any:
    return (a[0] + v * v,)


def _replaced(v: Any) -> Any:
    return (v,)


def _taken(a: Any, v: Any, n: Any, dt: Any, time: float) -> Any:
    return (ops.where(ops.equal(n, ops.floor(time / dt + 0.5)), v, a[0]),)


def _summed(a: Any, v: Any, n: Any, dt: Any) -> Any:
    total, before = a
    return (total + ops.where(ops.greater(n, 0.0), 0.5 * dt * (before + v), 0.0), v)


def _larger_with_time(a: Any, v: Any, t: Any) -> Any:
    best, time = a
    # NaN is taken once, and then stays.
    sound = ops.equal(best, best)
    taken = ops.logical_and(sound, ops.logical_not(ops.less_equal(v, best)))
    return (ops.where(taken, v, best), ops.where(taken, t, time))


def _noted(a: Any, v: Any) -> Any:
    return (ops.where(v, 1.0, a[0]),)


def _noted_time(a: Any, v: Any, t: Any) -> Any:
    unseen = ops.not_equal(a[0], a[0])
    return (ops.where(ops.logical_and(unseen, v), t, a[0]),)


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
