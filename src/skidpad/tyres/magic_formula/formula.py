"""Forces and moments of the Magic Formula, in the order of their computation.

Stiffness and friction over load, camber and pressure; overturning and rolling resistance moments,
eqs. 4.E69 and 4.E70, the former as in Besselink's paper of 2010; spin, eqs. 4.E75 to 4.E107;
longitudinal force of pure slip, eqs. 4.E9 to 4.E18; lateral force of pure slip, eqs. 4.E19 to
4.E30; combined slip, eqs. 4.E50 to 4.E67; aligning moment with pneumatic trail, residual torque and
the lever arm of F_x, eqs. 4.E31 to 4.E49.

Spin is the sum of turn slip and the component of the wheel's rotation about the vertical that
camber causes. With turn slip, the camber force is computed as a force due to spin, which replaces
the camber terms.

Record classes of Magic Formula tyres, one for each version and choice of equations.

Their methods are those of every tyre (`contract.Tyre`); `evaluate` also returns all intermediate
values.
"""

from __future__ import annotations

from collections import namedtuple
from functools import cache
from itertools import product
from typing import Any, NamedTuple

from ...core import record
from ...errors import InvalidValue
from ...ops import abs as absolute
from ...ops import atan, cos, exp, maximum, minimum, sign, sin, sqrt, tan, where
from ...units import N, N_m, N_rad, Nm, Pa, m, m_s, one, per_m, rad, rad_s
from ..contract import Contact, Peaks, Radii, Relaxation, SlipStiffness, TyreForces
from . import coefficients as c
from . import records as r
from .coefficients import (
    cos_atan,
    cos_curve,
    decay,
    non_zero,
    power,
    sign1,
    sin_curve,
    without_zero,
)
from .radii import contact_patch, effective_radius, radii, relaxed
from .records import Inputs, Sections, Slip, Tyre, inputs, sections


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


HALF_PI = 1.5707963267948966


def overturning(tyre: Tyre, k: Sections, i: Inputs, F_y: N) -> Nm:
    """Overturning moment M_x about the middle of the contact patch.

    It fades to 0 below the smallest load of the fit.
    """
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
    """Load over the smallest load of the fit, at most 1."""
    return minimum(F_z * (1.0 / maximum(tyre.ranges.FZMIN, 1e3 * tyre.limits.small_force)), 1.0)


def rolling_resistance(tyre: Tyre, k: Sections, i: Inputs, F_x: N, kappa: one, v_x: m_s) -> Nm:
    """Rolling resistance moment M_y, opposing the wheel's circumferential speed, 0 at a standstill.

    Load and longitudinal slip are used as passed, without limits.
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
    M = -whole * share
    if not isinstance(tyre.rolling, r.Rolling52):
        touch = minimum(fade * 1e3, 1.0)  # 0 without load, for any exponent
        n = power(n, y.QSY7) * power(1.0 + i.dpi, y.QSY8) * touch
    return M * n * sin(HALF_PI * sense)


PI = 3.141592653589793
CORNER = 1e-12
"""Spin times radius below which its square root is rounded."""


class Spin(NamedTuple):
    """Factors and terms that spin contributes to the other equations."""

    zeta0: one
    zeta1: one
    zeta2: one
    zeta3: one
    zeta5: one
    zeta6: one
    S_H: rad
    """Shift of slip angle due to spin."""
    D_r: Nm
    """Torque due to spin."""
    M_90: Nm
    """Torque due to turn slip at a slip angle of 90 degrees."""
    phi: per_m
    """Spin."""


NO_SPIN = Spin(1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0)
"""Neutral values, for a tyre without spin effects."""


def spin(tyre: Tyre, k: Sections, i: Inputs, omega: rad_s) -> Spin:
    """Spin of a wheel; the equations depend on the type of `tyre.turn_slip`."""
    if not isinstance(tyre.turn_slip, c.TurnSlip):
        return NO_SPIN
    p, s, dfz = tyre.turn_slip, i.slip, i.dfz
    upright = 1.0 - p.PECP1 * (1.0 + p.PECP2 * dfz)
    phi = s.phi_t - upright * omega * sin(s.gamma) * i.by_speed
    f = phi * tyre.dimension.UNLOADED_RADIUS
    size = sqrt(f * f + CORNER * CORNER)
    # cos(atan(PDYP3 tan(alpha))), also valid at 90 degrees.
    cosine, sine = cos(s.alpha), p.PDYP3 * sin(s.alpha)
    falling = absolute(cosine) / sqrt(cosine * cosine + sine * sine + 1e-60)
    steep = p.PDYP1 * (1.0 + p.PDYP2 * dfz) * falling
    D_r, M_most = _torque(tyre, k, i, f, upright)
    return Spin(
        zeta0=0.0,
        zeta1=cos_atan(p.PDXP1 * (1.0 + p.PDXP2 * dfz) * cos_atan(p.PDXP3 * s.kappa) * f),
        zeta2=cos_atan(steep * (size + p.PDYP4 * sqrt(size))),
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


def _shift(tyre: Tyre, k: Sections, i: Inputs, f: one, upright: one) -> rad:
    """Shift of slip angle due to spin; its sign changes with the direction of travel."""
    p = tyre.turn_slip
    K = cornering_stiffness(k, i, 0.0, 1.0)
    D = p.PHYP2 + p.PHYP3 * i.dfz
    ratio = camber_stiffness(k, i) / without_zero(K, tyre.limits.small_force)
    B = -ratio * c.reciprocal(upright * p.PHYP1 * D)
    E = tyre.limits.curvature(p.PHYP4)
    return i.slip.direction * sin_curve(f, B, p.PHYP1, D, E)


def _torque(tyre: Tyre, k: Sections, i: Inputs, f: one, upright: one) -> tuple[Nm, Nm]:
    """Torque due to spin, and torque of a wheel turning on the spot."""
    p, z, dfz = tyre.turn_slip, k.aligning, i.dfz
    lever = i.slip.F_z * tyre.dimension.UNLOADED_RADIUS
    friction = absolute(lateral_friction(k, i, i.g))
    most = p.QCRP1 * k.scaling.LMP * friction * sqrt(i.n + 1e-20)
    lean = z.QDZ8 + z.QDZ9 * dfz + (z.QDZ10 + z.QDZ11 * dfz) * absolute(i.slip.gamma)
    D = most / sin(0.5 * PI * p.QDRP1)
    B = lean * k.scaling.LKZC * c.reciprocal(p.QDRP1 * D * upright)
    return -lever * D * sin(p.QDRP1 * atan(B * f)), lever * most


def residual_decay(tyre: Tyre, spin: Spin, G_y: one, x: Any) -> one:
    """Decay of the residual torque with slip, cos(zeta7 atan(x)).

    zeta7 is the arc cosine of the torque at 90 degrees over the torque due to spin, written so that
    its slope is finite where the two are equal.
    """
    if not isinstance(tyre.turn_slip, c.TurnSlip):
        return cos_atan(x)
    q = spin.M_90 * G_y
    small = 1e-3 * tyre.limits.small_force * tyre.dimension.UNLOADED_RADIUS
    rest = sqrt(maximum(spin.D_r * spin.D_r - q * q, 0.0) + small * small)
    return cos((1.0 - (2.0 / PI) * atan(q / rest)) * atan(x))


class PureLongitudinal(NamedTuple):
    """Longitudinal force of pure slip, with the factors of its curve."""

    F: N
    K: N
    """Slope over slip at the shifted origin of the curve."""
    D: N
    mu: one
    S_H: one
    """Shift of slip."""
    S_V: N


def pure_longitudinal(tyre: Tyre, k: Sections, i: Inputs, spin: Spin) -> PureLongitudinal:
    """Longitudinal force of pure slip; its shifts change sign with the direction of travel."""
    x, scale, s = k.longitudinal, k.scaling, i.slip
    F_z, dfz = s.F_z, i.dfz
    way = s.direction * s.awake
    grip = scale.LMUX * i.mu
    mu = longitudinal_friction(k, i)
    D = mu * F_z * spin.zeta1
    C = x.PCX1 * scale.LCX
    K = slip_stiffness(k, i)
    B = K / without_zero(C * D, tyre.limits.small_force)
    S_H = (x.PHX1 + x.PHX2 * dfz) * scale.LHX * way
    S_V = F_z * (x.PVX1 + x.PVX2 * dfz) * (scale.LVX * grip) * spin.zeta1 * way
    kappa = s.kappa + S_H
    bend = (1.0 - x.PEX4 * s.direction * sign(kappa)) * scale.LEX
    E = tyre.limits.curvature((x.PEX1 + dfz * (x.PEX2 + x.PEX3 * dfz)) * bend)
    return PureLongitudinal(sin_curve(kappa, B, C, D, E) + S_V, K, D, mu, S_H, S_V)


class PureLateral(NamedTuple):
    """Lateral force of pure slip, with the factors of its curve."""

    F: N
    K: N_rad
    """Slope over slip angle at the shifted origin of the curve; usually negative."""
    K_safe: N_rad
    """`K` moved away from 0, as a divisor."""
    B: one
    C: one
    D: N
    mu: one
    S_H: rad
    """Shift of slip angle, before its sign is changed with the direction of travel."""
    S_V: N


def pure_lateral(tyre: Tyre, k: Sections, i: Inputs, g: one, spin: Spin) -> PureLateral:
    """Lateral force of pure slip at camber `g`."""
    y, scale, s = k.lateral, k.scaling, i.slip
    F_z, dfz = s.F_z, i.dfz
    grip = scale.LMUY * i.mu
    K = cornering_stiffness(k, i, g, spin.zeta3)
    K_safe = without_zero(K, tyre.limits.small_force)
    S_V_camber = F_z * (y.PVY3 + y.PVY4 * dfz) * g * (scale.LKYC * grip) * spin.zeta2
    level = F_z * (y.PVY1 + y.PVY2 * dfz) * (scale.LVY * grip) * spin.zeta2
    S_V = (level + S_V_camber) * s.awake
    shift = (y.PHY1 + y.PHY2 * dfz) * scale.LHY
    if isinstance(tyre.lateral, r.Lateral52):  # a coefficient
        by_camber = tyre.lateral.PHY3 * g * tyre.scaling.LKYC
    else:
        by_camber = (spin.zeta0 * camber_stiffness(k, i) * g - S_V_camber) / K_safe + spin.S_H
    S_H = (shift + by_camber) * s.awake
    mu = lateral_friction(k, i, g)
    D = mu * F_z * spin.zeta2
    C = y.PCY1 * scale.LCY
    B = K / without_zero(C * D, tyre.limits.small_force)
    a = i.a + i.side * S_H
    bend = 1.0 + y.PEY5 * (g * g) - (y.PEY3 + y.PEY4 * g) * (i.side * sign1(a))
    E = tyre.limits.curvature((y.PEY1 + y.PEY2 * dfz) * bend * scale.LEY)
    F = sin_curve(a, B, C, D, E) + i.side * S_V
    return PureLateral(F, K, K_safe, B, C, D, mu, S_H, S_V)


class Weights(NamedTuple):
    """Combined-slip weights of the pure forces, and the additional lateral force."""

    G_x: one
    G_y: one
    S_V: N
    """Lateral force induced by longitudinal slip."""


def weights(tyre: Tyre, k: Sections, i: Inputs, x: PureLongitudinal, y: PureLateral) -> Weights:
    """Combined-slip weights; the equations depend on the type of `tyre.combination`."""
    match tyre.combination:
        case r.Combined():
            return _combined(tyre, k, i, y)
        case r.FrictionEllipse():
            return _ellipse(tyre.limits.small_force, i, x, y)
        case r.Uncombined():
            return Weights(1.0, 1.0, 0.0)
        case other:
            raise TypeError(f"combination must be one of the three records, got {other!r}")


def _combined(tyre: Tyre, k: Sections, i: Inputs, y: PureLateral) -> Weights:
    a, kappa, way, cut = i.a, i.slip.kappa, i.slip.direction, tyre.limits.curvature
    g2 = i.g_star * i.g_star
    rx, ry, scale = k.longitudinal, k.lateral, k.scaling
    B_x = (rx.RBX1 + rx.RBX3 * g2) * cos_atan(rx.RBX2 * kappa) * scale.LXAL
    G_x = decay(a, i.side * rx.RHX1, B_x, rx.RCX1, cut(rx.REX1 + rx.REX2 * i.dfz))
    bend = cos_atan(ry.RBY2 * (a - i.side * ry.RBY3))
    B_y = (ry.RBY1 + ry.RBY4 * g2) * bend * scale.LYKA
    shift = (ry.RHY1 + ry.RHY2 * i.dfz) * way
    G_y = decay(kappa, shift, B_y, ry.RCY1, cut(ry.REY1 + ry.REY2 * i.dfz))
    most = y.D * (ry.RVY1 + ry.RVY2 * i.dfz + ry.RVY3 * i.g_star) * cos_atan(ry.RVY4 * a)
    pull = sin(ry.RVY5 * atan(ry.RVY6 * kappa)) * scale.LVYKA * (way * i.slip.awake)
    return Weights(G_x, G_y, most * pull)


def _ellipse(small: N, i: Inputs, x: PureLongitudinal, y: PureLateral) -> Weights:
    """Friction ellipse of Adams and Chrono, written with secants of the pure-slip curves.

    In this form cos and tan of the angle between the slips need no limits at zero slip.
    """
    kappa = i.slip.kappa + x.S_H + x.S_V / without_zero(x.K, small)
    sine = sin(i.slip.alpha + i.side * (y.S_H + y.S_V / y.K_safe))
    along = _secant(x.F - x.S_V, kappa, x.K) * sine / without_zero(y.D, small)
    across = _secant(y.F - i.side * y.S_V, sine, y.K) * kappa / without_zero(x.D, small)
    return Weights(1.0 / sqrt(1.0 + along * along), 1.0 / sqrt(1.0 + across * across), 0.0)


def _secant(force: N, slip: one, slope: N) -> N:
    width = 1e-10
    return (force * slip + slope * width) / (slip * slip + width)


TWO_BY_PI = 0.6366197723675814
LEAST_GRIP = 1e-6
"""Smallest road grip used in divisions."""


class Aligning(NamedTuple):
    M: Nm
    t: m
    """Pneumatic trail."""
    M_r: Nm
    """Residual torque."""
    s: m
    """Lever arm of the longitudinal force."""


class Forces(NamedTuple):
    """Forces that the aligning moment is computed from."""

    x: PureLongitudinal
    y: PureLateral
    weights: Weights
    F_x: N
    F_y: N


def aligning(tyre: Tyre, k: Sections, i: Inputs, f: Forces, spin: Spin) -> Aligning:
    """Aligning moment M_z about the middle of the contact patch."""
    s = i.slip
    slip = f.x.K / f.y.K_safe * s.kappa
    steep = k.scaling.LKY / maximum(k.scaling.LMUY * i.mu, LEAST_GRIP)
    t = _trail(tyre, k, i, slip, steep, spin) * i.cos_alpha * (k.scaling.LFZO * s.awake)
    M_r = _residual(tyre, k, i, f, slip, steep, spin) * s.awake
    # Lever arm of the longitudinal force; 0 without combined slip.
    z, R = k.aligning, tyre.dimension.UNLOADED_RADIUS
    share = z.SSZ1 + (z.SSZ2 / tyre.vertical.FNOMIN) * f.F_y
    arm = (share + (z.SSZ3 + z.SSZ4 * i.dfz) * i.slip.gamma) * (R * k.scaling.LS)
    if isinstance(tyre.combination, r.Uncombined):
        arm = 0.0 * R
    if isinstance(tyre.aligning, r.Aligning52):
        force = f.F_y - f.weights.S_V
    else:  # the slope for an upright wheel
        force = f.weights.G_y * pure_lateral(tyre, k, i, 0.0, NO_SPIN).F
    return Aligning(M_r - t * force + arm * f.F_x, t, M_r, arm)


def _trail(tyre: Tyre, k: Sections, i: Inputs, slip: one, steep: one, spin: Spin) -> m:
    """Pneumatic trail of a wheel rolling straight ahead at this slip, over LFZO."""
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
    """Residual torque: what remains where the lateral force is zero."""
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
    """Equivalent slip angle of combined slip, as an absolute value, since the curves are even."""
    match tyre.combination:
        case r.Combined() | r.FrictionEllipse():
            t = tan(a)
            return atan(sqrt(t * t + slip * slip + 1e-30))
        case r.Uncombined():
            return a
        case other:
            raise TypeError(f"combination must be one of the three records, got {other!r}")


SHORTEST = 1.0 / 16.0
"""Smallest relaxation length over the radius: the lag must not vanish with the load."""


class Everything(NamedTuple):
    """Forces of a tyre with all intermediate values."""

    forces: TyreForces
    radii: Radii
    t: m
    """Pneumatic trail."""
    M_zr: Nm
    """Residual torque."""
    s: m
    """Lever arm of the longitudinal force in the aligning moment."""
    mu_x: one
    """Peak of the longitudinal force over load; 0 without load."""
    mu_y: one
    """Peak of the lateral force over load; 0 without load."""
    K_x: N
    """Slope of the longitudinal force over slip."""
    K_y: N_rad
    """Slope of the lateral force over slip angle; usually negative."""
    rho: m
    """Deflection of the tyre under its load."""
    two_a: m
    """Length of the contact patch."""
    two_b: m
    """Width of the contact patch."""
    C_x: N_m
    """Longitudinal stiffness of the tyre at rest; 0 for MF 5.2, which does not define it."""
    C_y: N_m
    """Lateral stiffness of the tyre at rest; 0 for MF 5.2, which does not define it."""
    sigma_x: m
    """Relaxation length of the longitudinal force; 0 without load."""
    sigma_y: m
    """Relaxation length of the lateral force; 0 without load."""
    F_x0: N
    """Longitudinal force of pure slip."""
    F_y0: N
    """Lateral force of pure slip."""
    G_x: one
    """Weight of the longitudinal force due to slip angle."""
    G_y: one
    """Weight of the lateral force due to longitudinal slip."""
    S_Vyk: N
    """Lateral force induced by longitudinal slip."""
    S_Hx: one
    """Shift of longitudinal slip."""
    S_Vx: N
    """Shift of the longitudinal force."""
    S_Hy: rad
    """Shift of slip angle."""
    S_Vy: N
    """Shift of the lateral force."""
    B_y: one
    """Stiffness factor of the lateral force."""
    phi: per_m
    """Spin; 0 without turn slip."""
    zeta_2: one
    """Weight of the lateral force due to spin."""


class _Steady(NamedTuple):
    """Steady-state forces along and across the wheel, with intermediate values."""

    k: Sections
    i: Inputs
    spin: Spin
    x: PureLongitudinal
    y: PureLateral
    weights: Weights
    F_x: N
    F_y: N


def _steady(tyre: Tyre, at: Contact) -> _Steady:
    k, i = sections(tyre), inputs(tyre, at)
    turning = spin(tyre, k, i, at.omega)
    x = pure_longitudinal(tyre, k, i, turning)
    y = pure_lateral(tyre, k, i, i.g, turning)
    w = weights(tyre, k, i, x, y)
    return _Steady(k, i, turning, x, y, w, w.G_x * x.F, w.G_y * y.F + w.S_V)


def _moments(tyre: Tyre, at: Contact, f: _Steady) -> tuple[TyreForces, Any]:
    forces = Forces(f.x, f.y, f.weights, f.F_x, f.F_y)
    turning = aligning(tyre, f.k, f.i, forces, f.spin)
    M_x = overturning(tyre, f.k, f.i, f.F_y)
    M_y = rolling_resistance(tyre, f.k, f.i, f.F_x, at.kappa, at.v_x)
    return TyreForces(f.F_x, f.F_y, M_x, M_y, turning.M), turning


def evaluate(tyre: Tyre, at: Contact) -> Everything:
    """Evaluate all results of the Magic Formula at a contact."""
    f = _steady(tyre, at)
    forces, turning = _moments(tyre, at, f)
    standing = radii(tyre, f.i, at.omega, f.F_x, f.F_y)
    patch = contact_patch(tyre, f.i.F_unlimited, f.i.dpi)
    lag = relaxed(tyre, f.i, f.x.K, f.y.K)
    return Everything(
        forces=forces,
        radii=standing.radii,
        t=turning.t,
        M_zr=turning.M_r,
        s=turning.s,
        mu_x=where(f.i.slip.F_z > 0.0, f.x.mu, 0.0),
        mu_y=where(f.i.slip.F_z > 0.0, f.y.mu, 0.0),
        K_x=f.x.K,
        K_y=f.y.K,
        rho=standing.deflection,
        two_a=patch.length,
        two_b=patch.width,
        C_x=lag.C_x,
        C_y=lag.C_y,
        sigma_x=lag.sigma_x,
        sigma_y=lag.sigma_y,
        F_x0=f.x.F,
        F_y0=f.y.F,
        G_x=f.weights.G_x,
        G_y=f.weights.G_y,
        S_Vyk=f.weights.S_V,
        S_Hx=f.x.S_H,
        S_Vx=f.x.S_V,
        S_Hy=f.y.S_H,
        S_Vy=f.y.S_V,
        B_y=f.y.B,
        phi=f.spin.phi,
        zeta_2=f.spin.zeta2,
    )


class MagicFormulaTyre:
    """Methods of every Magic Formula tyre record; see `Tyre`."""

    __slots__ = ()

    model: Any
    operating: Any
    dimension: Any

    @property
    def measured_on(self) -> one:
        """Side of the car on which the tyre was measured: 1 left, -1 right."""
        return self.model.side

    @property
    def pressure(self) -> Pa:
        return self.operating.INFLPRES

    def forces(self, at: Contact) -> TyreForces:
        """Steady-state forces and moments, for the side on which the tyre was measured."""
        return _moments(self, at, _steady(self, at))[0]

    def stiffness(self, at: Contact) -> SlipStiffness:
        """Slopes of the pure-slip forces at their shifted origins."""
        k, i = sections(self), inputs(self, at)
        turning = spin(self, k, i, at.omega)
        K_y = cornering_stiffness(k, i, i.g, turning.zeta3)
        return SlipStiffness(absolute(slip_stiffness(k, i)), absolute(K_y))

    def peaks(self, at: Contact) -> Peaks:
        """Largest friction under this load, camber, pressure and grip."""
        k, i = sections(self), inputs(self, at)
        return Peaks(absolute(longitudinal_friction(k, i)), absolute(lateral_friction(k, i, i.g)))

    def relaxation(self, at: Contact) -> Relaxation:
        """Relaxation lengths, at least 1/16 of the radius so that the lag does not vanish."""
        k, i = sections(self), inputs(self, at)
        turning = spin(self, k, i, at.omega)
        K_y = cornering_stiffness(k, i, i.g, turning.zeta3)
        lag = relaxed(self, i, slip_stiffness(k, i), K_y)
        least = SHORTEST * self.dimension.UNLOADED_RADIUS
        return Relaxation(maximum(lag.sigma_x, least), maximum(lag.sigma_y, least))

    def radii(self, at: Contact) -> Radii:
        """Radii at the load, spin and pressure of this contact, softened by its forces."""
        f = _steady(self, at)
        return radii(self, f.i, at.omega, f.F_x, f.F_y).radii

    def effective_radius(self, at: Contact) -> m:
        """Effective rolling radius, which does not depend on the forces."""
        i = inputs(self, at)
        return effective_radius(self, i.F_unlimited, at.omega, i.dpi)


_MF6: dict[str, type] = {
    "model": r.Model, "dimension": r.Dimension, "operating": r.Operating, "vertical": r.Vertical61,
    "structural": r.Structural, "contact_patch": r.ContactPatch, "ranges": r.Ranges,
    "scaling": r.Scaling, "longitudinal": c.Longitudinal, "overturning": c.Overturning,
    "lateral": c.Lateral, "rolling": c.Rolling, "aligning": c.Aligning,
}  # fmt: skip
_SECTIONS: dict[int, dict[str, type]] = {
    52: {
        **_MF6, "operating": r.Operating52, "vertical": r.Vertical52,
        "structural": r.NoStructural, "contact_patch": r.NoContactPatch,
        "scaling": r.Scaling52, "longitudinal": r.Longitudinal52,
        "overturning": r.Overturning52, "lateral": r.Lateral52,
        "rolling": r.Rolling52, "aligning": r.Aligning52,
    },
    61: _MF6,
    62: {**_MF6, "vertical": r.Vertical62},
}  # fmt: skip
_CHOICES: dict[str, tuple[type, ...]] = {
    "turn_slip": (c.NoTurnSlip, c.TurnSlip),
    "limits": (r.NoLimits, r.UsualLimits),
    "angles": (r.PlainAngles, r.BookAngles),
    "combination": (r.Combined, r.Uncombined, r.FrictionEllipse),
}
"""Allowed classes of the records that select equations; the first is the default."""
_PREFIX = "MagicFormula"


def magic_formula_type(
    version: int,
    limits: type = r.NoLimits,
    angles: type = r.PlainAngles,
    combination: type = r.Combined,
    turn_slip: type = c.NoTurnSlip,
) -> Any:
    """Record class of Magic Formula tyres of a version (52, 61 or 62) with these choices.

    Calls with the same arguments return the same class. Each choice is the class of a record:
    `limits` is `NoLimits` or `UsualLimits`, `angles` `PlainAngles` or `BookAngles`, `combination`
    `Combined`, `Uncombined` or `FrictionEllipse`, `turn_slip` `NoTurnSlip` or, for 61 and 62,
    `TurnSlip`.
    """
    if version not in _SECTIONS:
        raise InvalidValue(f"version = {version!r} must be one of 52, 61, 62")
    chosen = {
        "turn_slip": turn_slip,
        "limits": limits,
        "angles": angles,
        "combination": combination,
    }
    for name, kind in chosen.items():
        if kind not in _CHOICES[name]:
            allowed = ", ".join(k.__name__ for k in _CHOICES[name])
            raise InvalidValue(f"{name} = {kind!r} must be one of {allowed}")
    if version == 52 and turn_slip is c.TurnSlip:
        raise InvalidValue("turn_slip = TurnSlip must be NoTurnSlip for version 52")
    return _class(version, tuple(chosen.values()))


@cache
def _class(version: int, chosen: tuple[type, ...]) -> Any:
    sections = {**_SECTIONS[version], **dict(zip(_CHOICES, chosen, strict=True))}
    order = list(sections)
    # Sections before the last one that has a leaf without a default take none either.
    optional = order[order.index("vertical") + 1 :]
    defaults = [sections[name]() for name in optional]
    fields: Any = namedtuple("_Sections", order, defaults=defaults)  # pyright: ignore[reportUntypedNamedTuple]
    name = _name(version, chosen)
    body = {
        "__slots__": (), "__module__": __name__, "__qualname__": name, "__field_docs__": {},
        "__doc__": f"A tyre by the Magic Formula {version // 10}.{version % 10}.",
    }  # fmt: skip
    kind: Any = type(name, (MagicFormulaTyre, fields), body)
    kind.__annotations__ = sections
    record.document(kind)
    return kind


def _name(version: int, chosen: tuple[type, ...]) -> str:
    parts = zip(_CHOICES.values(), chosen, strict=True)
    return f"{_PREFIX}{version}" + "".join(k.__name__ for all_, k in parts if k is not all_[0])


def __getattr__(name: str) -> Any:
    """Tyre class by its name, so that records and classes can be pickled."""
    if name.startswith(_PREFIX):
        for version in _SECTIONS:
            for chosen in _combinations():
                if _name(version, chosen) == name:
                    return _class(version, chosen)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@cache
def _combinations() -> tuple[tuple[type, ...], ...]:
    return tuple(product(*_CHOICES.values()))


MagicFormula52: Any = magic_formula_type(52)
"""Tyre record of the Magic Formula 5.2, also called PAC2002."""
MagicFormula61: Any = magic_formula_type(61)
"""Tyre record of the Magic Formula 6.1."""
MagicFormula62: Any = magic_formula_type(62)
"""Tyre record of the Magic Formula 6.2."""
