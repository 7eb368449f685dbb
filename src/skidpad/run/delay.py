"""Dead time: inputs that take effect after a delay, handled outside the model.

A model names its delayed inputs and, for each, the parameter that holds the delay in s
(`Model.dead_times`). The command in effect in a step is the newest that is at least as old as the
delay; a model that reproduces an upstream program may count updates instead, to the nearest. Before
there is such a command, the input's default applies. The queue of pending commands has a row of
inputs per step, oldest first. `queue_of`, `acting` and `pending_after` are for many vehicles in
steps of one length, `DelayLine` for one vehicle, a step at a time.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from ..compile.cpu import Late
from ..compile.plant import Plant
from ..core import record
from ..core.arrays import AnyArray
from ..core.model import Model
from ..errors import InvalidValue
from . import arguments

_MOST_STEPS = 1_000_000
"""Largest length of a command queue in steps; a longer queue indicates a delay in a wrong unit."""
SLACK = 1e-6
"""Fraction of a step by which a delay may exceed a whole number of steps.

So 0.3 s is three steps of 0.1 s, whatever the rounding.
"""


def age(delay: Any, dt: float, rule: str) -> Any:
    """Age in steps of dt at which a command takes effect, for delays in s (numbers or arrays)."""
    steps = delay / dt
    return np.floor(steps + 0.5) if rule == "nearest" else steps - SLACK


class Channels(NamedTuple):
    """Delayed inputs of a model and the parameters that hold their delays."""

    fields: tuple[int, ...]
    """Indices of the delayed inputs in the input record."""
    delays: tuple[int, ...]
    """Indices of their delays in the parameter record."""
    names: tuple[str, ...]
    """Names of the parameters that hold the delays."""
    rule: str
    Input: type

    @classmethod
    def of(cls, source: Model | Plant) -> Channels:
        """The delayed inputs of a model or a plant; empty for most."""
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


def ages(channels: Channels, p: AnyArray, dt: float) -> AnyArray:
    """Ages in steps of dt at which commands take effect, (1, B or 1, delayed input), on the host.

    The parameters `p` have the shape (1, B or 1, np).
    """
    delays = arguments.on_host(p[:, :, list(channels.delays)]).astype(float)
    steps = age(delays, dt, channels.rule)
    if steps.max(initial=0.0) > _MOST_STEPS:
        _, vehicle, channel = np.unravel_index(int(steps.argmax()), steps.shape)
        raise InvalidValue(
            f"{channels.names[channel]} of vehicle {vehicle} is {np.ceil(steps.max()):g} steps of "
            f"{dt:g} s; at most {_MOST_STEPS} are allowed"
        )
    return steps


def whole_steps(age: Any) -> Any:
    """Whole number of equal steps after which a command of this age takes effect."""
    return np.maximum(np.ceil(age), 0.0)


def queue_of(
    channels: Channels, steps: AnyArray, pending: Any, space: arguments.Space, layout: str = "aos"
) -> Late:
    """Return the checked command queue at the start of a rollout.

    `pending` is the queue supplied by the caller, (rows, B, nu) or (rows, nu, B), or None for the
    inputs' defaults.
    """
    kind = channels.Input
    rows = int(steps.max(initial=0.0))
    if pending is None:
        default = arguments.numbers("pending", record.flatten(record.build(kind)), space)
        queue = np.broadcast_to(default, (max(rows, 1), 1, len(default)))
    else:
        queue = arguments.series(kind, "pending", pending, space, layout)
        if len(queue) < rows:
            raise InvalidValue(
                f"pending has {len(queue)} rows; the longest delay needs the last {rows} commands"
            )
        if not np.isfinite(queue).all():
            raise InvalidValue(arguments.not_finite(kind, "pending", queue))
    return Late(queue, space.xp.asarray(steps, space.dtype))


def acting(
    u: AnyArray, queue: Late, fields: tuple[int, ...], steps: int, space: arguments.Space
) -> AnyArray:
    """Inputs in effect in each step, (steps, B or 1, nu), for commands (steps or 1, B, nu)."""
    xp = space.xp
    count = max(u.shape[1], queue.pending.shape[1], queue.steps.shape[1])
    shape = (steps, count, u.shape[2])
    out = xp.array(np.broadcast_to(u, shape))
    whole = xp.concatenate([np.broadcast_to(queue.pending, (len(queue.pending), *shape[1:])), out])
    rows = len(queue.pending) + xp.arange(steps)[:, None] - queue.steps[0].T[:, None].astype(int)
    for field, source in zip(fields, rows, strict=True):
        source = np.broadcast_to(source, (steps, count))
        out[:, :, field] = np.take_along_axis(whole[:, :, field], source, axis=0)
    return out


def acting_over(
    channels: Channels, u: AnyArray, ages: AnyArray, lengths: AnyArray, space: arguments.Space
) -> AnyArray:
    """Inputs in effect in each step (T, B or 1, nu), for steps of different lengths.

    The commands are (T or 1, B or 1, nu) and the lengths (T,), in units of dt. The queue is empty
    at the start, so the defaults apply first. `DelayLine` uses the same clock.
    """
    steps, count = len(lengths), max(u.shape[1], ages.shape[1])
    out = space.xp.array(np.broadcast_to(u, (steps, count, u.shape[2])))
    default = record.flatten(record.build(channels.Input))
    after = np.cumsum(lengths)
    for channel, field in enumerate(channels.fields):
        latest = after[:, None] - ages[0, :, channel]
        rows = space.xp.asarray(np.searchsorted(after, latest, side="right") - 1)
        rows = np.broadcast_to(rows, (steps, count))
        late = np.take_along_axis(out[:, :, field], np.maximum(rows, 0), axis=0)
        out[:, :, field] = np.where(rows < 0, default[field], late)
    return out


def command_gradient(g: AnyArray, queue: Late, fields: tuple[int, ...], held: bool) -> AnyArray:
    """Derivatives with respect to commands, from those with respect to delayed inputs, (T, B, nu).

    A command takes effect after its delay; a command whose delay ends after the rollout has no
    effect; the derivative of a held command is the sum over the steps, (1, B, nu).
    """
    steps, count, _ = g.shape
    out = g.copy()
    delays = np.broadcast_to(arguments.on_host(queue.steps[0]).astype(int), (count, len(fields)))
    for channel, field in enumerate(fields):
        out[:, :, field] = 0.0
        for delay in np.unique(delays[:, channel]).tolist():
            if delay < steps:
                who = np.flatnonzero(delays[:, channel] == delay)
                out[: steps - delay, who, field] = g[delay:, who, field]
    return out.sum(axis=0, keepdims=True) if held else out


def pending_after(u: AnyArray, queue: Late, steps: int, space: arguments.Space) -> AnyArray:
    """Pending command rows (rows, B, nu) after `steps` steps with commands (steps or 1, B or 1,
    nu).
    """
    rows = len(queue.pending)
    count = max(u.shape[1], queue.pending.shape[1])
    shape = (count, u.shape[2])
    fresh = min(steps, rows)
    newest = u[-fresh:] if u.shape[0] > 1 else np.broadcast_to(u, (fresh, *u.shape[1:]))
    parts = [queue.pending[fresh:], newest]
    return space.xp.concatenate([np.broadcast_to(a, (len(a), *shape)) for a in parts])


def of_vehicle(queue: Late, vehicle: int) -> Late:
    return Late(*(a if a.shape[1] == 1 else a[:, vehicle : vehicle + 1] for a in queue))


class Waiting(NamedTuple):
    """The commands that may still take effect: stamps and values of each channel, oldest first."""

    commands: tuple[tuple[tuple[float, float], ...], ...]


class DelayLine:
    """The command queue of one vehicle, in which commands age by the vehicle's steps.

    Its clock counts steps; a longer step may count for more. The stamp of a command is the clock
    after the step in which it would take effect without delay. So the clock alone decides which
    commands count, and a failed step leaves nothing to undo.

    Args:
        Input: the input record.
        fields: indices of the delayed inputs.
        ages: number of steps after which each of them takes effect.
    """

    def __init__(self, Input: type, fields: tuple[int, ...], ages: Sequence[float]) -> None:
        self.fields, self._ages = fields, tuple(ages)
        default = record.flatten(record.build(Input))
        self._start = Waiting(tuple(((-math.inf, default[field]),) for field in fields))
        self.restore(None)

    @classmethod
    def of(cls, model: Model, params: Any, dt: float) -> Self | None:
        """Command queue of a vehicle with steps of dt in s; None if it has no delayed input."""
        channels = Channels.of(model)
        if not channels:
            return None
        p = np.array(record.flatten(params), dtype=float).reshape(1, 1, -1)
        return cls(model.Input, channels.fields, ages(channels, p, dt)[0, 0].tolist())

    @property
    def channels(self) -> tuple[tuple[int, float], ...]:
        """Indices of the delayed inputs, and the number of steps after which each takes effect."""
        return tuple(zip(self.fields, self._ages, strict=True))

    def acting(self, row: Sequence[float], clock: float, after: float) -> list[float]:
        """Return the inputs in effect if `row` is commanded in a step from `clock` to `after`."""
        out = list(row)
        for field, age, queue in zip(self.fields, self._ages, self._queues, strict=True):
            while queue[-1][0] > clock:  # drop commands left over from a failed step
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
        """Inputs in effect in each step (T, nu), for commands (T, nu) that follow `waiting`."""
        out, after = np.array(rows, dtype=float), clock + np.arange(1.0, len(rows) + 1.0)
        for field, age, commands in zip(self.fields, self._ages, waiting.commands, strict=True):
            older = np.array(commands)
            stamps = np.concatenate([older[:, 0], after])
            values = np.concatenate([older[:, 1], out[:, field]])
            out[:, field] = values[np.searchsorted(stamps, after - age, side="right") - 1]
        return out

    def push_rows(self, rows: AnyArray, clock: float) -> None:
        """Add the rows (T, nu) commanded in steps that start at this clock."""
        recent = max(len(rows) - int(max(self._ages)) - 2, 0)
        for k, row in enumerate(rows[recent:].tolist(), recent):
            self.acting(row, clock + k, clock + k + 1)

    def finite(self, row: Sequence[float]) -> bool:
        """Whether the delayed commands of a row are finite; checked before they take effect."""
        return all(math.isfinite(row[field]) for field in self.fields)

    def waiting(self, clock: float) -> Waiting:
        """Copy the queue at this reading of the clock."""
        queues = (tuple(c for c in queue if c[0] <= clock) for queue in self._queues)
        return Waiting(tuple(queues))

    def restore(self, waiting: Waiting | None) -> None:
        """Restore the result of `waiting`, or forget all commands if None."""
        queues: Iterable[Any] = (waiting or self._start).commands
        self._queues: list[deque[tuple[float, float]]] = [deque(queue) for queue in queues]
