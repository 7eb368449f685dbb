"""Brings a campaign about: round by round, chunk by chunk, into its folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..arrays import AnyArray
from ..progress import Progress
from ..random.factors import Factor
from .chunks import FIRST, FIRST_ALONE, ChunkSize, cut
from .design import Design, Round
from .engine import Chunk, Engine, Finished
from .experiment import Experiment, Rows
from .folder import Folder

_PARTS_TO_MERGE = 64
"""Parts that are written before small ones are merged again."""


def rows_of(
    factors: Mapping[str, Factor], asked: Round, first: int, begin: int, end: int, seed: int
) -> Rows:
    """Runs of a round that begins with run `first`, with what their factors are."""
    runs = np.arange(begin, end, dtype=np.int64)
    points = asked.points(runs - first)
    columns = {name: factor.value(points[:, k]) for k, (name, factor) in enumerate(factors.items())}
    return Rows(runs, columns, seed)


class Conductor:
    """Does what is missing of a campaign.

    Args:
        experiment, factors, design, seed: of the campaign.
        folder: where the runs go, opened for writing.
        engine: who does them.
        seconds: time that a chunk should take.
    """

    def __init__(
        self,
        experiment: Experiment,
        factors: Mapping[str, Factor],
        design: Design,
        seed: int,
        folder: Folder,
        engine: Engine,
        seconds: float,
    ) -> None:
        self._experiment, self._factors, self._design = experiment, factors, design
        self._seed, self._folder, self._engine = seed, folder, engine
        first = FIRST if experiment.threaded else FIRST_ALONE
        self._size = ChunkSize(seconds, experiment.block, first)
        self._written = 0
        self.done = 0
        """Runs that are in the folder."""

    def conduct(self, watch: Progress) -> tuple[int, Mapping[str, Any]]:
        """All rounds; how many runs there are now, and what the design found."""
        choosing = self._design.rounds(len(self._factors), self._seed)
        first = 0
        try:
            asked = next(choosing)
            while True:
                self._do(asked, first, watch)
                end = first + asked.size
                read = self._folder.read(asked.reads, first, end) if asked.reads else {}
                first = end
                asked = choosing.send(read)
        except StopIteration as end:
            self._folder.merge()
            return first, end.value or {}

    def _do(self, asked: Round, first: int, watch: Progress) -> None:
        missing = self._folder.missing(first, first + asked.size)
        there = asked.size - sum(end - begin for begin, end in missing)
        self.done += there
        watch.resume(there)
        chunks = self._chunks(missing, asked, first)
        under_way = 0
        while True:
            while under_way < self._engine.slots and (chunk := next(chunks, None)) is not None:
                self._engine.submit(chunk)
                under_way += 1
            if not under_way:
                return
            self._take(self._engine.finished(), watch)
            under_way -= 1

    def _chunks(self, missing: list[tuple[int, int]], asked: Round, first: int) -> Iterator[Chunk]:
        for begin, end in cut(missing, self._size, self._experiment.block):
            yield Chunk(begin, end, rows_of(self._factors, asked, first, begin, end, self._seed))

    def _take(self, done: Finished, watch: Progress) -> None:
        begin, end, rows = done.chunk
        if done.columns is not None:
            columns: dict[str, AnyArray] = {**rows.factors, **done.columns}
            self._folder.write_part(begin, end, columns)
        self._size.learn(end - begin, done.seconds)
        self._written += 1
        if self._written % _PARTS_TO_MERGE == 0:
            self._folder.merge()
        self.done += end - begin
        watch.advance(end - begin)
