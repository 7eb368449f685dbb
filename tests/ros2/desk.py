"""A node under test with somebody beside it who speaks, listens and asks, within the process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from skidpad.ros2.dds import Identity, Qos
from skidpad.ros2.loop import Exchange, InProcess, Loop, Program
from skidpad.ros2.messages import message_type
from skidpad.ros2.messages.types import service_type
from skidpad.ros2.node import Clock, Node, Topic, parse_arguments


class Desk:
    """A loop of a program and what one does with it.

    Args:
        program: makes the program of a node.
        words: what stands behind `--ros-args`.
        name: of the node.
        lock_step: see `Loop`.
        wall: whether the node's clock is the machine's.
    """

    def __init__(
        self,
        program: Callable[[Node], Program],
        words: Sequence[str] = (),
        name: str = "sim",
        *,
        lock_step: bool = False,
        wall: bool = False,
        namespace: str = "/",
    ) -> None:
        self.exchange = Exchange()
        arguments = parse_arguments(["--ros-args", *words] if words else [])
        identity = arguments.identity(name, namespace)
        transport = InProcess(identity, self.exchange)
        self.node = Node(identity, transport, arguments, Clock(wall=wall))
        self.program: Any = program(self.node)
        self.loop = Loop(self.node, self.program, lock_step=lock_step)
        self.node.announce()
        self._other = InProcess(Identity("other"), self.exchange)
        self._topics: dict[str, Topic] = {}

    def hear(self, topic: str) -> list[Any]:
        """What is published on a topic from now on."""
        type_ = message_type(self.exchange.types[topic])
        messages: list[Any] = []
        qos = Qos(reliable=False, depth=1000)
        self._other.subscribe(topic, type_, qos, lambda data: messages.append(type_.decode(data)))
        return messages

    def hear_all(self) -> dict[str, list[bytes]]:
        """The bytes of everything that is published from now on, by topic."""
        heard: dict[str, list[bytes]] = {}
        for name, type_name in self.exchange.types.items():
            data = heard.setdefault(name, [])
            self._other.subscribe(name, message_type(type_name), Qos(reliable=False), data.append)
        return heard

    def say(
        self, topic: str, message: Any = None, /, *, handle: bool = True, **fields: Any
    ) -> None:
        """Send a message on a topic that the node knows, and let it be handled."""
        type_ = message_type(self.exchange.types[topic])
        record = type_.Record(**fields) if message is None else message
        self._other.publisher(topic, type_, Qos(latched=True)).write(type_.encode(record))
        if handle:
            self.node.handle()

    def ask(self, name: str, **fields: Any) -> Any:
        """The response of a service."""
        type_: Any = self.exchange.services[name][0]
        replies: list[bytes] = []
        request = type_.request.encode(type_.request.Record(**fields))
        self.exchange.call(name, request, lambda cdr: replies.append(bytes(cdr)))
        while not replies:
            assert self.node.handle()
        return type_.response.decode(replies[0])

    def ticks(self, count: int) -> None:
        """So many ticks."""
        for _ in range(count):
            self.loop.tick()


def built(type_name: str, **fields: Any) -> Any:
    """A message, its fields given by dotted paths with `__` for the dot."""
    record = message_type(type_name).Record()
    for path, value in fields.items():
        record = _replaced(record, path.split("__"), value)
    return record


def _replaced(record: Any, path: list[str], value: Any) -> Any:
    inner = value if len(path) == 1 else _replaced(getattr(record, path[0]), path[1:], value)
    return record._replace(**{path[0]: inner})


def request(service: str, **fields: Any) -> dict[str, Any]:
    """The fields of a request, given as for `built`."""
    record: Any = service_type(service).request.Record()
    for path, value in fields.items():
        record = _replaced(record, path.split("__"), value)
    return record._asdict()
