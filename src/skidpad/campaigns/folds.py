"""Metrics as folds over the samples of a run: what is kept while it passes, instead of all of it.

A `Fold` has numbers at the start, an update for every sample (the start of a run and the state
after each step) and a result. The functions are pure, built from `skidpad.ops` and compiled into
the loop that drives the vehicle. They name what they need:

* `a`: the numbers kept so far, a tuple; for the result, those after the last sample;
* `v`: the value of `of` at this sample, if the fold is of a quantity;
* `x`, `u`, `p`, `y`, `t`, `r`, `log`: state, input of the coming step, parameters and undisturbed
  outputs of the vehicle, time in s, what the policy is told, and the columns of a log;
* `n`: the number of the sample, from 0; for the result, how many samples there were;
* `dt`: the step in s.

A quantity is a function of some of `x`, `u`, `p`, `y`, `t`, `r` and `log`, or a text
(`expressions`).
The last sample has no step of its own: its input is what is given in that state, of a table of
controls the last row again.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from .. import ops, record
from ..brief import brief_repr, shown
from ..checks import ROUNDING, not_negative, steps_in
from ..errors import InvalidValue
from ..signature import arguments
from .expression_names import Records
from .expressions import NUMBER, TRUTH, Expression

Quantity = Callable[..., Any] | str
"""A function of named arguments or a text."""
OF_SAMPLE = ("x", "u", "p", "y", "t", "r", "log")
"""What a quantity may ask for."""
OF_UPDATE = ("a", "v", *OF_SAMPLE, "n", "dt")
OF_RESULT = ("a", "n", "dt")


@dataclass(frozen=True)
class Fold:
    """A metric of a run; see the text of this module for what its functions may ask for."""

    start: tuple[float, ...]
    """Numbers before the first sample; they may be infinite or NaN."""
    update: Callable[..., tuple[Any, ...]]
    """As many numbers after a sample."""
    result: Callable[..., Any]
    """The number that comes out; of a truth, not 0 for true."""
    of: Quantity | None = None
    """What is folded: its value is the `v` of the update."""
    unit: str | None = None
    """Symbol of the unit in SI; None: that of the quantity, as far as its text tells it."""
    meaning: str = ""
    """One sentence."""
    kind: str = "number"
    """"number" or "truth", as in a column."""
    of_truth: bool = False
    """Whether the quantity says that something happens."""
    needs: float = 0.0
    """Time in s of a sample that a run must have."""

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
        if self.of is not None:
            self._check_quantity()

    def _check_quantity(self) -> None:
        if isinstance(self.of, str):
            Expression(self.of)
            return
        for name in arguments("a quantity", self.of, OF_SAMPLE):
            if name not in OF_SAMPLE:
                raise InvalidValue(
                    f"a quantity asks for {name!r}; allowed are {', '.join(OF_SAMPLE)}"
                )

    def check_time(self, name: str, steps: int, dt: float) -> None:
        """Raise unless runs of so many steps have the sample that the metric is of."""
        if self.needs > steps * dt * (1.0 + ROUNDING):
            raise InvalidValue(
                f"metric {name!r} is of t = {self.needs:g} s; a run ends at {steps * dt:g} s"
            )
        steps_in(self.needs, dt, f"time of metric {name!r}")

    def unit_for(self, records: Records) -> str:
        """Symbol of its unit, as far as it is known."""
        if self.unit is not None:
            return self.unit
        return Expression(self.of).unit(records) if isinstance(self.of, str) else ""

    def updated(self, a: tuple[Any, ...], sample: Mapping[str, Any], records: Records) -> Any:
        """The numbers after a sample: records by their names, and `t`, `n`, `dt`."""
        values = {**sample, "a": a}
        if self.of is not None:
            values["v"] = self._quantity(records)(sample)
        after = self.update(**{name: values[name] for name in self._update_arguments})
        if not isinstance(after, tuple) or len(after) != len(self.start):
            raise InvalidValue(
                f"the update of a fold must return a tuple of {len(self.start)} numbers, as many "
                f"as it starts with; it returned {after!r}"
            )
        return after

    def ended(self, a: tuple[Any, ...], n: Any, dt: Any) -> Any:
        """What comes out of the numbers after the last sample."""
        values = {"a": a, "n": n, "dt": dt}
        return self.result(**{name: values[name] for name in self._result_arguments})

    @cached_property
    def _update_arguments(self) -> tuple[str, ...]:
        return arguments("update", self.update, OF_UPDATE)

    @cached_property
    def _result_arguments(self) -> tuple[str, ...]:
        return arguments("result", self.result, OF_RESULT)

    def _quantity(self, records: Records) -> Callable[[Mapping[str, Any]], Any]:
        assert self.of is not None
        return quantity_function(self.of, records, TRUTH if self.of_truth else NUMBER)


def quantity_function(
    of: Quantity, records: Records, kind: str
) -> Callable[[Mapping[str, Any]], Any]:
    """A quantity as a function of records by name; a missing record is named."""
    if isinstance(of, str):
        return Expression(of).function(records, kind)
    names = arguments("a quantity", of, OF_SAMPLE)
    for name in names:
        if name not in (*records, "t"):
            missing = {"log": "no log", "y": "no output of the model"}
            what = missing.get(name, "no policy that is told anything")
            raise InvalidValue(f"a quantity asks for {name!r}, but there is {what}")
    if kind == TRUTH:
        return lambda sample: _truth(of(**{name: sample[name] for name in names}))
    return lambda sample: of(**{name: sample[name] for name in names})


_TRUTHS = frozenset(("OP_LT", "OP_LE", "OP_EQ", "OP_NE", "OP_NOT", "OP_AND", "OP_OR"))


def _truth(value: Any) -> Any:
    """The value, if it is traced from a comparison. A number is no answer: any but 0 would be
    "yes"."""
    import casadi as ca

    names = {getattr(ca, name) for name in _TRUTHS}
    if isinstance(value, bool) or (isinstance(value, ca.SX) and value.op() in names):
        return value
    raise InvalidValue(
        "an event must say True or False, as `lambda x: abs(x.y) > 0.3` does; it gave "
        + ("None: a `return` may be missing" if value is None else f"a number, {str(value)[:60]}")
    )


def highest(of: Quantity, unit: str | None = None) -> Fold:
    """Largest value of a quantity; NaN if it was NaN once."""
    return Fold((-math.inf,), _larger, _first, of, unit, f"highest {_text(of)}")


def lowest(of: Quantity, unit: str | None = None) -> Fold:
    """Smallest value of a quantity; NaN if it was NaN once."""
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
    """Value of a quantity at a time in s, a whole number of steps; NaN of a run that ended before
    it."""
    time = not_negative("time", time, "s")
    update = partial(_taken, time=time)
    meaning = f"{_text(of)} at t = {time:g} s"
    return Fold((math.nan,), update, _first, of, unit, meaning, needs=time)


def integral(of: Quantity, unit: str | None = None) -> Fold:
    """Integral of a quantity over time in s, linear between samples.

    Its unit is that of the quantity times s, and has to be given.
    """
    return Fold((0.0, 0.0), _summed, _first, of, unit or "", f"integral of {_text(of)} over time")


def time_of_highest(of: Quantity) -> Fold:
    """Time in s at which a quantity first had its largest value; NaN if it was NaN once."""
    meaning = f"time of the highest {_text(of)}"
    return Fold((-math.inf, 0.0), _larger_with_time, _second_if_sound, of, "s", meaning)


def happened(event: Quantity) -> Fold:
    """Whether something happened at any sample."""
    meaning = f"whether {_text(event)} happened"
    return Fold((0.0,), _noted, _first, event, "", meaning, TRUTH, of_truth=True)


def first_time(event: Quantity) -> Fold:
    """Time in s at which something first happened; NaN if it never did."""
    meaning = f"time at which {_text(event)} first happened"
    return Fold((math.nan,), _noted_time, _first, event, "s", meaning, of_truth=True)


READY: dict[str, Callable[..., Fold]] = {
    fold.__name__: fold
    for fold in (
        highest, lowest, mean, rms, last, at, integral, time_of_highest, happened, first_time
    )
}  # fmt: skip
"""Folds that a plan file can name."""


def fold_of(plain: Any) -> Fold:
    """A fold as a plan file has it: `{"highest": "abs(v_y)"}`, with other arguments beside, as in
    `{"at": "v_x", "time": 2.0, "unit": "m/s"}`."""
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
    # So that NaN is taken once, and then stays.
    sound = ops.equal(best, best)
    taken = ops.logical_and(sound, ops.logical_not(ops.less_equal(v, best)))
    return (ops.where(taken, v, best), ops.where(taken, t, time))


def _noted(a: Any, v: Any) -> Any:
    return (ops.where(v, 1.0, a[0]),)


def _noted_time(a: Any, v: Any, t: Any) -> Any:
    unseen = ops.not_equal(a[0], a[0])
    return (ops.where(ops.logical_and(unseen, v), t, a[0]),)
