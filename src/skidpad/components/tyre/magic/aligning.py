"""Aligning moment: pneumatic trail, residual torque and the arm of F_x, eqs. 4.E31 to 4.E49."""

from __future__ import annotations

from typing import NamedTuple

from ....ops import abs as absolute
from ....ops import atan, cos, maximum, sqrt, tan
from ....units import N, Nm, m, one, rad
from .choices import Combined, FrictionEllipse, Uncombined
from .combined import Weights
from .curves import cos_curve
from .inputs import Inputs
from .lateral import PureLateral, pure_lateral
from .longitudinal import PureLongitudinal
from .mf52 import Aligning52
from .sections import Sections, Tyre
from .turn_slip import NO_SPIN, Spin, residual_decay

__all__ = ["Aligning", "aligning"]

TWO_BY_PI = 0.6366197723675814
LEAST_GRIP = 1e-6
"""Stands in for a grip of the road of 0 where something is divided by it."""


class Aligning(NamedTuple):
    """The aligning moment and its parts."""

    M: Nm
    t: m
    """Pneumatic trail."""
    M_r: Nm
    """Residual torque."""
    s: m
    """Arm of the longitudinal force."""


class Forces(NamedTuple):
    """What of the forces the aligning moment is made of."""

    x: PureLongitudinal
    y: PureLateral
    weights: Weights
    F_x: N
    F_y: N


def aligning(tyre: Tyre, k: Sections, i: Inputs, f: Forces, spin: Spin) -> Aligning:
    """M_z about the middle of the contact patch."""
    s = i.slip
    slip = f.x.K / f.y.K_safe * s.kappa
    steep = k.scaling.LKY / maximum(k.scaling.LMUY * i.mu, LEAST_GRIP)
    t = _trail(tyre, k, i, slip, steep, spin) * i.cos_alpha * (k.scaling.LFZO * s.awake)
    M_r = _residual(tyre, k, i, f, slip, steep, spin) * s.awake
    arm = _arm(tyre, k, i, f.F_y)
    return Aligning(M_r - t * _force_on_trail(tyre, k, i, f) + arm * f.F_x, t, M_r, arm)


def _arm(tyre: Tyre, k: Sections, i: Inputs, F_y: N) -> m:
    """How far beside the middle the longitudinal force acts; nowhere if slips do not combine."""
    z, R = k.aligning, tyre.dimension.UNLOADED_RADIUS
    if isinstance(tyre.combination, Uncombined):
        return 0.0 * R
    share = z.SSZ1 + (z.SSZ2 / tyre.vertical.FNOMIN) * F_y
    return (share + (z.SSZ3 + z.SSZ4 * i.dfz) * i.slip.gamma) * (R * k.scaling.LS)


def _force_on_trail(tyre: Tyre, k: Sections, i: Inputs, f: Forces) -> N:
    """The lateral force that acts behind the middle: in MF 6 that of an upright wheel."""
    if isinstance(tyre.aligning, Aligning52):
        return f.F_y - f.weights.S_V
    return f.weights.G_y * pure_lateral(tyre, k, i, 0.0, NO_SPIN).F


def _trail(tyre: Tyre, k: Sections, i: Inputs, slip: one, steep: one, spin: Spin) -> m:
    """Pneumatic trail of a wheel that rolls straight ahead at this slip, over LFZO."""
    z, dfz, g = k.aligning, i.dfz, i.g_z_plain
    shift = z.QHZ1 + z.QHZ2 * dfz + (z.QHZ3 + z.QHZ4 * dfz) * i.g_z
    a = i.a + i.side * shift
    upright = z.QBZ1 + dfz * (z.QBZ2 + z.QBZ3 * dfz)
    B = upright * (1.0 + z.QBZ4 * g + z.QBZ5 * absolute(g)) * steep
    by_load = tyre.dimension.UNLOADED_RADIUS / (k.scaling.LFZO * tyre.vertical.FNOMIN)
    by_camber = 1.0 + g * (z.QDZ3 + z.QDZ4 * g)
    share = (z.QDZ1 + z.QDZ2 * dfz) * (1.0 - z.PPZ1 * i.dpi) * by_camber
    D = i.slip.F_least * share * (by_load * k.scaling.LTR) * spin.zeta5
    bend = (z.QEZ4 + z.QEZ5 * i.g_z) * (i.side * TWO_BY_PI) * atan(B * z.QCZ1 * a)
    E = tyre.limits.curvature((z.QEZ1 + dfz * (z.QEZ2 + z.QEZ3 * dfz)) * (1.0 + bend))
    return D * cos_curve(_equivalent(tyre, a, slip), B, z.QCZ1, E)


def _residual(
    tyre: Tyre, k: Sections, i: Inputs, f: Forces, slip: one, steep: one, spin: Spin
) -> Nm:
    """Torque that is left where the lateral force vanishes."""
    z, dfz, g, y = k.aligning, i.dfz, i.g_z, f.y
    a = i.a + i.side * (y.S_H + y.S_V / y.K_safe)
    B = (z.QBZ9 * steep + z.QBZ10 * (y.B * y.C)) * spin.zeta6
    lean = (z.QDZ8 + z.QDZ9 * dfz) * (1.0 + z.PPZ2 * i.dpi)
    lean = lean + (z.QDZ10 + z.QDZ11 * dfz) * absolute(g)
    share = (z.QDZ6 + z.QDZ7 * dfz) * k.scaling.LRES * spin.zeta2
    share = share + lean * g * k.scaling.LKZC * spin.zeta0
    most = i.slip.F_least * share * (tyre.dimension.UNLOADED_RADIUS * k.scaling.LMUY * i.mu)
    D = most * (i.slip.direction * cos(i.a)) + spin.D_r
    return D * residual_decay(tyre, spin, f.weights.G_y, B * _equivalent(tyre, a, slip))


def _equivalent(tyre: Tyre, a: rad, slip: one) -> rad:
    """Slip angle that stands for both slips, without its sign: the curves are even in it."""
    match tyre.combination:
        case Combined() | FrictionEllipse():
            t = tan(a)
            return atan(sqrt(t * t + slip * slip + 1e-30))
        case Uncombined():
            return a
        case other:
            raise TypeError(f"combination must be one of the three records, got {other!r}")
