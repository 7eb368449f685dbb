"""Overturning and rolling resistance moments, eqs. 4.E69 and 4.E70.

The overturning moment has the form of Besselink's paper of 2010.
"""

from __future__ import annotations

from ....ops import abs as absolute
from ....ops import atan, cos, maximum, minimum, sin
from ....units import N, Nm, m_s, one
from .curves import power
from .inputs import Inputs
from .mf52 import Rolling52
from .sections import Sections, Tyre

__all__ = ["overturning", "rolling_resistance"]

HALF_PI = 1.5707963267948966


def overturning(tyre: Tyre, k: Sections, i: Inputs, F_y: N) -> Nm:
    """M_x about the middle of the contact patch. It fades below the least load of the fit."""
    x, scale, gamma = k.overturning, k.scaling, i.slip.gamma
    fade = _fade(tyre, i.slip.F_z)
    load = i.slip.F_z * (fade * fade)
    by_nominal = 1.0 / tyre.vertical.FNOMIN
    n, f, lean = load * by_nominal, F_y * by_nominal, absolute(gamma)
    square = x.QSX6 * n
    wave = x.QSX4 * cos(x.QSX5 * atan(square * square))
    arm = (
        x.QSX1 * scale.LVMX
        - x.QSX2 * gamma * (1.0 + x.PPMX1 * i.dpi)
        - x.QSX12 * gamma * lean
        + x.QSX3 * f
        + wave * sin(x.QSX7 * gamma + x.QSX8 * atan(x.QSX9 * f))
        + x.QSX10 * atan(x.QSX11 * n) * gamma
    )
    return (load * arm + F_y * (x.QSX13 + x.QSX14 * lean)) * (
        tyre.dimension.UNLOADED_RADIUS * scale.LMX
    )


def _fade(tyre: Tyre, F_z: N) -> one:
    """Load over the least load of the fit, at most 1."""
    return minimum(F_z * (1.0 / maximum(tyre.ranges.FZMIN, 1e3 * tyre.limits.small_force)), 1.0)


def rolling_resistance(tyre: Tyre, k: Sections, i: Inputs, F_x: N, kappa: one, v_x: m_s) -> Nm:
    """M_y. Its sense is that of the wheel's circumferential speed, through 0 at a standstill.

    Load and longitudinal slip are those given, without limits.
    """
    y, nominal = k.rolling, tyre.vertical.FNOMIN
    fade = _fade(tyre, i.F_unlimited)
    n = i.F_unlimited * fade * (1.0 / nominal)
    v = v_x * (1.0 / tyre.model.LONGVL)
    v2 = v * v
    sense = tyre.limits.rolling(v_x + kappa * absolute(v_x), v_x, tyre.model)
    share = (
        y.QSY1
        + (y.QSY2 / nominal) * F_x
        + y.QSY3 * absolute(v)
        + y.QSY4 * (v2 * v2)
        + (y.QSY5 + y.QSY6 * n) * (i.slip.gamma * i.slip.gamma)
    )
    whole = tyre.dimension.UNLOADED_RADIUS * nominal * k.scaling.LMY
    return -whole * share * _load_factor(tyre, k, i, n, fade) * sin(HALF_PI * sense)


def _load_factor(tyre: Tyre, k: Sections, i: Inputs, n: one, fade: one) -> one:
    """How rolling resistance grows with load and pressure; 0 without load whatever the power."""
    if isinstance(tyre.rolling, Rolling52):
        return n
    touch = minimum(fade * 1e3, 1.0)
    return power(n, k.rolling.QSY7) * power(1.0 + i.dpi, k.rolling.QSY8) * touch
