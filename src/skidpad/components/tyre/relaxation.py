"""First-order slip: a tyre's force follows the motion of its wheel over a relaxation length.

A wheel that starts to slip deflects its tyre first, so the slip that makes force is a state,
`SlipState`. At rest its deflection is a spring of stiffness K / sigma, which holds a braked car on
a slope. A vehicle has one such record per wheel among its states, or `Steady`, which is empty: then
slip is that of the moment. Which of the two it is chooses the equations; the calls are the same:

    v_sx = v_x - omega * radii.effective          # sliding speed of the patch, forward positive
    v_sy = v_y                                    # to the left positive
    stiffness = tyre.stiffness(at)
    full = full_slip(stiffness, tyre.peaks(at), at.F_z, p)
    rates = slip_rates(slip, v_sx, v_sy, v_x, tyre.relaxation(at), full, p)
    acting = slip_of_forces(slip, v_sx, v_sy, v_x, stiffness, p)
    tyre.forces(at._replace(kappa=acting.kappa, alpha=atan(acting.tan_alpha)))

with `p` a `LowSpeed`. Stiffness, peaks and relaxation lengths depend on no slip: `at` needs none.

Pacejka, Tyre and Vehicle Dynamics, 3rd ed., section 7.2 (relaxation) and section 8.6 (damping and
the end of winding-up near standstill). His switches are smooth blends here.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeVar

from ...ops import maximum, smooth_step, sqrt
from ...units import N, N_s_m, m_s, non_negative, one, per_s, positive
from ..low_speed import above_zero, held_sign
from .contract import Peaks, Relaxation, SlipStiffness

__all__ = [
    "LowSpeed",
    "SlipState",
    "Steady",
    "full_slip",
    "slip_of_forces",
    "slip_rates",
    "steady_slip",
]


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
    """What happens near standstill, where the slip of a wheel has no limit."""

    v_low: Annotated[m_s, positive] = 2.0
    """Speed along the wheel from which nothing here acts."""
    v_round: Annotated[m_s, positive] = 0.01
    """Speed below which |v_x| is rounded, so that rates are smooth where a wheel turns back."""
    damping: Annotated[N_s_m, non_negative] = 770.0
    """Force over sliding speed at standstill, beside the spring: Pacejka's value for a car tyre.
    About half of critical is the root of mass on the wheel times K / sigma."""
    rate_max: Annotated[per_s, positive] = 500.0
    """Fastest change of slip, in full slips per second, of a wheel that slides near standstill. It
    takes a spinning wheel then at least 2 ms to break away, which a step of 1 ms can follow."""
    F_floor: Annotated[N, positive] = 1.0
    """Load, and stiffness per slip, below which a tyre counts as off the road."""
    K_floor: Annotated[N, positive] = 1e3
    """Stiffness per slip below which the damping near standstill fades, as of a wheel in the
    air."""


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
    Above `v_low` the rates are those of a lag over the distance rolled. Below it slip does not grow
    beyond `full` (in the norm that is 1 there): a tyre that slides deflects no further. This makes
    the rate turn a corner where a tyre at its largest deflection starts to unload.
    """
    if isinstance(state, Steady):
        return Steady()
    rolling = v_x * held_sign(v_x, p.v_round)
    by_x, by_y = 1.0 / full.kappa, 1.0 / full.tan_alpha
    x, y = state.kappa * by_x, state.tan_alpha * by_y
    dx = -(v_sx + rolling * state.kappa) / relaxation.sigma_x * by_x
    dy = (v_sy - rolling * state.tan_alpha) / relaxation.sigma_y * by_y
    slow = 1.0 - smooth_step(v_x * v_x, 0.25 * p.v_low * p.v_low, p.v_low * p.v_low)
    pace = 1.0 - slow + slow / sqrt(1.0 + (dx * dx + dy * dy) / (p.rate_max * p.rate_max))
    dx, dy = dx * pace, dy * pace
    # With r² = x² + y² what is left of an outward rate is (1 - r⁴) of it.
    halt = slow * (x * x + y * y) * maximum(x * dx + y * dy, 0.0)
    return SlipState((dx - halt * x) * full.kappa, (dy - halt * y) * full.tan_alpha)


def slip_of_forces(
    state: Slip, v_sx: m_s, v_sy: m_s, v_x: m_s, stiffness: SlipStiffness, p: LowSpeed
) -> SlipState:
    """Slip that goes into the forces: the state, and near standstill the damping of its spring.

    The damping is slip in proportion to the sliding speed, so no force exceeds the friction. It is
    whole at rest and gone from `v_low` on. Of `Steady` it is `steady_slip`.
    """
    if isinstance(state, Steady):
        return steady_slip(v_sx, v_sy, v_x, p)
    k = p.damping * (1.0 - smooth_step(v_x * v_x, 0.0, p.v_low * p.v_low))
    return SlipState(
        state.kappa - k * v_sx / _above_floor(stiffness.K_x, p.K_floor),
        state.tan_alpha + k * v_sy / _above_floor(stiffness.K_y, p.K_floor),
    )


def steady_slip(v_sx: m_s, v_sy: m_s, v_x: m_s, p: LowSpeed) -> SlipState:
    """Slip of the moment: sliding speed over |v_x|, which counts as at least 3/8 of `v_low`."""
    speed = above_zero(v_x, p.v_low)
    return SlipState(-v_sx / speed, v_sy / speed)


def _above_floor(K: N, floor: N) -> N:
    return sqrt(K * K + floor * floor)
