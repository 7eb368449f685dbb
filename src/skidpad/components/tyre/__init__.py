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
from .share import Use, rough_use, use

__all__ = [
    "Contact",
    "MagicFormula",
    "Peaks",
    "Radii",
    "Relaxation",
    "SlipStiffness",
    "Tyre",
    "TyreForces",
    "Use",
    "cornering_stiffness",
    "friction",
    "mounted",
    "record_of",
    "rough_use",
    "use",
]
