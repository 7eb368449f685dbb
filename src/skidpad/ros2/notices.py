"""What a user should know, told once."""

from __future__ import annotations

import threading
from collections.abc import Hashable
from typing import NamedTuple


class Types(NamedTuple):
    """Types of the two sides of a topic, as "std_msgs/msg/String"."""

    other: str
    own: str


class Notices:
    """Sentences by what they are about; from whatever thread."""

    def __init__(self) -> None:
        self._told: set[Hashable] = set()
        self._waiting: list[str] = []
        self._lock = threading.Lock()

    def tell(self, subject: Hashable, sentence: str) -> None:
        """Keep a sentence until it is asked for, unless there was one about the same."""
        with self._lock:
            if subject not in self._told:
                self._told.add(subject)
                self._waiting.append(sentence)

    def tell_type(self, peer: Hashable, who: str, topic: str, node: str, types: Types) -> None:
        """Tell of a peer that is not connected because of its type.

        Args:
            peer: what it is known by.
            who: "a publisher of" or "a subscription to".
            topic: by its full name.
            node: full name of its node; empty if that is not known.
            types: what it says, and what is said here.
        """
        other, own = types
        package = own.partition("/")[0]
        reason = (
            f"its type is {other}, and here it is {own}: change one of them, or remap the topic of "
            "one"
            if other != own
            else f"its definition of {own} is another one than here: build it against the version "
            f"of {package} that the rest of the system has, or remap the topic of one"
        )
        of_node = f" (node {node})" if node else ""
        self.tell(
            ("types", who, topic, other, peer), f"{who} {topic}{of_node} is not connected: {reason}"
        )

    def take(self) -> list[str]:
        """The sentences that nobody has seen."""
        with self._lock:
            taken, self._waiting = self._waiting, []
        return taken
