"""First-order slip: a tyre's force follows the motion of its wheel over a relaxation length.

A wheel that starts to slip deflects its tyre first, so the slip that makes force is a state,
`SlipState`. At rest its deflection is a spring of stiffness K / sigma, which holds a braked car on
a slope. A vehicle has one such record per wheel among its states, or `Steady`, which is empty: then
slip is that of the moment. Which of the two it is chooses the equations; the calls are the same:

    v_sx = v_x - omega * radii.effective          # sliding speed of the patch, forward positive
    v_sy = v_y                                    # to the left positive
    stiffness = tyre.stiffness(at)
    full = full_slip(stiffness, tyre.peaks(at), at.F_z, p)
    relaxation = tyre.relaxation(at)
    rates = slip_rates(slip, v_sx, v_sy, v_x, relaxation, full, p)
    acting = slip_of_forces(slip, v_sx, v_sy, v_x, stiffness, relaxation, at.F_z, p)
    tyre.forces(at._replace(kappa=acting.kappa, alpha=atan(acting.tan_alpha)))

with `p` a `LowSpeed`. Stiffness, peaks and relaxation lengths depend on no slip: `at` needs none.

Pacejka, Tyre and Vehicle Dynamics, 3rd ed., section 7.2 (relaxation) and section 8.6 (damping and
the end of winding-up near standstill). His switches are smooth blends here.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeVar

from ..ops import maximum, smooth_step, sqrt
from ..units import N, m_s, m_s2, non_negative, one, per_s, positive
from .contract import Peaks, Relaxation, SlipStiffness
from .low_speed import above_zero, held_sign


class SlipState(NamedTuple):
    """Slip that a tyre feels, behind the slip of its wheel by the relaxation lengths."""

    kappa: one = 0.0
    """Longitudinal slip, positive drives. Times sigma_x it is the deflection of the tyre."""
    tan_alpha: one = 0.0
    """Tangent of the slip angle, positive when the patch drifts to the left."""


class Steady(NamedTuple):
    """Slip without memory: no states. Near standstill it is finite, and holds nothing."""


Slip = TypeVar("Slip", SlipState, Steady)


class LowSpeed(NamedTuple):
    """What keeps first-order slip finite and slow enough to follow: near standstill, where the slip
    of a wheel has no limit, and of a wheel with hardly any load."""

    v_low: Annotated[m_s, positive] = 2.0
    """Speed along the wheel from which slip is that of the lag alone."""
    v_round: Annotated[m_s, positive] = 0.01
    """Speed below which |v_x| is rounded, so that rates are smooth where a wheel turns back."""
    wound: Annotated[one, positive] = 0.5
    """Share of the slip of the largest force up to which a slow tyre winds up: it holds 7/8 of the
    friction of a brush. What more a wheel that slides has comes from the damping, which stores
    nothing that could throw a car back once it stands."""
    damping: Annotated[one, non_negative] = 0.3
    """Damping at standstill of the spring of stiffness K / sigma, over the critical one of the
    mass that the wheel carries. To a wheel that turns freely, which is much lighter, it is stiff:
    beyond 0.4 RK4 takes less than 5 ms on a usual car."""
    rate_max: Annotated[per_s, positive] = 400.0
    """Fastest rate at which slip relaxes. The relaxation length of a wheel that loses its load goes
    to 0 and the rate |v_x| / sigma beyond all limits, but there is no force left that could lag. Up
    to 3/8 of it rates are those of the tyre exactly. Explicit steps should not exceed
    2 / rate_max, which `integrator="auto"` does not see: it looks at wheels that carry load."""
    F_floor: Annotated[N, positive] = 1.0
    """Load, and stiffness per slip, below which a tyre counts as off the road."""
    K_floor: Annotated[N, positive] = 1e3
    """Stiffness per slip below which the damping near standstill fades, as of a wheel in the
    air."""
    g: Annotated[m_s2, positive] = 9.81
    """Gravity: the load over it is the mass that a wheel carries."""


def full_slip(
    stiffness: SlipStiffness, peaks: Peaks, F_z: N, p: LowSpeed | None = None
) -> SlipState:
    """Slip of each direction at which a tyre gives its largest force, for all that are usual.

    3 mu F_z / K: where a brush slides entirely, and Pacejka's 3 / (B C).
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
    """Time derivative of the slip, of the class of `state`.

    `v_sx`, `v_sy` is how the patch slides over the road and `v_x` how the wheel moves along it.
    Slip relaxes over the distance that the tread renews: that rolled, and of a slow wheel that
    slides by more than `full` (in the norm that is 1 there) the distance slid over `full`. So a
    wheel that lasts in its motion has its steady slip, or `full` of it where it is slow.
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
    """Speed at which the tread forgets its deflection: 0 at rest, where the tyre is a spring."""
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
    """Slip that goes into the forces: the state, and near standstill the damping of its spring.

    The damping is slip in proportion to the sliding speed, so no force exceeds the friction. It is
    whole at rest and gone from `v_low` on. Of `Steady` it is `steady_slip`.
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
    """Slip of the moment: sliding speed over |v_x|, which counts as at least 3/8 of `v_low`."""
    speed = above_zero(v_x, p.v_low)
    return SlipState(-v_sx / speed, v_sy / speed)


def _above_floor(K: N, floor: N) -> N:
    return sqrt(K * K + floor * floor)
