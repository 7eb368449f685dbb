"""Who looks on sees what the folder gets, whatever order it comes in, and changes nothing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.study import Campaign, InProcess, Random, Range
from skidpad.study.engines import BINS, MonitoredEngine, ProgressMonitor, RunningHistogram

from .small_experiments import Bowl

numbers = st.floats(allow_nan=True, allow_infinity=True)


@given(st.lists(st.lists(numbers, max_size=20), max_size=8))
def test_a_running_histogram_counts_all(batches: list[list[float]]) -> None:
    """Every number in one bin; the ends are those of the numbers, also where these are extreme."""
    histogram = RunningHistogram()
    for batch in batches:
        histogram.add(np.array(batch))
    every = np.array([x for batch in batches for x in batch])
    known = every[~np.isnan(every)]
    plain = histogram.plain()
    assert plain["without"] == every.size - known.size
    assert sum(plain["counts"]) == known.size
    assert len(plain["counts"]) <= BINS
    if known.size:
        ends = np.clip([known.min(), known.max()], -1e300, 1e300)
        assert (plain["lowest"], plain["highest"]) == tuple(ends)
        json.dumps(plain, allow_nan=False)


@given(st.integers(0, 2**32 - 1), st.integers(1, 9))
def test_its_bins_are_those_of_the_whole(seed: int, pieces: int) -> None:
    """Counts are those of NumPy over the same edges, but for numbers that lie on one."""
    values = np.random.default_rng(seed).normal(3.0, 2.0, 500)
    histogram = RunningHistogram()
    for piece in np.array_split(values, pieces):
        histogram.add(piece)
    plain = histogram.plain()
    bins = len(plain["counts"])
    edges = plain["begin"] + plain["width"] * np.arange(bins + 1)
    counted = np.searchsorted(values[np.argsort(values)], edges)
    assert np.abs(np.cumsum(plain["counts"]) - counted[1:]).max() <= 1
    assert bins > BINS // 4
    assert plain["mean"] == pytest.approx(values.mean())


def test_what_is_seen_is_what_is_kept(tmp_path: Path) -> None:
    plan = Campaign(
        experiment=Bowl(fails_above=0.5),
        factors={"a": Range(0.0, 1.0)},
        design=Random(700),
        seed=2,
    )
    alone = plan.run(tmp_path / "alone", progress=False)
    monitor = ProgressMonitor("bowl", plan.runs, 0, plan.columns())
    assert monitor.plain()["rate"] is None
    study = plan.run(
        tmp_path / "watched", engine=MonitoredEngine(InProcess(), monitor), progress=False
    )
    monitor.end("finished")
    seen = json.loads(json.dumps(monitor.plain(), allow_nan=False))
    assert study.digest() == alone.digest()
    assert (seen["done"], seen["total"], seen["seen"]) == (700, 700, 700)
    assert seen["failed"] == len(study.failed())
    assert seen["state"] == "finished"
    assert seen["seconds_left"] == 0.0
    assert sum(worker["runs"] for worker in seen["workers"]) == 700
    columns = {one["name"]: one for one in seen["columns"]}
    assert set(columns) == {"a", "height", "high"}
    assert columns["a"]["lowest"] == study["a"].min()
    assert columns["a"]["unit"] == "m"
    heights = study["height"]
    assert columns["height"]["without"] == np.isnan(heights).sum()
    assert columns["high"]["mean"] == pytest.approx(study["high"].mean())
