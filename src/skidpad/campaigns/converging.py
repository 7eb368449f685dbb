"""Runs until a mean, a probability or a quantile is known well enough."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import AnyArray, Array
from ..brief import brief_repr
from ..checks import finite, positive, whole
from ..errors import InvalidValue
from ..random.seeds import RUNS
from ..run.monte_carlo.intervals import proportion
from .answers import mean_of, quantile_of
from .design import Choosing, Round
from .experiment import Runs
from .plain import goes_on, identity_of
from .sampling import drawn_points


@dataclass(frozen=True)
class Converging:
    """Drawn runs, in rounds, until the confidence interval of a quantity is narrow enough.

    Looking again and again at an interval of 95 % would find it narrow at a moment when it is
    wrong, more often than in one case of twenty. So what the level leaves is shared equally between
    the looks that there can be: whenever it stops, the interval holds the truth with at least the
    level, exactly for probabilities and quantiles, for means as far as Student's distribution
    holds. That takes about twice the runs of a single look, and no more since each round adds half
    of all before it, so that there are few.

    Runs without a number are left out of means and quantiles, and have not reached a threshold.

    What it found: `value`, `low`, `high`, `level`; `reached`, whether the interval is narrow
    enough; `looks`, how often it looked; `runs`, and `without`, how many of them have no number.
    """

    column: str
    """What is looked at."""
    width: float
    """Of the interval, from end to end, in the unit of the column."""
    quantity: str | tuple[str, float] = "mean"
    """"mean", "probability" or ("quantile", share)."""
    threshold: float | None = None
    """Of a probability: that the column is at least that; None for a column of truths."""
    level: float = 0.95
    """Confidence of the interval."""
    first: int = 1000
    """Runs of the first round."""
    growth: float = 1.5
    """How many times as many runs there are after each round."""
    most: int = 100_000
    """Runs after which it ends, narrow enough or not."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        positive("width", self.width)
        object.__setattr__(self, "quantity", _quantity(self.quantity))
        if self.threshold is not None and self.quantity != "probability":
            raise InvalidValue(f"threshold = {self.threshold} is for quantity = 'probability'")
        if self.threshold is not None:
            finite("threshold", self.threshold)
        if not 0.0 < finite("level", self.level) < 1.0:
            raise InvalidValue(f"level = {self.level} must be between 0 and 1, such as 0.95")
        whole("first", self.first, "at least 2", least=2)
        if not finite("growth", self.growth) > 1.0:
            raise InvalidValue(f"growth = {self.growth} must be greater than 1")
        if not self.first <= whole("most", self.most) <= RUNS:
            raise InvalidValue(f"most = {self.most} must be from first = {self.first} to {RUNS}")

    @property
    def runs(self) -> int:
        """How many there are at most."""
        return self.most

    def reads(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)

    def identity(self) -> dict[str, Any]:
        """Kind and settings."""
        return identity_of(self, "converging")

    def extends(self, before: Mapping[str, Any]) -> bool:
        """More runs, or a narrower interval, go on where it ended: that may only be later."""
        return goes_on(self.identity(), before, larger=("most",), smaller=("width",))

    def totals(self) -> list[int]:
        """Runs after each of the rounds that there can be."""
        totals = [self.first]
        while totals[-1] < self.most:
            totals.append(min(self.most, max(totals[-1] + 1, int(totals[-1] * self.growth))))
        return totals

    def rounds(self, factors: int, seed: int) -> Choosing:
        """Rounds of drawn runs."""
        drawn, totals = drawn_points(factors, seed), self.totals()
        level = 1.0 - (1.0 - self.level) / len(totals)
        values, before, findings = np.empty(0), 0, dict[str, Any]()
        for look, total in enumerate(totals, start=1):
            read = yield Round(total - before, _after(drawn, before), self.reads())
            values, before = np.concatenate([values, self._numbers(read)]), total
            value, low, high = self._interval(values, level)
            findings = {
                "value": _plain(value),
                "low": _plain(low),
                "high": _plain(high),
                "level": self.level,
                "reached": bool(high - low <= self.width),
                "looks": look,
                "runs": total,
                "without": int(np.isnan(values).sum()),
            }
            if findings["reached"]:
                break
        return findings

    def _numbers(self, read: Mapping[str, AnyArray]) -> Array:
        return np.asarray(read[self.column], dtype=np.float64)

    def _interval(self, values: Array, level: float) -> tuple[float, float, float]:
        if self.quantity == "probability":
            limit = 0.5 if self.threshold is None else self.threshold
            share = proportion(int((values >= limit).sum()), len(values), level)
            return share.value, share.low, share.high
        known = values[~np.isnan(values)]
        if not known.size:
            return math.nan, -math.inf, math.inf
        if isinstance(self.quantity, tuple):
            return quantile_of(known, self.quantity[1], level)[:3]
        return mean_of(known, level)[:3]


def _quantity(quantity: Any) -> Any:
    if quantity in ("mean", "probability"):
        return quantity
    pair = tuple(quantity) if isinstance(quantity, (list, tuple)) else ()
    if len(pair) != 2 or pair[0] != "quantile" or not 0.0 < finite("quantity[1]", pair[1]) < 1.0:
        raise InvalidValue(
            f"quantity = {quantity!r} must be 'mean', 'probability' or ('quantile', share) with a "
            "share between 0 and 1, such as ('quantile', 0.95)"
        )
    return "quantile", float(pair[1])


def _after(drawn: Any, before: int) -> Any:
    def points(numbers: Runs) -> Array:
        return drawn(numbers + before)

    return points


def _plain(value: float) -> float | None:
    """JSON knows neither NaN nor infinity."""
    return value if math.isfinite(value) else None
