"""Mending recordings that were cut off or damaged."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import InvalidValue
from ..files import replacing
from .file import RecordingFailed, RecordingFile
from .reading import stage_of
from .recorder import NOTES
from .records import Indexed
from .walk import ChunkAt, Contents, Damaged, opened, scanned, stored, unpacked


class Recovered(NamedTuple):
    """What became of a file."""

    path: Path
    """Of the mended file."""
    chunks: int
    """That were whole and are in it."""
    damaged: int
    """Chunks that are not."""
    lost: int
    """Bytes at the end that belonged to nothing."""
    was_complete: bool


def recover(path: str | os.PathLike[str], out: str | os.PathLike[str] | None = None) -> Recovered:
    """Write a complete recording with everything that is whole in another.

    `out` is `NAME.recovered.mcap` beside the file if it is not given; the file itself is only read.
    """
    source = Path(path)
    target = source.with_suffix(".recovered.mcap") if out is None else Path(out)
    with opened(source) as contents:
        stage_of(source, contents)
        if target.exists() and target.samefile(source):
            raise InvalidValue(f"{target} is the damaged file itself; give another name")
        try:
            with replacing(target) as temporary:
                kept = _written(contents, temporary)
        except OSError as error:
            raise RecordingFailed(f"cannot write {target}: {error.strerror or error}") from error
        return Recovered(
            target,
            kept,
            len(contents.chunks) - kept,
            len(contents.data) - contents.end,
            contents.complete and kept == len(contents.chunks),
        )


def _written(contents: Contents, path: Path) -> int:
    """Write what is whole; returns how many chunks that are."""
    channels = list(contents.channels.values())
    schemas = list(contents.schemas.values())
    file = RecordingFile(path, schemas, channels, {}, library=contents.library)
    try:
        for name, values in contents.metadata:
            file.add_metadata(name, values)
        kept = 0
        for chunk in contents.chunks:
            try:
                parts = _indexed(contents, chunk)
            except Damaged:
                continue
            file.add_stored(chunk.head, stored(contents, chunk), parts)
            kept += 1
        lost = len(contents.chunks) - kept
        note = f'{{"recovered": {{"damaged_chunks": {lost}}}}}'
        file.add_metadata(NOTES, {"notes": note})
        file.finish()
    finally:
        file.close()
    return kept


def _indexed(contents: Contents, chunk: ChunkAt) -> list[Indexed]:
    """Where the messages of a chunk are, by looking at each of them."""
    found = scanned(unpacked(contents, chunk))
    if not found.keys() <= contents.channels.keys():
        raise Damaged("a message belongs to no channel")
    nothing = np.zeros(1, np.uint64)
    return [
        Indexed(np.array([channel], np.uint16), nothing, times, begins)
        for channel, (times, begins) in found.items()
    ]
