"""Disks that are full or may not be written: a campaign's folder loses nothing."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from campaign_folders import NAMES, filled, rows, same_bits
from skidpad.errors import InvalidValue
from skidpad.study import folder as folder_module
from skidpad.study.folder import Folder
from skidpad.study.storage import LocalStorage, NotWritten, locked
from skidpad.study.tables import UnreadablePart


class FullPlace(LocalStorage):
    """A folder on a disk with so many bytes left."""

    def __init__(self, path: Path, room: int) -> None:
        super().__init__(path)
        self.room = room

    @contextmanager
    def writing(self, name: str) -> Iterator[BinaryIO]:
        with super().writing(name) as file:
            yield _Limited(file, self)  # pyright: ignore


class _Limited:
    def __init__(self, file: Any, place: FullPlace) -> None:
        self.file, self.place, self.closed = file, place, False

    def write(self, data: Any) -> int:
        if memoryview(data).nbytes > self.place.room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.place.room -= memoryview(data).nbytes
        return self.file.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = FullPlace(tmp_path, 10**9)
    monkeypatch.setattr(folder_module, "storage_of", lambda _: place)
    with filled(tmp_path, *range(10, 631, 10)) as folder:
        names = sorted(os.listdir(tmp_path / "runs"))
        for room in (0, 100, 1000, 2000):
            place.room = room
            with pytest.raises(NotWritten, match=r"No space left on device; make room and go on"):
                folder.write_part(630, 5000, rows(630, 5000))
            assert sorted(os.listdir(tmp_path / "runs")) == names
        place.room = 10**9
        folder.write_part(630, 640, rows(630, 640))
        for room in (0, 100, 1000, 5000):
            place.room = room
            with pytest.raises(NotWritten, match="No space left"):
                folder.merge()
            place.room = 10**9
            assert folder.missing(0, 640) == []
        assert same_bits(folder.read(("m",))["m"], rows(0, 640)["m"])
        folder.merge()
        folder.write_part(640, 650, rows(640, 650))
        place.room = 0
    place.room = 10**9
    with Folder.open(tmp_path, write=True) as folder:  # the lock was let go
        assert folder.missing(0, 650) == []
    assert len(os.listdir(tmp_path / "runs")) == 2


def test_a_disk_that_may_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    filled(tmp_path, 10).close()

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    with Folder.open(tmp_path, write=True) as folder, monkeypatch.context() as patch:
        patch.setattr(os, "replace", refuse)
        with pytest.raises(NotWritten, match="Permission denied"):
            folder.write_part(10, 20, rows(10, 20))
        patch.undo()
        assert folder.missing(0, 20) == [(10, 20)]
    reader = Folder.open(tmp_path)
    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(NotWritten, match=r"lock: Permission denied"):
        locked(LocalStorage(tmp_path))
    # Out of reach is not damaged.
    with pytest.raises(InvalidValue, match=r"cannot be read: Permission denied") as error:
        reader.read(NAMES)
    assert not isinstance(error.value, UnreadablePart)
    assert reader.missing(0, 10) == []
