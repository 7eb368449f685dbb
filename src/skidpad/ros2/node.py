"""A node of ROS 2 on any transport: topics, services, parameters, clock and inbox.

All of it runs in the simulating thread. Arriving messages wait in an inbox until `handle`.
"""

from __future__ import annotations

import itertools
import sys
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..core.files import brief_repr
from ..errors import SkidpadError
from ..units import one, s
from .arguments import Parameters, RosArguments, remapped
from .dds import (
    DEFAULT,
    LATCHED,
    Data,
    Identity,
    Publisher,
    Qos,
    Reply,
    Transport,
    TypeNotInstalled,
)
from .messages.types import MessageType, message_type, service_type

if TYPE_CHECKING:
    from ..view.recording.bags import BagWriter


class Channel:
    """A source of messages: a subscription or a service.

    Args:
        handle: called with each message, in the simulating thread.
        depth: largest number of waiting messages; the oldest are dropped.
        name: name of the topic or service.
    """

    def __init__(self, handle: Callable[[Any], None], depth: int, name: str = "") -> None:
        self.handle, self.depth, self.name = handle, depth, name
        self.waiting: deque[int] = deque()
        """Numbers of its entries in the inbox."""


class Inbox:
    """Unhandled messages in the order of arrival.

    Threads of a transport fill it, the simulating thread empties it. A flooded channel drops its
    own oldest messages, never those of other channels.
    """

    def __init__(self) -> None:
        self._entries: OrderedDict[int, tuple[Channel, Any]] = OrderedDict()
        self._numbers = itertools.count()
        self._change = threading.Condition()
        self.dropped = 0

    @property
    def size(self) -> int:
        return len(self._entries)

    def put(self, channel: Channel, data: Any) -> None:
        with self._change:
            if len(channel.waiting) >= channel.depth:
                del self._entries[channel.waiting.popleft()]
                self.dropped += 1
            number = next(self._numbers)
            channel.waiting.append(number)
            self._entries[number] = (channel, data)
            self._change.notify()

    def take(self) -> tuple[Channel, Any] | None:
        """Remove and return the oldest message; None if the inbox is empty."""
        with self._change:
            if not self._entries:
                return None
            _, (channel, data) = self._entries.popitem(last=False)
            channel.waiting.popleft()
            return channel, data

    def wait(self, timeout: s) -> bool:
        """Wait for a message, at most `timeout`; returns whether there is one."""
        with self._change:
            return bool(self._entries) or (self._change.wait(timeout) and bool(self._entries))


SECOND = 1_000_000_000


def stamp(nanoseconds: int) -> Any:
    """A time in ns as a `builtin_interfaces/Time`."""
    return message_type("builtin_interfaces/msg/Time").Record(*divmod(nanoseconds, SECOND))


class Clock:
    """The time of a node, in ns: system clock, `/clock`, or simulated.

    Args:
        wall: whether it is the system clock; otherwise the time is the one set last.
    """

    __repr__ = brief_repr

    def __init__(self, *, wall: bool) -> None:
        self.wall = wall
        self._set, self._since, self._factor = 0, 0, 1.0

    def now(self) -> int:
        """Current time in ns."""
        if not self.wall:
            return self._set
        now = time.time_ns()
        if not self._since:
            return now
        return self._set + int((now - self._since) * self._factor)

    def scale(self, factor: one) -> None:
        """Run `factor` times as fast as the system clock from now on, as the simulation does."""
        if self.wall and (factor != 1.0 or self._since):
            self._set, self._since, self._factor = self.now(), time.time_ns(), factor

    def set(self, nanoseconds: int) -> None:
        """Set the time of a clock other than the system clock."""
        self._set = nanoseconds

    def advance(self, period: s) -> None:
        """Advance the time by a period in s."""
        self._set += round(period * SECOND)


_LEVELS = {"debug": 10, "info": 20, "warn": 30, "error": 40}
_SAID = 32
"""Number of sent messages of a topic by which a node recognises its own."""
_LOOK: s = 1.0
"""Time between two checks for transport warnings."""
_MOST_COMPLAINTS = 5
"""Largest number of logged errors of a topic, within that time."""


class _LeftOut:
    """Placeholder publisher for a topic whose type the middleware lacks."""

    readers = 0

    def write(self, cdr: Data) -> None:
        pass


class Topic:
    """Publishes messages of one type; `write` takes bytes, `send` a record."""

    def __init__(
        self, node: Node, name: str, type_: MessageType, publisher: Publisher, qos: Qos
    ) -> None:
        self.name, self.type, self.qos = name, type_, qos
        self._node, self._publisher = node, publisher
        self.said: deque[bytes] = deque(maxlen=_SAID)
        """Last messages sent, if there is a bag or `remembers` is set."""
        self.remembers = False

    @property
    def readers(self) -> int:
        return self._publisher.readers

    @property
    def is_heard(self) -> bool:
        """Whether there is a subscriber or a bag."""
        return self._node.bag is not None or self.readers > 0

    def send(self, record: Any) -> None:
        """Publish a record of the type."""
        self.write(self.type.encode(record))

    def write(self, cdr: Data) -> None:
        """Publish bytes, which may change after the call."""
        self._publisher.write(cdr)
        if self._node.bag is not None:
            self._node.bag.write(self.name, self._node.clock.now(), cdr)
        if self.remembers or self._node.bag is not None:
            self.said.append(bytes(cdr))


class Node:
    """A node of ROS 2.

    Args:
        identity: name and namespace.
        transport: its middleware; closed with the node.
        arguments: remaps and parameters of the user.
        clock: its clock; None for the system clock.
    """

    __repr__ = brief_repr

    def __init__(
        self,
        identity: Identity,
        transport: Transport,
        arguments: RosArguments | None = None,
        clock: Clock | None = None,
    ) -> None:
        self.identity, self.transport = identity, transport
        self.arguments = arguments or RosArguments()
        self.clock = clock or Clock(wall=True)
        self.parameters = Parameters(self.arguments.parameters_of(identity))
        self.bag: BagWriter | None = None
        self.tf: Topic | None = None
        """Publisher of `/tf`, once created."""
        self.elapsed = 0
        """Simulated time in ns, which stops during a pause."""
        self.commanded: dict[str, int] = {}
        """Number of unused commands by topic."""
        self.refused: Counter[str] = Counter()
        """Number of rejected messages by full topic name."""
        self._inbox = Inbox()
        self._topics: list[Topic] = []
        self._heard: list[tuple[str, MessageType, Qos]] = []
        self._subscribed: dict[str, list[Channel]] = {}
        self._log: Topic | None = None
        self._looked = 0
        self._complaints: dict[Channel, tuple[s, int]] = {}

    def name(self, name: str) -> str:
        return remapped(name, self.identity, self.arguments.names())

    def stamp(self) -> Any:
        """Current time as a stamp for headers."""
        return stamp(self.clock.now())

    def publisher(self, topic: str, type_name: str, qos: Qos = DEFAULT) -> Topic:
        name, type_ = self.name(topic), message_type(type_name)
        try:
            publisher = self.transport.publisher(name, type_, qos)
        except TypeNotInstalled as error:
            publisher = _LeftOut()
            self.log("warn", f"topic {name} is not published: {error}")
        made = Topic(self, name, type_, publisher, qos)
        self._topics.append(made)
        if self.bag is not None:
            self.bag.topic(name, type_, qos)
        return made

    def subscribe(
        self, topic: str, type_name: str, function: Callable[[Any], None], qos: Qos = DEFAULT
    ) -> bool:
        """Call a function in `handle` with each message of a topic, as a record; returns as
        `listen` does."""
        name, type_ = self.name(topic), message_type(type_name)

        def handle(data: bytes) -> None:
            message = type_.decode(data)
            if self.bag is not None and not self.is_own(name, data):
                self.bag.write(name, self.clock.now(), data)
            function(message)

        if not self.listen(name, type_, handle, qos):
            return False
        self._heard.append((name, type_, qos))
        if self.bag is not None:
            self.bag.topic(name, type_, qos)
        return True

    def listen(
        self, name: str, type_: MessageType, function: Callable[[bytes], None], qos: Qos
    ) -> bool:
        """Call a function in `handle` with the bytes of each message of a topic, by its full name.

        The messages are not recorded.

        Returns:
            Whether there is a subscription. If the middleware lacks the type, a warning names both
            and the node works without it.
        """
        # One subscription per topic, however many functions listen.
        channel = Channel(function, qos.depth, name)
        if name in self._subscribed:
            self._subscribed[name].append(channel)
            return True
        self._subscribed[name] = [channel]
        try:
            self.transport.subscribe(name, type_, qos, lambda data: self._arrived(name, data))
        except TypeNotInstalled as error:
            del self._subscribed[name]
            self.log("warn", f"topic {name} is not subscribed to: {error}")
            return False
        return True

    def is_own(self, name: str, data: bytes) -> bool:
        """Whether a message was sent by the node itself, as on `/tf`, and so is already
        recorded."""
        own = (topic for topic in self._topics if topic.name == name)
        return any(data.startswith(said) for topic in own for said in reversed(topic.said))

    def obey(
        self, topic: str, type_name: str, function: Callable[[Any], None], qos: Qos = DEFAULT
    ) -> None:
        """Subscribe to commands, for which time waits in lock-step."""
        name = self.name(topic)

        def count(message: Any) -> None:
            function(message)
            self.commanded[name] += 1

        if self.subscribe(topic, type_name, count, qos):
            self.commanded[name] = 0

    def _arrived(self, name: str, data: bytes) -> None:
        for channel in self._subscribed[name]:
            self._inbox.put(channel, data)

    def serve(self, name: str, type_name: str, function: Callable[[Any], Any]) -> None:
        """Answer requests with the result of a function of the request record.

        If it raises, the error is logged and the response is the type's default, in which `success`
        is false.
        """
        full, type_ = self.name(name), service_type(type_name)

        def answer(asked: tuple[bytes, Reply]) -> None:
            (data, reply), response = asked, type_.response.Record()
            try:
                response = function(type_.request.decode(data))
            except SkidpadError as error:
                self.log("error", f"{full}: {error}")
                if "message" in response._fields:
                    response = response._replace(message=str(error))
            reply(type_.response.encode(response))

        channel = Channel(answer, 1000, full)
        try:
            self.transport.serve(full, type_, lambda *asked: self._inbox.put(channel, asked))
        except TypeNotInstalled as error:
            self.log("warn", f"service {full} is not offered: {error}")

    def handle(self, most: int = 1000) -> int:
        """Handle waiting messages, oldest first; returns their number."""
        count = 0
        while count < most and (taken := self._inbox.take()) is not None:
            channel, data = taken
            try:
                channel.handle(data)
            except SkidpadError as error:
                self.refused[channel.name] += 1
                self._complain(channel, f"{channel.name}: {error}")
            count += 1
        self._look()
        return count

    def _complain(self, channel: Channel, text: str) -> None:
        """Log a message error, at most a few times per second for a topic."""
        now = time.monotonic()
        began, count = self._complaints.get(channel, (now, 0))
        if now - began >= _LOOK:
            left = count - _MOST_COMPLAINTS
            text = f"{text} ({left} more were not told)" if left > 0 else text
            began, count = now, 0
        self._complaints[channel] = (began, count + 1)
        if count < _MOST_COMPLAINTS:
            self.log("error", text)

    def wait(self, timeout: s) -> bool:
        """Wait for a message, at most `timeout`; returns whether there is one."""
        return self._inbox.wait(timeout)

    def _look(self) -> None:
        now = self.clock.now()
        if abs(now - self._looked) >= _LOOK * SECOND:
            self._looked = now
            for text in self.transport.warnings():
                self.log("warn", text)

    def announce(self) -> None:
        """Announce the node, once its topics and services exist."""
        self.transport.announce()
        for name in self.parameters.undeclared():
            self.log("warn", f"parameter {name} was given, but this node has none of that name")

    def record(self, bag: BagWriter) -> None:
        """Record all messages published or received from now on."""
        self.bag = bag
        for topic in self._topics:
            bag.topic(topic.name, topic.type, topic.qos)
        for heard in self._heard:
            bag.topic(*heard)

    def publish_log(self) -> None:
        """Publish the log on `/rosout` too, as every node of ROS 2 does."""
        qos = LATCHED._replace(depth=1000)
        self._log = self.publisher("/rosout", "rcl_interfaces/msg/Log", qos)

    def log(self, level: str, text: str) -> None:
        """Write a line to stderr, in the form of ROS 2, and to `/rosout`."""
        if _LEVELS[level] < _LEVELS.get(self.arguments.log_level, 20):
            return
        now = self.clock.now()
        name = self.identity.full.strip("/").replace("/", ".")
        line = f"[{level.upper()}] [{now / SECOND:.9f}] [{name}]: {text}"
        print(line, file=sys.stderr, flush=True)
        if self._log is not None:
            self._log.send(self._log.type.Record(stamp(now), _LEVELS[level], name, text))

    def close(self) -> None:
        """Close the transport, so that the node leaves the graph."""
        self.transport.close()
