"""Work that is done by a thread of its own while the caller goes on.

What waits is bounded: whoever brings more than fits waits until there is room, so that a slow disk
slows the simulation down and loses nothing.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

Item = TypeVar("Item")

PATIENCE = 1.0
"""How long the thread waits for the next item before it looks for an unfinished one, in s."""


class Pump(Generic[Item]):
    """Hands what is put into it to `work`, in order.

    Args:
        work: what it raises is raised again at the next `put`, `flush` or `close`.
        unfinished: called under the lock when nothing came for a while; gives an item or None.
        most: items beyond which `put` waits.
    """

    def __init__(
        self, work: Callable[[Item], None], unfinished: Callable[[], Item | None], most: int
    ) -> None:
        self._work, self._unfinished, self._most = work, unfinished, most
        self._items: deque[Item] = deque()
        self._busy = self._closing = False
        self._error: BaseException | None = None
        self.lock = threading.Lock()
        """Held while an unfinished item is taken: hold it while working on one."""
        self._changed = threading.Condition(self.lock)
        # Not waited for when the program ends without closing; the recorder sees to that.
        self._thread = threading.Thread(target=self._run, name="skidpad recording", daemon=True)
        self._thread.start()

    def put(self, item: Item) -> None:
        """Bring an item, with the lock held; waits while there are too many.

        The item is in before it waits: a wait that is interrupted loses nothing.
        """
        self._raise()
        self._items.append(item)
        self._changed.notify_all()
        while len(self._items) > self._most and self._error is None:
            self._changed.wait()

    def check(self) -> None:
        """Raise what the work raised, with the lock held."""
        self._raise()

    def flush(self) -> None:
        """Wait until everything that was put is done."""
        with self._changed:
            while (self._items or self._busy) and self._error is None:
                self._changed.wait()
            self._raise()

    def close(self) -> None:
        """Wait until everything that was put is done and end the thread."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join()
        self._raise()

    def _raise(self) -> None:
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        while (item := self._next()) is not None:
            try:
                self._work(item)
            except BaseException as error:
                with self._changed:
                    self._error = error
                    self._items.clear()
                    self._busy = False
                    self._changed.notify_all()
                return

    def _next(self) -> Item | None:
        """What to do next; waits for it. None at the end."""
        with self._changed:
            self._busy = False
            self._changed.notify_all()
            while not self._items:
                if self._closing:
                    return None
                if not self._changed.wait(PATIENCE) and not self._items:
                    item = self._unfinished()
                    if item is not None:
                        self._busy = True
                        return item
            self._busy = True
            self._changed.notify_all()
            return self._items.popleft()
