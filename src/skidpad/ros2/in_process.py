"""A transport within one process: nodes on an `Exchange`, for closed loops without a network."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence

from ..core.files import brief_repr
from ..errors import InvalidValue
from .arguments import parse_arguments
from .messages.types import MessageType, ServiceType
from .node import Clock, Node
from .transport import Data, Identity, Qos, Reply


class Exchange:
    """Connects the nodes of one process, whose messages arrive at once and in order.

    For closed loops that are reproducible and need no network.
    """

    __repr__ = brief_repr

    def __init__(self) -> None:
        self.readers: dict[str, list[tuple[Qos, Callable[[bytes], None]]]] = defaultdict(list)
        self.latched: dict[str, deque[bytes]] = {}
        self.types: dict[str, str] = {}
        self.services: dict[str, tuple[ServiceType, Callable[[bytes, Reply], None]]] = {}
        self.nodes: list[Identity] = []

    def node(
        self,
        name: str,
        arguments: Sequence[str] = (),
        *,
        namespace: str = "/",
        simulates_time: bool = False,
    ) -> Node:
        """A node on this exchange.

        Args:
            name: name of the node.
            arguments: arguments of ROS, such as ["--ros-args", "-p", "period:=0.02"].
            namespace: namespace of the node, which begins with a slash.
            simulates_time: whether a `Loop` advances its clock; else it is the machine's.
        """
        parsed = parse_arguments(arguments)
        identity = parsed.identity(name, namespace)
        transport = InProcess(identity, self)
        return Node(identity, transport, parsed, Clock(wall=not simulates_time))

    def check_type(self, name: str, type_: MessageType) -> None:
        """Raise if the topic has another type."""
        known = self.types.setdefault(name, type_.name)
        if known != type_.name:
            raise InvalidValue(f"topic {name} is of type {known}, not {type_.name}")

    def call(self, name: str, request: Data, reply: Reply) -> None:
        """Call a service."""
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
    """Whether a writer offers at least the quality a reader requests, as on DDS."""
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
        """The publisher of a topic."""
        self._exchange.check_type(topic, type_)
        return _Publisher(self._exchange, topic, qos)

    def subscribe(
        self, topic: str, type_: MessageType, qos: Qos, callback: Callable[[bytes], None]
    ) -> None:
        """Call a function with the bytes of each message of a topic, in the publisher's thread."""
        self._exchange.check_type(topic, type_)
        self._exchange.readers[topic].append((qos, callback))
        self._own.append((topic, (qos, callback)))
        if qos.latched:
            for data in self._exchange.latched.get(topic, ()):
                callback(data)

    def serve(self, name: str, type_: ServiceType, handler: Callable[[bytes, Reply], None]) -> None:
        """Call a function with each request of a service."""
        self._exchange.services[name] = (type_, handler)
        self._served.append(name)

    def announce(self) -> None:
        """Announce the node to the others on the exchange."""
        if self._identity in self._exchange.nodes:
            self._warnings.append(f"another node is called {self._identity.full} too")
        self._exchange.nodes.append(self._identity)

    def warnings(self) -> list[str]:
        """New warnings, each once."""
        warnings, self._warnings = self._warnings, []
        return warnings

    def close(self) -> None:
        """Leave the exchange."""
        for topic, reader in self._own:
            self._exchange.readers[topic].remove(reader)
        for name in self._served:
            self._exchange.services.pop(name, None)
        if self._identity in self._exchange.nodes:
            self._exchange.nodes.remove(self._identity)
        self._own, self._served = [], []
