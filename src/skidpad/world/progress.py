"""A bar on stderr while a world runs: simulated time, times real time, time left."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

from ..units import s


def bar(count: int, dt: s) -> Iterator[int]:
    """Steps 0, 1, ... with a bar that says how far along they are."""
    import sys

    begin = shown = perf_counter()
    for k in range(count):
        yield k
        now = perf_counter()
        if now - shown > 0.2 or k + 1 == count:
            shown = now
            sys.stderr.write("\r" + _line(k + 1, count, dt, now - begin))
            sys.stderr.flush()
    if count:
        sys.stderr.write("\n")


def _line(done: int, count: int, dt: s, elapsed: s) -> str:
    filled = round(20 * done / count)
    factor = done * dt / elapsed if elapsed > 0.0 else 0.0
    left = elapsed * (count - done) / done
    return (
        f"[{'#' * filled}{'.' * (20 - filled)}] {done * dt:.1f} of {count * dt:.1f} s, "
        f"{factor:.1f} times real time, {left:.0f} s left "
    )
