"""Tyres: read from property files and written to them, asked for their forces, fitted to tests.

    tyre = skidpad.tyres.read("front.tir")
    tyre.forces(F_z=4000.0, alpha=0.05)
    skidpad.tyres.write(tyre.with_values(LMUY=0.9), "front_worn.tir")
    skidpad.tyres.fit(skidpad.tyres.measurements("cornering.dat")).tyre

The records that tyres are made of, for use in vehicles, are here too.
"""

from __future__ import annotations

from .. import record
from ..components.tyre import (
    BookAngles,
    BrushTyre,
    Combined,
    Contact,
    FrictionEllipse,
    LinearTyre,
    LoadSensitiveTyre,
    MagicFormula52,
    MagicFormula61,
    MagicFormula62,
    NoLimits,
    NoTurnSlip,
    Peaks,
    PlainAngles,
    ProportionalTyre,
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
from .fit_result import Coefficient, Fit, StageFit
from .fit_stages import MAGIC_FORMULA as MAGIC_FORMULA_STAGES
from .fit_stages import Stage
from .fitting import fit
from .measurement_file import measurements
from .measurement_table import Measurements
from .own_sets import get, names
from .reading import read
from .summary import AtLoad, Summary, summary
from .tyre import Tyre
from .writing import write

__all__ = [
    "MAGIC_FORMULA_STAGES",
    "AtLoad",
    "BookAngles",
    "BrushTyre",
    "Coefficient",
    "Combined",
    "Contact",
    "Document",
    "Evaluation",
    "Fit",
    "FrictionEllipse",
    "LinearTyre",
    "LoadSensitiveTyre",
    "MagicEvaluation",
    "MagicFormula52",
    "MagicFormula61",
    "MagicFormula62",
    "Measurements",
    "NoLimits",
    "NoTurnSlip",
    "Peaks",
    "PlainAngles",
    "ProportionalTyre",
    "Radii",
    "Relaxation",
    "SlipStiffness",
    "Stage",
    "StageFit",
    "Summary",
    "TurnSlip",
    "Tyre",
    "TyreForces",
    "Uncombined",
    "UsualLimits",
    "fit",
    "get",
    "magic_formula_type",
    "measurements",
    "mounted",
    "names",
    "read",
    "rolling_spin",
    "summary",
    "write",
]

record.document_all()
