"""`Launch`: runs a node of `skidpad ros2`, with its transport and the parameter services."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..errors import InvalidValue, MissingExtra
from ..view.recording.bags import BagWriter
from .arguments import Kind, parse_arguments
from .dds import PARAMETERS, Identity, Transport
from .loop import Loop, Program
from .messages.types import MessageType, message, service_type
from .node import Clock, Node

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
    # Imported here: each brings its library.
    module, name = _CLASSES[_choose() if kind == "auto" else kind]
    return getattr(import_module(f".{module}", __package__), name)(identity)


def _choose() -> str:
    wanted = os.environ.get(_VARIABLE, "").strip()
    if (wanted or _DEFAULT).startswith("rmw_fastrtps") and _is_installed("rclpy"):
        return "rclpy"
    if wanted:
        # Others, such as rmw_connextdds, need a sourced ROS 2.
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
            "SetParameters": lambda request: [self._change([one]) for one in request.parameters],
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
    """Make termination signals of services and containers end the loop, as Ctrl-C does.

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
