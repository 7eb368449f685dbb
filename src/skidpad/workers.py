"""Spreading rows of work over threads; compiled loops release Python's lock."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

from .errors import InvalidValue

_PARTS_PER_THREAD = 4
"""Some rows take longer than others: whoever is done takes another part."""


def spread(
    work: Callable[[int, int], object], rows: int, *, worth: int, threads: int | None
) -> None:
    """Call `work(begin, end)` until all rows are done, in this thread and in others.

    Args:
        work: does the rows from begin to before end.
        rows: how many there are.
        worth: threads that there is work for; more would cost more than they save.
        threads: how many to use; None: as many as pay and as there are processors.
    """
    wanted = min(worth, os.cpu_count() or 1) if threads is None else checked_threads(threads)
    used = min(wanted, rows)
    if used <= 1:
        work(0, rows)
        return
    parts = _PARTS_PER_THREAD * used
    limits = sorted({rows * k // parts for k in range(parts + 1)})
    todo = deque(itertools.pairwise(limits))

    def following() -> tuple[int, int] | None:
        with contextlib.suppress(IndexError):
            return todo.popleft()

    def share() -> None:
        for begin, end in iter(following, None):
            work(begin, end)

    others = [_pool().submit(share) for _ in range(used - 1)]
    share()
    for other in others:
        other.result()


def checked_threads(threads: Any) -> int:
    """A number of threads, if it is one."""
    if isinstance(threads, bool) or not isinstance(threads, int) or threads < 1:
        raise InvalidValue(f"threads = {threads!r} must be a whole number, at least 1")
    return threads


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="skidpad")


# A child process has none of the threads.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)
