"""What a session says, on its way from the thread of the session to that of the network."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, NamedTuple

from .frames import Frame

_MOST = 1000
"""Texts that wait; a network that takes none of them has lost everybody anyway."""


class Said(NamedTuple):
    """A message of the session."""

    about: str
    """Its type."""
    fields: dict[str, Any]
    to: int | None = None
    """Which viewer; None: all."""


Item = Frame | Said


class Outbox:
    """Items in order; of frames that wait only the last, so that it never fills.

    `wake` is called, in the thread of the session, when there is something to `take`.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._items: deque[Item] = deque(maxlen=_MOST)
        self._wake: Callable[[], object] | None = None
        self._woken = False

    def on_arrival(self, wake: Callable[[], object] | None) -> None:
        """Call this when there is something, now if there is already."""
        with self._lock:
            self._wake, self._woken = wake, False
        self._notify()

    def frame(self, frame: Frame) -> None:
        """Put a frame."""
        with self._lock:
            missed = self._items[-1] if self._items else None
            if isinstance(missed, Frame):
                frame.heard = frame.heard or missed.heard
                self._items.pop()
            self._items.append(frame)
        self._notify()

    def say(self, about: str, to: int | None = None, **fields: Any) -> None:
        """Put a message."""
        with self._lock:
            self._items.append(Said(about, fields, to))
        self._notify()

    def take(self) -> Sequence[Item]:
        """Everything there is."""
        with self._lock:
            items = tuple(self._items)
            self._items.clear()
            self._woken = False
        return items

    def _notify(self) -> None:
        with self._lock:
            if self._wake is None or self._woken or not self._items:
                return
            self._woken, wake = True, self._wake
        wake()
