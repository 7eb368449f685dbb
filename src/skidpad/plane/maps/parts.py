"""The parts that a map is made of, checked; errors name the part and what is allowed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import numpy as np

from ...arrays import Array
from ...brief import shown
from ...errors import InvalidValue
from ..polygon import frozen, points_of, ring_of
from .areas import Polygon

LINE_COLUMNS = ("s", "x", "y", "phi", "kappa", "w")
"""Columns of a centre line: m, m, m, rad, 1/m, and half the width in m."""


def polygon_of(name: str, shape: Any) -> Polygon:
    """A polygon from a ring, from rings, or from a `Polygon`."""
    try:
        flat = np.ndim(shape) == 2
    except ValueError:  # rings of different lengths
        flat = False
    if flat:
        return Polygon(ring_of(f"{name}, ring 0", shape))
    rings = [shape.outline, *shape.holes] if isinstance(shape, Polygon) else list(shape)
    if not rings:
        raise InvalidValue(f"{name} is empty: it needs an outline")
    outline, *holes = (ring_of(f"{name}, ring {k}", ring) for k, ring in enumerate(rings))
    return Polygon(outline, tuple(holes))


def rings_of(name: str, rings: Iterable[Any]) -> tuple[Array, ...]:
    """Rings, each checked."""
    return tuple(ring_of(f"{name} {k}", ring) for k, ring in enumerate(rings))


def segments_of(values: Any) -> Array:
    """Segments (n, 4), finite."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] != 4:
        raise InvalidValue(f"segments has shape {array.shape}; allowed is (n, 4)")
    ends = points_of("segments", array.reshape(-1, 2), 0, lambda k: f"segment {k // 2}")
    return cast("Array", frozen(ends.reshape(-1, 4)))


def centre_line_of(rows: Any) -> Array:
    """Rows of `LINE_COLUMNS`, at least 2, finite, with s that rises."""
    try:
        line = np.array(rows, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        columns = ", ".join(LINE_COLUMNS)
        raise InvalidValue(f"centre_line = {shown(rows)} must be rows of {columns}") from error
    if line.ndim != 2 or line.shape[1] != len(LINE_COLUMNS) or len(line) < 2:
        raise InvalidValue(
            f"centre_line has shape {line.shape}; allowed are at least 2 rows of "
            f"{', '.join(LINE_COLUMNS)}"
        )
    if not np.isfinite(line).all():
        row, column = np.argwhere(~np.isfinite(line))[0]
        raise InvalidValue(f"centre_line, row {row}: {LINE_COLUMNS[column]} must be finite")
    if not np.all(np.diff(line[:, 0]) > 0.0):
        row = int(np.argmin(np.diff(line[:, 0]) > 0.0)) + 1
        raise InvalidValue(f"centre_line, row {row}: s = {line[row, 0]:g} must rise")
    return frozen(line)
