"""Searches shared by manoeuvres: each round drives many values at once, ever closer to the optimum.

`highest_clean` finds the highest value that a vehicle masters, `least_value` the setting that
minimises a value, and `hardest_stop` the shortest stop. Each value is driven by drivers of several
styles, so that the result is the limit of the vehicle and not that of one driver. The searches
assume little about tyres and brakes: harder braking is shorter until wheels lock, the lane is left,
or the brakes give no more.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...tyres.contract import Contact, each_tyre
from ...units import m_s, one, s
from .case import Case, G
from .case_run import CaseRun, pick
from .subject import Subject

SHARES = np.linspace(0.0, 1.0, 8)
"""Values driven at once, as shares of the range from a value that is too low to a value that is too
high."""

CLOSE = 9
"""Number of settings between the neighbours of the best one in the second round."""

Flags = NDArray[np.bool_]


class Limit(NamedTuple):
    """Result of a search for the highest clean value."""

    best: Array
    """Highest value below the first that failed, (V,); NaN if none was clean."""
    run: CaseRun
    """Run of each variant with that value, by the driver style that suits it best.

    With the lowest value where none was clean.
    """


def highest_clean(
    low: Array,
    high: Array,
    resolution: float,
    cases: Callable[[Array], Sequence[Case]],
    clean: Callable[[CaseRun], Flags],
    late: Callable[[CaseRun], Flags] = lambda run: np.zeros(run.variants, dtype=bool),
) -> Generator[Sequence[Case], Sequence[CaseRun], Limit]:
    """Search for the highest clean value in a range (V,): `limit = yield from highest_clean(...)`.

    `cases(values)` makes the cases for these values, one per driver style; `clean(run)` says which
    variants, (V,), were clean, and `late(run)` for which the value was too low for a verdict.
    """
    lowest, best, driven = low, np.full(low.shape, np.nan), list[tuple[Array, Sequence[CaseRun]]]()
    while not driven or np.max(high - low) > resolution:
        values = low + SHARES[:, None] * (high - low)
        # After the first round, both ends of the range have been driven.
        new: Array = values[1:-1] if driven else values
        drives = [cases(row) for row in new]
        runs = yield [case for row in drives for case in row]
        shape = len(new), len(drives[0]), len(low)
        # Whether the run of any style is clean, or late, by value and variant, (S, V).
        verdicts = (np.reshape([judge(run) for run in runs], shape) for judge in (clean, late))
        flags, slow = (np.logical_or.reduce(each, axis=1) for each in verdicts)
        driven += [(row, runs[k * shape[1] : (k + 1) * shape[1]]) for k, row in enumerate(new)]
        if len(new) < len(values):
            known = best == low
            none = np.zeros_like(known)
            flags, slow = np.stack([known, *flags, none]), np.stack([~known, *slow, none])
        passed, low, high = narrowed(values, flags, slow)
        best = _or_else(passed, best)
    shown = _or_else(best, lowest)
    same = (runs for values, runs in driven if np.array_equal(values, shown))
    # Variants with different limits reached them in different runs.
    runs = next(same, None) or (yield cases(shown))
    style = np.argmax(np.stack([clean(run) for run in runs]), axis=0)
    return Limit(best, pick(runs, style))


def _or_else(values: Array, otherwise: Array) -> Array:
    """Values, with `otherwise` in place of non-finite entries."""
    return np.where(np.isfinite(values), values, otherwise)


def narrowed(values: Array, clean: Flags, late: Flags | bool = False) -> tuple[Array, Array, Array]:
    """Highest clean value below the first that failed, and the range for the next round.

    `values` (S, V) are in rising order. The result is NaN where no value was clean. A value that is
    too low for a verdict does not count as failed.
    """
    fine = clean | late
    first = np.where(fine.all(axis=0), len(fine), np.argmin(fine, axis=0))
    column = np.arange(clean.shape[1])
    below = values[np.maximum(first - 1, 0), column]
    above = values[np.minimum(first, len(clean) - 1), column]
    mastered = clean & (np.arange(len(clean))[:, None] < first)
    best = np.where(mastered, values, -np.inf).max(axis=0)
    return np.where(mastered.any(axis=0), best, np.nan), below, above


def least_value(
    grid: Array, variants: int, case: Callable[[Array], Case], value: Callable[[CaseRun], Array]
) -> Generator[Sequence[Case], Sequence[CaseRun], tuple[Array, CaseRun]]:
    """Find the positive setting, (V,), that minimises a value of a run; also return the run with
    it.

    The settings of `grid`, in equal ratios, are driven first, then nine around the best, and last
    the minimum of a parabola through the best of these. The least value therefore has no steps: it
    is as smooth in the parameters of the vehicle as the runs are (envelope theorem). If the value
    jumps upwards beyond a setting, the best of all nine counts. Values that are not finite are
    ignored; if no run has a finite one, the first setting is driven.
    """
    levels, column = np.log(grid), np.arange(variants)
    runs = yield [case(np.full(variants, setting)) for setting in grid]
    best = np.argmin(_finite(runs, value), axis=0)
    centre = levels[np.clip(best, 1, len(grid) - 2)]
    near = (levels[1] - levels[0]) * np.linspace(-1.0, 1.0, CLOSE)
    runs = yield [case(np.exp(centre + shift)) for shift in near]
    values = _finite(runs, value)
    best = np.argmin(values, axis=0)
    middle = np.clip(best, 2, CLOSE - 3)
    five = values[middle + np.arange(-2, 3)[:, None], column]
    # Least squares of a parabola through five equidistant points z = -2 ... 2.
    z = np.arange(-2.0, 3.0)[:, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        bend, slope = ((z * z - 2.0) * five).sum(axis=0) / 14.0, (z * five).sum(axis=0) / 10.0
        vertex = -0.5 * slope / bend
    curved = np.isfinite(vertex) & (bend > 0.0)
    shift = np.where(curved, np.clip(vertex, -2.0, 2.0), best - middle)
    settings = np.exp(centre + near[:, None])
    vertices = np.exp(centre + near[middle] + (near[1] - near[0]) * shift)
    (last,) = yield [case(np.where(np.isfinite(values).any(axis=0), vertices, grid[0]))]
    at_vertex = np.nan_to_num(value(last), nan=np.inf)
    chosen = np.where(at_vertex <= values[best, column], CLOSE, best)
    setting = np.concatenate([settings, vertices[None]])[chosen, column]
    return setting, pick([*runs, last], chosen)


def _finite(runs: Sequence[CaseRun], value: Callable[[CaseRun], Array]) -> Array:
    """Values of runs, (S, V), with infinity in place of NaN."""
    return np.nan_to_num(np.stack([value(run) for run in runs]), nan=np.inf)


def known_understeer(car: Subject, v: m_s) -> float:
    """Understeer gradient at a speed that the driver compensates for, in rad·s²/m.

    0 for a vehicle whose tyres do not slip in turns, whatever limits its grip.
    """
    gradient = car.theory(v).bicycle.understeer_gradient
    return gradient if np.isfinite(gradient) else 0.0


LONGEST: s = 60.0
"""Longest wait for a vehicle to stop."""
LONGER = 1.6
"""Duration of the runs of the next round, relative to the best stop so far."""


class Grid(NamedTuple):
    """Resolution of the search for the best deceleration."""

    low: one = 0.25
    """Range of the first demands, relative to the guess."""
    high: one = 2.0
    first: int = 8
    """Number of the first demands."""
    at_once: int = 7
    """Number of demands in later rounds, between two known ones."""
    resolution: one = 2e-4
    """Relative resolution of the best demand."""
    rounds: int = 8
    """Largest number of rounds."""


FINE = Grid()


def hardest_stop(
    v: m_s,
    guess: Array,
    cases: Callable[[Array, s], Sequence[Case]],
    way: Callable[[CaseRun], Array],
    grid: Grid = FINE,
) -> Generator[Sequence[Case], Sequence[CaseRun], tuple[Array, Array]]:
    """Find the demanded decelerations (V,) with the shortest stopping distances.

        demand, ways = yield from hardest_stop(...)

    Args:
        v: initial speed.
        guess: deceleration that can about be reached, (V,).
        cases: `cases(a, duration)` makes the cases for decelerations (V,), one per driver style.
        way: stopping distances of a run, (V,); infinite where a stop does not count.
        grid: resolution of the search.

    Where no stop counts, the gentlest deceleration is returned.
    """
    new = np.geomspace(grid.low * guess, grid.high * guess, grid.first)
    levels, ways = np.empty((0, len(guess))), np.empty((0, len(guess)))
    duration = min(1.5 * v / float(new.min()), LONGEST)
    for _ in range(grid.rounds):
        drives = [cases(row, duration) for row in new]
        runs = yield [case for row in drives for case in row]
        of_runs = np.stack([way(run) for run in runs])
        new_ways = of_runs.reshape(len(new), -1, len(guess)).min(axis=1)
        levels, ways = np.concatenate([levels, new]), np.concatenate([ways, new_ways])
        order = np.argsort(levels, axis=0)
        levels, ways = (np.take_along_axis(rows, order, axis=0) for rows in (levels, ways))
        if np.isinf(ways).all() and duration == LONGEST:
            break
        best, column = np.argmin(ways, axis=0), np.arange(len(guess))
        above = np.minimum(best + 1, len(ways) - 1)
        # If the next larger demand after the best stop does not count, the limit is between the
        # two.
        limited = np.isinf(ways[above, column])
        low = np.where(limited, levels[best, column], levels[np.maximum(best - 1, 0), column])
        high = np.where(best == len(ways) - 1, 2.0 * levels[-1], levels[above, column])
        none = np.isinf(ways).all(axis=0)
        low, high = np.where(none, 0.25 * levels[0], low), np.where(none, levels[0], high)
        if np.max(high / low) < 1.0 + grid.resolution:
            break
        shares = np.arange(1, grid.at_once + 1)[:, None] / (grid.at_once + 1.0)
        new = low * (high / low) ** shares
        duration = min(time_to_stop(v, ways.min(axis=0)), LONGEST)
    best, column = np.argmin(ways, axis=0), np.arange(len(guess))
    return levels[best, column], ways[best, column]


def time_to_stop(v: m_s, ways: Array) -> s:
    """Time to wait for stops from a speed with about these stopping distances, (V,)."""
    known = ways[np.isfinite(ways)]
    # A stop with constant deceleration over the distance d lasts 2 d / v.
    return LONGER * 2.0 * float(known.max()) / v if len(known) == len(ways) else LONGEST


def tyre_deceleration(car: Subject) -> Array:
    """Deceleration with all tyres at their longitudinal peak under static loads, (V,).

    NaN where the model does not give longitudinal tyre forces.
    """
    most = np.full(car.variants, np.nan)
    for k, vehicle in enumerate(car.each):
        p, shape = vehicle.params, vehicle.geometry
        tyres, g = getattr(p, "tyres", None), getattr(p, "g", G)
        if tyres is None:
            continue
        ahead = (shape.centre_of_mass[0] - shape.rear_axle) / shape.wheel_base
        shares = (0.5 * ahead, 0.5 * ahead, 0.5 * (1.0 - ahead), 0.5 * (1.0 - ahead))
        peaks = [
            tyre.peaks(Contact(F_z=share * shape.mass * g, p=tyre.pressure)).mu_x
            for tyre, share in zip(each_tyre(tyres), shares, strict=True)
        ]
        most[k] = g * float(sum(mu * share for mu, share in zip(peaks, shares, strict=True)))
    return most
