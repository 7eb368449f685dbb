"""Commands of one vehicle that act late, a step at a time; `delay` says what acts when."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from .. import record
from ..arrays import AnyArray
from ..model import Model
from .delay import Channels, ages


class Waiting(NamedTuple):
    """The commands that may still act, channel by channel: their stamps and values, oldest
    first."""

    commands: tuple[tuple[tuple[float, float], ...], ...]


class DelayLine:
    """The queue of a vehicle whose commands age by the steps it makes.

    Its clock counts steps; one that is longer than the others may count for more. A command has
    the stamp of the clock after the step it would act in if it were not delayed. So the clock alone
    says which commands count: a step that is not made leaves nothing to take back.

    Args:
        Input: the input record.
        fields: places of the delayed inputs.
        ages: after how many steps each of them acts.
    """

    def __init__(self, Input: type, fields: tuple[int, ...], ages: Sequence[float]) -> None:
        self.fields, self._ages = fields, tuple(ages)
        default = record.flatten(record.build(Input))
        self._start = Waiting(tuple(((-math.inf, default[field]),) for field in fields))
        self.restore(None)

    @classmethod
    def of(cls, model: Model, params: Any, dt: float) -> Self | None:
        """The queue of a vehicle in steps of dt in s; None if nothing is delayed."""
        channels = Channels.of(model)
        if not channels:
            return None
        p = np.array(record.flatten(params), dtype=float).reshape(1, 1, -1)
        return cls(model.Input, channels.fields, ages(channels, p, dt)[0, 0].tolist())

    @property
    def channels(self) -> tuple[tuple[int, float], ...]:
        """Places of the delayed inputs, and after how many steps each of them acts."""
        return tuple(zip(self.fields, self._ages, strict=True))

    def acting(self, row: Sequence[float], clock: float, after: float) -> list[float]:
        """The row of inputs that acts if this one is commanded in a step that takes the clock from
        `clock` to `after`."""
        out = list(row)
        for field, age, queue in zip(self.fields, self._ages, self._queues, strict=True):
            while queue[-1][0] > clock:  # of a step that was not made
                queue.pop()
            while len(queue) > 1 and clock - queue[1][0] >= age:
                queue.popleft()
            queue.append((after, row[field]))
            for stamp, command in queue:
                if after - stamp < age:
                    break
                out[field] = command
        return out

    def acting_rows(self, rows: AnyArray, waiting: Waiting, clock: float) -> AnyArray:
        """What acts at each step (T, nu), for a row of commands per step behind those waiting."""
        out, after = np.array(rows, dtype=float), clock + np.arange(1.0, len(rows) + 1.0)
        for field, age, commands in zip(self.fields, self._ages, waiting.commands, strict=True):
            older = np.array(commands)
            stamps = np.concatenate([older[:, 0], after])
            values = np.concatenate([older[:, 1], out[:, field]])
            out[:, field] = values[np.searchsorted(stamps, after - age, side="right") - 1]
        return out

    def push_rows(self, rows: AnyArray, clock: float) -> None:
        """The rows (T, nu) have been commanded in steps from this clock on."""
        recent = max(len(rows) - int(max(self._ages)) - 2, 0)
        for k, row in enumerate(rows[recent:].tolist(), recent):
            self.acting(row, clock + k, clock + k + 1)

    def finite(self, row: Sequence[float]) -> bool:
        """Whether delayed commands are finite numbers, which must not wait to be seen."""
        return all(math.isfinite(row[field]) for field in self.fields)

    def waiting(self, clock: float) -> Waiting:
        """A copy of the queue when the clock shows this."""
        queues = (tuple(c for c in queue if c[0] <= clock) for queue in self._queues)
        return Waiting(tuple(queues))

    def restore(self, waiting: Waiting | None) -> None:
        """Put back what `waiting` gave, or forget all commands."""
        queues: Iterable[Any] = (waiting or self._start).commands
        self._queues: list[deque[tuple[float, float]]] = [deque(queue) for queue in queues]
