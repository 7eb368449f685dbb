"""Types of messages and services, and what is made from one: records, CDR, the hash."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from ..brief import brief_repr
from . import codec, records, type_hash
from .fields import Structure, dds_name


@dataclass(frozen=True)
class MessageType(Structure):
    """A message: its full name, as "nav_msgs/msg/Odometry", and its fields in order."""

    __repr__ = brief_repr

    def __getstate__(self) -> dict[str, Any]:
        """For `pickle`: what it is, without what was made from it."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def Record(self) -> Any:
        """The class of its messages, a NamedTuple; what is not given is zero, empty, or as its
        interface file says. See `skidpad.ros_messages.records`."""
        return records.record_class(self)

    @cached_property
    def encode(self) -> Callable[[Any], bytes]:
        """CDR of a record, little endian, with its four bytes of header."""
        return codec.encoder(self)

    @cached_property
    def decode(self) -> Callable[[bytes | bytearray | memoryview], Any]:
        """The record in CDR of either byte order; raises `InvalidValue` for whatever is not one."""
        return codec.decoder(self)

    @cached_property
    def hash(self) -> str:
        """As type descriptions are hashed since Iron: "RIHS01_..."."""
        return type_hash.message_hash(self)


@dataclass(frozen=True)
class ServiceType:
    """A service: its full name, as "std_srvs/srv/Trigger", and what goes there and back."""

    name: str
    request: MessageType
    response: MessageType

    __repr__ = brief_repr

    @property
    def dds_name(self) -> str:
        """As rmw_zenoh knows it; on DDS there are only request and response."""
        return dds_name(self.name)

    @cached_property
    def hash(self) -> str:
        """As type descriptions are hashed since Iron: "RIHS01_..."."""
        return type_hash.service_hash(self.name, self.request, self.response)
