"""Sensors, maps and outlines that a world's node publishes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ros2.world_stand import (
    CAMERA,
    CARS,
    GNSS,
    IMU,
    TWO,
    WALLS,
    Stand,
    robot,
    scene,
    yaw_of,
)
from skidpad.ros2.dds import LATCHED, Qos
from skidpad.ros2.messages import message_type
from skidpad.ros2.node import SECOND


def test_scans_are_the_readings() -> None:
    stand = Stand(scene(robot("r1", "3 0 0"), WALLS))
    scans = stand.heard("/scan", Qos(reliable=False))
    stand.run(25)
    reading = stand.world.readings("r1")["scan"]
    assert len(scans) == 2
    last = scans[-1]
    assert last.header.frame_id == "scan"
    stamp = last.header.stamp.sec + 1e-9 * last.header.stamp.nanosec
    assert stamp == pytest.approx(reading.stamp, abs=1e-9)
    assert last.ranges.tobytes() == reading.ranges.astype(np.float32).tobytes()
    assert np.isinf(last.ranges).any()
    assert np.isfinite(last.ranges).any()
    angles = last.angle_min + last.angle_increment * np.arange(len(last.ranges))
    assert angles == pytest.approx(reading.angles, abs=1e-4)
    assert last.angle_max == np.float32(np.radians(135.0))
    assert (last.range_max, len(last.intensities)) == (6.0, 0)


def test_inertial_units_tell_how_they_lie_and_how_much_they_err() -> None:
    stand = Stand(scene(robot("r1", "0 0 30", IMU)))
    imu = stand.heard("/imu")
    stand.twist("/cmd_vel", 0.3, 1.0)
    stand.run(50)
    reading = stand.world.readings("r1")["imu"]
    # Each of the readings comes, though there are two in a tick, at its own time.
    stamps = [m.header.stamp.sec * SECOND + m.header.stamp.nanosec for m in imu]
    assert np.diff(stamps).tolist() == [5_000_000] * (len(imu) - 1)
    assert len(imu) == 99
    last = imu[-1]
    assert tuple(last.angular_velocity) == reading[3:6]
    assert tuple(last.linear_acceleration) == reading[:3]
    true = stand.world.vehicles["r1"].truth
    turn = yaw_of(last.orientation) - true.yaw
    assert np.remainder(turn, 2.0 * np.pi) == pytest.approx(0.5 * np.pi, abs=1e-9)
    assert last.angular_velocity_covariance[[0, 4, 8]] == pytest.approx([4e-8] * 3)
    assert last.orientation_covariance[0] == 0.0
    silent = IMU.replace("<measure_orientation>true", "<measure_orientation>false")
    stand = Stand(scene(robot("r1", "0 0 30", silent)))
    imu = stand.heard("/imu")
    stand.run(2)
    assert imu[-1].orientation_covariance[0] == -1.0


def test_receivers_tell_places_on_earth() -> None:
    geo = "<georeference><latitude>36.8</latitude><longitude>-2.4</longitude></georeference>"
    stand = Stand(scene(robot("r1", "100 0 0", GNSS), geo))
    fixes = stand.heard("/gps")
    stand.run(45)
    reading = stand.world.readings("r1")["gps"]
    assert len(fixes) == 2
    assert (fixes[-1].latitude, fixes[-1].longitude) == (reading.latitude, reading.longitude)
    assert fixes[-1].altitude == reading.altitude
    assert fixes[-1].position_covariance.tolist() == [4.0, 0, 0, 0, 4.0, 0, 0, 0, 16.0]
    assert fixes[-1].position_covariance_type == 2
    assert fixes[-1].status[:] == (0, 1)


def test_sensors_that_are_not_simulated_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    stand = Stand(scene(robot("r1", "0 0 0", CAMERA)))
    assert "camera cam of r1 is not simulated: it needs a renderer" in capsys.readouterr().err
    assert not [name for name in stand.exchange.types if "cam" in name]


def test_the_map_has_walls_where_they_are_and_is_kept_for_who_comes_later() -> None:
    block = (
        "<block name='b'><static>true</static><init_pose>-4 2 30</init_pose>"
        "<shape><pt>-1 -1</pt><pt>1 -1</pt><pt>1 1</pt><pt>-1 1</pt></shape></block>"
    )
    stand = Stand(scene(robot("r1", "0 0 0"), WALLS, block))
    (plan,) = stand.heard("/simul_map", LATCHED)
    (about,) = stand.heard("/simul_map_metadata", LATCHED)
    assert about == plan.info
    assert plan.header.frame_id == "map"
    cells = plan.data.reshape(plan.info.height, plan.info.width)
    x0, y0 = plan.info.origin.position[:2]

    def at(x: float, y: float) -> int:
        r = plan.info.resolution
        return int(cells[int((y - y0) / r), int((x - x0) / r)])

    assert at(6.0, 0.0) == at(-4.0, 2.0) == 100
    assert at(5.8, 0.0) == at(0.0, 0.0) == at(-4.0, 0.2) == 0
    # Areas of walls of 0.1 x 7 and a block of 2 x 2 m, with the cells on their borders.
    area = np.count_nonzero(cells == 100) * plan.info.resolution**2
    assert 4.7 < area < 6.5
    assert set(np.unique(cells)) == {0, 100}


def test_a_grid_alone_is_the_map_as_it_is(tmp_path: Path) -> None:
    import numpy as np
    from PIL import Image

    image = np.full((20, 40), 255, np.uint8)
    image[0, :] = image[:, 0] = 0
    Image.fromarray(image).save(tmp_path / "plan.png")
    element = (
        "<element class='occupancy_grid'><file>plan.png</file><resolution>0.5</resolution>"
        "<centerpixel_x>20</centerpixel_x><centerpixel_y>10</centerpixel_y></element>"
    )
    what = scene(robot("r1", "0 0 0"), element, folder=str(tmp_path))
    (plan,) = Stand(what).heard("/simul_map", LATCHED)
    assert (plan.info.width, plan.info.height, plan.info.resolution) == (40, 20, 0.5)
    assert np.count_nonzero(plan.data == 100) == 59


def test_outlines_for_planners_and_rviz() -> None:
    car = f"<vehicle name='car'><init_pose>0 0 0</init_pose>{CARS['steer']}</vehicle>"
    stand = Stand(scene(car))
    (polygon,) = stand.heard("/chassis_polygon", LATCHED)
    shape = stand.world.vehicles["car"].vehicle.geometry.outlines[0]
    assert [(p.x, p.y) for p in polygon.points] == pytest.approx(np.array(shape, np.float32))
    markers = stand.heard("/chassis_markers", LATCHED)
    first = markers[0].markers
    assert [m.ns.rpartition(".")[2] for m in first] == [
        "chassis_shape", "wheel0", "wheel1", "wheel2", "wheel3",
    ]  # fmt: skip
    assert {m.header.frame_id for m in first} == {"base_link"}
    assert first[0].points[0] == first[0].points[-1]
    Drive = message_type("ackermann_msgs/msg/AckermannDrive").Record
    stand.say("/drive", drive=Drive(speed=1.0, steering_angle=0.2))
    stand.run(50)
    state = stand.world.vehicles["car"].state
    turned = [yaw_of(m.pose.orientation) for m in markers[-1].markers[1:]]
    assert turned == pytest.approx([0.0, 0.0, state.steer_fl, state.steer_fr])
    assert len(markers) <= 7


def test_names_that_ros_does_not_take_are_changed(capsys: pytest.CaptureFixture[str]) -> None:
    stand = Stand(scene(robot("robot 1", "0 0 0"), robot("2nd", "3 0 0")))
    assert {"/robot_1/odom", "/_2nd/odom"} <= {*stand.exchange.types}
    said = capsys.readouterr().err
    assert "'robot 1' is 'robot_1'" in said
    assert "'2nd' is '_2nd'" in said


def test_who_comes_later_is_heard_of_within_moments() -> None:
    stand = Stand(scene(*TWO))
    stand.run(100)
    odom, scans = stand.heard("/r1/odom"), stand.heard("/r2/scan")
    stand.run(80)
    assert len(odom) >= 10
    assert len(scans) >= 2
