"""Live page as an ASGI application: access control, files, the room of viewers, WebSockets.

`Access` checks host name, origin and token of a request. Everything else here runs in the network
thread. A `Viewer` has a mailbox with room for one frame, a
`Bucket` limits the message rate of a client, and one client at a time has the `Wheel`. The `Room`
decides what each viewer is sent.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import secrets
from collections import deque
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from ...errors import InvalidValue, SkidpadError
from ...units import per_s, s
from ..pages import page as page_files
from . import messages as said
from .messages import Frame, Item, Said
from .session import LetGo, Source

COOKIE = "skidpad_token"
_HERE = ("localhost", "127.0.0.1", "::1")


def is_local(host: str) -> bool:
    """Whether a listening address is reachable from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def new_token() -> str:
    """Random token that cannot be guessed."""
    return secrets.token_urlsafe(16)


@dataclass(frozen=True)
class Access:
    """Access conditions that a request must meet."""

    host: str
    token: str | None = None

    def refusal(
        self, headers: Mapping[str, str], query: Mapping[str, str], cookies: Mapping[str, str]
    ) -> str | None:
        """Reason to refuse a request, or None if it is allowed. Header names are in lower case."""
        host = headers.get("host", "")
        if not (_name(host) in (*_HERE, self.host.strip("[]")) or self.token is not None):
            return f"this server does not go by the name {host[:80]!r}"
        origin = headers.get("origin")
        if origin is not None and _place(origin) != host:
            return "the page that asks is not from this server"
        if self.token is not None:
            token = query.get("token") or cookies.get(COOKIE) or ""
            if not hmac.compare_digest(token.encode(), self.token.encode()):
                return "the token is missing or wrong: use the address that the server printed"
        return None


def _place(origin: str) -> str | None:
    """Host and port of an Origin header; None if it is malformed."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return None


def _name(host: str) -> str:
    """Host name of a Host header, without port and brackets."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


RATE: per_s = 120.0
BURST = 240.0
"""Capacity of the bucket, in messages."""


class Verdict(Enum):
    HEAR = auto()
    WARN = auto()
    """Drop the message and warn the client: the first of a series."""
    DROP = auto()
    CLOSE = auto()
    """Disconnect the client."""


class Bucket:
    """Token bucket that limits the message rate; a client who persists over the limit is
    disconnected.

    Args:
        now: the time in s.
    """

    def __init__(self, now: s, rate: per_s = RATE, burst: float = BURST) -> None:
        self._rate, self._burst = rate, burst
        self._level, self._at = burst, now
        self._refused = 0

    def take(self, now: s) -> Verdict:
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
"""Least frame rate, for a viewer that reads slowly."""
_PATIENCE = 3
"""Consecutive missed frames after which a viewer's rate is halved."""
_RECOVERY: s = 2.0
"""Time without a missed frame after which a slowed viewer's rate is doubled."""
_MOST_TEXTS = 256


class Viewer:
    """A mailbox with room for one frame, so that a slow viewer skips frames.

    Args:
        number: number by which other viewers know this one.
        rate: requested frame rate.
        now: the time in s.
    """

    def __init__(self, number: int, rate: per_s, now: s) -> None:
        self.number = number
        self.bucket = Bucket(now)
        self.closing: int | None = None
        """Code to close the connection with after the queued texts; None while open."""
        self.sending_since: s | None = None
        """Start time of the send in progress, or None."""
        self._rate, self._slowed = rate, rate
        self._texts: deque[str] = deque()
        self._after: list[str] = []
        self._frame: Frame | None = None
        self._whole = True
        self._due, self._slowed_at, self._missed = now, now, 0
        self._ready = asyncio.Event()

    @property
    def rate(self) -> per_s:
        """Current frame rate."""
        return min(self._rate, self._slowed)

    def ask(self, rate: per_s) -> None:
        """Set the requested frame rate."""
        self._rate = self._slowed = rate

    def tell(self, text: str) -> None:
        """Queue a text message for sending; if the queue is full, close the connection."""
        if len(self._texts) >= _MOST_TEXTS:
            self.close(1008)
            return
        self._texts.append(text)
        self._ready.set()

    def tell_after_frame(self, text: str) -> None:
        """Queue a text to follow the next frame; it replaces a waiting one."""
        self._after = [text]

    def forget_frame(self) -> None:
        """Drop a waiting frame, which is older than the text about to be queued."""
        self._frame, self._whole = None, True

    def offer(self, frame: Frame, now: s, *, at_once: bool = False) -> None:
        """Queue a frame if one is due or an older one still waits, which it replaces."""
        period = 1.0 / self.rate
        # Frames slightly early count as due, since the server produces them at its own intervals.
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
        """Adapt the frame rate to whether the previous frame is still unsent."""
        if self._frame is not None:
            self._whole = True
            self._missed += 1
            if self._missed >= _PATIENCE:
                self._slowed, self._missed = max(0.5 * self.rate, SLOWEST), 0
                self._slowed_at = now
        elif self._slowed < self._rate and now - self._slowed_at > _RECOVERY:
            self._slowed, self._slowed_at = min(2.0 * self._slowed, self._rate), now

    def close(self, code: int) -> None:
        """Request that the connection be closed with a code."""
        self.closing = code
        self._ready.set()

    def poll(self) -> str | bytes | None:
        """The next item to send, texts before the frame; None if nothing is queued."""
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
        """Wait for the next item to send; None to close."""
        while (item := self.poll()) is None and self.closing is None:
            self._ready.clear()
            await self._ready.wait()
        return item


SILENCE: s = 60.0
"""Time without messages after which a driver loses the wheel."""


class Wheel:
    """The right to drive, held by one client at a time. All times are from the same clock, in s."""

    def __init__(self, silence: s = SILENCE) -> None:
        self.driver: int | None = None
        """Number of the client who holds the wheel, or None."""
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
        """Note a message from a client, which restarts the dead-man timeout."""
        if client == self.driver:
            self._heard = now

    def release(self, client: int) -> bool:
        """Take the wheel from a client; returns whether it held the wheel."""
        had = self.driver == client
        if had:
            self.driver = None
        return had

    def expired(self, now: s) -> bool:
        """Take the wheel from a driver silent for too long; returns whether that happened."""
        return (
            self.driver is not None
            and now - self._heard > self._silence
            and self.release(self.driver)
        )


PROTOCOL = 1
_USUAL = {"paused": False, "recording": False, "factor": 1.0}
"""Status before the first report."""
MOST_VIEWERS = 200
STUCK: s = 10.0
"""Time after which a viewer that reads nothing is disconnected."""
_FULL, _TOO_FAST = 1013, 1008


class Room:
    """Room of the viewers of one session.

    Args:
        submit: passes a client's message to the session.
        rate: frame rate of the session.
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
        """Admit a viewer and send the current state."""
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
        """Remove a viewer; a driver releases the wheel."""
        if self._viewers.pop(viewer.number, None) is not None:
            self._free(viewer.number)
            self._tell_status()

    def hear(self, viewer: Viewer, text: str | bytes) -> None:
        """Handle a message from a viewer."""
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
        # If the session is too busy, the dead-man timeout stops the vehicle.
        with suppress(SkidpadError):
            self._submit(number, LetGo())

    def deliver(self, items: Sequence[Item]) -> None:
        """Deliver messages and frames of the session to the viewers."""
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
        """Periodic check: free the wheel of a silent driver; returns the viewers that are stuck."""
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
            **{"protocol": PROTOCOL, "you": viewer.number, "driver": self._wheel.driver},
            **{"rate": self._rate, "vehicles": self._vehicles},
            **{name: status.get(name, usual) for name, usual in _USUAL.items()},
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


_HEADERS = {
    # Load nothing from other servers, and do not allow other pages to embed this one.
    "Content-Security-Policy": "default-src 'self'; script-src 'self' 'unsafe-inline'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self' ws: wss:; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    # The address of the page may have the token in it.
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_CHECK_PERIOD = 0.5


def application(session: Source, access: Access) -> Starlette:
    """ASGI application that serves a session and starts and stops it."""
    live = _Live(session, access)
    return Starlette(
        routes=[
            Route("/", live.page),
            Route("/page/{name}", live.file),
            WebSocketRoute("/live", live.watch),
        ],
        lifespan=live.lifespan,
    )


class _Live:
    def __init__(self, session: Source, access: Access) -> None:
        self._session, self._access = session, access
        self._room: Room | None = None
        self._senders: dict[int, asyncio.Task[None]] = {}

    @asynccontextmanager
    async def lifespan(self, app: Starlette) -> AsyncGenerator[None]:
        """Run the session for the lifetime of the server."""
        loop = asyncio.get_running_loop()
        outbox = self._session.outbox
        room = self._room = Room(self._session.submit, self._session.rate, loop.time)

        def arrived() -> None:
            # The event loop may have ended while the session still had messages.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(lambda: room.deliver(outbox.take()))

        outbox.on_arrival(arrived)
        self._session.start()
        ticking = asyncio.create_task(self._tick(room))
        try:
            yield
        finally:
            ticking.cancel()
            outbox.on_arrival(None)
            await asyncio.to_thread(self._session.stop)

    async def _tick(self, room: Room) -> None:
        while True:
            await asyncio.sleep(_CHECK_PERIOD)
            for viewer in room.tick():
                self._senders[viewer.number].cancel()

    def page(self, request: Request) -> Response:
        """Serve the page; a token in its address is stored in a cookie for the files it loads."""
        refused = self._refused(request)
        if refused is not None:
            return PlainTextResponse(refused, 403)
        answer = Response(page_files.live_page(), media_type="text/html", headers=_HEADERS)
        if self._access.token is not None:
            answer.set_cookie(COOKIE, self._access.token, httponly=True, samesite="strict")
        return answer

    def file(self, request: Request) -> Response:
        """Serve a module or style sheet of the page."""
        refused = self._refused(request)
        if refused is not None:
            return PlainTextResponse(refused, 403)
        name = request.path_params["name"]
        try:
            text = page_files.text(name)
        except KeyError:
            return PlainTextResponse("there is no such file", 404)
        kind = page_files.KINDS[f".{name.rpartition('.')[2]}"]
        return Response(text, media_type=kind, headers=_HEADERS)

    def _refused(self, request: HTTPConnection) -> str | None:
        return self._access.refusal(request.headers, request.query_params, request.cookies)

    async def watch(self, socket: WebSocket) -> None:
        """Serve one viewer from connection to disconnection."""
        room = self._room
        if room is None or self._refused(socket) is not None:
            await socket.close()  # Before it is accepted: the answer is 403.
            return
        await socket.accept()
        viewer = room.join()
        loop = asyncio.get_running_loop()
        sender = self._senders[viewer.number] = loop.create_task(_send(socket, viewer))
        hearer = loop.create_task(_hear(socket, viewer, room))
        try:
            await asyncio.wait({sender, hearer}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (sender, hearer):
                task.cancel()
            del self._senders[viewer.number]
            room.leave(viewer)
            await asyncio.gather(sender, hearer, return_exceptions=True)


async def _hear(socket: WebSocket, viewer: Viewer, room: Room) -> None:
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            return
        text = message.get("text")
        room.hear(viewer, text if text is not None else message.get("bytes") or b"")


async def _send(socket: WebSocket, viewer: Viewer) -> None:
    clock = asyncio.get_running_loop().time
    with suppress(WebSocketDisconnect):
        while (item := await viewer.next()) is not None:
            viewer.sending_since = clock()
            if isinstance(item, str):
                await socket.send_text(item)
            else:
                await socket.send_bytes(item)
            viewer.sending_since = None
        await socket.close(viewer.closing or 1000)
