"""Numbers in bags of ROS 2: a folder with metadata.yaml and files of MCAP or SQLite, or one file.

`Gathering` collects numbers of messages by name, from any file. Names are those that users see:
"pose.pose.position.x", "axes[0]". A quaternion also gives its yaw in rad, since motion here is
planar. In MCAP files, whose messages are JSON or CDR, a quantity is named after its topic and its
field, `/steering.angle`. Its times are those of the header, when the sensor measured, and the log
times of messages without one. A stamp more than a second off the log time is of another clock, such
as that of a simulation, and is not used.
"""

from __future__ import annotations

import json
import math
import re
import sqlite3
from array import array
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import cache
from math import atan2
from operator import attrgetter
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np

from ...core.arrays import Array
from ...core.files import (
    LARGEST_BLOCK,
    counted,
    open_file,
    reading,
    regular_file,
    unpacked,
    yaml_of,
)
from ...errors import InvalidValue, MissingFile, require
from ...ros2.messages.codec import DUMMY, PRIMITIVES, Shape, Structure, attribute
from ...ros2.messages.types import MessageType, full_name, message_type, type_of_text

Signals = dict[str, tuple[Array, Array]]
"""Times in s and values, by name."""
NEAR_LOG_TIME = 1_000_000_000
"""Largest difference in ns between the stamp of a message and its log time."""


class Bag(NamedTuple):
    """Content of a bag."""

    signals: Signals
    unread: dict[str, str]
    """Topics or fields that were not read, with the reason."""
    start: float
    """Time zero of the signals on the clock of the bag, in s: usually since 1970."""
    notes: list[str]


class Gathering:
    """Numbers of messages with their times in ns, and the reasons why others were not read."""

    def __init__(self) -> None:
        self._numbers: dict[str, tuple[array[int], array[float]]] = {}
        self.unread: dict[str, str] = {}
        """Topics or fields that were not read, with the reason."""
        self._refused: dict[str, tuple[int, str]] = {}
        self.stamped: dict[str, int] = {}
        """Number of messages timed by their own stamps, by topic; 0 if these are of another
        clock."""

    def add(self, name: str, time: int, value: float) -> None:
        if name not in self._numbers:
            self._numbers[name] = array("Q"), array("d")
        times, values = self._numbers[name]
        times.append(time)
        values.append(value)

    def refuse(self, topic: str, reason: str) -> None:
        """Note a message that cannot be read; other messages of its topic may be readable."""
        count, first = self._refused.get(topic, (0, reason))
        self._refused[topic] = count + 1, first
        self.unread[topic] = first + (f", and {counted(count, 'other')}" if count else "")

    @property
    def begin(self) -> int:
        """Time of the first message in ns."""
        return min((min(times) for times, _ in self._numbers.values()), default=0)

    def signals(self) -> Signals:
        """Signals sorted by time, relative to the first message; of equal times the last value
        counts."""
        begin = self.begin

        def in_order(times: array[int], values: array[float]) -> tuple[Array, Array]:
            ns = np.array(times, np.uint64) - np.uint64(begin)
            order = np.argsort(ns, kind="stable")
            ns = ns[order]
            last = np.append(ns[1:] != ns[:-1], True)
            return ns[last].astype(float) * 1e-9, np.array(values)[order][last]

        return {name: in_order(*numbers) for name, numbers in self._numbers.items()}


MOST_VALUES = 64
"""Largest array or sequence that becomes columns; longer ones are images or scans."""
_QUATERNION = "geometry_msgs/msg/Quaternion"
_TIME = "builtin_interfaces/msg/Time"


class MessageColumns:
    """Extracts the numbers of messages of one type."""

    def __init__(self, structure: Structure) -> None:
        self._names: list[str] = []
        self._paths: list[str] = []
        self._many: list[tuple[str, Callable[[Any], Any], MessageColumns | None]] = []
        self._rotations: list[tuple[str, Callable[[Any], Any]]] = []
        self._look_at(structure, "", "")
        paths = [attrgetter(path) for path in self._paths]
        # `attrgetter` is faster for several values at once; of one path it gives one value alone.
        self._numbers: Callable[[Any], tuple[Any, ...]] = (
            attrgetter(*self._paths)
            if len(paths) > 1
            else lambda record: tuple(path(record) for path in paths)
        )

    def _look_at(self, structure: Structure, name: str, path: str) -> None:
        for field in structure.fields:
            inner, place = f"{name}.{field.name}", f"{path}{attribute(field)}"
            if field.shape is not Shape.ONE:
                if field.nested is not None:
                    columns = MessageColumns(field.nested)
                    self._many.append((inner, attrgetter(place), columns))
                elif field.base in PRIMITIVES:
                    self._many.append((inner, attrgetter(place), None))
            elif field.nested is not None:
                self._look_at(field.nested, inner, f"{place}.")
                if field.base == _QUATERNION:
                    self._rotations.append((f"{inner}.yaw", attrgetter(place)))
            elif field.base in PRIMITIVES and field.name != DUMMY:
                self._names.append(inner)
                self._paths.append(place)

    def of(self, record: Any, prefix: str, unread: dict[str, str]) -> Iterator[tuple[str, float]]:
        """Names and numbers of a record; arrays that are too long are noted as unread."""
        for name, number in zip(self._names, self._numbers(record), strict=True):
            yield prefix + name, float(number)
        for name, rotation in self._rotations:
            x, y, z, w = rotation(record)  # of any length
            yaw = atan2(2.0 * (w * z + x * y), w * w + x * x - y * y - z * z)
            yield prefix + name, yaw
        for name, values_of, inner in self._many:
            values = values_of(record)
            if len(values) > MOST_VALUES:
                unread[prefix + name] = f"it has more than {MOST_VALUES} values"
            elif inner is None:
                yield from zip(_elements(prefix + name, len(values)), values.tolist(), strict=True)
            else:
                for k, value in enumerate(values):
                    yield from inner.of(value, f"{prefix}{name}[{k}]", unread)


class RosTopic:
    """A topic of ROS 2 messages in a file."""

    def __init__(self, name: str, type_: MessageType) -> None:
        self._name, self._type = name, type_
        self._columns = MessageColumns(type_)
        self._stamp: Callable[[Any], Any] | None = None
        for field in type_.fields:
            if field.shape is Shape.ONE and field.base == "std_msgs/msg/Header":
                self._stamp = attrgetter(f"{attribute(field)}.stamp")
                break
            if field.shape is Shape.ONE and field.base == _TIME and field.name == "stamp":
                self._stamp = attrgetter(attribute(field))
                break

    def add(self, time: int, data: bytes, gathering: Gathering) -> None:
        """Add the numbers of a message; a malformed one is noted."""
        try:
            record = self._type.decode(data)
        except InvalidValue as error:
            gathering.refuse(self._name, f"a message is malformed: {error}")
            return
        if self._stamp is not None:
            time = self._time(self._stamp(record), time, gathering)
        for name, number in self._columns.of(record, self._name, gathering.unread):
            gathering.add(name, time, number)

    def _time(self, stamp: Any, time: int, gathering: Gathering) -> int:
        """Time of a stamp in ns, or the log time if the stamp is zero or of another clock."""
        own = stamp.sec * 1_000_000_000 + stamp.nanosec
        if own == 0:
            return time
        near = abs(own - time) <= NEAR_LOG_TIME
        gathering.stamped[self._name] = gathering.stamped.get(self._name, 0) + near
        return own if near else time


def ros_type(name: str, text: str | None) -> MessageType:
    """Type of a topic: by the definition in the file, else the known type with this name."""
    name = full_name(name, "msg") if "/" in name else f"unnamed/msg/{name}"
    return type_of_text(name, text) if text else message_type(name)


@cache
def _elements(name: str, count: int) -> tuple[str, ...]:
    return tuple(f"{name}[{k}]" for k in range(count))


class _Channel(NamedTuple):
    topic: str
    messages: RosTopic | None
    """Decoder of messages that are not JSON."""
    unreadable: str
    """Why its messages have no numbers; empty if they have."""


def gather_mcap(path: Path, gathering: Gathering) -> None:
    """Add the numbers of a file, and note topics without any, with the reason."""
    not_mcap = require("mcap.exceptions", purpose=f"Reading {path}").InvalidMagic
    channels: dict[int, _Channel] = {}
    try:
        with reading(path, "is damaged"), open_file(path) as file:
            for schema, channel, message in _messages(file, path):
                if channel.id not in channels:
                    channels[channel.id] = _channel(channel, schema)
                _take(channels[channel.id], message, gathering)
    except InvalidValue as error:
        if isinstance(error.__cause__, not_mcap):
            raise InvalidValue(f"{path} is not an MCAP file") from error.__cause__
        raise


def _messages(file: BinaryIO, path: Path) -> Iterator[tuple[Any, Any, Any]]:
    """Schema, channel and message of all messages, in the order of the file.

    The index at the end is not used, since a recording that was cut short has none, nor is the
    reader of the package, which trusts the size that a chunk declares.
    """
    streams = require("mcap.stream_reader", purpose=f"Reading {path}")
    records = require("mcap.records", purpose=f"Reading {path}")
    schemas: dict[int, Any] = {}
    channels: dict[int, Any] = {}
    reader = streams.StreamReader(
        file, emit_chunks=True, validate_crcs=True, record_size_limit=path.stat().st_size
    )
    whole_records, end = iter(reader.records), 0
    while True:
        try:
            whole = next(whole_records, None)
        except require("mcap.exceptions", purpose=f"Reading {path}").EndOfFile as error:
            # The file of a program that was killed may end after any record.
            if end != path.stat().st_size:
                raise InvalidValue("it ends within a record") from error
            return
        if whole is None:
            return
        end, parts = file.tell(), [whole]
        if isinstance(whole, records.Chunk):
            data = unpacked(whole.data, whole.compression, whole.uncompressed_size)
            plain = replace(whole, compression="", data=data)
            parts = streams.breakup_chunk(plain, validate_crc=True)
        for record in parts:
            if isinstance(record, records.Schema):
                schemas[record.id] = record
            elif isinstance(record, records.Channel):
                channels[record.id] = record
            elif isinstance(record, records.Message):
                channel = channels[record.channel_id]
                yield schemas.get(channel.schema_id), channel, record


def _channel(channel: Any, schema: Any) -> _Channel:
    encoding = channel.message_encoding
    if encoding == "json":
        return _Channel(channel.topic, None, "")
    if encoding != "cdr" or schema is None or schema.encoding != "ros2msg":
        kind = f"{encoding} with a schema in {schema.encoding}" if schema is not None else encoding
        return _Channel(channel.topic, None, f"its messages are {kind or 'of unknown encoding'}")
    try:
        type_ = ros_type(schema.name, schema.data.decode(errors="replace"))
    except InvalidValue as error:
        return _Channel(channel.topic, None, str(error))
    return _Channel(channel.topic, RosTopic(channel.topic, type_), "")


def _take(channel: _Channel, message: Any, gathering: Gathering) -> None:
    """Add the numbers of a message."""
    if channel.unreadable:
        gathering.unread[channel.topic] = channel.unreadable
    elif channel.messages is not None:
        channel.messages.add(message.log_time, message.data, gathering)
    else:
        try:
            numbers = dict(_leaves(json.loads(message.data), ""))
        except (ValueError, RecursionError, OverflowError):
            gathering.refuse(channel.topic, "a message is not JSON")
            return
        for name, value in numbers.items():
            gathering.add(channel.topic + name, message.log_time, value)


def _leaves(value: Any, name: str) -> Iterator[tuple[str, float]]:
    """Numbers in a JSON value with their dotted names; null becomes NaN."""
    if isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            yield from _leaves(inner, f"{name}.{key}")
    elif isinstance(value, list):
        for k, inner in enumerate(cast("list[Any]", value)):
            yield from _leaves(inner, f"{name}.{k}")
    elif isinstance(value, (bool, int, float)):
        yield name, float(value)
    elif value is None:
        yield name, math.nan


SUFFIXES = (".mcap", ".db3")
_METADATA = "metadata.yaml"
_MCAP = b"\x89MCAP0\r\n\1"
"""First bytes of an MCAP file, up to the opcode of its header."""
_NUMBERED = re.compile(r"_(\d{1,9})$")


def is_bag(path: Path) -> bool:
    """Whether a file or folder is a bag rather than a recording of skidpad."""
    if path.is_dir() or path.suffix.lower() == ".db3":
        return True
    try:
        with open_file(path) as file:
            head = file.read(len(_MCAP) + 16)
    except (InvalidValue, OSError):
        return False
    # Behind the opcode comes the length of the header, then its profile.
    return head.startswith(_MCAP) and head[len(_MCAP) + 8 :] == b"\4\0\0\0ros2"


def read_bag(path: Path) -> Bag:
    """Numbers of a bag, and the reasons for topics without any."""
    gathering = Gathering()
    for file in bag_files(path) if path.is_dir() else [path]:
        if file.suffix.lower() == ".db3":
            with reading(file, "is not a readable bag"), closing(opened_database(file)) as data:
                _gather_sqlite(data, gathering)
            continue
        try:
            gather_mcap(file, gathering)
        except MissingFile:
            raise
        except InvalidValue as error:
            if not is_bag(file):
                raise
            raise InvalidValue(
                f"{error}; `skidpad recover {path}` saves the intact part, for example of a bag "
                "whose recorder was killed"
            ) from error
    stamped = [topic for topic, count in gathering.stamped.items() if count]
    others = [topic for topic, count in gathering.stamped.items() if not count]
    notes = [f"{', '.join(stamped)}: timed by the stamps of the messages"] if stamped else []
    if others:
        notes.append(
            f"{', '.join(others)}: timed by the log time, since the stamps of the messages are of "
            "another clock"
        )
    return Bag(gathering.signals(), gathering.unread, 1e-9 * gathering.begin, notes)


def bag_files(folder: Path) -> list[Path]:
    """Files of a bag in order of time, as listed in metadata.yaml if present."""
    if not (folder / _METADATA).exists():
        return files_of_folder(folder)
    about = yaml_of(folder / _METADATA)
    about = about.get("rosbag2_bagfile_information") if isinstance(about, dict) else None
    names = about.get("relative_file_paths") if isinstance(about, dict) else None
    if not isinstance(names, list) or not names:
        raise InvalidValue(f"{folder / _METADATA} names no files of a bag; {_remedy(folder)}")
    return [_file(folder, name) for name in cast("list[object]", names)]


def files_of_folder(folder: Path) -> list[Path]:
    """Files of a bag by name: `bag_0.mcap` and so on, in the order of the numbers."""
    files = [file for file in folder.iterdir() if file.suffix.lower() in SUFFIXES]
    # As rosbag2 itself: others may be copies.
    files = [file for file in files if _NUMBERED.search(file.stem)] or files
    if not files:
        raise InvalidValue(f"{folder} is no bag: it has neither {_METADATA} nor .mcap nor .db3")

    def place(file: Path) -> tuple[int, str]:
        number = _NUMBERED.search(file.stem)
        return (int(number[1]) if number else 0, file.name)

    return sorted(files, key=place)


def _remedy(folder: Path) -> str:
    return f"`skidpad recover {folder}` writes it anew from the files that are there"


def _file(folder: Path, name: object) -> Path:
    parts = PurePosixPath(name).parts if isinstance(name, str) and "\0" not in name else ()
    if not parts or ".." in parts or PurePosixPath(*parts).is_absolute():
        raise InvalidValue(f"{folder / _METADATA}: {name!r:.100} is no file of the bag")
    # Before Galactic the name of the folder came first.
    file = folder.joinpath(*parts)
    if not file.exists() and parts[0] == folder.name:
        file = folder.joinpath(*parts[1:])
    if file.suffix.lower() not in SUFFIXES:
        raise InvalidValue(
            f"{file}: files of bags must be {' or '.join(SUFFIXES)}; unpack compressed ones with "
            "`ros2 bag convert`"
        )
    if not file.exists():
        raise MissingFile(f"{file} does not exist, but {_METADATA} names it; {_remedy(folder)}")
    return file


def _gather_sqlite(data: sqlite3.Connection, gathering: Gathering) -> None:
    texts: dict[Any, str] = {}
    if "message_definitions" in _tables(data):  # since Iron
        query = "SELECT topic_type, encoding, encoded_message_definition FROM message_definitions"
        for name, encoding, text in data.execute(query):
            if encoding == "ros2msg" and isinstance(text, str):
                texts[name] = text
    topics: dict[Any, RosTopic] = {}
    query = "SELECT id, name, type, serialization_format FROM topics"
    for number, name, kind, form in data.execute(query):
        if not (isinstance(name, str) and isinstance(kind, str)):
            raise InvalidValue(f"topic {number!r:.60} has no name or no type")
        if form != "cdr":
            gathering.unread[name] = f"its messages are {form!r:.60} and not cdr"
            continue
        try:
            topics[number] = RosTopic(name, ros_type(kind, texts.get(kind)))
        except InvalidValue as error:
            gathering.unread[name] = str(error)
    query = "SELECT topic_id, timestamp, data FROM messages ORDER BY timestamp, id"
    for topic, time, message in data.execute(query):
        if not (isinstance(time, int) and time >= 0 and isinstance(message, bytes)):
            raise InvalidValue(f"a message has no time or no data: {time!r:.60}")
        if topic in topics:
            topics[topic].add(time, message, gathering)


def opened_database(path: Path) -> sqlite3.Connection:
    """Open a bag in SQLite for reading; raises for other databases."""
    regular_file(path)
    data = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    try:
        # A stranger's schema may call functions, and a value may claim any size.
        data.execute("PRAGMA trusted_schema = OFF")
        data.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST_BLOCK)
        if not {"topics", "messages"} <= _tables(data):
            raise InvalidValue("it has no tables of topics and messages")
    except BaseException:
        data.close()
        raise
    return data


def _tables(data: sqlite3.Connection) -> set[str]:
    query = "SELECT name FROM sqlite_schema WHERE type='table'"
    return {name for (name,) in data.execute(query)}
