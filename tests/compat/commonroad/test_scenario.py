"""CommonRoad scenarios: lanes, obstacles and their ways, read by CommonRoad's own package."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from geometry.maps.test_commonroad import LANELET, bound
from skidpad.compat.commonroad import read_scenario
from skidpad.control import Reference
from skidpad.errors import InvalidValue

STATE = (
    "<{tag}>{place}<orientation><exact>{yaw}</exact></orientation><time><exact>{k}</exact></time>"
    "<velocity><exact>{v}</exact></velocity>{more}</{tag}>"
)
CALM = "<acceleration><exact>0</exact></acceleration><yawRate><exact>0</exact></yawRate>"
STILL = CALM + "<slipAngle><exact>0</exact></slipAngle>"


def state(tag: str, k: int, x: float, y: float, yaw: float, v: float, more: str = "") -> str:
    place = f"<position><point><x>{x}</x><y>{y}</y></point></position>"
    return STATE.format(tag=tag, place=place, yaw=yaw, k=k, v=v, more=more)


def rectangle(length: float, width: float) -> str:
    size = f"<length>{length}</length><width>{width}</width>"
    return f"<shape><rectangle>{size}</rectangle></shape>"


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """Two lanes, a parked car, and one that drives 1 m per step and leaves out its first step."""
    lower = LANELET.format(
        number=1, left=bound(3.0), right=bound(0.0),
        neighbours='<adjacentLeft ref="2" drivingDir="same"/>',
    )  # fmt: skip
    upper = LANELET.format(
        number=2, left=bound(6.0), right=bound(3.0),
        neighbours='<adjacentRight ref="1" drivingDir="same"/>',
    )  # fmt: skip
    way = "".join(state("state", k, 1.0 + k, 1.5, 0.0, 10.0, CALM) for k in range(1, 6))
    moving = (
        '<dynamicObstacle id="42"><type>car</type>' + rectangle(4.5, 1.8)
        + state("initialState", 0, 1.0, 1.5, 0.0, 10.0, STILL)
        + f"<trajectory>{way}</trajectory></dynamicObstacle>"
    )  # fmt: skip
    parked = (
        '<staticObstacle id="43"><type>parkedVehicle</type>' + rectangle(4.0, 2.0)
        + state("initialState", 0, 15.0, 4.5, 0.1, 0.0)
        + "</staticObstacle>"
    )  # fmt: skip
    file = tmp_path / "road.xml"
    file.write_text(
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<commonRoad commonRoadVersion="2020a" benchmarkID="ZAM_Two-1_1_T-1" timeStepSize="0.1" '
        'author="a" affiliation="b" source="c" date="2026-01-01">'
        "<location><geoNameId>-999</geoNameId><gpsLatitude>999</gpsLatitude>"
        "<gpsLongitude>999</gpsLongitude></location><scenarioTags><urban/></scenarioTags>"
        f"{lower}{upper}{moving}{parked}</commonRoad>",
        encoding="utf-8",
    )
    return file


def test_lanes_have_borders_a_middle_and_neighbours(scenario: Path) -> None:
    found = read_scenario(scenario)
    assert (found.name, found.dt) == ("ZAM_Two-1_1_T-1", 0.1)
    assert set(found.lanes) == {1, 2}
    assert (found.lanes[1].left_neighbour, found.lanes[2].right_neighbour) == (2, 1)
    np.testing.assert_allclose(found.lanes[1].centre[:, 1], 1.5)
    np.testing.assert_allclose(found.lanes[1].left, found.lanes[2].right)
    assert found.map.segments.shape == (4, 4)
    assert read_scenario(scenario, boundaries="lanelets").map.segments.shape == (8, 4)
    assert Reference.along(found.lanes[2].centre, v=10.0).length == pytest.approx(20.0)
    assert not found.problems


def test_obstacles_have_their_size_and_their_way(scenario: Path) -> None:
    found = read_scenario(scenario).obstacles
    assert (found[42].kind, found[42].length, found[42].width) == ("car", 4.5, 1.8)
    way = found[42].trajectory
    np.testing.assert_allclose(way.t, 0.1 * np.arange(6))
    np.testing.assert_allclose(way["x"], 1.0 + np.arange(6))
    np.testing.assert_allclose(way["v"], 10.0)
    parked = found[43]
    assert (parked.kind, len(parked.trajectory), parked.centre_ahead) == ("parkedVehicle", 1, 0.0)
    assert parked.trajectory.point(0).yaw == pytest.approx(0.1)


def test_an_obstacle_goes_out_again_as_it_came_in(scenario: Path) -> None:
    found = read_scenario(scenario).obstacles[42]
    again = found.trajectory.to_commonroad_dynamic_obstacle(found.width, found.length, found.id)
    places = [again.state_at_time(k).position.tolist() for k in range(6)]
    np.testing.assert_allclose(places, np.column_stack([1.0 + np.arange(6), np.full(6, 1.5)]))


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"none\.xml cannot be read"):
        read_scenario(tmp_path / "none.xml")
