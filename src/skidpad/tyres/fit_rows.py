"""Rows that no tyre can have: signs and units that are another program's."""

from __future__ import annotations

import math
import warnings

import numpy as np

from ..arrays import Mask
from ..errors import InvalidValue
from .measurement_table import Measurements

_ROLLING = {"alpha": 0.01, "kappa": 0.005}
"""Slip in one direction below which that in the other is pure."""
_SMALL = {"alpha": 0.1, "kappa": 0.1}
"""Slip up to which forces grow with it."""
_FEWEST = 5
"""Rows that tell a slope."""
_CLEAR = 0.5
"""Correlation from which a slope has a sign."""


def check_rows(table: Measurements) -> None:
    """Raise for rows that cannot be of a tyre; warn of slopes against the signs of ISO 8855."""
    for name in ("alpha", "gamma"):
        wrong = np.abs(table[name]) > 0.5 * math.pi
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InvalidValue(
                f"{name} of row {row} is {table[name][row]:g} rad; it must be within ±π/2. If it "
                f"is in degrees, take np.deg2rad, or the heading '{name} [deg]' in a file"
            )
    if not (table.F_z > 0.0).any():
        raise InvalidValue(
            f"F_z is {table.F_z.min():g} to {table.F_z.max():g} N; loads must be greater than 0. "
            "In SAE axes (z down) F_z, alpha, F_y, M_y and M_z have the other sign: turn these"
        )
    if _slope(table, "alpha", "F_y", _pure(table, "kappa")) > _CLEAR:
        warnings.warn(
            "F_y grows with alpha; in ISO axes a positive slip angle gives a negative lateral "
            "force. Turn the sign of F_y or that of alpha: in SAE axes (z down) alpha, F_y, M_y "
            "and M_z have the other sign",
            stacklevel=3,
        )
    if _slope(table, "kappa", "F_x", _pure(table, "alpha")) < -_CLEAR:
        warnings.warn(
            "F_x falls with kappa; positive slip, that of a driven wheel, gives a positive "
            "longitudinal force. Turn the sign of F_x or that of kappa",
            stacklevel=3,
        )


def _pure(table: Measurements, other: str) -> Mask:
    return (np.abs(table[other]) < _ROLLING[other]) & (table.F_z > 0.0)


def _slope(table: Measurements, slip: str, force: str, pure: Mask) -> float:
    """Correlation of a force over load with small slip; 0 where the rows do not tell."""
    rows = table.where(pure & (np.abs(table[slip]) < _SMALL[slip]) & np.isfinite(table[force]))
    if len(rows) < _FEWEST:
        return 0.0
    x, y = rows[slip], rows[force] / rows.F_z
    if np.ptp(x) == 0.0 or np.ptp(y) == 0.0:
        return 0.0
    return float(np.corrcoef(x, y)[0, 1])
