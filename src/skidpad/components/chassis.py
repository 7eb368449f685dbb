"""How the body of a car sits on its wheels, and which load each wheel has of it.

Which chassis a car has is the class of its record: `RollShare`, `QuasiStatic`, `RollPitch`
(`roll_pitch.py`), `IndependentSuspension` (`independent_suspension.py`), or another that keeps the
contract:

1. `States` is a record of the states that it adds to those of the car, `NoStates` if none, and
   `Outputs` one of outputs, of which `outputs(x, acting, p)` gives the values.
2. `follows` names which of `load_a_x` and `load_a_y` it has the car keep: the force of the tyres
   over the mass as the loads have answered to it, so that loads are functions of the state and
   forces of the loads.
3. `replaces` names parameters of the car that it makes do without.
4. `loads(x, road, air, p)` are the wheel loads on the road under the car, under the air.
5. `travel(x, p)` is how the body sits.
6. `carried(x, p)` is the velocity of the car over each contact patch, less what its yaw rate adds:
   that of the centre of mass, and what the motion of the body on its springs adds to it.
7. `rates(x, acting, p)` are the rates of its own states under what acts on the car.
8. `check(p)` raises for parameters that make no car.
9. `energy(x, press, p)` is what motion on the springs stores on an even road, where gravity presses
   by so much per mass; `loss(x, p)` the power that dampers take there.
10. `bumped(x, loads, road, p)` is what bumps do to it along the road, None where it has no wheels
    to feel them.
11. `tilt_rate(x, p)` is the rate at which the axles of the wheels tilt with the body in roll, by
    which their spin turns the car; None where they stay upright.
12. `turns_by_pitch` says whether a state of it is the `pitch_rate` of the body that the wheels spin
    in. Their reaction then turns that body; else loads follow it.
13. `fills` names those of its states that `settled(x, road, air, p)` gives for a car that stands or
    rolls along in balance.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..ops import logical_or, maximum, where
from ..units import N, Nm, kg_m2, m, m_s, one, rad, rad_s, rad_s2
from .assembly import NoStates
from .axle import Force
from .corner_loads import CornerLoads, corner_loads, loads_under, spread_loads
from .on_road import RoadUnderCar
from .rigid_body import Acceleration
from .spinning_wheel import WheelForces
from .sprung_mass import (
    Suspension,
    Travel,
    check_sprung,
    link_shares,
    pitch_transfer,
    roll_gradient,
    roll_levers,
    roll_stiffness,
)
from .wheel import Velocity

__all__ = [
    "Acting",
    "Bumped",
    "Posture",
    "Pressed",
    "QuasiStatic",
    "RollShare",
    "WheelMoments",
    "leaning_arm",
    "push_of",
    "spin_momentum",
    "wheel_moments",
]

_LOWEST: one = 1e-3
"""Height of the centre of mass over the wheelbase that stands in for a smaller one."""


class Pressed(NamedTuple):
    """Force of the air that presses each axle down."""

    front: N
    rear: N


class WheelMoments(NamedTuple):
    """Moments that wheels transmit to the body besides their forces at the road, in body axes."""

    roll: Nm = 0.0
    """Moment of their tyres and of the spin that yaws with the car; positive right side down."""
    pitch: Nm = 0.0
    """Moment of their tyres, less that which accelerates their spin; positive nose down."""
    inertia: kg_m2 = 0.0
    """Inertia of the wheels that pitches with the body, because a powertrain couples them."""


class Acting(NamedTuple):
    """What acts on a car at one instant."""

    loads: CornerLoads
    """Of the wheels."""
    forces: tuple[Force, ...]
    """Of the tyres in the plane of the road, in body axes."""
    pushed: Acceleration
    """Their sum over the mass of the car."""
    air: Pressed
    """What the air presses each axle with."""
    road: RoadUnderCar
    """The road under the car."""
    turned: WheelMoments = WheelMoments()
    """Moments of the wheels on the body."""


class Bumped(NamedTuple):
    """What the bumps of a road do to a car in the plane of the road."""

    F_x: N
    """Along the car, at its centre of mass."""
    F_y: N
    """Across it."""
    M_z: Nm
    """Yaw moment."""


FOLLOWED = ("load_a_x", "load_a_y")
"""Forces of the tyres over the mass that loads may follow."""


def spin_momentum(spins: tuple[rad_s, ...], I_w: kg_m2) -> Any:
    """Angular momentum of the four wheels about their axles, in kg·m²/s."""
    fl, fr, rl, rr = spins
    return I_w * ((fl + fr) + (rl + rr))


def wheel_moments(
    wheels: list[WheelForces],
    spins: tuple[rad_s, ...],
    spin_rates: tuple[rad_s2, ...],
    omega: rad_s,
    I_w: kg_m2,
) -> WheelMoments:
    """Moments of four wheels by Euler's equation, as if none of them were steered.

    The momentum H = Σ I_w spin lies across the car. Its rate is H' about the axles and -omega H
    about the axis ahead. The tyres give the moments M_y and M_x of that, the body the rest.
    """
    fl, fr, rl, rr = wheels
    over, along = (fl.M_x + fr.M_x) + (rl.M_x + rr.M_x), (fl.M_y + fr.M_y) + (rl.M_y + rr.M_y)
    return WheelMoments(
        over + omega * spin_momentum(spins, I_w), along - spin_momentum(spin_rates, I_w)
    )


def leaning_arm(p: Any) -> m:
    """Height of the centre of mass, kept above zero so that moments may be divided by it."""
    return maximum(p.z_cg, _LOWEST * (p.l_f + p.l_r))


def push_of(moments: WheelMoments, p: Any) -> Acceleration:
    """The force at the road over the mass that moves as much load as these moments do."""
    by = 1.0 / (p.m * leaning_arm(p))
    return Acceleration(-by * moments.pitch, by * moments.roll)


def alike(x: m_s, y: m_s) -> tuple[Velocity, Velocity, Velocity, Velocity]:
    """The same velocity at all patches."""
    v = Velocity(x, y)
    return v, v, v, v


def unless_moving(own: Any, balance: Any) -> Any:
    """States in balance where all of one's own are 0, which says nothing, and else those."""
    moving = own[0] != 0.0
    for value in own[1:]:
        moving = logical_or(moving, value != 0.0)
    pairs = zip(own, balance, strict=True)
    return type(own)(*(where(moving, a, b + 0.0 * a) for a, b in pairs))


class Posture(NamedTuple):
    """How a body sits that has no states to tell it."""

    roll: rad
    """Positive with the right side down, as in a turn to the left."""
    pitch: rad
    """Positive with the nose down, as in braking."""


def _as_the_mass(_: Any, x: Any, p: Any) -> tuple[Velocity, ...]:
    """Every wheel is carried as the centre of mass moves."""
    return alike(x.v_x, x.v_y)


def _no_states(_: Any, *told: Any) -> NoStates:
    """Of a body that is in balance at once."""
    return NoStates()


def _unfelt(_: Any, *told: Any) -> Any:
    """None: bumps do not act on this chassis, and its wheels stay upright."""
    return None


def _nothing(_: Any, *told: Any) -> Any:
    """It stores and takes no energy."""
    return 0.0


class RollShare(NamedTuple):
    """Loads by the parameter `roll_front` of the car: the share of the front axle in the roll
    moment. The body keeps level."""

    States = NoStates
    Outputs = NoStates
    follows = FOLLOWED
    fills = ()
    replaces = ()
    carried, rates, bumped, settled = _as_the_mass, _no_states, _unfelt, _no_states
    tilt_rate = _unfelt
    energy = loss = _nothing
    turns_by_pitch = False

    def check(self, p: Any) -> None:
        """Nothing to object to."""

    def loads(self, x: Any, road: RoadUnderCar, air: Pressed, p: Any) -> CornerLoads:
        """Wheel loads that the springs have come to."""
        standing = loads_under(p.m * road.press, air.front, air.rear, p)
        return corner_loads(standing, x.load_a_x, x.load_a_y, p)

    def travel(self, x: Any, p: Any) -> Travel:
        """None."""
        return Travel(0.0, 0.0, 0.0)

    def outputs(self, x: Any, acting: Acting, p: Any) -> NoStates:
        """None."""
        return NoStates()


class QuasiStatic(NamedTuple):
    """Loads and posture of a body in balance on springs, anti-roll bars and links.

    Across, each axle takes its part at the roll centre, that of its unsprung mass, and its share of
    roll stiffness in the rest. Along the car all of m a_x z_cg / L moves; what the links carry of
    it compresses no spring. The downforce presses the tyres, but does not lower this body.
    """

    suspension: Suspension = Suspension()
    """Masses, springs and links."""

    States = NoStates
    Outputs = Posture
    follows = FOLLOWED
    fills = ()
    replaces = ("roll_front",)
    carried, rates, bumped, settled = _as_the_mass, _no_states, _unfelt, _no_states
    tilt_rate = _unfelt
    energy = loss = _nothing
    turns_by_pitch = False

    def check(self, p: Any) -> None:
        """Raise for a car that this body cannot stand on."""
        check_sprung(self.suspension, p)

    def loads(self, x: Any, road: RoadUnderCar, air: Pressed, p: Any) -> CornerLoads:
        """Wheel loads that the springs have come to."""
        s = self.suspension
        (K_f, K_r), (G_f, G_r) = roll_stiffness(s, p), roll_levers(s, p)
        gradient = roll_gradient(s, p)
        shift_f = ((K_f * gradient + G_f) * (1.0 / p.track_f)) * x.load_a_y
        shift_r = ((K_r * gradient + G_r) * (1.0 / p.track_r)) * x.load_a_y
        standing = loads_under(p.m * road.press, *air, p)
        moved = pitch_transfer(x.load_a_x, p)
        return spread_loads(standing.front - moved, standing.rear + moved, shift_f, shift_r, p)

    def travel(self, x: Any, p: Any) -> Travel:
        """How the body sits while the tyres push as the loads have followed them."""
        s = self.suspension
        moved, links = pitch_transfer(x.load_a_x, p), link_shares(x.load_a_x, s)
        return Travel(
            roll_gradient(s, p) * x.load_a_y,
            (-0.5 * (1.0 / s.k_f)) * (1.0 - links.front) * moved,
            (0.5 * (1.0 / s.k_r)) * (1.0 - links.rear) * moved,
        )

    def outputs(self, x: Any, acting: Acting, p: Any) -> Posture:
        """Roll and pitch."""
        travel = self.travel(x, p)
        return Posture(travel.roll, (travel.front - travel.rear) * (1.0 / (p.l_f + p.l_r)))
