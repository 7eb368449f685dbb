"""Events between cones against the clock: courses, what counts as a cone, and closed forms."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import skidpad as sp
from skidpad.ops import interpolate
from skidpad.study.manoeuvres import (
    FormulaAcceleration,
    FormulaSkidpad,
    Result,
    Slalom,
    Subject,
    perform,
)
from skidpad.study.manoeuvres import cone_courses as lap
from skidpad.study.manoeuvres.case_run import from_columns
from skidpad.study.manoeuvres.cone_courses import (
    CONE,
    CONES,
    Autocross,
    ObstacleAvoidance,
    box_of,
    reach,
    struck,
)
from skidpad.study.manoeuvres.search import known_understeer
from study.manoeuvres.fakes import COARSE


def test_the_figure_of_eight_is_that_of_the_rules() -> None:
    """Lanes of 3 m, centres 18.25 m apart."""
    event = FormulaSkidpad()
    assert (event.inner, event.outer, event.width) == (15.25, 21.25, 3.0)
    assert 2.0 * event.middle == 18.25
    cones = event.cones(event.middle)
    away = np.hypot(cones[:, 0] - 15.0, np.abs(cones[:, 1]) - event.middle)
    inner = np.abs(away - 0.5 * 15.25) < 1e-9
    assert inner.sum() == 32
    np.testing.assert_allclose(away[~inner], 0.5 * 21.25)


def test_a_cone_falls_when_the_car_reaches_its_base() -> None:
    """A car that slides past, turned by a quarter: its front is its side."""
    car = Subject(sp.vehicles.single_track())
    box, x = box_of(car), np.linspace(-10.0, 10.0, 500)
    for yaw, reached in ((0.0, box.left), (np.pi / 2.0, box.front), (np.pi, -box.right)):
        columns = {"x": x, "y": 0.0 * x, "yaw": yaw + 0.0 * x, "progress": x}
        run = from_columns("past", x, columns)
        beside = np.array([[0.0, reached + CONE + 0.01], [0.0, reached + CONE - 0.01]])
        np.testing.assert_equal(struck(car, run, beside)[:, 0], [False, True])
        assert not struck(car, run, beside, until=-9.0).any()


def test_a_car_reaches_out_of_a_circle_with_its_front() -> None:
    """As a rectangle about a centre of turn on the line of its rear axle."""
    car = Subject(sp.vehicles.single_track())
    box, l_r = box_of(car), float(car.l_r[0])
    outside, inside = reach(car, 9.0)
    turn = np.array([-l_r, np.sqrt(81.0 - l_r**2)])
    corners = np.array([(a, b) for a in box[:2] for b in box[2:]])
    assert outside == pytest.approx(np.hypot(*(corners - turn).T).max() - 9.0)
    assert inside == pytest.approx(9.0 - (turn[1] - box.left))


def test_time_and_speed_of_an_even_acceleration() -> None:
    """sqrt(2 s / a) from line to line, sqrt(2 a s) at the end."""
    t, event = np.linspace(0.0, 8.0, 8001), FormulaAcceleration()
    zero = {name: 0.0 * t for name in ("v_y", "yaw", "sideslip")}
    columns = {"x": 3.0 + 2.5 * t**2, "v_x": 5.0 * t, **zero}
    time, v = event.passage(from_columns("even", t, columns))
    assert time[0] == pytest.approx(np.sqrt(2.0 * 75.3 / 5.0) - np.sqrt(0.6 / 5.0), rel=1e-5)
    assert event.closed_form(5.0) == pytest.approx(time[0], rel=1e-5)
    assert v[0] == pytest.approx(np.sqrt(2.0 * 5.0 * 75.3), rel=1e-5)
    slow = from_columns("slow", t, {**columns, "x": 3.0 + t})
    assert np.isnan(event.passage(slow)).all()


@pytest.mark.slow
def test_theory_of_an_acceleration_knows_power_and_speed_of_the_motors() -> None:
    """Without limits it is even; power alone gives v³ = 3 P x / m; no car is faster."""
    event = FormulaAcceleration()
    time, v = event.limited(5.0, 1e6, 1e3)
    assert time == pytest.approx(event.closed_form(5.0), rel=1e-3)
    assert v == pytest.approx(np.sqrt(2.0 * 5.0 * 75.3), rel=1e-6)
    assert event.limited(1e6, 300.0, 1e3)[1] == pytest.approx((900.0 * 75.3) ** (1 / 3), rel=1e-3)
    assert event.limited(5.0, 1e6, 20.0)[1] == 20.0
    car = Subject(sp.vehicles.formula_student())
    (result,) = perform([event], [car], COARSE)
    assert result.findings is not None
    end, time_driven = result.findings["end_speed"], result.findings["time"]
    assert end.value[0] <= end.theory[0] <= car.limits.v_max
    assert end.theory[0] == pytest.approx(end.value[0], rel=0.1)
    assert time_driven.theory[0] < time_driven.value[0] < 1.2 * time_driven.theory[0]


def test_grip_across_the_road_does_not_matter_for_an_acceleration() -> None:
    cars = [
        Subject(sp.vehicles.two_track(**{"tyres.tyre.lateral.mu": mu}), name=f"{mu}")
        for mu in (0.5, 1.0)
    ]
    low, usual = perform([FormulaAcceleration()], cars, COARSE)
    assert low["time"][0] == pytest.approx(usual["time"][0], rel=1e-6)
    assert low.findings is not None
    assert low.findings["time"].theory[0] < low["time"][0]


def test_cones_are_passed_on_alternating_sides() -> None:
    """The path does so, a straight line and a wave that is half a cone late do not."""
    path = Slalom().path(1.5)
    s = np.linspace(0.0, path.length, 4000)
    x, y = interpolate(path.x, s), interpolate(path.y, s)

    def wrong(y: np.ndarray) -> bool:
        return bool(Slalom().wrong_side(from_columns("past", s, {"x": x, "y": y}))[0])

    assert not wrong(y)
    assert wrong(-y)
    assert wrong(0.0 * y + 1.0)
    assert Slalom().wrong_side(from_columns("short", s, {"x": x - 99.0, "y": y}))[0]
    assert len(Slalom().cones) == CONES
    steepest = np.abs(interpolate(path.curvature, s)[(x > 0.0) & (x < 90.0)]).max()
    assert steepest == pytest.approx(1.5 * (np.pi / 18.0) ** 2, rel=0.02)


def test_the_line_through_the_track_leaves_the_cones_alone() -> None:
    """And is faster than its middle."""
    car = Subject(sp.vehicles.single_track())
    path = lap.LapPlan.of(car, 4.0).path
    s = np.linspace(0.0, path.length, 3000)
    columns = [interpolate(column, s) for column in path[:3]]
    run = from_columns("ideal", s, dict(zip(("x", "y", "yaw"), columns, strict=True)))
    assert not struck(car, run, lap.track_cones(4.0)).any()
    bends = [
        np.abs(line).max() for line in (interpolate(path.curvature, s), lap.middle().curvature)
    ]
    assert bends[0] < bends[1]


@pytest.mark.parametrize(
    ("vehicle", "why"),
    [
        (sp.vehicles.two_track("small_scale"), "wide"),
        (sp.vehicles.get("kinematic_bicycle")(), "tyres"),
        (sp.vehicles.get("ackermann_truck")(), "tyres"),
        (sp.vehicles.single_track(steer_max=0.1), "turns on"),
    ],
)
def test_a_vehicle_that_does_not_fit_says_why(vehicle: sp.Vehicle, why: str) -> None:
    """Too small, without tyres, or unable to turn so tightly."""
    assert why in FormulaSkidpad().unfit(Subject(vehicle))
    if why != "turns on":
        assert why in Slalom().unfit(Subject(vehicle))
        assert why in Autocross().unfit(Subject(vehicle))


def test_a_vehicle_without_slip_is_driven_as_geometry_tells() -> None:
    """One that only its limits keep from turning faster has no understeer for a driver to know."""
    car = Subject(sp.vehicles.get("double_integrator")())
    result, other = perform([Slalom(), ObstacleAvoidance()], [car], COARSE)
    assert known_understeer(car, 15.0) == 0.0
    assert known_understeer(Subject(sp.vehicles.single_track()), 15.0) != 0.0
    for found in (result, other):
        if found.findings is None:
            assert found.unfit
            continue
        missing = [metric for metric in found.findings.metrics if np.isnan(metric.value[0])]
        assert not missing or found.findings.notes


def two_grips() -> Subject:
    """A car on a dry road and on one with half of the grip."""
    lateral = sp.vehicles.single_track().params.tyres.tyre.lateral
    share = np.array([1.0, 0.5])
    grip = {f"tyres.tyre.lateral.{n}": share * getattr(lateral, n) for n in ("mu", "mu_fall")}
    return Subject(sp.vehicles.single_track(), grip)


@cache
def skidpad() -> Result:
    """Of both."""
    (found,) = perform([FormulaSkidpad()], [two_grips()], COARSE)
    return found


@pytest.mark.slow
def test_a_lap_takes_what_grip_and_radius_say() -> None:
    """About 2π sqrt(R / a): not all tyres are at their limit at once, and drive helps to turn."""
    result = skidpad()
    assert result.findings is not None
    time = result.findings["time"]
    assert 0.98 < time.value[0] / time.theory[0] < 1.08
    assert time.value[1] / time.value[0] == pytest.approx(np.sqrt(2.0), rel=0.05)
    a, radius = result["lateral_acceleration"], FormulaSkidpad().line_radius(two_grips())
    np.testing.assert_allclose(a, (2.0 * np.pi / time.value) ** 2 * radius)


@pytest.mark.slow
def test_laps_and_slaloms_are_slower_with_less_grip() -> None:
    """By its root at most where the drive is not asked for much; sectors make up the lap."""
    autocross, slalom, straight = perform(
        [Autocross(), Slalom(), FormulaAcceleration()], [two_grips()], COARSE
    )
    times = autocross["lap_time"]
    np.testing.assert_allclose(sum(autocross[f"sector_{k}"] for k in (1, 2, 3)), times)
    assert 1.15 < times[1] / times[0] < 1.5
    assert autocross.findings is not None
    assert 1.0 < times[0] / autocross.findings["lap_time"].theory[0] < 1.2
    assert (autocross["cones_touched"] == 0.0).all()
    dry, wet = slalom["passing_speed"]
    assert wet / dry == pytest.approx(np.sqrt(0.5), rel=0.1)
    assert slalom.findings is not None
    assert dry == pytest.approx(slalom.findings["passing_speed"].theory[0], rel=0.1)
    assert straight.findings is not None
    time = straight.findings["time"]
    assert 1.0 < time.value[0] / time.theory[0] < 1.1
