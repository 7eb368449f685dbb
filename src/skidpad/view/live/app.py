"""The live page as an ASGI application: the page, its modules and the WebSocket of each viewer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress

from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from ..pages import page as page_files
from .access import COOKIE, Access
from .room import Room, Viewer
from .session import Source

_HEADERS = {
    # Nothing from elsewhere, and no page of others around this one.
    "Content-Security-Policy": "default-src 'self'; script-src 'self' 'unsafe-inline'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self' ws: wss:; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    # The address of the page may have the token in it.
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_TICK = 0.5


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
            # The loop may have ended while the session had something to say.
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
            await asyncio.sleep(_TICK)
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
