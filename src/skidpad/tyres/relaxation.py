"""First-order slip: the tyre force lags behind the motion of the wheel by a relaxation length.

A wheel that starts to slip deflects its tyre first, so the slip that generates force is a state,
`SlipState`. At rest the deflected tyre is a spring of stiffness K / sigma, which holds a braked car
on a slope. A vehicle has one such record per wheel among its states, or `Steady`, which is empty:
then slip is the instantaneous slip. The class of the record selects the equations; the calls are
the same:

    v_sx = v_x - omega * radii.effective          # sliding speed of the patch, forward positive
    v_sy = v_y                                    # to the left positive
    stiffness = tyre.stiffness(at)
    full = full_slip(stiffness, tyre.peaks(at), at.F_z, p)
    relaxation = tyre.relaxation(at)
    rates = slip_rates(slip, v_sx, v_sy, v_x, relaxation, full, p)
    acting = slip_of_forces(slip, v_sx, v_sy, v_x, stiffness, relaxation, at.F_z, p)
    tyre.forces(at._replace(kappa=acting.kappa, alpha=atan(acting.tan_alpha)))

with `p` a `LowSpeed`. Stiffness, peaks and relaxation lengths do not depend on slip, so `at` needs
no slip for them.

Pacejka, Tyre and Vehicle Dynamics, 3rd ed., section 7.2 (relaxation) and section 8.6 (damping and
the end of winding-up near standstill). His switches are smooth blends here.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeVar

from ..ops import maximum, smooth_step, sqrt
from ..units import N, m_s, m_s2, non_negative, one, per_s, positive
from .contract import Peaks, Relaxation, SlipStiffness, above_zero, held_sign


class SlipState(NamedTuple):
    """Slip state of a tyre, which lags behind the slip of its wheel by the relaxation lengths."""

    kappa: one = 0.0
    """Longitudinal slip, positive when driving; times sigma_x it is the tyre's deflection."""
    tan_alpha: one = 0.0
    """Tangent of the slip angle, positive when the patch drifts to the left."""


class Steady(NamedTuple):
    """Slip without states; near standstill it is finite, but cannot hold a car on a slope."""


Slip = TypeVar("Slip", SlipState, Steady)


class LowSpeed(NamedTuple):
    """Parameters that bound first-order slip and its rates, near standstill and at very low load.

    Near standstill the slip of a wheel is unbounded.
    """

    v_low: Annotated[m_s, positive] = 2.0
    """Speed along the wheel from which the slip of the forces is the state alone."""
    v_round: Annotated[m_s, positive] = 0.01
    """Speed below which |v_x| is rounded, so that rates are smooth when a wheel reverses."""
    wound: Annotated[one, positive] = 0.5
    """Share of the full slip up to which a slow tyre winds up; 0.5 holds 7/8 of a brush's
    friction.

    The remaining force of a sliding wheel comes from the damping, which stores no energy that
    could push a car back after it stops.
    """
    damping: Annotated[one, non_negative] = 0.3
    """Damping ratio at standstill of the spring of stiffness K / sigma, for the mass on the
    wheel.

    A freely turning wheel is much lighter, and stiff with this damping: beyond 0.4, RK4 needs
    steps below 5 ms on a typical car.
    """
    rate_max: Annotated[per_s, positive] = 400.0
    """Largest rate at which slip relaxes.

    The relaxation length of a wheel that loses its load goes to 0, so the rate |v_x| / sigma is
    unbounded, but there is no force left that could lag. Up to 3/8 of `rate_max` rates are
    exactly those of the tyre. Explicit steps should not exceed 2 / rate_max, which
    `integrator="auto"` does not check: it considers wheels that carry load.
    """
    F_floor: Annotated[N, positive] = 1.0
    """Load, and stiffness per slip, below which a tyre counts as off the road."""
    K_floor: Annotated[N, positive] = 1e3
    """Stiffness per slip below which the damping fades, as for a wheel in the air."""
    g: Annotated[m_s2, positive] = 9.81
    """Gravitational acceleration: load over it is the mass that a wheel carries."""


def full_slip(
    stiffness: SlipStiffness, peaks: Peaks, F_z: N, p: LowSpeed | None = None
) -> SlipState:
    """Slip in each direction at which most tyres reach their largest force.

    3 mu F_z / K, where a brush tyre slides completely; equal to Pacejka's 3 / (B C).
    """
    load, floor = maximum(F_z, 0.0), (p or LowSpeed()).F_floor
    return SlipState(
        (3.0 * peaks.mu_x * load + floor) / (stiffness.K_x + floor),
        (3.0 * peaks.mu_y * load + floor) / (stiffness.K_y + floor),
    )


def slip_rates(
    state: Slip,
    v_sx: m_s,
    v_sy: m_s,
    v_x: m_s,
    relaxation: Relaxation,
    full: SlipState,
    p: LowSpeed,
) -> Slip:
    """Time derivative of the slip, in the class of `state`.

    `v_sx`, `v_sy` is the sliding velocity of the patch over the road and `v_x` the velocity along
    the wheel. Slip relaxes over the distance in which the tread is renewed: the distance rolled,
    or, for a slow wheel whose slip exceeds `p.wound` times `full` (as a norm of both), the distance
    slid over that limit. So a wheel in constant motion reaches its steady slip, or the limit if it
    is slow.
    """
    if isinstance(state, Steady):
        return Steady()
    renewed = _renewal(v_sx, v_sy, v_x, full, p)
    # above_zero(x, w) is 3/8 w at least: no rate is beyond rate_max.
    shortest = (renewed + p.v_round) * (8.0 / 3.0) / p.rate_max
    sigma_x = above_zero(relaxation.sigma_x, shortest)
    sigma_y = above_zero(relaxation.sigma_y, shortest)
    return SlipState(
        -(v_sx + renewed * state.kappa) / sigma_x, (v_sy - renewed * state.tan_alpha) / sigma_y
    )


def _renewal(v_sx: m_s, v_sy: m_s, v_x: m_s, full: SlipState, p: LowSpeed) -> m_s:
    """Speed at which the tread is renewed: 0 at rest, where the tyre is a spring."""
    rolling = v_x * held_sign(v_x, p.v_round)
    along, across = v_sx / (p.wound * full.kappa), v_sy / (p.wound * full.tan_alpha)
    squared, least = across * across + along * along, p.v_round * p.v_round
    sliding = sqrt(squared + least)
    slow = 1.0 - smooth_step(v_x * v_x, 0.25 * p.v_low * p.v_low, p.v_low * p.v_low)
    share = smooth_step(squared / (squared + rolling * rolling + least), 0.4, 0.6)
    return rolling + slow * share * (sliding - rolling)


def slip_of_forces(
    state: Slip,
    v_sx: m_s,
    v_sy: m_s,
    v_x: m_s,
    stiffness: SlipStiffness,
    relaxation: Relaxation,
    F_z: N,
    p: LowSpeed,
) -> SlipState:
    """Slip used in the forces: the state plus, near standstill, the damping of its spring.

    The damping is a slip proportional to the sliding speed, so no force exceeds the friction. It is
    complete at rest and zero from `v_low` on. For `Steady`, the result is `steady_slip`.
    """
    if isinstance(state, Steady):
        return steady_slip(v_sx, v_sy, v_x, p)
    ratio = (2.0 * p.damping) * (1.0 - smooth_step(v_x * v_x, 0.0, p.v_low * p.v_low))
    mass = (maximum(F_z, 0.0) + p.F_floor) / p.g
    k_x = ratio * sqrt((stiffness.K_x + p.F_floor) / relaxation.sigma_x * mass)
    k_y = ratio * sqrt((stiffness.K_y + p.F_floor) / relaxation.sigma_y * mass)
    return SlipState(
        state.kappa - k_x * v_sx / _above_floor(stiffness.K_x, p.K_floor),
        state.tan_alpha + k_y * v_sy / _above_floor(stiffness.K_y, p.K_floor),
    )


def steady_slip(v_sx: m_s, v_sy: m_s, v_x: m_s, p: LowSpeed) -> SlipState:
    """Instantaneous slip: sliding speed over |v_x|, with at least 3/8 of `v_low` as divisor."""
    speed = above_zero(v_x, p.v_low)
    return SlipState(-v_sx / speed, v_sy / speed)


def _above_floor(K: N, floor: N) -> N:
    return sqrt(K * K + floor * floor)
