"""Chassis with a sprung body and four wheels that move vertically: 7 degrees of freedom.

The load of a wheel is the vertical force of its tyre, from its deflection on the road below it. So
the car drives over bumps, and a wheel off the ground carries no load. The vertical stiffness is
that of the tyre (`C_z` of its radii at the static load). Equations: docs/vehicles.md.

The suspension links determine how the contact patch moves as the wheel travels, and which part of
the force at the patch bypasses the spring; each follows from the other by power balance, so energy
is exact. Per unit of wheel travel a patch moves outwards by 2 h_rc / track and, at the front,
forwards by `anti_f`, at the rear backwards by `anti_r`. A force F along that motion therefore
pushes its wheel up, and the body down, by F times that ratio: load that bypasses the springs,
anti-dive and jacking. Unsprung masses transfer load laterally as those of a rigid axle would, at
their own height, with the force of their own axle; the force that accelerates them does not pass
through links.

Springs, dampers, anti-roll bars and stops are between a wheel and the body. Travel is positive when
wheel and body approach each other (bump), and so is its rate; a force is positive when it pushes
them apart. A spring and a stop have `force(travel)` and `energy(travel)`, a damper has
`force(rate)`. `corner` assembles them: `corner(spring=..., damper=...)`.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ... import units as si
from ...core.files import brief_repr
from ...core.record import extended
from ...ops import smooth_abs
from ...tyres.contract import Contact, each_tyre
from .actuators import ramp, ramp_integral
from .assembly import assembled
from .chassis import (
    Acting,
    Bumped,
    Pressed,
    RollPitchState,
    Travel,
    check_sprung,
    roll_inertia,
    roll_levers,
    sprung_mass,
    unless_moving,
)
from .load_transfer import CornerLoads, Force, Velocity, loads_under, standing_loads, while_upright
from .on_road import RoadUnderCar

Four = tuple[Any, Any, Any, Any]


class SuspendedBody(NamedTuple):
    """Masses and links; by default those of a Ford Escort (CommonRoad's vehicle 1), whose roll
    centres are on the ground and whose links carry nothing."""

    I_x: Annotated[si.kg_m2, si.positive] = 244.04723069965206
    """Roll inertia of the sprung mass about its centre of mass."""
    I_y: Annotated[si.kg_m2, si.positive] = 1342.2597688480864
    """Pitch inertia of the sprung mass about its centre of mass."""
    m_u_f: Annotated[si.kg, si.positive] = 65.67256321742863
    """Unsprung mass of the front axle, both wheels."""
    m_u_r: Annotated[si.kg, si.positive] = 65.67256321742863
    """Unsprung mass of the rear axle, both wheels."""
    h_u_f: Annotated[si.m, si.non_negative] = 0.344
    """Height of the centre of the front unsprung mass."""
    h_u_r: Annotated[si.m, si.non_negative] = 0.344
    """Height of the centre of the rear unsprung mass."""
    h_rc_f: si.m = 0.0
    """Height of the front roll centre."""
    h_rc_r: si.m = 0.0
    """Height of the rear roll centre."""
    anti_f: si.one = 0.0
    """Forward displacement of a front contact patch per travel of its wheel: the tangent of the
    link angle in side view. Times the front axle's share of the braking and L / z_cg it is the
    anti-dive; in driving, the anti-lift."""
    anti_r: si.one = 0.0
    """Backward displacement of a rear contact patch per travel of its wheel. Times the rear
    axle's share of the braking and L / z_cg it is the anti-lift; in driving, the anti-squat."""
    c_t_f: Annotated[si.N_s_m, si.non_negative] = 50.0
    """Vertical damping of a front tyre (estimate)."""
    c_t_r: Annotated[si.N_s_m, si.non_negative] = 50.0
    """Vertical damping of a rear tyre (estimate)."""


@extended
class SuspensionState(RollPitchState):
    """Motion of body and wheels normal to the plane of the road. Heights and angles are relative to
    the static position; rates are those over ground, which differ on an uneven road."""

    z_fl: si.m = 0.0
    """Height of the front left wheel."""
    z_fr: si.m = 0.0
    """Height of the front right wheel."""
    z_rl: si.m = 0.0
    """Height of the rear left wheel."""
    z_rr: si.m = 0.0
    """Height of the rear right wheel."""
    v_z_fl: si.m_s = 0.0
    """Velocity of the front left wheel upwards."""
    v_z_fr: si.m_s = 0.0
    """Velocity of the front right wheel upwards."""
    v_z_rl: si.m_s = 0.0
    """Velocity of the rear left wheel upwards."""
    v_z_rr: si.m_s = 0.0
    """Velocity of the rear right wheel upwards."""


class SuspensionTravel(NamedTuple):
    """Outputs of the suspension: vertical acceleration and wheel travel."""

    a_z: si.m_s2
    """Acceleration of the sprung centre of mass normal to the road, positive upwards."""
    travel_fl: si.m
    """Travel of the front left wheel towards the body, from its static position."""
    travel_fr: si.m
    """Travel of the front right wheel."""
    travel_rl: si.m
    """Travel of the rear left wheel."""
    travel_rr: si.m
    """Travel of the rear right wheel."""


def heights(x: Any) -> Four:
    return x.z_fl, x.z_fr, x.z_rl, x.z_rr


def height_rates(x: Any) -> Four:
    """Velocities of the wheels, positive upwards."""
    return x.v_z_fl, x.v_z_fr, x.v_z_rl, x.v_z_rr


def corner_places(s: SuspendedBody, p: Any) -> tuple[tuple[si.m, si.m], ...]:
    """Positions of the wheels, forward and to the left of the sprung centre of mass."""
    body, half_f, half_r = sprung_mass(s, p), 0.5 * p.track_f, 0.5 * p.track_r
    return (body.l_f, half_f), (body.l_f, -half_f), (-body.l_r, half_r), (-body.l_r, -half_r)


def _towards(wheels: Four, heave: Any, roll: Any, pitch: Any, s: SuspendedBody, p: Any) -> Four:
    fl, fr, rl, rr = (
        z - (heave + left * roll - forward * pitch)
        for z, (forward, left) in zip(wheels, corner_places(s, p), strict=True)
    )
    return fl, fr, rl, rr


def travels(x: Any, s: SuspendedBody, p: Any) -> Four:
    """Travel of each wheel towards the body, in bump positive."""
    return _towards(heights(x), x.heave, x.roll, x.pitch, s, p)


def travel_rates(x: Any, s: SuspendedBody, p: Any) -> Four:
    return _towards(height_rates(x), x.heave_rate, x.roll_rate, x.pitch_rate, s, p)


def _along(s: SuspendedBody) -> Four:
    """Forward displacement of each contact patch per unit of wheel travel."""
    return s.anti_f, s.anti_f, -s.anti_r, -s.anti_r


def _unsprung(s: SuspendedBody, p: Any) -> tuple[si.one, si.one]:
    """Share of the unsprung mass in the mass that each axle carries."""
    base = (p.l_f + p.l_r) * (1.0 / p.m)
    return s.m_u_f * base * (1.0 / p.l_r), s.m_u_r * base * (1.0 / p.l_f)


def _aside(s: SuspendedBody, p: Any) -> Four:
    """Leftward displacement of each contact patch per unit of wheel travel.

    The share of the force that accelerates the unsprung mass (`_unsprung`) is excluded, as it
    does not pass through the links.
    """
    own_f, own_r = _unsprung(s, p)
    front = 2.0 * s.h_rc_f * (1.0 - own_f) * (1.0 / p.track_f)
    rear = 2.0 * s.h_rc_r * (1.0 - own_r) * (1.0 / p.track_r)
    return front, -front, rear, -rear


def _leaning(s: SuspendedBody, p: Any) -> tuple[si.one, si.one]:
    """Leftward displacement of the patches of each axle per height difference of its wheels."""
    own_f, own_r = _unsprung(s, p)
    return own_f * s.h_u_f * (1.0 / p.track_f), own_r * s.h_u_r * (1.0 / p.track_r)


def link_forces(forces: tuple[Force, ...], s: SuspendedBody, p: Any) -> Four:
    """Force with which the links push each wheel up and the body down."""
    columns = zip(forces, _along(s), _aside(s, p), strict=True)
    fl, fr, rl, rr = (along * f.x + aside * f.y for f, along, aside in columns)
    return fl, fr, rl, rr


def axle_forces(
    x: Any, forces: tuple[Force, ...], press: si.m_s2, s: SuspendedBody, p: Any
) -> Four:
    """Force that pushes each wheel up as its axle leans.

    It comes from the lateral acceleration of the unsprung mass and the weight on the leaning axle.
    """
    by_f, by_r = 1.0 / p.track_f, 1.0 / p.track_r
    (lean_f, lean_r), (lever_f, lever_r) = _leaning(s, p), roll_levers(s, p)
    over_f, over_r = lever_f * by_f * by_f, lever_r * by_r * by_r
    front = lean_f * (forces[0].y + forces[1].y) + (over_f * (x.z_fl - x.z_fr)) * press
    rear = lean_r * (forces[2].y + forces[3].y) + (over_r * (x.z_rl - x.z_rr)) * press
    return front, -front, rear, -rear


class LinearSpring(NamedTuple):
    """Spring with constant stiffness."""

    k: Annotated[si.N_m, si.positive] = 25000.0
    """Stiffness."""
    F_0: si.N = 0.0
    """Force at travel 0."""

    def force(self, travel: si.m) -> si.N:
        """Force F_0 + k z at the travel z."""
        return self.F_0 + self.k * travel

    def energy(self, travel: si.m) -> si.J:
        """Stored energy beyond that at travel 0."""
        return travel * (self.F_0 + (0.5 * self.k) * travel)


class ProgressiveSpring(NamedTuple):
    """Progressive spring with the stiffness k + 2 k_2 z + 3 k_3 z², positive wherever used."""

    k: Annotated[si.N_m, si.positive] = 25000.0
    """Stiffness at travel 0."""
    k_2: si.N_m2 = 0.0
    """Force per squared travel; positive values stiffen bump and soften rebound."""
    k_3: Annotated[si.N_m3, si.non_negative] = 0.0
    """Force per cubed travel; stiffens both directions."""
    F_0: si.N = 0.0
    """Force at travel 0."""

    def force(self, travel: si.m) -> si.N:
        """Force F_0 + k z + k_2 z² + k_3 z³ at the travel z."""
        return self.F_0 + travel * (self.k + travel * (self.k_2 + self.k_3 * travel))

    def energy(self, travel: si.m) -> si.J:
        cubic = (1.0 / 3.0) * self.k_2 + (0.25 * self.k_3) * travel
        return travel * (self.F_0 + travel * (0.5 * self.k + cubic * travel))


class LinearDamper(NamedTuple):
    """Damper with one slope."""

    c: Annotated[si.N_s_m, si.non_negative] = 1500.0
    """Force per rate."""

    def force(self, rate: si.m_s) -> si.N:
        return self.c * rate


class KneedDamper(NamedTuple):
    """Damper with slopes for bump and rebound, each with a lower slope beyond its knee."""

    c_bump: Annotated[si.N_s_m, si.non_negative] = 1200.0
    """Slope at low bump rates."""
    c_rebound: Annotated[si.N_s_m, si.non_negative] = 2400.0
    """Slope at low rebound rates."""
    c_bump_fast: Annotated[si.N_s_m, si.non_negative] = 500.0
    """Slope beyond the knee in bump."""
    c_rebound_fast: Annotated[si.N_s_m, si.non_negative] = 900.0
    """Slope beyond the knee in rebound."""
    v_bump: Annotated[si.m_s, si.positive] = 0.1
    """Rate at the knee in bump."""
    v_rebound: Annotated[si.m_s, si.positive] = 0.1
    """Rate at the knee in rebound, as a positive number."""
    width: Annotated[si.m_s, si.positive] = 0.02
    """Range of rates over which the slopes blend into each other."""

    def force(self, rate: si.m_s) -> si.N:
        """Damper force, positive in bump, 0 at rest, and never falling with the rate."""
        slow = self.c_bump * self._bend(rate, 0.0) - self.c_rebound * self._bend(-rate, 0.0)
        bump = (self.c_bump_fast - self.c_bump) * self._bend(rate, self.v_bump)
        rebound = (self.c_rebound_fast - self.c_rebound) * self._bend(-rate, self.v_rebound)
        return slow + bump - rebound

    def _bend(self, rate: si.m_s, knee: si.m_s) -> si.m_s:
        """Rate beyond a knee, smooth; 0 at rest."""
        beyond, at_rest = rate - knee, smooth_abs(-knee + 0.0 * rate, self.width) - knee
        return 0.5 * (beyond + smooth_abs(beyond, self.width) - at_rest)


class AntiRollBar(NamedTuple):
    """Anti-roll bar, which resists a difference in travel between the wheels of an axle."""

    k: Annotated[si.N_m, si.non_negative] = 0.0
    """Force on each wheel per difference in travel; k track² is its moment per rad of roll."""

    def force(self, travel: si.m, other: si.m) -> si.N:
        """Force on the wheel with `travel`; the force on the other wheel is opposite."""
        return self.k * (travel - other)

    def energy(self, travel: si.m, other: si.m) -> si.J:
        """Stored energy of the whole bar."""
        return (0.5 * self.k) * ((travel - other) * (travel - other))


class NoStop(NamedTuple):
    """Placeholder for an omitted stop, without force."""

    def force(self, travel: si.m) -> si.N:
        return 0.0

    def energy(self, travel: si.m) -> si.J:
        return 0.0


class BumpStop(NamedTuple):
    """Bump stop: a spring that engages at a gap.

    Its force is 0 below gap - width, k (z - gap) above gap + width, and smooth between.
    """

    gap: si.m = 0.06
    """Travel at which the stop engages."""
    k: Annotated[si.N_m, si.positive] = 150000.0
    """Stiffness of the stop."""
    width: Annotated[si.m, si.positive] = 0.01
    """Half width of the travel range over which the stop engages."""

    def force(self, travel: si.m) -> si.N:
        """Force of the stop, never negative."""
        return self.k * ramp(travel - self.gap, self.width)

    def energy(self, travel: si.m) -> si.J:
        """Stored energy beyond that of a free stop."""
        return self.k * ramp_integral(travel - self.gap, self.width)


class Linkage(NamedTuple):
    """Motion ratio between the wheel and its spring, damper and stops."""

    ratio: Annotated[si.one, si.positive] = 1.0
    """Spring travel over wheel travel; the wheel rate is the stiffness times its square."""


class Corner(NamedTuple):
    """Suspension elements of one wheel; made by `corner`."""

    linkage: Linkage
    """Linkage between the wheel and the elements."""
    spring: Any
    """Spring that carries the body."""
    damper: Any
    """Damper."""
    bump_stop: Any
    """Stop at the end of the travel in bump."""
    rebound_stop: Any
    """Stop at the end of the travel in rebound; its travel has the opposite sign."""
    bar: AntiRollBar
    """Anti-roll bar to the other wheel, acting at the wheels."""


def corner(
    *,
    ratio: si.one = 1.0,
    spring: Any = LinearSpring(),  # noqa: B008 (a tuple)
    damper: Any = LinearDamper(),  # noqa: B008
    bump_stop: Any = NoStop(),  # noqa: B008
    rebound_stop: Any = NoStop(),  # noqa: B008
    bar: AntiRollBar = AntiRollBar(),  # noqa: B008
) -> Any:
    """Assemble the suspension elements of one wheel into a record of matching class."""
    return assembled(Corner(Linkage(ratio), spring, damper, bump_stop, rebound_stop, bar))


def corner_force(held: Any, travel: si.m, rate: si.m_s, other: si.m) -> si.N:
    """Force between wheel and body at the wheel; `other` is the travel of the axle's other wheel.

    For a single wheel pass its own travel as `other`.
    """
    i = held.linkage.ratio
    z = i * travel
    stops = held.bump_stop.force(z) - held.rebound_stop.force(-z)
    inner = held.spring.force(z) + held.damper.force(i * rate) + stops
    return i * inner + held.bar.force(travel, other)


def corner_energy(held: Any, travel: si.m, other: si.m) -> si.J:
    """Energy stored in spring and stops, and half of that in the anti-roll bar."""
    z = held.linkage.ratio * travel
    stops = held.bump_stop.energy(z) + held.rebound_stop.energy(-z)
    return held.spring.energy(z) + stops + 0.5 * held.bar.energy(travel, other)


def corner_loss(held: Any, rate: si.m_s) -> Any:
    """Power that the damper dissipates, in W; never negative."""
    v = held.linkage.ratio * rate
    return held.damper.force(v) * v


def spring_load(
    standing: si.N, pressed: si.m, rate: si.m_s, k: si.N_m, c: si.N_s_m, F_lift: si.N
) -> si.N:
    """Load of a tyre; `pressed` is its deflection beyond that under the load `standing`.

    Below `F_lift` the tyre leaves the road, smoothly.
    """
    return ramp(standing + (k * pressed + c * rate), F_lift)


def spring_energy(standing: si.N, pressed: si.m, k: si.N_m, F_lift: si.N) -> si.J:
    """Energy stored in the tyre's spring, beyond that of a tyre in the air."""
    return ramp_integral(standing + k * pressed, F_lift) * (1.0 / k)


LEVEL = (0.0, 0.0, 0.0, 0.0)
"""Heights of a level road under the four wheels."""
OTHER = (1, 0, 3, 2)
"""Index of the other wheel of the axle."""
_NUDGE: si.m = 1e-4
"""Half of the travel difference for the numerical stiffness."""
_ROUNDS = 8
"""Newton iterations for the travel at which springs carry a load; stops need the most."""

FRONT = corner(
    spring=LinearSpring(k=21898.332429625985),
    damper=LinearDamper(c=1459.3902937206362),
    bump_stop=BumpStop(gap=0.07),
    rebound_stop=BumpStop(gap=0.08),
    bar=AntiRollBar(k=12880.270509148304 / 1.389888**2),
)
REAR = corner(
    spring=LinearSpring(k=21898.332429625985),
    damper=LinearDamper(c=1459.3902937206362),
    bump_stop=BumpStop(gap=0.07),
    rebound_stop=BumpStop(gap=0.08),
)
"""Springs, dampers and anti-roll bar of CommonRoad's Ford Escort; the stops are estimates."""


class IndependentSuspension(NamedTuple):
    """Body and four independent wheels; made by `independent_suspension`.

    Corner forces at travel 0 are in addition to the static ones on level ground.
    """

    body: SuspendedBody = SuspendedBody()
    """Masses and links of body and wheels."""
    front: Any = FRONT
    """Suspension of a front wheel: a `corner`."""
    rear: Any = REAR
    """Suspension of a rear wheel: a `corner`."""

    States = SuspensionState
    Outputs = SuspensionTravel
    follows = ()
    fills = SuspensionState._fields
    replaces = ("roll_front", "t_load")
    turns_by_pitch = True

    def check(self, p: Any) -> None:
        """Raise if the springs cannot carry the body or the unsprung masses are too large."""
        check_sprung(self.body, p, sum(roll_stiffness(self, p)), "springs and bars")

    def loads(self, x: Any, road: RoadUnderCar, air: Pressed, p: Any) -> CornerLoads:
        """Wheel loads from the deflection of the tyres and its rate."""
        wheels, moving = heights(x), height_rates(x)
        ground, rising = LEVEL, LEVEL
        if road.uneven is not None:
            ground, rising = road.uneven.heights, road.uneven.rates
        s = self.body
        columns = zip(
            standing_loads(p),
            (h - z for h, z in zip(ground, wheels, strict=True)),
            (r - v for r, v in zip(rising, moving, strict=True)),
            tyre_stiffness(p),
            (s.c_t_f, s.c_t_f, s.c_t_r, s.c_t_r),
            strict=True,
        )
        return CornerLoads(*(spring_load(*wheel, p.F_lift) for wheel in columns))

    def travel(self, x: Any, p: Any) -> Travel:
        body = sprung_mass(self.body, p)
        front, rear = body.l_f * x.pitch - x.heave, -(body.l_r * x.pitch) - x.heave
        return Travel(x.roll, front, rear, travels(x, self.body, p))

    def carried(self, x: Any, p: Any) -> tuple[Velocity, ...]:
        """Velocity at each patch by roll, pitch and wheel travel."""
        s = self.body
        body, wheels, (lean_f, lean_r) = sprung_mass(s, p), height_rates(x), _leaning(s, p)
        v_x = x.v_x - p.z_cg * x.pitch_rate
        v_y = x.v_y + (body.m * body.z * (1.0 / p.m)) * x.roll_rate
        front, rear = v_y + lean_f * (wheels[0] - wheels[1]), v_y + lean_r * (wheels[2] - wheels[3])
        across, rates = (front, front, rear, rear), travel_rates(x, s, p)
        columns = zip(rates, _along(s), _aside(s, p), across, strict=True)
        return tuple(
            Velocity(v_x + along * rate, v + aside * rate) for rate, along, aside, v in columns
        )

    def rates(self, x: Any, acting: Acting, p: Any) -> SuspensionState:
        s, body = self.body, sprung_mass(self.body, p)
        a, air, road = acting.pushed, acting.air, acting.road
        # Acceleration by gravity and motion of the plane, normal to it, positive downwards.
        fall = road.fall if road.uneven is None else road.fall + x.v_y * road.uneven.lean
        held, links = corner_forces(self, x, p), link_forces(acting.forces, s, p)
        up = [spring - link for spring, link in zip(held, links, strict=True)]
        front, rear = up[0] + up[1], up[2] + up[3]
        left = (0.5 * p.track_f) * (up[0] - up[1]) + (0.5 * p.track_r) * (up[2] - up[3])
        leaning = (body.m * body.z) * a.y + (body.m * body.arm) * (fall * x.roll)
        leaning = leaning + acting.turned.roll
        diving = body.l_r * (rear - air.rear) - body.l_f * (front - air.front)
        diving = diving - (p.m * p.z_cg) * a.x + acting.turned.pitch
        by_I_y = 1.0 / (s.I_y + acting.turned.inertia)
        heavier = fall - p.g
        across = axle_forces(x, acting.forces, fall, s, p)
        by_f, by_r = 2.0 * (1.0 / s.m_u_f), 2.0 * (1.0 / s.m_u_r)
        columns = zip(
            acting.loads, standing_loads(p), up, across, (by_f, by_f, by_r, by_r), strict=True
        )
        hopping = [(N - at_rest - u + lean) * by - heavier for N, at_rest, u, lean, by in columns]
        sinking = self.rising(x, road, p)
        return SuspensionState(
            sinking[0],
            while_upright(x.roll, (left + leaning) * (1.0 / roll_inertia(body, s.I_x, p))),
            sinking[1],
            while_upright(x.pitch, diving * by_I_y),
            sinking[2],
            (front + rear - air.front - air.rear) * (1.0 / body.m) - heavier,
            *sinking[3:],
            *hopping,
        )

    def tilt_rate(self, x: Any, p: Any) -> si.rad_s:
        return x.roll_rate

    def rising(self, x: Any, road: RoadUnderCar, p: Any) -> tuple[Any, ...]:
        """Rates of roll, pitch, heave and wheel heights relative to the plane under the car."""
        rates = (x.roll_rate, x.pitch_rate, x.heave_rate, *height_rates(x))
        if road.uneven is None:
            return rates
        under, places = road.uneven, corner_places(self.body, p)
        ahead = p.l_f - sprung_mass(self.body, p).l_f
        wheels = (under.rise_at(ahead + forward, left) for forward, left in places)
        ground = (under.lean, -under.tilt, under.rise_at(ahead, 0.0), *wheels)
        return tuple(rate - own for rate, own in zip(rates, ground, strict=True))

    def bumped(self, x: Any, loads: CornerLoads, road: RoadUnderCar, p: Any) -> Bumped | None:
        """Forces of bumps in the plane of the road, by wheel loads on sloped road."""
        if road.uneven is None:
            return None
        s, under, body = self.body, road.uneven, sprung_mass(self.body, p)
        pushes = [(-F * a, -F * b) for F, (a, b) in zip(loads, under.slopes, strict=True)]
        ahead = p.l_f - body.l_f
        places = ((ahead + forward, left) for forward, left in corner_places(s, p))
        turning = sum(
            forward * F_y - left * F_x
            for (F_x, F_y), (forward, left) in zip(pushes, places, strict=True)
        )
        fl, fr, rl, rr = height_rates(x)
        upwards = body.m * x.heave_rate + 0.5 * (s.m_u_f * (fl + fr) + s.m_u_r * (rl + rr))
        F_x, F_y = (sum(column) for column in zip(*pushes, strict=True))
        return Bumped(F_x + upwards * under.tilt, F_y + upwards * under.lean, turning)

    def outputs(self, x: Any, acting: Acting, p: Any) -> SuspensionTravel:
        """Acceleration normal to the road, and wheel travel."""
        body, air = sprung_mass(self.body, p), acting.air
        links = link_forces(acting.forces, self.body, p)
        pairs = zip(corner_forces(self, x, p), links, strict=True)
        up = sum((held - link for held, link in pairs), -(air.front + air.rear))
        return SuspensionTravel(
            up * (1.0 / body.m) + (p.g - acting.road.gravity), *travels(x, self.body, p)
        )

    def energy(self, x: Any, press: si.m_s2, p: Any) -> si.J:
        """Energy of motion, springs, bars, tyres and weight; 0 at rest on level ground."""
        s, body = self.body, sprung_mass(self.body, p)
        u_f, u_r = 0.5 * s.m_u_f, 0.5 * s.m_u_r
        masses = (u_f, u_f, u_r, u_r)
        wheels, moving = heights(x), height_rates(x)
        hopping = sum(mass * (v * v) for mass, v in zip(masses, moving, strict=True))
        rolling = roll_inertia(body, s.I_x, p) * (x.roll_rate * x.roll_rate)
        body_moving = s.I_y * (x.pitch_rate * x.pitch_rate) + body.m * (x.heave_rate * x.heave_rate)
        weight = press * (
            body.m * x.heave + sum(m * z for m, z in zip(masses, wheels, strict=True))
        )
        over_f, over_r = roll_levers(s, p)
        lean_f, lean_r = (x.z_fl - x.z_fr) / p.track_f, (x.z_rl - x.z_rr) / p.track_r
        leaning = body.m * body.arm * x.roll**2 + over_f * lean_f**2 + over_r * lean_r**2
        return (
            0.5 * (hopping + rolling + body_moving - press * leaning) + weight + stored(self, x, p)
        )

    def loss(self, x: Any, p: Any) -> Any:
        """Power that the dampers of suspension and tyres dissipate on an even road, in W."""
        s = self.body
        corners = zip(
            (self.front, self.front, self.rear, self.rear), travel_rates(x, s, p), strict=True
        )
        lost = sum(corner_loss(held, rate) for held, rate in corners)
        c_t = (s.c_t_f, s.c_t_f, s.c_t_r, s.c_t_r)
        columns = zip(
            standing_loads(p), heights(x), height_rates(x), tyre_stiffness(p), c_t, strict=True
        )
        for F, z, v, k, c in columns:
            lost = lost + (ramp(F - k * z, p.F_lift) - spring_load(F, -z, -v, k, c, p.F_lift)) * v
        return lost

    def settled(self, x: Any, road: RoadUnderCar, air: Pressed, p: Any) -> SuspensionState:
        """State in balance under weight and air if all its fields are 0, else unchanged."""
        own = SuspensionState(*(getattr(x, name) for name in SuspensionState._fields))
        return unless_moving(own, balanced(self, road, air, p))

    __repr__ = brief_repr


def independent_suspension(
    body: SuspendedBody = SuspendedBody(),  # noqa: B008 (a tuple)
    front: Any = FRONT,
    rear: Any = REAR,
) -> Any:
    """Return a chassis of a body on four wheels; its class follows from those of its corners."""
    return assembled(IndependentSuspension(body, front, rear))


def tyre_stiffness(p: Any) -> tuple[si.N_m, ...]:
    """Vertical stiffness of each tyre at its static load."""
    pairs = zip(each_tyre(p.tyres), standing_loads(p), strict=True)
    return tuple(tyre.radii(Contact(F_z=F_z, p=tyre.pressure)).C_z for tyre, F_z in pairs)


def corner_forces(chassis: IndependentSuspension, x: Any, p: Any) -> Four:
    """Force of each corner in addition to its static force, pushing wheel and body apart."""
    at, rates = travels(x, chassis.body, p), travel_rates(x, chassis.body, p)
    corners = (chassis.front, chassis.front, chassis.rear, chassis.rear)
    columns = zip(corners, at, rates, OTHER, strict=True)
    fl, fr, rl, rr = (corner_force(held, z, v, at[other]) for held, z, v, other in columns)
    return fl, fr, rl, rr


def roll_stiffness(chassis: IndependentSuspension, p: Any) -> tuple[Any, Any]:
    """Roll stiffness of each axle by springs and bars about the static position, in N·m/rad."""
    by = 0.5 * (1.0 / _NUDGE)
    front, rear = (
        by * (corner_force(held, _NUDGE, 0.0, -_NUDGE) - corner_force(held, -_NUDGE, 0.0, _NUDGE))
        for held in (chassis.front, chassis.rear)
    )
    return 0.5 * front * (p.track_f * p.track_f), 0.5 * rear * (p.track_r * p.track_r)


def stored(chassis: IndependentSuspension, x: Any, p: Any, ground: Four = LEVEL) -> si.J:
    """Energy of springs, stops, bars and tyres, relative to the static position, over road
    heights."""
    body, at = sprung_mass(chassis.body, p), travels(x, chassis.body, p)
    corners = (chassis.front, chassis.front, chassis.rear, chassis.rear)
    half_f, half_r = 0.5 * p.g * body.front, 0.5 * p.g * body.rear
    columns = zip(corners, at, OTHER, (half_f, half_f, half_r, half_r), strict=True)
    total = sum(
        carried * z + corner_energy(held, z, at[other]) - corner_energy(held, 0.0, 0.0)
        for held, z, other, carried in columns
    )
    for F, z, h, k in zip(standing_loads(p), heights(x), ground, tyre_stiffness(p), strict=True):
        total = total + spring_energy(F, h - z, k, p.F_lift) - spring_energy(F, 0.0, k, p.F_lift)
    return total


def balanced(
    chassis: IndependentSuspension, road: RoadUnderCar, air: Pressed, p: Any
) -> SuspensionState:
    """State in balance on the plane under the car.

    The plane is taken as constant, without tyre forces along it.
    """
    s, body = chassis.body, sprung_mass(chassis.body, p)
    front, rear = loads_under(p.m * road.gravity, air.front, air.rear, p)
    load_f, _, load_r, _ = standing_loads(p)
    k_fl, k_fr, k_rl, k_rr = tyre_stiffness(p)
    more_f, more_r = 0.5 * front - load_f, 0.5 * rear - load_r
    heavier = 0.5 * (road.gravity - p.g)
    at_f = carrying(chassis.front, more_f - s.m_u_f * heavier)
    at_r = carrying(chassis.rear, more_r - s.m_u_r * heavier)
    wheels = (-more_f / k_fl, -more_f / k_fr, -more_r / k_rl, -more_r / k_rr)
    body_f = 0.5 * (wheels[0] + wheels[1]) - at_f
    body_r = 0.5 * (wheels[2] + wheels[3]) - at_r
    pitch = (body_r - body_f) * (1.0 / (p.l_f + p.l_r))
    if road.uneven is not None:
        fl, fr, rl, rr = (z + h for z, h in zip(wheels, road.uneven.heights, strict=True))
        wheels = fl, fr, rl, rr
    heave = body_f + body.l_f * pitch
    return SuspensionState._make((0.0, 0.0, pitch, 0.0, heave, 0.0, *wheels, 0.0, 0.0, 0.0, 0.0))


def carrying(held: Any, force: si.N) -> si.m:
    """Travel at which a corner has a given force in addition to its static force, if both wheels
    travel equally."""

    def push(travel: si.m) -> si.N:
        return corner_force(held, travel, 0.0, travel)

    travel = 0.0 * force
    for _ in range(_ROUNDS):
        slope = (push(travel + _NUDGE) - push(travel - _NUDGE)) * (0.5 / _NUDGE)
        travel = travel + (force - push(travel)) / slope
    return travel
