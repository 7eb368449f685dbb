"""Rasterisation loops: polygons with antialiased edges, and cells of grids.

A picture is an array (height, width, 3) of bytes, its first row on top. Coordinates are in pixels
from its upper left corner, x to the right and y down: the pixel in row r and column c covers
`[c, c + 1) x [r, r + 1)`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..compile.loops import loop
from ..core.arrays import Array

Pixels = NDArray[np.uint8]
"""A picture (height, width, 3): red, green and blue."""

_FARTHEST = 1e15
"""Distance from the picture, in pixels, beyond which nothing is drawn."""
_UNSEEN = 1.0 / 512.0
"""Largest coverage of a pixel that changes no colour byte."""


def empty_shares(height: int, width: int) -> Array:
    """Work array of `fill_polygons`, which is zero before and after."""
    return np.zeros((height, width + 1))


@loop
def fill_polygons(
    pixels: Any, shares: Any, corners: Any, ends: Any, colours: Any, opacity: float
) -> None:
    """Draw antialiased polygons over a picture, one after the other.

    `corners` (n, 2) has those of all polygons, and `ends` the end index of each;
    `colours` (polygons, 3) are from 0 to 255, `opacity` from 0 to 1. A polygon may have either
    orientation and any position; areas with a winding number other than 0 are inside. One with a
    corner that is not finite is left out.
    """
    rows = len(pixels)
    # For each row, the range of columns in which a share changes.
    low, high = np.full(rows, pixels.shape[1]), np.full(rows, -1)
    begin = 0
    for k in range(len(ends)):
        if not _is_drawable(corners[begin : ends[k]]):
            begin = ends[k]
            continue
        top, bottom = math.inf, -math.inf
        x0, y0 = corners[ends[k] - 1, 0], corners[ends[k] - 1, 1]
        for i in range(begin, ends[k]):
            x1, y1 = corners[i, 0], corners[i, 1]
            _add_edge(shares, low, high, x0, y0, x1, y1)
            top, bottom = min(top, y1), max(bottom, y1)
            x0, y0 = x1, y1
        first = int(min(max(top, 0.0), float(rows)))
        last = int(min(max(math.ceil(bottom), 0.0), float(rows)))
        for row in range(first, last):
            _blend_row(pixels[row], shares[row], low[row], high[row], colours[k], opacity)
            low[row], high[row] = pixels.shape[1], -1
        begin = ends[k]


@loop
def _is_drawable(corners: Any) -> bool:
    """Whether a polygon has corners, at coordinates within the drawable range."""
    for k in range(len(corners)):
        if not (abs(corners[k, 0]) < _FARTHEST and abs(corners[k, 1]) < _FARTHEST):
            return False
    return len(corners) > 0


@loop
def _add_edge(shares: Any, low: Any, high: Any, x0: float, y0: float, x1: float, y1: float) -> None:
    """Add an edge's changes of coverage from column to column: the area right of the edge is
    covered, or uncovered if the edge goes up.
    """
    if y0 == y1:
        return
    sign = 1.0
    if y0 > y1:
        x0, y0, x1, y1, sign = x1, y1, x0, y0, -1.0
    width, rows = shares.shape[1] - 1.0, float(len(shares))
    slope = (x1 - x0) / (y1 - y0)
    for row in range(int(min(max(y0, 0.0), rows)), int(min(max(math.ceil(y1), 0.0), rows))):
        above, below = max(row + 0.0, y0), min(row + 1.0, y1)
        a, b = x0 + slope * (above - y0), x0 + slope * (below - y0)
        a, b = min(a, b), max(a, b)
        height = sign * (below - above)
        column, end = int(min(max(a, 0.0), width)), int(min(max(math.ceil(b), 0.0), width))
        low[row], high[row] = min(low[row], column), max(high[row], end)
        left, covered = _right_of(column + 0.0, a, b), 0.0
        for k in range(column, end):
            right = _right_of(k + 1.0, a, b)
            shares[row, k] += height * (right - left - covered)
            left, covered = right, right - left
        shares[row, end] += height * (1.0 - covered)


@loop
def _right_of(x: float, a: float, b: float) -> float:
    """Area up to x and right of an edge from a to b, in a row of height 1."""
    if x <= a:
        return 0.0
    if x >= b:
        return x - 0.5 * (a + b)
    return 0.5 * (x - a) * (x - a) / (b - a)


@loop
def _blend_row(pixels: Any, shares: Any, low: int, high: int, colour: Any, opacity: float) -> None:
    """Blend a colour into a row by its coverage, and reset the coverage to zero."""
    share = 0.0
    for column in range(low, min(high + 1, len(pixels))):
        share += shares[column]
        shares[column] = 0.0
        weight = opacity * min(abs(share), 1.0)
        if weight > _UNSEEN:
            for band in range(3):
                old = float(pixels[column, band])
                pixels[column, band] = int(old + weight * (colour[band] - old) + 0.5)
    if high >= len(pixels):
        shares[len(pixels)] = 0.0


@loop
def colour_cells(
    pixels: Any, cells: Any, colours: Any, origin: Any, right: Any, down: Any, samples: int
) -> None:
    """Colour a picture by the grid cells under it; outside of the grid it is unchanged.

    `cells` (rows, columns) are indices of `colours` (k, 3). The upper left corner of the picture
    is at `origin` (x, y), in cells from the corner of the first one; `right` and `down` are the
    vectors to the next pixel. A pixel has the mean of `samples` squared points in it.
    """
    rows, columns = cells.shape
    share = 1.0 / (samples * samples)
    i, j = np.divmod(np.arange(samples * samples), samples)
    # Sample points relative to the corner of their pixel.
    off_x = (right[0] * (j + 0.5) + down[0] * (i + 0.5)) / samples
    off_y = (right[1] * (j + 0.5) + down[1] * (i + 0.5)) / samples
    for row in range(pixels.shape[0]):
        for column in range(pixels.shape[1]):
            x = origin[0] + right[0] * column + down[0] * row
            y = origin[1] + right[1] * column + down[1] * row
            red, green, blue = 0.5, 0.5, 0.5
            for k in range(len(off_x)):
                u, v = x + off_x[k], y + off_y[k]
                if 0.0 <= u < columns and 0.0 <= v < rows:
                    cell = cells[int(v), int(u)]
                    red += share * colours[cell, 0]
                    green += share * colours[cell, 1]
                    blue += share * colours[cell, 2]
                else:
                    red += share * pixels[row, column, 0]
                    green += share * pixels[row, column, 1]
                    blue += share * pixels[row, column, 2]
            pixels[row, column, 0] = int(red)
            pixels[row, column, 1] = int(green)
            pixels[row, column, 2] = int(blue)
