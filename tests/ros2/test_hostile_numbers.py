"""Messages that are well formed and cannot be simulated, on every subscription of every node.

Each number of a message in turn is not finite, beyond single precision, or absurd: the node either
takes the message or refuses it by the name of its topic and counts it. It goes on either way, and
what it publishes stays finite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from ros2.dds import transport, wait_for
from ros2.planning_desk import desk as planning_desk
from ros2.rig import Rig
from ros2.world_stand import CARS, TWO, Stand, pose_message, robot, scene
from skidpad.ros2.dds import Identity, Qos
from skidpad.ros2.loop import Loop
from skidpad.ros2.messages import message_type
from skidpad.ros2.node import Clock, Node
from skidpad.ros2.nodes import brains2, truck
from skidpad.ros2.nodes.vehicle import SingleVehicle
from skidpad.ros2.nodes.world import WorldProgram

HOSTILE = (math.nan, math.inf, -math.inf, 1e308, -1e308, 3.5e38, 1e9)
STEERED = f"<vehicle name='r'><init_pose>0 0 0</init_pose>{CARS['twist']}</vehicle>"
TORQUES = f"<vehicle name='r'><init_pose>0 0 0</init_pose>{CARS['four wheels']}</vehicle>"

NODES: dict[str, Callable[[], Any]] = {
    "world of robots": lambda: Stand(scene(*TWO)),
    "world of a car": lambda: Stand(scene(STEERED)),
    "world of torques": lambda: Stand(scene(TORQUES)),
    "truck": lambda: Rig(truck.Truck, truck.NAME),
    "brains2": lambda: Rig(brains2.Brains2, brains2.NAME),
    "planning": planning_desk,
    **{
        f"vehicle {name}": lambda name=name: Rig(lambda node: SingleVehicle(node, name), name)
        for name in ("kinematic_bicycle", "four_wheel", "two_track")
    },
}
_NOT_COMMANDS = ("/tf", "/tf_static", "/clock", "/parameter_events")


def leaves(record: Any) -> Iterator[tuple[Any, ...]]:
    """Paths to the floating-point numbers of a record."""
    for name in record._fields:
        value = getattr(record, name)
        if isinstance(value, float):
            yield (name,)
        elif isinstance(value, tuple) and hasattr(value, "_fields"):
            yield from ((name, *path) for path in leaves(value))


def changed(record: Any, path: tuple[Any, ...], value: float) -> Any:
    first, *rest = path
    inner = changed(getattr(record, first), tuple(rest), value) if rest else value
    return record._replace(**{first: inner})


def numbers(value: Any) -> Iterator[float]:
    if isinstance(value, (tuple, list, np.ndarray)):
        for part in value:
            yield from numbers(part)
    elif isinstance(value, float):
        yield value


def good(type_: Any) -> Any:
    """A message that nothing is wrong with: no command, poses at the origin."""
    record = type_.Record()
    for path in leaves(record):
        if path[-1] == "w" and "orientation" in path:
            record = changed(record, path, 1.0)
    return record


@pytest.mark.filterwarnings("ignore::skidpad.world.scene.WorldWarning")
@pytest.mark.parametrize("name", NODES)
def test_no_number_of_any_message_ends_or_poisons_a_node(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    made = NODES[name]()
    node, loop, exchange = made.node, made.loop, made.exchange
    states = {
        topic: type_
        for topic, type_ in exchange.types.items()
        if type_
        in ("nav_msgs/msg/Odometry", "tf2_msgs/msg/TFMessage", "geometry_msgs/msg/TwistStamped")
        and topic not in node._subscribed
    }
    told: list[tuple[str, Any]] = []
    for topic, type_name in states.items():
        type_ = message_type(type_name)

        def hear(data: bytes, topic: str = topic, type_: Any = type_) -> None:
            told.append((topic, type_.decode(data)))

        made_by = getattr(made, "other", None) or made._other
        made_by.subscribe(topic, type_, Qos(reliable=False, depth=10), hear)
    other = getattr(made, "other", None) or made._other
    tried = 0
    for topic in [*node._subscribed]:
        if topic in _NOT_COMMANDS:
            continue
        type_ = message_type(exchange.types[topic])
        start = good(type_)
        speaker = other.publisher(topic, type_, Qos())
        for path in leaves(start):
            for value in HOSTILE:
                try:
                    data = type_.encode(changed(start, path, value))
                except (OverflowError, ValueError):
                    continue  # Single precision does not hold it.
                before = node.refused[topic]
                capsys.readouterr()
                told.clear()
                speaker.write(data)
                node.handle()
                refused = node.refused[topic] - before
                said = capsys.readouterr().err
                if refused and said:
                    assert topic in said
                loop.tick()
                loop.tick()
                where = f"{topic} {'.'.join(map(str, path))} = {value}"
                assert not loop.paused, f"{where}: {said}{capsys.readouterr().err}"
                for which, message in told:
                    assert all(map(math.isfinite, numbers(message))), (where, which)
                if isinstance(made, Stand):
                    assert not made.world.stopped, where
                    assert all(abs(v) < 1e7 for v in np.ravel(made.world.motion())), where
                if not math.isfinite(value) and path[-1] in ("x", "y") and "position" in path:
                    assert refused == 1, where
                tried += 1
        speaker.write(type_.encode(start))
        node.handle()
    assert tried > 0


def test_a_real_world_node_refuses_and_goes_on() -> None:
    """Over DDS on the loopback interface."""
    pytest.importorskip("cyclonedds", reason="DDS is not tested: cyclonedds is not installed")
    with transport("mvsim") as here, transport("other") as there:
        node = Node(Identity("mvsim"), here, clock=Clock(wall=False))
        program = WorldProgram(node, scene(robot("r", "0 0 0")))
        loop = Loop(node, program)
        poses = message_type("geometry_msgs/msg/PoseWithCovarianceStamped")
        twists = message_type("geometry_msgs/msg/Twist")
        place = there.publisher("/initialpose", poses, Qos(depth=100))
        drive = there.publisher("/cmd_vel", twists, Qos(depth=100))
        wait_for(lambda: place.readers and drive.readers, "the subscriptions")
        bad = (3.5e38, 1e9, 1e308, math.nan, math.inf)
        for value in bad:
            place.write(poses.encode(pose_message(value, 0.0, 0.0)))
            speed = changed(twists.Record(), ("linear", "x"), value)
            drive.write(twists.encode(speed))
        # 1e9 m/s is refused as well, and so each of both kinds is.
        expected = {"/initialpose": len(bad), "/cmd_vel": len(bad)}
        wait_for(lambda: (node.handle(), node.refused == expected)[1], "all refusals")
        loop.tick()
        assert not loop.paused
        assert program.world.vehicles["r"].truth[:2] == (0.0, 0.0)
        drive.write(twists.encode(changed(twists.Record(), ("linear", "x"), 0.5)))
        wait_for(lambda: node.handle(), "the good command")
        for _ in range(100):
            loop.tick()
        assert program.world.vehicles["r"].truth.v_x == pytest.approx(0.5, abs=0.05)
        assert not loop.paused
