"""Gusts: values that wander around a mean and forget where they were.

The Ornstein-Uhlenbeck process is the normal process with the correlation exp(-t/T); Dryden's wind
along the flight path is one. It is stepped exactly, whatever the step: after a time dt, the part
exp(-dt/T) of the deviation is left, and what is added keeps the variance as it is.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array
from ..errors import InvalidValue
from .draw import Draw
from .model import Fields, UncertaintyModel
from .vectors import Shape, read_only

_SLACK = 1e-9
"""Part of a step by which a time may be off and still be that of the next step: sums of steps are
rounded, and the same run must give the same bits however its time was added up."""


class Gust(NamedTuple):
    """What is remembered of the last sample."""

    deviation: Array
    """From the mean, (runs, dim)."""
    time: float
    """When it was drawn, in s."""


class OrnsteinUhlenbeck(UncertaintyModel):
    """Correlated values with a given stationary standard deviation; each has its own noise.

    `time_constant` is the time in s after which all but 1/e of a deviation is forgotten. The first
    sample is already drawn from the stationary distribution. The nominal value is the mean if not
    given.
    """

    def __init__(
        self,
        mean: Any,
        std: Any,
        time_constant: Any,
        nominal_value: Any = None,
        *,
        dim: int | None = None,
        fields: Fields | None = None,
    ) -> None:
        settings = {"mean": mean, "std": std, "time_constant": time_constant}
        shape = Shape.of(dim, fields, **settings, nominal_value=nominal_value)
        self._mean = read_only(shape.finite("mean", mean, shape.rest))
        self._std = read_only(shape.finite("std", std))
        shape.require("std", self._std, self._std >= 0.0, "at least 0")
        self._time_constant = read_only(shape.finite("time_constant", time_constant, 1.0))
        good = self._time_constant > 0.0
        shape.require("time_constant", self._time_constant, good, "greater than 0 s")
        super().__init__(None, self._mean if nominal_value is None else nominal_value, fields=shape)

    @property
    def mean(self) -> Array:
        """Expected value, (dim,)."""
        return self._mean

    @property
    def std(self) -> Array:
        """Stationary standard deviation, (dim,)."""
        return self._std

    @property
    def time_constant(self) -> Array:
        """Time over which a deviation is forgotten, (dim,), in s."""
        return self._time_constant

    def sample(self, draw: Draw, memory: Any = None, x: Array | None = None) -> tuple[Array, Gust]:
        """The values (runs, size) at the time of the draw; `memory` is a `Gust`, None at first."""
        deviation = draw.normal(self.dim)
        if memory is None:
            deviation *= self._std
        else:
            age = -_elapsed(draw, memory) / self._time_constant
            deviation *= self._std * np.sqrt(-np.expm1(2.0 * age))
            deviation += np.exp(age) * memory.deviation
        return self._mean + deviation, Gust(deviation, draw.time)


def _elapsed(draw: Draw, memory: Gust) -> float:
    elapsed = draw.time - memory.time
    if math.isclose(elapsed, draw.dt, rel_tol=_SLACK, abs_tol=_SLACK * draw.dt):
        return draw.dt
    if elapsed < 0.0:
        raise InvalidValue(
            f"time = {draw.time:g} s is before the last sample at {memory.time:g} s; "
            "allowed are times that do not go back"
        )
    return elapsed
