"""The contract of all sensors: samples with errors, in a loop, along a recorded run, over a fleet.

`Instrument` has the rate, delay and lost samples, once for all sensors. What a sensor looks at and
what it shows of that is its own; how it errs is said by channels (`Sensor`) or by a distribution
(`models.SensorModel`).

A sensor with channels is a frozen dataclass that says what it is. To write one:

1. `Reading` is a NamedTuple of numbers whose last field is `stamp: s`, the time it was taken.
2. `channels` has one `Channel` for each number measured.
3. `measure(truth)` gives the reading without errors, in `skidpad.ops`, so that it also traces.
4. `true_values`, if the truth at the sample before is needed too, gives them instead, and
   `looks_back` is True; the first sample of a run then gives nothing.
5. `spread`, `visible` and `complete` say what else there is to it: noise that depends on what is
   measured, places without reception, fields computed from the measured ones.

`runner`, `along` and `along_fleet` follow from these, and agree with each other.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..compile.portable import arrived, travelling
from ..core import record
from ..core.arrays import Array, Mask
from ..core.checks import must_be
from ..core.files import brief_repr
from ..core.model import Vehicle
from ..errors import InvalidValue
from ..run.trajectory import Trajectory
from ..run.trajectory_table import Column, check_time, frozen
from ..units import Allowed
from .channels import Batch, Channel, ChannelErrors, ErrorSource
from .motion import NOT_KNOWN, Motion, motion_along
from .runner import Runner, arrival_rows, check_sampling, sampled_rows


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
    valid: Mask
    """Whether a vehicle got the sample, (n, vehicles)."""

    __repr__ = brief_repr

    def __getitem__(self, name: str) -> Array:
        if name not in self.names:
            raise InvalidValue(record.unknown_name("Readings", name, self.names))
        return self.values[:, :, self.names.index(name)]

    def __len__(self) -> int:
        return self.t.size


class Memory(NamedTuple):
    """State of a sensor between one sample and the next."""

    t: float
    """Time of the last sample in s."""
    truth: Any
    """Truth at the last sample, a record of the leaves' last rows."""
    errors: Any
    """State of its errors."""
    own: Any
    """State of the sensor itself; see `Instrument.complete`."""


class Instrument(ABC):
    """Base of all sensors."""

    # What each sensor can be set to; see `Sensor`.
    name: str
    rate: float | None
    delay: float
    dropout: float

    def __getstate__(self) -> dict[str, Any]:
        """For `pickle` and `copy`: record classes as they travel, and nothing that was worked out
        from the rest."""
        kind = type(self)
        return {
            name: travelling(value)
            for name, value in vars(self).items()
            if not isinstance(getattr(kind, name, None), cached_property)
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update({name: arrived(value) for name, value in state.items()})

    def check_sampling(self) -> None:
        """Raise unless name, rate, delay and dropout are usable."""
        check_sampling(type(self).__name__, self.rate, self.delay, self.dropout)
        if not self.name or not isinstance(self.name, str):
            raise InvalidValue(f"{type(self).__name__}.name = {self.name!r} must be a text")

    @property
    @abstractmethod
    def Truth(self) -> type:
        """The record it looks at."""

    @property
    @abstractmethod
    def Reading(self) -> type:
        """The record it gives; its last field is the stamp."""

    @property
    def looks_back(self) -> bool:
        """Whether a reading also needs the truth at the sample before."""
        return False

    @abstractmethod
    def true_values(self, truth: Any, before: Any, elapsed: Any) -> Sequence[Any]:
        """The true values, one per number measured; `before` was `elapsed` s ago (0 at first)."""

    @abstractmethod
    def errors(self, seed: int, vehicles: Any) -> ErrorSource:
        """The random errors of this sensor on some vehicles."""

    @abstractmethod
    def as_truth(self, truth: Any) -> Any:
        """The truth as a `Truth` record, checked to be one."""

    @abstractmethod
    def truth_along(self, trajectory: Trajectory, model: Vehicle | None) -> Any:
        """The truth at every sample of a recorded run."""

    def may_be_unknown(self, name: str) -> bool:
        """Whether a field of the truth may be NaN: it is not looked at."""
        return False

    def spread(self, true: Sequence[Any], elapsed: Any) -> Sequence[Any] | None:
        """Standard deviations of white noise that depends on the true values; None for none."""
        return None

    def visible(self, truth: Any, t: Any) -> Any:
        """Whether the sensor sees anything there and then: a boolean, or an array of them."""
        return True

    def complete(self, read: Array, truth: Any, elapsed: Array, own: Any) -> tuple[Array, Any]:
        """All fields of the reading but its stamp, from those measured, on the last axis.

        `read` is (samples, vehicles, channels); `own` is what this function returned before, None
        at first.
        """
        return read, None

    def take(
        self, batch: Batch, errors: ErrorSource, before: Memory | None
    ) -> tuple[Array, Mask, Memory]:
        """Samples one after the other: fields (samples, vehicles, fields), whether each is
        received, and what to remember."""
        truth, shape = batch.truth, (batch.t.size, errors.count)
        # 0 at the very first sample.
        since = np.diff(batch.t, prepend=batch.t[0] if before is None else before.t)
        elapsed = since[:, None]
        previous = _one_earlier(truth, before) if self.looks_back else truth
        true = self.true_values(truth, previous, elapsed)
        more = self.spread(true, elapsed)
        read, wander = errors.read(
            _stacked(true, shape),
            batch,
            since,
            None if before is None else before.errors,
            None if more is None else _stacked(more, shape),
        )
        own = None if before is None else before.own
        fields, own = self.complete(read, truth, elapsed, own)
        received = errors.received(batch.steps) & self.visible(truth, batch.t[:, None])
        if self.looks_back and before is None:
            received[0] = False
        return fields, received, Memory(float(batch.t[-1]), _last_of(truth), wander, own)

    def sample(
        self, number: int, t: float, truth: Any, errors: ErrorSource, memory: Memory | None
    ) -> tuple[Any, Memory]:
        """One sample of one vehicle: its reading, None if it is lost, and what to remember."""
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
        """The sensor in a loop: `step(t, truth)` gives a reading or None."""
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

        Its times are those at which readings came out; the column `stamp` has those at which they
        were taken. `model` is the vehicle, for exact accelerations; `truth` takes the place of what
        the trajectory says, with one row per sample of it.
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
        of the steps in s, `vehicles` the numbers of the vehicles in the random streams, 0, 1, ...
        if not given.
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
        valid = _newest(received, arrived) & (arrived < times.size)[:, None]
        inside = np.minimum(arrived, times.size - 1)
        kept = valid.any(axis=1)
        values = np.where(valid[:, :, None], fields, np.nan)[kept]
        names = record.names(self.Reading)[:-1]
        return Readings(names, times[inside][kept], times[rows][kept], values, valid[kept])


@dataclass(frozen=True, kw_only=True)
class Sensor(Instrument):
    """Base of the sensors with channels: what they can be set to."""

    name: str = "sensor"
    """Names its random streams: two sensors of one vehicle need two names."""
    rate: float | None = None
    """Samples per second in Hz; None for one at every step."""
    delay: float = 0.0
    """Age of a sample when it comes out, in s: at least this."""
    dropout: float = 0.0
    """Part of the samples that are lost, 0 to 1."""

    def __post_init__(self) -> None:
        self.check_sampling()
        for channel in self.channels:
            channel.white(self.rate)

    @property
    def Truth(self) -> type:
        """The record the sensor looks at."""
        return Motion

    @property
    @abstractmethod
    def channels(self) -> tuple[Channel, ...]:
        """The errors of each number measured."""

    @abstractmethod
    def measure(self, truth: Any) -> Any:
        """The reading without errors at one instant; its stamp is 0."""

    def true_values(self, truth: Any, before: Any, elapsed: Any) -> Sequence[Any]:
        """The true values, one per channel; `before` was `elapsed` s ago (0 at the first)."""
        return record.flatten(self.measure(truth))[: len(self.channels)]

    def errors(self, seed: int, vehicles: Any) -> ChannelErrors:
        """The random errors of this sensor on some vehicles."""
        return ChannelErrors(self.name, self.channels, self.rate, self.dropout, seed, vehicles)

    def as_truth(self, truth: Any) -> Any:
        """The truth as a `Truth` record, checked to be one."""
        if not isinstance(truth, self.Truth):
            raise InvalidValue(
                f"{type(self).__name__} looks at a {self.Truth.__name__} record, "
                f"got {type(truth).__qualname__}"
            )
        return truth

    def truth_along(self, trajectory: Trajectory, model: Vehicle | None) -> Any:
        """The truth at every sample of a recorded run."""
        return motion_along(trajectory, model)

    @cached_property
    def shows_accelerations(self) -> bool:
        """Whether its numbers depend on the motion's accelerations, which discrete models do not
        know."""
        count = len(self.channels)
        known, blind = (
            record.flatten(self.measure(Motion(**fields)))[:count]
            for fields in ({}, NOT_KNOWN._asdict())
        )
        pairs = zip(known, blind, strict=True)
        return any(math.isnan(b) and not math.isnan(a) for a, b in pairs)

    def may_be_unknown(self, name: str) -> bool:
        """Accelerations, of a sensor that does not show them."""
        seen = self.Truth is not Motion or name not in NOT_KNOWN._fields
        return not (seen or self.shows_accelerations)


def _stacked(values: Sequence[Any], shape: tuple[int, int]) -> Array:
    """Values that broadcast to (samples, vehicles) as (samples, vehicles, values)."""
    out = np.empty((*shape, len(values)))
    for k, value in enumerate(values):
        out[:, :, k] = value
    return out


def _one_earlier(truth: Any, before: Memory | None) -> Any:
    """The truth at the sample before each; at the very first, that at itself."""
    if not isinstance(truth[0], np.ndarray):
        return truth if before is None else before.truth
    first = (leaf[:1] for leaf in truth) if before is None else before.truth
    rows = (np.concatenate([a, leaf[:-1]]) for a, leaf in zip(first, truth, strict=True))
    return type(truth)(*rows)


def _last_of(truth: Any) -> Any:
    """The last row of each leaf."""
    if not isinstance(truth[0], np.ndarray):
        return truth
    return type(truth)(*(leaf[-1:] for leaf in truth))


def _laid_out(truth: Any, steps: int, vehicles: int | None) -> Any:
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


def _newest(received: Mask, arrived: NDArray[np.int64]) -> Mask:
    """Which samples come out: of those that arrive at one row, only the newest one received."""
    out = received.copy()
    for k in np.flatnonzero(np.diff(arrived) == 0):
        together = arrived[k + 1 :] == arrived[k]
        out[k] &= ~received[k + 1 :][together].any(axis=0)
    return out
