"""A node and its loop, on a transport within the process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from skidpad.errors import InvalidValue
from skidpad.ros2.dds import LATCHED, Identity, Qos
from skidpad.ros2.loop import Exchange, InProcess, Loop, ParameterServices
from skidpad.ros2.messages import message_type
from skidpad.ros2.messages.types import service_type
from skidpad.ros2.node import SECOND, Clock, Node, parse_arguments
from skidpad.ros2.nodes.common import Broadcaster, Listener, Rigid, send_static
from waiting import PATIENCE


def node_on(exchange: Exchange, name: str = "sim", *words: str, wall: bool = False) -> Node:
    arguments = parse_arguments(words)
    identity = arguments.identity(name)
    return Node(identity, InProcess(identity, exchange), arguments, Clock(wall=wall))


def ask(exchange: Exchange, node: Node, name: str, type_name: str, **fields: Any) -> Any:
    """The response of a service, which the node gives when it handles what has arrived."""
    type_ = service_type(type_name)
    replies: list[bytes] = []
    request = type_.request.encode(type_.request.Record(**fields))
    exchange.call(name, request, lambda cdr: replies.append(bytes(cdr)))
    while not replies:
        assert node.handle()
    return type_.response.decode(replies[0])


class Counter:
    """Adds what it is told to, once a tick."""

    period = 0.25

    def __init__(self, node: Node) -> None:
        self.node, self.total, self.told = node, 0.0, 0.0
        self.fails = False
        node.obey("cmd", "std_msgs/msg/Float64", self.obey, Qos(depth=1))
        self.topic = node.publisher("total", "std_msgs/msg/Float64")

    def obey(self, message: Any) -> None:
        self.told = message.data

    def tick(self) -> None:
        if self.fails:
            raise InvalidValue("told = 9 must be less")
        self.total += self.told
        self.topic.send(self.topic.type.Record(self.total))

    def reset(self) -> None:
        self.total, self.fails = 0.0, False


@pytest.fixture
def exchange() -> Exchange:
    return Exchange()


def heard(exchange: Exchange, topic: str, type_name: str, qos: Qos | None = None) -> list[Any]:
    """What is published on a topic from now on."""
    messages: list[Any] = []
    type_ = message_type(type_name)
    ear = InProcess(Identity("ear"), exchange)
    ear.subscribe(topic, type_, qos or Qos(), lambda data: messages.append(type_.decode(data)))
    return messages


def test_messages_go_by_full_names_and_in_order(exchange: Exchange) -> None:
    words = ["--ros-args", "-r", "__ns:=/a", "-r", "cmd:=/orders"]
    node = node_on(exchange, "sim", *words)
    got: list[tuple[str, float]] = []
    node.subscribe("cmd", "std_msgs/msg/Float64", lambda m: got.append(("one", m.data)))
    node.subscribe("cmd", "std_msgs/msg/Float64", lambda m: got.append(("two", m.data)))
    other = node_on(exchange, "other")
    topic = other.publisher("/orders", "std_msgs/msg/Float64")
    assert topic.readers == 1
    topic.send(topic.type.Record(1.5))
    topic.send(topic.type.Record(2.5))
    assert not got, "nothing before it is handled"
    assert node.handle() == 4
    assert got == [("one", 1.5), ("two", 1.5), ("one", 2.5), ("two", 2.5)]


def test_a_late_joiner_gets_what_is_latched(exchange: Exchange) -> None:
    topic = node_on(exchange).publisher("/map", "std_msgs/msg/String", LATCHED)
    topic.send(topic.type.Record("old"))
    topic.send(topic.type.Record("new"))
    assert [m.data for m in heard(exchange, "/map", "std_msgs/msg/String", LATCHED)] == ["new"]


def test_bytes_that_are_no_message_are_logged_and_forgotten(
    exchange: Exchange, capsys: pytest.CaptureFixture[str]
) -> None:
    node = node_on(exchange)
    got: list[Any] = []
    node.subscribe("cmd", "std_msgs/msg/String", got.append)
    publisher = InProcess(Identity("x"), exchange).publisher(
        "/cmd", message_type("std_msgs/msg/String"), Qos()
    )
    for data in (b"", b"\0\1\0\0\xff\xff\xff\xff", b"\0\1\0\0\2\0\0\0a\0"):
        publisher.write(data)
    node.handle()
    assert [m.data for m in got] == ["a"]
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert all(line.startswith("[ERROR] [0.000000000] [sim]: ") for line in lines)


def test_a_service_that_refuses_says_why(exchange: Exchange) -> None:
    node = node_on(exchange)

    def refuse(request: Any) -> Any:
        raise InvalidValue("speed = 9 must be at most 3")

    node.serve("~/go", "std_srvs/srv/Trigger", refuse)
    response = ask(exchange, node, "/sim/go", "std_srvs/srv/Trigger")
    assert not response.success
    assert response.message == "speed = 9 must be at most 3"


def test_time_waits_for_commands_in_lock_step(exchange: Exchange) -> None:
    node = node_on(exchange)
    counter = Counter(node)
    loop = Loop(node, counter, lock_step=True)
    totals = heard(exchange, "/total", "std_msgs/msg/Float64")
    clock = heard(exchange, "/clock", "rosgraph_msgs/msg/Clock", Qos(reliable=False))
    command = node_on(exchange, "driver").publisher("/cmd", "std_msgs/msg/Float64")
    for value in (1.0, 2.0, 4.0):
        command.send(command.type.Record(value))
        loop.turn()
    loop.turn()
    assert [m.data for m in totals] == [1.0, 3.0, 7.0]
    assert [(m.clock.sec, m.clock.nanosec) for m in clock] == [
        (0, SECOND // 4), (0, SECOND // 2), (0, 3 * SECOND // 4),
    ]  # fmt: skip
    assert ask(exchange, node, "/sim/step", "std_srvs/srv/Trigger").success
    assert counter.total == 11.0


def test_it_pauses_steps_and_begins_anew(exchange: Exchange) -> None:
    node = node_on(exchange)
    counter = Counter(node)
    counter.told = 1.0
    loop = Loop(node, counter)
    assert not ask(exchange, node, "/sim/step", "std_srvs/srv/Trigger").success
    assert ask(exchange, node, "/sim/pause", "std_srvs/srv/SetBool", data=True).success
    for _ in range(3):
        assert ask(exchange, node, "/sim/step", "std_srvs/srv/Trigger").success
    assert (counter.total, loop.paused) == (3.0, True)
    assert ask(exchange, node, "/sim/reset", "std_srvs/srv/Trigger").success
    assert (counter.total, loop.paused) == (0.0, True), "it was paused by the user"


def test_what_fails_pauses_and_a_reset_goes_on(
    exchange: Exchange, capsys: pytest.CaptureFixture[str]
) -> None:
    node = node_on(exchange)
    counter = Counter(node)
    loop = Loop(node, counter)
    counter.fails = True
    loop.tick()
    assert loop.paused
    assert "told = 9 must be less; paused until /sim/reset is called" in capsys.readouterr().err
    ask(exchange, node, "/sim/reset", "std_srvs/srv/Trigger")
    loop.tick()
    assert not loop.paused


def until(loop: Loop, true: Callable[[], bool]) -> None:
    """Run a loop in another thread until something holds."""
    thread = threading.Thread(target=loop.run)
    thread.start()
    ended = threading.Event()
    try:
        for _ in range(int(PATIENCE / 0.005)):
            if true():
                return
            ended.wait(0.005)
        raise AssertionError("it never came")
    finally:
        loop.ending = True
        thread.join(PATIENCE)


def test_in_real_time_it_goes_on_by_itself(exchange: Exchange) -> None:
    node = node_on(exchange, "sim", "--ros-args", "-p", "realtime_factor:=100.0")
    loop = Loop(node, Counter(node))
    until(loop, lambda: loop.ticks > 10)
    assert node.clock.now() == loop.ticks * SECOND // 4


def test_a_followed_clock_decides_when_ticks_are_due(exchange: Exchange) -> None:
    """Each at its own time, from the first that was told on."""
    node = node_on(exchange)
    stamped = Stamped(node)
    loop = Loop(node, stamped, followed=True)
    clock = node_on(exchange, "time").publisher("/clock", "rosgraph_msgs/msg/Clock")
    Time = message_type("builtin_interfaces/msg/Time").Record
    for sec, eighths in ((100, 1), (100, 3), (100, 7), (101, 1), (101, 5), (205, 0), (205, 2)):
        clock.send(clock.type.Record(Time(sec, eighths * SECOND // 8)))
        loop.turn()
    ahead = [(stamp - 100 * SECOND) * 8 // SECOND for stamp in stamped.stamps]
    assert ahead == [3, 5, 7, 9, 11, 13, 105 * 8 + 2], "a jump is not made up for"
    assert node.clock.now() == 205 * SECOND + SECOND // 4


def test_a_time_that_no_stamp_can_hold_does_not_pause_a_node(
    exchange: Exchange, capsys: pytest.CaptureFixture[str]
) -> None:
    node = node_on(exchange)
    loop = Loop(node, Stamped(node), followed=True)
    clock = node_on(exchange, "time").publisher("/clock", "rosgraph_msgs/msg/Clock")
    Time = message_type("builtin_interfaces/msg/Time").Record
    last = 2**31 - 1
    for time, nanosec in ((last, 0), (last, SECOND), (last, 2**32 - 1), (last, SECOND - 1)):
        clock.send(clock.type.Record(Time(time, nanosec)))
        loop.turn()
    assert node.clock.now() == 2**31 * SECOND - 1
    assert node.refused == {"/clock": 2}
    assert "/clock: nanosec = 1000000000 must be less than 1000000000" in capsys.readouterr().err
    assert loop.ticks == 3
    assert not loop.paused


@pytest.mark.parametrize("wall", [False, True])
def test_no_factor_of_time_ends_a_node(exchange: Exchange, wall: bool) -> None:
    """1e308 ended it with an OverflowError."""
    node = node_on(exchange, wall=wall)
    loop = Loop(node, Counter(node))
    for factor in (1e308, 1e9, 1e-9, 5e-324, 0.0, -1.0):
        with pytest.raises(InvalidValue, match=r"must be from 0\.001 to 1000"):
            node.parameters.set({"realtime_factor": factor})
    for factor in (1e-3, 1e3):
        node.parameters.set({"realtime_factor": factor})
        loop.turn()
    assert not loop.paused


class Stamped(Counter):
    """Notes the time of every tick."""

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self.stamps: list[int] = []

    def tick(self) -> None:
        self.stamps.append(self.node.clock.now())


def test_faster_than_real_time_stamps_go_as_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """What moves at so many times the speed of the machine's clock is stamped by such a clock."""
    now = [1_700_000_000 * SECOND]
    monkeypatch.setattr("skidpad.ros2.node.time.time_ns", lambda: now[0])
    node = node_on(Exchange(), "sim", "--ros-args", "-p", "realtime_factor:=4.0", wall=True)
    Loop(node, Counter(node))
    assert node.clock.now() == now[0], "from the machine's time on"
    now[0] += SECOND
    assert node.clock.now() - 1_700_000_000 * SECOND == 4 * SECOND
    node.parameters.set({"realtime_factor": 1.0})
    now[0] += SECOND
    assert node.clock.now() - 1_700_000_000 * SECOND == 5 * SECOND


def test_a_command_does_not_grow_old_in_a_pause(exchange: Exchange) -> None:
    node = node_on(exchange, wall=True)
    loop = Loop(node, Counter(node))
    loop.tick()
    loop.paused = True
    loop.turn()
    assert node.elapsed == SECOND // 4


class Bag:
    """Keeps what would be written."""

    def __init__(self) -> None:
        self.rows: list[bytes] = []

    def topic(self, name: str, type_: Any, qos: Any) -> None:
        pass

    def write(self, name: str, time_ns: int, cdr: Any) -> None:
        self.rows.append(bytes(cdr))


def test_a_node_that_hears_itself_is_in_the_bag_once(exchange: Exchange) -> None:
    """And what is no message not at all."""
    node, bag = node_on(exchange), Bag()
    node.record(bag)
    topic = node.publisher("/tf", "std_msgs/msg/String")
    node.subscribe("/tf", "std_msgs/msg/String", lambda message: None)
    topic.send(topic.type.Record("own"))
    other = InProcess(Identity("x"), exchange).publisher("/tf", topic.type, Qos())
    other.write(topic.type.encode(topic.type.Record("foreign")))
    other.write(b"\0\1\0\0\xff\xff\xff\xff")
    node.handle()
    assert [topic.type.decode(cdr).data for cdr in bag.rows] == ["own", "foreign"]


def test_parameters_are_seen_and_changed_by_others(exchange: Exchange) -> None:
    node = node_on(exchange)
    loop = Loop(node, Counter(node))
    node.parameters.declare("noise.gyro.enable", True, "Whether.")
    node.parameters.declare("noise.gains", [1.0, 2.0], dynamic=True)
    events = heard(exchange, "/parameter_events", "rcl_interfaces/msg/ParameterEvent")
    ParameterServices(node).announce()
    assert [p.name for p in events[0].new_parameters][-1] == "noise.gains"

    def call(name: str, **fields: Any) -> Any:
        snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in name).strip("_")
        return ask(exchange, node, f"/sim/{snake}", f"rcl_interfaces/srv/{name}", **fields)

    names = ["realtime_factor", "noise.gyro.enable", "none"]
    values = call("GetParameters", names=names).values
    assert [v.type for v in values] == [3, 1, 0]
    assert values[0].double_value == 1.0
    assert values[1].bool_value is True
    assert [*call("GetParameterTypes", names=names).types] == [3, 1, 0]
    listed = call("ListParameters", prefixes=["noise"], depth=0).result
    assert list(listed.names) == ["noise.gyro.enable", "noise.gains"]
    assert list(listed.prefixes) == ["noise", "noise.gyro"]
    assert list(call("ListParameters", depth=1).result.names) == ["realtime_factor"]
    described = call("DescribeParameters", names=["noise.gyro.enable"]).descriptors[0]
    assert (described.type, described.description, described.read_only) == (1, "Whether.", True)

    Value = message_type("rcl_interfaces/msg/ParameterValue").Record
    One = message_type("rcl_interfaces/msg/Parameter").Record
    good = One("realtime_factor", Value(type=3, double_value=2.0))
    bad = One("realtime_factor", Value(type=3, double_value=-1.0))
    fixed = One("noise.gyro.enable", Value(type=1, bool_value=False))
    gains = One("noise.gains", Value(type=8, double_array_value=[3.0]))
    results = call("SetParameters", parameters=[bad, good, fixed, gains]).results
    assert [r.successful for r in results] == [False, True, False, True]
    assert "must be from 0.001 to 1000" in results[0].reason
    assert node.parameters["realtime_factor"] == 2.0
    assert node.parameters["noise.gains"] == [3.0]
    assert [len(e.changed_parameters) for e in events[1:]] == [1, 1]
    assert not call("SetParametersAtomically", parameters=[good, fixed]).result.successful
    assert loop.node is node


def test_frames_are_told_and_found(exchange: Exchange) -> None:
    node = node_on(exchange)
    listener = Listener(node)
    other = node_on(exchange, "other")
    send_static(other, [("base", "lidar", Rigid((0.5, 0.0, 0.2)))])
    frames = Broadcaster(other, [("map", "odom"), ("odom", "base")])
    quarter = Rigid.planar(1.0, 2.0, 1.5707963267948966)
    frames.send(other.stamp(), quarter, Rigid((3.0, 0.0, 0.0)))
    assert listener.where("lidar", "map") is None, "nothing before it is handled"
    node.handle()
    # A quarter turn to the left: ahead in the odometry's frame is to the left on the map.
    place = listener.where("lidar", "map")
    assert place is not None
    assert place.translation == pytest.approx((1.0, 2.0 + 3.5, 0.2))
    back = listener.where("map", "lidar")
    assert back is not None
    assert (back @ place).translation == pytest.approx((0.0, 0.0, 0.0))
    assert listener.where("lidar", "nowhere") is None


def test_a_frame_within_itself_does_no_harm(exchange: Exchange) -> None:
    node = node_on(exchange)
    listener = Listener(node)
    frames = Broadcaster(node_on(exchange, "other"), [("a", "b"), ("b", "a"), ("c", "c")])
    frames.send((0, 0), Rigid(), Rigid(), Rigid())
    frames.send((0, 0), Rigid((float("nan"), 0.0, 0.0)), Rigid(), Rigid())
    node.handle()
    assert listener.where("a", "b") is not None
    assert listener.where("c", "a") is None


def test_two_of_one_name_are_told(exchange: Exchange, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = node_on(exchange, wall=True), node_on(exchange, wall=True)
    first.announce()
    second.announce()
    second.handle()
    assert "another node is called /sim too" in capsys.readouterr().err
