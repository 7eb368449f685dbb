"""What is inside a bag of ROS 2: topics, types, counts and times, also of one that was cut off."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..brief import brief_repr
from ..errors import InvalidValue
from ..files import path_of, reading, yaml_of
from ..identify.bag import SUFFIXES, bag_files, files_of_folder, opened_database
from .bag_metadata import NAME, ROOT
from .checksums import Damaged
from .contents import Contents, opened

STORAGES = {".mcap": "mcap", ".db3": "sqlite3"}
"""What rosbag2 calls kinds of files."""


class BagTopic(NamedTuple):
    """A topic and its messages."""

    name: str
    type: str
    form: str
    """Of its messages: "cdr"."""
    messages: int
    profiles: str = ""
    """The offered quality of service, as the file has it: YAML."""
    type_hash: str = ""

    __repr__ = brief_repr


class BagFile(NamedTuple):
    """A file of a bag."""

    path: Path
    closed: bool
    """Whether it was closed properly: has an index."""
    start: int
    """Earliest time of a message in ns; 0 if there is none."""
    end: int
    topics: tuple[BagTopic, ...]

    __repr__ = brief_repr

    @property
    def messages(self) -> int:
        """Of all topics."""
        return sum(topic.messages for topic in self.topics)


@dataclass(frozen=True)
class BagInfo:
    """What `skidpad info` shows of a bag."""

    path: Path
    files: tuple[BagFile, ...] = field(repr=False)
    metadata: str = ""
    """What is wrong with metadata.yaml; empty if nothing is, or if it is a file alone."""

    __repr__ = brief_repr

    @property
    def storage(self) -> str:
        """As rosbag2 calls it: "mcap" or "sqlite3"."""
        return STORAGES[self.files[0].path.suffix.lower()]

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return sum(file.path.stat().st_size for file in self.files)

    @property
    def closed(self) -> bool:
        """Whether all of its files were closed properly."""
        return all(file.closed for file in self.files)

    @property
    def start(self) -> int:
        """Earliest time of a message in ns; 0 if there is none."""
        return min((file.start for file in self.files if file.messages), default=0)

    @property
    def end(self) -> int:
        """Latest time of a message in ns."""
        return max((file.end for file in self.files if file.messages), default=0)

    @property
    def duration(self) -> float:
        """From the first message to the last, in s."""
        return (self.end - self.start) / 1e9

    @property
    def messages(self) -> int:
        """Of all topics."""
        return sum(file.messages for file in self.files)

    @property
    def topics(self) -> tuple[BagTopic, ...]:
        """Of all files together, by name."""
        return joined_topics([topic for file in self.files for topic in file.topics])


def bag_info(path: str | os.PathLike[str]) -> BagInfo:
    """What is inside a bag: a folder, or one .mcap or .db3 of it; raises if it is none."""
    bag = path_of(path)
    if not bag.is_dir():
        return BagInfo(bag, (bag_file(bag),))
    try:
        paths = bag_files(bag)
    except InvalidValue:
        paths = files_of_folder(bag)
    files = tuple(map(bag_file, paths))
    return BagInfo(bag, files, metadata_fault(bag, files))


def metadata_fault(folder: Path, files: Sequence[BagFile]) -> str:
    """Why metadata.yaml is not what it should be for these files; empty if it is."""
    if not (folder / NAME).exists():
        return "missing"
    try:
        about: Any = yaml_of(folder / NAME)[ROOT]
        told = {
            (one["topic_metadata"]["name"], one["topic_metadata"]["type"]): one["message_count"]
            for one in about["topics_with_message_count"]
        }
        names = [Path(name).name for name in about["relative_file_paths"]]
    except (InvalidValue, KeyError, TypeError, IndexError):
        return "not readable"
    counts: Counter[tuple[str, str]] = Counter()
    for file in files:
        counts.update({(topic.name, topic.type): topic.messages for topic in file.topics})
    there = [file.path.name for file in files]
    return "" if (told, names) == (dict(counts), there) else "not that of its files"


def bag_file(path: Path) -> BagFile:
    """What is inside a file of a bag."""
    if path.suffix.lower() not in SUFFIXES:
        raise InvalidValue(f"{path}: files of bags must be {' or '.join(SUFFIXES)}")
    if path.suffix.lower() == ".db3":
        return _of_database(path)
    with opened(path) as contents:
        closed = contents.complete and contents.statistics is not None
        if closed and contents.statistics is not None:
            about = contents.statistics
            counts = Counter(about.channel_message_counts)
            span = about.message_start_time, about.message_end_time
        else:
            counts, span = _counted(contents)
        return BagFile(path, closed, *span, topics_of(contents, counts))


def topics_of(contents: Contents, counts: Counter[int]) -> tuple[BagTopic, ...]:
    """The topics of an MCAP file, with the messages of each channel."""
    topics: list[BagTopic] = []
    for channel in contents.channels.values():
        schema = contents.schemas.get(channel.schema_id)
        topics.append(
            BagTopic(
                channel.topic,
                schema.name if schema is not None else "",
                channel.message_encoding,
                counts[channel.id],
                channel.metadata.get("offered_qos_profiles", ""),
                channel.metadata.get("topic_type_hash", ""),
            )
        )
    return joined_topics(topics)


def joined_topics(topics: Sequence[BagTopic]) -> tuple[BagTopic, ...]:
    """Each topic once, with the messages of all that are the same."""
    joined: dict[tuple[str, str], BagTopic] = {}
    for topic in topics:
        key = (topic.name, topic.type)
        first = joined.setdefault(key, topic._replace(messages=0))
        joined[key] = first._replace(messages=first.messages + topic.messages)
    return tuple(joined[key] for key in sorted(joined))


def loose_messages(contents: Contents, most: int) -> list[bytes]:
    """Messages that lie outside of chunks, in blocks of about so many bytes."""
    blocks: list[bytearray] = []
    for begin, end in contents.loose:
        if not blocks or len(blocks[-1]) > most:
            blocks.append(bytearray())
        blocks[-1] += contents.data[begin:end]
    return [bytes(block) for block in blocks]


def _counted(contents: Contents) -> tuple[Counter[int], tuple[int, int]]:
    """Messages by channel, and first and last time, by looking at each of them."""
    counts: Counter[int] = Counter()
    times: list[int] = []
    blocks = [np.frombuffer(block, np.uint8) for block in loose_messages(contents, 1 << 24)]
    for block in (*contents.chunks, *blocks):
        try:
            data = block if isinstance(block, np.ndarray) else contents.messages(block)
            places = contents.places(data)
        except (Damaged, IndexError):
            continue
        for channel, those in places.items():
            counts[channel] += len(those.times)
            times += [int(those.times.min()), int(those.times.max())]
    return counts, (min(times, default=0), max(times, default=0))


def _of_database(path: Path) -> BagFile:
    with reading(path, "is not a readable bag"), closing(opened_database(path)) as data:
        columns = {row[1] for row in data.execute("PRAGMA table_info(topics)")}
        more = [
            name if name in columns else "''"
            for name in ("offered_qos_profiles", "type_description_hash")
        ]
        counts: dict[Any, tuple[int, int, int]] = {
            number: (count, start, end)
            for number, count, start, end in data.execute(
                "SELECT topic_id, COUNT(*), MIN(timestamp), MAX(timestamp) FROM messages "
                "GROUP BY topic_id"
            )
        }
        query = f"SELECT id, name, type, serialization_format, {', '.join(more)} FROM topics"
        topics = tuple(
            BagTopic(str(name), str(kind), str(form), counts.get(number, (0,))[0], str(q), str(h))
            for number, name, kind, form, q, h in data.execute(query)
        )
        start = min((int(start) for _, start, _ in counts.values()), default=0)
        end = max((int(end) for _, _, end in counts.values()), default=0)
        return BagFile(path, True, start, end, joined_topics(topics))
