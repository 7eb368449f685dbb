"""`Loop`: runs the program of a node, in real time or in lock-step with its commands.

Every node has the services `~/pause` (`std_srvs/SetBool`), `~/step` and `~/reset`
(`std_srvs/Trigger`). A failed tick is logged and pauses the node until a reset.

`Exchange` connects the nodes of one process, for closed loops without a network. `Launch` runs a
node of `skidpad ros2`, with its transport and the parameter services.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from math import inf
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np

from ..core.checks import must_be
from ..core.files import brief_repr, listed
from ..core.threads import Deferred
from ..errors import InvalidValue, MissingExtra, SkidpadError
from ..units import Allowed, s
from ..view.live.session import Pace
from ..view.recording.bags import BagWriter
from .dds import CLOCK, PARAMETERS, Data, Identity, Qos, Reply, Transport
from .messages.types import MessageType, Prepared, ServiceType, message, service_type
from .node import SECOND, Clock, Kind, Node, parse_arguments

_LONGEST_WAIT: s = 0.1
"""Longest wait before the loop checks `ending`."""
_LONGEST_JUMP: s = 1.0
"""Largest jump of a followed clock for which all ticks in between are made."""
_FACTORS = Allowed(1e-3, 1e3)
"""Bounds of the real-time factor: beyond them a node hardly moves, or never handles
messages."""


class Program(Protocol):
    """The simulation of a node, which creates its topics and services in its constructor.

    A program that reads the node's clock, which continues during a pause, has a method
    `interrupted`: it makes the next tick advance by one period, whatever the clock shows. One that
    does not publish the input of controllers at every tick has the property `was_published`:
    whether the last tick did.
    """

    period: s
    """Simulated time of a tick."""

    def tick(self) -> None:
        """Advance by one period and publish."""
        ...

    def reset(self) -> None:
        """Restart the simulation."""
        ...


class Loop:
    """Loop that runs a program of a node, in real time or in lock-step.

    Args:
        node: the program's node. If its clock is neither the system clock nor followed, the ticks
            advance it and it is published on `/clock`.
        program: the simulation, such as `SingleVehicle`.
        lock_step: whether time waits until every command topic has a new message, or `~/step` is
            called. The same commands then give the same bits, however fast they arrive. A
            program with `was_published` continues to the next tick that publishes the input of
            controllers.
        followed: whether the node's clock is set by another node's `/clock`.
    """

    __repr__ = brief_repr

    def __init__(
        self, node: Node, program: Program, *, lock_step: bool = False, followed: bool = False
    ) -> None:
        self.node, self.program, self.lock_step = node, program, lock_step
        self.ticks = 0
        self.paused = False
        self.patience: s = 5.0
        """Wall time after which a warning names the awaited commands."""
        self._waits_since: tuple[int, float] | None = None
        self.ending = False
        """Set to True, from any thread, to end `run`."""
        check = partial(must_be, "realtime_factor", allowed=_FACTORS)
        factor = node.parameters.declare(
            "realtime_factor", 1.0, "Times real time.", dynamic=True, check=check
        )
        self._followed, self._failed = followed, False
        self._ticked = 0
        """Time in ns of the last tick by a followed clock; 0 before the first."""
        self._pace = Pace(program.period, self._now(), factor)
        node.clock.scale(factor)
        node.parameters.changed.append(self._changed)
        self._clock = None
        if not node.clock.wall and not followed:
            # This quality suits reliable and best-effort subscribers.
            reliable = CLOCK._replace(reliable=True)
            self._clock = node.publisher("/clock", "rosgraph_msgs/msg/Clock", reliable)
            self._time = Prepared(self._clock.type, self._clock.type.Record())
            self._put_time = self._time.patcher("clock.sec", "clock.nanosec")
        elif followed:
            node.subscribe("/clock", "rosgraph_msgs/msg/Clock", self._follow, CLOCK)
        self._trigger = service_type("std_srvs/srv/Trigger").response.Record
        node.serve("~/pause", "std_srvs/srv/SetBool", self._pause)
        node.serve("~/step", "std_srvs/srv/Trigger", self._step)
        node.serve("~/reset", "std_srvs/srv/Trigger", self._reset)

    def run(self) -> None:
        """Run until `ending` is set or Ctrl-C is pressed."""
        self._pace.restart(self._now())
        with Deferred() as interrupt:
            while not (self.ending or interrupt):
                self.turn()
            # Ctrl-C is the usual end, not an error.
            interrupt.forget()

    def turn(self) -> None:
        """Handle messages, make the ticks that are due, and wait briefly."""
        if self.lock_step:
            self.node.wait(_LONGEST_WAIT)
            while self.node.handle(1):
                self._follow_commands()
            self._warn_if_stalled()
            return
        self.node.handle()
        if self.paused:
            self._pace.restart(self._now())
            self.node.wait(_LONGEST_WAIT)
            return
        if self._followed:
            self._tick_by_clock()
            self.node.wait(_LONGEST_WAIT)
            return
        due = self._pace.due(self._now())
        for _ in range(due):
            self.tick()
            self.node.handle()
            if self.paused or self.ending:
                break
        self._pace.done(due, self._now())
        self.node.wait(min(self._pace.wait(self._now()), _LONGEST_WAIT))

    def _tick_by_clock(self) -> None:
        """Make all ticks up to the time of the followed clock, each at its own time."""
        now, period = self.node.clock.now(), round(self.program.period * SECOND)
        while self._ticked and self._ticked + period <= now and not (self.paused or self.ending):
            self._ticked += period
            self.node.clock.set(self._ticked)
            self.tick()
        self.node.clock.set(now)

    def tick(self) -> None:
        """Make one tick; an error is logged and pauses the node."""
        self.node.elapsed += round(self.program.period * SECOND)
        if self.lock_step:
            self._interrupt()
        if self._clock is not None:
            self.node.clock.advance(self.program.period)
            self._put_time(*divmod(self.node.clock.now(), SECOND))
            self._clock.write(self._time.data)
        try:
            self.program.tick()
        except SkidpadError as error:
            self.paused = self._failed = True
            self.node.log("error", f"{error}; paused until {self.node.name('~/reset')} is called")
        self.ticks += 1

    def _interrupt(self) -> None:
        getattr(self.program, "interrupted", lambda: None)()

    def _follow_commands(self) -> None:
        commanded = self.node.commanded
        if not self.paused and commanded and all(commanded.values()):
            for topic in commanded:
                commanded[topic] -= 1
            self.tick()
            while not (getattr(self.program, "was_published", True) or self.paused or self.ending):
                self.tick()

    def _warn_if_stalled(self) -> None:
        """Log the awaited commands once, if time has stood still for long without a pause."""
        now, since = time.monotonic(), self._waits_since
        if self.paused or since is None or since[0] != self.ticks:
            self._waits_since = self.ticks, now
        elif now - since[1] >= self.patience:
            self._waits_since = self.ticks, inf
            awaited = [topic for topic, count in self.node.commanded.items() if not count]
            self.node.log(
                "warn",
                f"lock-step: time has stood still for {self.patience:g} s after tick {self.ticks}: "
                f"no new command on {listed(awaited, 12)}. The next tick comes with one on each, "
                f"or with {self.node.name('~/step')}",
            )

    def _now(self) -> s:
        return self.node.clock.now() / SECOND if self._followed else time.monotonic()

    def _follow(self, message: Any) -> None:
        if message.clock.nanosec >= SECOND:
            raise InvalidValue(f"nanosec = {message.clock.nanosec} must be less than {SECOND}")
        now = message.clock.sec * SECOND + message.clock.nanosec
        before, self._ticked = self._ticked, self._ticked or now
        if now < before:
            self.node.log("warn", "/clock went back: ticks are counted from there")
            self._ticked = now
        elif now - before > _LONGEST_JUMP * SECOND and before:
            gap = (now - before) / SECOND
            self.node.log("warn", f"/clock jumped by {gap:g} s: not made up for")
            self._ticked = now
        self.node.clock.set(now)

    def _changed(self, name: str, value: Any) -> None:
        if name == "realtime_factor":
            self._pace.restart(self._now(), value)
            self.node.clock.scale(value)

    def _pause(self, request: Any) -> Any:
        self.paused, self._failed = bool(request.data), False
        self._interrupt()
        self._ticked = self.node.clock.now() if self._ticked else 0
        self._pace.restart(self._now())
        return service_type("std_srvs/srv/SetBool").response.Record(
            success=True, message="paused" if self.paused else "running"
        )

    def _step(self, request: Any) -> Any:
        if not (self.paused or self.lock_step):
            return self._trigger(success=False, message="running: pause it first")
        paused, self.paused = self.paused, False
        self._interrupt()
        self.tick()
        failed, self.paused = self.paused, paused or self.paused
        return self._trigger(success=not failed, message=f"tick {self.ticks}")

    def _reset(self, request: Any) -> Any:
        self.program.reset()
        # A pause requested by the user remains in effect.
        self.paused, self._failed = self.paused and not self._failed, False
        self._pace.restart(self._now())
        return self._trigger(success=True, message="reset")


class Exchange:
    """Connection between the nodes of one process; messages arrive immediately and in order.

    Use it for reproducible closed loops without a network.
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
        """Create a node on this exchange.

        Args:
            name: name of the node.
            arguments: arguments of ROS, such as ["--ros-args", "-p", "period:=0.02"].
            namespace: namespace of the node, which begins with a slash.
            simulates_time: whether a `Loop` advances its clock; otherwise it is the system clock.
        """
        parsed = parse_arguments(arguments)
        identity = parsed.identity(name, namespace)
        transport = InProcess(identity, self)
        return Node(identity, transport, parsed, Clock(wall=not simulates_time))

    def check_type(self, name: str, type_: MessageType) -> None:
        """Raise InvalidValue if the topic exists with another type."""
        known = self.types.setdefault(name, type_.name)
        if known != type_.name:
            raise InvalidValue(f"topic {name} is of type {known}, not {type_.name}")

    def call(self, name: str, request: Data, reply: Reply) -> None:
        """Call a service."""
        if name not in self.services:
            known = ", ".join(self.services) or "none"
            raise InvalidValue(f"no service {name}; there are: {known}")
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


class InProcess(Transport):
    __repr__ = brief_repr

    def __init__(self, identity: Identity, exchange: Exchange) -> None:
        super().__init__(identity)
        self._exchange = exchange
        self._own: list[tuple[str, tuple[Qos, Callable[[bytes], None]]]] = []
        self._served: list[str] = []

    def publisher(self, topic: str, type_: MessageType, qos: Qos) -> _Publisher:
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
        self._exchange.services[name] = (type_, handler)
        self._served.append(name)

    def announce(self) -> None:
        """Announce the node to the other nodes on the exchange."""
        if self.identity in self._exchange.nodes:
            self.notices.add("name", f"another node is called {self.identity.full} too")
        self._exchange.nodes.append(self.identity)

    def close(self) -> None:
        """Leave the exchange."""
        for topic, reader in self._own:
            self._exchange.readers[topic].remove(reader)
        for name in self._served:
            self._exchange.services.pop(name, None)
        if self.identity in self._exchange.nodes:
            self._exchange.nodes.remove(self.identity)
        self._own, self._served = [], []


_CLASSES = {
    "cyclonedds": ("cyclone", "CycloneTransport"),
    "zenoh": ("zenoh", "ZenohTransport"),
    "rclpy": ("rclpy", "RclpyTransport"),
}
"""Module and class of each transport, by the package it needs."""
_VARIABLE = "RMW_IMPLEMENTATION"
_OF_IMPLEMENTATION = {
    "rmw_zenoh_cpp": "zenoh",
    "rmw_cyclonedds_cpp": "cyclonedds",
    "rmw_fastrtps_cpp": "cyclonedds",
    "rmw_fastrtps_dynamic_cpp": "cyclonedds",
}
"""Transport for each middleware implementation if ROS is not sourced.

Topics work between Cyclone DDS and Fast DDS, services do not: in a sourced ROS 2, rclpy is
better for Fast DDS.
"""
_DEFAULT = "rmw_fastrtps_cpp"
"""Middleware implementation of a sourced ROS 2 if the variable is not set."""


def transport(kind: str, identity: Identity) -> Transport:
    """Create the transport of a node: "auto", "cyclonedds", "zenoh" or "rclpy".

    "auto" is compatible with the peers of `RMW_IMPLEMENTATION`. For Fast DDS, the default of ROS 2,
    that is the rclpy of a sourced ROS 2, else Cyclone DDS; without the variable and without ROS the
    installed one: Cyclone DDS, else zenoh.
    """
    if kind not in ("auto", *_CLASSES):
        raise InvalidValue(f"middleware {kind!r}: must be one of auto, {', '.join(_CLASSES)}")
    # Imported here, since each transport imports its library.
    module, name = _CLASSES[_choose() if kind == "auto" else kind]
    return getattr(import_module(f".{module}", __package__), name)(identity)


def _choose() -> str:
    wanted = os.environ.get(_VARIABLE, "").strip()
    if (wanted or _DEFAULT).startswith("rmw_fastrtps") and _is_installed("rclpy"):
        return "rclpy"
    if wanted:
        # Other middlewares, such as rmw_connextdds, need a sourced ROS 2.
        kind = _OF_IMPLEMENTATION.get(wanted, "rclpy")
        if kind == "rclpy" and not _is_installed(kind):
            raise InvalidValue(
                f"{_VARIABLE}={wanted}: without rclpy skidpad speaks "
                f"{', '.join(_OF_IMPLEMENTATION)} only"
            )
        return kind
    for kind in ("cyclonedds", "zenoh"):
        if _is_installed(kind):
            return kind
    raise MissingExtra(
        "A node of ROS 2 needs cyclonedds, zenoh or a sourced ROS 2, and none is installed: "
        'pip install "skidpad[ros2]" or "skidpad[zenoh]"'
    )


def _is_installed(package: str) -> bool:
    if package == "rclpy":
        # A sourced ROS 2 is on the path of every Python but works in one version only.
        try:
            import_module(package)
        except ImportError:
            return False
        return True
    return find_spec(package) is not None


_FIELDS = {kind: f"{kind.name.lower()}_value" for kind in Kind if kind is not Kind.NOT_SET}
_SEPARATOR = "."


def message_of(kind: Kind, value: Any) -> Any:
    """Convert a value to `rcl_interfaces/ParameterValue`."""
    field = {_FIELDS[kind]: value} if kind in _FIELDS else {}
    return message("rcl_interfaces/msg/ParameterValue", int(kind), **field)


def value_of(message: Any) -> Any:
    """Convert a `rcl_interfaces/ParameterValue` to a value."""
    try:
        kind = Kind(message.type)
    except ValueError as error:
        raise InvalidValue(f"parameter type {message.type} must be from 0 to 9") from error
    if kind is Kind.NOT_SET:
        raise InvalidValue("a parameter of this node cannot be deleted")
    value = getattr(message, _FIELDS[kind])
    if kind is Kind.BYTE_ARRAY:
        raise InvalidValue("this node has no parameter of type byte_array")
    return value if kind < Kind.BYTE_ARRAY else np.asarray(value).tolist()


class ParameterServices:
    """The six parameter services and `/parameter_events`, for `ros2 param`."""

    def __init__(self, node: Node) -> None:
        self._node, self._parameters = node, node.parameters
        kind = "rcl_interfaces/msg/ParameterEvent"
        self._events = node.publisher("/parameter_events", kind, PARAMETERS)
        for name, answer in {
            "GetParameters": lambda request: [self._message(n) for n in request.names],
            "GetParameterTypes": lambda request: [self._message(n).type for n in request.names],
            "SetParameters": lambda request: [self._change([p]) for p in request.parameters],
            "SetParametersAtomically": lambda request: self._change(request.parameters),
            "DescribeParameters": lambda request: [self._descriptor(n) for n in request.names],
            "ListParameters": self._list,
        }.items():
            snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in name).strip("_")
            kind = f"rcl_interfaces/srv/{name}"
            node.serve(f"~/{snake}", kind, partial(_answer, service_type(kind).response, answer))

    def announce(self) -> None:
        """Publish the parameters, as every node does at its start."""
        self._publish("new_parameters", self._parameters)

    def _message(self, name: str) -> Any:
        declared = self._parameters.declared.get(name)
        if declared is None:
            return message_of(Kind.NOT_SET, None)
        return message_of(declared.kind, self._parameters[name])

    def _change(self, wanted: Iterable[Any]) -> tuple[bool, str]:
        """Change parameters; returns whether that was possible, and the reason if not."""
        try:
            values = {one.name: value_of(one.value) for one in wanted}
            self._parameters.set(values)
        except InvalidValue as error:
            return False, str(error)
        self._publish("changed_parameters", values)
        return True, ""

    def _publish(self, field: str, names: Iterable[str]) -> None:
        parameters = [(name, self._message(name)) for name in names]
        stamp, node = self._node.stamp(), self._node.identity.full
        self._events.send(message(self._events.type, stamp, node, **{field: parameters}))

    def _descriptor(self, name: str) -> Any:
        declared = self._parameters.declared.get(name)
        if declared is None:
            return (name,)
        about = declared.description
        return message(
            "rcl_interfaces/msg/ParameterDescriptor",
            *(name, int(declared.kind), about),
            read_only=not declared.dynamic,
        )

    def _list(self, request: Any) -> tuple[list[str], list[str]]:
        names = [name for name in self._parameters if _wanted(name, request)]
        prefixes = {name.rpartition(_SEPARATOR)[0] for name in names} - {""}
        return names, sorted(prefixes)


def _wanted(name: str, request: Any) -> bool:
    """Whether a request lists a name, by prefixes and levels below them; depth 0 is unlimited."""
    if not request.prefixes:
        return not request.depth or name.count(_SEPARATOR) < request.depth
    below = [len(p) + 1 for p in request.prefixes if name.startswith(p + _SEPARATOR)]
    deep = request.depth or len(name) + 1
    return name in request.prefixes or any(name.count(_SEPARATOR, at) < deep for at in below)


def _answer(type_: MessageType, answer: Callable[[Any], Any], request: Any) -> Any:
    return message(type_, answer(request))


P = TypeVar("P", bound=Program)


@dataclass(frozen=True)
class Launch:
    """Options for starting a node, and its run."""

    ros_arguments: Sequence[str] = ()
    """`--ros-args` and the arguments after it."""
    middleware: str = "auto"
    """The transport: "auto", "cyclonedds", "zenoh" or "rclpy"."""
    packages: Mapping[str, Path] = field(default_factory=dict[str, Path])
    """Folders for `$(find-pkg-share NAME)`."""
    record: Path | None = None
    """Folder of a rosbag2 of all messages."""
    lock_step: bool = False
    """Whether time waits for commands."""

    def node(self, name: str, namespace: str, *, simulates_time: bool) -> Node:
        """Create the node with its transport, and the clock selected by its parameters."""
        arguments = parse_arguments(self.ros_arguments, self.packages)
        identity = arguments.identity(name, namespace)
        node = Node(identity, transport(self.middleware, identity), arguments)
        node.parameters.declare(
            "use_sim_time", False, "Whether the time is that of another node's /clock."
        )
        if simulates_time or self.lock_step or node.parameters["use_sim_time"]:
            node.clock = Clock(wall=False)
        return node

    def run(
        self,
        name: str,
        program: Callable[[Node], P],
        *,
        simulates_time: bool,
        namespace: str = "/",
        page: Callable[[P], AbstractContextManager[str]] | None = None,
    ) -> None:
        """Run a program as a node until Ctrl-C or a termination signal.

        Args:
            name: name of the node.
            program: makes the program of the node.
            simulates_time: whether its ticks define the time, published on `/clock`.
            namespace: namespace of the node.
            page: serves a page of the program and returns its address.
        """
        with ExitStack() as ending:
            node = self.node(name, namespace, simulates_time=simulates_time)
            ending.callback(node.close)
            node.publish_log()
            if self.record is not None:
                bag = BagWriter(self.record)
                ending.callback(bag.close)
                node.record(bag)
            own = simulates_time or self.lock_step
            followed = bool(node.parameters["use_sim_time"]) and not own
            running = program(node)
            loop = Loop(node, running, lock_step=self.lock_step, followed=followed)
            parameters = ParameterServices(node)
            node.announce()
            parameters.announce()
            if page is not None:
                node.log("info", f"its page is at {ending.enter_context(page(running))}")
            node.log("info", f"{node.identity.full} is up; Ctrl-C ends it")
            with _ended_by_others(loop):
                loop.run()


@contextmanager
def _ended_by_others(loop: Loop) -> Generator[None]:
    """End the loop on the termination signals of services and containers, as on Ctrl-C.

    A shell starts background processes with the interrupt ignored; launch files and scripts send it
    nevertheless, and nodes of ROS 2 then end.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(*_: object) -> None:
        loop.ending = True

    numbers = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        numbers.append(signal.SIGINT)
    usual = [signal.signal(number, end) for number in numbers]
    try:
        yield
    finally:
        for number, before in zip(numbers, usual, strict=True):
            signal.signal(number, before)
