"""Stiffness of the tyre at rest and relaxation lengths, eqs. 7.16 to 7.19 and those of MF 5.2."""

from __future__ import annotations

from typing import NamedTuple

from ....ops import abs as absolute
from ....ops import atan, exp, sin
from ....units import N, N_m, N_rad, m
from .curves import non_zero
from .inputs import Inputs
from .records import Structural
from .sections import Tyre

__all__ = ["Relaxed", "relaxed"]


class Relaxed(NamedTuple):
    """Relaxation lengths, and the stiffness at rest that they come from."""

    sigma_x: m
    sigma_y: m
    C_x: N_m
    """0 in MF 5.2, which does not say."""
    C_y: N_m


def relaxed(tyre: Tyre, i: Inputs, K_x: N, K_y: N_rad) -> Relaxed:
    """Relaxation lengths, from the slopes of the forces over slip."""
    match tyre.structural:
        case Structural():
            return _by_stiffness(tyre.structural, i, K_x, K_y)
        case _:
            return _by_coefficients(tyre, i)


def _by_stiffness(c: Structural, i: Inputs, K_x: N, K_y: N_rad) -> Relaxed:
    dfz, dpi = i.dfz, i.dpi
    C_x = (1.0 + dfz * (c.PCFX1 + c.PCFX2 * dfz)) * (1.0 + c.PCFX3 * dpi)
    C_y = (1.0 + dfz * (c.PCFY1 + c.PCFY2 * dfz)) * (1.0 + c.PCFY3 * dpi)
    C_x, C_y = C_x * c.LONGITUDINAL_STIFFNESS, C_y * c.LATERAL_STIFFNESS
    return Relaxed(absolute(K_x / C_x), absolute(K_y / C_y), C_x, C_y)


def _by_coefficients(tyre: Tyre, i: Inputs) -> Relaxed:
    x, y, scale, R = tyre.longitudinal, tyre.lateral, tyre.scaling, tyre.dimension.UNLOADED_RADIUS
    n = i.slip.F_z * (1.0 / tyre.vertical.FNOMIN)
    along = (x.PTX1 + x.PTX2 * i.dfz) * exp(-x.PTX3 * i.dfz) * n
    ratio = i.n / non_zero(y.PTY2)
    across = y.PTY1 * sin(2.0 * atan(ratio)) * (1.0 - y.PKY3 * absolute(i.slip.gamma))
    return Relaxed(along * (R * scale.LSGKP), across * (R * scale.LFZO * scale.LSGAL), 0.0, 0.0)
