"""Recordings as others read them: the format's own reader, and protobuf's own classes."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from mcap.reader import SeekingReader


class Message(NamedTuple):
    """A message as its own file describes it."""

    topic: str
    schema: str
    time: int
    """In ns."""
    value: Any
    data: bytes


def described(name: str, data: bytes) -> Any:
    """The class of a message type that a FileDescriptorSet describes."""
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(data).file:
        pool.Add(file)
    descriptor = pool.FindMessageTypeByName(name)
    if hasattr(message_factory, "GetMessageClass"):
        return message_factory.GetMessageClass(descriptor)
    return message_factory.MessageFactory(pool).GetPrototype(descriptor)


def official(schema: str) -> Any:
    """The class that Foxglove publishes for a message type."""
    name = schema.rpartition(".")[2]
    return getattr(importlib.import_module(f"foxglove_schemas_protobuf.{name}_pb2"), name)


def messages(path: Path, *topics: str) -> list[Message]:
    """Messages in the order of their times, sums checked."""
    classes: dict[int, Any] = {}
    decoded: list[Message] = []
    with path.open("rb") as file:
        reader = SeekingReader(file, validate_crcs=True)
        for schema, channel, message in reader.iter_messages(topics or None):
            assert schema is not None
            if schema.id not in classes:
                classes[schema.id] = described(schema.name, schema.data)
            value = classes[schema.id].FromString(message.data)
            decoded.append(
                Message(channel.topic, schema.name, message.log_time, value, message.data)
            )
    return decoded
