"""Wheel alignment: toe and camber from steering, suspension travel and compliance.

The class of the car's record `alignment` selects the equations: `FixedAlignment`,
`LinearAlignment`, one made by `alignment_tables` (tables of kinematics and compliance, as measured
on a test rig), or another class that fulfils this contract:

1. `States` is the record of the states that it adds to those of the car.
2. `angles(x, travel, p)` returns headings and cambers of the wheels fl, fr, rl, rr at a suspension
   travel. Headings are cosines and sines relative to the car, cambers positive with the top to the
   right.
3. `rates(x, travel, wheels, p)` are the rates of its states under the forces of the wheels.

Compliance angles follow the forces with a time constant: the angle is a state, so that forces
depend on angles but angles not on forces at the same instant. Both sides have the same parameters.
Toe is positive inwards, camber positive with the top outwards, and a force or moment is positive
when it pushes or turns a wheel towards the middle of the car: a wheel that toes in under such a
force steers into the turn, whichever side it is on. On the front axle that is less understeer, on
the rear axle more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from ...core import record
from ...errors import InvalidValue
from ...geometry.pose import turned
from ...ops import cos, sin
from ...units import N, m, positive, rad, rad_m, rad_N, rad_Nm, s
from .assembly import NoStates, assembled
from .chassis import Travel, wheel_travel
from .spinning_wheel import WheelForces
from .steering import Heading, four_headings
from .table import at_column, at_row, checked_table

Angles = tuple[tuple[Heading, ...], tuple[rad, ...]]
"""Headings and cambers of the four wheels."""
SIDES = (1.0, -1.0, 1.0, -1.0)
"""Signs of the sides of the wheels: 1 left, -1 right."""


class AlignmentState(NamedTuple):
    """Compliance angles of the wheels under their forces."""

    toe_give_fl: rad = 0.0
    """Compliance toe of the front left wheel, positive inwards."""
    toe_give_fr: rad = 0.0
    """Compliance toe of the front right wheel, positive inwards."""
    toe_give_rl: rad = 0.0
    """Compliance toe of the rear left wheel, positive inwards."""
    toe_give_rr: rad = 0.0
    """Compliance toe of the rear right wheel, positive inwards."""
    camber_give_fl: rad = 0.0
    """Compliance camber of the front left wheel, positive with the top outwards."""
    camber_give_fr: rad = 0.0
    """Compliance camber of the front right wheel, positive with the top outwards."""
    camber_give_rl: rad = 0.0
    """Compliance camber of the rear left wheel, positive with the top outwards."""
    camber_give_rr: rad = 0.0
    """Compliance camber of the rear right wheel, positive with the top outwards."""


class FixedAlignment(NamedTuple):
    """Wheel angles to the road that only steering changes, as with rigid axles."""

    States = NoStates

    def angles(self, x: Any, travel: Travel, p: Any) -> Angles:
        """Angles from steering linkage and the car's static toe and camber."""
        cambers = (-p.camber_f, p.camber_f, -p.camber_r, p.camber_r)
        return four_headings(x.steer, p), cambers

    def rates(self, x: Any, travel: Travel, wheels: Sequence[WheelForces], p: Any) -> NoStates:
        return NoStates()


class LinearAlignment(NamedTuple):
    """Wheel angles that are linear in travel and forces.

    With the defaults the wheels only lean with the body.
    """

    toe_by_travel_f: rad_m = 0.0
    """Toe-in of a front wheel per travel towards the body (bump steer). Times half the track it
    is the roll steer of the axle into the turn, per rad of roll."""
    toe_by_travel_r: rad_m = 0.0
    """Toe-in of a rear wheel per travel towards the body."""
    camber_by_travel_f: rad_m = 0.0
    """Camber of a front wheel per travel, positive with the top outwards; at -2 / track_f the wheel
    stays upright when the body rolls."""
    camber_by_travel_r: rad_m = 0.0
    """Camber of a rear wheel per travel."""
    toe_by_F_y_f: rad_N = 0.0
    """Toe-in of a front wheel per lateral force to the middle; negative is understeer."""
    toe_by_F_y_r: rad_N = 0.0
    """Toe-in of a rear wheel per lateral force to the middle; positive is understeer."""
    toe_by_M_z_f: rad_Nm = 0.0
    """Toe-in of a front wheel per moment that turns it in: steering compliance, positive."""
    toe_by_M_z_r: rad_Nm = 0.0
    """Toe-in of a rear wheel per moment that turns it in."""
    toe_by_F_x_f: rad_N = 0.0
    """Toe-in of a front wheel per forward force."""
    toe_by_F_x_r: rad_N = 0.0
    """Toe-in of a rear wheel per forward force."""
    camber_by_F_y_f: rad_N = 0.0
    """Camber of a front wheel, top outwards positive, per lateral force to the middle."""
    camber_by_F_y_r: rad_N = 0.0
    """Camber of a rear wheel per lateral force towards the middle."""
    t_give: Annotated[s, positive] = 0.02
    """Time constant of the compliance angles (estimate)."""

    States = AlignmentState

    def angles(self, x: Any, travel: Travel, p: Any) -> Angles:
        """Angles from steering linkage, static alignment, travel, compliance and body roll."""
        moved = wheel_travel(travel, p)
        toe, camber = self.toe_by_travel_f, self.camber_by_travel_f
        toes = [by * z for by, z in _by_wheel(toe, self.toe_by_travel_r, moved)]
        cambers = [by * z for by, z in _by_wheel(camber, self.camber_by_travel_r, moved)]
        return set_angles(x, toes, cambers, travel, p)

    def rates(
        self, x: Any, travel: Travel, wheels: Sequence[WheelForces], p: Any
    ) -> AlignmentState:
        """Rates of the compliance angles."""
        front = (self.toe_by_F_y_f, self.toe_by_M_z_f, self.toe_by_F_x_f, self.camber_by_F_y_f)
        rear = (self.toe_by_F_y_r, self.toe_by_M_z_r, self.toe_by_F_x_r, self.camber_by_F_y_r)
        toes: list[Any] = []
        cambers: list[Any] = []
        for side, f, by in zip(SIDES, wheels, (front, front, rear, rear), strict=True):
            inwards = -side * f.F_y
            toes.append(by[0] * inwards - (side * by[1]) * f.M_z + by[2] * f.F_x)
            cambers.append(by[3] * inwards)
        return following(x, toes, cambers, self.t_give)


def _by_wheel(front: Any, rear: Any, moved: Sequence[m]) -> list[tuple[Any, m]]:
    """Value of its axle, and travel, of each wheel."""
    return list(zip((front, front, rear, rear), moved, strict=True))


def _wheel_alignment_gives(x: Any) -> tuple[Any, ...]:
    """Compliance states of the alignment, in order."""
    return tuple(getattr(x, name) for name in AlignmentState._fields)


def following(x: Any, toes: list[Any], cambers: list[Any], t_give: s) -> AlignmentState:
    """Rates of the compliance angles towards target toes and cambers."""
    by_t = 1.0 / t_give
    pairs = zip((*toes, *cambers), _wheel_alignment_gives(x), strict=True)
    return AlignmentState(*((target - now) * by_t for target, now in pairs))


def set_angles(x: Any, toes: list[Any], cambers: list[Any], travel: Travel, p: Any) -> Angles:
    """Angles from static alignment, the given toes and cambers, compliance and body roll."""
    gives = _wheel_alignment_gives(x)
    angles = zip(toes, cambers, gives[:4], gives[4:], strict=True)
    static = (p.camber_f, p.camber_f, p.camber_r, p.camber_r)
    wheels = zip(SIDES, four_headings(x.steer, p), static, angles, strict=True)
    headings: list[Heading] = []
    leans: list[Any] = []
    for side, heading, fixed, (toe, camber, toe_give, camber_give) in wheels:
        angle = -side * (toe + toe_give)
        headings.append(Heading(*turned(cos(angle), sin(angle), *heading)))
        leans.append(travel.roll - side * (fixed + camber + camber_give))
    return tuple(headings), tuple(leans)


class Give(NamedTuple):
    """Dynamics of wheel compliance."""

    t: Annotated[s, positive] = 0.02
    """Time constant of the compliance angles (estimate)."""


class AlignmentTables(NamedTuple):
    """Wheel angles by tables over travel and force; made by `alignment_tables`.

    Rows are wheel travels in m. Columns of toe and camber are lateral forces towards the middle
    of the car, those of toe_x forward forces, in N; cells are in rad.
    """

    give: Give
    """Dynamics of wheel compliance."""
    toe_f: Any
    """Toe-in of a front wheel."""
    toe_r: Any
    """Toe-in of a rear wheel."""
    camber_f: Any
    """Camber of a front wheel, positive with the top outwards."""
    camber_r: Any
    """Camber of a rear wheel."""
    toe_x_f: Any
    """Additional toe-in by a forward force on a front wheel."""
    toe_x_r: Any
    """Additional toe-in by a forward force on a rear wheel."""

    States = AlignmentState

    def angles(self, x: Any, travel: Travel, p: Any) -> Angles:
        """Angles from linkage, static alignment, tables at zero force, compliance and roll."""
        moved = wheel_travel(travel, p)
        toes = [_at(*place, 0.0) for place in _by_wheel(self.toe_f, self.toe_r, moved)]
        cambers = [_at(*place, 0.0) for place in _by_wheel(self.camber_f, self.camber_r, moved)]
        return set_angles(x, toes, cambers, travel, p)

    def rates(
        self, x: Any, travel: Travel, wheels: Sequence[WheelForces], p: Any
    ) -> AlignmentState:
        moved = wheel_travel(travel, p)
        inwards = [-side * f.F_y for side, f in zip(SIDES, wheels, strict=True)]
        forwards = [f.F_x for f in wheels]
        by_y = _gives(self.toe_f, self.toe_r, moved, inwards)
        by_x = _gives(self.toe_x_f, self.toe_x_r, moved, forwards)
        cambers = _gives(self.camber_f, self.camber_r, moved, inwards)
        toes = [a + b for a, b in zip(by_y, by_x, strict=True)]
        return following(x, toes, cambers, self.give.t)


def _at(cells: Any, travel: m, force: N) -> rad:
    return at_column(force, at_row(travel, cells))


def _gives(front: Any, rear: Any, moved: Sequence[m], forces: Sequence[N]) -> list[Any]:
    """Change of each wheel's angle by its force."""
    return [
        _at(cells, travel, force) - _at(cells, travel, 0.0)
        for (cells, travel), force in zip(_by_wheel(front, rear, moved), forces, strict=True)
    ]


NAMES = AlignmentTables._fields[1:]
UPRIGHT = ((-1.0, 1.0), (-1.0, 1.0), ((0.0, 0.0), (0.0, 0.0)))
"""Travels, forces and cells of a table that is zero everywhere."""


def alignment_tables(give: Give = Give(), **tables: Any) -> Any:  # noqa: B008 (a tuple)
    """Return an alignment by tables, each `(travels, forces, cells)` in m, N and rad.

    Keywords are the fields of `AlignmentTables`; omitted tables are zero.
    """
    for name in tables:
        if name not in NAMES:
            raise InvalidValue(record.unknown_name("alignment_tables", name, NAMES, "table"))
    cells = (checked_table(name, tables.get(name, UPRIGHT), (m, N, rad)) for name in NAMES)
    return assembled(AlignmentTables(give, *cells))
