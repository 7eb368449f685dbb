"""One force or moment of a tyre and its exact slopes over some of its numbers, compiled for rows.

The equations are the tyre's own; their Jacobian is that of the traced expressions, in lanes.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from .. import record
from ..arrays import Array
from ..compile.cpu import CpuMap
from ..compile.program import Port, Program
from ..compile.trace import trace
from ..components.tyre.contract import Contact
from ..integrate.as_written import making_expressions
from ..ops import abs as absolute
from ..ops import tan
from .measurement_table import Measurements

AT = ("F_z", "kappa", "alpha", "gamma", "v_x", "p")
"""What of a contact a row says."""


class Kernel:
    """A response of a kind of tyre over rows.

    Args:
        kind: class of the tyre record.
        response: one of the fields of `TyreForces`.
        free: places of the leaves by which to differentiate.
    """

    def __init__(self, kind: type, response: str, free: tuple[int, ...]) -> None:
        self.free = free
        self._map = _compiled(kind, response, free)

    def __call__(self, rows: Array, leaves: Array) -> tuple[Array, Array]:
        """Values (rows,) and slopes (rows, free) for rows of `AT`."""
        values, slopes = self._map.run([rows[None], leaves[None, None]], len(rows))
        return values[0, :, 0], slopes[0]


@lru_cache(maxsize=256)
def _compiled(kind: type, response: str, free: tuple[int, ...]) -> CpuMap:
    return CpuMap(_program(kind, response, free), "float64", None)


def _program(kind: type, response: str, free: tuple[int, ...]) -> Program:
    fields = record.names(kind)
    names = tuple(fields[k] for k in free)
    inputs = (Port("at", AT), Port("tyre", fields))
    outputs = (Port("value", (response,)), Port("slopes", names))
    function = _differentiated(kind, response, free)

    def inlined(at: tuple[Any, ...], leaves: tuple[Any, ...]) -> Any:
        import casadi as ca

        value, slopes = function(ca.vertcat(*at), ca.vertcat(*leaves))
        return [value], ca.vertsplit(slopes) if free else []

    return trace(f"{kind.__name__}.{response}.fit", inlined, inputs, outputs)


@making_expressions()
def _differentiated(kind: type, response: str, free: tuple[int, ...]) -> Any:
    """The response and its slopes as a CasADi function of a row and the leaves."""
    import casadi as ca

    from ..integrate.jacobian import linearised

    at, leaves = ca.SX.sym("at", len(AT)), ca.SX.sym("tyre", record.size(kind))
    value = _response(kind, response, ca.vertsplit(at), ca.vertsplit(leaves))
    # What the row alone decides is constant here, and so are the leaves that are not free.
    chosen = ca.vertcat(*(leaves[k] for k in free)) if free else ca.SX(0, 1)
    value, slopes = linearised(ca.vertcat(value), chosen)
    return ca.Function("fit", [at, leaves], [value, ca.densify(slopes).T], {"cse": True})


def _response(kind: type, response: str, at: Any, leaves: Any) -> Any:
    contact = Contact(**dict(zip(AT, at, strict=True)))
    contact = contact._replace(v_y=absolute(contact.v_x) * tan(contact.alpha))
    return getattr(record.unflatten(kind, leaves).forces(contact), response)


def rows_of(table: Measurements, tyre: Any, v_x: float) -> Array:
    """The rows of a table for a kernel; where pressure or speed are not known, the tyre's own
    pressure and `v_x`."""
    usual = {"p": float(tyre.pressure), "v_x": v_x}
    columns = [table[name] for name in AT]
    for k, name in enumerate(AT):
        if name in usual:
            columns[k] = np.where(np.isnan(columns[k]), usual[name], columns[k])
    return np.column_stack(columns)
