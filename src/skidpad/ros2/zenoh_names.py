"""Keys, tokens and attachments by which nodes on rmw_zenoh know each other.

As in the design document of rmw_zenoh (github.com/ros2/rmw_zenoh, docs/design.md, 2025): data go to
a key of domain, name, type and type hash; whatever a node has is told by liveliness tokens, whose
text is all there is of them; every message carries 33 bytes that say whose it is.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from struct import Struct
from typing import NamedTuple

from ..errors import InvalidValue
from ..ros_messages import MessageType, ServiceType
from .transport import DEFAULT, Identity, Qos

NODE, PUBLISHER, SUBSCRIPTION, SERVICE = "NN", "MP", "MS", "SS"
"""Kinds of tokens."""
_PREFIX = "@ros2_lv"
_ENCLAVE = "%"
"""Of nodes without security."""
NO_HASH = "TypeHashNotSupported"
"""What Humble has in the place of a type hash."""
_ATTACHMENT = Struct("<qqB16s")
_GID_SIZE = 16


class Endpoint(NamedTuple):
    """What a topic or a service is on zenoh."""

    name: str
    """Full: "/a/b"."""
    type_name: str
    """As DDS has it: "std_msgs::msg::dds_::String_"."""
    type_hash: str

    def key(self, domain: int) -> str:
        """Where its messages or requests go."""
        return f"{domain}/{self.name.strip('/')}/{self.type_name}/{self.type_hash}"


def endpoint(name: str, type_: MessageType | ServiceType) -> Endpoint:
    """The topic or service of a name and a type; without type hash if `ROS_DISTRO` is Humble."""
    humble = os.environ.get("ROS_DISTRO", "").strip().lower() == "humble"
    return Endpoint(name, type_.dds_name, NO_HASH if humble else type_.hash)


def tokens_of(domain: int) -> str:
    """Key expression of all tokens of a domain."""
    return f"{_PREFIX}/{domain}/**"


class Tokens(NamedTuple):
    """Writes the tokens of one node."""

    domain: int
    session: str
    """The id of the session, in hexadecimal digits."""
    identity: Identity

    @property
    def node(self) -> str:
        """The token of the node."""
        return self._text(0, NODE)

    def endpoint(self, number: int, kind: str, end: Endpoint, qos: Qos = DEFAULT) -> str:
        """The token of what the node has; `number` is its own within the node."""
        parts = (_mangled(end.name), end.type_name, end.type_hash, qos_text(qos))
        return "/".join((self._text(number, kind), *parts))

    def _text(self, number: int, kind: str) -> str:
        namespace, name = _mangled(self.identity.namespace or "/"), self.identity.name
        place = f"{_PREFIX}/{self.domain}/{self.session}/0/{number}"
        return f"{place}/{kind}/{_ENCLAVE}/{namespace}/{name}"


class Token(NamedTuple):
    """What a token says."""

    session: str
    node: str
    """Number of the node within the session."""
    kind: str
    identity: Identity
    end: Endpoint | None
    """Of all but nodes."""


def read_token(text: str) -> Token | None:
    """What a token says; None if it is not one of rmw_zenoh."""
    parts = text.split("/")
    if len(parts) not in (9, 13) or parts[0] != _PREFIX:
        return None
    _, _, session, node, _, kind, _, namespace, name = parts[:9]
    end = Endpoint(_plain(parts[9]), parts[10], parts[11]) if len(parts) == 13 else None
    return Token(session, node, kind, Identity(_plain(name), _plain(namespace)), end)


def qos_text(qos: Qos) -> str:
    """Quality of service in a token: what is usual is left out, the depth never is."""
    reliability, durability = "" if qos.reliable else "2", "1" if qos.latched else ""
    return f"{reliability}:{durability}:,{qos.depth}:,:,:,,"


def gid(token: str) -> bytes:
    """The 16 bytes that name an endpoint in its messages, from its token."""
    return blake2b(token.encode(), digest_size=_GID_SIZE).digest()


def attachment(sequence: int, time_ns: int, gid: bytes) -> bytes:
    """What goes with a message: its number, when it was sent, and who sent it."""
    return _ATTACHMENT.pack(sequence, time_ns, _GID_SIZE, gid)


class Sender(NamedTuple):
    """Who sent a message or request, and which of theirs it is."""

    sequence: int
    gid: bytes


def read_attachment(data: bytes | None) -> Sender:
    """Who sent a message; `InvalidValue` if its attachment is not of rmw_zenoh."""
    if data is None:
        raise InvalidValue("no attachment; rmw_zenoh has one of 33 bytes")
    if len(data) != _ATTACHMENT.size or data[16] != _GID_SIZE:
        raise InvalidValue(
            f"attachment {shown(data)} is not one of rmw_zenoh: 8 bytes number, 8 bytes time, "
            "a byte 16, 16 bytes sender"
        )
    sequence, _, _, sender = _ATTACHMENT.unpack(data)
    return Sender(sequence, sender)


def shown(data: bytes) -> str:
    """The beginning of bytes and how many there are."""
    dots = "" if len(data) <= 8 else "..."
    return f"{data[:8].hex(' ')}{dots} ({len(data)} bytes)"


def _mangled(name: str) -> str:
    return name.replace("/", "%")


def _plain(name: str) -> str:
    return name.replace("%", "/")
