"""Radii of a loaded and spinning wheel, eqs. 7.1 to 7.9 and 4.E68, and its contact patch."""

from __future__ import annotations

from typing import Any, NamedTuple

from ....ops import abs as absolute
from ....ops import atan, equal, log, logical_and, maximum, minimum, pow, sqrt, where
from ....units import N, N_m, Pa, m, m_s, one, rad_s
from ..contract import Radii
from .inputs import Inputs, pressure_change
from .loaded_radius import Deflected, loaded_radius
from .mf52 import Vertical52
from .records import Vertical62
from .sections import Tyre, vertical_of

__all__ = ["Patch", "contact_patch", "effective_radius", "free_radius", "radii", "rolling_spin"]

NEWTON_STEPS = 4
LOG_10 = 2.302585092994046


class Patch(NamedTuple):
    """Size of the contact patch."""

    length: m
    width: m


def vertical_stiffness(tyre: Tyre, dpi: one) -> N_m:
    """Stiffness at nominal load and this pressure."""
    v = vertical_of(tyre)
    return v.VERTICAL_STIFFNESS * (1.0 + v.PFZ1 * dpi)


def free_radius(tyre: Tyre, omega: rad_s) -> m:
    """Radius of the tyre without load: it grows with spin."""
    return _free_at_rest(tyre) + _growth(tyre) * (omega * omega)


def _free_at_rest(tyre: Tyre) -> m:
    return tyre.dimension.UNLOADED_RADIUS * vertical_of(tyre).Q_RE0


def _growth(tyre: Tyre) -> Any:
    """Growth of the free radius over the square of the spin."""
    R = tyre.dimension.UNLOADED_RADIUS
    by_spin = R / tyre.model.LONGVL
    return R * vertical_of(tyre).Q_V1 * (by_spin * by_spin)


def _sinking(tyre: Tyre, F_z: N, dpi: one) -> m:
    """What load takes away from the free radius to give the rolling radius."""
    v = vertical_of(tyre)
    n = F_z * (1.0 / v.FNOMIN)
    return (v.FNOMIN / vertical_stiffness(tyre, dpi)) * (v.DREFF * atan(v.BREFF * n) + v.FREFF * n)


def effective_radius(tyre: Tyre, F_z: N, omega: rad_s, dpi: one) -> m:
    """Rolling radius: speed over spin of a wheel that rolls free."""
    return free_radius(tyre, omega) - _sinking(tyre, F_z, dpi)


def rolling_spin(tyre: Tyre, F_z: N, kappa: one, v_x: m_s, p: Pa = 0.0) -> rad_s:
    """Spin of a wheel that has this longitudinal slip at this speed.

    The rolling radius grows with the square of the spin: a cubic, solved by four steps of Newton's
    method from the spin on the radius at rest. A pressure of 0 stands for that of the tyre.
    """
    dpi = pressure_change(tyre, p)
    v = v_x + kappa * absolute(v_x)
    at_rest = _free_at_rest(tyre) - _sinking(tyre, maximum(F_z, 0.0), dpi)
    growth, omega = _growth(tyre), v / at_rest
    for _ in range(NEWTON_STEPS):
        grown = growth * (omega * omega)
        omega = omega - (omega * (at_rest + grown) - v) / (at_rest + 3.0 * grown)
    return omega


class Standing(NamedTuple):
    """How a wheel stands on the road."""

    radii: Radii
    deflection: m


def radii(tyre: Tyre, i: Inputs, omega: rad_s, F_x: N, F_y: N) -> Standing:
    """Radii under a load and the forces along and across, which soften the tyre.

    Limits hold for the deflection and not for the rolling radius, which spin was found with.
    """
    free = free_radius(tyre, omega)
    C_z = vertical_stiffness(tyre, i.dpi)
    # With limits a load below FZMIN deflects a tyre of 5.2 and 6.1 as FZMIN does; not so in 6.2.
    load = i.slip.F_z if isinstance(tyre.vertical, Vertical62) else i.slip.F_least
    d: Deflected = loaded_radius(tyre, free, load, omega, C_z, i.slip.gamma, F_x, F_y)
    effective = effective_radius(tyre, i.F_unlimited, omega, i.dpi)
    return Standing(Radii(free, d.radius, effective, d.stiffness), d.deflection)


def contact_patch(tyre: Tyre, F_z: N, dpi: one) -> Patch:
    """Length and width of the contact patch."""
    if isinstance(tyre.vertical, Vertical52):
        return _patch52(tyre, F_z)
    q, R, C = tyre.contact_patch, tyre.dimension.UNLOADED_RADIUS, vertical_stiffness(tyre, dpi)
    rim = tyre.dimension.RIM_RADIUS + tyre.vertical.BOTTOM_OFFST
    u = minimum(F_z, (R - rim) * C) / (C * R)
    a = R * (q.Q_RA2 * u + q.Q_RA1 * sqrt(u + 1e-30))
    b = tyre.dimension.WIDTH * (q.Q_RB2 * u + q.Q_RB1 * pow(u + 1e-30, 1.0 / 3.0))
    return Patch(2.0 * a, 2.0 * b)


def _patch52(tyre: Tyre, F_z: N) -> Patch:
    """Contact patch of MF 5.2; without coefficients, by an estimate from the stiffness."""
    v, R = tyre.vertical, tyre.dimension.UNLOADED_RADIUS
    n = F_z * (1.0 / v.FNOMIN)
    y = log(R * v.VERTICAL_STIFFNESS / v.FNOMIN) / LOG_10
    usual = 0.6279 + y * (-0.6283 + y * (0.2509 - 0.0388 * y))
    none = logical_and(equal(v.Q_A1, 0.0), equal(v.Q_A2, 0.0))
    root: Any = where(none, usual, v.Q_A1)
    linear: Any = where(none, 1.693 * usual * usual, v.Q_A2)
    return Patch(2.0 * R * (linear * n + root * sqrt(n + 1e-30)), tyre.dimension.WIDTH)
