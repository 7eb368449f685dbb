"""What is upstairs does not touch what is downstairs."""

from __future__ import annotations

import pytest

import skidpad as sp
from world.grounds import grade, plane
from world.worlds import world

IDEAL = "<dynamics class='differential'><controller class='twist_ideal'/></dynamics>"


def robot(name: str, pose: str) -> str:
    return f"<vehicle name='{name}'><init_pose3d>{pose} 0 0 0</init_pose3d>{IDEAL}</vehicle>"


BOX = "<shape><pt>-.4 -.4</pt><pt>.4 -.4</pt><pt>.4 .4</pt><pt>-.4 .4</pt></shape>"


def crate(name: str, pose: str) -> str:
    return (
        f"<block name='{name}'><init_pose3d>{pose} 0 0 0</init_pose3d><zmax>0.8</zmax>{BOX}</block>"
    )


FLOOR = plane(3.0)
"""An upper floor at 3 m, above the ground at 0."""


def driven(inside: str, *names: str, **options: str) -> sp.World:
    made = sp.World(world(FLOOR + inside, **options))
    for name in names:
        made.vehicles[name].command(v=1.0)
    made.run(4.0)
    return made


@pytest.mark.slow_cases("crate", "robot")
@pytest.mark.parametrize("thing", ["robot", "crate", "wall"])
def test_robots_touch_what_is_on_their_floor_and_nothing_else(thing: str) -> None:
    things = {
        "robot": robot("b", "3 0 {z}"),
        "crate": crate("b", "3 0 {z}"),
        "wall": "<walls><shape><pt>3 -1</pt><pt>3 1</pt></shape></walls>",
    }
    for z_robot in (0.0, 3.0):
        for z_thing in (0.0, 3.0) if thing != "wall" else (0.0,):
            made = driven(robot("a", f"0 0 {z_robot}") + things[thing].format(z=z_thing), "a")
            truth = made.vehicles["a"].truth
            assert truth.z == z_robot
            assert bool(made.contact_events) == (z_robot == z_thing), (z_robot, z_thing)
            if z_robot != z_thing:
                assert truth.x == pytest.approx(4.0, abs=0.01)


def test_upstream_has_one_plane() -> None:
    made = driven(robot("a", "0 0 3") + crate("b", "3 0 0"), "a", compat="upstream")
    assert made.contact_events


@pytest.mark.slow
def test_who_comes_down_a_ramp_meets_what_is_at_its_foot() -> None:
    """Heights are those of the moment, not of the start."""
    ramp = (
        "<block name='ramp'><static>true</static><init_pose>12 0 180</init_pose>"
        "<geometry type='ramp' lx='12' ly='4' lz='2'/></block>"
    )
    block = crate("low", "16 0 0").replace("<zmax>", "<static>true</static><zmax>")
    made = sp.World(world(ramp + block + robot("a", "1 0 1.85")))
    assert made.vehicles["a"].truth.z > 1.5
    made.vehicles["a"].command(v=1.0)
    made.run(20.0)
    assert made.vehicles["a"].truth.z == pytest.approx(0.0, abs=1e-6)
    assert made.vehicles["a"].truth.x < 15.6
    assert {(e.a, e.b) for e in made.contact_events} == {("a", "low")}


def test_walls_on_a_hill_still_stop_robots() -> None:
    """An elevation map carries what stands on it, wherever the file puts it."""
    wall = "<walls><shape><pt>8 -3</pt><pt>8 3</pt></shape></walls>"
    made = sp.World(world(grade(0.2, 0.0) + wall + robot("a", "5 0 1")))
    made.vehicles["a"].command(v=1.0)
    made.run(6.0)
    assert made.vehicles["a"].truth.x < 8.0
    assert made.contact_events


def test_floors_come_back_with_a_moment() -> None:
    made = sp.World(world(FLOOR + robot("a", "0 0 3") + crate("b", "3 0 0")))
    made.vehicles["a"].command(v=1.0)
    start = made.snapshot()
    made.run(2.0)
    made.restore(start)
    made.run(4.0)
    assert not made.contact_events
