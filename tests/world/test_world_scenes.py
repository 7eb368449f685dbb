"""Contacts, joints and animations, against scenes recorded from the upstream program."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skidpad as sp
from skidpad.world.xml import loads

DATA = Path(__file__).parents[1] / "data" / "mvsim"
SCENES = {scene["name"]: scene for scene in json.loads((DATA / "scenes.json").read_text("utf-8"))}
COMMANDS = {
    "block_push": {"v": {"v": 0.6}},
    "trailer_revolute": {"tractor": {"v": 0.5, "omega": 0.3}},
}


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    with np.load(DATA / "scenes.npz") as file:
        return {name: file[name] for name in file.files}


def world_of(name: str, compat: str | None = "upstream") -> sp.World:
    world = sp.World(loads(SCENES[name]["world_xml"], compat=compat))
    for vehicle, command in COMMANDS.get(name, {}).items():
        world.vehicles[vehicle].command(command)
    return world


def pose(world: sp.World, name: str) -> tuple[float, float, float]:
    if name in world.vehicles:
        truth = world.vehicles[name].truth
        return truth.x, truth.y, truth.yaw
    return world.block(name)[:3]


@pytest.mark.parametrize(
    ("name", "distance", "angle"),
    [
        ("block_slide", 1e-3, 1e-3),
        ("block_push", 0.03, math.radians(3.0)),
        ("trailer_revolute", 0.03, math.radians(3.0)),
        ("keyframes", 1e-5, 1e-5),
    ],
)
def test_recorded_scenes_are_followed(
    name: str, distance: float, angle: float, recorded: dict[str, Any]
) -> None:
    world, rows = world_of(name), recorded[f"scene_{name}"]
    columns = [str(c) for c in recorded[f"scene_{name}__cols"]]
    bodies = [c[:-2] for c in columns if c.endswith("_x")]
    by_step = {round(row[0] / world.dt): row for row in rows if row[0] > 0.0}
    checked = wrong = 0
    for k in range(1, round(SCENES[name]["T"] / world.dt) + 1):
        world.step()
        if k not in by_step:
            continue
        for body in bodies:
            first = columns.index(f"{body}_x")
            x, y, yaw = pose(world, body)
            row = by_step[k]
            assert math.hypot(x - row[first], y - row[first + 1]) < distance, (k, body)
            turned = (yaw - row[first + 2] + math.pi) % (2.0 * math.pi) - math.pi
            assert abs(turned) < angle, (k, body)
            if f"{body}_in_collision" in columns:
                told = bool(row[columns.index(f"{body}_in_collision")])
                wrong += world.in_collision(body) != told
            checked += 1
    assert checked > 100
    # A gap at the threshold of 3 cm may be seen a step sooner or later.
    assert wrong <= 2


def test_a_push_is_seen_as_a_contact_and_ends() -> None:
    world = world_of("block_push")
    assert not world.vehicles["v"].in_collision
    world.run(2.0)
    assert world.vehicles["v"].in_collision
    assert {(c.a, c.b) for c in world.contacts} == {("b", "v")}
    world.vehicles["v"].command(v=-0.5)
    world.run(2.0)
    assert not world.vehicles["v"].in_collision


def test_a_wall_holds_at_any_speed() -> None:
    """A robot cannot be driven through a wall, and stops at it."""
    robot = (
        "<vehicle name='r'><init_pose>0 0 0</init_pose><init_vel>{v} 0 0</init_vel>"
        "<dynamics class='differential'><controller class='twist_pid'/></dynamics></vehicle>"
    )
    wall = "<walls><shape><pt>3 -5</pt><pt>3 5</pt><pt>9 -5</pt><pt>9 5</pt></shape></walls>"
    for v in (1.0, 8.0, 60.0):
        xml = f"<mvsim_world version='1.0'>{robot.format(v=v)}{wall}</mvsim_world>"
        world = sp.World(loads(xml))
        world.vehicles["r"].command(v=v)
        world.run(3.0)
        # Its nose is 0.6 m before its reference point, half the wall 0.05 m before its line.
        assert world.vehicles["r"].truth.x == pytest.approx(3.0 - 0.65, abs=0.06)


@pytest.mark.parametrize("compat", [None, "upstream"])
@pytest.mark.parametrize("angle", [0.0, 20.0])
def test_a_robot_that_drives_into_a_wall_ends_flush_with_it(
    angle: float, compat: str | None
) -> None:
    """The robot of the recordings, whose front is flat: it turns until its front lies on the wall,
    and neither comes nearer than the solver allows nor stays away."""
    robot = SCENES["block_push"]["world_xml"].split("<block")[0]
    robot = robot.replace("<init_pose>0 0 0<", f"<init_pose>0 0 {angle}<")
    wall = "<walls><shape><pt>1.5 -3</pt><pt>1.5 3</pt><pt>9 9</pt><pt>10 9</pt></shape></walls>"
    world = sp.World(loads(f"{robot}{wall}</mvsim_world>", compat=compat))
    world.vehicles["v"].command(v=0.5)
    for _ in range(1000):
        world.step()
        t = world.vehicles["v"].truth
        c, s = math.cos(t.yaw), math.sin(t.yaw)
        nose = max(t.x + 0.25 * c - y * s for y in (-0.2, 0.2))
        # Skins of 2.5 mm on either side, and a slop of 5 mm.
        assert nose < 1.45 + 0.005
    assert nose > 1.45 - 0.011
    assert t.yaw == pytest.approx(0.0, abs=math.radians(3.0))
    assert [e.kind for e in world.contact_events] == ["begin"]


@pytest.mark.parametrize("compat", [None, "upstream"])
def test_a_robot_tows_a_block_and_another_robot(compat: str | None) -> None:
    """Nothing moves on a slack rope; a taut one is not stretched, and what it pulls follows."""
    parts = SCENES["trailer_revolute"]["world_xml"].split("<joint")[0]
    block = (
        "<block name='b'><mass>5</mass><ground_friction>0.3</ground_friction><init_pose>-2.3 0 0"
        "</init_pose><shape><pt>-0.2 -0.2</pt><pt>-0.2 0.2</pt><pt>0.2 0.2</pt><pt>0.2 -0.2</pt>"
        "</shape></block>"
    )
    ends = {"trailer": ("tractor", (-0.25, 0.0), (0.25, 0.0), 0.6)}
    ends["b"] = ("trailer", (-0.25, 0.0), (0.2, 0.0), 1.5)
    joints = "".join(
        f"<joint type='distance' body_a='{a}' body_b='{b}' anchor_a='{p[0]} {p[1]}' "
        f"anchor_b='{q[0]} {q[1]}' max_length='{length}'/>"
        for b, (a, p, q, length) in ends.items()
    )
    world = sp.World(loads(f"{parts}{block}{joints}</mvsim_world>", compat=compat))
    world.vehicles["tractor"].command(v=0.5, omega=0.1)
    moved_at: dict[str, float] = {}
    for _ in range(2000):
        world.step()
        for b, (a, p, q, length) in ends.items():
            apart = math.dist(anchor(world, a, p), anchor(world, b, q))
            assert apart < length + 0.005
            if b not in moved_at and math.dist(pose(world, b)[:2], START[b]) > 1e-6:
                moved_at[b] = world.time
                assert apart > length - 0.005
    # The first rope has 0.3 m of slack, the second one then 0.7 m more.
    assert moved_at["trailer"] < moved_at["b"]
    assert pose(world, "b")[0] > 0.5


START = {"trailer": (-0.8, 0.0), "b": (-2.3, 0.0)}


def anchor(world: sp.World, name: str, at: tuple[float, float]) -> tuple[float, float]:
    """A point of a body in the world."""
    x, y, yaw = pose(world, name)
    c, s = math.cos(yaw), math.sin(yaw)
    return x + c * at[0] - s * at[1], y + s * at[0] + c * at[1]


def test_robots_do_not_drive_through_each_other() -> None:
    robots = "".join(
        f"<vehicle name='r{k}'><init_pose>{3 * k} 0 {180 * k}</init_pose>"
        "<dynamics class='differential'><controller class='twist_pid'/></dynamics></vehicle>"
        for k in range(2)
    )
    world = sp.World(loads(f"<mvsim_world version='1.0'>{robots}</mvsim_world>"))
    for vehicle in world.vehicles.values():
        vehicle.command(v=1.0)
    world.run(4.0)
    first, second = (world.vehicles[f"r{k}"].truth for k in range(2))
    assert second.x - first.x == pytest.approx(1.2, abs=0.05)
    assert first.x + second.x == pytest.approx(3.0, abs=0.02)


def test_order_of_elements_does_not_matter_and_a_snapshot_comes_back() -> None:
    parts = [
        f"<vehicle name='r{k}'><init_pose>{2.0 * k} 0 {10 * k}</init_pose>"
        "<dynamics class='differential'><controller class='twist_pid'/></dynamics></vehicle>"
        for k in range(5)
    ]
    ends: list[list[Any]] = []
    for order in (parts, parts[::-1]):
        world = sp.World(loads(f"<mvsim_world version='1.0'>{''.join(order)}</mvsim_world>"))
        for name, vehicle in world.vehicles.items():
            vehicle.command(v=0.5, omega=0.1 * int(name[1]))
        world.run(2.0)
        ends.append([world.vehicles[f"r{k}"].state for k in range(5)])
    assert ends[0] == ends[1]
    moment = world.snapshot()
    world.run(0.5)
    later = [v.state for v in world.vehicles.values()]
    world.restore(moment)
    world.run(0.5)
    assert [v.state for v in world.vehicles.values()] == later
    world.reset()
    assert world.time == 0.0
    assert world.vehicles["r1"].truth.x == 2.0


def test_slippery_ground_acts_where_it_lies() -> None:
    robot = (
        "<vehicle name='{name}'><init_pose>0 {y} 0</init_pose><dynamics class='differential'>"
        "<controller class='twist_pid'><KP>50</KP></controller></dynamics></vehicle>"
    )
    ice = (
        "<element class='property_region'><property_name>friction_mu</property_name>"
        "<value_double>0.02</value_double><x_min>-1</x_min><x_max>9</x_max><y_min>-1</y_min>"
        "<y_max>1</y_max><z_min>-1</z_min><z_max>1</z_max></element>"
    )
    body = robot.format(name="ice", y=0) + robot.format(name="road", y=5) + ice
    world = sp.World(loads(f"<mvsim_world version='1.0'>{body}</mvsim_world>"))
    for vehicle in world.vehicles.values():
        vehicle.command(v=2.0)
    world.run(1.0)
    slow, fast = (world.vehicles[name].truth.v_x for name in ("ice", "road"))
    # Friction of 0.02 allows 0.2 m/s² at most.
    assert slow < 0.25
    assert fast > 1.5


def test_what_is_asked_wrongly_is_said() -> None:
    world = world_of("block_push")
    with pytest.raises(sp.InvalidValue, match="speed"):
        world.vehicles["v"].command(speed=1.0)
    with pytest.raises(sp.InvalidValue, match=r"no vehicle 'w'.*Allowed are v"):
        world.vehicles["w"]
    for ask in (world.block, world.in_collision):
        with pytest.raises(sp.InvalidValue, match=r"no body 'crate'.*Allowed are b, v"):
            ask("crate")
    with pytest.raises(sp.InvalidValue, match="duration = -1"):
        world.run(-1.0)
    with pytest.raises(sp.InvalidValue, match="not of this world"):
        world.restore(world_of("trailer_revolute").snapshot())
    assert world.time == 0.0
