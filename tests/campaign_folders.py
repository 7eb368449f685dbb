"""Plans and runs for tests of campaigns' folders: every number is told by the run's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from skidpad.core.arrays import AnyArray
from skidpad.study.folder import Folder

COLUMNS = [
    {"name": "x0.v_x", "unit": "m/s", "meaning": "speed at the start", "kind": "number"},
    {"name": "m", "unit": "kg", "meaning": "mass", "kind": "number"},
    {"name": "a_y", "unit": "m/s^2", "meaning": "largest", "kind": "number"},
    {"name": "failed", "unit": "", "meaning": "whether the run failed", "kind": "truth"},
]
NAMES = ("x0.v_x", "m", "a_y", "failed")
LATER = {"name": "slip", "unit": "rad", "meaning": "largest", "kind": "number"}
"""A column that is added to a plan."""


def plan(**changes: Any) -> dict[str, Any]:
    """A plan with these columns."""
    return {
        "name": "tests",
        "experiment": {"kind": "function", "digest": "0123"},
        "design": {"kind": "random", "runs": 1000},
        "seed": 7,
        "columns": COLUMNS,
        **changes,
    }


def rows(begin: int, end: int, *more: str) -> dict[str, AnyArray]:
    """Columns of runs; every seventh failed and has no number, some zeros are negative."""
    runs = np.arange(begin, end)
    failed = runs % 7 == 3
    columns: dict[str, AnyArray] = {
        "x0.v_x": runs / 3.0,
        "m": 1000.0 + np.sqrt(runs + 0.5),
        "a_y": np.where(failed, np.nan, np.where(runs % 5 == 0, -0.0, np.sin(runs) * 1e-3)),
        "failed": failed,
    }
    return columns | {name: np.cos(runs) for name in more}


def same_bits(one: AnyArray, other: AnyArray) -> bool:
    """Whether two columns are equal, NaN and signs of zeros included."""
    return one.dtype == other.dtype and one.tobytes() == other.tobytes()


def filled(where: str | Path, *ends: int) -> Folder:
    """A folder with parts up to these runs, one after the other."""
    folder = Folder.create(where, plan())
    for begin, end in zip((0, *ends), ends, strict=False):
        folder.write_part(begin, end, rows(begin, end))
    return folder
