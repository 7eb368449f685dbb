"""The elementary functions of `skidpad.ops`, and tables of a few knots."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import pairwise
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np

from ..calls import called
from ..errors import InvalidValue
from ..shared_arrays import ArrayNumber
from . import reading

__all__ = [
    "abs",
    "acos",
    "asin",
    "atan",
    "atan2",
    "called",
    "clip",
    "cos",
    "cosh",
    "equal",
    "exp",
    "floor",
    "greater",
    "greater_equal",
    "hypot",
    "less",
    "less_equal",
    "log",
    "logical_and",
    "logical_not",
    "logical_or",
    "lookup",
    "lookup2",
    "maximum",
    "minimum",
    "not_equal",
    "pow",
    "read",
    "sign",
    "sin",
    "sinh",
    "smooth_abs",
    "smooth_hypot",
    "smooth_step",
    "sqrt",
    "tan",
    "tanh",
    "where",
]

T = TypeVar("T")

_PLAIN: dict[type, bool] = {float: True, int: True, bool: True, ArrayNumber: True}


def _or_nan(function: Callable[..., float], fallback: Callable[..., Any]) -> Callable[..., float]:
    """`function`, but where `math` raises, the IEEE answer that NumPy gives."""

    def ieee(*args: float) -> float:
        try:
            return function(*args)
        except (ValueError, OverflowError, ZeroDivisionError):
            with np.errstate(all="ignore"):
                return float(fallback(*args))

    return ieee


def _float_minimum(a: float, b: float) -> float:
    return a if (a < b or a != a) else b


def _float_maximum(a: float, b: float) -> float:
    return a if (a > b or a != a) else b


def _float_sign(x: float) -> float:
    return x if x != x else float((x > 0) - (x < 0))


_ELEMENTARY = (
    ("sin", "sin"),
    ("cos", "cos"),
    ("tan", "tan"),
    ("asin", "arcsin"),
    ("acos", "arccos"),
    ("atan", "arctan"),
    ("atan2", "arctan2"),
    ("sinh", "sinh"),
    ("cosh", "cosh"),
    ("tanh", "tanh"),
    ("exp", "exp"),
    ("log", "log"),
    ("sqrt", "sqrt"),
    ("hypot", "hypot"),
)
"""Names here (and in `math` and CasADi) beside NumPy's and JAX's."""


def _float_backend() -> SimpleNamespace:
    backend = SimpleNamespace(
        **{name: _or_nan(getattr(math, name), getattr(np, array)) for name, array in _ELEMENTARY}
    )
    backend.pow = _or_nan(math.pow, lambda x, n: np.power(float(x), float(n)))
    backend.abs = math.fabs
    backend.sign = _float_sign
    backend.minimum = _float_minimum
    backend.maximum = _float_maximum
    # The sign goes with it, so that floor(-0.0) is -0.0 as elsewhere.
    backend.floor = _or_nan(lambda x: math.copysign(math.floor(x), x), np.floor)
    backend.where = lambda condition, a, b: a if condition else b
    backend.logical_and = lambda a, b: bool(a) and bool(b)
    backend.logical_or = lambda a, b: bool(a) or bool(b)
    backend.logical_not = lambda a: not a
    backend.read = reading.of_floats
    return backend


def _array_backend(library: Any) -> SimpleNamespace:
    """NumPy or jax.numpy: they share names."""
    names = ("abs", "sign", "minimum", "maximum", "floor", "where")
    logical = ("logical_and", "logical_or", "logical_not")
    pairs = [*_ELEMENTARY, ("pow", "power"), *((name, name) for name in (*names, *logical))]
    backend = SimpleNamespace(**{ours: getattr(library, theirs) for ours, theirs in pairs})
    backend.read = reading.of_arrays if library is np else partial(reading.of_jax, library)
    return backend


@cache
def _casadi_backend() -> SimpleNamespace:
    import casadi

    backend = SimpleNamespace(**{name: getattr(casadi, name) for name, _ in _ELEMENTARY})
    backend.pow = lambda x, n: casadi.power(x, n)
    backend.abs = casadi.fabs
    backend.sign = casadi.sign
    backend.minimum = casadi.fmin
    backend.maximum = casadi.fmax
    backend.floor = casadi.floor
    backend.where = casadi.if_else
    backend.logical_and = casadi.logic_and
    backend.logical_or = casadi.logic_or
    backend.logical_not = casadi.logic_not
    backend.read = reading.of_symbols
    return backend


@cache
def _jax_backend() -> SimpleNamespace:
    return _array_backend(sys.modules["jax.numpy"] if "jax.numpy" in sys.modules else _import_jax())


def _import_jax() -> Any:
    import jax.numpy

    return jax.numpy


_FLOAT = _float_backend()
_NUMPY = _array_backend(np)
_MAKERS: dict[str, Callable[[], Any]] = {
    "numpy": lambda: _NUMPY,
    "casadi": _casadi_backend,
    "jax": _jax_backend,
    "jaxlib": _jax_backend,
}
_BACKENDS: dict[type, Any] = {}


def _backend(*args: Any) -> Any:
    """The functions for these arguments: those of the first one that is not a plain number.

    NumPy gives way to the others, which take its arrays and scalars as constants.
    """
    chosen: Any = _FLOAT
    for a in args:
        kind = type(a)
        if kind in _PLAIN:
            continue
        backend = _BACKENDS.get(kind) or _find(kind)
        if chosen is _FLOAT or chosen is _NUMPY:
            chosen = backend
    return chosen


def _find(kind: type) -> Any:
    backend = getattr(kind, "__skidpad_ops__", None)
    if backend is None:
        root = next((c.__module__.partition(".")[0] for c in kind.__mro__ if c is not object), "")
        maker = _MAKERS.get(root)
        if maker is None:
            raise InvalidValue(
                f"skidpad.ops cannot compute with {kind.__module__}.{kind.__qualname__}; "
                "allowed are float, NumPy, CasADi and JAX values"
            )
        backend = maker()
    _BACKENDS[kind] = backend
    return backend


def sin(x: T) -> T:
    """Sine; x in rad."""
    return _backend(x).sin(x)


def cos(x: T) -> T:
    """Cosine; x in rad."""
    return _backend(x).cos(x)


def tan(x: T) -> T:
    """Tangent; x in rad."""
    return _backend(x).tan(x)


def asin(x: T) -> T:
    """Arc sine in rad, for x from -1 to 1, else NaN. Its gradient is infinite at the ends."""
    return _backend(x).asin(x)


def acos(x: T) -> T:
    """Arc cosine in rad, for x from -1 to 1, else NaN. Its gradient is infinite at the ends."""
    return _backend(x).acos(x)


def atan(x: T) -> T:
    """Arc tangent in rad, in (-π/2, π/2)."""
    return _backend(x).atan(x)


def atan2(y: T, x: Any) -> T:
    """Angle of the vector (x, y) in rad, in [-π, π]. Its gradient is NaN at the origin."""
    return _backend(y, x).atan2(y, x)


def sinh(x: T) -> T:
    """Hyperbolic sine."""
    return _backend(x).sinh(x)


def cosh(x: T) -> T:
    """Hyperbolic cosine."""
    return _backend(x).cosh(x)


def tanh(x: T) -> T:
    """Hyperbolic tangent."""
    return _backend(x).tanh(x)


def exp(x: T) -> T:
    """Exponential."""
    return _backend(x).exp(x)


def log(x: T) -> T:
    """Natural logarithm; -inf at 0, NaN below."""
    return _backend(x).log(x)


def sqrt(x: T) -> T:
    """Square root; NaN below 0. Its gradient is infinite at 0."""
    return _backend(x).sqrt(x)


def hypot(x: T, y: Any) -> T:
    """Length of the vector (x, y). Its gradient is NaN at the origin: see `smooth_hypot`."""
    return _backend(x, y).hypot(x, y)


def pow(x: T, n: float) -> T:
    """x to a constant power n. A power that is not a whole number needs x >= 0."""
    if type(n) not in _PLAIN:
        raise InvalidValue(f"pow takes a constant exponent, got {type(n).__name__}")
    return _backend(x).pow(x, n)


def abs(x: T) -> T:
    """|x|. Its gradient jumps at 0: see `smooth_abs`."""
    return _backend(x).abs(x)


def sign(x: T) -> T:
    """-1, 0 or 1."""
    return _backend(x).sign(x)


def minimum(a: T, b: Any) -> T:
    """The smaller one; NaN if either is NaN."""
    return _backend(a, b).minimum(a, b)


def maximum(a: T, b: Any) -> T:
    """The larger one; NaN if either is NaN."""
    return _backend(a, b).maximum(a, b)


def clip(x: T, low: Any, high: Any) -> T:
    """x limited to [low, high]."""
    return minimum(maximum(x, low), high)


def floor(x: T) -> T:
    """Largest whole number not above x."""
    return _backend(x).floor(x)


def where(condition: Any, a: Any, b: Any) -> Any:
    """a where the condition holds, else b. Both are evaluated, so both must be finite for
    gradients."""
    return _backend(condition, a, b).where(condition, a, b)


def less(a: Any, b: Any) -> Any:
    """a < b, as the operator. Comparisons with NaN do not hold, except `not_equal`."""
    return a < b


def less_equal(a: Any, b: Any) -> Any:
    """a <= b, as the operator."""
    return a <= b


def greater(a: Any, b: Any) -> Any:
    """a > b, as the operator."""
    return a > b


def greater_equal(a: Any, b: Any) -> Any:
    """a >= b, as the operator."""
    return a >= b


def equal(a: Any, b: Any) -> Any:
    """a == b, as the operator."""
    return a == b


def not_equal(a: Any, b: Any) -> Any:
    """a != b, as the operator."""
    return a != b


def logical_and(a: Any, b: Any) -> Any:
    """Whether both conditions hold."""
    return _backend(a, b).logical_and(a, b)


def logical_or(a: Any, b: Any) -> Any:
    """Whether at least one condition holds."""
    return _backend(a, b).logical_or(a, b)


def logical_not(a: Any) -> Any:
    """Whether the condition does not hold."""
    return _backend(a).logical_not(a)


def read(number: Any, index: Any) -> Any:
    """The element at a whole index of a shared array (see `shared_array`), by its number.

    An index before the first element or behind the last one reads that one. A number that no array
    has, or has any more, and a NaN read NaN. Derivatives are zero.
    """
    return _backend(number, index).read(number, index)


def smooth_abs(x: T, width: Any) -> T:
    """sqrt(x² + width²) - width: |x| with a rounded corner of about `width`, smooth everywhere."""
    return sqrt(x * x + width * width) - width  # type: ignore[operator]


def smooth_hypot(x: T, y: Any, width: Any) -> T:
    """sqrt(x² + y² + width²): the length of (x, y) with finite gradient at the origin."""
    return sqrt(x * x + y * y + width * width)  # type: ignore[operator]


def smooth_step(x: T, low: Any, high: Any) -> T:
    """0 below `low`, 1 above `high`, and the C² quintic 6t⁵-15t⁴+10t³ between them."""
    t: Any = clip((x - low) / (high - low), 0.0, 1.0)
    return t * t * t * (t * (6.0 * t - 15.0) + 10.0)


def lookup(x: Any, knots: Sequence[Any], values: Sequence[Any]) -> Any:
    """Piecewise linear table: `values[i]` at `knots[i]`, edge values outside.

    Written as a sum of hat functions: branch-free, differentiable with respect to x and the values.
    """
    weights = _hats(x, _checked_knots(knots, len(values)))
    return _weighted_sum(weights, values)


def lookup2(
    row: Any,
    column: Any,
    rows: Sequence[Any],
    columns: Sequence[Any],
    values: Sequence[Sequence[Any]],
) -> Any:
    """Bilinear table: `values[i][j]` at (`rows[i]`, `columns[j]`), edge values outside."""
    row_weights = _hats(row, _checked_knots(rows, len(values)))
    column_weights = _hats(column, _checked_knots(columns, len(values[0])))
    if any(len(line) != len(columns) for line in values):
        raise InvalidValue(f"lookup2 needs {len(columns)} values in every row")
    # Rows first: each column is then one sum, half the work of interpolating along every row.
    by_column = [
        _weighted_sum(row_weights, [line[j] for line in values]) for j in range(len(columns))
    ]
    return _weighted_sum(column_weights, by_column)


def _checked_knots(knots: Sequence[Any], count: int) -> Sequence[Any]:
    if len(knots) != count or count < 2:
        raise InvalidValue(
            f"lookup needs one value per knot and at least 2; got {len(knots)} knots and "
            f"{count} values"
        )
    if all(isinstance(k, (int, float)) for k in knots) and any(
        not a < b for a, b in pairwise(knots)
    ):
        raise InvalidValue(f"lookup knots must increase, got {list(knots)}")
    return knots


def _hats(x: Any, knots: Sequence[Any]) -> list[Any]:
    """Weight of each knot at x: the difference of neighbouring ramps, which sum to one."""
    ramps = [clip((x - a) * (1.0 / (b - a)), 0.0, 1.0) for a, b in pairwise(knots)]
    inner = [before - after for before, after in pairwise(ramps)]
    return [1.0 - ramps[0], *inner, ramps[-1]]


def _weighted_sum(weights: Sequence[Any], values: Sequence[Any]) -> Any:
    total: Any = weights[0] * values[0]
    for weight, value in zip(weights[1:], values[1:], strict=True):
        total = total + weight * value
    return total
