"""Looks on while a campaign runs: an engine around an engine, and what it has seen so far."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from threading import Lock
from time import perf_counter
from typing import Any

import numpy as np

from .engine import Chunk, Engine, Finished, Writer
from .experiment import FAILED, Column, Experiment
from .running_histogram import RunningHistogram

_WINDOW = 30.0
"""Time in s over which the rate is told."""


class Onlooker:
    """What a page shows of a campaign that is under way; may be read from another thread.

    Args:
        name: of the campaign.
        total: runs at most.
        done: runs that the folder has already.
        columns: of the campaign.
    """

    def __init__(self, name: str, total: int, done: int, columns: Sequence[Column]) -> None:
        self._name, self._total, self._done = name, total, done
        self._columns = {column.name: column for column in columns}
        self._histograms = {one: RunningHistogram() for one in self._columns if one != FAILED}
        self._failed = self._seen = 0
        self._workers: dict[str, dict[str, float]] = {}
        self._begin = perf_counter()
        self._looks = deque([(self._begin, done)])
        self._state = "running"
        self._lock = Lock()

    def take(self, finished: Finished) -> None:
        """A chunk is done."""
        begin, end, rows = finished.chunk
        with self._lock:
            self._done += end - begin
            self._looks.append((perf_counter(), self._done))
            while len(self._looks) > 2 and self._looks[-1][0] - self._looks[0][0] > _WINDOW:
                self._looks.popleft()
            worker = self._workers.setdefault(finished.worker, {"runs": 0, "seconds": 0.0})
            worker["runs"] += end - begin
            worker["seconds"] += finished.seconds
            if finished.columns is None:  # its worker has written it
                return
            self._seen += end - begin
            for name, values in {**rows.factors, **finished.columns}.items():
                if name == FAILED:
                    self._failed += int(np.count_nonzero(values))
                elif name in self._histograms:
                    self._histograms[name].add(values)

    def end(self, state: str) -> None:
        """The campaign is over: "finished" or "stopped"."""
        with self._lock:
            self._state = state

    def plain(self) -> dict[str, Any]:
        """All of it as plain values."""
        with self._lock:
            rate = self._rate()
            left = (self._total - self._done) / rate if rate else None
            return {
                "name": self._name,
                "state": self._state,
                "done": self._done,
                "total": self._total,
                "rate": rate,
                "seconds_left": left,
                "seconds": perf_counter() - self._begin,
                "failed": self._failed,
                "seen": self._seen,
                "workers": [{"name": name, **one} for name, one in self._workers.items()],
                "columns": [self._column(name) for name in self._histograms],
            }

    def _rate(self) -> float | None:
        (first, before), (last, now) = self._looks[0], self._looks[-1]
        return (now - before) / (last - first) if last > first and now > before else None

    def _column(self, name: str) -> dict[str, Any]:
        column = self._columns[name]
        about = {"name": name, "unit": column.unit, "kind": column.kind, "meaning": column.meaning}
        return {**about, **self._histograms[name].plain()}


class WatchedEngine:
    """Does what another engine does, and tells an onlooker."""

    def __init__(self, engine: Engine, onlooker: Onlooker) -> None:
        self._engine, self._onlooker = engine, onlooker

    @property
    def name(self) -> str:
        """That of the engine."""
        return self._engine.name

    @property
    def slots(self) -> int:
        """Those of the engine."""
        return self._engine.slots

    def start(self, experiment: Experiment, writer: Writer) -> None:
        """Start the engine."""
        self._engine.start(experiment, writer)

    def submit(self, chunk: Chunk) -> None:
        """Hand a chunk on."""
        self._engine.submit(chunk)

    def finished(self) -> Finished:
        """Wait for a chunk, and tell of it."""
        done = self._engine.finished()
        self._onlooker.take(done)
        return done

    def close(self) -> None:
        """End the engine."""
        self._engine.close()
