"""Elevation maps: pictures, matrices, scattered points and filters, by numbers worked by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from skidpad.world.scene import ElevationMap
from skidpad.world.terrain import Terrain
from world.worlds import world


def element(inside: str, folder: Path | str = ".", **options: Any) -> ElevationMap:
    text = f"<element class='elevation_map'>{inside}</element>"
    (found,) = world(text, folder=folder, **options).elements
    assert isinstance(found, ElevationMap)
    return found


def height(inside: str, x: float, y: float, folder: Path | str = ".", **options: Any) -> float:
    scene = world(f"<element class='elevation_map'>{inside}</element>", folder=folder, **options)
    point = (np.array([v]) for v in (x, y, 1e3))
    return float(Terrain(scene).height(*point)[0])


def test_a_picture_has_its_rows_along_x_and_its_darkest_pixel_lowest(tmp_path: Path) -> None:
    shades = np.array([[50, 250], [150, 50], [50, 50]], np.uint8)
    Image.fromarray(shades).save(tmp_path / "hill.png")
    inside = (
        "<elevation_image>hill.png</elevation_image><resolution>0.5</resolution>"
        "<elevation_image_min_z>-1</elevation_image_min_z>"
        "<elevation_image_max_z>3</elevation_image_max_z>"
    )
    found = element(inside, tmp_path)
    assert found.heights.tolist() == [[-1, 3], [1, -1], [-1, -1]]
    # Three rows are 1 m along x and two columns 0.5 m along y, around the origin.
    assert found.corner == (-0.5, -0.25)
    assert height(inside, -0.5, 0.25, tmp_path) == 3.0
    placed = inside + "<corner_min_x>10</corner_min_x><corner_min_y>20</corner_min_y>"
    assert height(placed, 10.5, 20.0, tmp_path) == 1.0


def test_a_matrix_is_scaled() -> None:
    inside = (
        "<elevation_data_matrix>[0 1 2; 3 4 5]</elevation_data_matrix><resolution>2</resolution>"
        "<elevation_data_matrix_scale>0.1</elevation_data_matrix_scale>"
    )
    found = element(inside)
    assert found.heights == pytest.approx(np.array([[0.0, 0.1, 0.2], [0.3, 0.4, 0.5]]))
    assert found.corner == (-1.0, -2.0)


POINTS = "\n".join(f"{x / 2} {y / 2} {5 * x + y / 2} 1 2 3" for x in range(9) for y in range(7))
"""The plane z = 10 x + y, in steps of half a metre."""


def test_scattered_points_are_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "dem.txt").write_text(POINTS, "utf-8")
    inside = (
        "<dem_xyzrgb_file>dem.txt</dem_xyzrgb_file><resolution>1</resolution>"
        "<dem_offset_x>100</dem_offset_x><dem_offset_y>-50</dem_offset_y>"
        "<dem_offset_z>7</dem_offset_z>"
    )
    found, upstream = (element(inside, tmp_path, compat=c) for c in (None, "upstream"))
    assert (found.corner, upstream.corner) == ((100.5, -49.5), (100.0, -50.0))
    np.testing.assert_array_equal(found.heights, upstream.heights)
    for x, y in ((100.5, -49.5), (102.1, -48.0), (103.5, -47.5)):
        z = 7.0 + 10.0 * (x - 100.0) + y + 50.0
        assert height(inside, x, y, tmp_path) == pytest.approx(z)
        # Upstream has the heights of half a cell further on.
        if x < 103.0:
            moved = height(inside, x, y, tmp_path, compat="upstream")
            assert moved == pytest.approx(z + 5.5)


KERNEL = "<apply_kernel>0 0.125 0\n0.125 0.5 0.125\n0 0.125 0</apply_kernel>"


def test_a_filter_smooths_and_leaves_a_level_map_alone() -> None:
    peak = "<elevation_data_matrix>[0 0 0; 0 8 0; 0 0 0]</elevation_data_matrix>"
    smoothed = [[0, 1, 0], [1, 4, 1], [0, 1, 0]]
    for compat in (None, "upstream"):
        assert element(peak + KERNEL, compat=compat).heights.tolist() == smoothed
    level = "<elevation_data_matrix>[8 8 8; 8 8 8; 8 8 8]</elevation_data_matrix>"
    assert (element(level + KERNEL).heights == 8.0).all()
    # To upstream there is nothing beyond the edges, which are drawn down.
    upstream = element(level + KERNEL, compat="upstream").heights
    assert upstream.tolist() == [[6, 7, 6], [7, 8, 7], [6, 7, 6]]


def test_a_filter_weighs_neighbours_as_it_is_written() -> None:
    """Not turned around: the number on the right weighs the neighbour of the next column."""
    peak = "<elevation_data_matrix>[0 0 0; 0 8 0; 0 0 0]</elevation_data_matrix>"
    aside = "<apply_kernel>0 0 0\n0 0.5 0.5\n0 0 0</apply_kernel>"
    assert element(peak + aside).heights[1].tolist() == [4, 4, 0]
