"""The shortest stop of each variant: decelerations asked for side by side, ever closer to the best.

Nothing has to be known of tyres and brakes: harder is shorter until wheels lock, the lane is left,
or brakes give no more.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..components.tyre.contract import Contact
from ..components.tyre.tyre_set import each_tyre
from ..model import Vehicle
from ..units import m_s, m_s2, one, s
from .case import Case
from .case_run import CaseRun
from .subject import Subject

__all__ = ["LONGEST", "Grid", "hardest_stop", "time_to_stop", "tyre_deceleration"]

LONGEST: s = 60.0
"""Waited for a vehicle to stop."""
LONGER = 1.6
"""Than the best stop so far those are that come next."""


class Grid(NamedTuple):
    """How closely is looked for the best deceleration."""

    low: one = 0.25
    """First ones asked for, over the guess."""
    high: one = 2.0
    first: int = 8
    """How many these are."""
    at_once: int = 7
    """Those asked for after that, between two that are known."""
    resolution: one = 2e-4
    """To which the best is found, over itself."""
    rounds: int = 8
    """How often is asked at most."""


FINE = Grid()


def hardest_stop(
    v: m_s,
    guess: Array,
    cases: Callable[[Array, s], Sequence[Case]],
    way: Callable[[CaseRun], Array],
    grid: Grid = FINE,
) -> Generator[Sequence[Case], Sequence[CaseRun], tuple[Array, Array]]:
    """Decelerations to ask for (V,) with which variants stop on the shortest way from a speed, and
    those ways: `demand, ways = yield from hardest_stop(...)`.

    `guess` (V,) is about what can be reached. `cases(a, duration)` are the drives that ask for
    decelerations (V,), by drivers of all styles, and `way(run)` the ways to rest, (V,), infinite
    where a stop does not count. Where none does, the gentlest deceleration comes back.
    """
    new = np.geomspace(grid.low * guess, grid.high * guess, grid.first)
    levels, ways = np.empty((0, len(guess))), np.empty((0, len(guess)))
    duration = min(1.5 * v / float(new.min()), LONGEST)
    for _ in range(grid.rounds):
        drives = [cases(row, duration) for row in new]
        runs = yield [case for row in drives for case in row]
        new_ways = (
            np.stack([way(run) for run in runs]).reshape(len(new), -1, len(guess)).min(axis=1)
        )
        levels, ways = np.concatenate([levels, new]), np.concatenate([ways, new_ways])
        order = np.argsort(levels, axis=0)
        levels, ways = (np.take_along_axis(rows, order, axis=0) for rows in (levels, ways))
        if np.isinf(ways).all() and duration == LONGEST:
            break
        low, high = _around_best(levels, ways)
        if np.max(high / low) < 1.0 + grid.resolution:
            break
        shares = np.arange(1, grid.at_once + 1)[:, None] / (grid.at_once + 1.0)
        new = low * (high / low) ** shares
        duration = min(time_to_stop(v, ways.min(axis=0)), LONGEST)
    best, column = np.argmin(ways, axis=0), np.arange(len(guess))
    return levels[best, column], ways[best, column]


def time_to_stop(v: m_s, ways: Array) -> s:
    """How long to wait for stops from a speed about as long as these ways, (V,)."""
    known = ways[np.isfinite(ways)]
    # An even stop lasts 2 d / v.
    return LONGER * 2.0 * float(known.max()) / v if len(known) == len(ways) else LONGEST


def _around_best(levels: Array, ways: Array) -> tuple[Array, Array]:
    """Between which decelerations (V,) the best is, of known ones (S, V) in rising order."""
    best, column, last = np.argmin(ways, axis=0), np.arange(ways.shape[1]), len(ways) - 1
    above = np.minimum(best + 1, last)
    # Beyond a stop that counts there is one that does not: the limit is between them.
    limited = np.isinf(ways[above, column])
    low = np.where(limited, levels[best, column], levels[np.maximum(best - 1, 0), column])
    high = np.where(best == last, 2.0 * levels[last], levels[above, column])
    none = np.isinf(ways).all(axis=0)
    return np.where(none, 0.25 * levels[0], low), np.where(none, levels[0], high)


def tyre_deceleration(car: Subject) -> Array:
    """With all tyres at their longitudinal peak under the loads of a vehicle that stands, (V,); NaN
    where a model does not tell what its tyres give along the road."""
    return np.array([_tyre_deceleration(vehicle) for vehicle in car.each])


def _tyre_deceleration(vehicle: Vehicle) -> m_s2:
    p, shape = vehicle.params, vehicle.geometry
    tyres, g = getattr(p, "tyres", None), getattr(p, "g", 9.81)
    if tyres is None:
        return float("nan")
    ahead = (shape.centre_of_mass[0] - shape.rear_axle) / shape.wheel_base
    shares = (0.5 * ahead, 0.5 * ahead, 0.5 * (1.0 - ahead), 0.5 * (1.0 - ahead))
    pairs = list(zip(each_tyre(tyres), shares, strict=True))
    at = [Contact(F_z=share * shape.mass * g, p=tyre.pressure) for tyre, share in pairs]
    peaks = [tyre.peaks(contact).mu_x for (tyre, _), contact in zip(pairs, at, strict=True)]
    return g * float(sum(mu * share for mu, share in zip(peaks, shares, strict=True)))
