"""When sensors sample: rate, delay, and the runner that puts a sensor into a loop.

A sample is taken at the first step at or after each multiple of 1/rate. What comes out at a step is
the newest sample that is at least the delay old, and each sample comes out once. `Sampler` does so
step by step, `sampled_rows` and `arrival_rows` for a whole recorded run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..core.arrays import Array
from ..core.checks import must_be
from ..core.files import brief_repr
from ..errors import InvalidValue
from ..random.streams import checked_vehicles
from ..units import Allowed, non_negative

_SLACK = 1e-6
"""Part of a period or of a delay that may be missing: 0.3 s is three steps of 0.1 s, whatever the
rounding."""


def check_sampling(kind: str, rate: float | None, delay: float, dropout: float) -> None:
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


class Moment(NamedTuple):
    """Where a sampler stands."""

    t: float = -math.inf
    """Time of the last step in s; -inf before the first."""
    number: int | None = None
    """Number of the last sample taken."""
    waiting: tuple[Any, ...] = ()
    """Readings taken that have not come out, oldest first."""
    latest: Any = None


class Sampler:
    """When samples are taken and when they come out, for a rate in Hz and a delay in s."""

    def __init__(self, rate: float | None, delay: float) -> None:
        self._rate, self._delay = rate, delay
        self.at = Moment()

    def step(self, t: float, take: Callable[[int, float], Any]) -> Any:
        """Advance to a time in s; returns the reading that comes out, or None.

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


class Sampled(Protocol):
    """The parts of a sensor that a runner uses."""

    @property
    def rate(self) -> float | None:
        """Samples per second in Hz; None for one at every step."""
        ...

    @property
    def delay(self) -> float:
        """Age of a sample when it comes out, in s."""
        ...

    def errors(self, seed: int, vehicles: Any) -> Any:
        """The random errors on some vehicles."""
        ...

    def sample(
        self, number: int, t: float, truth: Any, errors: Any, memory: Any
    ) -> tuple[Any, Any]:
        """A reading, None if it is lost, and what to remember."""
        ...


class Snapshot(NamedTuple):
    """Where a runner stands; see `Runner.restore`."""

    sensor: Any
    moment: Moment
    memory: Any


class Runner:
    """One sensor on one vehicle, step by step.

    What it gives depends on the seed, the number of the vehicle, the name of the sensor and what it
    is shown, and not on other sensors or vehicles.
    """

    __repr__ = brief_repr

    def __init__(self, sensor: Sampled, seed: int, vehicle: int) -> None:
        if checked_vehicles(vehicle).size != 1 or np.ndim(vehicle):
            raise InvalidValue(f"vehicle = {vehicle!r} must be one whole number")
        self.sensor = sensor
        self._errors = sensor.errors(seed, vehicle)
        self.reset()

    def reset(self) -> None:
        """Begin a new run; the same errors come again."""
        self._sampler = Sampler(self.sensor.rate, self.sensor.delay)
        self._memory: Any = None

    @property
    def latest(self) -> Any:
        """The last reading that came out; None before the first."""
        return self._sampler.at.latest

    def step(self, t: float, truth: Any) -> Any:
        """Show the truth at time t in s; returns a new reading if one comes out, else None.

        `truth` may also be a function without arguments, which is called only if a sample is due.
        Time must not go back. A rejected call changes nothing.
        """

        def take(number: int, now: float) -> Any:
            shown = truth() if callable(truth) else truth
            reading, self._memory = self.sensor.sample(
                number, now, shown, self._errors, self._memory
            )
            return reading

        return self._sampler.step(t, take)

    def snapshot(self) -> Snapshot:
        """Everything needed to come back to this moment; see `restore`."""
        return Snapshot(self.sensor, self._sampler.at, self._memory)

    def restore(self, snapshot: Snapshot) -> None:
        """Return to the moment a snapshot of this runner was taken; what follows is the same."""
        if not isinstance(snapshot, Snapshot) or snapshot.sensor is not self.sensor:
            raise InvalidValue("the snapshot is not one of a runner of this sensor")
        _, self._sampler.at, self._memory = snapshot
