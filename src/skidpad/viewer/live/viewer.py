"""One viewer: what waits to be sent to them, and how often they get frames."""

from __future__ import annotations

import asyncio
from collections import deque

from ...units import per_s, s
from .frames import Frame
from .limits import Bucket

SLOWEST: per_s = 2.0
"""Frames a second of a viewer who hardly reads."""
_PATIENCE = 3
"""Frames missed in a row after which a viewer gets half as many."""
_RECOVERY: s = 2.0
"""Time without a miss after which a slow viewer gets frames twice as often."""
_MOST_TEXTS = 256


class Viewer:
    """A mailbox with room for one frame, so that a viewer who does not keep up misses some.

    Args:
        number: what others know them by.
        rate: frames a second that they get.
        now: the time in s.
    """

    def __init__(self, number: int, rate: per_s, now: s) -> None:
        self.number = number
        self.bucket = Bucket(now)
        self.closing: int | None = None
        """Code to close the connection with, once the texts are sent."""
        self.sending_since: s | None = None
        """When the send that is under way began."""
        self._rate, self._slowed = rate, rate
        self._texts: deque[str] = deque()
        self._after: list[str] = []
        self._frame: Frame | None = None
        self._whole = True
        self._due, self._slowed_at, self._missed = now, now, 0
        self._ready = asyncio.Event()

    @property
    def rate(self) -> per_s:
        """Frames a second that they get now."""
        return min(self._rate, self._slowed)

    def ask(self, rate: per_s) -> None:
        """Set how many frames a second they want."""
        self._rate = self._slowed = rate

    def tell(self, text: str) -> None:
        """Put a text."""
        if len(self._texts) >= _MOST_TEXTS:
            self.close(1008)
            return
        self._texts.append(text)
        self._ready.set()

    def tell_after_frame(self, text: str) -> None:
        """Put a text that is to follow the next frame they get; one that waits is replaced."""
        self._after = [text]

    def forget_frame(self) -> None:
        """Drop a frame that waits: it is older than the text that comes."""
        self._frame, self._whole = None, True

    def offer(self, frame: Frame, now: s, *, at_once: bool = False) -> None:
        """Put a frame, if it is time for one or an older one still waits, which is then missed."""
        period = 1.0 / self.rate
        # A little early counts as due: the server's frames come at steps of their own.
        if now >= self._due - 0.25 * period or frame.last or at_once:
            self._due = max(self._due + period, now)
            self._adapt(now)
        else:
            self._whole = True
            if self._frame is None:
                return
        self._frame = frame
        self._ready.set()

    def _adapt(self, now: s) -> None:
        """Look whether the frame before is still there, because a send does not come to an end."""
        if self._frame is not None:
            self._whole = True
            self._missed += 1
            if self._missed >= _PATIENCE:
                self._slowed, self._missed = max(0.5 * self.rate, SLOWEST), 0
                self._slowed_at = now
        elif self._slowed < self._rate and now - self._slowed_at > _RECOVERY:
            self._slowed, self._slowed_at = min(2.0 * self._slowed, self._rate), now

    def close(self, code: int) -> None:
        """Let the connection be closed."""
        self.closing = code
        self._ready.set()

    def poll(self) -> str | bytes | None:
        """What to send next, texts first and then the frame; None: nothing for now."""
        if self._texts:
            return self._texts.popleft()
        if self._frame is None or self.closing is not None:
            return None
        frame, whole = self._frame, self._whole
        self._frame, self._whole, self._missed = None, False, 0
        self._texts.extend(self._after)
        self._after.clear()
        return frame.whole if whole else frame.changed

    async def next(self) -> str | bytes | None:
        """What to send next, when there is something; None to close."""
        while (item := self.poll()) is None and self.closing is None:
            self._ready.clear()
            await self._ready.wait()
        return item
