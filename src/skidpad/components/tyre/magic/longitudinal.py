"""Longitudinal force of pure slip, eqs. 4.E9 to 4.E18."""

from __future__ import annotations

from typing import NamedTuple

from ....ops import sign
from ....units import N, one
from .curves import sin_curve, without_zero
from .inputs import Inputs
from .sections import Sections, Tyre
from .slopes import longitudinal_friction, slip_stiffness
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
    F_z, dfz = s.F_z, i.dfz
    way = s.direction * s.awake
    grip = scale.LMUX * i.mu
    mu = longitudinal_friction(k, i)
    D = mu * F_z * spin.zeta1
    C = x.PCX1 * scale.LCX
    K = slip_stiffness(k, i)
    B = K / without_zero(C * D, tyre.limits.small_force)
    S_H = (x.PHX1 + x.PHX2 * dfz) * scale.LHX * way
    S_V = F_z * (x.PVX1 + x.PVX2 * dfz) * (scale.LVX * grip) * spin.zeta1 * way
    kappa = s.kappa + S_H
    bend = (1.0 - x.PEX4 * s.direction * sign(kappa)) * scale.LEX
    E = tyre.limits.curvature((x.PEX1 + dfz * (x.PEX2 + x.PEX3 * dfz)) * bend)
    return PureLongitudinal(sin_curve(kappa, B, C, D, E) + S_V, K, D, mu, S_H, S_V)
