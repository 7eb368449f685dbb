"""Chassis models: position of the body on its wheels, and wheel loads.

The class of the chassis record selects the model: `RollShare`, `QuasiStatic`, `RollPitch`,
`IndependentSuspension` (`suspension.py`), or another class that fulfils this contract:

1. `States` is the record of the states that it adds to those of the car, `NoStates` if none, and
   `Outputs` one of outputs, whose values `outputs(x, acting, p)` returns.
2. `follows` names which of `load_a_x` and `load_a_y` the car needs as states: the lagged force of
   the tyres over the mass. Loads then are functions of the state, and forces of the loads.
3. `replaces` names parameters of the car that are not needed with this class.
4. `loads(x, road, air, p)` are the wheel loads under the car's weight, the road and the air.
5. `travel(x, p)` is the position of the body relative to its axles.
6. `carried(x, p)` is the velocity of the car over each contact patch without the part of its yaw
   rate: that of the centre of mass, and what the motion of the body on its springs adds.
7. `rates(x, acting, p)` are the rates of its own states under the forces on the car.
8. `check(p)` raises for impossible parameters.
9. `energy(x, press, p)` is the energy of the motion on the springs on an even road, where gravity
   presses with `press` per mass; `loss(x, p)` is the power that dampers dissipate there.
10. `bumped(x, loads, road, p)` is the effect of bumps in the plane of the road; None for a chassis
    without wheel travel.
11. `tilt_rate(x, p)` is the rate at which the wheel axles tilt with the body in roll, which turns
    the car by their spin; None where they stay upright.
12. `turns_by_pitch` says whether the state has the `pitch_rate` of the body that the wheels spin
    in. The reaction of the wheels then turns that body; else it moves load.
13. `fills` names those of its states that `settled(x, road, air, p)` returns for a car that stands
    or rolls in balance.

`Suspension` has the springs and links that carry the sprung mass about its roll axis. Signs are
those of ISO 8855: roll is positive with the right side down, as in a turn to the left; pitch with
the nose down, as in braking. Compression of an axle is positive when body and wheels approach each
other. Sources: W. F. and D. L. Milliken, Race Car Vehicle Dynamics, chapters 17 and 18;
T. D. Gillespie, Fundamentals of Vehicle Dynamics, chapters 6 and 7.

`RollPitch` is a body that rolls, pitches and heaves. The velocity of the car is that of its whole
centre of mass. When the body rolls, its mass and the wheels move in opposite directions, so the
contact patches move sideways by m_s h / m per rad; the tyre forces turn the body with the same
lever arm, so power at the patches is exactly power into the roll. Pitch and heave respond to the
longitudinal force in the same way. Small angles; the roll axis is fixed.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ... import units as si
from ...errors import InvalidValue
from ...ops import logical_or, maximum, smooth_step, where
from .actuators import ramp
from .assembly import NoStates
from .kinematics import Acceleration
from .load_transfer import (
    CornerLoads,
    Force,
    Velocity,
    corner_loads,
    loads_under,
    pitch_transfer,
    spread_loads,
    while_upright,
)
from .on_road import RoadUnderCar
from .spinning_wheel import WheelForces

link_share = Annotated[si.one, si.Allowed(-2.0, 2.0)]
"""Share of a load transfer carried by links; above 1 the body rises instead of diving."""


class Suspension(NamedTuple):
    """Masses, springs and links of both axles; by default those of a Ford Escort.

    Values are those of CommonRoad's vehicle 1 (`commonroad-vehicle-models` 3.0.2), whose roll
    centres are on the ground and whose links carry nothing.
    """

    m_u_f: Annotated[si.kg, si.non_negative] = 65.67256321742863
    """Unsprung mass of the front axle, both wheels."""
    m_u_r: Annotated[si.kg, si.non_negative] = 65.67256321742863
    """Unsprung mass of the rear axle, both wheels."""
    h_u_f: Annotated[si.m, si.non_negative] = 0.344
    """Height of the centre of the front unsprung mass."""
    h_u_r: Annotated[si.m, si.non_negative] = 0.344
    """Height of the centre of the rear unsprung mass."""
    h_rc_f: si.m = 0.0
    """Height of the front roll centre."""
    h_rc_r: si.m = 0.0
    """Height of the rear roll centre."""
    k_f: Annotated[si.N_m, si.positive] = 21898.332429625985
    """Wheel rate of a front spring: load per travel of the wheel."""
    k_r: Annotated[si.N_m, si.positive] = 21898.332429625985
    """Wheel rate of a rear spring: load per travel of the wheel."""
    bar_f: Annotated[si.Nm, si.non_negative] = 12880.270509148304
    """Roll stiffness of the front anti-roll bar, moment per rad."""
    bar_r: Annotated[si.Nm, si.non_negative] = 0.0
    """Roll stiffness of the rear anti-roll bar, moment per rad."""
    anti_dive: link_share = 0.0
    """Share of the load added to the front axle in braking that the links carry."""
    anti_lift_r: link_share = 0.0
    """Share of the load removed from the rear axle in braking that the links carry."""
    anti_squat: link_share = 0.0
    """Share of the load added to the rear axle in driving that the links carry."""
    anti_lift_f: link_share = 0.0
    """Share of the load removed from the front axle in driving that the links carry."""
    a_blend: Annotated[si.m_s2, si.positive] = 0.5
    """Acceleration range, either sign, over which shares of braking blend into driving."""


class SprungMass(NamedTuple):
    """Mass and position of the body without its axles; a function of parameters alone."""

    m: si.kg
    l_f: si.m
    """Distance from its centre of mass to the front axle."""
    l_r: si.m
    front: si.kg
    """Part of its mass that the front axle carries."""
    rear: si.kg
    arm: si.m
    """Height of its centre of mass above the roll axis."""
    z: si.m
    """Height of its centre of mass."""


class Travel(NamedTuple):
    """Position of the body relative to its axles."""

    roll: si.rad
    """Roll angle, positive with the right side down."""
    front: si.m
    """Compression of the front axle from its static position."""
    rear: si.m
    """Compression of the rear axle from its static position."""
    wheels: tuple[si.m, si.m, si.m, si.m] | None = None
    """Travel of each wheel towards the body, for independent wheels; `front` and `rear` then
    are the sinking of the body towards the road, tyre deflection included."""


def sprung_mass(s: Any, p: Any) -> SprungMass:
    """Sprung mass with its position and height: the car minus its axles."""
    mass = p.m - s.m_u_f - s.m_u_r
    by_mass, by_wheelbase = 1.0 / mass, 1.0 / (p.l_f + p.l_r)
    ahead = (s.m_u_r * p.l_r - s.m_u_f * p.l_f) * by_mass
    l_f, l_r = p.l_f - ahead, p.l_r + ahead
    height = (p.m * p.z_cg - s.m_u_f * s.h_u_f - s.m_u_r * s.h_u_r) * by_mass
    on_front, on_rear = l_r * by_wheelbase, l_f * by_wheelbase
    axis = on_front * s.h_rc_f + on_rear * s.h_rc_r
    return SprungMass(mass, l_f, l_r, on_front * mass, on_rear * mass, height - axis, height)


def roll_stiffness(s: Suspension, p: Any) -> tuple[si.Nm, si.Nm]:
    """Roll stiffness of each axle, springs and anti-roll bar together: moment per rad of roll."""
    return (
        (0.5 * s.k_f) * (p.track_f * p.track_f) + s.bar_f,
        (0.5 * s.k_r) * (p.track_r * p.track_r) + s.bar_r,
    )


def roll_inertia(body: SprungMass, I_x: si.kg_m2, p: Any) -> si.kg_m2:
    """Roll inertia of the body, and roll inertia of body and wheels moving in opposite
    directions."""
    return I_x + body.m * (body.arm * body.arm) * (1.0 - body.m * (1.0 / p.m))


def roll_gradient(s: Suspension, p: Any) -> Any:
    """Roll per lateral acceleration in rad/(m/s²): m_s h / (K_f + K_r - m_s g h).

    The body leans outwards, so its weight adds to the moment (Gillespie, eq. 6-36).
    """
    body, (K_f, K_r) = sprung_mass(s, p), roll_stiffness(s, p)
    leaning = body.m * body.arm
    return leaning / (K_f + K_r - leaning * p.g)


def roll_levers(s: Any, p: Any) -> tuple[Any, Any]:
    """Moment per lateral acceleration that bypasses the springs, for each axle, in kg·m.

    It comes from the sprung mass at the roll centre and the unsprung mass at its own height.
    """
    body = sprung_mass(s, p)
    return body.front * s.h_rc_f + s.m_u_f * s.h_u_f, body.rear * s.h_rc_r + s.m_u_r * s.h_u_r


def link_shares(a_x: si.m_s2, s: Suspension) -> tuple[si.one, si.one]:
    """Share of each axle's load transfer that the links carry at a longitudinal acceleration."""
    driving = smooth_step(a_x, -s.a_blend, s.a_blend)
    return (
        s.anti_dive + (s.anti_lift_f - s.anti_dive) * driving,
        s.anti_lift_r + (s.anti_squat - s.anti_lift_r) * driving,
    )


def wheel_travel(travel: Travel, p: Any) -> tuple[si.m, si.m, si.m, si.m]:
    """Travel of each wheel towards the body: its own state, or from axle compression and roll."""
    if travel.wheels is not None:
        return travel.wheels
    side_f, side_r = (0.5 * p.track_f) * travel.roll, (0.5 * p.track_r) * travel.roll
    return (
        travel.front - side_f,
        travel.front + side_f,
        travel.rear - side_r,
        travel.rear + side_r,
    )


def check_sprung(s: Any, p: Any, stiffness: si.Nm, parts: str) -> None:
    """Raise if an axle carries no sprung mass, or if the roll stiffness of `parts` is too small.

    An unsprung mass must be less than the mass on its axle, and the stiffness must overcome the
    moment of the leaning body.
    """
    by_wheelbase = p.m / (p.l_f + p.l_r)
    for name, unsprung, arm in (("m_u_f", s.m_u_f, p.l_r), ("m_u_r", s.m_u_r, p.l_f)):
        if not unsprung < arm * by_wheelbase:
            raise InvalidValue(
                f"unsprung mass {name} = {unsprung:g} kg must be less than the "
                f"{arm * by_wheelbase:g} kg of the mass m = {p.m:g} kg that stand on its axle"
            )
    body = sprung_mass(s, p)
    tipping = body.m * p.g * body.arm
    if not stiffness > tipping:
        raise InvalidValue(
            f"the roll stiffness {stiffness:.6g} N·m/rad of {parts} must be greater than the "
            f"moment {tipping:.6g} N·m/rad by which the leaning body tips over"
        )


def check_springs(s: Suspension, p: Any) -> None:
    """Raise for an impossible `Suspension`, see `check_sprung`."""
    check_sprung(s, p, sum(roll_stiffness(s, p)), "k_f, k_r, bar_f and bar_r")


_LOWEST: si.one = 1e-3
"""Least height of the centre of mass used in a division, over the wheelbase."""


class Pressed(NamedTuple):
    """Aerodynamic load on each axle, positive downwards."""

    front: si.N
    rear: si.N


class WheelMoments(NamedTuple):
    """Moments of the wheels on the body, in addition to their forces at the road, in body axes."""

    roll: si.Nm = 0.0
    """Moment by the tyres and by the spin that yaws with the car; positive right side down."""
    pitch: si.Nm = 0.0
    """Moment by the tyres minus that which accelerates the wheel spin; positive nose down."""
    inertia: si.kg_m2 = 0.0
    """Inertia of the wheels that pitches with the body, because a powertrain couples them."""


class Acting(NamedTuple):
    """Loads, forces and moments on a car at one instant."""

    loads: CornerLoads
    """Load of each wheel."""
    forces: tuple[Force, ...]
    """Tyre forces in the plane of the road, in body axes."""
    pushed: Acceleration
    """Sum of the tyre forces over the mass of the car."""
    air: Pressed
    """Aerodynamic load on each axle."""
    road: RoadUnderCar
    """The road under the car."""
    turned: WheelMoments = WheelMoments()
    """Moments of the wheels on the body."""


class Bumped(NamedTuple):
    """Effect of road bumps on a car in the plane of the road."""

    F_x: si.N
    """Longitudinal force at the centre of mass."""
    F_y: si.N
    """Lateral force at the centre of mass."""
    M_z: si.Nm
    """Yaw moment."""


FOLLOWED = ("load_a_x", "load_a_y")
"""Names of the lagged accelerations that loads may follow."""


def spin_momentum(spins: tuple[si.rad_s, ...], I_w: si.kg_m2) -> Any:
    """Angular momentum of the four wheels about their axles, in kg·m²/s."""
    fl, fr, rl, rr = spins
    return I_w * ((fl + fr) + (rl + rr))


def wheel_moments(
    wheels: list[WheelForces],
    spins: tuple[si.rad_s, ...],
    spin_rates: tuple[si.rad_s2, ...],
    omega: si.rad_s,
    I_w: si.kg_m2,
) -> WheelMoments:
    """Moments of four wheels on the body by Euler's equation, neglecting steering.

    The angular momentum H = Σ I_w spin points across the car. Its rate is H' about the lateral
    axis and -omega H about the forward axis. The tyres supply the moments M_y and M_x of it, the
    body the rest.
    """
    fl, fr, rl, rr = wheels
    over, along = (fl.M_x + fr.M_x) + (rl.M_x + rr.M_x), (fl.M_y + fr.M_y) + (rl.M_y + rr.M_y)
    return WheelMoments(
        over + omega * spin_momentum(spins, I_w), along - spin_momentum(spin_rates, I_w)
    )


def leaning_arm(p: Any) -> si.m:
    """Height of the centre of mass with a positive lower bound, to divide moments by."""
    return maximum(p.z_cg, _LOWEST * (p.l_f + p.l_r))


def push_of(moments: WheelMoments, p: Any) -> Acceleration:
    """Force at the road over the mass that would transfer the same load as these moments."""
    by = 1.0 / (p.m * leaning_arm(p))
    return Acceleration(-by * moments.pitch, by * moments.roll)


def alike(x: si.m_s, y: si.m_s) -> tuple[Velocity, Velocity, Velocity, Velocity]:
    """Same velocity for all four contact patches."""
    v = Velocity(x, y)
    return v, v, v, v


def unless_moving(own: Any, balance: Any) -> Any:
    """Return the states in balance if all given states are 0, otherwise the given states."""
    moving = own[0] != 0.0
    for value in own[1:]:
        moving = logical_or(moving, value != 0.0)
    pairs = zip(own, balance, strict=True)
    return type(own)(*(where(moving, a, b + 0.0 * a) for a, b in pairs))


class Posture(NamedTuple):
    """Roll and pitch of a body without states of its own."""

    roll: si.rad
    """Roll angle, positive with the right side down, as in a turn to the left."""
    pitch: si.rad
    """Pitch angle, positive with the nose down, as in braking."""


def _in_balance(kind: Any) -> Any:
    """Class decorator for a chassis without states: always in balance, wheels stay upright."""

    def none(self: Any, *inputs: Any) -> Any:
        return None

    def nothing(self: Any, *inputs: Any) -> Any:
        return 0.0

    def no_states(self: Any, *inputs: Any) -> NoStates:
        return NoStates()

    def carried(self: Any, x: Any, p: Any) -> tuple[Velocity, ...]:
        return alike(x.v_x, x.v_y)

    kind.States, kind.follows, kind.fills = NoStates, FOLLOWED, ()
    kind.carried, kind.rates, kind.settled = carried, no_states, no_states
    kind.bumped, kind.tilt_rate, kind.energy, kind.loss = none, none, nothing, nothing
    kind.turns_by_pitch = False
    return kind


@_in_balance
class RollShare(NamedTuple):
    """Loads by the car's parameter `roll_front`; the body stays level.

    `roll_front` is the share of the front axle in the roll moment.
    """

    Outputs = NoStates
    replaces = ()

    def check(self, p: Any) -> None:
        """Accept all parameters."""

    def loads(self, x: Any, road: RoadUnderCar, air: Pressed, p: Any) -> CornerLoads:
        standing = loads_under(p.m * road.press, air.front, air.rear, p)
        return corner_loads(standing, x.load_a_x, x.load_a_y, p)

    def travel(self, x: Any, p: Any) -> Travel:
        """Zero travel: the body stays level."""
        return Travel(0.0, 0.0, 0.0)

    def outputs(self, x: Any, acting: Acting, p: Any) -> NoStates:
        return NoStates()


@_in_balance
class QuasiStatic(NamedTuple):
    """Loads and posture of a body in balance on springs, anti-roll bars and links.

    Laterally, each axle carries its part of the sprung mass at the roll centre, that of its
    unsprung mass, and the rest by its share of roll stiffness. Longitudinally all of m a_x z_cg
    / L is transferred; the part that the links carry compresses no spring. Downforce loads the
    tyres, but does not lower this body.
    """

    suspension: Suspension = Suspension()
    """Masses, springs and links."""

    Outputs = Posture
    replaces = ("roll_front",)

    def check(self, p: Any) -> None:
        """Raise if the springs cannot carry the body or the unsprung masses are too large."""
        check_springs(self.suspension, p)

    def loads(self, x: Any, road: RoadUnderCar, air: Pressed, p: Any) -> CornerLoads:
        """Wheel loads in balance with the lagged tyre forces."""
        s = self.suspension
        (K_f, K_r), (G_f, G_r) = roll_stiffness(s, p), roll_levers(s, p)
        gradient = roll_gradient(s, p)
        shift_f = ((K_f * gradient + G_f) * (1.0 / p.track_f)) * x.load_a_y
        shift_r = ((K_r * gradient + G_r) * (1.0 / p.track_r)) * x.load_a_y
        standing = loads_under(p.m * road.press, *air, p)
        moved = pitch_transfer(x.load_a_x, p)
        return spread_loads(standing.front - moved, standing.rear + moved, shift_f, shift_r, p)

    def travel(self, x: Any, p: Any) -> Travel:
        """Travel of the body in balance with the lagged tyre forces."""
        s = self.suspension
        moved, (front, rear) = pitch_transfer(x.load_a_x, p), link_shares(x.load_a_x, s)
        return Travel(
            roll_gradient(s, p) * x.load_a_y,
            (-0.5 * (1.0 / s.k_f)) * (1.0 - front) * moved,
            (0.5 * (1.0 / s.k_r)) * (1.0 - rear) * moved,
        )

    def outputs(self, x: Any, acting: Acting, p: Any) -> Posture:
        """Roll and pitch."""
        travel = self.travel(x, p)
        return Posture(travel.roll, (travel.front - travel.rear) * (1.0 / (p.l_f + p.l_r)))


class RollPitchState(NamedTuple):
    """Motion of the body on its springs."""

    roll: si.rad = 0.0
    """Roll angle, positive with the right side down, as in a turn to the left."""
    roll_rate: si.rad_s = 0.0
    """Rate of roll."""
    pitch: si.rad = 0.0
    """Pitch angle, positive with the nose down, as in braking."""
    pitch_rate: si.rad_s = 0.0
    """Rate of pitch."""
    heave: si.m = 0.0
    """Height of the sprung centre of mass above its static height, positive upwards."""
    heave_rate: si.m_s = 0.0
    """Rate of heave."""


class Compression(NamedTuple):
    """Compression of each axle, and its rate."""

    front: si.m
    rear: si.m
    front_rate: si.m_s
    rear_rate: si.m_s


class RollPitch(NamedTuple):
    """Body that moves on its suspension; by default that of a Ford Escort (CommonRoad)."""

    suspension: Suspension = Suspension()
    """Masses, springs and links."""
    I_x: Annotated[si.kg_m2, si.positive] = 244.04723069965206
    """Roll inertia of the sprung mass about its centre of mass."""
    I_y: Annotated[si.kg_m2, si.positive] = 1342.2597688480864
    """Pitch inertia of the sprung mass about its centre of mass."""
    c_f: Annotated[si.N_s_m, si.non_negative] = 1459.3902937206362
    """Damping of a front wheel, force per rate of its travel."""
    c_r: Annotated[si.N_s_m, si.non_negative] = 1459.3902937206362
    """Damping of a rear wheel, force per rate of its travel."""

    States = RollPitchState
    Outputs = NoStates
    follows = FOLLOWED
    fills = RollPitchState._fields
    replaces = ("roll_front",)
    turns_by_pitch = True

    def check(self, p: Any) -> None:
        """Raise if the springs cannot carry the body or the unsprung masses are too large."""
        check_springs(self.suspension, p)

    def loads(self, x: Any, road: RoadUnderCar, air: Pressed, p: Any) -> CornerLoads:
        """Wheel loads by weight and the present forces of springs, dampers and links.

        Links respond to the lagged tyre forces. Aerodynamic load acts on the body and reaches the
        wheels through the springs.
        """
        s, at = self.suspension, self.compression(x, p)
        (K_f, K_r), (G_f, G_r) = roll_stiffness(s, p), roll_levers(s, p)
        C_f, C_r = self._roll_damping(p)
        roll, rate, a_y = x.roll, x.roll_rate, x.load_a_y
        by_track_f, by_track_r = 1.0 / p.track_f, 1.0 / p.track_r
        shift_f = (K_f * by_track_f) * roll + (C_f * by_track_f) * rate + (G_f * by_track_f) * a_y
        shift_r = (K_r * by_track_r) * roll + (C_r * by_track_r) * rate + (G_r * by_track_r) * a_y
        front, rear = self._axle_forces(x, at, pitch_transfer(x.load_a_x, p))
        front, rear = (ramp(F, p.F_lift) for F in loads_under(p.m * road.press, front, rear, p))
        return spread_loads(front, rear, shift_f, shift_r, p)

    def compression(self, x: Any, p: Any) -> Compression:
        """Compression of the axles by pitch and heave."""
        body = sprung_mass(self.suspension, p)
        return Compression(
            body.l_f * x.pitch - x.heave,
            -(body.l_r * x.pitch) - x.heave,
            body.l_f * x.pitch_rate - x.heave_rate,
            -(body.l_r * x.pitch_rate) - x.heave_rate,
        )

    def travel(self, x: Any, p: Any) -> Travel:
        """Position of the body relative to its axles."""
        at = self.compression(x, p)
        return Travel(x.roll, at.front, at.rear)

    def outputs(self, x: Any, acting: Acting, p: Any) -> NoStates:
        """Empty outputs: roll, pitch and heave are states."""
        return NoStates()

    def carried(self, x: Any, p: Any) -> tuple[Velocity, ...]:
        """Velocity of the contact patches: of the centre of mass, plus the contributions of roll
        and pitch."""
        body, at = sprung_mass(self.suspension, p), self.compression(x, p)
        front, rear = link_shares(x.load_a_x, self.suspension)
        pitching = (1.0 - front) * at.front_rate - (1.0 - rear) * at.rear_rate
        return alike(
            x.v_x - (p.z_cg * (1.0 / (p.l_f + p.l_r))) * pitching,
            x.v_y + (body.m * body.arm * (1.0 / p.m)) * x.roll_rate,
        )

    def rates(self, x: Any, acting: Acting, p: Any) -> RollPitchState:
        """Rates of roll, pitch and heave and of their rates."""
        pushed, air = acting.pushed, acting.air
        s, at, body = self.suspension, self.compression(x, p), sprung_mass(self.suspension, p)
        K_f, K_r = roll_stiffness(s, p)
        C_f, C_r = self._roll_damping(p)
        leaning = body.m * body.arm
        across = pushed.y + push_of(acting.turned, p).y
        rolling = leaning * across - (K_f + K_r - leaning * p.g) * x.roll
        rolling = rolling - (C_f + C_r) * x.roll_rate
        front, rear = self._axle_forces(x, at, pitch_transfer(pushed.x, p))
        up_f, up_r = front - air.front, rear - air.rear
        pitching = body.l_r * up_r - body.l_f * up_f - (p.m * p.z_cg) * pushed.x
        pitching = pitching + acting.turned.pitch
        return RollPitchState(
            x.roll_rate,
            while_upright(x.roll, rolling * (1.0 / roll_inertia(body, self.I_x, p))),
            x.pitch_rate,
            while_upright(x.pitch, pitching * (1.0 / (self.I_y + acting.turned.inertia))),
            x.heave_rate,
            (up_f + up_r) * (1.0 / body.m),
        )

    def tilt_rate(self, x: Any, p: Any) -> si.rad_s:
        """Roll rate times the share of wheel moments that rolls the body; balances power."""
        body = sprung_mass(self.suspension, p)
        lever = body.m * body.arm / (p.m * leaning_arm(p))
        return lever * x.roll_rate

    def energy(self, x: Any, press: si.m_s2, p: Any) -> si.J:
        """Energy of roll, pitch and heave: kinetic, springs, bars, and weight in roll."""
        s, at, body = self.suspension, self.compression(x, p), sprung_mass(self.suspension, p)
        K_f, K_r = roll_stiffness(s, p)
        rolling = roll_inertia(body, self.I_x, p) * (x.roll_rate * x.roll_rate)
        pitching = self.I_y * (x.pitch_rate * x.pitch_rate)
        heaving = body.m * (x.heave_rate * x.heave_rate)
        leaning = (K_f + K_r - body.m * body.arm * p.g) * (x.roll * x.roll)
        springs = s.k_f * (at.front * at.front) + s.k_r * (at.rear * at.rear)
        return 0.5 * (rolling + pitching + heaving + leaning) + springs

    def loss(self, x: Any, p: Any) -> Any:
        """Power that the dampers dissipate, in W."""
        at, (C_f, C_r) = self.compression(x, p), self._roll_damping(p)
        axles = 2.0 * (self.c_f * at.front_rate**2 + self.c_r * at.rear_rate**2)
        return axles + (C_f + C_r) * (x.roll_rate * x.roll_rate)

    def bumped(self, x: Any, loads: CornerLoads, road: RoadUnderCar, p: Any) -> None:
        """Return None: this chassis has no wheels of its own that bumps act on."""

    def settled(self, x: Any, road: RoadUnderCar, air: Pressed, p: Any) -> RollPitchState:
        """Body sunk under the aerodynamic loads if all its states are 0, else its own states."""
        body, s = sprung_mass(self.suspension, p), self.suspension
        front, rear = air.front * (0.5 / s.k_f), air.rear * (0.5 / s.k_r)
        pitch = (front - rear) * (1.0 / (p.l_f + p.l_r))
        balance = RollPitchState(pitch=pitch, heave=body.l_f * pitch - front)
        own = RollPitchState(*(getattr(x, name) for name in RollPitchState._fields))
        return unless_moving(own, balance)

    def _roll_damping(self, p: Any) -> tuple[Any, Any]:
        return (
            (0.5 * self.c_f) * (p.track_f * p.track_f),
            (0.5 * self.c_r) * (p.track_r * p.track_r),
        )

    def _axle_forces(self, x: Any, at: Compression, moved: Any) -> tuple[Any, Any]:
        """Force of springs, dampers and links of each axle beyond the static one; `moved` is the
        load transfer of which the links carry their shares."""
        s, (front, rear) = self.suspension, link_shares(x.load_a_x, self.suspension)
        return (
            2.0 * (s.k_f * at.front + self.c_f * at.front_rate) - front * moved,
            2.0 * (s.k_r * at.rear + self.c_r * at.rear_rate) + rear * moved,
        )
