"""The transport over zenoh: our nodes among themselves, and with plain sessions of zenoh."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
import zenoh

from ros2.zenoh_router import DOMAIN, override, peer, router, until
from skidpad.ros2 import zenoh as transport_module
from skidpad.ros2.dds import DEFAULT, LATCHED, SENSOR, Identity, Qos, Reply
from skidpad.ros2.messages import message_type
from skidpad.ros2.messages.types import service_type
from skidpad.ros2.zenoh import ZenohTransport, attachment, endpoint
from waiting import PATIENCE

STRING = message_type("std_msgs/msg/String")
HEADER = message_type("std_msgs/msg/Header")
TRIGGER = service_type("std_srvs/srv/Trigger")
REQUEST = b"\0\1\0\0\0"
RESPONSE = b"\0\1\0\0\1\0\0\0\3\0\0\0ok\0"

Open = Callable[..., ZenohTransport]


def text(number: int) -> bytes:
    """The CDR of a string."""
    data = f"{number}".encode() + b"\0"
    return b"\0\1\0\0" + len(data).to_bytes(4, "little") + data


@pytest.fixture
def port(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The port of a router that nodes made meanwhile take."""
    with router() as place:
        monkeypatch.setenv("ZENOH_CONFIG_OVERRIDE", override(place))
        monkeypatch.setenv("ROS_DOMAIN_ID", str(DOMAIN))
        monkeypatch.setattr(transport_module, "ROUTER_PATIENCE", PATIENCE)
        yield place


@pytest.fixture
def node(port: int) -> Iterator[Open]:
    """Makes transports that are closed at the end."""
    with ExitStack() as stack:

        def make(name: str, namespace: str = "/") -> ZenohTransport:
            transport = ZenohTransport(Identity(name, namespace))
            stack.callback(transport.close)
            return transport

        yield make
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("zenoh ")]


@pytest.fixture
def outsider(port: int) -> Iterator[zenoh.Session]:
    """A session that knows nothing of skidpad."""
    with peer(port) as session:
        yield session


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_messages_arrive_as_they_were_when_written(node: Open, kind: type) -> None:
    talker, listener, heard = node("talker"), node("listener", "/below"), []
    publisher = talker.publisher("/a/b", STRING, DEFAULT)
    listener.subscribe("/a/b", STRING, DEFAULT, heard.append)

    def write() -> None:
        buffer = bytearray(text(1))
        publisher.write(kind(buffer))
        buffer[:] = bytes(len(buffer))

    until(lambda: heard, each=write)
    assert set(heard) == {text(1)}
    assert type(heard[0]) is bytes


def test_messages_keep_their_order_and_their_topic(node: Open) -> None:
    talker, listener = node("talker"), node("listener")
    heard: dict[str, list[bytes]] = {"/one": [], "/two": [], "/one/more": []}
    publishers = {topic: talker.publisher(topic, STRING, Qos(depth=1000)) for topic in heard}
    for topic, messages in heard.items():
        listener.subscribe(topic, STRING, Qos(depth=1000), messages.append)
    for number, (topic, messages) in enumerate(heard.items()):
        until(
            lambda messages=messages, number=number: text(number) in messages,
            each=lambda topic=topic, number=number: publishers[topic].write(text(number)),
        )
    numbers = iter(range(10, 10**9))
    later: list[bytes] = []

    def write_and_look() -> bool:
        publishers["/one"].write(text(next(numbers)))
        later[:] = [message for message in heard["/one"] if message != text(0)]
        return len(later) > 100

    until(write_and_look)
    # Some may be dropped on a busy machine.
    assert later == sorted(set(later), key=lambda data: int(data[8:-1]))
    assert set(heard["/two"]) == {text(1)}
    assert set(heard["/one/more"]) == {text(2)}


def test_other_types_and_domains_do_not_meet(node: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    talker, listener = node("talker"), node("listener")
    monkeypatch.setenv("ROS_DOMAIN_ID", str(DOMAIN + 1))
    elsewhere = node("talker")
    heard, wrong = [], []
    listener.subscribe("/a", STRING, DEFAULT, heard.append)
    listener.subscribe("/a", HEADER, DEFAULT, wrong.append)
    elsewhere.subscribe("/a", STRING, DEFAULT, wrong.append)
    publisher = talker.publisher("/a", STRING, DEFAULT)
    for transport in (talker, listener, elsewhere):
        transport.announce()
    until(lambda: publisher.readers)
    until(lambda: len(heard) > 5, each=lambda: publisher.write(text(1)))
    assert not wrong
    assert publisher.readers == 1
    assert not [warning for warning in talker.warnings() if "another node" in warning]


def test_peers_of_another_type_are_told_of_once(node: Open) -> None:
    here, there = node("sim"), node("nav", "/robot")
    here.subscribe("/in", STRING, DEFAULT, print)
    here.publisher("/out", STRING, DEFAULT)
    there.publisher("/in", HEADER, DEFAULT)
    there.subscribe("/out", HEADER, DEFAULT, print)
    there.publisher("/out", HEADER, DEFAULT)  # The same side as ours: no one misses anything.
    there.announce()
    told: list[str] = []
    until(lambda: len(told) == 2, each=lambda: told.extend(here.warnings()))
    assert sorted(text.split(": change")[0] for text in told) == [
        "a publisher of /in (node /robot/nav) is not connected: its type is std_msgs/msg/Header, "
        "and here it is std_msgs/msg/String",
        "a subscription to /out (node /robot/nav) is not connected: its type is "
        "std_msgs/msg/Header, and here it is std_msgs/msg/String",
    ]
    assert here.warnings() == []


def test_peers_without_type_hashes_are_told_of(node: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    here = node("sim")
    here.subscribe("/in", STRING, DEFAULT, print)
    monkeypatch.setenv("ROS_DISTRO", "humble")
    humble = node("nav")
    humble.publisher("/in", STRING, DEFAULT)
    humble.announce()
    (told,) = until(here.warnings)
    assert "a publisher of /in (node /nav) is not connected: keys have no type hashes there" in told
    assert "ROS_DISTRO" in told


@pytest.mark.parametrize("qos", [LATCHED, Qos(reliable=False, latched=True, depth=3)])
def test_who_comes_later_gets_the_last_latched_ones(node: Open, qos: Qos) -> None:
    talker = node("talker")
    publisher = talker.publisher("/map", STRING, qos)
    for number in range(5):
        publisher.write(text(number))
    late, volatile = node("late"), node("volatile")
    latched_heard: list[bytes] = []
    volatile_heard: list[bytes] = []
    late.subscribe("/map", STRING, Qos(latched=True, depth=100), latched_heard.append)
    until(lambda: latched_heard[-1:] == [text(4)])
    assert latched_heard == [text(number) for number in range(5 - qos.depth, 5)]
    volatile.subscribe("/map", STRING, DEFAULT, volatile_heard.append)
    until(lambda: volatile_heard, each=lambda: publisher.write(text(5)))
    assert set(volatile_heard) == {text(5)}


def test_a_latched_publisher_that_comes_later_is_heard(node: Open) -> None:
    listener, heard = node("listener"), []
    listener.subscribe("/map", STRING, LATCHED, heard.append)
    node("talker").publisher("/map", STRING, LATCHED).write(text(7))
    until(lambda: heard)
    assert set(heard) == {text(7)}


def call(session: zenoh.Session, payload: bytes | None, about: bytes | None) -> list[zenoh.Reply]:
    """What a client of rmw_zenoh does."""
    key = endpoint("/reset", TRIGGER).key(DOMAIN)
    target = zenoh.QueryTarget.ALL_COMPLETE
    return list(session.get(key, payload=payload, attachment=about, target=target))


def test_requests_are_answered_by_whoever_has_the_reply(
    node: Open, outsider: zenoh.Session
) -> None:
    server, asked = node("server"), []

    def answer(reply: Reply) -> None:
        reply(bytearray(RESPONSE))
        # At most once is what counts.
        reply(b"other")

    def handler(data: bytes, reply: Reply) -> None:
        asked.append(data)
        threading.Thread(target=answer, args=[reply]).start()

    server.serve("/reset", TRIGGER, handler)
    about = attachment(12, 34, b"client of 16 by.")
    (reply,) = until(lambda: call(outsider, REQUEST, about))
    assert reply.ok is not None
    assert reply.ok.payload.to_bytes() == RESPONSE
    returned = reply.ok.attachment
    assert returned is not None
    # Number and client as they came, the time its own.
    data = returned.to_bytes()
    assert (data[:8], data[16:]) == (about[:8], about[16:])
    assert int.from_bytes(data[8:16], "little") > 1_600_000_000_000_000_000
    assert set(asked) == {REQUEST}


def test_malformed_requests_get_an_error_and_the_next_its_answer(
    node: Open, outsider: zenoh.Session
) -> None:
    server, asked = node("server"), []

    def handler(data: bytes, reply: Reply) -> None:
        asked.append(data)
        reply(RESPONSE)

    server.serve("/reset", TRIGGER, handler)
    good = attachment(1, 2, bytes(16))
    until(lambda: call(outsider, REQUEST, good))
    answered = len(asked)
    for payload, about in [(REQUEST, None), (REQUEST, good[:-1]), (b"\0\1", good), (None, good)]:
        (reply,) = call(outsider, payload, about)
        assert reply.err is not None
        assert "attachment" in reply.err.payload.to_string() or payload != REQUEST
    until(lambda: server.malformed == 4)  # counted behind the answer
    assert len(asked) == answered
    (reply,) = call(outsider, REQUEST, good)
    assert reply.ok is not None
    (warning,) = until(server.warnings)
    assert "/reset" in warning


def test_requests_that_wait_end_when_the_node_leaves(node: Open, outsider: zenoh.Session) -> None:
    server, waiting = node("server"), threading.Event()
    replies: list[Reply] = []

    def handler(_: bytes, reply: Reply) -> None:
        replies.append(reply)
        waiting.set()

    server.serve("/reset", TRIGGER, handler)
    answers: list[list[zenoh.Reply]] = []

    def ask() -> None:
        while not waiting.is_set():
            answers.append(call(outsider, REQUEST, attachment(1, 2, bytes(16))))

    client = threading.Thread(target=ask)
    client.start()
    until(waiting.is_set)
    server.close()
    client.join()
    assert not any(reply.ok for some in answers for reply in some)
    replies[0](RESPONSE)


def test_a_request_that_is_forgotten_ends_for_its_client(
    node: Open, outsider: zenoh.Session
) -> None:
    server, asked = node("server"), []
    server.serve("/reset", TRIGGER, lambda data, _: asked.append(data))
    # Without the end of the query it would wait for minutes.
    answers = until(
        lambda: asked, each=lambda: call(outsider, REQUEST, attachment(1, 2, bytes(16)))
    )
    assert answers == [REQUEST]


def test_nothing_malformed_reaches_the_node(node: Open, outsider: zenoh.Session) -> None:
    listener, heard = node("listener"), []
    listener.subscribe("/a", STRING, Qos(depth=10_000), heard.append)
    key, draw = endpoint("/a", STRING).key(DOMAIN), random.Random(1)
    good = attachment(1, 2, bytes(16))
    until(lambda: heard, each=lambda: outsider.put(key, text(0), attachment=good))
    for _ in range(2000):
        about = draw.randbytes(draw.randrange(64))
        if len(about) == 33:
            continue
        outsider.put(key, draw.randbytes(draw.randrange(100)), attachment=about or None)
    for size in range(5):
        outsider.put(key, bytes(size), attachment=good)
    outsider.delete(key, attachment=good)
    until(lambda: text(1) in heard, each=lambda: outsider.put(key, text(1), attachment=good))
    assert set(heard) == {text(0), text(1)}
    assert listener.malformed > 0
    (warning,) = listener.warnings()
    assert "/a" in warning
    assert listener.warnings() == []


def test_a_flood_is_forgotten_up_to_the_depth(node: Open) -> None:
    talker, listener = node("talker"), node("listener")
    heard, started, gate = [], threading.Event(), threading.Event()

    def slow(data: bytes) -> None:
        heard.append(data)
        started.set()
        gate.wait(PATIENCE)

    publisher = talker.publisher("/scan", STRING, SENSOR)
    listener.subscribe("/scan", STRING, SENSOR, slow)
    until(started.is_set, each=lambda: publisher.write(text(0)))
    # None of the writes waits for the reader, which stands still.
    for number in range(1, 5000):
        publisher.write(text(number))
    other: list[bytes] = []
    listener.subscribe("/other", STRING, DEFAULT, other.append)
    beside = talker.publisher("/other", STRING, DEFAULT)
    until(lambda: other, each=lambda: beside.write(text(0)))
    assert heard == [text(0)]
    gate.set()
    until(lambda: text(-1) in heard, each=lambda: publisher.write(text(-1)))
    between = [message for message in heard[1:] if message != text(-1)]
    assert len(between) <= SENSOR.depth


def test_a_failing_callback_is_told_and_stops_nobody(node: Open) -> None:
    talker, listener, calls = node("talker"), node("listener"), []

    def fail(data: bytes) -> None:
        calls.append(data)
        raise RuntimeError("of the test")

    publisher = talker.publisher("/a", STRING, DEFAULT)
    listener.subscribe("/a", STRING, DEFAULT, fail)
    until(lambda: len(calls) > 2, each=lambda: publisher.write(text(1)))
    (warning,) = listener.warnings()
    assert "/a" in warning
    assert "of the test" in warning
