"""Sensors in a world: what they show, when, and that their noise is theirs alone."""

from __future__ import annotations

import dataclasses
import json
import math
import pickle

import numpy as np
import pytest

import skidpad as sp
from skidpad.geometry.maps import Grid
from skidpad.world.scene import OccupancyGrid
from skidpad.world.xml import loads
from world.sensor_worlds import IDEAL, QUIET, after, gnss, imu, laser, robot, shown
from world.worlds import DATA, world


def test_the_recorded_scan() -> None:
    scenes = json.loads((DATA / "mvsim" / "scenes.json").read_text("utf-8"))
    (text,) = (scene["world_xml"] for scene in scenes if scene["name"] == "lidar2d")
    with np.load(DATA / "mvsim" / "scenes.npz") as file:
        _, ranges, valid = file["scene_lidar2d"].T
    made = sp.World(loads(text, compat="upstream"))
    made.run(0.2)
    found = shown(made, "l", "v").ranges
    met = valid > 0.5
    assert 100 < met.sum() < 271
    np.testing.assert_array_equal(np.isfinite(found), met)
    np.testing.assert_allclose(found[met], ranges[met], atol=1e-5)


def test_a_reading_comes_a_period_after_the_one_before_and_is_stamped_after_the_step() -> None:
    made = sp.World(world(robot(laser() + imu(period=0.0))))
    stamps: list[float] = []
    for k in range(50):
        made.step()
        assert shown(made, "imu").stamp == pytest.approx(0.005 * (k + 1))
        scan = shown(made, "scan")
        if scan is None:
            assert made.time < 0.104
        elif not stamps or scan.stamp > stamps[-1]:
            stamps.append(scan.stamp)
    assert stamps == pytest.approx([0.105, 0.205])


def test_rays_go_from_right_to_left_and_meet_what_moves() -> None:
    block = (
        "<block name='b'><init_pose>0 -4 0</init_pose>"
        "<shape><pt>-1 -1</pt><pt>1 -1</pt><pt>1 1</pt><pt>-1 1</pt></shape>"
    )
    door = block.replace("'b'", "'d'").replace("0 -4 0", "8 0 0") + "<static>true</static>"
    slide = (
        "<animation type='keyframes'><time_pose>0 0 0 0</time_pose>"
        "<time_pose>10 10 0 0</time_pose></animation>"
    )
    actor = (
        "<actor name='a'><init_pose>-6 0 0</init_pose><collision_radius>0.5</collision_radius>"
        "</actor>"
    )
    scene = world(
        robot(laser(360, 5))
        + robot(name="other", pose="0 3 0")
        + f"{block}</block>{door}{slide}</block>{actor}"
    )
    made = after(scene, 0.2)
    # Behind, right, ahead, left, behind. The door slides at 1 m/s from 7 m, and is moved to where
    # it is when the step begins.
    expected = [5.5, 3.0, 7.1, 2.5, 5.5]
    assert shown(made, "scan").ranges == pytest.approx(expected, abs=1e-6)
    made.run(0.1)
    assert shown(made, "scan").ranges[2] == pytest.approx(7.2, abs=1e-6)


def test_a_laser_without_bodies_sees_the_map_only() -> None:
    plain = after(world(robot(laser()) + robot(name="o", pose="0 3 0")), 0.2)
    assert shown(plain, "scan").ranges.tolist() == [math.inf, math.inf, 2.5]
    blind = laser().replace("</sensor>", "<bodies_visible>false</bodies_visible></sensor>")
    scene = world(robot(blind) + robot(name="o", pose="0 3 0"))
    assert shown(after(scene, 0.2), "scan").ranges.tolist() == [math.inf] * 3
    # One cell of half a metre ahead, in a second map one to the left beyond the other robot.
    ahead = OccupancyGrid(Grid(np.array([[True]]), 0.5, (4.0, -0.25, 0.0)))
    left = OccupancyGrid(Grid(np.array([[True]]), 0.5, (-0.25, 6.0, 0.0)))
    mapped = dataclasses.replace(scene, elements=(ahead, left))
    expected = [math.inf, 4.0, 6.0]
    assert shown(after(mapped, 0.2), "scan").ranges.tolist() == pytest.approx(expected)
    seeing = world(robot(laser()) + robot(name="o", pose="0 3 0"))
    mapped = dataclasses.replace(seeing, elements=(ahead, left))
    assert shown(after(mapped, 0.2), "scan").ranges.tolist() == pytest.approx([math.inf, 4.0, 2.5])


@pytest.mark.parametrize("still", ["<static>true</static>", ""])
def test_a_ramp_is_seen_from_outside_but_not_from_on_it(still: str) -> None:
    ramp = (
        f"<block name='b'><init_pose>3 0 0</init_pose><mass>900</mass>{still}"
        "<geometry type='ramp' lx='4' ly='6' lz='0.4'/></block>"
    )
    wall = "<walls><shape><pt>12.05 -5</pt><pt>12.05 5</pt></shape></walls>"
    before = after(world(robot(laser()) + ramp + wall), 0.2)
    assert shown(before, "scan").ranges[1] == pytest.approx(3.0, abs=1e-6)
    on_it = after(world(robot(laser(), pose="5 0 0", control=IDEAL) + ramp + wall), 0.2)
    assert shown(on_it, "scan").ranges[1] == pytest.approx(7.0, abs=1e-6)


WALLS = "<walls><shape><pt>-9 5</pt><pt>9 5</pt><pt>-9 -5</pt><pt>9 -5</pt></shape></walls>"


def test_noise_belongs_to_its_sensor_whatever_the_order() -> None:
    noisy = [robot(laser(90, 50, 0.1) + imu(""), name=n, pose=p)
             for n, p in (("r", "0 0 90"), ("q", "4 0 90"))]  # fmt: skip
    one = after(world("".join(noisy) + WALLS), 0.5, seed=4)
    other = after(world(WALLS + "".join(noisy[::-1])), 0.5, seed=4)
    for name in ("r", "q"):
        assert (
            shown(one, "scan", name).ranges.tolist() == shown(other, "scan", name).ranges.tolist()
        )
        assert repr(shown(one, "imu", name)) == repr(shown(other, "imu", name))
    exact = after(world(robot(laser(90, 50), pose="0 0 90") + WALLS), 0.5)
    alone = after(world(noisy[0] + WALLS), 0.5, seed=4)
    assert shown(alone, "scan").ranges.tolist() == shown(one, "scan").ranges.tolist()
    error = shown(alone, "scan").ranges - shown(exact, "scan").ranges
    assert 0.07 < error.std() < 0.13
    reseeded = after(world(noisy[0] + WALLS), 0.5, seed=5)
    assert not np.any(shown(reseeded, "scan").ranges == shown(alone, "scan").ranges)


def test_an_inertial_unit_feels_gravity_turning_and_slopes() -> None:
    at_rest = shown(after(world(robot(imu())), 0.2), "imu")
    assert at_rest[:6] == pytest.approx((0, 0, 9.81, 0, 0, 0), abs=1e-9)
    assert math.isnan(at_rest.yaw)
    # 1 m ahead of the middle of a turn, axes turned to the left: the pull is inwards.
    ahead = imu("<pose>1 0 90</pose>" + QUIET)
    turning = shown(after(world(robot(ahead, control=IDEAL)), 0.3, v=0.0, omega=0.5), "imu")
    assert turning[:6] == pytest.approx((0, 0.25, 9.81, 0, 0, 0.5), abs=1e-6)
    driving = shown(after(world(robot(imu(), control=IDEAL)), 0.3, v=2.0, omega=0.5), "imu")
    # The difference over a step is that of its middle, and the robot turns by 0.0025 rad in one.
    assert driving[:2] == pytest.approx((0, 1.0), abs=5e-3)
    slope = (
        "<element class='elevation_map'><resolution>20</resolution><elevation_data_matrix>"
        "[-1 -1; 1 1]</elevation_data_matrix><corner_min_x>-10</corner_min_x>"
        "<corner_min_y>-10</corner_min_y></element>"
    )
    tilted = imu("<measure_orientation>true</measure_orientation>"
                 "<orientation_std_noise>0</orientation_std_noise>" + QUIET)  # fmt: skip
    uphill = shown(after(world(robot(tilted, control=IDEAL) + slope), 0.2, v=0.0), "imu")
    angle = math.atan(0.1)
    assert (uphill.f_x, uphill.f_z) == pytest.approx(
        (9.81 * math.sin(angle), 9.81 * math.cos(angle)), abs=1e-6
    )
    assert (uphill.roll, uphill.pitch) == pytest.approx((0.0, -angle), abs=1e-9)


def test_the_bias_of_an_inertial_unit_walks_with_time() -> None:
    walk = "<angular_velocity_random_walk_std_noise>1</angular_velocity_random_walk_std_noise>"
    for compat, step in ((None, 0.02), ("upstream", 0.005)):
        made = sp.World(world(robot(imu(QUIET + walk, period=0.02)), compat=compat))
        seen: list[float] = []
        for _ in range(400):
            made.run(0.02)
            seen.append(shown(made, "imu").omega_z if shown(made, "imu") else 0.0)
        # Each step is as long as the time it stands for; upstream takes a step of the world.
        assert np.diff(seen).std() == pytest.approx(math.sqrt(step), rel=0.12)


GEO = (
    "<georeference><latitude>36.8</latitude><longitude>-2.4</longitude><height>100</height>"
    "<world_to_enu_rotation_deg>{turn}</world_to_enu_rotation_deg></georeference>"
)


def test_satellites_give_the_place_on_the_globe() -> None:
    fix = shown(after(world(robot(gnss(), pose="0 0 0") + GEO.format(turn=0)), 0.2), "gps")
    assert (fix.latitude, fix.longitude) == pytest.approx((36.8, -2.4), abs=1e-12)
    assert fix.altitude == pytest.approx(100.0, abs=1e-6)
    # The world's x axis points north: 111 m are about a thousandth of a degree of latitude.
    north = shown(after(world(robot(gnss(), pose="111 0 0") + GEO.format(turn=90)), 0.2), "gps")
    assert north.latitude - 36.8 == pytest.approx(1e-3, rel=5e-3)
    assert north.longitude == pytest.approx(-2.4, abs=1e-9)
    noisy = shown(after(world(robot(gnss(2.0)) + GEO.format(turn=0)), 0.2), "gps")
    assert 0.0 < abs(noisy.x) < 12.0


def test_a_receiver_in_a_world_of_utm_coordinates() -> None:
    # The CN Tower in Toronto, zone 17 N, in the worked example of Wikipedia's article on UTM.
    utm = (
        "<georeference><latitude>43.64</latitude><longitude>-79.39</longitude>"
        "<height>76</height><world_is_utm>true</world_is_utm></georeference>"
    )
    fix = shown(after(world(robot(gnss(), pose="630084 4833438 0") + utm), 0.2), "gps")
    assert (fix.latitude, fix.longitude) == pytest.approx(
        (43 + 38 / 60 + 33.24 / 3600, -(79 + 23 / 60 + 13.7 / 3600)), abs=2e-5
    )
    assert fix.altitude == pytest.approx(76.0 + fix.z)


def test_satellites_are_silent_without_a_place_and_where_there_is_no_coverage() -> None:
    assert shown(after(world(robot(gnss())), 0.2), "gps") is None
    tunnel = (
        "<element class='property_region'><property_name>gps_no_coverage</property_name>"
        "<value_bool>true</value_bool><x_min>1</x_min><x_max>50</x_max></element>"
    )
    made = sp.World(world(robot(gnss(), control=IDEAL) + GEO.format(turn=0) + tunnel))
    made.vehicles["r"].command(v=1.0)
    made.run(3.0)
    # The last fix is the one before x = 1 m, which is reached after a second.
    assert made.vehicles["r"].truth.x > 2.5
    assert 0.85 < shown(made, "gps").stamp < 1.1


def test_odometry_counts_with_its_own_measure() -> None:
    factors = "<odometry x_multiplier='1.1' y_multiplier='1' yaw_multiplier='0.5'/>"
    made = sp.World(world(robot(factors, control=IDEAL, pose="5 4 90")))
    made.vehicles["r"].command(v=1.0, omega=0.8)
    x = y = yaw = 0.0
    for _ in range(600):
        before = made.vehicles["r"].truth
        made.step()
        now = made.vehicles["r"].truth
        c, s = math.cos(before.yaw), math.sin(before.yaw)
        dx, dy = now.x - before.x, now.y - before.y
        ahead, left = 1.1 * (c * dx + s * dy), c * dy - s * dx
        x += math.cos(yaw) * ahead - math.sin(yaw) * left
        y += math.sin(yaw) * ahead + math.cos(yaw) * left
        yaw += 0.5 * (now.yaw - before.yaw)
    found = shown(made, "odometry")
    assert found[:3] == pytest.approx((x, y, yaw), abs=1e-9)
    assert (found.v_x, found.omega) == pytest.approx((1.0, 0.8), abs=1e-6)
    drawn = [
        shown(after(world(robot(control=IDEAL)), 1.0, seed=k, v=1.0), "odometry").x
        for k in range(3)
    ]
    assert len(set(drawn)) == 3
    assert drawn == pytest.approx([1.0] * 3, abs=0.1)


def test_a_bumper_tells_of_contacts() -> None:
    wall = "<walls><shape><pt>1 -5</pt><pt>1 5</pt><pt>9 -5</pt><pt>9 5</pt></shape></walls>"
    twist = "<controller class='twist_pid'/>"
    made = sp.World(world(robot(control=twist) + wall))
    made.step()
    assert not shown(made, "bumper").touching
    made.vehicles["r"].command(v=1.0)
    made.run(2.0)
    assert shown(made, "bumper") == (True, pytest.approx(2.005))


def test_readings_come_back_and_unknown_names_are_refused() -> None:
    made = after(world(robot(laser(90, 20, 0.1) + imu("")) + WALLS), 0.4)
    moment, sensed = made.snapshot(), made.sensing.snapshot()
    made.run(0.5)
    later = pickle.dumps(dict(made.sensing.of("r")))
    made.restore(moment)
    made.sensing.restore(sensed, made)
    made.run(0.5)
    assert pickle.dumps(dict(made.sensing.of("r"))) == later
    assert set(made.sensing.of("r")) == {"scan", "imu", "odometry", "bumper"}
    with pytest.raises(sp.InvalidValue, match="radar"):
        made.sensing.of("r")["radar"]
    with pytest.raises(sp.InvalidValue, match="nobody"):
        made.sensing.of("nobody")


def test_a_scan_carries_its_angles() -> None:
    """What each ray meets lies at its range along its angle: here on a wall 4 m ahead."""
    eye = (
        "<sensor class='laser' name='scan'><fov_degrees>90</fov_degrees><nrays>31</nrays>"
        "<range_std_noise>0</range_std_noise><angle_std_noise_deg>0</angle_std_noise_deg></sensor>"
    )
    carrier = (
        f"<vehicle name='r'><init_pose>0 0 0</init_pose><dynamics class='differential'/>{eye}"
        "</vehicle>"
    )
    wall = "<walls><shape><pt>4.05 -9</pt><pt>4.05 9</pt></shape></walls>"
    made = sp.World(world(carrier + wall))
    made.run(0.3)
    scan = made.vehicles["r"].sensors["scan"]
    assert scan.angles.shape == scan.ranges.shape
    assert scan.angles[0] == pytest.approx(-np.pi / 4.0)
    np.testing.assert_allclose(scan.ranges * np.cos(scan.angles), 4.0, atol=1e-9)
    with pytest.raises(ValueError, match="read-only"):
        scan.angles[0] = 1.0
