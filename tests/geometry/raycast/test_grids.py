"""Rays in occupancy grids: exactly to the border of the first occupied cell."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geometry.raycast import plain_rays
from skidpad.geometry.maps import Grid
from skidpad.geometry.maps.map import contour
from skidpad.geometry.raycast import Scene

CIRCLE = np.linspace(-np.pi, np.pi, 120, endpoint=False)


def random_grid(seed, part=0.2, shape=(14, 19), **options) -> Grid:
    rng = np.random.default_rng(seed)
    return Grid(rng.uniform(size=shape) < part, 0.25, **options)


@pytest.mark.parametrize("seed", range(5))
def test_ranges_end_at_the_first_occupied_cell(seed) -> None:
    grid = random_grid(seed, part=(0.02, 0.05, 0.2, 0.5, 0.9)[seed])
    scene = Scene((), grid)
    assert scene.engine == "raster"
    poses = np.random.default_rng(seed).uniform((0.0, 0.0, -3.0), (*grid.size, 3.0), (15, 3))
    found = scene.scan(poses, CIRCLE)
    for (x, y, yaw), row in zip(poses, found, strict=True):
        expected = [plain_rays.grid_range(grid, x, y, yaw + a) for a in CIRCLE]
        assert row == pytest.approx(expected, abs=1e-12)
        assert scene.cast(x, y, yaw + CIRCLE) == pytest.approx(expected, abs=1e-12)


def test_a_grid_may_lie_anywhere_and_turned() -> None:
    plain, pose = random_grid(8), (1.3, 2.1, 0.4)
    moved = Grid(plain.occupied, plain.resolution, origin=(-20.0, 7.0, 0.9))
    (point,) = moved.to_world(np.array([pose[:2]]))
    expected = Scene((), plain).scan([pose], CIRCLE)
    found = Scene((), moved).scan([[*point, pose[2] + 0.9]], CIRCLE)
    assert found == pytest.approx(expected, abs=1e-9)


def test_within_an_occupied_cell_and_outside_of_the_grid() -> None:
    grid = Grid(np.array([[True, False], [False, False]]), 1.0)
    scene = Scene((), grid)
    assert scene.scan([[0.5, 0.5, 0.0]], CIRCLE).max() == 0.0
    assert scene.cast(0.5, 0.5, CIRCLE).max() == 0.0
    assert scene.cast(-2.0, 0.5, 0.0) == [2.0]
    assert scene.cast(0.5, 3.0, -0.5 * np.pi) == [2.0]
    assert scene.cast(1.5, 1.5, [-0.75 * np.pi, 0.0]) == pytest.approx([np.sqrt(0.5), np.inf])


def test_walls_and_grid_together() -> None:
    grid = random_grid(11, part=0.05)
    walls = plain_rays.clutter(6, side=4.0)
    pose = [[2.05, 1.6, 0.3]]
    both = Scene(walls, grid).scan(pose, CIRCLE)
    apart = np.minimum(Scene(walls).scan(pose, CIRCLE), Scene((), grid).scan(pose, CIRCLE))
    assert both.tobytes() == apart.tobytes()


cells_of = st.integers(1, 6).flatmap(
    lambda columns: st.lists(
        st.lists(st.booleans(), min_size=columns, max_size=columns), min_size=1, max_size=6
    )
)


@given(cells=cells_of)
def test_the_contour_goes_around_what_is_occupied(cells) -> None:
    occupied = np.array(cells)
    edges = contour(occupied)
    x0, y0, x1, y1 = edges.T
    # The area within, by Gauss's formula; with the inside on the left it is positive.
    assert np.sum(x0 * y1 - x1 * y0) == 2 * occupied.sum()
    # Each corner is left as often as it is reached.
    assert sorted(zip(x0, y0, strict=True)) == sorted(zip(x1, y1, strict=True))
    solid = np.pad(occupied, 1)
    sides = np.sum(solid[1:] != solid[:-1]) + np.sum(solid[:, 1:] != solid[:, :-1])
    assert np.abs(edges[:, 2:] - edges[:, :2]).sum() == sides


@given(cells=cells_of, angle=st.floats(-4.0, 4.0), data=st.data())
def test_no_ray_enters_an_occupied_cell(cells, angle, data) -> None:
    grid = Grid(np.array(cells), 0.5)
    width, height = grid.size
    inside = st.one_of(st.floats(0.0, 1.0), st.sampled_from([0.0, 0.5, 1.0]))
    x, y = width * data.draw(inside), height * data.draw(inside)
    (found,) = Scene((), grid).scan([[x, y, angle]], CIRCLE)
    if grid.at([[x, y]])[0]:
        assert not found.any()
        return
    reach = np.minimum(found, 10.0)[:, None] * np.linspace(0.0, 1.0, 60)
    directions = (angle + CIRCLE)[:, None]
    along = np.stack([x + reach * np.cos(directions), y + reach * np.sin(directions)], axis=-1)
    # Not counting what lies on the border of a cell, to rounding.
    off_border = np.abs(along / 0.5 - np.round(along / 0.5)).min(axis=-1) > 1e-9
    assert not np.any(grid.at(along.reshape(-1, 2)).reshape(off_border.shape) & off_border)
