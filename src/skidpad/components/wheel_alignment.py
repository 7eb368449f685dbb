"""How suspension and steering set each wheel: toe and camber over travel and under forces.

Which equations a car has is the class of its record `alignment`: `FixedAlignment`,
`LinearAlignment` or one of `alignment_tables` (in a file of that name), or another that keeps the
contract:

1. `States` is a record of the states that it adds to those of the car.
2. `angles(x, travel, p)` are headings and cambers of the wheels fl, fr, rl, rr on a body that sits
   so. Headings are cosines and sines on the car, cambers positive with the top to the right.
3. `rates(x, travel, wheels, p)` are the rates of its states under the forces of the wheels.

What gives way to a force follows it with a time constant: the angle is a state, so that forces
depend on angles and these not on forces at the same instant. Both sides have the same numbers.
Toe is positive in, camber positive with the top outwards, and a force or moment counts positive
when it pushes or turns a wheel to the middle of the car: a wheel that toes in under such a force
steers into the turn, whichever side it is on. On the front axle that is less understeer, on the
rear axle more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, NamedTuple

from ..ops import cos, sin
from ..plane.pose import turned
from ..units import m, positive, rad, rad_m, rad_N, rad_Nm, s
from .assembly import NoStates
from .spinning_wheel import WheelForces
from .sprung_mass import Travel, wheel_travel
from .toed_wheels import Heading, four_headings

__all__ = [
    "AlignmentState",
    "FixedAlignment",
    "LinearAlignment",
]

Angles = tuple[tuple[Heading, ...], tuple[rad, ...]]
"""Headings and cambers."""
SIDES = (1.0, -1.0, 1.0, -1.0)
"""Of the wheels: 1 left, -1 right."""


class AlignmentState(NamedTuple):
    """How far each wheel has given way to its forces."""

    toe_give_fl: rad = 0.0
    """Toe of the front left wheel by its forces, positive in."""
    toe_give_fr: rad = 0.0
    """Toe of the front right wheel by its forces."""
    toe_give_rl: rad = 0.0
    """Toe of the rear left wheel by its forces."""
    toe_give_rr: rad = 0.0
    """Toe of the rear right wheel by its forces."""
    camber_give_fl: rad = 0.0
    """Camber of the front left wheel by its forces, positive with the top outwards."""
    camber_give_fr: rad = 0.0
    """Camber of the front right wheel by its forces."""
    camber_give_rl: rad = 0.0
    """Camber of the rear left wheel by its forces."""
    camber_give_rr: rad = 0.0
    """Camber of the rear right wheel by its forces."""


class FixedAlignment(NamedTuple):
    """Angles to the road that nothing but steering changes, as of rigid axles."""

    States = NoStates

    def angles(self, x: Any, travel: Travel, p: Any) -> Angles:
        """Linkage, toe and camber of the car's parameters."""
        cambers = (-p.camber_f, p.camber_f, -p.camber_r, p.camber_r)
        return four_headings(x.steer, p), cambers

    def rates(self, x: Any, travel: Travel, wheels: Sequence[WheelForces], p: Any) -> NoStates:
        """None."""
        return NoStates()


class LinearAlignment(NamedTuple):
    """Wheels on a body that rolls: angles by travel, and by forces. The defaults change none, but
    that the wheels lean with the body."""

    toe_by_travel_f: rad_m = 0.0
    """Toe-in of a front wheel per travel towards the body. Times half the track it is the roll
    steer of the axle into the turn, per rad of roll."""
    toe_by_travel_r: rad_m = 0.0
    """Toe-in of a rear wheel per travel towards the body."""
    camber_by_travel_f: rad_m = 0.0
    """Camber of a front wheel per travel, positive with the top outwards; at -2 / track_f the wheel
    stays upright when the body rolls."""
    camber_by_travel_r: rad_m = 0.0
    """Camber of a rear wheel per travel."""
    toe_by_F_y_f: rad_N = 0.0
    """Toe-in of a front wheel per force towards the middle; negative: it understeers."""
    toe_by_F_y_r: rad_N = 0.0
    """Toe-in of a rear wheel per force towards the middle; positive: it understeers."""
    toe_by_M_z_f: rad_Nm = 0.0
    """Toe-in of a front wheel per moment that turns it in: compliance of the steering, positive."""
    toe_by_M_z_r: rad_Nm = 0.0
    """Toe-in of a rear wheel per moment that turns it in."""
    toe_by_F_x_f: rad_N = 0.0
    """Toe-in of a front wheel per force forwards."""
    toe_by_F_x_r: rad_N = 0.0
    """Toe-in of a rear wheel per force forwards."""
    camber_by_F_y_f: rad_N = 0.0
    """Camber of a front wheel per force towards the middle, positive with the top outwards."""
    camber_by_F_y_r: rad_N = 0.0
    """Camber of a rear wheel per force towards the middle."""
    t_give: Annotated[s, positive] = 0.02
    """Time constant with which wheels give way to forces (estimate)."""

    States = AlignmentState

    def angles(self, x: Any, travel: Travel, p: Any) -> Angles:
        """Linkage, toe and camber of the parameters, travel, give, and the roll of the body."""
        moved = wheel_travel(travel, p)
        toes = _times((self.toe_by_travel_f, self.toe_by_travel_r), moved)
        cambers = _times((self.camber_by_travel_f, self.camber_by_travel_r), moved)
        return set_angles(x, toes, cambers, travel, p)

    def rates(
        self, x: Any, travel: Travel, wheels: Sequence[WheelForces], p: Any
    ) -> AlignmentState:
        """Rates of the angles that have given way."""
        front = (self.toe_by_F_y_f, self.toe_by_M_z_f, self.toe_by_F_x_f, self.camber_by_F_y_f)
        rear = (self.toe_by_F_y_r, self.toe_by_M_z_r, self.toe_by_F_x_r, self.camber_by_F_y_r)
        toes: list[Any] = []
        cambers: list[Any] = []
        for side, f, by in zip(SIDES, wheels, (front, front, rear, rear), strict=True):
            inwards = -side * f.F_y
            toes.append(by[0] * inwards - (side * by[1]) * f.M_z + by[2] * f.F_x)
            cambers.append(by[3] * inwards)
        return following(x, toes, cambers, self.t_give)


def _times(by_axle: tuple[Any, Any], moved: Sequence[m]) -> list[Any]:
    """A coefficient of each axle times the travel of each wheel."""
    front, rear = by_axle
    return [by * z for by, z in zip((front, front, rear, rear), moved, strict=True)]


def _gives(x: Any) -> tuple[Any, ...]:
    """The states of the alignment in their order."""
    return tuple(getattr(x, name) for name in AlignmentState._fields)


def following(x: Any, toes: list[Any], cambers: list[Any], t_give: s) -> AlignmentState:
    """Rates of the states of the alignment towards toes and cambers."""
    by_t = 1.0 / t_give
    pairs = zip((*toes, *cambers), _gives(x), strict=True)
    return AlignmentState(*((target - now) * by_t for target, now in pairs))


def set_angles(x: Any, toes: list[Any], cambers: list[Any], travel: Travel, p: Any) -> Angles:
    """Angles with toe and camber in addition to those of the parameters and the give."""
    gives = _gives(x)
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
