"""Metrics as folds over the samples of a run, and the expressions that they may be written in.

A `Fold` has start numbers, an update for every sample (the start of a run and the state after each
step) and a result. The functions are pure, built from `skidpad.ops` and compiled into the
simulation loop (`rollout_kernel`). They declare what they need by the names of their arguments:

* `a`: the accumulated numbers, a tuple; for the result, those after the last sample;
* `v`: the value of `of` at this sample, if the fold has a quantity;
* `x`, `u`, `p`, `y`, `t`, `r`, `log`: state, input of the coming step, parameters and undisturbed
  outputs of the vehicle, time in s, reference of the policy, and the columns of a log;
* `n`: the number of the sample, from 0; for the result, the number of samples;
* `dt`: the step in s.

A quantity is a function of some of `x`, `u`, `p`, `y`, `t`, `r` and `log`, or a text. No step
follows the last sample; its input is the command computed in that state, or the last row of a table
of controls.

A text such as `abs(v_y) / v_x` consists of arithmetic, comparisons and calls of functions of
`skidpad.ops`. A plain name is a field of the state or, if the state has no such field, an output of
the model: `a_y`, or `F_z_fl`, which is also `F_z[0]`, with the wheels fl, fr, rl, rr in order.
`y.a_y` is always an output, `u.steer` a field of the input, `p.m` of the parameters, `r.v` of the
reference of the policy, `log.y` a column of a log, and `t` the time in s. No other Python is
accepted, so a text from an untrusted source can be wrong but cannot do harm. `Expression` parses a
text and resolves its names for the records of a vehicle; `unit_of` derives its unit from the units
of the fields.
"""

from __future__ import annotations

import ast
import inspect
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from operator import attrgetter
from typing import Any, NamedTuple

from .. import ops
from ..core import record
from ..core.checks import ROUNDING, not_negative, steps_in
from ..core.files import brief_repr, shown
from ..core.model import arguments
from ..core.record import NO_UNIT
from ..errors import InvalidValue

TIME = "t"
STATE, OUTPUT = "x", "y"
"""Records whose fields need no prefix, the state first."""
WHEELS = ("fl", "fr", "rl", "rr")
"""Suffixes of fields of the wheels, by index."""
CONSTANTS = {"pi": math.pi}

Records = Mapping[str, type]
"""Record classes that a text may read, by the prefixes `x`, `u`, `p`, `y`, `r` and `log`."""


def path_of(node: ast.AST) -> str | None:
    """Dotted name of a syntax node, `F_z_fl` for `F_z[0]`; None if the node is not a name."""
    if isinstance(node, ast.Subscript):
        path, index = path_of(node.value), node.slice
        if path is None or not isinstance(index, ast.Constant) or type(index.value) is not int:
            return None
        if not 0 <= index.value < len(WHEELS):
            return None
        return f"{path}_{WHEELS[index.value]}"
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id, *reversed(parts)])


def place_of(path: str, records: Records) -> tuple[str, list[str]] | None:
    """Record and field names of a path; None if it does not lead to a leaf."""
    for plain in (STATE, OUTPUT):
        if plain in records and path in record.names(records[plain]):
            return plain, path.split(".")
    root, _, rest = path.partition(".")
    if root in records and rest in record.names(records[root]):
        return root, rest.split(".")
    return None


def unit_of(node: ast.AST, records: Records) -> str:
    """Unit symbol of an expression as far as it follows from fields, signs, sums and `abs`."""
    match node:
        case ast.Name() | ast.Attribute() | ast.Subscript():
            path = path_of(node) or ""
            where = place_of(path, records)
            if where is None:
                return "s" if path == TIME else ""
            leaves = {leaf.name: leaf.unit for leaf in record.fields(records[where[0]])}
            unit = leaves[".".join(where[1])]
            return "" if unit == NO_UNIT else unit.symbol
        case ast.UnaryOp():
            return unit_of(node.operand, records)
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            return _shared([node.left, node.right], records)
        case ast.Call(func=ast.Name(id="abs" | "maximum" | "minimum" | "clip" | "hypot")):
            return _shared(node.args, records)
        case _:
            return ""


def _shared(nodes: list[ast.expr], records: Records) -> str:
    units = {unit_of(node, records) for node in nodes if not isinstance(node, ast.Constant)}
    return units.pop() if len(units) == 1 else ""


LONGEST, MOST_PARTS = 1000, 300
"""Limits of the text of an expression: number of characters, and number of operations, names and
constants."""
NUMBER, TRUTH = "number", "truth"
FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    **{
        name: (getattr(ops, name), (1,))
        for name in (
            "abs", "acos", "asin", "atan", "cos", "cosh", "exp", "floor", "log", "sign", "sin",
            "sinh", "sqrt", "tan", "tanh",
        )
    },
    **{name: (getattr(ops, name), (2,)) for name in ("atan2", "hypot", "maximum", "minimum")},
    "clip": (ops.clip, (3,)),
    "where": (ops.where, (3,)),
}  # fmt: skip
"""Functions with their permitted numbers of arguments; the first argument of `where` is a
condition."""

_ARITHMETIC: dict[type[Any], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_COMPARISONS: dict[type[Any], Callable[[Any, Any], Any]] = {
    ast.Lt: ops.less,
    ast.LtE: ops.less_equal,
    ast.Gt: ops.greater,
    ast.GtE: ops.greater_equal,
    ast.Eq: ops.equal,
    ast.NotEq: ops.not_equal,
}
_LOGIC: dict[type[Any], Callable[[Any, Any], Any]] = {
    ast.BitAnd: ops.logical_and,
    ast.BitOr: ops.logical_or,
    ast.And: ops.logical_and,
    ast.Or: ops.logical_or,
}


class _Part(NamedTuple):
    """A parsed piece of an expression."""

    value: Callable[[Mapping[str, Any]], Any]
    """Function from records by name to the value."""
    kind: str
    """"number" or "truth"."""
    constant: float | None = None


@dataclass(frozen=True)
class Expression:
    """A parsed expression; raises `InvalidValue` if the text is not arithmetic."""

    text: str

    def __post_init__(self) -> None:
        for node in ast.walk(self._tree):
            if not isinstance(node, _KNOWN):
                raise self.mistake(f"{_shown(node)} cannot be used", node)

    @cached_property
    def _tree(self) -> ast.expr:
        text = self.text
        if not isinstance(text, str) or not text.strip():
            raise InvalidValue(f"expression {text!r} must be a text such as 'abs(v_y) / v_x'")
        if len(text) > LONGEST:
            raise InvalidValue(
                f"expression of {len(text)} characters: at most {LONGEST} are allowed"
            )
        try:
            tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            why = error.msg if isinstance(error, SyntaxError) else str(error) or "too deep"
            raise InvalidValue(f"expression {text!r} cannot be read: {why}") from error
        if sum(1 for _ in ast.walk(tree)) > MOST_PARTS:
            raise InvalidValue(f"expression {text[:40]!r}... has more than {MOST_PARTS} parts")
        return tree

    def function(self, records: Records, kind: str = NUMBER) -> Callable[[Mapping[str, Any]], Any]:
        """Compile to a function of records of these classes by name, and of the time `t`."""
        read = _Reader(self, records).part(self._tree)
        if read.kind != kind:
            wanted = (
                "say whether something happens, as 'abs(y) > 0.3' does"
                if kind == TRUTH
                else "give a number; where(condition, 1, 0) makes one of a condition"
            )
            raise InvalidValue(f"expression {self.text!r} must {wanted}")
        return read.value

    def unit(self, records: Records) -> str:
        """Symbol of the unit; empty if it does not follow from the fields."""
        return unit_of(self._tree, records)

    def mistake(self, what: str, node: ast.AST) -> InvalidValue:
        """Make an error that points at a part of the expression."""
        column = getattr(node, "col_offset", 0)
        return InvalidValue(
            f"expression {self.text!r}: {what} (character {column + 1}). Allowed are numbers, "
            "fields, + - * / **, comparisons, & | ~ and the functions " + ", ".join(FUNCTIONS)
        )


class _Reader:
    """Evaluates the syntax tree of one expression for the records of a vehicle."""

    def __init__(self, expression: Expression, records: Records) -> None:
        self._expression, self._records = expression, records

    def part(self, node: ast.AST) -> _Part:
        match node:
            case ast.Constant():
                return _constant(self._number(node))
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return self._field(node)
            case ast.UnaryOp():
                return self._sign(node)
            case ast.BinOp(op=ast.Pow()):
                return self._power(node)
            case ast.BinOp():
                return self._joined(node, node.op, [node.left, node.right])
            case ast.BoolOp():
                return self._joined(node, node.op, node.values)
            case ast.Compare():
                return self._comparison(node)
            case ast.Call():
                return self._call(node)
            case _:
                raise self._expression.mistake(f"{_shown(node)} cannot be used", node)

    def _number(self, node: ast.Constant) -> float:
        if type(node.value) not in (int, float):
            raise self._expression.mistake(f"{_shown(node)} is not a number", node)
        try:
            value = float(node.value)  # pyright: ignore[reportArgumentType]
        except OverflowError:
            value = math.inf
        if not math.isfinite(value):
            raise self._expression.mistake(f"{_shown(node)} is too large", node)
        return value

    def _field(self, node: ast.Name | ast.Attribute | ast.Subscript) -> _Part:
        path = path_of(node)
        if path is None and isinstance(node, ast.Subscript):
            wheels = ", ".join(f"{k} ({name})" for k, name in enumerate(WHEELS))
            raise self._expression.mistake(
                f"{_shown(node)}: the index of a wheel is one of {wheels}", node
            )
        if path is None:
            raise self._expression.mistake(f"{_shown(node)} is not a field of a record", node)
        where = place_of(path, self._records)
        if where is not None:
            root, names = where
            field = attrgetter(".".join(names))
            return _Part(lambda values: field(values[root]), NUMBER)
        if path == TIME:
            return _Part(lambda values: values[TIME], NUMBER)
        if path in CONSTANTS:
            return _constant(CONSTANTS[path])
        alone = [self._records[name] for name in (STATE, OUTPUT) if name in self._records]
        plain = dict.fromkeys(name for kind in alone for name in record.names(kind))
        others = [
            f"{prefix}.{name}"
            for prefix, kind in self._records.items()
            if kind not in alone
            for name in record.names(kind)
        ]
        raise self._unknown(path, [*plain, TIME, *CONSTANTS, *others], "name")

    def _unknown(self, name: str, known: Sequence[str], noun: str) -> InvalidValue:
        text = record.unknown_name(f"expression {self._expression.text!r}:", name, known, noun)
        return InvalidValue(text.replace(": has", ": there is", 1))

    def _sign(self, node: ast.UnaryOp) -> _Part:
        negated = isinstance(node.op, (ast.Invert, ast.Not))
        (inner,) = self._operands([node.operand], TRUTH if negated else NUMBER)
        if negated:
            return _Part(lambda values: ops.logical_not(inner.value(values)), TRUTH)
        if isinstance(node.op, ast.UAdd):
            return inner
        return self._folded(node, [inner], operator.neg)

    def _power(self, node: ast.BinOp) -> _Part:
        (base,), exponent = self._operands([node.left]), self.part(node.right)
        if exponent.constant is None:
            raise self._expression.mistake("an exponent must be a constant", node)
        power = exponent.constant
        return self._folded(node, [base], lambda value: ops.pow(value, power))

    def _joined(self, node: ast.AST, sign: ast.AST, operands: list[ast.expr]) -> _Part:
        """Parsed piece of operands joined by one operator, from left to right."""
        kind = TRUTH if type(sign) in _LOGIC else NUMBER
        two = (_LOGIC if kind == TRUTH else _ARITHMETIC)[type(sign)]
        whole, *others = self._operands(operands, kind)
        for following in others:
            whole = self._folded(node, [whole, following], two, kind)
        return whole

    def _comparison(self, node: ast.Compare) -> _Part:
        """Parsed piece of a comparison, or of a chain such as `0 < y < 1`."""
        read = self._operands([node.left, *node.comparators])
        if all(one.constant is not None for one in read):
            raise self._expression.mistake("a comparison of constants never changes", node)
        pairs = zip(node.ops, read[:-1], read[1:], strict=True)
        links = [(_COMPARISONS[type(sign)], a.value, b.value) for sign, a, b in pairs]

        def value(values: Mapping[str, Any]) -> Any:
            return reduce(ops.logical_and, (holds(a(values), b(values)) for holds, a, b in links))

        return _Part(value, TRUTH)

    def _call(self, node: ast.Call) -> _Part:
        name = path_of(node.func) or _shown(node.func)
        if name not in FUNCTIONS:
            raise self._unknown(name, tuple(FUNCTIONS), "function")
        function, counts = FUNCTIONS[name]
        if node.keywords or len(node.args) not in counts:
            raise self._expression.mistake(f"{name} takes {counts[0]} arguments in order", node)
        conditions = 1 if name == "where" else 0
        read = self._operands(node.args[:conditions], TRUTH)
        read += self._operands(node.args[conditions:])
        return self._folded(node, read, function)

    def _folded(
        self, node: ast.AST, parts: list[_Part], function: Callable[..., Any], kind: str = NUMBER
    ) -> _Part:
        """Parsed piece that applies a function; folded to a constant if all arguments are
        constants."""
        numbers = [part.constant for part in parts]
        if None in numbers:
            return _Part(lambda values: function(*(part.value(values) for part in parts)), kind)
        try:
            value = float(function(*numbers))
        except (ArithmeticError, ValueError, TypeError):
            value = math.nan
        if not math.isfinite(value):
            raise self._expression.mistake(f"{_shown(node)} is not a finite number", node)
        return _constant(value)

    def _operands(self, nodes: Sequence[ast.expr], kind: str = NUMBER) -> list[_Part]:
        """Parsed pieces, which must all be numbers or all be conditions."""
        parts: list[_Part] = []
        for node in nodes:
            parts.append(self.part(node))
            if parts[-1].kind != kind:
                wanted = "a number" if kind == NUMBER else "a condition"
                raise self._expression.mistake(f"{_shown(node)} must be {wanted}", node)
        return parts


_KNOWN = (
    ast.Constant, ast.Name, ast.Attribute, ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare,
    ast.Call, ast.Load, ast.UAdd, ast.USub, ast.Invert, ast.Not, ast.Pow, ast.keyword,
    ast.Subscript, *_ARITHMETIC, *_LOGIC, *_COMPARISONS,
)  # fmt: skip


def _constant(value: float) -> _Part:
    return _Part(lambda _: value, NUMBER, value)


def _shown(node: ast.AST) -> str:
    if isinstance(node, ast.expr):
        return repr(ast.unparse(node)[:60])
    return type(node).__name__


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
                f"a fold uses {', '.join(sorted(unknown))}; allowed are {', '.join(OF_UPDATE)}"
            )
        if "v" in asked and self.of is None:
            raise InvalidValue("the update of a fold uses v, the value of `of`, but `of` is None")
        if isinstance(self.of, str):
            Expression(self.of)
        elif self.of is not None:
            for name in arguments("a quantity", self.of, OF_SAMPLE):
                if name not in OF_SAMPLE:
                    raise InvalidValue(
                        f"a quantity uses {name!r}; allowed are {', '.join(OF_SAMPLE)}"
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
        """Accumulated numbers after a sample, which consists of records by name, `t`, `n` and
        `dt`."""
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
            raise InvalidValue(f"a quantity uses {name!r}, but there is {what}")
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
            f"metric {plain!r} must map the name of a fold to an expression, such as "
            f"{{'highest': 'abs(v_y)'}}; allowed folds are {', '.join(READY)}"
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
    # Once a value is NaN, the fold keeps NaN.
    sound = ops.equal(best, best)
    taken = ops.logical_and(sound, ops.logical_not(ops.less_equal(v, best)))
    return (ops.where(taken, v, best), ops.where(taken, t, time))


def _noted(a: Any, v: Any) -> Any:
    return (ops.where(v, 1.0, a[0]),)


def _noted_time(a: Any, v: Any, t: Any) -> Any:
    unseen = ops.not_equal(a[0], a[0])
    return (ops.where(ops.logical_and(unseen, v), t, a[0]),)
