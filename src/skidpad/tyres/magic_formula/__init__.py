"""The Magic Formula 5.2, 6.1 and 6.2: records with the keys of tyre property files, and equations.

Equations of MF 6 are those of Pacejka, Tire and Vehicle Dynamics, 3rd ed., chapter 4.3.2 (numbers
4.E…) as the usual solvers compute them; where the two differ the solvers are followed.
"""

from __future__ import annotations

from .coefficients import NoTurnSlip, TurnSlip
from .formula import (
    Everything,
    MagicFormula52,
    MagicFormula61,
    MagicFormula62,
    evaluate,
    magic_formula_type,
)
from .radii import rolling_spin
from .records import (
    BookAngles,
    Combined,
    FrictionEllipse,
    NoLimits,
    PlainAngles,
    Uncombined,
    UsualLimits,
)

__all__ = [
    "BookAngles",
    "Combined",
    "Everything",
    "FrictionEllipse",
    "MagicFormula52",
    "MagicFormula61",
    "MagicFormula62",
    "NoLimits",
    "NoTurnSlip",
    "PlainAngles",
    "TurnSlip",
    "Uncombined",
    "UsualLimits",
    "evaluate",
    "magic_formula_type",
    "rolling_spin",
]
