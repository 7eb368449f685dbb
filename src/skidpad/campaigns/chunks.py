"""How runs are cut into chunks: some seconds of work each, whatever a run takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

FIRST = 256
"""Runs of the first chunk, from which the time of the others is told."""
FIRST_ALONE = 4
"""The same of an experiment that does one run after the other, which may take seconds each."""
MOST = 1 << 16
"""Runs of the largest chunk: what a file of some megabytes holds."""
_GROWTH = 4.0
"""How many times as large as the one before a chunk may be."""


class ChunkSize:
    """The number of runs that take about `seconds`; learned from chunks that are done."""

    def __init__(self, seconds: float, block: int, first: int = FIRST) -> None:
        self._seconds, self._block = seconds, block
        self.runs = self._rounded(first)

    def learn(self, runs: int, seconds: float) -> None:
        """Take note of how long a chunk took."""
        wanted = runs * self._seconds / max(seconds, 1e-9)
        self.runs = self._rounded(min(wanted, _GROWTH * self.runs, MOST))

    def _rounded(self, runs: float) -> int:
        return max(1, int(runs) // self._block) * self._block


def cut(
    ranges: Iterable[tuple[int, int]], size: ChunkSize, block: int
) -> Iterator[tuple[int, int]]:
    """The ranges in pieces of the size that is right when each is asked for, cut at multiples of
    the block where they can be."""
    for begin, end in ranges:
        while begin < end:
            stop = begin + size.runs
            stop -= stop % block
            stop = min(end, stop if stop > begin else begin - begin % block + block)
            yield begin, stop
            begin = stop
