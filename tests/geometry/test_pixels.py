"""Polygons and cells on pixels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from skidpad.core.arrays import Array
from skidpad.geometry.pixels import colour_cells, empty_shares, fill_polygons
from skidpad.geometry.polygon import signed_area

HEIGHT, WIDTH = 40, 60


def shares_of(*polygons: Any, opacity: float = 1.0) -> Array:
    """How much of each pixel is covered: white on black."""
    pixels = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    shares = empty_shares(HEIGHT, WIDTH)
    corners = np.concatenate([np.array(p, float) for p in polygons])
    ends = np.cumsum([len(p) for p in polygons])
    fill_polygons(pixels, shares, corners, ends, np.full((len(polygons), 3), 255.0), opacity)
    assert not shares.any()
    assert (pixels == pixels[..., :1]).all()
    return pixels[..., 0] / 255.0


def box(x0: float, y0: float, x1: float, y1: float) -> list[tuple[float, float]]:
    return [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]


def test_a_box_covers_of_each_pixel_what_lies_in_it() -> None:
    along = np.clip(np.minimum(20.5, np.arange(1, 61)) - np.maximum(10.25, np.arange(60)), 0, 1)
    down = np.clip(np.minimum(30.75, np.arange(1, 41)) - np.maximum(-3.0, np.arange(40)), 0, 1)
    found = shares_of(box(10.25, -3.0, 20.5, 30.75))
    np.testing.assert_allclose(found, np.outer(down, along), atol=0.5 / 255.0)


@pytest.mark.parametrize("seed", range(8))
def test_the_shares_of_a_polygon_sum_up_to_its_area(seed: int) -> None:
    rng = np.random.default_rng(seed)
    angles = np.sort(rng.uniform(0.0, 2.0 * np.pi, 7))
    ring = np.column_stack([30 + 25 * np.cos(angles), 20 + 15 * np.sin(angles)])
    found = shares_of(ring)
    assert found.sum() == pytest.approx(abs(signed_area(ring)), abs=0.5)
    # Wound the other way it is the same.
    np.testing.assert_array_equal(found, shares_of(ring[::-1]))


@pytest.mark.parametrize("seed", range(8))
def test_a_polygon_beyond_the_picture_is_cut_at_its_border(seed: int) -> None:
    triangle = np.random.default_rng(seed).uniform(-60.0, 120.0, (3, 2))
    found = shares_of(triangle)
    offsets = (np.arange(8) + 0.5) / 8.0
    x = (np.arange(WIDTH)[:, None] + offsets).ravel()
    y = (np.arange(HEIGHT)[:, None] + offsets).ravel()
    inside = _inside(triangle, *np.meshgrid(x, y))
    expected = inside.reshape(HEIGHT, 8, WIDTH, 8).mean(axis=(1, 3))
    np.testing.assert_allclose(found, expected, atol=0.13)


def _inside(triangle: Array, x: Array, y: Array) -> Array:
    sides = [
        (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])
        for a, b in zip(triangle, np.roll(triangle, -1, axis=0), strict=True)
    ]
    stacked = np.stack(sides)
    return ((stacked > 0.0).all(axis=0) | (stacked < 0.0).all(axis=0)).astype(float)


def test_what_is_far_away_changes_nothing() -> None:
    for x, y in [(1e12, 5.0), (-1e12, 5.0), (5.0, 1e12), (5.0, -1e12)]:
        assert not shares_of(box(x, y, x + 10.0, y + 10.0)).any()
    assert (shares_of(box(-1e12, -1e12, 1e12, 1e12)) == 1.0).all()


@pytest.mark.parametrize("place", [np.nan, np.inf, -np.inf, 1e300])
def test_a_polygon_with_a_corner_nowhere_is_left_out(place: float) -> None:
    found = shares_of([(1.0, 1.0), (place, 5.0), (9.0, 9.0)], box(20, 20, 30, 30))
    assert found.sum() == 100.0
    assert not shares_of([(1.0, 1.0), (5.0, place), (9.0, 9.0)]).any()


def test_polygons_are_laid_over_each_other_by_their_opacity() -> None:
    found = shares_of(box(0, 0, 10, 10), box(0, 0, 10, 10), opacity=0.5)
    np.testing.assert_allclose(found[:10, :10], 0.75, atol=1.0 / 255.0)


def test_a_ring_that_goes_to_a_hole_and_back_leaves_it_free() -> None:
    hole = box(15, 15, 25, 25)[::-1]
    ring = [*box(10, 10, 30, 30), (10, 10), *hole, hole[0], (10, 10)]
    found = shares_of(ring)
    assert (found[16:24, 16:24] == 0.0).all()
    assert found.sum() == pytest.approx(400.0 - 100.0)


@pytest.mark.parametrize("samples", [1, 2])
def test_cells_lie_where_origin_and_steps_say(samples: int) -> None:
    cells = np.arange(12, dtype=np.uint8).reshape(3, 4)
    colours = np.repeat(20.0 * np.arange(12)[:, None], 3, axis=1)
    pixels = np.full((HEIGHT, WIDTH, 3), 255, np.uint8)
    # Ten pixels a cell, the last row of cells on top, its corner at column 7, row 4.
    origin, right, down = np.array([-0.7, 3.4]), np.array([0.1, 0.0]), np.array([0.0, -0.1])
    colour_cells(pixels, cells, colours, origin, right, down, samples)
    expected = np.full((HEIGHT, WIDTH), 255)
    expected[4:34, 7:47] = np.kron(20 * cells[::-1], np.ones((10, 10), int))
    np.testing.assert_array_equal(pixels[..., 1], expected)


def test_small_cells_are_mixed() -> None:
    cells = np.tile(np.array([0, 1], np.uint8), (80, 60))
    pixels = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    colours = np.array([[0.0] * 3, [200.0] * 3])
    colour_cells(pixels, cells, colours, np.zeros(2), np.array([2.0, 0.0]), np.array([0.0, 2.0]), 2)
    assert (pixels == 100).all()
