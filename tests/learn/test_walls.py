"""Contacts of compiled tasks against the exact collision checks of maps."""

from __future__ import annotations

import numpy as np
import pytest

import skidpad as sp
from skidpad.core.body import Pose
from skidpad.geometry.collision import Checker, Footprint, between
from skidpad.geometry.maps.map import Map
from skidpad.learn.course import touches, walls_of
from skidpad.learn.programs import touch_each_other

BOX = ((-1.0, -0.9), (2.5, -0.9), (2.5, 0.9), (-1.0, 0.9))
NOSE = ((-0.6, -0.5), (1.0, -0.5), (1.8, 0.0), (1.0, 0.5), (-0.6, 0.5))


@pytest.mark.parametrize("parts", [(BOX,), (BOX, NOSE)])
def test_contacts_are_those_of_the_map(parts: tuple[tuple[tuple[float, float], ...], ...]) -> None:
    random = np.random.default_rng(1)
    begin = random.uniform(-20.0, 20.0, (60, 2))
    walls = np.hstack([begin, begin + random.uniform(-3.0, 3.0, (60, 2))])
    poses = np.column_stack([random.uniform(-22.0, 22.0, (400, 2)), random.uniform(-4, 4, 400)])
    footprint = Footprint.polygons([np.array(part) for part in parts])
    expected = Checker(Map(segments=walls)).hits(footprint, poses)
    lists = walls_of([(walls, None)], footprint.radius)
    found = touches(lists.records[0], lists.most, Pose(*poses.T), parts)
    np.testing.assert_array_equal(np.asarray(found) > 0.5, expected)
    assert 20 < expected.sum() < 380


@pytest.mark.parametrize(
    ("wall", "hit"),
    [
        ((0.2, 0.1, 0.4, 0.1), True),  # within
        ((0.3, 0.0, 0.3, 0.0), True),  # a point within
        ((3.0, 0.0, 3.0, 0.0), False),  # a point outside
        ((-50.0, 0.2, 50.0, 0.2), True),  # through and through
        ((2.5, 3.0, 2.5, 0.5), True),  # along the edge, touching it
        ((2.6, 1.0, 2.0, 1.6), False),  # past a corner: no edge of the box tells them apart
        ((2.6, 0.7, 2.3, 1.0), True),  # across that corner
    ],
)
def test_single_walls(wall: tuple[float, ...], hit: bool) -> None:
    lists = walls_of([(np.array([wall]), None)], 2.7)
    assert touches(lists.records[0], 1, Pose(0.0, 0.0, 0.0), (BOX,)) == float(hit)


def test_two_vehicles_touch_as_they_do_on_a_map() -> None:
    random = np.random.default_rng(2)
    footprint = Footprint.polygons([np.array(NOSE)])
    hits = 0
    for _ in range(200):
        poses = np.column_stack([random.uniform(-1.5, 1.5, (2, 2)), random.uniform(-4, 4, 2)])
        expected = len(between(footprint, poses)) > 0
        found = touch_each_other(Pose(*poses[0]), Pose(*poses[1]), (NOSE,))
        assert (found > 0.5) == expected
        hits += expected
    assert 20 < hits < 180


def test_too_many_walls_are_refused() -> None:
    walls = np.tile([[0.0, 0.0, 1.0, 0.0]], (300, 1))
    with pytest.raises(sp.InvalidValue, match=r"there are 300 walls within 2\.00 m"):
        walls_of([(walls, None)], 2.0)
