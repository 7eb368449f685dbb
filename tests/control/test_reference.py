"""References: lines with times."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import skidpad as sp
from control.roads import KINEMATIC, circle, lane_change, straight
from skidpad.control import Reference
from skidpad.control.reference import Point
from skidpad.errors import InvalidValue

CIRCLE = circle(20.0, 8.0)
LANE_CHANGE = lane_change(20.0)
TABLE = CIRCLE.table(64)


def test_along_a_circle() -> None:
    s = CIRCLE.s[37]
    point = CIRCLE.at_distance(s)
    assert point.curvature == pytest.approx(0.05, rel=1e-12)
    assert point.heading == pytest.approx(0.05 * 37, rel=1e-9)
    assert math.hypot(point.x, point.y - 20.0) == pytest.approx(20.0, rel=1e-12)
    assert point.v == 8.0
    assert point.a == 0.0
    assert CIRCLE.duration == pytest.approx(CIRCLE.length / 8.0)


def test_constant_acceleration_between_points() -> None:
    line = np.column_stack([np.linspace(0.0, 50.0, 501), np.zeros(501)])
    reference = Reference.along(line, lambda s: np.sqrt(25.0 + 4.0 * s), t_0=3.0)  # 2 m/s²
    assert reference.duration == pytest.approx((15.0 - 5.0) / 2.0, rel=1e-12)
    for t in (0.0, 1.3, 4.9):
        now = reference.at_time(3.0 + t)
        assert now.v == pytest.approx(5.0 + 2.0 * t, abs=1e-3)
        assert now.x == pytest.approx(5.0 * t + t * t, abs=1e-3)
    np.testing.assert_allclose(reference.points.a, 2.0, rtol=1e-9)


def test_spacing_keeps_the_bend_of_a_coarse_line() -> None:
    coarse = circle(20.0, 8.0, points=26)
    line = np.column_stack([coarse.points.x, coarse.points.y])
    fine = Reference.along(line, np.linspace(5.0, 10.0, 26), spacing=0.3)
    assert np.diff(fine.s).max() <= 0.3
    assert fine.length == pytest.approx(coarse.length)
    np.testing.assert_allclose(fine.points.curvature, 0.05, rtol=1e-9)
    np.testing.assert_allclose(fine.points.heading, fine.s / fine.s[-1] * 5.0, atol=1e-6)
    assert fine.points.v[0] == 5.0
    assert fine.points.v[-1] == 10.0


def test_beyond_its_ends_it_goes_on_straight_at_its_speed() -> None:
    late = CIRCLE.at_time(CIRCLE.t[-1] + 2.0)
    end = CIRCLE.at_time(CIRCLE.t[-1])
    assert late.x == pytest.approx(end.x + 16.0 * math.cos(end.heading))
    assert late.y == pytest.approx(end.y + 16.0 * math.sin(end.heading))
    assert (late.heading, late.curvature, late.v) == (end.heading, 0.0, 8.0)
    early = CIRCLE.at_time(-1.0)
    assert (early.x, early.curvature) == (pytest.approx(-8.0), 0.0)
    assert CIRCLE.distance_at(CIRCLE.t[-1] + 2.0) == pytest.approx(CIRCLE.length + 16.0)
    by_distance = CIRCLE.at_distance(CIRCLE.length + 16.0)
    np.testing.assert_allclose(by_distance, late, atol=1e-12)


@given(s=st.floats(-30.0, 150.0), left=st.floats(-3.0, 3.0))
def test_offset_is_what_it_was_made_with(s: float, left: float) -> None:
    """Anywhere along the line and its continuations, either side."""
    at = LANE_CHANGE.at_distance(s)
    x, y = at.x - left * math.sin(at.heading), at.y + left * math.cos(at.heading)
    found = LANE_CHANGE.nearest(x, y)
    assert found.left == pytest.approx(left, abs=2e-3)
    assert found.s == pytest.approx(s, abs=0.05)


def test_before_its_start_left_and_right_are_told_apart() -> None:
    road = straight(100.0, 10.0)
    assert road.offset(-5.0, -2.0) == -2.0
    assert road.offset(0.0, -2.0) == -2.0
    assert road.offset(-5.0, 2.0) == 2.0
    assert road.nearest(-5.0, -2.0).s == -5.0


def test_places_as_arrays() -> None:
    x, y = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), 1.0
    found = straight(100.0, 10.0).nearest(x, y)
    np.testing.assert_allclose(found.s, x)
    np.testing.assert_allclose(found.left, 1.0)


def test_look_ahead_by_distance_and_by_time() -> None:
    road = straight(100.0, 10.0)
    assert road.ahead(5.0, 1.0, distance=3.0).x == pytest.approx(8.0)
    assert road.ahead(5.0, 1.0, time=0.5).x == pytest.approx(10.0)
    assert road.ahead(5.0, 1.0, distance=3.0, time=0.5).x == pytest.approx(13.0)
    assert road.ahead(99.0, 0.0, time=1.0).x == pytest.approx(109.0)
    assert road.ahead(120.0, 0.0, distance=5.0).x == pytest.approx(125.0)


def test_horizon_and_rows() -> None:
    road = lane_change(20.0)
    ahead = road.horizon(1.0, 10, 0.1)
    np.testing.assert_allclose(ahead.x, road.at_time(1.0 + 0.1 * np.arange(11)).x)
    rows = road.rows(30, 0.05)
    assert rows.shape == (30, 1, len(Point._fields))
    np.testing.assert_allclose(rows[7, 0], road.at_time(0.35))
    ahead = Reference.along([[0.0, 0.0], [5.0, 0.0], [50.0, 0.0]], [5.0, 5.0, 10.0])
    told = ahead.rows(5, 0.1, ahead=2.0)[0, 0]
    assert told[0] == pytest.approx(ahead.at_time(2.0).x)
    assert told[4] == 5.0, "the speed is that of the step itself"


def test_from_a_trajectory() -> None:
    sim = sp.Simulator(KINEMATIC, 0.02)
    sim.reset(v=10.0, steer=0.1, yaw=0.5)
    driven = sim.run({"a": 1.0}, duration=2.0)
    reference = Reference.from_trajectory(driven)
    np.testing.assert_array_equal(reference.t, driven.t)
    course = driven["yaw"] + np.arctan(np.tan(0.1) * 1.422 / 2.578)
    np.testing.assert_allclose(reference.points.heading, course, atol=1e-4)
    np.testing.assert_allclose(reference.points.curvature, driven["omega"] / driven["v"], rtol=1e-3)
    np.testing.assert_allclose(reference.points.v[1:-1], driven["v"][1:-1], rtol=1e-4)
    np.testing.assert_allclose(reference.points.a[2:-2], 1.0, rtol=1e-2)


def test_a_reference_may_wait() -> None:
    t = np.arange(6.0)
    reference = Reference.from_arrays(t, [0.0, 0.0, 1.0, 2.0, 2.0, 2.0], np.zeros(6))
    assert reference.length == 2.0
    assert reference.at_time(0.5).x == 0.0
    assert reference.at_time(9.0).x == 2.0
    assert reference.points.v[0] == 0.0
    assert reference.offset(1.0, 0.5) == 0.5


def test_creeping_has_no_direction() -> None:
    rng = np.random.default_rng(0)
    x = np.array([0.0] * 20 + [1.0, 2.0, 3.0] + [3.0] * 20) + rng.normal(0.0, 1e-12, 43)
    reference = Reference.from_arrays(np.arange(43.0), x, rng.normal(0.0, 1e-12, 43))
    np.testing.assert_allclose(reference.points.heading, 0.0, atol=1e-9)
    np.testing.assert_allclose(reference.points.curvature, 0.0, atol=1e-9)
    assert reference.offset(1.5, -0.5) == pytest.approx(-0.5)


def test_a_trajectory_that_reverses_is_none() -> None:
    sim = sp.Simulator(KINEMATIC, 0.1)
    sim.reset(v=1.0)
    with pytest.raises(InvalidValue, match=r"the trajectory reverses \(v = -0.9"):
        Reference.from_trajectory(sim.run({"a": -1.0}, duration=1.9))


def test_given_columns_are_used() -> None:
    zero = np.zeros(3)
    given = Reference.from_arrays(
        [0.0, 1.0, 2.0], [0.0, 1.0, 2.0], zero, heading=zero + 0.1, curvature=zero + 0.2,
        v=zero + 3.0, a=zero + 0.4,
    )  # fmt: skip
    assert given.at_time(0.7)[2:] == pytest.approx((0.1, 0.2, 3.0, 0.4, 0.0))


@given(s=st.floats(-20.0, 130.0))
def test_the_table_is_the_line(s: float) -> None:
    got, wanted = TABLE(s), CIRCLE.at_distance(s)
    np.testing.assert_allclose(got, wanted, atol=2e-2)


def test_the_table_lies_on_the_arc_between_its_knots() -> None:
    fine = circle(20.0, 8.0, points=1001)
    table = fine.table(20)
    for s in np.linspace(0.0, fine.length, 333):
        point = table(float(s))
        assert math.hypot(point.x, point.y - 20.0) == pytest.approx(20.0, abs=1e-3)


def test_the_table_on_symbols_with_finite_slopes() -> None:
    s = ca.SX.sym("s")
    point = ca.vertcat(*TABLE(s))
    both = ca.Function("both", [s], [point, ca.jacobian(point, s)])
    for at in (-3.0, 1.0, 50.0, 120.0):
        value, slope = (np.array(part).ravel() for part in both(at))
        np.testing.assert_allclose(value, TABLE(at), atol=1e-12)
        assert np.isfinite(slope).all()
        # Distance along it is what it is a function of.
        assert math.hypot(*slope[:2]) == pytest.approx(1.0, abs=2e-2)


def test_its_arrays_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        CIRCLE.points.x[0] = 1.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Reference.along([[0.0, 0.0]], 1.0), "line must have shape"),
        (lambda: Reference.along([[0, 0], [1, 0]], -1.0), "v has -1 m/s; speeds must not be neg"),
        (lambda: Reference.along([[0, 0], [1, 0]], 0.0), "not 0 at two successive points"),
        (lambda: Reference.along([[0, 0], [1, 0]], [1.0, 2.0, 3.0]), r"v has shape \(3,\)"),
        (lambda: Reference.along([[0, 0], [1, 0]], 1.0, spacing=0.0), "spacing = 0.0 m"),
        (lambda: Reference.from_arrays([0.0, 0.0], [0, 1], [0, 0]), "they must increase"),
        (lambda: Reference.from_arrays([0.0, 1.0], [0, 1, 2], [0, 0]), r"x has shape \(3,\)"),
        (lambda: Reference.from_arrays([0, 1], [0, 1], [0, math.nan]), "y must be finite"),
        (lambda: Reference.from_arrays([0, 1], [0, 1], [0, 0], v=[1, -1]), "driven forwards"),
        (lambda: CIRCLE.at_time(math.nan), "t must be finite"),
        (lambda: CIRCLE.at_distance("far"), "s = 'far' must be a number"),
        (lambda: CIRCLE.table(1), "knots = 1 must be at least 2"),
        (lambda: CIRCLE.rows(0, 0.1), "steps = 0 must be at least 1"),
    ],
)
def test_bad_input_is_named(make: object, message: str) -> None:
    with pytest.raises(InvalidValue, match=message):
        make()  # type: ignore[operator]


def ring(radius: float = 20.0, count: int = 60) -> np.ndarray:
    angle = np.linspace(0.0, 2.0 * np.pi, count, endpoint=False)
    return radius * np.column_stack([np.sin(angle), 1.0 - np.cos(angle)])


@pytest.mark.parametrize("repeated", [False, True])
@pytest.mark.parametrize("spacing", [None, 0.5])
def test_a_closed_reference_goes_round(repeated: bool, spacing: float | None) -> None:
    line = ring()
    if repeated:
        line = np.vstack([line, line[:1]])
    road = Reference.along(line, v=8.0, closed=True, spacing=spacing)
    lap, around = road.duration, road.length
    for t in (0.3, 0.5 * lap, lap - 1e-3):
        first = road.at_time(t)
        for laps in (-1, 1, 3):
            again = road.at_time(t + laps * lap)
            turned = first._replace(heading=first.heading + 2.0 * np.pi * laps)
            np.testing.assert_allclose(again, turned, atol=1e-9)
            np.testing.assert_allclose(
                road.at_distance(road.distance_at(t) + laps * around), turned, atol=1e-9
            )
        assert road.distance_at(t + 2.0 * lap) == pytest.approx(road.distance_at(t) + 2.0 * around)
    # Nothing jumps where the line closes, and the curvature is that of the circle there too.
    seam = road.at_distance(np.linspace(around - 0.01, around + 0.01, 21))
    assert np.ptp(np.diff(seam.heading)) < 1e-5
    np.testing.assert_allclose(seam.curvature, 1.0 / 20.0, rtol=1e-6)
    assert road.nearest(0.0, -0.5).s == pytest.approx(0.0, abs=1e-9)
    assert road.ahead(0.0, 0.0, distance=-5.0).x == pytest.approx(-5.0, abs=0.1)


def test_a_compiled_in_closed_line_goes_round() -> None:
    road = Reference.along(ring(), v=8.0, closed=True)
    table = road.table(120)
    for s in (-30.0, 0.0, 40.0, 200.0, 999.0):
        there, told = road.at_distance(s), table(s)
        assert np.hypot(there.x - told.x, there.y - told.y) < 0.06
        assert told.heading == pytest.approx(there.heading, abs=1e-6)
        assert told.v == 8.0


def test_a_closed_speed_profile_closes_too() -> None:
    line = ring()
    speeds = 8.0 + np.sin(np.arange(len(line)) * 2.0 * np.pi / len(line))
    road = Reference.along(line, v=speeds, closed=True)
    assert road.points.v[0] == road.points.v[-1]
    assert road.points.a[0] == road.points.a[-1]
    with pytest.raises(InvalidValue, match="closed line has at least 3 points"):
        Reference.along([[0.0, 0.0], [1.0, 0.0]], v=1.0, closed=True)
