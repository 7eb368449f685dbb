"""Rows of work over threads: all of them done, errors raised, interrupts answered."""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest

from skidpad.core.progress import watching
from skidpad.core.threads import Stop, alone, share, spread
from skidpad.errors import InvalidValue
from waiting import PATIENCE


@pytest.mark.parametrize("worth", [0, 1, 8, 1000])
@pytest.mark.parametrize("threads", [None, 1, 2, 3, 64])
@pytest.mark.parametrize("rows", [0, 1, 5, 1000])
def test_every_row_is_done_once(rows: int, threads: int | None, worth: int) -> None:
    done = np.zeros(rows, np.int64)

    def work(begin: int, end: int) -> None:
        done[begin:end] += 1

    spread(work, rows, worth=worth, threads=threads)
    assert (done == 1).all()


def test_little_work_stays_in_this_thread_unless_asked() -> None:
    seen: set[int] = set()
    both = threading.Barrier(2, timeout=PATIENCE)

    def work(begin: int, end: int) -> None:
        seen.add(threading.get_ident())

    spread(work, 100, worth=1, threads=None)
    assert seen == {threading.get_ident()}
    # Two threads that wait for each other are two.
    spread(lambda begin, end: both.wait(), 2, worth=1, threads=2)


def test_rows_that_take_long_come_in_small_parts() -> None:
    """Nobody knows beforehand how long a row takes; a part must not take much longer than 20 ms."""
    parts: list[tuple[int, int]] = []

    def work(begin: int, end: int) -> None:
        parts.append((begin, end))
        time.sleep(2e-3 * (end - begin))

    spread(work, 400, worth=2, threads=2)
    sizes = [end - begin for begin, end in sorted(parts)]
    assert sum(sizes) == 400
    assert all(a[1] == b[0] for a, b in pairwise(sorted(parts)))
    # Two threads begin before either of them knows; after that at most 10 rows, 20 ms.
    assert sorted(sizes)[-3] <= 10


def test_more_work_than_is_thought_is_no_single_part_even_in_one_thread() -> None:
    parts: list[int] = []
    spread(lambda begin, end: parts.append(end - begin), 1000, worth=100, threads=1)
    assert len(parts) >= 10


def test_an_error_in_another_thread_is_raised() -> None:
    def work(begin: int, end: int) -> None:
        raise ArithmeticError("no")

    with pytest.raises(ArithmeticError):
        spread(work, 100, worth=4, threads=2)


def test_an_error_stops_the_others() -> None:
    begun = threading.Barrier(2, timeout=PATIENCE)
    parts: list[int] = []

    def work(part: int) -> None:
        parts.append(part)
        if part < 2:
            begun.wait()
        if part == 1:
            raise ArithmeticError("no")
        while not stop:
            time.sleep(0.001)

    stop = Stop()
    with pytest.raises(ArithmeticError):
        share(work, range(1000), threads=2, stop=stop)
    assert sorted(parts) == [0, 1]


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "2"])
def test_what_is_no_number_of_threads_is_refused(threads: object) -> None:
    with pytest.raises(InvalidValue, match=r"threads = .* must be (a whole number, )?at least 1"):
        spread(lambda begin, end: None, 10, worth=4, threads=threads)


@pytest.mark.parametrize("threads", [1, 3])
def test_progress_is_told_by_the_thread_that_asks(threads: int) -> None:
    told: set[int] = set()

    def report(done: float, total: float) -> None:
        told.add(threading.get_ident())

    with watching(1000, "rows", progress=report) as bar:
        spread(lambda begin, end: time.sleep(1e-4), 1000, worth=50, threads=threads, progress=bar)
        assert bar.done == 1000
    assert told == {threading.get_ident()}


def test_whoever_waits_takes_no_part() -> None:
    seen: set[int] = set()
    share(lambda part: seen.add(threading.get_ident()), range(10), threads=2, apart=True)
    assert seen
    assert threading.get_ident() not in seen


def test_whoever_waits_looks_now_and_then() -> None:
    looked = threading.Event()
    share(lambda _: looked.wait(PATIENCE), [0], threads=1, apart=True, watch=looked.set)
    assert looked.is_set()


def test_work_within_work() -> None:
    """More tasks than processors, each waiting for others: nobody waits for a free thread."""
    done = np.zeros((16, 64), np.int64)

    def inner(row: int) -> Callable[[int, int], None]:
        def work(begin: int, end: int) -> None:
            done[row, begin:end] += 1

        return work

    share(lambda row: spread(inner(row), 64, worth=4, threads=4), range(16), threads=16)
    assert (done == 1).all()


class Interrupted:
    """A call in a thread of its own, into which an exception is sent."""

    def __init__(self, call: Callable[[], object]) -> None:
        self.raised: BaseException | None = None
        self._call = call
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._call()
        except BaseException as error:
            self.raised = error

    def send(self) -> None:
        send = ctypes.pythonapi.PyThreadState_SetAsyncExc
        send(ctypes.c_ulong(self._thread.ident or 0), ctypes.py_object(KeyboardInterrupt))

    def join(self) -> None:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


def test_an_interrupt_ends_all_threads_before_it_is_raised() -> None:
    begun, running = threading.Barrier(3, timeout=PATIENCE), [0, 0]
    stop = Stop()

    def work(part: int) -> None:
        begun.wait()
        running[part] = 1
        while not stop:
            time.sleep(0.001)
        time.sleep(0.1)
        running[part] = 2

    def call() -> None:
        try:
            share(work, range(2), threads=2, apart=True, stop=stop)
        finally:
            after.extend(running)

    after: list[int] = []
    waiting = Interrupted(call)
    begun.wait()
    waiting.send()
    waiting.join()
    assert isinstance(waiting.raised, KeyboardInterrupt)
    assert after == [2, 2]


def test_what_cannot_be_stopped_goes_on_alone() -> None:
    begun, end, ended = (threading.Event() for _ in range(3))

    def compiler() -> None:
        begun.set()
        end.wait(PATIENCE)
        ended.set()

    waiting = Interrupted(lambda: alone(compiler))
    assert begun.wait(PATIENCE)
    waiting.send()
    waiting.join()
    assert isinstance(waiting.raised, KeyboardInterrupt)
    assert not ended.is_set()
    end.set()
    assert ended.wait(PATIENCE)


def test_alone_gives_results_and_errors() -> None:
    assert alone(threading.get_ident) != threading.get_ident()

    def refuse() -> None:
        raise ArithmeticError("no")

    with pytest.raises(ArithmeticError, match="no"):
        alone(refuse)


def test_an_idle_thread_keeps_nothing_alive() -> None:
    import weakref

    array = np.zeros(10)
    gone = weakref.ref(array)
    share(lambda part, kept=array: None, range(4), threads=4)
    del array
    deadline = time.monotonic() + PATIENCE
    while gone() is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert gone() is None
