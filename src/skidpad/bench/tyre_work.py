"""The work of the group `tyres`: combined slip with camber of a Magic Formula 6.1 tyre.

Everybody computes F_x, F_y and M_z from load, slip, slip angle and camber, at one speed and one
pressure, by the same function. The tyre's numbers are arguments of skidpad's kernel, so that it
serves every tyre of its kind; peers have them as constants, which is faster for them.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import tyres
from ..compile.program import Port, Program
from ..compile.trace import trace
from ..core import record
from ..core.arrays import AnyArray
from ..errors import InvalidValue
from ..tyres.contract import Contact
from .work import CHECKOUT, SEED

FILE = "tyre.mf61.program"
TYRE = "passenger_car"
V_X = 20.0
"""Speed in m/s; the wheel's spin is that of slip 0 at it, which none of these forces depends on."""
OMEGA = 65.0
INPUTS = ("F_z", "kappa", "alpha", "gamma")
OUTPUTS = ("F_x", "F_y", "M_z")
LOW, HIGH = (500.0, -0.3, -0.3, -0.08), (8000.0, 0.3, 0.3, 0.08)
"""Range of each input."""


class TyreWork(NamedTuple):
    """Contacts of one tyre."""

    tyre: Any
    """Its record."""
    columns: AnyArray
    """Inputs (4, B)."""

    def cast(self, precision: str) -> TyreWork:
        """The same work in another precision."""
        return self._replace(columns=self.columns.astype(precision))

    def leaves(self) -> AnyArray:
        """The tyre's numbers in the precision of the columns."""
        return np.array(record.flatten(self.tyre), dtype=self.columns.dtype)

    def error(self, forces: Any) -> float:
        """Largest difference of forces (3, B) from those in extended precision, relative to the
        largest of each."""
        exact = np.array(combined(self.tyre, *self.columns.astype(np.longdouble)))
        scale = np.abs(exact).max(axis=1, keepdims=True)
        return float((np.abs(np.asarray(forces, dtype=np.longdouble) - exact) / scale).max())


def tyre_work(count: int) -> TyreWork:
    """`count` random contacts, the same in every process."""
    random = np.random.default_rng(SEED)
    columns = random.uniform(LOW, HIGH, (count, len(INPUTS))).T
    return TyreWork(tyres.get(TYRE).record, np.ascontiguousarray(columns))


def combined(tyre: Any, F_z: Any, kappa: Any, alpha: Any, gamma: Any) -> tuple[Any, Any, Any]:
    """F_x, F_y and M_z, for whatever it is called with."""
    at = Contact(
        F_z=F_z, kappa=kappa, alpha=alpha, gamma=gamma, v_x=V_X, omega=OMEGA, p=tyre.pressure
    )
    forces = tyre.forces(at)
    return forces.F_x, forces.F_y, forces.M_z


def tyre_program(plants: Path | None = None) -> Program:
    """The work as a Program: traced, or from a file where CasADi is not installed."""
    if plants is None and find_spec("casadi") is not None:
        return traced()
    file = (CHECKOUT if plants is None else plants) / FILE
    if not file.is_file():
        raise InvalidValue(
            f"{file} is not there: install casadi, or write it with python tools/make_plants.py"
        )
    return Program.load(file)


def traced() -> Program:
    """The Program of contact and tyre."""
    kind = type(tyres.get(TYRE).record)

    def function(at: tuple[Any, ...], leaves: tuple[Any, ...]) -> Any:
        return (combined(record.unflatten(kind, leaves), *at),)

    inputs = (Port("at", INPUTS), Port("tyre", record.names(kind)))
    return trace("mf61", function, inputs, (Port("forces", OUTPUTS),))
