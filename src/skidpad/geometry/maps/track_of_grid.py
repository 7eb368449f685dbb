"""The centre line of the ring of free cells in an occupancy grid.

What is not of the ring lies within it or around it. Its centre line is where both are equally far,
which is the line on which the difference of the two distances is 0: one closed line, since what is
nearer to one connected set than to another is itself connected to the first. Obstacles within the
ring belong to the nearer of the two sides, so that the line passes them where more room is.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array, Mask
from ...errors import InvalidValue
from ...units import m, rad
from ..line import Line, arc_length, blurred, even_curve
from ..polygon import signed_area
from .grid import Grid, pose_of
from .map import DistanceField, distances_to_cells

_WIDEST_STEP: m = 0.5
_STEPS_ACROSS = 8.0
"""Steps of the line across its mean width, by default."""
_BLUR = 0.25
"""Share of the mean width over which the line is averaged, as borders are stairs of cells."""
_BY_EDGES, _BY_CORNERS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]]), np.ones((3, 3))
"""Cells hang together by their edges where a car drives, and by their corners where it does not."""


class Way(NamedTuple):
    """A closed centre line in m, and its distances to what is on its sides."""

    centre: Array
    left: Array
    right: Array


def way_around(grid: Grid, start: tuple[m, m, rad] | None, spacing: m | None) -> Way:
    """The way around the ring of free cells; see `Track.of_grid`."""
    pose = None if start is None else pose_of("start", start)
    if pose is not None and not all(map(math.isfinite, pose)):
        raise InvalidValue(f"start = {pose} must be finite")
    free = ~grid.occupied if grid.unknown is None else ~(grid.occupied | grid.unknown)
    numbers, _ = _areas(np.pad(free, 1), _BY_EDGES)
    ring = _largest_ring(numbers, grid) if pose is None else _ring_at(numbers, grid, pose)
    # One cell around it. There is a border around the grid, too, which it begins one cell after.
    (top, bottom), (first, last) = (
        np.flatnonzero(ring.any(axis=axis))[[0, -1]].tolist() for axis in (1, 0)
    )
    ring, corner = ring[top - 1 : bottom + 2, first - 1 : last + 2], (first - 2, top - 2)
    within, around = _sides(ring)
    origin = grid.resolution * corner[0], grid.resolution * corner[1], 0.0
    inner, outer = (
        DistanceField(grid.resolution * distances_to_cells(cells), grid.resolution, origin)
        for cells in (within, around)
    )
    loop = grid.resolution * (_zero_line(inner.values - outer.values) + corner)
    if signed_area(loop) < 0.0:
        loop = loop[::-1]
    width = float(np.mean(inner.at(loop) + outer.at(loop)))
    loop = _smoothed(loop, _BLUR * width, grid.resolution)
    step = spacing or max(grid.resolution, min(width / _STEPS_ACROSS, _WIDEST_STEP))
    centre = even_curve(loop, step, closed=True).points
    way = Way(centre, inner.at(centre), outer.at(centre))
    way = way if pose is None else _begun(way, grid, pose)
    return Way(grid.to_world(way.centre), way.left, way.right)


def _ring_at(numbers: NDArray[np.int64], grid: Grid, start: tuple[m, m, rad]) -> Mask:
    row, column = (grid.cell_of([start[:2]])[0] + 1).tolist()
    inside = 0 <= row < numbers.shape[0] and 0 <= column < numbers.shape[1]
    if not inside or numbers[row, column] == 0:
        raise InvalidValue(
            f"start = {start} is not in a free cell of the grid; it covers "
            f"{tuple(round(value, 6) for value in grid.bounds)}"
        )
    ring = numbers == numbers[row, column]
    if not _encloses(ring):
        raise InvalidValue(
            f"the free cells around start = {start} enclose nothing: a track is a ring. Are there "
            "gaps in its walls?"
        )
    return ring


def _largest_ring(numbers: NDArray[np.int64], grid: Grid) -> Mask:
    rim = np.concatenate([numbers[1], numbers[-2], numbers[:, 1], numbers[:, -2]])
    sizes = np.bincount(numbers.ravel())
    sizes[np.append(rim, 0)] = 0
    for number in np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)]:
        if _encloses(numbers == number):
            return numbers == number
    raise InvalidValue(
        f"the grid of {grid.shape[0]} x {grid.shape[1]} cells has no ring of free cells that does "
        "not reach its edge; give start = (x, y, yaw) on the track, or close gaps in its walls"
    )


def _areas(cells: Mask, neighbours: Any) -> tuple[NDArray[np.int64], int]:
    """Numbers of the areas that cells make which hang together, from 1, and how many there are."""
    from scipy.ndimage import label

    numbers, count = cast("tuple[Any, int]", label(cells, neighbours))
    return numbers.astype(np.int64), count


def _encloses(ring: Mask) -> bool:
    return _areas(~ring, _BY_CORNERS)[1] > 1


def _sides(ring: Mask) -> tuple[Mask, Mask]:
    """Cells within the ring and around it."""
    numbers, _ = _areas(~ring, _BY_CORNERS)
    sizes = np.bincount(numbers.ravel())
    sizes[[0, numbers[0, 0]]] = 0
    infield = int(sizes.argmax())
    within, around = numbers == infield, numbers == numbers[0, 0]
    islands = ~(ring | within | around)
    if islands.any():
        inner, outer = map(distances_to_cells, (within, around))
        for number in np.unique(numbers[islands]):
            cells = numbers == number
            nearer = inner[cells].min() <= outer[cells].min()
            (within if nearer else around)[cells] = True
    return within, around


def _zero_line(values: Array) -> Array:
    """Points (n, 2) of x, y in cells, along the line between negative values, within, and others.

    The values are those in the middles of cells, which lie half a cell off their corners.
    """
    negative = values < 0.0
    points: dict[tuple[int, int, int], tuple[float, float]] = {}
    for across in (0, 1):
        near, far = (values[:, :-1], values[:, 1:]) if across else (values[:-1], values[1:])
        for r, c in np.argwhere((near < 0.0) != (far < 0.0)).tolist():
            share = float(near[r, c] / (near[r, c] - far[r, c]))
            x, y = (c + share, float(r)) if across else (float(c), r + share)
            points[r, c, across] = x + 0.5, y + 0.5
    return np.array(_traced(points, negative))


def _traced(points: dict[tuple[int, int, int], tuple[float, float]], negative: Mask) -> list[Any]:
    """The longest closed line through points on edges between neighbouring middles of cells."""
    best: list[Any] = []
    left = dict.fromkeys(points)
    while left:
        first = next(iter(left))
        chain = [first]
        del left[first]
        while True:
            ahead = [edge for edge in _beside(chain[-1], negative) if edge in left]
            if not ahead:
                break
            chain.append(ahead[0])
            del left[ahead[0]]
        best = max(best, chain, key=len)
    return [points[edge] for edge in best]


def _beside(edge: tuple[int, int, int], negative: Mask) -> list[tuple[int, int, int]]:
    """The edges to which the line continues from one, through the squares on both sides of it."""
    r, c, across = edge
    squares = [(r - 1, c), (r, c)] if across else [(r, c - 1), (r, c)]
    neighbours: list[tuple[int, int, int]] = []
    for row, column in squares:
        if not (0 <= row < negative.shape[0] - 1 and 0 <= column < negative.shape[1] - 1):
            continue
        # Of the square with the lower left middle (row, column): below, right, above, left.
        sides = [(row, column, 1), (row, column + 1, 0), (row + 1, column, 1), (row, column, 0)]
        a, b = negative[row, column], negative[row, column + 1]
        d, e = negative[row + 1, column], negative[row + 1, column + 1]
        changes = a != b, b != e, d != e, a != d
        crossed = [side for side, change in zip(sides, changes, strict=True) if change]
        if len(crossed) == 4:
            # Two corners that are negative hang together: each line cuts off one of the others.
            pairs = {0: 1, 1: 0, 2: 3, 3: 2} if a else {0: 3, 3: 0, 1: 2, 2: 1}
            neighbours.append(sides[pairs[sides.index(edge)]])
        else:
            neighbours += [side for side in crossed if side != edge]
    return neighbours


def _smoothed(loop: Array, blur: m, resolution: m) -> Array:
    """A closed line through stairs of cells without the stairs."""
    closed = np.vstack([loop, loop[:1]])
    s = arc_length(closed)
    count = max(64, round(float(s[-1]) / resolution))
    at = np.linspace(0.0, s[-1], count, endpoint=False)
    even = np.column_stack([np.interp(at, s, column) for column in closed.T])
    smooth = blurred(even, float(s[-1]) / count, blur)
    # Few enough points for a curve through them, and many for its bends.
    return smooth[:: max(1, int(0.5 * blur / resolution))]


def _begun(way: Way, grid: Grid, start: tuple[m, m, rad]) -> Way:
    """The way from near a pose on, and its way round."""
    x, y, yaw = start
    place = grid.to_grid(np.array([[x, y]]))[0]
    first = int(np.argmin(np.hypot(*(way.centre - place).T)))
    heading = float(Line.through(way.centre, closed=True).heading[first])
    way = Way(*(np.roll(values, -first, axis=0) for values in way))
    if math.cos(yaw - grid.origin[2] - heading) >= 0.0:
        return way
    centre, left, right = (np.roll(values[::-1], 1, axis=0) for values in way)
    return Way(centre, right, left)
