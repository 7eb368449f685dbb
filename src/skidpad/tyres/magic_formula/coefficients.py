"""Coefficients of the Magic Formula 6 as records: the parameters that a fit estimates.

Names, meanings and sections are those of tyre property files; units are SI and radians. In the
field descriptions, a change with load is per relative deviation from nominal load,
(F_z - F_z0) / F_z0, and one with pressure likewise.
"""

from __future__ import annotations

from typing import NamedTuple

from ...units import one


class Longitudinal(NamedTuple):
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
    """Change of that slope with longitudinal slip."""
    RBX3: one = 0.0
    """Change of that slope with camber."""
    RCX1: one = 0.0
    """Shape of the decay of F_x with slip angle."""
    REX1: one = 0.0
    """Curvature of the decay at nominal load."""
    REX2: one = 0.0
    """Change of that curvature with load."""
    RHX1: one = 0.0
    """Shift of the decay."""


class Overturning(NamedTuple):
    """M_x."""

    QSX1: one = 0.0
    """Vertical shift of the overturning moment."""
    QSX2: one = 0.0
    """Change with camber."""
    QSX3: one = 0.0
    """Change with lateral force."""
    QSX4: one = 0.0
    """Change with load, lateral force and camber."""
    QSX5: one = 0.0
    """Shape of that change over load."""
    QSX6: one = 0.0
    """Slope of that change over load."""
    QSX7: one = 0.0
    """Camber in that change."""
    QSX8: one = 0.0
    """Lateral force in that change."""
    QSX9: one = 0.0
    """Stiffness of lateral force in that change."""
    QSX10: one = 0.0
    """Change with camber and load."""
    QSX11: one = 0.0
    """Stiffness of load in that change."""
    QSX12: one = 0.0
    """Change with camber times its absolute value."""
    QSX13: one = 0.0
    """Arm of the lateral force."""
    QSX14: one = 0.0
    """Change of that arm with camber."""
    PPMX1: one = 0.0
    """Change of the camber part with pressure."""


class Lateral(NamedTuple):
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
    """Change of that slope with slip angle."""
    RBY3: one = 0.0
    """Shift of slip angle in that change."""
    RBY4: one = 0.0
    """Change of that slope with camber."""
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


class Rolling(NamedTuple):
    """M_y."""

    QSY1: one = 0.0
    """Rolling resistance over load."""
    QSY2: one = 0.0
    """Change with longitudinal force."""
    QSY3: one = 0.0
    """Change with speed."""
    QSY4: one = 0.0
    """Change with the fourth power of speed."""
    QSY5: one = 0.0
    """Change with the square of camber."""
    QSY6: one = 0.0
    """Change with load and the square of camber."""
    QSY7: one = 0.0
    """Power of the load."""
    QSY8: one = 0.0
    """Power of the pressure."""


class Aligning(NamedTuple):
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
    QDZ10: one = 0.0
    """Change of that peak with camber times its absolute value."""
    QDZ11: one = 0.0
    """Change of that peak with camber times its absolute value and load."""
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
    PPZ1: one = 0.0
    """Change of the peak of the trail with pressure."""
    PPZ2: one = 0.0
    """Change of the residual torque by camber with pressure."""
    SSZ1: one = 0.0
    """Arm of F_x over radius."""
    SSZ2: one = 0.0
    """Change of the arm with lateral force."""
    SSZ3: one = 0.0
    """Change of the arm with camber."""
    SSZ4: one = 0.0
    """Change of the arm with camber and load."""


class TurnSlip(NamedTuple):
    """Spin: what turning and camber do to a rolling wheel."""

    PDXP1: one = 0.0
    """Decay of F_x with spin."""
    PDXP2: one = 0.0
    """Change of that decay with load."""
    PDXP3: one = 0.0
    """Change of that decay with longitudinal slip."""
    PKYP1: one = 0.0
    """Decay of cornering stiffness with spin."""
    PDYP1: one = 0.0
    """Decay of F_y with spin."""
    PDYP2: one = 0.0
    """Change of that decay with load."""
    PDYP3: one = 0.0
    """Change of that decay with slip angle."""
    PDYP4: one = 0.0
    """Part of that decay with the root of spin."""
    PHYP1: one = 0.0
    """Shape of F_y over spin."""
    PHYP2: one = 0.0
    """Greatest shift of slip angle by spin."""
    PHYP3: one = 0.0
    """Change of that shift with load."""
    PHYP4: one = 0.0
    """Curvature of F_y over spin."""
    PECP1: one = 0.0
    """Share of camber that is no spin."""
    PECP2: one = 0.0
    """Change of that share with load."""
    QDTP1: one = 0.0
    """Decay of the trail with spin."""
    QCRP1: one = 0.0
    """Torque of a wheel that turns on the spot over friction, radius and load."""
    QCRP2: one = 0.0
    """Slope of the torque over turn slip at a slip angle of 90 degrees."""
    QBRP1: one = 0.0
    """Decay of the slope of the residual torque with spin."""
    QDRP1: one = 1.0
    """Shape of the torque over spin."""


class NoTurnSlip(NamedTuple):
    """Spin has no influence beyond that of camber."""
