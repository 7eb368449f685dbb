"""Factors: quantities that vary between runs, computed from a share between 0 and 1.

A design chooses shares, evenly spread or random; the factor maps them to values of a range, a
distribution or a list. The values are the same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from ..core.arrays import Array
from ..core.checks import finite, number, positive, whole
from ..core.files import brief_repr, shortened
from ..errors import InvalidValue
from ..ops import clip, exp, floor, minimum, where
from .streams import LEAST, exponential, log_of, normal_of, share_below, traced_normal

_FARTHEST = 8.2
"""Distance from the mean, in standard deviations, beyond which shares round to 0 or 1."""


@runtime_checkable
class Factor(Protocol):
    """Interface of factors, which map shares between 0 and 1 to values."""

    @property
    def low(self) -> float:
        """Smallest value."""
        ...

    @property
    def high(self) -> float:
        """Largest value."""
        ...

    def value(self, shares: Array) -> Array:
        """Values (n,) of shares (n,) from 0 to 1, increasing with the share except in a list."""
        ...

    def traced(self, share: Any) -> Any:
        """Value of a traced share, for Programs; equal to `value` up to rounding."""
        ...

    def identity(self) -> dict[str, Any]:
        """Plain form of the factor (numbers, lists, mappings), from which `factor_of` recreates
        it.
        """
        ...


@dataclass(frozen=True)
class Range:
    """Factor that is uniformly distributed from `low` to `high`."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _keep_ends(self, finite("low", self.low), finite("high", self.high))

    def value(self, shares: Array) -> Array:
        """Linear interpolation from `low` to `high`, (n,) of (n,)."""
        return np.minimum(self.low + shares * (self.high - self.low), self.high)

    def traced(self, share: Any) -> Any:
        """Linear interpolation from `low` to `high`."""
        return minimum(self.low + share * (self.high - self.low), self.high)

    def identity(self) -> dict[str, Any]:
        """`{"range": [low, high]}`."""
        return {"range": [self.low, self.high]}


@dataclass(frozen=True)
class LogRange:
    """Factor that is log-uniform from `low` to `high`, both positive: all decades are as likely."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _keep_ends(self, positive("low", self.low), positive("high", self.high))

    def value(self, shares: Array) -> Array:
        """Logarithmic interpolation from `low` to `high`, (n,) of (n,)."""
        ends = log_of(np.array([self.low, self.high]))
        numbers = self.low * exponential(shares * (ends[1] - ends[0]))
        return np.where(shares >= 1.0, self.high, np.clip(numbers, self.low, self.high))

    def traced(self, share: Any) -> Any:
        """Logarithmic interpolation from `low` to `high`."""
        number = self.low * exp(share * math.log(self.high / self.low))
        return clip(number, self.low, self.high)

    def identity(self) -> dict[str, Any]:
        """`{"log_range": [low, high]}`."""
        return {"log_range": [self.low, self.high]}


@dataclass(frozen=True)
class Normal:
    """Factor with a normal distribution that is truncated to `low` and `high`.

    `mean` and `std` are those of the distribution before truncation. By default it is truncated 8.2
    standard deviations from the mean, beyond which one number in 4e15 lies.
    """

    mean: float
    std: float
    low: float = -math.inf
    high: float = math.inf

    def __post_init__(self) -> None:
        mean, std = finite("mean", self.mean), positive("std", self.std)
        low, high = number("low", self.low), number("high", self.high)
        low = mean - _FARTHEST * std if low == -math.inf else low
        high = mean + _FARTHEST * std if high == math.inf else high
        _keep_ends(self, finite("low", low), finite("high", high))
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "std", std)
        first, last, _ = self._shares()
        if not last > first:
            raise InvalidValue(
                f"low = {low:g} and high = {high:g} exclude almost all of a normal distribution "
                f"with mean = {mean:g} and std = {std:g}: one of them must be nearer to the mean"
            )

    def value(self, shares: Array) -> Array:
        """Quantiles of the distribution, (n,) of (n,)."""
        first, last, mirrored = self._shares()
        own = 1.0 - shares if mirrored else shares
        deviations = normal_of(np.clip(first + own * (last - first), first, 1.0 - LEAST))
        numbers = self.mean + self.std * (-deviations if mirrored else deviations)
        # Return the exact bounds at shares 0 and 1, where the inversion would round.
        numbers = np.where(shares <= 0.0, self.low, np.where(shares >= 1.0, self.high, numbers))
        return np.clip(numbers, self.low, self.high)

    def traced(self, share: Any) -> Any:
        first, last, mirrored = self._shares()
        own = 1.0 - share if mirrored else share
        deviation = traced_normal(first + own * (last - first))
        number = self.mean + self.std * (-deviation if mirrored else deviation)
        return clip(number, self.low, self.high)

    def identity(self) -> dict[str, Any]:
        """`{"normal": {"mean": mean, "std": std, "low": low, "high": high}}`."""
        return {"normal": asdict(self)}

    def _shares(self) -> tuple[float, float, bool]:
        """Shares of the whole distribution below both ends, and whether it is mirrored.

        It is mirrored if both ends lie above the mean, since only small probabilities keep their
        digits.
        """
        low, high = (self.low - self.mean) / self.std, (self.high - self.mean) / self.std
        mirrored = low > 0.0
        first, last = share_below([-high, -low] if mirrored else [low, high]).tolist()
        return first, last, mirrored


@dataclass(frozen=True)
class Levels:
    """Factor that takes the values of a list, equally often; a list of one is a constant."""

    values: tuple[float, ...]

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        values: Any = self.values
        if isinstance(values, (str, bytes)) or not len(values):
            raise InvalidValue(f"levels = {values!r} must be a list of numbers")
        plain = isinstance(values, np.ndarray) and values.dtype == np.float64 and values.ndim == 1
        if plain and np.isfinite(values).all():  # fast path, as a table may have a million rows
            numbers = tuple(values.tolist())
        else:
            numbers = tuple(finite(f"levels[{k}]", one) for k, one in enumerate(values))
        object.__setattr__(self, "values", numbers)

    @property
    def count(self) -> int:
        return len(self.values)

    @property
    def low(self) -> float:
        return min(self.values)

    @property
    def high(self) -> float:
        return max(self.values)

    def value(self, shares: Array) -> Array:
        """Value at this position of the list, (n,) of (n,)."""
        return np.array(self.values)[_level(shares, self.count)]

    def traced(self, share: Any) -> Any:
        """Value at this position of the list, by comparisons; for lists of up to some dozens."""
        level, number = _traced_level(share, self.count), self.values[0]
        for k, value in enumerate(self.values[1:], 1):
            number = where(level < k, number, value)
        return number

    def identity(self) -> dict[str, Any]:
        """`{"levels": [...]}`."""
        return {"levels": list(self.values)}


@dataclass(frozen=True)
class Steps:
    """Factor that takes `count` equally spaced values from `low` to `high`, both included."""

    low: float
    high: float
    count: int

    def __post_init__(self) -> None:
        _keep_ends(self, finite("low", self.low), finite("high", self.high))
        object.__setattr__(self, "count", whole("count", self.count, "at least 2", least=2))

    def value(self, shares: Array) -> Array:
        """Value of the step that contains a share, (n,) of (n,)."""
        level = _level(shares, self.count)
        numbers = self.low + level * (self.high - self.low) / (self.count - 1)
        return np.where(level == self.count - 1, self.high, numbers)

    def traced(self, share: Any) -> Any:
        step = (self.high - self.low) / (self.count - 1)
        return minimum(self.low + _traced_level(share, self.count) * step, self.high)

    def identity(self) -> dict[str, Any]:
        """`{"steps": [low, high, count]}`."""
        return {"steps": [self.low, self.high, self.count]}


def _traced_level(share: Any, count: int) -> Any:
    return clip(floor(share * count), 0.0, count - 1.0)


def factor_of(name: str, given: Any) -> Factor:
    """Make a factor from a plain form; raises InvalidValue for any other value.

    Args:
        name: for errors.
        given: a factor, or a plain form as in a file: `{range: [low, high]}`, `{log_range: [low,
            high]}`, `{normal: {mean: 0, std: 1, low: -3, high: 3}}`, `{steps: [low, high, count]}`,
            `{levels: [1, 2, 5]}`, a list, which means levels, or a number, which is constant.
    """
    if isinstance(given, Factor):
        return given
    try:
        if isinstance(given, Mapping):
            if len(given) != 1:
                raise InvalidValue(f"it has {len(given)} entries, not 1")
            ((kind, settings),) = given.items()
            if kind not in _FORMS:
                raise InvalidValue(f"{kind!r} is unknown")
            return _made(kind, settings)
        if isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, (str, bytes)):
            return Levels(cast("tuple[float, ...]", given))
        return Levels((finite("value", given),))
    except (InvalidValue, TypeError) as error:
        raise InvalidValue(
            f"factors[{name!r}] = {shortened(repr(given), 80)}: {error}; allowed are a number, a "
            f"list, and one of {', '.join(_FORMS)}, as in {{'range': [0, 1]}}"
        ) from error


def level_counts(factors: Mapping[str, Factor]) -> tuple[int, ...]:
    """Number of values of each factor; 0 for one that is not a list."""
    return tuple(
        factor.count if isinstance(factor, (Levels, Steps)) else 0 for factor in factors.values()
    )


def _made(kind: str, settings: Any) -> Factor:
    """Make a factor of a kind from its settings: a mapping for `normal`, else a list."""
    make = _FORMS[kind]
    names = [field.name for field in fields(make)]
    if make is Normal:
        if not isinstance(settings, Mapping):
            raise InvalidValue(
                "normal must be a mapping of mean, std and, optionally, low and high"
            )
        unknown = [str(name) for name in settings if name not in names]
        missing = [name for name in ("mean", "std") if name not in settings]
        if unknown or missing:
            fault = f"has no {missing[0]}" if missing else f"has no setting {unknown[0]!r}"
            raise InvalidValue(f"normal {fault}; it takes mean, std, low and high")
        return Normal(**settings)
    if isinstance(settings, (str, bytes)) or not isinstance(settings, Sequence):
        needed = f"it takes a list [{', '.join(names)}]"
        raise InvalidValue("levels must be a list of numbers" if make is Levels else needed)
    if make is Levels:
        return Levels(cast("tuple[float, ...]", settings))
    if len(settings) != len(names):
        raise InvalidValue(f"it takes [{', '.join(names)}], got {len(settings)} values")
    return make(*settings)


_FORMS: dict[str, Any] = {
    "range": Range,
    "log_range": LogRange,
    "normal": Normal,
    "levels": Levels,
    "steps": Steps,
}


def _keep_ends(factor: Any, low: float, high: float) -> None:
    if not low < high:
        raise InvalidValue(f"low = {low:g} must be below high = {high:g}")
    object.__setattr__(factor, "low", low)
    object.__setattr__(factor, "high", high)


def _level(shares: Array, count: int) -> Any:
    return np.minimum(np.floor(shares * count), count - 1).astype(np.int64)
