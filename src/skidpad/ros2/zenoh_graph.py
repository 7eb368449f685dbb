"""Who else there is on zenoh: nodes and endpoints, from their liveliness tokens."""

from __future__ import annotations

from collections import Counter
from threading import Lock

from .transport import Identity
from .zenoh_names import NODE, SUBSCRIPTION, Endpoint, Token, read_token


class Graph:
    """The tokens of a domain that are alive."""

    def __init__(self) -> None:
        self._alive: dict[str, Token] = {}
        self._subscriptions: Counter[Endpoint] = Counter()
        self._lock = Lock()

    def change(self, text: str, *, alive: bool) -> Token | None:
        """A token that came or went; returns what it says if that is news."""
        token = read_token(text)
        with self._lock:
            if token is None or (text in self._alive) == alive:
                return None
            if alive:
                self._alive[text] = token
            else:
                del self._alive[text]
            if token.kind == SUBSCRIPTION and token.end is not None:
                self._subscriptions[token.end] += 1 if alive else -1
        return token

    def subscriptions(self, end: Endpoint) -> int:
        """How many there are of a topic with its type."""
        with self._lock:
            return self._subscriptions[end]

    def nodes(self) -> list[Identity]:
        """All nodes of the domain, as often as there are of one name."""
        with self._lock:
            return [token.identity for token in self._alive.values() if token.kind == NODE]
