"""Coordinates of a track: exact on circles, as the nearest point of the line elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

from learn.ring_tasks import RADIUS, ring
from skidpad.core.body import Pose, Velocity
from skidpad.geometry.maps.track import Track
from skidpad.learn.course import Courses, curvature_ahead, place_of, placed_at, track_point


def test_a_circle() -> None:
    course = Courses([ring(points=400)], 1.0).records[0]
    pose = Pose(0.0, RADIUS - 1.0, np.pi + 0.2)
    place, _ = placed_at(course, 0.26 * course.length, pose, Velocity(4.0, 0.0, 0.0))
    assert course.length == pytest.approx(2.0 * np.pi * RADIUS, rel=1e-4)
    assert place.s == pytest.approx(0.25 * course.length, abs=0.02)
    assert place.n == pytest.approx(1.0, abs=5e-3)
    assert place.heading == pytest.approx(0.2, abs=1e-3)
    assert place.curvature == pytest.approx(1.0 / RADIUS, rel=1e-3)
    assert place.v_s == pytest.approx(4.0 * np.cos(0.2), rel=1e-3)
    assert curvature_ahead(place, 30.0) == pytest.approx(1.0 / RADIUS, rel=1e-3)


def test_a_lap_counts_on() -> None:
    course = Courses([ring(points=400)], 1.0).records[0]
    still = Velocity(0.0, 0.0, 0.0)
    place, memory = placed_at(course, 0.0, track_point(course, 0.0), still)
    for s in np.linspace(0.0, 2.5 * course.length, 500)[1:]:
        place, memory = place_of(course, memory, track_point(course, s, 0.5), still)
    assert memory.progress == pytest.approx(2.5 * course.length, rel=1e-3)
    assert place.s == pytest.approx(0.5 * course.length, rel=1e-3)
    assert place.n == pytest.approx(0.5, abs=1e-2)


def test_places_are_the_nearest_points_of_the_line() -> None:
    angle = np.arange(300) * 2.0 * np.pi / 300
    radius = 40.0 + 5.0 * np.sin(3.0 * angle)
    centre = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    track = Track.between(centre, 3.0, 3.0)
    centre = track.centre
    course = Courses([track], 1.0).records[0]
    random = np.random.default_rng(0)
    for s, n in zip(random.uniform(0, course.length, 50), random.uniform(-3, 3, 50), strict=True):
        pose = track_point(course, s, n)
        near = s + random.uniform(-0.5, 0.5)
        place, _ = placed_at(course, near, pose, Velocity(0.0, 0.0, 0.0))
        apart = np.hypot(pose.x - centre[:, 0], pose.y - centre[:, 1])
        # A chord of 0.9 m stays within 1 cm of its bend.
        assert abs(place.n) <= apart.min() + 0.01
        assert place.n == pytest.approx(n, abs=0.02)
        assert abs((place.s - s + 1.0) % course.length - 1.0) < 0.1


def test_an_open_line_ends() -> None:
    centre = np.column_stack([np.linspace(0.0, 10.0, 21), np.zeros(21)])
    width = np.full(21, 2.0)
    track = Track(centre, width, width, closed=False, walls=np.empty((0, 4)))
    course = Courses([track], 1.0).records[0]
    place, _ = placed_at(course, 9.0, Pose(12.0, 1.0, 0.0), Velocity(1.0, 0.0, 0.0))
    assert place.s == pytest.approx(10.0)
    assert place.n == pytest.approx(1.0)
