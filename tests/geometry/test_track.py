"""Tracks: centre line, widths, borders, and what cannot be one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from skidpad.errors import InvalidValue
from skidpad.geometry.collision import Checker, Footprint
from skidpad.geometry.line import crossings
from skidpad.geometry.maps import Grid, Track
from skidpad.geometry.polygon import distances

RADIUS, LEFT, RIGHT = 20.0, 2.0, 3.0
ANGLES = np.linspace(0.0, 2.0 * math.pi, 40, endpoint=False)


def circle(radius: float, angles: np.ndarray = ANGLES) -> np.ndarray:
    return radius * np.column_stack([np.cos(angles), np.sin(angles)])


@pytest.fixture(scope="module")
def round_track() -> Track:
    return Track.between(circle(RADIUS), LEFT, RIGHT, name="round")


def radii(points: np.ndarray) -> np.ndarray:
    return np.hypot(points[:, 0], points[:, 1])


def test_a_circle_has_its_radii(round_track: Track) -> None:
    """Against the clock the left border is the inner one."""
    np.testing.assert_allclose(radii(round_track.centre), RADIUS, atol=1e-4)
    np.testing.assert_allclose(round_track.line.curvature, 1.0 / RADIUS, rtol=2e-3)
    assert round_track.length == pytest.approx(2.0 * math.pi * RADIUS, rel=1e-4)
    left, right = round_track.borders
    np.testing.assert_allclose(radii(left), RADIUS - LEFT, atol=1e-3)
    np.testing.assert_allclose(radii(right), RADIUS + RIGHT, atol=1e-3)
    middles = 0.5 * (round_track.walls[:, :2] + round_track.walls[:, 2:])
    off = [np.abs(radii(middles) - radius) for radius in (RADIUS - LEFT, RADIUS + RIGHT)]
    assert np.minimum(*off).max() <= 0.005 * min(LEFT, RIGHT) + 1e-3
    assert round_track.narrowest == pytest.approx(LEFT + RIGHT)
    assert round_track.map.segments.shape == round_track.walls.shape


@pytest.mark.parametrize("closed", [True, False])
def test_points_are_equally_spaced_and_widths_linear(closed: bool) -> None:
    """Of a quarter circle or a whole one, through points at uneven distances."""
    angles = np.concatenate([[0.0, 0.05, 0.2, 0.5, 0.6, 1.0], np.linspace(1.2, 6.0, 20)])
    track = Track.between(
        circle(RADIUS, angles), 1.0 + 0.1 * angles, 2.0, closed=closed, spacing=0.7
    )
    pieces = np.hypot(*np.diff(track.line.points, axis=0).T)
    np.testing.assert_allclose(pieces, pieces.mean(), rtol=1e-6)
    assert pieces.mean() == pytest.approx(0.7, rel=0.02)
    np.testing.assert_allclose(radii(track.centre), RADIUS, atol=0.02)
    at = np.arctan2(track.centre[:, 1], track.centre[:, 0]) % (2.0 * math.pi)
    inside = (at > 0.01) & (at < 5.99)
    np.testing.assert_allclose(track.left[inside], 1.0 + 0.1 * at[inside], atol=5e-3)
    if not closed:
        np.testing.assert_allclose(track.centre[[0, -1]], circle(RADIUS, angles[[0, -1]]))
        assert track.walls.shape == (2 * (len(track.centre) - 1), 4)


def test_places_are_projected(round_track: Track) -> None:
    d = np.array([1.5, -2.0, 0.3])
    angles = np.array([0.3, 2.0, 5.9])
    nearest = round_track.line.project((RADIUS - d)[:, None] * circle(1.0, angles))
    first = math.atan2(*round_track.centre[0, ::-1])
    # Chords turn in steps, where a circle turns steadily.
    step = round_track.length / len(round_track.centre)
    np.testing.assert_allclose(nearest.left, d, atol=2e-3)
    np.testing.assert_allclose(nearest.s, RADIUS * (angles - first), atol=step * 0.1)


def test_the_other_way_and_back_is_the_same() -> None:
    for closed in (True, False):
        track = Track.between(circle(9.0, ANGLES[:30]), 1.0 + ANGLES[:30] / 9, 2.0, closed=closed)
        back = track.reversed()
        assert back.length == pytest.approx(track.length, rel=1e-12)
        np.testing.assert_array_equal(back.walls, track.walls)
        if closed:
            np.testing.assert_array_equal(back.centre[0], track.centre[0])
        # The place 0.5 m to the left is now to the right.
        place = track.line.beside(0.5)[7:8]
        assert back.line.project(place).left[0] == pytest.approx(-0.5, abs=1e-3)
        assert sorted(map(tuple, back.borders[0].round(6))) == sorted(
            map(tuple, track.borders[1].round(6))
        )
        again = back.reversed()
        for name in ("centre", "left", "right", "walls"):
            np.testing.assert_array_equal(getattr(again, name), getattr(track, name))


def test_the_mirror_shows_left_as_right() -> None:
    cells = np.zeros((3, 5), dtype=bool)
    cells[0, 1] = True
    grid = Grid(cells, 0.5, (4.0, 1.0, 0.7))
    track = replace(Track.between(circle(9.0), 1.0, 2.0), grid=grid)
    other = track.mirrored()
    np.testing.assert_allclose(other.line.curvature, -track.line.curvature, atol=1e-12)
    assert (other.left == track.right).all()
    assert (other.right == track.left).all()
    places = np.random.default_rng(1).uniform([3.0, 0.0], [8.0, 5.0], (500, 2))
    assert other.grid is not None
    seen = grid.at(places)
    assert seen.any()
    np.testing.assert_array_equal(other.grid.at(places * [1.0, -1.0]), seen)
    np.testing.assert_allclose(other.mirrored().centre, track.centre)


HAIRPIN = np.array(
    [[0, 0], [10, 0], [20, 0], [22.5, 1.5], [22.5, 3.5], [20, 5], [10, 8], [0, 12], [-8, 6]], float
)


@pytest.mark.parametrize("way", [1, -1])
def test_folds_inside_of_tight_bends_are_cut(way: int) -> None:
    """The bend has a radius of 1.9 m, the border is 3.5 m away from the centre."""
    inner, outer = (3.5, 1.5) if way == 1 else (1.5, 3.5)
    track = Track.between(HAIRPIN[::way], inner, outer)
    assert np.abs(track.line.curvature).max() > 1.0 / 2.5
    assert len(crossings(track.walls)) == 0
    # Nothing of the borders reaches into the track, and everything hangs together.
    inside, outside = track.borders if way == 1 else track.borders[::-1]
    centre = np.hstack([track.line.points[:-1], track.line.points[1:]])
    assert distances(inside, centre).min() > 3.5 - 0.05
    assert distances(outside, centre).min() > 1.5 - 0.05
    begins, ends = ({tuple(p) for p in them.tolist()} for them in np.hsplit(track.walls, 2))
    assert begins == ends


def test_what_a_keyhole_leaves_of_the_infield_is_cut_as_well() -> None:
    """Two legs come nearer than the borders are, and part again before the hairpin."""
    up = np.array([[-1.0, 0.0], [0.0, 6.0], [1.6, 12.0], [1.9, 16.0], [1.7, 18.5], [1.4, 21.0]])
    tip = np.array([[2.04, 22.56], [3.6, 23.2], [5.16, 22.56]])
    points = np.vstack([up, tip, (up * [-1.0, 1.0] + [7.2, 0.0])[::-1], [[3.6, -4.0]]])
    track = Track.between(points, 0.5, 1.75, spacing=0.25)
    uncut = track.line.beside(-1.75)
    assert len(crossings(np.hstack([uncut, np.roll(uncut, -1, axis=0)]))) == 2
    assert len(crossings(track.walls)) == 0
    assert track.borders[1][:, 1].max() < 16.0


def test_parts_that_lie_over_each_other_are_refused() -> None:
    """A horseshoe whose ends nearly meet: its outer borders cross."""
    angles = np.linspace(0.3, 2.0 * math.pi - 0.3, 40)
    ends = np.vstack([circle(30.0, angles), circle(18.0, angles)[::-1]])
    assert Track.between(ends, 2.0, 2.0).narrowest == pytest.approx(4.0)
    with pytest.raises(InvalidValue, match=r"right border crosses itself near .* too near for its"):
        Track.between(ends, 2.0, 6.0)


SPIKES = np.column_stack(
    [
        [24.0, 24.0, 16.0, 1.0, -9.0, -7.0, -13.0, -13.0, -17.0, -3.0, 2.0, 6.0, 29.0],
        [0.0, 12.0, 23.0, 8.0, 23.0, 6.0, 3.0, -3.0, -15.0, -9.0, -20.0, -8.0, -15.0],
    ]
)
"""A smooth line through these turns on the spot."""


@pytest.mark.parametrize(
    ("points", "left", "right", "words"),
    [
        (
            circle(5.0),
            6.0,
            1.0,
            r"left\[\d+\] = 6 m reaches beyond the centre of the bend at s = .*radius [45]",
        ),
        (circle(5.0) * [1.0, 0.5], 4.0, 1.0, r"left\[\d+\] = 4 m reaches beyond the centre"),
        (SPIKES, 0.1, 0.1, r"turns too sharply near \(-8\..*, 22\..*\) for spacing = 0.5 m"),
        (circle(5.0)[:3], 1.0, 1.0, "has 3 different points; a track needs at least 4"),
        (circle(5.0), 0.0, 1.0, r"left\[0\] = 0 m must be finite and greater than 0"),
        (circle(5.0), 1.0, [1.0] * 39 + [math.nan], r"right\[39\] = nan m must be finite"),
        (circle(5.0), 1.0, [1.0] * 7, r"right has shape \(7,\); allowed is \(40,\)"),
        (circle(5.0), "wide", 1.0, "left = 'wide' must be numbers"),
        (
            np.vstack([circle(5.0), [[math.inf, 0.0]]]),
            1.0,
            1.0,
            r"points\[\d+\] = .* must be finite",
        ),
        (
            9.0 * np.column_stack([np.cos(ANGLES), np.sin(2.0 * ANGLES)]),
            1.0,
            1.0,
            r"centre line crosses itself near \(.*\), at s = .* m and at s = .* m",
        ),
    ],
)
def test_what_cannot_be_a_track_is_refused(
    points: np.ndarray, left: object, right: object, words: str
) -> None:
    with pytest.raises(InvalidValue, match=words):
        Track.between(points, left, right)  # pyright: ignore[reportArgumentType]


def test_a_track_of_uneven_points_is_refused() -> None:
    angles = np.sort(np.append(ANGLES, 1.0))
    with pytest.raises(InvalidValue, match=r"equally spaced: Track\.between"):
        Track(circle(5.0, angles), np.ones(41), np.ones(41))
    with pytest.raises(InvalidValue, match="closed = 'yes' must be True or False"):
        Track(circle(5.0), np.ones(40), np.ones(40), closed="yes")  # pyright: ignore
    with pytest.raises(InvalidValue, match="segments has shape"):
        Track(circle(5.0), np.ones(40), np.ones(40), walls=np.zeros((3, 2)))


def test_where_a_track_is_too_narrow_is_told() -> None:
    left = np.full(40, 2.0)
    left[10] = 0.5
    track = Track.between(circle(RADIUS), left, 1.0, name="pinched")
    track.check_width(1.5)
    place = track.narrowest_place
    assert place.width == track.narrowest == pytest.approx(1.5, abs=0.15)
    assert place.s == pytest.approx(RADIUS * math.pi / 2, abs=0.3)
    np.testing.assert_allclose(place[1:3], [0.0, RADIUS], atol=0.3)
    with pytest.raises(InvalidValue, match=r"'pinched' is 1\.\d+ m wide at s = 31\.\d+ m, .*2 m"):
        track.check_width(2.0)


def test_cones_in_any_order_make_a_track() -> None:
    rng = np.random.default_rng(2)
    blue, yellow = circle(RADIUS - 1.75), circle(RADIUS + 1.75, ANGLES + 0.05)
    for cones in (blue, yellow):
        rng.shuffle(cones)
    track = Track.of_cones(blue, yellow, [[RADIUS + 2.0, 0.0]])
    assert track.closed
    np.testing.assert_allclose(radii(track.centre), RADIUS, atol=0.15)
    np.testing.assert_allclose(track.left, 1.75, atol=0.1)
    np.testing.assert_allclose(track.line.curvature, 1.0 / RADIUS, rtol=0.05)
    assert math.dist(track.centre[0], (RADIUS, 0.0)) < 2.0
    assert track.walls.shape == (81 * 8, 4)
    car = Footprint.rectangle(length=4.0, width=1.6, rear=2.0)
    checker = Checker(track.map)
    heading = track.line.heading[:-1]
    on_track = np.column_stack([track.centre, heading])[::20]
    assert not checker.hits(car, on_track).any()
    on_a_cone = np.array([[*blue[0], 0.4]])
    assert checker.hits(car, on_a_cone).all()
    with pytest.raises(InvalidValue, match="40 left and 1 right cones make no track"):
        Track.of_cones(blue, yellow[:1])


@pytest.mark.slow
def test_borders_never_cross_or_the_track_is_refused() -> None:
    """Wild loops, in part wider than their bends: walls are two simple rings, or there are none."""
    rng = np.random.default_rng(11)
    cut = refused = 0
    for _ in range(40):
        count = int(rng.integers(6, 16))
        angles = np.linspace(0.0, 2.0 * math.pi, count, endpoint=False)
        points = (20.0 + rng.uniform(1.0, 7.0) * rng.standard_normal(count))[:, None] * circle(
            1.0, angles
        )
        try:
            track = Track.between(points, *rng.uniform(0.5, 5.0, (2, count)))
        except InvalidValue:
            refused += 1
            continue
        cut += len(track.walls) < 2 * len(track.centre)
        assert len(crossings(track.walls)) == 0
        begins, ends = ({tuple(p) for p in them.tolist()} for them in np.hsplit(track.walls, 2))
        assert begins == ends
        centre = np.hstack([track.line.points[:-1], track.line.points[1:]])
        assert len(crossings(np.vstack([centre, track.walls]))) == 0
    # Most are tracks, many with a fold.
    assert cut >= 15
    assert refused <= 4
