"""From a contact to what the equations work with: changes of load and pressure, angles, limits."""

from __future__ import annotations

from typing import Any, NamedTuple

from ....ops import abs as absolute
from ....ops import cos, maximum, sin, tan, where
from ....units import Pa, one, rad
from ..contract import Contact
from . import mf52
from .choices import BookAngles, Slip, low_speed
from .sections import Tyre

__all__ = ["Inputs", "inputs", "pressure_change"]


class Inputs(NamedTuple):
    """A contact in the terms of the equations."""

    slip: Slip
    mu: one
    F_unlimited: Any
    """Load before limits, at least 0."""
    n: one
    """Load over nominal load times LFZO."""
    dfz: one
    dpi: one
    a: one
    """Slip angle as it enters the forces, alpha*."""
    side: one
    """What shifts of slip angle are multiplied with: 1, or the direction with `BookAngles`."""
    g: one
    """Camber as it enters the forces, gamma*; times LGAY in MF 5.2."""
    g_plain: one
    """Camber in F_x; times LGAX in MF 5.2."""
    g_star: one
    """gamma* without a factor."""
    g_z: one
    """gamma* in M_z; times LGAZ in MF 5.2."""
    g_z_plain: one
    cos_alpha: one
    """cos'(alpha): cosine of the slip angle, negative backwards, 0 at a standstill."""
    by_speed: Any
    """1 over the speed of the contact patch, or over VXLOW if that is more."""


def inputs(tyre: Tyre, at: Contact) -> Inputs:
    """A contact after limits, with everything that several equations need."""
    load = maximum(at.F_z, 0.0)
    raw = Slip(load, load, at.kappa, at.alpha, at.gamma, at.phi_t, 1.0, 1.0)
    s = tyre.limits.limited(raw, at.v_x, tyre.model, tyre.ranges)
    n = s.F_z * (1.0 / (tyre.scaling.LFZO * tyre.vertical.FNOMIN))
    a, g, side = _angles(tyre.angles, s)
    x, y, z = _camber_factors(tyre.scaling)
    speed, c_alpha = absolute(at.v_x), absolute(cos(s.alpha))
    return Inputs(
        slip=s,
        mu=at.mu,
        F_unlimited=load,
        n=n,
        dfz=n - 1.0,
        dpi=pressure_change(tyre, at.p),
        a=a,
        side=side,
        g=g * y,
        g_plain=s.gamma * x,
        g_star=g,
        g_z=g * z,
        g_z_plain=s.gamma * z,
        cos_alpha=s.direction * c_alpha * speed / (speed + tyre.limits.small_speed * c_alpha),
        by_speed=c_alpha / maximum(speed, low_speed(tyre.limits, tyre.model) * c_alpha),
    )


def _angles(kind: Any, s: Slip) -> tuple[rad, rad, one]:
    if isinstance(kind, BookAngles):
        return tan(s.alpha), sin(s.gamma), s.direction
    return s.alpha, s.gamma, 1.0


def _camber_factors(scaling: Any) -> tuple[one, one, one]:
    if isinstance(scaling, mf52.Scaling52):
        return scaling.LGAX, scaling.LGAY, scaling.LGAZ
    return 1.0, 1.0, 1.0


def pressure_change(tyre: Tyre, p: Pa) -> one:
    """Pressure within limits less nominal pressure, over it; 0 in MF 5.2, which knows none.

    A pressure of 0 stands for that of the tyre.
    """
    if isinstance(tyre.operating, mf52.Operating52):
        return 0.0
    own = where(p > 0.0, p, tyre.operating.INFLPRES)
    return tyre.limits.pressure(own, tyre.ranges) * (1.0 / tyre.operating.NOMPRES) - 1.0
