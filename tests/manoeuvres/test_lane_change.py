"""Lane changes: the course, what counts as a touch, and the speeds of cars."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import skidpad as sp
from skidpad.manoeuvres import Kernels, ObstacleAvoidance, Result, Subject, perform
from skidpad.manoeuvres.case_run import from_columns
from skidpad.manoeuvres.lane_change import (
    cones,
    course,
    double_lane_change,
    obstacle_avoidance,
    touches,
)
from skidpad.manoeuvres.search import narrowed
from skidpad.ops import interpolate

WIDTH = 1.8


def test_courses_are_as_long_and_wide_as_the_standards_say() -> None:
    """110 m of which 55 m are between lanes; 61 m of which 26 m are."""
    lanes = double_lane_change(WIDTH)
    assert [lane.end - lane.begin for lane in lanes] == [15.0, 25.0, 15.0]
    assert lanes[1].right - lanes[0].right == pytest.approx(3.5)
    widths = [lane.left - lane.right for lane in lanes]
    np.testing.assert_allclose(widths, [1.1 * WIDTH + 0.25, 1.2 * WIDTH + 0.25, 1.3 * WIDTH + 0.25])
    short = obstacle_avoidance(WIDTH)
    assert short[-1].end == 61.0
    assert short[1].right - short[0].left == pytest.approx(1.0)
    assert short[1].left - short[1].right == pytest.approx(WIDTH + 1.0)
    assert len(cones(short)) == 2 * (5 + 5 + 5)


@pytest.mark.parametrize("lanes", [double_lane_change(WIDTH), obstacle_avoidance(WIDTH)])
def test_the_path_keeps_a_vehicle_within_the_lanes(lanes) -> None:  # type: ignore[no-untyped-def]
    """With half of the room to spare, and without a corner."""
    path = course(lanes, WIDTH)
    s = np.linspace(0.0, path.length - 110.0, 3000)
    x, y = interpolate(path.x, s), interpolate(path.y, s)
    for lane in lanes:
        inside = (x >= lane.begin) & (x <= lane.end)
        room = 0.5 * (lane.left - lane.right - WIDTH)
        assert np.abs(y[inside] - lane.middle).max() < 0.7 * room
    assert np.abs(interpolate(path.curvature, s)).max() < 0.1


def test_a_corner_beyond_a_row_of_cones_is_a_touch() -> None:
    """A car that drives straight on along the first lane, in its middle and a little aside."""
    car = Subject(sp.vehicles.single_track())
    width = float(np.ptp(np.concatenate([np.array(o) for o in car.geometry.outlines])[:, 1]))
    lanes = double_lane_change(width)[:1]
    x = np.linspace(-10.0, 30.0, 400)
    moving = {"v_x": np.full(400, 1.0), "v_y": 0.0 * x, "sideslip": 0.0 * x, "yaw": 0.0 * x}
    room = 0.5 * (lanes[0].left - lanes[0].right - width)
    for aside, touched in ((0.0, False), (0.9 * room, False), (1.1 * room, True)):
        columns = {"x": x, "y": np.full(400, lanes[0].middle + aside), **moving}
        assert touches(car, from_columns("straight", x, columns), lanes)[0] == touched
    short = {"x": x - 40.0, "y": 0.0 * x, **moving}
    assert touches(car, from_columns("never there", x, short), lanes)[0]


def test_the_search_goes_on_between_the_last_clean_speed_and_the_first_that_is_not() -> None:
    """A clean one above a touch is luck."""
    entries = np.array([[1.0, 1.0, 1.0], [2.0, 2.0, 2.0], [3.0, 3.0, 3.0]])
    clean = np.array([[True, False, True], [False, True, True], [True, True, True]])
    passed, low, high = narrowed(entries, clean)
    np.testing.assert_equal(passed, [1.0, np.nan, 3.0])
    np.testing.assert_equal(low, [1.0, 1.0, 3.0])
    np.testing.assert_equal(high, [2.0, 1.0, 3.0])


@cache
def result() -> Result:
    """On a dry road and on one with half of the grip."""
    lateral = sp.vehicles.single_track().params.tyres.tyre.lateral
    share = np.array([1.0, 0.5])
    grip = {f"tyres.tyre.lateral.{n}": share * getattr(lateral, n) for n in ("mu", "mu_fall")}
    car = Subject(sp.vehicles.single_track(), grip)
    (found,) = perform([ObstacleAvoidance()], [car], Kernels())
    return found


def test_less_grip_is_a_lower_speed() -> None:
    """Between the root of the share of grip and that share, and a plausible speed on dry road."""
    dry, wet = result()["entry_speed"]
    assert 50.0 < 3.6 * dry < 80.0
    assert 0.5 * dry < wet < 0.85 * dry
