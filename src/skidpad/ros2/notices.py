"""What a user should know, told once."""

from __future__ import annotations

import threading
from collections.abc import Hashable


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

    def take(self) -> list[str]:
        """The sentences that nobody has seen."""
        with self._lock:
            taken, self._waiting = self._waiting, []
        return taken
