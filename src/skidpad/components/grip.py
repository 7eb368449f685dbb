"""Four tyres that share their friction between drive and cornering, under loads they cause.

Friction depends on the loads through the ellipse, the loads depend on the accelerations, and those
on friction: `former_formula_student` says how it leaves this loop.
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
from .load_transfer import CarLoad, LoadLaw, wheel_loads
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
