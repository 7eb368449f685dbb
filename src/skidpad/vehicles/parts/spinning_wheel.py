"""A wheel that spins on any tyre: from its motion over the road to force, moment and slip.

How slip follows the motion is the class of the record `slip` among a car's parameters: `SteadySlip`
or `FirstOrderSlip`, or another with `v_low`, `states` (whether slip is a state) and `acting`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any, NamedTuple

from ...core.backends import called
from ...ops import abs, atan, clip, pow, where
from ...tyres.contract import Contact, effective_radius, mounted
from ...tyres.low_speed import held_sign
from ...tyres.relaxation import (
    LowSpeed,
    SlipState,
    full_slip,
    slip_of_forces,
    slip_rates,
    steady_slip,
)
from ...units import N, Nm, kg, kg_m2, m, m_s, m_s2, one, per_s, positive, rad, rad_s, rad_s2, s
from .load_transfer import floored_speed


class WheelMotion(NamedTuple):
    """How a wheel moves over the road, in its own axes, and how the two touch."""

    F_z: N
    """Load."""
    v_x: m_s
    """Velocity of the contact patch along the wheel."""
    v_y: m_s
    """Velocity of the contact patch to the left."""
    spin: rad_s
    """Rate of turning about the axle, positive when it rolls forward."""
    omega: rad_s
    """Yaw rate, positive to the left."""
    gamma: rad
    """Camber, positive when the top leans to the right."""
    mu: one
    """Grip of the road over that on which the tyre was measured."""


class WheelForces(NamedTuple):
    """What the road does to a wheel, in the axes of the wheel, and the slip that makes it."""

    F_x: N
    """Along the wheel."""
    F_y: N
    """To the left."""
    M_x: Nm
    """Overturning moment, positive when it turns the top to the right."""
    M_y: Nm
    """Rolling resistance; negative when it rolls forward."""
    M_z: Nm
    """Aligning moment, positive to the left."""
    R_e: m
    """Effective rolling radius."""
    kappa: one
    """Longitudinal slip, positive drives."""
    alpha: rad
    """Slip angle, positive when the patch drifts to the left, as in `Contact`."""
    kappa_rate: per_s
    """Rate of the longitudinal slip, if that is a state."""
    tan_alpha_rate: per_s
    """Rate of the tangent of the slip angle, if that is a state."""


class SteadySlip(NamedTuple):
    """Slip of the moment."""

    v_low: Annotated[m_s, positive] = 2.0
    """Speed below which slip is held finite: a slower wheel slips as at 3/8 of it or more."""

    states = False

    def acting(
        self, slip: SlipState, v_sx: m_s, v_sy: m_s, tyre: Any, at: Contact
    ) -> tuple[SlipState, SlipState]:
        """Slip that makes force while the patch slides with (v_sx, v_sy), and its rate."""
        low: Any = self  # its v_low is all that a steady slip asks for
        return steady_slip(v_sx, v_sy, at.v_x, low), SlipState()


class FirstOrderSlip(NamedTuple):
    """Slip that follows over the relaxation lengths of the tyre: a state of each wheel."""

    low: LowSpeed = LowSpeed()
    """What happens near standstill."""

    states = True

    @property
    def v_low(self) -> m_s:
        """Speed below which slip is held finite."""
        return self.low.v_low

    def acting(
        self, slip: SlipState, v_sx: m_s, v_sy: m_s, tyre: Any, at: Contact
    ) -> tuple[SlipState, SlipState]:
        """Slip that makes force while the patch slides with (v_sx, v_sy), and its rate."""
        stiffness, relaxation, low = tyre.stiffness(at), tyre.relaxation(at), self.low
        full = full_slip(stiffness, tyre.peaks(at), at.F_z, low)
        rate = slip_rates(slip, v_sx, v_sy, at.v_x, relaxation, full, low)
        return slip_of_forces(slip, v_sx, v_sy, at.v_x, stiffness, relaxation, at.F_z, low), rate


def wheel_forces(tyre: Any, law: Any, slip: SlipState, at: WheelMotion, side: one) -> WheelForces:
    """The tyre of one wheel on a side of the car: 1 left, -1 right.

    `slip` is the state of its slip; a law without states does not look at it.
    """
    turning = -at.omega / floored_speed(at.v_x, law.v_low)
    contact = Contact(
        F_z=at.F_z,
        gamma=at.gamma,
        phi_t=turning,
        v_x=at.v_x,
        v_y=at.v_y,
        omega=at.spin,
        p=tyre.pressure,
        mu=at.mu,
    )
    R_e = effective_radius(tyre, contact)
    # What does not know sides is asked as on the side on which the tyre was measured.
    there = contact._replace(gamma=(side * tyre.measured_on) * at.gamma)
    acting, rate = law.acting(slip, at.v_x - R_e * at.spin, at.v_y, tyre, there)
    alpha = atan(acting.tan_alpha)
    f = mounted(tyre, contact._replace(kappa=acting.kappa, alpha=alpha), side)
    return WheelForces(
        f.F_x, f.F_y, f.M_x, f.M_y, f.M_z, R_e, acting.kappa, alpha, rate.kappa, rate.tan_alpha
    )


def rolling_radius(tyre: Any, F_z: N, v_x: m_s) -> m:
    """Effective radius of a wheel that rolls free at a speed along it."""
    at = Contact(F_z=F_z, v_x=v_x, p=tyre.pressure)
    # The radius depends on the spin a little: two rounds leave less than a thousandth of that.
    for _ in range(2):
        at = at._replace(omega=v_x / effective_radius(tyre, at))
    return effective_radius(tyre, at)


def each_wheel(kernel: Callable[..., Any], *per_wheel: Iterable[Any]) -> list[Any]:
    """The kernel of each wheel, from the arguments of all: the one place where it is called."""
    return [called(kernel, *arguments) for arguments in zip(*per_wheel, strict=True)]


def wheel_spin_rate(
    tau: Nm, brake: Nm, spin: rad_s, forces: WheelForces, t_hold: s, I_w: kg_m2
) -> rad_s2:
    """Angular acceleration of a wheel under the torques of drive, road and brake.

    The force of the road turns it at the effective radius: what a wheel takes from the car and
    gives to the road then differ by F_x times the sliding speed exactly, and no energy comes from
    nowhere. A brake gives what stops the wheel within `t_hold` and holds it against all other
    torques, at most `brake`: of a wheel that turns faster that is all of it, against the spin.
    """
    others = tau + forces.M_y - forces.R_e * forces.F_x
    stopping = others + (I_w * (1.0 / t_hold)) * spin
    return (others - clip(stopping, -brake, brake)) * (1.0 / I_w)


class Torques(NamedTuple):
    """Torque on the wheels of each axle together, positive drives forward."""

    front: Nm
    rear: Nm
    braking: Any
    """Whether the brakes give it, which only resist the turning of a wheel."""


def axle_torques(
    a: m_s2, braking: Any, m: kg, R_w: m, brake_split: one, engine_split: one
) -> Torques:
    """The torques that would give a car of mass `m` the acceleration `a`.

    A split is the share of the front axle, that of the brakes or that of the engine.
    """
    total = m * R_w * a
    front = where(braking, brake_split, engine_split)
    return Torques(front * total, (1.0 - front) * total, braking)


def on_wheel(torque: Nm, braking: Any, omega: rad_s, omega_lock: rad_s) -> Nm:
    """What a wheel that turns with `omega` feels of a torque.

    A brake can stop its wheel and hold it, but not turn it round. Beyond ±`omega_lock` the torque
    acts in full.
    """
    return where(braking, -abs(torque) * held_sign(omega, omega_lock), torque)


def spin_rate(torque: Nm, F_x: N, R_w: m, I_w: kg_m2) -> rad_s2:
    """Angular acceleration of a wheel under a torque and the force of the road on its tyre."""
    return (torque - R_w * F_x) * (1.0 / I_w)


def longitudinal_slip(omega: rad_s, w_x: m_s, R_w: m, v_blend: m_s) -> one:
    """What the rim is faster than the road, over the speed of the road; positive drives forward.

    `w_x` is the velocity of the wheel over ground along its plane. Below `v_blend` the speed has a
    smooth floor: a wheel at rest slips by what it spins.
    """
    return (R_w * omega - w_x) / floored_speed(w_x, v_blend)


def upstream_slip(omega: rad_s, speed: m_s, R_w: m) -> one:
    """The same as CommonRoad's program writes it; not a number at speed 0."""
    # A power and not a division, which Python refuses at 0.
    return R_w * omega * pow(speed, -1.0) - 1.0
