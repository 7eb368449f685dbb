"""Compiled code on disk, keyed by what it is: a hash of the program, the kernel, the target,
versions.

Processes may share the folder: an entry is written under a temporary name and renamed, so a reader
sees all of it or nothing. An entry carries its checksum; a damaged one is removed and built again.
Since the content is executed, the folder must belong to the user and nobody else may write to it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from .. import __version__
from ..progress import working
from ..workers import alone

_HEADER = b"skidpad-object-1\n"


def folder() -> Path:
    """Where compiled code is kept: SKIDPAD_CACHE if set, else the user's cache folder."""
    chosen = os.environ.get("SKIDPAD_CACHE")
    if chosen:
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "skidpad"
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "skidpad" / "cache"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "skidpad"


def key(*parts: str) -> str:
    """The name of an entry: a hash of everything that decides its content."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


@cache
def compiler_digest() -> str:
    """A hash of the compiler's own source, so that code from another version of it is never
    used."""
    digest = hashlib.sha256(__version__.encode())
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def get_or_build(
    name: str,
    build: Callable[..., bytes],
    prepare: Callable[[], tuple[Any, ...]] = tuple,
    label: str = "compiling",
) -> bytes:
    """The entry `name`, built and stored if it is missing or damaged.

    `prepare` gives the arguments of `build`, which may stay for long inside of a library: it runs
    in a thread of its own. Interrupted, it goes on, and the next call finds the entry.

    In a terminal `label` says what takes so long.

    A folder that cannot be used (read-only, not private) means building every time, never an error.
    """
    entry = f"{name}.o"
    body = load(entry)
    if body is not None:
        return body
    with working(label) as sign:
        arguments = prepare()
        sign.show()

        def stored() -> bytes:
            built = build(*arguments)
            store(entry, built)
            return built

        return alone(stored, sign.show)


def load(entry: str) -> bytes | None:
    """The content of an entry; None if it is missing, damaged or somebody else's."""
    place = private_folder()
    return None if place is None else _read(place / entry)


def store(entry: str, body: bytes) -> None:
    """Keep an entry, if the folder can be used and the disk is not full."""
    place = private_folder()
    if place is not None:
        _write(place / entry, body)


def private_folder() -> Path | None:
    """The cache folder, if nobody else may write to it: what lies there is executed."""
    try:
        place = folder()
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if hasattr(os, "getuid"):
            status = place.stat()
            if status.st_uid != os.getuid():
                return None
            if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                place.chmod(0o700)
    except (OSError, RuntimeError):  # the latter: this user has no home folder
        return None
    return place


def _read(path: Path) -> bytes | None:
    try:
        with path.open("rb") as file:
            # Others may have left files here while the folder was still open to them.
            own = not hasattr(os, "getuid") or os.fstat(file.fileno()).st_uid == os.getuid()
            data = file.read() if own else b""
    except OSError:
        return None
    start = len(_HEADER) + 32
    body = data[start:]
    if data[: len(_HEADER)] == _HEADER and data[len(_HEADER) : start] == _digest(path, body):
        return body
    with contextlib.suppress(OSError):
        path.unlink()
    return None


def _write(path: Path, body: bytes) -> None:
    with contextlib.suppress(OSError):
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_HEADER + _digest(path, body) + body)
            os.replace(temporary, path)
        except OSError:
            os.unlink(temporary)


def _digest(path: Path, body: bytes) -> bytes:
    """Checksum of an entry; its name counts, so that a renamed entry is not taken for another."""
    return hashlib.sha256(path.name.encode() + b"\0" + body).digest()
