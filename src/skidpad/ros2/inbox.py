"""What has arrived and was not looked at yet, in the order of arrival."""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from typing import Any

from ..units import s


class Channel:
    """One source of what arrives: a subscription or a service.

    Args:
        handle: is given what arrived, in the thread that simulates.
        depth: how many may wait; the oldest go first.
        name: of the topic or service.
    """

    def __init__(self, handle: Callable[[Any], None], depth: int, name: str = "") -> None:
        self.handle, self.depth, self.name = handle, depth, name
        self.waiting: deque[int] = deque()
        """Numbers of its entries in the inbox."""


class Inbox:
    """Filled by threads of a transport, emptied by the thread that simulates.

    A channel that is flooded pushes out its own oldest, never what came by others.
    """

    def __init__(self) -> None:
        self._entries: OrderedDict[int, tuple[Channel, Any]] = OrderedDict()
        self._numbers = itertools.count()
        self._change = threading.Condition()
        self.dropped = 0
        """How many were pushed out by newer ones."""

    @property
    def size(self) -> int:
        """How many wait."""
        return len(self._entries)

    def put(self, channel: Channel, data: Any) -> None:
        """Add what arrived."""
        with self._change:
            if len(channel.waiting) >= channel.depth:
                del self._entries[channel.waiting.popleft()]
                self.dropped += 1
            number = next(self._numbers)
            channel.waiting.append(number)
            self._entries[number] = (channel, data)
            self._change.notify()

    def take(self) -> tuple[Channel, Any] | None:
        """The oldest, or None."""
        with self._change:
            if not self._entries:
                return None
            _, (channel, data) = self._entries.popitem(last=False)
            channel.waiting.popleft()
            return channel, data

    def wait(self, timeout: s) -> bool:
        """Wait until something is there or the time is over; says whether something is."""
        with self._change:
            return bool(self._entries) or (self._change.wait(timeout) and bool(self._entries))
