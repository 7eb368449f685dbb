"""Tyres: read from property files and written to them, asked for their forces, fitted to tests.

    tyre = skidpad.tyres.read("front.tir")
    tyre.forces(F_z=4000.0, alpha=0.05)
    skidpad.tyres.write(tyre.with_values(LMUY=0.9), "front_worn.tir")
    skidpad.tyres.fit(skidpad.tyres.measurements("cornering.dat")).tyre

The records that tyres are made of, for use in vehicles, are here too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import lazy_attributes

if TYPE_CHECKING:
    from .characteristics import (
        AtLoad,
        Summary,
        summary,
    )
    from .contract import (
        Contact,
        Peaks,
        Radii,
        Relaxation,
        SlipStiffness,
        TyreForces,
        mounted,
    )
    from .fitting.least_squares import (
        fit,
    )
    from .fitting.measurement_files import (
        measurements,
    )
    from .fitting.measurements import (
        Measurements,
    )
    from .fitting.result import (
        Coefficient,
        Fit,
        StageFit,
    )
    from .fitting.stages import (
        MAGIC_FORMULA_STAGES,
        Stage,
    )
    from .magic_formula.coefficients import (
        NoTurnSlip,
        TurnSlip,
    )
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
    from .reading import (
        get,
        names,
        read,
        write,
    )
    from .simple import (
        BrushTyre,
        LinearTyre,
        LoadSensitiveTyre,
        ProportionalTyre,
    )
    from .tir_file import (
        Document,
    )
    from .tyre import (
        Evaluation,
        MagicEvaluation,
        Tyre,
        rolling_spin,
    )

from ..core import record

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

__getattr__ = lazy_attributes(
    __name__,
    {
        ".characteristics": (
            "AtLoad",
            "Summary",
            "summary",
        ),
        ".contract": (
            "Contact",
            "Peaks",
            "Radii",
            "Relaxation",
            "SlipStiffness",
            "TyreForces",
            "mounted",
        ),
        ".fitting.least_squares": ("fit",),
        ".fitting.measurement_files": ("measurements",),
        ".fitting.measurements": ("Measurements",),
        ".fitting.result": (
            "Coefficient",
            "Fit",
            "StageFit",
        ),
        ".fitting.stages": (
            "MAGIC_FORMULA_STAGES",
            "Stage",
        ),
        ".magic_formula.coefficients": (
            "NoTurnSlip",
            "TurnSlip",
        ),
        ".magic_formula.formula": (
            "MagicFormula52",
            "MagicFormula61",
            "MagicFormula62",
            "magic_formula_type",
        ),
        ".magic_formula.records": (
            "BookAngles",
            "Combined",
            "FrictionEllipse",
            "NoLimits",
            "PlainAngles",
            "Uncombined",
            "UsualLimits",
        ),
        ".reading": (
            "get",
            "names",
            "read",
            "write",
        ),
        ".simple": (
            "BrushTyre",
            "LinearTyre",
            "LoadSensitiveTyre",
            "ProportionalTyre",
        ),
        ".tir_file": ("Document",),
        ".tyre": (
            "Evaluation",
            "MagicEvaluation",
            "Tyre",
            "rolling_spin",
        ),
    },
)

record.document_all()
