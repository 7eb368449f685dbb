"""Loads, cambers and pressures come in steps: which there are, what lies between, averages.

A rig goes from one to the next in ramps, which belong to no step and are left out.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..arrays import AnyArray, Array
from ..errors import InvalidValue

BINS: Mapping[str, float] = {"F_z": 150.0, "gamma": np.deg2rad(0.6), "p": 5000.0}
"""How far values of a step may lie from its middle: N, rad, Pa."""
_LEAST_SHARE = 0.1
"""Rows of a step as part of those of the largest one; fewer are on the way from one to another."""
_REACH = 0.4
"""Part of the way to the next step that still belongs to a step."""


def levels(values: Array, bin_: float) -> Array:
    """The steps of a quantity: where most of its values lie, in rising order."""
    known = np.sort(values[np.isfinite(values)])
    middles, most = list[float](), 0
    while known.size:
        # The densest stretch as wide as a bin reaches to one side.
        counts = np.searchsorted(known, known + bin_, side="right") - np.arange(known.size)
        first = int(np.argmax(counts))
        count = int(counts[first])
        most = max(most, count)
        if count < _LEAST_SHARE * most:
            break
        middle = float(np.median(known[first : first + count]))
        if all(abs(middle - other) > bin_ for other in middles):
            middles.append(middle)
        known = np.delete(known, slice(first, first + count))
    return np.array(sorted(middles))


def step_of(values: Array, steps: Array, bin_: float) -> AnyArray:
    """The number of the step that each value belongs to; -1 for none."""
    if not steps.size:
        return np.zeros(len(values), dtype=int)  # nowhere known: all rows alike
    gaps = np.diff(steps, prepend=-np.inf, append=np.inf)
    reach = np.minimum(bin_, _REACH * np.minimum(gaps[:-1], gaps[1:]))
    distance = np.abs(values[:, None] - steps[None, :])
    nearest = np.argmin(np.where(np.isnan(distance), np.inf, distance), axis=1)
    away = distance[np.arange(len(values)), nearest]
    return np.where(away <= reach[nearest], nearest, -1)


def numbers_of_steps(
    columns: Mapping[str, Array], bins: Mapping[str, float] | None = None
) -> AnyArray:
    """Numbers of the steps of every row, a column per quantity of `bins`; -1 between steps."""
    widths = dict(BINS if bins is None else bins)
    for name, width in widths.items():
        if name not in BINS:
            raise InvalidValue(f"bins: {name!r} is unknown; allowed are {', '.join(BINS)}")
        if not width > 0.0:
            raise InvalidValue(f"bins: {name} = {width!r} must be greater than 0")
    if not widths:
        return np.zeros((len(columns["F_z"]), 1), dtype=int)
    return np.column_stack(
        [step_of(columns[n], levels(columns[n], w), w) for n, w in widths.items()]
    )


def means(values: Array, group: AnyArray, count: int) -> Array:
    """Mean of the known values of each group, NaN where none is."""
    known = np.isfinite(values)
    total = np.bincount(group, np.where(known, values, 0.0), count)
    number = np.bincount(group, known, count)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)
