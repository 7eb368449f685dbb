"""What a server shows: whatever says something and may be told something."""

from __future__ import annotations

from typing import Protocol

from ...units import per_s
from .messages import Message
from .outbox import Outbox


class Source(Protocol):
    """A running world, from the thread of the network."""

    outbox: Outbox
    """What it says."""
    rate: per_s
    """Frames a second."""

    def start(self) -> None:
        """There is somebody to listen: say what there is."""
        ...

    def stop(self) -> None:
        """Nobody listens any more."""
        ...

    def submit(self, client: int, message: Message) -> None:
        """Take what a client says."""
        ...
