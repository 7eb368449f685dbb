"""Errors of sensors: the settings of a channel, and the random errors of every sample.

`Channel` describes the errors of one measured number. Error sources compute the errors for one
vehicle or many: those of channels (`ChannelErrors`), or a distribution that is added
(`NoiseErrors`). They are stateless: their memory is passed in and returned. A run sampled at once
and the same run sampled step by step give the same results, bit for bit.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array, Mask
from ..core.checks import must_be
from ..errors import InvalidValue
from ..random import streams
from ..random.model import UncertaintyModel, draw_sample
from ..random.streams import Draw
from ..units import Allowed, non_negative

Steps = NDArray[np.int64]
"""Indices of samples."""
_FINITE = Allowed()


@dataclass(frozen=True, kw_only=True)
class Channel:
    """Errors of one channel; the default is perfect. Its unit is called U here.

    A reading is (1 + scale) times the truth, plus the constant bias, the turn-on bias, the random
    walk, the correlated error and the white noise; it is then limited to the range and rounded.
    Each random part has a stream of its own: disabling one does not change the others.
    """

    std: float = 0.0
    """Standard deviation of the white noise per sample, in U."""
    density: float = 0.0
    """Density of the white noise, in U/√Hz; a sample gets density · √rate.

    Data sheets of inertial sensors state it, and it equals the Allan deviation at 1 s (as angle
    or velocity random walk).
    """
    bias: float = 0.0
    """Constant offset, in U."""
    turn_on: float = 0.0
    """Standard deviation of an offset sampled once per run, in U."""
    walk: float = 0.0
    """Random walk of the bias, in U/√s: for a gyroscope rad/s/√s, which is rad/s²/√Hz.

    Over a time dt its standard deviation grows by walk · √dt; it equals the Allan deviation at
    3 s.
    """
    drift: float = 0.0
    """Standard deviation of a first-order Gauss-Markov error, in U: correlated, but bounded."""
    drift_time: float = 100.0
    """Time constant of the Gauss-Markov error, after which its correlation is 1/e, in s."""
    scale: float = 0.0
    """Relative scale error: 0.01 reads 1 % too much, for either sign."""
    resolution: float = 0.0
    """Resolution: readings are rounded to multiples of it, in U; 0 for no rounding."""
    low: float = -math.inf
    """Smallest reading, in U; below it the sensor saturates."""
    high: float = math.inf
    """Largest reading, in U; above it the sensor saturates."""

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
    if not isinstance(channel, Channel):
        raise InvalidValue(f"{name} must be a Channel, got {channel!r}")
    return channel


class Batch(NamedTuple):
    """Samples that are processed together."""

    steps: Steps
    """Indices of the samples."""
    t: Array
    """Times of the samples in s."""
    truth: Any
    """A record whose leaves are arrays (samples, vehicles), or floats if there is one of each."""


class ErrorSource(ABC):
    """Errors of one sensor on some vehicles.

    `name` prefixes the names of the random streams; `vehicles` are the vehicles' indices in them.
    """

    def __init__(self, name: str, dropout: float, seed: int, vehicles: Any) -> None:
        self._name, self._dropout, self._seed, self._vehicles = name, dropout, seed, vehicles
        self._lost_stream = self._stream(streams.uniforms, "dropout", 1)
        self.count = streams.checked_vehicles(vehicles).size
        """Number of vehicles."""

    def _stream(self, draw: Any, part: str, width: int) -> streams.Stream:
        return streams.Stream(draw, self._seed, f"{self._name}.{part}", self._vehicles, width)

    def received(self, steps: Steps) -> Mask:
        """Mask (samples, vehicles) of the samples that are not lost."""
        if self._dropout == 0.0:
            return np.ones((steps.size, self.count), bool)
        return self._lost_stream.rows(steps)[:, :, 0] >= self._dropout

    @abstractmethod
    def read(
        self, true: Array, batch: Batch, elapsed: Array, before: Any, spread: Array | None = None
    ) -> tuple[Array, Any]:
        """Readings (samples, vehicles, values) of true values, and the memory of the errors.

        Args:
            true: true values (samples, vehicles, values).
            batch: the samples.
            elapsed: time since the previous sample in s, for each sample.
            before: memory after the previous call; None at the start of a run.
            spread: standard deviation of additional white noise, in the shape of the values.
        """


class NoiseErrors(ErrorSource):
    """Errors sampled from a distribution and added to the true values."""

    def __init__(
        self,
        name: str,
        noise: UncertaintyModel,
        states: Callable[[Any], Array],
        dropout: float,
        seed: int,
        vehicles: Any,
    ) -> None:
        """`states` returns the states (vehicles, nx) in a row of the truth."""
        super().__init__(name, dropout, seed, vehicles)
        self._noise, self._states = noise, states
        self._draw = Draw(seed, f"{name}.noise", np.atleast_1d(vehicles))

    def read(
        self, true: Array, batch: Batch, elapsed: Array, before: Any, spread: Array | None = None
    ) -> tuple[Array, Any]:
        out, memory = np.array(true), before
        truth, alone = batch.truth, not isinstance(batch.truth[0], np.ndarray)
        for k, (number, t) in enumerate(zip(batch.steps, batch.t, strict=True)):
            row = truth if alone else type(truth)(*(leaf[k] for leaf in truth))
            draw = self._draw.at(int(number), float(elapsed[k]), float(t))
            noise, memory = draw_sample(self._noise, draw, memory, self._states(row))
            out[k] += noise
        return out, memory


class Wander(NamedTuple):
    """Errors that carry over from sample to sample, each (vehicles, channels)."""

    walk: Array | float
    drift: Array | float


class ChannelErrors(ErrorSource):
    """Errors of channels: gain, bias, walk, drift, noise, range and rounding."""

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
        settings = {
            field.name: np.array([getattr(channel, field.name) for channel in channels], float)
            for field in fields(Channel)
        }
        white = np.array([channel.white(rate) for channel in channels])
        self._settings, self._white = settings, white
        self._gain, self._bias = 1.0 + settings["scale"], settings["bias"]
        self._limits = settings["low"], settings["high"]
        self._limited = bool(np.isfinite(self._limits).any())
        self._rounds = bool(settings["resolution"].any())
        levels = {"white": white, "walk": settings["walk"], "drift": settings["drift"]}
        self._acting = {part for part, level in levels.items() if level.any()}
        """Random parts that are nonzero in at least one channel."""
        self._streams = {part: self._normals(part, len(channels)) for part in levels}
        if settings["turn_on"].any():
            drawn = self._normals("turn_on", len(channels)).rows(np.zeros(1, np.int64))[0]
            self._bias = self._bias + settings["turn_on"] * drawn

    def _normals(self, part: str, width: int) -> streams.Stream:
        return self._stream(streams.normals, part, width)

    def read(
        self, true: Array, batch: Batch, elapsed: Array, before: Any, spread: Array | None = None
    ) -> tuple[Array, Wander]:
        out = true * self._gain + self._bias
        walk: Any = 0.0
        drift: Any = 0.0
        if "walk" in self._acting:
            walk = self._walk(batch.steps, elapsed, before)
            out, walk = out + walk, walk[-1]
        if "drift" in self._acting:
            drift = self._drift(batch.steps, elapsed, before)
            out, drift = out + drift, drift[-1]
        if spread is not None or "white" in self._acting:
            white = self._white if spread is None else np.hypot(self._white, spread)
            out = out + white * self._streams["white"].rows(batch.steps)
        if self._limited:
            out = np.clip(out, *self._limits)
        if self._rounds:
            resolution = self._settings["resolution"]
            step = np.where(resolution > 0.0, resolution, 1.0)
            out = np.where(resolution > 0.0, step * np.rint(out / step), out)
        return out, Wander(walk, drift)

    def _walk(self, steps: Steps, elapsed: Array, before: Wander | None) -> Array:
        drawn = self._streams["walk"].rows(steps)
        gained = self._settings["walk"] * drawn * np.sqrt(elapsed)[:, None, None]
        if before is None:
            gained[0] = 0.0
        else:
            gained[0] += before.walk
        return np.cumsum(gained, axis=0)

    def _drift(self, steps: Steps, elapsed: Array, before: Wander | None) -> Array:
        level = self._settings["drift"]
        age = -elapsed[:, None] / self._settings["drift_time"]
        # The variance stays what it was: kept² of it remains, the rest is drawn anew.
        kept, fresh = np.exp(age), level * np.sqrt(-np.expm1(2.0 * age))
        if before is None:  # all of it is drawn
            kept[0], fresh[0] = 0.0, level
        drawn = self._streams["drift"].rows(steps)
        drift = np.empty_like(drawn)
        now: Any = 0.0 if before is None else before.drift
        for k in range(steps.size):
            drift[k] = now = kept[k] * now + fresh[k] * drawn[k]
        return drift
