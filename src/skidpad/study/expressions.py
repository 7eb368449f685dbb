"""Expressions: parse texts such as `abs(v_y) / v_x` into functions, without executing Python.

A text consists of arithmetic, comparisons and calls of functions of `skidpad.ops`. A plain name is
a field of the state or, if the state has no such field, an output of the model: `a_y`, or `F_z_fl`,
which is also `F_z[0]`, with the wheels fl, fr, rl, rr in order. `y.a_y` is always an output,
`u.steer` a field of the input, `p.m` of the parameters, `r.v` of the reference of the policy,
`log.y` a column of a log, and `t` the time in s. No other Python is accepted, so a text from an
untrusted source can be wrong but cannot do harm.

`Expression` parses a text and resolves its names for the records of a vehicle; `unit_of` derives
its unit from the units of the fields.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import attrgetter
from typing import Any, NamedTuple

from .. import ops
from ..core import record
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


def _names_in(records: Records) -> list[str]:
    alone = (STATE, OUTPUT)
    plain = [n for k in alone if k in records for n in record.names(records[k])]
    others = [
        f"{k}.{n}" for k, kind in records.items() if k not in alone for n in record.names(kind)
    ]
    return [*dict.fromkeys(plain), TIME, *CONSTANTS, *others]


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
"""Limits of a text: number of characters, and number of operations, names and constants."""
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
        """Make an error that points at a part of the text."""
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
            raise self._expression.mistake(f"{_shown(node)} is no number", node)
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
            raise self._expression.mistake(f"{_shown(node)} is no field of a record", node)
        where = place_of(path, self._records)
        if where is not None:
            root, names = where
            field = attrgetter(".".join(names))
            return _Part(lambda values: field(values[root]), NUMBER)
        if path == TIME:
            return _Part(lambda values: values[TIME], NUMBER)
        if path in CONSTANTS:
            return _constant(CONSTANTS[path])
        raise InvalidValue(
            record.unknown_name(
                f"expression {self._expression.text!r}:", path, _names_in(self._records), "name"
            ).replace(": has", ": there is", 1)
        )

    def _sign(self, node: ast.UnaryOp) -> _Part:
        inner = self.part(node.operand)
        if isinstance(node.op, (ast.Invert, ast.Not)):
            self._must_be(TRUTH, inner, node.operand)
            return _Part(lambda values: ops.logical_not(inner.value(values)), TRUTH)
        self._must_be(NUMBER, inner, node.operand)
        if isinstance(node.op, ast.UAdd):
            return inner
        return self._folded(node, [inner], operator.neg)

    def _power(self, node: ast.BinOp) -> _Part:
        base, exponent = self.part(node.left), self.part(node.right)
        self._must_be(NUMBER, base, node.left)
        if exponent.constant is None:
            raise self._expression.mistake("an exponent must be a constant", node)
        power = exponent.constant
        return self._folded(node, [base], lambda value: ops.pow(value, power))

    def _joined(self, node: ast.AST, sign: ast.AST, operands: list[ast.expr]) -> _Part:
        """Parsed piece of operands joined by one operator, from left to right."""
        logic = type(sign) in _LOGIC
        two = _LOGIC[type(sign)] if logic else _ARITHMETIC[type(sign)]
        whole = self.part(operands[0])
        self._must_be(TRUTH if logic else NUMBER, whole, operands[0])
        for operand in operands[1:]:
            following = self.part(operand)
            self._must_be(TRUTH if logic else NUMBER, following, operand)
            whole = self._folded(node, [whole, following], two, TRUTH if logic else NUMBER)
        return whole

    def _comparison(self, node: ast.Compare) -> _Part:
        """Parsed piece of a comparison, or of a chain such as `0 < y < 1`."""
        operands = [node.left, *node.comparators]
        read = [self.part(operand) for operand in operands]
        for one, operand in zip(read, operands, strict=True):
            self._must_be(NUMBER, one, operand)
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
            text = self._expression.text
            raise InvalidValue(
                record.unknown_name(f"expression {text!r}:", name, tuple(FUNCTIONS), "function")
                .replace(": has", ": there is", 1)
            )  # fmt: skip
        function, counts = FUNCTIONS[name]
        if node.keywords or len(node.args) not in counts:
            raise self._expression.mistake(f"{name} takes {counts[0]} arguments in order", node)
        read = [self.part(argument) for argument in node.args]
        for place, (one, argument) in enumerate(zip(read, node.args, strict=True)):
            self._must_be(TRUTH if name == "where" and place == 0 else NUMBER, one, argument)
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
            raise self._expression.mistake(f"{_shown(node)} is no finite number", node)
        return _constant(value)

    def _must_be(self, kind: str, part: _Part, node: ast.AST) -> None:
        if part.kind != kind:
            wanted = "a number" if kind == NUMBER else "a condition"
            raise self._expression.mistake(f"{_shown(node)} must be {wanted}", node)


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
