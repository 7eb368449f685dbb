"""Gradients: finite where optimisers begin, at rest and at full lock, and everywhere else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..core import record
from .subject import Point, Subject, arguments, column, lock, symbols, tokens

TORQUE = 50.0
"""Torque used at standstill, in N·m."""


def gradients(subject: Subject) -> list[str]:
    """Exact Jacobians of rates and outputs with respect to all arguments and parameters."""
    import casadi

    symbol, model = symbols(subject), subject.model
    kinds = {"x": model.State, "u": model.Input, "w": model.Disturbance, "p": model.Params}
    names = [f"{letter}.{leaf}" for letter, kind in kinds.items() for leaf in record.names(kind)]
    faults: list[str] = []
    for what, kind, value in (
        ("rate of ", subject.model.State, subject.rate(*symbol.records)),
        ("output ", subject.model.Outputs, subject.vehicle.outputs(*symbol.records)),
    ):
        flat = column(value)
        jacobian = casadi.jacobian(flat, casadi.vertcat(*symbol.columns))
        function = casadi.Function("J", list(symbol.columns), [flat, jacobian])
        rows = [f"{what}{name}" for name in record.names(kind)]
        for label, point in _places(subject):
            faults += _not_finite(function(*arguments(subject, point)), rows, names, label)
    return faults


def _not_finite(results: Any, rows: list[str], names: list[str], label: str) -> list[str]:
    values, jacobian = (
        np.asarray(part.full() if hasattr(part, "full") else part) for part in results
    )
    faults = [
        f"{rows[i]} is {values.ravel()[i]} {label}"
        for i in np.flatnonzero(~np.isfinite(values.ravel()))
    ]
    bad = np.argwhere(~np.isfinite(jacobian.reshape(len(rows), len(names))))
    if bad.size:
        i, j = bad[0]
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        faults.append(
            f"the gradient of the {rows[i]} with respect to {names[j]} is {jacobian[i, j]} "
            f"{label}{more}"
        )
    return faults


def _places(subject: Subject) -> Iterator[tuple[str, Point]]:
    """States that an optimiser starts from and passes through, with their descriptions."""
    yield "at rest", _place(subject)
    for side, angle in (("left", lock(subject.params)), ("right", -lock(subject.params))):
        yield f"at rest, full lock {side}", _place(subject, steer=angle)
        yield f"at rest with torque, full lock {side}", _place(subject, steer=angle, torque=TORQUE)
        yield f"in reverse, full lock {side}", _place(subject, steer=angle, forward=-2.0)
    yield "at rest with torque", _place(subject, torque=TORQUE)
    yield "in reverse", _place(subject, forward=-2.0)
    yield "turning on the spot", _place(subject, turning=0.5)
    for point in subject.points:
        yield f"at {point.x}", point


def _place(
    subject: Subject,
    *,
    steer: float = 0.0,
    torque: float = 0.0,
    forward: float = 0.0,
    turning: float = 0.0,
) -> Point:
    def values(kind: type) -> list[float]:
        return [_value(leaf) for leaf in record.fields(kind)]

    def _value(leaf: record.Field) -> float:
        words, symbol = set(tokens(leaf.name)), leaf.unit.symbol
        if symbol == "rad" and words & {"steer", "steering", "delta"}:
            return steer
        if symbol == "N·m":
            return torque
        if leaf.name in ("v_x", "v"):
            return forward
        return turning if leaf.name == "omega" else 0.0

    return subject.point(values(subject.model.State), values(subject.model.Input))
