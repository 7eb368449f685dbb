"""Tyres: what one is to a vehicle (`contract`) and the equations of those there are."""

from __future__ import annotations

from ... import record
from .brush import BrushTyre
from .carcass import Carcass
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
from .linear import LinearTyre
from .load_sensitive import (
    LoadSensitiveLaw,
    LoadSensitiveTyre,
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
from .proportional import (
    FrictionLaw,
    MagicFormula,
    ProportionalTyre,
    cornering_stiffness,
    friction,
    friction_on_road,
    softened_friction,
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
from .share import (
    Use,
    rough_use,
    use,
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
    "rough_use",
    "slip_of_forces",
    "slip_rates",
    "softened_friction",
    "steady_slip",
    "use",
]

record.document_all()
