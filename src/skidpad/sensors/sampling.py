"""Samples as arrays: rows of the truth, one column per vehicle, and what carries over.

The errors of a sensor, sample by sample, for one vehicle or many.

Errors keep nothing: what they remember goes in and comes out. A run sampled in one piece and the
same run sampled one step at a time give the same bits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array, Mask
from ..errors import InvalidValue
from ..random import streams
from ..random.draw import Draw
from ..random.model import UncertaintyModel, sampled
from .channels import Channel, white_levels

Flags = NDArray[np.bool_]


class Batch(NamedTuple):
    """Samples taken together."""

    steps: NDArray[np.int64]
    """Numbers of the samples."""
    t: Array
    """Their times in s."""
    truth: Any
    """A record whose leaves are arrays (samples, vehicles), or floats if there is one of each."""


def row_of(batch: Batch, k: int) -> Any:
    """The truth at one of the samples: a record of leaves (vehicles,), or of floats."""
    if not isinstance(batch.truth[0], np.ndarray):
        return batch.truth
    return type(batch.truth)(*(leaf[k] for leaf in batch.truth))


class Memory(NamedTuple):
    """What a sensor carries from one sample to the next."""

    t: float
    """Time of the last sample in s."""
    truth: Any
    """What it looked at, a record of the leaves' last rows."""
    errors: Any
    """What its errors keep."""
    own: Any
    """What the sensor itself keeps; see `Instrument.completed`."""


def stacked(values: Sequence[Any], shape: tuple[int, int]) -> Array:
    """Values that broadcast to (samples, vehicles) as (samples, vehicles, values)."""
    out = np.empty((*shape, len(values)))
    for k, value in enumerate(values):
        out[:, :, k] = value
    return out


def time_since(t: Array, before: Memory | None) -> Array:
    """Time since the sample before each in s; 0 at the very first."""
    since = np.empty(t.size)
    since[0] = 0.0 if before is None else t[0] - before.t
    np.subtract(t[1:], t[:-1], out=since[1:])
    return since


def one_earlier(truth: Any, before: Memory | None) -> Any:
    """The truth at the sample before each; at the very first, that at itself."""
    if not isinstance(truth[0], np.ndarray):
        return truth if before is None else before.truth
    first = (leaf[:1] for leaf in truth) if before is None else before.truth
    rows = (np.concatenate([a, leaf[:-1]]) for a, leaf in zip(first, truth, strict=True))
    return type(truth)(*rows)


def last_of(truth: Any) -> Any:
    """The last row of each leaf."""
    if not isinstance(truth[0], np.ndarray):
        return truth
    return type(truth)(*(leaf[-1:] for leaf in truth))


def laid_out(truth: Any, steps: int, vehicles: int | None) -> Any:
    """The record with leaves (steps, vehicles), from numbers and arrays that fit."""
    leaves = [np.asarray(leaf, dtype=float) for leaf in truth]
    wide = {leaf.shape[1] for leaf in leaves if leaf.ndim == 2}
    count = max(wide, default=1) if vehicles is None else vehicles
    rows: list[Array] = []
    for name, leaf in zip(truth._fields, leaves, strict=True):
        column = leaf[:, None] if leaf.ndim == 1 else leaf
        try:
            rows.append(np.broadcast_to(column, (steps, count)))
        except ValueError:
            raise InvalidValue(
                f"truth {name} has shape {leaf.shape}; expected ({steps},) or ({steps}, {count})"
            ) from None
    return type(truth)(*rows)


def check_finite(kind: str, truth: Any, may_be_unknown: Callable[[str], bool]) -> None:
    """Raise if a leaf of (steps, vehicles) has a number that is not finite, and is looked at."""
    for name, leaf in zip(truth._fields, truth, strict=True):
        bad = ~np.isfinite(leaf)
        if bad.any() and not may_be_unknown(name):
            step, vehicle = np.argwhere(bad)[0]
            raise InvalidValue(
                f"{kind}: truth {name} = {leaf[step, vehicle]} at step {step} of vehicle {vehicle} "
                "must be finite"
            )


def newest(received: Flags, arrived: NDArray[np.int64]) -> Flags:
    """Of samples that arrive at the same row, only the newest one received comes out."""
    out = received.copy()
    for k in np.flatnonzero(np.diff(arrived) == 0):
        together = arrived[k + 1 :] == arrived[k]
        out[k] &= ~received[k + 1 :][together].any(axis=0)
    return out


Steps = NDArray[np.int64]


class ErrorSource(ABC):
    """Draws the errors of one sensor on some vehicles.

    `name` begins the names of the streams; `vehicles` are their numbers in the streams.
    """

    def __init__(self, name: str, dropout: float, seed: int, vehicles: Any) -> None:
        self._name, self._dropout, self._seed, self._vehicles = name, dropout, seed, vehicles
        self._lost_stream = self._stream(streams.uniforms, "dropout", 1)
        self.count = streams.checked_vehicles(vehicles).size
        """Number of vehicles."""

    def _stream(self, draw: Any, part: str, width: int) -> streams.Stream:
        return streams.Stream(draw, self._seed, f"{self._name}.{part}", self._vehicles, width)

    def received(self, steps: Steps) -> Mask:
        """Whether each sample is not lost, (samples, vehicles)."""
        if self._dropout == 0.0:
            return np.ones((steps.size, self.count), bool)
        return self._lost_stream.rows(steps)[:, :, 0] >= self._dropout

    @abstractmethod
    def read(
        self, true: Array, batch: Batch, elapsed: Array, before: Any, spread: Array | None = None
    ) -> tuple[Array, Any]:
        """Readings (samples, vehicles, values) of true values, and what the errors remember.

        `elapsed` is the time since the sample before each in s; `before` is None at the start of a
        run. `spread` is a standard deviation of further white noise, shaped as the values.
        """


class NoiseErrors(ErrorSource):
    """Values of a distribution, added to the true ones."""

    def __init__(
        self,
        name: str,
        noise: UncertaintyModel,
        states: Callable[[Any], Array],
        dropout: float,
        seed: int,
        vehicles: Any,
    ) -> None:
        """`states` are those of the vehicles (vehicles, nx) in a row of the truth."""
        super().__init__(name, dropout, seed, vehicles)
        self._noise, self._states = noise, states
        self._draw = Draw(seed, f"{name}.noise", np.atleast_1d(vehicles))

    def read(
        self, true: Array, batch: Batch, elapsed: Array, before: Any, spread: Array | None = None
    ) -> tuple[Array, Any]:
        """See `ErrorSource`."""
        out, memory = np.array(true), before
        for k, (number, t) in enumerate(zip(batch.steps, batch.t, strict=True)):
            draw = self._draw.at(int(number), float(elapsed[k]), float(t))
            noise, memory = sampled(self._noise, draw, memory, self._states(row_of(batch, k)))
            out[k] += noise
        return out, memory


class Wander(NamedTuple):
    """The errors that carry over from sample to sample, each (vehicles, channels)."""

    walk: Array | float
    drift: Array | float


class ChannelErrors(ErrorSource):
    """The errors of channels: gain, bias, walk, drift, noise, range and rounding."""

    def __init__(
        self,
        name: str,
        channels: Sequence[Channel],
        rate: float | None,
        dropout: float,
        seed: int,
        vehicles: Any,
    ) -> None:
        super().__init__(name, dropout, seed, vehicles)
        self._white = white_levels(channels, rate)
        self._bias = _each(channels, "bias")
        self._walk = _each(channels, "walk")
        self._drift = _each(channels, "drift")
        self._drift_time = _each(channels, "drift_time")
        self._gain = 1.0 + _each(channels, "scale")
        self._limits = _each(channels, "low"), _each(channels, "high")
        self._limited = bool(np.isfinite(self._limits).any())
        self._resolution = _each(channels, "resolution")
        self._has_white = bool(self._white.any())
        self._has_walk = bool(self._walk.any())
        self._has_drift = bool(self._drift.any())
        self._rounds = bool(self._resolution.any())
        width = len(channels)
        self._white_stream = self._stream(streams.normals, "white", width)
        self._walk_stream = self._stream(streams.normals, "walk", width)
        self._drift_stream = self._stream(streams.normals, "drift", width)
        turn_on = _each(channels, "turn_on")
        if turn_on.any():
            drawn = self._stream(streams.normals, "turn_on", width).rows(np.zeros(1, np.int64))[0]
            self._bias = self._bias + turn_on * drawn

    def read(
        self, true: Array, batch: Batch, elapsed: Array, before: Any, spread: Array | None = None
    ) -> tuple[Array, Wander]:
        """See `ErrorSource`."""
        steps = batch.steps
        out = true * self._gain + self._bias
        out, walk = self._walked(out, steps, elapsed, before)
        out, drift = self._drifted(out, steps, elapsed, before)
        if spread is not None:
            out = out + np.hypot(self._white, spread) * self._white_stream.rows(steps)
        elif self._has_white:
            out = out + self._white * self._white_stream.rows(steps)
        return self._limited_and_rounded(out), Wander(walk, drift)

    def _walked(
        self, out: Array, steps: Steps, elapsed: Array, before: Wander | None
    ) -> tuple[Array, Any]:
        if not self._has_walk:
            return out, 0.0
        gained = self._walk * self._walk_stream.rows(steps) * np.sqrt(elapsed)[:, None, None]
        if before is None:
            gained[0] = 0.0
        else:
            gained[0] += before.walk
        walk = np.cumsum(gained, axis=0)
        return out + walk, walk[-1]

    def _drifted(
        self, out: Array, steps: Steps, elapsed: Array, before: Wander | None
    ) -> tuple[Array, Any]:
        if not self._has_drift:
            return out, 0.0
        age = -elapsed[:, None] / self._drift_time
        # The variance stays what it was: kept² of it remains, the rest is drawn anew.
        kept, fresh = np.exp(age), self._drift * np.sqrt(-np.expm1(2.0 * age))
        if before is None:  # nothing to keep: all of it is drawn
            kept[0], fresh[0] = 0.0, self._drift
        drawn = self._drift_stream.rows(steps)
        drift = np.empty_like(drawn)
        now: Any = 0.0 if before is None else before.drift
        for k in range(steps.size):
            drift[k] = now = kept[k] * now + fresh[k] * drawn[k]
        return out + drift, now

    def _limited_and_rounded(self, out: Array) -> Array:
        if self._limited:
            out = np.clip(out, *self._limits)
        if self._rounds:
            step = np.where(self._resolution > 0.0, self._resolution, 1.0)
            out = np.where(self._resolution > 0.0, step * np.rint(out / step), out)
        return out


def _each(channels: Sequence[Channel], name: str) -> Array:
    return np.array([getattr(channel, name) for channel in channels], dtype=float)
