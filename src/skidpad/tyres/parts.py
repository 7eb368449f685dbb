"""Tyres: what one is to a vehicle (`contract`) and the equations of those there are."""

from __future__ import annotations

from ..core import record
from .contract import (
    Carcass,
    Contact,
    Peaks,
    Radii,
    Relaxation,
    SlipStiffness,
    Tyre,
    TyreForces,
    Use,
    mounted,
    record_of,
    use,
)
from .magic_formula.coefficients import NoTurnSlip, TurnSlip
from .magic_formula.formula import (
    MagicFormula52,
    MagicFormula61,
    MagicFormula62,
    magic_formula_type,
)
from .magic_formula.records import (
    BookAngles,
    Combined,
    FrictionEllipse,
    NoLimits,
    PlainAngles,
    Uncombined,
    UsualLimits,
)
from .relaxation import (
    LowSpeed,
    SlipState,
    Steady,
    full_slip,
    slip_of_forces,
    slip_rates,
    steady_slip,
)
from .simple import (
    BrushTyre,
    FrictionLaw,
    LinearTyre,
    LoadSensitiveLaw,
    LoadSensitiveTyre,
    MagicFormula,
    ProportionalTyre,
    cornering_stiffness,
    friction,
    friction_on_road,
)

__all__ = [
    "BookAngles",
    "BrushTyre",
    "Carcass",
    "Combined",
    "Contact",
    "FrictionEllipse",
    "FrictionLaw",
    "LinearTyre",
    "LoadSensitiveLaw",
    "LoadSensitiveTyre",
    "LowSpeed",
    "MagicFormula",
    "MagicFormula52",
    "MagicFormula61",
    "MagicFormula62",
    "NoLimits",
    "NoTurnSlip",
    "Peaks",
    "PlainAngles",
    "ProportionalTyre",
    "Radii",
    "Relaxation",
    "SlipState",
    "SlipStiffness",
    "Steady",
    "TurnSlip",
    "Tyre",
    "TyreForces",
    "Uncombined",
    "Use",
    "UsualLimits",
    "cornering_stiffness",
    "friction",
    "friction_on_road",
    "full_slip",
    "magic_formula_type",
    "mounted",
    "record_of",
    "slip_of_forces",
    "slip_rates",
    "steady_slip",
    "use",
]

record.document_all()
