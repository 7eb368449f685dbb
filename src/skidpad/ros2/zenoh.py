"""Transport over zenoh: topics, services and the graph in the form of rmw_zenoh.

Liveliness tokens announce nodes and endpoints; keys of messages and requests contain the hash of
the type. An attachment carries number, time and sender of a message. Facts of rmw_zenoh_cpp
(Apache-2.0), observed from outside.
"""

from __future__ import annotations

import atexit
import json
import os
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from itertools import count
from struct import Struct
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.files import shortened
from ..errors import InvalidValue, MissingFile, require
from .dds import DEFAULT, Data, Identity, Qos, Reply, Transport, Types, domain_id, ros_type_name
from .messages.types import MessageType, ServiceType

if TYPE_CHECKING:
    import zenoh

NODE, PUBLISHER, SUBSCRIPTION, SERVICE = "NN", "MP", "MS", "SS"
"""Kinds of liveliness tokens."""
_PREFIX = "@ros2_lv"
_ENCLAVE = "%"
"""Enclave name of nodes without security."""
NO_HASH = "TypeHashNotSupported"
"""Placeholder of Humble for a type hash."""
_ATTACHMENT = Struct("<qqB16s")
_GID_SIZE = 16


class Endpoint(NamedTuple):
    """A topic or a service on zenoh."""

    name: str
    """Full name: "/a/b"."""
    type_name: str
    """Type name in DDS form: "std_msgs::msg::dds_::String_"."""
    type_hash: str

    def key(self, domain: int) -> str:
        """Key expression of its messages or requests."""
        return f"{domain}/{self.name.strip('/')}/{self.type_name}/{self.type_hash}"


def endpoint(name: str, type_: MessageType | ServiceType) -> Endpoint:
    """Topic or service with a name and a type; without type hash if `ROS_DISTRO` is Humble."""
    humble = os.environ.get("ROS_DISTRO", "").strip().lower() == "humble"
    return Endpoint(name, type_.dds_name, NO_HASH if humble else type_.hash)


class Tokens(NamedTuple):
    """Makes the liveliness tokens of one node."""

    domain: int
    session: str
    """Session id in hexadecimal digits."""
    identity: Identity

    @property
    def node(self) -> str:
        """Token of the node."""
        return self._text(0, NODE)

    def endpoint(self, number: int, kind: str, end: Endpoint, qos: Qos = DEFAULT) -> str:
        """Token of an entity of the node; `number` is unique within the node."""
        parts = (_mangled(end.name), end.type_name, end.type_hash, qos_text(qos))
        return "/".join((self._text(number, kind), *parts))

    def _text(self, number: int, kind: str) -> str:
        namespace, name = _mangled(self.identity.namespace or "/"), self.identity.name
        place = f"{_PREFIX}/{self.domain}/{self.session}/0/{number}"
        return f"{place}/{kind}/{_ENCLAVE}/{namespace}/{name}"


class Token(NamedTuple):
    """Content of a liveliness token."""

    session: str
    node: str
    """Number of the node within the session."""
    kind: str
    identity: Identity
    end: Endpoint | None
    """Endpoint; None for the token of a node."""


def read_token(text: str) -> Token | None:
    """Content of a token; None if it does not have the form of rmw_zenoh."""
    parts = text.split("/")
    if len(parts) not in (9, 13) or parts[0] != _PREFIX:
        return None
    _, _, session, node, _, kind, _, namespace, name = parts[:9]
    end = Endpoint(_plain(parts[9]), parts[10], parts[11]) if len(parts) == 13 else None
    return Token(session, node, kind, Identity(_plain(name), _plain(namespace)), end)


def qos_text(qos: Qos) -> str:
    """Quality of service as in a token: defaults are left out, except the depth."""
    reliability, durability = "" if qos.reliable else "2", "1" if qos.latched else ""
    return f"{reliability}:{durability}:,{qos.depth}:,:,:,,"


def gid(token: str) -> bytes:
    """The 16 bytes that identify an endpoint in its messages, from its token."""
    return blake2b(token.encode(), digest_size=_GID_SIZE).digest()


def attachment(sequence: int, time_ns: int, gid: bytes) -> bytes:
    """The attachment of a message: its number, time and sender."""
    return _ATTACHMENT.pack(sequence, time_ns, _GID_SIZE, gid)


class Sender(NamedTuple):
    """Sender of a message or request, and its sequence number."""

    sequence: int
    gid: bytes


def read_attachment(data: bytes | None) -> Sender:
    """Sender of a message; raises InvalidValue unless its attachment has the form of rmw_zenoh."""
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
    """Text with the first bytes of a value and their number, for messages."""
    dots = "" if len(data) <= 8 else "..."
    return f"{data[:8].hex(' ')}{dots} ({len(data)} bytes)"


def _mangled(name: str) -> str:
    return name.replace("/", "%")


def _plain(name: str) -> str:
    return name.replace("%", "/")


class Graph:
    """Live tokens of a domain."""

    def __init__(self) -> None:
        self._alive: dict[str, Token] = {}
        self._subscriptions: Counter[Endpoint] = Counter()
        self._by_name: dict[tuple[str, str], dict[str, Token]] = defaultdict(dict)
        """Endpoints by kind and name."""
        self._lock = Lock()

    def change(self, text: str, *, alive: bool) -> Token | None:
        """Add or remove a token; returns its content if that is a change."""
        token = read_token(text)
        with self._lock:
            if token is None or (text in self._alive) == alive:
                return None
            tables = [self._alive]
            if token.end is not None:
                tables.append(self._by_name[token.kind, token.end.name])
                if token.kind == SUBSCRIPTION:
                    self._subscriptions[token.end] += 1 if alive else -1
            for table in tables:
                if alive:
                    table[text] = token
                else:
                    del table[text]
            if token.end is not None and not tables[1]:
                del self._by_name[token.kind, token.end.name]
        return token

    def subscriptions(self, end: Endpoint) -> int:
        """Number of subscriptions of a topic with its type."""
        with self._lock:
            return self._subscriptions[end]

    def strangers(self, kind: str, end: Endpoint) -> list[Token]:
        """Endpoints of this kind and name that have another type or definition."""
        with self._lock:
            named = self._by_name.get((kind, end.name), {})
            return [token for token in named.values() if token.end != end]

    def nodes(self) -> list[Identity]:
        """All nodes of the domain; a name used by several nodes appears as many times."""
        with self._lock:
            return [token.identity for token in self._alive.values() if token.kind == NODE]


SETTINGS: dict[str, Any] = {
    "mode": "peer",
    "connect/endpoints": ["tcp/localhost:7447"],
    # Without a router the session still opens and keeps trying to connect.
    "connect/timeout_ms": {"router": -1, "peer": -1, "client": 0},
    "connect/exit_on_failure": {"router": False, "peer": False, "client": True},
    "connect/retry": {"period_init_ms": 1000, "period_max_ms": 1000, "period_increase_factor": 1},
    "listen/endpoints": ["tcp/localhost:0"],
    "scouting/multicast/enabled": False,
    "scouting/gossip/enabled": True,
    # Samples kept for late joiners need timestamps.
    "timestamping/enabled": {"router": True, "peer": True, "client": True},
    "queries_default_timeout": 600_000,
}
"""Settings of rmw_zenoh (DEFAULT_RMW_ZENOH_SESSION_CONFIG.json5) that differ from zenoh's own."""
_FILE, _OVERRIDE = "ZENOH_SESSION_CONFIG_URI", "ZENOH_CONFIG_OVERRIDE"


def session_settings() -> zenoh.Config:
    """Session settings: `SETTINGS` or a whole file, with single values overridden."""
    Config = require("zenoh", purpose="The transport zenoh").Config
    path = os.environ.get(_FILE, "").strip()
    if not path:
        config = Config()
        for name, value in SETTINGS.items():
            config.insert_json5(name, json.dumps(value))
    elif not os.path.isfile(path):
        raise MissingFile(f"{_FILE}={path!r}: there is no such file")
    else:
        try:
            config = Config.from_file(path)
        except Exception as error:
            raise InvalidValue(
                f"{_FILE}={path!r} is not a settings file of zenoh: {error}"
            ) from error
    for part in filter(str.strip, os.environ.get(_OVERRIDE, "").split(";")):
        name, _, value = map(str.strip, part.partition("="))
        if not (name and value):
            raise InvalidValue(f"{_OVERRIDE}: {part!r} must be path=value, joined by semicolons")
        try:
            config.insert_json5(name, value)
        except Exception as error:
            raise InvalidValue(
                f"{_OVERRIDE}: {name}={value} is not a setting of zenoh: {error}"
            ) from error
    return config


def places(config: zenoh.Config) -> str:
    """Addresses at which a session looks for a router."""
    endpoints: Any = json.loads(config.get_json("connect/endpoints"))
    # The configuration has one list for all modes, or a list per mode.
    if isinstance(endpoints, dict):
        endpoints = [place for some in endpoints.values() for place in some]
    return ", ".join(map(str, endpoints)) or "nowhere"


ROUTER_PATIENCE = 3.0
"""Time in s without a router after which the user is warned."""
_REQUESTS = 1000
"""Largest number of waiting requests of one service; the oldest are dropped."""
_TOKENS = 10_000
"""Largest number of unread tokens; zenoh blocks beyond it."""
_HEARTBEAT = 0.5
"""Period of the heartbeat of latched messages for late joiners, in s, as in rmw_zenoh."""
_OTHER_SIDE = {
    PUBLISHER: (SUBSCRIPTION, "a subscription to"),
    SUBSCRIPTION: (PUBLISHER, "a publisher of"),
}
"""Kind of the endpoints that an endpoint exchanges messages with, and its text in warnings."""
_SMALLEST = 5
"""Least size of a message in bytes: four of header, and no message is empty."""


class ZenohPublisher:
    def __init__(
        self, transport: ZenohTransport, publisher: Any, end: Endpoint, gid: bytes
    ) -> None:
        self._transport, self._put = transport, publisher.put
        self._end, self._gid, self._numbers = end, gid, count(1)

    def write(self, cdr: Data) -> None:
        """Send a message; it is dropped if the network is congested."""
        data = bytes(cdr) if isinstance(cdr, memoryview) else cdr
        about = attachment(next(self._numbers), time.time_ns(), self._gid)
        try:
            self._put(data, attachment=about)
        except self._transport.error:
            if not self._transport.closed:
                raise

    @property
    def readers(self) -> int:
        """Number of subscriptions of this topic and type, including the node's own."""
        return self._transport.graph.subscriptions(self._end)


class ZenohTransport(Transport):
    """A node's connection over zenoh.

    `ROS_DOMAIN_ID`, `ZENOH_SESSION_CONFIG_URI`, `ZENOH_CONFIG_OVERRIDE` and `ROS_DISTRO` (for
    Humble's keys) are read on construction.
    """

    def __init__(self, identity: Identity) -> None:
        super().__init__(identity)
        self._zenoh = require("zenoh", purpose="The transport zenoh")
        self.error: type[Exception] = self._zenoh.ZError
        self.domain = domain_id()
        self.malformed = 0
        """Number of dropped malformed messages and requests."""
        self.graph = Graph()
        config = session_settings()
        self._places = places(config)
        try:
            self._session: zenoh.Session = self._zenoh.open(config)
        except self.error as error:
            raise InvalidValue(
                f"zenoh cannot open a session that connects to {self._places}: {error}"
            ) from error
        self._opened: float | None = time.monotonic()
        self._tokens = Tokens(self.domain, str(self._session.zid()), identity)
        self._own: list[tuple[str, Endpoint]] = []
        """Endpoints of the node by kind."""
        self._unannounced: list[str] = [self._tokens.node]
        self._announced: list[zenoh.LivelinessToken] = []
        self._numbers = count(1)
        self._kept: list[Any] = []
        """References that keep zenoh from undeclaring the entities."""
        self._threads: list[threading.Thread] = []
        # No thread may be waiting in zenoh when the interpreter ends.
        atexit.register(self.close)
        channel, key = self._zenoh.handlers.FifoChannel(_TOKENS), f"{_PREFIX}/{self.domain}/**"
        tokens = self._session.liveliness().declare_subscriber(key, channel, history=True)
        self._read(tokens, self._token_changed)

    def publisher(self, topic: str, type_: MessageType, qos: Qos) -> ZenohPublisher:
        end = endpoint(topic, type_)
        reliability = self._zenoh.Reliability
        options: dict[str, Any] = {
            "congestion_control": self._zenoh.CongestionControl.DROP,
            "reliability": reliability.RELIABLE if qos.reliable else reliability.BEST_EFFORT,
        }
        key, ext = end.key(self.domain), self._zenoh.ext
        if not qos.latched:
            publisher = self._session.declare_publisher(key, **options)
        else:
            if qos.reliable:
                options["sample_miss_detection"] = ext.MissDetectionConfig(
                    heartbeat=None, sporadic_heartbeat=_HEARTBEAT
                )
            cache = ext.CacheConfig(max_samples=max(1, qos.depth))
            publisher = ext.declare_advanced_publisher(
                self._session, key, cache=cache, publisher_detection=True, **options
            )
        self._kept.append(publisher)
        return ZenohPublisher(self, publisher, end, gid(self._token(PUBLISHER, end, qos)))

    def subscribe(
        self, topic: str, type_: MessageType, qos: Qos, callback: Callable[[bytes], None]
    ) -> None:
        """Call a function with the bytes of every message of a topic, in a separate thread."""
        end = endpoint(topic, type_)
        depth = max(1, qos.depth)
        source = end.key(self.domain), self._zenoh.handlers.RingChannel(depth)
        if not qos.latched:
            subscriber = self._session.declare_subscriber(*source)
        else:
            ext = self._zenoh.ext
            recovery = ext.RecoveryConfig(periodic_queries=None, heartbeat=True)
            subscriber = ext.declare_advanced_subscriber(
                self._session,
                *source,
                history=ext.HistoryConfig(detect_late_publishers=True, max_samples=depth),
                recovery=recovery if qos.reliable else None,
                subscriber_detection=True,
            )

        def take(sample: zenoh.Sample) -> None:
            if sample.kind == self._zenoh.SampleKind.PUT:
                data = sample.payload.to_bytes()
                _checked(data, sample.attachment)
                callback(data)

        self._read(subscriber, take, topic)
        self._token(SUBSCRIPTION, end, qos)

    def serve(self, name: str, type_: ServiceType, handler: Callable[[bytes, Reply], None]) -> None:
        end = endpoint(name, type_)
        key = end.key(self.domain)
        channel = self._zenoh.handlers.RingChannel(_REQUESTS)

        def take(query: zenoh.Query) -> None:
            data = query.payload.to_bytes() if query.payload is not None else b""
            try:
                sender = _checked(data, query.attachment)
            except InvalidValue as error:
                with query:
                    query.reply_err(str(error))
                raise
            # Only the reply holds the query: if the reply is dropped, the query ends and the client
            # does not wait any longer.
            open_query = [query]

            def reply(cdr: Data) -> None:
                about = attachment(sender.sequence, time.time_ns(), sender.gid)
                # A second reply, or a reply after the end, is ignored.
                with suppress(IndexError, self.error), open_query.pop() as asked:
                    asked.reply(key, bytes(cdr), attachment=about)

            handler(data, reply)

        self._read(self._session.declare_queryable(key, channel, complete=True), take, name)
        self._token(SERVICE, end, DEFAULT)

    def announce(self) -> None:
        while self._unannounced:
            token = self._session.liveliness().declare_token(self._unannounced[0])
            self._announced.append(token)
            del self._unannounced[0]

    def look(self) -> None:
        self._look_for_router()
        for kind, end in self._own:
            if kind in _OTHER_SIDE:
                self._look_at_types(end, *_OTHER_SIDE[kind])

    def _look_at_types(self, own: Endpoint, kind: str, who: str) -> None:
        """Warn about peers with other keys, with which no messages are exchanged."""
        for token in self.graph.strangers(kind, own):
            assert token.end is not None
            node = token.identity.full
            hashes = own.type_hash, token.end.type_hash
            if own.type_name == token.end.type_name and NO_HASH in hashes:
                where = "here" if own.type_hash == NO_HASH else "there"
                self.notices.add(
                    ("hash", who, own.name, node),
                    f"{who} {own.name} (node {node}) is not connected: keys have no type hashes "
                    f"{where}, as in Humble, and have some on the other side: set ROS_DISTRO of "
                    "this node to the release of the others",
                )
                continue
            types = Types(ros_type_name(token.end.type_name), ros_type_name(own.type_name))
            self.notices.add_type(node, who, own.name, node, types)

    def close(self) -> None:
        """Leave the graph; waiting requests get no response."""
        if self.closed:
            return
        self.closed = True
        atexit.unregister(self.close)
        for token in reversed(self._announced):
            token.undeclare()
        self._session.close()
        self._kept.clear()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()

    def _token(self, kind: str, end: Endpoint, qos: Qos) -> str:
        """Token of a new endpoint, which the next `announce` declares."""
        text = self._tokens.endpoint(next(self._numbers), kind, end, qos)
        self._unannounced.append(text)
        self._own.append((kind, end))
        return text

    def _read(self, source: Any, take: Callable[[Any], None], name: str = "graph") -> None:
        """Start the thread that calls a function with each item of a channel."""
        # Do not call methods of the source: they would lock it, and it could not be undeclared.
        channel = source.handler
        self._kept.append(source)

        def run() -> None:
            with suppress(self.error):
                while True:
                    item = channel.recv()
                    # Take further items that are available without giving up the interpreter.
                    while item is not None:
                        self._take(take, item, name)
                        item = channel.try_recv()

        thread = threading.Thread(target=run, name=f"zenoh {name}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _take(self, take: Callable[[Any], None], item: Any, name: str) -> None:
        try:
            take(item)
        except InvalidValue as error:
            self.malformed += 1
            text = f"{name}: a message was dropped, and so are others like it: {error}"
            self.notices.add(name, shortened(text, 400))
        except Exception as error:
            text = f"{name}: what takes its messages failed: {error!r}"
            self.notices.add(f"{name} failed", text)

    def _token_changed(self, sample: zenoh.Sample) -> None:
        alive = sample.kind == self._zenoh.SampleKind.PUT
        token = self.graph.change(str(sample.key_expr), alive=alive)
        if token is None or not alive or token.kind != NODE:
            return
        if token.identity.full == self.identity.full and token.session != self._tokens.session:
            self.notices.add(
                "another node",
                f"there is another node {self.identity.full} in domain {self.domain}: give one of "
                "them another name, or both get the commands and write the states",
            )

    def _look_for_router(self) -> None:
        if self.closed or self._opened is None:
            return
        info = self._session.info
        if info.routers_zid() or info.peers_zid():
            self._opened = None
        elif time.monotonic() > self._opened + ROUTER_PATIENCE:
            self._opened = None
            self.notices.add(
                "router",
                f"no zenoh router answers at {self._places}, so nobody hears this node; it keeps "
                "trying. Start one: ros2 run rmw_zenoh_cpp rmw_zenohd",
            )


def _checked(data: bytes, about: zenoh.ZBytes | None) -> Any:
    """Sender of a message; raises InvalidValue unless it has the form of rmw_zenoh."""
    if len(data) < _SMALLEST:
        raise InvalidValue(f"payload {shown(data)} has less than a header and a byte")
    return read_attachment(None if about is None else about.to_bytes())
