"""Tyres: read from property files and written to them, and asked for their forces.

    tyre = skidpad.tyres.read("front.tir")
    tyre.forces(F_z=4000.0, alpha=0.05)
    skidpad.tyres.write(tyre.with_values(LMUY=0.9), "front_worn.tir")

The records that tyres are made of, for use in vehicles, are here too.
"""

from __future__ import annotations

from ..components.tyre import (
    BookAngles,
    Combined,
    Contact,
    FrictionEllipse,
    MagicFormula52,
    MagicFormula61,
    MagicFormula62,
    NoLimits,
    NoTurnSlip,
    Peaks,
    PlainAngles,
    Radii,
    Relaxation,
    SlipStiffness,
    TurnSlip,
    TyreForces,
    Uncombined,
    UsualLimits,
    magic_formula_type,
    mounted,
)
from .document import Document
from .evaluation import Evaluation, MagicEvaluation, rolling_spin
from .own_sets import get, names
from .reading import read
from .summary import AtLoad, Summary, summary
from .tyre import Tyre
from .writing import write

__all__ = [
    "AtLoad",
    "BookAngles",
    "Combined",
    "Contact",
    "Document",
    "Evaluation",
    "FrictionEllipse",
    "MagicEvaluation",
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
    "Summary",
    "TurnSlip",
    "Tyre",
    "TyreForces",
    "Uncombined",
    "UsualLimits",
    "get",
    "magic_formula_type",
    "mounted",
    "names",
    "read",
    "rolling_spin",
    "summary",
    "write",
]
