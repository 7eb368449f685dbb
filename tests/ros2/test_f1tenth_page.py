"""The world on the page for F1TENTH: what nodes of the gym expect is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pages import ROOT, blocks
from ros2.desk import Desk, built
from skidpad.ros2.nodes import world

MAP = """image: levine.png
resolution: 0.05
origin: [-1.0, -1.0, 0.0]
negate: 0
occupied_thresh: 0.65
free_thresh: 0.196
"""


def test_the_world_of_the_page_speaks_as_the_gym(tmp_path: Path) -> None:
    Image: Any = pytest.importorskip("PIL.Image")
    # A room of 10 m by 5 m from (-1, -1) on, with walls of 0.2 m.
    room = np.zeros((100, 200), np.uint8)
    room[4:-4, 4:-4] = 255
    Image.fromarray(room).save(tmp_path / "levine.png")
    (tmp_path / "levine.yaml").write_text(MAP)
    page = (ROOT / "docs" / "ros2_vehicle.md").read_text("utf-8")
    (xml,) = [block for block in blocks(page) if block.info == "xml"]
    file = tmp_path / "f1tenth.world.xml"
    file.write_text("\n".join(xml.text))
    words = ["-p", "shared_tf:=true", "-r", "base_pose_ground_truth:=/ego_racecar/odom"]
    d = Desk(lambda node: world.program(node, file), words)
    odometry, scans = d.hear("/ego_racecar/odom"), d.hear("/scan")
    for _ in range(100):
        told = built("ackermann_msgs/msg/AckermannDriveStamped", drive__speed=1.0)
        d.say("/drive", told)
        d.ticks(1)
    last = odometry[-1]
    assert (last.header.frame_id, last.child_frame_id) == ("map", "ego_racecar/base_link")
    assert last.twist.twist.linear.x == pytest.approx(1.0, abs=0.1)
    assert len(scans) == pytest.approx(40, abs=1)
    ranges = scans[-1].ranges
    assert len(ranges) == 1080
    # The wall ahead is 8.8 m from the start, and the scanner 0.1 m before the centre of mass.
    ahead = 8.8 - 0.1 - last.pose.pose.position.x
    assert np.median(ranges[535:545]) == pytest.approx(ahead, abs=0.15)
