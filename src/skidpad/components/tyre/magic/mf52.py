"""Sections of a tyre as MF 5.2, also called PAC2002, has them where they differ from MF 6."""

from __future__ import annotations

from typing import NamedTuple

from ....units import Pa, kg, one
from .coefficients import Aligning, Lateral, Longitudinal, Overturning, Rolling
from .records import Scaling, Vertical61
from .selected_fields import selected

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


@selected(
    Vertical61,
    """
    FNOMIN VERTICAL_STIFFNESS VERTICAL_DAMPING BREFF DREFF FREFF Q_A1 Q_A2 BOTTOM_OFFST
    BOTTOM_STIFF
""",
)
class Vertical52(NamedTuple):
    """Load, deflection and rolling radius."""

    Q_A1: one = 0.0
    """Half length of the contact patch, part with the root of the load."""
    Q_A2: one = 0.0
    """Half length of the contact patch, part in proportion to the load."""


class NoStructural(NamedTuple):
    """MF 5.2 has relaxation lengths among its coefficients instead."""


class NoContactPatch(NamedTuple):
    """MF 5.2 has its contact patch among the vertical coefficients instead."""


@selected(
    Scaling,
    """
    LFZO LCX LMUX LEX LKX LHX LVX LGAX LCY LMUY LEY LKY LKYC LHY LVY LGAY LTR LRES LGAZ LXAL
    LYKA LVYKA LS LSGKP LSGAL LGYR LMX LVMX LMY LCZ
""",
)
class Scaling52(NamedTuple):
    """Factors that change a tyre without a new fit."""

    LGAX: one = 1.0
    """Factor of the camber in F_x."""
    LGAY: one = 1.0
    """Factor of the camber in F_y."""
    LGAZ: one = 1.0
    """Factor of the camber in M_z."""
    LSGKP: one = 1.0
    """Factor of the relaxation length of F_x."""
    LSGAL: one = 1.0
    """Factor of the relaxation length of F_y."""
    LGYR: one = 1.0
    """Factor of the gyroscopic moment; not used by these equations."""
    LCZ: one = 1.0
    """Factor of the vertical stiffness; not used by these equations."""


@selected(
    Longitudinal,
    """
    PCX1 PDX1 PDX2 PDX3 PEX1 PEX2 PEX3 PEX4 PKX1 PKX2 PKX3 PHX1 PHX2 PVX1 PVX2 RBX1 RBX2 RCX1
    REX1 REX2 RHX1 PTX1 PTX2 PTX3
""",
)
class Longitudinal52(NamedTuple):
    """F_x: pure (P) and with slip angle (R)."""

    PTX1: one = 0.0
    """Relaxation length of F_x over radius and load at nominal load."""
    PTX2: one = 0.0
    """Change of the relaxation length with load."""
    PTX3: one = 0.0
    """Exponent of the relaxation length over load."""


@selected(Overturning, "QSX1 QSX2 QSX3")
class Overturning52(NamedTuple):
    """M_x."""


@selected(
    Lateral,
    """
    PCY1 PDY1 PDY2 PDY3 PEY1 PEY2 PEY3 PEY4 PKY1 PKY2 PKY3 PHY1 PHY2 PHY3 PVY1 PVY2 PVY3 PVY4
    RBY1 RBY2 RBY3 RCY1 REY1 REY2 RHY1 RHY2 RVY1 RVY2 RVY3 RVY4 RVY5 RVY6 PTY1 PTY2
""",
)
class Lateral52(NamedTuple):
    """F_y: pure (P) and with longitudinal slip (R)."""

    PHY3: one = 0.0
    """Change of the horizontal shift with camber."""
    PTY1: one = 0.0
    """Greatest relaxation length of F_y over radius."""
    PTY2: one = 1.0
    """Load of the greatest relaxation length over nominal load."""


@selected(Rolling, "QSY1 QSY2 QSY3 QSY4")
class Rolling52(NamedTuple):
    """M_y."""


@selected(
    Aligning,
    """
    QBZ1 QBZ2 QBZ3 QBZ4 QBZ5 QBZ9 QBZ10 QCZ1 QDZ1 QDZ2 QDZ3 QDZ4 QDZ6 QDZ7 QDZ8 QDZ9 QEZ1 QEZ2
    QEZ3 QEZ4 QEZ5 QHZ1 QHZ2 QHZ3 QHZ4 SSZ1 SSZ2 SSZ3 SSZ4 QTZ1 MBELT
""",
)
class Aligning52(NamedTuple):
    """M_z: trail, residual torque and arm of F_x."""

    QTZ1: one = 0.0
    """Gyroscopic moment; not used by these equations."""
    MBELT: kg = 0.0
    """Mass of the belt; not used by these equations."""
