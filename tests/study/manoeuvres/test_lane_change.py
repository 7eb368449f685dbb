"""Lane changes: the course, what counts as a touch, and the speeds of cars."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import skidpad as sp
from skidpad.ops import interpolate
from skidpad.study.manoeuvres import Result, Subject, perform
from skidpad.study.manoeuvres.case_run import CaseRun, from_columns
from skidpad.study.manoeuvres.cone_courses import (
    DoubleLaneChange,
    ObstacleAvoidance,
    cones,
    course,
    double_lane_change,
    obstacle_avoidance,
    peak_between,
    touches,
    value_at,
)
from skidpad.study.manoeuvres.search import narrowed
from study.manoeuvres.fakes import COARSE

WIDTH = 1.8


def test_courses_are_as_long_and_wide_as_the_standards_say() -> None:
    """125 m of which 55 m are between lanes; 61 m of which 26 m are."""
    lanes = double_lane_change(WIDTH)
    assert [lane.end - lane.begin for lane in lanes] == [15.0, 25.0, 30.0]
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
    (found,) = perform([ObstacleAvoidance()], [car], COARSE)
    return found


@pytest.mark.slow
def test_less_grip_is_a_lower_speed() -> None:
    """Between the root of the share of grip and that share, and a plausible speed on dry road."""
    dry, wet = result()["entry_speed"]
    assert 50.0 < 3.6 * dry < 80.0
    assert 0.5 * dry < wet < 0.85 * dry


CARS = {
    "single_track": sp.vehicles.single_track,
    "race": lambda: sp.vehicles.two_track("race"),
    "formula_student": sp.vehicles.formula_student,
}
COURSES = (DoubleLaneChange(), ObstacleAvoidance())
each_car = pytest.mark.parametrize("car", CARS)


@cache
def both(car: str) -> tuple[Result, ...]:
    return tuple(perform(COURSES, [Subject(CARS[car]())], COARSE))


def fastest(result: Result) -> CaseRun:
    """A drive with the speed that was found, by some driver."""
    assert result.findings is not None
    label = result.findings.charts[0].curves[0].label
    return next(run for run in result.runs if run.label == label)


@pytest.mark.slow_cases("race", "single_track")
@each_car
def test_cars_that_roll_far_have_a_speed(car: str) -> None:
    """Also those that cannot roll through both lanes at the lowest speed, and those that no speed
    of the range is too high for, which a note says."""
    for found, lanes in zip(both(car), COURSES, strict=True):
        assert found.findings is not None
        (speed,), notes = found["entry_speed"], found.findings.notes
        assert 1.5 * lanes.speeds[0] < speed
        top = min(lanes.speeds[1], found.car.limits.v_max)
        assert bool(notes) == (fastest(found)["speed"][0, 0] == pytest.approx(top))


@each_car
def test_the_entry_speed_is_that_at_the_first_cones(car: str) -> None:
    """Up to where a car that has the power holds it."""
    for found in both(car):
        run = fastest(found)
        at = float(np.interp(0.0, run["x"][:, 0], run["speed"][:, 0]))
        assert found["entry_speed"][0] == pytest.approx(at, abs=0.01)
        if car == "single_track":
            assert at == pytest.approx(run["speed"][0, 0], abs=0.5 / 3.6)


@each_car
def test_the_throttle_is_released_where_the_standard_says(car: str) -> None:
    """Not at all in ISO 3888-1; 2 m inside the first lane in ISO 3888-2, from where on a car rolls
    and loses speed all the time."""
    held, rolled = (fastest(found) for found in both(car))
    end = value_at(held, "speed", 125.0)[0]
    assert end > 0.9 * held["speed"][0, 0]
    x, v = rolled["x"][:, 0], rolled["speed"][:, 0]
    rolling = v[(x > 3.0) & (x < 61.0)]
    assert (np.diff(rolling) < 1e-3).all()
    assert rolling[-1] < rolling[0]


def test_peaks_are_those_between_the_cones() -> None:
    x = np.linspace(-30.0, 90.0, 121)
    a_y = np.select([x < 0.0, x <= 61.0], [7.0, -3.0], 9.0)
    run = CaseRun("peaks", x, {"x": x[:, None], "a_y": a_y[:, None]})
    assert peak_between(run, "a_y", 0.0, 61.0) == 3.0
    assert value_at(run, "x", 0.25)[0] == pytest.approx(0.25)
    assert np.isnan(value_at(run, "x", 100.0)[0])


@each_car
def test_peaks_of_a_drive_end_with_the_course(car: str) -> None:
    for found in both(car):
        label = fastest(found).label
        end = {"double_lane_change": 125.0, "obstacle_avoidance": 61.0}[found.manoeuvre.name]
        peaks = [
            np.abs(run["omega"][(run["x"] >= 0.0) & (run["x"] <= end)]).max()
            for run in found.runs
            if run.label == label
        ]
        assert np.isclose(found["peak_yaw_rate"][0], peaks).any()


@pytest.mark.slow
def test_a_car_slower_than_the_lowest_speed_drives_as_fast_as_it_can() -> None:
    car = Subject(sp.vehicles.formula_student())
    assert car.limits.v_max < 40.0
    (found,) = perform([DoubleLaneChange(speeds=(40.0, 50.0))], [car], COARSE)
    (usual, _) = both("formula_student")
    assert found["entry_speed"] == pytest.approx(usual["entry_speed"])


@pytest.mark.slow
def test_a_car_that_rolls_to_a_stop_at_the_lowest_speed_has_its_speed() -> None:
    """As on sand: at 25 km/h 0.08 g stop it within 31 m of the 59 m that it has to roll."""
    rolling = {"tyres.tyre.carcass.rolling": 0.08}
    car = Subject(sp.vehicles.two_track().with_params(rolling))
    (found,) = perform([ObstacleAvoidance()], [car], COARSE)
    assert found.runs[0]["x"].max() < 61.0
    (usual,) = perform([ObstacleAvoidance()], [Subject(sp.vehicles.two_track())], COARSE)
    assert found["entry_speed"] > 0.95 * usual["entry_speed"]
