"""Sections of a Magic Formula tyre that say what it is: size, load, stiffness, ranges and scale.

Leaves have the names of the keys in tyre property files. A leaf that a file may leave out has the
value that switches its term off: 0, for factors 1; where 0 would divide, that of a usual car tyre.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

from ....units import N, N_m, N_rad, N_s_m, Nm, Pa, m, m_s, non_negative, one, per_m, positive, rad
from .selected_fields import selected

__all__ = [
    "ContactPatch",
    "Dimension",
    "Model",
    "Operating",
    "Ranges",
    "Scaling",
    "Structural",
    "Vertical61",
    "Vertical62",
]


class Model(NamedTuple):
    """Speeds and side of the measurement."""

    LONGVL: Annotated[m_s, positive]
    """Speed at which the tyre was measured, V_0."""
    VXLOW: Annotated[m_s, non_negative] = 1.0
    """Speed below which slip is reduced and directions turn over."""
    side: one = 1.0
    """Side of the car on which the tyre was measured (`TYRESIDE`): 1 left, -1 right."""


class Dimension(NamedTuple):
    """Size of tyre and rim."""

    UNLOADED_RADIUS: Annotated[m, positive]
    """Radius of the free tyre, R_0."""
    WIDTH: m = 0.0
    """Nominal section width."""
    ASPECT_RATIO: one = 0.0
    """Height of the section over its width."""
    RIM_RADIUS: m = 0.0
    """Nominal radius of the rim."""
    RIM_WIDTH: m = 0.0
    """Width of the rim."""


class Operating(NamedTuple):
    """Inflation pressure."""

    INFLPRES: Pa = 220000.0
    """Inflation pressure of the tyre where nobody says otherwise."""
    NOMPRES: Annotated[Pa, positive] = 220000.0
    """Pressure at which the tyre was measured, p_0."""


class Vertical61(NamedTuple):
    """Load, deflection and rolling radius, MF 6.1."""

    FNOMIN: Annotated[N, positive]
    """Nominal load, F_z0."""
    VERTICAL_STIFFNESS: Annotated[N_m, positive]
    """Stiffness at nominal load and pressure, C_z0."""
    VERTICAL_DAMPING: N_s_m = 0.0
    """Damping of the deflection."""
    BREFF: one = 0.0
    """Stiffness factor of the rolling radius over load at small load."""
    DREFF: one = 0.0
    """Peak of the rolling radius over load."""
    FREFF: one = 0.0
    """Slope of the rolling radius over load at high load."""
    Q_RE0: one = 1.0
    """Free radius at rest over `UNLOADED_RADIUS`."""
    Q_V1: one = 0.0
    """Growth of the free radius with the square of the spin."""
    Q_V2: one = 0.0
    """Stiffening with spin."""
    Q_FZ2: one = 0.0
    """Quadratic part of load over deflection."""
    Q_FCX: one = 0.0
    """Softening by longitudinal force."""
    Q_FCY: one = 0.0
    """Softening by lateral force."""
    Q_CAM: one = 0.0
    """Softening by camber as some programs have it; not used by these equations."""
    PFZ1: one = 0.0
    """Stiffening with pressure."""
    BOTTOM_OFFST: m = 0.0
    """Height over the rim at which the tyre bottoms."""
    BOTTOM_STIFF: N_m = 0.0
    """Stiffness of the bottomed tyre; not used by these equations."""
    MC_CONTOUR_A: one = 0.0
    """Half axis of an elliptic cross-section; not used by these equations."""
    MC_CONTOUR_B: one = 0.0
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

    Q_FCY2: one = 0.0
    """Power of the deflection in the softening by lateral force."""
    Q_CAM1: one = 0.0
    """Deflection by camber, part in proportion to the radius."""
    Q_CAM2: per_m = 0.0
    """Deflection by camber, part with the square of the radius."""
    Q_CAM3: one = 0.0
    """Deflection by camber, part in proportion to the deflection."""
    Q_FYS1: N_rad = 0.0
    """Lateral force by camber that softens nothing."""
    Q_FYS2: N_rad = 0.0
    """Change of `Q_FYS1` with the radius."""
    Q_FYS3: N_rad = 0.0
    """Change of `Q_FYS1` with the square of the radius."""


class Structural(NamedTuple):
    """Stiffness of the tyre at rest, by which its relaxation lengths are found."""

    LONGITUDINAL_STIFFNESS: Annotated[N_m, positive] = 300000.0
    """Of the tyre at rest, along."""
    LATERAL_STIFFNESS: Annotated[N_m, positive] = 100000.0
    """Of the tyre at rest, across."""
    YAW_STIFFNESS: Nm = 5000.0
    """Of the tyre at rest about z, per radian; not used by these equations."""
    PCFX1: one = 0.0
    """Change of the longitudinal stiffness with load."""
    PCFX2: one = 0.0
    """Change of the longitudinal stiffness with the square of the load."""
    PCFX3: one = 0.0
    """Change of the longitudinal stiffness with pressure."""
    PCFY1: one = 0.0
    """Change of the lateral stiffness with load."""
    PCFY2: one = 0.0
    """Change of the lateral stiffness with the square of the load."""
    PCFY3: one = 0.0
    """Change of the lateral stiffness with pressure."""
    PCMZ1: one = 0.0
    """Change of the yaw stiffness with pressure; not used by these equations."""


class ContactPatch(NamedTuple):
    """Size of the contact patch."""

    Q_RA1: one = 0.0
    """Half length of the contact patch, part with the root of the deflection."""
    Q_RA2: one = 0.0
    """Half length of the contact patch, part in proportion to the deflection."""
    Q_RB1: one = 0.0
    """Half width of the contact patch, part with the cube root of the deflection."""
    Q_RB2: one = 0.0
    """Half width of the contact patch, part in proportion to the deflection."""


class Ranges(NamedTuple):
    """Where the coefficients hold; `UsualLimits` keeps to it."""

    PRESMIN: Pa = 10000.0
    """Lowest pressure for which the coefficients hold."""
    PRESMAX: Pa = 1000000.0
    """Highest pressure for which the coefficients hold."""
    FZMIN: Annotated[N, non_negative] = 100.0
    """Lowest load for which they hold; below it moments fade."""
    FZMAX: N = 10000.0
    """Highest load for which the coefficients hold."""
    KPUMIN: one = -1.5
    """Lowest longitudinal slip for which the coefficients hold."""
    KPUMAX: one = 1.5
    """Highest longitudinal slip for which the coefficients hold."""
    ALPMIN: rad = -1.5
    """Lowest slip angle for which the coefficients hold."""
    ALPMAX: rad = 1.5
    """Highest slip angle for which the coefficients hold."""
    CAMMIN: rad = -0.175
    """Lowest camber for which the coefficients hold."""
    CAMMAX: rad = 0.175
    """Highest camber for which the coefficients hold."""


class Scaling(NamedTuple):
    """Factors that change a tyre without a new fit."""

    LFZO: Annotated[one, positive] = 1.0
    """Factor of the nominal load."""
    LCX: one = 1.0
    """Factor of the shape of F_x."""
    LMUX: one = 1.0
    """Factor of the peak friction of F_x."""
    LEX: one = 1.0
    """Factor of the curvature of F_x."""
    LKX: one = 1.0
    """Factor of the slip stiffness."""
    LHX: one = 1.0
    """Factor of the horizontal shift of F_x."""
    LVX: one = 1.0
    """Factor of the vertical shift of F_x."""
    LCY: one = 1.0
    """Factor of the shape of F_y."""
    LMUY: Annotated[one, non_negative] = 1.0
    """Factor of the peak friction of F_y."""
    LEY: one = 1.0
    """Factor of the curvature of F_y."""
    LKY: one = 1.0
    """Factor of the cornering stiffness."""
    LKYC: one = 1.0
    """Factor of the camber stiffness."""
    LKZC: one = 1.0
    """Factor of the camber torque stiffness."""
    LHY: one = 1.0
    """Factor of the horizontal shift of F_y."""
    LVY: one = 1.0
    """Factor of the vertical shift of F_y."""
    LTR: one = 1.0
    """Factor of the pneumatic trail."""
    LRES: one = 1.0
    """Factor of the residual torque."""
    LXAL: one = 1.0
    """Factor of the influence of slip angle on F_x."""
    LYKA: one = 1.0
    """Factor of the influence of longitudinal slip on F_y."""
    LVYKA: one = 1.0
    """Factor of the F_y by longitudinal slip."""
    LS: one = 1.0
    """Factor of the moment arm of F_x."""
    LMX: one = 1.0
    """Factor of the overturning moment."""
    LVMX: one = 1.0
    """Factor of the vertical shift of the overturning moment."""
    LMY: one = 1.0
    """Factor of the rolling resistance moment."""
    LMP: one = 1.0
    """Factor of the parking torque."""
