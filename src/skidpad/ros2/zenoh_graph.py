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
        self._by_name: dict[tuple[str, str], dict[str, Token]] = {}
        """Endpoints by kind and name."""
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
            if token.end is not None:
                key = token.kind, token.end.name
                named = self._by_name.setdefault(key, {})
                if alive:
                    named[text] = token
                else:
                    del named[text]
                if not named:
                    del self._by_name[key]
        return token

    def subscriptions(self, end: Endpoint) -> int:
        """How many there are of a topic with its type."""
        with self._lock:
            return self._subscriptions[end]

    def strangers(self, kind: str, end: Endpoint) -> list[Token]:
        """Endpoints of a kind and the same name whose type or definition is another."""
        with self._lock:
            named = self._by_name.get((kind, end.name), {})
            return [token for token in named.values() if token.end != end]

    def nodes(self) -> list[Identity]:
        """All nodes of the domain, as often as there are of one name."""
        with self._lock:
            return [token.identity for token in self._alive.values() if token.kind == NODE]
