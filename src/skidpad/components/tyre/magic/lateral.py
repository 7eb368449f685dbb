"""Lateral force of pure slip, eqs. 4.E19 to 4.E30."""

from __future__ import annotations

from typing import Any, NamedTuple

from ....ops import abs as absolute
from ....ops import atan, sin
from ....units import N, N_rad, one, rad
from .coefficients import Lateral52
from .curves import sign1, sin_curve, without_zero
from .inputs import Inputs, Sections, Tyre
from .turn_slip import Spin

__all__ = ["PureLateral", "camber_stiffness", "cornering_stiffness", "pure_lateral"]


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


def cornering_stiffness(k: Sections, i: Inputs, g: one, zeta3: one) -> N_rad:
    """Slope of the lateral force over slip angle at camber `g`, eq. 4.E25."""
    y, scale = k.lateral, k.scaling
    at_peak = (y.PKY2 + y.PKY5 * (g * g)) * (1.0 + y.PPY2 * i.dpi)
    most = y.PKY1 * (scale.LFZO * k.vertical.FNOMIN) * scale.LKY * (1.0 + y.PPY1 * i.dpi)
    return most * (1.0 - y.PKY3 * absolute(g)) * sin(y.PKY4 * atan(i.n / at_peak)) * zeta3


def camber_stiffness(k: Sections, i: Inputs) -> N_rad:
    """Slope of the lateral force over camber, eq. 4.E30."""
    y = k.lateral
    return i.slip.F_z * (y.PKY6 + y.PKY7 * i.dfz) * (1.0 + y.PPY5 * i.dpi) * k.scaling.LKYC


def pure_lateral(tyre: Tyre, k: Sections, i: Inputs, g: one, spin: Spin) -> PureLateral:
    """Lateral force of pure slip at camber `g`."""
    y, scale, s = k.lateral, k.scaling, i.slip
    F_z, dfz, dpi = s.F_z, i.dfz, i.dpi
    grip = scale.LMUY * i.mu
    K = cornering_stiffness(k, i, g, spin.zeta3)
    K_safe = without_zero(K)
    S_V_camber = F_z * (y.PVY3 + y.PVY4 * dfz) * g * (scale.LKYC * grip) * spin.zeta2
    level = F_z * (y.PVY1 + y.PVY2 * dfz) * (scale.LVY * grip) * spin.zeta2
    S_V = (level + S_V_camber) * s.awake
    shift = (y.PHY1 + y.PHY2 * dfz) * scale.LHY
    S_H = (shift + _camber_shift(tyre, k, i, g, S_V_camber, K_safe, spin)) * s.awake
    mu = (
        (y.PDY1 + y.PDY2 * dfz)
        * (1.0 + dpi * (y.PPY3 + y.PPY4 * dpi))
        * (1.0 - y.PDY3 * (g * g))
        * grip
    )
    D = mu * F_z * spin.zeta2
    C = y.PCY1 * scale.LCY
    B = K / without_zero(C * D)
    a = i.a + i.side * S_H
    E = y.PEY1 + y.PEY2 * dfz
    E = E * (1.0 + y.PEY5 * (g * g) - (y.PEY3 + y.PEY4 * g) * (i.side * sign1(a)))
    E = tyre.limits.curvature(E * scale.LEY)
    F = sin_curve(a, B, C, D, E) + i.side * S_V
    return PureLateral(F, K, K_safe, B, C, D, mu, S_H, S_V)


def _camber_shift(
    tyre: Tyre, k: Sections, i: Inputs, g: one, S_V_camber: N, K_safe: N_rad, spin: Any
) -> rad:
    """Shift of slip angle by camber and spin; in MF 5.2 a coefficient."""
    if isinstance(tyre.lateral, Lateral52):
        return tyre.lateral.PHY3 * g * tyre.scaling.LKYC
    return (spin.zeta0 * camber_stiffness(k, i) * g - S_V_camber) / K_safe + spin.S_H
