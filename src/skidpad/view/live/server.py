"""The live server: where it listens, how it begins and ends, how many connections it holds.

A connection costs a stranger nothing: connections are counted and timed before anything is known of
them. An idle connection is closed, and so is one that is closing while its other end does not read
what is left. Over the limit, the oldest connection that is no viewer makes room for the next.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
import threading
import time
from typing import Any
from urllib.parse import quote

from ...errors import InvalidValue, require_extras
from ...units import s
from .access import Access, is_local, new_token
from .messages import MOST_BYTES
from .session import Source

PORT = 8000
"""Where a server listens that is not told a port."""
_TRIES = 50
_SEND_BUFFER = 256 * 1024
"""Bytes on the way to a viewer: what a slow one lags behind."""


class LiveServer:
    """A session on the network.

    Args:
        session: what is shown; the server starts and stops it.
        host: address to listen on.
        port: None: 8000 or the next one that is free; 0: any.
        token: that viewers need; made up if other machines can reach the host.
    """

    def __init__(
        self,
        session: Source,
        *,
        host: str = "127.0.0.1",
        port: int | None = None,
        token: str | None = None,
    ) -> None:
        require_extras("viewer", purpose="skidpad serve")
        import uvicorn

        from .app import application

        if token is None and not is_local(host):
            token = new_token()
        self._listener = _listener(host, port)
        self.host, self.port = host, int(self._listener.getsockname()[1])
        self.token = token
        """Token that viewers need; None if they need none."""
        self._gate = Gate()
        config = uvicorn.Config(
            application(session, Access(host, token)),
            log_level="warning",
            access_log=False,
            http=guarded_protocol(self._gate),
            ws="websockets-sansio",
            # Frames are floats that hardly shrink, and packing them once per viewer is dear.
            ws_per_message_deflate=False,
            ws_max_size=MOST_BYTES,
            timeout_graceful_shutdown=2,
            lifespan="on",
        )
        logging.getLogger("uvicorn.error").addFilter(_without_traceback)
        self._server: Any = uvicorn.Server(config)
        self._thread: threading.Thread | None = None

    @property
    def connections(self) -> int:
        """How many are open, of viewers and of strangers."""
        return self._gate.count

    @property
    def url(self) -> str:
        """Address of the page."""
        name = {"0.0.0.0": _own_name(), "::": _own_name()}.get(self.host, self.host)
        name = f"[{name}]" if ":" in name else name
        query = "" if self.token is None else f"/?token={quote(self.token, safe='')}"
        return f"http://{name}:{self.port}{query}"

    def run(self) -> None:
        """Serve until a signal ends it; in the main thread."""
        self._server.run(sockets=[self._listener])

    def start(self) -> None:
        """Serve in a thread; returns when it answers."""
        self._thread = threading.Thread(target=self.run, name="skidpad server", daemon=True)
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise InvalidValue(f"the server at {self.url} did not start")
            time.sleep(0.01)

    @property
    def running(self) -> bool:
        """Whether a server that was started has not ended."""
        return self._thread is not None and self._thread.is_alive()

    def stop(self) -> None:
        """End a server that was started."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(timeout=15.0)
        self._listener.close()


def _without_traceback(line: logging.LogRecord) -> bool:
    """Report text of a client that is not UTF-8 in one line: no code here is at fault."""
    if line.exc_info and isinstance(line.exc_info[1], UnicodeDecodeError):
        line.exc_info, line.levelno, line.levelname = None, logging.WARNING, "WARNING"
        line.msg = "A client sent text that is not UTF-8; its connection was closed."
    return True


def has_display() -> bool:
    """Whether a browser has somewhere to open."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _listener(host: str, port: int | None) -> socket.socket:
    """A socket that is bound, to the port asked for or to the first that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    tries = range(PORT, PORT + _TRIES) if port is None else (port,)
    for number in tries:
        listener = socket.socket(family, socket.SOCK_STREAM)
        if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):  # Windows, where REUSEADDR means sharing
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections inherit it.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
        try:
            listener.bind((host, number))
            listener.listen(128)
        except OSError as error:
            listener.close()
            if port is not None:
                raise InvalidValue(
                    f"cannot listen at {host}, port {port}: {error.strerror or error}"
                ) from error
            if error.errno is not None and not _taken(error):
                raise InvalidValue(f"cannot listen at {host}: {error.strerror}") from error
        else:
            return listener
    raise InvalidValue(f"ports {PORT} to {PORT + _TRIES - 1} are all in use; give one with --port")


def _taken(error: OSError) -> bool:
    import errno

    return error.errno in (errno.EADDRINUSE, errno.EACCES)


def _own_name() -> str:
    """A name by which others may find this machine."""
    return socket.gethostname()


MOST_CONNECTIONS = 512
"""At once. A browser opens six for the parts of the page and one to watch."""
ASKING: s = 20.0
"""Within which a request must be complete and answered, from when the one before began."""
LINGER: s = 5.0
"""Time after the close of a connection within which its last bytes must be gone."""
_LOOK: s = 0.25


class Gate:
    """The connections of one server. Everything here runs in the thread of the network."""

    def __init__(self) -> None:
        # In the order in which they came, with the time at which their patience began.
        self._since: dict[asyncio.Transport, s] = {}
        self._closing: set[asyncio.Transport] = set()
        self._looking: asyncio.TimerHandle | None = None

    @property
    def count(self) -> int:
        """Connections that are open, those included whose last bytes are on their way."""
        return len(self._since)

    def enter(self, transport: asyncio.Transport) -> None:
        """Register a connection; over the limit, drop the oldest one that is no viewer."""
        loop = asyncio.get_running_loop()
        self._forget_closed()
        self._since[transport] = loop.time()
        if len(self._since) > MOST_CONNECTIONS:
            self._end(next(one for one in self._since if not _watches(one)))
        if self._looking is None:
            self._looking = loop.call_later(_LOOK, self._look)

    def ask(self, transport: asyncio.Transport) -> None:
        """A request is complete: the patience begins again."""
        if transport in self._since:
            self._since[transport] = asyncio.get_running_loop().time()

    def _look(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        self._forget_closed()
        for transport, since in list(self._since.items()):
            if transport.is_closing() and transport not in self._closing:
                self._closing.add(transport)
                self._since[transport] = now
            elif transport in self._closing:
                if now - since > LINGER:
                    self._end(transport)
            elif now - since > ASKING and not _watches(transport):
                self._end(transport)
        self._looking = loop.call_later(_LOOK, self._look) if self._since else None

    def _forget_closed(self) -> None:
        gone = [one for one in self._since if one.get_extra_info("socket").fileno() < 0]
        for transport in gone:
            self._forget(transport)

    def _end(self, transport: asyncio.Transport) -> None:
        transport.abort()
        # Its socket closes only when the loop comes round: until then others may come, and each
        # of them must drop another one.
        self._forget(transport)

    def _forget(self, transport: asyncio.Transport) -> None:
        del self._since[transport]
        self._closing.discard(transport)


def _watches(transport: asyncio.Transport) -> bool:
    """Whether a connection is a WebSocket by now; strangers' are closed when they become one."""
    return not getattr(transport.get_protocol(), "asks", False)


def guarded_protocol(gate: Gate) -> type[asyncio.Protocol]:
    """The class of uvicorn's connections that pass a gate."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Guarded(H11Protocol):
        asks = True
        """No WebSocket, which has another class."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            gate.enter(transport)

        def data_received(self, data: bytes) -> None:
            before: Any = self.cycle
            super().data_received(data)
            if self.cycle is not before:
                gate.ask(self.transport)

    return Guarded
