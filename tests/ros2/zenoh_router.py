"""A router of zenoh for tests, as rmw_zenohd is one, and sessions without skidpad."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import zenoh

from waiting import PATIENCE

DOMAIN = 1 + os.getpid() % 100


def until(condition: Callable[[], Any], *, each: Callable[[], object] = lambda: None) -> Any:
    """What a condition gives once that is something; `each` is done before every look."""
    end = time.monotonic() + PATIENCE
    while True:
        each()
        result = condition()
        if result:
            return result
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.002)


def free_port() -> int:
    """A port of the loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def session(**settings: Any) -> zenoh.Session:
    """A session with settings of zenoh: `__` stands for the slashes of their paths."""
    config = zenoh.Config()
    # Half a second is what it would wait for others before it opens.
    usual = {"scouting__multicast__enabled": False, "scouting__delay": 1}
    for path, value in {**usual, **settings}.items():
        config.insert_json5(path.replace("__", "/"), json.dumps(value))
    return zenoh.open(config)


def peer(port: int) -> zenoh.Session:
    """A session that is no transport of skidpad, and knows the others by the router."""
    return session(
        mode="peer",
        connect__endpoints=[f"tcp/127.0.0.1:{port}"],
        listen__endpoints=["tcp/127.0.0.1:0"],
        timestamping__enabled=True,
    )


@contextmanager
def router(port: int = 0) -> Iterator[int]:
    """The port of a router that runs meanwhile."""
    place, opened = port or free_port(), None
    while opened is None:
        try:
            opened = session(mode="router", listen__endpoints=[f"tcp/127.0.0.1:{place}"])
        except zenoh.ZError:
            # Another process was faster to take it.
            assert not port
            place = free_port()
    try:
        yield place
    finally:
        opened.close()


def override(port: int) -> str:
    """`ZENOH_CONFIG_OVERRIDE` for the router at a port."""
    places = f'connect/endpoints=["tcp/127.0.0.1:{port}"];listen/endpoints=["tcp/127.0.0.1:0"]'
    return f"{places}; scouting/delay=1"
