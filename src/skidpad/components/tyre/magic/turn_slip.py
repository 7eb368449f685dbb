"""Spin: what turning and camber do to a rolling wheel, eqs. 4.E75 to 4.E107.

Spin is turn slip and that part of the wheel's rotation which camber turns about the vertical. With
it the force by camber is a force by spin, and takes the place of the camber terms.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ....ops import abs as absolute
from ....ops import atan, cos, maximum, sin, sqrt
from ....units import Nm, one, per_m, rad, rad_s
from .choices import Slip
from .coefficients import TurnSlip
from .curves import cos_atan, reciprocal, sin_curve, without_zero
from .inputs import Inputs
from .sections import Sections, Tyre
from .slopes import camber_stiffness, cornering_stiffness, lateral_friction

__all__ = ["NO_SPIN", "Spin", "residual_decay", "spin"]

PI = 3.141592653589793
CORNER = 1e-12
"""Spin, in radii, below which its root is rounded off."""


class Spin(NamedTuple):
    """Factors by which spin changes the other equations, and what it adds to them."""

    zeta0: one
    zeta1: one
    zeta2: one
    zeta3: one
    zeta5: one
    zeta6: one
    S_H: rad
    """Shift of slip angle by spin."""
    D_r: Nm
    """Torque by spin."""
    M_90: Nm
    """Torque by turn slip at a slip angle of 90 degrees."""
    phi: per_m
    """The spin itself."""


NO_SPIN = Spin(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0)
"""Spin that changes nothing."""


def spin(tyre: Tyre, k: Sections, i: Inputs, omega: rad_s) -> Spin:
    """Spin of a wheel, by the type of `tyre.turn_slip`."""
    if not isinstance(tyre.turn_slip, TurnSlip):
        return NO_SPIN
    p, s, dfz = tyre.turn_slip, i.slip, i.dfz
    upright = 1.0 - p.PECP1 * (1.0 + p.PECP2 * dfz)
    phi = s.phi_t - upright * omega * sin(s.gamma) * i.by_speed
    f = phi * tyre.dimension.UNLOADED_RADIUS
    size = sqrt(f * f + CORNER * CORNER)
    decay = p.PDYP1 * (1.0 + p.PDYP2 * dfz) * _cos_atan_tan(p.PDYP3, s)
    D_r, M_most = _torque(tyre, k, i, f, upright)
    return Spin(
        zeta0=0.0,
        zeta1=cos_atan(p.PDXP1 * (1.0 + p.PDXP2 * dfz) * cos_atan(p.PDXP3 * s.kappa) * f),
        zeta2=cos_atan(decay * (size + p.PDYP4 * sqrt(size))),
        zeta3=cos_atan(p.PKYP1 * (f * f)),
        zeta5=cos_atan(p.QDTP1 * f),
        zeta6=cos_atan(p.QBRP1 * f),
        S_H=_shift(tyre, k, i, f, upright),
        D_r=D_r,
        M_90=M_most * (2.0 / PI) * atan(_turned(tyre, s) * p.QCRP2),
        phi=phi,
    )


def _turned(tyre: Tyre, s: Slip) -> one:
    return tyre.dimension.UNLOADED_RADIUS * absolute(s.phi_t)


def _cos_atan_tan(factor: one, s: Slip) -> one:
    """cos(atan(factor tan(alpha))), also at a right angle."""
    c, x = cos(s.alpha), factor * sin(s.alpha)
    return absolute(c) / sqrt(c * c + x * x + 1e-60)


def _shift(tyre: Tyre, k: Sections, i: Inputs, f: one, upright: one) -> rad:
    """Shift of slip angle by spin; it turns over with the direction of travel."""
    p = tyre.turn_slip
    K = cornering_stiffness(k, i, 0.0, 1.0)
    D = p.PHYP2 + p.PHYP3 * i.dfz
    ratio = camber_stiffness(k, i) / without_zero(K, tyre.limits.small_force)
    B = -ratio * reciprocal(upright * p.PHYP1 * D)
    E = tyre.limits.curvature(p.PHYP4)
    return i.slip.direction * sin_curve(f, B, p.PHYP1, D, E)


def _torque(tyre: Tyre, k: Sections, i: Inputs, f: one, upright: one) -> tuple[Nm, Nm]:
    """Torque by spin, and that of a wheel that turns on the spot."""
    p, z, dfz = tyre.turn_slip, k.aligning, i.dfz
    lever = i.slip.F_z * tyre.dimension.UNLOADED_RADIUS
    friction = absolute(lateral_friction(k, i, i.g))
    most = p.QCRP1 * k.scaling.LMP * friction * sqrt(i.n + 1e-20)
    lean = z.QDZ8 + z.QDZ9 * dfz + (z.QDZ10 + z.QDZ11 * dfz) * absolute(i.slip.gamma)
    D = most / sin(0.5 * PI * p.QDRP1)
    B = lean * k.scaling.LKZC * reciprocal(p.QDRP1 * D * upright)
    return -lever * D * sin(p.QDRP1 * atan(B * f)), lever * most


def residual_decay(tyre: Tyre, spin: Spin, G_y: one, x: Any) -> one:
    """How the residual torque decays with slip, cos(zeta7 atan(x)).

    zeta7 is an arc cosine of the torque at 90 degrees over that by spin, written so that its slope
    is finite where the two are equal.
    """
    if not isinstance(tyre.turn_slip, TurnSlip):
        return cos_atan(x)
    q = spin.M_90 * G_y
    small = 1e-3 * tyre.limits.small_force * tyre.dimension.UNLOADED_RADIUS
    rest = sqrt(maximum(spin.D_r * spin.D_r - q * q, 0.0) + small * small)
    return cos((1.0 - (2.0 / PI) * atan(q / rest)) * atan(x))
