"""An axle of a car seen as a single track: two tyres side by side whose spin is no state.

A left and a right tyre stand under half of the load each, at the same slip angle. The right one is
the mirror image of the left one, so what a tyre does to one side at zero slip (conicity, ply steer)
cancels. Drive and brakes ask for a force along the wheels. It uses up a share of the grip there,
and what is left across is that of the friction ellipse (`tyre.share`).
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from ..ops import atan
from ..units import N, Nm, kg, m, m_s, m_s2, one, per_s, rad, rad_s
from .corner_loads import AxleWeights
from .tyre.contract import Contact, effective_radius, mounted
from .tyre.relaxation import SlipState
from .tyre.share import use
from .wheel import floored_speed

__all__ = [
    "AxleForces",
    "AxleMotion",
    "AxleSlip",
    "GripShare",
    "axle_forces",
    "axle_slip",
    "pitched_loads",
    "slip_angle",
]


class Pitching(Protocol):
    """Parameters of the pitch balance."""

    @property
    def m(self) -> kg:
        """Mass."""
        ...

    @property
    def l_f(self) -> m:
        """Centre of mass to front axle."""
        ...

    @property
    def l_r(self) -> m:
        """Centre of mass to rear axle."""
        ...

    @property
    def z_cg(self) -> m:
        """Height of the centre of mass."""
        ...

    @property
    def F_lift(self) -> N:
        """Load below which an axle begins to lift."""
        ...


class AxleMotion(NamedTuple):
    """How an axle moves over the road, in the axes of its wheels, and what is asked of it."""

    F_z: N
    """Load of both wheels."""
    v_x: m_s
    """Velocity of its middle along the wheels."""
    v_y: m_s
    """Velocity of its middle to the left."""
    omega: rad_s
    """Yaw rate, positive to the left."""
    mu: one
    """Grip of the road over that on which the tyres were measured."""
    demand: N
    """Force along the wheels that drive and brakes ask for, forward positive."""


class AxleSlip(NamedTuple):
    """How both wheels touch the road and slip over it."""

    contact: Contact
    """Of one wheel, without its slip."""
    tan_alpha: one
    """Tangent of the slip angle that makes force, positive when the patch drifts to the left."""
    tan_alpha_rate: per_s
    """Its rate, if it is a state."""


class AxleForces(NamedTuple):
    """What the road does to both wheels together, in their axes."""

    F_x: N
    """Along the wheels, with rolling resistance."""
    F_y: N
    """To the left."""
    M_y: Nm
    """Rolling resistance; negative when they roll forward."""
    M_z: Nm
    """Aligning moment, positive to the left."""
    R_e: m
    """Effective rolling radius."""
    tan_alpha_rate: per_s
    """Rate of the tangent of the slip angle, if that is a state."""


class GripShare(NamedTuple):
    """How far drive and brakes may use the grip."""

    most: one
    """Largest share of the grip along the wheels, below 1."""
    F_floor: N
    """Grip that stands in for a smaller one, as of an axle in the air."""


def axle_slip(tyre: Any, law: Any, tan_alpha: one, at: AxleMotion) -> AxleSlip:
    """Slip of a pair of tyres; `tan_alpha` is its state, if `law` has one."""
    contact = Contact(
        F_z=0.5 * at.F_z,
        phi_t=-at.omega / floored_speed(at.v_x, law.v_low),
        v_x=at.v_x,
        v_y=at.v_y,
        omega=0.0 * at.omega,
        p=tyre.pressure,
        mu=at.mu,
    )
    contact = contact._replace(omega=at.v_x / effective_radius(tyre, contact))
    # Wheels whose spin is no state roll: they do not slide along.
    slip = SlipState(0.0 * tan_alpha, tan_alpha)
    acting, rate = law.acting(slip, 0.0 * at.v_x, at.v_y, tyre, contact)
    return AxleSlip(contact, acting.tan_alpha, rate.tan_alpha)


def slip_angle(tyre: Any, law: Any, tan_alpha: one, at: AxleMotion) -> rad:
    """Slip angle that makes force, with the sign of all cars: positive when it pushes to the
    left."""
    return -atan(axle_slip(tyre, law, tan_alpha, at).tan_alpha)


def axle_forces(
    tyre: Any, law: Any, tan_alpha: one, at: AxleMotion, share: GripShare
) -> AxleForces:
    """Force of a pair of tyres; `tan_alpha` is the state of slip, if `law` has one."""
    contact, acting, rate = axle_slip(tyre, law, tan_alpha, at)
    contact = contact._replace(alpha=atan(acting))
    left, right = (mounted(tyre, contact, side) for side in (1.0, -1.0))
    grip = tyre.peaks(contact).mu_x * at.F_z
    M_y, R_e = left.M_y + right.M_y, effective_radius(tyre, contact)
    used = use(at.demand + M_y / R_e, grip, share.most, share.F_floor)
    return AxleForces(
        grip * (used.firm + used.sliding),
        used.across * (left.F_y + right.F_y),
        M_y,
        used.across * (left.M_z + right.M_z),
        R_e,
        rate,
    )


def pitched_loads(at_rest: AxleWeights, a_x: m_s2, p: Pitching) -> AxleWeights:
    """Axle loads while the tyres push along the car with the mass times `a_x`; never negative.

    They add up to those at rest: what an axle that lifts lacks, the other one has less.
    """
    pitch = (p.m * p.z_cg * (1.0 / (p.l_f + p.l_r))) * a_x
    front, rear = at_rest.front - pitch, at_rest.rear + pitch
    spilt = _lift(front, p.F_lift) - _lift(rear, p.F_lift)
    return AxleWeights(front + spilt, rear - spilt)


def _lift(F_z: N, width: N) -> N:
    return 0.5 * (floored_speed(F_z, width) - F_z)
