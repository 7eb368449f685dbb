"""Whether somebody else publishes the same frames: of two who do, tf2 takes what came last."""

from __future__ import annotations

from collections import deque
from typing import Any

from .node import Node, Topic
from .transport import TF

REMEMBERED = 512
"""Messages by which a node tells that it hears itself: more than may be on their way."""


class FrameWatch:
    """Listens to the node's own topic of transforms, and tells once of a frame that another
    publishes there too."""

    def __init__(self, node: Node, topic: Topic) -> None:
        self._node, self._topic = node, topic
        self._told: set[str] = set()
        self._children: dict[int, set[str]] = {}
        """Frames of own messages, by the size of the message."""
        topic.said = deque(maxlen=REMEMBERED)
        topic.remembers = True
        node.listen(topic.name, topic.type, self._hear, TF)

    def _hear(self, data: bytes) -> None:
        suspects = self._frames() - self._told
        # The texts first: to look for them takes less than a microsecond.
        if not any(child.encode() + b"\0" in data for child in suspects):
            return
        if self._node.is_own(self._topic.name, data):
            return
        for one in self._topic.type.decode(data).transforms:
            child = one.child_frame_id
            if child in suspects and child not in self._told:
                self._told.add(child)
                self._node.log("warn", self._sentence(one))

    def _frames(self) -> set[str]:
        """The frames that the node itself publishes."""
        if self._topic.said and len(self._topic.said[-1]) not in self._children:
            message = self._topic.type.decode(self._topic.said[-1])
            children = {one.child_frame_id for one in message.transforms}
            self._children[len(self._topic.said[-1])] = children
        return set().union(*self._children.values())

    def _sentence(self, other: Any) -> str:
        name = self._topic.name
        return (
            f"another node publishes the frame {other.child_frame_id} on {name} too, within "
            f"{other.header.frame_id}: tools see it jump between the two. Give each node frames of "
            f"its own, or a topic of its own in its namespace with -r {name}:=tf"
        )
