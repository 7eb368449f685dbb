"""Two nodes that publish the same frame: told once by each, and nobody is suspected wrongly."""

from __future__ import annotations

import pytest

from skidpad.ros2.dds import Identity
from skidpad.ros2.loop import Exchange, InProcess, Loop
from skidpad.ros2.node import Clock, Node, parse_arguments
from skidpad.ros2.nodes.common import REMEMBERED, Broadcaster, Rigid
from skidpad.ros2.nodes.vehicle import SingleVehicle


def car(exchange: Exchange, space: str, *words: str) -> Loop:
    identity = Identity("car", space)
    arguments = parse_arguments(["--ros-args", *words] if words else [])
    node = Node(identity, InProcess(identity, exchange), arguments, Clock(wall=False))
    return Loop(node, SingleVehicle(node, "kinematic_bicycle"))


def warnings(capsys: pytest.CaptureFixture[str]) -> list[str]:
    lines = capsys.readouterr().err.splitlines()
    return [line for line in lines if "publishes the frame" in line]


def run(*loops: Loop, ticks: int = 5) -> None:
    for _ in range(ticks):
        for loop in loops:
            loop.tick()
            loop.node.handle()


def test_two_vehicles_in_namespaces_share_tf(capsys: pytest.CaptureFixture[str]) -> None:
    exchange = Exchange()
    first, second = car(exchange, "/a"), car(exchange, "/b")
    second.node.clock.advance(0.003)
    run(first, second)
    told = warnings(capsys)
    assert sorted(line.split("[")[-1].split("]")[0] for line in told) == ["a.car", "b.car"]
    for line in told:
        assert "another node publishes the frame base_link on /tf too, within odom" in line
        assert "-r /tf:=tf" in line


@pytest.mark.parametrize("words", [("-r", "/tf:=tf"), ("-p", "base_frame_id:=other")])
def test_what_the_line_says_helps(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    exchange = Exchange()
    first, second = car(exchange, "/a"), car(exchange, "/b", *words)
    second.node.clock.advance(0.003)
    run(first, second)
    assert warnings(capsys) == []
    assert ("/b/tf" in exchange.types) == (words[0] == "-r")


def test_a_node_does_not_suspect_itself(capsys: pytest.CaptureFixture[str]) -> None:
    """However late it hears itself: as much as may wait comes at once."""
    loop = car(Exchange(), "/")
    for _ in range(REMEMBERED - 1):
        loop.tick()
    loop.node.handle()
    assert warnings(capsys) == []


def test_a_filter_that_publishes_the_same_frame_is_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As robot_localization does beside a vehicle; other frames are nobody's business."""
    exchange = Exchange()
    loop = car(exchange, "/")
    other = Identity("ekf")
    node = Node(other, InProcess(other, exchange), clock=Clock(wall=False))
    elsewhere = Broadcaster(node, [("map", "odom"), ("base_link", "laser")])
    loop.tick()
    elsewhere.send((1, 0), Rigid(), Rigid())
    loop.node.handle()
    assert warnings(capsys) == []
    filtered = Broadcaster(node, [("odom", "base_link")])
    for k in range(3):
        filtered.send((1, k), Rigid())
        loop.node.handle()
    (line,) = warnings(capsys)
    assert "base_link" in line


def test_over_dds(capsys: pytest.CaptureFixture[str]) -> None:
    """There messages come back filled up to a multiple of 4, and after a while."""
    pytest.importorskip("cyclonedds", reason="DDS is not tested: cyclonedds is not installed")
    from ros2.dds import transport, wait_for

    told: list[str] = []
    with transport("one") as one, transport("two") as two:
        here = Node(Identity("one"), one, clock=Clock(wall=False))
        there = Node(Identity("two"), two, clock=Clock(wall=False))
        first = Broadcaster(here, [("odom", "base")])
        heard: list[object] = []
        here.subscribe("/tf", "tf2_msgs/msg/TFMessage", heard.append)
        count = 0

        def spoken() -> bool:
            nonlocal count
            count += 1
            first.send((0, count), Rigid.planar(count, 0.0, 0.0))
            here.handle()
            return len(heard) > 20

        wait_for(spoken, "the node hears itself")
        assert warnings(capsys) == []
        second = Broadcaster(there, [("odom", "base")])

        def answered() -> bool:
            second.send((1, 0), Rigid())
            here.handle()
            told.extend(warnings(capsys))
            return bool(told)

        wait_for(answered, "word of the other")
    assert "another node publishes the frame base on /tf too" in told[0]
