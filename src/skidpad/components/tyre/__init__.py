"""Tyres: what one is to a vehicle (`contract`) and the equations of those there are."""

from __future__ import annotations

from .contract import (
    Contact,
    Peaks,
    Radii,
    Relaxation,
    SlipStiffness,
    Tyre,
    TyreForces,
    mounted,
    record_of,
)
from .magic import (
    BookAngles,
    Combined,
    FrictionEllipse,
    MagicFormula52,
    MagicFormula61,
    MagicFormula62,
    NoLimits,
    NoTurnSlip,
    PlainAngles,
    TurnSlip,
    Uncombined,
    UsualLimits,
    magic_formula_type,
)
from .proportional import MagicFormula, cornering_stiffness, friction
from .share import Use, rough_use, use

__all__ = [
    "BookAngles",
    "Combined",
    "Contact",
    "FrictionEllipse",
    "MagicFormula",
    "MagicFormula52",
    "MagicFormula61",
    "MagicFormula62",
    "NoLimits",
    "NoTurnSlip",
    "Peaks",
    "PlainAngles",
    "Radii",
    "Relaxation",
    "SlipStiffness",
    "TurnSlip",
    "Tyre",
    "TyreForces",
    "Uncombined",
    "Use",
    "UsualLimits",
    "cornering_stiffness",
    "friction",
    "magic_formula_type",
    "mounted",
    "record_of",
    "rough_use",
    "use",
]
