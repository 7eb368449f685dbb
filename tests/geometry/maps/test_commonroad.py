"""CommonRoad's boundaries, read by its own package, and without that package."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from skidpad.errors import InvalidValue, MissingExtra
from skidpad.geometry.maps.map import Map

LANELET = """\
<lanelet id="{number}">
  <leftBound>{left}</leftBound>
  <rightBound>{right}</rightBound>
  {neighbours}
  <laneletType>urban</laneletType>
</lanelet>
"""


def bound(y: float) -> str:
    points = "".join(f"<point><x>{x}</x><y>{y}</y></point>" for x in (0.0, 10.0, 20.0))
    return f"{points}<lineMarking>dashed</lineMarking>"


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """A road of two lanes of 3 m side by side, 20 m long."""
    lower = LANELET.format(
        number=1,
        left=bound(3.0),
        right=bound(0.0),
        neighbours='<adjacentLeft ref="2" drivingDir="same"/>',
    )
    upper = LANELET.format(
        number=2,
        left=bound(6.0),
        right=bound(3.0),
        neighbours='<adjacentRight ref="1" drivingDir="same"/>',
    )
    file = tmp_path / "road.xml"
    file.write_text(
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<commonRoad commonRoadVersion="2020a" benchmarkID="ZAM_Two-1_1_T-1" timeStepSize="0.1" '
        'author="a" affiliation="b" source="c" date="2026-01-01">'
        "<location><geoNameId>-999</geoNameId><gpsLatitude>999</gpsLatitude>"
        "<gpsLongitude>999</gpsLongitude></location><scenarioTags><urban/></scenarioTags>"
        f"{lower}{upper}</commonRoad>",
        encoding="utf-8",
    )
    return file


def test_the_borders_of_the_road_are_walls(scenario: Path) -> None:
    road = Map.load(scenario)
    assert road.segments.shape == (4, 4)
    assert set(road.segments[:, 1]) == {0.0, 6.0}
    assert not road.polygons
    assert road.name == "road"


def test_markings_between_lanes_on_request(scenario: Path) -> None:
    lanes = Map.load(scenario, boundaries="lanelets")
    assert lanes.segments.shape == (8, 4)
    with pytest.raises(InvalidValue, match="boundaries = 'all' is unknown"):
        Map.load(scenario, boundaries="all")


def test_other_files_are_refused(scenario: Path) -> None:
    scenario.write_text("<osm/>", encoding="utf-8")
    with pytest.raises(InvalidValue, match=r"road\.xml is not a CommonRoad scenario.*version"):
        Map.load(scenario)
    with pytest.raises(InvalidValue, match=r"none\.xml cannot be read"):
        Map.load(scenario.with_name("none.xml"))


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "commonroad.common.file_reader", None)
    with pytest.raises(MissingExtra, match=r'commonroad.*pip install "skidpad\[commonroad\]"'):
        Map.load(tmp_path / "road.xml")
