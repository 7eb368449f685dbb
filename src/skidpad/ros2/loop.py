"""`Loop`: runs the program of a node, in real time or in lock-step with its commands.

Every node has the services `~/pause` (`std_srvs/SetBool`), `~/step` and `~/reset`
(`std_srvs/Trigger`). A failed tick is logged and pauses the node until a reset.

A transport within one process: nodes on an `Exchange`, for closed loops without a network.
"""

from __future__ import annotations

import time
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from math import inf
from typing import Any, Protocol

from ..core.files import brief_repr, listed
from ..core.threads import Deferred
from ..errors import InvalidValue, SkidpadError
from ..units import one, s
from ..view.live.session import Pace
from .arguments import parse_arguments
from .dds import CLOCK, Data, Identity, Qos, Reply, Transport
from .messages.prepared import Prepared
from .messages.types import MessageType, ServiceType, service_type
from .node import SECOND, Clock, Node

_LONGEST_WAIT: s = 0.1
"""Longest wait before the loop checks `ending`."""
_LONGEST_JUMP: s = 1.0
"""Largest jump of a followed clock for which all ticks in between are made."""
_SLOWEST: one = 1e-3
_FASTEST: one = 1e3
"""Bounds of the real-time factor: beyond them a node hardly moves, or never handles
messages."""


class Program(Protocol):
    """The simulation of a node, which creates its topics and services in its constructor.

    One that reads the node's clock, which continues during a pause, has a method `interrupted`:
    it makes the next tick advance by one period, whatever the clock shows. One that does not
    publish the input of controllers at every tick has the property `was_published`: whether the
    last tick did.
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
    """Runs a program.

    Args:
        node: its node. If its clock is neither the system clock nor followed, the ticks advance it
            and it is published on `/clock`.
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
        factor = node.parameters.declare(
            "realtime_factor", 1.0, "Times real time.", dynamic=True, check=_check_factor
        )
        self._followed, self._failed = followed, False
        self._ticked = 0
        """Time in ns of the last tick by a followed clock; 0 before the first."""
        self._pace = Pace(program.period, self._now(), factor)
        node.clock.scale(factor)
        node.parameters.changed.append(self._changed)
        self._clock = None
        if not node.clock.wall and not followed:
            # Serves reliable and best-effort subscribers.
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
        # A pause by the user continues.
        self.paused, self._failed = self.paused and not self._failed, False
        self._pace.restart(self._now())
        return self._trigger(success=True, message="reset")


def _check_factor(value: one) -> None:
    if not _SLOWEST <= value <= _FASTEST:
        raise InvalidValue(f"realtime_factor = {value:g} must be from {_SLOWEST:g} to {_FASTEST:g}")


class Exchange:
    """Connects the nodes of one process; messages arrive immediately and in order.

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
