"""Slopes under vehicles: closed forms on a plane of constant grade, planes, ramps and bumps."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.world.scene import WorldWarning
from skidpad.world.terrain import Terrain
from world.grounds import axes, grade, plane
from world.worlds import world

KINDS = ("differential", "differential_3_wheels", "differential_4_wheels", "ackermann")


def robot(kind: str, pose: str = "0 0 0", inside: str = "", more: str = "") -> str:
    return (
        f"<vehicle name='r'><init_pose>{pose}</init_pose>"
        f"<dynamics class='{kind}'>{inside}</dynamics>{more}</vehicle>"
    )


def disturbance(made: sp.World) -> dict[str, float]:
    group = made._groups[0]
    return dict(zip(group.model.Disturbance._fields, group.disturbances[0].tolist(), strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("yaw", [0.0, 90.0, 180.0, -37.0])
def test_a_vehicle_lies_on_a_plane_whatever_its_heading(kind: str, yaw: float) -> None:
    along_x, along_y = 0.15, -0.07
    made = sp.World(world(robot(kind, f"3 2 {yaw}") + grade(along_x, along_y)))
    truth = made.vehicles["r"].truth
    assert truth.z == pytest.approx(3 * along_x + 2 * along_y, abs=1e-12)
    turned = axes(truth.yaw, truth.pitch, truth.roll)
    normal = np.array([-along_x, -along_y, 1.0]) / math.sqrt(1 + along_x**2 + along_y**2)
    np.testing.assert_allclose(turned[:, 2], normal, atol=1e-12)
    made.step()
    found = disturbance(made)
    down = turned.T @ (0.0, 0.0, -1.0)
    assert (found["slope_x"], found["slope_y"]) == pytest.approx(tuple(down[:2]), abs=1e-12)


@pytest.mark.parametrize("name", ["four_wheel", "kinematic_bicycle"])
def test_vehicles_of_other_models_lie_on_the_ground_too(name: str) -> None:
    car = (
        "<vehicle name='r'><init_pose>1 2 30</init_pose>"
        f"<dynamics class='skidpad:{name}'/></vehicle>"
    )
    with warnings.catch_warnings():
        # One of them is not pulled by slopes, which is said.
        warnings.simplefilter("ignore", WorldWarning)
        made = sp.World(world(car + grade(0.1, 0.05)))
    made.step()
    truth = made.vehicles["r"].truth
    assert truth.z == pytest.approx(0.1 * truth.x + 0.05 * truth.y, abs=1e-12)
    normal = np.array([-0.1, -0.05, 1.0]) / math.sqrt(1.0125)
    np.testing.assert_allclose(axes(truth.yaw, truth.pitch, truth.roll)[:, 2], normal, atol=1e-12)


def test_signs_uphill_and_across() -> None:
    angle = math.atan(0.2)
    made = sp.World(world(robot("ackermann") + grade(0.2, 0.0)))
    up = made.vehicles["r"].truth
    assert (up.pitch, up.roll) == pytest.approx((-angle, 0.0))
    made.step()
    # Uphill ahead: down points backwards.
    assert disturbance(made)["slope_x"] == pytest.approx(-math.sin(angle))
    made = sp.World(world(robot("ackermann") + grade(0.0, 0.2)))
    across = made.vehicles["r"].truth
    # The left side is higher: the right side is down.
    assert (across.pitch, across.roll) == pytest.approx((0.0, angle))
    made.step()
    assert disturbance(made)["slope_y"] == pytest.approx(-math.sin(angle))


def test_an_idle_robot_rolls_as_gravity_says_and_a_braked_one_holds() -> None:
    wheels = "".join(
        f"<{n}_wheel pos='{x} {y}' mass='2' diameter='0.4' width='0.1'/>"
        for n, x, y in (("lr", 0, 0.5), ("rr", 0, -0.5), ("lf", 0.5, 0.5), ("rf", 0.5, -0.5))
    )
    chassis = "<chassis mass='15' linear_damping='0' angular_damping='0'/>"
    smooth = "<friction class='default'><mu>0.8</mu><C_damping>0</C_damping></friction>"
    slope = 0.1
    idle = robot("differential_4_wheels", inside=wheels + chassis, more=smooth)
    made = sp.World(world(idle + grade(slope, 0.0)))
    made.run(1.0)
    # Rolling wheels, solid discs, weigh half as much again.
    a = -9.81 * math.sin(math.atan(slope)) * 23.0 / (23.0 + 4 * 1.0)
    truth = made.vehicles["r"].truth
    assert truth.v_x == pytest.approx(a, rel=0.01)
    assert truth.x == pytest.approx(0.5 * a, rel=0.02)
    assert truth.z == pytest.approx(slope * truth.x, abs=1e-9)

    twist = "<controller class='twist_pid'><KP>50</KP></controller>"
    held = robot("differential_4_wheels", inside=wheels + chassis + twist, more=smooth)
    made = sp.World(world(held + grade(slope, 0.0)))
    made.vehicles["r"].command(v=0.0, omega=0.0)
    made.run(2.0)
    assert abs(made.vehicles["r"].truth.x) < 0.01


def test_level_ground_changes_no_bit() -> None:
    def driven(ground: str) -> Any:
        made = sp.World(
            world(robot("ackermann", inside="<controller class='front_steer_pid'/>") + ground)
        )
        made.vehicles["r"].command(v=2.0, steer=0.2)
        made.run(1.0)
        return made.vehicles["r"].state, made.vehicles["r"].truth

    plain = driven("")
    assert plain[1][2:6:3] == (0.0, 0.0)
    assert driven(plane(0.0)) == plain
    state, truth = driven(plane(-0.5))
    assert state == plain[0]
    assert (truth.z, truth.pitch, truth.roll) == (-0.5, 0.0, 0.0)


def heights(inside: str, *points: tuple[float, float], reach: float = 9.0) -> list[float]:
    x, y = np.array(points).T
    return Terrain(world(inside)).height(x, y, np.full(x.shape, reach)).tolist()


def test_heights_between_the_points_of_a_lattice() -> None:
    bent = (
        "<element class='elevation_map'><resolution>2</resolution><elevation_data_matrix>"
        "[0 1 2; 4 8 0]</elevation_data_matrix><corner_min_x>1</corner_min_x>"
        "<corner_min_y>-1</corner_min_y></element>"
    )
    # Rows run along x, columns along y; the middle of a cell has the mean of its corners.
    found = heights(bent, (1, -1), (3, -1), (1, 3), (3, 3), (2, 0), (2, 2), (2, -1), (0.9, 0))
    assert found == pytest.approx([0, 4, 2, 0, 13 / 4, 11 / 4, 2, 0])


def test_ramps_rise_and_bumps_are_round() -> None:
    ramp = (
        "<block name='a'><static>true</static><intangible>true</intangible>"
        "<init_pose>2 3 90</init_pose><geometry type='ramp' lx='4' ly='2' lz='1'/></block>"
    )
    assert heights(ramp, (2, 3), (2, 5), (2.9, 7), (2, 7.1), (3.1, 5)) == pytest.approx(
        [0, 0.5, 1, 0, 0]
    )
    bump = (
        "<block name='b'><intangible>true</intangible><init_pose>0 0 0</init_pose>"
        "<geometry type='semi_cylinder_bump' lx='3' ly='0.4' lz='0.1'/></block>"
    )
    found = heights(bump, (0, 0), (1.4, 0.1), (0, 0.2), (0, 0.3), (1.6, 0))
    assert found == pytest.approx([0.1, 0.1 * math.sqrt(0.75), 0, 0, 0], abs=1e-9)


def test_floors_above_are_left_alone() -> None:
    floors = plane(0.5) + plane(3.0)
    assert heights(floors, (0, 0), reach=1.0) == [0.5]
    assert heights(floors, (0, 0), reach=3.1) == [3.0]
    assert heights(floors, (0, 0), reach=0.2) == [0.0]
    up = robot("ackermann").replace(
        "<init_pose>0 0 0</init_pose>", "<init_pose3d>0 0 3 0 0 0</init_pose3d>"
    )
    made = sp.World(world(up + floors))
    made.step()
    assert made.vehicles["r"].truth.z == 3.0


def test_a_lift_carries_and_a_moment_comes_back() -> None:
    lift = plane(0.0).replace(
        "</element>",
        "<animation type='keyframes'><time_pose3d>0 0 0 0 0 0 0</time_pose3d>"
        "<time_pose3d>4 0 0 2 0 0 0</time_pose3d></animation></element>",
    )
    made = sp.World(world(robot("ackermann") + lift))
    ground = made._ground
    for time in np.arange(0.0, 2.0, 0.1):
        ground.act(float(time))
    assert made.vehicles["r"].truth.z == pytest.approx(0.95)
    moment = ground.snapshot()
    ground.act(0.0)
    # The lift is back on the floor at once; the vehicle falls for one step of 0.01 s.
    assert made.vehicles["r"].truth.z == pytest.approx(0.95 - 0.5 * 9.81 * 0.01**2, abs=1e-12)
    ground.restore(moment)
    assert made.vehicles["r"].truth.z == pytest.approx(0.95)


def test_of_regions_that_overlap_the_first_counts_at_each_wheel() -> None:
    region = (
        "<element class='property_region'><property_name>friction_mu</property_name>"
        "<value_double>{mu}</value_double><x_min>-1</x_min><x_max>9</x_max><y_min>{low}</y_min>"
        "<y_max>1</y_max><z_min>-1</z_min><z_max>1</z_max></element>"
    )
    both = region.format(mu=0.3, low=0) + region.format(mu=0.6, low=-0.95)
    made = sp.World(world(robot("ackermann") + both))
    made.step()
    found = disturbance(made)
    # The front wheels stand further out than the rear ones, at y = 1 and -1 m.
    assert [found[f"mu_{n}"] for n in ("rl", "rr", "fl", "fr")] == [0.3, 0.6, 0.3, -1.0]
    assert found["rolling_rl"] == -1.0


def test_a_car_climbs_a_ramp() -> None:
    ramp = (
        "<block name='a'><static>true</static><intangible>true</intangible>"
        "<init_pose>3 0 0</init_pose><geometry type='ramp' lx='20' ly='6' lz='2'/></block>"
    )
    drive = (
        "<controller class='twist_front_steer_pid'><KP>2000</KP><KI>200</KI>"
        "<max_torque>2000</max_torque></controller>"
    )
    made = sp.World(world(robot("ackermann", inside=drive) + plane(0.0, (-30, 30, -9, 9)) + ramp))
    made.vehicles["r"].command(v=2.0, omega=0.0)
    made.run(4.0)
    truth = made.vehicles["r"].truth
    assert truth.x > 5.0
    assert truth.z == pytest.approx(0.1 * (truth.x - 3.0), abs=1e-9)
    assert truth.pitch == pytest.approx(-math.atan(0.1))
