"""Mending recordings that were cut off or damaged."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..brief import counted
from ..errors import InvalidValue
from ..files import path_of, replacing
from .checksums import Damaged, intact, with_checksum
from .contents import Contents, opened
from .mcap_file import McapFile, MessageIndexes
from .reading import stage_of
from .topics import NOTES


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


class NothingWhole(InvalidValue):
    """A file of which nothing can be saved."""


def recover(path: str | os.PathLike[str], out: str | os.PathLike[str] | None = None) -> Recovered:
    """Write a complete recording with everything that is whole in another.

    `out` is `NAME.recovered.mcap` beside the file if it is not given; the file itself is only read.
    Where no chunk of a file is whole it raises and writes nothing.
    """
    source = path_of(path)
    target = source.with_suffix(".recovered.mcap") if out is None else path_of(out, "out")
    with opened(source) as contents:
        texts = contents.metadata
        contents.metadata = [(name, values) for name, values in texts if intact(name, values)]
        stage_of(contents)
        if target.exists() and target.samefile(source):
            raise InvalidValue(f"{target} is the damaged file itself; give another name")
        with replacing(target) as temporary:
            kept = _written(contents, temporary)
            if not kept and (contents.chunks or not contents.complete):
                raise NothingWhole(f"nothing of {source} can be saved: {_why(contents)}")
        return Recovered(
            target,
            kept,
            len(contents.chunks) - kept,
            len(contents.data) - contents.end,
            contents.complete and (kept, contents.metadata) == (len(contents.chunks), texts),
        )


def _why(contents: Contents) -> str:
    if not contents.chunks:
        return "it ends before its first chunk of messages"
    return f"{counted(len(contents.chunks), 'chunk')} of messages, none of them whole"


def _written(contents: Contents, path: Path) -> int:
    """Write what is whole; returns how many chunks that are."""
    schemas, channels = list(contents.schemas.values()), list(contents.channels.values())
    file = McapFile(path, schemas, channels, {}, library=contents.library)
    try:
        for name, values in contents.metadata:
            file.add_metadata(name, values)
        kept = 0
        for chunk in contents.chunks:
            try:
                indexes = message_indexes(contents, contents.messages(chunk))
            except Damaged:
                continue
            file.add_chunk(contents.chunk(chunk), indexes)
            kept += 1
        note = json.dumps({"recovered": {"damaged_chunks": len(contents.chunks) - kept}})
        file.add_metadata(NOTES, with_checksum(NOTES, {"notes": note}))
        file.finish()
    finally:
        file.close()
    return kept


def message_indexes(contents: Contents, data: NDArray[np.uint8]) -> list[MessageIndexes]:
    """Where the messages of a chunk are, by looking at each of them."""
    return [
        MessageIndexes(
            np.array([channel], np.uint16), those.times, those.begins[None].astype(np.uint64)
        )
        for channel, those in contents.places(data).items()
    ]
