"""A world as a node: what it publishes is what the world says, under upstream's names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ros2.world_stand import (
    GNSS,
    IMU,
    LASER,
    TWO,
    WALLS,
    Stand,
    robot,
    scene,
    yaw_of,
)
from skidpad.errors import InvalidValue
from skidpad.ros2.dds import LATCHED, Identity, Qos
from skidpad.ros2.loop import Exchange, InProcess
from skidpad.ros2.node import SECOND, Clock, Node, parse_arguments
from skidpad.ros2.nodes.common import Listener
from skidpad.ros2.nodes.world import program


def test_topics_have_upstreams_names_and_types() -> None:
    one = Stand(scene(robot("r1", "0 0 0", LASER + IMU + GNSS)))
    types = {name: type_.replace("/msg/", "/") for name, type_ in one.exchange.types.items()}
    assert types == {
        "/cmd_vel": "geometry_msgs/Twist",
        "/odom": "nav_msgs/Odometry",
        "/base_pose_ground_truth": "nav_msgs/Odometry",
        "/collision": "std_msgs/Bool",
        "/tf": "tf2_msgs/TFMessage",
        "/tf_static": "tf2_msgs/TFMessage",
        "/chassis_markers": "visualization_msgs/MarkerArray",
        "/chassis_polygon": "geometry_msgs/Polygon",
        "/amcl_pose": "geometry_msgs/PoseWithCovarianceStamped",
        "/particlecloud": "geometry_msgs/PoseArray",
        "/initialpose": "geometry_msgs/PoseWithCovarianceStamped",
        "/scan": "sensor_msgs/LaserScan",
        "/imu": "sensor_msgs/Imu",
        "/gps": "sensor_msgs/NavSatFix",
        "/simul_map": "nav_msgs/OccupancyGrid",
        "/simul_map_metadata": "nav_msgs/MapMetaData",
        "/clock": "rosgraph_msgs/Clock",
    }


def test_several_robots_have_their_names_in_front_and_one_if_asked_for() -> None:
    two = Stand(scene(*TWO), "-r", "__ns:=/sim")
    assert {"/sim/r1/odom", "/sim/r2/scan", "/sim/r1/tf", "/sim/simul_map"} <= {*two.exchange.types}
    one = Stand(scene(robot("r1", "0 0 0")), "-p", "force_publish_vehicle_namespace:=true")
    assert "/r1/cmd_vel" in one.exchange.types
    assert "/cmd_vel" not in one.exchange.types


def test_what_is_told_of_the_motion_is_what_the_world_says() -> None:
    stand = Stand(scene(*TWO))
    truth, odom = stand.heard("/r1/base_pose_ground_truth"), stand.heard("/r1/odom")
    amcl, cloud = stand.heard("/r1/amcl_pose"), stand.heard("/r1/particlecloud")
    stand.twist("/r1/cmd_vel", 0.8, 0.5)
    stand.run(40)
    assert len(truth) == len(odom) == len(amcl) == len(cloud) == 20
    true, reckoned = stand.world.vehicles["r1"].truth, stand.world.readings("r1")["odometry"]
    last = truth[-1]
    assert (last.header.frame_id, last.child_frame_id) == ("map", "base_link")
    assert last.pose.pose.position[:2] == (true.x, true.y)
    assert yaw_of(last.pose.pose.orientation) == pytest.approx(true.yaw, abs=1e-12)
    twist = last.twist.twist
    assert (twist.linear.x, twist.linear.y) == pytest.approx((true.v_x, true.v_y), abs=1e-12)
    assert twist.angular.z == true.omega
    last = odom[-1]
    assert (last.header.frame_id, last.child_frame_id) == ("odom", "base_link")
    assert last.pose.pose.position[:2] == (reckoned.x, reckoned.y)
    assert yaw_of(last.pose.pose.orientation) == pytest.approx(reckoned.yaw, abs=1e-12)
    assert (last.twist.twist.linear.x, last.twist.twist.angular.z) == reckoned[3:5]
    assert amcl[-1].header.frame_id == cloud[-1].header.frame_id == "map"
    assert amcl[-1].pose.pose == cloud[-1].poses[0] == truth[-1].pose.pose
    assert last.header.stamp.nanosec == round(stand.world.time * SECOND)


@pytest.mark.parametrize("shared", [False, True])
def test_frames_lead_from_the_map_to_every_sensor(shared: bool) -> None:
    slope = (
        "<element class='elevation_map'><resolution>20</resolution><elevation_data_matrix>"
        "[0 0; 6 6]</elevation_data_matrix><corner_min_x>-10</corner_min_x>"
        "<corner_min_y>-10</corner_min_y></element>"
    )
    stand = Stand(scene(*TWO[:2], slope), "-p", f"shared_tf:={str(shared).lower()}")
    identity = Identity("rviz", "/" if shared else "/r1")
    ear = Node(identity, InProcess(identity, stand.exchange), clock=Clock(wall=False))
    front = "r1/" if shared else ""
    if not shared:
        ear.arguments = parse_arguments(
            ["--ros-args", "-r", "/tf:=tf", "-r", "/tf_static:=tf_static"]
        )
    frames = Listener(ear)
    stand.twist("/r1/cmd_vel", 0.8, 0.3)
    stand.run(100)
    ear.handle()
    true = stand.world.vehicles["r1"].truth
    z, pitch, roll = stand.world.attitudes()[0]
    assert abs(pitch) + abs(roll) > 0.1
    base = frames.where(f"{front}base_link", "map")
    assert base is not None
    assert base.translation == pytest.approx((true.x, true.y, z), abs=1e-9)
    c, s = np.cos, np.sin
    # Where the vehicle's own x axis points to, by its yaw, then its pitch.
    ahead = (c(true.yaw) * c(pitch), s(true.yaw) * c(pitch), -s(pitch))
    x, y, qz, w = base.rotation
    turned = (1 - 2 * (y * y + qz * qz), 2 * (x * y + qz * w), 2 * (x * qz - y * w))
    assert turned == pytest.approx(ahead, abs=1e-9)
    laser = frames.where(f"{front}scan", f"{front}base_link")
    assert laser is not None
    assert laser.translation == (0.2, 0.1, 0.3)
    assert laser.rotation == pytest.approx((0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)))
    foot = frames.where(f"{front}base_footprint", f"{front}base_link")
    assert foot is not None
    assert foot.translation == (0.0, 0.0, 0.0)


def test_a_tree_without_parts_that_others_publish() -> None:
    stand = Stand(
        scene(robot("r1", "0 0 0")), "-p", "do_fake_localization:=false",
        "-p", "publish_tf_odom2baselink:=false",
    )  # fmt: skip
    assert not {"/amcl_pose", "/particlecloud", "/initialpose"} & {*stand.exchange.types}
    tf = stand.heard("/tf")
    stand.run(10)
    assert tf == []
    stand = Stand(scene(robot("r1", "0 0 0")), "-p", "do_fake_localization:=false")
    tf = stand.heard("/tf")
    stand.run(10)
    assert {(t.header.frame_id, t.child_frame_id) for m in tf for t in m.transforms} == {
        ("odom", "base_link")
    }


def test_parameters_come_from_files_and_are_checked(tmp_path: Path) -> None:
    file = tmp_path / "mvsim.yaml"
    file.write_text(
        "mvsim:\n  ros__parameters:\n    simul_rate: 50.0\n    period_ms_publish_tf: 40.0\n"
        "    publisher_history_len: 100\n    headless: true\n    use_sim_time: false\n"
    )
    stand = Stand(scene(robot("r1", "0 0 0")), "--params-file", str(file))
    assert stand.program.period == 0.02
    odom = stand.heard("/odom")
    stand.run(20)
    assert len(odom) == 10
    for name in ("simul_rate", "period_ms_publish_tf", "map_resolution"):
        with pytest.raises(InvalidValue, match=f"{name} = -1"):
            Stand(scene(robot("r1", "0 0 0")), "-p", f"{name}:=-1.0")


def test_a_rate_that_does_not_fit_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    stand = Stand(scene(robot("r1", "0 0 0")), "-p", "simul_rate:=30.0")
    assert stand.program.period == pytest.approx(0.035)
    assert "not a whole number of steps" in capsys.readouterr().err


def test_upstreams_errors_are_kept_on_demand() -> None:
    stand = Stand(scene(robot("r1", "3 1 90"), WALLS, compat="upstream"))
    truth, odom, amcl = (stand.heard(t) for t in ("/base_pose_ground_truth", "/odom", "/amcl_pose"))
    tf, scans = stand.heard("/tf"), stand.heard("/scan")
    stand.twist("/cmd_vel", 0.5)
    stand.run(60)
    assert truth[-1].header.frame_id == amcl[-1].header.frame_id == "odom"
    assert odom[-1].twist.twist.linear.x == 0.0
    assert odom[-1].pose.pose.position.x > 0.0
    placed = tf[-1].transforms[0]
    assert (placed.header.frame_id, placed.child_frame_id) == ("map", "odom")
    assert placed.transform.translation[:] == (0.0, 0.0, 0.0)
    assert scans[-1].ranges.max() == 6.0


def test_the_file_may_be_a_parameter(tmp_path: Path) -> None:
    file = tmp_path / "one.world.xml"
    file.write_text(f"<mvsim_world version='1.0'>{robot('r1', '0 0 0')}</mvsim_world>")
    identity = Identity("mvsim")
    for words, given in ((["-p", f"world_file:={file}"], None), ([], file)):
        arguments = parse_arguments(["--ros-args", *words] if words else [])
        node = Node(identity, InProcess(identity, Exchange()), arguments, Clock(wall=False))
        assert [*program(node, given).world.vehicles] == ["r1"]
    node = Node(identity, InProcess(identity, Exchange()), clock=Clock(wall=False))
    with pytest.raises(InvalidValue, match="give a world file"):
        program(node)


def test_a_world_full_of_notes_and_a_silent_receiver_are_logged_in_brief(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tags = "".join(f"<unheard_of_{k}>1</unheard_of_{k}>" for k in range(60))
    receiver = "<sensor class='gnss' name='fix'/>"
    file = tmp_path / "many.world.xml"
    file.write_text(f"<mvsim_world>{robot('r1', '0 0 0', receiver)}{tags}</mvsim_world>")
    identity = Identity("mvsim")
    node = Node(identity, InProcess(identity, Exchange()), clock=Clock(wall=False))
    program(node, file)
    lines = capsys.readouterr().err.splitlines()
    assert max(map(len, lines)) < 400
    assert any("no <georeference>: gnss fix of r1 (" in line for line in lines)
    assert "`skidpad check many.world.xml`" in lines[-1]


def test_frames_lead_to_the_robots_on_level_ground_too() -> None:
    stand = Stand(scene(*TWO))
    tf = stand.heard("/r1/tf")
    stand.twist("/r1/cmd_vel", 0.8, 0.9)
    stand.run(90)
    placed, reckoned = (one.transform for one in tf[-1].transforms)
    true = stand.world.vehicles["r1"].truth
    turn = yaw_of(placed.rotation)
    c, s = np.cos(turn), np.sin(turn)
    x, y, _ = reckoned.translation
    at = (placed.translation.x + c * x - s * y, placed.translation.y + s * x + c * y)
    assert at == pytest.approx((true.x, true.y), abs=1e-12)
    assert turn + yaw_of(reckoned.rotation) == pytest.approx(true.yaw, abs=1e-12)
    # The factors of odometry are not 1 by default, so that there is something to correct.
    assert abs(turn - np.pi / 4) > 1e-4


def test_localisation_is_there_for_who_comes_later() -> None:
    stand = Stand(scene(robot("r1", "1 2 0")))
    stand.run(100)
    (late,) = stand.heard("/amcl_pose", LATCHED)
    age = stand.node.clock.now() - late.header.stamp.sec * SECOND - late.header.stamp.nanosec
    assert 0 <= age <= 500_000_000


def test_every_number_of_a_log_has_a_topic_if_asked_for() -> None:
    stand = Stand(scene(*TWO), "-p", "publish_log_topics:=true")
    columns = ("q0x", "q1y", "q3yaw", "dqx", "dqw", "odo_yaw")
    heard = {name: stand.heard(f"/r2/log/pose/{name}") for name in columns}
    left, right = (stand.heard(f"/r2/log/wheel_{k}/velocity_x") for k in (1, 2))
    stand.twist("/r2/cmd_vel", 0.5, 0.8)
    stand.run(50)
    true = stand.world.vehicles["r2"].truth
    last = {name: messages[-1].data for name, messages in heard.items()}
    assert [len(messages) for messages in heard.values()] == [50] * len(columns)
    assert (last["q0x"], last["q1y"], last["q3yaw"]) == (true.x, true.y, true.yaw)
    assert (last["dqx"], last["dqw"]) == (true.v_x, true.omega)
    assert last["odo_yaw"] == stand.world.readings("r2")["odometry"].yaw
    # Wheels half a metre to either side.
    assert right[-1].data - left[-1].data == pytest.approx(true.omega * 1.0)
    assert right[-1].data + left[-1].data == pytest.approx(2.0 * true.v_x)


def test_a_world_without_robots_has_its_map_and_its_time() -> None:
    for words in ((), ("-p", "shared_tf:=true")):
        stand = Stand(scene(WALLS), *words)
        clock = stand.heard("/clock", Qos(reliable=False))
        stand.run(3)
        assert len(clock) == 3
        assert stand.heard("/simul_map", LATCHED)


def test_robots_with_names_of_any_length_share_a_tree() -> None:
    robots = [robot("r1", "0 0 0"), robot("robot_two", "3 0 90"), robot("r3", "6 0 180")]
    stand = Stand(scene(*robots), "-p", "shared_tf:=true")
    truths = {name: stand.heard(f"/{name}/base_pose_ground_truth") for name in stand.world.vehicles}
    odoms = {name: stand.heard(f"/{name}/odom") for name in stand.world.vehicles}
    for name in truths:
        stand.twist(f"/{name}/cmd_vel", 0.4)
    stand.run(30)
    for name, heard in truths.items():
        position = heard[-1].pose.pose.position
        true = stand.world.vehicles[name].truth
        assert (position.x, position.y) == (true.x, true.y)
        assert heard[-1].child_frame_id == f"{name}/base_link"
        assert odoms[name][-1].header.frame_id == f"{name}/odom"
        assert odoms[name][-1].twist.twist.linear.x > 0.1
