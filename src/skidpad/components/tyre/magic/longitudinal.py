"""Longitudinal force of pure slip, eqs. 4.E9 to 4.E18."""

from __future__ import annotations

from typing import NamedTuple

from ....ops import exp, sign
from ....units import N, one
from .curves import sin_curve, without_zero
from .inputs import Inputs, Sections, Tyre
from .turn_slip import Spin

__all__ = ["PureLongitudinal", "pure_longitudinal"]


class PureLongitudinal(NamedTuple):
    """The longitudinal force of pure slip and what it is made of."""

    F: N
    K: N
    """Slope over slip where the curve crosses its shifted origin."""
    D: N
    mu: one
    S_H: one
    """Shift of slip."""
    S_V: N


def pure_longitudinal(tyre: Tyre, k: Sections, i: Inputs, spin: Spin) -> PureLongitudinal:
    """Longitudinal force of pure slip. The shifts turn over with the direction of travel."""
    x, scale, s = k.longitudinal, k.scaling, i.slip
    F_z, dfz, dpi = s.F_z, i.dfz, i.dpi
    way = s.direction * s.awake
    grip = scale.LMUX * i.mu
    mu = (
        (x.PDX1 + x.PDX2 * dfz)
        * (1.0 + dpi * (x.PPX3 + x.PPX4 * dpi))
        * (1.0 - x.PDX3 * (i.g_plain * i.g_plain))
        * grip
    )
    D = mu * F_z * spin.zeta1
    C = x.PCX1 * scale.LCX
    K = (
        F_z
        * (x.PKX1 + x.PKX2 * dfz)
        * exp(x.PKX3 * dfz)
        * (1.0 + dpi * (x.PPX1 + x.PPX2 * dpi))
        * scale.LKX
    )
    B = K / without_zero(C * D)
    S_H = (x.PHX1 + x.PHX2 * dfz) * scale.LHX * way
    S_V = F_z * (x.PVX1 + x.PVX2 * dfz) * (scale.LVX * grip) * spin.zeta1 * way
    kappa = s.kappa + S_H
    E = (x.PEX1 + dfz * (x.PEX2 + x.PEX3 * dfz)) * (1.0 - x.PEX4 * s.direction * sign(kappa))
    E = tyre.limits.curvature(E * scale.LEX)
    return PureLongitudinal(sin_curve(kappa, B, C, D, E) + S_V, K, D, mu, S_H, S_V)
