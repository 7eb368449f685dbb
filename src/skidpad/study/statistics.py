"""Numbers of all runs with how sure they are.

Sobol's sensitivity indices of a campaign: which factor explains how much of a column's variance.

SALib estimates them from the runs of the design `Saltelli`; its bootstrap draws from a fixed seed,
so that the intervals are the same whenever they are asked for.

Which runs stand for all that the factors allow, so that shares of them are probabilities.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from ..core.arrays import AnyArray, Array
from ..core.checks import finite
from ..core.files import brief_repr, counted
from ..core.record import unknown_name
from ..errors import InvalidValue, require
from ..run.monte_carlo_runs import Probability, mean_bounds, quantile_ranks
from .experiment import RUN, Runs
from .folder import Folder


class Interval(NamedTuple):
    """A number estimated from runs, with the interval that holds it."""

    value: float
    low: float
    """Lower end of the confidence interval; minus infinity where the runs are too few."""
    high: float
    """Upper end of the confidence interval; infinity where the runs are too few."""
    runs: int
    """That have a number."""
    level: float
    """Confidence of the interval, such as 0.95."""
    reason: str = ""
    """Why there is no interval, whose ends are NaN then; empty if there is one."""

    def __str__(self) -> str:
        if self.reason:
            return f"{self.value:.4g} ({self.runs} runs; no interval: {self.reason})"
        bounds = f"{self.low:.4g} to {self.high:.4g} with {self.level:.0%} confidence"
        return f"{self.value:.4g} ({bounds}; {self.runs} runs)"


class Share(Probability):
    """A share of runs that has no interval: its ends are NaN."""

    reason: str = ""
    """Why there is none."""

    def __str__(self) -> str:
        of = f"{self.happened} of {self.runs} runs"
        return f"{self.value:.4g} ({of}; no interval: {self.reason})"


def share_of(one: Probability, reason: str) -> Share:
    """The share without its interval."""
    made = Share(one.value, np.nan, np.nan, one.happened, one.runs, one.level)
    made.reason = reason
    return made


class QuantilePlaces(NamedTuple):
    """Which of values in order, counted from 0, a quantile and its interval are told from."""

    below: int
    above: int
    part: float
    """Of the way from the value at `below` to that at `above`."""
    low: int
    """Below 0 where the runs are too few."""
    high: int
    """Beyond the last where the runs are too few."""

    @classmethod
    def of(cls, runs: int, share: float, level: float) -> QuantilePlaces:
        """Of so many values."""
        place = share * (runs - 1)
        below = min(int(place), runs - 1)
        low, high = quantile_ranks(runs, share, level)
        return cls(below, min(below + 1, runs - 1), place - below, low - 1, high - 1)

    def interval(self, value_at: Callable[[int], float], runs: int, level: float) -> Interval:
        """The quantile, from the values at these places."""
        below, above = value_at(self.below), value_at(self.above)
        # Infinite values have no way between them.
        value = below if below == above or not self.part else below + self.part * (above - below)
        low = value_at(self.low) if self.low >= 0 else -np.inf
        high = value_at(self.high) if self.high < runs else np.inf
        # Of few runs the first already is beyond a quantile as far out as 0.1 %.
        return Interval(min(max(value, low), high), low, high, runs, level)


def mean_of(values: Array, level: float = 0.95) -> Interval:
    """Mean of independent values, with its interval by Student's distribution."""
    if not values.size:
        raise InvalidValue("no run has a number: there is no mean")
    if not np.isfinite(values).all():
        with np.errstate(invalid="ignore"):
            return mean_interval(float(values.mean()), math.nan, values.size, level)
    # Exact sums: neither the order of the values nor the machine shows.
    mean = math.fsum(values.tolist()) / values.size
    square = math.fsum(((values - mean) ** 2).tolist())
    return mean_interval(mean, math.sqrt(square / max(values.size - 1, 1)), values.size, level)


def mean_interval(mean: float, std: float, runs: int, level: float) -> Interval:
    """The mean of so many values that have this mean and standard deviation."""
    low, high = mean_bounds(np.asarray(mean), np.asarray(std), runs, level)
    if not np.isfinite(mean):
        return Interval(mean, -np.inf, np.inf, runs, level)
    return Interval(mean, float(low), float(high), runs, level)


def quantile_of(values: Array, share: float, level: float = 0.95) -> Interval:
    """The value below which a share of independent values lies, with its distribution-free
    interval."""
    if not 0.0 <= finite("share", share) <= 1.0:
        raise InvalidValue(f"share = {share} must be from 0 to 1")
    if not values.size:
        raise InvalidValue("no run has a number: there is no quantile")
    ordered = np.sort(values)
    places = QuantilePlaces.of(values.size, share, level)
    return places.interval(lambda k: float(ordered[k]), values.size, level)


_RESAMPLES = 100
"""Of the bootstrap."""
_AT_ONCE = 1_000_000
"""Numbers that are drawn at a time, so that memory does not grow with the resamples."""
_SEED = 1
"""Not 0, which SALib takes for none."""


class SobolIndices(NamedTuple):
    """How much of the variance each factor explains, with confidence intervals."""

    factors: tuple[str, ...]
    first: Array
    """By each factor alone, (factors,); estimates may lie a little outside of 0 to 1."""
    first_low: Array
    first_high: Array
    total: Array
    """By each factor with all that it does together with others, (factors,)."""
    total_low: Array
    total_high: Array
    samples: int
    """Blocks of runs that were counted."""
    left_out: int
    """Blocks with a run that is not done or has no finite number: left out as a whole."""
    level: float
    """Confidence of the intervals, such as 0.95."""

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
    """The indices of a column; raises unless the design is `Saltelli`."""
    design, factors = folder.plan["design"], tuple(folder.plan["factors"])
    if design.get("kind") != "saltelli":
        raise InvalidValue(
            f"design = {design.get('kind')!r}: Sobol's indices need the runs of Saltelli"
        )
    known = [column.name for column in folder.columns if column.name not in factors]
    if name not in known:
        raise InvalidValue(unknown_name("the campaign", name, known, "column"))
    if not 0.0 < finite("level", level) < 1.0:
        raise InvalidValue(f"level = {level} must be between 0 and 1, such as 0.95")
    second = bool(design.get("second_order"))
    block = (2 if second else 1) * len(factors) + 2
    read = folder.read((RUN, name))
    values, left_out = _whole_blocks(read[RUN], np.asarray(read[name], float), block)
    if len(values) < 2:
        raise InvalidValue(
            f"{name}: {counted(len(values), 'sample')} of {block} runs have a number in all of "
            "them; at least 2 are needed"
        )
    ends = values[:, [0, -1]]
    if np.ptp(ends) == 0.0:
        raise InvalidValue(f"{name} = {ends[0, 0]:g} in all runs: there is no variance to explain")
    first, total = _estimated(values, factors, second, level)
    return SobolIndices(factors, *first, *total, len(values), left_out, level)


def _whole_blocks(runs: AnyArray, values: Array, block: int) -> tuple[Array, int]:
    """Values (samples, block) of the blocks that have a finite number in each run, and how many
    others have been begun."""
    samples, place = np.divmod(runs, block)
    count = int(samples.max()) + 1 if len(runs) else 0
    table = np.full((count, block), np.nan)
    table[samples, place] = values
    begun = np.zeros(count, bool)
    begun[samples] = True
    whole = np.isfinite(table).all(axis=1)
    return table[whole], int((begun & ~whole).sum())


_Ends: TypeAlias = tuple[Array, Array, Array]
"""Values with their lower and upper ends."""


def _estimated(
    values: Array, factors: tuple[str, ...], second: bool, level: float
) -> tuple[_Ends, _Ends]:
    """First and total indices."""
    sobol: Any = require("SALib.analyze.sobol", purpose="Study.sensitivity")
    problem = {"num_vars": len(factors), "names": list(factors)}
    # Indices of pairs are not asked for, so their runs are left aside.
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
    """From the scatter of all resamples, as SALib does it."""
    from scipy.special import ndtri

    value = np.asarray(analyses[0][name], float)
    resampled = np.concatenate([one[f"{name}_conf_all"] for one in analyses])
    reach = float(ndtri(0.5 + 0.5 * level)) * resampled.std(axis=0, ddof=1)
    return value, value - reach, value + reach


_DRAWN = ("random", "converging", "latin_hypercube", "sobol", "saltelli")
_CHOSEN = ("refinement", "subset_simulation")
_LISTED = ("grid", "table")


def reason_against(plan: Mapping[str, Any], *, listed: bool = False) -> str:
    """Why shares of the runs of a plan are no probabilities; empty if they are.

    Runs of a grid or a table are what somebody has listed, not drawn: `listed` takes them for drawn
    ones, each as likely as the other.
    """
    kind = plan["design"].get("kind", "")
    if kind in _CHOSEN:
        return f"the runs of a {kind.replace('_', ' ')} were chosen by what came out of others"
    if kind in _DRAWN or listed:
        return ""
    if kind in _LISTED:
        return f"the runs of a {kind} were listed, not drawn"
    return f"whether the runs of the design {kind!r} were drawn is not known"


def reason_for_no_interval(plan: Mapping[str, Any], column: str) -> str:
    """Why no ordinary confidence interval of a column holds; empty if one does."""
    design = plan["design"]
    if design.get("kind") == "converging" and design.get("column") == column:
        return f"the design looked at {column} until it was narrow; the one that holds is its own"
    return reason_against(plan)


def independent(plan: Mapping[str, Any], runs: Runs) -> AnyArray:
    """Which of these runs were drawn, rather than put together from others: all, but of the blocks
    of a Saltelli design the first and the last only."""
    design = plan["design"]
    if design.get("kind") != "saltelli":
        return np.ones(len(runs), bool)
    block = (2 if design.get("second_order") else 1) * len(plan["factors"]) + 2
    place = runs % block
    return (place == 0) | (place == block - 1)
