"""How much acceleration a vehicle has, and how often a run was near which one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...arrays import Array
from ...brief import shown
from ...errors import InvalidValue
from ...model import Vehicle
from .tyre_laws import G, tyre_laws

CELLS = 60
"""Cells across a diagram in which points are counted for their density."""


class Limit(NamedTuple):
    """Largest accelerations along and across, in m/s²: the half-axes of an ellipse."""

    along: float
    across: float


def limit_of(limit: Any) -> Limit:
    """A limit from a number in m/s², from two (along, across), or from a vehicle's tyres."""
    if isinstance(limit, Vehicle):
        return _vehicle_limit(limit)
    try:
        numbers = np.broadcast_to(np.asarray(limit, dtype=float), (2,))
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(
            f"limit = {shown(limit)} must be a vehicle, a number in m/s², or two (along, across)"
        ) from error
    if not (np.isfinite(numbers).all() and (numbers > 0.0).all()):
        raise InvalidValue(f"limit = {limit} m/s² must be finite and greater than 0")
    return Limit(*numbers.tolist())


def _vehicle_limit(vehicle: Vehicle) -> Limit:
    """Friction at the tyres' peaks times gravity; downforce comes on top of it."""
    p = vehicle.params
    if hasattr(p, "a_long_max") and hasattr(p, "a_lat_max"):
        return Limit(float(p.a_long_max), float(p.a_lat_max))
    law = tyre_laws(vehicle)[0]
    if law.peak is None:
        raise InvalidValue(f"the tyres of {vehicle.name!r} have no friction limit: give limit=")
    g = float(getattr(p, "g", G))
    return Limit(law.peak.along * g, law.peak.across * g)


def density(x: Array, y: Array, radius: float) -> Array:
    """How many points are near each point, as a share of the densest place."""
    edges = np.linspace(-radius, radius, CELLS + 1)
    counts, _, _ = np.histogram2d(x, y, bins=[edges, edges])
    rows, columns = (np.clip(np.searchsorted(edges, v, "right") - 1, 0, CELLS - 1) for v in (x, y))
    return counts[rows, columns] / max(1.0, counts.max())
