"""Threads: a common thread pool, waiting that Ctrl-C interrupts, and safe forks.

1. Work for several threads goes through `share` (parts of any kind) or `spread` (rows). The calling
   thread takes part, unless the parts are long (`apart=True`): then it only waits, so that Python
   still handles signals.
2. A call that ends early, by an interrupt or by an error in a part, sets its `Stop`, waits until
   every thread has returned and only then raises. No thread continues, and no array is freed under
   a running loop.
3. `alone` runs a function that cannot be stopped, such as a compiler, in a thread of the pool. If
   the waiting is interrupted, the function still runs to its end.
4. A child process has none of its parent's threads; it starts its own when it needs them. A lock
   that another thread held at the fork would stay locked in the child, with its work unfinished, so
   forks wait until no thread holds a lock registered by `guard`.
5. `Deferred` handles Ctrl-C at the end of a block instead of within it.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Self, TypeVar

from .checks import whole

if TYPE_CHECKING:
    from .progress import Progress

T = TypeVar("T")

_LOOK = 0.05
"""Polling interval in s of a waiting thread."""
_PARTS_PER_THREAD = 4
"""Parts per thread: rows differ in duration, and an idle thread takes another part."""
_ROWS_IN_ONE = 8
"""Largest part in units of the rows that occupy one thread, about 10 ms: a part cannot be
stopped."""
_LONGEST_PART = 0.02
"""Duration in s above which the following parts are made smaller."""


class Stop:
    """Stop flag that makes loops end early: a 64-bit word in memory that becomes nonzero."""

    __slots__ = ("_word", "address")

    def __init__(self) -> None:
        self._word = ctypes.c_int64()
        self.address = ctypes.addressof(self._word)
        """Address of the word, for compiled code."""

    def set(self) -> None:
        """Make all loops that read the flag return."""
        self._word.value = 1

    def __bool__(self) -> bool:
        return self._word.value != 0


NEVER = Stop()
"""Flag for calls too short to be stopped; it is never set."""


def cores() -> int:
    """Number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def spread(
    work: Callable[[int, int], object],
    rows: int,
    *,
    worth: int,
    threads: int | None,
    progress: Progress | None = None,
) -> None:
    """Call `work(begin, end)` until all rows are done, in this thread and in others.

    Args:
        work: processes the rows from `begin` to `end - 1`; the result must not depend on how the
            rows are split.
        rows: number of rows.
        worth: largest number of threads that save more time than they cost.
        threads: number of threads; `worth` or the number of processors if None.
        progress: advanced by the rows that are done.
    """
    if threads is None:
        useful = min(worth, cores()) if worth > 1 else 1
    else:
        useful = whole("threads", threads, "at least 1")
    used = max(1, min(useful, rows))
    if used == 1 and worth <= _ROWS_IN_ONE:
        work(0, rows)
        if progress is not None:
            progress.advance(rows)
        return
    even, small = -(-rows // (_PARTS_PER_THREAD * used)), rows * _ROWS_IN_ONE // max(worth, 1)
    ranges = _Ranges(work, rows, max(1, min(even, small)), progress)
    share(ranges.do, ranges.limits(), threads=used)
    ranges.report()


class _Ranges:
    """Splits rows into parts of at most about 20 ms, from the measured time of earlier rows."""

    def __init__(
        self, work: Callable[[int, int], object], rows: int, size: int, progress: Progress | None
    ) -> None:
        self._work, self._rows, self._progress = work, rows, progress
        self._size = self._largest = size
        self._caller, self._done = threading.get_ident(), list[int]()

    def limits(self) -> Iterator[tuple[int, int]]:
        begin = 0
        while begin < self._rows:
            end = min(self._rows, begin + self._size)
            yield begin, end
            begin = end

    def do(self, part: tuple[int, int]) -> None:
        """Process one part; its duration determines the size of the next one."""
        start = time.perf_counter()
        self._work(*part)
        took = time.perf_counter() - start
        if took > _LONGEST_PART:
            self._size = max(1, int((part[1] - part[0]) * _LONGEST_PART / took))
        elif took < 0.25 * _LONGEST_PART:
            self._size = min(self._largest, 2 * self._size)
        self._done.append(part[1] - part[0])
        if threading.get_ident() == self._caller:
            self.report()

    def report(self) -> None:
        """Advance the progress by the rows of all threads; call it in the calling thread."""
        while self._progress is not None and self._done:
            self._progress.advance(self._done.pop())


def share(
    work: Callable[[T], object],
    parts: Iterable[T],
    *,
    threads: int,
    apart: bool = False,
    stop: Stop | None = None,
    watch: Callable[[], object] | None = None,
) -> None:
    """Call `work(part)` for all parts in threads; returns or raises when all threads have returned.

    Args:
        work: processes a part. It should hold references to its data.
        parts: taken one after the other by free threads.
        threads: number of working threads.
        apart: whether this thread only waits: for parts that take longer than about 20 ms.
        stop: set when the call is to end early; `work` may read it. No further part is begun then.
        watch: called repeatedly by this thread while it waits.
    """
    if threads == 1 and not apart:
        for part in parts:
            work(part)
        return
    job = _Job(work, iter(parts), Stop() if stop is None else stop)
    try:
        helpers = [_pool.help(job) for _ in range(threads if apart else threads - 1)]
        if apart and any(helpers):
            job.wait(watch)
        else:
            job.take()
    except BaseException:
        job.stop.set()
        raise
    finally:
        job.close()
    job.raise_error()


def alone(function: Callable[[], T], watch: Callable[[], object] | None = None) -> T:
    """Run a function that cannot be stopped in another thread, and return its result.

    If the waiting is interrupted, the function still runs to its end; its effects, such as a cache
    entry, are available to the next call. `watch` is called repeatedly by this thread while it
    waits.
    """
    results: list[T] = []
    job = _Job(lambda _: results.append(function()), iter([None]), Stop())
    if _pool.help(job):
        job.wait(watch)
    else:
        job.take()
    job.raise_error()
    return results[0]


class _Here(threading.local):
    stop: Stop = NEVER
    """Stop flag of the job on which the current thread works."""


_here = _Here()


class _Job:
    """A job: parts that several threads process, and the errors raised in them."""

    def __init__(self, work: Callable[[Any], object], parts: Iterator[Any], stop: Stop) -> None:
        self.stop = stop
        self._work, self._parts = work, parts
        self._error: BaseException | None = None
        self._lock = threading.Lock()
        self._helpers, self._closed, self._finished = 0, False, False
        # Released whenever the last helper leaves. Waiting for a bare lock is a single C call, so
        # an interrupt cannot leave it in a half-finished state, as it can the locks of `threading`.
        self._all_left = threading.Lock()
        self._all_left.acquire()

    def take(self) -> None:
        """Process parts until there are no more or the job is stopped."""
        while not self.stop:
            with self._lock:
                part = next(self._parts, self)
            if part is self:
                return
            self._work(part)

    def help(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._helpers += 1
        _here.stop = self.stop
        try:
            self.take()
        except BaseException as error:
            self._error = self._error or error
            self.stop.set()
        finally:
            _here.stop = NEVER
            with self._lock:
                self._helpers -= 1
                if not self._helpers:
                    self._finished = True
                    if self._all_left.locked():
                        self._all_left.release()

    def wait(self, watch: Callable[[], object] | None) -> None:
        while not self._finished:
            self._all_left.acquire(timeout=_LOOK)
            if watch is not None:
                watch()
            if _here.stop:
                raise KeyboardInterrupt

    def close(self) -> None:
        """Start no more threads, and wait for the working threads despite interrupts."""
        interrupt: BaseException | None = None
        while self._helpers or not self._closed:
            try:
                with self._lock:
                    self._closed = True
                if self._helpers:
                    self._all_left.acquire(timeout=_LOOK)
            except BaseException as error:  # raised by a signal handler
                interrupt = error
                self.stop.set()
        if interrupt is not None:
            raise interrupt

    def raise_error(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            try:
                raise error
            finally:
                # Break the reference cycle between an error and its traceback.
                del error
        if self.stop:
            raise KeyboardInterrupt


class _Pool:
    """Threads that help with jobs, started on demand and reused."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._lock = threading.Lock()
        self._idle = 0
        self.at_work: dict[int, _Job] = {}
        """Current job of each thread, by thread identity."""

    def help(self, job: _Job) -> bool:
        """Make a thread help with a job; False if no thread is idle and none can be started."""
        with self._lock:
            fresh = self._idle == 0
            self._idle -= not fresh
        if fresh:
            try:
                # Start a daemon thread, since an idle thread must not keep the program from ending.
                threading.Thread(target=self._run, name="skidpad", daemon=True).start()
            except RuntimeError:
                return False
        self._jobs.put(job)
        return True

    def _run(self) -> None:
        own = threading.get_ident()
        while True:
            self.at_work[own] = self._jobs.get()
            self.at_work[own].help()
            # Drop the reference to the job, so that an idle thread keeps no arrays alive.
            del self.at_work[own]
            with self._lock:
                self._idle += 1


_pool = _Pool()


def _end() -> None:
    while jobs := [*_pool.at_work.values()]:
        for job in jobs:
            job.stop.set()
        time.sleep(0.002)


def _begin_child() -> None:
    global _pool
    _pool, _here.stop = _Pool(), NEVER


atexit.register(_end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_child)

TRACING, LOOPS, MACHINE_CODE, ARRAYS, MEMORY = range(5)
"""Locks that forks wait for, in the order of acquisition. LLVM's memory is freed by the thread that
drops the last reference, whatever locks it holds.
"""

_guarded: list[tuple[int, AbstractContextManager[Any]]] = []
_held = ExitStack()


def guard(lock: AbstractContextManager[Any], order: int) -> None:
    """Register a lock that forks wait for."""
    if all(lock is not other for _, other in _guarded):
        _guarded.append((order, lock))
        _guarded.sort(key=lambda entry: entry[0])


def _hold() -> None:
    for _, lock in _guarded:
        _held.enter_context(lock)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_hold, after_in_parent=_held.close, after_in_child=_held.close)


class Deferred:
    """Context manager that handles an interrupt at the end of the block rather than within it.

    In `with Deferred() as interrupt:`, `if interrupt: interrupt.answer()` handles it earlier. A
    second interrupt is not deferred. Signals are delivered to the main thread only; in other
    threads nothing is deferred.
    """

    def __init__(self) -> None:
        self._usual: Any = None
        self._came = False

    def __enter__(self) -> Self:
        usual = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is threading.main_thread() and callable(usual):
            self._usual = usual
            signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, number: int, frame: Any) -> None:
        if self._came:
            self._usual(number, frame)
        self._came = True

    def __bool__(self) -> bool:
        return self._came

    def answer(self) -> None:
        """Handle the interrupt as usual, by raising KeyboardInterrupt."""
        self._came = False
        self._usual(signal.SIGINT, None)

    def forget(self) -> None:
        """Discard an interrupt, because the work that it should end has ended."""
        self._came = False

    def __exit__(self, kind: Any, *_: object) -> None:
        if self._usual is not None:
            signal.signal(signal.SIGINT, self._usual)
        if self._came and kind is None:
            self.answer()
