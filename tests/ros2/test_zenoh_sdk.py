"""Nodes on zenoh against zenoh-ros2-sdk, written by others for real nodes on rmw_zenoh."""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ros2.zenoh_router import DOMAIN, override, router, until
from skidpad.ros2.dds import DEFAULT, LATCHED, Identity, Reply
from skidpad.ros2.messages import message_type
from skidpad.ros2.messages.types import service_type
from skidpad.ros2.zenoh import ZenohTransport
from waiting import PATIENCE

STRING, SET_BOOL = message_type("std_msgs/msg/String"), service_type("std_srvs/srv/SetBool")
# As in the interface files, and not taken from our table: that the hashes agree is the test.
MESSAGES = {
    "std_msgs/msg/String": "string data",
    "builtin_interfaces/msg/Time": "int32 sec\nuint32 nanosec",
    "std_msgs/msg/Header": "builtin_interfaces/Time stamp\nstring frame_id",
    "geometry_msgs/msg/Vector3": "float64 x\nfloat64 y\nfloat64 z",
}
SERVICES = {"std_srvs/srv/SetBool": ("bool data", "bool success\nstring message")}


class Peer:
    """The other process."""

    def __init__(self, port: int) -> None:
        script = Path(__file__).with_name("sdk_peer.py")
        definitions = json.dumps([MESSAGES, SERVICES])
        self.process = subprocess.Popen(
            [sys.executable, str(script), str(port), str(DOMAIN), definitions],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.lines: queue.Queue[Any] = queue.Queue()
        threading.Thread(target=self._listen).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(["ended", self.process.wait()])

    def told(self, kind: str) -> Any:
        """The next that it says of a kind; what it says else is forgotten."""
        while True:
            what, value = self.lines.get(timeout=PATIENCE)
            assert what != "ended" or kind == "ended", f"ended with {value}"
            if what == kind:
                return value

    def do(self, command: str, argument: Any = None) -> None:
        """Have it do something."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([command, argument]) + "\n")
        self.process.stdin.flush()

    def end(self) -> None:
        """Let it end; or end it."""
        try:
            self.do("end")
            self.process.wait(timeout=PATIENCE)
        finally:
            self.process.kill()
            self.told("ended")
            for pipe in (self.process.stdin, self.process.stdout):
                assert pipe is not None
                pipe.close()


@pytest.fixture(scope="module")
def meeting() -> Iterator[tuple[Peer, ZenohTransport]]:
    """The other process, and a node of ours on the same router."""
    with router() as port, pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZENOH_CONFIG_OVERRIDE", override(port))
        patch.setenv("ROS_DOMAIN_ID", str(DOMAIN))
        patch.delenv("ROS_DISTRO", raising=False)
        peer = Peer(port)
        ours = ZenohTransport(Identity("sim"))
        yield peer, ours
        ours.close()
        peer.end()


def test_hashes_agree(meeting: tuple[Peer, ZenohTransport]) -> None:
    hashes = meeting[0].told("hashes")
    assert hashes == {
        **{name: message_type(name).hash for name in MESSAGES},
        **{name: service_type(name).hash for name in SERVICES},
    }


def test_it_hears_us_and_we_see_that_it_listens(meeting: tuple[Peer, ZenohTransport]) -> None:
    peer, ours = meeting
    publisher = ours.publisher("/ours", STRING, DEFAULT)
    ours.announce()
    until(lambda: publisher.readers == 1)
    peer.told("ready")
    message = STRING.encode(STRING.Record(data="grüße"))
    until(lambda: not peer.lines.empty(), each=lambda: publisher.write(message))
    assert peer.told("heard") == "grüße"


def test_we_hear_it(meeting: tuple[Peer, ZenohTransport]) -> None:
    peer, ours = meeting
    heard: list[bytes] = []
    ours.subscribe("/theirs", STRING, DEFAULT, heard.append)
    until(lambda: heard, each=lambda: peer.do("publish", "tak"))
    assert STRING.decode(heard[0]).data == "tak"
    assert ours.malformed == 0


def test_it_gets_what_was_latched_before_it_came(meeting: tuple[Peer, ZenohTransport]) -> None:
    peer, ours = meeting
    publisher = ours.publisher("/map", STRING, LATCHED)
    for text in ("old", "last"):
        publisher.write(STRING.encode(STRING.Record(data=text)))
    ours.announce()
    peer.do("join", "/map")
    assert peer.told("late") == ["last"]


def test_it_asks_us(meeting: tuple[Peer, ZenohTransport]) -> None:
    peer, ours = meeting

    def handler(data: bytes, reply: Reply) -> None:
        demand = SET_BOOL.request.decode(data).data
        response = SET_BOOL.response.Record(success=True, message=f"paused: {demand}")
        reply(SET_BOOL.response.encode(response))

    ours.serve("/pause", SET_BOOL, handler)
    ours.announce()
    for demand in (True, False):
        peer.do("call", demand)
        assert peer.told("answered") == [True, f"paused: {demand}"]


def test_its_nodes_are_in_our_graph(meeting: tuple[Peer, ZenohTransport]) -> None:
    _, ours = meeting
    ours.announce()
    until(lambda: {node.namespace for node in ours.graph.nodes()} == {"/", "/sdk"})
    assert ours.warnings() == []
