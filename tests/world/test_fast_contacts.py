"""What moves farther than its size in a step does not pass through things."""

from __future__ import annotations

import math

import numpy as np
import pytest

import skidpad as sp
from skidpad.core.body import Wheel
from skidpad.world.xml import loads

BOX = "<shape><pt>-.05 -.05</pt><pt>.05 -.05</pt><pt>.05 .05</pt><pt>-.05 .05</pt></shape>"


def small(name: str, x: float, yaw: float = 0.0, y: float = 0.0) -> str:
    return f"""<vehicle name="{name}"><init_pose>{x} {y} {yaw}</init_pose>
      <dynamics class="differential"><chassis mass="1">{BOX}</chassis>
      <l_wheel pos="0 0.03" mass="0.1" width="0.01" diameter="0.04"/>
      <r_wheel pos="0 -0.03" mass="0.1" width="0.01" diameter="0.04"/>
      <controller class="twist_ideal"/></dynamics></vehicle>"""


def crate(name: str, x: float, v: float, y: float = 0.0) -> str:
    return f"""<block name="{name}"><mass>1</mass><ground_friction>0</ground_friction>
      <linear_damping>0</linear_damping><init_pose>{x} {y} 0</init_pose>
      <init_vel>{v} 0 0</init_vel>{BOX}</block>"""


def scene(*things: str, dt: float = 0.02) -> sp.World:
    inside = "".join(things)
    text = f"<mvsim_world><simul_timestep>{dt}</simul_timestep>{inside}</mvsim_world>"
    return sp.World(loads(text))


def until_contact(world: sp.World) -> None:
    """Step until something touches, which takes less than a second."""
    while not world.contact_events:
        assert world.time < 1.0, "they have passed each other"
        world.step()


WALL = "<walls><shape><pt>5 -2</pt><pt>5 2</pt></shape></walls>"
STARTS = [0.0, 0.07, 0.13, 0.21, 0.29, 0.33]
"""Phases of the steps against the wall."""


@pytest.mark.parametrize("x", STARTS)
@pytest.mark.parametrize("v", [20.0, 60.0, 300.0])
def test_a_wall_stops_what_leaps_over_it_in_a_step(x: float, v: float) -> None:
    world = scene(small("a", x), WALL)
    world.vehicles["a"].command(v=v)
    until_contact(world)
    assert world.vehicles["a"].truth.x < 4.95


@pytest.mark.parametrize("x", STARTS)
def test_vehicles_that_drive_at_each_other_meet(x: float) -> None:
    world = scene(small("a", x), small("b", 8.0, 180.0))
    for name in "ab":
        world.vehicles[name].command(v=20.0)
    until_contact(world)
    assert world.vehicles["a"].truth.x < world.vehicles["b"].truth.x


@pytest.mark.parametrize("x", STARTS)
def test_a_fast_vehicle_hits_a_block_that_rests(x: float) -> None:
    world = scene(small("a", x), crate("c", 5.0, 0.0))
    world.vehicles["a"].command(v=20.0)
    world.run(0.5)
    assert world.block("c").v_x > 5.0
    assert world.block("c").x > world.vehicles["a"].truth.x


@pytest.mark.parametrize("x", STARTS)
def test_blocks_that_fly_at_each_other_meet_and_keep_their_momentum(x: float) -> None:
    world = scene(crate("c", x, 20.0), crate("d", 8.0, -20.0), small("far", 0.0, 0.0, 50.0))
    world.run(0.6)
    assert world.block("c").x < world.block("d").x
    assert world.block("c").v_x + world.block("d").v_x == pytest.approx(0.0, abs=1e-3)


def test_an_actor_is_met_on_the_way() -> None:
    actor = """<actor name="man"><init_pose>5 0 0</init_pose>
      <collision_radius>0.05</collision_radius></actor>"""
    world = scene(small("a", 0.1), actor)
    world.vehicles["a"].command(v=20.0)
    until_contact(world)
    assert world.vehicles["a"].truth.x < 5.0


def test_a_fast_vehicle_that_passes_beside_something_is_not_touched() -> None:
    world = scene(small("a", 0.1, 0.0, 3.0), WALL, small("b", 4.0, 0.0, 3.3))
    world.vehicles["a"].command(v=20.0)
    world.run(0.5)
    assert world.vehicles["a"].truth.x == pytest.approx(10.1)
    assert not world.contact_events


@pytest.mark.slow_cases(
    "ackermann-twist_ideal-1.0-2.0",
    "ackermann-twist_ideal-1.0-25.0",
    "ackermann-twist_ideal-10.0-0.0",
    "ackermann-twist_ideal-10.0-2.0",
    "ackermann-twist_ideal-3.0-0.0",
    "ackermann-twist_ideal-3.0-2.0",
    "ackermann-twist_ideal-3.0-25.0",
    "differential-twist_ideal-1.0-2.0",
    "differential-twist_ideal-10.0-0.0",
    "differential-twist_ideal-10.0-2.0",
    "differential-twist_ideal-3.0-0.0",
    "differential-twist_ideal-3.0-2.0",
    "differential-twist_ideal-3.0-25.0",
    "differential-twist_pid-1.0-2.0",
    "differential-twist_pid-10.0-0.0",
    "differential-twist_pid-10.0-2.0",
    "differential-twist_pid-3.0-0.0",
    "differential-twist_pid-3.0-2.0",
    "differential-twist_pid-3.0-25.0",
    "ackermann-twist_ideal-10.0-25.0",
    "differential-twist_ideal-10.0-25.0",
)
@pytest.mark.parametrize("yaw", [0.0, 2.0, 25.0])
@pytest.mark.parametrize("v", [1.0, 3.0, 10.0])
@pytest.mark.parametrize(
    ("kind", "control"),
    [("differential", "twist_ideal"), ("differential", "twist_pid"), ("ackermann", "twist_ideal")],
)
def test_who_is_pressed_against_a_wall_stays_before_it(
    kind: str, control: str, v: float, yaw: float
) -> None:
    """Its front comes to lie on the wall and stays so, no part of it deeper than some mm."""
    robot = f"""<vehicle name="a"><init_pose>0 0 {yaw}</init_pose><dynamics class="{kind}">
      <controller class="{control}"/></dynamics></vehicle>"""
    wall = "<walls><shape><pt>2.6 -90</pt><pt>2.6 90</pt></shape></walls>"
    world = scene(robot, wall, dt=0.005)
    a = world.vehicles["a"]
    a.command(v=v)
    shape, deepest, turned = a.built.geometry, 0.0, 0.0
    outlines = [*shape.outlines, *(_corners(wheel) for wheel in shape.wheels)]
    x, y = np.array([corner for outline in outlines for corner in outline]).T
    # Wheels that spin hardly hold a robot sideways: it slides along the wall before it lies there.
    for _ in range(int(3.0 / v / world.dt) + 700):
        world.step()
        truth = a.truth
        nose = truth.x + (math.cos(truth.yaw) * x - math.sin(truth.yaw) * y).max()
        deepest = max(deepest, nose - 2.55)
        turned = max(0.9 * turned, abs(truth.omega))
    assert deepest < 0.005, deepest
    assert turned < 0.1, turned


def _corners(wheel: Wheel) -> list[tuple[float, float]]:
    a, b = wheel.radius, 0.5 * wheel.width
    return [(wheel.x + i * a, wheel.y + j * b) for i in (-1, 1) for j in (-1, 1)]
