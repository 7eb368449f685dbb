"""ROS 2 bags (rosbag2): messages in an MCAP file, with the metadata that `ros2 bag` reads.

metadata.yaml is in a form that rosbag2 of Humble, Iron, Jazzy and later reads. The critical key is
`offered_qos_profiles`: up to version 8 it is a string that holds YAML with the numbers of rmw's
enumerations; in version 9 (Jazzy) it is a sequence with names. Humble and Iron expect the string
whatever the version says; Jazzy follows the version. So bags are written as version 8, with
everything that Jazzy expects of it. Source: ros2/rosbag2, branches humble, iron and jazzy:
`rosbag2_storage/src/rosbag2_storage/metadata_io.cpp` and
`rosbag2_storage/include/rosbag2_storage/yaml.hpp`.
"""

from __future__ import annotations

import contextlib
import os
import struct
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
import yaml

from ...core.files import brief_repr, replacing
from ...errors import InvalidValue
from ...ros2.messages.types import MessageType, definition_text
from .mcap import McapFile, MessageIndexes, RecordingFailed, libraries
from .recorder import CHUNK_SIZE, Batch, Reading, ThreadedWriter, WriterThread

NAME = "metadata.yaml"
ROOT = "rosbag2_bagfile_information"
VERSION = 8
_POLICIES = {
    "history": ("system_default", "keep_last", "keep_all", "unknown"),
    "reliability": ("system_default", "reliable", "best_effort", "unknown", "best_available"),
    "durability": ("system_default", "transient_local", "volatile", "unknown", "best_available"),
    "liveliness": (
        "system_default",
        "automatic",
        "manual_by_node",
        "manual_by_topic",
        "unknown",
        "best_available",
    ),
}
"""Names of policies in the order of rmw's enumerations (rmw/types.h)."""


class FileSpan(NamedTuple):
    """File entry of metadata.yaml."""

    name: str
    start: int
    """Earliest message time in ns; 0 without messages, as is `end`."""
    end: int
    messages: int


class TopicAndCount(NamedTuple):
    """Topic entry of metadata.yaml: text from `topic_text`, and the message count."""

    text: str
    messages: int


class _Quoted(str):
    """Text written between double quotes on one line, as yaml-cpp writes it."""


class _Dumper(yaml.SafeDumper):
    pass


_Dumper.add_representer(
    _Quoted, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')
)


def qos_text(profiles: Sequence[Mapping[str, Any]]) -> str:
    """Quality-of-service profiles as YAML with the numbers of rmw; empty without profiles."""
    numbered: list[dict[str, Any]] = []
    for profile in profiles:
        policies = dict(profile)
        for name, words in _POLICIES.items():
            value = policies.get(name)
            if isinstance(value, str):
                policies[name] = words.index(value if value in words else "unknown")
        numbered.append(policies)
    return yaml_text(numbered) if numbered else ""


def qos_profiles(text: str) -> list[dict[str, Any]]:
    """Profiles in a text with numbers or names; empty if it is not a list of profiles."""
    try:
        listed = yaml.safe_load(text) or []
        return [dict(cast("Mapping[str, Any]", profile)) for profile in listed]
    except (yaml.YAMLError, TypeError, ValueError):
        return []


def topic_text(name: str, type_name: str, form: str, qos: str, type_hash: str) -> str:
    """Entry of a topic in metadata.yaml up to its message count, which is slow to format and so
    cached.

    `qos` is what `qos_text` returns.
    """
    about = {
        "name": name,
        "type": type_name,
        "serialization_format": form,
        "offered_qos_profiles": _Quoted(qos),
        "type_description_hash": type_hash,
    }
    return yaml_text([{"topic_metadata": about}])


def metadata_text(
    storage: str,
    files: Sequence[FileSpan],
    topics: Sequence[TopicAndCount],
    *,
    ros_distro: str = "skidpad",
    custom_data: Any = None,
) -> str:
    """Text of metadata.yaml below its first line."""
    filled = [file for file in files if file.messages]
    start = min((file.start for file in filled), default=0)
    end = max((file.end for file in filled), default=0)
    about = {
        "version": VERSION,
        "storage_identifier": storage,
        "relative_file_paths": [file.name for file in files],
        **_span(start, end, sum(file.messages for file in files)),
        "compression_format": "",
        "compression_mode": "",
        "files": [{"path": f.name, **_span(f.start, f.end, f.messages)} for f in files],
        "custom_data": custom_data,
        "ros_distro": ros_distro,
    }
    listed = "".join(f"{topic.text}  message_count: {topic.messages}\n" for topic in topics)
    return yaml_text(about) + "topics_with_message_count:" + (f"\n{listed}" if listed else " []\n")


def write_metadata(folder: Path, text: str) -> None:
    """Write metadata.yaml atomically."""
    with replacing(folder / NAME) as path:
        path.write_text(f"{ROOT}:\n{textwrap.indent(text, '  ')}", "utf-8")


def yaml_text(value: Any) -> str:
    """YAML text that keeps the order of keys."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=float("inf"))


def _span(start: int, end: int, messages: int) -> dict[str, Any]:
    return {
        "starting_time": {"nanoseconds_since_epoch": start},
        "duration": {"nanoseconds": end - start},
        "message_count": messages,
    }


_HEAD = struct.Struct("<BQHIQQ")
"""Head of a message record: opcode, length, channel, sequence number, log time and publish
time."""
_MESSAGE = 5
"""Opcode of a message record."""
_LARGEST_MESSAGE = 256 << 20
_FOREVER = {"sec": 9223372036, "nsec": 854775807}


class Quality(Protocol):
    """Quality of service, as `skidpad.ros2.dds.Qos`."""

    @property
    def reliable(self) -> bool:
        """Whether lost messages are sent again."""
        ...

    @property
    def latched(self) -> bool:
        """Whether late subscribers receive the last messages."""
        ...

    @property
    def depth(self) -> int:
        """Number of messages in the history."""
        ...


class _Usual(NamedTuple):
    """Default quality of service of ROS 2."""

    reliable: bool = True
    latched: bool = False
    depth: int = 10


_USUAL = _Usual()


class _Topic:
    def __init__(self, number: int, name: str, type_: MessageType, qos: Quality) -> None:
        self.number, self.name, self.type = number, name, type_
        self.qos = _qos_text(qos)
        self.text = topic_text(name, type_.name, "cdr", self.qos, type_.hash)
        self.count = 0


class BagWriter(ThreadedWriter):
    """Writer of CDR messages to a bag: a folder with an MCAP file and metadata.yaml.

    Writing only copies; a thread compresses and writes. Messages are in the file at most a
    second of wall time later and readable up to there even if the program is killed: the file
    always has a footer, and metadata.yaml names all topics. Closing adds the index; a `with`
    block closes the bag, also after an error.

    Args:
        folder: folder of the bag; it must not exist, or be empty.
    """

    __repr__ = brief_repr

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        from ... import __version__

        self.folder = Path(folder)
        try:
            make_bag_folder(self.folder)
        except OSError as error:
            raise RecordingFailed(f"cannot record to {self.folder}: {error.strerror}") from error
        self._topics: dict[str, _Topic] = {}
        self._waiting: list[_Topic] = []
        """Topics that are not in the file yet; the thread writes them before its next
        chunk."""
        self._schemas: dict[str, int] = {}
        self._span: list[int] = []
        """First and last message time in ns."""
        path = self.folder / f"{self.folder.resolve().name}_0.mcap"
        library = f"skidpad {__version__}"
        self._file = McapFile(path, (), (), {}, library=library, profile="ros2", always_ended=True)
        self._write_metadata()
        self._thread = WriterThread(self._write_batch, self._failed, self._full)
        super().__init__()

    def topic(self, name: str, type_: MessageType, qos: Quality = _USUAL) -> None:
        """Declare a topic, with the quality of service for playback.

        A repeated identical declaration has no effect.
        """
        self._check_open()
        known = self._topics.get(name)
        if known is not None and (known.type.name, known.qos) != (type_.name, _qos_text(qos)):
            raise InvalidValue(f"topic {name} already exists, with type {known.type.name}")
        if not name.startswith("/"):
            raise InvalidValue(f"topic {name!r} must be a full name, such as /odom")
        if known is None and not self._elsewhere:
            topic = _Topic(len(self._topics) + 1, name, type_, qos)
            self._waiting.append(topic)
            self._topics[name] = topic

    def write(self, name: str, time_ns: int, cdr: bytes | bytearray | memoryview) -> None:
        """Write a message at a time in ns, since 1970 or since the start of simulated time."""
        if self._elsewhere:
            return
        topic = self._topics.get(name)
        if topic is None:
            there = ", ".join(self._topics) or "none"
            raise InvalidValue(f"there is no topic {name!r} in the bag; there are {there}")
        self._check_open()
        if not 0 <= time_ns < 1 << 63:
            raise InvalidValue(f"time_ns = {time_ns} of {name} must be within 0 to 2^63 - 1")
        if not 4 <= len(cdr) <= _LARGEST_MESSAGE:
            raise InvalidValue(f"a message of {name} has {len(cdr)} bytes; CDR has 4 or more")
        # A batch holds arrays; this one keeps the copy.
        self._thread.add_reading(Reading(topic.number, time_ns, np.frombuffer(bytes(cdr), "u1")))

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if self._finished:
            raise InvalidValue(f"the bag {self.folder} is closed")

    def _full(self, batch: Batch) -> bool:
        return batch.reading_size > CHUNK_SIZE

    def _write_batch(self, batch: Batch) -> None:
        """Write a batch as a chunk; runs in the thread."""
        self._add_channels()
        topics = {topic.number: topic for topic in tuple(self._topics.values())}
        data = bytearray()
        places: dict[int, list[tuple[int, int]]] = {}
        for number, time, values in batch.readings:
            own = places.setdefault(number, [])
            sequence = (topics[number].count + len(own)) & 0xFFFFFFFF
            own.append((int(time), len(data)))
            size = _HEAD.size - 9 + values.size
            data += _HEAD.pack(_MESSAGE, size, number, sequence, time, time)
            data += values.data
        self._file.add_messages(memoryview(data), [_index(*item) for item in places.items()])
        for number, own in places.items():
            topics[number].count += len(own)
        times = [*self._span, *(int(reading.time) for reading in batch.readings)]
        self._span = [min(times), max(times)]
        # Only for a bag that is never closed: the messages are in the file.
        with contextlib.suppress(RecordingFailed):
            self._write_metadata()

    def _add_channels(self) -> None:
        records = libraries.records
        while self._waiting:
            topic, schema = self._waiting[0], None
            name = topic.type.name
            number = self._schemas.get(name, len(self._schemas) + 1)
            if name not in self._schemas:
                text = definition_text(topic.type).encode()
                schema = records.Schema(id=number, data=text, encoding="ros2msg", name=name)
            metadata = {"offered_qos_profiles": topic.qos, "topic_type_hash": topic.type.hash}
            channel = records.Channel(
                id=topic.number,
                topic=topic.name,
                message_encoding="cdr",
                metadata=metadata,
                schema_id=number,
            )
            self._file.add_channel(channel, schema)
            self._schemas[name] = number
            self._waiting.pop(0)

    def _failed(self, error: BaseException, lost: Sequence[float]) -> None:
        """Close the file after an error, as the index may fit where a chunk did not; runs in the
        thread."""
        with contextlib.suppress(RecordingFailed):
            self._end_file()

    def _end_file(self) -> None:
        try:
            self._add_channels()
            self._file.add_metadata("rosbag2", {"serialized_metadata": self._metadata()})
            self._file.finish()
        finally:
            self._file.close()
        self._write_metadata()

    def _write_metadata(self) -> None:
        try:
            write_metadata(self.folder, self._metadata())
        except (OSError, InvalidValue) as error:
            raise RecordingFailed(f"cannot record to {self.folder}: {error}") from error

    def _metadata(self) -> str:
        # A copy: the other thread may add some.
        those = tuple(self._topics.values())
        topics = [TopicAndCount(topic.text, topic.count) for topic in those]
        start, end = self._span or (0, 0)
        count = sum(topic.messages for topic in topics)
        return metadata_text("mcap", [FileSpan(self._file.path.name, start, end, count)], topics)


def make_bag_folder(folder: Path) -> None:
    """Create the folder of a bag, which must be new or empty."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidValue(f"{folder} exists; a bag needs a folder that is new or empty")
    folder.mkdir(parents=True, exist_ok=True)


def _qos_text(qos: Quality) -> str:
    profile = {
        "history": "keep_last",
        "depth": qos.depth,
        "reliability": "reliable" if qos.reliable else "best_effort",
        "durability": "transient_local" if qos.latched else "volatile",
        "deadline": dict(_FOREVER),
        "lifespan": dict(_FOREVER),
        "liveliness": "automatic",
        "liveliness_lease_duration": dict(_FOREVER),
        "avoid_ros_namespace_conventions": False,
    }
    return qos_text([profile])


def _index(channel: int, messages: Sequence[tuple[int, int]]) -> MessageIndexes:
    """Index of the messages of one channel, from their times and offsets."""
    table = np.array(messages, np.uint64)
    return MessageIndexes(np.array([channel], np.uint16), table[:, 0], table[None, :, 1])
