"""One process writes a campaign's folder and others read it while parts are merged and replaced."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from campaign_folders import filled, plan, rows, same_bits
from skidpad.errors import InvalidValue
from skidpad.study import folder as folder_module
from skidpad.study import tables
from skidpad.study.folder import Folder
from skidpad.study.storage import CampaignInUse, LocalStorage
from skidpad.study.tables import part_name


def test_one_writer_and_any_number_of_readers(where: str) -> None:
    with filled(where, 10) as folder:
        with pytest.raises(CampaignInUse, match=f"process {os.getpid()} "):
            Folder.open(where, write=True)
        with pytest.raises(CampaignInUse):
            Folder.create(where, plan())
        reader = Folder.open(where)
        for call in (
            lambda: reader.write_part(0, 1, rows(0, 1)),
            reader.merge,
            lambda: reader.note("x", 1),
        ):
            with pytest.raises(InvalidValue, match="not open for writing"):
                call()
        folder.write_part(10, 20, rows(10, 20))
        assert reader.missing(0, 30) == [(20, 30)]
    folder.close()
    with pytest.raises(InvalidValue, match="not open for writing"):
        folder.write_part(20, 30, rows(20, 30))
    Folder.open(where, write=True).close()


def test_reading_goes_on_while_parts_are_merged_and_replaced(where: str) -> None:
    with filled(where, *range(10, 1001, 10)) as folder:
        reader = Folder.open(where)
        batches = reader.batches(("run", "m"))
        seen = [next(batches) for _ in range(5)]
        folder.merge()
        seen += list(batches)
        assert np.concatenate([b["run"] for b in seen]).tolist() == list(range(1000))
        assert same_bits(np.concatenate([b["m"] for b in seen]), rows(0, 1000)["m"])


class MergedMeanwhile(LocalStorage):
    """A folder whose parts are merged while they are listed: files that come or go during that may
    be listed or not."""

    def __init__(self, path: Path, writer: Folder) -> None:
        super().__init__(path)
        self.writer = writer

    def sizes(self, folder: str) -> dict[str, int]:
        before = super().sizes(folder)
        self.writer.merge()
        after = super().sizes(folder)
        return {name: size for name, size in before.items() if name in after}


def test_parts_that_are_merged_while_they_are_listed_are_not_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with filled(tmp_path, *range(10, 641, 10)) as folder:
        reader = Folder.open(tmp_path)
        place = MergedMeanwhile(tmp_path, folder)
        monkeypatch.setattr(folder_module, "storage_of", lambda _: place)
        assert Folder.open(tmp_path).missing(0, 640) == []
        assert reader.missing(0, 640) == []


def test_a_part_that_is_replaced_while_it_is_read_is_no_damage(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "LEVEL", 3)
    with filled(where, 10, 20, 30) as folder:
        folder.merge()
        reader = Folder.open(where)
        folder.write_part(0, 30, rows(0, 30))  # of the same size, as one piece
        assert same_bits(reader.read(("m",))["m"], rows(0, 30)["m"])
        assert reader.damaged() == []


def test_the_manifest_never_speaks_of_a_part_that_was_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "LEVEL", 3)
    with filled(tmp_path / "campaign", 10, 20, 30) as folder:
        folder.merge()
        path = tmp_path / "campaign" / "runs" / part_name(0, 30)
        size = path.stat().st_size
        folder.write_part(0, 30, rows(0, 30))
        assert path.stat().st_size == size  # so that nothing else tells them apart
        shutil.copytree(tmp_path / "campaign", tmp_path / "killed")
    read = Folder.open(tmp_path / "killed").read(("m",))
    assert same_bits(read["m"], rows(0, 30)["m"])
