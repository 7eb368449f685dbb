"""A node that runs for long loses no message and does not grow.

`SKIDPAD_SOAK=1800 pytest tests/ros2/test_soak.py -m slow` runs it for half an hour.
"""

from __future__ import annotations

import os
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from ros2.dds import transport, wait_for
from ros2.test_launch import WORLD, ended, started
from skidpad.ros2.dds import Qos
from skidpad.ros2.messages import message_type

DURATION = float(os.environ.get("SKIDPAD_SOAK", "120"))
"""In s."""
ROBOTS = 5
GROWTH = 4 << 20
"""Bytes that the node may have more at the end than when it was warm."""


def world() -> str:
    head, _, rest = WORLD.partition("<vehicle")
    body = rest.replace("</mvsim_world>", "")
    robots = "".join(
        f"<vehicle{body}".replace('"bot"', f'"bot{k}"').replace("0 0 0", f"0 {2 * k} 0")
        for k in range(ROBOTS)
    )
    return f"{head}{robots}</mvsim_world>"


def resident(pid: int) -> int:
    """Bytes of memory that a process has."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_nothing_is_lost_and_nothing_grows(tmp_path: Path) -> None:
    file = tmp_path / "robots.world.xml"
    file.write_text(world())
    odometry, twist = message_type("nav_msgs/msg/Odometry"), message_type("geometry_msgs/msg/Twist")
    stamps: list[list[int]] = [[] for _ in range(ROBOTS)]

    def hear(k: int, data: bytes) -> None:
        stamp: Any = odometry.decode(data).header.stamp
        stamps[k].append(stamp.sec * 10**9 + stamp.nanosec)

    with transport("ear") as ear, started("world", str(file)) as node:
        commands = []
        for k in range(ROBOTS):
            ear.subscribe(
                f"/bot{k}/odom", odometry, Qos(depth=1000), lambda data, k=k: hear(k, data)
            )
            commands.append(ear.publisher(f"/bot{k}/cmd_vel", twist, Qos()))
        wait_for(lambda: all(len(one) > 500 for one in stamps), "odometry")
        warm, until = resident(node.pid), time.monotonic() + DURATION
        order = twist.encode(
            twist.Record(
                linear=twist.Record().linear._replace(x=0.3),
                angular=twist.Record().angular._replace(z=0.5),
            )
        )
        while time.monotonic() < until:
            for command in commands:
                command.write(order)
            time.sleep(0.1)
        grown = resident(node.pid) - warm
        ended(node, 2)
    for one in stamps:
        gaps = {b - a for a, b in pairwise(one)}
        assert gaps == {20_000_000}, "every message, in order; 50 of them a second"
    assert grown < GROWTH
