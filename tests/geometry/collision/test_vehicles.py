"""Vehicles against each other, standing and moving."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from geometry.collision.oracle import along, clip, gap, placed, winding
from skidpad.errors import InvalidValue
from skidpad.geometry.collision import Footprint, between, first_contacts

CAR = Footprint.rectangle(length=4.5, width=1.8, rear=1.0)
BALL = Footprint.polygons([[(math.cos(a), math.sin(a)) for a in np.arange(0.0, 6.2, 0.4)]])

coordinate = st.floats(-8.0, 8.0)
pose = st.tuples(coordinate, coordinate, st.floats(-4.0, 4.0))


def edges(corners: Any) -> list[tuple[float, float, float, float]]:
    return [(*corners[k], *corners[(k + 1) % len(corners)]) for k in range(len(corners))]


def distance(a: Any, b: Any) -> float:
    """Of two convex polygons; 0 in contact."""
    if winding(a[0], b) or winding(b[0], a):
        return 0.0
    return min(gap(a, edge) for edge in edges(b))


@given(st.lists(pose, min_size=2, max_size=6))
def test_pairs_one_by_one(poses: Any) -> None:
    shapes = [CAR if k % 2 else BALL for k in range(len(poses))]
    corners = [placed(s.parts[0], at) for s, at in zip(shapes, poses, strict=True)]
    expected: list[list[int]] = []
    for i, j in itertools.combinations(range(len(poses)), 2):
        overlaps = [clip(edge, corners[i]) for edge in edges(corners[j])]
        assume(min(abs(overlap) for overlap in overlaps) > 1e-9)
        if distance(corners[i], corners[j]) == 0.0:
            expected.append([i, j])
    assert between(shapes, poses).tolist() == expected


@given(pose, pose)
def test_contact_is_mutual(a: Any, b: Any) -> None:
    both = [placed(CAR.parts[0], a), placed(BALL.parts[0], b)]
    assume(not 0.0 < distance(*both) < 1e-9)
    assume(min(abs(clip(edge, both[0])) for edge in edges(both[1])) > 1e-9)
    assert len(between([CAR, BALL], [a, b])) == len(between([BALL, CAR], [b, a]))


def test_touching_counts_and_so_does_being_inside() -> None:
    box = Footprint.rectangle(length=2.0, width=2.0, rear=1.0)
    small = Footprint.rectangle(length=0.2, width=0.2, rear=0.1)
    assert between(box, [(0, 0, 0), (2, 0, 0)]).tolist() == [[0, 1]]
    assert between(box, [(0, 0, 0), (2 + 1e-12, 0, 0)]).tolist() == []
    assert between([box, small], [(0, 0, 0), (0.3, 0.2, 1.0)]).tolist() == [[0, 1]]


def test_many_vehicles() -> None:
    random = np.random.default_rng(2)
    poses = np.column_stack([random.uniform(0, 120, (300, 2)), random.uniform(-4, 4, 300)])
    found = between(CAR, poses)
    corners = [placed(CAR.parts[0], at) for at in poses]
    near = [
        (i, j)
        for i, j in itertools.combinations(range(300), 2)
        if math.dist(poses[i, :2], poses[j, :2]) < 8.0
    ]
    expected = [[i, j] for i, j in near if distance(corners[i], corners[j]) == 0.0]
    assert expected
    assert found.tolist() == expected
    assert between(CAR, poses[:1]).shape == (0, 2)
    assert between(CAR, np.empty((0, 3))).shape == (0, 2)


@pytest.mark.slow
@given(pose, pose, pose, pose)
def test_moving_pairs_by_dense_sampling(a0: Any, a1: Any, b0: Any, b1: Any) -> None:
    found = first_contacts([CAR, BALL], [a0, b0], [a1, b1])
    times = np.linspace(0.0, 1.0, 200)
    moved = zip(along(a0, a1, times), along(b0, b1, times), strict=True)
    gaps = [distance(placed(CAR.parts[0], a), placed(BALL.parts[0], b)) for a, b in moved]
    seen = [t for t, each in zip(times, gaps, strict=True) if each == 0.0]
    if seen:
        assert found.pairs.tolist() == [[0, 1]]
        assert found.fractions[0] <= seen[0] + 1e-9
    if len(found.pairs):
        (t,) = found.fractions
        (a,), (b,) = along(a0, a1, np.array([t])), along(b0, b1, np.array([t]))
        # Both make some 50 m at most in a motion, arcs and turns of the corners included.
        assert distance(placed(CAR.parts[0], a), placed(BALL.parts[0], b)) < 1e-6 * 100.0
        assert all(each > 0.0 for s, each in zip(times, gaps, strict=True) if s < t - 1e-5)
    else:
        assert min(gaps) > 0.0


def test_nobody_drives_through_anybody() -> None:
    # At 100 m/s towards each other, and past each other, all in one step of a second.
    before = [(0.0, 0.0, 0.0), (100.0, 0.0, math.pi), (0.0, 2.0, 0.0), (100.0, 4.0, math.pi)]
    after = [(100.0, 0.0, 0.0), (0.0, 0.0, math.pi), (100.0, 2.0, 0.0), (0.0, 4.0, math.pi)]
    found = first_contacts(CAR, before, after)
    assert found.pairs.tolist() == [[0, 1]]
    # 3.5 m of each car lie ahead of its body point.
    assert found.fractions[0] == pytest.approx((100.0 - 7.0) / 200.0, abs=2e-6)
    assert found.fractions[0] <= (100.0 - 7.0) / 200.0
    crossing = first_contacts(
        CAR, [(0, -50, 1.5707963), (-50, 0, 0)], [(0, 50, 1.5707963), (50, 0, 0)]
    )
    assert crossing.pairs.tolist() == [[0, 1]]


def test_starting_in_contact_and_standing_still() -> None:
    assert first_contacts(CAR, [(0, 0, 0), (1, 0, 0)], [(9, 0, 0), (-9, 0, 0)]).fractions[0] == 0.0
    assert len(first_contacts(CAR, [(0, 0, 0), (9, 0, 0)], [(0, 0, 0), (9, 0, 0)]).pairs) == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: between([CAR], [(0, 0, 0), (1, 0, 0)]), "1 footprints are given for 2 poses"),
        (lambda: between([CAR, 3], [(0, 0, 0), (1, 0, 0)]), "footprints[1] is a int"),
        (lambda: first_contacts(CAR, [(0, 0, 0)], [(0, 0, 0), (1, 0, 0)]), "before has 1 poses"),
        (lambda: between(CAR, [(0, 0, math.nan)]), "poses[0]: yaw = nan"),
    ],
)
def test_bad_input(call: Any, message: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        call()
    assert message in str(caught.value)
