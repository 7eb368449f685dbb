"""Fans of many runs: bands that hold shares of them over time, the median, and single ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ... import record
from ...arrays import Array
from ...errors import InvalidValue
from ...model import Vehicle
from ...run.monte_carlo import MonteCarlo
from ..panels import DEGREES
from .names import titled
from .sheet import BLUE, INK, Axis, Band, Cell, Curve, Diagram, Mark, Rule, Sheet

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
WORST = "#D55E00"


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
    some = [study.replay(study.seed_of(run)) for run in study.numbers[:lines]]
    made: list[Fan] = []
    for name in names:
        furthest = [study.replay(case) for case in study.worst(name, worst)] if worst else []
        made.append(
            Fan(
                name,
                units.get(name, study.unit(name)),
                study.t,
                study.levels,
                np.column_stack([study.quantile(name, level) for level in study.levels]),
                tuple(study.along(name, run) for run in some),
                tuple(study.along(name, run) for run in furthest),
            )
        )
    return made


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
    kept = np.unique(np.asarray(levels, dtype=float))
    if not kept.size or not ((kept >= 0.0) & (kept <= 1.0)).all():
        raise InvalidValue(f"levels = {list(levels)} must lie between 0 and 1")
    if table.ndim not in (2, 3) or table.shape[0] != time.size or not table.shape[1]:
        raise InvalidValue(
            f"samples must have shape (T, B) or (T, B, nx) with T = {time.size} times as in t, "
            f"got {table.shape}"
        )
    made: list[Fan] = []
    for name in names:
        values, unit = _column(table, name, vehicle)
        made.append(
            Fan(
                name,
                units.get(name, unit),
                time,
                tuple(kept.tolist()),
                _quantiles(values, kept),
                tuple(values[:, k] for k in range(min(lines, values.shape[1]))),
            )
        )
    return made


def _column(table: Array, name: str, vehicle: Vehicle | type | None) -> tuple[Array, str]:
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
    found = np.full((len(values), len(levels)), np.nan)
    some = np.isfinite(values).any(axis=1)
    finite = np.where(np.isfinite(values), values, np.nan)
    if some.any():
        found[some] = np.nanquantile(finite[some], levels, axis=1).T
    return found


def fan_sheet(fans: Sequence[Fan], *, rules: Mapping[str, Sequence[float]], title: str) -> Sheet:
    """A diagram per quantity, up to three beside each other."""
    across = min(len(fans), 3)
    rows = -(-len(fans) // across)
    cells = [
        Cell(fan_diagram(fan, rules.get(fan.name, ())), *divmod(k, across))
        for k, fan in enumerate(fans)
    ]
    keys: dict[str, Any] = {}
    for cell in cells:
        for mark in cell.diagram.marks:
            if isinstance(mark, (Band, Curve)):
                keys.setdefault(mark.label, mark)
    width = 6.0 if across == 1 else 4.2
    return Sheet(
        tuple(cells), (width,) * across, (3.4,) * rows, title=title, keys=tuple(keys.values())
    )


def fan_diagram(fan: Fan, rules: Sequence[float] = ()) -> Diagram:
    """Bands between levels that lie opposite each other, wide ones behind."""
    by = float(np.rad2deg(1.0)) if fan.unit in DEGREES else 1.0
    marks: list[Mark] = [Rule(by * at) for at in rules]
    for k, (low, high) in enumerate(_pairs(fan.levels)):
        share = fan.levels[high] - fan.levels[low]
        ends = (by * fan.quantiles[:, low], by * fan.quantiles[:, high])
        marks.append(Band(fan.t, *ends, f"{100.0 * share:.3g} % of the runs", BLUE, 0.22 + 0.1 * k))
    thin = Curve(np.empty(0), np.empty(0), "single runs", BLUE, width=0.5, opacity=0.6)
    marks += [thin._replace(x=fan.t[: v.size], y=by * v) for v in fan.lines]
    marks += [Curve(fan.t[: v.size], by * v, "highest", WORST, width=1.1) for v in fan.worst]
    if 0.5 in fan.levels:
        middle = by * fan.quantiles[:, fan.levels.index(0.5)]
        marks.append(Curve(fan.t, middle, "median", INK, width=1.7))
    unit = DEGREES.get(fan.unit, fan.unit)
    return Diagram(
        tuple(marks),
        f"{titled(fan.name)} [{unit}]" if unit else titled(fan.name),
        x=Axis("time [s]", low=float(fan.t[0]), high=float(fan.t[-1])),
        legend="none",
    )


def _pairs(levels: Sequence[float]) -> list[tuple[int, int]]:
    """Places of levels that lie opposite each other about the middle, the widest first."""
    last = len(levels) - 1
    return [(k, last - k) for k in range((last + 1) // 2) if levels[k] < levels[last - k]]
