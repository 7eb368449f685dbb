"""Transforms between frames: published on `/tf` and `/tf_static`, and received from there."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Array
from .dds import TF, TF_STATIC
from .messages.prepared import Prepared
from .messages.types import message
from .node import Node, Topic

REMEMBERED = 512
"""Number of sent messages by which a node recognises its own: more than are ever in transit."""


class FrameWatch:
    """Warns once about each frame of the node that another node publishes too.

    tf2 would use whichever arrived last.
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
        # Text search first, which takes less than a microsecond.
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
            # In the order of arrival, so that the oldest are dropped.
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
