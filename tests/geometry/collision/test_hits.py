"""Footprints at poses: walls, solid areas, cells, and the recordings of the truck."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from geometry.collision.oracle import clip, gap, placed, winding
from skidpad.errors import InvalidValue
from skidpad.geometry.collision import Checker, Footprint
from skidpad.geometry.maps.map import Map

CAR = Footprint.rectangle(length=0.505, width=0.313, rear=0.2525)
UNIT = Footprint.rectangle(length=2.0, width=2.0, rear=1.0)
MAPS = Path(__file__).parents[2] / "data" / "truck" / "maps"

coordinate = st.floats(-3.0, 3.0)
pose = st.tuples(coordinate, coordinate, st.floats(-7.0, 7.0))
wall = st.tuples(coordinate, coordinate, coordinate, coordinate).filter(
    lambda w: math.hypot(w[2] - w[0], w[3] - w[1]) > 1e-3
)
walls = st.lists(wall, min_size=1, max_size=8)


def hit(map_: Map, at: Any, footprint: Footprint = CAR) -> bool:
    (found,) = Checker(map_).hits(footprint, at)
    return bool(found)


@pytest.mark.parametrize(
    ("name", "at", "expected"),
    [
        ("spike_rear", (5.0, 5.0, 0.0), True),  # through the tail, which upstream does not look at
        ("spike_front", (5.0, 5.0, 0.0), True),
        ("pebble_inside", (5.0, 5.0, 0.0), True),  # wholly under the car
        ("room", (8.5, 5.0, 0.0), True),  # wholly inside an obstacle
        ("room", (3.5, 2.5, 0.0), True),
        ("room", (6.0, 4.0, 0.0), False),
        ("room", (20.0, 20.0, 0.0), False),  # outside of the fence, which is legal
    ],
)
def test_the_truck_in_its_maps(name: str, at: Any, expected: bool) -> None:
    assert hit(Map.load(MAPS / f"{name}.geojson"), at) is expected


@pytest.mark.slow
def test_touching_counts_and_a_hair_less_does_not() -> None:
    wall_ahead = Map.from_polylines([[(1.0, -5.0), (1.0, 5.0)]])
    assert hit(wall_ahead, (0.0, 0.0, 0.0), UNIT)
    assert not hit(wall_ahead, (-1e-12, 0.0, 0.0), UNIT)
    corner = Map.from_polylines([[(1.0, 1.0), (2.0, 1.5)]])
    assert hit(corner, (0.0, 0.0, 0.0), UNIT)
    cell = Map.from_grid([[1]], resolution=1.0, origin=(1.0, 1.0, 0.0))
    assert hit(cell, (0.0, 0.0, 0.0), UNIT)
    assert not hit(cell, (-1e-9, 0.0, 0.0), UNIT)


@given(walls, pose)
def test_walls_by_clipping(lines: Any, at: Any) -> None:
    corners = placed(CAR.parts[0], at)
    overlaps = [clip(line, corners) for line in lines]
    # Nothing that rounding decides.
    assume(all(abs(overlap) > 1e-9 for overlap in overlaps))
    expected = any(overlap > 0.0 for overlap in overlaps)
    assert hit(Map(segments=np.array(lines)), at) is expected


@given(pose, st.floats(-7.0, 7.0), st.tuples(coordinate, coordinate), walls)
def test_moving_everything_changes_nothing(at: Any, turn: float, shift: Any, lines: Any) -> None:
    corners = placed(CAR.parts[0], at)
    assume(all(abs(clip(line, corners)) > 1e-6 for line in lines))
    assume(all(not 0.0 < gap(corners, line) < 1e-9 for line in lines))
    ends = np.array(lines).reshape(-1, 2)
    moved = np.array(placed(ends, (*shift, turn))).reshape(-1, 4)
    (x, y), yaw = placed(np.array([at[:2]]), (*shift, turn))[0], at[2] + turn
    assert hit(Map(segments=moved), (x, y, yaw)) == hit(Map(segments=np.array(lines)), at)


@given(st.lists(pose, min_size=1, max_size=20))
def test_solid_areas_by_winding(poses: Any) -> None:
    outline = [(-2.5, -2.5), (2.5, -2.0), (2.0, 2.5), (-2.0, 2.0)]
    hole = [(-1.2, -1.2), (1.2, -1.0), (0.0, 1.4)]
    made = Map.from_polygons([[outline, hole]])
    found = Checker(made).hits(CAR, np.array(poses))
    for at, contact in zip(poses, found, strict=True):
        corners = placed(CAR.parts[0], at)
        overlaps = [clip(segment, corners) for segment in made.segments.tolist()]
        if min(abs(overlap) for overlap in overlaps) < 1e-9:
            continue
        inside = winding(corners[0], outline) != 0 and winding(corners[0], hole) == 0
        assert contact == (inside or max(overlaps) > 0.0)


cell_rows = st.integers(1, 8).flatmap(
    lambda columns: st.lists(
        st.lists(st.booleans(), min_size=columns, max_size=columns), min_size=1, max_size=8
    )
)


@given(cell_rows, pose, st.floats(-4.0, 4.0))
def test_cells_one_by_one(rows: Any, at: Any, yaw: float) -> None:
    made = Map.from_grid(rows, resolution=0.4, origin=(-1.5, -1.0, yaw))
    assert made.grid is not None
    corners = placed(CAR.parts[0], at)
    expected = False
    for row, column in np.argwhere(made.grid.occupied):
        steps = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
        square = 0.4 * (steps + np.array([column, row]))
        cell = placed(square, made.grid.origin)
        edges = [(*cell[k], *cell[(k + 1) % 4]) for k in range(4)]
        overlaps = [clip(edge, corners) for edge in edges]
        assume(all(abs(overlap) > 1e-9 for overlap in overlaps))
        within = winding(corners[0], cell) != 0
        expected = expected or within or max(overlaps) > 0.0
    assert hit(made, at) is expected


@given(cell_rows, st.lists(pose, min_size=1, max_size=10))
def test_cells_and_their_borders_agree(rows: Any, poses: Any) -> None:
    made = Map.from_grid(rows, resolution=0.4, origin=(-1.5, -1.0, 0.3))
    by_cells = Checker(made).hits(CAR, poses)
    by_borders = Checker(made.vectorised()).hits(CAR, poses)
    # Borders do not know what is wholly inside; a corner of the car does.
    inside = [made.occupied(placed(CAR.parts[0], at)).any() for at in poses]
    np.testing.assert_array_equal(by_cells, by_borders | np.array(inside))


def test_a_large_map_at_once_and_one_by_one() -> None:
    random = np.random.default_rng(3)
    at = random.uniform(0.0, 50.0, (800, 2))
    squares = [np.array([(0, 0), (0.3, 0), (0.3, 0.3), (0, 0.3)]) + place for place in at]
    made = Map.from_polygons(squares)
    poses = np.column_stack([random.uniform(-2, 52, (3000, 2)), random.uniform(-4, 4, 3000)])
    found = Checker(made).hits(CAR, poses)
    assert 0.05 < found.mean() < 0.5
    # All squares near a pose, each clipped.
    for at_pose, contact in zip(poses[:150], found, strict=False):
        near = np.abs(made.segments[:, :2] - at_pose[:2]).max(axis=1) < 1.0
        corners = placed(CAR.parts[0], at_pose)
        assert contact == any(clip(s, corners) >= 0.0 for s in made.segments[near].tolist())
    for threads in (1, 3):
        np.testing.assert_array_equal(found, Checker(made).hits(CAR, poses, threads=threads))


def test_footprints_of_several_parts() -> None:
    wall_between = Map.from_polylines([[(0.0, -1.0), (0.0, 1.0)]])
    halves = [np.array([(-2, -1), (-1, -1), (-1, 1), (-2, 1)]), [(1, -1), (2, -1), (2, 1), (1, 1)]]
    both = Footprint.polygons(halves)
    assert not hit(wall_between, (0.0, 0.0, 0.0), both)
    assert hit(wall_between, (1.5, 0.0, 0.0), both)
    assert hit(wall_between, (-1.5, 0.0, 0.0), both)
    solid = Map.from_polygons([[(0, -5), (9, -5), (9, 5), (0, 5)]])
    assert hit(solid, (3.0, 0.0, 0.0), both)


def test_the_rectangle_lies_where_it_should() -> None:
    low, high = CAR.parts[0].min(axis=0), CAR.parts[0].max(axis=0)
    np.testing.assert_allclose([*low, *high], [-0.2525, -0.1565, 0.2525, 0.1565])
    rear_axle = Footprint.rectangle(length=4.0, width=1.8, rear=1.0)
    (corners,) = rear_axle.at((10.0, 0.0, math.pi / 2))
    np.testing.assert_allclose(corners.min(axis=0), [9.1, -1.0], atol=1e-12)
    np.testing.assert_allclose(corners.max(axis=0), [10.9, 3.0], atol=1e-12)
    assert rear_axle.radius == pytest.approx(math.hypot(3.0, 0.9))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Footprint.rectangle(length=0.0, width=1.0, rear=0.0), "length = 0.0"),
        (lambda: Footprint.rectangle(length=1.0, width=-1.0, rear=0.0), "width = -1.0"),
        (lambda: Footprint.rectangle(length=1.0, width=1.0, rear=math.nan), "rear = nan"),
        (lambda: Footprint.polygons([]), "at least one part"),
        (lambda: Footprint.polygons([[(0, 0), (1, 0)]]), "part 0 has 2 different vertices"),
        (lambda: Footprint.polygons([[(0, 0), (2, 0), (1, 0.1), (1, 2)]]), "points inwards"),
        (
            lambda: Footprint.polygons(
                [
                    [
                        (math.cos(2.4 * math.pi * k / 3), math.sin(2.4 * math.pi * k / 3))
                        for k in range(5)
                    ]
                ]
            ),
            "its edges cross",
        ),
        (lambda: Checker(3), "a Checker takes a Map"),  # type: ignore[arg-type]
        (lambda: Checker(Map()).hits(CAR, (0, 0)), "poses has shape (2,)"),
        (lambda: Checker(Map()).hits(CAR, (0, math.nan, 0)), "poses[0]: (0, nan)"),
        (lambda: Checker(Map()).hits(CAR, (0, 0, math.inf)), "poses[0]: yaw = inf"),
        (lambda: Checker(Map()).hits(CAR, (0, 0, 0), threads=0), "threads = 0"),
    ],
)
def test_bad_input(make: Any, message: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        make()
    assert message in str(caught.value)


def test_corners_in_either_sense_are_one_footprint() -> None:
    corners = [(0, 0), (2, 0), (1, 1)]
    assert Footprint.polygons([corners[::-1]]).parts[0].tolist() != corners
    made = Map.from_polylines([[(1.0, 0.2), (1.0, 5.0)]])
    for given_corners in (corners, corners[::-1]):
        assert hit(made, (0, 0, 0), Footprint.polygons([given_corners]))
        assert not hit(made, (0, -1, 0), Footprint.polygons([given_corners]))


def test_nothing_is_hit_on_an_empty_map() -> None:
    checker = Checker(Map())
    assert not checker.hits(CAR, np.zeros((3, 3))).any()
    assert checker.first_contact(CAR, (0, 0, 0), (9, 9, 1)) is None
    assert checker.hits(CAR, np.empty((0, 3))).shape == (0,)
