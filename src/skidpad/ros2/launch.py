"""From what a user typed to a node that runs until Ctrl-C."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from ..recording.rosbag2 import BagWriter
from .arguments import parsed
from .choose import transport
from .clock import Clock
from .loop import Loop, Program
from .node import Node
from .parameter_services import ParameterServices


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

    def node(self, name: str, *, simulates_time: bool) -> Node:
        """The node, on its middleware, with the clock that its parameters ask for."""
        arguments = parsed(self.ros_arguments, self.packages)
        identity = arguments.identity(name)
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
        program: Callable[[Node], Program],
        *,
        simulates_time: bool,
        ready: Callable[[Loop], None] | None = None,
    ) -> None:
        """Run a program as a node of that name until Ctrl-C.

        `simulates_time` says that it is the source of time: its ticks are published on `/clock`.
        `ready` is called when others can see the node.
        """
        with ExitStack() as ending:
            node = self.node(name, simulates_time=simulates_time)
            ending.callback(node.close)
            node.publish_log()
            if self.record is not None:
                bag = BagWriter(self.record)
                ending.callback(bag.close)
                node.record(bag)
            own = simulates_time or self.lock_step
            followed = bool(node.parameters["use_sim_time"]) and not own
            loop = Loop(node, program(node), lock_step=self.lock_step, followed=followed)
            parameters = ParameterServices(node)
            node.announce()
            parameters.announce()
            node.log("info", f"{node.identity.full} is up")
            if ready is not None:
                ready(loop)
            loop.run()
