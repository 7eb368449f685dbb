"""Loops compiled by numba: when they are first called, and kept under the rules of the cache."""

from __future__ import annotations

import os
import pickle
import shutil
import stat
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from run.fleet.scripts import run
from skidpad.compile import loops, native
from skidpad.compile.loops import loop
from skidpad.geometry.raycast.lanes import fill_units, kernel


def double(x: Any) -> Any:
    """What is compiled."""
    return 2.0 * x


def use() -> tuple[int, int]:
    """Compile and call the loop as a new process would; how often it was in the cache and not."""
    fresh = loop(double)
    assert fresh(3.0) == 6.0
    return sum(fresh.stats.cache_hits.values()), sum(fresh.stats.cache_misses.values())


FOUND, COMPILED = (1, 0), (0, 1)


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The loop as a cache keeps it."""
    folder = tmp_path_factory.mktemp("compiled")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SKIDPAD_CACHE", str(folder))
        assert use() == COMPILED
    assert entry_of(folder).name.startswith("double-")
    return entry_of(folder)


@pytest.fixture
def folder(compiled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache with the loop in it."""
    monkeypatch.setenv("SKIDPAD_CACHE", str(tmp_path))
    shutil.copy2(compiled, tmp_path)
    return tmp_path


def entry_of(folder: Path) -> Path:
    (entry,) = folder.iterdir()
    return entry


def test_a_loop_is_compiled_once(folder: Path) -> None:
    assert use() == FOUND


def test_another_process_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKIDPAD_CACHE", str(tmp_path))
    angles, cos, sin = np.linspace(0.0, 1.0, 7), np.empty(7), np.empty(7)
    fresh = kernel("void(float64[::1], float64[::1], float64[::1])")(fill_units.py_func)
    fresh(angles, cos, sin)
    assert not fresh.stats.cache_hits
    code = """
        import numpy as np
        from skidpad.geometry.raycast.lanes import fill_units
        angles, cos, sin = np.linspace(0.0, 1.0, 7), np.empty(7), np.empty(7)
        fill_units(angles, cos, sin)
        print(*fill_units.stats.cache_hits.values(), cos.tobytes().hex(), sin.tobytes().hex())
    """
    found = run(code, SKIDPAD_CACHE=str(tmp_path))
    assert found == f"1 {cos.tobytes().hex()} {sin.tobytes().hex()}"


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: b"\x80\x04N.",
    ],
    ids=["truncated", "empty", "another bit", "another pickle"],
)
def test_a_damaged_entry_is_compiled_again(folder: Path, damage: Any) -> None:
    entry = entry_of(folder)
    entry.write_bytes(damage(entry.read_bytes()))
    assert use() == COMPILED
    assert use() == FOUND


class Bomb:
    """What runs as soon as it is unpickled."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> Any:
        return Path.touch, (self.trace,)


def test_a_planted_entry_is_not_unpickled(folder: Path, tmp_path_factory: Any) -> None:
    trace = tmp_path_factory.mktemp("trace") / "exploded"
    entry_of(folder).write_bytes(pickle.dumps(Bomb(trace)))
    assert use() == COMPILED
    assert not trace.exists()


def test_an_entry_of_another_loop_is_not_used(folder: Path) -> None:
    other = loop(lambda x: 3.0 * x)
    assert other(3.0) == 9.0
    ours, theirs = sorted(folder.iterdir(), key=lambda p: not p.name.startswith("double-"))
    ours.write_bytes(theirs.read_bytes())
    assert use() == COMPILED


def test_a_sound_entry_with_another_content_is_compiled_again(folder: Path) -> None:
    """The right checksum, but nothing that numba can use: from another version of it, say."""
    native.store(entry_of(folder).name, pickle.dumps(("not", "a", "function")))
    assert use() == COMPILED
    assert use() == FOUND


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="file owners are a POSIX matter")
def test_entries_of_others_are_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.chmod(0o777)
    assert use() == FOUND
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    monkeypatch.setattr(os, "getuid", lambda: folder.stat().st_uid + 1)
    assert use() == COMPILED


def test_a_full_disk_means_compiling_again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    entry_of(folder).unlink()
    monkeypatch.setattr(os, "replace", full)
    assert use() == COMPILED
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("error", [MemoryError, OSError, pickle.PicklingError, TypeError])
def test_what_cannot_be_pickled_is_compiled_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    def refuse(_: Any) -> bytes:
        raise error("cannot be pickled")

    entry_of(folder).unlink()
    monkeypatch.setattr(loops, "dumps", refuse)
    assert use() == use() == COMPILED
    assert list(folder.iterdir()) == []


def test_a_folder_in_the_place_of_an_entry_means_compiling_again(folder: Path) -> None:
    entry = entry_of(folder)
    entry.unlink()
    entry.mkdir()
    assert use() == use() == COMPILED


def test_a_folder_that_cannot_be_used_means_compiling_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("not a folder")
    monkeypatch.setenv("SKIDPAD_CACHE", str(file))
    assert use() == use() == COMPILED


def test_importing_compiles_nothing(tmp_path: Path) -> None:
    look = """
        import numba.core.dispatcher as d, importlib, pkgutil
        compiled = []
        d.Dispatcher.compile = lambda self, sig: compiled.append(self)
        import skidpad.geometry.collision, skidpad.geometry.raycast, skidpad.random
        for package in (
            skidpad.geometry, skidpad.geometry.collision, skidpad.geometry.raycast, skidpad.random
        ):
            for module in pkgutil.iter_modules(package.__path__):
                importlib.import_module(f"{package.__name__}.{module.name}")
        assert not compiled, compiled
        print("fine")
    """
    assert run(look, SKIDPAD_CACHE=str(tmp_path)) == "fine"
    assert list(tmp_path.iterdir()) == []


def test_a_loop_takes_arguments_of_several_types() -> None:
    @loop
    def total(values: Any) -> Any:
        result = values[0]
        for k in range(1, len(values)):
            result += values[k]
        return result

    assert total(np.arange(4.0)) == 6.0
    assert total(np.arange(4)) == 6
    assert len(total.signatures) == 2


def test_what_numba_refuses_is_raised() -> None:
    @loop
    def wrong(x: Any) -> Any:
        return x + "text"

    with pytest.raises(Exception, match="No implementation of function"):
        wrong(1.0)
