"""The transport over rclpy, against a stand-in: rclpy itself cannot be installed without ROS."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from ros2 import rclpy_stand_in
from ros2.zenoh_router import until
from skidpad.errors import InvalidValue, MissingExtra
from skidpad.ros2.rclpy import RclpyTransport
from skidpad.ros2.transport import DEFAULT, LATCHED, SENSOR, Identity, Reply
from skidpad.ros_messages import message_type, service_type

STRING, SET_BOOL = message_type("std_msgs/msg/String"), service_type("std_srvs/srv/SetBool")
HELLO = STRING.encode(STRING.Record(data="hi"))

Open = Callable[..., RclpyTransport]


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Makes transports that are closed at the end."""
    for name, module in rclpy_stand_in.modules().items():
        monkeypatch.setitem(sys.modules, name, module)
    with ExitStack() as stack:

        def make(name: str, namespace: str = "/") -> RclpyTransport:
            transport = RclpyTransport(Identity(name, namespace))
            stack.callback(transport.close)
            return transport

        yield make
    assert rclpy_stand_in.NODES == []
    assert not [thread for thread in threading.enumerate() if thread.name == "rclpy"]


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_messages_pass_as_bytes(node: Open, kind: type) -> None:
    talker, listener, heard = node("talker"), node("listener"), []
    publisher = talker.publisher("/a", STRING, DEFAULT)
    assert publisher.readers == 0
    listener.subscribe("/a", STRING, DEFAULT, heard.append)
    assert publisher.readers == 1
    publisher.write(kind(HELLO))
    until(lambda: heard == [HELLO])


def test_qualities_of_service_are_said_in_the_words_of_rclpy(node: Open) -> None:
    transport = node("sim")
    transport.publisher("/map", STRING, LATCHED)
    transport.subscribe("/scan", STRING, SENSOR, print)
    (made,) = rclpy_stand_in.NODES
    words = {topic: [str(word) for word in profile] for topic, profile in made.profiles.items()}
    keep = "HistoryPolicy.KEEP_LAST"
    assert words == {
        "/map": [keep, "1", "ReliabilityPolicy.RELIABLE", "DurabilityPolicy.TRANSIENT_LOCAL"],
        "/scan": [keep, "5", "ReliabilityPolicy.BEST_EFFORT", "DurabilityPolicy.VOLATILE"],
    }


def test_a_request_waits_for_its_answer_and_nothing_else_does(node: Open) -> None:
    transport, asked, answers, heard = node("server"), [], [], []
    replies: list[Reply] = []

    def handler(data: bytes, reply: Reply) -> None:
        asked.append(SET_BOOL.request.decode(data).data)
        replies.append(reply)

    transport.serve("/pause", SET_BOOL, handler)
    transport.subscribe("/a", STRING, DEFAULT, heard.append)
    (made,) = rclpy_stand_in.NODES

    def ask(wish: bool) -> None:
        request = rclpy_stand_in.SetBool.Request(wish)
        made.ask("/pause", request, lambda response: answers.append(response.message))

    ask(True)
    ask(False)
    until(lambda: asked == [True, False])
    publisher = transport.publisher("/a", STRING, DEFAULT)
    publisher.write(HELLO)
    until(lambda: heard)
    # The last comes first, from this thread, and once.
    for reply, text in [(replies[1], "second"), (replies[0], "first"), (replies[0], "again")]:
        response = SET_BOOL.response.Record(success=True, message=text)
        reply(bytearray(SET_BOOL.response.encode(response)))
        if text != "again":
            until(lambda text=text: text in answers)
    assert answers == ["second", "first"]
    ask(True)
    until(lambda: len(replies) == 3)
    transport.close()
    replies[2](SET_BOOL.response.encode(response))


def test_a_failing_callback_is_told_and_stops_nobody(node: Open) -> None:
    transport, calls = node("sim"), []

    def fail(data: bytes) -> None:
        calls.append(data)
        raise RuntimeError("of the test")

    transport.subscribe("/a", STRING, DEFAULT, fail)
    publisher = transport.publisher("/a", STRING, DEFAULT)
    for _ in range(2):
        publisher.write(HELLO)
    until(lambda: len(calls) == 2)
    (warning,) = until(transport.warnings)
    assert "/a" in warning
    assert "of the test" in warning


def test_two_nodes_of_one_name_are_told_once(node: Open) -> None:
    first = node("sim", "/robot")
    node("sim", "/other")
    assert first.warnings() == []
    node("sim", "/robot")
    (warning,) = first.warnings()
    assert "/robot/sim" in warning
    assert first.warnings() == []


def test_a_context_that_is_shut_down_elsewhere_ends_the_thread(node: Open) -> None:
    transport = node("sim")
    (made,) = rclpy_stand_in.NODES
    made.context.try_shutdown()
    until(lambda: not [one for one in threading.enumerate() if one.name == "rclpy"])
    transport.close()


def test_a_type_that_ros_does_not_have_is_named(node: Open) -> None:
    transport = node("sim")
    with pytest.raises(InvalidValue, match=r"no type nav_msgs/msg/Odometry.*package nav_msgs"):
        transport.publisher("/odom", message_type("nav_msgs/msg/Odometry"), DEFAULT)


def test_without_ros_a_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    absent: Any = None
    monkeypatch.setitem(sys.modules, "rclpy", absent)
    with pytest.raises(MissingExtra, match="comes with ROS 2"):
        RclpyTransport(Identity("sim"))
