"""Footprints along motions: nothing is passed through, and the first contact is the first."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geometry.collision.oracle import along, gap, placed
from skidpad.errors import InvalidValue
from skidpad.geometry.collision import Checker, Footprint
from skidpad.geometry.maps.map import Map

CAR = Footprint.rectangle(length=0.505, width=0.313, rear=0.1)
SAMPLES = 400

coordinate = st.floats(-3.0, 3.0)
pose = st.tuples(coordinate, coordinate, st.floats(-3.2, 3.2))
wall = st.tuples(coordinate, coordinate, coordinate, coordinate).filter(
    lambda w: math.hypot(w[2] - w[0], w[3] - w[1]) > 1e-3
)
walls = st.lists(wall, min_size=1, max_size=5)


def sampled(lines: Any, before: Any, after: Any) -> tuple[float | None, float]:
    """Time of the first sample in contact, or None, and the least distance of all samples."""
    least = math.inf
    for t in np.linspace(0.0, 1.0, SAMPLES + 1):
        (at,) = along(before, after, np.array([t]))
        corners = placed(CAR.parts[0], at)
        least = min(least, *(gap(corners, line) for line in lines))
        if least == 0.0:
            return float(t), least
    return None, least


@pytest.mark.slow
@given(walls, pose, pose)
def test_the_first_contact_by_dense_sampling(lines: Any, before: Any, after: Any) -> None:
    found = Checker(Map(segments=np.array(lines))).first_contact(CAR, before, after)
    seen, least = sampled(lines, before, after)
    if seen is not None:
        # Never later than the first sample in contact.
        assert found is not None
        assert found <= seen + 1e-9
    if found is None:
        assert least > 0.0
        return
    # In contact there, or within rounding of it; and free of contact until then.
    (at,) = along(before, after, np.array([found]))
    assert min(gap(placed(CAR.parts[0], at), line) for line in lines) < 1e-8
    for earlier in along(before, after, found * np.linspace(0.0, 1.0, 50)[:-1]):
        distance = min(gap(placed(CAR.parts[0], earlier), line) for line in lines)
        assert distance > 0.0 or found < 1e-9


@pytest.mark.parametrize("speed", [100.0, 1e3, 1e6])
@pytest.mark.parametrize("yaw", [0.0, 1.1, math.pi])
def test_no_wall_is_tunnelled_through_at_any_speed(speed: float, yaw: float) -> None:
    # Thinner than anything, 40 m ahead, and the whole motion is one step.
    ahead = np.array([math.cos(yaw), math.sin(yaw)])
    left = np.array([-ahead[1], ahead[0]])
    made = Map.from_polylines([[40.0 * ahead - 0.1 * left, 40.0 * ahead + 0.1 * left]])
    found = Checker(made).first_contact(CAR, (0.0, 0.0, yaw), (*(speed * ahead), yaw))
    assert found == pytest.approx((40.0 - 0.405) / speed, rel=1e-9)


@pytest.mark.parametrize("direction", [1.0, -1.0])
def test_on_an_arc(direction: float) -> None:
    # A quarter of a circle of radius 10 m about (0, 10 m); a wall across it at 45°.
    inner, outer = 9.0 / math.sqrt(2.0), 11.0 / math.sqrt(2.0)
    wall_across = [(inner, direction * (10 - inner)), (outer, direction * (10 - outer))]
    made = Map.from_polylines([wall_across])
    point = Footprint.polygons([[(0.0, -1e-9), (1e-9, 0.0), (0.0, 1e-9)]])
    after = (10.0, direction * 10.0, direction * math.pi / 2)
    found = Checker(made).first_contact(point, (0.0, 0.0, 0.0), after)
    assert found == pytest.approx(0.5, abs=1e-9)


def test_turning_on_the_spot() -> None:
    made = Map.from_polylines([[(0.0, 0.3), (0.0, 0.9)]])
    needle = Footprint.polygons([[(0.0, 0.0), (0.5, -1e-9), (0.5, 1e-9)]])
    found = Checker(made).first_contact(needle, (0, 0, 0), (0, 0, 3.0))
    assert found == pytest.approx(math.pi / 2 / 3.0, abs=1e-7)
    # The shorter way round is the other one, and nothing is there.
    assert Checker(made).first_contact(needle, (0, 0, 0), (0, 0, 3.5)) is None


def test_curving_gently_is_like_driving_straight() -> None:
    made = Map.from_polylines([[(50.0, -3.0), (50.0, 3.0)]])
    checker = Checker(made)
    straight = checker.first_contact(CAR, (0, 0, 0), (100, 0, 0))
    for turn in (1e-15, 1e-12, 1e-9, 1e-7):
        assert checker.first_contact(CAR, (0, 0, 0), (100, 0, turn)) == pytest.approx(
            straight, abs=1e-8
        )


def test_starting_in_contact_and_in_a_solid_area() -> None:
    solid = Checker(Map.from_polygons([[(-5, -5), (5, -5), (5, 5), (-5, 5)]]))
    assert solid.first_contact(CAR, (0, 0, 0), (1, 0, 0)) == 0.0
    assert solid.first_contact(CAR, (20, 0, 0), (30, 0, 0)) is None
    assert solid.first_contact(CAR, (20, 0, 0), (0, 0, 0)) == pytest.approx((15 - 0.1) / 20)
    touching = Checker(Map.from_polylines([[(0.405, -1.0), (0.405, 1.0)]]))
    assert touching.first_contact(CAR, (0, 0, 0), (-1, 0, 0)) == 0.0


def test_standing_still() -> None:
    checker = Checker(Map.from_polylines([[(1.0, -1.0), (1.0, 1.0)]]))
    assert checker.first_contact(CAR, (0, 0, 0), (0, 0, 0)) is None
    assert checker.first_contact(CAR, (1, 0, 0), (1, 0, 0)) == 0.0


cell_rows = st.integers(1, 6).flatmap(
    lambda columns: st.lists(
        st.lists(st.booleans(), min_size=columns, max_size=columns), min_size=1, max_size=6
    )
)


@given(cell_rows, pose, pose)
def test_cells_along_the_motion(rows: Any, before: Any, after: Any) -> None:
    checker = Checker(Map.from_grid(rows, resolution=0.5, origin=(-1.2, -1.4, 0.2)))
    found = checker.first_contact(CAR, before, after)
    times = np.linspace(0.0, 1.0, SAMPLES + 1)
    hit = checker.hits(CAR, list(along(before, after, times)))
    if hit.any():
        assert found is not None
        assert found <= times[hit.argmax()] + 1e-9
    if found is not None:
        # A step into the contact, or on the way back out of a grazing one, there is contact.
        around = np.clip(found + np.array([0.0, 1e-9, 1e-7]), 0.0, 1.0)
        nearby = list(along(before, after, around))
        shifts = 1e-6 * np.array([(0, 0), (1, 0), (-1, 0), (0, 1), (0, -1)])
        assert any(
            checker.hits(CAR, (at[0] + dx, at[1] + dy, at[2]))[0]
            for at in nearby
            for dx, dy in shifts
        )
        assert not hit[times < found - 1e-9].any()


def test_many_motions_at_once() -> None:
    random = np.random.default_rng(5)
    made = Map(segments=random.uniform(-20.0, 20.0, (200, 4)))
    before = np.column_stack([random.uniform(-20, 20, (2000, 2)), random.uniform(-4, 4, 2000)])
    after = before + random.normal(0.0, [3.0, 3.0, 0.5], (2000, 3))
    checker = Checker(made)
    found = checker.first_contact(CAR, before, after)
    assert found.shape == (2000,)
    one_by_one = [checker.first_contact(CAR, a, b) for a, b in zip(before, after, strict=True)]
    np.testing.assert_array_equal(found, [np.inf if f is None else f for f in one_by_one])
    np.testing.assert_array_equal(found, checker.first_contact(CAR, before, after, threads=3))
    np.testing.assert_array_equal(found == 0.0, checker.hits(CAR, before))


def test_along_a_list_of_poses() -> None:
    checker = Checker(Map.from_polylines([[(2.655, -1.0), (2.655, 1.0)]]))
    poses = [(0, 0, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0), (0, 0, 0)]
    assert checker.first_contact_along(CAR, poses) == pytest.approx(2.25)
    assert checker.first_contact_along(CAR, poses[:3]) is None
    assert checker.first_contact_along(CAR, [(2.5, 0, 0)]) == 0.0
    assert checker.first_contact_along(CAR, [(0.0, 0, 0)]) is None


def test_poses_must_match() -> None:
    with pytest.raises(InvalidValue, match="before has 2 poses, but after has 3"):
        Checker(Map()).first_contact(CAR, np.zeros((2, 3)), np.zeros((3, 3)))
