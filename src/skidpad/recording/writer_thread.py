"""Samples wait in batches for a thread that writes them while the caller goes on.

What waits is bounded: whoever brings more than fits waits until there is room, so that a slow disk
slows the simulation down and loses nothing.
"""

from __future__ import annotations

import queue
import threading
import traceback
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..arrays import AnyArray, Array
from .message_rows import Message

WAITING = 4
"""Batches that may wait for the disk."""
PATIENCE = 1.0
"""How long the thread waits for a batch before it takes one that is not full, in s."""


class Reading(NamedTuple):
    """What a sensor gave."""

    sensor: int
    """Its number: lidars first, then what is read together."""
    time: float
    """In s."""
    values: AnyArray


class Event(NamedTuple):
    """What happened once."""

    time: float
    """In s."""
    message: Message


class Batch:
    """Samples, readings and events in the order in which they came."""

    def __init__(self) -> None:
        self.times: list[float] = []
        """Of the samples (T,), in s."""
        self.rows: list[Array] = []
        """Numbers of the samples (T, width), one or several samples behind each other in each."""
        self.readings: list[Reading] = []
        self.reading_size = 0
        """Numbers in the readings."""
        self.events: list[Event] = []


class WriterThread:
    """Hands batches to `write`, in order, when they are full or a second old.

    Args:
        write: what it raises is raised again whenever something is added, flushed or closed.
        failed: called with what `write` raised and the times in s of the samples that are lost.
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
        # Not waited for when the program ends without closing; the recorder sees to that.
        threading.Thread(target=self._run, name="skidpad recording", daemon=True).start()

    def add(self, times: Sequence[float], numbers: Array) -> None:
        """Samples at times (n,) in s with numbers (n * width,), which are not copied.

        Waits while too many batches do.
        """
        with self._lock:
            self._check()
            self._batch.times += times
            self._batch.rows.append(numbers)
            if self._full(self._batch):
                self._hand_over()

    def add_reading(self, reading: Reading) -> None:
        """What a sensor gave, which is not copied. Waits while too many batches do."""
        with self._lock:
            self._check()
            self._batch.readings.append(reading)
            self._batch.reading_size += reading.values.size
            if self._full(self._batch):
                self._hand_over()

    def add_event(self, event: Event) -> None:
        """What happened once. Waits while too many batches do."""
        with self._lock:
            self._check()
            self._batch.events.append(event)
            self._batch.reading_size += len(event.message[1].data)
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
        """With the lock held. A wait that is interrupted leaves the batch where it is."""
        if self._batch.times or self._batch.readings or self._batch.events:
            self._queue.put(self._batch)
            self._batch = Batch()

    def _run(self) -> None:
        while self._error is None:
            try:
                batch = self._queue.get(timeout=PATIENCE)
            except queue.Empty:
                # Waiting neither for the lock nor for room: who has them may wait for this thread.
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
        _forget_locals(error)
        self._error = error
        lost = [batch, *self._waiting()]
        # There is room now for what somebody with the lock may have been waiting to put.
        with self._lock:
            lost += [*self._waiting(), self._batch]
        self._failed(error, [time for batch in lost for time in batch.times])

    def _waiting(self) -> list[Batch]:
        """What waits, which is then taken out."""
        batches: list[Batch] = []
        while not self._queue.empty():
            batch = self._queue.get()
            self._queue.task_done()
            if batch is not None:
                batches.append(batch)
        return batches


def _forget_locals(error: BaseException) -> None:
    """Let go of what an error that is kept holds: the variables of the functions it came through.

    Among them are views of buffers, which could not be closed before them.
    """
    cause: BaseException | None = error
    while cause is not None:
        traceback.clear_frames(cause.__traceback__)
        cause = cause.__cause__ or cause.__context__
