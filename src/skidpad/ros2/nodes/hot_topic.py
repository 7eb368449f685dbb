"""Topics whose messages differ in some numbers only: encoded once, then patched and sent."""

from __future__ import annotations

from typing import Any

from ...ros_messages import Prepared
from ..node import Node
from ..transport import DEFAULT, Qos

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
