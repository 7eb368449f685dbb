"""Forces and moments of the Magic Formula, in the order of their computation.

Stiffness and friction over load, camber and pressure; overturning and rolling resistance moments,
eqs. 4.E69 and 4.E70, the former as in Besselink's paper of 2010; spin, eqs. 4.E75 to 4.E107;
longitudinal force of pure slip, eqs. 4.E9 to 4.E18; lateral force of pure slip, eqs. 4.E19 to
4.E30; combined slip, eqs. 4.E50 to 4.E67; aligning moment with pneumatic trail, residual torque and
the arm of F_x, eqs. 4.E31 to 4.E49.

Spin is turn slip and that part of the wheel's rotation which camber turns about the vertical. With
it the force by camber is a force by spin, and takes the place of the camber terms.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...ops import abs as absolute
from ...ops import atan, cos, exp, maximum, minimum, sign, sin, sqrt, tan
from ...units import N, N_rad, Nm, m, m_s, one, per_m, rad, rad_s
from .coefficients import TurnSlip
from .curves import cos_atan, cos_curve, non_zero, power, reciprocal, sign1, sin_curve, without_zero
from .records import (
    Aligning52,
    Combined,
    FrictionEllipse,
    Inputs,
    Lateral52,
    Rolling52,
    Sections,
    Slip,
    Tyre,
    Uncombined,
)


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


class PureLongitudinal(NamedTuple):
    """The longitudinal force of pure slip and what it is made of."""

    F: N
    K: N
    """Slope over slip where the curve crosses its shifted origin."""
    D: N
    mu: one
    S_H: one
    """Shift of slip."""
    S_V: N


def pure_longitudinal(tyre: Tyre, k: Sections, i: Inputs, spin: Spin) -> PureLongitudinal:
    """Longitudinal force of pure slip. The shifts turn over with the direction of travel."""
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
    """The lateral force of pure slip and what it is made of."""

    F: N
    K: N_rad
    """Slope over slip angle where the curve crosses its shifted origin; negative as a rule."""
    K_safe: N_rad
    """`K` that may be divided by."""
    B: one
    C: one
    D: N
    mu: one
    S_H: rad
    """Shift of slip angle, before the direction of travel."""
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
    S_H = (shift + _camber_shift(tyre, k, i, g, S_V_camber, K_safe, spin)) * s.awake
    mu = lateral_friction(k, i, g)
    D = mu * F_z * spin.zeta2
    C = y.PCY1 * scale.LCY
    B = K / without_zero(C * D, tyre.limits.small_force)
    a = i.a + i.side * S_H
    bend = 1.0 + y.PEY5 * (g * g) - (y.PEY3 + y.PEY4 * g) * (i.side * sign1(a))
    E = tyre.limits.curvature((y.PEY1 + y.PEY2 * dfz) * bend * scale.LEY)
    F = sin_curve(a, B, C, D, E) + i.side * S_V
    return PureLateral(F, K, K_safe, B, C, D, mu, S_H, S_V)


def _camber_shift(
    tyre: Tyre, k: Sections, i: Inputs, g: one, S_V_camber: N, K_safe: N_rad, spin: Any
) -> rad:
    """Shift of slip angle by camber and spin; in MF 5.2 a coefficient."""
    if isinstance(tyre.lateral, Lateral52):
        return tyre.lateral.PHY3 * g * tyre.scaling.LKYC
    return (spin.zeta0 * camber_stiffness(k, i) * g - S_V_camber) / K_safe + spin.S_H


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
    """Arm of the longitudinal force about the middle; 0 if slips do not combine."""
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
