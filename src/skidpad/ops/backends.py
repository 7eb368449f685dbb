"""Which library computes: the elementary functions of floats, NumPy, CasADi and JAX by one name."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..errors import InvalidValue
from ..shared_arrays import ArrayNumber
from . import reading

PLAIN: dict[type, bool] = {float: True, int: True, bool: True, ArrayNumber: True}
"""Classes of plain numbers."""


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


def backend_of(*args: Any) -> Any:
    """The functions for these arguments: those of the first one that is not a plain number.

    NumPy gives way to the others, which take its arrays and scalars as constants.
    """
    chosen: Any = _FLOAT
    for a in args:
        kind = type(a)
        if kind in PLAIN:
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
