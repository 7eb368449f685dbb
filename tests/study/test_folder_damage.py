"""Damaged files in a campaign's folder: told, set aside, and their runs count as missing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from campaign_folders import NAMES, filled, plan, rows, same_bits
from skidpad.study import tables
from skidpad.study.folder import Folder
from skidpad.study.tables import DamagedPart, UnreadablePart, part_name


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def scramble(path: Path) -> None:
    """What a bad sector leaves: other bytes in the middle, ends and size as they were."""
    data = bytearray(path.read_bytes())
    data[200:600] = bytes(byte ^ 0xA5 for byte in data[200:600])
    path.write_bytes(data)


def test_a_folder_without_damage_has_no_place_for_it(tmp_path: Path) -> None:
    filled(tmp_path, 10, 20).close()
    Folder.open(tmp_path, write=True).close()
    assert {path.name for path in tmp_path.iterdir()} >= {"plan.json", "manifest.json", "runs"}
    assert not (tmp_path / "damaged").exists()


@pytest.mark.parametrize("known", [True, False])
def test_a_truncated_part_is_set_aside_and_its_runs_are_missing(
    tmp_path: Path, known: bool
) -> None:
    folder = filled(tmp_path, 10, 20, 30)
    folder.close()
    if not known:
        (tmp_path / "manifest.json").unlink()
    path = tmp_path / "runs" / part_name(10, 20)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.warns(DamagedPart, match=f"{path.name}.*; 10 runs of it count as missing"):
        reader = Folder.open(tmp_path)
    assert reader.missing(0, 30) == [(10, 20)]
    assert reader.missing(0, 30) == [(10, 20)]  # told once
    (told,) = reader.damaged()
    assert str(path) in told
    assert told.endswith("10 runs of it count as missing")
    assert path.exists()  # one who reads changes nothing
    with pytest.warns(DamagedPart, match=path.name):
        folder = Folder.open(tmp_path, write=True)
    assert folder.missing(0, 30) == [(10, 20)]
    assert (tmp_path / "damaged" / path.name).exists()
    folder.write_part(10, 20, rows(10, 20))
    (told,) = folder.damaged()
    assert told.endswith("its runs have been done again")
    folder.close()
    assert Folder.open(tmp_path).damaged() == [told]


def test_reading_goes_on_without_a_part_that_was_changed(tmp_path: Path) -> None:
    filled(tmp_path, 1000, 2000, 3000).close()
    path = tmp_path / "runs" / part_name(1000, 2000)
    scramble(path)
    reader = Folder.open(tmp_path)
    assert reader.missing(0, 3000) == []  # nobody has looked at its middle
    with pytest.warns(DamagedPart, match=f"{path.name}.*1000 runs of it count as missing"):
        read = reader.read(("run", *NAMES))
    assert read["run"].tolist() == [*range(1000), *range(2000, 3000)]
    assert same_bits(read["m"], np.concatenate([rows(0, 1000)["m"], rows(2000, 3000)["m"]]))
    assert reader.missing(0, 3000) == [(1000, 2000)]
    assert path.exists()
    (told,) = reader.damaged()
    assert "1000 runs of it count as missing" in told


def test_what_goes_on_is_read_before(tmp_path: Path) -> None:
    """A damaged part must not wait until somebody reads it after all runs are done."""
    filled(tmp_path, 1000, 2000, 3000).close()
    path = tmp_path / "runs" / part_name(1000, 2000)
    scramble(path)
    with pytest.warns(DamagedPart, match=path.name):
        folder = Folder.create(tmp_path, plan())
    with folder:
        assert folder.missing(0, 3000) == [(1000, 2000)]
        assert (tmp_path / "damaged" / path.name).exists()
        folder.write_part(1000, 2000, rows(1000, 2000))
    assert same_bits(Folder.open(tmp_path).read(("m",))["m"], rows(0, 3000)["m"])


def test_one_who_writes_is_told_of_a_part_that_was_changed(tmp_path: Path) -> None:
    """Else a design would choose by some of the runs."""
    with filled(tmp_path, 1000, 2000) as folder:
        scramble(tmp_path / "runs" / part_name(1000, 2000))
        with (
            pytest.warns(DamagedPart),
            pytest.raises(UnreadablePart, match="run the campaign again"),
        ):
            folder.read(NAMES)
        assert folder.missing(0, 2000) == [(1000, 2000)]


@pytest.mark.parametrize("read", [lambda f: f.read(("run",))["run"].size, lambda f: f.digest()])
def test_damage_after_some_runs_of_a_part_were_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Any
) -> None:
    """All or none of a part counts."""
    monkeypatch.setattr(tables, "GROUP_ROWS", 100)
    filled(tmp_path / "a", 300, 1000).close()
    filled(tmp_path / "b", 300).close()
    path = tmp_path / "a" / "runs" / part_name(300, 1000)
    flip(path, path.stat().st_size // 2)
    reader = Folder.open(tmp_path / "a")
    with pytest.warns(DamagedPart, match=path.name):
        reader.digest()
    assert read(Folder.open(tmp_path / "b")) == read(reader)


def test_a_merge_does_not_take_damage_over(tmp_path: Path) -> None:
    with filled(tmp_path, *range(10, 641, 10)) as folder:
        flip(tmp_path / "runs" / part_name(100, 110), 400)
        with pytest.warns(DamagedPart), pytest.raises(UnreadablePart, match="000000000110"):
            folder.merge()
        assert folder.missing(0, 640) == [(100, 110)]
        folder.write_part(100, 110, rows(100, 110))
        folder.merge()
        assert same_bits(folder.read(("m",))["m"], rows(0, 640)["m"])
        assert len(os.listdir(tmp_path / "runs")) == 1


@pytest.mark.parametrize("content", [b"", b"{]", b"\xff\xfe", b'{"format": 1}', b"null"])
def test_a_damaged_manifest_is_made_again(tmp_path: Path, content: bytes) -> None:
    filled(tmp_path, 10, 20).close()
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.warns(DamagedPart, match=r"manifest\.json is damaged") as told:
        reader = Folder.open(tmp_path)
    assert len(told) == 1
    assert reader.missing(0, 30) == [(20, 30)]
    assert reader.notes == {}  # told once
    assert "manifest.json is damaged" in reader.damaged()[0]
    with pytest.warns(DamagedPart, match=r"manifest\.json is damaged"):
        Folder.open(tmp_path, write=True).close()
    reader = Folder.open(tmp_path)
    assert reader.missing(0, 30) == [(20, 30)]
    assert "manifest.json is damaged" in reader.damaged()[0]
