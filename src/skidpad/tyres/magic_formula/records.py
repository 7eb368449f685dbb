"""Sections of a Magic Formula tyre, and the inputs of its equations.

Leaves have the names of the keys in tyre property files. The default of an optional key switches
its term off: 0, or 1 for factors; where 0 would be a divisor, the value of a typical car tyre.
Sections of MF 5.2, also called PAC2002, are derived from those of MF 6, so that each field is
defined once; `sections` converts those of any version to MF 6.1, so that each equation exists once.

Records without numbers from a property file select equations by their type: limits, angles,
combined slip. Their methods are the equations, so no Python branch depends on a value. `inputs`
computes changes of load and pressure, angles and limited slips from a contact.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, NamedTuple, TypeVar, get_type_hints

from ... import units as si
from ...core import record
from ...ops import abs as absolute
from ...ops import clip, cos, maximum, minimum, sin, tan, where
from ..contract import Contact
from . import coefficients as c
from .coefficients import Aligning, Lateral, Longitudinal, Overturning, Rolling, sign1

Section = TypeVar("Section", bound=tuple[Any, ...])


def selected(other: Any, keys: str) -> Callable[[type[Section]], type[Section]]:
    """Class decorator that makes a section with these keys, in this order.

    Keys that the class does not define itself are taken from the section of another version.
    """

    def section(kind: Any) -> Any:
        hints = get_type_hints(other, include_extras=True)
        hints |= get_type_hints(kind, include_extras=True)
        defaults = {**other._field_defaults, **kind._field_defaults}
        order = keys.split()
        made = record.define(
            kind.__name__,
            {key: hints[key] for key in order},
            {key: defaults[key] for key in order if key in defaults},
            lambda: record.field_docs(other) | record.field_docs(kind),
            kind.__doc__ or "",
        )
        made.__module__, made.__qualname__ = kind.__module__, kind.__qualname__
        return made

    return section


class Model(NamedTuple):
    """Section [MODEL]: speeds and side of the measurement."""

    LONGVL: Annotated[si.m_s, si.positive]
    """Speed at which the tyre was measured, V_0."""
    VXLOW: Annotated[si.m_s, si.non_negative] = 1.0
    """Speed below which slip is reduced and signs change with the direction of travel."""
    side: si.one = 1.0
    """Side of the car on which the tyre was measured (`TYRESIDE`): 1 left, -1 right."""


class Dimension(NamedTuple):
    """Section [DIMENSION]: size of tyre and rim."""

    UNLOADED_RADIUS: Annotated[si.m, si.positive]
    """Free radius of the tyre at rest, R_0."""
    WIDTH: si.m = 0.0
    """Nominal section width."""
    ASPECT_RATIO: si.one = 0.0
    """Section height over section width."""
    RIM_RADIUS: si.m = 0.0
    """Nominal radius of the rim."""
    RIM_WIDTH: si.m = 0.0
    """Width of the rim."""


class Operating(NamedTuple):
    """Inflation pressures."""

    INFLPRES: Annotated[si.Pa, si.non_negative] = 220000.0
    """Default inflation pressure of the tyre."""
    NOMPRES: Annotated[si.Pa, si.positive] = 220000.0
    """Pressure at which the tyre was measured, p_0."""


class Vertical61(NamedTuple):
    """Load, deflection and rolling radius, MF 6.1."""

    FNOMIN: Annotated[si.N, si.positive]
    """Nominal load, F_z0."""
    VERTICAL_STIFFNESS: Annotated[si.N_m, si.positive]
    """Stiffness at nominal load and pressure, C_z0."""
    VERTICAL_DAMPING: si.N_s_m = 0.0
    """Damping of the deflection."""
    BREFF: si.one = 0.0
    """Stiffness factor of the rolling radius over load at small load."""
    DREFF: si.one = 0.0
    """Peak of the rolling radius over load."""
    FREFF: si.one = 0.0
    """Slope of the rolling radius over load at high load."""
    Q_RE0: si.one = 1.0
    """Free radius at rest over `UNLOADED_RADIUS`."""
    Q_V1: si.one = 0.0
    """Growth of the free radius with the square of the spin."""
    Q_V2: si.one = 0.0
    """Stiffening with spin."""
    Q_FZ2: si.one = 0.0
    """Quadratic part of load over deflection."""
    Q_FCX: si.one = 0.0
    """Softening by longitudinal force."""
    Q_FCY: si.one = 0.0
    """Softening by lateral force."""
    Q_CAM: si.one = 0.0
    """Softening by camber as in some other programs; not used by these equations."""
    PFZ1: si.one = 0.0
    """Stiffening with pressure."""
    BOTTOM_OFFST: si.m = 0.0
    """Height above the rim at which the tyre bottoms out."""
    BOTTOM_STIFF: si.N_m = 0.0
    """Stiffness of the bottomed-out tyre; not used by these equations."""
    MC_CONTOUR_A: si.one = 0.0
    """Half axis of an elliptic cross-section; not used by these equations."""
    MC_CONTOUR_B: si.one = 0.0
    """Half axis of an elliptic cross-section; not used by these equations."""


@selected(
    Vertical61,
    """
    FNOMIN VERTICAL_STIFFNESS VERTICAL_DAMPING BREFF DREFF FREFF Q_RE0 Q_V1 Q_V2 Q_FZ2 Q_FCX
    Q_FCY Q_CAM PFZ1 Q_FCY2 Q_CAM1 Q_CAM2 Q_CAM3 Q_FYS1 Q_FYS2 Q_FYS3 BOTTOM_OFFST BOTTOM_STIFF
    MC_CONTOUR_A MC_CONTOUR_B
""",
)
class Vertical62(NamedTuple):
    """Load, deflection and rolling radius, MF 6.2."""

    Q_FCY2: si.one = 0.0
    """Exponent of the deflection in the softening by lateral force."""
    Q_CAM1: si.one = 0.0
    """Deflection due to camber, part proportional to the radius."""
    Q_CAM2: si.per_m = 0.0
    """Deflection due to camber, part proportional to the square of the radius."""
    Q_CAM3: si.one = 0.0
    """Deflection due to camber, part proportional to the deflection."""
    Q_FYS1: si.N_rad = 0.0
    """Lateral force due to camber that does not soften the tyre."""
    Q_FYS2: si.N_rad = 0.0
    """Change of `Q_FYS1` with the radius."""
    Q_FYS3: si.N_rad = 0.0
    """Change of `Q_FYS1` with the square of the radius."""


class Structural(NamedTuple):
    """Stiffness of the tyre at rest, which determines its relaxation lengths."""

    LONGITUDINAL_STIFFNESS: Annotated[si.N_m, si.positive] = 300000.0
    """Longitudinal stiffness of the tyre at rest."""
    LATERAL_STIFFNESS: Annotated[si.N_m, si.positive] = 100000.0
    """Lateral stiffness of the tyre at rest."""
    YAW_STIFFNESS: si.Nm = 5000.0
    """Yaw stiffness of the tyre at rest, per radian; not used by these equations."""
    PCFX1: si.one = 0.0
    """Change of the longitudinal stiffness with load."""
    PCFX2: si.one = 0.0
    """Change of the longitudinal stiffness with the square of the load."""
    PCFX3: si.one = 0.0
    """Change of the longitudinal stiffness with pressure."""
    PCFY1: si.one = 0.0
    """Change of the lateral stiffness with load."""
    PCFY2: si.one = 0.0
    """Change of the lateral stiffness with the square of the load."""
    PCFY3: si.one = 0.0
    """Change of the lateral stiffness with pressure."""
    PCMZ1: si.one = 0.0
    """Change of the yaw stiffness with pressure; not used by these equations."""


class ContactPatch(NamedTuple):
    """Coefficients of the size of the contact patch."""

    Q_RA1: si.one = 0.0
    """Half length of the contact patch, part proportional to the square root of the deflection."""
    Q_RA2: si.one = 0.0
    """Half length of the contact patch, part proportional to the deflection."""
    Q_RB1: si.one = 0.0
    """Half width of the contact patch, part proportional to the cube root of the deflection."""
    Q_RB2: si.one = 0.0
    """Half width of the contact patch, part proportional to the deflection."""


class Ranges(NamedTuple):
    """Ranges in which the coefficients are valid; `UsualLimits` clips the inputs to them."""

    PRESMIN: si.Pa = 10000.0
    """Lowest pressure for which the coefficients are valid."""
    PRESMAX: si.Pa = 1000000.0
    """Highest pressure for which the coefficients are valid."""
    FZMIN: Annotated[si.N, si.non_negative] = 100.0
    """Lowest load for which the coefficients are valid; below it moments fade to 0."""
    FZMAX: si.N = 10000.0
    """Highest load for which the coefficients are valid."""
    KPUMIN: si.one = -1.5
    """Lowest longitudinal slip for which the coefficients are valid."""
    KPUMAX: si.one = 1.5
    """Highest longitudinal slip for which the coefficients are valid."""
    ALPMIN: si.rad = -1.5
    """Lowest slip angle for which the coefficients are valid."""
    ALPMAX: si.rad = 1.5
    """Highest slip angle for which the coefficients are valid."""
    CAMMIN: si.rad = -0.175
    """Lowest camber for which the coefficients are valid."""
    CAMMAX: si.rad = 0.175
    """Highest camber for which the coefficients are valid."""


class Scaling(NamedTuple):
    """Scaling factors, which modify a tyre without a new fit."""

    LFZO: Annotated[si.one, si.positive] = 1.0
    """Factor of the nominal load."""
    LCX: si.one = 1.0
    """Factor of the shape of F_x."""
    LMUX: si.one = 1.0
    """Factor of the peak friction of F_x."""
    LEX: si.one = 1.0
    """Factor of the curvature of F_x."""
    LKX: si.one = 1.0
    """Factor of the slip stiffness."""
    LHX: si.one = 1.0
    """Factor of the horizontal shift of F_x."""
    LVX: si.one = 1.0
    """Factor of the vertical shift of F_x."""
    LCY: si.one = 1.0
    """Factor of the shape of F_y."""
    LMUY: Annotated[si.one, si.non_negative] = 1.0
    """Factor of the peak friction of F_y."""
    LEY: si.one = 1.0
    """Factor of the curvature of F_y."""
    LKY: si.one = 1.0
    """Factor of the cornering stiffness."""
    LKYC: si.one = 1.0
    """Factor of the camber stiffness."""
    LKZC: si.one = 1.0
    """Factor of the camber torque stiffness."""
    LHY: si.one = 1.0
    """Factor of the horizontal shift of F_y."""
    LVY: si.one = 1.0
    """Factor of the vertical shift of F_y."""
    LTR: si.one = 1.0
    """Factor of the pneumatic trail."""
    LRES: si.one = 1.0
    """Factor of the residual torque."""
    LXAL: si.one = 1.0
    """Factor of the influence of slip angle on F_x."""
    LYKA: si.one = 1.0
    """Factor of the influence of longitudinal slip on F_y."""
    LVYKA: si.one = 1.0
    """Factor of the lateral force induced by longitudinal slip."""
    LS: si.one = 1.0
    """Factor of the lever arm of F_x."""
    LMX: si.one = 1.0
    """Factor of the overturning moment."""
    LVMX: si.one = 1.0
    """Factor of the vertical shift of the overturning moment."""
    LMY: si.one = 1.0
    """Factor of the rolling resistance moment."""
    LMP: si.one = 1.0
    """Factor of the parking torque (the torque when turning on the spot)."""


PI = 3.141592653589793


class Slip(NamedTuple):
    """Slips and load of a contact after the limits."""

    F_z: si.N
    F_least: si.N
    """Load in the aligning moment and for the deflection."""
    kappa: si.one
    alpha: si.rad
    gamma: si.rad
    phi_t: si.per_m
    direction: si.one
    """Direction of travel: 1 forwards, -1 backwards; the transition depends on the limits."""
    awake: si.one
    """Share of the shifts: 0 at a standstill, 1 at speed."""


class NoLimits(NamedTuple):
    """The equations without limits, smooth everywhere: the default."""

    small_force: Annotated[si.N, si.positive] = 1e-6
    """Small force or stiffness that keeps divisions finite, as in Pacejka's book."""
    small_speed: Annotated[si.m_s, si.positive] = 1e-6
    """Small speed that keeps divisions finite, as in Pacejka's book."""

    def limited(self, s: Slip, v_x: Any, model: Model, _ranges: Ranges) -> Slip:
        """Slips without limits.

        Signs that depend on the direction of travel pass through 0 by a quintic between -VXLOW and
        VXLOW; the shifts fade with its square, so that a wheel at rest has no side force.
        """
        t = clip(v_x * (1.0 / low_speed(self, model)), -1.0, 1.0)
        t2 = t * t
        direction = t * (1.875 + t2 * (0.375 * t2 - 1.25))
        return s._replace(direction=direction, awake=direction * direction)

    def pressure(self, p: si.Pa, _ranges: Ranges) -> si.Pa:
        """Inflation pressure, unchanged."""
        return p

    def curvature(self, E: si.one) -> si.one:
        """Curvature factor, unchanged."""
        return E

    def rolling(self, w: Any, _v_x: Any, model: Model) -> si.one:
        """Sign of the rolling resistance, from the circumferential speed of the wheel."""
        return clip(w * (1.0 / low_speed(self, model)), -1.0, 1.0)


class UsualLimits(NamedTuple):
    """Limits of the usual solvers: inputs clipped to their ranges, slip reduced at low speed.

    They cause jumps: of the residual torque at zero load, and at zero speed if there is slip.
    """

    small_force: Annotated[si.N, si.positive] = 1e-6
    """Small force or stiffness that keeps divisions finite, as in Pacejka's book."""
    small_speed: Annotated[si.m_s, si.positive] = 1e-6
    """Small speed that keeps divisions finite, as in Pacejka's book."""

    def limited(self, s: Slip, v_x: Any, model: Model, ranges: Ranges) -> Slip:
        """Inputs after the low-speed rules, clipped to their ranges."""
        speed, low = absolute(v_x), low_speed(self, model)
        slow = minimum(speed / low, 1.0)
        awake = where(speed <= low, 0.5 * (1.0 - cos(PI / low * v_x)), 1.0)
        d = sign1(v_x)
        cos_alpha = cos(s.alpha)
        w = speed * (1.0 + absolute(sin(s.alpha) / cos_alpha))
        alpha = s.alpha * minimum(w / low, 1.0)
        load = minimum(s.F_z, ranges.FZMAX)
        floor = where(load > 0.0, where(load < ranges.FZMIN, ranges.FZMIN, load), 0.0)
        return s._replace(
            F_z=load,
            F_least=floor,
            kappa=d * clip(d * s.kappa * slow, ranges.KPUMIN, ranges.KPUMAX),
            alpha=clip(alpha, ranges.ALPMIN, ranges.ALPMAX),
            gamma=clip(s.gamma, ranges.CAMMIN, ranges.CAMMAX),
            phi_t=s.phi_t * cos_alpha * slow,
            direction=d,
            awake=awake,
        )

    def pressure(self, p: si.Pa, ranges: Ranges) -> si.Pa:
        """Inflation pressure, clipped to its range."""
        return clip(p, ranges.PRESMIN, ranges.PRESMAX)

    def curvature(self, E: si.one) -> si.one:
        """Curvature factor, at most 1."""
        return minimum(E, 1.0)

    def rolling(self, w: Any, v_x: Any, model: Model) -> si.one:
        """Sign of the rolling resistance.

        If the wheel turns against its motion, the limit of the ramp mixes units, as in the programs
        that have this rule.
        """
        d, low = sign1(v_x), low_speed(self, model)
        forward = d * w
        metre_per_second = 1e6 * self.small_speed
        backwards = -low - (low - metre_per_second) * absolute(v_x) / metre_per_second
        ramp = minimum(forward * (1.0 / low), 1.0)
        return d * where(forward < backwards, -1.0, ramp)


def low_speed(limits: NoLimits | UsualLimits, model: Model) -> si.m_s:
    """Speed below which a wheel counts as slow; above 0 whatever the value in the file."""
    return maximum(model.VXLOW, 1e3 * limits.small_speed)


class PlainAngles(NamedTuple):
    """Use slip angle and camber as they are, as the usual solvers do: the default."""


class BookAngles(NamedTuple):
    """Use the tangent of the slip angle and the sine of camber, as in Pacejka's book."""


class Combined(NamedTuple):
    """Combined slip by the R coefficients: each slip reduces the force of the other."""


class Uncombined(NamedTuple):
    """No combined slip: each force and moment as if the other slip were 0."""


class FrictionEllipse(NamedTuple):
    """Combined slip by a friction ellipse, for files without R coefficients."""


class Operating52(NamedTuple):
    """Inflation pressure, which MF 5.2 does not use."""

    INFLPRES: Annotated[si.Pa, si.non_negative] = 0.0
    """Inflation pressure; the equations of 5.2 do not depend on it."""
    NOMPRES: si.Pa = 0.0
    """Nominal pressure; the equations of 5.2 do not depend on it."""


@selected(
    Vertical61,
    """
    FNOMIN VERTICAL_STIFFNESS VERTICAL_DAMPING BREFF DREFF FREFF Q_A1 Q_A2 BOTTOM_OFFST
    BOTTOM_STIFF
""",
)
class Vertical52(NamedTuple):
    """Load, deflection and rolling radius, MF 5.2."""

    Q_A1: si.one = 0.0
    """Half length of the contact patch, part with the square root of the load."""
    Q_A2: si.one = 0.0
    """Half length of the contact patch, part proportional to the load."""


class NoStructural(NamedTuple):
    """Empty section: MF 5.2 has coefficients of the relaxation lengths instead."""


class NoContactPatch(NamedTuple):
    """Empty section: MF 5.2 has its contact patch among the vertical coefficients."""


@selected(
    Scaling,
    """
    LFZO LCX LMUX LEX LKX LHX LVX LGAX LCY LMUY LEY LKY LKYC LHY LVY LGAY LTR LRES LGAZ LXAL
    LYKA LVYKA LS LSGKP LSGAL LGYR LMX LVMX LMY LCZ
""",
)
class Scaling52(NamedTuple):
    """Scaling factors of MF 5.2, which modify a tyre without a new fit."""

    LGAX: si.one = 1.0
    """Factor of the camber in F_x."""
    LGAY: si.one = 1.0
    """Factor of the camber in F_y."""
    LGAZ: si.one = 1.0
    """Factor of the camber in M_z."""
    LSGKP: si.one = 1.0
    """Factor of the relaxation length of F_x."""
    LSGAL: si.one = 1.0
    """Factor of the relaxation length of F_y."""
    LGYR: si.one = 1.0
    """Factor of the gyroscopic moment; not used by these equations."""
    LCZ: si.one = 1.0
    """Factor of the vertical stiffness; not used by these equations."""


@selected(
    Longitudinal,
    """
    PCX1 PDX1 PDX2 PDX3 PEX1 PEX2 PEX3 PEX4 PKX1 PKX2 PKX3 PHX1 PHX2 PVX1 PVX2 RBX1 RBX2 RCX1
    REX1 REX2 RHX1 PTX1 PTX2 PTX3
""",
)
class Longitudinal52(NamedTuple):
    """Coefficients of F_x in MF 5.2: pure slip (P), and its decay with slip angle (R)."""

    PTX1: si.one = 0.0
    """Relaxation length of F_x over radius and load at nominal load."""
    PTX2: si.one = 0.0
    """Change of the relaxation length with load."""
    PTX3: si.one = 0.0
    """Exponential change of the relaxation length with load."""


@selected(Overturning, "QSX1 QSX2 QSX3")
class Overturning52(NamedTuple):
    """Coefficients of the overturning moment M_x in MF 5.2."""


@selected(
    Lateral,
    """
    PCY1 PDY1 PDY2 PDY3 PEY1 PEY2 PEY3 PEY4 PKY1 PKY2 PKY3 PHY1 PHY2 PHY3 PVY1 PVY2 PVY3 PVY4
    RBY1 RBY2 RBY3 RCY1 REY1 REY2 RHY1 RHY2 RVY1 RVY2 RVY3 RVY4 RVY5 RVY6 PTY1 PTY2
""",
)
class Lateral52(NamedTuple):
    """Coefficients of F_y in MF 5.2: pure slip (P), and its decay with longitudinal slip (R)."""

    PHY3: si.one = 0.0
    """Change of the horizontal shift with camber."""
    PTY1: si.one = 0.0
    """Largest relaxation length of F_y over radius."""
    PTY2: si.one = 1.0
    """Load of the largest relaxation length over nominal load."""


@selected(Rolling, "QSY1 QSY2 QSY3 QSY4")
class Rolling52(NamedTuple):
    """Coefficients of the rolling resistance moment M_y in MF 5.2."""


@selected(
    Aligning,
    """
    QBZ1 QBZ2 QBZ3 QBZ4 QBZ5 QBZ9 QBZ10 QCZ1 QDZ1 QDZ2 QDZ3 QDZ4 QDZ6 QDZ7 QDZ8 QDZ9 QEZ1 QEZ2
    QEZ3 QEZ4 QEZ5 QHZ1 QHZ2 QHZ3 QHZ4 SSZ1 SSZ2 SSZ3 SSZ4 QTZ1 MBELT
""",
)
class Aligning52(NamedTuple):
    """Coefficients of the aligning moment M_z in MF 5.2: trail, residual torque, arm of F_x."""

    QTZ1: si.one = 0.0
    """Coefficient of the gyroscopic moment; not used by these equations."""
    MBELT: si.kg = 0.0
    """Mass of the belt; not used by these equations."""


Tyre = Any
"""Record of one of the classes of `magic_formula_type`."""

_OF_MF6: dict[type, type] = {
    Longitudinal52: c.Longitudinal, Lateral52: c.Lateral, Aligning52: c.Aligning,
    Overturning52: c.Overturning, Rolling52: c.Rolling, Scaling52: Scaling, Vertical52: Vertical61,
}  # fmt: skip


class Sections(NamedTuple):
    """Sections of a tyre with the keys of MF 6.1.

    Keys that MF 5.2 lacks have the default, which switches the term off: the equations are the
    same.
    """

    scaling: Scaling
    longitudinal: c.Longitudinal
    overturning: c.Overturning
    lateral: c.Lateral
    rolling: c.Rolling
    aligning: c.Aligning
    vertical: Vertical61


def sections(tyre: Tyre) -> Sections:
    """Sections of a tyre of any version, in the terms of MF 6.1."""
    return Sections(*(_widened(getattr(tyre, name)) for name in Sections._fields))


def vertical_of(tyre: Tyre) -> Vertical61:
    """Section `vertical` of a tyre of any version, with at least the keys of MF 6.1."""
    return _widened(tyre.vertical)


def _widened(section: Any) -> Any:
    kind = _OF_MF6.get(type(section))
    if kind is None:
        return section
    return kind(**{key: getattr(section, key) for key in _shared(type(section), kind)})


@cache
def _shared(narrow: Any, wide: Any) -> tuple[str, ...]:
    return tuple(key for key in narrow._fields if key in wide._fields)


class Inputs(NamedTuple):
    """Inputs of the equations, computed from a contact."""

    slip: Slip
    mu: si.one
    F_unlimited: Any
    """Load before limits, at least 0."""
    n: si.one
    """Load over the product of nominal load and LFZO."""
    dfz: si.one
    dpi: si.one
    a: si.one
    """Slip angle used in the force equations, alpha*."""
    side: si.one
    """Factor of the shifts of slip angle: 1, or the direction of travel with `BookAngles`."""
    g: si.one
    """Camber used in the force equations, gamma*; times LGAY in MF 5.2."""
    g_plain: si.one
    """Camber used in F_x; times LGAX in MF 5.2."""
    g_star: si.one
    """gamma* without a scaling factor."""
    g_z: si.one
    """gamma* used in M_z; times LGAZ in MF 5.2."""
    g_z_plain: si.one
    cos_alpha: si.one
    """cos'(alpha): cosine of the slip angle, negative backwards, 0 at a standstill."""
    by_speed: Any
    """1 over the speed of the contact patch, or 1 over VXLOW if VXLOW is larger."""


def inputs(tyre: Tyre, at: Contact) -> Inputs:
    """Inputs of the equations for a contact, after limits."""
    load = maximum(at.F_z, 0.0)
    raw = Slip(load, load, at.kappa, at.alpha, at.gamma, at.phi_t, 1.0, 1.0)
    s = tyre.limits.limited(raw, at.v_x, tyre.model, tyre.ranges)
    n = s.F_z * (1.0 / (tyre.scaling.LFZO * tyre.vertical.FNOMIN))
    a, g, side = _angles(tyre.angles, s)
    old = isinstance(scale := tyre.scaling, Scaling52)
    x, y, z = (scale.LGAX, scale.LGAY, scale.LGAZ) if old else (1.0, 1.0, 1.0)
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


def _angles(kind: Any, s: Slip) -> tuple[si.rad, si.rad, si.one]:
    if isinstance(kind, BookAngles):
        return tan(s.alpha), sin(s.gamma), s.direction
    return s.alpha, s.gamma, 1.0


def pressure_change(tyre: Tyre, p: si.Pa) -> si.one:
    """Relative deviation of the limited pressure from nominal pressure; 0 in MF 5.2.

    A pressure of 0 stands for the tyre's own pressure.
    """
    if isinstance(tyre.operating, Operating52):
        return 0.0
    own = where(p > 0.0, p, tyre.operating.INFLPRES)
    return tyre.limits.pressure(own, tyre.ranges) * (1.0 / tyre.operating.NOMPRES) - 1.0
