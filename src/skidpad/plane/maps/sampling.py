"""Random poses in the free area of a map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...arrays import Array, Mask
from ...errors import InvalidValue
from ...units import m
from ..polygon import enclosed, ring_of
from .inputs import not_negative

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .map import Map

_LARGEST_DRAW = 100_000
_DRAWS = 2_000_000
"""Points tried before giving up."""


def sample_free(
    map_: Map, count: int, *, clearance: m = 0.0, seed: int = 0, within: Any = None
) -> Array:
    """The poses described at `Map.sample_free`."""
    if isinstance(count, bool) or not isinstance(count, (int, np.integer)) or count < 0:
        raise InvalidValue(f"count = {count!r} must be a whole number, at least 0")
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise InvalidValue(f"seed = {seed!r} must be a whole number, at least 0")
    clearance = not_negative("clearance", clearance, "m")
    rings = map_.fences if within is None else (ring_of("within", within),)
    low, high = _box(map_, rings)
    random = np.random.default_rng(seed)
    kept: list[Array] = []
    found = tried = 0
    while found < count:
        if tried >= _DRAWS:
            raise InvalidValue(
                f"map {map_.name!r}: only {found} of {tried} random points are free with "
                f"clearance = {clearance:g} m; asked for are {count}"
            )
        # Doubles with the number still missing, and grows where little is free.
        size = min(_LARGEST_DRAW, max(64, 2 * (count - found), tried))
        points = random.uniform(low, high, (size, 2))
        good = points[_is_good(map_, points, rings, clearance)]
        kept.append(good)
        found += len(good)
        tried += size
    points = np.concatenate(kept)[:count] if kept else np.empty((0, 2))
    return np.column_stack([points, random.uniform(-np.pi, np.pi, count)])


def _box(map_: Map, rings: Sequence[Array]) -> tuple[Array, Array]:
    if rings:
        points = np.concatenate(list(rings))
        return points.min(axis=0), points.max(axis=0)
    bounds = np.array(map_.bounds)
    return bounds[:2], bounds[2:]


def _is_good(map_: Map, points: Array, rings: Sequence[Array], clearance: m) -> Mask:
    good = map_.free(points)
    if rings:
        good &= np.any([enclosed(points, ring) for ring in rings], axis=0)
    if map_.grid is not None:
        good &= ~map_.grid.unknown_at(points)
    if clearance > 0.0 and not map_.empty:
        rows = np.flatnonzero(good)
        good[rows] = map_.nearest(points[rows]).distance >= clearance
    return good
