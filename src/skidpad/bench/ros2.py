"""The group `ros2`: CPU time of a node, round trips, and the serialisation of messages.

`python -m skidpad.bench.ros2 NAME`: a server that ends when its standard input is closed.

`fleet` and `robot` are nodes of a world: robots in real time, and a single one that moves when it
is commanded. `crowd` and `playground` are live pages. Each prints a line when it is ready.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from threading import Event
from typing import Any

import numpy as np

from ..errors import SkidpadError, require_extras
from ..ros2.messages.types import MessageType, Prepared, message_type
from ..units import s
from ..world.scene import Scene
from ..world.xml.reader import loads
from .timing import TIME, Budget, Entry, Measured, interleaved, processor_time, serving, typical

ROBOTS = 20
RAYS = 1080
PERIOD_MS = 10.0
"""Period of odometry and tf, in ms."""
_APART = 4.0
"""Distance in m between the centres of neighbouring circles, which are 1 m wide."""
_STEP = "<simul_timestep>0.005</simul_timestep>"
_DRIVE = (
    "<dynamics class='differential'><controller class='twist_pid'><KP>10</KP><V>0.5</V>"
    "<W>57.3</W></controller></dynamics>"
)
_LIDAR = (
    "<sensor class='laser' name='scan'><sensor_period>0.1</sensor_period>"
    f"<fov_degrees>270</fov_degrees><nrays>{RAYS}</nrays><max_range>20</max_range></sensor>"
)


def fleet() -> Scene:
    """Robots on separate circles that detect each other with lidars."""
    robots = "".join(
        f"<vehicle name='r{k}'><init_pose>{_APART * (k % 5)} {_APART * (k // 5)} {17 * k}"
        f"</init_pose>{_DRIVE}{_LIDAR}</vehicle>"
        for k in range(ROBOTS)
    )
    return loads(f"<mvsim_world version='1.0'>{_STEP}{robots}</mvsim_world>")


def single() -> Scene:
    """One robot without sensors."""
    robot = f"<vehicle name='r0'><init_pose>0 0 0</init_pose>{_DRIVE}</vehicle>"
    return loads(f"<mvsim_world version='1.0'>{_STEP}{robot}</mvsim_world>")


def serve_node(scene: Scene, *, lock_step: bool) -> None:
    from ..ros2.cyclone import CycloneTransport
    from ..ros2.dds import Identity
    from ..ros2.loop import Loop
    from ..ros2.node import Clock, Node, parse_arguments
    from ..ros2.nodes.world import WorldProgram

    arguments = parse_arguments(["--ros-args", "-p", f"period_ms_publish_tf:={PERIOD_MS}"])
    identity = Identity("mvsim")
    node = Node(identity, CycloneTransport(identity), arguments, Clock(wall=False))
    loop = Loop(node, WorldProgram(node, scene), lock_step=lock_step)
    node.announce()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        loop.ending = True

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    print("up", flush=True)
    loop.run()
    node.close()


def serve_page(kind: str) -> None:
    """Serve the live page of a crowd at 30 frames/s, or of the playground at 60."""
    from ..view.live.arena import Arena, playground
    from ..view.live.server import LiveServer
    from ..view.live.session import Session
    from .world import crowd

    if kind == "crowd":
        arena, rate = Arena(crowd("differential", 100).scene), 30.0
    else:
        place = playground()
        arena, rate = Arena(place.scene, lines=place.lines), 60.0
    server = LiveServer(Session(arena, rate=rate), port=0)
    server.start()
    print(server.url, flush=True)
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    match sys.argv[1]:
        case "fleet":
            serve_node(fleet(), lock_step=False)
        case "robot":
            serve_node(single(), lock_step=True)
        case page:
            serve_page(page)

CORES = "cores"
SETTLING: s = 2.0
"""Time in s from the first messages to the measured interval."""
STRETCH: s = 10.0
TRIES = 1000
_PATIENCE: s = 60.0
_BATCH = 1000
_ODOMETRY, _TF, _SCAN = (
    message_type(name)
    for name in ("nav_msgs/msg/Odometry", "tf2_msgs/msg/TFMessage", "sensor_msgs/msg/LaserScan")
)


class NothingHeard(SkidpadError):
    """Raised if a node in another process did not respond."""


def entries(budget: Budget) -> Iterator[Entry]:
    require_extras("ros2", "world", purpose="skidpad bench ros2")
    yield _fleet_entry(budget)
    # Time from a command to the odometry of its tick, through another process
    from ..ros2.dds import Qos

    twist = message_type("geometry_msgs/msg/Twist")
    command = twist.encode(twist.Record())
    answered = Event()
    with _node("robot") as (_, transport):
        transport.subscribe("/odom", _ODOMETRY, Qos(depth=1), lambda data: answered.set())
        publisher = transport.publisher("/cmd_vel", twist, Qos(depth=1))

        def both_ways() -> bool:
            publisher.write(command)
            return answered.wait(0.1)

        _wait(both_ways)
        time.sleep(0.2)
        times = [_round_trip(publisher, command, answered) for _ in range(TRIES)]
    low, middle, high = np.percentile(times[len(times) // 10 :], [50, 90, 99]).tolist()
    details = {"percentile_90": middle, "percentile_99": high, "tries": TRIES}
    yield Entry("ros2.round_trip", TIME, Measured(low, None), {}, {}, details)
    # Serialisation of odometry with a new position: by a prepared message, a record, and the
    # peers
    header = message_type("std_msgs/msg/Header").Record(frame_id="base_link")
    record = _ODOMETRY.Record(header, "base_link")
    prepared = Prepared(_ODOMETRY, record)
    put = prepared.patcher("pose.pose.position.x")
    data = prepared.data

    def patched(x: float) -> bytearray:
        put(x)
        return data

    def encoded(x: float) -> bytes:
        position = record.pose.pose.position._replace(x=x)
        pose = record.pose._replace(pose=record.pose.pose._replace(position=position))
        return _ODOMETRY.encode(record._replace(pose=pose))

    makers: dict[str, Callable[[float], Any]] = {"prepared": patched, "record": encoded}
    absent: dict[str, str] = {}
    for name, peer in (
        ("rosbags", rosbags_maker),
        ("cyclonedds", cyclone_maker),
    ):
        try:
            makers[name] = peer(_ODOMETRY)
        except ImportError:
            absent[name] = "not installed"
    alike = len({bytes(make(1.25)) for make in makers.values()}) == 1
    runs = [_batch(make) for make in makers.values()]
    times = interleaved(runs, 3 * budget.repeats)
    measured = {
        name: typical([t / _BATCH for t in own]) for name, own in zip(makers, times, strict=True)
    }
    own = measured.pop("prepared")
    details = {"type": _ODOMETRY.name, "bytes": len(data), "same_bytes": alike}
    yield Entry("ros2.codec", TIME, own, measured, absent, details)


def _fleet_entry(budget: Budget) -> Entry:
    """CPU time of the node with its world, while this process receives everything."""
    from ..ros2.dds import Qos

    counts: dict[str, int] = {}
    with _node("fleet") as (process, transport):

        def count(topic: str, type_: MessageType) -> None:
            counts[topic] = 0

            def heard(data: bytes) -> None:
                counts[topic] += 1

            transport.subscribe(topic, type_, Qos(depth=50), heard)

        for k in range(ROBOTS):
            for name, type_ in (("odom", _ODOMETRY), ("tf", _TF), ("scan", _SCAN)):
                count(f"/r{k}/{name}", type_)
        _wait(lambda: all(counts.values()))
        time.sleep(SETTLING)
        before, busy, begin = dict(counts), processor_time(process), time.perf_counter()
        time.sleep(STRETCH if budget.repeats > 2 else 0.3 * STRETCH)
        after, later, end = dict(counts), processor_time(process), time.perf_counter()
    elapsed = end - begin
    rates = {
        kind: sum(after[t] - before[t] for t in after if t.endswith(kind)) / elapsed / ROBOTS
        for kind in ("odom", "tf", "scan")
    }
    details = {"robots": ROBOTS, "rays": RAYS, "messages_per_second_and_robot": rates}
    return Entry(f"ros2.robots{ROBOTS}", CORES, Measured((later - busy) / elapsed, None), {}, {},
        details)  # fmt: skip


def _round_trip(publisher: Any, command: bytes, answered: Event) -> float:
    # Pause between commands, as a controller does.
    time.sleep(0.002)
    answered.clear()
    begin = time.perf_counter()
    publisher.write(command)
    if not answered.wait(_PATIENCE):
        raise NothingHeard(f"no odometry within {_PATIENCE:g} s of a command")
    return time.perf_counter() - begin


def _batch(make: Callable[[float], Any]) -> Callable[[], None]:
    numbers = [0.5 * k for k in range(_BATCH)]

    def run() -> None:
        for x in numbers:
            make(x)

    return run


@contextmanager
def _node(kind: str) -> Generator[tuple[int, Any]]:
    """Run a node in a process of its own; yields its process id and a transport that receives from
    it."""
    from ..ros2.cyclone import CycloneTransport
    from ..ros2.dds import Identity

    alone = {"ROS_DOMAIN_ID": str(1 + os.getpid() % 100), "ROS_LOCALHOST_ONLY": "1"}
    with serving(kind, **alone) as (ready, process):
        if ready != "up":
            raise NothingHeard("the node in another process did not start")
        transport = CycloneTransport(Identity("bench"), {**os.environ, **alone})
        try:
            transport.announce()
            yield process, transport
        finally:
            transport.close()


def _wait(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE
    while not reached():
        if time.monotonic() > end:
            raise NothingHeard(f"the node in another process was not heard within {_PATIENCE:g} s")
        time.sleep(0.02)


Make = Callable[[float], bytes]
"""Function from a position x in m to the bytes of a message."""


def rosbags_maker(type_: MessageType) -> Make:
    """Function that changes and serialises a message object of `rosbags`."""
    from rosbags.typesys import Stores, get_typestore

    store = get_typestore(Stores.ROS2_HUMBLE)
    message = _filled(type_, lambda name, fields: store.types[name](**fields), np.zeros)

    def make(x: float) -> bytes:
        message.pose.pose.position.x = x
        return bytes(store.serialize_cdr(message, type_.name))

    return make


def cyclone_maker(type_: MessageType) -> Make:
    """Function that changes and serialises an `IdlStruct` of `cyclonedds`."""
    from cyclonedds import idl

    made: dict[str, Any] = {}

    def build(name: str, fields: dict[str, Any]) -> Any:
        return made[name](**fields)

    def declare(one: Any) -> Any:
        from cyclonedds.idl import types

        fields: dict[str, Any] = {}
        for field in one.fields:
            value = declare(field.nested) if field.nested is not None else _named(types, field.base)
            fields[field.name] = types.array[value, field.size] if field.size else value
        if one.name not in made:
            dotted = one.dds_name.replace("::", ".")
            made[one.name] = idl.make_idl_struct(dotted.replace(".", "_"), dotted, fields)
        return made[one.name]

    declare(type_)
    message = _filled(type_, build, lambda size: [0.0] * size)

    def make(x: float) -> bytes:
        message.pose.pose.position.x = x
        return message.serialize()

    return make


def _named(types: Any, base: str) -> Any:
    return str if base == "string" else getattr(types, base)


def _filled(
    type_: Any, build: Callable[[str, dict[str, Any]], Any], zeros: Callable[[int], Any]
) -> Any:
    """Message of a type without sequences, all zero except for a unit quaternion."""
    fields: dict[str, Any] = {}
    for field in type_.fields:
        if field.nested is not None:
            value = _filled(field.nested, build, zeros)
        elif field.base == "string":
            value = "base_link"
        elif field.size:
            value = zeros(field.size)
        else:
            value = float(field.default) if field.base.startswith("float") else int(field.default)
        fields[field.name] = value
    return build(type_.name, fields)
