"""Whether a trajectory has reached a goal."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from skidpad.errors import InvalidValue
from skidpad.geometry.polygon import within
from skidpad.run.trajectory import Trajectory

from .conftest import Input, make
from .test_points import SPOTS, Push

SQUARE = [[2.5, 5.5], [3.5, 5.5], [3.5, 6.5], [2.5, 6.5]]
"""Around the fourth of the points, at (3, 6)."""


@pytest.fixture
def walk():
    return Trajectory.from_points(SPOTS, delta_t=0.1)


def test_a_polygon_is_reached_by_a_point_inside(walk):
    assert walk.reached(SQUARE)
    assert walk.when_reached(SQUARE) == pytest.approx(0.3)
    assert not walk[:3].reached(SQUARE)
    assert walk[:3].when_reached(SQUARE) is None


def test_a_margin_counts_what_is_near(walk):
    # The third point, (2, 4), is 1.58 m from the nearest corner, (2.5, 5.5).
    assert not walk[:3].reached(SQUARE, margin=1.58)
    assert walk[:3].reached(SQUARE, margin=1.59)


def test_a_function_of_the_point_is_a_goal(walk):
    assert walk.when_reached(lambda spot: spot.yaw > 0.15) == pytest.approx(0.2)
    assert not walk.reached(lambda spot: spot.x < 0.0)


def test_positions_are_found_in_nested_records():
    trajectory = make(np.linspace(0.0, 4.0, 9))
    assert trajectory.positions.tolist()[2] == [3.0, 1.0]
    assert trajectory.reached([[2.9, 0.9], [3.1, 0.9], [3.1, 1.1], [2.9, 1.1]])


def test_shapely_geometries_are_goals(walk):
    area = shapely.Polygon(SQUARE)
    assert walk.reached(area)
    assert not walk[:3].reached(area, margin=1.58)
    assert walk[:3].reached(area, margin=1.59)


@given(
    x=st.floats(-3.0, 3.0),
    y=st.floats(-3.0, 3.0),
    margin=st.floats(0.0, 1.0),
    corners=st.integers(3, 9),
)
def test_a_regular_polygon_lies_between_its_circles(x, y, margin, corners):
    """Within its inner circle everything counts, beyond the outer one and the margin nothing."""
    angles = 2.0 * np.pi * np.arange(corners) / corners
    polygon = np.column_stack([np.cos(angles), np.sin(angles)])
    inside = within(np.array([[x, y]]), polygon, margin)[0]
    distance = np.hypot(x, y)
    if distance < np.cos(np.pi / corners) - 1e-9:
        assert inside
    if distance > 1.0 + margin + 1e-9:
        assert not inside


def test_a_hollow_polygon_does_not_hold_its_bay():
    bay = np.array([[0, 0], [4, 0], [4, 4], [3, 4], [3, 1], [1, 1], [1, 4], [0, 4]], dtype=float)
    places = np.array([[2.0, 2.0], [0.5, 3.0], [3.5, 3.0], [2.0, 0.5], [5.0, 5.0]])
    assert within(places, bay, 0.0).tolist() == [False, True, True, True, False]
    assert within(places[:1], bay, 1.0).all()


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ([[0.0, 0.0], [1.0, 1.0]], "must be a polygon .at least 3 vertices"),
        ("home", "goal = 'home' must be a polygon"),
        ([[0.0, 0.0, 0.0]] * 3, "must be a polygon"),
        ([[0.0, np.nan], [1.0, 0.0], [1.0, 1.0]], "a vertex that is not finite"),
    ],
)
def test_what_is_no_goal(walk, goal, message):
    with pytest.raises(InvalidValue, match=message):
        walk.reached(goal)


def test_bad_margins_modes_and_positions(walk):
    with pytest.raises(InvalidValue, match=r"margin = -1\.0 m must be finite and at least 0"):
        walk.reached(SQUARE, margin=-1.0)
    commands = Trajectory.from_arrays([0.0], inputs=(Input, [[0.1, 5.0]]))
    with pytest.raises(
        InvalidValue, match="a goal test is for states; this trajectory holds inputs"
    ):
        commands.reached(SQUARE)
    assert commands.check_goal_reached(object()) is False
    with pytest.raises(
        InvalidValue, match="has no positions: it needs the states x and y, and has a"
    ):
        Trajectory.from_points([Push(0.0, 0.0)], delta_t=0.1).reached(SQUARE)


def test_without_commonroad_the_error_says_what_to_install(walk, monkeypatch):
    from skidpad.errors import MissingExtra

    monkeypatch.setitem(sys.modules, "commonroad.scenario.state", None)
    with pytest.raises(MissingExtra, match=r'pip install "skidpad\[commonroad\]"'):
        walk.to_commonroad_states()
