"""Forces when a wheel slips along and across at once, eqs. 4.E50 to 4.E67."""

from __future__ import annotations

from typing import NamedTuple

from ....ops import atan, sin, sqrt
from ....units import N, one
from .choices import Combined, FrictionEllipse, Uncombined
from .curves import cos_atan, cos_curve, without_zero
from .inputs import Inputs
from .lateral import PureLateral
from .longitudinal import PureLongitudinal
from .sections import Sections, Tyre

__all__ = ["Weights", "weights"]


class Weights(NamedTuple):
    """What the other slip leaves of each pure force, and what it adds."""

    G_x: one
    G_y: one
    S_V: N
    """Lateral force by longitudinal slip."""


def weights(tyre: Tyre, k: Sections, i: Inputs, x: PureLongitudinal, y: PureLateral) -> Weights:
    """How the two slips combine, by the type of `tyre.combination`."""
    match tyre.combination:
        case Combined():
            return _combined(tyre, k, i, y)
        case FrictionEllipse():
            return _ellipse(tyre.limits.small_force, i, x, y)
        case Uncombined():
            return Weights(1.0, 1.0, 0.0)
        case other:
            raise TypeError(f"combination must be one of the three records, got {other!r}")


def _combined(tyre: Tyre, k: Sections, i: Inputs, y: PureLateral) -> Weights:
    a, kappa, way, cut = i.a, i.slip.kappa, i.slip.direction, tyre.limits.curvature
    g2 = i.g_star * i.g_star
    rx, ry, scale = k.longitudinal, k.lateral, k.scaling
    B_x = (rx.RBX1 + rx.RBX3 * g2) * cos_atan(rx.RBX2 * kappa) * scale.LXAL
    G_x = _weight(a, i.side * rx.RHX1, B_x, rx.RCX1, cut(rx.REX1 + rx.REX2 * i.dfz))
    bend = cos_atan(ry.RBY2 * (a - i.side * ry.RBY3))
    B_y = (ry.RBY1 + ry.RBY4 * g2) * bend * scale.LYKA
    shift = (ry.RHY1 + ry.RHY2 * i.dfz) * way
    G_y = _weight(kappa, shift, B_y, ry.RCY1, cut(ry.REY1 + ry.REY2 * i.dfz))
    most = y.D * (ry.RVY1 + ry.RVY2 * i.dfz + ry.RVY3 * i.g_star) * cos_atan(ry.RVY4 * a)
    pull = sin(ry.RVY5 * atan(ry.RVY6 * kappa)) * scale.LVYKA * (way * i.slip.awake)
    return Weights(G_x, G_y, most * pull)


def _weight(slip: one, shift: one, B: one, C: one, E: one) -> one:
    return cos_curve(slip + shift, B, C, E) / cos_curve(shift, B, C, E)


def _ellipse(small: N, i: Inputs, x: PureLongitudinal, y: PureLateral) -> Weights:
    """Friction ellipse of Adams and Chrono, written with secants of the pure curves.

    Their cos and tan of an angle between the slips need no limits at zero slip then.
    """
    kappa = i.slip.kappa + x.S_H + x.S_V / without_zero(x.K, small)
    sine = sin(i.slip.alpha + i.side * (y.S_H + y.S_V / y.K_safe))
    along = _secant(x.F - x.S_V, kappa, x.K) * sine / without_zero(y.D, small)
    across = _secant(y.F - i.side * y.S_V, sine, y.K) * kappa / without_zero(x.D, small)
    return Weights(1.0 / sqrt(1.0 + along * along), 1.0 / sqrt(1.0 + across * across), 0.0)


def _secant(force: N, slip: one, slope: N) -> N:
    width = 1e-10
    return (force * slip + slope * width) / (slip * slip + width)
