"""What every sensor can be set to: when it samples, how late it is, and how its channels err.

A sample is taken at the first step at or after each multiple of 1/rate. What comes out at a step is
the newest sample that is at least the delay old, and each sample comes out once.

Readings of many vehicles, as arrays.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.checks import must_be
from ..core.files import brief_repr
from ..core.record import unknown_name
from ..errors import InvalidValue
from ..units import Allowed, non_negative

_SLACK = 1e-6
"""Part of a period or of a delay that may be missing: 0.3 s is three steps of 0.1 s, whatever the
rounding."""
_FINITE = Allowed()


@dataclass(frozen=True, kw_only=True)
class Channel:
    """How one channel errs. In the unit of the channel, called U here; the default is perfect.

    A reading is (1 + scale) times the truth, plus the constant bias, the bias drawn at turn-on, the
    random walk, the correlated error and the white noise; then it is held to the range and
    rounded. Each random part has a stream of its own: turning one off leaves the others alone.
    """

    std: float = 0.0
    """Standard deviation of the white noise of a sample, in U."""
    density: float = 0.0
    """White noise by its density, in U/√Hz; a sample gets density · √rate. Data sheets of inertial
    sensors give it, and the Allan deviation at 1 s (as angle or velocity random walk) is this."""
    bias: float = 0.0
    """Constant offset, in U."""
    turn_on: float = 0.0
    """Standard deviation of an offset drawn once per run, in U."""
    walk: float = 0.0
    """Random walk of the bias, in U/√s: for a gyroscope rad/s/√s, which is rad/s²/√Hz. Over a time
    dt it gains a standard deviation of walk · √dt; its Allan deviation at 3 s is this."""
    drift: float = 0.0
    """Standard deviation of a first-order Gauss-Markov error, in U: correlated, but bounded."""
    drift_time: float = 100.0
    """Time after which that error has forgotten all but 1/e of itself, in s."""
    scale: float = 0.0
    """Relative scale error: 0.01 reads 1 % too much, whatever the sign."""
    resolution: float = 0.0
    """Readings are rounded to multiples of this, in U; 0 for none."""
    low: float = -math.inf
    """Smallest reading, in U; below it the sensor saturates."""
    high: float = math.inf
    """Largest reading, in U."""

    def __post_init__(self) -> None:
        for name in ("std", "density", "turn_on", "walk", "drift", "resolution"):
            must_be(f"Channel.{name}", getattr(self, name), non_negative)
        for name in ("bias", "scale"):
            must_be(f"Channel.{name}", getattr(self, name), _FINITE)
        must_be("Channel.drift_time", self.drift_time, Allowed(low=0.0, open_low=True))
        if not self.low < self.high:
            raise InvalidValue(
                f"Channel.low = {self.low} and Channel.high = {self.high}: low must be below high"
            )

    def white(self, rate: float | None) -> float:
        """Standard deviation of the white noise of a sample at this rate in Hz, in U."""
        if self.density == 0.0:
            return self.std
        if rate is None:
            raise InvalidValue(
                f"Channel.density = {self.density} needs the sensor's rate in Hz, which is None"
            )
        return math.hypot(self.std, self.density * math.sqrt(rate))


PERFECT = Channel()
"""A channel without error."""


def checked_channel(name: str, channel: Any) -> Channel:
    """The channel; raises for anything else."""
    if not isinstance(channel, Channel):
        raise InvalidValue(f"{name} must be a Channel, got {channel!r}")
    return channel


def check_knobs(kind: str, rate: float | None, delay: float, dropout: float) -> None:
    """Raise unless rate (Hz, or None for every step), delay (s) and dropout (0 to 1) are usable."""
    if rate is not None:
        must_be(f"{kind}.rate", rate, Allowed(low=0.0, open_low=True), "Hz")
    must_be(f"{kind}.delay", delay, non_negative, "s")
    must_be(f"{kind}.dropout", dropout, Allowed(0.0, 1.0))


def tick(t: Any, rate: float) -> Any:
    """Number of the last multiple of 1/rate at or before a time in s; for arrays too."""
    return np.floor(t * rate + _SLACK)


def old_enough(t: Any, stamp: Any, delay: float) -> Any:
    """Whether a sample taken at `stamp` may come out at `t`, all in s."""
    return t - stamp >= delay * (1.0 - _SLACK)


def sampled_rows(t: Array, rate: float | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of increasing times at which a sample is taken, and the number of each sample."""
    if rate is None:
        rows = np.arange(t.size)
        return rows, rows
    ticks = tick(t, rate).astype(np.int64)
    rows = np.flatnonzero(np.diff(ticks, prepend=ticks[:1] - 1) > 0)
    return rows, ticks[rows]


def arrival_rows(t: Array, rows: NDArray[np.int64], delay: float) -> NDArray[np.int64]:
    """The row at which each sample comes out; the number of rows if it never does."""
    arrival = np.searchsorted(t, t[rows] + delay * (1.0 - _SLACK))
    # That sum is rounded otherwise than the difference which decides in `old_enough`.
    earlier = np.maximum(arrival - 1, rows)
    arrival = np.where(old_enough(t[earlier], t[rows], delay), earlier, arrival)
    at = np.minimum(arrival, t.size - 1)
    return np.where(old_enough(t[at], t[rows], delay), arrival, np.minimum(arrival + 1, t.size))


def white_levels(channels: Sequence[Channel], rate: float | None) -> Array:
    """Standard deviation of the white noise of each channel."""
    return np.array([channel.white(rate) for channel in channels])


@dataclass(frozen=True, eq=False)
class Readings:
    """One row per sample that came out for at least one vehicle; `readings["omega_z"]` is (n, B).

    NaN where a vehicle got none: it was lost, overtaken or out of sight.
    """

    names: tuple[str, ...]
    """Fields of the reading, its stamp left out."""
    t: Array
    """Time at which each sample came out, (n,), in s."""
    stamp: Array
    """Time at which it was taken, (n,), in s."""
    values: Array
    """The readings, (n, vehicles, fields)."""
    valid: NDArray[np.bool_]
    """Whether a vehicle got the sample, (n, vehicles)."""

    __repr__ = brief_repr

    def __getitem__(self, name: str) -> Array:
        if name not in self.names:
            raise InvalidValue(unknown_name("Readings", name, self.names))
        return self.values[:, :, self.names.index(name)]

    def __len__(self) -> int:
        return self.t.size
