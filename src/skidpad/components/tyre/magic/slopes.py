"""Stiffness and friction over load, camber and pressure: what the curves are drawn from."""

from __future__ import annotations

from ....ops import abs as absolute
from ....ops import atan, exp, sin
from ....units import N, N_rad, one
from .curves import non_zero
from .inputs import Inputs
from .sections import Sections

__all__ = [
    "camber_stiffness",
    "cornering_stiffness",
    "lateral_friction",
    "longitudinal_friction",
    "slip_stiffness",
]


def slip_stiffness(k: Sections, i: Inputs) -> N:
    """Slope of the longitudinal force over slip, eq. 4.E15."""
    x = k.longitudinal
    by_pressure = 1.0 + i.dpi * (x.PPX1 + x.PPX2 * i.dpi)
    steep = (x.PKX1 + x.PKX2 * i.dfz) * exp(x.PKX3 * i.dfz)
    return i.slip.F_z * steep * by_pressure * k.scaling.LKX


def longitudinal_friction(k: Sections, i: Inputs) -> one:
    """Peak of the longitudinal force over load, eq. 4.E13."""
    x = k.longitudinal
    by_pressure = 1.0 + i.dpi * (x.PPX3 + x.PPX4 * i.dpi)
    by_camber = 1.0 - x.PDX3 * (i.g_plain * i.g_plain)
    return (x.PDX1 + x.PDX2 * i.dfz) * by_pressure * by_camber * (k.scaling.LMUX * i.mu)


def cornering_stiffness(k: Sections, i: Inputs, g: one, zeta3: one) -> N_rad:
    """Slope of the lateral force over slip angle at camber `g`, eq. 4.E25."""
    y, scale = k.lateral, k.scaling
    at_peak = (y.PKY2 + y.PKY5 * (g * g)) * (1.0 + y.PPY2 * i.dpi)
    most = y.PKY1 * (scale.LFZO * k.vertical.FNOMIN) * scale.LKY * (1.0 + y.PPY1 * i.dpi)
    return most * (1.0 - y.PKY3 * absolute(g)) * sin(y.PKY4 * atan(i.n / non_zero(at_peak))) * zeta3


def camber_stiffness(k: Sections, i: Inputs) -> N_rad:
    """Slope of the lateral force over camber, eq. 4.E30."""
    y = k.lateral
    return i.slip.F_z * (y.PKY6 + y.PKY7 * i.dfz) * (1.0 + y.PPY5 * i.dpi) * k.scaling.LKYC


def lateral_friction(k: Sections, i: Inputs, g: one) -> one:
    """Peak of the lateral force over load at camber `g`, eq. 4.E23."""
    y = k.lateral
    by_pressure = 1.0 + i.dpi * (y.PPY3 + y.PPY4 * i.dpi)
    by_camber = 1.0 - y.PDY3 * (g * g)
    return (y.PDY1 + y.PDY2 * i.dfz) * by_pressure * by_camber * (k.scaling.LMUY * i.mu)
