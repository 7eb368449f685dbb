"""Messages that are patched and written again and again, as long as somebody listens."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from ...units import s
from ..node import Node, Topic
from ..transport import Qos
from .hot_topic import STAMP, HotTopic

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
