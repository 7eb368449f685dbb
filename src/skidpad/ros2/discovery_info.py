"""The message by which a process tells which nodes it has: `ros_discovery_info`.

`rmw_dds_common/msg/ParticipantEntitiesInfo` in both of its forms: a Gid has 24 bytes up to Humble,
the last 8 of them zero, and 16 since Iron.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from ..errors import InvalidValue
from .dds_names import HUMBLE_GID, IRON_GID
from .dds_types import LITTLE_ENDIAN
from .transport import Identity

TOPIC = "ros_discovery_info"
GUID = 16
"""Bytes of an identity on DDS."""
_COUNT = struct.Struct("<I")


class NodeEntities(NamedTuple):
    """A node with the GUIDs of its endpoints."""

    identity: Identity
    readers: tuple[bytes, ...] = ()
    writers: tuple[bytes, ...] = ()


class DiscoveryInfo(NamedTuple):
    """A participant, by its GUID, and its nodes."""

    participant: bytes
    nodes: tuple[NodeEntities, ...] = ()


def encoded_info(info: DiscoveryInfo, gid_size: int) -> bytes:
    """The message as CDR, with Gids of 16 or 24 bytes."""
    body = bytearray(info.participant.ljust(gid_size, b"\x00"))
    _put_count(body, len(info.nodes))
    for node in info.nodes:
        _put_text(body, node.identity.namespace)
        _put_text(body, node.identity.name)
        for guids in (node.readers, node.writers):
            _put_count(body, len(guids))
            body += b"".join(guid.ljust(gid_size, b"\x00") for guid in guids)
    return bytes(LITTLE_ENDIAN + b"\x00\x00" + body)


def decoded_info(data: bytes) -> DiscoveryInfo:
    """The message from CDR of either form; what is neither raises."""
    for gid_size in (HUMBLE_GID, IRON_GID):
        cursor = _Cursor(data[4:], gid_size)
        try:
            info = cursor.info()
        except (struct.error, UnicodeDecodeError, IndexError):
            continue
        if cursor.at_end():
            return info
    raise InvalidValue(f"{TOPIC}: {len(data)} bytes are no list of nodes")


def _put_count(body: bytearray, count: int) -> None:
    body += bytes(-len(body) % 4) + _COUNT.pack(count)


def _put_text(body: bytearray, text: str) -> None:
    data = text.encode() + b"\x00"
    _put_count(body, len(data))
    body += data


class _Cursor:
    """Reads one form; raises what `struct`, indices and UTF-8 raise at what does not fit."""

    def __init__(self, body: bytes, gid_size: int) -> None:
        self.body, self.gid_size, self.place = body, gid_size, 0

    def info(self) -> DiscoveryInfo:
        participant = self._gid()
        nodes = [self._node() for _ in range(self._count(least=16))]
        return DiscoveryInfo(participant, tuple(nodes))

    def at_end(self) -> bool:
        """Whether nothing follows but what fills up to a multiple of 4."""
        return 0 <= len(self.body) - self.place < 4

    def _node(self) -> NodeEntities:
        namespace, name = self._text(), self._text()
        readers, writers = (
            tuple(self._gid() for _ in range(self._count(least=self.gid_size))) for _ in range(2)
        )
        return NodeEntities(Identity(name, namespace), readers, writers)

    def _gid(self) -> bytes:
        gid = self._bytes(self.gid_size)
        if any(gid[GUID:]):
            raise IndexError
        return gid[:GUID]

    def _text(self) -> str:
        text = self._bytes(self._count(least=1))
        if text[-1] != 0:
            raise IndexError
        return text[:-1].decode()

    def _count(self, *, least: int) -> int:
        """A number of things that have at least so many bytes each, and so must fit in the rest."""
        self.place += -self.place % 4
        (count,) = _COUNT.unpack_from(self.body, self.place)
        self.place += _COUNT.size
        if count * least > len(self.body) - self.place:
            raise IndexError
        return count

    def _bytes(self, count: int) -> bytes:
        if count > len(self.body) - self.place:
            raise IndexError
        self.place += count
        return self.body[self.place - count : self.place]
