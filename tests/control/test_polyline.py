"""Lines through points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from control.roads import RECORDED
from skidpad.control.path_following import nearest, signed_distance
from skidpad.errors import InvalidValue
from skidpad.geometry.line import arc_length as distances
from skidpad.geometry.line import directions, vertices

WAVE, PLACES, ANSWERS = (RECORDED[f"sdist__{name}"] for name in ("line", "pts", "out"))


def test_signed_distance_as_recorded() -> None:
    got = signed_distance(PLACES, WAVE, compat="upstream")
    np.testing.assert_allclose(got, ANSWERS, atol=1e-12)


def test_places_nearest_to_the_start_may_be_to_its_right() -> None:
    """Upstream has no direction there and calls all of them left."""
    got = signed_distance(PLACES, WAVE)
    np.testing.assert_allclose(np.abs(got), np.abs(ANSWERS), atol=1e-12)
    ahead = WAVE[1] - WAVE[0]
    behind = PLACES @ ahead < 0.0
    side = ahead[0] * PLACES[:, 1] - ahead[1] * PLACES[:, 0]
    assert (np.sign(got[behind]) == np.sign(side[behind])).all()
    assert (got[behind] < 0.0).any()
    assert (ANSWERS[behind] > 0.0).all()
    np.testing.assert_allclose(got[~behind], ANSWERS[~behind], atol=1e-12)


def test_one_point_gives_a_number() -> None:
    line = [[0.0, 0.0], [10.0, 0.0]]
    assert signed_distance([3.0, 2.0], line) == 2.0
    assert signed_distance([3.0, -2.0], line) == -2.0
    assert signed_distance([-3.0, -4.0], line) == -5.0
    assert signed_distance([13.0, 4.0], line) == 5.0


def test_beside_a_sharp_corner_the_mean_direction_decides() -> None:
    line = [[0.0, 0.0], [10.0, 0.0], [0.0, 1.0]]  # back again, turning left
    assert signed_distance([12.0, 0.5], line) < 0.0
    assert signed_distance([12.0, 2.0], line) < 0.0
    assert signed_distance([2.0, 0.3], line) > 0.0


def test_the_same_far_from_the_origin() -> None:
    moved = np.array([4.5e5, 5.4e6])
    here, there = signed_distance(PLACES, WAVE), signed_distance(PLACES + moved, WAVE + moved)
    np.testing.assert_allclose(there, here, atol=1e-8)


@pytest.mark.parametrize("radius", [-7.0, 7.0, 300.0])
def test_a_circle_has_its_own_curvature_and_heading(radius: float) -> None:
    angle = np.sort(np.random.default_rng(3).uniform(0.0, 5.0, 40))
    line = np.column_stack([abs(radius) * np.sin(angle), radius * (1.0 - np.cos(angle))])
    heading, curvature = directions(line)
    np.testing.assert_allclose(curvature, 1.0 / radius, rtol=1e-7)
    np.testing.assert_allclose(heading, np.sign(radius) * angle, atol=1e-9)


def test_heading_is_continuous_over_several_turns() -> None:
    angle = np.linspace(0.0, 20.0, 400)
    heading, _ = directions(np.column_stack([np.cos(angle), np.sin(angle)]))
    np.testing.assert_allclose(np.diff(heading), np.diff(angle), rtol=1e-9)


@given(x=st.floats(-20, 20), y=st.floats(-20, 20))
def test_nearest_is_the_nearest_of_many_points(x: float, y: float) -> None:
    s = distances(WAVE)
    found = nearest(WAVE, np.array([[x, y]]))
    at = np.linspace(0.0, s[-1], 4001)
    dense = np.column_stack([np.interp(at, s, column) for column in WAVE.T])
    apart = np.hypot(*(dense - [x, y]).T)
    assert abs(found.left[0]) <= apart.min() + 1e-12
    assert abs(found.left[0]) >= apart.min() - 0.5 * at[1]
    foot = [np.interp(found.s[0], s, column) for column in WAVE.T]
    assert np.hypot(x - foot[0], y - foot[1]) == pytest.approx(abs(found.left[0]), abs=1e-12)


def test_with_headings_at_its_ends_a_line_goes_on() -> None:
    line = np.array([[0.0, 0.0], [10.0, 0.0]])
    found = nearest(line, np.array([[-3.0, 1.0], [10.0, 12.0]]), (0.0, np.pi / 2))
    np.testing.assert_allclose(found.s, [-3.0, 22.0])
    np.testing.assert_allclose(found.left, [1.0, 0.0], atol=1e-12)


def test_many_places_at_once_are_as_one_by_one() -> None:
    places = np.random.default_rng(0).uniform(-5.0, 25.0, (60_000, 2))
    together = nearest(WAVE, places)
    some = nearest(WAVE, places[49_990:50_010])
    np.testing.assert_array_equal(together.left[49_990:50_010], some.left)


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([[0.0, 0.0]], r"shape \(n, 2\) with n at least 2, got \(1, 2\)"),
        ([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]], r"line\[1\] = \[0.0, 0.0\] repeats"),
        ([[0.0, 0.0], [float("nan"), 0.0]], r"line\[1\] = \[nan, 0.0\] must be finite"),
        ([[0.0, 0.0], [1.0]], "must be an array"),
    ],
)
def test_lines_that_are_none(points: list[list[float]], message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        vertices(points, "line")
    with pytest.raises(InvalidValue, match=message):
        signed_distance([0.0, 0.0], points)


def test_places_must_be_finite_pairs() -> None:
    with pytest.raises(InvalidValue, match="points must be finite"):
        signed_distance([0.0, float("inf")], WAVE)
    with pytest.raises(InvalidValue, match="points must be finite"):
        signed_distance([0.0, 1.0, 2.0], WAVE)
