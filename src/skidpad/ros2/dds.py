"""Names, settings, types and the discovery message of ROS 2 on DDS, as in the rmw packages.

Facts of rmw_cyclonedds_cpp and rmw_dds_common (Apache-2.0), seen from outside. Cyclone checks each
sample against the structure of its type; the values stay CDR, without objects. A Gid in
`ros_discovery_info` has 24 bytes up to Humble, the last 8 of them zero, and 16 since Iron.
"""

from __future__ import annotations

import ctypes
import os
import re
import struct
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from ..errors import InvalidValue, require
from .messages.codec import Field, Shape, Structure
from .messages.types import MessageType
from .transport import Identity

FAST_DDS = bytes([0x01, 0x0F])
"""First bytes of the GUIDs of eProsima's Fast DDS: the vendor id of the DDS standard."""
HUMBLE_GID, IRON_GID = 24, 16
"""Bytes of a Gid in `ros_discovery_info`: up to Humble, and since Iron."""

_NAME = re.compile(r"(/[A-Za-z_]\w*)+", re.ASCII)
_UP_TO_HUMBLE = ("dashing", "eloquent", "foxy", "galactic", "humble")
_SINCE_IRON = ("iron", "jazzy", "kilted", "lyrical", "rolling")


def topic_name(topic: str) -> str:
    """The DDS topic of a topic of ROS: "/a/b" is "rt/a/b"."""
    return f"rt{_checked(topic, 'topic')}"


def request_name(service: str) -> str:
    """The DDS topic of the requests of a service."""
    return f"rq{_checked(service, 'service')}Request"


def reply_name(service: str) -> str:
    """The DDS topic of the replies of a service."""
    return f"rr{_checked(service, 'service')}Reply"


def ros_type_name(name: str) -> str:
    """A type of DDS as ROS names it: "std_msgs::msg::dds_::String_" is "std_msgs/msg/String"."""
    return name.replace("::dds_::", "::").removesuffix("_").replace("::", "/")


def user_data(pairs: Mapping[str, str]) -> bytes:
    """Pairs as rmw writes them into the user data of endpoints: "key=value;"."""
    return "".join(f"{key}={value};" for key, value in pairs.items()).encode("ascii")


def user_pairs(data: bytes) -> dict[str, str]:
    """The pairs in user data; other parts are left out."""
    parts = data.decode("latin-1").split(";")
    return dict(part.split("=", 1) for part in parts if "=" in part)


def endpoint_id(participant: bytes, number: int) -> str:
    """A `serviceid` or `clientid`: 12 bytes of a participant's GUID and a number."""
    return ".".join(f"{byte:x}" for byte in participant[:12] + number.to_bytes(4, "big"))


def gid_size(distribution: str, others: list[dict[str, str]]) -> int:
    """Bytes of a Gid that is safe to send.

    Processes of Humble on Fast DDS end with `std::bad_alloc` when they read the short form; to
    later ones the long form is an empty list. So it is long unless ROS_DISTRO says otherwise, or
    all writers of `ros_discovery_info` (`others`: their user data) have a type hash, as since Iron.
    """
    if distribution in _UP_TO_HUMBLE + _SINCE_IRON:
        return IRON_GID if distribution in _SINCE_IRON else HUMBLE_GID
    modern = bool(others) and all("typehash" in pairs for pairs in others)
    return IRON_GID if modern else HUMBLE_GID


def _checked(name: str, kind: str) -> str:
    if not _NAME.fullmatch(name):
        raise InvalidValue(
            f"{kind} {name!r} is no full name: each part begins with a slash, "
            "then a letter or an underscore, then letters, digits and underscores"
        )
    return name


LARGEST_DOMAIN = 232
"""Largest domain whose ports are valid."""


def domain_id(environment: Mapping[str, str] | None = None) -> int:
    """The domain of `ROS_DOMAIN_ID` in these variables or those of the process, by default 0."""
    variables = os.environ if environment is None else environment
    text = variables.get("ROS_DOMAIN_ID", "").strip() or "0"
    if not (text.isascii() and text.isdecimal() and int(text) <= LARGEST_DOMAIN):
        raise InvalidValue(
            f"ROS_DOMAIN_ID is {text!r}, but must be a whole number from 0 to {LARGEST_DOMAIN}"
        )
    return int(text)


# Fast DDS 3 announces its types in a form that Cyclone asks for, does not understand, and then
# silently does not match; 1.15 is the vendor id of its maker, eProsima.
_COMPATIBILITY = (
    "<Compatibility><IgnoreTypeInformation>1.15</IgnoreTypeInformation></Compatibility>"
)
# Processes on this machine are found by messages to each port that one may have, as ROS 2 does
# since Iron, and by multicast on the loopback interface, as Fast DDS of Humble does.
_LOOPBACK = (
    '<General><Interfaces><NetworkInterface address="127.0.0.1" multicast="true"/></Interfaces>'
    "</General><Discovery><SPDPInterval>1s</SPDPInterval><ParticipantIndex>auto</ParticipantIndex>"
    "<MaxAutoParticipantIndex>32</MaxAutoParticipantIndex>"
    '<Peers><Peer address="localhost"/></Peers></Discovery>'
)
# Only those with the same tag find each other.
_OFF = (
    "<General><AllowMulticast>false</AllowMulticast></General>"
    "<Discovery><Tag>skidpad_off_{process}</Tag></Discovery>"
)
_PLACES = {
    "SUBNET": "",
    "SYSTEM_DEFAULT": "",
    "LOCALHOST": _LOOPBACK,
    "OFF": _OFF.format(process=os.getpid()),
}
"""Fragments by value of ROS_AUTOMATIC_DISCOVERY_RANGE."""


class Settings(NamedTuple):
    """The settings of a domain."""

    domain: int
    xml: str
    """Fragments of Cyclone's configuration: the default, and after a comma the user's."""


def settings_of(environment: Mapping[str, str]) -> Settings:
    """The settings from environment variables."""
    places = _PLACES[_range(environment)]
    own = f'<CycloneDDS><Domain id="any">{places}{_COMPATIBILITY}</Domain></CycloneDDS>'
    users = environment.get("CYCLONEDDS_URI", "").strip()
    if not users.isascii():
        raise InvalidValue(f"CYCLONEDDS_URI is {users!r}: Cyclone DDS takes ASCII characters only")
    return Settings(domain_id(environment), f"{own},{users}" if users else own)


def _range(environment: Mapping[str, str]) -> str:
    """The range of discovery; ROS_LOCALHOST_ONLY takes precedence over the variable of Iron."""
    localhost = environment.get("ROS_LOCALHOST_ONLY", "").strip() or "0"
    if localhost not in ("0", "1"):
        raise InvalidValue(f"ROS_LOCALHOST_ONLY is {localhost!r}, but must be 0 or 1")
    wide = environment.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "").strip() or "SUBNET"
    if wide not in _PLACES:
        raise InvalidValue(
            f"ROS_AUTOMATIC_DISCOVERY_RANGE is {wide!r}, but must be one of {', '.join(_PLACES)}"
        )
    return "LOCALHOST" if localhost == "1" else wide


_ERRORS = 3
"""Mask of Cyclone's log: fatal lines and errors."""


class Calls(NamedTuple):
    """Functions of the C library that its binding has in another form, or not at all."""

    attach: Any
    """Wait set, entity and a number to know it by."""
    wait: Any
    """Wait set, room for numbers, how much, and ns to wait at most; returns how many are due."""


def cyclone(module: str) -> Any:
    """A module of the binding."""
    return require(f"cyclonedds.{module}", purpose="ROS 2 over DDS")


@cache
def calls() -> Calls:
    """Functions of the C library, without the lock of the interpreter while they run."""
    library = cyclone("internal").DDS._dll_handle
    # Its own function objects: the binding has set other argument types on the shared ones.
    attach, wait = library["dds_waitset_attach"], library["dds_waitset_wait"]
    attach.argtypes = [ctypes.c_int32, ctypes.c_int32, ctypes.c_ssize_t]
    wait.argtypes = [
        *(ctypes.c_int32, ctypes.POINTER(ctypes.c_ssize_t)),
        *(ctypes.c_size_t, ctypes.c_int64),
    ]
    return Calls(attach, wait)


@cache
def leave_to_the_parent() -> None:
    """Let forks delete nothing when they end: they would wait for threads that they have not."""
    entities = cyclone("core").Entity._entities
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=entities.clear)


def silence() -> None:
    """Keep Cyclone from logging each malformed packet."""
    set_mask = cyclone("internal").DDS._dll_handle["dds_set_log_mask"]
    set_mask.argtypes = [ctypes.c_uint32]
    set_mask(_ERRORS)


def delete(entity: Any) -> None:
    """Delete an entity now, in spite of references to it; a second call does nothing."""
    entity.__del__()


SERVICE_HEADER = 16
"""Bytes in front of requests and responses of rmw_cyclonedds: client and sequence number."""
LITTLE_ENDIAN = b"\x00\x01"
"""Beginning of plain CDR; Cyclone converts data of the other byte order to this one."""
GRAPH_TYPE = "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_"


@cache
def sample_type(type_: MessageType, service: bool = False) -> Any:
    """The class of samples of a type, made from bytes, with its bytes as `data`.

    Of a service: with the header that rmw_cyclonedds has in front of the fields.
    """
    types = cyclone("idl.types")
    header = {"client_guid": types.uint64, "sequence_number": types.int64} if service else {}
    fields = {field.name: _annotation(field) for field in type_.fields}
    return _holding_bytes(_structure(type_.dds_name, {**header, **fields}))


@cache
def graph_sample_type() -> Any:
    """The class of samples of `ros_discovery_info`.

    Only what both of its forms begin with is declared, and more is let through: a topic has one
    structure, and neighbours may have either form.
    """
    types = cyclone("idl.types")
    return _holding_bytes(_structure(GRAPH_TYPE, {"gid": types.array[types.uint8, 16]}))


def _structure(dds_name: str, fields: dict[str, Any]) -> Any:
    """A class of the binding; values of every type in ROS are "final", without room for more."""
    idl = cyclone("idl")
    made = idl.make_idl_struct(
        dds_name.replace("::", "_"), dds_name.replace("::", "."), fields, dataclassify=False
    )
    return cyclone("idl.annotations").final(made)


def _holding_bytes(structure: Any) -> Any:
    # Not by inheritance: the binding takes every base class for a structure.
    structure.__init__ = _keep
    structure.serialize = _kept
    structure.deserialize = structure.deserialize_key = classmethod(_from_bytes)
    return structure


def _keep(self: Any, data: bytes) -> None:
    self.data = data


def _kept(self: Any, **_form: Any) -> bytes:
    return self.data


def _from_bytes(kind: Any, data: bytes, **_form: Any) -> Any:
    return kind(data)


@cache
def _nested(type_: Structure) -> Any:
    return _structure(type_.dds_name, {field.name: _annotation(field) for field in type_.fields})


def _annotation(field: Field) -> Any:
    types = cyclone("idl.types")
    one = _value(field)
    if field.shape is Shape.ONE:
        return one
    if field.shape is Shape.ARRAY:
        return types.array[one, field.size]
    return types.sequence[one, field.size] if field.shape is Shape.BOUNDED else types.sequence[one]


def _value(field: Field) -> Any:
    types = cyclone("idl.types")
    if field.nested is not None:
        return _nested(field.nested)
    if field.base == "string":
        return types.bounded_str[field.text_size] if field.text_size else str
    if field.base == "bool":
        return bool
    # `char` of ROS 2 is a number; `byte` is one too, and on the wire all three are the same.
    name = "uint8" if field.base in ("char", "byte") else field.base
    kind = getattr(types, name, None)
    if kind is None:
        raise InvalidValue(f"{field.name}: {field.base} has no form on DDS")
    return kind


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
    """The message from CDR of either form; raises for other data."""
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
    """Reads one form; raises the errors of `struct`, indices and UTF-8 for other data."""

    def __init__(self, body: bytes, gid_size: int) -> None:
        self.body, self.gid_size, self.place = body, gid_size, 0

    def info(self) -> DiscoveryInfo:
        participant = self._gid()
        nodes = [self._node() for _ in range(self._count(least=16))]
        return DiscoveryInfo(participant, tuple(nodes))

    def at_end(self) -> bool:
        """Whether only padding to a multiple of 4 follows."""
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
        """A count of elements of at least `least` bytes each, which must fit into the rest."""
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
