"""Recorders: a run goes into an MCAP file while it happens."""

from __future__ import annotations

import atexit
import contextlib
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from ..arrays import AnyArray, Array
from ..brief import brief_repr
from ..checks import positive
from ..errors import InvalidValue
from ..files import path_of
from ..stage import Stage
from . import messages
from .checksums import with_checksum
from .chunk import ChunkEncoder, joined
from .mcap_file import LARGEST_CHUNK, McapFile, RecordingFailed
from .sensors import SensorMount
from .topics import FORMAT, LOST, NOTES, RECORDING, Topics
from .writer_thread import Batch, Event, Reading, WriterThread

if TYPE_CHECKING:
    from ..world.contact.touches import ContactEvent

CHUNK_SIZE = 4 << 20
"""Bytes of messages in a chunk: few enough to jump to, and so many that what a chunk costs besides
its messages does not matter."""
_EARLY = 1e-6
"""How much too early a sample may be, in periods of the rate: times are sums of steps."""
_BEFORE = -5e-324
"""The latest time before 0."""
_LATEST = 2**34
"""In s: times beyond do not fit into a message."""


class Recorder:
    """Writes samples of a stage to an MCAP file.

    Adding only copies; messages are made, compressed and written by a thread. At most a second of
    wall time later they are in the file, which can be read up to there whatever happens to the
    program. Closing makes it complete; a `with` block closes it, also after an error, which is then
    noted in the file. When writing fails, the file notes what is lost.

    A recorder belongs to the process that opened it: in a child of it, it does nothing.

    Args:
        path: of the file; what is there is replaced.
        stage: what there is to see.
        rate: at most so many samples per second of recorded time, in Hz; None for all.
        meta: anything worth knowing about the run, as plain JSON values.
        sensors: those whose readings come with `add_reading`; of several that are read together,
            which are odometries, a sequence.
        contacts: whether contacts come with `add_contact`.
        rows_of: computes rows from what is added in their place, in the thread; see
            `WorldRecorder`.
        width: numbers of what is added in place of a row.
    """

    __repr__ = brief_repr

    def __init__(
        self,
        path: str | os.PathLike[str],
        stage: Stage,
        *,
        rate: float | None = None,
        meta: Mapping[str, Any] | None = None,
        sensors: Sequence[SensorMount | Sequence[SensorMount]] = (),
        contacts: bool = False,
        rows_of: Callable[[Array], Array] | None = None,
        width: int | None = None,
    ) -> None:
        from .. import __version__

        if rate is not None:
            rate = positive("rate", rate, "Hz")
        if not isinstance(stage, Stage):
            raise InvalidValue(f"stage must be a Stage, got a {type(stage).__qualname__}")
        self.path, self.stage, self.rate = path_of(path), stage, rate
        self._process = os.getpid()
        self._sensors = [[one] if isinstance(one, SensorMount) else [*one] for one in sensors]
        self._shapes = [(sum(len(one.columns) for one in group),) for group in self._sensors]
        self._rows_of = rows_of
        self._notes: dict[str, Any] = {}
        self._time, self._next = _BEFORE, 0.0
        self._reading_times: dict[int, float] = {}
        self._closed = self._finished = False
        program = f"skidpad {__version__}"
        topics = Topics(stage, self._sensors, contacts=contacts)
        self._contacts = topics.contacts
        self._encoder = ChunkEncoder(topics)
        size = self._encoder.sample_size + self._encoder.still_size
        if size > LARGEST_CHUNK // 2:
            raise InvalidValue(
                f"a sample of the stage with its shapes and grids takes {size} bytes; a recording "
                f"takes at most {LARGEST_CHUNK // 2}"
            )
        plain = json.dumps(stage.to_json(), ensure_ascii=False, separators=(",", ":"))
        about = {"format": str(FORMAT), "program": program, "stage": plain}
        metadata = {RECORDING: with_checksum(RECORDING, about), NOTES: _notes(dict(meta or {}))}
        self._file = McapFile(self.path, topics.schemas, topics.channels, metadata, library=program)
        self._samples = max(CHUNK_SIZE // self._encoder.sample_size, 1)
        self._width = len(stage.channels) if width is None else width
        self._buffer = io.BytesIO()
        self._thread = WriterThread(self._write, self._failed, self._full)
        atexit.register(self._close_at_exit)

    def add(self, time: float, row: ArrayLike) -> None:
        """A sample at a time in s, later than the one before; skipped if too soon for the rate."""
        if time >= self._next or not time > self._time:
            self._add_sample(time, _shaped(np.array(row, np.float64), (self._width,)))

    def add_rows(self, times: ArrayLike, rows: ArrayLike) -> None:
        """Samples at increasing times (T,) in s, rows (T, channels)."""
        when, table = np.asarray(times, np.float64), np.asarray(rows, np.float64)
        _shaped(table, (when.size, self._width))
        if when.ndim != 1 or not _increasing(when, self._time):
            raise InvalidValue(
                "times must be finite, have one axis and increase, "
                + (f"from {self._time} s on" if self._time >= 0.0 else "and not be negative")
            )
        if not self._open() or not when.size:
            return
        self._time = float(when[-1])
        if self.rate is not None:
            ticks = np.floor(when * self.rate + _EARLY)
            due = (np.diff(ticks, prepend=-1.0) > 0.0) & (when >= self._next)
            when, table = when[due], table[due]
        if when.size:
            self._next = self._after(float(when[-1]))
        for begin in range(0, len(when), self._samples):
            part = slice(begin, begin + self._samples)
            self._thread.add(when[part].tolist(), table[part].flatten())

    def add_scan(self, index: int, time: float, ranges: ArrayLike) -> None:
        """A scan of a lidar of the stage, in m; kept as float32, which is 1 µm at 20 m."""
        if not 0 <= index < len(self.stage.scans):
            raise InvalidValue(f"there is no lidar {index}; there are {len(self.stage.scans)}")
        values = _shaped(np.array(ranges, np.float32), (self.stage.scans[index].count,))
        self._add_reading(Reading(index, time, values))

    def add_reading(self, index: int, time: float, values: ArrayLike) -> None:
        """A reading of one of the `sensors`, with the time in s at which it was taken.

        Args:
            index: of the sensor.
            time: not before the one of its last reading.
            values: the numbers that `SensorMount.columns` lists; of several sensors that are read
                together those of one behind those of the other.
        """
        if not 0 <= index < len(self._sensors):
            raise InvalidValue(f"there is no sensor {index}; there are {len(self._sensors)}")
        numbers = _shaped(np.array(values, np.float64), self._shapes[index])
        self._add_reading(Reading(len(self.stage.scans) + index, time, numbers))

    def add_contact(self, event: ContactEvent) -> None:
        """Two things that began or ceased to touch, as a world notes it."""
        if not self._contacts:
            raise InvalidValue("this recording has no contacts; open it with contacts=True")
        if not 0.0 <= event.time < _LATEST:
            raise InvalidValue(f"time = {event.time} s must be finite and not negative")
        if self._open():
            self._thread.add_event(Event(event.time, (self._contacts, messages.contact(event))))

    def note(self, **notes: Any) -> None:
        """Note something about the run, as plain JSON values; written when it is closed."""
        _notes(notes)
        self._notes.update(notes)

    def flush(self) -> None:
        """Wait until everything that was added is in the file."""
        if not self._elsewhere:
            self._thread.flush()

    def close(self) -> None:
        """Write what waits and make the file complete. Nothing happens the second time."""
        if self._finished or self._elsewhere:
            return
        self._closed = True
        try:
            self._thread.close()
        except Exception:
            self._forget()
            raise
        # Whoever is interrupted above has not finished: the end of the program tries again.
        self._forget()
        self._end_file()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and not isinstance(error, RecordingFailed):
            self._notes["error"] = f"{type(error).__name__}: {error}"
        self.close()

    @property
    def _elsewhere(self) -> bool:
        """Whether this is a child of the process that opened the file.

        It shares the file with that process and has not got the thread.
        """
        return os.getpid() != self._process

    def _end_file(self) -> None:
        """Note what there is to note and make the file complete."""
        try:
            if self._notes:
                self._file.add_metadata(NOTES, _notes(self._notes))
            self._file.finish()
        finally:
            self._file.close()

    def _forget(self) -> None:
        self._finished = True
        atexit.unregister(self._close_at_exit)

    def _close_at_exit(self) -> None:
        # Whoever recorded has been told of a failure, or has stopped listening.
        with contextlib.suppress(Exception):
            self.close()

    def _add_sample(self, time: float, row: Array) -> None:
        """A sample that is due; its row (width,) is not copied."""
        if not self._time < time < _LATEST:
            raise InvalidValue(
                f"time = {time} s must be finite, not negative and later than the last sample"
                + (f" at {self._time} s" if self._time >= 0.0 else "")
            )
        if self._open():
            self._time, self._next = time, self._after(time)
            self._thread.add((time,), row)

    def _after(self, time: float) -> float:
        """When the next sample is due."""
        if self.rate is None:
            return time
        return (int(time * self.rate + _EARLY) + 1 - _EARLY) / self.rate

    def _add_reading(self, reading: Reading) -> None:
        last = self._reading_times.get(reading.sensor, 0.0)
        if not last <= reading.time < _LATEST:
            raise InvalidValue(f"time = {reading.time} s must be finite and not before {last} s")
        if self._open():
            self._reading_times[reading.sensor] = reading.time
            self._thread.add_reading(reading)

    def _open(self) -> bool:
        """Whether something can be added; raises if it is closed."""
        if self._closed:
            raise InvalidValue(f"the recording {self.path} is closed")
        return not self._elsewhere

    def _full(self, batch: Batch) -> bool:
        return len(batch.times) >= self._samples or 8 * batch.reading_size > CHUNK_SIZE

    def _write(self, batch: Batch) -> None:
        """In the thread: a batch as a chunk."""
        rows = np.frombuffer(joined(self._buffer, batch.rows)).reshape(
            len(batch.times), self._width
        )
        if self._rows_of is not None and batch.times:
            rows = self._rows_of(rows)
        chunk = self._encoder.chunk(np.array(batch.times), rows, batch.readings, batch.events)
        self._file.add_messages(*chunk)

    def _failed(self, error: BaseException, lost: Sequence[float]) -> None:
        """In the thread: note what is lost and end the file. That may fit where a chunk did not."""
        self._notes["error"] = f"{type(error).__name__}: {error}"
        self._notes[LOST] = {"count": len(lost)}
        if lost:
            self._notes[LOST] |= {"from": lost[0], "to": lost[-1]}
        with contextlib.suppress(RecordingFailed):
            self._end_file()


def _shaped(numbers: AnyArray, shape: tuple[int, ...]) -> AnyArray:
    if numbers.shape != shape:
        raise InvalidValue(f"expected numbers of shape {shape}, got {numbers.shape}")
    return numbers


def _increasing(times: Array, after: float) -> bool:
    whole = np.concatenate([[after], times])
    return bool((np.diff(whole) > 0.0).all() and whole[-1] < _LATEST)


def _notes(values: Mapping[str, Any]) -> dict[str, str]:
    """A metadata record of notes."""
    try:
        return with_checksum(NOTES, {"notes": json.dumps(values, ensure_ascii=False)})
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(f"notes must be plain JSON values: {error}") from error
