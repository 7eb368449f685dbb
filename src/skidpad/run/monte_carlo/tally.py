"""What is kept of the runs while they pass: bands, extremes and events, not every state."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import record
from ...arrays import AnyArray, Array
from ...errors import InvalidValue
from ...trajectory.trajectory import Trajectory
from .intervals import quantile_ranks

Quantity = Callable[[Any], Any]
"""A function of the state record, its fields arrays with a number per run."""

CONFIDENCES = (0.9, 0.95, 0.99)
"""Of the intervals of quantiles that are kept unless others are asked for."""


class Tally:
    """Statistics of some quantities and events over all runs, taken step by step.

    Args:
        State: the record that quantities and events are functions of.
        quantities: functions of the state, by name.
        events: functions of the state that say whether something happens, by name.
        levels: quantiles to keep, from 0 to 1.
        samples: times at which they are taken.
        runs: how many there are.
        confidences: of the intervals of quantiles to keep, between 0 and 1.
    """

    def __init__(
        self,
        State: type,
        quantities: Mapping[str, Quantity],
        events: Mapping[str, Quantity],
        levels: Array,
        samples: int,
        runs: int,
        confidences: Sequence[float] = CONFIDENCES,
    ) -> None:
        self._State, self._quantities, self._events = State, quantities, events
        self.levels, self.confidences = levels, np.array(confidences)
        self.counted = np.zeros(samples, np.int64)
        """Runs that have not diverged."""
        shape = (samples, len(levels), len(self.confidences), 2)
        self._known_ranks = (0, np.empty(shape[1:], np.int64))
        self.intervals = {n: np.full(shape, np.nan) for n in quantities}
        self.quantiles = {n: np.full((samples, len(levels)), np.nan) for n in quantities}
        self.mean = {n: np.full(samples, np.nan) for n in quantities}
        self.std = {n: np.full(samples, np.nan) for n in quantities}
        self.highest = {n: Extreme(runs, 1.0) for n in quantities}
        self.lowest = {n: Extreme(runs, -1.0) for n in quantities}
        self.happened = {n: np.zeros(runs, bool) for n in events}
        self.share = {n: np.full(samples, np.nan) for n in events}

    def take(self, sample: int, states: Array) -> None:
        """Count the states (fields, runs) of one time; in runs that are NaN nothing happens."""
        alive: NDArray[np.bool_] = np.asarray(np.isfinite(states).all(axis=0))
        self.counted[sample] = alive.sum()
        if alive.any():
            x = record.unflatten(self._State, list(states))
            for name, quantity in self._quantities.items():
                self._take_quantity(name, sample, _numbers(name, quantity, x, len(alive)), alive)
            for name, event in self._events.items():
                self.happened[name] |= _truths(name, event, x, len(alive)) & alive
        for name, happened in self.happened.items():
            self.share[name][sample] = happened.mean()

    def along(self, name: str, run: Trajectory) -> Array:
        """A quantity at each sample of a trajectory with the states among its columns."""
        x = record.unflatten(self._State, [run[leaf] for leaf in record.names(self._State)])
        return _numbers(name, self._quantities[name], x, len(run))

    def unit(self, name: str) -> str:
        """Unit symbol of a quantity with the name of a state; empty for any other."""
        leaves = record.fields(self._State)
        return next((leaf.unit.symbol for leaf in leaves if leaf.name == name), "")

    def _take_quantity(self, name: str, sample: int, values: Array, alive: Any) -> None:
        self.highest[name].take(sample, values)
        self.lowest[name].take(sample, values)
        counted = values if alive.all() else values[alive]
        ordered = np.sort(counted)
        self.quantiles[name][sample] = _quantiles(ordered, self.levels)
        if not np.isnan(ordered[-1]):  # NaN is the last in order; nothing is known of its place
            ends = np.concatenate([[-np.inf], ordered, [np.inf]])
            self.intervals[name][sample] = ends[self._ranks(len(ordered))]
        # A run on its way to infinity may be too large to be squared, or there.
        with np.errstate(over="ignore", invalid="ignore"):
            self.mean[name][sample] = counted.mean()
            self.std[name][sample] = counted.std(ddof=1) if counted.size > 1 else 0.0

    def _ranks(self, runs: int) -> NDArray[np.int64]:
        """Ranks of the ends of intervals (levels, confidences, 2); those of the last number of runs
        are kept."""
        if self._known_ranks[0] != runs:
            pairs = [
                [quantile_ranks(runs, level, sure) for sure in self.confidences.tolist()]
                for level in self.levels.tolist()
            ]
            self._known_ranks = (runs, np.array(pairs))
        return self._known_ranks[1]


class Extreme:
    """The largest value of each run (with a sign of -1 the smallest), and its sample, -1 where
    there was no number at all."""

    def __init__(self, runs: int, sign: float) -> None:
        self._sign = sign
        self._most = np.full(runs, -np.inf)
        self.sample = np.full(runs, -1, np.int64)

    def take(self, sample: int, values: Array) -> None:
        """Compare with the values of one sample."""
        signed = values if self._sign > 0.0 else -values
        further = (signed > self._most) | ((self.sample < 0) & ~np.isnan(signed))
        self._most[further] = signed[further]
        self.sample[further] = sample

    @property
    def value(self) -> Array:
        """(runs,)"""
        return self._sign * self._most


def _quantiles(ordered: Array, levels: Array) -> Array:
    """Quantiles of values in order; between two that are infinite there is nothing to interpolate,
    and the nearer one it is."""
    with np.errstate(invalid="ignore"):
        quantiles = np.quantile(ordered, levels)
    nearest = np.rint(levels * (len(ordered) - 1)).astype(int)
    unknown = np.isnan(ordered[-1])  # NaN is the last in order
    return quantiles if unknown else np.where(np.isnan(quantiles), ordered[nearest], quantiles)


def _truths(name: str, event: Quantity, x: Any, runs: int) -> NDArray[np.bool_]:
    """Whether an event happens at a state of each run. A number is no answer: any but 0 would be
    "yes"."""
    values = _per_run("event", name, event, x, runs)
    if values.dtype != np.bool_:
        raise InvalidValue(
            f"event {name!r} must say True or False, as `lambda x: abs(x.y) > 0.3` does; it gave "
            f"{_shown(values)}"
        )
    return values


def _numbers(name: str, quantity: Quantity, x: Any, runs: int) -> Array:
    """A quantity at a state of each run."""
    values = _per_run("quantity", name, quantity, x, runs)
    if values.dtype.kind not in "biuf":
        raise InvalidValue(
            f"quantity {name!r} must give a number per run; it gave {_shown(values)}"
        )
    return values.astype(float, copy=False)


def _per_run(what: str, name: str, function: Quantity, x: Any, runs: int) -> AnyArray:
    try:
        values = np.asarray(function(x))
    except ValueError as error:
        if "truth value" not in str(error):
            raise
        raise InvalidValue(
            f"{what} {name!r} branches in Python (`if`, `and`, `or`, `min`, `max`) on fields that "
            "have a number per run; write (a) & (b), (a) | (b), or skidpad.ops.where, minimum, "
            "maximum"
        ) from error
    if values.shape != (runs,) and values.shape != ():
        raise InvalidValue(
            f"{what} {name!r} must give one number per run, {runs} of them; it gave shape "
            f"{values.shape}"
        )
    return np.broadcast_to(values, (runs,))


def _shown(values: AnyArray) -> str:
    first = values[0] if values.dtype == object else values.dtype
    return "None: a `return` may be missing" if first is None else f"{first}"
