"""The recordings of CommonRoad's programs, and how far an answer is from them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from skidpad import Vehicle
from skidpad.core import record

FOLDER = Path(__file__).parents[2] / "data" / "commonroad"


@cache
def recording(name: str) -> dict[str, np.ndarray]:
    """The arrays of a file."""
    with np.load(FOLDER / f"{name}.npz") as file:
        return {key: file[key] for key in file.files if file[key].dtype.kind == "f"}


def rates(car: Vehicle, x: np.ndarray, u: np.ndarray, w: np.ndarray | None = None) -> np.ndarray:
    """Derivatives at many points, called on floats."""
    w = np.zeros((len(x), record.size(car.model.Disturbance))) if w is None else w
    kinds = (car.State, car.Input, car.model.Disturbance)
    rows: list[Any] = []
    for parts in zip(x.tolist(), u.tolist(), w.tolist(), strict=True):
        point = (record.unflatten(kind, row) for kind, row in zip(kinds, parts, strict=True))
        rows.append(record.flatten(car.derivative(*point)))
    return np.array(rows, dtype=float)


def deviation(got: np.ndarray, want: np.ndarray) -> float:
    """Largest difference, relative to the larger of the value and the scale of its column."""
    assert np.array_equal(np.isnan(got), np.isnan(want))
    scale = np.maximum(np.abs(want), np.nanmax(np.abs(want), axis=0))
    return float(np.nanmax(np.abs(got - want) / np.where(scale > 0.0, scale, 1.0)))
