"""What carries bytes between a node and others: the one interface of every middleware.

A transport knows types and names and no content. Bytes are CDR with its four bytes of header.
Callbacks come from a thread of the transport and must return at once: `Node` puts what arrives into
a queue, and the thread that simulates answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from ..errors import InvalidValue
from ..ros_messages import MessageType, ServiceType

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
