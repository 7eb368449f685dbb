"""Models at remote addresses: looked up in a folder of the user's, downloaded only if allowed.

The folder is laid out as upstream's own cache, so that one may serve both: a file lies there under
the last part of its address, and an archive `NAME.zip` beside it, unpacked in `NAME.out`.
"""

from __future__ import annotations

import os
import urllib.error
import urllib.request
import zipfile
from pathlib import Path, PurePosixPath

from ...files import replacing

LARGEST = 500_000_000
"""Size in bytes of the largest file that is downloaded or unpacked."""
_TIMEOUT = 30.0


def cache_folder() -> Path:
    """Where models are looked up if no folder is given: upstream's own cache."""
    if os.name == "nt":
        return Path(os.environ.get("APPDATA", "~")).expanduser() / "mvsim-storage"
    return Path("~/.cache/mvsim-storage").expanduser()


def is_remote(uri: str) -> bool:
    """Whether a path is an address."""
    return uri.startswith(("http://", "https://"))


def local_file(uri: str, folder: Path, *, allow_download: bool) -> Path | None:
    """The file that holds a remote model; None: it is not there and may not be downloaded.

    Raises OSError if a download that is allowed fails.
    """
    address, inside = _split(uri)
    file = folder / PurePosixPath(address).name
    if not file.is_file():
        unpacked = file.with_suffix(".out") / inside
        if inside and unpacked.is_file():
            return unpacked
        if not allow_download:
            return None
        _download(address, file)
    return _unpacked(file, inside) if inside else file


def zipped_file(path: Path) -> Path:
    """The file behind a path through a local archive, as in `models.zip/robot.dae`."""
    for parent in path.parents:
        if parent.suffix == ".zip" and parent.is_file():
            return _unpacked(parent, path.relative_to(parent).as_posix())
    return path


def _split(uri: str) -> tuple[str, str]:
    """Address of a file or archive, and the path inside the archive."""
    at = uri.find(".zip/")
    return (uri, "") if at < 0 else (uri[: at + 4], uri[at + 5 :])


def _download(address: str, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        with urllib.request.urlopen(address, timeout=_TIMEOUT) as answer, replacing(file) as part:
            left = LARGEST
            with part.open("wb") as target:
                while block := answer.read(1 << 20):
                    left -= len(block)
                    if left < 0:
                        raise OSError(f"{address} is larger than {LARGEST} bytes")
                    target.write(block)
    except urllib.error.URLError as error:
        raise OSError(f"{address} cannot be downloaded: {error.reason}") from error


def _unpacked(archive: Path, inside: str) -> Path:
    folder = archive.with_suffix(".out")
    target = folder / inside
    if not target.is_file():
        try:
            with zipfile.ZipFile(archive) as content:
                if sum(entry.file_size for entry in content.infolist()) > LARGEST:
                    raise OSError(f"{archive} unpacks to more than {LARGEST} bytes")
                # `extractall` drops what would lead out of the folder.
                content.extractall(folder)
        except OSError:
            raise
        # Damaged, with a password, or packed as nobody does: each has an exception of its own.
        except Exception as error:
            raise OSError(f"{archive} is not an archive that can be read: {error}") from error
    return target
