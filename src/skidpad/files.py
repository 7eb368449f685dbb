"""Files: texts that can be read, and files that are either whole or not there."""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from .errors import InvalidValue


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Generator[Path]:
    """A temporary path beside `path` to write to, renamed to `path` when the block succeeds.

    The rename is atomic on one file system, so a crash leaves the old file or the new one. When the
    block raises, the temporary file is removed and `path` is as it was.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot write {target}: folder {target.parent} does not exist")
    # Not tempfile: that makes private files, and the result should have ordinary permissions.
    # The name keeps the suffix, as some writers choose the format by it.
    temporary = target.with_name(f".{target.stem}-{secrets.token_hex(6)}{target.suffix}")
    try:
        yield temporary
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def text_of(file: Path) -> str:
    """The text of a file in UTF-8; raises for one that cannot be read or is not text."""
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidValue(f"{file} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InvalidValue(f"{file} is not a text file in UTF-8: {error}") from error
