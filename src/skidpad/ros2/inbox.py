"""What has arrived and was not looked at yet, in the order of arrival."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from ..units import s

_Entry = list[Any]
"""Channel and data; data is None once newer ones have taken its place."""


class Channel:
    """One source of what arrives: a subscription or a service.

    Args:
        handle: is given what arrived, in the thread that simulates.
        depth: how many may wait; the oldest go first.
    """

    def __init__(self, handle: Callable[[Any], None], depth: int) -> None:
        self.handle, self.depth = handle, depth
        self.waiting: deque[_Entry] = deque()


class Inbox:
    """Filled by threads of a transport, emptied by the thread that simulates.

    A channel that is flooded pushes out its own oldest, never what came by others.
    """

    def __init__(self) -> None:
        self._entries: deque[_Entry] = deque()
        self._change = threading.Condition()
        self.dropped = 0
        """How many were pushed out by newer ones."""

    def put(self, channel: Channel, data: Any) -> None:
        """Add what arrived."""
        entry: _Entry = [channel, data]
        with self._change:
            if len(channel.waiting) >= channel.depth:
                channel.waiting.popleft()[1] = None
                self.dropped += 1
            channel.waiting.append(entry)
            self._entries.append(entry)
            # A flood must not grow the queue by what was pushed out.
            while self._entries and self._entries[0][1] is None:
                self._entries.popleft()
            self._change.notify()

    def take(self) -> tuple[Channel, Any] | None:
        """The oldest, or None."""
        with self._change:
            while self._entries:
                channel, data = self._entries.popleft()
                if data is not None:
                    channel.waiting.popleft()
                    return channel, data
        return None

    def wait(self, timeout: s) -> bool:
        """Wait until something is there or the time is over; says whether something is."""
        with self._change:
            return bool(self._entries) or (self._change.wait(timeout) and bool(self._entries))
