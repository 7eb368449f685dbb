"""The server: where it listens, and how it begins and ends."""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
import time
from typing import Any
from urllib.parse import quote

from ...errors import InvalidValue
from ...extras import require_extras
from .access import Access, is_local, new_token
from .messages import MOST_BYTES
from .source import Source

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
        token: needed from whoever comes in; made up where others than this machine can come.
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
        from .gate import Gate, guarded_protocol

        if token is None and not is_local(host):
            token = new_token()
        self._listener = _listener(host, port)
        self.host, self.port = host, int(self._listener.getsockname()[1])
        self.token = token
        """What others need to come in; None: nothing."""
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
