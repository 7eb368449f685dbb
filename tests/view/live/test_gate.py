"""Connections that nobody uses end by themselves and keep nobody out."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from typing import Any

import httpx
import pytest

from skidpad.view.live import server as gate
from skidpad.view.live.server import LiveServer
from skidpad.view.live.session import Session
from view.live.clients import Client, served
from view.live.test_server import BROAD, request
from view.live.worlds import ROBOT, arena
from waiting import PATIENCE

FEW = 6
SHORT = 0.2
"""In s: what the server waits for in vain."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveServer]:
    # Who asks for something on a busy machine is not put out.
    monkeypatch.setattr(gate, "ASKING", PATIENCE)
    with served(Session(arena(ROBOT)), token="secret") as server:
        yield server


def opened(server: LiveServer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def ends(raw: socket.socket, dribble: bytes = b"") -> bool:
    """Whether the other side ends a connection to which bytes go one by one."""
    with suppress(ConnectionError):
        raw.settimeout(0.05)
        end, sent = time.monotonic() + PATIENCE, 0
        while time.monotonic() < end:
            if sent < len(dribble):
                raw.send(dribble[sent : sent + 1])
                sent += 1
            with suppress(TimeoutError):
                if not raw.recv(4096):
                    return True
        return False
    return True


HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (b"", b""),
        (b"GET / HT", b""),
        (HEAD, b"x: " + b"y" * 100_000),
        (HEAD + b"Content-Length: 1000000\r\n\r\n", b"z" * 100_000),
        (HEAD + b"\r\n", b"GET / HTTP/1.1\r\nx: " + b"y" * 100_000),
    ],
    ids=["nothing", "half a line", "headers without end", "a body without end", "a second request"],
)
def test_who_asks_for_nothing_is_put_out(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch, first: bytes, then: bytes
) -> None:
    monkeypatch.setattr(gate, "ASKING", SHORT)
    with opened(server) as raw:
        raw.sendall(first)
        assert ends(raw, then)
    until(lambda: server.connections == 0)


def test_a_viewer_stays(server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with Client(server.url) as client, httpx.Client(timeout=PATIENCE) as browser:
        assert browser.get(server.url).status_code == 200
        assert browser.get(server.url).status_code == 200, "on the same connection"
        monkeypatch.setattr(gate, "ASKING", SHORT)
        until(lambda: server.connections == 1)
        client.frames(30)


def test_strangers_do_not_lock_the_server(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The door is open to those with the token however many others stand in it."""
    monkeypatch.setattr(gate, "MOST_CONNECTIONS", FEW)
    with ExitStack() as stack, Client(server.url) as first:
        strangers = [stack.enter_context(opened(server)) for _ in range(3 * FEW)]
        until(lambda: server.connections <= FEW)
        with Client(server.url) as second:
            second.frames(2)
        first.frames(2)
        assert ends(strangers[0]), "the oldest make room"


def test_many_who_come_at_once_put_out_as_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sockets close only when the loop comes round: each must choose somebody else till then."""
    monkeypatch.setattr(gate, "MOST_CONNECTIONS", FEW)
    doors, counts, gone = gate.Gate(), list[int](), list[Exception | None]()

    class Stranger(asyncio.Protocol):
        asks = True

        def connection_made(self, transport: Any) -> None:
            doors.enter(transport)
            counts.append(doors.count)

        def connection_lost(self, exc: Exception | None) -> None:
            gone.append(exc)

    async def crowd(stack: ExitStack) -> None:
        listener = await asyncio.get_running_loop().create_server(Stranger, "127.0.0.1", 0)
        address = listener.sockets[0].getsockname()
        # All of them stand in the queue of the socket before the loop sees the first.
        for _ in range(3 * FEW):
            stack.enter_context(socket.create_connection(address, timeout=PATIENCE))
        async with asyncio.timeout(PATIENCE):
            while len(gone) < 2 * FEW:
                await asyncio.sleep(0)
            assert len(counts) == 3 * FEW
            stack.close()
            while len(gone) < 3 * FEW:
                await asyncio.sleep(0)
        listener.close()

    with ExitStack() as stack:
        asyncio.run(crowd(stack))
    assert counts == [*range(1, FEW), *(FEW for _ in range(2 * FEW + 1))]


def test_more_viewers_than_there_is_room_for_are_turned_away(
    server: LiveServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gate, "MOST_CONNECTIONS", 2)
    with Client(server.url) as one, Client(server.url) as two:
        with opened(server) as third:
            assert ends(third)
        one.frames(2)
        two.frames(2)


def test_the_connection_of_a_viewer_who_reads_nothing_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is still to be sent to them never will be: waiting for it keeps the socket for ever."""
    monkeypatch.setattr(gate, "LINGER", SHORT)
    monkeypatch.setattr("skidpad.view.live.app.STUCK", 1.0)
    with served(Session(arena(BROAD))) as server, socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        deaf.connect(("127.0.0.1", server.port))
        deaf.sendall(request(server, {}).encode())
        deaf.settimeout(PATIENCE)
        assert deaf.recv(12) == b"HTTP/1.1 101", "they are a viewer, for as long as that lasts"
        until(lambda: server.connections == 0)


def test_a_server_ends_though_somebody_reads_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "LINGER", SHORT)
    with socket.socket() as deaf:
        with served(Session(arena(BROAD))) as server:
            deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.connect(("127.0.0.1", server.port))
            deaf.sendall(request(server, {}).encode())
            with Client(server.url) as other:
                other.frames(60)
        assert not server.running
