"""Tracks, racing lines and speeds along them, against their own rules."""

from __future__ import annotations

import numpy as np
import pytest

from skidpad.control.speed import Course, Grip, speed_profile
from skidpad.demo.lap import (
    CLEARANCE,
    LENGTHS,
    TIGHTEST,
    Track,
    cones,
    lane,
    racing_line,
    random_track,
)
from skidpad.geometry.line import Line, smooth_loop
from skidpad.view.colours import CONES

SEEDS = [0, 1, 2, 3]


def ring(radius: float, count: int = 200) -> np.ndarray:
    a = np.linspace(0.0, 2.0 * np.pi, count, endpoint=False)
    return radius * np.column_stack([np.cos(a), np.sin(a)])


def curvature(points: np.ndarray) -> np.ndarray:
    """Of a closed line, at each of its points."""
    return Line.through(points, closed=True).curvature[:-1]


def test_points_are_spread_evenly_along_the_curve_itself() -> None:
    a = np.linspace(0.0, 2.0 * np.pi, 60, endpoint=False) ** 2 / (2.0 * np.pi)
    points = smooth_loop(10.0 * np.column_stack([np.cos(a), np.sin(a)]), 0.5)
    way = np.hypot(*(np.roll(points, -1, axis=0) - points).T)
    np.testing.assert_allclose(way, way.mean(), rtol=2e-3)
    np.testing.assert_allclose(np.hypot(*points.T), 10.0, atol=0.02)


@pytest.mark.slow_cases("3")
@pytest.mark.parametrize("seed", SEEDS)
def test_a_track_keeps_the_rules(seed: int) -> None:
    track = random_track(seed)
    assert LENGTHS[0] - 1.0 < track.line.length < LENGTHS[1] + 1.0
    kappa = curvature(track.centre)
    assert np.abs(kappa).max() <= 1.0 / TIGHTEST
    # Once round to the left, with turns to both sides on the way.
    assert (kappa * track.spacing).sum() == pytest.approx(2.0 * np.pi, rel=1e-3)
    assert kappa.min() < -0.02
    gap = np.hypot(*(track.centre[:, None] - track.centre).transpose(2, 0, 1))
    number = np.arange(len(track.centre))
    apart = np.abs(number[:, None] - number)
    apart = np.minimum(apart, len(number) - apart) * track.spacing
    assert gap[apart > 2.0 * CLEARANCE + 1.0].min() > CLEARANCE - 0.6
    np.testing.assert_array_equal(track.centre, random_track(seed).centre)


@pytest.mark.parametrize("seed", SEEDS)
def test_cones_stand_on_their_sides(seed: int) -> None:
    track = random_track(seed)
    along = np.roll(track.centre, -1, axis=0) - track.centre
    for colour, side in ((CONES["blue"], 1.0), (CONES["yellow"], -1.0)):
        places = np.array([(d.x, d.y) for d in cones(track) if d.colour == colour])
        assert len(places) > 40
        off = places[:, None] - track.centre
        nearest = np.hypot(*off.transpose(2, 0, 1)).argmin(axis=1)
        d, t = off[np.arange(len(places)), nearest], along[nearest]
        left = (t[:, 0] * d[:, 1] - t[:, 1] * d[:, 0]) / np.hypot(*t.T)
        np.testing.assert_allclose(left, side * track.half_width, atol=0.1)
        between = np.hypot(*np.diff(places, axis=0).T)
        assert between.min() > 0.8
        assert between.max() < 8.0


def test_the_lane_is_the_ground_between_the_edges() -> None:
    track = Track(ring(20.0), 1.5)
    x, y = np.array(lane(track).points).T
    area = 0.5 * abs((x * np.roll(y, -1) - y * np.roll(x, -1)).sum())
    assert area == pytest.approx(2.0 * np.pi * 20.0 * 3.0, rel=1e-3)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_racing_line_is_straighter_and_within_its_margin(seed: int) -> None:
    track = random_track(seed)
    line = racing_line(track, margin=1.1)
    gap = np.hypot(*(line[:, None] - track.centre).transpose(2, 0, 1)).min(axis=1)
    assert gap.max() < track.half_width - 1.1 + 0.05
    assert gap.max() > 0.6
    straightness = [float((curvature(one) ** 2).mean()) for one in (line, track.centre)]
    assert straightness[0] < 0.9 * straightness[1]


def test_on_a_ring_the_line_of_least_curvature_is_outside() -> None:
    line = racing_line(Track(ring(15.0, 190), 2.0), margin=0.5)
    np.testing.assert_allclose(np.hypot(*line.T), 16.5, atol=0.02)


@pytest.mark.parametrize("seed", SEEDS)
def test_speeds_keep_the_grip_everywhere(seed: int) -> None:
    grip = Grip(a_lateral=12.0, a_drive=6.0, a_brake=9.0, v_max=22.0)
    track = random_track(seed)
    line = track.line
    v, kappa = speed_profile(line, grip)[:-1], line.curvature[:-1]
    assert v.max() <= grip.v_max
    across = v**2 * np.abs(kappa) / grip.a_lateral
    assert across.max() <= 1.0 + 1e-9
    along = (np.roll(v, -1) ** 2 - v**2) / (2.0 * np.diff(line.s))
    # Drive is limited by where it starts, brakes by where they end.
    room = np.sqrt(1.0 - np.minimum(across, 1.0) ** 2)
    assert (along <= grip.a_drive * room + 1e-9).all()
    assert (-along <= grip.a_brake * np.roll(room, -1) + 1e-9).all()
    # Nowhere could it be faster: each point is at one of the limits.
    at_limit = (np.abs(across - 1.0) < 1e-6) | (v > grip.v_max - 1e-9)
    driven = np.roll(along > grip.a_drive * room - 1e-6, 1)
    braked = -along > grip.a_brake * np.roll(room, -1) - 1e-6
    assert (at_limit | driven | braked).all()


def test_a_plan_knows_every_place_along_it() -> None:
    plan = Course.of(ring(10.0, 630), 5.0, closed=True)
    assert plan.length == pytest.approx(2.0 * np.pi * 10.0, rel=1e-4)
    assert plan.time == pytest.approx(plan.length / 5.0)
    for s in (-3.0, 0.0, 7.7, 200.0):
        here, a = plan.at(s), s / 10.0
        assert (here.x, here.y) == pytest.approx((10 * np.cos(a), 10 * np.sin(a)), abs=2e-2)
        assert np.cos(here.heading - a - 0.5 * np.pi) == pytest.approx(1.0)
        assert here.curvature == pytest.approx(0.1, rel=1e-3)
        assert (here.v, here.a) == pytest.approx((5.0, 0.0))


def test_an_open_plan_goes_straight_on() -> None:
    line = np.column_stack([np.arange(5.0), np.zeros(5)])
    plan = Course.of(line, np.array([2.0, 2.0, 3.0, 4.0, 4.0]), closed=False)
    assert plan.length == 4.0
    assert plan.at(6.0)[:3] == (6.0, 0.0, 0.0)
    assert plan.at(-1.0)[:3] == (-1.0, 0.0, 0.0)
    here = plan.at(1.5)
    assert (here.v, here.a) == (2.5, 2.5)
