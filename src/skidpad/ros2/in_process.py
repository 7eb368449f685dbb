"""A transport within one process: for closed loops that are the same each time, and without a
network.

Nodes on one `Exchange` hear each other at once, in the order in which they speak.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable

from ..brief import brief_repr
from ..errors import InvalidValue
from ..ros_messages import MessageType, ServiceType
from .transport import Data, Identity, Qos, Reply


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
