"""From what a user typed to a node that runs until Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from ..recording.rosbag2 import BagWriter
from .arguments import parsed
from .choose import transport
from .clock import Clock
from .loop import Loop, Program
from .node import Node
from .parameter_services import ParameterServices

P = TypeVar("P", bound=Program)


@dataclass(frozen=True)
class Launch:
    """How a node is started."""

    ros_arguments: Sequence[str] = ()
    """`--ros-args` and what follows."""
    middleware: str = "auto"
    """What carries the messages: "auto", "cyclonedds", "zenoh" or "rclpy"."""
    packages: Mapping[str, Path] = field(default_factory=dict[str, Path])
    """Folders that `$(find-pkg-share NAME)` stands for."""
    record: Path | None = None
    """Folder of a rosbag2 of everything that is published and heard."""
    lock_step: bool = False
    """Whether time waits for commands."""

    def node(self, name: str, namespace: str, *, simulates_time: bool) -> Node:
        """The node, on its middleware, with the clock that its parameters ask for."""
        arguments = parsed(self.ros_arguments, self.packages)
        identity = arguments.identity(name, namespace)
        node = Node(identity, transport(self.middleware, identity), arguments)
        node.parameters.declare(
            "use_sim_time", False, "Whether the time is that of somebody else's /clock."
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
        """Run a program as a node of that name until Ctrl-C, or until it is told to end.

        `simulates_time` says that it is the source of time: its ticks are published on `/clock`.
        `page` serves a page about the program and gives its address.
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
    """What ends services and containers ends the loop as Ctrl-C does.

    A shell starts what it puts into the background with the interrupt ignored; launch files and
    scripts send it all the same, and the nodes of ROS 2 end then.
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
