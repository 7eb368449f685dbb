"""Messages that are published again and again, with another stamp and other numbers."""

from __future__ import annotations

from typing import Any

from ..arrays import AnyArray
from ..ros_messages import Prepared
from .node import Topic

STAMP = ("header.stamp.sec", "header.stamp.nanosec")


class Report:
    """A topic and the message that is sent there, of which some numbers change.

    Args:
        topic: where it goes.
        message: a record with all that stays.
        changing: paths of the numbers that are given with each `send`.
        stamps: paths of seconds and nanoseconds that are the stamp, one pair or more.
    """

    def __init__(
        self, topic: Topic, message: Any, *changing: str, stamps: tuple[str, ...] = STAMP
    ) -> None:
        self._topic = topic
        self._message = Prepared(topic.type, message)
        self._put = self._message.patcher(*stamps, *changing)
        self._times = len(stamps) // len(STAMP)

    def array(self, path: str) -> AnyArray:
        """The numbers of an array or a sequence, to write the next ones to."""
        return self._message.array(path)

    def send(self, stamp: Any, *values: Any) -> None:
        """Publish it with other numbers, in the order in which their paths were given."""
        self._put(*stamp * self._times, *values)
        self._topic.write(self._message.data)
