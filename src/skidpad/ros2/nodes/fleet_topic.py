"""A topic that every robot has: their messages are filled in together, and written one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...arrays import Array
from ...ros_messages import PreparedMany
from ..node import Node, Topic
from ..transport import Qos
from .world_names import RobotNames


class _One:
    """The topic of one robot, and its message."""

    def __init__(self, topic: Topic, data: memoryview) -> None:
        self.topic, self.data = topic, data
        self.wanted = True


class FleetTopic:
    """A topic of the same name and type for every robot.

    Args:
        node: whose topics they are.
        robots: names of the robots.
        topic: the topic of a robot.
        type_name: of the messages.
        qos: quality of service.
        record: the message of a robot, with the texts that stay.
        paths: the numbers that change.
    """

    def __init__(
        self,
        node: Node,
        robots: Sequence[RobotNames],
        topic: Callable[[RobotNames], str],
        type_name: str,
        qos: Qos,
        record: Callable[[RobotNames], Any],
        paths: Sequence[str],
    ) -> None:
        topics = [node.publisher(topic(names), type_name, qos) for names in robots]
        alike: dict[int, list[int]] = {}
        for k, names in enumerate(robots):
            alike.setdefault(len(names.frame_prefix), []).append(k)
        self._parts: list[tuple[Any, list[Any]]] = []
        data: dict[int, memoryview] = {}
        for numbers in alike.values():
            many = PreparedMany(topics[0].type, [record(robots[k]) for k in numbers])
            rows = slice(None) if len(alike) == 1 else np.array(numbers)
            self._parts.append((rows, [many.column(path) for path in paths]))
            data |= zip(numbers, many.rows, strict=True)
        self.topics = [_One(one, data[k]) for k, one in enumerate(topics)]
        """One for each robot."""

    def publish(self, *values: float | Array) -> None:
        """Write the messages that are wanted, with a value for each path, or one for each robot."""
        if not any(one.wanted for one in self.topics):
            return
        for rows, columns in self._parts:
            for column, value in zip(columns, values, strict=True):
                column[:] = value[rows] if isinstance(value, np.ndarray) else value
        for one in self.topics:
            if one.wanted:
                one.topic.write(one.data)
