"""One writer per folder.

A local folder is locked by the kernel, which lets go when the process ends, however it ends. A
remote place has a file that says who writes; one whose process is known to be dead is taken over,
any other must be broken by someone who knows. Readers need no lock.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import socket
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Protocol
from weakref import WeakSet

from ..errors import InvalidValue, SkidpadError
from .places import NotWritten, Place

LOCK = "lock"
_UNKNOWN_HERE = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}
"""What file systems say that cannot lock."""
_FAR = 1 << 40
"""The byte that Windows locks: what is locked cannot be read, and the owner is to be read."""


class CampaignInUse(SkidpadError, RuntimeError):
    """Another process, or another campaign of this one, writes to the folder; nothing changed."""


class Lock(Protocol):
    """The right to write to a folder."""

    @property
    def held(self) -> bool:
        """Whether it is still ours: not after a fork, nor when somebody broke it."""
        ...

    def release(self) -> None:
        """Let others write. May be called twice."""
        ...


def locked(place: Place, *, break_lock: bool = False) -> Lock:
    """The lock of a place; raises `CampaignInUse`, which says who has it.

    `break_lock` takes the lock of a remote place from whoever has it: for owners that died on
    another machine. That of a local folder is free as soon as its owner is gone.
    """
    if isinstance(place.path, Path):
        try:
            return _KernelLock(place.path)
        except OSError as error:
            if error.errno not in _UNKNOWN_HERE:
                raise NotWritten(
                    f"cannot write {place.shown(LOCK)}: {error.strerror or error}"
                ) from error
    return _OwnerFile(place, break_lock)


def writer_of(folder: Path) -> str:
    """Who writes to a local folder, in words; empty if nobody does. The lock is left alone."""
    try:
        owner = _owner((folder / LOCK).read_bytes())
    except OSError:
        return ""
    return _in_words(owner) if owner and not _is_dead(owner) else ""


class _KernelLock:
    """An advisory lock on an open file, with the owner's name in it."""

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO | None = None
        file = (path / LOCK).open("a+b")
        try:
            if not _try_lock(file):
                file.seek(0)
                raise _in_use(str(path), _owner(file.read()))
            file.truncate(0)
            file.write(_own_name())
            file.flush()
        except BaseException:
            file.close()
            raise
        self._file = file
        _held_here.add(self)

    @property
    def held(self) -> bool:
        return self._file is not None

    def release(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            with contextlib.suppress(OSError):
                file.truncate(0)
                _unlock(file)  # a child that was forked just now may have it open still
            file.close()

    def leave_to_parent(self) -> None:
        """In a forked child: the parent's lock must end with the parent, not with its children."""
        if self._file is not None:
            file, self._file = self._file, None
            file.close()


_held_here: WeakSet[_KernelLock] = WeakSet()


def _after_fork() -> None:
    for lock in list(_held_here):
        lock.leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _try_lock(file: BinaryIO) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(_FAR)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            # Not lockf: its locks are lost when any other handle of the file is closed.
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
            return False
        raise
    return True


def _unlock(file: BinaryIO) -> None:
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(file.fileno(), fcntl.LOCK_UN)


class _OwnerFile:
    """A file that says who writes, for places without locks."""

    def __init__(self, place: Place, break_lock: bool) -> None:
        self._place, self._token, self._pid = place, secrets.token_hex(8), os.getpid()
        before = place.read(LOCK) if place.exists(LOCK) else b""
        if before and not break_lock and not _is_dead(_owner(before)):
            raise _in_use(str(place.path), _owner(before), breakable=True)
        place.write(LOCK, _own_name(self._token))
        if not self.held:  # two came at once: the last one has it
            raise _in_use(str(place.path), _owner(place.read(LOCK)), breakable=True)

    @property
    def held(self) -> bool:
        try:
            ours = _owner(self._place.read(LOCK)).get("token") == self._token
            return ours and self._pid == os.getpid()
        except InvalidValue:
            return False

    def release(self) -> None:
        if self.held:
            self._place.remove(LOCK)


def _own_name(token: str = "") -> bytes:
    owner = {
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "since": datetime.now(UTC).isoformat(timespec="seconds"),
        "token": token,
    }
    return json.dumps(owner).encode()


def _owner(data: bytes) -> dict[str, Any]:
    try:
        owner = json.loads(data)
    except ValueError:
        return {}
    return owner if isinstance(owner, dict) else {}


def _is_dead(owner: dict[str, Any]) -> bool:
    """Whether the owner was a process of this machine that is there no more."""
    pid = owner.get("pid")
    if owner.get("host") != socket.gethostname() or not isinstance(pid, int) or os.name == "nt":
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def _in_use(shown: str, owner: dict[str, Any], breakable: bool = False) -> CampaignInUse:
    who = _in_words(owner) if owner else "another process"
    advice = "wait for it, or end it"
    if breakable:
        advice += "; if it is dead, take its place with break_lock=True"
    return CampaignInUse(f"{shown} is being written by {who}: {advice}")


def _in_words(owner: dict[str, Any]) -> str:
    return f"process {owner.get('pid')} on {owner.get('host')} since {owner.get('since')}"
