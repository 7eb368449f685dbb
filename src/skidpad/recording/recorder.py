"""Recorders: a run goes into an MCAP file while it happens."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arrays import Array
from ..errors import InvalidValue
from ..stage import Stage
from .chunks import Chunks
from .file import RecordingFailed, RecordingFile
from .plan import ImuMount, Plan
from .pump import Pump
from .tray import Reading, Tray

FORMAT = 1
"""Version of the layout of a recording; readers refuse newer ones."""
RECORDING = "skidpad.recording"
"""Name of the metadata record that makes an MCAP file a recording: format, program, stage."""
NOTES = "skidpad.notes"
"""Name of the metadata records with what people and programs noted about the run, as JSON."""
CHUNK = 4 << 20
"""Bytes of messages in a chunk: few enough to jump to, and so many that what a chunk costs besides
its messages does not matter."""
WAITING = 4
"""Chunks that may wait for the disk."""
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
    noted in the file.

    Args:
        path: of the file; what is there is replaced.
        stage: what there is to see.
        rate: at most so many samples per second of recorded time, in Hz; None for all.
        meta: anything worth knowing about the run, as plain JSON values.
        imus: inertial units whose readings come with `add_imu`.
        rows_of: makes rows of what is given instead of rows, in the thread; see `WorldRecorder`.
        width: numbers of what is given instead of a row.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        stage: Stage,
        *,
        rate: float | None = None,
        meta: Mapping[str, Any] | None = None,
        imus: Sequence[ImuMount] = (),
        rows_of: Callable[[Array], Array] | None = None,
        width: int | None = None,
    ) -> None:
        from .. import __version__

        if rate is not None and not (np.isfinite(rate) and rate > 0.0):
            raise InvalidValue(f"rate = {rate} Hz must be finite and greater than 0")
        self.path, self.stage, self.rate = Path(path), stage, rate
        self._imus = tuple(imus)
        self._rows_of = rows_of
        self._notes: dict[str, Any] = {}
        self._time, self._next = _BEFORE, 0.0
        self._read: dict[tuple[str, int], float] = {}
        self._closed = False
        library = f"skidpad {__version__}"
        plan = Plan(stage, imus)
        about = {
            RECORDING: {
                "format": str(FORMAT),
                "program": library,
                "stage": json.dumps(stage.to_json(), ensure_ascii=False, separators=(",", ":")),
            },
            NOTES: {"notes": _json(dict(meta or {}))},
        }
        self._file = RecordingFile(self.path, plan.schemas, plan.channels, about, library=library)
        self._chunks = Chunks(plan, self._file)
        self._samples = max(CHUNK // self._chunks.row_size, 1)
        self._width = len(stage.channels) if width is None else width
        self._tray = Tray(self._samples, self._width)
        self._spare: list[Tray] = []
        self._pump = Pump(self._write, self._unfinished, WAITING)
        atexit.register(self._close_at_exit)

    def add(self, time: float, row: ArrayLike) -> None:
        """A sample at a time in s, later than the one before; skipped if too soon for the rate."""
        if time >= self._next or not time > self._time:
            self._take(time, self._checked(np.asarray(row, np.float64), (self._width,)))

    def add_rows(self, times: ArrayLike, rows: ArrayLike) -> None:
        """Samples at increasing times (T,) in s, rows (T, channels)."""
        when, table = np.asarray(times, np.float64), np.asarray(rows, np.float64)
        self._checked(table, (when.size, self._width))
        if when.ndim != 1 or not _increasing(when, self._time):
            raise InvalidValue(
                "times must be finite, have one axis and increase, "
                + (f"from {self._time} s on" if self._time >= 0.0 else "and not be negative")
            )
        last = when[-1:]
        if self.rate is not None:
            ticks = np.floor(when * self.rate + _EARLY)
            kept = (np.diff(ticks, prepend=-1.0) > 0.0) & (when >= self._next)
            when, table = when[kept], table[kept]
        begin = 0
        while begin < len(when):
            with self._pump.lock:
                part = slice(begin, begin + self._open().room)
                self._tray.add_rows(when[part], table[part])
                self._hand_over()
            begin = part.stop
        if len(last):
            self._time = float(last[0])
        if len(when):
            self._next = self._after(float(when[-1]))

    def add_scan(self, index: int, time: float, ranges: ArrayLike) -> None:
        """A scan of a lidar of the stage, in m; kept as float32, which is 1 µm at 20 m."""
        if not 0 <= index < len(self.stage.scans):
            raise InvalidValue(f"there is no lidar {index}; there are {len(self.stage.scans)}")
        given = np.array(ranges, np.float32)
        self._checked(given, (self.stage.scans[index].count,))
        self._reading("scans", index, time, given)

    def add_imu(self, index: int, time: float, values: ArrayLike) -> None:
        """A reading of an inertial unit: rates x, y, z in rad/s, forces x, y, z in m/s²; of one
        that is oriented also the quaternion x, y, z, w."""
        if not 0 <= index < len(self._imus):
            raise InvalidValue(f"there is no inertial unit {index}; there are {len(self._imus)}")
        given = np.array(values, np.float64)
        self._checked(given, (10 if self._imus[index].oriented else 6,))
        self._reading("imus", index, time, given)

    def note(self, **notes: Any) -> None:
        """Note something about the run, as plain JSON values; written when it is closed."""
        _json(notes)
        self._notes.update(notes)

    def flush(self) -> None:
        """Wait until everything that was added is in the file."""
        self._hand_over_all()
        self._pump.flush()

    def close(self) -> None:
        """Write what waits and make the file complete. Nothing happens the second time."""
        if self._closed:
            return
        self._closed = True
        atexit.unregister(self._close_at_exit)
        try:
            self._hand_over_all()
            self._pump.close()
        except BaseException:
            self._salvage()
            raise
        if self._notes:
            self._file.add_metadata(NOTES, {"notes": _json(self._notes)})
        self._file.finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None and not isinstance(error, RecordingFailed):
            self._notes["error"] = f"{type(error).__name__}: {error}"
        self.close()

    def _salvage(self) -> None:
        """After a failure: the summary may still fit, as it is smaller than what did not."""
        if self._file.closed:
            return
        try:
            self._file.finish()
        except RecordingFailed:
            self._file.close()

    def _close_at_exit(self) -> None:
        # Whoever recorded has been told of a failure, or has stopped listening.
        with contextlib.suppress(Exception):
            self.close()

    def _take(self, time: float, numbers: Array | Callable[[Array], object]) -> None:
        """A sample that is due: a copy of it, or what is put where it belongs."""
        if not self._time < time < _LATEST:
            raise InvalidValue(
                f"time = {time} s must be finite, not negative and later than the last sample"
                + (f" at {self._time} s" if self._time >= 0.0 else "")
            )
        with self._pump.lock:
            tray = self._open()
            if callable(numbers):
                tray.fill(time, numbers)
            else:
                tray.add(time, numbers)
            self._hand_over()
        self._time = time
        self._next = self._after(time)

    def _after(self, time: float) -> float:
        """When the next sample is due."""
        if self.rate is None:
            return time
        return (int(time * self.rate + _EARLY) + 1 - _EARLY) / self.rate

    def _open(self) -> Tray:
        """The tray that is being filled, with the lock held."""
        if self._closed:
            raise InvalidValue(f"the recording {self.path} is closed")
        self._pump.check()
        return self._tray

    def _hand_over(self) -> None:
        """Give a tray that is full to the thread, with the lock held."""
        if not self._tray.room or self._tray.read_size > CHUNK:
            self._pump.put(self._exchanged())

    def _hand_over_all(self) -> None:
        with self._pump.lock:
            if not self._tray.empty:
                self._pump.put(self._exchanged())

    def _unfinished(self) -> Tray | None:
        return None if self._tray.empty else self._exchanged()

    def _exchanged(self) -> Tray:
        """The tray as it is; another takes its place."""
        filled = self._tray
        self._tray = self._spare.pop() if self._spare else Tray(self._samples, self._width)
        return filled

    def _checked(self, given: NDArray[Any], shape: tuple[int, ...]) -> Any:
        if given.shape != shape:
            raise InvalidValue(f"expected numbers of shape {shape}, got {given.shape}")
        return given

    def _reading(self, kind: str, index: int, time: float, values: NDArray[Any]) -> None:
        last = self._read.get((kind, index), 0.0)
        if not last <= time < _LATEST:
            raise InvalidValue(f"time = {time} s must be finite and not before {last} s")
        with self._pump.lock:
            tray = self._open()
            (tray.scans if kind == "scans" else tray.imus).append(Reading(index, time, values))
            tray.read_size += 8 * values.size
            self._hand_over()
        self._read[kind, index] = time

    def _write(self, tray: Tray) -> None:
        """In the thread: what is on a tray, as a chunk. After a failure the file is closed."""
        try:
            rows = tray.rows
            if self._rows_of is not None and tray.count:
                rows = self._rows_of(rows)
            self._chunks.write(tray.times, rows, tray.scans, tray.imus)
        except BaseException:
            self._salvage()
            raise
        tray.clear()
        with self._pump.lock:
            self._spare.append(tray)


def _increasing(times: Array, after: float) -> bool:
    whole = np.concatenate([[after], times])
    return bool((np.diff(whole) > 0.0).all() and whole[-1] < _LATEST)


def _json(values: Mapping[str, Any]) -> str:
    try:
        return json.dumps(values, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise InvalidValue(f"notes must be plain JSON values: {error}") from error
