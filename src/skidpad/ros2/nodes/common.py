"""Parts shared by the nodes: fast topics, messages of records, transforms, `~/set_pose`, watchdog.

A `HotTopic` encodes its message once and patches the numbers that change; a `Stream` is a topic
that is written only while it has subscribers.

State, input and outputs of a vehicle are messages of the package `skidpad_msgs`, whose fields are
lower case: `F_x` is `f_x`, `tyre.B` is `tyre_b`. The package of `write_package` is for tools and
nodes of a ROS installation; the nodes here do not need it.

`Broadcaster` publishes transforms between frames on `/tf` and `/tf_static`, `Listener` receives
them from there.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import cycle, islice
from math import atan, atan2, copysign, hypot, isfinite
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...control.car import Abilities
from ...core import record
from ...core.arrays import Array
from ...core.body import Pose
from ...core.checks import not_negative
from ...core.files import replacing
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...units import m, m_s, m_s2, rad, rad_s, s
from ...view.solids import ORIGIN, Box, Cylinder, Mesh, Polyline, Solid
from ..dds import DEFAULT, TF, TF_STATIC, Qos
from ..messages.types import MessageType, Prepared, declare, message, service_type
from ..node import SECOND, Node, Topic

STAMP = ("header.stamp.sec", "header.stamp.nanosec")
POSITION = tuple(f"position.{axis}" for axis in "xyz")
ORIENTATION = tuple(f"orientation.{axis}" for axis in "xyzw")


def header(frame: str) -> Any:
    """A `std_msgs/Header` with a frame and without a stamp."""
    return message("std_msgs/msg/Header", frame_id=frame)


_CUBE, _CYLINDER, _LINE_STRIP, _TRIANGLES = 1, 3, 4, 11
_LINE_HEIGHT: m = 0.02
"""Height of the lines of markers as MVSim sends it; RViz only uses the width."""


def marker(frame: str, space: str, number: int, solid: Solid, **more: Any) -> Any:
    """Make a `visualization_msgs/Marker` of a solid, with an id in a name space.

    A cylinder that narrows towards its top keeps its width: RViz has no cones.
    """
    match solid:
        case Box(pose, size, colour):
            kind, scale = _CUBE, size
        case Cylinder(pose, size, colour):
            kind, scale = _CYLINDER, size
        case Polyline(points, colour, closed, width, pose):
            kind, scale = _LINE_STRIP, (width, width, _LINE_HEIGHT)
            more["points"] = [*points, points[0]] if closed else [*points]
        case Mesh(points, corners, colour):
            kind, scale, pose = _TRIANGLES, (1.0, 1.0, 1.0), ORIGIN
            more["points"] = [points[k] for k in corners]
    fields = dict(header=header(frame), ns=space, id=number, type=kind, pose=pose)
    return message("visualization_msgs/msg/Marker", **fields, scale=scale, color=colour, **more)


def inside(prefix: str, *names: str) -> tuple[str, ...]:
    """Field paths below a prefix, such as "pose.pose.position.x"."""
    return tuple(f"{prefix}.{name}" for name in names)


class Stream:
    """Topic that is published only while it has subscribers."""

    def __init__(self, topic: Topic) -> None:
        self.topic = topic
        self.wanted = True
        """Whether there was a subscriber or a bag at the last check of `Attention`."""


class HotTopic(Stream):
    """A topic whose messages differ in some numbers only.

    Args:
        node: the node.
        topic: name of the topic.
        type_name: type of the messages.
        paths: fields of the numbers that change, in the order of the arguments of `send`.
        qos: quality of service.
        **fields: constant values of the other fields.
    """

    def __init__(
        self, node: Node, topic: str, type_name: str, paths: Any, qos: Qos = DEFAULT, **fields: Any
    ) -> None:
        super().__init__(node.publisher(topic, type_name, qos))
        self.message = Prepared(self.topic.type, message(type_name, **fields))
        self._patch = self.message.patcher(*paths)

    def send(self, *numbers: Any) -> None:
        """Publish the message with these numbers."""
        self._patch(*numbers)
        self.topic.write(self.message.data)


LOOK: s = 0.5
"""Time within which a change of subscribers is noticed, and largest age of a latched
message."""


class Attention:
    """Updates `wanted` of streams, a few per call, as each check takes time.

    Args:
        streams: the streams. Latched ones are wanted periodically, for later subscribers.
        period: time between two calls of `look`, in s.
    """

    def __init__(self, streams: Iterable[Stream], period: s) -> None:
        self._streams = list(streams)
        self._latched = [stream for stream in self._streams if stream.topic.qos.latched]
        self._every, self._looks = max(1, round(LOOK / period)), 0
        self._count = max(1, round(len(self._streams) * period / LOOK))
        self._turns = cycle(self._streams)

    def look(self) -> None:
        """Check the next few streams; called before publishing."""
        turn = self._looks % self._every
        self._looks += 1
        latched = self._latched if turn <= 1 else ()
        for stream in (*islice(self._turns, self._count), *latched):
            stream.wanted = stream.topic.is_heard
        for stream in self._latched if turn == 0 else ():
            stream.wanted = True


PACKAGE = "skidpad_msgs"
PARTS = ("State", "Input", "Outputs")
_HEADER = "std_msgs/Header header"


def field_names(Record: type) -> tuple[str, ...]:
    """Names of a record's leaves as fields of a message."""
    plain = (re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_") for name in record.names(Record))
    names = tuple(name if name[:1].isalpha() else f"f_{name}" for name in plain)
    if len({*names, "header"}) <= len(names):
        raise InvalidValue(f"{Record.__name__} has fields that differ only in their case: {names}")
    return names


def type_name(vehicle: Vehicle, part: str) -> str:
    """Name of a message type, such as "skidpad_msgs/msg/FourWheelState"."""
    words = re.split(r"[^A-Za-z0-9]+", vehicle.name)
    return f"{PACKAGE}/msg/{''.join(word.capitalize() for word in words)}{part}"


def interface(Record: type) -> str:
    """Interface file of a record: a header, then its leaves."""
    lines = [_HEADER]
    for name, leaf in zip(field_names(Record), record.fields(Record), strict=True):
        meaning = " ".join(leaf.doc.split())
        lines.append(f"# {leaf.unit}{': ' if meaning else ''}{meaning}")
        default = f" {leaf.default!r}" if leaf.default else ""
        lines.append(f"float64 {name}{default}")
    return "\n".join(lines) + "\n"


def record_class(vehicle: Vehicle, part: str) -> type:
    """Record class of a part of a vehicle: State, Input or Outputs."""
    return getattr(vehicle.model, part)


def declared(vehicle: Vehicle, part: str) -> MessageType:
    """Message type of a part of a vehicle."""
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

    Files in `folder`/skidpad_msgs are replaced. Returns the paths of the files.
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


SERVICE = "nav2_msgs/srv/SetInitialPose"
_LEAST = 1e-6
"""Length below which a quaternion has no direction."""


def serve_set_pose(
    node: Node, frame: str, put: Callable[[Pose], None], name: str = "~/set_pose"
) -> None:
    """Offer the service that moves a vehicle, by calling `put`, to a pose in a frame."""

    def answer(request: Any) -> Any:
        put(planar_pose(request.pose, frame))
        return service_type(SERVICE).response.Record()

    node.serve(name, SERVICE, answer)


def planar_pose(message: Any, frame: str) -> Pose:
    """Position and heading of a `PoseWithCovarianceStamped`; its frame must be `frame` or empty."""
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


def steer_for(can: Abilities, v: m_s, omega: rad_s) -> rad:
    """Steering angle of a vehicle for a yaw rate; full lock at rest."""
    if v == 0.0 or omega == 0.0:
        return copysign(can.steer_max, omega) if omega else 0.0
    return limited(atan(can.wheel_base * omega / v), can.steer_max)


def acceleration_for(can: Abilities, wanted: m_s2, v: m_s, most: m_s2) -> m_s2:
    """Acceleration demanded at a speed, limited to what a vehicle can do; its magnitude towards the
    goal is at most `most`."""
    return limited(wanted, min(can.a_brake if wanted * v < 0.0 else can.a_drive, most))


def limited(value: float, most: float) -> float:
    """Value limited to ±`most`."""
    return min(max(value, -most), most)


class Watchdog:
    """Stops a vehicle when its last command is older than the parameter `command_timeout`.

    Args:
        node: the node, with its simulated time.
        stop: stops the vehicle; called once per timeout.
        default: default of the parameter.
        dynamic: whether the parameter may change while the node runs.
        effect: effect of the timeout, for the description of the parameter.
    """

    def __init__(
        self,
        node: Node,
        stop: Callable[[], None],
        default: s = 0.0,
        *,
        dynamic: bool = True,
        effect: str = "",
    ) -> None:
        meaning = f"Age in s at which a command no longer counts{effect}; 0: never."
        check = partial(not_negative, "command_timeout", unit="s")
        node.parameters.declare("command_timeout", default, meaning, dynamic=dynamic, check=check)
        self._node, self._stop = node, stop
        self._heard: int | None = None

    def heard(self) -> None:
        """Note the arrival of a command."""
        self._heard = self._node.elapsed

    def forget(self) -> None:
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


REMEMBERED = 512
"""Number of recently sent messages that a node stores to recognise its own: more than are ever in
transit."""


class FrameWatch:
    """Warns once about each frame of the node that another node publishes too.

    tf2 would use the message that arrived last.
    """

    def __init__(self, node: Node, topic: Topic) -> None:
        self._node, self._topic = node, topic
        self._warned: set[str] = set()
        self._children: dict[int, set[str]] = {}
        """Frames of the node's messages, by the size of the message."""
        topic.said = deque(maxlen=REMEMBERED)
        topic.remembers = True
        node.listen(topic.name, topic.type, self._hear, TF)

    def _hear(self, data: bytes) -> None:
        suspects = self._frames() - self._warned
        # Search the bytes first, which takes less than a microsecond.
        if not any(child.encode() + b"\0" in data for child in suspects):
            return
        if self._node.is_own(self._topic.name, data):
            return
        for one in self._topic.type.decode(data).transforms:
            child = one.child_frame_id
            if child in suspects and child not in self._warned:
                self._warned.add(child)
                self._node.log("warn", self._sentence(one))

    def _frames(self) -> set[str]:
        last = self._topic.said[-1] if self._topic.said else b""
        if last and len(last) not in self._children:
            transforms = self._topic.type.decode(last).transforms
            self._children[len(last)] = {one.child_frame_id for one in transforms}
        return set().union(*self._children.values())

    def _sentence(self, other: Any) -> str:
        name = self._topic.name
        return (
            f"another node publishes the frame {other.child_frame_id} on {name} too, within "
            f"{other.header.frame_id}: tools see it jump between the two. Give each node frames of "
            f"its own, or a topic of its own in its namespace with -r {name}:=tf"
        )


MOST_FRAMES = 10_000
"""Largest number of stored frames of other nodes."""
_DEEPEST = 100
"""Largest depth of nested frames, as each takes time to look up."""
_FARTHEST = 1e12
"""Largest translation in m, so that products remain finite."""


class Rigid(NamedTuple):
    """Pose of a frame in another: translation in m and unit quaternion x, y, z, w."""

    translation: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rotation: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 1.0)

    @classmethod
    def planar(cls, x: float, y: float, yaw: float, z: float = 0.0) -> Rigid:
        """A pose in the plane."""
        return cls((x, y, z), (0.0, 0.0, float(np.sin(0.5 * yaw)), float(np.cos(0.5 * yaw))))

    def __matmul__(self, other: Rigid) -> Rigid:
        """The pose of `other`, given in this frame, in the parent of this frame."""
        moved = _rotated(self.rotation, np.array(other.translation))
        place = tuple(float(v) for v in np.add(self.translation, moved))
        return Rigid(place, _product(self.rotation, other.rotation))  # type: ignore[arg-type]

    def inverse(self) -> Rigid:
        """The pose of the parent in this frame."""
        x, y, z, w = self.rotation
        back = (-x, -y, -z, w)
        place = tuple(float(-v) for v in _rotated(back, np.array(self.translation)))
        return Rigid(place, back)  # type: ignore[arg-type]


def _product(a: Sequence[float], b: Sequence[float]) -> tuple[float, float, float, float]:
    ax, ay, az, aw = a
    bx, by, bz, bw = b
    return (
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
        aw * bw - ax * bx - ay * by - az * bz,
    )


def _rotated(q: Sequence[float], v: Array) -> Array:
    axis, w = np.array(q[:3]), q[3]
    t = 2.0 * np.cross(axis, v)
    return v + w * t + np.cross(axis, t)


TRANSFORM = (
    *("header.stamp.sec", "header.stamp.nanosec"),
    *(f"transform.translation.{axis}" for axis in "xyz"),
    *(f"transform.rotation.{axis}" for axis in "xyzw"),
)
"""Paths of the numbers of a `geometry_msgs/TransformStamped`: stamp, translation, rotation."""


class Broadcaster:
    """Publishes the poses of some frames on `/tf`, in one message.

    Args:
        node: the node.
        frames: pairs of parent and child frame.
    """

    def __init__(self, node: Node, frames: Sequence[tuple[str, str]]) -> None:
        if node.tf is None:  # a node has only one publisher of `/tf`
            node.tf = node.publisher("/tf", "tf2_msgs/msg/TFMessage", TF)
            FrameWatch(node, node.tf)
        self._topic = node.tf
        transforms = tf_message([(*pair, Rigid()) for pair in frames])
        self._message = Prepared(self._topic.type, transforms)
        places = [f"transforms[{k}].{path}" for k in range(len(frames)) for path in TRANSFORM]
        self._put = self._message.patcher(*places)

    def send(self, stamp: Any, *transforms: Rigid) -> None:
        """Publish the poses of the frames, in the order of `frames`."""
        self._put(*(x for place, turn in transforms for x in (*stamp, *place, *turn)))
        self._topic.write(self._message.data)


def send_static(node: Node, frames: Sequence[tuple[str, str, Rigid]]) -> None:
    """Publish fixed frames (parent, child, pose of the child); once for a node."""
    topic = node.publisher("/tf_static", "tf2_msgs/msg/TFMessage", TF_STATIC)
    topic.send(tf_message(frames, node.stamp()))


def tf_message(frames: Sequence[tuple[str, str, Rigid]], stamp: Any = None) -> Any:
    """A `tf2_msgs/TFMessage` of frames (parent, child, pose of the child)."""
    stamp = () if stamp is None else stamp
    transforms = [((stamp, parent), child, tuple(pose)) for parent, child, pose in frames]
    return message("tf2_msgs/msg/TFMessage", transforms)


class Listener:
    """The latest pose of every frame on `/tf` and `/tf_static`."""

    def __init__(self, node: Node) -> None:
        self._parent: dict[str, tuple[str, Rigid]] = {}
        for topic, qos in (("/tf", TF), ("/tf_static", TF_STATIC._replace(depth=100))):
            node.subscribe(topic, "tf2_msgs/msg/TFMessage", self._hear, qos)

    def _hear(self, message: Any) -> None:
        for one in message.transforms:
            t, q = one.transform.translation, one.transform.rotation
            size = float(np.hypot(np.hypot(q.x, q.y), np.hypot(q.z, q.w)))
            numbers = (t.x, t.y, t.z, q.x, q.y, q.z, q.w)
            if not (np.abs(numbers) < _FARTHEST).all() or size < 1e-6:
                continue
            turn = (q.x / size, q.y / size, q.z / size, q.w / size)
            parent, child = one.header.frame_id.strip("/"), one.child_frame_id.strip("/")
            # Frames are kept in the order of arrival, so that the oldest are dropped.
            self._parent.pop(child, None)
            self._parent[child] = (parent, Rigid((t.x, t.y, t.z), turn))
            if len(self._parent) > MOST_FRAMES:
                del self._parent[next(iter(self._parent))]

    def where(self, frame: str, within: str) -> Rigid | None:
        """Pose of `frame` in the frame `within`; None if it is unknown."""
        frame, within = frame.strip("/"), within.strip("/")
        up, down = self._chain(frame), self._chain(within)
        for ancestor, place in up.items():
            if ancestor in down:
                return down[ancestor].inverse() @ place
        return None

    def _chain(self, frame: str) -> dict[str, Rigid]:
        """The frame and its ancestors, with the pose of the frame in each."""
        chain = {frame: Rigid()}
        while frame in self._parent and len(chain) < _DEEPEST:
            parent, place = self._parent[frame]
            if parent in chain:
                break
            chain[parent] = place @ chain[frame]
            frame = parent
        return chain
