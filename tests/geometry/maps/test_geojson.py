"""GeoJSON: every shape that makes obstacles, and errors that say where."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from skidpad.errors import InvalidValue
from skidpad.geometry.maps import MapWarning
from skidpad.geometry.maps.files import parse_geojson
from skidpad.geometry.maps.map import Map

SQUARE = [[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]]
INNER = [[1, 1], [2, 1], [2, 2], [1, 2], [1, 1]]
FAR = [[10, 0], [11, 0], [11, 1], [10, 1], [10, 0]]


def polygon(*rings: Any) -> dict[str, Any]:
    return {"type": "Polygon", "coordinates": list(rings)}


def collection(*geometries: Any) -> dict[str, Any]:
    features = [{"type": "Feature", "properties": {}, "geometry": g} for g in geometries]
    return {"type": "FeatureCollection", "features": features}


def read(content: Any, **options: Any) -> Map:
    return parse_geojson(json.dumps(content), source="yard.geojson", **options)


def test_rings_are_closed_for_the_user() -> None:
    closed, opened = read(polygon(SQUARE, INNER)), read(polygon(SQUARE[:-1], INNER[:-1]))
    assert closed.segments.shape == (8, 4)
    np.testing.assert_array_equal(closed.segments, opened.segments)
    assert closed.segments[3].tolist() == [0.0, 4.0, 0.0, 0.0]


def test_a_feature_and_a_bare_geometry_are_maps_too() -> None:
    whole = read(collection(polygon(SQUARE)))
    feature = read({"type": "Feature", "geometry": polygon(SQUARE), "properties": None})
    bare = read(polygon(SQUARE))
    for other in (feature, bare):
        np.testing.assert_array_equal(whole.segments, other.segments)


def test_any_coordinates_will_do() -> None:
    shifted = [[x - 1e5, y - 7.5] for x, y in SQUARE]
    assert read(polygon(shifted)).bounds == (-1e5, -7.5, -1e5 + 4.0, -3.5)


def test_heights_are_ignored() -> None:
    assert read(polygon([[x, y, 99.0] for x, y in SQUARE])).bounds == (0.0, 0.0, 4.0, 4.0)


def test_lines_are_walls_and_nothing_is_inside_them() -> None:
    lines = {"type": "MultiLineString", "coordinates": [[[0, 0], [1, 0], [1, 2]], [[5, 5], [6, 6]]]}
    made = read(collection(lines, {"type": "LineString", "coordinates": SQUARE}))
    assert made.segments.shape == (2 + 1 + 4, 4)
    assert not made.polygons
    assert made.free([[2.0, 2.0]]).all()


def test_multi_polygons_and_collections_of_geometries() -> None:
    many = {"type": "MultiPolygon", "coordinates": [[SQUARE, INNER], [FAR]]}
    nested = {"type": "GeometryCollection", "geometries": [many, polygon(INNER)]}
    assert read(many).segments.shape == (12, 4)
    assert read(nested).segments.shape == (16, 4)


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        # The point in the outline, the one in its hole, the one outside.
        ("solid", [True, False, False]),
        ("free", [False, True, False]),
        ("auto", [False, True, False]),
    ],
)
def test_what_is_inside(inside: Any, expected: list[bool]) -> None:
    made = read(polygon(SQUARE, INNER), inside=inside)
    assert made.occupied([[3.0, 3.0], [1.5, 1.5], [9.0, 9.0]]).tolist() == expected


def test_a_lone_ring_is_a_fence_and_rings_side_by_side_are_obstacles() -> None:
    alone, two = read(polygon(SQUARE)), read(collection(polygon(SQUARE), polygon(FAR)))
    assert alone.free([[2.0, 2.0]]).all()
    assert len(alone.fences) == 1
    assert two.occupied([[2.0, 2.0], [10.5, 0.5], [7.0, 0.5]]).tolist() == [True, True, False]


def test_areas_alternate_from_ring_to_ring_inside_a_fence() -> None:
    def ring(half: float) -> list[list[float]]:
        return [[-half, -half], [half, -half], [half, half], [-half, half]]

    made = read(collection(*(polygon(ring(half)) for half in (5, 4, 3, 2))))
    at = [[4.5, 0.0], [3.5, 0.0], [2.5, 0.0], [0.0, 0.0]]
    assert made.occupied(at).tolist() == [False, True, False, True]


def box(x0: float, y0: float, x1: float, y1: float) -> list[list[float]]:
    return [[x0, y0], [x1, y0], [x1, y1], [x0, y1]]


def test_rings_that_cross_or_repeat() -> None:
    # Two fences that overlap, with an obstacle in both and one in each.
    boxes = [(0, 0, 10, 10), (5, 0, 15, 10), (6, 4, 7, 5), (1, 1, 2, 2), (13, 1, 14, 2)]
    crossing = read(collection(*(polygon(box(*corners)) for corners in boxes)))
    assert crossing.occupied([[6.5, 4.5], [1.5, 1.5], [13.5, 1.5], [8, 8]]).tolist() == [
        True,
        True,
        True,
        False,
    ]
    # The same obstacle twice is still one, and a hole may stick out of its outline.
    twice = read(collection(polygon(SQUARE), polygon(SQUARE), polygon(FAR)))
    assert twice.occupied([[2.0, 2.0], [10.5, 0.5], [7.0, 7.0]]).tolist() == [True, True, False]
    outside = read(
        collection(polygon(box(0, 0, 20, 20)), polygon(box(1, 1, 5, 5), box(4, 2, 9, 3)))
    )
    assert outside.occupied([[2.0, 4.0], [4.5, 2.5], [15.0, 15.0]]).tolist() == [True, False, False]


def test_the_truck_maps(data: Path) -> None:
    room = Map.load(data / "truck" / "maps" / "room.geojson")
    with np.load(data / "truck" / "s15_scans_room.npz") as recorded:
        np.testing.assert_allclose(room.segments, recorded["segments"], atol=1e-12)
    # Inside two of the obstacles, outside of the room, and in the middle of it.
    at = [[8.5, 5.0], [3.5, 2.5], [20.0, 20.0], [6.0, 4.0]]
    assert room.occupied(at).tolist() == [True, True, False, False]
    negative = Map.load(data / "truck" / "maps" / "negative_coordinate.geojson")
    assert negative.bounds == (-1.0, 0.0, 1.0, 1.0)


@pytest.fixture(scope="module")
def data() -> Path:
    return Path(__file__).parents[2] / "data"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([1], "yard.geojson must be a JSON object"),
        ({"type": "FeatureCollection"}, "features must be a list"),
        (collection(), "no polygon and no line"),
        (collection(polygon(SQUARE), None), "feature 1 has no geometry"),
        (collection({"type": "Point", "coordinates": [0, 0]}), "feature 0: type 'Point'"),
        (collection({"type": "Polygon"}), "feature 0: geometry has no coordinates"),
        (collection(polygon()), "feature 0: the polygon is empty"),
        (collection(polygon([])), "feature 0, ring 0 is empty"),
        (
            collection(polygon(SQUARE), polygon(SQUARE, [[0, 0], [1, 1], [0, 0]])),
            "feature 1, ring 1 has 2 different vertices",
        ),
        (collection(polygon([[0, 0], [1, 1], [2, 2], [0, 0]])), "ring 0 encloses no area"),
        (collection(polygon([[0, 0], [1, "a"], [2, 2]])), "ring 0, vertex 1"),
        (collection(polygon([[0, 0], [1], [2, 2]])), "ring 0, vertex 1"),
        (collection(polygon([[0, 0], [True, 1], [2, 2]])), "ring 0, vertex 1"),
        (collection(polygon([[0, 0], [1, 0], [float("nan"), 1]])), "ring 0, vertex 2: (nan, 1)"),
        (collection(polygon([[0, 0], [1, 0], [float("inf"), 1]])), "ring 0, vertex 2: (inf, 1)"),
        (collection(polygon([[0, 0], [1, 0], [0, 10**400]])), "ring 0, vertex 2"),
        (collection({"type": "LineString", "coordinates": [[1, 1], [1, 1]]}), "line 0 has 1"),
    ],
)
def test_errors_say_where(content: Any, message: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        read(content)
    assert "yard.geojson" in str(caught.value)
    assert message in str(caught.value)


def test_what_is_not_json(tmp_path: Path) -> None:
    file = tmp_path / "yard.geojson"
    file.write_text('{"type": "Polygon",\n oops}', encoding="utf-8")
    with pytest.raises(InvalidValue, match=r"yard\.geojson, line 2, column 2: not JSON"):
        Map.load(file)
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidValue, match="not a text file in UTF-8"):
        Map.load(file)
    with pytest.raises(InvalidValue, match="cannot be read"):
        Map.load(tmp_path / "none.geojson")


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(InvalidValue, match="nested too deeply"):
        parse_geojson("[" * 100_000)


def test_options_are_checked(tmp_path: Path) -> None:
    file = tmp_path / "yard.geojson"
    file.write_text(json.dumps(polygon(SQUARE)), encoding="utf-8")
    with pytest.raises(InvalidValue, match="inside = 'hollow' is unknown; allowed are auto"):
        Map.load(file, inside="hollow")
    with pytest.raises(InvalidValue, match="colour is not an option of read_geojson"):
        Map.load(file, colour="blue")
    with pytest.raises(InvalidValue, match="is a folder"):
        Map.load(tmp_path)
    with pytest.raises(InvalidValue, match=r"suffix \.txt is not that of a map"):
        Map.load(tmp_path / "yard.txt")


YARD = [[-10, -10], [30, -10], [30, 10], [-10, 10], [-10, -10]]
ACROSS = [[28, 0], [32, 0], [32, 1], [28, 1], [28, 0]]
THROUGH = [[-15, 0], [35, 0], [35, 1], [-15, 1], [-15, 0]]
PROBES = np.array([[x, y] for x in np.arange(-14.3, 34, 0.9) for y in np.arange(-12.1, 12, 0.7)])


def redrawn(ring: list[list[float]]) -> list[list[list[float]]]:
    """The same ring from another corner, the other way round, and with a corner on an edge."""
    opened = ring[:-1]
    middle = [(opened[0][k] + opened[1][k]) / 2 for k in (0, 1)]
    return [ring, opened[2:] + opened[:2], ring[::-1], [opened[0], middle, *opened[1:]]]


@pytest.mark.parametrize("twice", range(3))
@pytest.mark.parametrize("how", range(4))
def test_what_is_drawn_twice_counts_once(twice: int, how: int) -> None:
    """A fence, an obstacle and an island in a lake: none of them changes sides."""
    rings: list[Any] = [polygon(YARD), polygon(SQUARE, INNER), polygon(FAR)]
    once = read(collection(*rings))
    again = polygon(redrawn(rings[twice]["coordinates"][0])[how], *rings[twice]["coordinates"][1:])
    for order in ([*rings, again], [again, *rings]):
        both = read(collection(*order))
        np.testing.assert_array_equal(both.occupied(PROBES), once.occupied(PROBES))
        assert len(both.fences) == len(once.fences)


def test_an_area_that_fills_a_hole_is_solid() -> None:
    filled = read(collection(polygon(YARD), polygon(SQUARE, INNER), polygon(INNER)))
    assert filled.occupied([[1.5, 1.5]]).tolist() == [True]


@pytest.mark.parametrize("ring", [ACROSS, THROUGH])
def test_outlines_that_cross_are_solid_and_said(ring: Any) -> None:
    with pytest.warns(MapWarning, match="outlines cross near .* inside='free'"):
        crossed = read(collection(polygon(YARD), polygon(ring)))
    assert crossed.occupied([[0.0, 5.0]]).tolist() == [True]


def test_a_fence_that_something_crosses_stays_one_if_it_is_around_others() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yard = read(collection(polygon(YARD), polygon(SQUARE), polygon(ACROSS)))
        # What only touches does not cross, nor what is told.
        read(collection(polygon(SQUARE), polygon([[4, 0], [6, 0], [6, 4], [4, 4]])))
        read(collection(polygon(YARD), polygon(ACROSS)), inside="solid")
    assert yard.occupied([[10.0, 5.0], [2.0, 2.0], [29.0, 0.5]]).tolist() == [False, True, True]
