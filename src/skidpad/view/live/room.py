"""The room: who watches, who drives, and what each viewer is sent.

Everything here runs in the thread of the network. A `Viewer` has a mailbox with room for one frame,
a `Bucket` limits how often a client may speak, and one client at a time has the `Wheel`.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from enum import Enum, auto
from typing import Any

from ...errors import InvalidValue, SkidpadError
from ...units import per_s, s
from . import messages as said
from .messages import Frame, Item, Said
from .session import LetGo

RATE: per_s = 120.0
BURST = 240.0
"""Messages at once."""


class Verdict(Enum):
    """Verdict on a message."""

    HEAR = auto()
    WARN = auto()
    """Drop it and tell the client, the first of many."""
    DROP = auto()
    CLOSE = auto()
    """Drop the client."""


class Bucket:
    """Fills with time and empties with messages; a client who continues when it is empty is
    disconnected.

    Args:
        now: the time in s.
    """

    def __init__(self, now: s, rate: per_s = RATE, burst: float = BURST) -> None:
        self._rate, self._burst = rate, burst
        self._level, self._at = burst, now
        self._refused = 0

    def take(self, now: s) -> Verdict:
        """Judge a message that arrives now."""
        self._level = min(self._burst, self._level + self._rate * (now - self._at))
        self._at = now
        if self._level >= 1.0:
            self._level -= 1.0
            if self._level >= 0.5 * self._burst:
                self._refused = 0
            return Verdict.HEAR
        self._refused += 1
        if self._refused == 1:
            return Verdict.WARN
        return Verdict.CLOSE if self._refused > self._burst else Verdict.DROP


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
        """Queue a text message for sending; if the queue is full, close the connection."""
        if len(self._texts) >= _MOST_TEXTS:
            self.close(1008)
            return
        self._texts.append(text)
        self._ready.set()

    def tell_after_frame(self, text: str) -> None:
        """Queue a text to follow the next frame that is sent; it replaces one that waits."""
        self._after = [text]

    def forget_frame(self) -> None:
        """Drop a frame that waits: it is older than the text that comes."""
        self._frame, self._whole = None, True

    def offer(self, frame: Frame, now: s, *, at_once: bool = False) -> None:
        """Queue a frame if one is due or an older one still waits; the older one is dropped."""
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
        """The next item to send, texts first and then the frame; None if there is nothing."""
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
        """The next item to send, when there is one; None to close."""
        while (item := self.poll()) is None and self.closing is None:
            self._ready.clear()
            await self._ready.wait()
        return item


SILENCE: s = 60.0
"""After which a driver who says nothing loses the wheel."""


class Wheel:
    """The right to drive, which one client has at a time. Times are those of one clock, in s."""

    def __init__(self, silence: s = SILENCE) -> None:
        self.driver: int | None = None
        """Number of the client who has the wheel."""
        self._silence, self._heard = silence, 0.0

    def take(self, client: int, now: s) -> None:
        """Give the wheel to a client; raises if another one has it."""
        if self.driver not in (None, client):
            raise InvalidValue(f"viewer {self.driver} has the wheel; wait until they release it")
        self.driver, self._heard = client, now

    def check(self, client: int) -> None:
        """Raise unless this client has the wheel."""
        if self.driver is None:
            raise InvalidValue("the wheel is free: take it first")
        if self.driver != client:
            raise InvalidValue(f"viewer {self.driver} has the wheel; only they may do this")

    def hear(self, client: int, now: s) -> None:
        """Note that a client has said something."""
        if client == self.driver:
            self._heard = now

    def release(self, client: int) -> bool:
        """Take the wheel from a client; whether they had it."""
        had = self.driver == client
        if had:
            self.driver = None
        return had

    def expired(self, now: s) -> bool:
        """Take the wheel from a driver who has been silent for too long; whether there was one."""
        return (
            self.driver is not None
            and now - self._heard > self._silence
            and self.release(self.driver)
        )


PROTOCOL = 1
MOST_VIEWERS = 200
STUCK: s = 10.0
"""Time after which a viewer who reads nothing is dropped."""
_FULL, _TOO_FAST = 1013, 1008


class Room:
    """Viewers of one session.

    Args:
        submit: passes what a client wants to the session.
        rate: frames a second of the session.
        clock: a clock in s.
    """

    def __init__(
        self, submit: Callable[[int, said.Message], None], rate: per_s, clock: Callable[[], s]
    ) -> None:
        self._submit, self._rate, self._clock = submit, rate, clock
        self._viewers: dict[int, Viewer] = {}
        self._wheel = Wheel()
        self._count = 0
        self._stage = "null"
        self._vehicles: list[dict[str, Any]] = []
        self._status: dict[str, Any] = {}
        self._latest: Frame | None = None

    def join(self) -> Viewer:
        """Admit a viewer and send everything there is to know."""
        now = self._clock()
        self._count += 1
        viewer = Viewer(self._count, self._rate, now)
        if len(self._viewers) >= MOST_VIEWERS:
            viewer.tell(_text("error", text=f"there are {MOST_VIEWERS} viewers already"))
            viewer.close(_FULL)
            return viewer
        self._viewers[viewer.number] = viewer
        viewer.tell(self._hello(viewer))
        if self._latest is not None:
            viewer.offer(self._latest, now)
        self._tell_status()
        return viewer

    def leave(self, viewer: Viewer) -> None:
        """Dismiss a viewer; if they drove, the wheel is free."""
        if self._viewers.pop(viewer.number, None) is not None:
            self._free(viewer.number)
            self._tell_status()

    def hear(self, viewer: Viewer, text: str | bytes) -> None:
        """Take what a viewer says."""
        now = self._clock()
        verdict = viewer.bucket.take(now)
        if verdict is Verdict.HEAR:
            try:
                self._obey(viewer, said.parse(text), now)
            except SkidpadError as error:
                viewer.tell(_text("error", text=str(error)))
        elif verdict is Verdict.WARN:
            viewer.tell(_text("error", text="too many messages: slow down or be disconnected"))
        elif verdict is Verdict.CLOSE:
            viewer.close(_TOO_FAST)

    def _obey(self, viewer: Viewer, message: said.Message, now: s) -> None:
        self._wheel.hear(viewer.number, now)
        if isinstance(message, said.Rate):
            viewer.ask(min(message.value, self._rate))
        elif isinstance(message, said.Take):
            self._wheel.take(viewer.number, now)
            self._tell_status()
        elif isinstance(message, said.Release):
            if self._free(viewer.number):
                self._tell_status()
        else:
            self._wheel.check(viewer.number)
            self._submit(viewer.number, message)

    def _free(self, number: int) -> bool:
        had = self._wheel.release(number)
        if had:
            self._let_go(number)
        return had

    def _let_go(self, number: int) -> None:
        # A session too busy to hear it misses the driver's messages soon enough.
        with suppress(SkidpadError):
            self._submit(number, LetGo())

    def deliver(self, items: Sequence[Item]) -> None:
        """Pass on what the session says."""
        now = self._clock()
        for item in items:
            if isinstance(item, Frame):
                self._show(item, now)
            else:
                self._pass_on(item)

    def _show(self, frame: Frame, now: s) -> None:
        self._latest = frame
        number, sent = frame.heard or (None, 0.0)
        for viewer in self._viewers.values():
            mine = viewer.number == number
            if mine:
                viewer.tell_after_frame(_text("heard", sent=sent))
            viewer.offer(frame, now, at_once=mine)

    def _pass_on(self, item: Said) -> None:
        if item.about == "stage":
            self._stage, self._latest = item.fields["stage"], None
            text = f'{{"type":"stage","stage":{self._stage}}}'
            for viewer in self._viewers.values():
                viewer.forget_frame()
                viewer.tell(text)
        elif item.about == "status":
            self._status = item.fields
            self._tell_status()
        else:
            if item.about == "vehicles":
                self._vehicles = item.fields["vehicles"]
            elif item.about == "diverged":
                for viewer in self._viewers.values():
                    viewer.forget_frame()
            self._tell(_text(item.about, **item.fields), item.to)

    def tick(self) -> list[Viewer]:
        """To be called now and then: a silent driver loses the wheel; returns who is stuck."""
        now = self._clock()
        driver = self._wheel.driver
        if driver is not None and self._wheel.expired(now):
            self._let_go(driver)
            self._tell(_text("error", text="you were silent for long; the wheel is free"), driver)
            self._tell_status()
        return [
            viewer
            for viewer in self._viewers.values()
            if viewer.sending_since is not None and now - viewer.sending_since > STUCK
        ]

    def _hello(self, viewer: Viewer) -> str:
        status = self._status
        head = _text(
            "hello",
            protocol=PROTOCOL,
            you=viewer.number,
            driver=self._wheel.driver,
            rate=self._rate,
            vehicles=self._vehicles,
            paused=status.get("paused", False),
            recording=status.get("recording", False),
            factor=status.get("factor", 1.0),
        )
        return f'{head[:-1]},"stage":{self._stage}}}'

    def _tell_status(self) -> None:
        viewers = len(self._viewers)
        self._tell(_text("status", **self._status, driver=self._wheel.driver, viewers=viewers))

    def _tell(self, text: str, to: int | None = None) -> None:
        for viewer in self._viewers.values():
            if to in (None, viewer.number):
                viewer.tell(text)


def _text(about: str, **fields: Any) -> str:
    return json.dumps({"type": about, **fields}, separators=(",", ":"), allow_nan=False)
