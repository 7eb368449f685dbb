"""Numbers in MCAP files: messages in JSON, and messages of ROS 2 in CDR.

A quantity is named after its topic and its field, `/steering.angle`; its times are the log times,
in s.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from ..errors import InvalidValue
from ..extras import require
from ..files import open_file, reading, unpacked
from .gathering import Gathering
from .message_columns import RosTopic, ros_type


class _Channel(NamedTuple):
    topic: str
    messages: RosTopic | None
    """How to read its bytes, where they are not JSON."""
    unreadable: str
    """Why its messages have no numbers; empty if they have."""


def gather_mcap(path: Path, gathering: Gathering) -> None:
    """Add the numbers of a file, and note the topics that have none with the reason."""
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

    Not by the index at the end: a recording that was cut short has none. Nor by the reader of the
    package, which believes what a chunk says of its size.
    """
    streams = require("mcap.stream_reader", purpose=f"Reading {path}")
    records = require("mcap.records", purpose=f"Reading {path}")
    schemas: dict[int, Any] = {}
    channels: dict[int, Any] = {}
    reader = streams.StreamReader(
        file, emit_chunks=True, validate_crcs=True, record_size_limit=path.stat().st_size
    )
    for whole in _whole_records(reader, file, path):
        parts = [whole]
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


def _whole_records(reader: Any, file: BinaryIO, path: Path) -> Iterator[Any]:
    """All records; a file may end behind any of them, as a program that was killed leaves it."""
    ended = require("mcap.exceptions", purpose=f"Reading {path}").EndOfFile
    end = 0
    try:
        for record in reader.records:
            end = file.tell()
            yield record
    except ended as error:
        if end != path.stat().st_size:
            raise InvalidValue("it ends within a record") from error


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
    """Put the numbers of a message to the others."""
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
    """The numbers in a JSON value with their dotted names, NaN for null."""
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
