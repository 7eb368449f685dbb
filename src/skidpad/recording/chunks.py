"""Samples and readings of a while as one chunk of messages in the order of their times."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .block import Block, Bytes, Table, Times
from .file import RecordingFile
from .plan import Message, Plan
from .records import Indexed
from .tray import Reading
from .wire import Source

SHOWN_RATE = 120.0
"""At most so many poses and transforms per second of recorded time, in Hz: what screens can show.
The states come with every sample."""
STILL_PERIOD = 60.0
"""How often what does not change is repeated, in s of recorded time."""
_NS = 1e9


class Group(NamedTuple):
    """Channels of a block and where their messages begin in a row."""

    channels: NDArray[np.uint16]
    offsets: NDArray[np.uint64]


class Part(NamedTuple):
    """Rows of messages, each row at its own time."""

    rows: Bytes
    """(n, bytes)."""
    times: Times
    """(n,) in ns, not decreasing."""
    groups: tuple[Group, ...]


class Chunks:
    """Writes what it is given to a file, a chunk each time."""

    def __init__(self, plan: Plan, file: RecordingFile) -> None:
        self._plan, self._file = plan, file
        self._states = Block(plan.states)
        self._shown = Block([*plan.states, *plan.motion])
        self._scans = [Block([message]) for message in plan.scans]
        self._readings = [Block([message]) for message in plan.readings]
        self._last_shown = -1
        self._last_still = -1
        self._scratch: Bytes = np.empty(0, np.uint8)

    @property
    def row_size(self) -> int:
        """Bytes of a sample that is shown."""
        return self._shown.size

    def write(
        self,
        times: NDArray[np.float64],
        rows: Table,
        scans: Sequence[Reading] = (),
        imus: Sequence[Reading] = (),
    ) -> None:
        """Samples at times (T,) in s with rows (T, channels), and readings."""
        parts = [
            *self._samples(times, rows),
            *_read(self._scans, scans),
            *_read(self._readings, imus),
        ]
        if not parts:
            return
        parts = [*self._still(min(int(part.times[0]) for part in parts)), *parts]
        data, starts = self._merged(parts)
        self._file.add_chunk(data, _indexed(parts, starts))

    def _samples(self, times: NDArray[np.float64], rows: Table) -> list[Part]:
        if not len(times):
            return []
        ns = nanoseconds(times)
        ticks = np.floor(times * SHOWN_RATE + 1e-6).astype(np.int64)
        shown = np.diff(ticks, prepend=self._last_shown) > 0
        self._last_shown = int(ticks[-1])
        found: list[Part] = []
        for block, chosen in ((self._shown, shown), (self._states, ~shown)):
            if not chosen.any():
                continue
            them = rows if chosen.all() else rows[chosen]
            when = ns if chosen.all() else ns[chosen]
            clock = times if chosen.all() else times[chosen]
            tables: dict[Source, Table] = {"row": them, "clock": clock[:, None]}
            if block is self._shown:
                tables["turn"] = self._plan.turns.of(them)
            groups = self._groups(block, apart=not chosen.all())
            found.append(Part(block.filled(when, tables), when, groups))
        return found

    def _groups(self, block: Block, *, apart: bool) -> tuple[Group, ...]:
        """The states, which all samples have, apart from what only some have, or all together."""
        count = len(self._plan.states) if apart else len(block.channels)
        cuts = (slice(0, count), slice(count, None))
        groups = (Group(block.channels[cut], block.offsets[cut]) for cut in cuts)
        return tuple(group for group in groups if len(group.channels))

    def _still(self, now: int) -> list[Part]:
        tick = int(now / (STILL_PERIOD * _NS))
        if tick <= self._last_still:
            return []
        self._last_still = tick
        return [_row(message, now) for message in self._plan.still]

    def _merged(self, parts: Sequence[Part]) -> tuple[Bytes, list[NDArray[np.uint64]]]:
        """All rows in the order of time, and where each begins."""
        if len(parts) == 1:
            rows = parts[0].rows
            return rows.reshape(-1), [np.arange(len(rows), dtype=np.uint64) * rows.shape[1]]
        counts = [len(part.times) for part in parts]
        of = np.repeat(np.arange(len(parts)), counts)
        sizes = np.repeat([part.rows.shape[1] for part in parts], counts)
        order = np.lexsort((of, np.concatenate([part.times for part in parts])))
        ends = np.cumsum(sizes[order])
        begins = np.empty(len(order), np.uint64)
        begins[order] = ends - sizes[order]
        starts = np.split(begins, np.cumsum(counts)[:-1])
        if self._scratch.size < ends[-1]:
            self._scratch = np.empty(int(1.5 * ends[-1]), np.uint8)
        self._copy([part.rows for part in parts], of[order], ends.tolist())
        return self._scratch[: int(ends[-1])], starts

    def _copy(self, parts: Sequence[Bytes], of: NDArray[np.intp], ends: Sequence[int]) -> None:
        """Rows of parts into the scratch, in this order; those that follow each other together."""
        sources = [rows.reshape(-1).data for rows in parts]
        target = self._scratch.data
        taken, at = [0] * len(parts), 0
        last = np.append(np.flatnonzero(np.diff(of)), len(of) - 1)
        for which, row in zip(of[last].tolist(), last.tolist(), strict=True):
            end = ends[row]
            begin = taken[which]
            taken[which] = begin + end - at
            target[at:end] = sources[which][begin : taken[which]]
            at = end


def nanoseconds(times: NDArray[np.float64]) -> Times:
    """Times in s as MCAP has them."""
    return np.rint(times * _NS).astype(np.uint64)


def _row(message: Message, ns: int) -> Part:
    """A message that comes once."""
    block, when = Block([message]), np.array([ns], np.uint64)
    return Part(block.filled(when, {}), when, (Group(block.channels, block.offsets),))


def _read(blocks: Sequence[Block], readings: Sequence[Reading]) -> list[Part]:
    """Readings by what they were read from."""
    by_index: dict[int, list[Reading]] = {}
    for reading in readings:
        by_index.setdefault(reading.which, []).append(reading)
    found: list[Part] = []
    for index, those in by_index.items():
        block = blocks[index]
        when = nanoseconds(np.array([reading.time for reading in those]))
        table = np.array([reading.values for reading in those], np.float64)
        rows = block.filled(when, {"given": table})
        found.append(Part(rows, when, (Group(block.channels, block.offsets),)))
    return found


def _indexed(parts: Sequence[Part], starts: Sequence[NDArray[np.uint64]]) -> list[Indexed]:
    """Where the messages of every channel are, in the order of their times."""
    by_channels: dict[bytes, list[Indexed]] = {}
    for part, begins in zip(parts, starts, strict=True):
        for group in part.groups:
            key = group.channels.tobytes()
            by_channels.setdefault(key, []).append(Indexed(*group, part.times, begins))
    return [_in_order(those) for those in by_channels.values()]


def _in_order(those: Sequence[Indexed]) -> Indexed:
    """The same channels from several parts; they lie alike in all of them."""
    if len(those) == 1:
        return those[0]
    times = np.concatenate([one.times for one in those])
    begins = np.concatenate([one.begins for one in those])
    order = np.argsort(times, kind="stable")
    return those[0]._replace(times=times[order], begins=begins[order])
