"""Purity: the same call gives the same answer, on every kind of number, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

from .. import record
from ..arrays import Array
from ..extras import require
from .subject import Subject, differences
from .symbolic import arguments, column, symbols

TOLERANCE = 1e-12
"""Relative difference that libraries may have: each has its own sine and its own contraction."""


def purity(subject: Subject) -> list[str]:
    """Calls twice, with another call between them; then on NumPy, CasADi and, if installed, JAX."""
    faults = _memory(subject)
    backends: dict[str, Callable[[Subject], tuple[Array, Array]]] = {
        "NumPy": _on_numpy,
        "CasADi": _on_casadi,
    }
    if find_spec("jax") is not None:
        backends["JAX"] = _on_jax
    rates, outputs = subject.rates(subject.points), subject.outputs(subject.points)
    for name, evaluate in backends.items():
        try:
            got_rates, got_outputs = evaluate(subject)
        except Exception as error:
            # One library refusing the model must not hide what the others say.
            faults.append(f"on {name} it raised {type(error).__name__}: {error}")
            continue
        for kind, got, want in (
            (subject.model.State, got_rates, rates),
            (subject.model.Outputs, got_outputs, outputs),
        ):
            what = f"on {name}, unlike on floats"
            faults += differences(what, kind, got, want, TOLERANCE, subject.points)
    return faults + _changed_arguments(subject)


def _memory(subject: Subject) -> list[str]:
    first = subject.rates(subject.points)
    again = subject.rates(reversed(subject.points))[::-1]
    faults = differences("called again", subject.model.State, again, first, 0.0, subject.points)
    first = subject.outputs(subject.points)
    again = subject.outputs(reversed(subject.points))[::-1]
    return faults + differences(
        "called again", subject.model.Outputs, again, first, 0.0, subject.points
    )


def _arrays(subject: Subject) -> list[Any]:
    """The sampled points as records of writable arrays."""
    parts: list[Any] = []
    for rows in zip(*subject.points, strict=True):
        table = np.array([record.flatten(row) for row in rows], dtype=float)
        parts.append(record.unflatten(type(rows[0]), [leaf.copy() for leaf in table.T]))
    return parts


def _stacked(value: Any, count: int) -> Array:
    leaves = [np.broadcast_to(np.asarray(v, dtype=float), (count,)) for v in record.flatten(value)]
    return np.column_stack(leaves) if leaves else np.empty((count, 0))


def _on_numpy(subject: Subject) -> tuple[Array, Array]:
    x, u, w = _arrays(subject)
    count = len(subject.points)
    return (
        _stacked(subject.rate(x, u, w, subject.params), count),
        _stacked(subject.vehicle.outputs(x, u, w, subject.params), count),
    )


def _on_casadi(subject: Subject) -> tuple[Array, Array]:
    import casadi

    symbol = symbols(subject)
    rate = column(subject.rate(*symbol.records))
    outputs = column(subject.vehicle.outputs(*symbol.records))
    function = casadi.Function("f", list(symbol.columns), [rate, outputs])
    results = [function(*arguments(subject, point)) for point in subject.points]
    return (
        np.array([np.asarray(rates).ravel() for rates, _ in results]),
        np.array([np.asarray(out).ravel() for _, out in results]),
    )


def _on_jax(subject: Subject) -> tuple[Array, Array]:
    jax = require("jax", extra="jax", purpose="The purity check on JAX")
    with _double_precision(jax):
        x, u, w = (jax.tree.map(jax.numpy.asarray, part) for part in _arrays(subject))
        p = jax.tree.map(lambda v: jax.numpy.asarray(float(v)), subject.params)
        rates, outputs = jax.jit(
            lambda x, u, w, p: (subject.rate(x, u, w, p), subject.vehicle.outputs(x, u, w, p))
        )(x, u, w, p)
        count = len(subject.points)
        return _stacked(rates, count), _stacked(outputs, count)


def _double_precision(jax: Any) -> Any:
    """JAX's switch to 64 bits for a block; older releases keep it among the experiments."""
    if hasattr(jax, "enable_x64"):
        return jax.enable_x64(True)
    return require("jax.experimental", extra="jax", purpose="The purity check on JAX").enable_x64()


def _changed_arguments(subject: Subject) -> list[str]:
    """Fields that a call changed in place, which only shows on arrays."""
    given, kept = _arrays(subject), _arrays(subject)
    x, u, w = given
    try:
        subject.rate(x, u, w, subject.params)
        subject.vehicle.outputs(x, u, w, subject.params)
    except Exception:
        return []  # reported above, as a failure on NumPy
    return [
        f"the call changed its argument {letter}.{name}"
        for letter, after, before in zip("xuw", given, kept, strict=True)
        for name, a, b in zip(
            record.names(type(after)), record.flatten(after), record.flatten(before), strict=True
        )
        if a.tobytes() != b.tobytes()
    ]
