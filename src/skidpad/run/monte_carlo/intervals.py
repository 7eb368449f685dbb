"""How sure a share of runs is: confidence intervals of probabilities."""

from __future__ import annotations

from typing import NamedTuple

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
    # SciPy takes a tenth of a second to import, which `import skidpad` should not pay.
    from scipy.special import betaincinv

    if not 0.0 < finite("level", level) < 1.0:
        raise InvalidValue(f"level = {level} must be between 0 and 1, such as 0.95")
    if runs < 1 or not 0 <= happened <= runs:
        raise InvalidValue(
            f"happened = {happened} of runs = {runs}: at least 1 run is needed, and no more can "
            "happen than there are"
        )
    tail = (1.0 - level) / 2.0
    never, always = happened == 0, happened == runs
    low = 0.0 if never else float(betaincinv(happened, runs - happened + 1, tail))
    high = 1.0 if always else float(betaincinv(happened + 1, runs - happened, 1.0 - tail))
    return Probability(happened / runs, low, high, happened, runs, level)
