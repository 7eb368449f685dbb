"""The group `ros2`: what nodes cost, how fast they answer, and how messages are made."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np

from ..errors import SkidpadError, require_extras
from ..ros2.messages.prepared import Prepared
from ..ros2.messages.types import MessageType, message_type
from ..units import s
from .peers import ros_codecs
from .ros2_job import RAYS, ROBOTS
from .timing import TIME, Budget, Entry, Measured, environment, interleaved, typical

CORES = "cores"
SETTLING: s = 2.0
"""Between the first messages and the stretch that is measured."""
STRETCH: s = 10.0
TRIES = 1000
_PATIENCE: s = 60.0
_BATCH = 1000
_ODOMETRY, _TF, _SCAN = (
    message_type(name)
    for name in ("nav_msgs/msg/Odometry", "tf2_msgs/msg/TFMessage", "sensor_msgs/msg/LaserScan")
)


class NothingHeard(SkidpadError):
    """A node in another process did not answer."""


def entries(budget: Budget) -> Iterator[Entry]:
    """Processor time of a fleet, round trips, and messages made."""
    require_extras("ros2", "world", purpose="skidpad bench ros2")
    yield _fleet_entry(budget)
    yield _round_trip_entry(budget)
    yield _codec_entry(budget)


def _fleet_entry(budget: Budget) -> Entry:
    """Processor time of the node, the world included, while this process hears everything."""
    from ..ros2.transport import Qos

    counts: dict[str, int] = {}
    with _node("--robots") as (process, transport):

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
        before, busy, begin = dict(counts), _processor_time(process), time.perf_counter()
        time.sleep(STRETCH if budget.repeats > 2 else 0.3 * STRETCH)
        after, later, end = dict(counts), _processor_time(process), time.perf_counter()
    elapsed = end - begin
    rates = {
        kind: sum(after[t] - before[t] for t in after if t.endswith(kind)) / elapsed / ROBOTS
        for kind in ("odom", "tf", "scan")
    }
    details = {"robots": ROBOTS, "rays": RAYS, "messages_per_second_and_robot": rates}
    return Entry(f"ros2.robots{ROBOTS}", CORES, Measured((later - busy) / elapsed, None), {}, {},
        details)  # fmt: skip


def _round_trip_entry(budget: Budget) -> Entry:
    """From a command to the odometry of the tick that it makes, through another process."""
    from ..ros2.transport import Qos

    twist = message_type("geometry_msgs/msg/Twist")
    command = twist.encode(twist.Record())
    answered = Event()
    with _node("--one") as (_, transport):
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
    return Entry("ros2.round_trip", TIME, Measured(low, None), {}, {}, details)


def _round_trip(publisher: Any, command: bytes, answered: Event) -> float:
    # As a controller does: not one command behind the other.
    time.sleep(0.002)
    answered.clear()
    begin = time.perf_counter()
    publisher.write(command)
    if not answered.wait(_PATIENCE):
        raise NothingHeard(f"no odometry within {_PATIENCE:g} s of a command")
    return time.perf_counter() - begin


def _codec_entry(budget: Budget) -> Entry:
    """Odometry with another position, as bytes: a prepared message, a record, and others' ways."""
    record = _odometry_record()
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
        ("rosbags", ros_codecs.rosbags_maker),
        ("cyclonedds", ros_codecs.cyclone_maker),
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
    return Entry("ros2.codec", TIME, own, measured, absent, details)


def _batch(make: Callable[[float], Any]) -> Callable[[], None]:
    numbers = [0.5 * k for k in range(_BATCH)]

    def run() -> None:
        for x in numbers:
            make(x)

    return run


def _odometry_record() -> Any:
    header = message_type("std_msgs/msg/Header").Record(frame_id="base_link")
    return _ODOMETRY.Record(header, "base_link")


@contextmanager
def _node(kind: str) -> Generator[tuple[subprocess.Popen[str], Any]]:
    """A node in a process of its own, and a transport of this process that hears it."""
    from ..ros2.cyclone import CycloneTransport
    from ..ros2.transport import Identity

    alone = {"ROS_DOMAIN_ID": str(1 + os.getpid() % 100), "ROS_LOCALHOST_ONLY": "1"}
    command = [sys.executable, "-m", "skidpad.bench.ros2_job", kind]
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment(**alone)
    )
    try:
        assert process.stdout is not None
        if process.stdout.readline().strip() != "up":
            raise NothingHeard("the node in another process did not start")
        transport = CycloneTransport(Identity("bench"), {**os.environ, **alone})
        try:
            transport.announce()
            yield process, transport
        finally:
            transport.close()
    finally:
        process.communicate(timeout=_PATIENCE)


def _wait(reached: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE
    while not reached():
        if time.monotonic() > end:
            raise NothingHeard(f"the node in another process was not heard within {_PATIENCE:g} s")
        time.sleep(0.02)


def _processor_time(process: subprocess.Popen[str]) -> float:
    """Processor time that a process has used, in s."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
