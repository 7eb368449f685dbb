"""Collisions of the whole body, along its way."""

from __future__ import annotations

import numpy as np
import pytest

from compat.truck.recordings import MAPS, model_path
from skidpad.compat.truck import Status
from skidpad.compat.truck.engine import Engine
from skidpad.compat.truck.model_file import footprint
from skidpad.geometry.collision import Checker
from skidpad.geometry.maps.map import Map

MODEL = model_path("lidar720.yaml")
ROOM = MAPS / "room.geojson"
HALF, SIDE = 0.2525, 0.313 / 2
"""From the base point to nose and tail, and to the sides, in m."""
HIT, FREE = Status.COLLISION, Status.IN_PROGRESS


def engine(map: object = ROOM, **options: object) -> Engine:
    return Engine(MODEL, map, **options)


@pytest.mark.parametrize("gap", [1e-6, -1e-6])
@pytest.mark.parametrize(
    ("x", "y", "away"),
    [(12 - HALF, 4.0, (-1, 0)), (HALF, 4.0, (1, 0)), (6.0, 8 - SIDE, (0, -1)), (6.0, SIDE, (0, 1))],
)
def test_the_body_reaches_as_far_as_its_shape(
    x: float, y: float, away: tuple[int, int], gap: float
) -> None:
    truck = engine()
    truck.reset_base((x + gap * away[0], y + gap * away[1], 0.0))
    assert truck.status is (FREE if gap > 0 else HIT)


def test_all_four_edges_count() -> None:
    for name in ("spike_rear", "spike_front"):
        truck = engine(MAPS / f"{name}.geojson")
        truck.reset_base((5, 5, 0))
        assert truck.status is HIT, name


@pytest.mark.parametrize(("pose", "status"), [((8.5, 5), HIT), ((3.5, 2.5), HIT), ((20, 20), FREE)])
def test_within_an_obstacle_is_a_collision_and_outside_of_the_fence_is_not(
    pose: tuple[float, float], status: Status
) -> None:
    truck = engine()
    truck.reset_base((*pose, 0.0))
    assert truck.status is status


def test_an_obstacle_under_the_truck_is_a_collision() -> None:
    truck = engine(MAPS / "pebble_inside.geojson")
    truck.reset_base((5, 5, 0))
    assert truck.status is HIT


def wall(x: float) -> Map:
    return Map.from_polylines([[(x, -1.0), (x, 1.0)]])


@pytest.mark.parametrize("step", [1e-3, 0.5])
def test_nothing_is_tunnelled(step: float) -> None:
    """A wall between the states of two inner steps, and one between the ends of an advance."""
    for x in np.linspace(1.0, 1.5, 4):
        truck = engine(wall(float(x)), integration_step=step)
        truck.set_base_control(0.8, 0.0)
        truck.advance(4.0)
        assert truck.status is HIT
    through = engine(wall(1.0), compat="upstream")
    through.set_base_control(0.8, 0.0)
    through.advance(4.0)
    assert through.status is FREE


def test_the_truck_stops_in_the_step_of_the_contact() -> None:
    truck = engine(wall(1.0))
    truck.set_base_control(0.8, 0.0)
    truck.advance(10.0)
    # The nose travels 1 - HALF: 0.32 m in the 0.8 s of speeding up, then at 0.8 m/s.
    expected = 0.8 + (1.0 - HALF - 0.32) / 0.8
    assert expected <= truck.time <= expected + 1.1e-3
    x = truck.state().odom_base_pose.x
    assert 1.0 - HALF <= x <= 1.0 - HALF + 0.8e-3
    assert truck.rear.v_x == pytest.approx(0.8)


def test_the_contact_does_not_depend_on_how_time_is_cut() -> None:
    once, often = engine(wall(1.0)), engine(wall(1.0))
    for truck in (once, often):
        truck.set_base_control(0.8, 0.4)
    once.advance(10.0)
    for _ in range(400):
        often.advance(0.01)
    assert once.status is often.status is HIT
    assert once.rear == often.rear
    assert once.time == pytest.approx(often.time, abs=1e-9)


def test_after_a_collision_only_a_reset_goes_on() -> None:
    truck = engine(wall(1.0))
    truck.set_base_control(0.8, 0.0)
    truck.advance(10.0)
    before = truck.rear, truck.time
    truck.set_base_control(-0.5, 0.0)
    truck.advance(1.0)
    assert (truck.rear, truck.time) == before
    truck.erase_map()
    assert truck.status is FREE
    truck.advance(0.1)
    assert truck.time == pytest.approx(before[1] + 0.1)
    truck.reset_map(wall(truck.state().odom_base_pose.x))
    assert truck.status is HIT
    truck.reset_base((-5, 0, 0))
    assert truck.status is FREE


@pytest.mark.slow
def test_random_drives_end_exactly_at_their_first_contact() -> None:
    """Every state on the way is free by the checker, and only the last of a collision is not."""
    truck = engine()
    checker, shape = Checker(truck.map), footprint(truck.params)
    rng = np.random.default_rng(5)
    ended = []
    for pose in truck.map.sample_free(12, clearance=0.5, seed=3):
        truck.reset_base(pose)
        path = []
        for _ in range(80):
            truck.set_base_control(*rng.uniform((-0.5, -1.6), (0.8, 1.6)))
            for _ in range(int(rng.integers(1, 30))):
                truck.advance(0.01)
                path.append(truck.rear[:3])
        ended.append(truck.status is HIT)
        hits = checker.hits(shape, path)
        first = int(np.argmax(hits)) if hits.any() else len(path)
        assert (first < len(path)) == ended[-1]
        assert all(place == path[first] for place in path[first:])
    assert len(set(ended)) == 2


def test_a_drive_close_to_walls_is_judged_as_by_the_checker_alone() -> None:
    """The quick test for room must never hide a contact: a drive along a narrow lane."""
    lane = Map.from_polylines([[(-1, 0.2), (3, 0.2)], [(-1, -0.2), (3, -0.2)]])
    truck = engine(lane)
    truck.set_base_control(0.4, 0.0)
    truck.advance(4.0)
    assert truck.status is FREE
    truck.set_base_control(0.4, 0.3)
    for _ in range(300):
        truck.advance(0.01)
    assert truck.status is HIT
    corners = truck_corners(truck)
    # Touching: one corner is at a side of the lane, by no more than a step's way.
    assert np.abs(corners[:, 1]).max() == pytest.approx(0.2, abs=1e-3)


def truck_corners(truck: Engine) -> np.ndarray:
    x, y, yaw = truck.state().odom_base_pose
    body = np.array([[HALF, SIDE], [HALF, -SIDE], [-HALF, SIDE], [-HALF, -SIDE]])
    c, s = np.cos(yaw), np.sin(yaw)
    return body @ np.array([[c, s], [-s, c]]) + (x, y)
