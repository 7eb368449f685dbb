"""The walls of a track: few, and never far from its borders."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from skidpad.geometry.maps.track import Track, random_track, simplify_border
from skidpad.geometry.polygon import distances

TURN = np.linspace(0.0, np.pi, 60)


def open_bend() -> Track:
    """A straight and a half circle."""
    straight = np.column_stack([np.linspace(-50.0, 0.0, 60, endpoint=False), np.full(60, -8.0)])
    half = np.column_stack([8.0 * np.sin(TURN), -8.0 * np.cos(TURN)])
    points = np.concatenate([straight, half])
    return Track.between(points, 1.0, 2.0, closed=False, spacing=0.3)


@pytest.mark.parametrize("make", [random_track, open_bend])
def test_walls_keep_to_the_borders(make: Callable[[], Track]) -> None:
    track = make()
    tolerance = 0.005 * min(track.left.min(), track.right.min())
    for border in track.borders:
        assert distances(border, track.walls).min(axis=1).max() <= tolerance * (1.0 + 1e-9)
    ends = track.walls.reshape(-1, 2)
    corners = {tuple(point) for border in track.borders for point in border.tolist()}
    assert {tuple(point) for point in ends.tolist()} <= corners
    assert len(track.walls) < 0.6 * sum(len(border) for border in track.borders)


def test_a_line_that_comes_back_on_itself_keeps_its_end() -> None:
    there_and_back = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [1.5, 1e-4]])
    kept = simplify_border(there_and_back, closed=False, tolerance=0.01)
    assert [3.0, 0.0] in kept.tolist()


def test_every_border_goes_on_from_wall_to_wall() -> None:
    walls = random_track().walls
    breaks = np.flatnonzero((walls[:-1, 2:] != walls[1:, :2]).any(axis=1))
    (one,) = breaks.tolist()
    for ring in (walls[: one + 1], walls[one + 1 :]):
        assert ring[-1, 2:].tolist() == ring[0, :2].tolist()


def test_a_straight_is_two_walls() -> None:
    points = np.column_stack([np.linspace(0.0, 100.0, 30), np.zeros(30)])
    track = Track.between(points, 2.0, 2.0, closed=False)
    assert sorted(track.walls[:, 1].tolist()) == [-2.0, 2.0]
    assert np.abs(track.walls[:, 2] - track.walls[:, 0]).tolist() == [100.0, 100.0]
