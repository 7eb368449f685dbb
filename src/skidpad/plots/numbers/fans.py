"""Many runs as shares of them: quantiles of a quantity over time, and single runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ... import record
from ...arrays import Array
from ...errors import InvalidValue
from ...model import Vehicle
from ...run.monte_carlo import MonteCarlo


class Fan(NamedTuple):
    """A quantity of many runs over time, in SI units."""

    name: str
    unit: str
    """Symbol of the SI unit."""
    t: Array
    """In s."""
    levels: tuple[float, ...]
    """Increasing."""
    quantiles: Array
    """(T, levels)"""
    lines: tuple[Array, ...] = ()
    """Some single runs."""
    worst: tuple[Array, ...] = ()
    """Runs that stand out."""


def study_fans(
    study: MonteCarlo, names: Sequence[str], *, lines: int, worst: int, units: Mapping[str, str]
) -> list[Fan]:
    """Fans of quantities of a Monte Carlo; single runs are run again."""
    replays = [study.replay(study.seed_of(run)) for run in study.numbers[:lines]]
    fans: list[Fan] = []
    for name in names:
        furthest = [study.replay(case) for case in study.worst(name, worst)] if worst else []
        fans.append(
            Fan(
                name,
                units.get(name, study.unit(name)),
                study.t,
                study.levels,
                np.column_stack([study.quantile(name, level) for level in study.levels]),
                tuple(study.along(name, run) for run in replays),
                tuple(study.along(name, run) for run in furthest),
            )
        )
    return fans


def array_fans(
    samples: ArrayLike,
    names: Sequence[str],
    *,
    t: ArrayLike,
    vehicle: Vehicle | type | None,
    levels: Sequence[float],
    lines: int,
    units: Mapping[str, str],
) -> list[Fan]:
    """Fans of what `Fleet.rollout` gave, (T, B, nx), or of one quantity (T, B); NaN is left out."""
    table = np.asarray(samples, dtype=float)
    time = np.asarray(t, dtype=float)
    shares = np.unique(np.asarray(levels, dtype=float))
    if not shares.size or not ((shares >= 0.0) & (shares <= 1.0)).all():
        raise InvalidValue(f"levels = {list(levels)} must lie between 0 and 1")
    if table.ndim not in (2, 3) or table.shape[0] != time.size or not table.shape[1]:
        raise InvalidValue(
            f"samples must have shape (T, B) or (T, B, nx) with T = {time.size} times as in t, "
            f"got {table.shape}"
        )
    fans: list[Fan] = []
    for name in names:
        values, unit = _column(table, name, vehicle)
        fans.append(
            Fan(
                name,
                units.get(name, unit),
                time,
                tuple(shares.tolist()),
                _quantiles(values, shares),
                tuple(values[:, k] for k in range(min(lines, values.shape[1]))),
            )
        )
    return fans


def _column(table: Array, name: str, vehicle: Vehicle | type | None) -> tuple[Array, str]:
    """Values (T, B) of a quantity and its unit."""
    if table.ndim == 2:
        return table, ""
    if vehicle is None:
        raise InvalidValue("samples (T, B, nx) need vehicle=, whose states they are")
    State = vehicle.State if isinstance(vehicle, Vehicle) else vehicle
    fields = record.fields(State)
    known = [f.name for f in fields]
    if name not in known:
        raise InvalidValue(record.unknown_name("State", name, known, "quantity"))
    if table.shape[2] != len(known):
        raise InvalidValue(
            f"samples have {table.shape[2]} states, but {State.__qualname__} has {len(known)}"
        )
    place = known.index(name)
    return table[:, :, place], fields[place].unit.symbol


def _quantiles(values: Array, levels: Array) -> Array:
    """(T, levels); NaN at times of which no run is left."""
    quantiles = np.full((len(values), len(levels)), np.nan)
    known = np.isfinite(values).any(axis=1)
    finite = np.where(np.isfinite(values), values, np.nan)
    if known.any():
        quantiles[known] = np.nanquantile(finite[known], levels, axis=1).T
    return quantiles


def opposite(levels: Sequence[float]) -> list[tuple[int, int]]:
    """Places of levels that lie opposite each other about the middle, the widest first."""
    last = len(levels) - 1
    return [(k, last - k) for k in range((last + 1) // 2) if levels[k] < levels[last - k]]
