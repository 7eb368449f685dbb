"""Topics over DDS: between two nodes of one process, and of two."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from ros2.dds import ENVIRONMENT, STRING, program, string, transport, wait_for
from ros2.samples import random_record
from skidpad.errors import InvalidValue
from skidpad.ros2.cyclone import Participant
from skidpad.ros2.dds import DEFAULT, LATCHED, SENSOR, Qos, sample_type, settings_of
from skidpad.ros2.messages import message_type
from skidpad.ros2.messages.types import MESSAGES
from waiting import PATIENCE

pytest.importorskip("cyclonedds", reason="DDS is not tested: cyclonedds is not installed")


def test_messages_arrive_in_order_as_they_were_sent() -> None:
    with transport("a") as here, transport("b") as there:
        heard: list[bytes] = []
        there.subscribe("/topic", STRING, Qos(depth=100), heard.append)
        publisher = here.publisher("/topic", STRING, Qos(depth=100))
        wait_for(lambda: publisher.readers == 1, "the subscription")
        for text in map(str, range(50)):
            publisher.write(string(text))
        wait_for(lambda: len(heard) == 50, "all messages")
        assert heard == [string(str(k)) for k in range(50)]
    assert publisher.readers == 0


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_what_was_written_may_change(kind: Any) -> None:
    with transport("a") as here, transport("b") as there:
        heard: list[bytes] = []
        there.subscribe("/topic", STRING, LATCHED, heard.append)
        buffer = bytearray(string("kept"))
        here.publisher("/topic", STRING, LATCHED).write(kind(buffer))
        buffer[:] = string("lost")
        wait_for(lambda: heard, "the message")
        assert heard == [string("kept")]


def test_another_process_hears_and_answers() -> None:
    with transport() as here, program("echo_node.py", "closed") as process:
        heard: list[bytes] = []
        latched: list[bytes] = []
        here.subscribe("/pong", STRING, DEFAULT, heard.append)
        here.subscribe("/latched", STRING, LATCHED, latched.append)
        ping = here.publisher("/ping", STRING, DEFAULT)
        wait_for(lambda: ping.readers, "the other process")
        # Its publisher may find our subscription later than we find its own.
        wait_for(lambda: ping.write(string("hello")) or heard, "the echo")
        wait_for(lambda: latched, "what was written before")
        assert set(heard) == {string("hello")}
        assert latched == [string("kept")]
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(PATIENCE) == 0
        wait_for(lambda: not ping.readers, "its leaving")


def test_who_comes_later_gets_as_many_as_the_depth() -> None:
    deep = Qos(latched=True, depth=3)
    with transport("a") as here, transport("b") as there:
        publisher = here.publisher("/topic", STRING, deep)
        for text in "abcde":
            publisher.write(string(text))
        heard: list[bytes] = []
        there.subscribe("/topic", STRING, deep, heard.append)
        publisher.write(string("end"))
        wait_for(lambda: string("end") in heard, "the newest")
        assert heard[-4:] in (
            [string(text) for text in ("c", "d", "e", "end")],
            [string(text) for text in ("d", "e", "end")],
        )


@pytest.mark.parametrize(
    ("offered", "asked", "reason"),
    [(SENSOR, DEFAULT, "best effort"), (DEFAULT, LATCHED, "transient local")],
)
def test_a_publisher_that_offers_too_little_is_not_heard_and_told_of(
    offered: Qos, asked: Qos, reason: str
) -> None:
    with transport("a") as here, transport("b") as there:
        fitting: list[bytes] = []
        too_much: list[bytes] = []
        publisher = here.publisher("/topic", STRING, offered)
        there.subscribe("/topic", STRING, asked, too_much.append)
        there.subscribe("/topic", STRING, SENSOR, fitting.append)
        wait_for(lambda: publisher.readers == 1, "the subscription that fits")
        wait_for(lambda: publisher.write(string("x")) or len(fitting) > 3, "messages")
        assert not too_much
        # Neither side need have compared all qualities when the first message arrives.
        for side in (here, there):
            told: list[str] = []
            wait_for(
                lambda side=side, told=told: told.extend(side.warnings()) or told, "word of it"
            )
            assert ["/topic" in text and reason in text for text in told] == [True]
            assert side.warnings() == []


def test_what_is_no_message_of_its_type_is_refused() -> None:
    with transport() as here:
        publisher = here.publisher("/topic", STRING, DEFAULT)
        for data in (b"", b"\x00\x01\x00\x00", b"\x00\x01\x00\x00\xff\x00\x00\x00hi\x00\x00"):
            with pytest.raises(InvalidValue, match=r"/topic: \d+ bytes .* std_msgs/msg/String"):
                publisher.write(data)


@pytest.mark.parametrize("name", sorted(MESSAGES))
def test_every_type_has_a_form_on_dds(name: str) -> None:
    """The library checks the bytes against the structure, on their way in and out."""
    type_, rng = message_type(name), np.random.default_rng(1)
    messages = [type_.encode(random_record(type_, rng)) for _ in range(5)]
    deep = Qos(latched=True, depth=10)
    with transport() as here:
        heard: list[bytes] = []
        here.subscribe("/topic", type_, deep, heard.append)
        publisher = here.publisher("/topic", type_, deep)
        for message in messages:
            publisher.write(message)
        wait_for(lambda: len(heard) == len(messages), "all messages")
        assert heard == [message + bytes(-len(message) % 4) for message in messages]
        assert [*map(type_.encode, map(type_.decode, heard))] == messages
        # Nothing that a type needs may be missing.
        if len(messages[0]) > 8:
            with pytest.raises(InvalidValue, match=name):
                publisher.write(messages[0][:8])


def test_another_definition_of_a_type_is_told_of() -> None:
    with transport() as here:
        here.subscribe("/topic", STRING, DEFAULT, lambda data: None)
        publisher = here.publisher("/topic", STRING, DEFAULT)
        other = Participant(settings_of(ENVIRONMENT))
        try:
            pairs = {"typehash": "RIHS01_" + 64 * "0"}
            other.writer("rt/topic", sample_type(STRING), DEFAULT, pairs)
            other.reader("rt/topic", sample_type(STRING), DEFAULT, pairs)
            wait_for(lambda: publisher.readers == 2, "the other")
            told: list[str] = []
            wait_for(lambda: told.extend(here.warnings()) or len(told) == 2, "word of both")
            assert all("std_msgs/msg/String" in text and "RIHS01_000" in text for text in told)
            assert [("publisher" in text, "subscription" in text) for text in told] == [
                (False, True),
                (True, False),
            ]
        finally:
            other.close()


def other_string(name: str) -> Any:
    """A type with a number, under the name of a type of ROS on DDS."""
    idl, types = pytest.importorskip("cyclonedds.idl"), pytest.importorskip("cyclonedds.idl.types")
    return idl.make_idl_struct("Other", f"std_msgs.msg.dds_.{name}_", {"data": types.float64})


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("String", "its definition of std_msgs/msg/String is another one than here: build it"),
        ("Float64", "its type is std_msgs/msg/Float64, and here it is std_msgs/msg/String: change"),
    ],
)
def test_another_type_is_told_of_in_words(name: str, reason: str) -> None:
    with transport() as here, transport("fitting") as fitting, transport("stranger") as stranger:
        here.subscribe("/in", STRING, DEFAULT, lambda data: None)
        here.publisher("/out", STRING, DEFAULT)
        fitting.publisher("/in", STRING, DEFAULT)
        stranger.announce()
        graph = here._graph  # pyright: ignore[reportPrivateUsage]
        other = stranger._participant  # pyright: ignore[reportPrivateUsage]
        wait_for(lambda: graph.nodes_of(other.guid), "the name of the other node")
        other.writer("rt/in", other_string(name), DEFAULT, {})
        other.reader("rt/out", other_string(name), DEFAULT, {})
        told: list[str] = []
        wait_for(lambda: told.extend(here.warnings()) or len(told) == 2, "word of both")
        assert {text.split(" is not connected: ")[0] for text in told} == {
            "a publisher of /in (node /stranger)",
            "a subscription to /out (node /stranger)",
        }
        assert all(reason in text for text in told)
        assert here.warnings() == []


@pytest.mark.parametrize("name", ["topic", "/topic/", "//topic", "/1", "/a b", "", "/ä"])
def test_what_is_no_full_name_is_refused(name: str) -> None:
    with transport() as here, pytest.raises(InvalidValue, match=re.escape(repr(name))):
        here.publisher(name, STRING, DEFAULT)


def test_a_topic_has_one_type_in_a_node() -> None:
    with transport() as here:
        here.publisher("/topic", STRING, DEFAULT)
        with pytest.raises(InvalidValue, match=r"rt/topic has the type .*String_.*Header_"):
            here.publisher("/topic", message_type("std_msgs/Header"), DEFAULT)


def test_a_callback_that_fails_ends_nothing() -> None:
    with transport("a") as here, transport("b") as there:
        heard: list[bytes] = []

        def callback(data: bytes) -> None:
            heard.append(data)
            raise RuntimeError("full")

        there.subscribe("/topic", STRING, DEFAULT, callback)
        publisher = here.publisher("/topic", STRING, DEFAULT)
        wait_for(lambda: publisher.readers == 1, "the subscription")
        for _ in range(3):
            count = len(heard)
            publisher.write(string("x"))
            wait_for(lambda count=count: len(heard) > count, "the message")
        wait_for(lambda: "full" in "".join(there.warnings()), "word of it")


@pytest.mark.parametrize("depth", [0, -1])
def test_a_history_without_room_is_refused_and_changes_nothing(depth: int) -> None:
    with transport() as here:
        with pytest.raises(InvalidValue, match=f"depth is {depth}"):
            here.publisher("/topic", STRING, Qos(depth=depth))
        here.publisher("/topic", message_type("std_msgs/Header"), DEFAULT)
