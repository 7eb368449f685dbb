"""From the columns of a file to measurements: rows that lack a condition are left out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..files import reading
from .measurement_names import CONDITIONS
from .measurement_table import Measurements


def usable(
    file: Path, columns: Mapping[str, Any], label: Any, notes: tuple[str, ...] = ()
) -> Measurements:
    """The rows of a file that say load, slip and camber. What else is wrong raises, with the file
    before it."""
    with reading(file, "cannot be used"):
        arrays = {name: np.asarray(values, dtype=float) for name, values in columns.items()}
        rows = max((a.size for a in arrays.values() if a.ndim), default=1)
        known = np.ones(rows, dtype=bool)
        for name in CONDITIONS:
            known &= ~np.isnan(arrays.get(name, np.zeros(1)))
        gaps = int(np.count_nonzero(~known))
        if gaps:
            notes = (*notes, f"{file.name}: {gaps} of {rows} rows lack load, slip or camber")
            arrays = {name: a[known] if a.ndim else a for name, a in arrays.items()}
            label = label[known] if np.ndim(label) else label
        return Measurements(**arrays, label=label, notes=notes)
