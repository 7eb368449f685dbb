"""CommonRoad's boundaries, from lanelets as its package gives them, and without that package."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from skidpad.errors import InvalidValue, MissingExtra
from skidpad.maps import Map


def lanelet(number: int, low: float, high: float, left: int | None, right: int | None) -> Any:
    x = np.array([0.0, 10.0, 20.0])
    return SimpleNamespace(
        lanelet_id=number,
        left_vertices=np.column_stack([x, np.full(3, high)]),
        right_vertices=np.column_stack([x, np.full(3, low)]),
        adj_left=left,
        adj_right=right,
    )


@pytest.fixture
def scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A road of two lanes, and a reader of it in the place of CommonRoad's."""

    class Reader:
        def __init__(self, filename: str) -> None:
            self.text = Path(filename).read_text("utf-8")

        def open(self) -> Any:
            assert self.text == "two lanes", "version not supported"
            lanelets = [lanelet(1, 0.0, 3.0, 2, None), lanelet(2, 3.0, 6.0, None, 1)]
            network = SimpleNamespace(lanelets=lanelets)
            return SimpleNamespace(lanelet_network=network), None

    module: Any = ModuleType("commonroad.common.file_reader")
    module.CommonRoadFileReader = Reader
    for name in ("commonroad", "commonroad.common"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, "commonroad.common.file_reader", module)
    file = tmp_path / "road.xml"
    file.write_text("two lanes", encoding="utf-8")
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
    monkeypatch.setitem(sys.modules, "commonroad", None)
    with pytest.raises(MissingExtra, match=r"needs commonroad.*pip install skidpad\[commonroad\]"):
        Map.load(tmp_path / "road.xml")
