"""Ctrl-C at a place of our choosing."""

from __future__ import annotations

import signal
import threading
from typing import Any, Self


class Deferred:
    """`with Deferred() as interrupt:` an interrupt is answered when the block ends, not within it.

    `if interrupt: interrupt.answer()` answers it earlier. A second one does not wait. Signals come
    to the main thread alone; in other threads nothing is deferred.
    """

    def __init__(self) -> None:
        self._usual: Any = None
        self._came = False

    def __enter__(self) -> Self:
        usual = signal.getsignal(signal.SIGINT)
        if threading.current_thread() is threading.main_thread() and callable(usual):
            self._usual = usual
            signal.signal(signal.SIGINT, self._note)
        return self

    def _note(self, number: int, frame: Any) -> None:
        if self._came:
            self._usual(number, frame)
        self._came = True

    def __bool__(self) -> bool:
        """Whether an interrupt has come."""
        return self._came

    def answer(self) -> None:
        """Do what an interrupt usually does, which is to raise KeyboardInterrupt."""
        self._came = False
        self._usual(signal.SIGINT, None)

    def forget(self) -> None:
        """Take an interrupt as answered: what it was to end has ended."""
        self._came = False

    def __exit__(self, kind: Any, *_: object) -> None:
        if self._usual is not None:
            signal.signal(signal.SIGINT, self._usual)
        if self._came and kind is None:
            self.answer()
