"""Columns of measurements: their names, as in `Contact` and `TyreForces`, and their units."""

from __future__ import annotations

from collections.abc import Mapping

UNITS: Mapping[str, str] = {
    "F_z": "N",
    "kappa": "1",
    "alpha": "rad",
    "gamma": "rad",
    "p": "Pa",
    "v_x": "m/s",
    "F_x": "N",
    "F_y": "N",
    "M_x": "N·m",
    "M_y": "N·m",
    "M_z": "N·m",
    "R_l": "m",
    "omega": "rad/s",
    "time": "s",
}
"""Columns of numbers and their units."""
CONDITIONS = ("F_z", "kappa", "alpha", "gamma")
"""Columns that every row has; in the others NaN is what was not measured."""
RESPONSES = ("F_x", "F_y", "M_x", "M_y", "M_z")
LABEL = "label"
"""The column of text: which test or run a row belongs to."""
