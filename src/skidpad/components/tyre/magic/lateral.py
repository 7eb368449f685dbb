"""Lateral force of pure slip, eqs. 4.E19 to 4.E30."""

from __future__ import annotations

from typing import Any, NamedTuple

from ....units import N, N_rad, one, rad
from .curves import sign1, sin_curve, without_zero
from .inputs import Inputs
from .mf52 import Lateral52
from .sections import Sections, Tyre
from .slopes import camber_stiffness, cornering_stiffness, lateral_friction
from .turn_slip import Spin

__all__ = ["PureLateral", "pure_lateral"]


class PureLateral(NamedTuple):
    """The lateral force of pure slip and what it is made of."""

    F: N
    K: N_rad
    """Slope over slip angle where the curve crosses its shifted origin; negative as a rule."""
    K_safe: N_rad
    """`K` that may be divided by."""
    B: one
    C: one
    D: N
    mu: one
    S_H: rad
    """Shift of slip angle, before the direction of travel."""
    S_V: N


def pure_lateral(tyre: Tyre, k: Sections, i: Inputs, g: one, spin: Spin) -> PureLateral:
    """Lateral force of pure slip at camber `g`."""
    y, scale, s = k.lateral, k.scaling, i.slip
    F_z, dfz = s.F_z, i.dfz
    grip = scale.LMUY * i.mu
    K = cornering_stiffness(k, i, g, spin.zeta3)
    K_safe = without_zero(K, tyre.limits.small_force)
    S_V_camber = F_z * (y.PVY3 + y.PVY4 * dfz) * g * (scale.LKYC * grip) * spin.zeta2
    level = F_z * (y.PVY1 + y.PVY2 * dfz) * (scale.LVY * grip) * spin.zeta2
    S_V = (level + S_V_camber) * s.awake
    shift = (y.PHY1 + y.PHY2 * dfz) * scale.LHY
    S_H = (shift + _camber_shift(tyre, k, i, g, S_V_camber, K_safe, spin)) * s.awake
    mu = lateral_friction(k, i, g)
    D = mu * F_z * spin.zeta2
    C = y.PCY1 * scale.LCY
    B = K / without_zero(C * D, tyre.limits.small_force)
    a = i.a + i.side * S_H
    bend = 1.0 + y.PEY5 * (g * g) - (y.PEY3 + y.PEY4 * g) * (i.side * sign1(a))
    E = tyre.limits.curvature((y.PEY1 + y.PEY2 * dfz) * bend * scale.LEY)
    F = sin_curve(a, B, C, D, E) + i.side * S_V
    return PureLateral(F, K, K_safe, B, C, D, mu, S_H, S_V)


def _camber_shift(
    tyre: Tyre, k: Sections, i: Inputs, g: one, S_V_camber: N, K_safe: N_rad, spin: Any
) -> rad:
    """Shift of slip angle by camber and spin; in MF 5.2 a coefficient."""
    if isinstance(tyre.lateral, Lateral52):
        return tyre.lateral.PHY3 * g * tyre.scaling.LKYC
    return (spin.zeta0 * camber_stiffness(k, i) * g - S_V_camber) / K_safe + spin.S_H
