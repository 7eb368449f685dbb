"""Tyres: what one is to a vehicle (`contract`) and the equations of those there are."""

from __future__ import annotations

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
from .load_sensitive import LoadSensitiveLaw, LoadSensitiveTyre
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
    felt_slip,
    full_slip,
    slip_rates,
    steady_slip,
)
from .share import Use, rough_use, use

__all__ = [
    "BrushTyre",
    "Carcass",
    "Contact",
    "FrictionLaw",
    "LinearTyre",
    "LoadSensitiveLaw",
    "LoadSensitiveTyre",
    "LowSpeed",
    "MagicFormula",
    "Peaks",
    "ProportionalTyre",
    "Radii",
    "Relaxation",
    "SlipState",
    "SlipStiffness",
    "Steady",
    "Tyre",
    "TyreForces",
    "Use",
    "cornering_stiffness",
    "felt_slip",
    "friction",
    "friction_on_road",
    "full_slip",
    "mounted",
    "record_of",
    "rough_use",
    "slip_rates",
    "softened_friction",
    "steady_slip",
    "use",
]
