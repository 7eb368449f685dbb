"""The room: who watches, who drives, and what each of them is told.

Everything here runs in the thread of the network.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from ...errors import SkidpadError
from ...units import per_s, s
from . import messages as said
from .frames import Frame
from .limits import Verdict
from .outbox import Item, Said
from .session import LetGo
from .viewer import Viewer
from .wheel import Wheel

PROTOCOL = 1
MOST_VIEWERS = 200
STUCK: s = 10.0
"""Time after which a viewer who reads nothing is dropped."""
_FULL, _TOO_FAST = 1013, 1008


class Room:
    """Viewers of one session.

    Args:
        submit: how the session is told what a client wants.
        rate: frames a second of the session.
        clock: a clock in s.
    """

    def __init__(
        self,
        submit: Callable[[int, said.Message], None],
        rate: per_s,
        clock: Callable[[], s],
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
        """Somebody comes in: they are told everything."""
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
        """Somebody goes; if they drove, nobody does."""
        if self._viewers.pop(viewer.number, None) is not None:
            self._free(viewer.number)
            self._tell_status()

    def hear(self, viewer: Viewer, text: str | bytes) -> None:
        """Take what a viewer says."""
        now = self._clock()
        verdict = viewer.bucket.take(now)
        if verdict is Verdict.HEAR:
            try:
                self._obey(viewer, said.parsed(text), now)
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
