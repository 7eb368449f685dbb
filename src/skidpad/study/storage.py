"""Storage of the files of a campaign: a local folder or a remote storage of fsspec, with its lock.

Files are written atomically: in a local folder to a temporary name that is then renamed, in an
object store in one operation. File names are relative, with `/` between their parts.

There is one writer per folder. A local folder is locked by the kernel, which releases the lock when
the process ends, however it ends. A remote storage has a file that names the writer; if its process
is known to be dead, the lock is taken over, otherwise it must be broken explicitly. Readers need no
lock.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import secrets
import shutil
import socket
import sys
import tempfile
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from errno import EDQUOT, ENOSPC
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias
from urllib.parse import unquote, urlsplit
from weakref import WeakSet

from ..core.files import bytes_of, path_of, reading
from ..errors import InvalidValue, MissingFile, SkidpadError, require

_LOCAL_PROTOCOLS = ("file", "local")
_UNFINISHED = ".tmp"
"""Suffix of files that are being written, which readers of `*.parquet` ignore."""


class NotWritten(InvalidValue):
    """A file could not be written, as on a full disk or without permission; nothing was changed."""


class LocalStorage:
    """Storage in a local or mounted folder."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()

    def shown(self, name: str) -> str:
        """Path of a file, for messages."""
        return str(self.path / name)

    def entries(self) -> list[str]:
        """Names of the files and folders in the root of the storage; empty if it does not exist."""
        with reading(self.path, "cannot be read"):
            if not self.path.exists():
                return []
            if not self.path.is_dir():
                raise InvalidValue(f"{self.path} is a file; a campaign needs a folder")
            return sorted(os.listdir(self.path))

    def exists(self, name: str) -> bool:
        with reading(self.path / name, "cannot be read"):
            return (self.path / name).exists()

    def sizes(self, folder: str) -> dict[str, int]:
        """Sizes in bytes of the files in a folder by name, without those that are being written."""
        sizes: dict[str, int] = {}
        with (
            reading(self.path / folder, "cannot be read"),
            suppress(FileNotFoundError),
            os.scandir(self.path / folder) as entries,
        ):
            for entry in entries:
                # Files may disappear meanwhile.
                with suppress(FileNotFoundError):
                    if entry.is_file() and not entry.name.endswith(_UNFINISHED):
                        sizes[entry.name] = entry.stat().st_size
        return sizes

    def read(self, name: str) -> bytes:
        """Contents of a file; raises `MissingFile` if it does not exist."""
        return bytes_of(self.path / name)

    def open(self, name: str) -> BinaryIO:
        return (self.path / name).open("rb")

    def write(self, name: str, data: bytes) -> None:
        """Write or replace a file atomically."""
        with self.writing(name) as file:
            file.write(data)

    @contextmanager
    def writing(self, name: str) -> Generator[BinaryIO]:
        """Context manager for a new binary file: renamed to its final name at the end of the block,
        once it is on the disk, or deleted if the block raises."""
        target = self.path / name
        temporary = target.with_name(f".{target.name}-{secrets.token_hex(6)}{_UNFINISHED}")
        try:
            with temporary.open("x+b") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
            _sync_folder(target.parent)
        except BaseException as error:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            if isinstance(error, OSError) and not isinstance(error, SkidpadError):
                raise _not_written(str(target), error) from error
            raise

    def remove(self, name: str) -> None:
        """Delete a file; on Windows, a file that another program has open remains."""
        with suppress(FileNotFoundError, PermissionError):
            (self.path / name).unlink()

    def move(self, name: str, target: str) -> None:
        """Rename a file, replacing any file of that name and creating missing folders."""
        try:
            (self.path / target).parent.mkdir(exist_ok=True)
            os.replace(self.path / name, self.path / target)
            _sync_folder((self.path / target).parent)
        except OSError as error:
            raise _not_written(self.shown(target), error) from error

    def prepare(self, folders: Iterable[str]) -> None:
        """Create the root folder and the folders in it."""
        for folder in ("", *folders):
            try:
                (self.path / folder).mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise _not_written(str(self.path / folder), error) from error
        _sync_folder(self.path)

    def sweep(self, folders: Iterable[str]) -> None:
        """Delete temporary files that a killed process left behind."""
        for folder in folders:
            for path in (self.path / folder).glob(f".*{_UNFINISHED}"):
                with suppress(OSError):
                    path.unlink()


class RemoteStorage:
    """A remote storage of fsspec: `s3://bucket/campaign`, `memory://campaign`."""

    def __init__(self, url: str) -> None:
        self.path = url.rstrip("/")
        core = require("fsspec", purpose=f"A campaign at {url}").core
        try:
            self._system, self._root = core.url_to_fs(self.path)
        except (ValueError, ImportError) as error:
            raise InvalidValue(f"folder = {url!r} cannot be used: {error}") from error

    def shown(self, name: str) -> str:
        """URL of a file, for messages."""
        return f"{self.path}/{name}" if name else self.path

    def entries(self) -> list[str]:
        return sorted(entry["name"].rstrip("/").rpartition("/")[2] for entry in self._listed(""))

    def exists(self, name: str) -> bool:
        with reading(self.shown(name), "cannot be read"):
            self._system.invalidate_cache()
            return bool(self._system.exists(self._full(name)))

    def sizes(self, folder: str) -> dict[str, int]:
        """Sizes in bytes of the files in a folder by name."""
        return {
            entry["name"].rpartition("/")[2]: int(entry["size"])
            for entry in self._listed(folder)
            if entry["type"] == "file"
        }

    def _listed(self, folder: str) -> list[dict[str, Any]]:
        with reading(self.shown(folder), "cannot be read"):
            self._system.invalidate_cache()
            try:
                return self._system.ls(self._full(folder), detail=True)
            except FileNotFoundError:
                return []

    def read(self, name: str) -> bytes:
        with reading(self.shown(name), "cannot be read"):
            return self._system.cat_file(self._full(name))

    def open(self, name: str) -> BinaryIO:
        return self._system.open(self._full(name), "rb")

    def write(self, name: str, data: bytes) -> None:
        """Write a file in one operation."""
        with _putting(self.shown(name)):
            self._system.pipe_file(self._full(name), data)

    @contextmanager
    def writing(self, name: str) -> Generator[BinaryIO]:
        """Context manager for a local file, uploaded in one operation when it is complete."""
        with tempfile.TemporaryDirectory(prefix="skidpad-") as folder:
            local = Path(folder) / "file"
            with _putting(self.shown(name)), local.open("x+b") as file:
                yield file
            with _putting(self.shown(name)):
                self._system.put_file(str(local), self._full(name))

    def remove(self, name: str) -> None:
        with _putting(self.shown(name)), suppress(FileNotFoundError):
            self._system.rm_file(self._full(name))

    def move(self, name: str, target: str) -> None:
        """Copy a file and delete the original, as object stores cannot rename."""
        self.prepare(target.split("/")[:-1])
        with self.writing(target) as copy, self.open(name) as file:
            shutil.copyfileobj(file, copy)
        self.remove(name)

    def prepare(self, folders: Iterable[str]) -> None:
        """Create the folders, if the storage has folders."""
        for folder in ("", *folders):
            with _putting(self.shown(folder)):
                self._system.makedirs(self._full(folder), exist_ok=True)

    def sweep(self, folders: Iterable[str]) -> None:
        """Do nothing: files are written in one operation, so there are no temporary ones."""

    def _full(self, name: str) -> str:
        return f"{self._root.rstrip('/')}/{name}" if name else self._root


Storage: TypeAlias = LocalStorage | RemoteStorage
"""Either kind of storage, with the methods that `LocalStorage` documents."""


def storage_of(where: str | os.PathLike[str]) -> Storage:
    """Open the storage at a path or a URL; raises for any other value."""
    if not isinstance(where, str) or ("://" not in where and "::" not in where):
        return LocalStorage(path_of(where, "folder"))
    url = urlsplit(where)
    if url.scheme in _LOCAL_PROTOCOLS and "::" not in where:
        return LocalStorage(path_of(unquote(url.netloc + url.path), "folder"))
    return RemoteStorage(where)


@contextmanager
def _putting(shown: str) -> Generator[None]:
    """Context manager that converts any exception of a library to an error that names the file."""
    try:
        yield
    except (SkidpadError, Warning):
        raise
    except Exception as error:
        raise _not_written(shown, error) from error


def _not_written(shown: str, error: Exception) -> InvalidValue:
    reason = getattr(error, "strerror", None) or f"{error}" or type(error).__name__
    if isinstance(error, FileExistsError | NotADirectoryError):
        return InvalidValue(f"{shown} cannot be a folder: {reason}")
    if isinstance(error, FileNotFoundError):
        return MissingFile(f"cannot write {shown}: {reason}")
    if isinstance(error, OSError) and error.errno in (ENOSPC, EDQUOT):
        reason += "; make room and go on: what was written before is whole"
    return NotWritten(f"cannot write {shown}: {reason}")


def _sync_folder(path: Path) -> None:
    """Flush directory entries to the disk, so that a new file survives a power failure."""
    if os.name == "nt":
        return
    with suppress(OSError):  # some mounted file systems do not know it
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


LOCK = "lock"
_UNKNOWN_HERE = {errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL}
"""Error numbers of file systems without locks."""
_FAR = 1 << 40
"""Position of the byte that Windows locks, far behind the owner's name, which must stay
readable."""


class CampaignInUse(SkidpadError, RuntimeError):
    """Another process, or another campaign of this process, is writing to the folder."""


def locked(storage: Storage, *, break_lock: bool = False) -> Lock:
    """Lock a storage; raises `CampaignInUse`, which names the owner, if it is locked already.

    `break_lock` takes over the lock of a remote storage, for owners that died on another machine.
    The lock of a local folder is released when its owner ends.
    """
    if isinstance(storage.path, Path):
        try:
            return _KernelLock(storage.path)
        except OSError as error:
            if error.errno not in _UNKNOWN_HERE:
                raise NotWritten(
                    f"cannot write {storage.shown(LOCK)}: {error.strerror or error}"
                ) from error
    return _OwnerFile(storage, break_lock)


def writer_of(folder: Path) -> str:
    """Description of the process that writes to a local folder; empty if no process does."""
    try:
        owner = _owner((folder / LOCK).read_bytes())
    except OSError:
        return ""
    return _in_words(owner) if owner and not _is_dead(owner) else ""


class _KernelLock:
    """An advisory lock on an open file that contains the owner's name."""

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
                if sys.platform != "win32":
                    import fcntl

                    # A child that was just forked may still have the file open.
                    fcntl.flock(file.fileno(), fcntl.LOCK_UN)
            file.close()

    def leave_to_parent(self) -> None:
        """Close the file in a forked child, so that the lock ends with the parent."""
        if self._file is not None:
            file, self._file = self._file, None
            file.close()


_held_here: WeakSet[_KernelLock] = WeakSet()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        after_in_child=lambda: [lock.leave_to_parent() for lock in list(_held_here)]
    )


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


class _OwnerFile:
    """A lock file that names the writer, for storage without locks."""

    def __init__(self, storage: Storage, break_lock: bool) -> None:
        self._storage, self._token, self._pid = storage, secrets.token_hex(8), os.getpid()
        before = storage.read(LOCK) if storage.exists(LOCK) else b""
        if before and not break_lock and not _is_dead(_owner(before)):
            raise _in_use(str(storage.path), _owner(before), breakable=True)
        storage.write(LOCK, _own_name(self._token))
        if not self.held:  # of two concurrent writers the last one has it
            raise _in_use(str(storage.path), _owner(storage.read(LOCK)), breakable=True)

    @property
    def held(self) -> bool:
        try:
            ours = _owner(self._storage.read(LOCK)).get("token") == self._token
            return ours and self._pid == os.getpid()
        except InvalidValue:
            return False

    def release(self) -> None:
        if self.held:
            self._storage.remove(LOCK)


Lock: TypeAlias = _KernelLock | _OwnerFile
"""Lock for writing, with `held`, whether this process still has the lock, and `release`."""


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
    """Whether the owner was a process of this machine that has ended."""
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
