"""Ground that moves: ramps that are pushed or animated, bumps, platforms, and what starts on it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.world.terrain import Terrain
from world.worlds import world

FOUR = (
    "<vehicle name='r'>{pose}<dynamics class='differential_4_wheels'>"
    "<controller class='twist_pid'><KP>50</KP></controller></dynamics></vehicle>"
)


def robot(pose: str = "<init_pose>0 0 0</init_pose>") -> str:
    return FOUR.format(pose=pose)


def block(inside: str, pose: str = "0 0 0", name: str = "b") -> str:
    return f"<block name='{name}'><init_pose>{pose}</init_pose>{inside}</block>"


def keyframes(*frames: str) -> str:
    rows = "".join(f"<time_pose3d>{frame}</time_pose3d>" for frame in frames)
    return f"<animation type='keyframes'>{rows}</animation>"


RAMP = "<geometry type='ramp' lx='{lx}' ly='6' lz='{lz}'/>"
GHOST = "<intangible>true</intangible>"


def flat_ramp(lx: float = 8.0, lz: float = 0.8) -> str:
    return RAMP.format(lx=lx, lz=lz)


def height_at(made: sp.World, x: float, y: float, reach: float = 9.0) -> float:
    ground = made._ground
    point = (np.array([v]) for v in (x, y, reach))
    return float(ground._terrain.height(*point, made.time)[0])


def test_an_animated_ramp_slides_under_a_robot_and_lifts_it() -> None:
    # Its low end comes from 3 m ahead of the robot, goes to 2 m behind it in 2 s, and stays.
    slide = keyframes("0 3 0 0 0 0 0", "2 -2 0 0 0 0 0", "60 -2 0 0 0 0 0")
    under = block(flat_ramp() + GHOST + slide, "0 40 0")
    made = sp.World(world(robot("<init_pose>0 40 0</init_pose>") + under))
    assert made.vehicles["r"].truth.z == 0.0
    made.run(3.0)
    truth = made.vehicles["r"].truth
    # The ramp begins at x = -2 m and rises by a tenth.
    assert truth.z == pytest.approx(0.1 * (truth.x + 2.0), abs=1e-6)
    assert truth.pitch == pytest.approx(-math.atan(0.1), abs=1e-6)


SLIDING = "<init_vel>1 0 20</init_vel><ground_friction>0.001</ground_friction><mass>5</mass>"
"""Pushed once, and hardly held by the ground."""


def test_a_ramp_takes_its_height_along_when_it_slides() -> None:
    made = sp.World(world(robot() + block(SLIDING + flat_ramp(), "9 0 30")))
    start = made.block("b")
    # 4 m along the ramp it is 0.4 m high, wherever it is and however it is turned.
    for _ in range(3):
        at = made.block("b")
        ahead = at.x + 4.0 * math.cos(at.yaw), at.y + 4.0 * math.sin(at.yaw)
        assert height_at(made, *ahead) == pytest.approx(0.4, abs=1e-6)
        made.run(1.0)
    moved = made.block("b")
    assert math.hypot(moved.x - start.x, moved.y - start.y) > 1.0
    assert abs(moved.yaw - start.yaw) > 0.3
    # Where the ramp was lowest there is nothing any more.
    assert height_at(made, start.x + 0.1, start.y + 0.05) == 0.0


def test_a_ramp_that_slides_comes_back_with_a_moment() -> None:
    straight = SLIDING.replace("1 0 20", "1 0 0")
    made = sp.World(world(robot() + block(straight + flat_ramp(), "3 0 0")))
    made.run(1.0)
    moment, probe = made.snapshot(), made.block("b").x + 2.0
    high = height_at(made, probe, 0.0)
    assert high == pytest.approx(0.2, abs=1e-6)
    made.run(1.0)
    assert height_at(made, probe, 0.0) < high - 0.05
    made.restore(moment)
    assert height_at(made, probe, 0.0) == pytest.approx(high, abs=1e-6)
    made.reset()
    assert height_at(made, 5.0, 0.0) == pytest.approx(0.2, abs=1e-6)


@pytest.mark.parametrize("body", ["", GHOST, "<static>true</static>"])
def test_an_animated_ramp_turns_and_rises(body: str) -> None:
    turn = keyframes("0 0 0 0 0 0 0", "4 1 0 2 90 0 0")
    away = robot("<init_pose>-9 -9 0</init_pose>")
    made = sp.World(world(away + block(flat_ramp() + body + turn, "2 3 90")))
    made.run(2.0)
    # Half a metre ahead of its start, which is along y, and turned on by 45 degrees.
    yaw = 0.75 * math.pi
    ahead = 2.0 + 4.0 * math.cos(yaw), 3.5 + 4.0 * math.sin(yaw)
    # Blocks are moved when a step begins, 5 ms before.
    assert height_at(made, *ahead) == pytest.approx(0.4 + 1.0, abs=2e-3)
    assert height_at(made, 2.0, 10.9) == 0.0


def heights(scene: Any, *points: tuple[float, float], reach: float = 9.0) -> list[float]:
    x, y = np.array(points).T
    return Terrain(scene).height(x, y, np.full(x.shape, reach)).tolist()


def test_which_blocks_are_ground() -> None:
    box = "<geometry type='box' lx='2' ly='1' lz='0.3'/>"
    # A platform without a body has its top, in its own outline; an obstacle has none.
    assert heights(world(block(box + GHOST)), (1.0, 0.5), (2.1, 0.5)) == pytest.approx([0.3, 0.0])
    assert heights(world(block(box)), (1.0, 0.5)) == [0.0]
    assert heights(world(block(box + "<static>true</static>")), (1.0, 0.5)) == [0.0]
    # A ramp is both, and so is a bump.
    assert heights(world(block(flat_ramp())), (4.0, 2.9)) == pytest.approx([0.4])
    bump = "<geometry type='semi_cylinder_bump' lx='3' ly='0.4' lz='0.1'/>"
    assert heights(world(block(bump)), (1.4, 0.1)) == pytest.approx([0.1 * math.sqrt(0.75)])
    # A drawn outline bounds a platform, whatever its shape.
    ell = "".join(f"<pt>{p}</pt>" for p in ("0 0", "2 0", "2 1", "1 1", "1 2", "0 2"))
    corner = f"<shape>{ell}</shape><zmax>0.2</zmax>{GHOST}"
    found = heights(world(block(corner, "5 5 90")), (4.5, 6.5), (3.5, 6.5), (3.5, 5.5))
    assert found == pytest.approx([0.2, 0.0, 0.2])


@pytest.mark.slow
def test_a_platform_is_climbed_if_it_is_no_higher_than_the_axle() -> None:
    """The axles are 0.2 m high, and the platform begins at x = 2 m."""

    def driven(top: float) -> sp.World:
        corners = "".join(f"<pt>{p}</pt>" for p in ("0 -3", "9 -3", "9 3", "0 3"))
        step = f"<shape>{corners}</shape><zmax>{top}</zmax>{GHOST}"
        made = sp.World(world(robot() + block(step, "2 0 0")))
        made.vehicles["r"].command(v=1.0)
        made.run(4.0)
        return made

    low = driven(0.15).vehicles["r"].truth
    assert low.x > 2.5
    assert (low.z, low.pitch) == pytest.approx((0.15, 0.0), abs=1e-9)
    assert driven(0.25).vehicles["r"].truth.z == 0.0


def plane(z: float) -> str:
    limits = "".join(f"<{n}>{v}</{n}>" for n, v in (("x_min", -20), ("x_max", 20)))
    return f"<element class='horizontal_plane'>{limits}<z>{z}</z></element>"


def test_things_start_on_the_ground_that_they_reach() -> None:
    # A ramp on a floor at 1 m: its file says z = 0, and it is 2.4 m high.
    tall = block(flat_ramp(8.0, 2.4))
    assert heights(world(tall + plane(1.0)), (4.0, 0.0)) == pytest.approx([2.2])
    # A lower one is not put there, as it is under the floor.
    assert heights(world(block(flat_ramp()) + plane(1.0)), (4.0, 0.0), reach=0.9) == (
        pytest.approx([0.4])
    )
    kept = block(flat_ramp(8.0, 2.4) + "<skip_elevation_adjust/>")
    assert heights(world(kept + plane(1.0)), (7.9, 0.0)) == pytest.approx([2.37])
    # A robot is 0.6 m high: it starts on a floor at 0.25 m, but under one at 0.35 m.
    for z, found in ((0.25, 0.25), (0.35, 0.0)):
        made = sp.World(world(robot() + plane(z)))
        assert made.vehicles["r"].truth.z == found
    raised = robot("<init_pose3d>0 0 3 0 0 0</init_pose3d>")
    assert sp.World(world(raised + plane(3.0))).vehicles["r"].truth.z == 3.0


def test_blocks_stand_on_each_other_whatever_their_order() -> None:
    corners = "".join(f"<pt>{p}</pt>" for p in ("-9 -9", "9 -9", "9 9", "-9 9"))
    floor = block(f"<shape>{corners}</shape><zmax>0.5</zmax>{GHOST}", name="z")
    upper = block(flat_ramp(), name="a").replace(
        "<init_pose>0 0 0</init_pose>", "<init_pose3d>0 0 0.5 0 0 0</init_pose3d>"
    )
    for order in (floor + upper, upper + floor):
        assert heights(world(order), (4.0, 0.0)) == pytest.approx([0.9])


HILL = (
    "<element class='elevation_map'><resolution>2</resolution><elevation_data_matrix>"
    "[0 1 2; 4 8 0]</elevation_data_matrix><corner_min_x>1</corner_min_x>"
    "<corner_min_y>-1</corner_min_y></element>"
)


def test_a_lattice_is_flat_triangles_to_upstream_and_bilinear_else() -> None:
    # A quarter of a cell from its corners 0, 1, 4, 8 at (1, -1), (1, 1), (3, -1), (3, 1).
    points = (1.5, -0.5), (2.5, 0.0), (1.5, 0.5)
    a = np.array([[0.25, 0.25], [0.75, 0.5], [0.25, 0.75]])
    bilinear = [4 * u * (1 - v) + 1 * (1 - u) * v + 8 * u * v for u, v in a]
    assert heights(world(HILL), *points) == pytest.approx(bilinear)
    flat = [1 * v + 7 * u if v >= u else 4 * u + 4 * v for u, v in a]
    assert heights(world(HILL, compat="upstream"), *points) == pytest.approx(flat)
    assert bilinear != pytest.approx(flat)


def test_to_upstream_a_map_above_a_vehicle_is_not_there() -> None:
    hill = HILL.replace("0 1 2; 4 8 0", "5 5 5; 5 5 5")
    low = robot("<init_pose>2 0 0</init_pose>")
    assert sp.World(world(low + hill)).vehicles["r"].truth.z == 5.0
    assert sp.World(world(low + hill, compat="upstream")).vehicles["r"].truth.z == 0.0
