"""The transport over rclpy, against a stand-in: rclpy itself cannot be installed without ROS."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from ros2 import rclpy_stand_in
from ros2.world_stand import CARS, scene
from ros2.zenoh_router import until
from skidpad.errors import InvalidValue, MissingExtra
from skidpad.ros2.dds import DEFAULT, LATCHED, SENSOR, Identity, Reply
from skidpad.ros2.loop import Loop, ParameterServices
from skidpad.ros2.messages import message_type
from skidpad.ros2.messages.types import service_type
from skidpad.ros2.node import Clock, Node, parse_arguments
from skidpad.ros2.nodes import brains2, planning, truck, vehicle
from skidpad.ros2.nodes.world import WorldProgram
from skidpad.ros2.rclpy import RclpyTransport

STRING, SET_BOOL = message_type("std_msgs/msg/String"), service_type("std_srvs/srv/SetBool")
HELLO = STRING.encode(STRING.Record(data="hi"))

Open = Callable[..., RclpyTransport]


@pytest.fixture
def absent() -> set[str]:
    """Packages that the stand-in does not have."""
    return set()


@pytest.fixture
def node(monkeypatch: pytest.MonkeyPatch, absent: set[str]) -> Iterator[Open]:
    """Makes transports that are closed at the end."""
    for name, module in rclpy_stand_in.modules(absent).items():
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

    def ask(demand: bool) -> None:
        request = rclpy_stand_in.message(SET_BOOL.request, data=demand)
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


def test_peers_of_another_type_are_told_of_once(node: Open) -> None:
    sim, other = node("sim"), node("nav", "/robot")
    twist, stamped = (message_type(f"geometry_msgs/{name}") for name in ("Twist", "TwistStamped"))
    sim.subscribe("/cmd_vel", twist, DEFAULT, print)
    sim.publisher("/out", STRING, DEFAULT)
    assert sim.warnings() == []
    other.publisher("/cmd_vel", stamped, DEFAULT)
    other.publisher("/else", stamped, DEFAULT)
    other.subscribe("/out", twist, DEFAULT, print)
    told = sorted(sim.warnings())
    assert [text.split(": change")[0] for text in told] == [
        "a publisher of /cmd_vel (node /robot/nav) is not connected: its type is "
        "geometry_msgs/msg/TwistStamped, and here it is geometry_msgs/msg/Twist",
        "a subscription to /out (node /robot/nav) is not connected: its type is "
        "geometry_msgs/msg/Twist, and here it is std_msgs/msg/String",
    ]
    assert sim.warnings() == []


def test_a_context_that_is_shut_down_elsewhere_ends_the_thread(node: Open) -> None:
    transport = node("sim")
    (made,) = rclpy_stand_in.NODES
    made.context.try_shutdown()
    until(lambda: not [one for one in threading.enumerate() if one.name == "rclpy"])
    transport.close()


@pytest.mark.parametrize("absent", [{"nav_msgs"}])
def test_a_type_that_ros_does_not_have_is_named(node: Open) -> None:
    transport = node("sim")
    with pytest.raises(InvalidValue, match=r"no type nav_msgs/msg/Odometry.*package nav_msgs"):
        transport.publisher("/odom", message_type("nav_msgs/msg/Odometry"), DEFAULT)


def ask(node: Node, made: rclpy_stand_in.Node, service: str, request: Any) -> Any:
    """The response of a service of a node that is handled here."""
    answers: list[Any] = []
    made.ask(service, request, answers.append)
    until(lambda: node.handle() + len(answers))
    return until(lambda: (node.handle(), answers)[1])[0]


@pytest.mark.parametrize("count", [1, 2, 7])
def test_parameters_are_set_though_fast_rtps_leaves_bytes_behind(node: Open, count: int) -> None:
    sim = Node(Identity("sim"), node("sim"))
    names = [f"gain_{k}" for k in range(count)]
    for name in names:
        sim.parameters.declare(name, 1.0, "A gain.", dynamic=True)
    ParameterServices(sim)
    Value = message_type("rcl_interfaces/msg/ParameterValue").Record
    One = message_type("rcl_interfaces/msg/Parameter").Record
    values = tuple(One(name, Value(type=3, double_value=k + 0.5)) for k, name in enumerate(names))
    kind = service_type("rcl_interfaces/srv/SetParameters").request
    request = rclpy_stand_in.message(kind, parameters=values)
    surplus = len(rclpy_stand_in.serialize_message(request)) - len(
        kind.encode(kind.Record(parameters=values))
    )
    assert surplus > 3  # Else it shows nothing.
    (made,) = rclpy_stand_in.NODES
    response = ask(sim, made, "/sim/set_parameters", request)
    assert [one.successful for one in response.results] == [True] * count
    assert [sim.parameters[name] for name in names] == [k + 0.5 for k in range(count)]


def car(node: Node) -> Any:
    return WorldProgram(
        node, scene(f"<vehicle name='car'><init_pose>0 0 0</init_pose>{CARS['twist']}</vehicle>")
    )


NODES: dict[str, tuple[Callable[[Node], Any], set[str], str]] = {
    "world": (car, {"nav2_msgs", "ackermann_msgs"}, "/odom"),
    "vehicle": (
        lambda node: vehicle.SingleVehicle(node, "kinematic_bicycle"),
        {"nav2_msgs", "ackermann_msgs", "skidpad_msgs"},
        "/odom",
    ),
    "planning": (
        lambda node: planning.Planning(node, seed=1),
        {"nav2_msgs", "tier4_external_api_msgs"},
        "/output/control_mode_report",
    ),
    "brains2": (brains2.Brains2, {"nav2_msgs", "visualization_msgs"}, "/brains2/pose"),
    "truck": (truck.Truck, {"nav2_msgs"}, "/simulator/localization"),
}
"""Nodes, packages that are not installed, and a topic that is published all the same."""


@pytest.mark.parametrize(("absent", "name"), [(one[1], name) for name, one in NODES.items()])
def test_a_node_starts_without_packages_and_names_what_it_leaves_out(
    node: Open, absent: set[str], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    make, _, topic = NODES[name]
    words = ["-p", "wheel_base:=2.79", "-p", "vehicle_model_type:=IDEAL_STEER_VEL"]
    arguments = parse_arguments(["--ros-args", *words]) if name == "planning" else None
    sim = Node(Identity("sim"), node("sim"), arguments, Clock(wall=False))
    loop = Loop(sim, make(sim))
    heard: list[bytes] = []
    kind = next(one.type for one in sim._topics if one.name == topic)
    node("other").subscribe(topic, kind, DEFAULT, heard.append)
    for _ in range(10):
        loop.tick()
    until(lambda: heard)
    assert not loop.paused
    told = [line for line in capsys.readouterr().err.splitlines() if "has no type" in line]
    for package in absent:
        assert any(f"install or source its package {package}" in line for line in told), package
    (served,) = [line for line in told if "nav2_msgs" in line]
    assert "service /sim/set_pose is not offered" in served.replace("/sim/car/", "/sim/")


@pytest.mark.parametrize("absent", [{"ackermann_msgs", "geometry_msgs"}])
def test_time_does_not_wait_for_a_command_that_cannot_come(
    node: Open, capsys: pytest.CaptureFixture[str]
) -> None:
    sim = Node(Identity("sim"), node("sim"))
    sim.obey("/cmd_vel", "geometry_msgs/msg/Twist", print)
    sim.obey("/text", "std_msgs/msg/String", print)
    assert [*sim.commanded] == ["/text"]
    assert "topic /cmd_vel is not subscribed to: the sourced ROS 2 has no type" in (
        capsys.readouterr().err
    )


def test_without_ros_a_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    absent: Any = None
    monkeypatch.setitem(sys.modules, "rclpy", absent)
    with pytest.raises(MissingExtra, match="comes with ROS 2"):
        RclpyTransport(Identity("sim"))
