"""Lines through points: along them, beside them and to the nearest of them."""

from __future__ import annotations

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from skidpad.errors import InvalidValue
from skidpad.geometry.line import Line, arc_length, divided, smooth_loop

RNG = np.random.default_rng(5)
BENDS = np.cumsum(RNG.uniform(0.2, 1.5, (40, 2)) * (1.0, 0.3), axis=0)
"""An open line with corners to both sides and points at unequal distances."""
ANGLES = np.sort(RNG.uniform(0.0, 2.0 * np.pi, 90))
CIRCLE = 10.0 * np.column_stack([np.sin(ANGLES), 1.0 - np.cos(ANGLES)])
"""A circle to the left, at unequal distances."""


def test_a_closed_circle_has_its_own_heading_and_curvature_everywhere() -> None:
    line = Line.through(CIRCLE, closed=True)
    assert line.curvature == pytest.approx(0.1, rel=1e-9)
    assert line.heading - line.heading[0] == pytest.approx(
        np.append(ANGLES, ANGLES[0] + 2.0 * np.pi) - ANGLES[0], abs=1e-9
    )
    assert line.length == pytest.approx(shapely.LinearRing(CIRCLE).length)
    right = Line.through(CIRCLE[::-1], closed=True)
    assert right.curvature == pytest.approx(-0.1, rel=1e-9)
    assert right.heading[-1] - right.heading[0] == pytest.approx(-2.0 * np.pi)


@given(s=st.floats(-50.0, 150.0), closed=st.booleans())
def test_one_distance_is_one_of_many(s: float, closed: bool) -> None:
    line = Line.through(BENDS, closed=closed)
    one, many = line.at(s), line.at(np.array([s, 1.0]))
    assert one == pytest.approx([column[0] for column in many], abs=1e-12)
    assert all(isinstance(value, float) for value in one)
    if closed:
        lap = line.at(s + line.length)
        assert lap[:2] == pytest.approx(one[:2], abs=1e-9)
        assert lap.heading - one.heading == pytest.approx(line.heading[-1] - line.heading[0])
    elif 0.0 <= s <= line.length:
        there = shapely.LineString(BENDS).interpolate(s)
        assert one[:2] == pytest.approx((there.x, there.y), abs=1e-9)


def test_an_open_line_goes_straight_on() -> None:
    line = Line.through(BENDS)
    end, beyond = line.at(line.length), line.at(line.length + 3.0)
    ahead = 3.0 * np.cos(end.heading), 3.0 * np.sin(end.heading)
    assert beyond[:2] == pytest.approx((end.x + ahead[0], end.y + ahead[1]))
    assert (beyond.heading, beyond.curvature) == (end.heading, 0.0)


@pytest.mark.parametrize("closed", [False, True])
def test_places_are_projected_as_shapely_does(closed: bool) -> None:
    line = Line.through(BENDS, closed=closed)
    there = shapely.LinearRing(BENDS) if closed else shapely.LineString(BENDS)
    places = RNG.uniform(-5.0, 45.0, (500, 2))
    feet = line.project(places)
    points = shapely.points(places)
    assert np.abs(feet.left) == pytest.approx(shapely.distance(there, points), abs=1e-12)
    back = line.at(feet.s)
    assert np.hypot(back.x - places[:, 0], back.y - places[:, 1]) == pytest.approx(
        np.abs(feet.left), abs=1e-9
    )


def test_a_place_beside_the_line_is_to_its_left_or_right() -> None:
    line = Line.through(CIRCLE, closed=True)
    feet = line.project(np.array([[0.0, 10.0], [0.0, -5.0]]))
    assert feet.left == pytest.approx([10.0, -5.0], abs=0.3)
    moved = line.beside(np.full(len(CIRCLE), 2.0))
    assert np.hypot(moved[:, 0], moved[:, 1] - 10.0) == pytest.approx(8.0)


def test_places_may_be_lists_and_other_shapes_are_refused() -> None:
    line = Line.through([(0.0, 0.0), (10.0, 0.0)])
    feet = line.project([(3, 2), (4.0, -1.0)])
    assert feet.s.tolist() == [3.0, 4.0]
    assert feet.left.tolist() == [2.0, -1.0]
    with pytest.raises(InvalidValue, match=r"places has shape \(2,\); allowed is \(k, 2\)"):
        line.project((3.0, 2.0))


def test_the_index_finds_what_looking_at_all_pieces_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    line, places = Line.through(BENDS), RNG.uniform(-5.0, 45.0, (300, 2))
    by_all = line.project(places)
    monkeypatch.setattr("skidpad.geometry.line.MANY", 0)
    np.testing.assert_array_equal(line.project(places), by_all)


def test_the_nearest_vertex_is_looked_for_within_a_stretch_of_the_line() -> None:
    ring = Line.through(CIRCLE, closed=True)
    x, y = CIRCLE[2]
    s = float(ring.s[2])
    assert ring.nearest_vertex(x, y, 0.0, ring.length) == s
    # The lap before and the next one, and across the start.
    assert ring.nearest_vertex(x, y, ring.length, 2.0 * ring.length) == s + ring.length
    assert ring.nearest_vertex(x, y, -8.0, s + 1e-9) == s
    # Out of reach: the last point that is allowed.
    assert ring.nearest_vertex(x, y, ring.s[5] - 1e-9, ring.s[9] + 1e-9) == ring.s[5]
    assert ring.nearest_vertex(x, y, s + 1e-6, s + 2e-6) == s + 1e-6
    line = Line.through(BENDS)
    assert line.nearest_vertex(*BENDS[-1], line.length - 3.0, line.length + 3.0) == line.s[-1]


def test_lines_are_divided_evenly() -> None:
    marks = divided(BENDS, 17)
    there = shapely.LineString(BENDS)
    each = [there.line_locate_point(shapely.Point(mark)) for mark in marks]
    assert np.diff(each) == pytest.approx(there.length / 17, rel=1e-9)
    ring = Line.through(CIRCLE, closed=True).resampled(0.5)
    assert np.diff(ring.s) == pytest.approx(0.5, rel=1e-2)
    smooth = smooth_loop(CIRCLE[::9], 0.5)
    assert np.hypot(smooth[:, 0], smooth[:, 1] - 10.0) == pytest.approx(10.0, abs=0.2)


def test_lengths_in_space() -> None:
    climb = np.array([[0.0, 0.0, 0.0], [3.0, 0.0, 4.0], [3.0, 12.0, 9.0]])
    assert arc_length(climb).tolist() == [0.0, 5.0, 18.0]


def test_a_line_needs_a_direction_everywhere() -> None:
    with pytest.raises(InvalidValue, match=r"points\[1\] = \[0.0, 0.0\] repeats the point before"):
        Line.through([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]])
