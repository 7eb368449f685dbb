"""Contacts far from the origin, and of outlines with many corners."""

from __future__ import annotations

import pickle
from math import cos, pi, sin

import pytest

import skidpad as sp
from skidpad.geometry.polygon import signed_area, width_of, with_few_corners
from skidpad.world.xml import loads

SLACK = 0.012
"""In m: the skins of two bodies and what the solver lets them overlap."""


def polygon(radius: float, corners: int) -> str:
    angles = [2.0 * pi * k / corners for k in range(corners)]
    return "".join(f"<pt>{radius * cos(a)!r} {radius * sin(a)!r}</pt>" for a in angles)


def robot_before_wall(x: float, y: float, corners: int = 8, others: str = "") -> sp.World:
    """A robot of 0.3 m radius 1 m before a wall whose face is 2 m from the start."""
    return sp.World(
        loads(f"""<mvsim_world><simul_timestep>0.01</simul_timestep>
        <vehicle name="r"><init_pose>{x!r} {y!r} 0</init_pose><dynamics class="differential">
          <chassis mass="15"><shape>{polygon(0.3, corners)}</shape></chassis>
          <l_wheel pos="0 0.2" mass="1" width="0.04" diameter="0.1"/>
          <r_wheel pos="0 -0.2" mass="1" width="0.04" diameter="0.1"/>
          <controller class="twist_ideal"/></dynamics></vehicle>
        <walls><shape><pt>{x + 2.05!r} {y - 2!r}</pt><pt>{x + 2.05!r} {y + 2!r}</pt></shape></walls>
        {others}</mvsim_world>""")
    )


@pytest.mark.parametrize("away", [0.0, 6e3, -6e3, 6e4, 5e6, 1e9])
def test_a_wall_stops_a_robot_wherever_the_world_is(away: float) -> None:
    world = robot_before_wall(away, -0.5 * away)
    world.vehicles["r"].command(v=0.5)
    world.run(5.0)
    assert abs(world.vehicles["r"].truth.x - away - 1.7) < SLACK
    (contact,) = world.contacts
    assert {contact.a, contact.b} == {"r", "wall_0001"}
    assert abs(contact.x - away - 2.0) < SLACK
    assert abs(contact.y + 0.5 * away) < SLACK


def test_a_slow_robot_near_a_far_wall_is_not_held_by_rounding() -> None:
    world = robot_before_wall(3e4, 0.0)
    vehicle = world.vehicles["r"]
    vehicle.command(v=1.0)
    world.run(1.62)
    start = vehicle.truth.x
    vehicle.command(v=0.01)
    world.run(1.0)
    assert abs(vehicle.truth.x - start - 0.01) < 1e-3


def test_blocks_ropes_and_grounds_go_along_when_the_origin_moves() -> None:
    """The solver's origin follows a vehicle to 10 km and back; a block there has not moved."""
    crate = f"""<block name="crate"><mass>4</mass><init_pose>3 -3 0</init_pose>
      <shape>{polygon(0.3, 6)}</shape></block>
      <block name="far"><mass>4</mass><init_pose>10001 0 0</init_pose>
      <shape>{polygon(0.3, 6)}</shape></block>"""
    world = robot_before_wall(0.0, 0.0, others=crate)
    vehicle = world.vehicles["r"]
    away = vehicle.bodies.group.state.copy()
    away[0, 0] = 10_000.0
    home = world.snapshot()
    vehicle.bodies.group.state[:] = away
    vehicle.command(v=0.5)
    world.run(2.0)
    assert world.block("far").x > 10_001.2
    assert world.block("crate")[:3] == pytest.approx((3.0, -3.0, 0.0), abs=1e-6)
    pushed = world.snapshot()
    world.restore(home)
    vehicle.command(v=0.5)
    world.run(5.0)
    assert abs(vehicle.truth.x - 1.7) < SLACK
    world.restore(pushed)
    assert world.block("far").x > 10_001.2


@pytest.mark.parametrize("away", [6e3, 5e6])
def test_blocks_far_away_start_and_come_back_where_they_are(away: float) -> None:
    block = f"""<block name="crate"><mass>4</mass><init_pose>{away + 1.013!r} 0.017 0</init_pose>
      <shape>{polygon(0.3, 6)}</shape></block>"""
    world = robot_before_wall(away, 0.0, others=block)
    assert world.block("crate").x - away == pytest.approx(1.013, abs=1e-3)
    world.vehicles["r"].command(v=0.5)
    world.run(1.5)
    pushed = world.block("crate").x
    assert 1.2 < pushed - away < 1.5
    again = pickle.loads(pickle.dumps(world))
    assert again.block("crate").x == pytest.approx(pushed, abs=1e-3)
    world.run(0.5)
    again.run(0.5)
    assert again.block("crate").x == pytest.approx(world.block("crate").x, abs=5e-3)


@pytest.mark.parametrize("corners", [16, 17, 40, 200])
def test_round_chassis_touch_where_they_are(corners: int) -> None:
    world = robot_before_wall(0.0, 0.0, corners)
    world.vehicles["r"].command(v=0.5)
    world.run(5.0)
    assert abs(world.vehicles["r"].truth.x - 1.7) < SLACK


def test_round_blocks_keep_their_mass_and_are_pushed() -> None:
    """What is cut into pieces is as heavy as before: it flies off as momentum says."""
    block = f"""<block name="disc"><mass>4</mass><ground_friction>0</ground_friction>
      <init_pose>50 50 0</init_pose><init_vel>1 0 0</init_vel><linear_damping>0</linear_damping>
      <shape>{polygon(0.3, 60)}</shape></block>
      <block name="box"><mass>4</mass><ground_friction>0</ground_friction>
      <restitution>1</restitution>
      <init_pose>51 50 0</init_pose><linear_damping>0</linear_damping>
      <shape><pt>-.3 -.3</pt><pt>.3 -.3</pt><pt>.3 .3</pt><pt>-.3 .3</pt></shape></block>"""
    world = robot_before_wall(0.0, 0.0, others=block)
    world.run(2.0)
    total = world.block("disc").v_x + world.block("box").v_x
    assert abs(total - 1.0) < 1e-3
    assert world.block("box").v_x > 0.4


@pytest.mark.parametrize("corners", [3, 16, 17, 33, 100])
def test_pieces_with_few_corners_make_up_the_whole(corners: int) -> None:
    ring = tuple((cos(2 * pi * k / corners), sin(2 * pi * k / corners)) for k in range(corners))
    pieces = with_few_corners(ring, 16)
    assert all(3 <= len(piece) <= 16 for piece in pieces)
    assert sum(signed_area(piece) for piece in pieces) == pytest.approx(signed_area(ring))


def test_the_width_of_a_rectangle_is_its_shorter_side() -> None:
    assert width_of([(0.0, 0.0), (3.0, 4.0), (2.2, 4.6), (-0.8, 0.6)]) == pytest.approx(1.0)
