"""Live server: listening, start and stop, the limit on connections, and worlds without drivers.

Unauthenticated clients cannot exhaust the server: connections are counted and timed from the start.
Idle connections are closed, and so are closing ones whose peer does not read the rest. Over the
limit, the oldest connection that is not a viewer's makes room for a new one.

A `WatchedWorld` is stepped by its owner, and an `EpisodePage` shows an environment in real time;
neither can be driven from the page.
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
import webbrowser
from collections.abc import Callable, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidValue, require_extras
from ...units import per_s, s
from ...world.world import World
from ..stage import Ranges, Scan
from ..stages import EpisodeStage, WorldStage
from .messages import MOST_BYTES, Frame, Message, Moment, Outbox
from .session import LetGo, Source

if TYPE_CHECKING:
    from ...learn.gymnasium_envs import SeenMoment
    from ...learn.task import Task


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

        from .app import Access, application, is_local, new_token

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
            # Frames are floats that hardly compress, and compressing them per viewer is expensive.
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
        # Accepted connections inherit this option.
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
"""Largest number of simultaneous connections. A browser opens six for the files of the page and one
to watch."""
ASKING: s = 20.0
"""Time within which a request must be complete and answered, counted from the start of the previous
one."""
LINGER: s = 5.0
"""Time for the last bytes of a closed connection to be sent."""
_LOOK: s = 0.25


class Gate:
    """Connections of one server. Everything here runs in the network thread."""

    def __init__(self) -> None:
        # In order of arrival, with the time at which their timeout began.
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
        # Its socket closes in the next turn of the loop. Until then more connections may arrive,
        # each of which must drop another one.
        self._forget(transport)

    def _forget(self, transport: asyncio.Transport) -> None:
        del self._since[transport]
        self._closing.discard(transport)


def _watches(transport: asyncio.Transport) -> bool:
    """Whether a connection is a WebSocket; unauthorised connections are closed when they become
    one."""
    return not getattr(transport.get_protocol(), "asks", False)


def guarded_protocol(gate: Gate) -> type[asyncio.Protocol]:
    """Subclass of uvicorn's protocol whose connections a gate limits."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class Guarded(H11Protocol):
        asks = True
        """Whether the connection handles plain requests: WebSockets have another class."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            gate.enter(transport)

        def data_received(self, data: bytes) -> None:
            before: Any = self.cycle
            super().data_received(data)
            if self.cycle is not before:
                gate.ask(self.transport)

    return Guarded


_STATUS_PERIOD: s = 0.5
"""Period of status messages."""
_REASON = "an environment runs here; it is driven by its actions"
_EPISODE_RATE = 60.0


class _Watched:
    """Source that cannot be driven; `reason` is sent to clients who try."""

    def __init__(self, reason: str, rate: per_s) -> None:
        self.outbox, self.rate = Outbox(), rate
        self._reason, self._sequence = reason, 0

    def stop(self) -> None:
        """Stop the source; the world it shows continues."""

    def submit(self, client: int, message: Message) -> None:
        """Refuse a client's message."""
        if not isinstance(message, LetGo):
            self.outbox.say("error", to=client, text=self._reason)

    def _put_frame(
        self, time: s, row: NDArray[np.float64], scans: Sequence[tuple[Ranges, bool]]
    ) -> None:
        """Queue a frame; `scans` are pairs of a scan and whether it is new."""
        self._sequence += 1
        moment = Moment(self._sequence, 0, time, row, [scan for scan, _ in scans])
        self.outbox.frame(Frame(moment, frozenset(scan.scan for scan, new in scans if new)))


class WatchedWorld(_Watched):
    """Source that shows a world stepped by its owner, in the owner's thread.

    Args:
        world: the world.
        reason: why it cannot be driven, for clients who try.
        title: title of the view.
        rate: frame rate.
        clock: a monotonic clock in s.
    """

    def __init__(
        self,
        world: World,
        reason: str,
        *,
        title: str = "",
        rate: per_s = 30.0,
        clock: Callable[[], s] = perf_counter,
    ) -> None:
        super().__init__(reason, rate)
        self._world, self._title, self._clock = world, title, clock
        self._next_frame = self._next_status = clock()
        self._noted = clock(), world.time
        self._view = WorldStage(world, title)
        self._stage = self._view.stage

    def start(self) -> None:
        """Queue the description of the stage."""
        self.outbox.say_stage(self._stage)
        self.outbox.say("vehicles", vehicles=[])
        self._report(0.0)

    def show(self) -> None:
        """Queue a frame if one is due; call it in the thread that steps the world."""
        now = self._clock()
        if now >= self._next_frame:
            self._next_frame = max(self._next_frame + 1.0 / self.rate, now)
            self._put_frame(self._world.time, self._view.row(), self._view.scans_now())
        if now >= self._next_status:
            self._next_status = now + _STATUS_PERIOD
            (then, before), self._noted = self._noted, (now, self._world.time)
            self._report((self._world.time - before) / (now - then) if now > then else 0.0)

    def renew(self) -> None:
        """Show a restarted world; call it in the thread that steps it."""
        self._view = WorldStage(self._world, self._title)
        self._noted = self._clock(), self._world.time
        self._next_frame = self._clock()

    def _report(self, reached: float) -> None:
        factor = round(max(reached, 0.0), 3)
        self.outbox.say_status(real_time_factor=factor, watched=self._reason)


class WatchedEpisode(_Watched):
    """Episode of a learning environment as a `Source`."""

    def __init__(self, task: Task) -> None:
        super().__init__(_REASON, _EPISODE_RATE)
        self._task = task
        self._names = [f"car_{k}" for k in range(task.agents)]
        self._shown: tuple[Any, ...] = ()
        self._view: EpisodeStage | None = None

    def start(self) -> None:
        """Queue the description of the stage."""
        self.outbox.say("vehicles", vehicles=[])
        self.outbox.say_status(watched=_REASON)

    def show(self, seen: SeenMoment) -> None:
        """Queue a frame of this moment, on the stage of its track."""
        if self._view is None or (seen.track, seen.marks) != self._shown:
            self._view, self._shown = self._stage(seen), (seen.track, seen.marks)
            self.outbox.say_stage(self._view.stage)
        row = self._view.row([one[:3] for one in seen.vehicles])
        scans = [(Ranges(k, v.ranges), True) for k, v in enumerate(seen.vehicles) if len(v.ranges)]
        self._put_frame(seen.time, row, scans)

    def _stage(self, seen: SeenMoment) -> EpisodeStage:
        task = self._task
        track = None if seen.track is None else task.tracks[seen.track]
        scans: list[Scan] = []
        if (lidar := task.lidar) is not None:
            first, second = lidar.angles[:2].tolist()
            rays = (first, second - first, lidar.rays, lidar.range)
            scans = [Scan("lidar", name, lidar.x, lidar.y, 0.0, *rays) for name in self._names]
        title = task.name if track is None else f"{task.name}: {track.name}"
        ground: dict[str, Any] = {}
        if track is not None:
            ground = {"walls": track.walls, "grid": track.grid}
        kind, names = task.vehicle, self._names
        return EpisodeStage(title, kind, names, polygons=seen.marks, scans=scans, **ground)


class EpisodePage:
    """Server that shows an environment's episodes in a browser on this machine.

    Args:
        task: task of the environment.
        clock: a monotonic clock in s.
        sleep: waits for a time in s.
    """

    def __init__(
        self,
        task: Task,
        clock: Callable[[], s] = perf_counter,
        sleep: Callable[[s], None] = time.sleep,
    ) -> None:
        self._source = WatchedEpisode(task)
        self._clock, self._sleep = clock, sleep
        self._begun = self._next_frame = clock()
        self._server = LiveServer(self._source)
        self._server.start()
        self.url = self._server.url
        print(f"the environment is at {self.url}", file=sys.stderr)
        if has_display():
            webbrowser.open(self.url)

    def show(self, seen: SeenMoment) -> None:
        """Wait until this moment is due in real time, then show it."""
        now = self._clock()
        if seen.time == 0.0:
            self._begun = self._next_frame = now
        due = self._begun + seen.time
        if now < due:
            self._sleep(due - now)
        else:
            # If the display is late, the schedule is shifted instead of catching up.
            self._begun = now - seen.time
        if max(now, due) >= self._next_frame:
            self._next_frame = max(now, due) + 1.0 / _EPISODE_RATE
            self._source.show(seen)

    def close(self) -> None:
        """Stop the server."""
        self._server.stop()
