"""Commands of one vehicle that act late, a step at a time; `delay` says what acts when."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import record
from ..arrays import AnyArray
from ..model import Model
from .delay import SLACK, Channels, late_steps


class Waiting(NamedTuple):
    """The commands of one vehicle that have not acted yet, channel by channel, oldest first."""

    commands: tuple[tuple[float, ...], ...]


class DelayLine:
    """The queue of a vehicle whose commands age in steps.

    Commands lie in rings, each at the number of its step. So the queue is where the count of steps
    says it is: a step that is not made leaves nothing to take back.
    """

    def __init__(self, Input: type, fields: tuple[int, ...], steps: Sequence[int]) -> None:
        self.fields = fields
        self._steps = tuple(steps)
        default = record.flatten(record.build(Input))
        delays = zip(fields, steps, strict=True)
        self._start = Waiting(tuple((default[field],) * n for field, n in delays))
        self.restore(None, 0)

    def acting(self, row: Sequence[float], step: int) -> list[float]:
        """The row of inputs that acts if this one is commanded at the step of this number."""
        out = list(row)
        for field, ring in zip(self.fields, self._rings, strict=True):
            ring[step % len(ring)] = row[field]
            out[field] = ring[(step + 1) % len(ring)]
        return out

    def acting_rows(self, rows: AnyArray, waiting: Waiting) -> AnyArray:
        """What acts at each step (T, nu), for a row of commands per step behind those waiting."""
        out = np.array(rows, dtype=float)
        for field, queue in zip(self.fields, waiting.commands, strict=True):
            whole = np.concatenate([np.array(queue, dtype=float), out[:, field]])
            out[:, field] = whole[: len(out)]
        return out

    def push_rows(self, rows: AnyArray, waiting: Waiting, step: int) -> None:
        """The rows (T, nu) have been commanded behind those waiting; `step` is the next one."""
        queues = zip(self.fields, waiting.commands, strict=True)
        left = (tuple([*queue, *rows[:, field].tolist()][len(rows) :]) for field, queue in queues)
        self.restore(Waiting(tuple(left)), step)

    def finite(self, row: Sequence[float]) -> bool:
        """Whether delayed commands are finite numbers, which must not wait to be seen."""
        return all(math.isfinite(row[field]) for field in self.fields)

    def waiting(self, step: int) -> Waiting:
        """A copy of the queue before a step."""
        rings = zip(self._rings, self._steps, strict=True)
        return Waiting(
            tuple(tuple(ring[k % len(ring)] for k in range(step - n, step)) for ring, n in rings)
        )

    def restore(self, waiting: Waiting | None, step: int) -> None:
        """Put back what `waiting` gave, or the defaults; `step` is the next one."""
        rings = [[0.0] * (n + 1) for n in self._steps]
        for ring, queue in zip(rings, (waiting or self._start).commands, strict=True):
            for k, command in enumerate(queue, step - len(queue)):
                ring[k % len(ring)] = command
        self._rings = rings


def delay_line(model: Model, params: Any, dt: float) -> DelayLine | None:
    """The queue of one vehicle in steps of dt in s; None if nothing is delayed."""
    channels = Channels.of(model)
    if not channels:
        return None
    p = np.array(record.flatten(params), dtype=float).reshape(1, 1, -1)
    steps = late_steps(channels, p, dt)[0, 0].astype(int).tolist()
    return DelayLine(model.Input, channels.fields, steps)


class TimedLine:
    """The queue of a vehicle whose steps differ in length: commands age in s.

    A command is given at the end of the step it would act in if it were not delayed.
    """

    def __init__(self, Input: type, fields: tuple[int, ...], delays: Sequence[float]) -> None:
        self.fields = fields
        self._delays = [delay * (1.0 - SLACK) for delay in delays]
        default = record.flatten(record.build(Input))
        self._acting = [default[field] for field in fields]
        self._queues: list[deque[tuple[float, float]]] = [deque() for _ in fields]
        self._now = 0.0

    def acting(self, row: Sequence[float], dt: float) -> list[float]:
        """The row of inputs that acts in a step of dt if this one is commanded."""
        out, now = list(row), self._now + dt
        channels = zip(self.fields, self._delays, self._queues, self._acting, strict=True)
        for field, delay, queue, value in channels:
            if delay > 0.0:
                for time, command in queue:
                    if now - time < delay:
                        break
                    value = command
                out[field] = value
        return out

    def push(self, row: Sequence[float], dt: float) -> None:
        """The row has been commanded and a step of dt made."""
        self._now = now = self._now + dt
        for k, (field, delay) in enumerate(zip(self.fields, self._delays, strict=True)):
            if delay > 0.0:
                queue = self._queues[k]
                while queue and now - queue[0][0] >= delay:
                    self._acting[k] = queue.popleft()[1]
                queue.append((now, row[field]))
