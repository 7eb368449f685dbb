"""A spinning wheel on any tyre model: force, moment and slip from its motion over the road.

The class of a car's parameter `slip` selects the slip law: `SteadySlip`, `FirstOrderSlip`, or
another class with `v_low`, `states` (whether slip is a state) and `acting`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any, NamedTuple

from ...core.backends import called
from ...ops import abs, atan, clip, pow, where
from ...tyres.contract import (
    Contact,
    LowSpeed,
    SlipState,
    effective_radius,
    full_slip,
    held_sign,
    mounted,
    slip_of_forces,
    slip_rates,
    steady_slip,
)
from ...units import N, Nm, kg, kg_m2, m, m_s, m_s2, one, per_s, positive, rad, rad_s, rad_s2, s
from .load_transfer import floored_speed


class WheelMotion(NamedTuple):
    """Motion of a wheel over the road in the wheel's axes, its load, camber and grip."""

    F_z: N
    """Load."""
    v_x: m_s
    """Velocity of the contact patch along the wheel."""
    v_y: m_s
    """Velocity of the contact patch across the wheel, positive to the left."""
    spin: rad_s
    """Spin about the axle, positive when the wheel rolls forward."""
    omega: rad_s
    """Yaw rate, positive to the left."""
    gamma: rad
    """Camber, positive when the top leans to the right."""
    mu: one
    """Friction of the road, relative to that of the tyre measurement."""


class WheelForces(NamedTuple):
    """Forces and moments of the road on a wheel, in the wheel's axes, with the slip behind them."""

    F_x: N
    """Force along the wheel, forward positive."""
    F_y: N
    """Force across the wheel, positive to the left."""
    M_x: Nm
    """Overturning moment, positive when it turns the top to the right."""
    M_y: Nm
    """Rolling resistance moment; negative when the wheel rolls forward."""
    M_z: Nm
    """Aligning moment, positive to the left."""
    R_e: m
    """Effective rolling radius."""
    kappa: one
    """Longitudinal slip, positive when driving."""
    alpha: rad
    """Slip angle, positive when the patch drifts to the left, as in `Contact`."""
    kappa_rate: per_s
    """Rate of the longitudinal slip, if it is a state."""
    tan_alpha_rate: per_s
    """Rate of the tangent of the slip angle, if it is a state."""


class SteadySlip(NamedTuple):
    """Steady-state slip law: slip follows the motion without lag."""

    v_low: Annotated[m_s, positive] = 2.0
    """Speed below which the denominator of slip has a smooth floor, of 3/8 `v_low` at rest."""

    states = False

    def acting(
        self, slip: SlipState, v_sx: m_s, v_sy: m_s, tyre: Any, at: Contact
    ) -> tuple[SlipState, SlipState]:
        """Slip that makes force at the sliding velocity (v_sx, v_sy) of the patch, and its rate."""
        low: Any = self  # a steady slip needs only its v_low
        return steady_slip(v_sx, v_sy, at.v_x, low), SlipState()


class FirstOrderSlip(NamedTuple):
    """First-order slip law: slip lags over the tyre's relaxation lengths, a state of each wheel."""

    low: LowSpeed = LowSpeed()
    """Regularisation near standstill."""

    states = True

    @property
    def v_low(self) -> m_s:
        """Speed below which the denominator of slip has a smooth floor."""
        return self.low.v_low

    def acting(
        self, slip: SlipState, v_sx: m_s, v_sy: m_s, tyre: Any, at: Contact
    ) -> tuple[SlipState, SlipState]:
        """Slip that makes force at the sliding velocity (v_sx, v_sy) of the patch, and its rate."""
        stiffness, relaxation, low = tyre.stiffness(at), tyre.relaxation(at), self.low
        full = full_slip(stiffness, tyre.peaks(at), at.F_z, low)
        rate = slip_rates(slip, v_sx, v_sy, at.v_x, relaxation, full, low)
        return slip_of_forces(slip, v_sx, v_sy, at.v_x, stiffness, relaxation, at.F_z, low), rate


def wheel_forces(tyre: Any, law: Any, slip: SlipState, at: WheelMotion, side: one) -> WheelForces:
    """Forces of the tyre of one wheel; `side` is 1 on the left of the car, -1 on the right.

    `slip` is the slip state; a law without states ignores it.
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
    # Stiffness, peaks and relaxation lengths hold for the side on which the tyre was measured.
    there = contact._replace(gamma=(side * tyre.measured_on) * at.gamma)
    acting, rate = law.acting(slip, at.v_x - R_e * at.spin, at.v_y, tyre, there)
    alpha = atan(acting.tan_alpha)
    f = mounted(tyre, contact._replace(kappa=acting.kappa, alpha=alpha), side)
    return WheelForces(
        f.F_x, f.F_y, f.M_x, f.M_y, f.M_z, R_e, acting.kappa, alpha, rate.kappa, rate.tan_alpha
    )


def rolling_radius(tyre: Any, F_z: N, v_x: m_s) -> m:
    """Effective rolling radius of a freely rolling wheel at the longitudinal velocity `v_x`."""
    at = Contact(F_z=F_z, v_x=v_x, p=tyre.pressure)
    # The radius depends on the spin a little: two rounds leave less than a thousandth of that.
    for _ in range(2):
        at = at._replace(omega=v_x / effective_radius(tyre, at))
    return effective_radius(tyre, at)


def each_wheel(kernel: Callable[..., Any], *per_wheel: Iterable[Any]) -> list[Any]:
    """Call the kernel for each wheel with its arguments from the columns `per_wheel`."""
    return [called(kernel, *arguments) for arguments in zip(*per_wheel, strict=True)]


def wheel_spin_rate(
    tau: Nm, brake: Nm, spin: rad_s, forces: WheelForces, t_hold: s, I_w: kg_m2
) -> rad_s2:
    """Angular acceleration of a wheel under the torques of drive, road and brake.

    The road force acts at the effective radius: the power a wheel takes from the car and that
    which it gives to the road then differ by exactly F_x times the sliding speed, so energy is
    conserved. The brake gives the torque that stops the wheel within `t_hold` and holds it
    against all other torques, limited to ±`brake`; a fast wheel gets the full torque against its
    spin.
    """
    others = tau + forces.M_y - forces.R_e * forces.F_x
    stopping = others + (I_w * (1.0 / t_hold)) * spin
    return (others - clip(stopping, -brake, brake)) * (1.0 / I_w)


class Torques(NamedTuple):
    """Torque on both wheels of each axle together, positive drives forward."""

    front: Nm
    rear: Nm
    braking: Any
    """Whether the torque is that of the brakes, which only resist the rotation of a wheel."""


def axle_torques(
    a: m_s2, braking: Any, m: kg, R_w: m, brake_split: one, engine_split: one
) -> Torques:
    """Axle torques that would give a car of mass `m` the acceleration `a`.

    The splits are the front axle's shares of the brake and the engine torque.
    """
    total = m * R_w * a
    front = where(braking, brake_split, engine_split)
    return Torques(front * total, (1.0 - front) * total, braking)


def on_wheel(torque: Nm, braking: Any, omega: rad_s, omega_lock: rad_s) -> Nm:
    """Torque that acts on a wheel with the spin `omega`.

    A brake can stop its wheel and hold it, but not reverse it. Beyond ±`omega_lock` its torque
    acts in full.
    """
    return where(braking, -abs(torque) * held_sign(omega, omega_lock), torque)


def spin_rate(torque: Nm, F_x: N, R_w: m, I_w: kg_m2) -> rad_s2:
    """Angular acceleration of a wheel under a torque and the force of the road on its tyre."""
    return (torque - R_w * F_x) * (1.0 / I_w)


def longitudinal_slip(omega: rad_s, w_x: m_s, R_w: m, v_blend: m_s) -> one:
    """Longitudinal slip: (rim speed - road speed) / road speed; positive when driving forward.

    `w_x` is the velocity of the wheel over ground along its plane. Below `v_blend` the
    denominator has a smooth floor, so that slip is finite at rest.
    """
    return (R_w * omega - w_x) / floored_speed(w_x, v_blend)


def upstream_slip(omega: rad_s, speed: m_s, R_w: m) -> one:
    """Longitudinal slip as CommonRoad's program computes it; NaN or infinite at speed 0."""
    # A power and not a division, which Python refuses at 0.
    return R_w * omega * pow(speed, -1.0) - 1.0
