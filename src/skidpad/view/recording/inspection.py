"""What is inside a recording, and mending one that was cut off or damaged."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.files import brief_repr, counted, path_of, replacing
from ...errors import InvalidValue
from ..stage import Stage
from .mcap import Contents, Damaged, McapFile, MessageIndexes, intact, open_mcap, with_checksum
from .reading import about, notes_of, stage_of
from .topics import BODY, LOST, NOTES


class Topic(NamedTuple):
    """A topic and its messages."""

    name: str
    schema: str
    role: str
    """"state", "pose", "poses", "transforms", "scan", "scene", "grid", "true imu", "contacts", or
    the kind of a sensor: "imu", "gnss", "odometry", "bumper"."""
    messages: int
    rate: float
    """Messages per second of recorded time, in Hz."""


@dataclass(frozen=True)
class Info:
    """Contents of a recording, as `skidpad info` shows them."""

    path: Path
    size: int
    """Bytes."""
    complete: bool
    """False of a file that was not closed, of one with damaged chunks, and of one whose recording
    failed."""
    lost: int
    """Bytes at its end that belong to nothing."""
    program: str
    format: int
    stage: Stage = field(repr=False)
    notes: Mapping[str, Any]
    start: float
    """Earliest time of a message in s."""
    end: float
    samples: int
    """Rows of numbers."""
    chunks: int
    damaged: int
    """Chunks that are not what was written; their messages are not counted."""
    unpacked: int
    """Bytes of the messages before compression."""
    compression: str
    topics: tuple[Topic, ...] = field(repr=False)

    __repr__ = brief_repr

    @property
    def duration(self) -> float:
        """From the first message to the last, in s."""
        return self.end - self.start

    @property
    def messages(self) -> int:
        """Number of messages on all topics."""
        return sum(topic.messages for topic in self.topics)


def info(path: str | os.PathLike[str]) -> Info:
    """What is inside a recording; raises if the file is not a recording."""
    file = path_of(path)
    with open_mcap(file) as contents:
        values, stage, notes = about(contents), stage_of(contents), notes_of(contents)
        (counts, damaged), chunks = _counts(contents), contents.chunks
        start = min((chunk.start_time for chunk in chunks), default=0) / 1e9
        end = max((chunk.end_time for chunk in chunks), default=0) / 1e9
        topics = [
            Topic(
                channel.topic,
                contents.schemas[channel.schema_id].name,
                channel.metadata.get("role", ""),
                counts[channel.id],
                _rate(counts[channel.id], end - start),
            )
            for channel in contents.channels.values()
        ]
        states = [c.id for c in contents.by_role("state") if BODY in c.metadata]
        return Info(
            path=file,
            size=len(contents.data),
            complete=contents.complete and not damaged and LOST not in notes,
            lost=len(contents.data) - contents.end,
            program=values.get("program", ""),
            format=int(values["format"]),
            stage=stage,
            notes=notes,
            start=start,
            end=end,
            samples=max((counts[k] for k in states), default=0),
            chunks=len(chunks),
            damaged=damaged,
            unpacked=sum(chunk.size for chunk in chunks),
            compression=", ".join(dict.fromkeys(c.compression or "none" for c in chunks)),
            topics=tuple(topics),
        )


def _counts(contents: Contents) -> tuple[Counter[int], int]:
    """Messages by channel, from the summary or by looking at each of them; and damaged chunks."""
    if contents.complete and contents.statistics is not None and _all_whole(contents):
        return Counter(contents.statistics.channel_message_counts), 0
    counts: Counter[int] = Counter()
    damaged = 0
    for chunk in contents.chunks:
        try:
            places = contents.places(contents.messages(chunk))
        except Damaged:
            damaged += 1
            continue
        counts.update({channel: len(those.times) for channel, those in places.items()})
    return counts, damaged


def _all_whole(contents: Contents) -> bool:
    """Whether all chunks have their check sums; one after the other, messages are not looked at."""
    try:
        for chunk in contents.chunks:
            contents.messages(chunk)
    except Damaged:
        return False
    return True


def _rate(count: int, duration: float) -> float:
    return (count - 1) / duration if count > 1 and duration > 0.0 else 0.0


class Recovered(NamedTuple):
    """Result of mending a file."""

    path: Path
    """Path of the mended file."""
    chunks: int
    """Number of chunks that were whole and are in it."""
    damaged: int
    """Chunks that are not."""
    lost: int
    """Bytes at the end that belonged to nothing."""
    was_complete: bool


class NothingWhole(InvalidValue):
    """A file of which nothing can be saved."""


def recover(path: str | os.PathLike[str], out: str | os.PathLike[str] | None = None) -> Recovered:
    """Write a complete recording with everything that is whole in another.

    `out` is `NAME.recovered.mcap` next to the file by default; the file itself is only read.
    Where no chunk of a file is whole it raises and writes nothing.
    """
    source = path_of(path)
    target = source.with_suffix(".recovered.mcap") if out is None else path_of(out, "out")
    with open_mcap(source) as contents:
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
