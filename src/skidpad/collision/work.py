"""Spreading rows of work over threads; the compiled loops release Python's lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

from ..errors import InvalidValue

_FEWEST = 512
"""Rows worth a thread of their own."""


def spread(count: int, threads: int | None, work: Callable[[slice], Any]) -> None:
    """Call `work` with slices that cover `count` rows; None: as many threads as pay."""
    if threads is not None and (
        isinstance(threads, bool) or not isinstance(threads, int) or threads < 1
    ):
        raise InvalidValue(f"threads = {threads!r} must be a whole number, at least 1")
    used = count // _FEWEST
    if used > 1:
        used = min(used, (os.cpu_count() or 1) if threads is None else threads)
    if used <= 1:
        work(slice(0, count))
        return
    ends = [count * k // used for k in range(used + 1)]
    slices = [slice(begin, end) for begin, end in pairwise(ends)]
    with ThreadPoolExecutor(used) as pool:
        list(pool.map(work, slices))
