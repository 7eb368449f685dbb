"""The thread that waits for what comes in.

One thread on a wait set, and none of the binding's Listeners: those run Python in threads of the
C library, which crashes now and then when the interpreter ends.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from itertools import count
from typing import Any

from .cyclone_library import calls, cyclone, delete

RETRY = 5_000_000
"""Time between two attempts at what could not be done at once, in ns."""
_FOREVER = 2**63 - 1


class Waiting:
    """Calls a function whenever its reader has something, one at a time, in one thread."""

    def __init__(self, participant: Any, retry: Callable[[], bool]) -> None:
        core = cyclone("core")
        self._retry = retry
        """Called after whatever happened; true if it wants to be called again soon."""
        self._set = core.WaitSet(participant)
        self._wake = core.GuardCondition(participant)
        self._takers: dict[int, Callable[[], None]] = {}
        self._conditions: list[Any] = [self._wake]
        self._numbers = count(1)
        calls().attach(self._set._ref, self._wake._ref, 0)
        self._ended = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="skidpad-dds", daemon=True)
        self._thread.start()

    def add(self, reader: Any, take: Callable[[], None]) -> None:
        """Call a function whenever a reader has what it must take; it takes some of it."""
        core = cyclone("core")
        states = core.SampleState.NotRead | core.ViewState.Any | core.InstanceState.Any
        with self._lock:
            # A callback may have closed it meanwhile, and the reader with it.
            if self._ended:
                return
            condition = core.ReadCondition(reader, states)
            number = next(self._numbers)
            self._takers[number] = take
            self._conditions.append(condition)
            calls().attach(self._set._ref, condition._ref, number)
            self._wake.set(True)

    def wake(self) -> None:
        """Let the thread look at what there is to do."""
        with self._lock:
            if not self._ended:
                self._wake.set(True)

    def close(self) -> None:
        """End the thread and wait for it, unless it is the one that closes."""
        with self._lock:
            self._ended = True
            self._wake.set(True)
        if threading.current_thread() is not self._thread:
            self._thread.join()
        for entity in (self._set, *self._conditions):
            delete(entity)

    def _run(self) -> None:
        wait, wait_set, wake = calls().wait, self._set._ref, self._wake
        patience = _FOREVER
        while not self._ended:
            room = len(self._conditions)
            due = (ctypes.c_ssize_t * room)()
            many = wait(wait_set, due, room, patience)
            if many < 0:
                return
            # Before anything is looked at: what is asked for from now on wakes it again.
            wake.set(False)
            for number in due[: min(many, room)]:
                taker = self._takers.get(number)
                if taker is not None and not self._ended:
                    taker()
            patience = RETRY if self._retry() else _FOREVER
