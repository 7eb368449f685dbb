"""Four tyres that share their friction between drive and cornering, under loads they cause.

Friction depends on the loads through the ellipse, the loads depend on the accelerations, and those
on friction. Two guesses and two steps of Newton's method find the loads, which fix how much of
each tyre drive and brake use, and then what has become an affine system between lift-offs is solved
exactly. Three things are exact whatever happens: no force exceeds the friction of its tyre, the
loads add up to the total, and force is mass times acceleration. For a car far from tipping over,
the moments about the ground balance to rounding error too, and a wheel gives what it would under
the loads that result: to 1e-4 of its friction in driving, and to 1e-4 in 99 and 0.7 % in all of
100 states up to full lock, torque and slip.
"""

from __future__ import annotations

from typing import NamedTuple

from ..units import N, kg, one, rad
from .axle import (
    AxleForce,
    AxleFriction,
    AxleLoad,
    Force,
    Friction,
    axle_friction,
    steered,
    tyre_force,
)
from .lift_off import road_law, road_load
from .load_transfer import CarLoad, LoadLaw, accelerations, wheel_loads
from .rigid_body import Acceleration
from .tyre import Use, rough_use, use

NEWTON_STEPS = 2
"""Steps of Newton's method. A third would leave 2e-5 instead of 0.7 % at the worst, and take a
quarter of the time of the car again."""


class Tyre(NamedTuple):
    """What one tyre is asked for, before its load is known."""

    alpha: rad
    """Slip angle."""
    mu: one
    """Lateral friction at this slip angle without drive or brake."""
    demand: N
    """Longitudinal force the motor asks for."""
    most: one
    """Largest share of the friction that it gets, below 1."""


class Heading(NamedTuple):
    """Cosine and sine of the angle of a wheel, positive to the left."""

    c: one
    s: one


class Tyres(NamedTuple):
    """The tyres of a car, where its front wheels point, and the friction limit."""

    fl: Tyre
    fr: Tyre
    rl: Tyre
    rr: Tyre
    left: Heading
    right: Heading
    peak: one
    """Largest friction in any direction; at least as large as any `mu`."""


class Wheels(NamedTuple):
    """Friction of each wheel, in the wheel frame."""

    fl: Friction
    fr: Friction
    rl: Friction
    rr: Friction


class Balance(NamedTuple):
    """The state of equilibrium: accelerations, loads and what the axles do to the body."""

    a: Acceleration
    load: CarLoad
    front: AxleForce
    rear: AxleForce
    friction: Wheels


def each_tyre(tyres: Tyres) -> tuple[Tyre, Tyre, Tyre, Tyre]:
    """The tyres in the order fl, fr, rl, rr."""
    return tyres.fl, tyres.fr, tyres.rl, tyres.rr


def balanced(tyres: Tyres, applied: Force, rigid: LoadLaw, m: kg, floor: N) -> Balance:
    """Solve the loop. `applied` are the forces that are not the tyres', in the body frame.

    `rigid` gives the loads with all wheels on the road; `floor` is that of `tyre.use`.
    """
    a = first_guess(tyres, applied, rigid, m, floor)
    load = road_load(a, rigid)
    a = better_guess(load, tyres, applied, rigid, m, floor, bends=False)
    for _ in range(NEWTON_STEPS):
        load = road_load(a, rigid)
        a = better_guess(load, tyres, applied, road_law(a, load, rigid), m, floor)
    load = road_load(a, rigid)
    wheels = limited(tyres, shares(tyres, load, floor))
    front, rear = by_axle(tyres, wheels)
    a = accelerations(applied, front, rear, road_law(a, load, rigid), m)
    load = road_load(a, rigid)
    force_f, force_r = tyre_force(front, load.front), tyre_force(rear, load.rear)
    return Balance(resulting(applied, force_f, force_r, m), load, force_f, force_r, wheels)


def first_guess(tyres: Tyres, applied: Force, rigid: LoadLaw, m: kg, floor: N) -> Acceleration:
    """Acceleration if the wheels had the loads they have without acceleration."""
    front, rear = rigid.front.mean_0, rigid.rear.mean_0
    used = [
        rough_use(tyre.demand, tyres.peak * F_z, floor)
        for tyre, F_z in zip(each_tyre(tyres), (front, front, rear, rear), strict=True)
    ]
    on_front, on_rear = by_axle(tyres, limited(tyres, used))
    force_f = tyre_force(on_front, AxleLoad(front, 0.0 * front))
    force_r = tyre_force(on_rear, AxleLoad(rear, 0.0 * rear))
    return resulting(applied, force_f, force_r, m)


def better_guess(
    load: CarLoad, tyres: Tyres, applied: Force, law: LoadLaw, m: kg, floor: N,
    *, bends: bool = True,
) -> Acceleration:  # fmt: skip
    """Solution with the forces as affine functions of the loads, around `load`.

    A gripping wheel keeps its force and a sliding one its friction; see `tyre.Use`. What is left
    for cornering grows faster than the load: with force limit * share along, friction mu across
    and r = firm / across, it has the slope across + share r. Without `bends` it is taken to be
    proportional, which is no step of Newton's method but leads near enough for one from far away.
    """
    firm: list[Friction] = []
    slopes: list[Friction] = []
    used = shares(tyres, load, floor)
    for tyre, F_z, share in zip(each_tyre(tyres), wheel_loads(load), used, strict=True):
        bent = (share.firm + share.sliding) * share.firm / share.across if bends else 0.0
        slopes.append(Friction(tyres.peak * share.sliding, tyre.mu * (share.across + bent)))
        firm.append(Friction(tyres.peak * F_z * share.firm, -tyre.mu * F_z * bent))
    front, rear = by_axle(tyres, Wheels(*firm))
    fixed = Force(applied.x + front.sum.x + rear.sum.x, applied.y + front.sum.y + rear.sum.y)
    return accelerations(fixed, *by_axle(tyres, Wheels(*slopes)), law, m)


def lateral_difference(tyres: Tyres, balance: Balance) -> N:
    """Backward part of the lateral forces of the steered wheels, right minus left, body frame."""
    fl, fr = (
        f.y * load
        for f, load in zip(balance.friction[:2], wheel_loads(balance.load)[:2], strict=True)
    )
    return tyres.right.s * fr - tyres.left.s * fl


def shares(tyres: Tyres, load: CarLoad, floor: N) -> list[Use]:
    """How drive and brake use the friction of each tyre under these loads."""
    return [
        use(tyre.demand, tyres.peak * F_z, tyre.most, floor)
        for tyre, F_z in zip(each_tyre(tyres), wheel_loads(load), strict=True)
    ]


def limited(tyres: Tyres, used: list[Use]) -> Wheels:
    """Friction with all longitudinal force proportional to load: never beyond the limit."""
    pairs = zip(each_tyre(tyres), used, strict=True)
    return Wheels(
        *(
            Friction(tyres.peak * (share.firm + share.sliding), tyre.mu * share.across)
            for tyre, share in pairs
        )
    )


def by_axle(tyres: Tyres, wheels: Wheels) -> tuple[AxleFriction, AxleFriction]:
    """Friction of the front and the rear axle in the body frame from that of the wheels."""
    fl, fr = steered(wheels.fl, *tyres.left), steered(wheels.fr, *tyres.right)
    return axle_friction(fl, fr), axle_friction(wheels.rl, wheels.rr)


def resulting(applied: Force, front: AxleForce, rear: AxleForce, m: kg) -> Acceleration:
    """Acceleration under the forces that act, whatever the loads they were computed from."""
    by_mass = 1.0 / m
    return Acceleration(
        (applied.x + front.x + rear.x) * by_mass, (applied.y + front.y + rear.y) * by_mass
    )
