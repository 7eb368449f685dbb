"""Files of a campaign, in folders and at URLs."""

from __future__ import annotations

import errno
import os
import uuid
from pathlib import Path
from typing import Any

import pytest

from skidpad.errors import InvalidValue, MissingFile
from skidpad.study.storage import LocalStorage, NotWritten, RemoteStorage, Storage, storage_of


@pytest.fixture(params=["path", "file", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    where: Any = {
        "path": tmp_path / "campaign",
        "file": (tmp_path / "campaign with space").as_uri(),
        "memory": f"memory://campaign-{uuid.uuid4().hex}",
    }[request.param]
    place = storage_of(where)
    place.prepare(("runs",))
    return place


def test_kinds_of_places(tmp_path: Path) -> None:
    assert isinstance(storage_of(tmp_path), LocalStorage)
    local = storage_of((tmp_path / "a b").as_uri())
    assert local.path == tmp_path / "a b"
    assert isinstance(storage_of("memory://x"), RemoteStorage)
    assert storage_of("memory://x/").path == "memory://x"


def test_files_are_written_listed_moved_and_removed(place: Storage) -> None:
    assert place.sizes("runs") == {}
    place.write("runs/a", b"one")
    place.write("runs/b", b"three")
    place.write("plan", b"")
    assert place.sizes("runs") == {"a": 3, "b": 5}
    assert {"plan", "runs"} <= set(place.entries())
    assert place.read("runs/a") == b"one"
    with place.open("runs/b") as file:
        file.seek(2)
        assert file.read() == b"ree"
    place.write("runs/a", b"other")
    place.move("runs/a", "damaged/a")
    assert place.read("damaged/a") == b"other"
    assert not place.exists("runs/a")
    place.remove("runs/b")
    place.remove("runs/b")
    assert place.sizes("runs") == {}
    assert place.sizes("nowhere") == {}
    with pytest.raises(MissingFile, match="runs/b"):
        place.read("runs/b")


def write_half(place: Storage, name: str, fault: Any) -> None:
    with place.writing(name) as file:
        file.write(b"half")
        raise fault


@pytest.mark.parametrize("fault", [KeyboardInterrupt, ValueError, OSError(errno.ENOSPC, "full")])
def test_a_file_that_is_not_finished_is_not_there(place: Storage, fault: Any) -> None:
    place.write("runs/a", b"before")
    expected: Any = NotWritten if isinstance(fault, OSError) else fault
    if isinstance(place, RemoteStorage) and fault is ValueError:
        expected = NotWritten
    for name in ("runs/a", "runs/new"):
        with pytest.raises(expected):
            write_half(place, name, fault)
    assert place.sizes("runs") == {"a": 6}
    assert place.read("runs/a") == b"before"


def test_what_a_killed_process_left_is_swept_away(tmp_path: Path) -> None:
    place = LocalStorage(tmp_path)
    place.prepare(("runs",))
    place.write("runs/whole", b"x")
    (tmp_path / "runs" / ".part-0-1.parquet-00ff.tmp").write_bytes(b"half")
    assert place.sizes("runs") == {"whole": 1}
    place.sweep(("", "runs"))
    assert os.listdir(tmp_path / "runs") == ["whole"]


def test_errors_have_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InvalidValue, match="is a file; a campaign needs a folder"):
        LocalStorage(tmp_path / "file").entries()
    with pytest.raises(InvalidValue, match="cannot be a folder"):
        LocalStorage(tmp_path / "file" / "below").prepare(())
    with pytest.raises(InvalidValue, match=r"nosuchprotocol.* cannot be used"):
        storage_of("nosuchprotocol://x")
    with pytest.raises(InvalidValue, match="folder = 3 must be a path"):
        storage_of(3)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "No space left on device; make room and go on"),
        (errno.EACCES, "Permission denied"),
    ],
)
def test_a_disk_that_refuses_is_named(
    tmp_path: Path, number: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = LocalStorage(tmp_path)
    place.write("a", b"before")

    def refuse(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(NotWritten, match=f"cannot write {tmp_path / 'a'}: {words}"):
        place.write("a", b"after")
    assert os.listdir(tmp_path) == ["a"]
    assert place.read("a") == b"before"
