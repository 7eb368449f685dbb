"""`Launch`: runs a node of `skidpad ros2`, with its transport and the services of parameters."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

from ..errors import InvalidValue, MissingExtra
from ..view.recording.bags import BagWriter
from .arguments import Kind, Parameters, parse_arguments
from .loop import Loop, Program
from .messages.types import message_type, service_type
from .node import Clock, Node
from .transport import PARAMETERS, Identity, Transport

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
"""The transport for each implementation without ROS. Topics work between Cyclone DDS and Fast DDS,
services do not: in a sourced ROS 2, rclpy is better for Fast DDS."""
_DEFAULT = "rmw_fastrtps_cpp"
"""Implementation of a sourced ROS 2 without the variable."""


def transport(kind: str, identity: Identity) -> Transport:
    """The transport of a node: "auto", "cyclonedds", "zenoh" or "rclpy".

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
    """A `rcl_interfaces/ParameterValue`."""
    Value = message_type("rcl_interfaces/msg/ParameterValue").Record
    return Value(type=int(kind), **({_FIELDS[kind]: value} if kind in _FIELDS else {}))


def value_of(message: Any) -> Any:
    """The value of a `rcl_interfaces/ParameterValue`."""
    try:
        kind = Kind(message.type)
    except ValueError as error:
        raise InvalidValue(f"parameter type {message.type} must be from 0 to 9") from error
    if kind is Kind.NOT_SET:
        raise InvalidValue("a parameter of this node cannot be deleted")
    value = getattr(message, _FIELDS[kind])
    if kind is Kind.BYTE_ARRAY:
        raise InvalidValue("this node has no parameter of type byte_array")
    return value if kind < Kind.BYTE_ARRAY else [_plain(entry) for entry in value]


def _plain(entry: Any) -> Any:
    return entry.item() if hasattr(entry, "item") else entry


class ParameterServices:
    """The six services of parameters and `/parameter_events`, for `ros2 param`."""

    def __init__(self, node: Node) -> None:
        self._node, self._parameters = node, node.parameters
        self._events = node.publisher(
            "/parameter_events", "rcl_interfaces/msg/ParameterEvent", PARAMETERS
        )
        for name, answer in (
            ("GetParameters", self._get),
            ("GetParameterTypes", self._types),
            ("SetParameters", self._set),
            ("SetParametersAtomically", self._set_atomically),
            ("DescribeParameters", self._describe),
            ("ListParameters", self._list),
        ):
            snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in name).strip("_")
            Response = service_type(f"rcl_interfaces/srv/{name}").response.Record
            node.serve(
                f"~/{snake}",
                f"rcl_interfaces/srv/{name}",
                lambda request, answer=answer, Response=Response: Response(**answer(request)),
            )

    def announce(self) -> None:
        """Publish the parameters, as every node does at its start."""
        self._publish("new_parameters", self._parameters)

    def _message(self, name: str) -> Any:
        declared = self._parameters.declared.get(name)
        if declared is None:
            return message_of(Kind.NOT_SET, None)
        return message_of(declared.kind, self._parameters[name])

    def _get(self, request: Any) -> dict[str, Any]:
        return {"values": [self._message(name) for name in request.names]}

    def _types(self, request: Any) -> dict[str, Any]:
        return {"types": [self._message(name).type for name in request.names]}

    def _set(self, request: Any) -> dict[str, Any]:
        return {"results": [self._change([one]) for one in request.parameters]}

    def _set_atomically(self, request: Any) -> dict[str, Any]:
        return {"result": self._change(request.parameters)}

    def _change(self, wanted: Iterable[Any]) -> Any:
        Result = message_type("rcl_interfaces/msg/SetParametersResult").Record
        try:
            values = {one.name: value_of(one.value) for one in wanted}
            self._parameters.set(values)
        except InvalidValue as error:
            return Result(successful=False, reason=str(error))
        self._publish("changed_parameters", values)
        return Result(successful=True)

    def _publish(self, field: str, names: Iterable[str]) -> None:
        One = message_type("rcl_interfaces/msg/Parameter").Record
        parameters = [One(name=name, value=self._message(name)) for name in names]
        Event, node = self._events.type.Record, self._node
        event = Event(stamp=node.stamp(), node=node.identity.full, **{field: parameters})
        self._events.send(event)

    def _describe(self, request: Any) -> dict[str, Any]:
        return {"descriptors": [_descriptor(self._parameters, name) for name in request.names]}

    def _list(self, request: Any) -> dict[str, Any]:
        Result = message_type("rcl_interfaces/msg/ListParametersResult").Record
        names = [name for name in self._parameters if _wanted(name, request)]
        prefixes = {name.rpartition(_SEPARATOR)[0] for name in names} - {""}
        return {"result": Result(names=names, prefixes=sorted(prefixes))}


def _descriptor(parameters: Parameters, name: str) -> Any:
    Descriptor = message_type("rcl_interfaces/msg/ParameterDescriptor").Record
    declared = parameters.declared.get(name)
    if declared is None:
        return Descriptor(name=name)
    return Descriptor(
        name=name,
        type=int(declared.kind),
        description=declared.description,
        read_only=not declared.dynamic,
    )


def _wanted(name: str, request: Any) -> bool:
    """Whether a request lists a name, by prefixes and levels below them; a depth of 0 is any."""
    if not request.prefixes:
        return not request.depth or name.count(_SEPARATOR) < request.depth
    return any(
        name == prefix
        or (
            name.startswith(prefix + _SEPARATOR)
            and (not request.depth or name.count(_SEPARATOR, len(prefix) + 1) < request.depth)
        )
        for prefix in request.prefixes
    )


P = TypeVar("P", bound=Program)


@dataclass(frozen=True)
class Launch:
    """The start of a node."""

    ros_arguments: Sequence[str] = ()
    """`--ros-args` and the words after it."""
    middleware: str = "auto"
    """The transport: "auto", "cyclonedds", "zenoh" or "rclpy"."""
    packages: Mapping[str, Path] = field(default_factory=dict[str, Path])
    """Folders for `$(find-pkg-share NAME)`."""
    record: Path | None = None
    """Folder of a rosbag2 of all messages."""
    lock_step: bool = False
    """Whether time waits for commands."""

    def node(self, name: str, namespace: str, *, simulates_time: bool) -> Node:
        """The node with its transport, and the clock for its parameters."""
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
        """Run a program as a node until Ctrl-C or a signal to end.

        Args:
            name: name of the node.
            program: makes the program of the node.
            simulates_time: whether its ticks are the time, published on `/clock`.
            namespace: namespace of the node.
            page: serves a page of the program and gives its address.
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
    """End the loop by the signals of services and containers, as by Ctrl-C.

    A shell starts background processes with the interrupt ignored; launch files and scripts send it
    all the same, and nodes of ROS 2 then end.
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
