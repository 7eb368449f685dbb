"""Numerical backends: the elementary functions of floats, NumPy, CasADi and JAX under common names.

`of_floats`, `of_arrays`, `of_symbols` and `of_jax` read elements of shared arrays in each library;
`skidpad.ops.read` defines the operation.

`called(kernel, a, b)` is `kernel(a, b)` in every backend. Only while a function is traced into a
Program does the tracer intercept the call: the kernel becomes a function of the Program, which
compiled code contains once instead of a copy at every call. Code that needs plain expressions
instead, to differentiate them or to find dependencies, runs within `inlined`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from functools import cache, partial
from importlib import import_module
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..errors import InvalidValue
from .arrays import LONGEST_FLOAT32, AnyArray, ArrayNumber, Blocks, alive, values_of


def of_floats(number: float, index: float) -> float:
    """Read an element of a shared array, for floats."""
    values = values_of(number)
    if values is None or index != index:
        return math.nan
    last = values.size - 1
    return float(values[int(index) if 0.0 < index < last else last if index > 0.0 else 0])


def of_arrays(number: Any, index: Any) -> Any:
    """Read elements of shared arrays for NumPy arrays or scalars, which are broadcast."""
    kind = np.result_type(number, index, np.float32)
    numbers, indices = np.broadcast_arrays(np.asarray(number, kind), np.asarray(index, kind))
    elements = np.full(numbers.shape, np.nan, kind)
    for n in np.unique(numbers).tolist():
        values = values_of(n)
        if values is not None and _has_indices(values.size, kind):
            here = (numbers == n) & (indices == indices)
            at = np.clip(indices[here], 0, values.size - 1).astype(np.int64)
            elements[here] = values[at]
    return elements[()]


def _has_indices(size: int, precision: Any) -> bool:
    """Whether a precision represents all indices of an array."""
    return size <= LONGEST_FLOAT32 or np.dtype(precision).itemsize > 4


_readers: dict[str, Any] = {}
"""The CasADi function that reads shared arrays, once it is made."""


def casadi_reader() -> Any:
    """Return the CasADi function of a column, an array number and an index that reads shared
    arrays.

    The tracer recognises it and converts its calls to the operation `read`; CasADi itself evaluates
    it through a callback.
    """
    known = _readers.get("reader")
    # Two threads may both create the function; all use the first one.
    return _readers.setdefault("reader", _new_reader()) if known is None else known


def _new_reader() -> Any:
    import casadi as ca

    sparsity = ca.Sparsity.dense

    class Reader(ca.Callback):
        def __init__(self) -> None:
            ca.Callback.__init__(self)
            self.construct("skidpad_read", {"never_inline": True})

        def get_sparsity_in(self, i: int) -> Any:
            return sparsity(2, 1)

        def get_sparsity_out(self, i: int) -> Any:
            return sparsity(1, 1)

        def eval(self, arguments: Any) -> Any:
            return [of_floats(*(float(value) for value in arguments[0].nonzeros()))]

        def has_forward(self, nfwd: int) -> bool:
            return True

        def has_reverse(self, nadj: int) -> bool:
            return True

        def get_forward(self, nfwd: int, name: str, inames: Any, onames: Any, opts: Any) -> Any:
            return _flat((2, nfwd), (1, nfwd), name, inames, onames, opts)

        def get_reverse(self, nadj: int, name: str, inames: Any, onames: Any, opts: Any) -> Any:
            return _flat((1, nadj), (2, nadj), name, inames, onames, opts)

    return Reader()


def _flat(seeds: tuple[int, int], shape: tuple[int, int], name: str, *named: Any) -> Any:
    import casadi as ca

    # The result must be dense: a call does not write entries that are structurally zero.
    symbols = [ca.SX.sym("a", 2), ca.SX.sym("r"), ca.SX.sym("d", *seeds)]
    return ca.Function(name, symbols, [ca.SX.zeros(*shape)], *named)


def of_symbols(number: Any, index: Any) -> Any:
    """Read elements of shared arrays for CasADi symbols or matrices."""
    import casadi as ca

    call = casadi_reader().call
    shape = next(
        (a.shape for a in (number, index) if getattr(a, "shape", ()) not in ((), (1, 1))), None
    )
    if shape is None:
        return call([ca.vertcat(number, index)])[0]
    pairs = [
        ca.vertsplit(ca.vec(a)) if getattr(a, "shape", None) == shape else [a] * math.prod(shape)
        for a in (number, index)
    ]
    elements = [call([ca.vertcat(n, i)])[0] for n, i in zip(*pairs, strict=True)]
    return ca.reshape(ca.vertcat(*elements), shape)


class _Joined(NamedTuple):
    """All shared arrays in one array, after a NaN that is read for unknown array numbers."""

    values: AnyArray
    start: AnyArray
    """Offset of the array of each number up to the largest."""
    last: AnyArray
    """Largest index of each array."""


def of_jax(numpy: Any, number: Any, index: Any) -> Any:
    """Read elements of shared arrays for JAX: the current arrays become constants of its code."""
    kind = numpy.result_type(number, index, float)
    joined = _joined(alive(), kind)
    number, index = numpy.asarray(number, kind), numpy.asarray(index, kind)
    known = (number >= 1) & (number < len(joined.start)) & (numpy.floor(number) == number)
    n = numpy.where(known, number, 0).astype(int)
    last = numpy.asarray(joined.last)[n]
    at = numpy.clip(numpy.where(index == index, index, 0), 0, last).astype(int)
    element = numpy.asarray(joined.values)[numpy.asarray(joined.start)[n] + at]
    return numpy.where(index == index, element, numpy.nan)


_last_joined: list[tuple[Mapping[int, Blocks], Any, _Joined]] = []


def _joined(blocks: Mapping[int, Blocks], kind: Any) -> _Joined:
    """Concatenate all arrays; the last result is cached for the many reads of one function."""
    for known, precision, joined in _last_joined:
        if known is blocks and precision == kind:
            return joined
    read = {n: values_of(n) for n in blocks}
    usable = {n: v for n, v in read.items() if v is not None and _has_indices(v.size, kind)}
    total = 1 + sum(v.size for v in usable.values())
    if total > np.iinfo(np.int32).max and np.dtype(kind).itemsize == 4:
        raise InvalidValue(f"JAX cannot count the {total} numbers of all shared arrays in int32")
    start = np.zeros(1 + max(usable, default=0), np.int64)
    last = np.zeros(len(start), np.int64)
    parts, at = [np.array([np.nan])], 1
    for n, values in usable.items():
        start[n], last[n] = at, values.size - 1
        parts.append(values)
        at += values.size
    joined = _Joined(np.concatenate(parts).astype(kind), start, last)
    _last_joined[:] = [(blocks, kind, joined)]
    return joined


PLAIN: dict[type, bool] = {float: True, int: True, bool: True, ArrayNumber: True}


def _or_nan(function: Callable[..., float], fallback: Callable[..., Any]) -> Callable[..., float]:
    """Wrap a function of `math` so that it returns NumPy's IEEE result instead of raising."""

    def ieee(*args: float) -> float:
        try:
            return function(*args)
        except (ValueError, OverflowError, ZeroDivisionError):
            with np.errstate(all="ignore"):
                return float(fallback(*args))

    return ieee


_ELEMENTARY = {
    name: f"arc{name[1:]}" if name.startswith("a") else name
    for name in (
        *("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh"),
        *("exp", "log", "sqrt", "hypot"),
    )
}
"""Names of the functions in `skidpad.ops`, `math` and CasADi, mapped to their names in NumPy and
JAX.
"""


def _float_backend() -> SimpleNamespace:
    backend = SimpleNamespace(
        **{n: _or_nan(getattr(math, n), getattr(np, array)) for n, array in _ELEMENTARY.items()}
    )
    backend.pow = _or_nan(math.pow, lambda x, n: np.power(float(x), float(n)))
    backend.abs = math.fabs
    backend.sign = lambda x: x if x != x else float((x > 0) - (x < 0))
    backend.minimum = lambda a, b: a if (a < b or a != a) else b
    backend.maximum = lambda a, b: a if (a > b or a != a) else b
    # Keep the sign of zero, so that floor(-0.0) is -0.0 as in the other backends.
    backend.floor = _or_nan(lambda x: math.copysign(math.floor(x), x), np.floor)
    backend.where = lambda condition, a, b: a if condition else b
    backend.logical_and = lambda a, b: bool(a) and bool(b)
    backend.logical_or = lambda a, b: bool(a) or bool(b)
    backend.logical_not = lambda a: not a
    backend.read = of_floats
    return backend


def _array_backend(library: Any) -> SimpleNamespace:
    """Backend for NumPy or jax.numpy, which share names."""
    names = ("abs", "sign", "minimum", "maximum", "floor", "where")
    logical = ("logical_and", "logical_or", "logical_not")
    read = of_arrays if library is np else partial(of_jax, library)
    own = _ELEMENTARY | {"pow": "power"} | {name: name for name in (*names, *logical)}
    return SimpleNamespace(read=read, **{n: getattr(library, own[n]) for n in own})


@cache
def _casadi_backend() -> SimpleNamespace:
    import casadi

    own = {name: name for name in (*_ELEMENTARY, "sign", "floor")}
    own |= {"abs": "fabs", "pow": "power", "minimum": "fmin", "maximum": "fmax", "where": "if_else"}
    own |= {f"logical_{name}": f"logic_{name}" for name in ("and", "or", "not")}
    return SimpleNamespace(read=of_symbols, **{n: getattr(casadi, own[n]) for n in own})


@cache
def _jax_backend() -> SimpleNamespace:
    return _array_backend(import_module("jax.numpy"))


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
    """Backend for some arguments, chosen by the first argument that is not a plain number.

    NumPy has the lowest priority, as the others accept its arrays and scalars as constants.
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


R = TypeVar("R")
Tracer = Callable[[Callable[..., Any], tuple[Any, ...]], Any]
"""Type of a tracer: a function of a kernel and its arguments that returns the kernel's result."""

_TRACER: ContextVar[Tracer | None] = ContextVar("skidpad_tracer", default=None)


def called(kernel: Callable[..., R], *arguments: Any) -> R:
    """Evaluate `kernel(*arguments)`, which compiled code contains once however often it is called.

    Use it for a large kernel that a vehicle calls several times, such as a tyre at four wheels.
    Arguments and results are records and numbers, or tuples of these. The result must depend on the
    arguments only.
    """
    tracer = _TRACER.get()
    return kernel(*arguments) if tracer is None else tracer(kernel, arguments)


@contextmanager
def traced_by(tracer: Tracer | None) -> Generator[None]:
    """Context manager that passes calls of this thread to a tracer."""
    before = _TRACER.set(tracer)
    try:
        yield
    finally:
        _TRACER.reset(before)


def inlined() -> AbstractContextManager[None]:
    """Context manager within which `called` is a plain call, also in a trace."""
    return traced_by(None)
