"""Recorders, which write a run to an MCAP file while it happens.

Samples are queued in batches for a thread that writes them while the caller continues
(`WriterThread`). The queue is bounded: a caller that exceeds it waits, so that a slow disk slows
the simulation down but loses nothing. The thread packs the samples and readings of a period into a
chunk of messages in order of time (`ChunkEncoder`). A `WorldRecorder` records a running world.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import json
import os
import queue
import threading
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from ...core.arrays import AnyArray, Array
from ...core.checks import positive
from ...core.files import brief_repr, path_of
from ...errors import InvalidValue
from ...world import scene
from ..stage import Line, Stage
from . import messages
from .mcap import LARGEST_CHUNK, McapFile, MessageIndexes, RecordingFailed, with_checksum
from .messages import Bytes, Message, MessageRows, Source, Times, quaternion
from .topics import FORMAT, LOST, NOTES, RECORDING, SensorMount, Topics

if TYPE_CHECKING:
    from ...world.contact.solids import ContactEvent
    from ...world.world import World


WAITING = 4
"""Most batches queued for the disk."""
PATIENCE = 1.0
"""Longest time in s before the thread takes a batch that is not yet full."""


class Reading(NamedTuple):
    sensor: int
    """Number of the sensor: lidars first, then groups of sensors that are read together."""
    time: float
    """Time in s."""
    values: AnyArray


class Event(NamedTuple):
    time: float
    """Time in s."""
    message: Message


class Batch:
    """Samples, readings and events in order of arrival."""

    def __init__(self) -> None:
        self.times: list[float] = []
        """Times (T,) of the samples, in s."""
        self.rows: list[Array] = []
        """Arrays of one or several consecutive samples each, `width` numbers per sample."""
        self.readings: list[Reading] = []
        self.reading_size = 0
        """Total count of numbers in the readings."""
        self.events: list[Event] = []


class WriterThread:
    """Thread that passes batches to `write`, in order, when they are full or a second old.

    Args:
        write: its exceptions are raised again by every later call to add, flush or close.
        failed: called with the exception of `write` and the times in s of the lost samples.
        full: whether a batch is to be written.
    """

    def __init__(
        self,
        write: Callable[[Batch], None],
        failed: Callable[[BaseException, Sequence[float]], None],
        full: Callable[[Batch], bool],
    ) -> None:
        self._write, self._failed, self._full = write, failed, full
        self._batch = Batch()
        self._queue: queue.Queue[Batch | None] = queue.Queue(WAITING)
        self._lock = threading.Lock()
        self._error: BaseException | None = None
        # A daemon: the recorder waits for it when the program ends without closing.
        threading.Thread(target=self._run, name="skidpad recording", daemon=True).start()

    def add(self, times: Sequence[float], numbers: Array) -> None:
        """Add samples at times (n,) in s with numbers (n * width,), which are not copied.

        Waits while the queue is full.
        """
        with self._adding() as batch:
            batch.times += times
            batch.rows.append(numbers)

    def add_reading(self, reading: Reading) -> None:
        """Add a sensor reading, which is not copied. Waits while the queue is full."""
        with self._adding() as batch:
            batch.readings.append(reading)
            batch.reading_size += reading.values.size

    def add_event(self, event: Event) -> None:
        """Add an event. Waits while the queue is full."""
        with self._adding() as batch:
            batch.events.append(event)
            batch.reading_size += len(event.message[1].data)

    @contextlib.contextmanager
    def _adding(self) -> Generator[Batch]:
        with self._lock:
            self._check()
            yield self._batch
            if self._full(self._batch):
                self._hand_over()

    def flush(self) -> None:
        """Wait until everything is written."""
        with self._lock:
            self._check()
            self._hand_over()
        self._queue.join()
        self._check()

    def close(self) -> None:
        """Wait until everything is written and end the thread."""
        self.flush()
        self._queue.put(None)

    def _check(self) -> None:
        if self._error is not None:
            raise self._error

    def _hand_over(self) -> None:
        """Queue the current batch; the lock must be held. An interrupted wait leaves the batch in
        place."""
        if self._batch.times or self._batch.readings or self._batch.events:
            self._queue.put(self._batch)
            self._batch = Batch()

    def _run(self) -> None:
        while self._error is None:
            try:
                batch = self._queue.get(timeout=PATIENCE)
            except queue.Empty:
                # Without waiting for the lock or the queue: their holder may wait for this thread.
                if self._lock.acquire(blocking=False):
                    if self._queue.empty():
                        self._hand_over()
                    self._lock.release()
                continue
            if batch is None:
                return
            try:
                self._write(batch)
            except BaseException as error:
                self._fail(error, batch)
            finally:
                self._queue.task_done()

    def _fail(self, error: BaseException, batch: Batch) -> None:
        cause: BaseException | None = error
        while cause is not None:
            traceback.clear_frames(cause.__traceback__)
            cause = cause.__cause__ or cause.__context__
        self._error = error
        lost = [batch, *self._waiting()]
        # A caller that holds the lock may have waited for room in the queue, which is available
        # now.
        with self._lock:
            lost += [*self._waiting(), self._batch]
        self._failed(error, [time for batch in lost for time in batch.times])

    def _waiting(self) -> list[Batch]:
        """Remove and return the queued batches."""
        batches: list[Batch] = []
        while not self._queue.empty():
            batch = self._queue.get()
            self._queue.task_done()
            if batch is not None:
                batches.append(batch)
        return batches


SHOWN_RATE = 120.0
"""Largest rate of poses and transforms, in Hz of recorded time, as screens show no more. States
are recorded with every sample."""
STILL_PERIOD = 60.0
"""Repetition period of constant messages, in s of recorded time."""
_NS = 1e9


class _Part(NamedTuple):
    """Rows of messages, each row with its own time."""

    messages: MessageRows
    times: Times
    """Times (n,), not decreasing."""
    rows: Bytes
    """Encoded rows, (n, bytes)."""


class ChunkEncoder:
    """Encoder of successive chunks of samples, readings and events."""

    def __init__(self, topics: Topics) -> None:
        self._rotations, self._still = topics.rotations, topics.still
        self._states = MessageRows(topics.states)
        self._motion = MessageRows(topics.motion)
        self._sensors = [MessageRows(messages) for messages in topics.sensors]
        self._last_shown = -1
        self._last_still = -1
        self._buffer = io.BytesIO()

    @property
    def sample_size(self) -> int:
        """Bytes of a sample with poses and transforms."""
        return self._states.size + self._motion.size

    @property
    def still_size(self) -> int:
        """Bytes of the constant messages."""
        return sum(len(template.data) for _, template in self._still)

    def chunk(
        self,
        times: Array,
        rows: Array,
        readings: Sequence[Reading] = (),
        events: Sequence[Event] = (),
    ) -> tuple[memoryview, list[MessageIndexes]]:
        """Message records and their indexes, of samples at times (T,) in s with rows (T, channels),
        of readings and of events.

        There must be at least one of them. The result is valid until the next call.
        """
        single = [_single(one.message, int(nanoseconds(np.array(one.time)))) for one in events]
        parts = [*self._samples(times, rows), *self._readings(readings), *single]
        start = min(int(part.times[0]) for part in parts)
        return self._merged([*self._repeated(start), *parts])

    def _samples(self, times: Array, rows: Array) -> list[_Part]:
        if not len(times):
            return []
        ns, clock = nanoseconds(times), times[:, None]
        states = self._states.encoded(ns, {"row": rows, "time": clock})
        parts = [_Part(self._states, ns, states)]
        ticks = np.floor(times * SHOWN_RATE + 1e-6).astype(np.int64)
        shown = np.diff(ticks, prepend=self._last_shown) > 0
        self._last_shown = int(ticks[-1])
        if self._motion.size and shown.any():
            if not shown.all():
                ns, rows = ns[shown], rows[shown]
            rotations = self._rotations.of(rows)
            motion = self._motion.encoded(ns, {"row": rows, "rotation": rotations})
            parts.append(_Part(self._motion, ns, motion))
        return parts

    def _readings(self, readings: Sequence[Reading]) -> list[_Part]:
        by_sensor: dict[int, list[Reading]] = {}
        for reading in readings:
            by_sensor.setdefault(reading.sensor, []).append(reading)
        parts: list[_Part] = []
        for sensor, alike in by_sensor.items():
            ns = nanoseconds(np.array([reading.time for reading in alike]))
            table = np.array([reading.values for reading in alike], np.float64)
            messages = self._sensors[sensor]
            tables: dict[Source, AnyArray] = {"reading": table, "flag": table != 0.0}
            parts.append(_Part(messages, ns, messages.encoded(ns, tables)))
        return parts

    def _repeated(self, now: int) -> list[_Part]:
        """Constant messages, if they are due."""
        tick = int(now / (STILL_PERIOD * _NS))
        if tick <= self._last_still:
            return []
        self._last_still = tick
        return [_single(message, now) for message in self._still]

    def _merged(self, parts: Sequence[_Part]) -> tuple[memoryview, list[MessageIndexes]]:
        """All rows in order of time, and the offsets of their messages."""
        counts = [len(part.times) for part in parts]
        sizes = np.repeat([part.rows.shape[1] for part in parts], counts)
        order = np.argsort(np.concatenate([part.times for part in parts]), kind="stable")
        ends = np.cumsum(sizes[order])
        begins = np.empty(len(order), np.uint64)
        begins[order] = ends - sizes[order]
        rows = [row for part in parts for row in part.rows]
        indexes = [
            MessageIndexes(part.messages.channels, part.times, part.messages.offsets[:, None] + own)
            for part, own in zip(parts, np.split(begins, np.cumsum(counts)[:-1]), strict=True)
        ]
        return join_arrays(self._buffer, [rows[k] for k in order.tolist()]), indexes


def join_arrays(buffer: io.BytesIO, arrays: Sequence[AnyArray]) -> memoryview:
    """Concatenate arrays in a reused buffer.

    New memory takes longer to allocate than to fill, and np.concatenate releases and reacquires the
    interpreter lock for each array.
    """
    buffer.seek(0)
    buffer.writelines(array.data for array in arrays)
    return buffer.getbuffer()[: buffer.tell()]


def nanoseconds(times: Array) -> Times:
    """Convert times from s to integer ns."""
    return np.rint(times * _NS).astype(np.uint64)


def _single(message: Message, ns: int) -> _Part:
    messages, when = MessageRows([message]), np.array([ns], np.uint64)
    return _Part(messages, when, messages.encoded(when, {}))


class ThreadedWriter(ABC):
    """Base of writers with a thread that are closed at the latest when the program ends.

    A writer belongs to the process that created it: in a forked child, which has the file but
    not the thread, it does nothing.
    """

    _thread: WriterThread

    def __init__(self) -> None:
        self._process = os.getpid()
        self._finished = False
        atexit.register(self._close_at_exit)

    @property
    def _elsewhere(self) -> bool:
        """Whether this is a child of the process that opened the file."""
        return os.getpid() != self._process

    def flush(self) -> None:
        """Wait until everything added is in the file."""
        if not self._elsewhere:
            self._thread.flush()

    def close(self) -> None:
        """Write what is queued and complete the file. Further calls do nothing."""
        if self._finished or self._elsewhere:
            return
        # A close that is interrupted here is tried again at the end of the program.
        try:
            self._thread.close()
        except Exception:
            self._forget()
            raise
        self._forget()
        self._end_file()

    def __enter__(self) -> Self:
        return self

    def _forget(self) -> None:
        self._finished = True
        atexit.unregister(self._close_at_exit)

    def _close_at_exit(self) -> None:
        # The failure has already been reported to the caller, or the caller has ended.
        with contextlib.suppress(Exception):
            self.close()

    @abstractmethod
    def _end_file(self) -> None:
        """Write what ends the file, once the thread has stopped."""


CHUNK_SIZE = 4 << 20
"""Uncompressed size of a chunk in bytes: small enough for seeking, large enough to make the
overhead per chunk negligible."""
_EARLY = 1e-6
"""Tolerance of the sample times, in periods of the rate, as times are sums of steps."""
_BEFORE = -5e-324
"""Latest time before 0."""
_LATEST = 2**34
"""Largest time in s that fits into a message."""


class Recorder(ThreadedWriter):
    """Writer of samples of a stage to an MCAP file.

    Adding only copies; messages are encoded, compressed and written by a thread. They are in the
    file at most a second of wall time later and readable up to there even if the program is
    killed. Closing completes the file; a `with` block closes it, also after an error, which is
    then noted in the file. If writing fails, the file notes which samples are lost.

    A recorder belongs to the process that opened it: in a child process it does nothing.

    Args:
        path: file to write; an existing one is replaced.
        stage: stage of the samples.
        rate: most samples per second of recorded time, in Hz; None for all.
        meta: notes about the run, as plain JSON values.
        sensors: mounts of the sensors whose readings are added by `add_reading`; a sequence for
            odometries, which are read together.
        contacts: whether contacts are added by `add_contact`.
        rows_of: computes rows from the raw numbers that are added in their place, in the thread;
            see `WorldRecorder`.
        width: count of raw numbers per sample, with `rows_of`.
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
        from ... import __version__

        if rate is not None:
            rate = positive("rate", rate, "Hz")
        if not isinstance(stage, Stage):
            raise InvalidValue(f"stage must be a Stage, got a {type(stage).__qualname__}")
        self.path, self.stage, self.rate = path_of(path), stage, rate
        self._sensors = [[one] if isinstance(one, SensorMount) else [*one] for one in sensors]
        self._shapes = [(sum(len(one.columns) for one in group),) for group in self._sensors]
        self._rows_of = rows_of
        self._notes: dict[str, Any] = {}
        self._time, self._next = _BEFORE, 0.0
        self._reading_times: dict[int, float] = {}
        self._closed = False
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
        super().__init__()

    def add(self, time: float, row: ArrayLike) -> None:
        """Add a sample, a row (channels,) at a time in s, later than the one before.

        It is skipped if it comes too soon for the rate.
        """
        if time >= self._next or not time > self._time:
            self._add_sample(time, _check_shape(np.array(row, np.float64), (self._width,)))

    def add_rows(self, times: ArrayLike, rows: ArrayLike) -> None:
        """Add samples at increasing times (T,) in s, rows (T, channels)."""
        when, table = np.asarray(times, np.float64), np.asarray(rows, np.float64)
        _check_shape(table, (when.size, self._width))
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
        """Add a scan of a lidar of the stage: ranges (rays,) in m, stored as float32."""
        if not 0 <= index < len(self.stage.scans):
            raise InvalidValue(f"there is no lidar {index}; there are {len(self.stage.scans)}")
        values = _check_shape(np.array(ranges, np.float32), (self.stage.scans[index].count,))
        self._add_reading(Reading(index, time, values))

    def add_reading(self, index: int, time: float, values: ArrayLike) -> None:
        """Add a reading of one of the `sensors`, with its measurement time in s.

        Args:
            index: index of the sensor.
            time: not before that of its last reading.
            values: the numbers (columns,) that `SensorMount.columns` lists; for sensors that are
                read together, those of all of them in order.
        """
        if not 0 <= index < len(self._sensors):
            raise InvalidValue(f"there is no sensor {index}; there are {len(self._sensors)}")
        numbers = _check_shape(np.array(values, np.float64), self._shapes[index])
        self._add_reading(Reading(len(self.stage.scans) + index, time, numbers))

    def add_contact(self, event: ContactEvent) -> None:
        """Add a contact event: two bodies that began or ceased to touch."""
        if not self._contacts:
            raise InvalidValue("this recording has no contacts; open it with contacts=True")
        if not 0.0 <= event.time < _LATEST:
            raise InvalidValue(f"time = {event.time} s must be finite and not negative")
        if self._open():
            self._thread.add_event(Event(event.time, (self._contacts, messages.contact(event))))

    def note(self, **notes: Any) -> None:
        """Add notes on the run, as plain JSON values; written when the recorder is closed."""
        _notes(notes)
        self._notes.update(notes)

    def close(self) -> None:
        """Write what is queued and complete the file. Further calls do nothing."""
        self._closed = self._closed or not self._elsewhere
        super().close()

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and not isinstance(error, RecordingFailed):
            self._notes["error"] = f"{type(error).__name__}: {error}"
        self.close()

    def _end_file(self) -> None:
        """Write the notes and complete the file."""
        try:
            if self._notes:
                self._file.add_metadata(NOTES, _notes(self._notes))
            self._file.finish()
        finally:
            self._file.close()

    def _add_sample(self, time: float, row: Array) -> None:
        """Add a sample that is due; its row (width,) is not copied."""
        if not self._time < time < _LATEST:
            raise InvalidValue(
                f"time = {time} s must be finite, not negative and later than the last sample"
                + (f" at {self._time} s" if self._time >= 0.0 else "")
            )
        if self._open():
            self._time, self._next = time, self._after(time)
            self._thread.add((time,), row)

    def _after(self, time: float) -> float:
        """Time at which the next sample is due."""
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
        """Whether samples can be added (not in a child process); raises if the recorder is
        closed."""
        if self._closed:
            raise InvalidValue(f"the recording {self.path} is closed")
        return not self._elsewhere

    def _full(self, batch: Batch) -> bool:
        return len(batch.times) >= self._samples or 8 * batch.reading_size > CHUNK_SIZE

    def _write(self, batch: Batch) -> None:
        """Write a batch as a chunk; runs in the thread."""
        flat = np.frombuffer(join_arrays(self._buffer, batch.rows))
        rows = flat.reshape(len(batch.times), self._width)
        if self._rows_of is not None and batch.times:
            rows = self._rows_of(rows)
        chunk = self._encoder.chunk(np.array(batch.times), rows, batch.readings, batch.events)
        self._file.add_messages(*chunk)

    def _failed(self, error: BaseException, lost: Sequence[float]) -> None:
        """Record the loss of samples and end the file; this may still fit on the disk where a chunk
        did not. Runs in the thread."""
        self._notes["error"] = f"{type(error).__name__}: {error}"
        self._notes[LOST] = {"count": len(lost)}
        if lost:
            self._notes[LOST] |= {"from": lost[0], "to": lost[-1]}
        with contextlib.suppress(RecordingFailed):
            self._end_file()


def _check_shape(numbers: AnyArray, shape: tuple[int, ...]) -> AnyArray:
    if numbers.shape != shape:
        raise InvalidValue(f"expected numbers of shape {shape}, got {numbers.shape}")
    return numbers


def _increasing(times: Array, after: float) -> bool:
    whole = np.concatenate([[after], times])
    return bool((np.diff(whole) > 0.0).all() and whole[-1] < _LATEST)


def _notes(values: Mapping[str, Any]) -> dict[str, str]:
    try:
        return with_checksum(NOTES, {"notes": json.dumps(values, ensure_ascii=False)})
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(f"notes must be plain JSON values: {error}") from error


RATE = 30.0
"""Default sampling rate, in Hz of simulated time."""
ODOMETRY_RATE = 50.0
"""Largest rate of wheel odometry, in Hz of simulated time: robot controllers send no more."""
_EARLY_ODOMETRY = 1e-6
"""Tolerance of the odometry times, in periods, as times are sums of steps."""
_ONE_STEP = 1.5
"""Time since the last call, in steps, below which `sample` missed no step."""


class WorldRecorder(Recorder):
    """Recorder of a world: `sample()` after every step records what is due.

    A sample is a copy of the states, inputs and disturbances; outputs such as wheel loads are
    computed from them later, in the writing thread. Call `flush()` before changing parameters of
    a vehicle, so that outputs are computed with the parameters of their time.

    Whatever the sampling rate, every reading of a lidar, an inertial unit or a GNSS receiver is
    written once, with its own time stamp, and so is every beginning and end of a contact. If
    several steps passed between two calls of `sample`, only the latest reading of each sensor is
    written. Wheel odometry comes with the samples, up to 50 times a second. A bumper is written
    when it changes: to pressed in the step of the contact, to released with a sample.

    Args:
        world: the world to record.
        path: file to write; an existing one is replaced.
        rate: samples per second of simulated time, in Hz; None for every step.
        meta: notes about the run, as plain JSON values.
        title: title of the stage; the name of the world's file if empty.
        lines: lines on the ground, besides those of the world.
    """

    __repr__ = brief_repr

    def __init__(
        self,
        world: World,
        path: str | os.PathLike[str],
        *,
        rate: float | None = RATE,
        meta: Mapping[str, Any] | None = None,
        title: str = "",
        lines: Sequence[Line] = (),
    ) -> None:
        from ..stages import WorldStage

        self.world = world
        self._view = WorldStage(world, title, lines)
        scans = enumerate(self._view.stage.scans)
        self._lidars = {(scan.body, scan.name): k for k, scan in scans}
        owned = ((spec.name, one) for spec in world.scene.vehicles for one in spec.sensors)
        mounts = [_mount(n, one) for n, one in owned if isinstance(one, scene.Imu | scene.Gnss)]
        self._numbers = {(one.body, one.name): k for k, one in enumerate(mounts)}
        self._mounts = mounts
        self._last: dict[tuple[str, str], Any] = {}
        self._bumpers = {name: len(mounts) + k for k, name in enumerate(world.vehicles)}
        self._odometry = len(mounts) + len(self._bumpers)
        # Not known at the start, so that all are written then.
        self._pressed: dict[str, bool | None] = dict.fromkeys(self._bumpers)
        self._looked, self._tick = world.time, -1
        groups: list[Any] = [*mounts, *(SensorMount("bumper", n, "bumper") for n in self._bumpers)]
        if world.vehicles:
            groups.append([SensorMount("odometry", name, "odometry") for name in world.vehicles])
        # Compile the program of the outputs now, not while the world runs.
        self._view.row()
        super().__init__(
            path,
            self._view.stage,
            rate=rate,
            meta={"dt": world.dt, "seed": world.seed, **(meta or {})},
            sensors=groups,
            contacts=True,
            rows_of=self._view.rows,
            width=self._view.width,
        )

    def sample(self) -> bool:
        """Record new sensor readings and, if one is due, a sample; returns whether a sample was
        recorded."""
        time = self.world.time
        due = time >= self._next or time <= self._time
        if due:
            self._add_sample(time, self._view.take())
        if time > self._looked:
            self._take_readings(time)
            self._looked = time
        if due and self._bumpers:
            tick = int(time * ODOMETRY_RATE + _EARLY_ODOMETRY)
            if tick > self._tick:
                self._tick = tick
                self.add_reading(self._odometry, time, self.world.odometry().ravel())
            self._press(self.world.colliding, time, release=True)
        return due

    def _take_readings(self, time: float) -> None:
        """Add readings and contacts since the last call."""
        fresh, events = self._since_last(time)
        for owner, name, reading in fresh:
            lidar = self._lidars.get((owner, name))
            number = self._numbers.get((owner, name))
            if lidar is not None:
                self.add_scan(lidar, reading.stamp, reading.ranges)
            elif number is not None:
                mount = self._mounts[number]
                if mount.kind == "gnss":
                    values = [reading.latitude, reading.longitude, reading.altitude]
                else:
                    values = [*reading[3:6], *reading[0:3]]
                if mount.oriented:
                    values += quaternion(reading.yaw, reading.pitch, reading.roll)
                self.add_reading(number, reading.stamp, values)
        for event in events:
            self.add_contact(event)
            if event.kind == "begin":
                self._press({event.a, event.b} & self._bumpers.keys(), event.time)

    def _since_last(
        self, time: float
    ) -> tuple[Iterable[tuple[str, str, Any]], Iterable[ContactEvent]]:
        """Readings, with vehicle and sensor name, and contacts since the last call."""
        world = self.world
        if time - self._looked < _ONE_STEP * world.dt:
            return world.sensing.fresh, world.new_contact_events
        latest = (
            (owner, name, world.sensing.latest(owner, name))
            for owner, name in (*self._lidars, *self._numbers)
        )
        fresh = [it for it in latest if it[2] is not None and it[2].stamp > self._looked]
        return fresh, [it for it in world.contact_events if it.time > self._looked]

    def _press(self, names: Iterable[str], time: float, *, release: bool = False) -> None:
        """Write the newly pressed bumpers of these vehicles and, with `release`, the newly released
        others."""
        pressed = set(names)
        for name in self._bumpers if release else pressed:
            now = name in pressed
            if self._pressed[name] is not now:
                self._pressed[name] = now
                self.add_reading(self._bumpers[name], time, [float(now)])


def _mount(owner: str, one: scene.Imu | scene.Gnss) -> SensorMount:
    p = one.pose
    place = (p.x, p.y, p.z, p.roll, p.pitch, p.yaw)
    if isinstance(one, scene.Imu):
        return SensorMount(one.name, owner, "imu", *place, oriented=one.measure_orientation)
    deviations = one.horizontal_std_noise, one.vertical_std_noise
    return SensorMount(one.name, owner, "gnss", *place, deviations=deviations)
