"""What is inside a recording, without reading its messages."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ..stage import Stage
from .plan import BODY
from .reading import notes_of, stage_of
from .recorder import RECORDING
from .walk import ChunkAt, Contents, Damaged, opened, scanned, unpacked


class Topic(NamedTuple):
    """A topic and its messages."""

    name: str
    schema: str
    role: str
    """"state", "pose", "poses", "transforms", "scan", "scene", "grid", "imu" or "true imu"."""
    messages: int
    rate: float
    """Messages per second of recorded time, in Hz."""


@dataclass(frozen=True)
class Info:
    """What `skidpad info` shows."""

    path: Path
    size: int
    """Bytes."""
    complete: bool
    """False of a file that was not closed."""
    lost: int
    """Bytes at its end that belong to nothing."""
    program: str
    format: int
    stage: Stage
    notes: Mapping[str, Any]
    start: float
    """Earliest time of a message in s."""
    end: float
    samples: int
    """Rows of numbers."""
    chunks: int
    unpacked: int
    """Bytes of the messages before compression."""
    compression: str
    topics: tuple[Topic, ...]

    @property
    def duration(self) -> float:
        """From the first message to the last, in s."""
        return self.end - self.start

    @property
    def messages(self) -> int:
        """Of all topics."""
        return sum(topic.messages for topic in self.topics)


def info(path: str | os.PathLike[str]) -> Info:
    """What is inside a recording; raises if it is none."""
    file = Path(path)
    with opened(file) as contents:
        stage = stage_of(file, contents)
        counts: Counter[int] = Counter()
        for chunk in contents.chunks:
            counts.update(_counted(contents, chunk))
        heads = [chunk.head for chunk in contents.chunks]
        start = min((head.start for head in heads), default=0) / 1e9
        end = max((head.end for head in heads), default=0) / 1e9
        topics = [
            Topic(
                channel.topic,
                contents.schemas[channel.schema].name,
                channel.metadata.get("role", ""),
                counts[channel.id],
                _rate(counts[channel.id], end - start),
            )
            for channel in contents.channels.values()
        ]
        about = next(values for name, values in contents.metadata if name == RECORDING)
        states = [c.id for c in contents.by_role("state") if BODY in c.metadata]
        return Info(
            path=file,
            size=len(contents.data),
            complete=contents.complete,
            lost=len(contents.data) - contents.end,
            program=about.get("program", ""),
            format=int(about["format"]),
            stage=stage,
            notes=notes_of(contents),
            start=start,
            end=end,
            samples=max((counts[k] for k in states), default=0),
            chunks=len(heads),
            unpacked=sum(head.size for head in heads),
            compression=", ".join(dict.fromkeys(head.compression or "none" for head in heads)),
            topics=tuple(topics),
        )


def _counted(contents: Contents, chunk: ChunkAt) -> dict[int, int]:
    """Messages of a chunk by channel, from its indexes, or from itself if there are none."""
    if chunk.indexes:
        return {channel: count for channel, (_, count) in chunk.indexes.items()}
    try:
        found = scanned(unpacked(contents, chunk))
    except Damaged:
        return {}
    return {channel: len(times) for channel, (times, _) in found.items()}


def _rate(count: int, duration: float) -> float:
    return (count - 1) / duration if count > 1 and duration > 0.0 else 0.0
