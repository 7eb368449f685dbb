"""The model functions on CasADi symbols."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import record
from .subject import Point, Subject


class Symbols(NamedTuple):
    """Symbolic columns for state, input, disturbance and parameters, and the records of them."""

    columns: tuple[Any, Any, Any, Any]
    records: tuple[Any, Any, Any, Any]


def symbols(subject: Subject) -> Symbols:
    """Fresh symbols for one vehicle."""
    import casadi

    model = subject.model
    kinds = {"x": model.State, "u": model.Input, "w": model.Disturbance, "p": model.Params}
    columns: list[Any] = []
    records: list[Any] = []
    for name, kind in kinds.items():
        leaves = [casadi.SX.sym(f"{name}.{leaf}") for leaf in record.names(kind)]
        columns.append(casadi.vertcat(*leaves) if leaves else casadi.SX(0, 1))
        records.append(record.unflatten(kind, leaves))
    return Symbols(tuple(columns), tuple(records))


def column(value: Any) -> Any:
    """A record of symbols and numbers as one symbolic column."""
    import casadi

    leaves = record.flatten(value)
    return casadi.vertcat(*map(casadi.SX, leaves)) if leaves else casadi.SX(0, 1)


def arguments(subject: Subject, point: Point) -> list[Any]:
    """Flat numbers to call a function of `Symbols.columns` with."""
    import casadi

    parts = (*point, subject.params)
    return [casadi.DM([float(v) for v in record.flatten(part)]) for part in parts]
