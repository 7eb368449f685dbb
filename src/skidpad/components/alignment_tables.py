"""Toe and camber by tables of kinematics and compliance, as a test rig gives them.

Each is over the travel of a wheel and a force on it; signs are those of `wheel_alignment`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from .. import record
from ..errors import InvalidValue
from ..units import N, m, positive, rad, s
from .assembly import assembled
from .spinning_wheel import WheelForces
from .sprung_mass import Travel, wheel_travel
from .table import at_column, at_row, checked_table
from .wheel_alignment import SIDES, AlignmentState, Angles, following, set_angles

__all__ = ["AlignmentTables", "Give", "alignment_tables"]


class Give(NamedTuple):
    """How fast wheels give way to forces."""

    t: Annotated[s, positive] = 0.02
    """Time constant (estimate)."""


class AlignmentTables(NamedTuple):
    """Wheels on a body that rolls, set by tables; made by `alignment_tables`.

    Rows are travels of a wheel in m. Columns of toe and camber are forces towards the middle of the
    car, those of toe_x forces forwards, in N; cells are in rad.
    """

    give: Give
    """How fast wheels give way."""
    toe_f: Any
    """Toe-in of a front wheel."""
    toe_r: Any
    """Toe-in of a rear wheel."""
    camber_f: Any
    """Camber of a front wheel, positive with the top outwards."""
    camber_r: Any
    """Camber of a rear wheel."""
    toe_x_f: Any
    """Toe-in that a force along a front wheel adds."""
    toe_x_r: Any
    """Toe-in that a force along a rear wheel adds."""

    States = AlignmentState

    def angles(self, x: Any, travel: Travel, p: Any) -> Angles:
        """Linkage, parameters, tables without force, give, and the roll of the body."""
        moved = wheel_travel(travel, p)
        toes = [_at(*place, 0.0) for place in _by_wheel(self.toe_f, self.toe_r, moved)]
        cambers = [_at(*place, 0.0) for place in _by_wheel(self.camber_f, self.camber_r, moved)]
        return set_angles(x, toes, cambers, travel, p)

    def rates(
        self, x: Any, travel: Travel, wheels: Sequence[WheelForces], p: Any
    ) -> AlignmentState:
        """Rates of the angles that have given way."""
        moved = wheel_travel(travel, p)
        inwards = [-side * f.F_y for side, f in zip(SIDES, wheels, strict=True)]
        forwards = [f.F_x for f in wheels]
        by_y = _gives(self.toe_f, self.toe_r, moved, inwards)
        by_x = _gives(self.toe_x_f, self.toe_x_r, moved, forwards)
        cambers = _gives(self.camber_f, self.camber_r, moved, inwards)
        toes = [a + b for a, b in zip(by_y, by_x, strict=True)]
        return following(x, toes, cambers, self.give.t)


def _by_wheel(front: Any, rear: Any, moved: Sequence[m]) -> list[tuple[Any, Any]]:
    """The table of each wheel, and its travel."""
    return list(zip((front, front, rear, rear), moved, strict=True))


def _at(cells: Any, travel: m, force: N) -> rad:
    return at_column(force, at_row(travel, cells))


def _gives(front: Any, rear: Any, moved: Sequence[m], forces: Sequence[N]) -> list[Any]:
    """What its force changes at each wheel."""
    return [
        _at(cells, travel, force) - _at(cells, travel, 0.0)
        for (cells, travel), force in zip(_by_wheel(front, rear, moved), forces, strict=True)
    ]


NAMES = AlignmentTables._fields[1:]
UPRIGHT = ((-1.0, 1.0), (-1.0, 1.0), ((0.0, 0.0), (0.0, 0.0)))
"""Travels, forces and cells of a table that changes nothing."""


def alignment_tables(give: Give = Give(), **tables: Any) -> Any:  # noqa: B008 (a tuple)
    """Toe and camber of wheels by tables, each `(travels, forces, cells)` in m, N and rad.

    Keywords are the fields of `AlignmentTables`; what is not given changes nothing.
    """
    for name in tables:
        if name not in NAMES:
            raise InvalidValue(record.unknown_name("alignment_tables", name, NAMES, "table"))
    cells = (checked_table(name, tables.get(name, UPRIGHT), (m, N, rad)) for name in NAMES)
    return assembled(AlignmentTables(give, *cells))
