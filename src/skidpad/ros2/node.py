"""ROS 2 node on any transport: topics, services, parameters, clock and inbox.

All of it runs in the simulating thread. Arriving messages wait in an inbox until `handle`.

`parse_arguments` reads the words after `--ros-args`: names and their remaps, parameters and their
files. `Parameters` holds the parameters of a node: declared with a default, set by the user,
changed by other nodes.
"""

from __future__ import annotations

import itertools
import os
import re
import sys
import threading
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core import record
from ..core.files import brief_repr, yaml_loader, yaml_of
from ..errors import InvalidValue, SkidpadError
from ..units import one, s
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
    """Source of messages: a subscription or a service.

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
    """Clock of a node, in ns: system clock, `/clock`, or simulated time.

    Args:
        wall: whether to follow the system clock; otherwise the time is the last time set.
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
        """Set the time of a clock that does not follow the system clock."""
        self._set = nanoseconds

    def advance(self, period: s) -> None:
        """Advance the time by a period in s."""
        self._set += round(period * SECOND)


_LEVELS = {"debug": 10, "info": 20, "warn": 30, "error": 40}
_SAID = 32
"""Number of recently sent messages of a topic that a node stores to recognise its own."""
_LOOK: s = 1.0
"""Time between two checks for transport warnings."""
_MOST_COMPLAINTS = 5
"""Largest number of errors logged per topic between two of these checks."""


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
        """Whether the topic has a subscriber or is recorded to a bag."""
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
        transport: connection to the middleware; closed with the node.
        arguments: remaps and parameters of the user.
        clock: clock of the node; None for the system clock.
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
        """Whether a received message was sent by this node, as on `/tf`; such a message is already
        recorded.
        """
        own = (topic for topic in self._topics if topic.name == name)
        return any(data.startswith(said) for topic in own for said in reversed(topic.said))

    def obey(
        self, topic: str, type_name: str, function: Callable[[Any], None], qos: Qos = DEFAULT
    ) -> None:
        """Subscribe to commands; in lock-step, time waits for them."""
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


_PART = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAME = re.compile(r"(~(?=/|$)|/)?(/?[A-Za-z_][A-Za-z0-9_]*)(/[A-Za-z_][A-Za-z0-9_]*)*|~")


class Remap(NamedTuple):
    """A rule `from:=to`, for all nodes or for one."""

    old: str
    new: str
    node: str = ""
    """Name of the node; empty for all nodes."""


def full_name(name: str, who: Identity) -> str:
    """The full name of a topic or service: relative to the namespace, or to the node with "~"."""
    if not _NAME.fullmatch(name):
        raise InvalidValue(
            f"{name!r} is not a name of a topic or service: letters, digits and underscores "
            "between slashes, no part may begin with a digit"
        )
    if name.startswith("/"):
        return name
    if name.startswith("~"):
        return who.full + name[1:]
    return f"{who.namespace.rstrip('/')}/{name}"


def remapped(name: str, who: Identity, rules: tuple[Remap, ...]) -> str:
    """Full name after the first matching rule."""
    full = full_name(name, who)
    for rule in rules:
        if rule.node in ("", who.name) and full_name(rule.old, who) == full:
            return full_name(rule.new, who)
    return full


def namespace(text: str) -> str:
    """A namespace with its leading slash; raises InvalidValue for an invalid one."""
    parts = [part for part in text.split("/") if part]
    if not all(_PART.fullmatch(part) for part in parts) or "//" in text:
        raise InvalidValue(f"namespace {text!r} must be names between slashes, such as /robots/one")
    return "/" + "/".join(parts)


def node_name(text: str) -> str:
    """The name of a node; raises InvalidValue for an invalid one."""
    if not _PART.fullmatch(text):
        raise InvalidValue(
            f"node name {text!r} must be letters, digits and underscores, no digit first"
        )
    return text


_LOG_LEVELS = ("debug", "info", "warn", "error", "fatal", "unset")
_WITH_VALUE = (
    *("-r", "--remap", "-p", "--param", "--params-file", "--log-level"),
    *("-e", "--enclave", "--log-config-file"),  # security and logging of ROS itself
)
_WITHOUT_VALUE = re.compile(r"--(enable|disable)-(rosout-logs|stdout-logs|external-lib-logs)")
_SUBSTITUTION = re.compile(r"\$\((?P<kind>[\w-]+)\s+(?P<of>[^()]*?)\s*\)")


@dataclass(frozen=True)
class RosArguments:
    """Remaps and parameters of nodes, as set by a user."""

    remaps: tuple[Remap, ...] = ()
    parameters: tuple[Callable[[Identity], Mapping[str, Any]], ...] = ()
    """Sources of the parameters of a node; later ones override earlier ones."""
    shares: Mapping[str, Path] = field(default_factory=dict[str, Path])
    """Folders for `$(find-pkg-share PACKAGE)` in a file."""
    log_level: str = "info"

    def identity(self, name: str, space: str = "/") -> Identity:
        """The identity of a node with this name, after `__node:=` and `__ns:=`."""
        for rule in self.remaps:
            if rule.node in ("", name) and rule.old in ("__node", "__name"):
                name = node_name(rule.new)
            elif rule.node in ("", name) and rule.old == "__ns":
                space = namespace(rule.new)
        return Identity(node_name(name), namespace(space))

    def names(self) -> tuple[Remap, ...]:
        """Remap rules for topics and services."""
        return tuple(rule for rule in self.remaps if not rule.old.startswith("__"))

    def parameters_of(self, who: Identity) -> dict[str, Any]:
        return {name: value for of in self.parameters for name, value in of(who).items()}


def parse_arguments(
    arguments: Sequence[str], shares: Mapping[str, Path] | None = None
) -> RosArguments:
    """Parse the arguments after each `--ros-args`, up to `--` or the end; raises for other
    arguments."""
    remaps: list[Remap] = []
    parameters: list[Callable[[Identity], Mapping[str, Any]]] = []
    level, words = "info", _behind_ros_args(arguments)
    shares = dict(shares or {})
    for word in words:
        if _WITHOUT_VALUE.fullmatch(word):
            continue
        if word not in _WITH_VALUE:
            raise InvalidValue(
                f"{word!r} after --ros-args is unknown: use -r FROM:=TO, -p NAME:=VALUE, "
                "--params-file FILE or --log-level LEVEL"
            )
        value = next(words, None)
        if value is None:
            raise InvalidValue(f"{word} needs a value after it")
        if word in ("-r", "--remap"):
            old, parted, new = value.partition(":=")
            if not (parted and old and new):
                raise InvalidValue(f"remap {value!r} must be FROM:=TO")
            node, parted, rest = old.partition(":")
            remaps.append(Remap(rest, new, node) if parted else Remap(old, new))
        elif word in ("-p", "--param"):
            parameters.append(_parameter(value))
        elif word == "--params-file":
            parameters.append(_file(Path(value), shares))
        elif word == "--log-level":
            level = value.rpartition(":=")[2].lower()
            if level not in _LOG_LEVELS:
                raise InvalidValue(f"log level {value!r} must be one of {', '.join(_LOG_LEVELS)}")
    return RosArguments(tuple(remaps), tuple(parameters), shares, level)


def _behind_ros_args(arguments: Iterable[str]) -> Iterator[str]:
    inside = False
    for word in arguments:
        if word == "--ros-args" or (word == "--" and inside):
            inside = word == "--ros-args"
        elif inside:
            yield word
        else:
            raise InvalidValue(
                f"unexpected argument {word!r}: remaps and parameters must follow --ros-args"
            )


def _parameter(text: str) -> Callable[[Identity], Mapping[str, Any]]:
    """Parameters by node, from `NAME:=VALUE` with a value in YAML: `1`, `true`, `[1, 2]`."""
    import yaml

    name, parted, value = text.partition(":=")
    if not (parted and name):
        raise InvalidValue(f"parameter {text!r} must be NAME:=VALUE")
    of, parted, rest = name.partition(":")
    of, name = (of, rest) if parted else ("", name)
    if len(value) > 100_000:
        raise InvalidValue(
            f"parameter {name} has {len(value)} characters; at most 100000 are taken"
        )
    try:
        parsed = yaml.load(value, Loader=yaml_loader())
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InvalidValue(f"parameter {name}: {value[:80]!r} is not YAML") from error
    parameters = dict(_flat({name: parsed}))
    return lambda who: parameters if of in ("", who.name) else {}


def _file(path: Path, shares: Mapping[str, Path]) -> Callable[[Identity], Mapping[str, Any]]:
    content = yaml_of(path)
    if not isinstance(content, dict):
        raise InvalidValue(f"{path} must hold a mapping of nodes to ros__parameters")
    sections = list(_sections(path, content, ()))

    def parameters(who: Identity) -> Mapping[str, Any]:
        wanted: dict[str, Any] = {}
        # Apply sections for many nodes first, so that the section for this node takes precedence.
        for key, values in sorted(sections, key=lambda section: "*" not in section[0]):
            pattern = key.replace("/**/", "/*/").replace("/**", "/*")
            names = (who.full, f"/x{who.full}") if "*" in key else ()
            if key in ("/**", who.full) or any(fnmatchcase(full, pattern) for full in names):
                wanted.update((name, substituted(v, shares, path)) for name, v in _flat(values))
        return wanted

    return parameters


def _sections(
    path: Path, content: Mapping[str, Any], keys: tuple[str, ...]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Names of nodes, or "/**", with their parameters; namespaces may be levels of keys."""
    for key, inner in content.items():
        if key == "ros__parameters":
            if not isinstance(inner, dict):
                raise InvalidValue(f"{path}: ros__parameters of {'/'.join(keys)} must be a mapping")
            yield "/" + "/".join(part.strip("/") for part in keys), inner
        elif isinstance(inner, dict):
            yield from _sections(path, inner, (*keys, str(key)))
        else:
            raise InvalidValue(f"{path}: {key!r} must hold ros__parameters, got {inner!r:.60}")


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def substituted(value: Any, shares: Mapping[str, Path], path: Path) -> Any:
    """Replace the substitutions of launch files in a value: `$(find-pkg-share NAME)`, `$(env
    NAME)`."""

    def replacement(match: re.Match[str]) -> str:
        kind, of = match["kind"], match["of"]
        if kind == "find-pkg-share" and of not in shares:
            raise InvalidValue(
                f"{path}: $(find-pkg-share {of}) is unknown here: give its folder with --package "
                f"{of}=FOLDER"
            )
        known = {"find-pkg-share": shares, "env": os.environ}.get(kind, {})
        if of not in known:
            text = f"$({kind} {of}) cannot be resolved outside of a launch file"
            raise InvalidValue(f"{path}: {text}")
        return str(known[of])

    if isinstance(value, list):
        return [substituted(entry, shares, path) for entry in value]
    return _SUBSTITUTION.sub(replacement, value) if isinstance(value, str) else value


class Kind(IntEnum):
    """Types of parameters, with their numbers in ROS 2."""

    NOT_SET = 0
    BOOL = 1
    INTEGER = 2
    DOUBLE = 3
    STRING = 4
    BYTE_ARRAY = 5
    BOOL_ARRAY = 6
    INTEGER_ARRAY = 7
    DOUBLE_ARRAY = 8
    STRING_ARRAY = 9


_PYTHON = {Kind.BOOL: bool, Kind.INTEGER: int, Kind.DOUBLE: float, Kind.STRING: str}
_ARRAYS = {kind: Kind[f"{kind.name}_ARRAY"] for kind in _PYTHON}
_LARGEST = 1 << 63


def kind_of(value: Any) -> Kind:
    """Parameter type of a value of Python or YAML; an empty list counts as a list of strings."""
    if value is None:
        return Kind.NOT_SET
    if isinstance(value, (list, tuple)):
        kinds = {kind_of(entry) for entry in value} or {Kind.STRING}
        kind = max(kinds)
        others = kinds - {kind}
        if kind not in _ARRAYS or (others and (kind, others) != (Kind.DOUBLE, {Kind.INTEGER})):
            raise InvalidValue(f"{value!r:.80} must have values of one type")
        return _ARRAYS[kind]
    for kind, python in _PYTHON.items():
        if type(value) is python:
            if python is int and not -_LARGEST <= int(value) < _LARGEST:
                raise InvalidValue(f"{value} does not fit into 64 bits")
            return kind
    raise InvalidValue(
        f"{value!r:.80} is not a parameter value: allowed are bool, int, float, str or a list"
    )


@dataclass(frozen=True)
class Parameter:
    name: str
    kind: Kind
    description: str = ""
    dynamic: bool = False
    """Whether it may be changed while the node runs."""
    check: Callable[[Any], object] | None = None
    """Raises InvalidValue for a value that is not allowed."""

    def converted(self, value: Any) -> Any:
        """Value converted to the declared type; integers are accepted for floating-point
        parameters."""
        kind = kind_of(value)
        if kind is not self.kind and self.kind in (Kind.DOUBLE, Kind.DOUBLE_ARRAY):
            if kind is Kind.INTEGER and self.kind is Kind.DOUBLE:
                value, kind = float(value), Kind.DOUBLE
            elif kind is Kind.INTEGER_ARRAY or value in ([], ()):
                value, kind = [float(entry) for entry in value], Kind.DOUBLE_ARRAY
        if kind is not self.kind and not (value in ([], ()) and self.kind in _ARRAYS.values()):
            raise InvalidValue(
                f"parameter {self.name} = {value!r:.80} is of type {kind.name.lower()}, expected "
                f"{self.kind.name.lower()}"
            )
        if not np.isfinite(value if self.kind in (Kind.DOUBLE, Kind.DOUBLE_ARRAY) else 0.0).all():
            raise InvalidValue(f"parameter {self.name} = {value!r:.80} must be finite")
        if self.check is not None:
            self.check(value)
        return [*value] if isinstance(value, tuple) else value


class Parameters(Mapping[str, Any]):
    """Parameter values of one node, by dotted name.

    Args:
        wanted: values from files and arguments.
    """

    def __init__(self, wanted: Mapping[str, Any] | None = None) -> None:
        self.wanted = dict(wanted or {})
        self.declared: dict[str, Parameter] = {}
        self._values: dict[str, Any] = {}
        self.changed: list[Callable[[str, Any], None]] = []
        """Callbacks with name and value after a change."""

    def declare(
        self,
        name: str,
        default: Any,
        description: str = "",
        *,
        dynamic: bool = False,
        check: Callable[[Any], object] | None = None,
    ) -> Any:
        """Add a parameter and return its value: the supplied one, or the default."""
        parameter = Parameter(name, kind_of(default), description, dynamic, check)
        value = parameter.converted(self.wanted.get(name, default))
        self.declared[name], self._values[name] = parameter, value
        return value

    def undeclared(self) -> list[str]:
        """Names of supplied parameters that the node does not have."""
        return sorted(set(self.wanted) - set(self.declared))

    def set(self, values: Mapping[str, Any]) -> None:
        """Change parameters: all of them, or raise InvalidValue and change none."""
        fresh: dict[str, Any] = {}
        for name, value in values.items():
            parameter = self.declared.get(name)
            if parameter is None:
                raise InvalidValue(
                    record.unknown_name("the node", name, tuple(self.declared), "parameter")
                )
            fresh[name] = parameter.converted(value)
            if not parameter.dynamic and fresh[name] != self._values[name]:
                raise InvalidValue(f"parameter {name} cannot be changed while the node runs")
        self._values.update(fresh)
        for name, value in fresh.items():
            for function in self.changed:
                function(name, value)

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
