"""Interface of all sensors: samples with errors, in a loop, along a recorded run, over a fleet.

`Instrument` implements rate, delay and lost samples for all sensors. Each sensor defines its truth
and its reading; errors are defined by channels (`Sensor`) or by a distribution
(`models.SensorModel`).

A sensor with channels is a frozen dataclass of its settings. To write one:

1. `Reading` is a NamedTuple of numbers whose last field is `stamp: s`, the time it was taken.
2. `channels` has one `Channel` for each measured number.
3. `measure(truth)` returns the reading without errors, in `skidpad.ops`, so that it can be traced.
4. If the truth at the previous sample is needed too, `true_values` returns the numbers instead, and
   `looks_back` is True; the first sample of a run then has no reading.
5. `spread`, `visible` and `complete` are optional: noise that depends on the measured values,
   places without reception, fields computed from the measured ones.

`runner`, `along` and `along_fleet` follow from these, and agree with each other.

A sample is taken at the first step at or after each multiple of 1/rate. The output at a step is the
newest sample that is at least the delay old; each sample is output once. `Sampler` does this step
by step, `sampled_rows` and `arrival_rows` for a whole recorded run.

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
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..compile.portable import from_picklable, to_picklable
from ..core import record
from ..core.arrays import Array, Mask
from ..core.checks import must_be
from ..core.files import brief_repr
from ..core.model import Vehicle
from ..errors import InvalidValue
from ..random import streams
from ..random.model import UncertaintyModel, draw_sample
from ..random.streams import Draw, checked_vehicles
from ..run.trajectory import Trajectory
from ..run.trajectory_table import Column, check_time, frozen
from ..units import Allowed, non_negative
from .motion import NOT_KNOWN, Motion, motion_along

_SLACK = 1e-6
"""Tolerance for rounding, as a fraction of a period or delay: 0.3 s is three steps of 0.1 s."""


def check_sampling(kind: str, rate: float | None, delay: float, dropout: float) -> None:
    """Raise unless rate (Hz, or None for every step), delay (s) and dropout (0 to 1) are usable."""
    if rate is not None:
        must_be(f"{kind}.rate", rate, Allowed(low=0.0, open_low=True), "Hz")
    must_be(f"{kind}.delay", delay, non_negative, "s")
    must_be(f"{kind}.dropout", dropout, Allowed(0.0, 1.0))


def tick(t: Any, rate: float) -> Any:
    """Sample index: number of the last multiple of 1/rate at or before a time in s (number or
    array).
    """
    return np.floor(t * rate + _SLACK)


def old_enough(t: Any, stamp: Any, delay: float) -> Any:
    """Whether a sample taken at `stamp` may be output at `t`, all in s."""
    return t - stamp >= delay * (1.0 - _SLACK)


def sampled_rows(t: Array, rate: float | None) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of increasing times at which a sample is taken, and the index of each sample."""
    if rate is None:
        rows = np.arange(t.size)
        return rows, rows
    ticks = tick(t, rate).astype(np.int64)
    rows = np.flatnonzero(np.diff(ticks, prepend=ticks[:1] - 1) > 0)
    return rows, ticks[rows]


def arrival_rows(t: Array, rows: NDArray[np.int64], delay: float) -> NDArray[np.int64]:
    """Row at which each sample is output; the number of rows for a sample that is never output."""
    arrival = np.searchsorted(t, t[rows] + delay * (1.0 - _SLACK))
    # Correct the search by `old_enough`, whose difference is rounded differently from this sum.
    earlier = np.maximum(arrival - 1, rows)
    arrival = np.where(old_enough(t[earlier], t[rows], delay), earlier, arrival)
    at = np.minimum(arrival, t.size - 1)
    return np.where(old_enough(t[at], t[rows], delay), arrival, np.minimum(arrival + 1, t.size))


class Moment(NamedTuple):
    """State of a sampler between two steps."""

    t: float = -math.inf
    """Time of the last step in s; -inf before the first."""
    number: int | None = None
    """Index of the last sample taken."""
    waiting: tuple[Any, ...] = ()
    """Samples not yet output, oldest first."""
    latest: Any = None


class Sampler:
    """Sampler that takes samples at a rate in Hz and outputs them after a delay in s."""

    def __init__(self, rate: float | None, delay: float) -> None:
        self._rate, self._delay = rate, delay
        self.at = Moment()

    def step(self, t: float, take: Callable[[int, float], Any]) -> Any:
        """Advance to a time in s; returns the reading that is output, or None.

        `take(number, t)` takes the sample that is due, and returns None if it is lost. A rejected
        call changes nothing.
        """
        now = must_be("t", t, Allowed(), "s")
        at = self.at
        if now <= at.t:
            raise InvalidValue(f"t = {now} s must be later than the last step at {at.t} s")
        following = 0 if at.number is None else at.number + 1
        number = following if self._rate is None else int(tick(now, self._rate))
        waiting = at.waiting
        if at.number is not None and number <= at.number:
            number = at.number
        elif (reading := take(number, now)) is not None:
            waiting = (*waiting, reading)
        ripe = 0
        while ripe < len(waiting) and old_enough(now, waiting[ripe].stamp, self._delay):
            ripe += 1
        latest = waiting[ripe - 1] if ripe else at.latest
        self.at = Moment(now, number, waiting[ripe:], latest)
        return latest if ripe else None


class Snapshot(NamedTuple):
    """Complete state of a runner; see `Runner.restore`."""

    sensor: Any
    moment: Moment
    memory: Any


class Runner:
    """One sensor on one vehicle, advanced step by step.

    Its readings depend only on the seed, the index of the vehicle, the name of the sensor and the
    truth, not on other sensors or vehicles.
    """

    __repr__ = brief_repr

    def __init__(self, sensor: Instrument, seed: int, vehicle: int) -> None:
        if checked_vehicles(vehicle).size != 1 or np.ndim(vehicle):
            raise InvalidValue(f"vehicle = {vehicle!r} must be one whole number")
        self.sensor = sensor
        self._errors = sensor.errors(seed, vehicle)
        self.reset()

    def reset(self) -> None:
        """Start a new run, with the same errors again."""
        self._sampler = Sampler(self.sensor.rate, self.sensor.delay)
        self._memory: Any = None

    @property
    def latest(self) -> Any:
        """Latest reading that was output; None before the first."""
        return self._sampler.at.latest

    def step(self, t: float, truth: Any) -> Any:
        """Advance to time t in s with the truth; returns a new reading if one is output, else None.

        `truth` may also be a function without arguments, which is called only if a sample is due.
        Time must not decrease. A rejected call changes nothing.
        """

        def take(number: int, now: float) -> Any:
            shown = truth() if callable(truth) else truth
            reading, self._memory = self.sensor.sample(
                number, now, shown, self._errors, self._memory
            )
            return reading

        return self._sampler.step(t, take)

    def snapshot(self) -> Snapshot:
        """Complete state of the runner; see `restore`."""
        return Snapshot(self.sensor, self._sampler.at, self._memory)

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the state of a snapshot of this runner; the following readings are the same."""
        if not isinstance(snapshot, Snapshot) or snapshot.sensor is not self.sensor:
            raise InvalidValue("the snapshot is not one of a runner of this sensor")
        _, self._sampler.at, self._memory = snapshot


@dataclass(frozen=True, eq=False)
class Readings:
    """Readings of many vehicles, one row per sample that any vehicle received.

    `readings["omega_z"]` is (n, B). NaN where a vehicle has no reading: the sample was lost,
    overtaken by a newer one, or not visible.
    """

    names: tuple[str, ...]
    """Fields of the reading, without its stamp."""
    t: Array
    """Time at which each sample was output, (n,), in s."""
    stamp: Array
    """Time at which each sample was taken, (n,), in s."""
    values: Array
    """Readings, (n, vehicles, fields)."""
    valid: Mask
    """Whether a vehicle received the sample, (n, vehicles)."""

    __repr__ = brief_repr

    def __getitem__(self, name: str) -> Array:
        record.check_names("Readings", [name], self.names)
        return self.values[:, :, self.names.index(name)]

    def __len__(self) -> int:
        return self.t.size


class Memory(NamedTuple):
    """State of a sensor between two samples."""

    t: float
    """Time of the last sample in s."""
    truth: Any
    """Truth at the last sample, a record of the last rows of its leaves."""
    errors: Any
    """Memory of the sensor's error sources."""
    own: Any
    """Memory of the sensor itself; see `Instrument.complete`."""


class Instrument(ABC):
    """Base of all sensors: rate, delay, lost samples, and readings in loops, runs and fleets."""

    # Settings that every sensor has; `Sensor` documents them.
    name: str
    rate: float | None
    delay: float
    dropout: float

    def __getstate__(self) -> dict[str, Any]:
        """State for `pickle` and `copy`: transferable record classes, no cached values."""
        kind = type(self)
        return {
            name: to_picklable(value)
            for name, value in vars(self).items()
            if not isinstance(getattr(kind, name, None), cached_property)
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({name: from_picklable(value) for name, value in state.items()})

    def check_sampling(self) -> None:
        check_sampling(type(self).__name__, self.rate, self.delay, self.dropout)
        if not self.name or not isinstance(self.name, str):
            raise InvalidValue(f"{type(self).__name__}.name = {self.name!r} must be a text")

    @property
    @abstractmethod
    def Truth(self) -> type:
        """Record class of the truth that the sensor reads."""

    @property
    @abstractmethod
    def Reading(self) -> type:
        """Record class of a reading; its last field is the stamp."""

    @property
    def looks_back(self) -> bool:
        """Whether a reading also needs the truth at the previous sample."""
        return False

    @abstractmethod
    def true_values(self, truth: Any, before: Any, elapsed: Any) -> Sequence[Any]:
        """True values of a sample, one per measured number.

        `before` is the truth `elapsed` s ago, at the previous sample; `elapsed` is 0 at the first.
        """

    @abstractmethod
    def errors(self, seed: int, vehicles: Any) -> ErrorSource:
        """Random errors of this sensor on some vehicles."""

    @abstractmethod
    def as_truth(self, truth: Any) -> Any:
        """Truth as a `Truth` record; raises if it is not one."""

    @abstractmethod
    def truth_along(self, trajectory: Trajectory, model: Vehicle | None) -> Any:
        """Truth at every sample of a recorded run."""

    def may_be_unknown(self, name: str) -> bool:
        """Whether a field of the truth may be NaN, as the sensor does not use it."""
        return False

    def spread(self, true: Sequence[Any], elapsed: Any) -> Sequence[Any] | None:
        """Standard deviations of noise that depends on the true values; None for no such noise."""
        return None

    def visible(self, truth: Any, t: Any) -> Any:
        """Whether the sensor can measure at this place and time: a boolean or an array."""
        return True

    def complete(self, read: Array, truth: Any, elapsed: Array, own: Any) -> tuple[Array, Any]:
        """Complete reading without its stamp, from the measured values, on the last axis.

        Args:
            read: measured values (samples, vehicles, channels).
            truth: truth at the samples.
            elapsed: time since the previous sample in s, for each sample.
            own: memory returned by the previous call, None at first.
        """
        return read, None

    def take(
        self, batch: Batch, errors: ErrorSource, before: Memory | None
    ) -> tuple[Array, Mask, Memory]:
        """Take samples one after the other.

        Returns fields (samples, vehicles, fields), a mask of the received samples, and the memory.
        """
        truth, shape = batch.truth, (batch.t.size, errors.count)
        # Elapsed time since the previous sample, 0 at the very first sample.
        since = np.diff(batch.t, prepend=batch.t[0] if before is None else before.t)
        elapsed = since[:, None]
        previous = truth
        if self.looks_back and not isinstance(truth[0], np.ndarray):
            previous = truth if before is None else before.truth
        elif self.looks_back:  # the first sample is compared with itself
            first = (leaf[:1] for leaf in truth) if before is None else before.truth
            rows = (np.concatenate([a, leaf[:-1]]) for a, leaf in zip(first, truth, strict=True))
            previous = type(truth)(*rows)
        true = self.true_values(truth, previous, elapsed)
        more = self.spread(true, elapsed)
        more = None if more is None else _stacked(more, shape)
        wander, own = (None, None) if before is None else (before.errors, before.own)
        read, wander = errors.read(_stacked(true, shape), batch, since, wander, more)
        fields, own = self.complete(read, truth, elapsed, own)
        received = errors.received(batch.steps) & self.visible(truth, batch.t[:, None])
        if self.looks_back and before is None:
            received[0] = False
        last = truth
        if isinstance(truth[0], np.ndarray):
            last = type(truth)(*(leaf[-1:] for leaf in truth))
        return fields, received, Memory(float(batch.t[-1]), last, wander, own)

    def sample(
        self, number: int, t: float, truth: Any, errors: ErrorSource, memory: Memory | None
    ) -> tuple[Any, Memory]:
        """Take one sample of one vehicle: its reading, None if it is lost, and the memory."""
        seen = self.as_truth(truth)
        numbers = [
            value if type(value) is float and math.isfinite(value) else self._number(name, value)
            for name, value in zip(seen._fields, seen, strict=True)
        ]
        batch = Batch(np.array([number]), np.array([t]), type(seen)(*numbers))
        fields, received, memory = self.take(batch, errors, memory)
        if not received[0, 0]:
            return None, memory
        return record.unflatten(self.Reading, [*fields[0, 0].tolist(), t]), memory

    def _number(self, name: str, value: Any) -> float:
        if self.may_be_unknown(name):
            return float(value)
        return must_be(f"{type(self).__name__}: truth {name}", value, Allowed())

    def runner(self, *, seed: int = 0, vehicle: int = 0) -> Runner:
        """Runner for a simulation loop: `step(t, truth)` returns a reading or None."""
        return Runner(self, seed, vehicle)

    def along(
        self,
        trajectory: Trajectory,
        *,
        seed: int = 0,
        vehicle: int = 0,
        model: Vehicle | None = None,
        truth: Any = None,
    ) -> Trajectory:
        """Readings of a runner during a recorded run, as a trajectory.

        Its times are those at which readings were output; the column `stamp` has the times at which
        they were taken. `model` is the vehicle, for exact accelerations; `truth` replaces the truth
        from the trajectory, with one row per sample of it.
        """
        seen = self.truth_along(trajectory, model) if truth is None else self.as_truth(truth)
        readings = self.along_fleet(trajectory.t, seen, seed=seed, vehicles=[vehicle])
        kept = readings.valid[:, 0]
        if not kept.any():
            raise InvalidValue(
                f"{type(self).__name__} {self.name!r} gave no reading from "
                f"{trajectory.t[0]:g} to {trajectory.t[-1]:g} s"
            )
        leaves = record.fields(self.Reading)
        values = [readings.values[kept, 0, k] for k in range(len(leaves) - 1)]
        columns = [
            Column(leaf.name, leaf.unit, "output", column)
            for leaf, column in zip(leaves, [*values, readings.stamp[kept]], strict=True)
        ]
        meta = {"sensor": type(self).__name__, "seed": seed, "vehicle": vehicle}
        return Trajectory(readings.t[kept], tuple(columns), self.name, meta)

    def along_fleet(
        self, t: ArrayLike, truth: Any, *, seed: int = 0, vehicles: Any = None
    ) -> Readings:
        """Readings of many vehicles at once, from a record of arrays (steps, vehicles).

        Leaves may also be (steps,) or single numbers if all vehicles share them. `t` are the times
        of the steps in s, `vehicles` the indices of the vehicles in the random streams, 0, 1, ...
        by default.
        """
        times = frozen("t", t)
        check_time(times)
        number = None if vehicles is None else np.size(vehicles)
        seen = _laid_out(self.as_truth(truth), times.size, number)
        for name, leaf in zip(seen._fields, seen, strict=True):
            bad = ~np.isfinite(leaf)
            if bad.any() and not self.may_be_unknown(name):
                step, vehicle = np.argwhere(bad)[0]
                raise InvalidValue(
                    f"{type(self).__name__}: truth {name} = {leaf[step, vehicle]} at step {step} "
                    f"of vehicle {vehicle} must be finite"
                )
        numbers = np.arange(seen[0].shape[1]) if vehicles is None else vehicles
        errors = self.errors(seed, numbers)
        rows, steps = sampled_rows(times, self.rate)
        part = type(seen)(*(leaf[rows] for leaf in seen))
        fields, received, _ = self.take(Batch(steps, times[rows], part), errors, None)
        arrived = arrival_rows(times, rows, self.delay)
        # Of the samples that arrive at the same step, the newest received one is output.
        valid = received & (arrived < times.size)[:, None]
        for k in np.flatnonzero(np.diff(arrived) == 0):
            together = arrived[k + 1 :] == arrived[k]
            valid[k] &= ~received[k + 1 :][together].any(axis=0)
        inside = np.minimum(arrived, times.size - 1)
        kept = valid.any(axis=1)
        values = np.where(valid[:, :, None], fields, np.nan)[kept]
        names = record.names(self.Reading)[:-1]
        return Readings(names, times[inside][kept], times[rows][kept], values, valid[kept])


@dataclass(frozen=True, kw_only=True)
class Sensor(Instrument):
    """Base of the sensors with channels, with their common settings."""

    name: str = "sensor"
    """Name of its random streams: two sensors of one vehicle need different names."""
    rate: float | None = None
    """Samples per second in Hz; None for a sample at every step."""
    delay: float = 0.0
    """Smallest age of a sample when it is output, in s."""
    dropout: float = 0.0
    """Fraction of the samples that are lost, 0 to 1."""

    def __post_init__(self) -> None:
        self.check_sampling()
        for channel in self.channels:
            channel.white(self.rate)

    @property
    def Truth(self) -> type:
        """Record class of the truth that the sensor reads."""
        return Motion

    @property
    @abstractmethod
    def channels(self) -> tuple[Channel, ...]:
        """Channels with the errors of each measured number."""

    @abstractmethod
    def measure(self, truth: Any) -> Any:
        """Reading without errors at one instant; its stamp is 0."""

    def true_values(self, truth: Any, before: Any, elapsed: Any) -> Sequence[Any]:
        """True values of a sample, one per channel.

        `before` is the truth `elapsed` s ago, at the previous sample; `elapsed` is 0 at the first.
        """
        return record.flatten(self.measure(truth))[: len(self.channels)]

    def errors(self, seed: int, vehicles: Any) -> ChannelErrors:
        """Random errors of this sensor on some vehicles."""
        return ChannelErrors(self.name, self.channels, self.rate, self.dropout, seed, vehicles)

    def as_truth(self, truth: Any) -> Any:
        """Truth as a `Truth` record; raises if it is not one."""
        if not isinstance(truth, self.Truth):
            raise InvalidValue(
                f"{type(self).__name__} takes a {self.Truth.__name__} record, "
                f"got {type(truth).__qualname__}"
            )
        return truth

    def truth_along(self, trajectory: Trajectory, model: Vehicle | None) -> Any:
        """Truth at every sample of a recorded run."""
        return motion_along(trajectory, model)

    @cached_property
    def shows_accelerations(self) -> bool:
        """Whether the sensor's readings depend on accelerations, which discrete models do not
        provide.
        """
        count = len(self.channels)
        known, blind = (
            record.flatten(self.measure(Motion(**fields)))[:count]
            for fields in ({}, NOT_KNOWN._asdict())
        )
        pairs = zip(known, blind, strict=True)
        return any(math.isnan(b) and not math.isnan(a) for a, b in pairs)

    def may_be_unknown(self, name: str) -> bool:
        """Whether a field may be NaN: accelerations, if the sensor does not use them."""
        seen = self.Truth is not Motion or name not in NOT_KNOWN._fields
        return not (seen or self.shows_accelerations)


def _stacked(values: Sequence[Any], shape: tuple[int, int]) -> Array:
    """Stack values that broadcast to (samples, vehicles) into (samples, vehicles, values)."""
    out = np.empty((*shape, len(values)))
    for k, value in enumerate(values):
        out[:, :, k] = value
    return out


def _laid_out(truth: Any, steps: int, vehicles: int | None) -> Any:
    """Record with leaves (steps, vehicles), from numbers and arrays that broadcast."""
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


Steps = NDArray[np.int64]
"""Indices of samples."""
_FINITE = Allowed()


@dataclass(frozen=True, kw_only=True)
class Channel:
    """Errors of one measured number; the default channel is perfect. U stands for the unit of the
    number.

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
        # Preserve the variance: the fraction kept² remains, and the rest is drawn anew.
        kept, fresh = np.exp(age), level * np.sqrt(-np.expm1(2.0 * age))
        if before is None:  # everything is drawn anew
            kept[0], fresh[0] = 0.0, level
        drawn = self._streams["drift"].rows(steps)
        drift = np.empty_like(drawn)
        now: Any = 0.0 if before is None else before.drift
        for k in range(steps.size):
            drift[k] = now = kept[k] * now + fresh[k] * drawn[k]
        return drift
