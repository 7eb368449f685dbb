"""The map itself: shapes from Python, queries, distances, sampling, and its picture."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from skidpad.errors import InvalidValue
from skidpad.geometry.maps import Grid
from skidpad.geometry.maps.map import Map

Array = NDArray[np.float64]
SQUARE = [(0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0)]
INNER = [(1.0, 1.0), (2.0, 1.0), (2.0, 2.0), (1.0, 2.0)]


def distance_to(segment: Array, point: Array) -> float:
    """Of one point from one segment, by the textbook."""
    a, b = segment[:2], segment[2:]
    t = float(np.dot(point - a, b - a) / np.dot(b - a, b - a))
    return float(np.linalg.norm(point - (a + min(1.0, max(0.0, t)) * (b - a))))


def test_polylines_open_and_closed() -> None:
    lines = [[(0, 0), (1, 0), (1, 0), (1, 1)]]
    assert Map.from_polylines(lines).segments.tolist() == [[0, 0, 1, 0], [1, 0, 1, 1]]
    assert len(Map.from_polylines(lines, closed=True).segments) == 3


def test_polygons_are_obstacles_unless_asked_otherwise() -> None:
    solid = Map.from_polygons([SQUARE])
    assert solid.occupied([[2.0, 2.0], [4.0, 2.0], [0.0, 0.0], [4.1, 2.0]]).tolist() == [
        True,
        True,
        True,
        False,
    ]
    holed = Map.from_polygons([[SQUARE, INNER]])
    # Inside the hole, on its border, between the rings.
    assert holed.occupied([[1.5, 1.5], [1.0, 1.5], [3.0, 3.0]]).tolist() == [False, True, True]
    yard = Map.from_polygons([[SQUARE, INNER]], inside="free")
    assert yard.occupied([[1.5, 1.5], [3.0, 3.0], [9.0, 9.0]]).tolist() == [True, False, False]


def test_arrays_are_read_only_and_copied() -> None:
    ring = np.array(SQUARE)
    made = Map.from_polygons([ring])
    ring[0] = 99.0
    assert made.bounds == (0.0, 0.0, 4.0, 4.0)
    with pytest.raises(ValueError, match="read-only"):
        made.segments[0] = 0.0


def test_an_empty_map() -> None:
    empty = Map()
    assert empty.empty
    assert empty.free([[0.0, 0.0]]).all()
    for ask in (lambda: empty.bounds, lambda: empty.nearest([[0, 0]]), empty.plot):
        with pytest.raises(InvalidValue, match="map 'map'"):
            ask()
    assert empty._repr_png_() is None


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Map.from_polygons([[(0, 0), (1, 0)]]), "polygon 0, ring 0 has 2 different"),
        (lambda: Map.from_polygons([SQUARE, [(0, 0), (1, 1), (2, 2)]]), "polygon 1, ring 0 enclos"),
        (lambda: Map.from_polygons([[SQUARE, [(0, 0), (0, 0)]]]), "polygon 0, ring 1 has 1"),
        (lambda: Map.from_polygons([[]]), "polygon 0"),
        (lambda: Map.from_polygons([[(0, 0), (1, math.nan), (1, 1)]]), "vertex 1: (1, nan)"),
        (lambda: Map.from_polygons([SQUARE], inside="wet"), "inside = 'wet' is unknown"),  # type: ignore[arg-type]
        (lambda: Map.from_polylines([[(0, 0)]]), "line 0 has 1 different vertices"),
        (lambda: Map.from_polylines([[(0, 0), (1, 2e9)]]), "line 0, vertex 1: (1, 2e+09)"),
        (lambda: Map.from_polylines([[(0, 0, 0), (1, 1, 1)]]), "has shape (2, 3)"),
        (lambda: Map(segments=np.zeros((3, 2))), "segments has shape (3, 2)"),
        (lambda: Map(segments=np.full((2, 4), np.nan)), "segment 0: (nan, nan)"),
        (lambda: Map(polygons=(np.array(SQUARE),)), "have 4 edges, but there are 0 segments"),
        (lambda: Map(cones=np.zeros((2, 2)), colours=("blue",)), "2 cones have 1 colours"),
        (lambda: Map(grid=3), "grid must be a Grid or None"),  # type: ignore[arg-type]
        (lambda: Map(centre_line=np.zeros((2, 6))), "s = 0 must increase"),
        (lambda: Map(centre_line=np.zeros((2, 5))), "centre_line has shape (2, 5)"),
    ],
)
def test_what_is_no_map(make: Any, message: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        make()
    assert message in str(caught.value)


coordinates = st.floats(-5.0, 5.0).map(lambda value: round(value, 3))
points = st.tuples(coordinates, coordinates)


@given(st.lists(st.tuples(points, points), min_size=1, max_size=30), st.lists(points, min_size=1))
def test_nearest_is_what_trying_all_gives(walls: Any, asked: Any) -> None:
    segments = np.array([(*a, *b) for a, b in walls if a != b] or [(0.0, 0.0, 1.0, 0.0)])
    made = Map(segments=segments)
    # Far outside of the table of cells, too.
    where = np.concatenate([np.array(asked), 40.0 * np.array(asked)])
    found = made.nearest(where)
    for k, point in enumerate(where):
        every = [distance_to(segment, point) for segment in segments]
        assert found.distance[k] == pytest.approx(min(every), abs=1e-9)
        assert every[found.segment[k]] == pytest.approx(min(every), abs=1e-9)
        assert math.dist(found.point[k], point) == pytest.approx(found.distance[k], abs=1e-9)


def test_distances_are_negative_inside() -> None:
    made = Map.from_polygons([SQUARE])
    at = [[2.0, 2.0], [0.5, 2.0], [7.0, 8.0], [2.0, -3.0], [4.0, 1.0]]
    np.testing.assert_allclose(made.distance(at), [-2.0, -0.5, 5.0, 3.0, 0.0], atol=1e-15)


def test_the_field_holds_the_distances() -> None:
    made = Map.from_polygons([SQUARE])
    field = made.distance_field(0.5, margin=1.0)
    assert field.values.shape == (12, 12)
    # Cell (0, 0) has its middle 0.75 m outside of the corner; (6, 6) lies 1.75 m inside.
    assert field.values[0, 0] == pytest.approx(0.75 * math.sqrt(2.0))
    assert field.values[6, 6] == pytest.approx(-1.75)
    assert field.at([[2.25, 0.25], [2.25, 0.5]]) == pytest.approx([-0.25, -0.5])


cells = st.integers(1, 7).flatmap(
    lambda columns: st.lists(
        st.lists(st.booleans(), min_size=columns, max_size=columns), min_size=1, max_size=7
    )
)


def brute_distance(occupied: Array, row: int, column: int) -> float:
    """From the middle of a cell to the nearest cell of the other kind, in cells."""
    best = math.inf
    inside = bool(occupied[row, column])
    for r in range(-1, occupied.shape[0] + 1):
        for c in range(-1, occupied.shape[1] + 1):
            within = 0 <= r < occupied.shape[0] and 0 <= c < occupied.shape[1]
            if (bool(occupied[r, c]) if within else False) != inside:
                gap = [max(abs(d) - 0.5, 0.0) for d in (r - row, c - column)]
                best = min(best, math.hypot(*gap))
    return -best if inside else best


@given(cells)
def test_fields_of_cells_and_of_their_borders_agree_with_trying_all(rows: Any) -> None:
    occupied = np.array(rows)
    if not occupied.any():
        occupied[0, 0] = True
    made = Map.from_grid(occupied, resolution=0.5, origin=(3.0, -2.0, 0.7))
    assert made.grid is not None
    field = made.distance_field()
    exact = made.distance(made.grid.centres().reshape(-1, 2)).reshape(occupied.shape)
    for row, column in np.ndindex(occupied.shape):
        expected = 0.5 * brute_distance(occupied, row, column)
        assert field.values[row, column] == pytest.approx(expected, abs=1e-12)
        assert exact[row, column] == pytest.approx(expected, abs=1e-9)


@given(cells)
def test_borders_of_cells(rows: Any) -> None:
    occupied = np.array(rows)
    made = Map.from_grid(occupied, resolution=2.0)
    walls = made.vectorised()
    assert walls.grid is None
    padded = np.pad(occupied, 1).astype(int)
    edges = np.abs(np.diff(padded, axis=0)).sum() + np.abs(np.diff(padded, axis=1)).sum()
    lengths = np.abs(walls.segments[:, 2:] - walls.segments[:, :2]).sum(axis=1)
    assert lengths.sum() == pytest.approx(2.0 * edges)
    middle = walls.segments.reshape(-1, 2, 2).mean(axis=1)
    ahead = walls.segments[:, 2:] - walls.segments[:, :2]
    left = 1e-6 * np.column_stack([-ahead[:, 1], ahead[:, 0]])
    # On the left of each border, off the corners of cells, is what is occupied.
    off_corner = middle + 1e-3 * ahead
    assert made.occupied(off_corner + left).all()
    assert made.free(off_corner - left).all()


def test_straight_borders_are_one_segment() -> None:
    assert len(Map.from_grid(np.ones((3, 50)), resolution=1.0).border_segments) == 4


def test_rasters_cover_every_obstacle(tmp_path: Path) -> None:
    ring = [(0.3, 0.2), (3.9, 0.7), (2.2, 3.1)]
    made = Map.from_polygons([ring])
    grid = made.rasterised(0.1)
    assert isinstance(grid, Grid)
    inside = np.random.default_rng(1).uniform(0.0, 4.0, (4000, 2))
    inside = inside[made.occupied(inside)]
    assert grid.at(inside).all()
    # No cell is occupied that an obstacle does not come near to.
    centres = grid.centres()[grid.occupied]
    assert made.distance(centres).max() <= 0.05 * math.sqrt(2.0) + 1e-9


def test_rasters_of_thin_walls_have_no_gaps() -> None:
    made = Map.from_polylines([[(0.05, 0.03), (10.0, 3.3), (4.43, 7.71)]])
    grid = made.rasterised(0.2, margin=0.4)
    along = np.linspace(0.0, 1.0, 5001)[:, None]
    for x0, y0, x1, y1 in made.segments:
        assert grid.at((1.0 - along) * [x0, y0] + along * [x1, y1]).all()
    # A line of length l passes at most about l (|cos| + |sin|) / cell + 1 of the cells.
    crossed = np.abs(np.diff(made.segments.reshape(-1, 2, 2), axis=1)).sum() / 0.2
    assert crossed - 2 <= grid.occupied.sum() <= crossed + 4


def test_samples_are_free_and_repeatable(tmp_path: Path) -> None:
    yard = Map.from_polygons([[SQUARE, INNER]], inside="free")
    poses = yard.sample_free(500, clearance=0.3, seed=4)
    assert poses.shape == (500, 3)
    assert yard.distance(poses[:, :2]).min() >= 0.3
    assert (poses[:, :2] >= 0.3).all()
    assert (poses[:, :2] <= 3.7).all()
    assert np.abs(poses[:, 2]).max() <= math.pi
    # Evenly: a quarter of the area has about a quarter of the samples that it could have.
    lower_right = (poses[:, 0] > 2.3) & (poses[:, 1] < 2.0)
    assert 0.25 < lower_right.mean() < 0.45
    np.testing.assert_array_equal(poses, yard.sample_free(500, clearance=0.3, seed=4))
    assert not np.array_equal(poses, yard.sample_free(500, clearance=0.3, seed=5))


def test_samples_stay_where_something_is_known() -> None:
    unknown = np.array([[False, True]])
    made = Map(grid=Grid(np.zeros((1, 2), dtype=np.bool_), 1.0, unknown=unknown))
    assert made.sample_free(50)[:, 0].max() < 1.0
    within = [(0.0, 0.0), (0.5, 0.0), (0.5, 1.0)]
    assert made.sample_free(50, within=within)[:, 0].max() < 0.5
    assert made.sample_free(0).shape == (0, 3)


@pytest.mark.slow_cases("arguments3-only 0 of")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"count": -1}, "count = -1"),
        ({"count": 1.5}, "count = 1.5"),
        ({"count": 1, "clearance": -1.0}, "clearance = -1.0"),
        ({"count": 1, "clearance": 3.0}, "only 0 of"),
        ({"count": 1, "seed": "x"}, "seed = 'x'"),
    ],
)
def test_samples_that_cannot_be_had(arguments: Any, message: str) -> None:
    yard = Map.from_polygons([SQUARE], inside="free")
    with pytest.raises(InvalidValue, match=message):
        yard.sample_free(**arguments)


@pytest.mark.parametrize("resolution", [0.0, -1.0, math.nan, math.inf, 1e-9, "fine", None])
def test_resolutions_are_checked(resolution: Any) -> None:
    made = Map.from_polygons([SQUARE])
    for ask in (made.rasterised, made.distance_field):
        with pytest.raises(InvalidValue, match="resolution"):
            ask(resolution)


@pytest.mark.slow
def test_pictures(tmp_path: Path) -> None:
    made = Map.from_polygons([[SQUARE, INNER]], name="yard")
    made.nearest([[0.0, 0.0]])
    grid = Map.from_grid(np.eye(5), resolution=0.5, origin=(1.0, 2.0, 0.3), name="cells")
    for each in (made, grid, pickle.loads(pickle.dumps(made))):
        figure = each.plot(tmp_path / f"{each.name}.png")
        assert figure.axes[0].get_title(loc="left") == each.name
        assert (tmp_path / f"{each.name}.png").read_bytes()[:4] == b"\x89PNG"
        shown = each._repr_png_()
        assert shown is not None
        assert shown[:4] == b"\x89PNG"
    with pytest.raises(InvalidValue, match="suffix must be"):
        made.plot(tmp_path / "yard.gif")
