"""Large campaigns: memory that does not grow, folders that open without being read."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from campaign_folders import NAMES, plan, rows
from skidpad.study import tables
from skidpad.study.folder import Folder
from skidpad.study.storage import Storage
from skidpad.study.tables import Part, part_name


@pytest.fixture
def arrow_memory() -> Iterator[pa.MemoryPool]:
    """What Arrow takes from here on; tracemalloc does not see it."""
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)
    pa.set_memory_pool(pool)
    yield pool
    pa.set_memory_pool(before)


def test_memory_does_not_grow_with_the_runs(tmp_path: Path, arrow_memory: pa.MemoryPool) -> None:
    folder = Folder.create(tmp_path, plan())
    step, runs = 15_000, 990_000
    for begin in range(0, runs, step):
        folder.write_part(begin, begin + step, rows(begin, begin + step))
    tracemalloc.start()
    try:
        folder.merge()
        count = sum(len(batch["m"]) for batch in folder.batches(NAMES))
        folder.digest()
        peak = tracemalloc.get_traced_memory()[1] + arrow_memory.max_memory()
    finally:
        tracemalloc.stop()
        folder.close()
    assert count == runs
    assert len(os.listdir(tmp_path / "runs")) == 3
    merged = pq.ParquetFile(tmp_path / "runs" / part_name(0, 64 * step)).metadata
    groups = [merged.row_group(k).num_rows for k in range(merged.num_row_groups)]
    assert set(groups[:-1]) == {tables.GROUP_ROWS}
    row = 8 + 8 + 8 + 8 + 1
    assert peak < 6 * row * tables.GROUP_ROWS < row * runs / 2


@pytest.fixture
def inspected(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of files that were opened to know what they are."""
    names: list[str] = []
    inspect = tables.inspect_part

    def noting(place: Storage, name: str) -> Part:
        names.append(name)
        return inspect(place, name)

    monkeypatch.setattr(tables, "inspect_part", noting)
    return names


def test_opening_reads_what_the_manifest_does_not_know(
    tmp_path: Path, inspected: list[str]
) -> None:
    folder = Folder.create(tmp_path, plan())
    for run in range(200):
        folder.write_part(run, run + 1, rows(run, run + 1))
    assert inspected == []
    Folder.open(tmp_path).missing(0, 300)  # as after a crash
    assert len(inspected) < 64
    folder.close()
    inspected.clear()
    with Folder.open(tmp_path, write=True) as folder:
        assert folder.missing(0, 300) == [(200, 300)]
        folder.merge()
        assert len(os.listdir(tmp_path / "runs")) == 3 + 200 - 192
    assert Folder.open(tmp_path).missing(0, 200) == []
    assert inspected == []
    (tmp_path / "manifest.json").unlink()
    assert Folder.open(tmp_path).missing(0, 200) == []
    assert len(inspected) == 11


def test_a_merge_with_nothing_to_do_changes_no_part(tmp_path: Path) -> None:
    with Folder.create(tmp_path, plan()) as folder:
        for run in range(20):
            folder.write_part(run, run + 1, rows(run, run + 1))
        before = {path: path.stat().st_mtime_ns for path in (tmp_path / "runs").iterdir()}
        folder.merge()
        assert {p: p.stat().st_mtime_ns for p in (tmp_path / "runs").iterdir()} == before
