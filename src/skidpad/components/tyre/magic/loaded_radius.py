"""How far a tyre deflects under a load: a quadratic in MF 5.2 and 6.1, an iteration in 6.2."""

from __future__ import annotations

from typing import Any, NamedTuple

from ....ops import abs as absolute
from ....ops import clip, maximum, minimum, sqrt, tan, where
from ....units import N, N_m, m, one, rad, rad_s
from .curves import power, reciprocal
from .records import Vertical62
from .sections import Tyre, vertical_of

__all__ = ["Deflected", "load_at", "loaded_radius"]

NEWTON_STEPS = 10
FLATTEST = 0.02
"""Least slope of load over radius that the iteration trusts, over the stiffness."""
SOFTEST = 0.2
"""Least stiffness over that at nominal load that forces leave."""


class Deflected(NamedTuple):
    """A tyre under load."""

    radius: m
    """Height of the wheel centre over the road, along the wheel."""
    deflection: m
    stiffness: N_m
    """Load over deflection."""


class Spring(NamedTuple):
    """Load over deflection without lateral force: N_z (Q1 r + Q2 r²) with r = deflection / R_0."""

    N_z: N
    Q1: one
    Q2: one


def _spring(tyre: Tyre, C_z: N_m) -> Spring:
    v, R = vertical_of(tyre), tyre.dimension.UNLOADED_RADIUS
    steep = v.VERTICAL_STIFFNESS * R / v.FNOMIN
    linear = sqrt(maximum(steep * steep - 4.0 * v.Q_FZ2, 0.0))
    return Spring(v.FNOMIN / v.VERTICAL_STIFFNESS * C_z, linear, v.Q_FZ2)


def _stiffening(tyre: Tyre, omega: rad_s, F_x: N) -> one:
    """What spin and longitudinal force make of the stiffness."""
    v = vertical_of(tyre)
    along = (v.Q_FCX / v.FNOMIN) * F_x
    spun = v.Q_V2 * (tyre.dimension.UNLOADED_RADIUS / tyre.model.LONGVL) * absolute(omega)
    return 1.0 + spun - along * along


def loaded_radius(
    tyre: Tyre, free: m, F_z: N, omega: rad_s, C_z: N_m, gamma: rad, F_x: N, F_y: N
) -> Deflected:
    """Radius under a load, by version."""
    if isinstance(tyre.vertical, Vertical62):
        return _iterated(tyre, free, F_z, omega, C_z, gamma, F_x, F_y)
    v, R, spring = vertical_of(tyre), tyre.dimension.UNLOADED_RADIUS, _spring(tyre, C_z)
    across = (v.Q_FCY / v.FNOMIN) * F_y
    firm = maximum(_stiffening(tyre, omega, F_x) - across * across, SOFTEST)
    load = F_z / (firm * spring.N_z)
    root = sqrt(maximum(spring.Q1 * spring.Q1 + 4.0 * spring.Q2 * load, 1e-12))
    secant = 0.5 * (spring.Q1 + root)
    deflection = R * (load / secant)
    return Deflected(free - deflection, deflection, firm * spring.N_z * secant / R)


class LoadAt(NamedTuple):
    """Load at a radius, its slope over the radius, and the deflection."""

    F_z: N
    slope: N_m
    deflection: m
    stiffness: N_m


def load_at(
    tyre: Tyre, radius: m, free: m, omega: rad_s, C_z: N_m, gamma: rad, F_x: N, F_y: N
) -> LoadAt:
    """Load of an MF 6.2 tyre whose centre is at this height along the wheel.

    Below 0 where the lateral force takes all stiffness away; the load is 0 there.
    """
    v, R, spring = tyre.vertical, tyre.dimension.UNLOADED_RADIUS, _spring(tyre, C_z)
    rho, rho_slope = _deflection(tyre, radius, free, gamma)
    r, r_slope = rho * (1.0 / R), rho_slope * (1.0 / R)
    share = radius / free
    shift = (v.Q_FYS1 + share * (v.Q_FYS2 + share * v.Q_FYS3)) * gamma
    shift_slope = (v.Q_FYS2 + 2.0 * share * v.Q_FYS3) * gamma / free
    safe = maximum(r, 1e-6)
    weight = power(safe, v.Q_FCY2) * (v.Q_FCY / v.FNOMIN)
    u = weight * (F_y - shift)
    u_slope = u * v.Q_FCY2 * r_slope / safe - weight * shift_slope
    firm = _stiffening(tyre, omega, F_x) - u * u
    line, line_slope = r * (spring.Q1 + spring.Q2 * r), (spring.Q1 + 2.0 * spring.Q2 * r) * r_slope
    return LoadAt(
        spring.N_z * firm * line,
        spring.N_z * (firm * line_slope - 2.0 * u * u_slope * line),
        rho,
        spring.N_z * firm * (spring.Q1 + spring.Q2 * r) / R,
    )


def _deflection(tyre: Tyre, radius: m, free: m, gamma: rad) -> tuple[m, one]:
    """Deflection with what camber adds to it, and its slope over the radius."""
    v, d = tyre.vertical, tyre.dimension
    lean = absolute(gamma)
    tread = (1.075 - 0.5 * d.ASPECT_RATIO) * d.WIDTH * 0.125 * absolute(tan(gamma))
    whole = reciprocal(v.Q_CAM1 + v.Q_CAM2 * free) / free
    part = radius * (v.Q_CAM1 + v.Q_CAM2 * radius) * whole
    part_slope = (v.Q_CAM1 + 2.0 * v.Q_CAM2 * radius) * whole
    straight = maximum(free - radius, 0.0)
    straight_slope: Any = where(radius < free, -1.0, 0.0)
    shorter = 1.0 - v.Q_CAM3 * lean
    rho = maximum(straight * shorter + part * part * tread, 0.0)
    return rho, straight_slope * shorter + 2.0 * part * part_slope * tread


def _iterated(
    tyre: Tyre, free: m, F_z: N, omega: rad_s, C_z: N_m, gamma: rad, F_x: N, F_y: N
) -> Deflected:
    """Newton's method from the linear spring, with a least slope and a farthest radius.

    A strongly cambered wheel may stand on its shoulder, higher than its free radius.
    """
    radius = free - F_z / C_z
    for _ in range(NEWTON_STEPS):
        at = load_at(tyre, radius, free, omega, C_z, gamma, F_x, F_y)
        step = (F_z - at.F_z) / minimum(at.slope, -FLATTEST * C_z)
        radius = clip(radius + step, 0.2 * free, 1.25 * free)
    at = load_at(tyre, radius, free, omega, C_z, gamma, F_x, F_y)
    return Deflected(radius, at.deflection, at.stiffness)
