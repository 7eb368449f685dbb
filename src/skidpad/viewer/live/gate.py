"""Who holds a connection to the server, and for how long without a reason.

A connection costs a stranger nothing: they are counted and timed before anything is known of them.
One that asks for nothing is ended, so is one that is being closed and whose other end does not read
what is left. When there are too many, the oldest that is no viewer makes room for the next.
"""

from __future__ import annotations

import asyncio
from typing import Any

from ...units import s

MOST_CONNECTIONS = 512
"""At once. A browser opens six for the parts of the page and one to watch."""
ASKING: s = 20.0
"""Within which a request must be complete and answered, from when the one before began."""
LINGER: s = 5.0
"""Within which the last bytes to somebody must be gone after their connection is closed."""
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
        """Somebody comes; if that is one too many, somebody goes."""
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
        # of them must put out somebody else.
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
