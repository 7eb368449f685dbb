"""Beginnings and ends of contacts: who, where, when, and the impulse, by the laws of impact."""

from __future__ import annotations

import math
from collections import deque
from fractions import Fraction
from typing import Any

import pytest

import skidpad as sp
from skidpad.world.contact.solids import (
    MOST_EVENTS,
    ContactEvent,
    Inertia,
    Moving,
    Part,
    Pushed,
    Surface,
)
from skidpad.world.contact.solver import Contacts
from skidpad.world.xml import loads

DT = 0.005
SQUARE = ((-0.2, -0.2), (0.2, -0.2), (0.2, 0.2), (-0.2, 0.2))
WALL = ((-0.1, -3.0), (0.1, -3.0), (0.1, 3.0), (-0.1, 3.0))
ROBOT = (
    "<vehicle name='{name}'><init_pose>{pose}</init_pose><dynamics class='differential'>"
    "<controller class='twist_pid'><KP>20</KP></controller></dynamics></vehicle>"
)
WALLS = "<walls><shape><pt>3 -5</pt><pt>3 5</pt><pt>-90 50</pt><pt>-90 60</pt></shape></walls>"


def on_ice(
    events: deque[ContactEvent], *blocks: tuple[str, float, Moving], e: float = 0.0, mu: float = 0.0
) -> Contacts:
    """Squares of some masses that nothing but contacts slows down."""
    made = Contacts(events)
    for name, mass, start in blocks:
        part = Part(SQUARE, Surface(mu, e))
        made.add_block(name, [part], start, Pushed(mass, 0.0, 0.3, 0.0, 0.0))
    return made


def run(made: Contacts, steps: int) -> None:
    for k in range(steps):
        made.step(DT, {}, (k + 1) * DT)


def world_of(inside: str) -> sp.World:
    return sp.World(loads(f"<mvsim_world version='1.0'>{inside}</mvsim_world>"))


@pytest.mark.parametrize("e", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("v", [1.7, 30.0])
def test_a_bounce_off_a_wall(e: float, v: float) -> None:
    """It leaves with e times its speed, having got an impulse of (1 + e) m v from the wall.

    At 30 m/s it comes 15 cm a step, and would be through the wall.
    """
    events: deque[ContactEvent] = deque()
    made = on_ice(events, ("b", 4.0, Moving(0, 0.5, 0, v)), e=e)
    made.add_static("wall", [Part(WALL, Surface(0.5, 0.0))], Moving(1.5, 0, 0))
    run(made, round(2.4 / v / DT) + 60)
    assert made.at("b").v_x == pytest.approx(-e * v, abs=1e-4 * v)
    begin = events[0]
    assert (begin.kind, begin.a, begin.b) == ("begin", "b", "wall")
    assert begin.time == pytest.approx(1.2 / v, abs=1.5 * DT)
    assert (begin.x, begin.y) == (pytest.approx(1.4, abs=0.02), pytest.approx(0.5, abs=0.02))
    assert (begin.normal_x, begin.normal_y) == (pytest.approx(1.0), pytest.approx(0.0, abs=1e-6))
    if e == 0.0:
        assert len(events) == 1
        (contact,) = made.touches.contacts
        assert (contact.a, contact.b) == ("b", "wall")
    else:
        _, end = events
        assert (end.kind, end.since) == ("end", begin.time)
        assert begin.time <= end.time
        assert end.normal_impulse == pytest.approx((1.0 + e) * 4.0 * v, rel=1e-4)
        assert end.tangential_impulse == pytest.approx(0.0, abs=1e-5)
        assert not made.touches.contacts


def test_two_that_collide_share_their_momentum() -> None:
    m, n, v, w, e = 2.0, 5.0, 3.0, -1.0, 0.5
    events: deque[ContactEvent] = deque()
    left, right = ("x", m, Moving(-1, 0, 0, v)), ("a", n, Moving(1, 0, 0, w))
    made = on_ice(events, left, right, e=e)
    run(made, 200)
    together = (m * v + n * w) / (m + n)
    assert made.at("x").v_x == pytest.approx(together - e * (v - w) * n / (m + n), rel=1e-4)
    assert made.at("a").v_x == pytest.approx(together + e * (v - w) * m / (m + n), rel=1e-4)
    begin, end = events
    # From "a" on the right to "x" on the left, on which it acts.
    assert (begin.a, begin.b) == ("a", "x")
    assert (begin.normal_x, begin.normal_y) == (pytest.approx(-1.0), pytest.approx(0.0, abs=1e-6))
    assert end.normal_impulse == pytest.approx((1.0 + e) * m * n / (m + n) * (v - w), rel=1e-4)


@pytest.mark.parametrize("v_y", [0.3, -0.3, 3.0])
def test_friction_acts_along_the_wall(v_y: float) -> None:
    """A square that slides along a wall into which it is pushed: mu times the normal impulse, or
    less if that already stops it. Positive is to the left of the normal, on the wall."""
    events: deque[ContactEvent] = deque()
    made = on_ice(events, ("b", 4.0, Moving(1.0, 0, 0, 2.0, v_y)), mu=0.32)
    made.add_static("wall", [Part(WALL, Surface(0.5, 0.0))], Moving(1.5, 0, 0))
    run(made, 60)
    (begin,) = events
    (contact,) = made.touches.contacts
    assert contact.normal_impulse == pytest.approx(0.0, abs=0.2)
    # Friction of two surfaces is the geometric mean of theirs.
    assert abs(begin.tangential_impulse) <= 0.4 * begin.normal_impulse * 1.0001
    assert math.copysign(1.0, begin.tangential_impulse) == math.copysign(1.0, v_y)
    if v_y == 3.0:
        assert begin.tangential_impulse == pytest.approx(0.4 * begin.normal_impulse, rel=1e-4)


def test_a_guest_that_leaves_touches_nothing_any_more() -> None:
    events: deque[ContactEvent] = deque()
    made = Contacts(events)
    made.add_vehicle("v", [Part(SQUARE)], Moving(0, 0, 0), Inertia(2.0, 0.0, 0.0, 0.1))
    made.add_static("wall", [Part(WALL)], Moving(0.3, 0, 0))
    made.step(DT, {"v": Moving(0, 0, 0, 0.1)}, DT)
    assert [event.kind for event in events] == ["begin"]
    made.rest(2 * DT)
    made.rest(3 * DT)
    assert [(event.kind, event.time) for event in events] == [("begin", DT), ("end", 2 * DT)]
    assert not made.touches.contacts
    # It comes back before Box2D has noticed that it was away.
    made.step(DT, {"v": Moving(0, 0, 0, 0.1)}, 4 * DT)
    assert [event.kind for event in events] == ["begin", "end", "begin"]
    assert events[-1].normal_x == pytest.approx(1.0)
    # And away again while others are still in the solver.
    made.step(DT, {}, 5 * DT)
    assert [event.kind for event in events] == ["begin", "end", "begin", "end"]


def test_a_robot_at_a_wall_is_one_contact_from_begin_to_end() -> None:
    """Its chassis and two wheels touch, but it is one thing; backing off ends it."""
    world = world_of(ROBOT.format(name="r", pose="0 0 20") + WALLS)
    world.vehicles["r"].command(v=1.0)
    world.run(5.0)
    assert [(e.kind, e.a, e.b) for e in world.contact_events] == [("begin", "r", "wall_0001")]
    begin = world.contact_events[0]
    assert begin.x == pytest.approx(2.95, abs=0.02)
    assert (begin.normal_x, begin.normal_y) == (pytest.approx(1.0), pytest.approx(0.0, abs=1e-6))
    mass = world.vehicles["r"].built.inertia.mass
    # It came with 1 m/s at 20 degrees; what turns it is not stopped.
    assert 0.0 < begin.normal_impulse < mass * math.cos(math.radians(20.0)) * 1.05
    world.vehicles["r"].command(v=-1.0)
    world.run(2.0)
    end = world.contact_events[-1]
    assert (len(world.contact_events), end.kind, end.since) == (2, "end", begin.time)
    assert end.normal_impulse > begin.normal_impulse
    assert 5.0 < end.time < 5.5
    assert world.contacts == ()


def test_a_push_against_a_wall_is_the_force_times_its_time() -> None:
    """A robot with torques only, held by a wall: the wall takes what the wheels push."""
    robot = ROBOT.format(name="r", pose="2.34 0 0").replace("twist_pid", "raw")
    world = world_of(robot.replace("<KP>20</KP>", "") + WALLS)
    torques = world.vehicles["r"].input._fields
    world.vehicles["r"].command(dict.fromkeys(torques, 2.0))
    world.run(2.0)
    (contact,) = world.contacts
    # Two wheels of 0.2 m radius with 2 N m each.
    assert contact.normal_impulse == pytest.approx(20.0 * world.dt, rel=0.02)


def test_a_grid_is_one_thing_however_many_cells_are_touched() -> None:
    from skidpad.bench.world import crowd

    world = crowd("differential", 4, grid=True)
    for vehicle in world.vehicles.values():
        vehicle.command(v=0.8, omega=0.0)
    world.run(8.0)
    with_grid = [e for e in world.contact_events if "grid" in (e.a, e.b)]
    assert with_grid
    for name in world.vehicles:
        kinds = [e.kind for e in with_grid if name in (e.a, e.b)]
        assert kinds == (["begin", "end"] * len(kinds))[: len(kinds)]


def test_actors_blocks_planes_and_vehicles_have_their_names() -> None:
    things = (
        "<block name='crate'><init_pose>2 0 0</init_pose></block>"
        "<actor name='anna'><init_pose>2 5 0</init_pose></actor>"
        "<element class='vertical_plane'><x0>2</x0><y0>9</y0><x1>2</x1><y1>11</y1></element>"
    )
    robots = "".join(
        ROBOT.format(name=f"r{k}", pose=f"0 {y} 0") for k, y in enumerate((0.0, 5.0, 10.0, 15.0))
    )
    world = world_of(robots + ROBOT.format(name="r4", pose="2 15 180") + things)
    for vehicle in world.vehicles.values():
        vehicle.command(v=0.5)
    world.run(4.0)
    begun = {(e.a, e.b) for e in world.contact_events if e.kind == "begin"}
    assert begun >= {("crate", "r0"), ("anna", "r1"), ("r3", "r4")}
    assert any(b == "vertical_plane_0" and a == "r2" for a, b in begun)


def test_what_is_driven_pushes_with_its_speed() -> None:
    """A gate of 1.5 m/s drives on what it meets, of whatever mass, and somebody who walks does."""
    gate = (
        "<block name='gate'><static>true</static><init_pose>-1 0 0</init_pose>"
        "<animation type='keyframes'><time_pose>0 0 0 0</time_pose><time_pose>4 6 0 0</time_pose>"
        "</animation></block>"
        "<actor name='anna'><init_pose>-1 5 0</init_pose><walking_speed>1.5</walking_speed>"
        "<path loop='false'><waypoint>9 5 0</waypoint></path></actor>"
    )
    crates = "".join(
        f"<block name='c{k}'><mass>{mass}</mass><ground_friction>0.1</ground_friction>"
        f"<init_pose>0.5 {5 * k} 0</init_pose></block>"
        for k, mass in enumerate((40.0, 3.0))
    )
    world = world_of(gate + crates)
    # They are at rest long before.
    world.run(1.5)
    for k, name in enumerate(("gate", "anna")):
        crate = world.block(f"c{k}")
        assert crate.v_x == pytest.approx(1.5, rel=0.02)
        front = world.block(name).x + (0.5 if name == "gate" else 0.3)
        assert crate.x - 0.5 == pytest.approx(front, abs=0.02)
        assert world.block(name).v_x == pytest.approx(1.5, rel=1e-3)
    pushed = {(c.a, c.b): c.normal_impulse for c in world.contacts}
    # What keeps the heavy one going is its friction with the ground, and its damping of 0.1 1/s.
    assert pushed["c0", "gate"] == pytest.approx((0.981 + 0.15) * 40.0 * world.dt, rel=0.05)


def test_a_gate_that_leaps_back_throws_nothing() -> None:
    gate = (
        "<block name='gate'><static>true</static><init_pose>-1 0 0</init_pose>"
        "<animation type='keyframes'><time_pose>0 0 0 0</time_pose><time_pose>1 2 0 0</time_pose>"
        "</animation></block><block name='c'><init_pose>-1 1.2 0</init_pose></block>"
    )
    world = world_of(gate)
    world.run(3.3)
    assert world.block("gate").x == pytest.approx(-1.0 + 2.0 * 0.295, abs=1e-6)
    assert world.block("c")[:3] == pytest.approx((-1.0, 1.2, 0.0))


def test_events_come_back_with_a_snapshot_and_go_with_a_reset() -> None:
    world = world_of(ROBOT.format(name="r", pose="0 0 0") + WALLS)
    world.vehicles["r"].command(v=1.0)
    world.run(1.0)
    free = world.snapshot()
    world.run(2.0)
    assert [e.kind for e in world.contact_events] == ["begin"]
    held, touching = world.snapshot(), world.contacts
    world.vehicles["r"].command(v=-1.0)
    world.run(1.0)
    first = list(world.contact_events)
    assert [e.kind for e in first] == ["begin", "end"]
    world.restore(held)
    assert (world.contacts, [e.kind for e in world.contact_events]) == (touching, ["begin"])
    world.vehicles["r"].command(v=-1.0)
    world.run(1.0)
    again = list(world.contact_events)
    assert [e[:4] for e in again] == [e[:4] for e in first]
    assert again[1].normal_impulse == pytest.approx(first[1].normal_impulse, rel=1e-3)
    world.restore(free)
    assert not world.contacts
    assert not world.contact_events
    world.run(0.1)
    assert not world.contact_events
    log = world.contact_events
    world.run(2.0)
    assert log
    world.reset()
    assert log is world.contact_events
    assert not log


def test_the_log_is_bounded_and_may_be_emptied() -> None:
    world = world_of(ROBOT.format(name="r", pose="0 0 0") + WALLS)
    assert world.contact_events.maxlen == MOST_EVENTS
    world.vehicles["r"].command(v=1.0)
    world.run(3.0)
    begin = world.contact_events.popleft()
    assert begin.kind == "begin"
    world.vehicles["r"].command(v=-1.0)
    world.run(1.0)
    (end,) = world.contact_events
    assert (end.kind, end.since) == ("end", begin.time)


def test_order_of_elements_does_not_matter_to_contacts() -> None:
    parts = [
        *(ROBOT.format(name=f"r{k}", pose=f"{1.5 * k} 0 {25 * k}") for k in range(4)),
        *(
            f"<block name='c{k}'><init_pose>{1.5 * k} 1.5 {10 * k}</init_pose></block>"
            for k in range(3)
        ),
        *(
            f"<block name='s{k}'><static>true</static><init_pose>{2.0 * k} -2 0</init_pose></block>"
            for k in range(3)
        ),
    ]
    joints = [
        f"<joint type='distance' body_a='r{k}' body_b='c{k}' anchor_a='0 0' anchor_b='0 0' "
        "max_length='1.7'/>"
        for k in range(2)
    ]
    ends: list[Any] = []
    for order in (1, -1):
        world = world_of("".join(parts[::order] + joints[::order]))
        for name, vehicle in sorted(world.vehicles.items()):
            vehicle.command(v=0.7, omega=0.2 * int(name[1]))
        world.run(3.0)
        assert world.contact_events
        states = [world.vehicles[f"r{k}"].state for k in range(4)]
        ends.append((states, [world.block(f"c{k}") for k in range(3)], list(world.contact_events)))
    assert ends[0] == ends[1]


@pytest.mark.parametrize("dt", ["0.001", "0.002", "0.005", "0.01", "1/60", "1/30", "1/240"])
def test_times_of_steps_are_the_numbers_nearest_to_them(dt: str) -> None:
    """Products of floats are not: 560 * 0.005 is 2.8000000000000003."""
    exact = Fraction(dt)
    made = sp.World(
        loads(
            f"<mvsim_world><simul_timestep>{float(exact)!r}</simul_timestep>"
            f"{ROBOT.format(name='r', pose='1.7 0 0')}{WALLS}</mvsim_world>"
        )
    )
    made.vehicles["r"].command(v=2.0)
    for k in range(1, 601):
        made.step()
        assert made.time == float(k * exact)
    for event in made.contact_events:
        steps = round(event.time / made.dt)
        assert event.time == float(steps * exact)
    assert made.contact_events
