"""What was made for a vehicle or a model and may be wanted again, while few are in use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")

MOST = 64
"""Things of one kind that are kept."""


class Kept(Generic[T]):
    """The things made last, each for an owner that is told apart by identity: two models that are
    equal are compiled each for itself. Those asked for longest ago go first, where there are more
    than `most`."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        # The owner is kept with what was made, so that no other one can get its address.
        self._entries: dict[Any, tuple[Any, T]] = {}

    def get(self, owner: Any, key: Any, make: Callable[[], T]) -> T:
        """What `make` gave for this owner and key, or gives now."""
        place = (id(owner), key)
        try:
            entry = self._entries.pop(place, None)
        except TypeError:  # a key that cannot be looked up: what is made of it may refuse it
            return make()
        self._entries[place] = entry = entry or (owner, make())
        while len(self._entries) > self._most:
            self._entries.pop(next(iter(self._entries)), None)
        return entry[1]
