"""Tyres: read and written as property files, evaluated, and fitted to measurements.

    tyre = skidpad.tyres.read("front.tir")
    tyre.forces(F_z=4000.0, alpha=0.05)
    skidpad.tyres.write(tyre.with_values(LMUY=0.9), "front_worn.tir")
    skidpad.tyres.fit(skidpad.tyres.measurements("cornering.dat")).tyre

`BrushTyre`, `LinearTyre` and the like are the records that vehicles hold; `contract` specifies the
methods of such a record.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core import record
from ..core.lazy import lazy_attributes

if TYPE_CHECKING:
    from .characteristics import summary
    from .contract import Contact, Peaks, Radii, Relaxation, SlipStiffness, TyreForces
    from .fitting.least_squares import fit
    from .fitting.measurements import Measurements, measurements
    from .fitting.stages import MAGIC_FORMULA_STAGES, Stage
    from .magic_formula.formula import MagicFormula62
    from .reading import get, names, read, write
    from .simple import BrushTyre, LinearTyre, LoadSensitiveTyre, ProportionalTyre
    from .tyre import Tyre

__all__ = [
    "MAGIC_FORMULA_STAGES", "BrushTyre", "Contact", "LinearTyre", "LoadSensitiveTyre",
    "MagicFormula62", "Measurements", "Peaks", "ProportionalTyre", "Radii", "Relaxation",
    "SlipStiffness", "Stage", "Tyre", "TyreForces", "fit", "get", "measurements", "names", "read",
    "summary", "write",
]  # fmt: skip

__getattr__ = lazy_attributes(
    __name__,
    {
        ".characteristics": ("summary",),
        ".contract": ("Contact", "Peaks", "Radii", "Relaxation", "SlipStiffness", "TyreForces"),
        ".fitting.least_squares": ("fit",),
        ".fitting.measurements": ("Measurements", "measurements"),
        ".fitting.stages": ("MAGIC_FORMULA_STAGES", "Stage"),
        ".magic_formula.formula": ("MagicFormula62",),
        ".reading": ("get", "names", "read", "write"),
        ".simple": ("BrushTyre", "LinearTyre", "LoadSensitiveTyre", "ProportionalTyre"),
        ".tyre": ("Tyre",),
    },
)

record.document_all()
