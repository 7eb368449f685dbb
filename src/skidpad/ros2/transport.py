"""What carries bytes between a node and others: the one interface of every middleware.

A transport knows types and names and no content. Bytes are CDR with its four bytes of header.
Callbacks come from a thread of the transport and must return at once: `Node` puts what arrives into
a queue, and the thread that simulates answers.

What a user should know, told once.

A transport within one process: for closed loops that are the same each time, and without a
network.

Nodes on one `Exchange` hear each other at once, in the order in which they speak.
"""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Hashable
from typing import NamedTuple, Protocol

from ..core.files import brief_repr
from ..errors import InvalidValue
from .messages.types import MessageType, ServiceType

Data = bytes | bytearray | memoryview
Reply = Callable[[Data], None]
"""Sends the response to one request; from whatever thread, at most once."""


class TypeNotInstalled(InvalidValue):
    """The middleware does not have a type of message or service; a node does without."""


class Qos(NamedTuple):
    """Quality of service in the terms of rmw; history is always keep last."""

    reliable: bool = True
    latched: bool = False
    """Transient local: who comes later gets the last ones too."""
    depth: int = 10


DEFAULT = Qos()
SENSOR = Qos(reliable=False, depth=5)
LATCHED = Qos(latched=True, depth=1)
TF = Qos(depth=100)
TF_STATIC = LATCHED
CLOCK = Qos(reliable=False, depth=1)
PARAMETERS = Qos(depth=1000)


class Identity(NamedTuple):
    """Who a node is."""

    name: str
    namespace: str = "/"
    """Begins with a slash."""

    @property
    def full(self) -> str:
        """As in `ros2 node list`."""
        return f"{self.namespace.rstrip('/')}/{self.name}"


class Publisher(Protocol):
    """Writes messages of one type to one topic."""

    def write(self, cdr: Data) -> None:
        """Send a message. Never waits for a reader; the bytes may change after it returns."""
        ...

    @property
    def readers(self) -> int:
        """How many subscriptions there are at the moment."""
        ...


class Transport(Protocol):
    """A node's connection to a middleware."""

    def publisher(self, topic: str, type_: MessageType, qos: Qos) -> Publisher:
        """What writes to a topic: a full name, "/a/b"."""
        ...

    def subscribe(
        self, topic: str, type_: MessageType, qos: Qos, callback: Callable[[bytes], None]
    ) -> None:
        """Hand the bytes of every message of a topic to a function, in a thread of the transport.

        Malformed messages are dropped and counted.
        """
        ...

    def serve(self, name: str, type_: ServiceType, handler: Callable[[bytes, Reply], None]) -> None:
        """Hand every request of a service to a function, with what sends its response."""
        ...

    def announce(self) -> None:
        """Tell the graph of the node and its endpoints; again after any were added."""
        ...

    def warnings(self) -> list[str]:
        """What a user should know and has not been told: another node of the same name, a client
        that cannot be answered, malformed messages. Each is given once."""
        ...

    def close(self) -> None:
        """Leave; tells the others."""
        ...


class Types(NamedTuple):
    """Types of the two sides of a topic, as "std_msgs/msg/String"."""

    other: str
    own: str


class Notices:
    """Sentences by what they are about; from whatever thread."""

    def __init__(self) -> None:
        self._told: set[Hashable] = set()
        self._waiting: list[str] = []
        self._lock = threading.Lock()

    def tell(self, subject: Hashable, sentence: str) -> None:
        """Keep a sentence until it is asked for, unless there was one about the same."""
        with self._lock:
            if subject not in self._told:
                self._told.add(subject)
                self._waiting.append(sentence)

    def tell_type(self, peer: Hashable, who: str, topic: str, node: str, types: Types) -> None:
        """Tell of a peer that is not connected because of its type.

        Args:
            peer: what it is known by.
            who: "a publisher of" or "a subscription to".
            topic: by its full name.
            node: full name of its node; empty if that is not known.
            types: what it says, and what is said here.
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
        self.tell(
            ("types", who, topic, other, peer), f"{who} {topic}{of_node} is not connected: {reason}"
        )

    def take(self) -> list[str]:
        """The sentences that nobody has seen."""
        with self._lock:
            taken, self._waiting = self._waiting, []
        return taken


class Exchange:
    """What connects transports of one process."""

    __repr__ = brief_repr

    def __init__(self) -> None:
        self.readers: dict[str, list[tuple[Qos, Callable[[bytes], None]]]] = defaultdict(list)
        self.latched: dict[str, deque[bytes]] = {}
        self.types: dict[str, str] = {}
        self.services: dict[str, tuple[ServiceType, Callable[[bytes, Reply], None]]] = {}
        self.nodes: list[Identity] = []

    def topic(self, name: str, type_: MessageType) -> None:
        """Raise if the topic has another type."""
        known = self.types.setdefault(name, type_.name)
        if known != type_.name:
            raise InvalidValue(f"topic {name} is of type {known}, not {type_.name}")

    def call(self, name: str, request: Data, reply: Reply) -> None:
        """Ask a service."""
        if name not in self.services:
            raise InvalidValue(
                f"no service {name}; there are: {', '.join(self.services) or 'none'}"
            )
        self.services[name][1](bytes(request), reply)


class _Publisher:
    def __init__(self, exchange: Exchange, topic: str, qos: Qos) -> None:
        self._exchange, self._topic, self._qos = exchange, topic, qos
        if qos.latched:
            exchange.latched.setdefault(topic, deque(maxlen=qos.depth))

    def write(self, cdr: Data) -> None:
        data = bytes(cdr)
        if self._qos.latched:
            self._exchange.latched[self._topic].append(data)
        for wanted, callback in self._exchange.readers[self._topic]:
            if _match(self._qos, wanted):
                callback(data)

    @property
    def readers(self) -> int:
        wanted = self._exchange.readers[self._topic]
        return sum(_match(self._qos, qos) for qos, _ in wanted)


def _match(offered: Qos, wanted: Qos) -> bool:
    """Whether a reader gets at least what it asks for, as DDS decides."""
    return (offered.reliable or not wanted.reliable) and (offered.latched or not wanted.latched)


class InProcess:
    """The transport of one node on an exchange."""

    __repr__ = brief_repr

    def __init__(self, identity: Identity, exchange: Exchange) -> None:
        self._identity, self._exchange = identity, exchange
        self._own: list[tuple[str, tuple[Qos, Callable[[bytes], None]]]] = []
        self._served: list[str] = []
        self._warnings: list[str] = []

    def publisher(self, topic: str, type_: MessageType, qos: Qos) -> _Publisher:
        """What writes to a topic."""
        self._exchange.topic(topic, type_)
        return _Publisher(self._exchange, topic, qos)

    def subscribe(
        self, topic: str, type_: MessageType, qos: Qos, callback: Callable[[bytes], None]
    ) -> None:
        """Hand the bytes of every message of a topic to a function, in the publisher's thread."""
        self._exchange.topic(topic, type_)
        self._exchange.readers[topic].append((qos, callback))
        self._own.append((topic, (qos, callback)))
        if qos.latched:
            for data in self._exchange.latched.get(topic, ()):
                callback(data)

    def serve(self, name: str, type_: ServiceType, handler: Callable[[bytes, Reply], None]) -> None:
        """Hand every request of a service to a function."""
        self._exchange.services[name] = (type_, handler)
        self._served.append(name)

    def announce(self) -> None:
        """Be known to the others on the exchange."""
        if self._identity in self._exchange.nodes:
            self._warnings.append(f"another node is called {self._identity.full} too")
        self._exchange.nodes.append(self._identity)

    def warnings(self) -> list[str]:
        """What a user should know, once."""
        told, self._warnings = self._warnings, []
        return told

    def close(self) -> None:
        """Leave the exchange."""
        for topic, reader in self._own:
            self._exchange.readers[topic].remove(reader)
        for name in self._served:
            self._exchange.services.pop(name, None)
        if self._identity in self._exchange.nodes:
            self._exchange.nodes.remove(self._identity)
        self._own, self._served = [], []
