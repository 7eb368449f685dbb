"""Damaged folders of campaigns: what is left is read, and the next run makes it whole again."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import pytest

from skidpad.study import Campaign, InProcess, Keep, Random, Range, Study
from skidpad.study.campaign import summary_of
from skidpad.study.tables import DamagedPart

from .small_experiments import Bowl

RUNS = 600


def bowl() -> Campaign:
    return Campaign(
        experiment=Bowl(),
        factors={"a": Range(0.0, 1.0), "b": Range(0.0, 1.0)},
        design=Random(RUNS),
        keep=Keep(highest={"height": 2}),
    )


def run(folder: Path) -> Study:
    return bowl().run(folder, engine=InProcess(), progress=False)


def scrambled(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[200:600] = bytes(byte ^ 0xA5 for byte in data[200:600])
    path.write_bytes(data)


def halved(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:500])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


DAMAGES = [scrambled, halved, emptied, Path.unlink]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_part(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    digest = run(tmp_path).digest()
    parts = sorted((tmp_path / "runs").iterdir())
    damage(parts[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedPart)
        summary = summary_of(Study.open(tmp_path))
        Study.open(tmp_path).report(tmp_path / "report.html")
        assert not Study.open(tmp_path).finished or damage is scrambled  # which shows when read
    lost = RUNS - summary["runs"]
    assert 0 < lost < RUNS
    assert (summary["finished"], summary["missing"]) == (False, lost)
    assert f"{lost} runs missing" in (tmp_path / "report.html").read_text()
    assert summary["numbers"]["height"]["runs"] == RUNS - lost
    assert summary["truths"]["high"]["runs"] == RUNS - lost
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedPart)
        again = run(tmp_path)
    assert again.digest() == digest
    assert again.folder.missing(0, RUNS) == []
    summary = summary_of(again)
    assert (summary["runs"], summary["finished"], summary["missing"]) == (RUNS, True, 0)


@pytest.mark.parametrize("damage", [cut, emptied])
def test_a_trajectory(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    run(tmp_path)
    kept = sorted((tmp_path / "trajectories").iterdir())
    before = [path.read_bytes() for path in kept]
    damage(kept[1])
    with pytest.warns(DamagedPart, match=f"{kept[1].name}.*the next run makes it again"):
        Study.open(tmp_path).report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert kept[1].name in page
    assert kept[0].name not in page
    with pytest.warns(DamagedPart, match=kept[1].name):
        again = run(tmp_path)
    assert [path.read_bytes() for path in kept] == before
    (told,) = again.folder.damaged()
    assert told.endswith("it has been made again")
