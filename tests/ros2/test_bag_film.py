"""The film of a bag: bodies where their topics say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from skidpad.cli import app
from skidpad.errors import InvalidValue
from skidpad.ros2.messages import message_type
from skidpad.study.logs.bags import is_bag
from skidpad.view.recording import BagWriter
from skidpad.view.recording.bag_tools import bag_film

ODOMETRY, POSE = message_type("nav_msgs/Odometry"), message_type("geometry_msgs/PoseStamped")


def bag(folder: Path) -> Path:
    """A circle of two turns as odometry, a line as a pose at a fifth of the rate."""
    odometry, pose = ODOMETRY.Record(), POSE.Record()
    with BagWriter(folder) as writer:
        writer.topic("/odom", ODOMETRY)
        writer.topic("/goal", POSE)
        for k in range(101):
            yaw = 4.0 * np.pi * k / 100
            plain = odometry.pose.pose
            at = plain._replace(
                position=plain.position._replace(x=10.0 * np.sin(yaw), y=-10.0 * np.cos(yaw)),
                orientation=plain.orientation._replace(z=np.sin(yaw / 2), w=np.cos(yaw / 2)),
            )
            whole = odometry._replace(pose=odometry.pose._replace(pose=at))
            writer.write("/odom", k * 10_000_000, ODOMETRY.encode(whole))
            if k % 5 == 0:
                there = pose.pose._replace(position=pose.pose.position._replace(x=float(k)))
                writer.write("/goal", k * 10_000_000, POSE.encode(pose._replace(pose=there)))
    return folder


def test_bodies_are_where_their_topics_say(tmp_path: Path) -> None:
    film = bag_film(bag(tmp_path / "drive"))
    odom, goal = film.stage.body("/odom"), film.stage.body("/goal")
    yaw = 4.0 * np.pi * np.arange(101) / 100
    np.testing.assert_allclose(film.times, 0.01 * np.arange(101), atol=1e-9)
    np.testing.assert_allclose(film.rows[:, odom.x], 10.0 * np.sin(yaw), atol=1e-5)
    np.testing.assert_allclose(film.rows[:, odom.y], -10.0 * np.cos(yaw), atol=1e-5)
    np.testing.assert_allclose(film.rows[:, odom.yaw], yaw, atol=1e-5)
    np.testing.assert_allclose(film.rows[:, goal.x], np.arange(101), atol=1e-4)
    assert set(odom.channels) == {"x", "y", "yaw", "v_x", "v_y", "omega"}
    front = max(x for x, _ in odom.outlines[0])
    assert front == pytest.approx(0.6)  # of a body of 1 m, a twentieth of 20 m


def test_the_pose_of_brains2_is_one_too(tmp_path: Path) -> None:
    pose = message_type("brains2/Pose")
    with BagWriter(tmp_path / "lap") as writer:
        writer.topic("/brains2/pose", pose)
        for k in range(11):
            record = pose.Record(x=float(k), y=2.0, phi=0.1 * k)
            writer.write("/brains2/pose", k * 10_000_000, pose.encode(record))
    film = bag_film(tmp_path / "lap")
    car = film.stage.body("/brains2/pose")
    np.testing.assert_allclose(film.rows[:, car.x], np.arange(11), atol=1e-5)
    np.testing.assert_allclose(film.rows[:, car.yaw], 0.1 * np.arange(11), atol=1e-5)


def test_bags_are_told_from_recordings(tmp_path: Path) -> None:
    folder = bag(tmp_path / "drive")
    assert is_bag(folder)
    assert is_bag(next(folder.glob("*.mcap")))
    data = Path(__file__).parents[1] / "data"
    assert not is_bag(data / "recordings" / "format_1.mcap")
    assert not is_bag(data / "identify" / "drive_plain.mcap")
    assert not is_bag(tmp_path / "nothing.mcap")


def test_a_page_is_made_of_a_bag(tmp_path: Path) -> None:
    page = tmp_path / "drive.html"
    result = CliRunner().invoke(app, ["html", str(bag(tmp_path / "drive")), str(page)])
    assert result.exit_code == 0, result.output
    assert page.read_text("utf-8").rstrip().endswith("</html>")


def test_a_bag_without_poses_has_nothing_to_show(tmp_path: Path) -> None:
    text = message_type("std_msgs/Float64")
    with BagWriter(tmp_path / "numbers") as writer:
        writer.topic("/a", text)
        writer.write("/a", 0, text.encode(text.Record(1.0)))
    with pytest.raises(InvalidValue, match="has no topic with a pose"):
        bag_film(tmp_path / "numbers")
