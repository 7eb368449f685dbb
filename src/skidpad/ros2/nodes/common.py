"""Topics whose messages differ in some numbers only: encoded once, then patched and sent.

Messages that are patched and written again and again, as long as somebody listens.

Message types made from records: a vehicle's state, input and outputs under their own names.

Fields of interface files are lower case, so `F_x` is `f_x` and `tyre.B` is `tyre_b` there. Units
and meanings are comments. Those who have ROS build the package that `write_package` writes, and
`ros2 topic echo` and their own nodes know the types; nobody needs it to run the node.

Putting a vehicle somewhere else: the service `~/set_pose`.

What becomes of a vehicle whose commands stop coming.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
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
from ..messages.types import MessageType, declare, service_type
from ..node import SECOND, Node, Topic
from ..transport import DEFAULT, Qos

__all__ = [
    "PACKAGE",
    "field_names",
    "interface",
    "type_name",
    "write_package",
]

STAMP = ("header.stamp.sec", "header.stamp.nanosec")
POSITION = tuple(f"position.{axis}" for axis in "xyz")
ORIENTATION = tuple(f"orientation.{axis}" for axis in "xyzw")


def inside(prefix: str, *names: str) -> tuple[str, ...]:
    """Paths of fields within another: "pose.pose.position.x"."""
    return tuple(f"{prefix}.{name}" for name in names)


class HotTopic:
    """Publishes one message again and again.

    Args:
        node: whose topic it is.
        topic: its name.
        type_name: of the messages.
        paths: the numbers that change, in the order in which `send` takes them.
        qos: quality of service.
        **fields: what stays.
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
        """Whether anybody would get it: for what takes long to work out."""
        return self._node.bag is not None or self.topic.readers > 0

    def send(self, *numbers: Any) -> None:
        """Publish the message with these numbers."""
        self._patch(*numbers)
        self.topic.write(self.message.data)


LOOK: s = 0.5
"""Within which it is noticed that somebody listens, or no longer does; and how old what is latched
may be to who comes then."""


class Audience(Protocol):
    """Something that is published only as long as somebody listens."""

    topic: Topic
    wanted: bool
    """Whether anybody would get it."""


class Stream:
    """A topic that is published only as long as somebody listens; arguments as of `HotTopic`.

    `send` takes the seconds and nanoseconds of the stamp first.
    """

    def __init__(
        self, node: Node, topic: str, type_name: str, paths: Iterable[str], qos: Qos, **fields: Any
    ) -> None:
        hot = HotTopic(node, topic, type_name, (*STAMP, *paths), qos, **fields)
        self.topic, self.message, self.send = hot.topic, hot.message, hot.send
        self.wanted = True
        """Whether anybody would get it, as `Attention` has found."""


class Attention:
    """Keeps `wanted` up to date, of a few streams at a time: asking costs too.

    Args:
        node: theirs.
        streams: of any number. What is latched is wanted now and then, for who comes later.
        period: between two calls of `look`.
    """

    def __init__(self, node: Node, streams: Iterable[Audience], period: s) -> None:
        self._node = node
        self._streams = list(streams)
        self._kept = [stream for stream in self._streams if stream.topic.qos.latched]
        self._every, self._looks = max(1, round(LOOK / period)), 0
        self._count = max(1, round(len(self._streams) * period / LOOK))
        self._next = 0

    def look(self) -> None:
        """Ask of the next few, before everything is published that is wanted."""
        for _ in range(self._count if self._streams else 0):
            self._ask(self._streams[self._next])
            self._next = (self._next + 1) % len(self._streams)
        turn = self._looks % self._every
        self._looks += 1
        for stream in self._kept if turn <= 1 else ():
            if turn == 0:
                stream.wanted = True
            else:
                self._ask(stream)

    def _ask(self, stream: Audience) -> None:
        stream.wanted = self._node.bag is not None or stream.topic.readers > 0


PACKAGE = "skidpad_msgs"
"""The package of these types."""
PARTS = ("State", "Input", "Outputs")
_HEADER = "std_msgs/Header header"


def field_names(Record: type) -> tuple[str, ...]:
    """The names of a record's leaves as fields of a message."""
    names = tuple(_field_name(name) for name in record.names(Record))
    if len({*names, "header"}) <= len(names):
        raise InvalidValue(f"{Record.__name__} has fields that differ only in their case: {names}")
    return names


def _field_name(name: str) -> str:
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    return plain if plain[:1].isalpha() else f"f_{plain}"


def type_name(vehicle: Vehicle, part: str) -> str:
    """As "skidpad_msgs/msg/FourWheelState"."""
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
    """Write a package of ROS 2 with the types of vehicles, to be built by colcon; gives its files.

    It goes into `folder`/skidpad_msgs. Files that are there are replaced.
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
    """A record of the numbers in a message of its type; raises for those that are not allowed."""
    return record.build(Record, [getattr(message, name) for name in field_names(Record)])


SERVICE = "nav2_msgs/srv/SetInitialPose"
_LEAST = 1e-6
"""Length of a quaternion below which it has no direction."""


def serve_set_pose(
    node: Node, frame: str, put: Callable[[Pose], None], name: str = "~/set_pose"
) -> None:
    """Offer the service, for poses in one frame; `put` is given what was asked for."""

    def answer(request: Any) -> Any:
        put(planar_pose(request.pose, frame))
        return service_type(SERVICE).response.Record()

    node.serve(name, SERVICE, answer)


def planar_pose(message: Any, frame: str) -> Pose:
    """Place and heading in a `PoseWithCovarianceStamped`; without a frame, it is in ours."""
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
        node: whose parameter and simulated time it is.
        stop: what to do then, once.
    """

    def __init__(self, node: Node, stop: Callable[[], None]) -> None:
        node.parameters.declare(
            "command_timeout",
            0.0,
            "Age in s at which a command no longer counts; 0: never.",
            dynamic=True,
            check=_must_be_an_age,
        )
        self._node, self._stop = node, stop
        self._heard: int | None = None

    def heard(self) -> None:
        """A command came now."""
        self._heard = self._node.elapsed

    def forget(self) -> None:
        """There is no command that could grow old."""
        self._heard = None

    def look(self) -> None:
        """Stop the vehicle if it is time to."""
        timeout = self._node.parameters["command_timeout"]
        if timeout == 0.0 or self._heard is None:
            return
        age = (self._node.elapsed - self._heard) / SECOND
        if age > timeout:
            self._heard = None
            self._stop()
            self._node.log("warn", f"no command for {age:.3g} s: the vehicle is stopped")


def _must_be_an_age(value: s) -> None:
    not_negative("command_timeout", value, "s")
