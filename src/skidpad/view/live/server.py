"""Live server: listening, start and stop, and the limit on connections.

Unauthenticated clients cannot exhaust the server: connections are counted and timed from the start.
Idle connections are closed, and so are closing ones whose peer does not read the rest. Over the
limit, the oldest connection that is not a viewer's makes room for a new one.
"""

from __future__ import annotations

import asyncio
import errno
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
_TRIES = 50
_SEND_BUFFER = 256 * 1024
"""Size of the send buffer of a viewer in bytes, which bounds the lag of a slow one."""


class LiveServer:
    """Network server of a session.

    Args:
        session: the session; the server starts and stops it.
        host: address to listen on.
        port: None: 8000 or the next free one; 0: any.
        token: token that viewers need; generated if other machines can reach the host.
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
        """Token that viewers need; None if no token is needed."""
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
        return self._gate.count

    @property
    def url(self) -> str:
        name = socket.gethostname() if self.host in ("0.0.0.0", "::") else self.host
        name = f"[{name}]" if ":" in name else name
        query = "" if self.token is None else f"/?token={quote(self.token, safe='')}"
        return f"http://{name}:{self.port}{query}"

    def run(self) -> None:
        """Serve until a signal ends it; for the main thread."""
        self._server.run(sockets=[self._listener])

    def start(self) -> None:
        """Serve in a thread; returns when the server answers."""
        self._thread = threading.Thread(target=self.run, name="skidpad server", daemon=True)
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise InvalidValue(f"the server at {self.url} did not start")
            time.sleep(0.01)

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def stop(self) -> None:
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(timeout=15.0)
        self._listener.close()


def _without_traceback(line: logging.LogRecord) -> bool:
    """Shorten log records about text that is not UTF-8 to one line: the client is at fault."""
    if line.exc_info and isinstance(line.exc_info[1], UnicodeDecodeError):
        line.exc_info, line.levelno, line.levelname = None, logging.WARNING, "WARNING"
        line.msg = "A client sent text that is not UTF-8; its connection was closed."
    return True


def has_display() -> bool:
    """Whether a browser could be opened on this machine."""
    if sys.platform in ("win32", "darwin"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _listener(host: str, port: int | None) -> socket.socket:
    """Socket bound to the given port or to the first free one."""
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
            if error.errno not in (None, errno.EADDRINUSE, errno.EACCES):
                raise InvalidValue(f"cannot listen at {host}: {error.strerror}") from error
        else:
            return listener
    raise InvalidValue(f"ports {PORT} to {PORT + _TRIES - 1} are all in use; give one with --port")


MOST_CONNECTIONS = 512
"""Most connections at once. A browser opens six for the files of the page and one to watch."""
ASKING: s = 20.0
"""Time for a request to be complete and answered, from the start of the one before."""
LINGER: s = 5.0
"""Time for the last bytes of a closed connection to be sent."""
_LOOK: s = 0.25


class Gate:
    """Connections of one server. Everything here runs in the network thread."""

    def __init__(self) -> None:
        # In the order in which they came, with the time at which their patience began.
        self._since: dict[asyncio.Transport, s] = {}
        self._closing: set[asyncio.Transport] = set()
        self._looking: asyncio.TimerHandle | None = None

    @property
    def count(self) -> int:
        """Number of open connections, including those whose last bytes are being sent."""
        return len(self._since)

    def enter(self, transport: asyncio.Transport) -> None:
        """Register a connection; over the limit, drop the oldest one that is not a viewer's."""
        loop = asyncio.get_running_loop()
        self._forget_closed()
        self._since[transport] = loop.time()
        if len(self._since) > MOST_CONNECTIONS:
            self._end(next(one for one in self._since if not _watches(one)))
        if self._looking is None:
            self._looking = loop.call_later(_LOOK, self._look)

    def ask(self, transport: asyncio.Transport) -> None:
        """Restart the timeout of a connection after a complete request."""
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
        for transport in list(self._since):
            if transport.get_extra_info("socket").fileno() < 0:
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
    """Whether a connection is a WebSocket; unauthorised ones are closed when they become one."""
    return not getattr(transport.get_protocol(), "asks", False)


def guarded_protocol(gate: Gate) -> type[asyncio.Protocol]:
    """Subclass of uvicorn's protocol whose connections a gate limits."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Guarded(H11Protocol):
        asks = True
        """Whether it handles requests: WebSockets have another class."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            gate.enter(transport)

        def data_received(self, data: bytes) -> None:
            before: Any = self.cycle
            super().data_received(data)
            if self.cycle is not before:
                gate.ask(self.transport)

    return Guarded
