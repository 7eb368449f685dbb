"""`Loop`: runs the program of a node, in real time or in lock-step with its commands.

Every node has the services `~/pause` (`std_srvs/SetBool`), `~/step` and `~/reset`
(`std_srvs/Trigger`). A tick that fails is logged and pauses the node until a reset.
"""

from __future__ import annotations

import time
from math import inf
from typing import Any, Protocol, runtime_checkable

from ..core.files import brief_repr, listed
from ..core.threads import Deferred
from ..errors import InvalidValue, SkidpadError
from ..units import one, s
from ..view.live.session import Pace
from .messages.prepared import Prepared
from .messages.types import service_type
from .node import SECOND, Node
from .transport import CLOCK

_LONGEST_WAIT: s = 0.1
"""Time after which the loop checks `ending`."""
_LONGEST_JUMP: s = 1.0
"""Largest jump of a followed clock for which all ticks in between are made."""
_SLOWEST: one = 1e-3
_FASTEST: one = 1e3
"""Limits of times real time: beyond them a node hardly moves, or never handles messages."""


class Program(Protocol):
    """The simulation of a node, which creates its topics and services in its constructor."""

    period: s
    """Length of a tick, in simulated time."""

    def tick(self) -> None:
        """Advance by a period and publish."""
        ...

    def reset(self) -> None:
        """Restart the simulation."""
        ...


@runtime_checkable
class Interruptible(Protocol):
    """A program that reads the node's clock, which continues in a pause."""

    def interrupted(self) -> None:
        """Advance by a period at the next tick, whatever the clock shows."""
        ...


@runtime_checkable
class Thinned(Protocol):
    """A program that does not publish the input of controllers at every tick."""

    @property
    def was_published(self) -> bool:
        """Whether the last tick published it."""
        ...


class Loop:
    """Runs a program.

    Args:
        node: its node. A clock that is neither the machine's nor followed is advanced by the ticks
            and published on `/clock`.
        program: the simulation, such as `SingleVehicle`.
        lock_step: whether time waits until every topic of commands has a new one, or `~/step` is
            called. The same commands then give the same bits, however fast they arrive. A `Thinned`
            program continues to the next tick that publishes the input of controllers.
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
        """Time of the machine after which a warning names the awaited commands."""
        self._waits_since: tuple[int, float] | None = None
        self.ending = False
        """Set it to end `run`, from any thread."""
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
            message = Prepared(self._clock.type, self._clock.type.Record())
            self._time, self._put_time = message, message.patcher("clock.sec", "clock.nanosec")
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
        """Handle the messages, make the ticks that are due, wait a little."""
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
        """Make the ticks up to the time of the followed clock, each at its own time."""
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
        if isinstance(self.program, Interruptible):
            self.program.interrupted()

    def _follow_commands(self) -> None:
        commanded = self.node.commanded
        if not self.paused and commanded and all(commanded.values()):
            for topic in commanded:
                commanded[topic] -= 1
            self.tick()
            program = self.program
            while isinstance(program, Thinned) and not (
                program.was_published or self.paused or self.ending
            ):
                self.tick()

    def _warn_if_stalled(self) -> None:
        """Log once the awaited commands, if time has stopped for long without a pause."""
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
            self.node.log(
                "warn", f"/clock jumped by {(now - before) / SECOND:g} s: not made up for"
            )
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
