"""Sections of a tyre as MF 5.2, also called PAC2002, has them where they differ from MF 6."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from ....units import N, N_m, N_s_m, Pa, kg, m, non_negative, one, positive

__all__ = [
    "Aligning52",
    "Lateral52",
    "Longitudinal52",
    "NoContactPatch",
    "NoStructural",
    "Operating52",
    "Overturning52",
    "Rolling52",
    "Scaling52",
    "Vertical52",
]


class Operating52(NamedTuple):
    """Inflation pressure, of which MF 5.2 makes no use."""

    INFLPRES: Pa = 0.0
    """Inflation pressure; the equations of 5.2 do not depend on it."""
    NOMPRES: Pa = 0.0
    """Nominal pressure; the equations of 5.2 do not depend on it."""


class Vertical52(NamedTuple):
    """Load, deflection and rolling radius."""

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
    Q_A1: one = 0.0
    """Half length of the contact patch, part with the root of the load."""
    Q_A2: one = 0.0
    """Half length of the contact patch, part in proportion to the load."""
    BOTTOM_OFFST: m = 0.0
    """Height over the rim at which the tyre bottoms."""
    BOTTOM_STIFF: N_m = 0.0
    """Stiffness of the bottomed tyre; not used by these equations."""


class NoStructural(NamedTuple):
    """MF 5.2 has relaxation lengths among its coefficients instead."""


class NoContactPatch(NamedTuple):
    """MF 5.2 has its contact patch among the vertical coefficients instead."""


class Scaling52(NamedTuple):
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
    LGAX: one = 1.0
    """Factor of the camber in F_x."""
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
    LHY: one = 1.0
    """Factor of the horizontal shift of F_y."""
    LVY: one = 1.0
    """Factor of the vertical shift of F_y."""
    LGAY: one = 1.0
    """Factor of the camber in F_y."""
    LTR: one = 1.0
    """Factor of the pneumatic trail."""
    LRES: one = 1.0
    """Factor of the residual torque."""
    LGAZ: one = 1.0
    """Factor of the camber in M_z."""
    LXAL: one = 1.0
    """Factor of the influence of slip angle on F_x."""
    LYKA: one = 1.0
    """Factor of the influence of longitudinal slip on F_y."""
    LVYKA: one = 1.0
    """Factor of the F_y by longitudinal slip."""
    LS: one = 1.0
    """Factor of the moment arm of F_x."""
    LSGKP: one = 1.0
    """Factor of the relaxation length of F_x."""
    LSGAL: one = 1.0
    """Factor of the relaxation length of F_y."""
    LGYR: one = 1.0
    """Factor of the gyroscopic moment; not used by these equations."""
    LMX: one = 1.0
    """Factor of the overturning moment."""
    LVMX: one = 1.0
    """Factor of the vertical shift of the overturning moment."""
    LMY: one = 1.0
    """Factor of the rolling resistance moment."""
    LCZ: one = 1.0
    """Factor of the vertical stiffness; not used by these equations."""


class Longitudinal52(NamedTuple):
    """F_x: pure (P) and with slip angle (R)."""

    PCX1: one = 0.0
    """Shape factor C of F_x."""
    PDX1: one = 0.0
    """Friction of F_x at nominal load."""
    PDX2: one = 0.0
    """Change of friction with load."""
    PDX3: one = 0.0
    """Change of friction with the square of camber."""
    PEX1: one = 0.0
    """Curvature E of F_x at nominal load."""
    PEX2: one = 0.0
    """Change of curvature with load."""
    PEX3: one = 0.0
    """Change of curvature with the square of the load."""
    PEX4: one = 0.0
    """Difference of curvature between driving and braking."""
    PKX1: one = 0.0
    """Slip stiffness over load at nominal load."""
    PKX2: one = 0.0
    """Change of slip stiffness with load."""
    PKX3: one = 0.0
    """Exponent of slip stiffness over load."""
    PHX1: one = 0.0
    """Horizontal shift at nominal load."""
    PHX2: one = 0.0
    """Change of the horizontal shift with load."""
    PVX1: one = 0.0
    """Vertical shift over load at nominal load."""
    PVX2: one = 0.0
    """Change of the vertical shift with load."""
    RBX1: one = 0.0
    """Slope of the decay of F_x with slip angle."""
    RBX2: one = 0.0
    """Change of that slope with longitudinal slip."""
    RCX1: one = 0.0
    """Shape of the decay of F_x with slip angle."""
    REX1: one = 0.0
    """Curvature of the decay at nominal load."""
    REX2: one = 0.0
    """Change of that curvature with load."""
    RHX1: one = 0.0
    """Shift of the decay."""
    PTX1: one = 0.0
    """Relaxation length of F_x over radius and load at nominal load."""
    PTX2: one = 0.0
    """Change of the relaxation length with load."""
    PTX3: one = 0.0
    """Exponent of the relaxation length over load."""


class Overturning52(NamedTuple):
    """M_x."""

    QSX1: one = 0.0
    """Vertical shift of the overturning moment."""
    QSX2: one = 0.0
    """Change with camber."""
    QSX3: one = 0.0
    """Change with lateral force."""


class Lateral52(NamedTuple):
    """F_y: pure (P) and with longitudinal slip (R)."""

    PCY1: one = 0.0
    """Shape factor C of F_y."""
    PDY1: one = 0.0
    """Friction of F_y at nominal load."""
    PDY2: one = 0.0
    """Change of friction with load."""
    PDY3: one = 0.0
    """Change of friction with the square of camber."""
    PEY1: one = 0.0
    """Curvature E of F_y at nominal load."""
    PEY2: one = 0.0
    """Change of curvature with load."""
    PEY3: one = 0.0
    """Difference of curvature between the sides."""
    PEY4: one = 0.0
    """Change of that difference with camber."""
    PKY1: one = 0.0
    """Greatest cornering stiffness over nominal load."""
    PKY2: one = 1.0
    """Load of the greatest cornering stiffness over nominal load."""
    PKY3: one = 0.0
    """Change of cornering stiffness with camber."""
    PHY1: one = 0.0
    """Horizontal shift at nominal load."""
    PHY2: one = 0.0
    """Change of the horizontal shift with load."""
    PHY3: one = 0.0
    """Change of the horizontal shift with camber."""
    PVY1: one = 0.0
    """Vertical shift over load at nominal load."""
    PVY2: one = 0.0
    """Change of the vertical shift with load."""
    PVY3: one = 0.0
    """Change of the vertical shift with camber."""
    PVY4: one = 0.0
    """Change of the vertical shift with camber and load."""
    RBY1: one = 0.0
    """Slope of the decay of F_y with longitudinal slip."""
    RBY2: one = 0.0
    """Change of that slope with slip angle."""
    RBY3: one = 0.0
    """Shift of slip angle in that change."""
    RCY1: one = 0.0
    """Shape of the decay of F_y with longitudinal slip."""
    REY1: one = 0.0
    """Curvature of the decay at nominal load."""
    REY2: one = 0.0
    """Change of that curvature with load."""
    RHY1: one = 0.0
    """Shift of the decay at nominal load."""
    RHY2: one = 0.0
    """Change of that shift with load."""
    RVY1: one = 0.0
    """Force by longitudinal slip over peak force at nominal load."""
    RVY2: one = 0.0
    """Change of that force with load."""
    RVY3: one = 0.0
    """Change of that force with camber."""
    RVY4: one = 0.0
    """Change of that force with slip angle."""
    RVY5: one = 0.0
    """Shape of that force over longitudinal slip."""
    RVY6: one = 0.0
    """Slope of that force over longitudinal slip."""
    PTY1: one = 0.0
    """Greatest relaxation length of F_y over radius."""
    PTY2: one = 1.0
    """Load of the greatest relaxation length over nominal load."""


class Rolling52(NamedTuple):
    """M_y."""

    QSY1: one = 0.0
    """Rolling resistance over load."""
    QSY2: one = 0.0
    """Change with longitudinal force."""
    QSY3: one = 0.0
    """Change with speed."""
    QSY4: one = 0.0
    """Change with the fourth power of speed."""


class Aligning52(NamedTuple):
    """M_z: trail, residual torque and arm of F_x."""

    QBZ1: one = 0.0
    """Slope B of the trail at nominal load."""
    QBZ2: one = 0.0
    """Change of the slope with load."""
    QBZ3: one = 0.0
    """Change of the slope with the square of the load."""
    QBZ4: one = 0.0
    """Change of the slope with camber."""
    QBZ5: one = 0.0
    """Change of the slope with the absolute value of camber."""
    QBZ9: one = 0.0
    """Slope of the residual torque."""
    QBZ10: one = 0.0
    """Slope of the residual torque in proportion to that of F_y."""
    QCZ1: one = 0.0
    """Shape C of the trail."""
    QDZ1: one = 0.0
    """Peak of the trail over radius at nominal load."""
    QDZ2: one = 0.0
    """Change of the peak with load."""
    QDZ3: one = 0.0
    """Change of the peak with camber."""
    QDZ4: one = 0.0
    """Change of the peak with the square of camber."""
    QDZ6: one = 0.0
    """Peak of the residual torque over load and radius at nominal load."""
    QDZ7: one = 0.0
    """Change of that peak with load."""
    QDZ8: one = 0.0
    """Change of that peak with camber."""
    QDZ9: one = 0.0
    """Change of that peak with camber and load."""
    QEZ1: one = 0.0
    """Curvature E of the trail at nominal load."""
    QEZ2: one = 0.0
    """Change of the curvature with load."""
    QEZ3: one = 0.0
    """Change of the curvature with the square of the load."""
    QEZ4: one = 0.0
    """Difference of curvature between the sides."""
    QEZ5: one = 0.0
    """Change of that difference with camber."""
    QHZ1: one = 0.0
    """Shift of the trail at nominal load."""
    QHZ2: one = 0.0
    """Change of the shift with load."""
    QHZ3: one = 0.0
    """Change of the shift with camber."""
    QHZ4: one = 0.0
    """Change of the shift with camber and load."""
    SSZ1: one = 0.0
    """Arm of F_x over radius."""
    SSZ2: one = 0.0
    """Change of the arm with lateral force."""
    SSZ3: one = 0.0
    """Change of the arm with camber."""
    SSZ4: one = 0.0
    """Change of the arm with camber and load."""
    QTZ1: one = 0.0
    """Gyroscopic moment; not used by these equations."""
    MBELT: kg = 0.0
    """Mass of the belt; not used by these equations."""
