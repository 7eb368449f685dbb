"""Whatever reads or writes a file says what is wrong with its path, and always in the same way."""

from __future__ import annotations

import ast
import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from core.files.kinds import KINDS, Kind
from skidpad.compat.autoware import road as lanelet2
from skidpad.compat.commonroad import read_scenario
from skidpad.compat.truck.model_file import truck_model
from skidpad.compile.plant import Plant
from skidpad.core import files
from skidpad.errors import InvalidValue, MissingFile
from skidpad.geometry.maps.map import Map
from skidpad.road.crg import read_crg
from skidpad.run.trajectory import Trajectory
from skidpad.view import recording
from skidpad.view.film import Film
from skidpad.view.stages import trajectory_stage
from skidpad.world import xml
from waiting import PATIENCE

READERS: dict[str, Callable[[Any], Any]] = {
    "Trajectory.from_csv": Trajectory.from_csv,
    "Trajectory.from_parquet": Trajectory.from_parquet,
    "recording.read": recording.read,
    "recording.info": recording.info,
    "recording.recover": recording.recover,
    "World.load": sp.World.load,
    "xml.load": xml.load,
    "Map.load": Map.load,
    "read_scenario": read_scenario,
    "read_lanelets": lanelet2.read_lanelets,
    "Fleet.load": sp.Fleet.load,
    "read_log": sp.study.logs.read_log,
    "Plant.load": Plant.load,
    "truck_model": truck_model,
}


@cache
def trajectory() -> Trajectory:
    return sp.Simulator(sp.vehicles.kinematic_bicycle(), dt=0.01).run({}, duration=0.1)


def film() -> Film:
    made, times, rows = trajectory_stage({"a": trajectory()}, sp.vehicles.kinematic_bicycle())
    return Film(made, times, rows.astype(np.float32))


WRITERS: dict[str, Callable[[Any], Any]] = {
    "Trajectory.to_csv": lambda path: trajectory().to_csv(path),
    "Trajectory.to_parquet": lambda path: trajectory().to_parquet(path),
    "Trajectory.plot": lambda path: trajectory().plot(path=path),
    "Fleet.save": lambda path: sp.Fleet(sp.vehicles.kinematic_bicycle(), dt=0.01).save(path),
    "Film.to_html": lambda path: film().to_html(path),
    "Recorder": lambda path: recording.Recorder(path, film().stage),
}
SUFFIX = {
    "Trajectory.to_csv": ".csv",
    "Trajectory.to_parquet": ".parquet",
    "Trajectory.plot": ".png",
    "Film.to_html": ".html",
    "Recorder": ".mcap",
}


@pytest.mark.parametrize("suffix", ["", ".csv", ".mcap", ".xml", ".parquet", ".yaml", ".npz"])
@pytest.mark.parametrize("name", READERS)
def test_a_file_that_is_not_there(name: str, suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"nothing{suffix}"
    with pytest.raises(InvalidValue) as caught:
        READERS[name](path)
    message = str(caught.value)
    if isinstance(caught.value, MissingFile):
        assert message.count(path.name) == 1, message
        return
    # Only what can tell from the name alone that it does not read such files.
    assert name in ("Map.load", "read_log"), message
    assert f"{suffix or '(none)'} is not" in message or "a log must be a " in message, message


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("path", [None, 5, b"\0"])
def test_what_is_no_path(name: str, path: Any) -> None:
    if name == "truck_model" and path is None:
        pytest.skip("the truck by default")
    with pytest.raises(InvalidValue):
        READERS[name](path)


@pytest.mark.parametrize("name", READERS)
def test_a_folder(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"folder|directory|suffix"):
        READERS[name](tmp_path)


# A recorder says so as `RecordingFailed`, whatever keeps it from writing.
@pytest.mark.parametrize("name", [name for name in WRITERS if name != "Recorder"])
def test_a_folder_that_is_not_there(name: str, tmp_path: Path) -> None:
    path = tmp_path / "no folder" / f"written{SUFFIX.get(name, '')}"
    with pytest.raises(MissingFile, match="no folder") as caught:
        WRITERS[name](path)
    assert str(caught.value).count("cannot") == 1
    assert str(caught.value).count(path.name) <= 1


@pytest.mark.parametrize("name", [name for name in WRITERS if name != "Trajectory.plot"])
@pytest.mark.parametrize("path", [None, 5])
def test_nothing_is_written_to_what_is_no_path(name: str, path: Any) -> None:
    with pytest.raises(InvalidValue):
        WRITERS[name](path)


@contextmanager
def pipe(path: Path) -> Iterator[None]:
    """A named pipe at a path, for a while with a writer that closes it once it is opened: a reader
    that opens it gets nothing instead of waiting forever."""
    os.mkfifo(path)
    closing = threading.Thread(target=lambda: path.open("wb").close(), daemon=True)
    closing.start()
    try:
        yield
    finally:
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # lets the writer go if nobody came
        closing.join(timeout=PATIENCE)
        os.close(reader)
        path.unlink()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes in folders")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_pipes_and_devices_are_refused(kind: Kind, tmp_path: Path) -> None:
    path = tmp_path / kind.file
    read = _first_problem if kind.read is xml.problems else kind.read
    with pipe(path), pytest.raises(InvalidValue, match=r"it is a named pipe") as caught:
        read(path)
    assert str(path) in str(caught.value)
    path.symlink_to(os.devnull)
    with pytest.raises(InvalidValue, match=r"it is a device"):
        read(path)


def _first_problem(path: Path) -> None:
    raise xml.problems(path)[0]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes in folders")
def test_a_path_that_becomes_a_pipe_after_the_first_look_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "late.tir"
    os.mkfifo(path)
    monkeypatch.setattr(files, "regular_file", Path)  # it was a file when it was looked at
    with pytest.raises(InvalidValue, match="named pipe"):  # without waiting for a writer
        files.bytes_of(path)


def test_files_of_system_that_claim_to_be_empty_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "growing.txt"
    path.write_bytes(b"0123456789")
    monkeypatch.setattr(files, "LARGEST", 5)
    claims = os.stat_result((stat.S_IFREG | 0o644, *([0] * 9)))
    monkeypatch.setattr(files.os, "fstat", lambda _: claims)
    with pytest.raises(InvalidValue, match="at most 5 are allowed"):
        files.bytes_of(path)


REFERRING = "$ROAD_CRG_FILE\n{}\n$\n"


@pytest.mark.parametrize(
    "name",
    [
        "/etc/hostname",
        "../rows.crg",
        "a/../../rows.crg",
        "..\\rows.crg",
        "C:\\rows.crg",
        "\\\\h\\s",
    ],
)
def test_a_road_names_no_file_outside_of_its_folder(name: str, tmp_path: Path) -> None:
    (tmp_path / "rows.crg").write_text("$CT\n$\n$$\n")
    (tmp_path / "roads").mkdir()
    file = tmp_path / "roads" / "track.crg"
    file.write_text(REFERRING.format(name))
    with pytest.raises(InvalidValue, match=r"track\.crg, line 2: .* must lie within the folder"):
        read_crg(file)


def test_a_link_of_a_road_leads_to_no_file_outside_of_its_folder(tmp_path: Path) -> None:
    (tmp_path / "secret.crg").write_text("$CT\nsecret\n$\n$$\n")
    folder = tmp_path / "roads"
    folder.mkdir()
    (folder / "link.crg").symlink_to("../secret.crg")
    file = folder / "track.crg"
    file.write_text(REFERRING.format("link.crg"))
    with pytest.raises(InvalidValue, match=r"track\.crg, line 2: .* must lie within the folder"):
        read_crg(file)
    # A folder that is itself a link is the folder of its files.
    (folder / "rows.crg").write_text("$CT\n$\n")
    (tmp_path / "linked").symlink_to("roads")
    file.write_text(REFERRING.format("rows.crg"))
    with pytest.raises(InvalidValue, match="has no rows of numbers"):
        read_crg(tmp_path / "linked" / "track.crg")


def test_a_road_names_a_file_of_its_folder(tmp_path: Path) -> None:
    file = tmp_path / "track.crg"
    file.write_text(REFERRING.format("parts/../parts/rows.crg"))
    with pytest.raises(MissingFile, match=r"rows\.crg"):
        read_crg(file)


OPENING_THEMSELVES = {
    "core/files.py",  # where files are opened
    "bench",  # /proc and our own files
    "compile",  # the cache, which skidpad writes, and our own sources
    "export",  # what compilers of ours wrote, our own sources
    "study/storage.py",  # its own lock, and files of a listing, which has regular ones alone
    "study/tables.py",  # what it has just written
    "view/pages",  # our own scripts and styles
}
"""Modules of which files come from skidpad itself, or that write them."""


def test_readers_open_files_by_one_function() -> None:
    """`open`, `read_bytes` and `read_text` do not ask what they open: pipes hang, devices act."""
    root = Path(sp.__file__).parent
    found: list[str] = []
    for module in sorted(root.rglob("*.py")):
        place = module.relative_to(root).as_posix()
        if any(place == one or place.startswith(f"{one}/") for one in OPENING_THEMSELVES):
            continue
        for node in ast.walk(ast.parse(module.read_text("utf-8"))):
            if isinstance(node, ast.Call) and _opens(node):
                found.append(f"{place}:{node.lineno}")
    assert found == []


def _opens(call: ast.Call) -> bool:
    function = call.func
    if isinstance(function, ast.Name):
        return function.id == "open"
    name = function.attr if isinstance(function, ast.Attribute) else ""
    if name in ("read_bytes", "read_text"):
        return True
    mode = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
    return name == "open" and isinstance(mode, str) and set(mode) <= set("rbt")
