"""A live server in a process of its own: prints its address, ends with its standard input."""

from __future__ import annotations

import sys

from ..view.live.arena import Arena
from ..view.live.server import LiveServer
from ..view.live.session import Session
from ..view.live.sources import playground
from .world import crowd


def _arena(kind: str) -> tuple[Arena, float]:
    """What is served, and how many frames a second."""
    if kind == "--crowd":
        return Arena(crowd("differential", 100).scene), 30.0
    place = playground()
    return Arena(place.scene, lines=place.lines), 60.0


def main(kind: str) -> None:
    """Serve until nobody writes to this process any more."""
    arena, rate = _arena(kind)
    server = LiveServer(Session(arena, rate=rate), port=0)
    server.start()
    sys.stdout.write(server.url + "\n")
    sys.stdout.flush()
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main(sys.argv[1])
