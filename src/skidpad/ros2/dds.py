"""Names, settings, types and the discovery message of ROS 2 on DDS, as in the rmw packages.

Facts of rmw_cyclonedds_cpp and rmw_dds_common (Apache-2.0), observed from outside. Cyclone checks
each sample against the structure of its type; the values stay CDR bytes, without objects. A Gid in
`ros_discovery_info` has 24 bytes up to Humble, the last 8 of them zero, and 16 since Iron.

`Transport` is the interface between a node and any middleware, with qualities of service and
notices. A transport knows types and names but no content. Bytes are CDR with its four bytes of
header. Callbacks come from a thread of the transport and must return immediately: `Node` puts
arriving messages into a queue, which the simulating thread empties.
"""

from __future__ import annotations

import ctypes
import os
import re
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, Literal, NamedTuple, Protocol

from ..errors import InvalidValue, require
from .messages.codec import Field, Shape, Structure
from .messages.types import MessageType, ServiceType, message, message_type

Data = bytes | bytearray | memoryview
Reply = Callable[[Data], None]
"""Function that sends the response to one request, from any thread, at most once."""


class TypeNotInstalled(InvalidValue):
    """The middleware lacks a message or service type; the node works without it."""


class Qos(NamedTuple):
    """Quality of service in the terms of rmw; history is always keep last."""

    reliable: bool = True
    latched: bool = False
    """Transient local: later subscribers get the last messages too."""
    depth: int = 10


DEFAULT = Qos()
SENSOR = Qos(reliable=False, depth=5)
LATCHED = Qos(latched=True, depth=1)
TF = Qos(depth=100)
TF_STATIC = LATCHED
CLOCK = Qos(reliable=False, depth=1)
PARAMETERS = Qos(depth=1000)


class Identity(NamedTuple):
    name: str
    namespace: str = "/"
    """Namespace with its leading slash."""

    @property
    def full(self) -> str:
        """Full name, as in `ros2 node list`."""
        return f"{self.namespace.rstrip('/')}/{self.name}"


class Publisher(Protocol):
    """Publisher: writes messages of one type to one topic."""

    def write(self, cdr: Data) -> None:
        """Send a message without waiting for readers; the bytes may change after it returns."""
        ...

    @property
    def readers(self) -> int:
        """Number of subscriptions at present."""
        ...


class Types(NamedTuple):
    """Types of both sides of a topic, such as "std_msgs/msg/String"."""

    other: str
    own: str


class Notices:
    """Collects warnings, one for each subject; usable from any thread."""

    def __init__(self) -> None:
        self._subjects: set[Hashable] = set()
        self._waiting: list[str] = []
        self._lock = threading.Lock()

    def add(self, subject: Hashable, sentence: str) -> None:
        """Store a sentence until `take`, unless one on the same subject has already been added."""
        with self._lock:
            if subject not in self._subjects:
                self._subjects.add(subject)
                self._waiting.append(sentence)

    def add_type(self, peer: Hashable, who: str, topic: str, node: str, types: Types) -> None:
        """Add a warning about a peer that is not connected because of its type.

        Args:
            peer: identity of the peer.
            who: "a publisher of" or "a subscription to".
            topic: full name of the topic.
            node: full name of the peer's node; empty if unknown.
            types: the types of the peer and of this node.
        """
        other, own = types
        package = own.partition("/")[0]
        reason = (
            f"its type is {other}, and here it is {own}: change one of them, or remap the topic of "
            "one"
            if other != own
            else f"its definition of {own} is another one than here: build it against the version "
            f"of {package} that the rest of the system has, or remap the topic of one"
        )
        of_node = f" (node {node})" if node else ""
        self.add(
            ("types", who, topic, other, peer), f"{who} {topic}{of_node} is not connected: {reason}"
        )

    def take(self) -> list[str]:
        """Return the sentences added since the last call."""
        with self._lock:
            taken, self._waiting = self._waiting, []
        return taken


class Transport(ABC):
    """A node's connection to a middleware; base of all transports."""

    def __init__(self, identity: Identity) -> None:
        self.identity, self.notices, self.closed = identity, Notices(), False

    @abstractmethod
    def publisher(self, topic: str, type_: MessageType, qos: Qos) -> Publisher:
        """Create the publisher of a topic with the full name "/a/b"."""

    @abstractmethod
    def subscribe(
        self, topic: str, type_: MessageType, qos: Qos, callback: Callable[[bytes], None]
    ) -> None:
        """Call a function with the bytes of each message of a topic, in a thread of the transport.

        Malformed messages are dropped and counted.
        """

    @abstractmethod
    def serve(self, name: str, type_: ServiceType, handler: Callable[[bytes, Reply], None]) -> None:
        """Call a function with each request of a service and a function that sends its response."""

    def announce(self) -> None:  # noqa: B027  not all transports need it
        """Announce the node and its endpoints in the graph; repeat after adding endpoints."""

    def look(self) -> None:  # noqa: B027  not all transports need it
        """Look for peers that the user should be warned about."""

    def warnings(self) -> list[str]:
        """New warnings for the user, each once: another node of the same name, a client that cannot
        be answered, malformed messages and so on."""
        self.look()
        return self.notices.take()

    @abstractmethod
    def close(self) -> None:
        """Leave the graph and notify the other nodes."""


FAST_DDS = bytes([0x01, 0x0F])
"""First bytes of the GUIDs of eProsima's Fast DDS: the vendor id of the DDS standard."""
HUMBLE_GID, IRON_GID = 24, 16
"""Bytes of a Gid in `ros_discovery_info`: up to Humble, and since Iron."""

_NAME = re.compile(r"(/[A-Za-z_]\w*)+", re.ASCII)
_UP_TO_HUMBLE = ("dashing", "eloquent", "foxy", "galactic", "humble")
_SINCE_IRON = ("iron", "jazzy", "kilted", "lyrical", "rolling")


def topic_name(name: str, kind: Literal["topic", "request", "reply"] = "topic") -> str:
    """Name of the DDS topic for a ROS topic, "/a/b" becomes "rt/a/b", or for a service."""
    parts = {"topic": ("rt", ""), "request": ("rq", "Request"), "reply": ("rr", "Reply")}
    prefix, suffix = parts[kind]
    if not _NAME.fullmatch(name):
        raise InvalidValue(
            f"{'topic' if kind == 'topic' else 'service'} {name!r} is not a full name: each part "
            "begins with a slash, then a letter or an underscore, then letters, digits and "
            "underscores"
        )
    return f"{prefix}{name}{suffix}"


def ros_type_name(name: str) -> str:
    """ROS name of a DDS type: "std_msgs::msg::dds_::String_" becomes "std_msgs/msg/String"."""
    return name.replace("::dds_::", "::").removesuffix("_").replace("::", "/")


def user_data(pairs: Mapping[str, str]) -> bytes:
    """Encode pairs as user data of endpoints, as rmw does: "key=value;"."""
    return "".join(f"{key}={value};" for key, value in pairs.items()).encode("ascii")


def user_pairs(data: bytes) -> dict[str, str]:
    """Decode the pairs in user data; other parts are ignored."""
    parts = data.decode("latin-1").split(";")
    return dict(part.split("=", 1) for part in parts if "=" in part)


def endpoint_id(participant: bytes, number: int) -> str:
    """A `serviceid` or `clientid`: 12 bytes of a participant's GUID and a number."""
    return ".".join(f"{byte:x}" for byte in participant[:12] + number.to_bytes(4, "big"))


def gid_size(distribution: str, others: list[dict[str, str]]) -> int:
    """Size of a Gid in bytes that is safe to send.

    Processes of Humble on Fast DDS end with `std::bad_alloc` when they read the short form; later
    ones read the long form as an empty list. So it is long unless ROS_DISTRO says otherwise, or all
    writers of `ros_discovery_info` (`others`: their user data) have a type hash, as since Iron.
    """
    if distribution in _UP_TO_HUMBLE + _SINCE_IRON:
        return IRON_GID if distribution in _SINCE_IRON else HUMBLE_GID
    modern = bool(others) and all("typehash" in pairs for pairs in others)
    return IRON_GID if modern else HUMBLE_GID


LARGEST_DOMAIN = 232
"""Largest domain whose ports are valid."""


def domain_id(environment: Mapping[str, str] | None = None) -> int:
    """Domain from `ROS_DOMAIN_ID` in `environment`, by default the variables of the process; 0 by
    default."""
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
# Only participants with the same tag discover each other.
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
"""XML fragments by value of ROS_AUTOMATIC_DISCOVERY_RANGE."""


class Settings(NamedTuple):
    """Settings of a DDS domain."""

    domain: int
    xml: str
    """Cyclone's configuration: the default fragment, then a comma and the user's fragment."""


def settings_of(environment: Mapping[str, str]) -> Settings:
    places = _PLACES[_range(environment)]
    own = f'<CycloneDDS><Domain id="any">{places}{_COMPATIBILITY}</Domain></CycloneDDS>'
    users = environment.get("CYCLONEDDS_URI", "").strip()
    if not users.isascii():
        raise InvalidValue(f"CYCLONEDDS_URI is {users!r}: Cyclone DDS takes ASCII characters only")
    return Settings(domain_id(environment), f"{own},{users}" if users else own)


def _range(environment: Mapping[str, str]) -> str:
    """Discovery range set in the environment; ROS_LOCALHOST_ONLY precedes the variable introduced
    by Iron.
    """
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
"""Log mask of Cyclone: fatal messages and errors."""


class Calls(NamedTuple):
    """C functions that the Python binding wraps differently or not at all."""

    attach: Any
    """Arguments: wait set, entity, and a number that identifies it."""
    wait: Any
    """Arguments: wait set, output buffer, its size, and timeout in ns. Returns how many are
    triggered."""


def cyclone(module: str) -> Any:
    return require(f"cyclonedds.{module}", purpose="ROS 2 over DDS")


@cache
def calls() -> Calls:
    """Functions of the C library that release the interpreter lock while they run."""
    library = cyclone("internal").DDS._dll_handle
    # New function objects, since the binding has set other argument types on the shared ones.
    attach, wait = library["dds_waitset_attach"], library["dds_waitset_wait"]
    attach.argtypes = [ctypes.c_int32, ctypes.c_int32, ctypes.c_ssize_t]
    wait.argtypes = [
        *(ctypes.c_int32, ctypes.POINTER(ctypes.c_ssize_t)),
        *(ctypes.c_size_t, ctypes.c_int64),
    ]
    return Calls(attach, wait)


@cache
def prepare_library() -> None:
    """Keep Cyclone from logging every malformed packet, and forks from deleting entities.

    A forked process would wait at its end for threads that it does not have.
    """
    set_mask = cyclone("internal").DDS._dll_handle["dds_set_log_mask"]
    set_mask.argtypes = [ctypes.c_uint32]
    set_mask(_ERRORS)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=cyclone("core").Entity._entities.clear)


def delete(entity: Any) -> None:
    """Delete an entity immediately, despite references to it; a second call does nothing."""
    entity.__del__()


SERVICE_HEADER = 16
"""Size in bytes of the header of requests and responses of rmw_cyclonedds: client, sequence
number."""
LITTLE_ENDIAN = b"\x00\x01"
"""First bytes of plain CDR; Cyclone converts data of the other byte order to this one."""
GRAPH_TYPE = "rmw_dds_common::msg::dds_::ParticipantEntitiesInfo_"


@cache
def sample_type(type_: MessageType, service: bool = False) -> Any:
    """Class of samples of a type, made from bytes, with its bytes as `data`.

    For a service, with the header that rmw_cyclonedds puts before the fields.
    """
    types = cyclone("idl.types")
    header = {"client_guid": types.uint64, "sequence_number": types.int64} if service else {}
    fields = {field.name: _annotation(field) for field in type_.fields}
    return _holding_bytes(_structure(type_.dds_name, {**header, **fields}))


@cache
def graph_sample_type() -> Any:
    """Class of samples of `ros_discovery_info`.

    Only the common beginning of both forms is declared, and further bytes are accepted: a topic has
    one structure, and peers may use either form.
    """
    types = cyclone("idl.types")
    return _holding_bytes(_structure(GRAPH_TYPE, {"gid": types.array[types.uint8, 16]}))


def _structure(dds_name: str, fields: dict[str, Any]) -> Any:
    """Structure class of the binding; ROS types are "final", which allows no further members."""
    idl = cyclone("idl")
    made = idl.make_idl_struct(
        dds_name.replace("::", "_"), dds_name.replace("::", "."), fields, dataclassify=False
    )
    return cyclone("idl.annotations").final(made)


def _holding_bytes(structure: Any) -> Any:
    def keep(self: Any, data: bytes) -> None:
        self.data = data

    def from_bytes(kind: Any, data: bytes, **_form: Any) -> Any:
        return kind(data)

    # Not by inheritance, since the binding treats every base class as a structure.
    structure.__init__, structure.serialize = keep, lambda self, **_form: self.data
    structure.deserialize = structure.deserialize_key = classmethod(from_bytes)
    return structure


@cache
def _nested(type_: Structure) -> Any:
    return _structure(type_.dds_name, {field.name: _annotation(field) for field in type_.fields})


def _annotation(field: Field) -> Any:
    types = cyclone("idl.types")
    if field.nested is not None:
        one = _nested(field.nested)
    elif field.base == "string":
        one = types.bounded_str[field.text_size] if field.text_size else str
    else:
        # `char` of ROS 2 is a number; `byte` is one too, and on the wire all three are the same.
        name = "uint8" if field.base in ("char", "byte") else field.base
        one = bool if name == "bool" else getattr(types, name, None)
        if one is None:
            raise InvalidValue(f"{field.name}: {field.base} cannot be sent over DDS")
    if field.shape is Shape.ONE:
        return one
    if field.shape is Shape.ARRAY:
        return types.array[one, field.size]
    return types.sequence[one, field.size] if field.shape is Shape.BOUNDED else types.sequence[one]


TOPIC = "ros_discovery_info"
GUID = 16
"""Bytes of an identity on DDS."""


class NodeEntities(NamedTuple):
    """Node of a participant with the GUIDs of its endpoints."""

    identity: Identity
    readers: tuple[bytes, ...] = ()
    writers: tuple[bytes, ...] = ()


class DiscoveryInfo(NamedTuple):
    """A participant, by its GUID, and its nodes."""

    participant: bytes
    nodes: tuple[NodeEntities, ...] = ()


def encoded_info(info: DiscoveryInfo, gid_size: int) -> bytes:
    """Encode the message as CDR, with Gids of 16 or 24 bytes."""

    def gids(*guids: bytes) -> list[Any]:
        return [(guid.ljust(gid_size, b"\0"),) for guid in guids]

    nodes = [
        (who.namespace, who.name, gids(*readers), gids(*writers))
        for who, readers, writers in info.nodes
    ]
    type_ = _info_type(gid_size)
    return type_.encode(message(type_, *gids(info.participant), nodes))


def decoded_info(data: bytes) -> DiscoveryInfo:
    """Decode the message from CDR of either form; raises InvalidValue for other data."""
    for gid_size in (HUMBLE_GID, IRON_GID):
        with suppress(InvalidValue):
            gid, nodes = _info_type(gid_size).decode(data)
            entities = [
                NodeEntities(Identity(name, space), *(tuple(map(_guid, gids)) for gids in both))
                for space, name, *both in nodes
            ]
            return DiscoveryInfo(_guid(gid), tuple(entities))
    raise InvalidValue(f"{TOPIC}: {len(data)} bytes are not a list of nodes")


def _info_type(gid_size: int) -> MessageType:
    name = "rmw_dds_common/msg/ParticipantEntitiesInfo"
    return message_type(name, humble=gid_size == HUMBLE_GID)


def _guid(gid: Any) -> bytes:
    """GUID at the start of a Gid, whose remaining bytes must be zero."""
    data = bytes(gid.data)
    if any(data[GUID:]):
        raise InvalidValue(f"{data.hex()} is no Gid")
    return data[:GUID]
