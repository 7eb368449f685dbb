"""One page for one reader: served from memory to this machine only.

A page from disk would do as well, but a browser that runs in a box of its own often cannot read
temporary folders.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from ..errors import InvalidValue

HOST = "127.0.0.1"


class PageServer:
    """Serves a page at an address that others on this machine cannot guess.

    Args:
        page: the whole page as text.
        port: to listen on; 0: any that is free.
        data: JSON that a page may ask for as `data.json`, as it is when it is asked for.
    """

    def __init__(self, page: str, port: int = 0, data: Callable[[], str] | None = None) -> None:
        path = f"/{secrets.token_urlsafe(12)}/"
        content = page.encode()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                code, kind, body = 404, "text/plain", b"there is nothing here\n"
                if self.path == path:
                    code, kind, body = 200, "text/html", content
                elif self.path == f"{path}data.json" and data is not None:
                    code, kind, body = 200, "application/json", data().encode()
                self.send_response(code)
                self.send_header("Content-Type", f"{kind}; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Cache-Control", "no-store")
                self.send_header("Referrer-Policy", "no-referrer")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing: the terminal belongs to the command."""

        try:
            self._server = ThreadingHTTPServer((HOST, port), Handler)
        except (OSError, OverflowError) as error:
            raise InvalidValue(f"cannot listen at {HOST}, port {port}: {error}") from error
        self.url = f"http://{HOST}:{self._server.server_address[1]}{path}"
        """Address of the page."""

    def run(self) -> None:
        """Serve until interrupted or stopped."""
        try:
            self._server.serve_forever(poll_interval=0.1)
        finally:
            self._server.server_close()

    def stop(self) -> None:
        """End `run`, from another thread."""
        self._server.shutdown()
