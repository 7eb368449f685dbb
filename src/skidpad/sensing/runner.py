"""A sensor in a loop: it is shown the truth at every step and gives readings when they are due."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import record
from ..checks import must_be
from ..errors import InvalidValue
from ..random.streams import checked_vehicles
from ..units import Allowed
from .knobs import old_enough, tick
from .sampling import Batch, Memory

if TYPE_CHECKING:
    from .sensor import Sensor


class Snapshot(NamedTuple):
    """Where a runner stands; see `Runner.restore`."""

    sensor: Any
    t: float
    """Time of the last step in s; -inf before the first."""
    step: int | None
    """Number of the last sample taken."""
    memory: Memory | None
    waiting: tuple[Any, ...]
    """Readings taken that have not come out, oldest first."""
    latest: Any


class Runner:
    """One sensor on one vehicle, step by step.

    What it gives depends on the seed, the number of the vehicle, the name of the sensor and what it
    is shown, and not on other sensors or vehicles.
    """

    def __init__(self, sensor: Sensor, seed: int, vehicle: int) -> None:
        if checked_vehicles(vehicle).size != 1 or np.ndim(vehicle):
            raise InvalidValue(f"vehicle = {vehicle!r} must be one whole number")
        self.sensor = sensor
        self._errors = sensor.errors(seed, vehicle)
        self.reset()

    def reset(self) -> None:
        """Begin a new run; the same errors come again."""
        self._at = Snapshot(self.sensor, -math.inf, None, None, (), None)

    @property
    def latest(self) -> Any:
        """The last reading that came out; None before the first."""
        return self._at.latest

    def step(self, t: float, truth: Any) -> Any:
        """Show the truth at time t in s; returns a new reading if one comes out, else None.

        `truth` may also be a function without arguments, which is called only if a sample is due.
        Time must not go back. A rejected call changes nothing.
        """
        now = must_be("t", t, Allowed(), "s")
        at = self._at
        if now <= at.t:
            raise InvalidValue(f"t = {now} s must be later than the last step at {at.t} s")
        number = self._due(now)
        step, memory, waiting = at.step, at.memory, at.waiting
        if number is not None:
            step = number
            reading, memory = self._sample(number, now, truth() if callable(truth) else truth)
            waiting = waiting if reading is None else (*waiting, reading)
        ripe = 0
        while ripe < len(waiting) and old_enough(now, waiting[ripe].stamp, self.sensor.delay):
            ripe += 1
        latest = waiting[ripe - 1] if ripe else at.latest
        self._at = Snapshot(self.sensor, now, step, memory, waiting[ripe:], latest)
        return latest if ripe else None

    def snapshot(self) -> Snapshot:
        """Everything needed to come back to this moment; see `restore`."""
        return self._at

    def restore(self, snapshot: Snapshot) -> None:
        """Return to the moment a snapshot of this runner was taken; what follows is the same."""
        if not isinstance(snapshot, Snapshot) or snapshot.sensor is not self.sensor:
            raise InvalidValue("the snapshot is not one of a runner of this sensor")
        self._at = snapshot

    def _due(self, t: float) -> int | None:
        """The number of the sample to take now, None if there is none."""
        last, rate = self._at.step, self.sensor.rate
        number = (0 if last is None else last + 1) if rate is None else int(tick(t, rate))
        return number if last is None or number > last else None

    def _sample(self, number: int, t: float, truth: Any) -> tuple[Any, Memory]:
        sensor = self.sensor
        seen = sensor.seen(truth)
        numbers = [
            value if type(value) is float and math.isfinite(value) else self._number(name, value)
            for name, value in zip(seen._fields, seen, strict=True)
        ]
        batch = Batch(np.array([number]), np.array([t]), type(seen)(*numbers))
        fields, received, memory = sensor.take(batch, self._errors, self._at.memory)
        if not received[0, 0]:
            return None, memory
        return record.unflatten(sensor.Reading, [*fields[0, 0].tolist(), t]), memory

    def _number(self, name: str, value: Any) -> float:
        return must_be(f"{type(self.sensor).__name__}: truth {name}", value, Allowed())
