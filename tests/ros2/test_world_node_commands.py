"""What a world's node is told: commands, poses, resets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import skidpad as sp
from ros2.world_stand import (
    CARS,
    TWO,
    WALLS,
    Stand,
    pose_message,
    robot,
    scene,
)
from skidpad.ros2.dds import Qos
from skidpad.ros2.messages import message_type


def test_commands_drive_and_end_after_a_second() -> None:
    stand = Stand(scene(*TWO[:2]))
    alone = sp.World(scene(*TWO[:2]))
    stand.twist("/r1/cmd_vel", 0.8, 0.5)
    alone.vehicles["r1"].command(v=0.8, omega=0.5)
    stand.run(100)
    alone.run(1.0)
    assert stand.world.vehicles["r1"].state == alone.vehicles["r1"].state
    stand.run(1)
    assert stand.world.vehicles["r1"].input[:2] == (0.0, 0.0)
    stand.run(300)
    assert stand.world.vehicles["r1"].truth.v_x == pytest.approx(0.0, abs=0.05)
    stand.twist("/r1/cmd_vel", -0.4)
    stand.run(90)
    assert stand.world.vehicles["r1"].truth.v_x == pytest.approx(-0.4, abs=0.05)


@pytest.mark.parametrize("bad", [(np.nan, 0.0), (0.0, np.inf), (-np.inf, np.nan), (1e308, 0.0)])
def test_what_is_no_command_changes_nothing(
    bad: tuple[float, float], capsys: pytest.CaptureFixture[str]
) -> None:
    stand = Stand(scene(robot("r1", "0 0 0")))
    stand.twist("/cmd_vel", 0.5, 0.2)
    stand.run(2)
    for _ in range(50):
        stand.twist("/cmd_vel", *bad)
        stand.node.handle()
    stand.run(2)
    assert stand.world.vehicles["r1"].input[:2] == (0.5, 0.2)
    # Some are told, all are counted.
    assert 1 <= capsys.readouterr().err.count("/cmd_vel: command of r1") <= 10
    assert stand.node.refused == {"/cmd_vel": 50}


@pytest.mark.slow_cases(
    "/drive-bicycle", "/drive-four wheels", "/drive-steer", "/drive-torque", "/drive-twist"
)
@pytest.mark.parametrize("dynamics", CARS.values(), ids=CARS)
@pytest.mark.parametrize("topic", ["/cmd_vel", "/drive"])
def test_every_kind_of_car_gets_to_speed_and_turns(dynamics: str, topic: str) -> None:
    car = f"<vehicle name='car'><init_pose>0 0 0</init_pose>{dynamics}</vehicle>"
    stand = Stand(scene(car))
    base = stand.world.vehicles["car"].vehicle.geometry.wheel_base
    v, steer = 2.0, 0.1
    Drive = message_type("ackermann_msgs/msg/AckermannDrive").Record
    for _ in range(20):
        if topic == "/drive":
            stand.say(topic, drive=Drive(speed=v, steering_angle=steer))
        else:
            stand.twist(topic, v, v * np.tan(steer) / base)
        stand.run(20)
    truth = stand.world.vehicles["car"].truth
    assert truth.v_x == pytest.approx(v, rel=0.2)
    assert truth.omega == pytest.approx(v * np.tan(steer) / base, rel=0.3)
    stand.run(400)
    assert stand.world.vehicles["car"].truth.v_x == pytest.approx(0.0, abs=0.05)


def test_robots_that_do_not_steer_have_no_drive() -> None:
    stand = Stand(scene(robot("r1", "0 0 0")))
    assert "/drive" not in stand.exchange.types


def test_collisions_between_two_messages_are_told() -> None:
    stand = Stand(scene(robot("r1", "4.6 0 0", ""), WALLS), "-p", "period_ms_publish_tf:=100.0")
    hits = stand.heard("/collision")
    stand.twist("/cmd_vel", 1.0)
    stand.run(100)
    told = [message.data for message in hits]
    assert told[0] is False
    assert told[-1] is True
    assert told == sorted(told)


@pytest.mark.parametrize("by", ["service", "topic"])
def test_robots_are_put_where_a_pose_says(by: str) -> None:
    stand = Stand(scene(*TWO))
    stand.twist("/r1/cmd_vel", 0.5)
    stand.run(20)
    odometry, other = stand.world.odometry()[0], stand.world.vehicles["r2"].truth

    def put(pose: Any) -> None:
        if by == "service":
            stand.ask("/mvsim/r1/set_pose", "nav2_msgs/srv/SetInitialPose", pose=pose)
        else:
            stand.say("/r1/initialpose", **pose._asdict())
            stand.node.handle()

    put(pose_message(-2.0, 5.0, 1.5))
    true = stand.world.vehicles["r1"].truth
    assert (true.x, true.y, true.v_x) == (-2.0, 5.0, 0.0)
    assert true.yaw == pytest.approx(1.5)
    assert stand.world.odometry()[0, :3].tolist() == odometry[:3].tolist()
    assert stand.world.vehicles["r2"].truth == other
    for bad in (pose_message(np.nan, 0.0, 0.0), pose_message(0.0, 0.0, 0.0, "odom")):
        put(bad)
        assert stand.world.vehicles["r1"].truth == true


def test_a_reset_begins_anew_and_forgets_commands() -> None:
    stand = Stand(scene(*TWO))
    odom = stand.heard("/r1/odom")
    stand.twist("/r1/cmd_vel", 0.8, 0.5)
    stand.run(60)
    before = [m.pose for m in odom]
    assert stand.ask("/mvsim/reset", "std_srvs/srv/Trigger").success
    assert stand.world.time == 0.0
    odom.clear()
    stand.twist("/r1/cmd_vel", 0.8, 0.5)
    stand.run(60)
    assert [repr(m.pose) for m in odom] == [repr(pose) for pose in before]
    stand.ask("/mvsim/reset", "std_srvs/srv/Trigger")
    stand.run(60)
    assert stand.world.vehicles["r1"].truth.v_x == 0.0


def test_lock_step_gives_the_same_bits_however_commands_come() -> None:
    def played(chunks: list[int]) -> list[bytes]:
        stand = Stand(scene(*TWO), lock_step=True)
        bits: list[bytes] = []
        for topic in ("/r1/odom", "/r2/scan", "/r1/tf"):
            type_ = message_type(stand.exchange.types[topic])
            stand.other.subscribe(topic, type_, Qos(), bits.append)
        number = 0
        for count in chunks:
            for _ in range(count):
                number += 1
                stand.twist("/r1/cmd_vel", 0.01 * number, 0.3)
                stand.twist("/r2/cmd_vel", 0.5, -0.01 * number)
            while stand.node.handle(1):
                stand.loop._follow_commands()
        # Odometry, which a controller answers, comes with every second tick.
        assert stand.loop.ticks == 2 * number
        return bits

    assert played([1] * 40) == played([10, 5, 10, 5, 10])


def test_either_kind_of_command_lets_time_go_on() -> None:
    car = f"<vehicle name='car'><init_pose>0 0 0</init_pose>{CARS['steer']}</vehicle>"
    stand = Stand(scene(car), lock_step=True)
    Drive = message_type("ackermann_msgs/msg/AckermannDrive").Record
    for _ in range(5):
        stand.say("/drive", drive=Drive(speed=1.0))
        stand.twist("/cmd_vel", 1.0)
    while stand.node.handle(1):
        stand.loop._follow_commands()
    assert stand.loop.ticks == 20


def test_a_controller_that_answers_odometry_never_stalls_in_lock_step() -> None:
    """By default a tick is 10 ms and odometry comes every 20 ms."""
    stand = Stand(scene(robot("r1", "0 0 0")), lock_step=True)
    odom = stand.heard("/odom")
    stand.twist("/cmd_vel", 0.5)
    for k in range(1, 21):
        stand.loop.turn()
        assert (len(odom), stand.loop.ticks) == (k, 2 * k)
        stand.twist("/cmd_vel", 0.5)
    stand.loop.turn()
    assert stand.world.time == pytest.approx(0.42)
    assert stand.world.vehicles["r1"].truth.x > 0.1


def test_a_step_in_lock_step_is_one_tick() -> None:
    stand = Stand(scene(robot("r1", "0 0 0")), lock_step=True)
    for k in range(1, 4):
        stand.ask("/mvsim/step", "std_srvs/srv/Trigger")
        assert stand.loop.ticks == k


def test_lock_step_says_once_what_it_waits_for(capsys: pytest.CaptureFixture[str]) -> None:
    stand = Stand(scene(*TWO), lock_step=True)
    stand.loop.patience = 0.0
    stand.twist("/r1/cmd_vel", 0.5)
    for _ in range(4):
        stand.loop.turn()
    told = capsys.readouterr().err
    assert told.count("lock-step") == 1
    assert "after tick 0: no new command on /r2/cmd_vel." in told
    stand.twist("/r2/cmd_vel", 0.5)
    for _ in range(3):
        stand.loop.turn()
    told = capsys.readouterr().err
    assert told.count("after tick 2: no new command on /r1/cmd_vel, /r2/cmd_vel") == 1
