"""Numbers in MCAP files: messages in JSON, and ROS 2 messages that are nothing but numbers.

A quantity is named after its topic and its field, `/steering.angle`; its times are the log times,
in s.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np

from ..arrays import Array
from ..errors import InvalidValue
from ..extras import require
from ..files import reading, unpacked
from .flat_message import FlatMessage, flat_message

Signals = dict[str, tuple[Array, Array]]
"""Times and values by name."""


class _Channel(NamedTuple):
    topic: str
    encoding: str
    layout: FlatMessage | None
    """How to read its bytes, where they are not JSON."""

    @property
    def unreadable(self) -> str:
        """Why its messages have no numbers; empty if they have."""
        if self.encoding == "json" or self.layout is not None:
            return ""
        return f"its messages are {self.encoding or 'of unknown encoding'} and not plain numbers"


def read_mcap(path: Path) -> tuple[Signals, dict[str, str]]:
    """The numbers of a file, and the topics that have none with the reason."""
    not_mcap = require("mcap.exceptions", purpose=f"Reading {path}").InvalidMagic
    values: dict[str, dict[int, float]] = {}
    unread: dict[str, str] = {}
    channels: dict[int, _Channel] = {}
    try:
        with reading(path, "is damaged"), path.open("rb") as file:
            for schema, channel, message in _messages(file, path):
                if channel.id not in channels:
                    channels[channel.id] = _channel(channel, schema)
                _take(channels[channel.id], message, values, unread)
            return _in_order(values), unread
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
    for whole in reader.records:
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


def _channel(channel: Any, schema: Any) -> _Channel:
    layout = None
    if schema is not None and (channel.message_encoding, schema.encoding) == ("cdr", "ros2msg"):
        layout = flat_message(schema.data.decode(errors="replace"))
    return _Channel(channel.topic, channel.message_encoding, layout)


def _take(
    channel: _Channel, message: Any, values: dict[str, dict[int, float]], unread: dict[str, str]
) -> None:
    """Put the numbers of a message to the others."""
    if channel.unreadable:
        unread[channel.topic] = channel.unreadable
        return
    if channel.layout is not None:
        numbers = channel.layout.numbers(message.data)
    else:
        try:
            numbers = dict(_leaves(json.loads(message.data), ""))
        except (ValueError, RecursionError, OverflowError):
            unread[channel.topic] = "a message is not JSON"
            return
    for name, value in numbers.items():
        values.setdefault(channel.topic + name, {})[message.log_time] = value


def _leaves(value: Any, name: str) -> Iterator[tuple[str, float]]:
    """The numbers in a JSON value with their dotted names."""
    if isinstance(value, dict):
        for key, inner in cast("dict[str, Any]", value).items():
            yield from _leaves(inner, f"{name}.{key}")
    elif isinstance(value, list):
        for k, inner in enumerate(cast("list[Any]", value)):
            yield from _leaves(inner, f"{name}.{k}")
    elif isinstance(value, (bool, int, float)):
        yield name, float(value)


def _in_order(values: dict[str, dict[int, float]]) -> Signals:
    """Sorted by time, which begins with the first message of all; of equal times the last."""
    begin = min((min(by_time) for by_time in values.values()), default=0)
    signals: Signals = {}
    for name, by_time in values.items():
        times = sorted(by_time)
        t = np.array([time - begin for time in times], dtype=float) * 1e-9
        signals[name] = t, np.array([by_time[time] for time in times])
    return signals
