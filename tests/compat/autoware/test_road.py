"""Pitch and slope of roads: closed forms, and the rule worked out the long way."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skidpad.compat.autoware.road import REACH, Lane, Road, slope_acceleration
from skidpad.errors import InvalidValue

GRADE = 0.08


def ramp(heading: float = 0.0, grade: float = GRADE, points: int = 11) -> Road:
    """A straight road of 100 m through the origin with a constant grade."""
    s = np.linspace(-50.0, 50.0, points)
    line = np.column_stack([s * math.cos(heading), s * math.sin(heading), grade * s])
    return Road.from_centre_line(line, width=4.0)


def test_uphill_pitches_the_nose_up_and_gravity_brakes() -> None:
    road = ramp()
    assert road.pitch(1.0, 0.5, 0.0) == pytest.approx(-math.atan(GRADE), rel=1e-12)
    # sin(atan(g)) = g / sqrt(1 + g²)
    expected = -9.81 * GRADE / math.sqrt(1.0 + GRADE**2)
    assert road.slope_acceleration(1.0, 0.5, 0.0) == pytest.approx(expected, rel=1e-12)


def test_downhill_is_the_opposite() -> None:
    up, down = ramp(), ramp(grade=-GRADE)
    assert down.pitch(3.0, 0.0, 0.0) == pytest.approx(-up.pitch(3.0, 0.0, 0.0), rel=1e-12)
    assert down.slope_acceleration(3.0, 0.0, 0.0) > 0.0


def test_driving_against_the_lane_turns_the_pitch_round() -> None:
    road = ramp()
    assert road.pitch(0.0, 0.0, math.pi) == pytest.approx(math.atan(GRADE), rel=1e-12)


@pytest.mark.parametrize("yaw", [math.pi / 2.0, -math.pi / 2.0])
def test_crosswise_there_is_no_pitch(yaw: float) -> None:
    assert ramp().pitch(0.0, 0.0, yaw) == pytest.approx(0.0, abs=1e-15)


@given(heading=st.floats(-4.0, 4.0), yaw=st.floats(-10.0, 10.0), grade=st.floats(-0.5, 0.5))
def test_pitch_is_the_slope_of_the_plane_along_the_yaw(
    heading: float, yaw: float, grade: float
) -> None:
    road = ramp(heading, grade)
    expected = -math.atan(grade * math.cos(yaw - heading))
    assert road.pitch(2.0, 1.0, yaw) == pytest.approx(expected, abs=1e-12)


def test_without_heights_there_is_no_slope() -> None:
    road = ramp(grade=0.0)
    assert road.pitch(0.0, 0.0, 0.3) == 0.0
    assert road.slope_acceleration(0.0, 0.0, 0.3) == 0.0


def test_the_acceleration_of_a_pitch() -> None:
    assert slope_acceleration(-math.pi / 6.0) == pytest.approx(-9.81 / 2.0, rel=1e-12)
    assert slope_acceleration(math.pi / 6.0) == pytest.approx(9.81 / 2.0, rel=1e-12)


def test_a_lane_counts_up_to_two_metres_from_its_side() -> None:
    road = ramp()
    assert road.pitch(0.0, 2.0 + REACH - 1e-6, 0.0) != 0.0
    assert road.pitch(0.0, 2.0 + REACH + 1e-6, 0.0) == 0.0
    assert road.pitch(50.0 + 2.0 + REACH + 1e-6, 0.0, 0.0) == 0.0
    assert road.pitch(1e12, -1e12, 0.0) == 0.0


def test_the_nearest_segment_decides() -> None:
    road = Road.from_centre_line([(0, 0, 0), (10, 0, 1), (20, 0, 0.5), (30, 0, 0.5)])
    slopes = [road.pitch(x, 0.0, 0.0) for x in (5.0, 15.0, 25.0)]
    expected = [-math.atan(0.1), math.atan(0.05), 0.0]
    assert slopes == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_of_lanes_side_by_side_the_one_under_the_vehicle_counts() -> None:
    lines = [
        [(0.0, 0.0, 0.0), (50.0, 0.0, 5.0)],
        [(0.0, 3.5, 0.0), (50.0, 3.5, -5.0)],
    ]
    road = Road.from_centre_line(lines, width=3.5)
    assert road.pitch(20.0, 1.0, 0.0) == pytest.approx(-math.atan(0.1), rel=1e-12)
    assert road.pitch(20.0, 2.5, 0.0) == pytest.approx(math.atan(0.1), rel=1e-12)


def test_of_lanes_on_one_place_the_one_in_the_vehicle_s_direction_counts() -> None:
    lines = [
        [(-50.0, 0.0, 0.0), (50.0, 0.0, 10.0)],
        [(0.0, -50.0, 0.0), (0.0, 50.0, 20.0)],
    ]
    road = Road.from_centre_line(lines)
    for yaw, grade in ((0.2, 0.1), (1.2, 0.2)):
        lane_yaw = 0.0 if grade == 0.1 else math.pi / 2.0
        expected = -math.atan(grade * math.cos(yaw - lane_yaw))
        assert road.pitch(0.3, 0.3, yaw) == pytest.approx(expected, rel=1e-12)


def outside(outline: np.ndarray, point: np.ndarray) -> bool:
    """Whether the corners, seen from the point, turn less than once around it."""
    to = outline - point
    angles = np.arctan2(to[:, 1], to[:, 0])
    turns = (np.roll(angles, -1) - angles + math.pi) % (2.0 * math.pi) - math.pi
    return abs(turns.sum()) < 1.0


def distances(point: np.ndarray, starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """From a point to each of the segments."""
    along = ends - starts
    shares = np.sum((point - starts) * along, axis=1) / np.sum(along * along, axis=1)
    feet = starts + np.clip(shares, 0.0, 1.0)[:, None] * along
    return np.linalg.norm(point - feet, axis=1)


def pitch_the_long_way(lanes: list[Lane], x: float, y: float, yaw: float) -> float:
    """The rule over all lanes and segments, in the terms in which upstream writes it."""
    point = np.array([x, y])
    candidates: list[tuple[float, float, float]] = []
    for lane in lanes:
        plan = lane.centre[:, :2]
        gaps = distances(point, plan[:-1], plan[1:])
        k = int(np.argmin(gaps))
        dx, dy, dz = lane.centre[k + 1] - lane.centre[k]
        if lane.outline is None:
            assert lane.width is not None
            distance = max(gaps[k] - lane.width / 2.0, 0.0)
        elif outside(lane.outline, point):
            distance = distances(point, lane.outline, np.roll(lane.outline, -1, axis=0)).min()
        else:
            distance = 0.0
        if distance > 2.0:
            continue
        against = yaw - math.atan2(dy, dx)
        run = math.hypot(dx, dy) / math.cos(against)
        pitch = -math.atan2(-dz, -run) if math.cos(against) < 0.0 else -math.atan2(dz, run)
        turn = abs((against + math.pi) % (2.0 * math.pi) - math.pi)
        candidates.append((distance, turn, pitch))
    return min(candidates)[2] if candidates else 0.0


def winding_lane(seed: int, outlined: bool) -> Lane:
    rng = np.random.default_rng(seed)
    s = np.cumsum(rng.uniform(0.3, 3.0, 40))
    turn = rng.uniform(-0.03, 0.03) * s + rng.uniform(-3.0, 3.0)
    steps = np.column_stack([np.cos(turn), np.sin(turn)]) * np.diff(s, prepend=0.0)[:, None]
    plan = rng.uniform(-20.0, 20.0, 2) + np.cumsum(steps, axis=0)
    centre = np.column_stack([plan, np.cumsum(rng.normal(0.0, 0.05, 40))])
    if not outlined:
        return Lane(centre, rng.uniform(2.0, 4.0))
    side = rng.uniform(1.5, 3.0) * np.column_stack([-np.sin(turn), np.cos(turn)])
    return Lane(centre, None, np.concatenate([plan + side, (plan - side)[::-1]]))


@pytest.mark.parametrize("outlined", [False, True])
@pytest.mark.parametrize(
    "seed", [0, 1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)]
)
def test_the_fast_search_finds_what_the_long_one_finds(seed: int, outlined: bool) -> None:
    lanes = [winding_lane(10 * seed + k, outlined) for k in range(5)]
    road = Road(lanes)
    rng = np.random.default_rng(100 + seed)
    centres = np.concatenate([lane.centre for lane in lanes])
    places = rng.choice(centres[:, :2], 200) + rng.normal(0.0, 4.0, (200, 2))
    found = 0
    for (x, y), yaw in zip(places.tolist(), rng.uniform(-4.0, 4.0, 200).tolist(), strict=True):
        expected = pitch_the_long_way(lanes, x, y, yaw)
        assert road.pitch(x, y, yaw) == pytest.approx(expected, abs=1e-12)
        found += expected != 0.0
    assert 100 < found < 200


def test_an_outline_is_used_to_the_edge_of_every_cell() -> None:
    """Positions on round numbers lie on the borders of cells and of the outline."""
    centre = [(k, 0.0, 0.1 * k) for k in range(0, 21)]
    road = Road([Lane(np.array(centre), None, np.array([(0, 2), (20, 2), (20, -2), (0, -2)]))])
    for x in range(-3, 24):
        for y in range(-5, 6):
            beyond = math.hypot(max(-x, x - 20, 0), max(abs(y) - 2, 0))
            expected = -math.atan(0.1) if beyond <= 2.0 else 0.0
            assert road.pitch(x, y, 0.0) == pytest.approx(expected, abs=1e-12), (x, y)


def test_answers_do_not_depend_on_earlier_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skidpad.compat.autoware.road._CELLS", 3)
    lane = winding_lane(7, True)
    road = Road([lane])
    places = [(x, y) for x, y, _ in lane.centre.tolist()]
    first = [road.pitch(x, y, 0.4) for x, y in places]
    assert [road.pitch(x, y, 0.4) for x, y in reversed(places)] == first[::-1]
    assert [Road([lane]).pitch(x, y, 0.4) for x, y in places] == first


def test_repeated_points_of_a_centre_line_are_left_out() -> None:
    road = Road.from_centre_line([(0, 0, 0), (0, 0, 0), (10, 0, 1), (10, 0, 1)])
    assert road.pitch(5.0, 0.0, 0.0) == pytest.approx(-math.atan(0.1), rel=1e-12)


@pytest.mark.parametrize(
    ("points", "said"),
    [
        ([(0.0, 0.0)], r"shape \(1, 2\)"),
        ([(0.0, 0.0, 0.0)], r"shape \(1, 3\).*at least 2"),
        ([(0.0, 0.0, 0.0), (1.0, math.nan, 0.0)], "point 1: nan must be finite"),
        ([(0.0, 0.0, 0.0), (0.0, 0.0, 3.0)], r"shape \(1, 3\)"),
        ([("a", 0.0, 0.0), (1.0, 0.0, 0.0)], "must hold numbers"),
        ([], "at least one lane"),
    ],
)
def test_bad_points_are_named(points: Any, said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        Road.from_centre_line(points)


LINE = np.array([(0.0, 0.0, 0.0), (10.0, 0.0, 1.0)])


@pytest.mark.parametrize("width", [0.0, -1.0, math.inf, math.nan, None])
def test_a_lane_needs_a_width_or_an_outline(width: Any) -> None:
    with pytest.raises(InvalidValue, match="width"):
        Lane(LINE, width)


def test_bad_lanes_are_named() -> None:
    with pytest.raises(InvalidValue, match="ramp outline has shape"):
        Lane(LINE, None, np.zeros((2, 2)), name="ramp")
    with pytest.raises(InvalidValue, match="points 0 and 1 are one above the other"):
        Lane(np.array([(0.0, 0.0, 0.0), (0.0, 0.0, 3.0)]))
    with pytest.raises(InvalidValue, match="Lane records, got ndarray"):
        Road([LINE])  # type: ignore[list-item]


@pytest.mark.parametrize("pose", [(math.nan, 0, 0), (0, math.inf, 0), (0, 0, math.nan)])
def test_a_pose_must_be_finite(pose: tuple[float, float, float]) -> None:
    with pytest.raises(InvalidValue, match="must be finite"):
        ramp().pitch(*pose)


def test_a_lane_keeps_its_own_points() -> None:
    points = LINE.copy()
    road = Road([Lane(points)])
    points[:] = 0.0
    assert road.pitch(5.0, 0.0, 0.0) == pytest.approx(-math.atan(0.1), rel=1e-12)
