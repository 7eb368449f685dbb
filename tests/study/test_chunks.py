"""Chunks take some seconds whatever a run takes: also the first ones of slow runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from skidpad.study import Campaign, InProcess, Random, Range
from skidpad.study.engines import Chunk, Finished

from .small_experiments import Bowl


class Paced(InProcess):
    """Says that every run took so long."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds
        self.sizes = list[int]()

    def submit(self, chunk: Chunk) -> None:
        self.sizes.append(chunk.end - chunk.begin)
        super().submit(chunk)

    def finished(self) -> Finished:
        done = super().finished()
        return done._replace(seconds=self._seconds * len(done.chunk.rows.runs))


@pytest.mark.slow_cases("False-1.0")
@pytest.mark.parametrize(
    ("threaded", "seconds"), [(False, 1.0), (False, 0.01), (True, 0.01), (True, 1e-5)]
)
def test_no_chunk_takes_long(tmp_path: Path, threaded: bool, seconds: float) -> None:
    """About the time that is asked for at most; and, but for the first and the last, not much
    less."""
    engine = Paced(seconds)
    experiment: Any = Bowl(threaded=threaded)
    plan = Campaign(experiment=experiment, factors={"a": Range(0.0, 1.0)}, design=Random(3000))
    study = plan.run(tmp_path / "runs", engine=engine, chunk_seconds=4.0, progress=False)
    assert study.runs == 3000
    assert max(engine.sizes) * seconds <= 4.0 + 1e-9
    grown = [size for size in engine.sizes[5:-1] if size * seconds < 3.0]
    assert grown == []
