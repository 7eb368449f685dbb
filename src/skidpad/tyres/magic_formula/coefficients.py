"""Sine and cosine curves of the Magic Formula, and small functions shared by its parts.

Coefficients of the Magic Formula 6 as records: the parameters that a fit estimates.

Names, meanings and sections are those of tyre property files; units are SI and radians. In the
field descriptions, a change with load is per relative deviation from nominal load,
(F_z - F_z0) / F_z0, and a change with pressure is per relative deviation from nominal pressure.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...ops import atan, cos, equal, exp, log, maximum, sin, sqrt, where
from ...units import one


def sign1(x: Any) -> Any:
    """-1 for negative x, else 1."""
    return where(x < 0.0, -1.0, 1.0)


def without_zero(x: Any, small: Any) -> Any:
    """x moved away from 0 by the small number `small`, in the unit of x."""
    return x + where(x < 0.0, -small, small)


def non_zero(x: Any) -> Any:
    """x, or 1 if x is 0: for divisors that a file may lack."""
    return where(equal(x, 0.0), 1.0, x)


def cos_atan(x: Any) -> Any:
    return 1.0 / sqrt(1.0 + x * x)


def bent(b: Any, E: Any) -> Any:
    """Angle atan(b - E(b - atan b)) of the Magic Formula's curves."""
    return atan(b - E * (b - atan(b)))


def sin_curve(x: Any, B: Any, C: Any, D: Any, E: Any) -> Any:
    """D sin(C atan(Bx - E(Bx - atan Bx))), eq. 4.49."""
    return D * sin(C * bent(B * x, E))


def cos_curve(x: Any, B: Any, C: Any, E: Any) -> Any:
    """cos(C atan(Bx - E(Bx - atan Bx))), eq. 4.59 without its peak."""
    return cos(C * bent(B * x, E))


def decay(x: Any, shift: Any, B: Any, C: Any, E: Any) -> Any:
    """Cosine curve over its value at x = 0, the weight of combined slip: eqs. 4.E51 and 4.E59."""
    return cos_curve(x + shift, B, C, E) / cos_curve(shift, B, C, E)


def power(x: Any, n: Any) -> Any:
    """x to the power n for x ≥ 0 and a parameter n, with finite slopes at 0."""
    return exp(n * log(maximum(x, 1e-30)))


def reciprocal(x: Any) -> Any:
    """1/x of a dimensionless number, and 0 at x = 0."""
    return x / (x * x + 1e-18)


class Longitudinal(NamedTuple):
    """Coefficients of F_x: pure slip (P), and its decay with slip angle (R)."""

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
    """Exponential change of slip stiffness with load."""
    PHX1: one = 0.0
    """Horizontal shift at nominal load."""
    PHX2: one = 0.0
    """Change of the horizontal shift with load."""
    PVX1: one = 0.0
    """Vertical shift over load at nominal load."""
    PVX2: one = 0.0
    """Change of the vertical shift with load."""
    PPX1: one = 0.0
    """Change of slip stiffness with pressure."""
    PPX2: one = 0.0
    """Change of slip stiffness with the square of pressure."""
    PPX3: one = 0.0
    """Change of friction with pressure."""
    PPX4: one = 0.0
    """Change of friction with the square of pressure."""
    RBX1: one = 0.0
    """Slope of the decay of F_x with slip angle."""
    RBX2: one = 0.0
    """Change of slope RBX1 with longitudinal slip."""
    RBX3: one = 0.0
    """Change of slope RBX1 with camber."""
    RCX1: one = 0.0
    """Shape of the decay of F_x with slip angle."""
    REX1: one = 0.0
    """Curvature of the decay of F_x at nominal load."""
    REX2: one = 0.0
    """Change of curvature REX1 with load."""
    RHX1: one = 0.0
    """Slip angle shift of the decay of F_x."""


class Overturning(NamedTuple):
    """Coefficients of the overturning moment M_x."""

    QSX1: one = 0.0
    """Vertical shift of the overturning moment."""
    QSX2: one = 0.0
    """Change of M_x with camber."""
    QSX3: one = 0.0
    """Change of M_x with lateral force."""
    QSX4: one = 0.0
    """Amplitude of the combined term of load, lateral force and camber."""
    QSX5: one = 0.0
    """Shape factor of the combined term over load."""
    QSX6: one = 0.0
    """Slope of the combined term over load."""
    QSX7: one = 0.0
    """Weight of camber in the combined term."""
    QSX8: one = 0.0
    """Weight of lateral force in the combined term."""
    QSX9: one = 0.0
    """Stiffness of lateral force in the combined term."""
    QSX10: one = 0.0
    """Change of M_x with camber and load."""
    QSX11: one = 0.0
    """Stiffness of load in term QSX10."""
    QSX12: one = 0.0
    """Change of M_x with camber times its absolute value."""
    QSX13: one = 0.0
    """Lever arm of the lateral force."""
    QSX14: one = 0.0
    """Change of lever arm QSX13 with camber."""
    PPMX1: one = 0.0
    """Change of camber term QSX2 with pressure."""


class Lateral(NamedTuple):
    """Coefficients of F_y: pure slip (P), and its decay with longitudinal slip (R)."""

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
    """Difference of curvature between positive and negative slip angle."""
    PEY4: one = 0.0
    """Change of difference PEY3 with camber."""
    PEY5: one = 0.0
    """Change of curvature with the square of camber."""
    PKY1: one = 0.0
    """Greatest cornering stiffness over nominal load."""
    PKY2: one = 1.0
    """Load of the greatest cornering stiffness over nominal load."""
    PKY3: one = 0.0
    """Change of cornering stiffness with camber."""
    PKY4: one = 2.0
    """Shape of cornering stiffness over load."""
    PKY5: one = 0.0
    """Change of the load of the greatest stiffness with camber."""
    PKY6: one = 0.0
    """Camber stiffness over load at nominal load."""
    PKY7: one = 0.0
    """Change of camber stiffness with load."""
    PHY1: one = 0.0
    """Horizontal shift at nominal load."""
    PHY2: one = 0.0
    """Change of the horizontal shift with load."""
    PVY1: one = 0.0
    """Vertical shift over load at nominal load."""
    PVY2: one = 0.0
    """Change of the vertical shift with load."""
    PVY3: one = 0.0
    """Change of the vertical shift with camber."""
    PVY4: one = 0.0
    """Change of the vertical shift with camber and load."""
    PPY1: one = 0.0
    """Change of cornering stiffness with pressure."""
    PPY2: one = 0.0
    """Change of the load of the greatest stiffness with pressure."""
    PPY3: one = 0.0
    """Change of friction with pressure."""
    PPY4: one = 0.0
    """Change of friction with the square of pressure."""
    PPY5: one = 0.0
    """Change of camber stiffness with pressure."""
    RBY1: one = 0.0
    """Slope of the decay of F_y with longitudinal slip."""
    RBY2: one = 0.0
    """Change of slope RBY1 with slip angle."""
    RBY3: one = 0.0
    """Slip angle shift in the change of slope RBY1."""
    RBY4: one = 0.0
    """Change of slope RBY1 with camber."""
    RCY1: one = 0.0
    """Shape of the decay of F_y with longitudinal slip."""
    REY1: one = 0.0
    """Curvature of the decay of F_y at nominal load."""
    REY2: one = 0.0
    """Change of curvature REY1 with load."""
    RHY1: one = 0.0
    """Longitudinal slip shift of the decay of F_y at nominal load."""
    RHY2: one = 0.0
    """Change of shift RHY1 with load."""
    RVY1: one = 0.0
    """Lateral force induced by longitudinal slip, over peak force at nominal load."""
    RVY2: one = 0.0
    """Change of induced force RVY1 with load."""
    RVY3: one = 0.0
    """Change of induced force RVY1 with camber."""
    RVY4: one = 0.0
    """Change of induced force RVY1 with slip angle."""
    RVY5: one = 0.0
    """Shape of the induced force over longitudinal slip."""
    RVY6: one = 0.0
    """Slope of the induced force over longitudinal slip."""


class Rolling(NamedTuple):
    """Coefficients of the rolling resistance moment M_y."""

    QSY1: one = 0.0
    """Rolling resistance over load."""
    QSY2: one = 0.0
    """Change of M_y with longitudinal force."""
    QSY3: one = 0.0
    """Change of M_y with speed."""
    QSY4: one = 0.0
    """Change of M_y with the fourth power of speed."""
    QSY5: one = 0.0
    """Change of M_y with the square of camber."""
    QSY6: one = 0.0
    """Change of M_y with load and the square of camber."""
    QSY7: one = 0.0
    """Exponent of the load."""
    QSY8: one = 0.0
    """Exponent of the pressure."""


class Aligning(NamedTuple):
    """Coefficients of the aligning moment M_z: trail, residual torque and lever arm of F_x."""

    QBZ1: one = 0.0
    """Slope B of the trail at nominal load."""
    QBZ2: one = 0.0
    """Change of slope QBZ1 with load."""
    QBZ3: one = 0.0
    """Change of slope QBZ1 with the square of the load."""
    QBZ4: one = 0.0
    """Change of slope QBZ1 with camber."""
    QBZ5: one = 0.0
    """Change of slope QBZ1 with the absolute value of camber."""
    QBZ9: one = 0.0
    """Slope of the residual torque."""
    QBZ10: one = 0.0
    """Slope of the residual torque, in proportion to the slope of F_y."""
    QCZ1: one = 0.0
    """Shape C of the trail."""
    QDZ1: one = 0.0
    """Peak of the trail over radius at nominal load."""
    QDZ2: one = 0.0
    """Change of peak QDZ1 with load."""
    QDZ3: one = 0.0
    """Change of peak QDZ1 with camber."""
    QDZ4: one = 0.0
    """Change of peak QDZ1 with the square of camber."""
    QDZ6: one = 0.0
    """Peak of the residual torque over load and radius at nominal load."""
    QDZ7: one = 0.0
    """Change of residual torque QDZ6 with load."""
    QDZ8: one = 0.0
    """Change of residual torque QDZ6 with camber."""
    QDZ9: one = 0.0
    """Change of residual torque QDZ8 with camber and load."""
    QDZ10: one = 0.0
    """Change of residual torque QDZ6 with camber times its absolute value."""
    QDZ11: one = 0.0
    """Change of residual torque QDZ10 with load."""
    QEZ1: one = 0.0
    """Curvature E of the trail at nominal load."""
    QEZ2: one = 0.0
    """Change of curvature QEZ1 with load."""
    QEZ3: one = 0.0
    """Change of curvature QEZ1 with the square of the load."""
    QEZ4: one = 0.0
    """Difference of curvature between positive and negative slip angle."""
    QEZ5: one = 0.0
    """Change of difference QEZ4 with camber."""
    QHZ1: one = 0.0
    """Shift of the trail at nominal load."""
    QHZ2: one = 0.0
    """Change of shift QHZ1 with load."""
    QHZ3: one = 0.0
    """Change of shift QHZ1 with camber."""
    QHZ4: one = 0.0
    """Change of shift QHZ1 with camber and load."""
    PPZ1: one = 0.0
    """Change of the peak of the trail with pressure."""
    PPZ2: one = 0.0
    """Change of residual torque QDZ8 with pressure."""
    SSZ1: one = 0.0
    """Lever arm of F_x over radius."""
    SSZ2: one = 0.0
    """Change of lever arm SSZ1 with lateral force."""
    SSZ3: one = 0.0
    """Change of lever arm SSZ1 with camber."""
    SSZ4: one = 0.0
    """Change of lever arm SSZ1 with camber and load."""


class TurnSlip(NamedTuple):
    """Coefficients of spin: the effect of turn slip and camber on a rolling wheel."""

    PDXP1: one = 0.0
    """Decay of F_x with spin."""
    PDXP2: one = 0.0
    """Change of decay PDXP1 with load."""
    PDXP3: one = 0.0
    """Change of decay PDXP1 with longitudinal slip."""
    PKYP1: one = 0.0
    """Decay of cornering stiffness with spin."""
    PDYP1: one = 0.0
    """Decay of F_y with spin."""
    PDYP2: one = 0.0
    """Change of decay PDYP1 with load."""
    PDYP3: one = 0.0
    """Change of decay PDYP1 with slip angle."""
    PDYP4: one = 0.0
    """Part of the decay of F_y with the square root of spin."""
    PHYP1: one = 0.0
    """Shape of F_y over spin."""
    PHYP2: one = 0.0
    """Largest shift of slip angle due to spin."""
    PHYP3: one = 0.0
    """Change of shift PHYP2 with load."""
    PHYP4: one = 0.0
    """Curvature of F_y over spin."""
    PECP1: one = 0.0
    """Share of camber that does not count as spin."""
    PECP2: one = 0.0
    """Change of share PECP1 with load."""
    QDTP1: one = 0.0
    """Decay of the trail with spin."""
    QCRP1: one = 0.0
    """Torque of a wheel turning on the spot, over friction, radius and load."""
    QCRP2: one = 0.0
    """Slope of the torque over turn slip at a slip angle of 90 degrees."""
    QBRP1: one = 0.0
    """Decay of the slope of the residual torque with spin."""
    QDRP1: one = 1.0
    """Shape factor of the torque over spin."""


class NoTurnSlip(NamedTuple):
    """No turn slip: spin acts only through camber."""
