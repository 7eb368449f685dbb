"""Normally distributed values that never leave given bounds.

By inversion: a uniform number is the probability of lying below the value, within the bounds. In
the tails the logarithm of that probability is what is worked with, so bounds far from the mean are
no loss of accuracy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arrays import Array
from .bounds import check_order, check_within
from .draw import Draw
from .model import Fields, UncertaintyModel
from .vectors import Shape, read_only


class Truncated(UncertaintyModel):
    """A normal distribution cut off at bounds, each value independent of the others.

    `mean` and `std` are those of the distribution before it is cut. Bounds may be infinite; where
    the standard deviation is 0 the mean must lie between them. The nominal value is, if not given,
    the most likely one: the mean, or the bound next to it.
    """

    def __init__(
        self,
        mean: Any,
        std: Any,
        lower: Any,
        upper: Any,
        nominal_value: Any = None,
        *,
        dim: int | None = None,
        fields: Fields | None = None,
    ) -> None:
        moments = {"mean": mean, "std": std, "lower": lower, "upper": upper}
        shape = Shape.of(dim, fields, **moments, nominal_value=nominal_value)
        self._mean = read_only(shape.finite("mean", mean, shape.rest))
        self._std = read_only(shape.finite("std", std))
        self._lower = read_only(shape.vector("lower", lower, -np.inf))
        self._upper = read_only(shape.vector("upper", upper, np.inf))
        shape.require("std", self._std, self._std >= 0.0, "at least 0")
        shape.require("lower", self._lower, self._lower < np.inf, "below infinity")
        shape.require("upper", self._upper, self._upper > -np.inf, "above minus infinity")
        check_order(shape, self._lower, self._upper)
        mode = np.clip(self._mean, self._lower, self._upper)
        at_mean = np.where(self._std > 0.0, mode, self._mean)
        check_within(shape, "with std = 0, mean", at_mean, self._lower, self._upper)
        super().__init__(None, mode if nominal_value is None else nominal_value, fields=shape)
        check_within(shape, "nominal_value", self.nominal_value, self._lower, self._upper)
        # In standard deviations from the mean; what is certain has any.
        scale = np.where(self._std > 0.0, self._std, 1.0)
        self._between = [
            _Between(a, b)
            for a, b in zip(
                (self._lower - self._mean) / scale, (self._upper - self._mean) / scale, strict=True
            )
        ]

    @property
    def lower(self) -> Array:
        """Lower bounds, (dim,)."""
        return self._lower

    @property
    def upper(self) -> Array:
        """Upper bounds, (dim,)."""
        return self._upper

    def sample(self, draw: Draw, memory: Any = None, x: Array | None = None) -> tuple[Array, Any]:
        """Values within the bounds, (runs, size)."""
        u = draw.uniform(self.dim)
        drawn = np.empty_like(u)
        for k, between in enumerate(self._between):
            drawn[:, k] = self._mean[k] + self._std[k] * between.quantile(u[:, k])
        return np.clip(drawn, self._lower, self._upper), None


class _Between:
    """The standard normal distribution between two bounds."""

    def __init__(self, low: float, high: float) -> None:
        special = _special()
        # Mirrored so that more of it lies below zero, where small probabilities keep their digits.
        self._sign = -1.0 if high > -low else 1.0
        ends = (low, high) if self._sign > 0.0 else (-high, -low)
        self._in_tail = ends[1] < 0.0
        self._log_below = special.log_ndtr(np.array(ends))
        self._below = special.ndtr(np.array(ends))
        self._above = special.ndtr(-ends[1])

    def quantile(self, u: Array) -> Array:
        """The value with the part u of the probability between the bounds below it."""
        share = u if self._sign > 0.0 else 1.0 - u
        return self._sign * (self._tail(share) if self._in_tail else self._around(share))

    def _tail(self, u: Array) -> Array:
        # log(Φ(a) + u (Φ(b) - Φ(a))), from the larger of the two, Φ(b).
        low, high = self._log_below
        return _special().ndtri_exp(high + np.log(u + (1.0 - u) * np.exp(low - high)))

    def _around(self, u: Array) -> Array:
        low, high = self._below
        below = low + u * (high - low)
        above = self._above + (1.0 - u) * (high - low)
        ndtri = _special().ndtri
        # From the side on which the probability is small.
        return np.where(below < 0.5, ndtri(below), -ndtri(above))


def _special() -> Any:
    # Takes a tenth of a second to import, which sensors without such noise need not wait for.
    from scipy import special

    return special
