"""Coming and going on zenoh: tokens, names, a missing router, settings, the end of a process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import zenoh

import skidpad
from ros2.zenoh_router import DOMAIN, free_port, override, peer, router, until
from skidpad.errors import InvalidValue, MissingFile
from skidpad.ros2 import zenoh as transport_module
from skidpad.ros2.dds import DEFAULT, LATCHED, Identity, Reply, domain_id
from skidpad.ros2.messages import message_type
from skidpad.ros2.messages.types import service_type
from skidpad.ros2.zenoh import ZenohTransport, endpoint, session_settings
from waiting import PATIENCE

STRING = message_type("std_msgs/msg/String")
TRIGGER = service_type("std_srvs/srv/Trigger")
HELLO = b"\0\1\0\0\3\0\0\0hi\0"


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of a router that nodes made meanwhile take."""
    with router() as place:
        monkeypatch.setenv("ZENOH_CONFIG_OVERRIDE", override(place))
        monkeypatch.setenv("ROS_DOMAIN_ID", str(DOMAIN))
        monkeypatch.setattr(transport_module, "ROUTER_PATIENCE", PATIENCE)
        yield place


def no_reply(_data: bytes, _reply: Reply) -> None:
    """For services that nobody asks."""


class Tokens:
    """The tokens that others see, without the ids of sessions."""

    def __init__(self, session: zenoh.Session) -> None:
        self.alive: set[str] = set()
        self._subscriber = session.liveliness().declare_subscriber(
            f"@ros2_lv/{DOMAIN}/**", self._change, history=True
        )

    def _change(self, sample: zenoh.Sample) -> None:
        token = "/".join(str(sample.key_expr).split("/")[3:])
        change = self.alive.add if sample.kind == zenoh.SampleKind.PUT else self.alive.discard
        change(token)


def test_the_graph_shows_what_was_announced_until_it_is_closed(port: int) -> None:
    transport = ZenohTransport(Identity("sim", "/robot"))
    with peer(port) as outsider:
        tokens = Tokens(outsider)
        transport.publisher("/robot/odom", STRING, DEFAULT)
        transport.subscribe("/map", STRING, LATCHED, print)
        transport.announce()
        transport.serve("/robot/reset", TRIGGER, no_reply)
        transport.announce()
        hashes = [endpoint("/", kind).type_hash for kind in (STRING, TRIGGER)]
        expected = {
            "0/0/NN/%/%robot/sim",
            f"0/1/MP/%/%robot/sim/%robot%odom/std_msgs::msg::dds_::String_/{hashes[0]}/::,10:,:,:,,",
            f"0/2/MS/%/%robot/sim/%map/std_msgs::msg::dds_::String_/{hashes[0]}/:1:,1:,:,:,,",
            f"0/3/SS/%/%robot/sim/%robot%reset/std_srvs::srv::dds_::Trigger_/{hashes[1]}/::,10:,:,:,,",
        }
        until(lambda: tokens.alive == expected)
        transport.close()
        until(lambda: not tokens.alive)


def test_readers_are_those_that_are_there(port: int) -> None:
    talker, first, second = (ZenohTransport(Identity(name)) for name in ("talker", "one", "two"))
    publisher = talker.publisher("/a", STRING, DEFAULT)
    assert publisher.readers == 0
    for listener in (first, second):
        listener.subscribe("/a", STRING, DEFAULT, print)
        listener.subscribe("/b", STRING, DEFAULT, print)
        listener.announce()
    until(lambda: publisher.readers == 2)
    first.close()
    until(lambda: publisher.readers == 1)
    second.close()
    until(lambda: publisher.readers == 0)
    talker.close()


def test_closing_twice_and_writing_afterwards_do_nothing(port: int) -> None:
    for _ in range(3):
        transport, heard = ZenohTransport(Identity("sim")), []
        publisher = transport.publisher("/a", STRING, DEFAULT)
        transport.subscribe("/a", STRING, DEFAULT, heard.append)
        transport.announce()
        until(lambda heard=heard: heard, each=lambda write=publisher.write: write(HELLO))
        transport.close()
        publisher.write(HELLO)
        assert transport.warnings() == []
        transport.close()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("zenoh ")]


def test_a_callback_may_close_the_node(port: int) -> None:
    transport, closed = ZenohTransport(Identity("sim")), threading.Event()

    def leave(_: bytes) -> None:
        transport.close()
        closed.set()

    publisher = transport.publisher("/a", STRING, DEFAULT)
    transport.subscribe("/a", STRING, DEFAULT, leave)
    until(closed.is_set, each=lambda: publisher.write(HELLO))


def test_two_nodes_of_one_name_are_told_once(port: int) -> None:
    first = ZenohTransport(Identity("sim", "/robot"))
    other = ZenohTransport(Identity("sim", "/other"))
    first.announce()
    other.announce()
    until(lambda: len(first.graph.nodes()) == 2)
    assert first.warnings() == []
    second = ZenohTransport(Identity("sim", "/robot"))
    second.announce()
    for transport in (first, second):
        (warning,) = until(transport.warnings)
        assert "another node /robot/sim" in warning
        assert transport.warnings() == []
    assert other.warnings() == []
    for transport in (first, other, second):
        transport.close()


def test_without_a_router_nodes_wait_for_one_and_say_so_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = free_port()
    monkeypatch.setenv("ZENOH_CONFIG_OVERRIDE", override(place))
    monkeypatch.setenv("ROS_DOMAIN_ID", str(DOMAIN))
    monkeypatch.setattr(transport_module, "ROUTER_PATIENCE", 0.05)
    talker, listener, heard = ZenohTransport(Identity("a")), ZenohTransport(Identity("b")), []
    publisher = talker.publisher("/a", STRING, DEFAULT)
    listener.subscribe("/a", STRING, DEFAULT, heard.append)
    publisher.write(HELLO)
    (warning,) = until(talker.warnings)
    assert f"tcp/127.0.0.1:{place}" in warning
    assert "rmw_zenohd" in warning
    assert talker.warnings() == []
    with router(place):
        until(lambda: heard, each=lambda: publisher.write(HELLO))
        assert listener.warnings() == []
        talker.close()
        listener.close()


@pytest.mark.parametrize("text", ["-1", "233", "one", "1.0", "²"])
def test_a_bad_domain_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROS_DOMAIN_ID", text)
    with pytest.raises(InvalidValue, match=r"ROS_DOMAIN_ID is .*from 0 to 232"):
        domain_id()


def test_the_domain_is_0_unless_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ROS_DOMAIN_ID", raising=False)
    assert domain_id() == 0
    monkeypatch.setenv("ROS_DOMAIN_ID", " 42 ")
    assert domain_id() == 42


def test_settings_are_those_of_rmw_zenoh_unless_changed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("ZENOH_CONFIG_OVERRIDE", raising=False)
    monkeypatch.delenv("ZENOH_SESSION_CONFIG_URI", raising=False)
    config = session_settings()
    assert config.get_json("mode") == '"peer"'
    assert config.get_json("connect/endpoints") == '["tcp/localhost:7447"]'
    assert config.get_json("scouting/multicast/enabled") == "false"
    file = tmp_path / "session.json5"
    file.write_text('{mode: "client", connect: {endpoints: ["tcp/10.0.0.1:7447"]}}')
    monkeypatch.setenv("ZENOH_SESSION_CONFIG_URI", str(file))
    monkeypatch.setenv("ZENOH_CONFIG_OVERRIDE", 'mode="peer";scouting/gossip/enabled=false;')
    config = session_settings()
    assert config.get_json("mode") == '"peer"'
    assert config.get_json("connect/endpoints") == '["tcp/10.0.0.1:7447"]'
    assert config.get_json("scouting/gossip/enabled") == "false"


@pytest.mark.parametrize("text", ["mode", "=1", "mode=", "mode=nonsense", "no/such/thing=1"])
def test_bad_overrides_are_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZENOH_CONFIG_OVERRIDE", text)
    with pytest.raises(InvalidValue, match="ZENOH_CONFIG_OVERRIDE"):
        ZenohTransport(Identity("sim"))


def test_bad_settings_files_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "session.json5"
    monkeypatch.setenv("ZENOH_SESSION_CONFIG_URI", str(file))
    with pytest.raises(MissingFile, match="ZENOH_SESSION_CONFIG_URI"):
        ZenohTransport(Identity("sim"))
    file.write_text("{mode: ")
    with pytest.raises(InvalidValue, match="ZENOH_SESSION_CONFIG_URI"):
        ZenohTransport(Identity("sim"))


def test_a_session_that_cannot_open_says_where_it_wanted_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    place = f"tcp/127.0.0.1:{free_port()}"
    setting = f'mode="client";connect/endpoints=["{place}"]'
    monkeypatch.setenv("ZENOH_CONFIG_OVERRIDE", setting)
    with pytest.raises(InvalidValue, match=place):
        ZenohTransport(Identity("sim"))


PROCESS = """
import sys, time
from skidpad.ros2.dds import DEFAULT, Identity
from skidpad.ros2.zenoh import ZenohTransport
from skidpad.ros2.messages import message_type
kind, heard = message_type("std_msgs/msg/String"), []
node = ZenohTransport(Identity("short"))
node.subscribe("/a", kind, DEFAULT, heard.append)
publisher = node.publisher("/a", kind, DEFAULT)
node.announce()
while not heard:
    publisher.write(bytes.fromhex(sys.argv[1]))
    time.sleep(0.001)
if sys.argv[2] == "error":
    raise SystemExit("as asked")
"""


@pytest.mark.parametrize("end", ["well", "error"])
def test_a_process_may_end_without_closing(port: int, end: str) -> None:
    path = os.pathsep.join(
        [str(Path(skidpad.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    )
    with peer(port) as outsider:
        tokens = Tokens(outsider)
        # Messages come while the interpreter ends.
        done = threading.Event()

        def talk() -> None:
            key = endpoint("/a", STRING).key(DOMAIN)
            while not done.wait(0.0005):
                outsider.put(key, HELLO)

        talker = threading.Thread(target=talk)
        talker.start()
        try:
            run = subprocess.run(
                [sys.executable, "-c", PROCESS, HELLO.hex(), end],
                env={**os.environ, "PYTHONPATH": path},
                capture_output=True,
                text=True,
                timeout=PATIENCE,
            )
        finally:
            done.set()
            talker.join()
        assert (run.returncode, run.stderr) == ((0, "") if end == "well" else (1, "as asked\n"))
        until(lambda: not tokens.alive)
