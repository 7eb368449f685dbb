"""How sure runs make one: confidence intervals of probabilities, means and quantiles."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...arrays import Array
from ...checks import finite
from ...errors import InvalidValue


class Probability(NamedTuple):
    """A probability estimated from runs, with the interval that holds it."""

    value: float
    """Share of the runs, from 0 to 1."""
    low: float
    """Lower end of the confidence interval."""
    high: float
    """Upper end of the confidence interval."""
    happened: int
    """Runs in which it happened."""
    runs: int
    """All runs that count."""
    level: float
    """Confidence of the interval, such as 0.95."""

    def __str__(self) -> str:
        bounds = f"{self.low:.4g} to {self.high:.4g} with {self.level:.0%} confidence"
        return f"{self.value:.4g} ({bounds}; {self.happened} of {self.runs} runs)"


def proportion(happened: int, runs: int, level: float = 0.95) -> Probability:
    """The probability of something that happened in so many of independent runs.

    The interval is that of C. J. Clopper and E. S. Pearson (Biometrika 26, 1934): it holds the true
    value with at least the confidence asked for, also when nothing happened at all.
    """
    tail = _tail(level)
    if runs < 1 or not 0 <= happened <= runs:
        raise InvalidValue(
            f"happened = {happened} of runs = {runs}: at least 1 run is needed, and no more can "
            "happen than there are"
        )
    never, always = happened == 0, happened == runs
    inverse = _special().betaincinv
    low = 0.0 if never else float(inverse(happened, runs - happened + 1, tail))
    high = 1.0 if always else float(inverse(happened + 1, runs - happened, 1.0 - tail))
    return Probability(happened / runs, low, high, happened, runs, level)


def mean_bounds(mean: Array, std: Array, runs: Any, level: float) -> tuple[Array, Array]:
    """Ends of the intervals that hold the means of independent runs, by Student's distribution.

    Exact for normal values; for others the better, the more runs there are. One run has no ends.
    """
    tail, count = _tail(level), np.maximum(runs, 1)
    some = count > 1
    quantile = _special().stdtrit(np.where(some, count - 1, 1), 1.0 - tail)
    reach = np.where(some, quantile * std / np.sqrt(count), np.inf)
    return mean - reach, mean + reach


def quantile_ranks(runs: int, quantile: float, level: float) -> tuple[int, int]:
    """Which of so many values in order hold a quantile between them, whatever is distributed how.

    The number of runs below a quantile is binomial, so from the `low`-th to the `high`-th smallest
    value, counted from 1, is an interval that holds it with at least the confidence asked for, each
    tail with no more than half of the rest. 0 and runs + 1 say that there is no such value: too few
    runs for so far a quantile.
    """
    tail = _tail(level)
    return (
        _lower_rank(runs, quantile, tail),
        runs + 1 - _lower_rank(runs, 1.0 - quantile, tail),
    )


def _lower_rank(runs: int, quantile: float, tail: float) -> int:
    """The largest rank such that fewer values lie below the quantile with no more than `tail`."""
    below = _special().bdtr
    low, high = 0, runs + 1
    while high - low > 1:
        rank = (low + high) // 2
        if below(rank - 1, runs, quantile) <= tail:
            low = rank
        else:
            high = rank
    return low


def _tail(level: float) -> float:
    """What may lie beyond either end of an interval of this confidence."""
    if not 0.0 < finite("level", level) < 1.0:
        raise InvalidValue(f"level = {level} must be between 0 and 1, such as 0.95")
    return (1.0 - level) / 2.0


def _special() -> Any:
    # SciPy takes a tenth of a second to import, which `import skidpad` should not pay.
    from scipy import special

    return special
