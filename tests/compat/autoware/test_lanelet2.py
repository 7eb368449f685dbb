"""Roads from Lanelet2 files, and the projection of maps without local coordinates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from skidpad.compat.autoware.road import Road, read_lanelets
from skidpad.errors import InvalidValue

Point = tuple[float, float, float]


class Map:
    """A small map file in the making."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.count = 0

    def add(self, text: str) -> int:
        self.count += 1
        self.parts.append(text.replace("ID", str(self.count)))
        return self.count

    def node(self, point: Point, *, tags: Sequence[str] = ("local_x", "local_y", "ele")) -> int:
        values = dict(zip(("local_x", "local_y", "ele"), point, strict=True))
        inner = "".join(f"<tag k='{name}' v='{values[name]}'/>" for name in tags)
        return self.add(f"<node id='ID' lat='' lon=''>{inner}</node>")

    def way(self, points: Sequence[Point]) -> int:
        refs = "".join(f"<nd ref='{self.node(point)}'/>" for point in points)
        return self.add(f"<way id='ID'>{refs}</way>")

    def lanelet(self, ways: Mapping[str, int], subtype: str = "road", mark: str = "") -> int:
        members = "".join(
            f"<member type='way' ref='{way}' role='{role}'/>" for role, way in ways.items()
        )
        tags = f"<tag k='type' v='lanelet'/><tag k='subtype' v='{subtype}'/>"
        return self.add(f"<relation id='ID' {mark}>{members}{tags}</relation>")

    def save(self, folder: Path) -> Path:
        file = folder / "map.osm"
        body = "\n".join(self.parts)
        file.write_text(f"<?xml version='1.0'?>\n<osm version='0.6'>\n{body}\n</osm>\n", "utf-8")
        return file


def straight(y: float, grade: float = 0.1) -> list[Point]:
    """A bound along x from 0 to 40 m with a constant grade."""
    return [(x, y, grade * x) for x in (0.0, 10.0, 25.0, 40.0)]


def test_a_ramp_between_two_bounds(tmp_path: Path) -> None:
    osm = Map()
    osm.lanelet({"left": osm.way(straight(2.0)), "right": osm.way(straight(-2.0))})
    road = read_lanelets(osm.save(tmp_path))
    assert road.pitch(12.0, 1.0, 0.0) == pytest.approx(-math.atan(0.1), rel=1e-12)
    assert road.pitch(12.0, 1.0, math.pi) == pytest.approx(math.atan(0.1), rel=1e-12)
    # 40 m of run at a grade of 0.1 are 40.2 m of road: 9 parts of at most 5 m.
    (lane,) = road.lanes
    assert lane.centre == pytest.approx(
        np.column_stack([np.linspace(0, 40, 10), np.zeros(10), np.linspace(0, 4, 10)]), abs=1e-12
    )
    assert road.pitch(12.0, 4.1, 0.0) == 0.0


@pytest.mark.parametrize("left_backwards", [False, True])
@pytest.mark.parametrize("right_backwards", [False, True])
def test_a_lane_is_driven_with_its_left_bound_on_the_left(
    tmp_path: Path, left_backwards: bool, right_backwards: bool
) -> None:
    osm = Map()
    left, right = straight(2.0), straight(-2.0)
    osm.lanelet(
        {
            "left": osm.way(left[::-1] if left_backwards else left),
            "right": osm.way(right[::-1] if right_backwards else right),
        }
    )
    (lane,) = read_lanelets(osm.save(tmp_path)).lanes
    assert lane.centre[0] == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)
    assert lane.centre[-1] == pytest.approx([40.0, 0.0, 4.0], abs=1e-12)


def test_lanes_in_opposite_directions_share_a_bound(tmp_path: Path) -> None:
    osm = Map()
    middle = osm.way(straight(0.0))
    osm.lanelet({"left": middle, "right": osm.way(straight(-4.0))})
    osm.lanelet({"left": middle, "right": osm.way(straight(4.0))})
    forth, back = read_lanelets(osm.save(tmp_path)).lanes
    assert forth.centre[0, :2] == pytest.approx([0.0, -2.0], abs=1e-12)
    assert back.centre[0, :2] == pytest.approx([40.0, 2.0], abs=1e-12)


def test_a_bend_is_divided_by_the_length_of_each_bound(tmp_path: Path) -> None:
    """On a quarter circle the centre line is the circle between, at equal angles."""
    angles = np.linspace(0.0, math.pi / 2.0, 400)
    osm = Map()
    bounds = [[(r * math.cos(a), r * math.sin(a), 0.0) for a in angles] for r in (18.0, 22.0)]
    osm.lanelet({"left": osm.way(bounds[0]), "right": osm.way(bounds[1])})
    (lane,) = read_lanelets(osm.save(tmp_path)).lanes
    parts = math.ceil(22.0 * math.pi / 2.0 / 5.0)
    expected = [
        (20.0 * math.cos(a), 20.0 * math.sin(a), 0.0)
        for a in np.linspace(0.0, math.pi / 2.0, parts + 1)
    ]
    assert lane.centre == pytest.approx(np.array(expected), abs=1e-3)


def test_a_centre_line_of_the_map_s_own_is_used(tmp_path: Path) -> None:
    osm = Map()
    own = [(40.0, 0.5, 8.0), (20.0, 0.5, 8.0), (0.0, 0.5, 0.0)]
    osm.lanelet(
        {
            "left": osm.way(straight(2.0)),
            "right": osm.way(straight(-2.0)),
            "centerline": osm.way(own),
        }
    )
    road = read_lanelets(osm.save(tmp_path))
    assert road.lanes[0].centre == pytest.approx(np.array(own[::-1]))
    assert road.pitch(10.0, 0.0, 0.0) == pytest.approx(-math.atan(0.4), rel=1e-12)


def test_only_the_wanted_subtypes_are_read(tmp_path: Path) -> None:
    osm = Map()
    osm.lanelet({"left": osm.way(straight(2.0)), "right": osm.way(straight(-2.0))})
    osm.lanelet({"left": osm.way(straight(9.0)), "right": osm.way(straight(6.0))}, "crosswalk")
    osm.lanelet({"left": osm.way(straight(2.0)), "right": 99}, mark="action='delete'")
    file = osm.save(tmp_path)
    assert len(read_lanelets(file).lanes) == 1
    assert len(read_lanelets(file, subtypes=("road", "crosswalk")).lanes) == 2
    assert len(read_lanelets(file, subtypes="crosswalk").lanes) == 1
    with pytest.raises(InvalidValue, match=r"subtype bus_lane.*crosswalk, road"):
        read_lanelets(file, subtypes=("bus_lane",))


def test_without_heights_the_road_is_flat(tmp_path: Path) -> None:
    osm = Map()
    osm.lanelet({"left": osm.way(straight(2.0)), "right": osm.way(straight(-2.0))})
    file = osm.save(tmp_path)
    text = file.read_text("utf-8")
    file.write_text(text.replace("k='ele'", "k='other'"), "utf-8")
    assert read_lanelets(file).pitch(12.0, 0.0, 0.0) == 0.0


def geographic_map(folder: Path, latitude: float, longitude: float) -> Road:
    """A lane of a thousandth of a degree to the north, rising by 10 m."""
    parts = []
    for k, (side, share) in enumerate([(-1, 0), (-1, 1), (1, 0), (1, 1)]):
        where = f"lat='{latitude + 0.001 * share}' lon='{longitude + 2e-5 * side}'"
        parts.append(f"<node id='{k}' {where}><tag k='ele' v='{10.0 * share}'/></node>")
    parts.append("<way id='8'><nd ref='0'/><nd ref='1'/></way>")
    parts.append("<way id='9'><nd ref='2'/><nd ref='3'/></way>")
    parts.append(
        "<relation id='10'><member type='way' ref='8' role='left'/><member type='way' ref='9' "
        "role='right'/><tag k='type' v='lanelet'/><tag k='subtype' v='road'/></relation>"
    )
    file = folder / "map.osm"
    file.write_text(f"<osm>{''.join(parts)}</osm>", "utf-8")
    return read_lanelets(file)


def test_latitude_and_longitude_become_metres(tmp_path: Path) -> None:
    road = geographic_map(tmp_path, 35.0, 139.0)
    (lane,) = road.lanes
    # Radius of curvature of the meridian of WGS 84 at this latitude.
    e2 = 1.0 - (1.0 - 1.0 / 298.257223563) ** 2
    radius = 6378137.0 * (1.0 - e2) / (1.0 - e2 * math.sin(math.radians(35.0005)) ** 2) ** 1.5
    length = math.hypot(*(lane.centre[-1] - lane.centre[0])[:2])
    # The scale of the projection differs from 1 by less than a thousandth.
    assert length == pytest.approx(radius * math.radians(0.001), rel=1e-3)
    x, y, _ = lane.centre[len(lane.centre) // 2]
    north = math.atan2(*(lane.centre[-1] - lane.centre[0])[1::-1])
    assert road.pitch(x, y, north) == pytest.approx(-math.atan(10.0 / length), rel=1e-9)
    assert 0.0 <= x < 1e5
    assert 0.0 <= y < 1e5


def broken(osm: Map, left: int | None, right: int | None) -> Map:
    osm.lanelet({k: v for k, v in (("left", left), ("right", right)) if v is not None})
    return osm


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    osm = Map()
    bound = osm.way(straight(2.0))
    with pytest.raises(InvalidValue, match=r"lanelet \d+ has no right bound"):
        read_lanelets(broken(osm, bound, None).save(tmp_path))
    osm = Map()
    bound = osm.way(straight(2.0))
    with pytest.raises(InvalidValue, match=r"way 77 of lanelet \d+ is missing"):
        read_lanelets(broken(osm, bound, 77).save(tmp_path))
    osm = Map()
    bound = osm.way(straight(2.0))
    hole = osm.add("<way id='ID'><nd ref='1'/><nd ref='999'/></way>")
    with pytest.raises(InvalidValue, match=f"node 999 of way {hole} is missing"):
        read_lanelets(broken(osm, bound, hole).save(tmp_path))
    osm = Map()
    bound = osm.way(straight(2.0))
    short = osm.add("<way id='ID'><nd ref='1'/></way>")
    with pytest.raises(InvalidValue, match=f"way {short} .* less than 2 nodes"):
        read_lanelets(broken(osm, bound, short).save(tmp_path))
    osm = Map()
    bound = osm.way(straight(2.0))
    point = osm.way([(0.0, -2.0, 0.0), (0.0, -2.0, 0.0)])
    with pytest.raises(InvalidValue, match="right line are at one place"):
        read_lanelets(broken(osm, bound, point).save(tmp_path))


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("k='local_x' v='25.0'", "k='local_x' v='far'", "local_x = 'far' must be a finite number"),
        ("k='ele' v='2.5'", "k='ele' v='nan'", "ele = 'nan' must be a finite number"),
        ("k='local_y'", "k='lokal_y'", "has no local_x and local_y"),
    ],
)
def test_bad_coordinates_are_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    osm = Map()
    osm.lanelet({"left": osm.way(straight(2.0)), "right": osm.way(straight(-2.0))})
    file = osm.save(tmp_path)
    file.write_text(file.read_text("utf-8").replace(old, new), "utf-8")
    with pytest.raises(InvalidValue, match=said):
        read_lanelets(file)


def test_heights_of_a_part_of_the_nodes_are_refused(tmp_path: Path) -> None:
    osm = Map()
    osm.lanelet({"left": osm.way(straight(2.0)), "right": osm.way(straight(-2.0))})
    file = osm.save(tmp_path)
    file.write_text(file.read_text("utf-8").replace("k='ele' v='2.5'", "k='e' v='2.5'"), "utf-8")
    with pytest.raises(InvalidValue, match=r"node \d+ has no ele, but other nodes have"):
        read_lanelets(file)


def test_a_place_outside_of_the_grid_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"node 0: latitude 89\.0.*outside"):
        geographic_map(tmp_path, 89.0, 0.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name, value", "is not XML"),
        ("<osm><node></osm>", "is not XML: .*line 1"),
        ("", "is not XML"),
        ("<gpx/>", "first element is <gpx>, not <osm>"),
        ("<osm/>", "has no lanelet of subtype road"),
        ("<!DOCTYPE osm [<!ENTITY a 'b'>]><osm>&a;</osm>", "XML entities"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "map.osm"
    file.write_text(text, "utf-8")
    with pytest.raises(InvalidValue, match=said):
        read_lanelets(file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"nowhere\.osm cannot be read"):
        read_lanelets(tmp_path / "nowhere.osm")
    with pytest.raises(InvalidValue, match="spacing = 0"):
        read_lanelets(tmp_path / "nowhere.osm", spacing=0.0)
