"""Dead time: commands that act late. It belongs to an input channel and is kept outside the model.

A model names its delayed inputs and, for each, the parameter that holds the delay in s
(`Model.dead_times`). What acts at a step is the newest command that is at least the delay old; a
model that reproduces an upstream program may count updates instead, to the nearest. Before there is
such a command, the input's default acts. Commands that have not acted yet are the queue of pending
ones: rows of inputs, oldest first.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import record
from ..arrays import AnyArray
from ..compile.cpu import Late
from ..compile.plant import Plant
from ..errors import InvalidValue
from ..model import Model
from . import batch

_MOST_STEPS = 1_000_000
"""Longest queue: more is a mistake in the unit of a delay."""
_SLACK = 1e-6
"""Part of a step by which a delay may exceed whole steps and still count as them: 0.3 s is three
steps of 0.1 s, whatever the rounding."""


def delay_steps(delay: Any, dt: float, rule: str) -> Any:
    """Steps after which a command acts, for delays in s: numbers or arrays of them."""
    steps = delay / dt
    if rule == "nearest":
        return np.floor(steps + 0.5)
    return np.maximum(np.ceil(steps - _SLACK), 0.0)


class Channels(NamedTuple):
    """The delayed inputs of a model."""

    fields: tuple[int, ...]
    """Their places in the input record."""
    delays: tuple[int, ...]
    """The places of their delays in the parameter record."""
    names: tuple[str, ...]
    """The names of those parameters."""
    rule: str
    Input: type

    @classmethod
    def of(cls, source: Model | Plant) -> Channels:
        """Those of a model; none in most."""
        inputs, params = record.names(source.Input), record.names(source.Params)
        return cls(
            tuple(inputs.index(name) for name in source.dead_times),
            tuple(params.index(name) for name in source.dead_times.values()),
            tuple(source.dead_times.values()),
            source.dead_time_rule,
            source.Input,
        )

    def __bool__(self) -> bool:
        return bool(self.fields)


def late_steps(channels: Channels, p: AnyArray, dt: float) -> AnyArray:
    """Delays in steps (1, B or 1, delayed input) for parameters (1, B or 1, np), on the host."""
    delays = batch.on_host(p[:, :, list(channels.delays)]).astype(float)
    steps = delay_steps(delays, dt, channels.rule)
    if steps.max(initial=0.0) > _MOST_STEPS:
        _, vehicle, channel = np.unravel_index(int(steps.argmax()), steps.shape)
        raise InvalidValue(
            f"{channels.names[channel]} of vehicle {vehicle} is {steps.max():g} steps of {dt:g} s; "
            f"at most {_MOST_STEPS} are allowed"
        )
    return steps


def late(
    channels: Channels, steps: AnyArray, pending: Any, space: batch.Space, layout: str = "aos"
) -> Late:
    """The queue that a rollout starts with, checked; the inputs' defaults if none is given."""
    kind = channels.Input
    rows = int(steps.max(initial=0.0))
    if pending is None:
        default = batch.numbers("pending", record.flatten(record.build(kind)), space)
        queue = np.broadcast_to(default, (max(rows, 1), 1, len(default)))
    else:
        queue = batch.series(kind, "pending", pending, space, layout)
        if len(queue) < rows:
            raise InvalidValue(
                f"pending has {len(queue)} rows; the longest delay needs the last {rows} commands"
            )
        if not np.isfinite(queue).all():
            raise InvalidValue(batch.not_finite(kind, "pending", queue))
    return Late(queue, space.xp.asarray(steps, space.dtype))


def acting(
    u: AnyArray, late: Late, fields: tuple[int, ...], steps: int, space: batch.Space
) -> AnyArray:
    """What acts at each of `steps` steps, (steps, B or 1, nu), for commands (steps or 1, B, nu)."""
    xp = space.xp
    count = max(u.shape[1], late.pending.shape[1], late.steps.shape[1])
    shape = (steps, count, u.shape[2])
    out = xp.array(np.broadcast_to(u, shape))
    whole = xp.concatenate([np.broadcast_to(late.pending, (len(late.pending), *shape[1:])), out])
    rows = len(late.pending) + xp.arange(steps)[:, None] - late.steps[0].T[:, None].astype(int)
    for field, source in zip(fields, rows, strict=True):
        source = np.broadcast_to(source, (steps, count))
        out[:, :, field] = np.take_along_axis(whole[:, :, field], source, axis=0)
    return out


def felt(g: AnyArray, late: Late, fields: tuple[int, ...], held: bool) -> AnyArray:
    """Derivatives with respect to commands, from those with respect to what acted (T, B, nu).

    A command is felt after its delay, and one that would act after the end is not felt at all.
    """
    steps, count, _ = g.shape
    out = g.copy()
    delays = np.broadcast_to(batch.on_host(late.steps[0]).astype(int), (count, len(fields)))
    for channel, field in enumerate(fields):
        out[:, :, field] = 0.0
        for delay in np.unique(delays[:, channel]).tolist():
            if delay < steps:
                who = np.flatnonzero(delays[:, channel] == delay)
                out[: steps - delay, who, field] = g[delay:, who, field]
    return out.sum(axis=0, keepdims=True) if held else out


def pending_after(u: AnyArray, late: Late, steps: int, space: batch.Space) -> AnyArray:
    """The queue (rows, B, nu) after `steps` steps with commands (steps or 1, B or 1, nu)."""
    rows = len(late.pending)
    count = max(u.shape[1], late.pending.shape[1])
    shape = (count, u.shape[2])
    fresh = min(steps, rows)
    newest = u[-fresh:] if u.shape[0] > 1 else np.broadcast_to(u, (fresh, *u.shape[1:]))
    parts = [late.pending[fresh:], newest]
    return space.xp.concatenate([np.broadcast_to(a, (len(a), *shape)) for a in parts])


def of_vehicle(late: Late, vehicle: int) -> Late:
    """The queue and the delays of one vehicle."""
    return Late(*(a if a.shape[1] == 1 else a[:, vehicle : vehicle + 1] for a in late))


class Waiting(NamedTuple):
    """The commands of one vehicle that have not acted yet, channel by channel, oldest first."""

    commands: tuple[tuple[float, ...], ...]


class DelayLine:
    """The queue of one vehicle, a step at a time."""

    def __init__(self, plant_input: type, fields: tuple[int, ...], steps: Sequence[int]) -> None:
        self.fields = fields
        default = record.flatten(record.build(plant_input))
        self._start = Waiting(tuple((default[f],) * n for f, n in zip(fields, steps, strict=True)))
        self.restore(self._start)

    def clear(self) -> None:
        """Forget all commands."""
        self.restore(self._start)

    def acting(self, row: Sequence[float]) -> list[float]:
        """The row of inputs that acts if this one is commanded now."""
        out = list(row)
        for field, queue in zip(self.fields, self._queues, strict=True):
            if queue:
                out[field] = queue[0]
        return out

    def push(self, row: Sequence[float]) -> None:
        """The row has been commanded and a step made."""
        for field, queue in zip(self.fields, self._queues, strict=True):
            if queue:
                queue.popleft()
                queue.append(row[field])

    def acting_rows(self, rows: AnyArray, waiting: Waiting | None = None) -> AnyArray:
        """What acts at each step, for a row of commands per step; the queue stays as it is, or
        `waiting` takes its place."""
        queues = (waiting or self.snapshot()).commands
        out = np.array(rows, dtype=float)
        for field, queue in zip(self.fields, queues, strict=True):
            whole = np.concatenate([np.array(queue, dtype=float), out[:, field]])
            out[:, field] = whole[: len(out)]
        return out

    def push_rows(self, rows: AnyArray) -> None:
        """The rows have been commanded, a step made with each."""
        for field, queue in zip(self.fields, self._queues, strict=True):
            kept = [*queue, *rows[:, field].tolist()]
            queue.clear()
            queue.extend(kept[len(rows) :])

    def first_bad(self, row: Sequence[float]) -> bool:
        """Whether a delayed command is not a finite number, which must not wait to be seen."""
        return any(not math.isfinite(row[field]) for field in self.fields)

    def snapshot(self) -> Waiting:
        """A copy of the queue."""
        return Waiting(tuple(tuple(queue) for queue in self._queues))

    def restore(self, waiting: Waiting) -> None:
        """Put back what `snapshot` gave."""
        self._queues = [deque(commands) for commands in waiting.commands]


def delay_line(model: Model, params: Any, dt: float) -> DelayLine | None:
    """The queue of one vehicle; None if nothing is delayed."""
    channels = Channels.of(model)
    if not channels:
        return None
    p = np.array(record.flatten(params), dtype=float).reshape(1, 1, -1)
    steps = late_steps(channels, p, dt)[0, 0].astype(int).tolist()
    return DelayLine(model.Input, channels.fields, steps)


class TimedLine:
    """The queue of one vehicle whose steps differ in length: commands age in s, not in steps.

    A command is given at the end of the step it would act in if it were not delayed.
    """

    def __init__(self, plant_input: type, fields: tuple[int, ...], delays: Sequence[float]) -> None:
        self.fields = fields
        self._delays = [delay * (1.0 - _SLACK) for delay in delays]
        default = record.flatten(record.build(plant_input))
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
