"""Purity: the same call gives the same answer, on every kind of number, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
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
    if find_spec("jax") is not None:
        backends["JAX"] = _on_jax
    faults: list[str] = []
    for function in subject.functions():
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


def _on_jax(subject: Subject, function: Function) -> Array:
    jax = require("jax", purpose="The purity check on JAX")
    with _double_precision(jax):
        x, u, w = (jax.tree.map(jax.numpy.asarray, part) for part in _arrays(subject))
        p = jax.tree.map(lambda v: jax.numpy.asarray(float(v)), subject.params)
        return _stacked(jax.jit(function.call)(x, u, w, p), len(subject.points))


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
