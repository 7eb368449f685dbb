"""Dimensions: every equation balances in its units, checked by evaluating it with units.

A `Quantity` carries its dimension through a model function: adding metres to seconds raises, and so
does the sine of a length. A plain number is dimensionless, but 0 and infinity fit every dimension.
The value is carried along so that comparisons have a result.
"""

from __future__ import annotations

import math
import traceback
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from .. import ops
from ..core import record
from ..errors import SkidpadError
from ..units import Unit
from .subject import DT, Subject

Dimension = tuple[float, float, float]
"""Exponents of metre, kilogram and second."""
NUMBER: Dimension = (0.0, 0.0, 0.0)


class DimensionError(SkidpadError, TypeError):
    """Quantities of different dimensions were combined, or a function does not accept one."""


class Quantity:
    """A value with its dimension, the exponents of metre, kilogram and second; `skidpad.ops`
    accepts it."""

    __slots__ = ("dimension", "value")
    __skidpad_ops__: Any
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: float, dimension: Dimension = NUMBER) -> None:
        self.value = float(value)
        self.dimension = dimension

    def __repr__(self) -> str:
        return f"{self.value:g} {symbol(self.dimension)}"

    def __add__(self, other: Any) -> Quantity:
        return Quantity(self.value + _value(other), _common("add", self, other))

    def __sub__(self, other: Any) -> Quantity:
        return Quantity(self.value - _value(other), _common("subtract", self, other))

    def __rsub__(self, other: Any) -> Quantity:
        return Quantity(_value(other) - self.value, _common("subtract", self, other))

    def __mul__(self, other: Any) -> Quantity:
        return Quantity(self.value * _value(other), _product(self, other, 1.0))

    def __truediv__(self, other: Any) -> Quantity:
        return Quantity(_quotient(self.value, _value(other)), _product(self, other, -1.0))

    def __rtruediv__(self, other: Any) -> Quantity:
        return Quantity(_quotient(_value(other), self.value), _product(other, self, -1.0))

    __radd__ = __add__
    __rmul__ = __mul__

    def __pow__(self, n: Any) -> Quantity:
        return power(self, n)

    def __neg__(self) -> Quantity:
        return Quantity(-self.value, self.dimension)

    def __pos__(self) -> Quantity:
        return self

    def __abs__(self) -> Quantity:
        return Quantity(abs(self.value), self.dimension)

    def __lt__(self, other: Any) -> bool:
        return _compared(self, other, lambda a, b: a < b)

    def __le__(self, other: Any) -> bool:
        return _compared(self, other, lambda a, b: a <= b)

    def __gt__(self, other: Any) -> bool:
        return _compared(self, other, lambda a, b: a > b)

    def __ge__(self, other: Any) -> bool:
        return _compared(self, other, lambda a, b: a >= b)

    def __eq__(self, other: object) -> bool:
        return _compared(self, other, lambda a, b: a == b)

    def __ne__(self, other: object) -> bool:
        return _compared(self, other, lambda a, b: a != b)


def symbol(dimension: Dimension) -> str:
    """Text of a dimension in SI base units, such as `m·s^-2`."""
    parts = [
        name if exponent == 1 else f"{name}^{exponent:g}"
        for name, exponent in zip(("m", "kg", "s"), dimension, strict=True)
        if exponent != 0
    ]
    return "·".join(parts) or "1"


def same(a: Dimension, b: Dimension) -> bool:
    """Whether two dimensions agree to within rounding, as exponents may come from roots."""
    return all(math.isclose(p, q, abs_tol=1e-9) for p, q in zip(a, b, strict=True))


def power(x: Any, n: Any) -> Quantity:
    if isinstance(n, Quantity):
        raise DimensionError(f"the exponent must be a plain number, got {n!r}")
    exponents = _dimension(x)
    value = ops.pow(_value(x), float(n))
    return Quantity(value, (exponents[0] * n, exponents[1] * n, exponents[2] * n))


def fits_anything(x: Any) -> bool:
    """Whether x is a literal 0 or infinity, which fit every dimension."""
    return not isinstance(x, Quantity) and (x == 0 or math.isinf(x))


def _value(x: Any) -> float:
    return x.value if isinstance(x, Quantity) else float(x)


def _dimension(x: Any) -> Dimension:
    return x.dimension if isinstance(x, Quantity) else NUMBER


def _common(verb: str, a: Any, b: Any) -> Dimension:
    if fits_anything(a):
        return _dimension(b)
    if fits_anything(b) or same(_dimension(a), _dimension(b)):
        return _dimension(a)
    raise DimensionError(f"cannot {verb} {symbol(_dimension(a))} and {symbol(_dimension(b))}")


def _product(a: Any, b: Any, sign: float) -> Dimension:
    return _combine(_dimension(a), _dimension(b), sign)


def _combine(p: Dimension, q: Dimension, sign: float) -> Dimension:
    return (p[0] + sign * q[0], p[1] + sign * q[1], p[2] + sign * q[2])


def _quotient(a: float, b: float) -> float:
    return a / b if b != 0.0 else math.nan


def _compared(a: Any, b: Any, holds: Callable[[float, float], bool]) -> bool:
    _common("compare", a, b)
    return holds(_value(a), _value(b))


def _of_numbers(name: str) -> Callable[..., Quantity]:
    """Wrap a function of dimensionless numbers, such as the sine."""
    function = getattr(ops, name)

    def applied(x: Any) -> Quantity:
        if not same(_dimension(x), NUMBER):
            raise DimensionError(
                f"{name} takes a pure number or an angle, got {symbol(x.dimension)}"
            )
        return Quantity(function(_value(x)))

    return applied


def _of_two(name: str, *, pure: bool = False) -> Callable[..., Quantity]:
    """Wrap a function of two quantities of the same dimension; `pure` if its result is
    dimensionless."""
    function = getattr(ops, name)

    def applied(a: Any, b: Any) -> Quantity:
        dimension = _common(f"take {name} of", a, b)
        return Quantity(function(_value(a), _value(b)), NUMBER if pure else dimension)

    return applied


def _where(condition: Any, a: Any, b: Any) -> Quantity:
    dimension = _common("choose between", a, b)
    return Quantity(_value(a) if _value(condition) else _value(b), dimension)


def _read(number: Any, index: Any) -> Quantity:
    """Element of a shared array; the array's number carries the dimension of its elements."""
    if not same(_dimension(index), NUMBER):
        raise DimensionError(f"read takes a pure number as index, got {symbol(index.dimension)}")
    return Quantity(ops.read(_value(number), _value(index)), _dimension(number))


_PURE = ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "floor")

Quantity.__skidpad_ops__ = SimpleNamespace(
    **{name: _of_numbers(name) for name in _PURE},
    atan2=_of_two("atan2", pure=True),
    hypot=_of_two("hypot"),
    minimum=_of_two("minimum"),
    maximum=_of_two("maximum"),
    sqrt=lambda x: power(x, 0.5),
    pow=power,
    abs=abs,
    sign=lambda x: Quantity(ops.sign(_value(x))),
    where=_where,
    read=_read,
    logical_and=lambda a, b: bool(_value(a)) and bool(_value(b)),
    logical_or=lambda a, b: bool(_value(a)) or bool(_value(b)),
    logical_not=lambda a: not _value(a),
)

SECOND = Unit("s", time=1)
JOULE: Dimension = (2.0, 1.0, -2.0)
_HERE = {Path(ops.__file__ or ""), Path(__file__)}


def dimensions(subject: Subject) -> list[str]:
    """Check that rates have the unit of the state per second, and outputs their own units."""
    model = subject.model
    x, u, w = (_with_units(part) for part in subject.points[0])
    p = _with_units(subject.params)
    per_second = {
        leaf.name: _combine(leaf.unit.dimension, SECOND.dimension, -1.0)
        for leaf in record.fields(model.State)
    }
    declared = {leaf.name: leaf.unit.dimension for leaf in record.fields(model.Outputs)}
    dt = Quantity(DT, SECOND.dimension)
    faults = _faults("the rate of ", lambda: subject.rate(x, u, w, p, dt), per_second)
    faults += _faults("the output ", lambda: subject.vehicle.outputs(x, u, w, p), declared)
    if (energy := model.energy) is not None:
        faults += _faults("the ", lambda: (energy(x, p),), {"energy": JOULE})
    return faults


def _with_units(value: Any) -> Any:
    leaves = zip(record.fields(type(value)), record.flatten(value), strict=True)
    return record.unflatten(
        type(value), [Quantity(number, leaf.unit.dimension) for leaf, number in leaves]
    )


def _faults(what: str, call: Callable[[], Any], expected: dict[str, Dimension]) -> list[str]:
    try:
        leaves = record.flatten(call())
    except DimensionError as error:
        return [f"{error}, in {_place(error)}"]
    return [
        f"{what}{name} comes out in {symbol(_dimension(leaf))}, expected {symbol(want)}"
        for (name, want), leaf in zip(expected.items(), leaves, strict=True)
        if not fits_anything(leaf) and not same(_dimension(leaf), want)
    ]


def _place(error: Exception) -> str:
    """Line of the model that raised an error: the innermost one outside this module."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) not in _HERE]
    last = frames[-1]
    return f"{Path(last.filename).name}, line {last.lineno}: {last.line}"
