"""A client of the live server, for tests: a real WebSocket, used step by step."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
from websockets.sync.client import connect

from skidpad.view.live.messages import Moment, decode
from skidpad.view.live.server import LiveServer
from skidpad.view.live.session import Session
from skidpad.view.stage import Stage
from waiting import PATIENCE


class Client:
    """One viewer."""

    def __init__(self, url: str, **options: Any) -> None:
        address = url.replace("http://", "ws://").partition("/?")[0]
        query = url.partition("?")[2]
        connection = connect(
            f"{address}/live{'?' if query else ''}{query}",
            compression=None,
            max_size=None,
            open_timeout=PATIENCE,
            # One that reads nothing for a while does not answer pings either.
            ping_interval=None,
            # A client with unread frames never hears the farewell of the server.
            close_timeout=0.2,
            **options,
        )
        self._stack = ExitStack()
        self.socket = self._stack.enter_context(connection)
        self.stage = Stage("", (), ())
        self.vehicles: list[Any] = []
        self.status: dict[str, Any] = {}
        self.frame: Moment | None = None
        self.texts: list[dict[str, Any]] = []
        self.hello = self.text("hello")

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._stack.close()

    def say(self, about: str, **fields: Any) -> None:
        self.socket.send(json.dumps({"type": about, **fields}))

    def drive(self, ahead: float = 0.0, left: float = 0.0, **fields: Any) -> None:
        self.say("drive", **{"vehicle": "car", "ahead": ahead, "left": left, **fields})

    def hear(self) -> dict[str, Any] | Moment:
        """The next message, whatever it is."""
        message = self.socket.recv(timeout=PATIENCE)
        if isinstance(message, bytes):
            self.frame = decode(message, len(self.stage.channels))
            return self.frame
        text: dict[str, Any] = json.loads(message)
        self.texts.append(text)
        if "stage" in text:
            self.stage = Stage.from_json(text["stage"])
        self.vehicles = text.get("vehicles", self.vehicles)
        if text["type"] == "status":
            self.status = text
        return text

    def text(self, about: str) -> dict[str, Any]:
        """The next text of a type."""
        return self.until(lambda heard: isinstance(heard, dict) and heard["type"] == about)

    def until(self, enough: Callable[[Any], bool], doing: Callable[[], None] | None = None) -> Any:
        """Listen until a message is the one; `doing` is done now and then meanwhile."""
        end, again = time.monotonic() + PATIENCE, 0.0
        while time.monotonic() < end:
            if doing is not None and time.monotonic() > again:
                doing()
                again = time.monotonic() + 0.1
            heard = self.hear()
            if enough(heard):
                return heard
        raise AssertionError(f"nothing of the kind; the last texts are {self.texts[-3:]}")

    def frames(self, count: int) -> list[Moment]:
        """The next frames."""
        found: list[Moment] = []
        while len(found) < count:
            heard = self.hear()
            if isinstance(heard, Moment):
                found.append(heard)
        return found

    def value(self, channel: str, body: str = "car", frame: Moment | None = None) -> float:
        """A number of a body in the latest frame, or in another one."""
        shown = frame or self.frame
        assert shown is not None
        return float(np.asarray(shown.row)[self.stage.body(body).channels[channel]])

    def drive_until(self, reached: Callable[[], bool], ahead: float, left: float = 0.0) -> None:
        """Hold keys until something is so in a frame."""
        self.until(
            lambda heard: isinstance(heard, Moment) and reached(),
            lambda: self.drive(ahead, left),
        )


@contextmanager
def served(session: Session, **options: Any) -> Iterator[LiveServer]:
    """A server on a free port of this machine."""
    server = LiveServer(session, **{"port": 0, **options})
    server.start()
    try:
        yield server
    finally:
        server.stop()
