"""The way around a ring of free cells."""

from __future__ import annotations

import math

import numpy as np
import pytest

from skidpad.errors import InvalidValue
from skidpad.geometry.maps import Grid, Track

INNER, OUTER, CELL = 6.0, 9.0, 0.1
MIDDLE = np.array([3.0, -2.0])
YAW = 0.4
HALF = OUTER + 1.0


def local_places() -> np.ndarray:
    """Middles of the cells around the middle of the ring, (rows, columns, 2)."""
    x = np.arange(-HALF + CELL / 2, HALF, CELL)
    return np.stack(np.meshgrid(x, x), axis=-1)


def ring_of_cells(
    occupied: np.ndarray | None = None, unknown: np.ndarray | None = None, yaw: float = YAW
) -> Grid:
    """Thin walls around a ring; free beyond them. The grid is turned about the ring's middle."""
    r = np.hypot(*np.moveaxis(local_places(), -1, 0))
    walls = (np.abs(r - INNER + 0.15) < 0.15) | (np.abs(r - OUTER - 0.15) < 0.15)
    turn = np.array([[math.cos(yaw), -math.sin(yaw)], [math.sin(yaw), math.cos(yaw)]])
    x, y = MIDDLE - turn @ [HALF, HALF]
    return Grid(walls if occupied is None else walls | occupied, CELL, (x, y, yaw), unknown)


def radii(track: Track) -> np.ndarray:
    return np.hypot(*(track.centre - MIDDLE).T)


def turns(track: Track) -> int:
    return round((track.line.heading[-1] - track.line.heading[0]) / (2.0 * math.pi))


@pytest.mark.parametrize("yaw", [0.0, YAW])
def test_the_line_is_in_the_middle_of_the_ring(yaw: float) -> None:
    track = Track.of_grid(ring_of_cells(yaw=yaw))
    np.testing.assert_allclose(radii(track), 0.5 * (INNER + OUTER), atol=CELL)
    for side in (track.left, track.right):
        np.testing.assert_allclose(side, 0.5 * (OUTER - INNER), atol=CELL)
    np.testing.assert_allclose(track.line.curvature, 2.0 / (INNER + OUTER), atol=0.03)
    assert turns(track) == 1
    assert track.grid is not None
    assert len(track.walls) == 0
    assert track.map.occupied(track.centre).sum() == 0
    assert track.map.nearest(track.centre).distance == pytest.approx(track.left, abs=1.5 * CELL)


@pytest.mark.parametrize("way", [1, -1])
def test_the_start_says_where_and_which_way(way: int) -> None:
    """At 2 o'clock of the ring, along it or against."""
    at, radius = math.pi / 6, 0.5 * (INNER + OUTER)
    place = MIDDLE + radius * np.array([math.cos(at), math.sin(at)])
    yaw = at + way * (math.pi / 2 - 0.5)
    track = Track.of_grid(ring_of_cells(), (float(place[0]), float(place[1]), yaw))
    assert math.dist(track.centre[0], place) < 0.3
    assert turns(track) == way
    assert math.cos(float(track.line.heading[0]) - yaw) > 0.8


def test_what_is_unknown_is_no_track() -> None:
    """As maps of robots are: unknown within, instead of a wall."""
    r = np.hypot(*np.moveaxis(local_places(), -1, 0))
    grid = Grid(r > OUTER, CELL, (-HALF, -HALF, 0.0), unknown=r < INNER)
    track = Track.of_grid(grid)
    np.testing.assert_allclose(np.hypot(*track.centre.T), 0.5 * (INNER + OUTER), atol=CELL)


@pytest.mark.parametrize("near", ["inner", "outer"])
def test_obstacles_are_passed_where_more_room_is(near: str) -> None:
    radius = INNER + 0.8 if near == "inner" else OUTER - 0.8
    places = local_places() - [radius, 0.0]
    block = np.hypot(places[..., 0], places[..., 1]) < 0.3
    track = Track.of_grid(ring_of_cells(block, yaw=0.0))
    beside = int(np.argmin(np.hypot(*(track.centre - MIDDLE - [7.5, 0.0]).T)))
    room = (OUTER - radius - 0.3) if near == "inner" else (radius - 0.3 - INNER)
    expected = OUTER - 0.5 * room if near == "inner" else INNER + 0.5 * room
    # The line is averaged over a quarter of the width.
    assert radii(track)[beside] == pytest.approx(expected, abs=0.25)
    assert track.narrowest == pytest.approx(room, abs=0.35)
    assert not track.map.occupied(track.centre).any()


def test_a_dead_end_is_driven_past() -> None:
    """A pit lane that ends: the line keeps its way around."""
    places = local_places()
    radius, angle = np.hypot(*np.moveaxis(places, -1, 0)), np.arctan2(*places.T[::-1]).T
    pit = (radius < INNER + 0.5) & (radius > 2.0) & (np.abs(angle) < 0.08)
    grid = ring_of_cells(yaw=0.0)
    solid = (grid.occupied | (radius < INNER)) & ~pit
    track = Track.of_grid(Grid(solid, CELL, grid.origin))
    assert turns(track) == 1
    assert radii(track).min() > INNER + 0.8


def test_what_is_no_ring_is_refused() -> None:
    grid = ring_of_cells(yaw=0.0)
    with pytest.raises(InvalidValue, match=r"start = .* is not in a free cell of the grid"):
        Track.of_grid(grid, (3.0 + OUTER + 0.15, -2.0, 0.0))
    with pytest.raises(InvalidValue, match="is not in a free cell"):
        Track.of_grid(grid, (100.0, 0.0, 0.0))
    with pytest.raises(InvalidValue, match=r"around start = .* enclose nothing"):
        Track.of_grid(grid, (3.0, -2.0, 0.0))
    with pytest.raises(InvalidValue, match=r"start = \(nan, 0.0, 0.0\) must be finite"):
        Track.of_grid(grid, (math.nan, 0.0, 0.0))
    with pytest.raises(InvalidValue, match="start = 3 must be three numbers"):
        Track.of_grid(grid, 3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidValue, match="has no ring of free cells"):
        Track.of_grid(Grid(np.zeros((9, 9), dtype=bool), CELL))
    with pytest.raises(InvalidValue, match="has no ring of free cells"):
        Track.of_grid(Grid(np.ones((9, 9), dtype=bool), CELL))
    with pytest.raises(InvalidValue, match="grid must be a Grid"):
        Track.of_grid(grid.occupied)  # pyright: ignore[reportArgumentType]
