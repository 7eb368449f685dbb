"""The cache of compiled code: private, shared between processes, never trusted when damaged."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.compile import native
from waiting import PATIENCE

posix = pytest.mark.skipif(not hasattr(os, "getuid"), reason="file owners are a POSIX matter")


class Builds:
    """Counts how often something is built."""

    def __init__(self, body: bytes = b"code") -> None:
        self.count = 0
        self.body = body

    def __call__(self) -> bytes:
        self.count += 1
        return self.body


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "deep" / "cache"
    monkeypatch.setenv("SKIDPAD_CACHE", str(folder))
    return folder


def entries(place: Path) -> list[Path]:
    return sorted(place.iterdir())


def objects(place: Path) -> list[Path]:
    """Entries that are machine code; traces are kept beside them."""
    return sorted(place.glob("*.o"))


def test_an_entry_is_built_once(place: Path) -> None:
    build = Builds()
    assert native.get_or_build("a", build) == b"code"
    assert native.get_or_build("a", build) == b"code"
    assert build.count == 1
    assert [p.name for p in entries(place)] == ["a.o"]


def test_entries_are_apart(place: Path) -> None:
    assert native.get_or_build("a", Builds(b"1")) == b"1"
    assert native.get_or_build("b", Builds(b"2")) == b"2"
    assert native.get_or_build("a", Builds(b"3")) == b"1"


def test_the_key_depends_on_every_part() -> None:
    keys = [native.key("a", "b"), native.key("ab"), native.key("a", "b", ""), native.key("b", "a")]
    assert len(set(keys)) == 4
    assert native.key("a", "b") == keys[0]


@posix
def test_the_folder_is_private(place: Path) -> None:
    native.get_or_build("a", Builds())
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


@posix
def test_a_folder_open_to_others_is_closed(place: Path) -> None:
    place.mkdir(parents=True)
    place.chmod(0o777)
    native.get_or_build("a", Builds())
    assert stat.S_IMODE(place.stat().st_mode) == 0o700


@posix
def test_the_folder_of_somebody_else_is_not_used(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = Builds()
    native.get_or_build("a", build)
    monkeypatch.setattr(os, "getuid", lambda: place.stat().st_uid + 1)
    assert native.get_or_build("a", build) == b"code"
    assert build.count == 2


@posix
def test_the_file_of_somebody_else_is_not_used(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Left there while the folder was still open to others."""
    native.get_or_build("a", Builds(b"foreign"))
    real = os.fstat

    def foreign(handle: int) -> os.stat_result:
        status = list(real(handle))
        status[stat.ST_UID] += 1
        return os.stat_result(status)

    monkeypatch.setattr(os, "fstat", foreign)
    assert native.get_or_build("a", Builds(b"own")) == b"own"


def test_a_renamed_entry_is_not_used(place: Path) -> None:
    native.get_or_build("a", Builds(b"of a"))
    (place / "a.o").rename(place / "b.o")
    assert native.get_or_build("b", Builds(b"of b")) == b"of b"


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: b"",
        lambda data: data[:10],
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: bytes([data[0] ^ 1]) + data[1:],
        lambda data: data + b"x",
    ],
    ids=["shorter", "empty", "header", "last bit", "first bit", "longer"],
)
def test_a_damaged_entry_is_built_again(place: Path, damage: Any) -> None:
    native.get_or_build("a", Builds())
    path = place / "a.o"
    path.write_bytes(damage(path.read_bytes()))
    build = Builds()
    assert native.get_or_build("a", build) == b"code"
    assert native.get_or_build("a", build) == b"code"
    assert build.count == 1


def test_a_crash_while_writing_leaves_no_entry(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*_: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", crash)
    assert native.get_or_build("a", Builds()) == b"code"
    assert entries(place) == []
    monkeypatch.undo()
    monkeypatch.setenv("SKIDPAD_CACHE", str(place))
    build = Builds()
    native.get_or_build("a", build)
    assert build.count == 1


def test_a_failing_build_leaves_no_entry(place: Path) -> None:
    def broken() -> bytes:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        native.get_or_build("a", broken)
    assert entries(place) == []


def test_a_folder_that_cannot_be_made_means_building(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("SKIDPAD_CACHE", str(tmp_path / "file" / "cache"))
    build = Builds()
    assert native.get_or_build("a", build) == b"code"
    assert native.get_or_build("a", build) == b"code"
    assert build.count == 2


def test_a_folder_that_cannot_be_written_means_building(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tempfile

    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    build = Builds()
    assert native.get_or_build("a", build) == b"code"
    assert native.get_or_build("a", build) == b"code"
    assert build.count == 2


def test_a_user_without_a_home_builds(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("SKIDPAD_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    assert native.get_or_build("a", Builds()) == b"code"


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {}, Path("home/.cache/skidpad")),
        ("linux", {"XDG_CACHE_HOME": "x"}, Path("x/skidpad")),
        ("darwin", {}, Path("home/Library/Caches/skidpad")),
        ("win32", {"LOCALAPPDATA": "l"}, Path("l/skidpad/cache")),
        ("win32", {}, Path("home/AppData/Local/skidpad/cache")),
        ("linux", {"SKIDPAD_CACHE": "mine"}, Path("mine")),
    ],
)
def test_where_it_is(
    monkeypatch: pytest.MonkeyPatch, platform: str, variables: dict[str, str], expected: Path
) -> None:
    for name in ("SKIDPAD_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: Path("home"))
    assert native.folder() == expected


def test_compiled_code_is_found_by_content(place: Path) -> None:
    car = sp.vehicles.kinematic_bicycle()
    first = sp.Simulator(car, dt=0.001, integrator="euler").step(tau_rl=10.0)
    one = objects(place)
    # Neither parameters nor the step are part of the code; the integrator is.
    sp.Simulator(car.with_params(m=300.0), dt=0.002, integrator="euler")
    assert objects(place) == one
    sp.Simulator(car, dt=0.001, integrator="heun")
    assert len(objects(place)) == len(one) + 1
    for path in entries(place):
        path.write_bytes(path.read_bytes()[:-7])
    assert sp.Simulator(car, dt=0.001, integrator="euler").step(tau_rl=10.0) == first


SCRIPT = """
import sys, numpy as np, skidpad as sp
fleet = sp.Fleet(sp.vehicles.kinematic_bicycle(), dt=0.001, integrator="euler", lanes=4)
x0 = np.zeros((5, 11)); x0[:, 3] = 3.0
sys.stdout.write(fleet.rollout(x0, {"steer": 0.1}, steps=20).tobytes().hex())
"""


@pytest.mark.slow
def test_processes_share_a_folder(place: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    together = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for _ in range(2)
    ]
    outputs = [process.communicate(timeout=PATIENCE) for process in together]
    for process, (_, errors) in zip(together, outputs, strict=True):
        assert process.returncode == 0, errors
    assert outputs[0][0] == outputs[1][0]
    assert len(objects(place)) == 1
    states = np.frombuffer(bytes.fromhex(outputs[0][0])).reshape(21, 5, 11)
    assert states[-1, 0, 0] > 0.0
