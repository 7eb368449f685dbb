"""Purity: the same call gives the same answer, on every kind of number, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from .. import record
from ..arrays import Array
from ..extras import require
from .subject import Function, Subject, differences, table
from .symbolic import arguments, column, symbols

TOLERANCE = 1e-12
"""Relative difference that libraries may have: each has its own sine and its own contraction."""


def purity(subject: Subject) -> list[str]:
    """Calls twice, with another call between them; then on NumPy, CasADi and, if installed, JAX."""
    backends: dict[str, Callable[[Subject, Function], Array]] = {
        "NumPy": _on_numpy,
        "CasADi": _on_casadi,
    }
    functions = subject.functions()
    if find_spec("jax") is not None:
        backends["JAX"] = _jax_of_all(functions)
    faults: list[str] = []
    for function in functions:
        faults += _of(function, subject, backends)
    return faults


def _of(
    function: Function, subject: Subject, backends: dict[str, Callable[[Subject, Function], Array]]
) -> list[str]:
    points, kind, p = subject.points, function.kind, subject.params
    values = table(function.call(*point, p) for point in points)
    again = table(function.call(*point, p) for point in reversed(points))[::-1]
    faults = differences(f"{function.name}called again", kind, again, values, 0.0, points)
    for name, evaluate in backends.items():
        try:
            other = evaluate(subject, function)
        except Exception as error:
            # One library refusing the model must not hide what the others say.
            faults.append(f"{function.name}on {name} it raised {type(error).__name__}: {error}")
            continue
        what = f"{function.name}on {name}, unlike on floats"
        faults += differences(what, kind, other, values, TOLERANCE, points, function.floor)
    return faults + _changed_arguments(subject, function)


def _arrays(subject: Subject) -> list[Any]:
    """The sampled points as records of writable arrays."""
    parts: list[Any] = []
    for rows in zip(*subject.points, strict=True):
        leaves = table(rows).T
        parts.append(record.unflatten(type(rows[0]), [leaf.copy() for leaf in leaves]))
    return parts


def _stacked(value: Any, count: int) -> Array:
    leaves = [np.broadcast_to(np.asarray(v, dtype=float), (count,)) for v in record.flatten(value)]
    return np.column_stack(leaves) if leaves else np.empty((count, 0))


def _on_numpy(subject: Subject, function: Function) -> Array:
    x, u, w = _arrays(subject)
    return _stacked(function.call(x, u, w, subject.params), len(subject.points))


def _on_casadi(subject: Subject, function: Function) -> Array:
    import casadi

    symbol = symbols(subject)
    value = column(function.call(*symbol.records))
    traced = casadi.Function("f", list(symbol.columns), [value])
    rows = [np.asarray(traced(*arguments(subject, point))).ravel() for point in subject.points]
    return np.array(rows)


def _jax_of_all(functions: list[Function]) -> Callable[[Subject, Function], Array]:
    """Values on JAX, which compiles all functions at once in six tenths of the time of one by one.

    If it cannot, each is compiled alone, which tells those that it refuses from the others. None is
    called before the first is asked for: what a trace leaves behind in an impure model must not
    show in what it says on floats.
    """

    @cache
    def tables(subject: Subject) -> dict[Function, Array]:
        try:
            return dict(zip(functions, _on_jax(subject, functions), strict=True))
        except Exception:
            return {}

    def evaluate(subject: Subject, function: Function) -> Array:
        every = tables(subject)
        return every[function] if function in every else _on_jax(subject, [function])[0]

    return evaluate


def _on_jax(subject: Subject, functions: list[Function]) -> list[Array]:
    jax = require("jax", purpose="The purity check on JAX")

    def values(x: Any, u: Any, w: Any, p: Any) -> list[Any]:
        return [function.call(x, u, w, p) for function in functions]

    with _double_precision(jax):
        x, u, w = (jax.tree.map(jax.numpy.asarray, part) for part in _arrays(subject))
        p = jax.tree.map(lambda v: jax.numpy.asarray(float(v)), subject.params)
        return [_stacked(value, len(subject.points)) for value in jax.jit(values)(x, u, w, p)]


def _double_precision(jax: Any) -> Any:
    """JAX's switch to 64 bits for a block; older releases keep it among the experiments."""
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    return require("jax.experimental", purpose="The purity check on JAX").enable_x64()


def _changed_arguments(subject: Subject, function: Function) -> list[str]:
    """Fields that a call changed in place, which only shows on arrays."""
    shown, kept = _arrays(subject), _arrays(subject)
    try:
        x, u, w = shown
        function.call(x, u, w, subject.params)
    except Exception:
        return []  # reported above, as a failure on NumPy
    return [
        f"the call changed its argument {letter}.{name}"
        for letter, after, before in zip("xuw", shown, kept, strict=True)
        for name, a, b in zip(
            record.names(type(after)), record.flatten(after), record.flatten(before), strict=True
        )
        if a.tobytes() != b.tobytes()
    ]
