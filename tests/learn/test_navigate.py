"""Robots that find their way among obstacles."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from learn.rollouts import held_to_the_rules
from skidpad.core import record
from skidpad.errors import InvalidValue
from skidpad.geometry.collision import Checker, Footprint
from skidpad.geometry.maps.map import Map
from skidpad.geometry.polygon import distances
from skidpad.learn import Environments, Lidar, Task
from skidpad.learn.task import units_of
from skidpad.learn.tasks import navigate
from skidpad.learn.tasks.park import (
    Room,
    differential_robot,
    loop_through,
    random_room,
    room_track,
)

ROBOT = differential_robot()
FRONT = 0.6
"""Of MVSim's default chassis, before the wheels' axle."""
EMPTY = Room(12.0, np.empty((0, 3)), np.empty((0, 4)))
ONE_POST = Room(12.0, np.array([[1.0, 2.0, 0.5]]), np.empty((0, 4)))
RAYS = 36


@pytest.fixture(scope="module")
def task() -> Task:
    return navigate(rooms=[EMPTY, ONE_POST])


@pytest.fixture(scope="module")
def robots(task: Task) -> Environments:
    return Environments(task, 32, precision="float64")


def seek(seen: np.ndarray) -> np.ndarray:
    """Turns to the goal and goes there, slower before what is near ahead."""
    direction = np.arctan2(seen[:, 2], seen[:, 1])
    ahead = 10.0 * seen[:, 6 + RAYS // 2 - 2 : 6 + RAYS // 2 + 3].min(axis=1)
    v = np.clip(np.cos(direction), 0.0, 1.0) * np.clip(ahead - FRONT, 0.0, 1.0)
    return np.column_stack([2.0 * direction, v])


def test_who_turns_to_the_goal_arrives_in_an_empty_room(robots: Environments) -> None:
    seen = robots.reset(seed=3).copy()
    empty = robots.engine.q[0, :, 0] == 0.0
    distance = 30.0 * (seen[:, 0] + 1.0)
    earned, done, won = np.zeros(32), np.zeros(32, bool), np.zeros(32, bool)
    for _ in range(300):
        stepped = robots.step(seek(seen))
        seen = stepped.observation.copy()
        earned[~done] += stepped.reward[~done]
        ending = (stepped.terminated | stepped.truncated) & ~done
        won |= ending & (stepped.reward > 5.0)
        done |= ending
        if done[empty].all():
            break
    assert empty.sum() > 5
    assert won[empty].all()
    # All it came nearer, to within what counts as there, and the goal itself.
    left = distance[won] + 10.0 - earned[won]
    assert (left > 0.5 - 1.5 * 0.1).all()
    assert (left < 0.5).all()


@pytest.mark.parametrize("gap", [0.0005, -0.0005])
def test_a_crash_is_where_the_footprint_touches(
    robots: Environments, task: Task, gap: float
) -> None:
    """Nose to the right wall, and to the corner of the post that lies towards the robot."""
    robots.reset(seed=3)
    inside = robots.engine.q[0, :, 0] == 1.0
    names = record.names(ROBOT.model.State)
    states = robots.engine.x[0]
    states[:, : len(names)] = record.flatten(record.build(ROBOT.model.State))
    states[:, names.index("x")] = np.where(inside, 0.5, 6.0) - FRONT - gap
    states[:, names.index("y")] = np.where(inside, 2.0, -4.0)
    stepped = robots.step(np.zeros((32, 2)))
    assert stepped.terminated.all() == (gap < 0.0)
    assert stepped.terminated.any() == (gap < 0.0)


def test_the_lidar_sees_walls_and_posts(robots: Environments, task: Task) -> None:
    robots.reset(seed=3)
    inside = robots.engine.q[0, :, 0] == 1.0
    names = record.names(ROBOT.model.State)
    robots.engine.x[0][:, : len(names)] = record.flatten(
        record.build(ROBOT.model.State, {"x": -1.0, "y": 2.0})
    )
    rays = 10.0 * robots.step(np.zeros((32, 2))).observation[:, 6:]
    # Straight ahead, to the left and to the right.
    assert rays[inside, RAYS // 2] == pytest.approx(1.5, abs=1e-6)
    assert rays[~inside, RAYS // 2] == pytest.approx(7.0, abs=1e-6)
    assert rays[:, RAYS // 2 + RAYS // 4] == pytest.approx(4.0, abs=1e-6)
    assert rays[:, RAYS // 4] == pytest.approx(8.0, abs=1e-6)


@given(st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=3, max_size=6))
def test_a_loop_visits_each_quarter_of_the_largest_part_once(rows: list[list[bool]]) -> None:
    free = np.array(rows)
    loop = loop_through(free)
    assert len({(i, j) for i, j in loop.tolist()}) == len(loop)
    assert all(free[i // 2, j // 2] for i, j in loop.tolist())
    if not len(loop):
        assert not free.any()
        return
    steps = np.abs(np.roll(loop, -1, axis=0) - loop).sum(axis=1)
    assert (steps == 1).all()
    # What is beside the loop and free would belong to the same part.
    visited = np.zeros_like(free)
    visited[loop[:, 0] // 2, loop[:, 1] // 2] = True
    for axis in (0, 1):
        pairs = visited.astype(int), (free & ~visited).astype(int)
        for part, rest in (pairs, pairs[::-1]):
            low = tuple(slice(None, -1) if k == axis else slice(None) for k in (0, 1))
            high = tuple(slice(1, None) if k == axis else slice(None) for k in (0, 1))
            assert not (part[low] * rest[high]).any()


def test_starts_are_free_whichever_way_the_robot_points() -> None:
    radius = units_of(ROBOT)[0].radius
    for number in range(4):
        room = random_room(7, number, 12, 20.0)
        track = room_track(room, radius, number)
        assert distances(track.centre, room.walls).min() > radius
        turns = np.tile(np.linspace(0.0, 6.0, 7), len(track.centre))
        poses = np.column_stack([np.repeat(track.centre, 7, axis=0), turns])
        checker = Checker(Map(segments=track.walls))
        assert not checker.hits(Footprint.polygons(units_of(ROBOT)[0].parts), poses).any()


def test_driven_at_random() -> None:
    assert held_to_the_rules(navigate(rooms=3, lidar=Lidar(5), duration=6.0)) > 0


def test_what_cannot_be() -> None:
    with pytest.raises(InvalidValue, match=r"room 0 has 0 cells .* fewer obstacles, or a larger"):
        navigate(edge=2.0)
    with pytest.raises(InvalidValue, match="rooms is empty"):
        navigate(rooms=[])
    with pytest.raises(InvalidValue, match="obstacles"):
        navigate(obstacles=-1)
