"""Radii of a loaded and spinning wheel, eqs. 7.1 to 7.9 and 4.E68, and its contact patch.

The deflection under a load follows from a quadratic equation in MF 5.2 and 6.1, from an iteration
in 6.2. Stiffness at rest and relaxation lengths are those of eqs. 7.16 to 7.19 and of MF 5.2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...ops import abs as absolute
from ...ops import (
    atan,
    clip,
    equal,
    exp,
    log,
    logical_and,
    maximum,
    minimum,
    pow,
    sin,
    sqrt,
    tan,
    where,
)
from ...units import N, N_m, N_rad, Pa, m, m_s, one, rad, rad_s
from ..contract import Radii
from .coefficients import non_zero, power, reciprocal
from .records import Inputs, Structural, Tyre, Vertical52, Vertical62, pressure_change, vertical_of

LOADED_RADIUS_NEWTON_STEPS = 10
FLATTEST = 0.02
"""Smallest slope of load over radius that the iteration accepts, relative to the stiffness."""
SOFTEST = 0.2
"""Smallest stiffness under horizontal forces, relative to the stiffness at nominal load."""


class Deflected(NamedTuple):
    """Loaded radius and stiffness of a tyre."""

    radius: m
    """Distance of the wheel centre from the road, in the wheel plane."""
    deflection: m
    stiffness: N_m
    """Load over deflection."""


class Spring(NamedTuple):
    """Vertical spring without lateral force: load N_z (Q1 r + Q2 r²) with r = deflection / R_0."""

    N_z: N
    Q1: one
    Q2: one


def _spring(tyre: Tyre, C_z: N_m) -> Spring:
    v, R = vertical_of(tyre), tyre.dimension.UNLOADED_RADIUS
    steep = v.VERTICAL_STIFFNESS * R / v.FNOMIN
    linear = sqrt(maximum(steep * steep - 4.0 * v.Q_FZ2, 0.0))
    return Spring(v.FNOMIN / v.VERTICAL_STIFFNESS * C_z, linear, v.Q_FZ2)


def _stiffening(tyre: Tyre, omega: rad_s, F_x: N) -> one:
    """Factor of the vertical stiffness due to spin and longitudinal force."""
    v = vertical_of(tyre)
    along = (v.Q_FCX / v.FNOMIN) * F_x
    spun = v.Q_V2 * (tyre.dimension.UNLOADED_RADIUS / tyre.model.LONGVL) * absolute(omega)
    return 1.0 + spun - along * along


def loaded_radius(
    tyre: Tyre, free: m, F_z: N, omega: rad_s, C_z: N_m, gamma: rad, F_x: N, F_y: N
) -> Deflected:
    """Loaded radius and stiffness, by version."""
    if isinstance(tyre.vertical, Vertical62):
        # Newton's method from the linear spring, with a smallest slope and a largest radius. A
        # strongly cambered wheel may stand on its shoulder, higher than its free radius.
        radius = free - F_z / C_z
        for _ in range(LOADED_RADIUS_NEWTON_STEPS):
            at = load_at(tyre, radius, free, omega, C_z, gamma, F_x, F_y)
            step = (F_z - at.F_z) / minimum(at.slope, -FLATTEST * C_z)
            radius = clip(radius + step, 0.2 * free, 1.25 * free)
        at = load_at(tyre, radius, free, omega, C_z, gamma, F_x, F_y)
        return Deflected(radius, at.deflection, at.stiffness)
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
    """Load of an MF 6.2 tyre whose wheel centre is at this distance from the road.

    A distance below which the lateral force removes all stiffness gives a load of 0.
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
    """Deflection including the effect of camber, and its slope over the radius."""
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


NEWTON_STEPS = 4
LOG_10 = 2.302585092994046


class Patch(NamedTuple):
    """Size of the contact patch."""

    length: m
    width: m


def vertical_stiffness(tyre: Tyre, dpi: one) -> N_m:
    """Vertical stiffness at nominal load and this pressure."""
    v = vertical_of(tyre)
    return v.VERTICAL_STIFFNESS * (1.0 + v.PFZ1 * dpi)


def free_radius(tyre: Tyre, omega: rad_s) -> m:
    """Radius of the unloaded tyre, which grows with spin."""
    return _free_at_rest(tyre) + _growth(tyre) * (omega * omega)


def _free_at_rest(tyre: Tyre) -> m:
    return tyre.dimension.UNLOADED_RADIUS * vertical_of(tyre).Q_RE0


def _growth(tyre: Tyre) -> Any:
    """Growth of the free radius over the square of the spin."""
    R = tyre.dimension.UNLOADED_RADIUS
    by_spin = R / tyre.model.LONGVL
    return R * vertical_of(tyre).Q_V1 * (by_spin * by_spin)


def _sinking(tyre: Tyre, F_z: N, dpi: one) -> m:
    """Difference between the free radius and the effective rolling radius under a load."""
    v = vertical_of(tyre)
    n = F_z * (1.0 / v.FNOMIN)
    return (v.FNOMIN / vertical_stiffness(tyre, dpi)) * (v.DREFF * atan(v.BREFF * n) + v.FREFF * n)


def effective_radius(tyre: Tyre, F_z: N, omega: rad_s, dpi: one) -> m:
    """Effective rolling radius: speed over spin of a freely rolling wheel."""
    return free_radius(tyre, omega) - _sinking(tyre, F_z, dpi)


def rolling_spin(tyre: Tyre, F_z: N, kappa: one, v_x: m_s, p: Pa = 0.0) -> rad_s:
    """Spin of a wheel that has this longitudinal slip at this speed.

    The rolling radius grows with the square of the spin. The resulting cubic is solved by four
    Newton steps, starting with the radius at rest. A pressure of 0 stands for the tyre's own
    pressure.
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
    """Radii, stiffness and contact patch of a loaded wheel."""

    radii: Radii
    deflection: m


def radii(tyre: Tyre, i: Inputs, omega: rad_s, F_x: N, F_y: N) -> Standing:
    """Radii under a load and under longitudinal and lateral forces, which soften the tyre.

    Limits apply to the deflection but not to the rolling radius, from which the spin was computed.
    """
    free = free_radius(tyre, omega)
    C_z = vertical_stiffness(tyre, i.dpi)
    # With limits a load below FZMIN deflects a tyre of 5.2 and 6.1 as FZMIN does; not so in 6.2.
    load = i.slip.F_z if isinstance(tyre.vertical, Vertical62) else i.slip.F_least
    d: Deflected = loaded_radius(tyre, free, load, omega, C_z, i.slip.gamma, F_x, F_y)
    effective = effective_radius(tyre, i.F_unlimited, omega, i.dpi)
    return Standing(Radii(free, d.radius, effective, d.stiffness), d.deflection)


def contact_patch(tyre: Tyre, F_z: N, dpi: one) -> Patch:
    if isinstance(tyre.vertical, Vertical52):
        return _patch52(tyre, F_z)
    q, R, C = tyre.contact_patch, tyre.dimension.UNLOADED_RADIUS, vertical_stiffness(tyre, dpi)
    rim = tyre.dimension.RIM_RADIUS + tyre.vertical.BOTTOM_OFFST
    u = minimum(F_z, (R - rim) * C) / (C * R)
    a = R * (q.Q_RA2 * u + q.Q_RA1 * sqrt(u + 1e-30))
    b = tyre.dimension.WIDTH * (q.Q_RB2 * u + q.Q_RB1 * pow(u + 1e-30, 1.0 / 3.0))
    return Patch(2.0 * a, 2.0 * b)


def _patch52(tyre: Tyre, F_z: N) -> Patch:
    """Contact patch of MF 5.2; without coefficients, an estimate from the stiffness."""
    v, R = tyre.vertical, tyre.dimension.UNLOADED_RADIUS
    n = F_z * (1.0 / v.FNOMIN)
    y = log(R * v.VERTICAL_STIFFNESS / v.FNOMIN) / LOG_10
    usual = 0.6279 + y * (-0.6283 + y * (0.2509 - 0.0388 * y))
    none = logical_and(equal(v.Q_A1, 0.0), equal(v.Q_A2, 0.0))
    root: Any = where(none, usual, v.Q_A1)
    linear: Any = where(none, 1.693 * usual * usual, v.Q_A2)
    return Patch(2.0 * R * (linear * n + root * sqrt(n + 1e-30)), tyre.dimension.WIDTH)


class Relaxed(NamedTuple):
    """Relaxation lengths, and the stiffness at rest from which they are computed."""

    sigma_x: m
    sigma_y: m
    C_x: N_m
    """Longitudinal stiffness at rest; 0 in MF 5.2, which has no such coefficient."""
    C_y: N_m


def relaxed(tyre: Tyre, i: Inputs, K_x: N, K_y: N_rad) -> Relaxed:
    """Relaxation lengths from the slopes of the forces over slip."""
    if isinstance(c := tyre.structural, Structural):
        dfz, dpi = i.dfz, i.dpi
        C_x = (1.0 + dfz * (c.PCFX1 + c.PCFX2 * dfz)) * (1.0 + c.PCFX3 * dpi)
        C_y = (1.0 + dfz * (c.PCFY1 + c.PCFY2 * dfz)) * (1.0 + c.PCFY3 * dpi)
        C_x, C_y = C_x * c.LONGITUDINAL_STIFFNESS, C_y * c.LATERAL_STIFFNESS
        return Relaxed(absolute(K_x / C_x), absolute(K_y / C_y), C_x, C_y)
    x, y, scale, R = tyre.longitudinal, tyre.lateral, tyre.scaling, tyre.dimension.UNLOADED_RADIUS
    n = i.slip.F_z * (1.0 / tyre.vertical.FNOMIN)
    along = (x.PTX1 + x.PTX2 * i.dfz) * exp(-x.PTX3 * i.dfz) * n
    ratio = i.n / non_zero(y.PTY2)
    across = y.PTY1 * sin(2.0 * atan(ratio)) * (1.0 - y.PKY3 * absolute(i.slip.gamma))
    return Relaxed(along * (R * scale.LSGKP), across * (R * scale.LFZO * scale.LSGAL), 0.0, 0.0)
