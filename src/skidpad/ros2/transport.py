"""`Transport`: the interface of every middleware to a node, with qualities of service and notices.

A transport knows types and names but no content. Bytes are CDR with its four bytes of header.
Callbacks come from a thread of the transport and must return at once: `Node` puts arriving messages
into a queue, which the thread that simulates empties.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import NamedTuple, Protocol

from ..errors import InvalidValue
from .messages.types import MessageType, ServiceType

Data = bytes | bytearray | memoryview
Reply = Callable[[Data], None]
"""Sends the response to one request, from any thread, at most once."""


class TypeNotInstalled(InvalidValue):
    """The middleware lacks a type of message or service; the node works without it."""


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
    """Name and namespace of a node."""

    name: str
    namespace: str = "/"
    """Begins with a slash."""

    @property
    def full(self) -> str:
        """The full name, as in `ros2 node list`."""
        return f"{self.namespace.rstrip('/')}/{self.name}"


class Publisher(Protocol):
    """Writes messages of one type to one topic."""

    def write(self, cdr: Data) -> None:
        """Send a message without waiting for readers; the bytes may change after it returns."""
        ...

    @property
    def readers(self) -> int:
        """Number of subscriptions at present."""
        ...


class Transport(Protocol):
    """A node's connection to a middleware."""

    def publisher(self, topic: str, type_: MessageType, qos: Qos) -> Publisher:
        """The publisher of a topic with the full name "/a/b"."""
        ...

    def subscribe(
        self, topic: str, type_: MessageType, qos: Qos, callback: Callable[[bytes], None]
    ) -> None:
        """Call a function with the bytes of each message of a topic, in a thread of the transport.

        Malformed messages are dropped and counted.
        """
        ...

    def serve(self, name: str, type_: ServiceType, handler: Callable[[bytes, Reply], None]) -> None:
        """Call a function with each request of a service, and with the sender of its response."""
        ...

    def announce(self) -> None:
        """Announce the node and its endpoints in the graph; again after endpoints were added."""
        ...

    def warnings(self) -> list[str]:
        """New warnings for the user, each once: another node of the same name, a client that cannot
        be answered, malformed messages."""
        ...

    def close(self) -> None:
        """Leave the graph and notify the other nodes."""
        ...


class Types(NamedTuple):
    """Types of the two sides of a topic, such as "std_msgs/msg/String"."""

    other: str
    own: str


class Notices:
    """Warnings, one for each subject; usable from any thread."""

    def __init__(self) -> None:
        self._subjects: set[Hashable] = set()
        self._waiting: list[str] = []
        self._lock = threading.Lock()

    def add(self, subject: Hashable, sentence: str) -> None:
        """Store a sentence until `take`, unless there was one on the same subject."""
        with self._lock:
            if subject not in self._subjects:
                self._subjects.add(subject)
                self._waiting.append(sentence)

    def add_type(self, peer: Hashable, who: str, topic: str, node: str, types: Types) -> None:
        """Add a warning about a peer that is not connected because of its type.

        Args:
            peer: its identity.
            who: "a publisher of" or "a subscription to".
            topic: full name of the topic.
            node: full name of its node; empty if unknown.
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
        """The sentences since the last call."""
        with self._lock:
            taken, self._waiting = self._waiting, []
        return taken
