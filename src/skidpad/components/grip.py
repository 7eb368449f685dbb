"""Four tyres that share their friction between drive and cornering, under loads they cause.

Friction depends on the loads through the ellipse, the loads depend on the accelerations, and those
on friction. The loop is closed by two guesses of the loads, which fix how much of each tyre drive
and brake use, and then two exact solutions of what has become an affine system between lift-offs
(the second with the right wheels up). Three things are exact whatever happens: no force exceeds the
friction of its tyre, the loads add up to the total, and force is mass times acceleration. For a car
far from tipping over, the moments about the ground balance to rounding error too.
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


class Tyre(NamedTuple):
    """What one tyre is asked for, before its load is known."""

    alpha: rad
    """Slip angle."""
    mu: one
    """Lateral friction at this slip angle without drive or brake."""
    demand: N
    """Longitudinal force the motor asks for."""


class Tyres(NamedTuple):
    """The tyres of a car, cosine and sine of its steering angle, and the friction limit."""

    fl: Tyre
    fr: Tyre
    rl: Tyre
    rr: Tyre
    c: one
    s: one
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


def balanced(tyres: Tyres, applied: Force, rigid: LoadLaw, m: kg, most: one, floor: N) -> Balance:
    """Solve the loop. `applied` are the forces that are not the tyres', in the body frame.

    `rigid` gives the loads with all wheels on the road; `most` and `floor` are those of `tyre.use`.
    """
    a = first_guess(tyres, applied, rigid, m, floor)
    a = better_guess(a, tyres, applied, rigid, m, most, floor)
    load = road_load(a, rigid)
    wheels = limited(tyres, shares(tyres, load, most, floor))
    front, rear = by_axle(tyres, wheels)
    a = accelerations(applied, front, rear, road_law(a, load, rigid), m)
    a = accelerations(applied, front, rear, road_law(a, road_load(a, rigid), rigid), m)
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
    a: Acceleration, tyres: Tyres, applied: Force, rigid: LoadLaw, m: kg, most: one, floor: N
) -> Acceleration:
    """Exact solution with the ellipse of the loads at `a` and all wheels on the road.

    A gripping wheel keeps its force and a sliding one its friction; see `tyre.Use`.
    """
    load = road_load(a, rigid)
    used = shares(tyres, load, most, floor)
    pairs = list(zip(each_tyre(tyres), used, strict=True))
    slide = Wheels(
        *(Friction(tyres.peak * share.sliding, tyre.mu * share.across) for tyre, share in pairs)
    )
    fl, fr, rl, rr = (
        tyres.peak * F_z * share.firm for F_z, share in zip(wheel_loads(load), used, strict=True)
    )
    firm = Force(applied.x + tyres.c * (fl + fr) + rl + rr, applied.y + tyres.s * (fl + fr))
    return accelerations(firm, *by_axle(tyres, slide), rigid, m)


def lateral_difference(tyres: Tyres, balance: Balance) -> N:
    """Backward part of the lateral forces of the steered wheels, right minus left, body frame."""
    fl, fr = (
        f.y * load
        for f, load in zip(balance.friction[:2], wheel_loads(balance.load)[:2], strict=True)
    )
    return tyres.s * (fr - fl)


def shares(tyres: Tyres, load: CarLoad, most: one, floor: N) -> list[Use]:
    """How drive and brake use the friction of each tyre under these loads."""
    return [
        use(tyre.demand, tyres.peak * F_z, most, floor)
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
    fl, fr = (steered(f, tyres.c, tyres.s) for f in (wheels.fl, wheels.fr))
    return axle_friction(fl, fr), axle_friction(wheels.rl, wheels.rr)


def resulting(applied: Force, front: AxleForce, rear: AxleForce, m: kg) -> Acceleration:
    """Acceleration under the forces that act, whatever the loads they were computed from."""
    by_mass = 1.0 / m
    return Acceleration(
        (applied.x + front.x + rear.x) * by_mass, (applied.y + front.y + rear.y) * by_mass
    )
