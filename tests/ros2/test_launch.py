"""Nodes as users start them: other processes see them, drive them, and they end when told to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import skidpad
from ros2.dds import ENVIRONMENT, transport, wait_for
from skidpad.cli import main
from skidpad.ros2.dds import Qos
from skidpad.ros2.messages import message_type
from waiting import PATIENCE

BEST_EFFORT = Qos(reliable=False)
WORLD = """<mvsim_world version="1.0"><vehicle name="bot"><dynamics class="differential">
<l_wheel x="0" y="0.15" mass="1" width="0.04" diameter="0.12"/>
<r_wheel x="0" y="-0.15" mass="1" width="0.04" diameter="0.12"/>
<chassis mass="15" zmin="0.05" zmax="0.6"/><controller class="twist_ideal"/></dynamics>
<init_pose>0 0 0</init_pose></vehicle></mvsim_world>"""


IGNORING = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")
"""Starts what follows with the interrupt ignored."""


@contextmanager
def started(*arguments: str, in_background: bool = False) -> Generator[subprocess.Popen[str]]:
    """`skidpad ros2` with these arguments, in the domain of this process.

    In the background, that is with the interrupt ignored, as a shell starts what ends with `&`.
    """
    path = str(Path(skidpad.__file__).parents[1])
    with subprocess.Popen(
        [*(IGNORING if in_background else ()), sys.executable, "-m", "skidpad", "ros2", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **ENVIRONMENT, "PYTHONPATH": path},
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def ended(process: subprocess.Popen[str], number: int) -> str:
    """What a node that is told to end has logged."""
    process.send_signal(number)
    _, log = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, log
    assert "Traceback" not in log
    return log


NODES = [
    (["truck"], "/simulator/localization", "nav_msgs/msg/Odometry"),
    (["brains2"], "/brains2/pose", "brains2/msg/Pose"),
    (["vehicle", "kinematic_bicycle"], "/odom", "nav_msgs/msg/Odometry"),
    (
        [
            *("planning", "--names", "full_motion", "--ros-args"),
            *("-p", "initialize_source:=ORIGIN", "-p", "initial_engage_state:=true"),
        ],
        "/localization/kinematic_state",
        "nav_msgs/msg/Odometry",
    ),
    (["world", "WORLD"], "/odom", "nav_msgs/msg/Odometry"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "topic", "kind"), NODES, ids=[n[0][0] for n in NODES])
def test_a_node_is_heard_and_ends(
    arguments: list[str], topic: str, kind: str, tmp_path: Path
) -> None:
    world = tmp_path / "one.world.xml"
    world.write_text(WORLD)
    heard: list[Any] = []
    type_ = message_type(kind)
    with transport("ear") as ear:
        ear.subscribe(topic, type_, BEST_EFFORT, lambda data: heard.append(type_.decode(data)))
        words = [str(world) if word == "WORLD" else word for word in arguments]
        with started(*words, in_background=arguments[0] == "brains2") as node:
            wait_for(lambda: len(heard) > 5 or node.poll() is not None, topic)
            assert node.poll() is None, node.communicate()[1]
            log = ended(node, signal.SIGTERM if arguments[0] == "truck" else signal.SIGINT)
    assert "is up; Ctrl-C ends it" in log


def test_commands_move_a_vehicle_under_other_names_and_into_a_bag(tmp_path: Path) -> None:
    """Remaps, a namespace, parameters, and what was said in a bag afterwards."""
    from rosbags.highlevel import AnyReader
    from rosbags.typesys import Stores, get_typestore

    places: list[float] = []
    odometry, twist = (
        message_type("nav_msgs/msg/Odometry"),
        message_type("geometry_msgs/msg/Twist"),
    )
    order = twist.encode(twist.Record(linear=twist.Record().linear._replace(x=3.0)))
    arguments = ["vehicle", "kinematic_bicycle", "--record", str(tmp_path / "bag"), "--ros-args"]
    arguments += ["-r", "__ns:=/fast", "-r", "odom:=/where", "-p", "realtime_factor:=2.0"]
    with transport("driver") as driver, started(*arguments) as node:
        driver.subscribe(
            "/where",
            odometry,
            Qos(),
            lambda d: places.append(odometry.decode(d).pose.pose.position.x),
        )
        command = driver.publisher("/fast/cmd_vel", twist, Qos())

        def moved() -> bool:
            command.write(order)
            return (bool(places) and places[-1] > 0.5) or node.poll() is not None

        wait_for(moved, "the car to move")
        assert node.poll() is None, node.communicate()[1]
        ended(node, signal.SIGINT)
    with AnyReader([tmp_path / "bag"], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as bag:
        topics = {connection.topic for connection in bag.connections}
        assert {"/where", "/fast/cmd_vel", "/tf", "/rosout"} <= topics
        positions = [
            bag.deserialize(data, connection.msgtype).pose.pose.position.x
            for connection, _, data in bag.messages()
            if connection.topic == "/where"
        ]
    assert max(positions) > 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["vehicle", "nothing"], "nothing"),
        (["vehicle", "four_wheel", "--ros-args", "-p", "realtime_factor:=fast"], "realtime_factor"),
        (["vehicle", "four_wheel", "--middleware", "pigeon"], "pigeon"),
        (["vehicle", "four_wheel", "stray"], "unexpected argument 'stray'"),
        (["truck", "--package", "a"], "NAME=FOLDER"),
        (["world", "nowhere.world.xml"], "nowhere.world.xml"),
        (["world", "nowhere.world.xml", "--page", "--port", "99999"], "--port 99999"),
    ],
)
def test_what_cannot_be_started_is_one_line(
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ending:
        main(["ros2", *arguments])
    assert ending.value.code == 2
    log = capsys.readouterr().err
    errors = [line for line in log.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, log
    assert message in errors[0]
