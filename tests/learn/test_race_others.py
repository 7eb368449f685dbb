"""Several cars on one track."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from learn.rollouts import held_to_the_rules, in_units
from learn.small_tasks import boxed
from skidpad.core import record
from skidpad.errors import InvalidValue
from skidpad.geometry.collision import Footprint, between
from skidpad.geometry.maps.track import Track
from skidpad.learn import Environments, Lidar, Task
from skidpad.learn.environments import Stepped
from skidpad.learn.task import units_of
from skidpad.learn.tasks import race_others
from skidpad.vehicles import kinematic_bicycle

CAR = boxed(kinematic_bicycle())
SHAPE = np.concatenate([np.array(outline) for outline in CAR.geometry.outlines])
REAR, FRONT = SHAPE[:, 0].min(), SHAPE[:, 0].max()
SIDE = SHAPE[SHAPE[:, 0] == REAR, 1].max()
"""Half its width, which is that of its rear wing."""
LENGTH, WIDTH, RAYS = 200.0, 4.0, 9
RIVALRY = 1.0


def straight() -> Track:
    """A straight road with a wall on either side, along the x axis."""
    walls = np.array([[0.0, y, LENGTH, y] for y in (-WIDTH, WIDTH)])
    centre = np.linspace((0.0, 0.0), (LENGTH, 0.0), 101)
    width = np.full(101, WIDTH)
    return Track(centre, width, width, closed=False, walls=walls, name="straight")


def circle(radius: float, half_width: float) -> Track:
    """A loop, counter-clockwise about the origin."""
    count = round(2.0 * np.pi * radius / 0.5)
    turn = 2.0 * np.pi * np.arange(count) / count
    ring = np.column_stack([np.cos(turn), np.sin(turn)])
    walls = [(radius + k * half_width) * ring for k in (-1.0, 1.0)]
    segments = np.concatenate([np.hstack([wall, np.roll(wall, -1, axis=0)]) for wall in walls])
    width = np.full(count, half_width)
    return Track(radius * ring, width, width, walls=segments, name="circle")


@pytest.fixture(scope="module")
def task() -> Task:
    lidar = Lidar(RAYS, view=np.pi, range=60.0, x=0.3)
    return race_others(
        CAR, agents=3, tracks=straight(), lidar=lidar, params={"rivalry": RIVALRY}, duration=1.0
    )


@pytest.fixture(scope="module")
def road(task: Task) -> Environments:
    return Environments(task, 2, precision="float64", autoreset="disabled")


def put(road: Environments, poses: Sequence[Sequence[float]]) -> Stepped:
    """What a period brings if the three cars of both worlds stand somewhere."""
    return put_each(road, [*poses, *poses])


def put_each(road: Environments, poses: Sequence[Sequence[float]]) -> Stepped:
    """What a period brings if every car stands somewhere."""
    road.reset(seed=0)
    names = record.names(CAR.model.State)
    for row, (x, y, yaw) in enumerate(poses):
        state = record.build(CAR.model.State, {"x": x, "y": y, "yaw": yaw})
        road.engine.x[0, row, : len(names)] = record.flatten(state)
    stepped = road.step(np.zeros((len(road), 2)))
    return stepped._replace(observation=stepped.observation.copy(), reward=stepped.reward.copy())


def test_a_car_ahead_shortens_the_ray_by_the_exact_distance(road: Environments) -> None:
    shown = put(road, [(20.0, 0.0, 0.0), (40.0, 0.0, 0.0), (65.0, 1.2, np.pi / 2)]).observation
    ahead = 60.0 * shown[:, -RAYS + RAYS // 2]
    assert ahead[0] == pytest.approx(40.0 + REAR - 20.3, abs=1e-9)
    # The third stands across the road, with the side of its rear to the second one.
    assert REAR < -1.2
    assert ahead[1] == pytest.approx(65.0 - SIDE - 40.3, abs=1e-9)
    # It looks across the road itself.
    assert ahead[2] == pytest.approx(WIDTH - 1.2 - 0.3, abs=1e-9)
    # To the right and to the left, walls.
    assert 60.0 * shown[0, [-RAYS, -1]] == pytest.approx([WIDTH, WIDTH], abs=1e-9)
    assert np.array_equal(shown[:3], shown[3:])


def test_the_nearest_are_seen_in_coordinates_of_the_track(road: Environments, task: Task) -> None:
    # On their grid and after a period at rest: feet move on from where they were.
    road.reset(seed=1)
    before = in_units(task, road.engine.observation)
    x = road.engine.x[0, :3, record.names(CAR.model.State).index("x")].copy()
    y = road.engine.x[0, :3, record.names(CAR.model.State).index("y")].copy()
    fields = task.Observation._fields
    for k in range(3):
        seen = dict(zip(fields, before[k].tolist(), strict=True))
        gaps = {other: x[other] - x[k] for other in range(3) if other != k}
        assert seen["rank"] == pytest.approx(sum(gap > 0.0 for gap in gaps.values()))
        for name, sign in (("ahead", 1.0), ("behind", -1.0)):
            some = [other for other, gap in gaps.items() if sign * gap > 0.0]
            nearest = min(some, key=lambda other: abs(gaps[other]), default=None)
            gap = 50.0 if nearest is None else abs(gaps[nearest])
            aside = 0.0 if nearest is None else y[nearest] - y[k]
            assert seen[name] == pytest.approx(gap, abs=1e-6)
            assert seen[f"{name}_n"] == pytest.approx(aside, abs=1e-6)
            assert seen[f"{name}_v"] == pytest.approx(0.0, abs=1e-6)


def test_what_one_gains_the_others_lose(road: Environments) -> None:
    """With a rivalry of 1 the rewards of a world add up to 0, whoever drives how."""
    road.reset(seed=2)
    earned = 0.0
    for k in range(20):
        actions = np.random.default_rng(k).uniform(-0.2, 1.0, (6, 2)) * [0.1, 1.0]
        stepped = road.step(actions)
        assert stepped.reward.reshape(2, 3).sum(axis=1) == pytest.approx([0.0, 0.0], abs=1e-9)
        earned += np.abs(stepped.reward).sum()
        assert not stepped.terminated.any()
    assert earned > 0.01


@pytest.mark.parametrize("gap", [0.001, -0.001])
def test_touching_costs_both_and_stops_the_race(road: Environments, gap: float) -> None:
    nose_to_tail = 30.0 + FRONT - REAR + gap
    apart = put(road, [(30.0, 0.0, 0.0), (nose_to_tail + 0.1, 0.0, 0.0), (90.0, 0.0, 0.0)])
    close = put(road, [(30.0, 0.0, 0.0), (nose_to_tail, 0.0, 0.0), (90.0, 0.0, 0.0)])
    touching = gap < 0.0
    assert close.terminated.tolist() == 2 * [touching, touching, False]
    assert close.truncated.tolist() == 2 * [False, False, touching]
    lost = (apart.reward - close.reward)[:2]
    assert lost == pytest.approx([10.0 * touching] * 2, abs=0.2)


@pytest.mark.slow
def test_cars_of_several_parts_touch_where_their_parts_do() -> None:
    """Compiled into a task, as `test_contacts.py` has it on arrays; that a task looks for contacts
    at all is seen with boxes above."""
    car, worlds = kinematic_bicycle(), 60
    parts = units_of(car)[0].parts
    assert len(parts) > 1
    task = race_others(car, agents=2, tracks=straight(), ahead=(), duration=1.0)
    road = Environments(task, worlds, precision="float64", autoreset="disabled")
    draw = np.random.default_rng(4)
    poses = np.zeros((worlds, 2, 3))
    poses[:, 0] = 50.0, -0.8, 0.0
    poses[:, 1] = draw.uniform((46.0, 0.0, -np.pi), (54.0, 1.2, np.pi), (worlds, 3))
    footprint, box = Footprint.polygons(parts), Footprint.polygons(units_of(CAR)[0].parts)
    touching = np.array([len(between(footprint, pair)) > 0 for pair in poses])
    as_boxes = np.array([len(between(box, pair)) > 0 for pair in poses])
    assert 5 < touching.sum() < as_boxes.sum() < worlds - 5
    terminated = put_each(road, poses.reshape(-1, 3).tolist()).terminated.reshape(worlds, 2)
    walls = np.abs(poses[:, 1, 1]) > WIDTH - np.abs(SHAPE).max()  # within reach of one
    assert not walls.any()
    assert np.array_equal(terminated, np.stack([touching, touching], axis=1))


@pytest.mark.slow
def test_cars_on_the_grid_of_a_loop_are_apart_and_take_turns() -> None:
    """Also where the line begins and ends, and whichever of two loops it is."""
    agents, worlds, gap = 4, 40, 9.0
    loops = [circle(14.0, 2.2), circle(20.0, 3.0)]
    loop = race_others(CAR, agents=agents, tracks=loops, gap=gap, ahead=())
    cars = Environments(loop, worlds)
    seen = in_units(loop, cars.reset(seed=0))
    footprint = Footprint.polygons(units_of(CAR)[0].parts)
    names = record.names(CAR.model.State)
    columns = [names.index(name) for name in ("x", "y", "yaw")]
    for poses in cars.state[:, columns].reshape(worlds, agents, 3):
        assert not len(between(footprint, poses))
    ranks = seen[:, -1].round().astype(int).reshape(worlds, agents)
    assert (np.sort(ranks, axis=1) == np.arange(agents)).all()
    assert len({tuple(order) for order in ranks.tolist()}) == agents
    fields = loop.Observation._fields
    # Feet move on from where they were; the first sees no one ahead, as a lap is long.
    for _ in range(2):
        ahead, behind, rank = (seen[:, fields.index(n)] for n in ("ahead", "behind", "rank"))
        assert ahead[rank > 0.5] == pytest.approx(gap, abs=0.02)
        assert behind[rank < agents - 1.5] == pytest.approx(gap, abs=0.02)
        assert (ahead[rank < 0.5] > 50.0 - 1e-3).all()
        seen = in_units(loop, cars.step(np.zeros((worlds * agents, 2))).observation)


@pytest.mark.parametrize("precision", [pytest.param("float32", marks=pytest.mark.slow), "float64"])
def test_driven_at_random(task: Task, precision: str) -> None:
    assert held_to_the_rules(task, precision) > 0


def test_what_cannot_be() -> None:
    for agents in (1, 9):
        with pytest.raises(InvalidValue, match=r"agents = \d.* from 2 to 8"):
            race_others(CAR, agents=agents, tracks=straight())
    with pytest.raises(InvalidValue, match=r"gap = 1 m is too short: on tracks\[0\] \(straight\)"):
        race_others(CAR, agents=3, tracks=straight(), gap=1.0)
    with pytest.raises(InvalidValue, match=r"is 88\.0 m long; 8 vehicles with a gap of 12"):
        race_others(CAR, agents=8, tracks=circle(14.0, 2.2), gap=12.0)
