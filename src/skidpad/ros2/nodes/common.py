"""Parts that the nodes share: fast topics, message types of records, `~/set_pose`, the watchdog.

A `HotTopic` encodes its message once and patches the numbers that change; a `Stream` is one that
is written only while it has subscribers.

State, input and outputs of a vehicle are messages of the package `skidpad_msgs`, whose fields are
lower case: `F_x` is `f_x`, `tyre.B` is `tyre_b`. The package of `write_package` is for tools and
nodes of a ROS installation; the nodes here do not need it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from math import atan2, hypot, isfinite
from pathlib import Path
from typing import Any, Protocol

from ...core import record
from ...core.body import Pose
from ...core.checks import not_negative
from ...core.files import replacing
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...units import s
from ..messages.prepared import Prepared
from ..messages.types import MessageType, declare, message_type, service_type
from ..node import SECOND, Node, Topic
from ..transport import DEFAULT, Qos

STAMP = ("header.stamp.sec", "header.stamp.nanosec")
POSITION = tuple(f"position.{axis}" for axis in "xyz")
ORIENTATION = tuple(f"orientation.{axis}" for axis in "xyzw")


def header(frame: str) -> Any:
    """A `std_msgs/Header` of a frame, without a stamp."""
    return message_type("std_msgs/msg/Header").Record(frame_id=frame)


def inside(prefix: str, *names: str) -> tuple[str, ...]:
    """Paths of fields within another: "pose.pose.position.x"."""
    return tuple(f"{prefix}.{name}" for name in names)


class HotTopic:
    """A topic whose messages differ in some numbers only.

    Args:
        node: the node.
        topic: name of the topic.
        type_name: type of the messages.
        paths: fields of the numbers that change, in the order of the arguments of `send`.
        qos: quality of service.
        **fields: the other fields.
    """

    def __init__(
        self, node: Node, topic: str, type_name: str, paths: Any, qos: Qos = DEFAULT, **fields: Any
    ) -> None:
        self._node = node
        self.topic = node.publisher(topic, type_name, qos)
        self.message = Prepared(self.topic.type, self.topic.type.Record(**fields))
        self._patch = self.message.patcher(*paths)

    @property
    def wanted(self) -> bool:
        """Whether there is a subscriber or a bag, for numbers that take long to compute."""
        return self._node.bag is not None or self.topic.readers > 0

    def send(self, *numbers: Any) -> None:
        """Publish the message with these numbers."""
        self._patch(*numbers)
        self.topic.write(self.message.data)


LOOK: s = 0.5
"""Time within which a change of subscribers is noticed, and largest age of a latched message."""


class Audience(Protocol):
    """A topic that is published only while it has subscribers."""

    topic: Topic
    wanted: bool
    """Whether there is a subscriber or a bag."""


class Stream:
    """A `HotTopic` that is published only while it has subscribers.

    `send` takes the seconds and nanoseconds of the stamp first.
    """

    def __init__(
        self, node: Node, topic: str, type_name: str, paths: Iterable[str], qos: Qos, **fields: Any
    ) -> None:
        hot = HotTopic(node, topic, type_name, (*STAMP, *paths), qos, **fields)
        self.topic, self.message, self.send = hot.topic, hot.message, hot.send
        self.wanted = True
        """Whether there is a subscriber or a bag, by the last check of `Attention`."""


class Attention:
    """Keeps `wanted` of streams up to date, a few at a time, as each check takes time.

    Args:
        node: the node.
        streams: the streams. Latched ones are wanted at times, for later subscribers.
        period: time between two calls of `look`, in s.
    """

    def __init__(self, node: Node, streams: Iterable[Audience], period: s) -> None:
        self._node = node
        self._streams = list(streams)
        self._latched = [stream for stream in self._streams if stream.topic.qos.latched]
        self._every, self._looks = max(1, round(LOOK / period)), 0
        self._count = max(1, round(len(self._streams) * period / LOOK))
        self._next = 0

    def look(self) -> None:
        """Check the next few streams, before publishing."""
        for _ in range(self._count if self._streams else 0):
            self._check(self._streams[self._next])
            self._next = (self._next + 1) % len(self._streams)
        turn = self._looks % self._every
        self._looks += 1
        for stream in self._latched if turn <= 1 else ():
            if turn == 0:
                stream.wanted = True
            else:
                self._check(stream)

    def _check(self, stream: Audience) -> None:
        stream.wanted = self._node.bag is not None or stream.topic.readers > 0


PACKAGE = "skidpad_msgs"
"""The package of the message types."""
PARTS = ("State", "Input", "Outputs")
_HEADER = "std_msgs/Header header"


def field_names(Record: type) -> tuple[str, ...]:
    """The names of a record's leaves as fields of a message."""
    plain = (re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") for name in record.names(Record))
    names = tuple(name if name[:1].isalpha() else f"f_{name}" for name in plain)
    if len({*names, "header"}) <= len(names):
        raise InvalidValue(f"{Record.__name__} has fields that differ only in their case: {names}")
    return names


def type_name(vehicle: Vehicle, part: str) -> str:
    """The name of a message type, such as "skidpad_msgs/msg/FourWheelState"."""
    words = re.split(r"[^A-Za-z0-9]+", vehicle.name)
    return f"{PACKAGE}/msg/{''.join(word.capitalize() for word in words)}{part}"


def interface(Record: type) -> str:
    """The text of the interface file of a record: a header, then its leaves."""
    lines = [_HEADER]
    for name, leaf in zip(field_names(Record), record.fields(Record), strict=True):
        meaning = " ".join(leaf.doc.split())
        lines.append(f"# {leaf.unit}{': ' if meaning else ''}{meaning}")
        default = f" {leaf.default!r}" if leaf.default else ""
        lines.append(f"float64 {name}{default}")
    return "\n".join(lines) + "\n"


def record_class(vehicle: Vehicle, part: str) -> type:
    """The class of a part of a vehicle: State, Input or Outputs."""
    return getattr(vehicle.model, part)


def declared(vehicle: Vehicle, part: str) -> MessageType:
    """The message type of a part of a vehicle."""
    return declare(type_name(vehicle, part), interface(record_class(vehicle, part)))


_MANIFEST = """<?xml version="1.0"?>
<package format="3">
  <name>{package}</name>
  <version>0.0.0</version>
  <description>States, inputs and outputs of vehicles, as skidpad publishes them.</description>
  <maintainer email="nobody@example.org">nobody</maintainer>
  <license>Apache-2.0</license>
  <buildtool_depend>ament_cmake</buildtool_depend>
  <buildtool_depend>rosidl_default_generators</buildtool_depend>
  <depend>std_msgs</depend>
  <exec_depend>rosidl_default_runtime</exec_depend>
  <member_of_group>rosidl_interface_packages</member_of_group>
  <export><build_type>ament_cmake</build_type></export>
</package>
"""
_BUILD = """cmake_minimum_required(VERSION 3.8)
project({package})
find_package(ament_cmake REQUIRED)
find_package(rosidl_default_generators REQUIRED)
find_package(std_msgs REQUIRED)
rosidl_generate_interfaces(${{PROJECT_NAME}}
{files}
  DEPENDENCIES std_msgs)
ament_export_dependencies(rosidl_default_runtime)
ament_package()
"""


def write_package(folder: str | os.PathLike[str], vehicles: Iterable[Vehicle]) -> Sequence[Path]:
    """Write a package of ROS 2 with the message types of vehicles, to be built by colcon.

    It goes into `folder`/skidpad_msgs, where files are replaced. Returns the paths of its files.
    """
    messages: dict[str, str] = {}
    for vehicle in vehicles:
        for part in PARTS:
            if record.size(record_class(vehicle, part)):
                name = type_name(vehicle, part).rpartition("/")[2]
                messages[f"msg/{name}.msg"] = interface(record_class(vehicle, part))
    listed = "\n".join(f'  "{name}"' for name in messages)
    texts = {
        **messages,
        "package.xml": _MANIFEST.format(package=PACKAGE),
        "CMakeLists.txt": _BUILD.format(package=PACKAGE, files=listed),
    }
    root = Path(folder) / PACKAGE
    (root / "msg").mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        with replacing(root / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return [root / name for name in texts]


def leaf_numbers(Record: type, message: Any) -> Any:
    """A record from the numbers of a message of its type; raises for numbers out of range."""
    return record.build(Record, [getattr(message, name) for name in field_names(Record)])


SERVICE = "nav2_msgs/srv/SetInitialPose"
_LEAST = 1e-6
"""Length of a quaternion below which it has no direction."""


def serve_set_pose(
    node: Node, frame: str, put: Callable[[Pose], None], name: str = "~/set_pose"
) -> None:
    """Offer the service that moves a vehicle by `put` to a pose in a frame."""

    def answer(request: Any) -> Any:
        put(planar_pose(request.pose, frame))
        return service_type(SERVICE).response.Record()

    node.serve(name, SERVICE, answer)


def planar_pose(message: Any, frame: str) -> Pose:
    """Position and heading of a `PoseWithCovarianceStamped` in a frame, which it may leave out."""
    named = message.header.frame_id.strip("/")
    if named not in ("", frame):
        raise InvalidValue(f"frame_id = {named[:80]!r} of a pose must be {frame!r} or empty")
    at, q = message.pose.pose.position, message.pose.pose.orientation
    if not all(map(isfinite, (at.x, at.y, *q))):
        raise InvalidValue(f"pose {at.x}, {at.y} with the quaternion {[*q]} must be finite")
    if hypot(*q) < _LEAST:
        raise InvalidValue(f"orientation {[*q]} of a pose must be a quaternion of length 1")
    yaw = atan2(2.0 * (q.w * q.z + q.x * q.y), q.w * q.w + q.x * q.x - q.y * q.y - q.z * q.z)
    return Pose(at.x, at.y, yaw)


class Watchdog:
    """Stops a vehicle when its last command is older than the parameter `command_timeout`.

    Args:
        node: the node, with its simulated time.
        stop: stops the vehicle; called once per timeout.
    """

    def __init__(self, node: Node, stop: Callable[[], None]) -> None:
        node.parameters.declare(
            "command_timeout",
            0.0,
            "Age in s at which a command no longer counts; 0: never.",
            dynamic=True,
            check=partial(not_negative, "command_timeout", unit="s"),
        )
        self._node, self._stop = node, stop
        self._heard: int | None = None

    def heard(self) -> None:
        """Note the arrival of a command."""
        self._heard = self._node.elapsed

    def forget(self) -> None:
        """Forget the last command."""
        self._heard = None

    def look(self) -> None:
        """Stop the vehicle if its last command is too old."""
        timeout = self._node.parameters["command_timeout"]
        if timeout == 0.0 or self._heard is None:
            return
        age = (self._node.elapsed - self._heard) / SECOND
        if age > timeout:
            self._heard = None
            self._stop()
            self._node.log("warn", f"no command for {age:.3g} s: the vehicle is stopped")
