"""Statistics of runs: means, quantiles and Sobol indices with confidence intervals.

SALib estimates the sensitivity indices from the runs of the design `Saltelli`; its bootstrap draws
from a fixed seed, so that the intervals are reproducible. `reason_against` and
`reason_for_no_interval` decide for which plans shares of runs are probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..core.arrays import AnyArray, Array
from ..core.checks import between, finite
from ..core.files import brief_repr, counted
from ..core.record import unknown_name
from ..errors import InvalidValue, require
from ..run.monte_carlo_runs import Probability, mean_bounds, quantile_ranks
from .experiment import RUN, Runs
from .folder import Folder


class Interval(NamedTuple):
    """A number estimated from runs, with its confidence interval."""

    value: float
    low: float
    """Lower end of the confidence interval; minus infinity where the runs are too few."""
    high: float
    """Upper end of the confidence interval; infinity where the runs are too few."""
    runs: int
    """Number of runs that are not NaN."""
    level: float
    """Confidence of the interval, such as 0.95."""
    reason: str = ""
    """Reason why there is no interval (its ends are NaN); empty otherwise."""

    def __str__(self) -> str:
        if self.reason:
            return f"{self.value:.4g} ({self.runs} runs; no interval: {self.reason})"
        bounds = f"{self.low:.4g} to {self.high:.4g} with {self.level:.0%} confidence"
        return f"{self.value:.4g} ({bounds}; {self.runs} runs)"


class Share(Probability):
    """A share of runs without a confidence interval, whose ends are NaN."""

    reason: str = ""
    """Reason why there is no interval."""

    def __str__(self) -> str:
        of = f"{self.happened} of {self.runs} runs"
        return f"{self.value:.4g} ({of}; no interval: {self.reason})"


def share_of(one: Probability, reason: str) -> Share:
    made = Share(one.value, np.nan, np.nan, one.happened, one.runs, one.level)
    made.reason = reason
    return made


class QuantilePlaces(NamedTuple):
    """Ranks, from 0, in the ordered values, of those that determine a quantile and its interval."""

    below: int
    above: int
    part: float
    """Weight of the value at `above`; the remainder is the weight of the value at `below`."""
    low: int
    """Rank of the lower end; below 0 if the runs are too few."""
    high: int
    """Rank of the upper end; beyond the last if the runs are too few."""

    @classmethod
    def of(cls, runs: int, share: float, level: float) -> QuantilePlaces:
        place = share * (runs - 1)
        below = min(int(place), runs - 1)
        low, high = quantile_ranks(runs, share, level)
        return cls(below, min(below + 1, runs - 1), place - below, low - 1, high - 1)

    def interval(self, value_at: Callable[[int], float], runs: int, level: float) -> Interval:
        """Quantile with its interval, from the values at these ranks."""
        below, above = value_at(self.below), value_at(self.above)
        # Infinite values cannot be interpolated.
        value = below if below == above or not self.part else below + self.part * (above - below)
        low = value_at(self.low) if self.low >= 0 else -np.inf
        high = value_at(self.high) if self.high < runs else np.inf
        # With few runs, even the first lies beyond a quantile such as 0.1 %.
        return Interval(min(max(value, low), high), low, high, runs, level)


def mean_of(values: Array, level: float = 0.95) -> Interval:
    """Mean of independent values, with its interval from Student's distribution."""
    if not values.size:
        raise InvalidValue("no run has a number: there is no mean")
    if not np.isfinite(values).all():
        with np.errstate(invalid="ignore"):
            return mean_interval(float(values.mean()), math.nan, values.size, level)
    # Exact sums, so that the result depends neither on the order nor on the machine.
    mean = math.fsum(values.tolist()) / values.size
    square = math.fsum(((values - mean) ** 2).tolist())
    return mean_interval(mean, math.sqrt(square / max(values.size - 1, 1)), values.size, level)


def mean_interval(mean: float, std: float, runs: int, level: float) -> Interval:
    """Mean with its interval, from mean, standard deviation and number of the values."""
    low, high = mean_bounds(np.asarray(mean), np.asarray(std), runs, level)
    if not np.isfinite(mean):
        return Interval(mean, -np.inf, np.inf, runs, level)
    return Interval(mean, float(low), float(high), runs, level)


def quantile_of(values: Array, share: float, level: float = 0.95) -> Interval:
    """Value below which a share of independent values lies, with its distribution-free interval."""
    if not 0.0 <= finite("share", share) <= 1.0:
        raise InvalidValue(f"share = {share} must be from 0 to 1")
    if not values.size:
        raise InvalidValue("no run has a number: there is no quantile")
    ordered = np.sort(values)
    places = QuantilePlaces.of(values.size, share, level)
    return places.interval(lambda k: float(ordered[k]), values.size, level)


_RESAMPLES = 100
"""Number of bootstrap resamples."""
_AT_ONCE = 1_000_000
"""Number of values that are resampled at a time, to bound the memory."""
_SEED = 1
"""Seed of the bootstrap; SALib ignores 0."""


class SobolIndices(NamedTuple):
    """Sobol indices: shares of the variance that the factors explain, with confidence intervals."""

    factors: tuple[str, ...]
    first: Array
    """First-order index of each factor, (factors,); estimates may lie slightly outside of 0 to
    1."""
    first_low: Array
    first_high: Array
    total: Array
    """Total index of each factor, interactions included, (factors,)."""
    total_low: Array
    total_high: Array
    samples: int
    """Number of blocks of runs that the estimate uses."""
    left_out: int
    """Number of blocks that are left out because a run or a number is missing."""
    level: float

    __repr__ = brief_repr

    def __str__(self) -> str:
        lines = [
            f"{name}: {self.first[k]:.3f} ({self.first_low[k]:.3f} to {self.first_high[k]:.3f}) "
            f"alone, {self.total[k]:.3f} ({self.total_low[k]:.3f} to {self.total_high[k]:.3f}) "
            "with others"
            for k, name in enumerate(self.factors)
        ]
        less = f", {self.left_out} left out" if self.left_out else ""
        return "\n".join([*lines, f"{counted(self.samples, 'sample')}{less}"])


def sobol_indices(folder: Folder, name: str, level: float = 0.95) -> SobolIndices:
    """Sobol indices of a column; raises unless the design is `Saltelli`."""
    design, factors = folder.plan["design"], tuple(folder.plan["factors"])
    if design.get("kind") != "saltelli":
        raise InvalidValue(
            f"design = {design.get('kind')!r}: Sobol's indices need the runs of Saltelli"
        )
    known = [column.name for column in folder.columns if column.name not in factors]
    if name not in known:
        raise InvalidValue(unknown_name("the campaign", name, known, "column"))
    between("level", level, 0.0, 1.0, hint=", such as 0.95")
    second, block = bool(design.get("second_order")), _saltelli_block(folder.plan)
    read = folder.read((RUN, name))
    samples, place = np.divmod(read[RUN], block)
    count = int(samples.max()) + 1 if len(samples) else 0
    table = np.full((count, block), np.nan)
    table[samples, place] = np.asarray(read[name], float)
    begun = np.zeros(count, bool)
    begun[samples] = True
    complete = np.isfinite(table).all(axis=1)
    values, left_out = table[complete], int((begun & ~complete).sum())
    if len(values) < 2:
        raise InvalidValue(
            f"{name}: {counted(len(values), 'sample')} of {block} runs have a number in all of "
            "them; at least 2 are needed"
        )
    ends = values[:, [0, -1]]
    if np.ptp(ends) == 0.0:
        raise InvalidValue(f"{name} = {ends[0, 0]:g} in all runs: there is no variance to explain")
    first, total = _estimate(values, factors, second, level)
    return SobolIndices(factors, *first, *total, len(values), left_out, level)


def _saltelli_block(plan: Mapping[str, Any]) -> int:
    return (2 if plan["design"].get("second_order") else 1) * len(plan["factors"]) + 2


_Ends: TypeAlias = tuple[Array, Array, Array]
"""Values with the lower and upper ends of their intervals."""


def _estimate(
    values: Array, factors: tuple[str, ...], second: bool, level: float
) -> tuple[_Ends, _Ends]:
    sobol: Any = require("SALib.analyze.sobol", purpose="Study.sensitivity")
    problem = {"num_vars": len(factors), "names": list(factors)}
    # Runs for the indices of pairs are not needed.
    outputs = values[:, [*range(len(factors) + 1), -1]] if second else values
    at_once = min(max(_AT_ONCE // len(values), 2), _RESAMPLES)
    analyses: list[Any] = [
        sobol.analyze(
            problem,
            outputs.ravel(),
            calc_second_order=False,
            num_resamples=at_once,
            keep_resamples=True,
            seed=_SEED + k,
        )
        for k in range(-(-_RESAMPLES // at_once))
    ]
    return _ends(analyses, "S1", level), _ends(analyses, "ST", level)


def _ends(analyses: list[Any], name: str, level: float) -> _Ends:
    """Indices with interval ends from the scatter of all resamples, as in SALib."""
    from scipy.special import ndtri

    value = np.asarray(analyses[0][name], float)
    resampled = np.concatenate([one[f"{name}_conf_all"] for one in analyses])
    reach = float(ndtri(0.5 + 0.5 * level)) * resampled.std(axis=0, ddof=1)
    return value, value - reach, value + reach


_RANDOM = ("random", "converging", "latin_hypercube", "sobol", "saltelli")
_ADAPTIVE = ("refinement", "subset_simulation")
_LISTED = ("grid", "table")


def reason_against(plan: Mapping[str, Any], *, listed: bool = False) -> str:
    """Reason why shares of the runs of a plan are not probabilities; empty if they are.

    Runs of a grid or a table are listed, not random; with `listed` they are accepted, as equally
    likely.
    """
    kind = plan["design"].get("kind", "")
    if kind in _ADAPTIVE:
        return f"the runs of a {kind.replace('_', ' ')} were chosen by what came out of others"
    if kind in _RANDOM or listed:
        return ""
    if kind in _LISTED:
        return f"the runs of a {kind} were listed, not drawn"
    return f"whether the runs of the design {kind!r} were drawn is not known"


def reason_for_no_interval(plan: Mapping[str, Any], column: str) -> str:
    """Reason why the usual confidence interval of a column is not valid; empty if it is."""
    design = plan["design"]
    if design.get("kind") == "converging" and design.get("column") == column:
        return f"the design looked at {column} until it was narrow; the one that holds is its own"
    return reason_against(plan)


def independent(plan: Mapping[str, Any], runs: Runs) -> AnyArray:
    """Mask of the independent runs: all runs, except in a Saltelli design, where only the first and
    the last run of each block count, since the others combine these."""
    if plan["design"].get("kind") != "saltelli":
        return np.ones(len(runs), bool)
    block = _saltelli_block(plan)
    place = runs % block
    return (place == 0) | (place == block - 1)
