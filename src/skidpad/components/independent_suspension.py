"""A chassis of a body and four wheels that move up and down by themselves: 7 degrees of freedom.

The load of a wheel is what its tyre is pressed in with, over the height of the road under it, so it
drives over bumps, and a wheel in the air has none. The stiffness is that of the tyre (`C_z` of its
radii at the load of rest). Equations: docs/vehicles.md; what links do: `suspended_body.py`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..errors import InvalidValue
from ..units import J, N, N_m, kg_m2, m, m_s2, rad_s
from .assembly import assembled
from .chassis import Acting, Bumped, Pressed, unless_moving
from .corner_loads import CornerLoads, loads_under
from .on_road import RoadUnderCar
from .ramp import ramp
from .sprung_mass import Travel, check_unsprung, sprung_mass
from .suspended_body import (
    Four,
    SuspendedBody,
    SuspensionState,
    SuspensionTravel,
    axle_forces,
    corner_places,
    height_rates,
    heights,
    link_forces,
    patch_velocities,
    standing_loads,
    travel_rates,
    travels,
)
from .suspension_elements import (
    AntiRollBar,
    BumpStop,
    LinearDamper,
    LinearSpring,
    corner,
    corner_energy,
    corner_force,
    corner_loss,
)
from .tyre.contract import Contact
from .tyre.tyre_set import each_tyre
from .tyre_spring import spring_energy, spring_load
from .upright import while_upright
from .wheel import Velocity

__all__ = ["IndependentSuspension", "independent_suspension"]

LEVEL = (0.0, 0.0, 0.0, 0.0)
"""Heights of level ground."""
OTHER = (1, 0, 3, 2)
"""The place of the other wheel of the axle."""
_NUDGE: m = 1e-4
"""Travel over which the stiffness at a travel is told."""
_ROUNDS = 8
"""Of Newton's method for the travel at which springs carry a load: stops take the most."""

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
"""Springs, dampers and bar of CommonRoad's Ford Escort; stops are estimates."""


class IndependentSuspension(NamedTuple):
    """A body and four wheels; made by `independent_suspension`.

    Forces of a corner at travel 0 are beyond those that carry the car at rest on level ground.
    """

    body: SuspendedBody = SuspendedBody()
    """Masses and links."""
    front: Any = FRONT
    """What holds a front wheel: a `corner`."""
    rear: Any = REAR
    """What holds a rear wheel."""

    States = SuspensionState
    Outputs = SuspensionTravel
    follows = ()
    fills = SuspensionState._fields
    replaces = ("roll_front", "t_load")
    turns_by_pitch = True

    def check(self, p: Any) -> None:
        """Raise for a car that this body cannot stand on."""
        check_unsprung(self.body, p)
        body = sprung_mass(self.body, p)
        tipping, stiffness = body.m * p.g * body.arm, sum(roll_stiffness(self, p))
        if not stiffness > tipping:
            raise InvalidValue(
                f"the roll stiffness {stiffness:.6g} N·m/rad of springs and bars must be greater "
                f"than the moment {tipping:.6g} N·m/rad by which the leaning body tips over"
            )

    def loads(self, x: Any, road: RoadUnderCar, air: Pressed, p: Any) -> CornerLoads:
        """By how far the tyres are pressed in, and how fast."""
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
        """How the body sits, and the travel of each wheel."""
        body = sprung_mass(self.body, p)
        front, rear = body.l_f * x.pitch - x.heave, -(body.l_r * x.pitch) - x.heave
        return Travel(x.roll, front, rear, travels(x, self.body, p))

    def carried(self, x: Any, p: Any) -> tuple[Velocity, ...]:
        """What rolling, pitching and travel add at each patch."""
        return patch_velocities(x, self.body, p)

    def rates(self, x: Any, acting: Acting, p: Any) -> SuspensionState:
        """Rates of body and wheels."""
        s, body = self.body, sprung_mass(self.body, p)
        a, air, fall = acting.pushed, acting.air, falling(x, acting.road)
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
        sinking = self.rising(x, acting.road, p)
        return SuspensionState(
            sinking[0],
            while_upright(x.roll, (left + leaning) * (1.0 / roll_inertia(s, p))),
            sinking[1],
            while_upright(x.pitch, diving * by_I_y),
            sinking[2],
            (front + rear - air.front - air.rear) * (1.0 / body.m) - heavier,
            *sinking[3:],
            *hopping,
        )

    def tilt_rate(self, x: Any, p: Any) -> rad_s:
        """Wheels tilt as the body rolls."""
        return x.roll_rate

    def rising(self, x: Any, road: RoadUnderCar, p: Any) -> tuple[Any, ...]:
        """Rates of roll, pitch, heave and wheel heights over the plane under the car."""
        rates = (x.roll_rate, x.pitch_rate, x.heave_rate, *height_rates(x))
        if road.uneven is None:
            return rates
        under, places = road.uneven, corner_places(self.body, p)
        ahead = p.l_f - sprung_mass(self.body, p).l_f
        wheels = (under.rise_at(ahead + forward, left) for forward, left in places)
        ground = (under.lean, -under.tilt, under.rise_at(ahead, 0.0), *wheels)
        return tuple(rate - own for rate, own in zip(rates, ground, strict=True))

    def bumped(self, x: Any, loads: CornerLoads, road: RoadUnderCar, p: Any) -> Bumped | None:
        """Wheels that climb are pushed back by their loads: what lifts the car slows it down."""
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
        """Acceleration off the road, and travel."""
        body, air = sprung_mass(self.body, p), acting.air
        links = link_forces(acting.forces, self.body, p)
        pairs = zip(corner_forces(self, x, p), links, strict=True)
        up = sum((held - link for held, link in pairs), -(air.front + air.rear))
        return SuspensionTravel(
            up * (1.0 / body.m) + (p.g - acting.road.gravity), *travels(x, self.body, p)
        )

    def energy(self, x: Any, press: m_s2, p: Any) -> J:
        """Of motion, springs, bars, tyres, and of weight; 0 at rest on level ground."""
        s, body = self.body, sprung_mass(self.body, p)
        u_f, u_r = 0.5 * s.m_u_f, 0.5 * s.m_u_r
        masses = (u_f, u_f, u_r, u_r)
        wheels, moving = heights(x), height_rates(x)
        hopping = sum(mass * (v * v) for mass, v in zip(masses, moving, strict=True))
        rolling = roll_inertia(s, p) * (x.roll_rate * x.roll_rate)
        body_moving = s.I_y * (x.pitch_rate * x.pitch_rate) + body.m * (x.heave_rate * x.heave_rate)
        weight = press * (
            body.m * x.heave + sum(m * z for m, z in zip(masses, wheels, strict=True))
        )
        over_f = body.front * s.h_rc_f + s.m_u_f * s.h_u_f
        over_r = body.rear * s.h_rc_r + s.m_u_r * s.h_u_r
        lean_f, lean_r = (x.z_fl - x.z_fr) / p.track_f, (x.z_rl - x.z_rr) / p.track_r
        leaning = body.m * body.arm * x.roll**2 + over_f * lean_f**2 + over_r * lean_r**2
        return (
            0.5 * (hopping + rolling + body_moving - press * leaning) + weight + stored(self, x, p)
        )

    def loss(self, x: Any, p: Any) -> Any:
        """Power that the dampers of suspension and tyres take on an even road, in W."""
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
        """Body and wheels in balance under weight and air, unless any of these states is not 0."""
        own = SuspensionState(*(getattr(x, name) for name in SuspensionState._fields))
        return unless_moving(own, balanced(self, road, air, p))


def independent_suspension(
    body: SuspendedBody = SuspendedBody(),  # noqa: B008 (a tuple)
    front: Any = FRONT,
    rear: Any = REAR,
) -> Any:
    """A body on four wheels, put together; its class follows from those of its corners."""
    return assembled(IndependentSuspension(body, front, rear))


def tyre_stiffness(p: Any) -> tuple[N_m, ...]:
    """Stiffness of each tyre at the load of rest."""
    pairs = zip(each_tyre(p.tyres), standing_loads(p), strict=True)
    return tuple(tyre.radii(Contact(F_z=F_z, p=tyre.pressure)).C_z for tyre, F_z in pairs)


def falling(x: Any, road: RoadUnderCar) -> m_s2:
    """What gravity and the motion of the plane press masses down with."""
    return road.fall if road.uneven is None else road.fall + x.v_y * road.uneven.lean


def roll_inertia(s: SuspendedBody, p: Any) -> kg_m2:
    """Inertia of rolling: of the body, and of body and wheels going opposite ways."""
    body = sprung_mass(s, p)
    return s.I_x + body.m * (body.arm * body.arm) * (1.0 - body.m * (1.0 / p.m))


def corner_forces(chassis: IndependentSuspension, x: Any, p: Any) -> Four:
    """Force of each corner beyond that at rest, pushing wheel and body apart."""
    at, rates = travels(x, chassis.body, p), travel_rates(x, chassis.body, p)
    corners = (chassis.front, chassis.front, chassis.rear, chassis.rear)
    columns = zip(corners, at, rates, OTHER, strict=True)
    fl, fr, rl, rr = (corner_force(held, z, v, at[other]) for held, z, v, other in columns)
    return fl, fr, rl, rr


def roll_stiffness(chassis: IndependentSuspension, p: Any) -> tuple[Any, Any]:
    """Moment per rad of roll of springs and bars of each axle, about rest, in N·m/rad."""
    by = 0.5 * (1.0 / _NUDGE)
    front, rear = (
        by * (corner_force(held, _NUDGE, 0.0, -_NUDGE) - corner_force(held, -_NUDGE, 0.0, _NUDGE))
        for held in (chassis.front, chassis.rear)
    )
    return 0.5 * front * (p.track_f * p.track_f), 0.5 * rear * (p.track_r * p.track_r)


def stored(chassis: IndependentSuspension, x: Any, p: Any, ground: Four = LEVEL) -> J:
    """Energy of springs, stops, bars and tyres beyond that at rest on level ground, over a ground
    of these heights."""
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
    """Body and wheels in balance on the plane under the car, as if it were to stay that plane and
    no tyre pushed along it."""
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
    return SuspensionState(
        0.0, 0.0, pitch, 0.0, body_f + body.l_f * pitch, 0.0, *wheels, 0.0, 0.0, 0.0, 0.0
    )


def carrying(held: Any, force: N) -> m:
    """Travel at which a corner pushes with a force beyond that at rest, both wheels alike."""

    def push(travel: m) -> N:
        return corner_force(held, travel, 0.0, travel)

    travel = 0.0 * force
    for _ in range(_ROUNDS):
        slope = (push(travel + _NUDGE) - push(travel - _NUDGE)) * (0.5 / _NUDGE)
        travel = travel + (force - push(travel)) / slope
    return travel
