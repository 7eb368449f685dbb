"""Toe and camber by tables of kinematics and compliance, as a test rig gives them.

Each is over the travel of a wheel and a force on it; signs are those of `wheel_alignment`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, NamedTuple

from .. import record
from ..errors import InvalidValue
from ..units import N, m, positive, rad, s
from .spinning_wheel import WheelForces
from .sprung_mass import Travel, wheel_travel
from .table import at_column, at_row, table, table_type, tabled_type
from .wheel_alignment import SIDES, AlignmentState, Angles, following, set_angles

__all__ = ["alignment_tables", "alignment_tables_type"]


class TableFields(NamedTuple):
    """Wheels on a body that rolls, set by tables."""

    t_give: Annotated[s, positive] = 0.02
    """Time constant with which wheels give way to forces (estimate)."""


TABLES = {
    "toe": "Toe-in over travel by rows and over force towards the middle by columns",
    "camber": "Camber over travel by rows and over force towards the middle by columns",
    "toe_x": "What toe-in is added over travel by rows and over force forwards by columns",
}


class _TableLaw:
    """What tables do; functions of their records."""

    States = AlignmentState

    def angles(self: Any, x: Any, travel: Travel, p: Any) -> Angles:
        """Linkage, parameters, tables without force, give, and the roll of the body."""
        moved = wheel_travel(travel, p)
        toes, cambers = ([_at(t, z, 0.0) for t, z in _by_wheel(self, n, moved)] for n in _ANGLES)
        return set_angles(x, toes, cambers, travel, p)

    def rates(
        self: Any, x: Any, travel: Travel, wheels: Sequence[WheelForces], p: Any
    ) -> tuple[Any, ...]:
        """Rates of the angles that have given way."""
        moved = wheel_travel(travel, p)
        inwards = [-side * f.F_y for side, f in zip(SIDES, wheels, strict=True)]
        forwards = [f.F_x for f in wheels]
        toes, cambers, extra = (
            [_give(t, z, F) for (t, z), F in zip(_by_wheel(self, n, moved), forces, strict=True)]
            for n, forces in (("toe", inwards), ("camber", inwards), ("toe_x", forwards))
        )
        both = [a + b for a, b in zip(toes, extra, strict=True)]
        return following(x, both, cambers, self.t_give)


_ANGLES = ("toe", "camber")


def _by_wheel(tables: Any, name: str, moved: Sequence[m]) -> list[tuple[Any, Any]]:
    """The table of each wheel, and its travel."""
    front, rear = getattr(tables, f"{name}_f"), getattr(tables, f"{name}_r")
    return list(zip((front, front, rear, rear), moved, strict=True))


def _at(cells: Any, travel: m, force: N) -> rad:
    return at_column(force, at_row(travel, cells))


def _give(cells: Any, travel: m, force: N) -> rad:
    """What a force changes at a travel."""
    curve = at_row(travel, cells)
    return at_column(force, curve) - at_column(0.0 * force, curve)


Size = tuple[int, int]


@cache
def alignment_tables_type(*sizes: Size) -> Any:
    """The record class of tables of these sizes: toe_f, toe_r, camber_f, camber_r, toe_x_f,
    toe_x_r."""
    names = [f"{name}_{axle}" for name in TABLES for axle in "fr"]
    where = {"f": "of a front wheel.", "r": "of a rear wheel."}
    tables = {
        name: (table_type(*size, (m, N, rad)), f"{TABLES[name[:-2]]}, {where[name[-1]]}")
        for name, size in zip(names, sizes, strict=True)
    }
    made_from = (alignment_tables_type, *sizes)
    return tabled_type("AlignmentTables", TableFields, tables, _TableLaw, made_from)


FLAT = ((-1.0, 1.0), (-1e5, 1e5), ((0.0, 0.0), (0.0, 0.0)))
"""Travels, forces and cells of a table that changes nothing."""


def alignment_tables(*, t_give: s = 0.02, **tables: Any) -> Any:
    """Toe and camber of wheels by tables, each `(travels, forces, cells)` in m, N and rad.

    Keywords are `toe_f`, `toe_r`, `camber_f`, `camber_r` over travel and the force towards the
    middle of the car, and `toe_x_f`, `toe_x_r` over travel and the force forwards, which adds to
    the toe. What is not given changes nothing.
    """
    names = [f"{name}_{axle}" for name in TABLES for axle in "fr"]
    for name in tables:
        if name not in names:
            raise InvalidValue(record.unknown_name("alignment_tables", name, names, "table"))
    cells = {name: table(*tables.get(name, FLAT), (m, N, rad)) for name in names}
    kind = alignment_tables_type(*(type(cells[name]).size for name in names))
    return record.build(kind, **cells, t_give=t_give)
