"""The live page of a world that a node runs: to watch it in a browser."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ...viewer.live.server import LiveServer
from ...viewer.live.watched import WatchedWorld
from .world import WorldProgram

__all__ = ["page_of"]


@contextmanager
def page_of(
    program: WorldProgram,
    *,
    host: str = "127.0.0.1",
    port: int | None = None,
    token: str | None = None,
) -> Generator[str]:
    """Serve the page as long as the context lasts; gives its address.

    To be entered in the thread that ticks. The page only watches: robots are driven by topics.
    """
    reason = f"{program.node.identity.full} is a node of ROS 2: drive it by its topics"
    watched = WatchedWorld(program.world, reason)
    server = LiveServer(watched, host=host, port=port, token=token)
    server.start()
    program.watch = watched
    try:
        yield server.url
    finally:
        program.watch = None
        server.stop()
