"""Tyres: measurements, and fits to them."""

from __future__ import annotations

from .fit_result import Coefficient, Fit, StageFit
from .fit_stages import MAGIC_FORMULA as MAGIC_FORMULA_STAGES
from .fit_stages import Stage
from .fitting import fit
from .measurement_file import measurements
from .measurement_table import Measurements

__all__ = [
    "MAGIC_FORMULA_STAGES",
    "Coefficient",
    "Fit",
    "Measurements",
    "Stage",
    "StageFit",
    "fit",
    "measurements",
]
