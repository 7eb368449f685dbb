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
from .proportional import MagicFormula, cornering_stiffness, friction
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
    "Contact",
    "LowSpeed",
    "MagicFormula",
    "Peaks",
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
    "full_slip",
    "mounted",
    "record_of",
    "rough_use",
    "slip_rates",
    "steady_slip",
    "use",
]
