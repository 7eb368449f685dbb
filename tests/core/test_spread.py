"""Rows of work over threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from skidpad.errors import InvalidValue
from skidpad.workers import spread
from waiting import PATIENCE


@pytest.mark.parametrize("threads", [None, 1, 2, 3, 64])
@pytest.mark.parametrize("rows", [0, 1, 5, 1000])
def test_every_row_is_done_once(rows: int, threads: int | None) -> None:
    done = np.zeros(rows, np.int64)

    def work(begin: int, end: int) -> None:
        done[begin:end] += 1

    spread(work, rows, worth=8, threads=threads)
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


def test_an_error_in_another_thread_is_raised() -> None:
    def work(begin: int, end: int) -> None:
        raise ArithmeticError("no")

    with pytest.raises(ArithmeticError):
        spread(work, 100, worth=4, threads=2)


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "2"])
def test_what_is_no_number_of_threads_is_refused(threads: object) -> None:
    with pytest.raises(InvalidValue, match=r"threads = .* must be a whole number, at least 1"):
        spread(lambda begin, end: None, 10, worth=4, threads=threads)
