"""The engine of one process: chunks one after the other, each on as many threads as it may use."""

from __future__ import annotations

from collections import deque
from time import perf_counter

from ..brief import brief_repr
from .engine import Chunk, Finished, Writer
from .experiment import Experiment, Means


class InProcess:
    """Does chunks in this process, when it is asked for them.

    Args:
        means: threads and device that an experiment may use.
    """

    __repr__ = brief_repr

    def __init__(self, means: Means | None = None) -> None:
        self.means = means or Means()
        self._experiment: Experiment | None = None
        self._waiting: deque[Chunk] = deque()

    @property
    def name(self) -> str:
        """In progress and reports."""
        return "local" if self.means.device == "cpu" else self.means.device

    @property
    def slots(self) -> int:
        """One: nothing runs between two calls."""
        return 1

    def start(self, experiment: Experiment, writer: Writer) -> None:
        """Take the experiment."""
        self._experiment = experiment

    def submit(self, chunk: Chunk) -> None:
        """Put a chunk in line."""
        self._waiting.append(chunk)

    def finished(self) -> Finished:
        """Do the next chunk."""
        assert self._experiment is not None, "an engine is started before it is used"
        chunk = self._waiting.popleft()
        begin = perf_counter()
        columns = self._experiment.evaluate(chunk.rows, self.means)
        return Finished(chunk, columns, perf_counter() - begin, self.name)

    def close(self) -> None:
        """Forget what was in line."""
        self._waiting.clear()
