"""What stands still on pictures: ground, grid, lanes, walls, lines and cones."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array
from ..errors import InvalidValue
from ..plane.maps.cones import CONE_RADII
from ..plane.maps.grid import Grid
from ..plane.maps.parts import segments_of
from ..plane.pixels import colour_cells
from ..plane.polygon import line_edges, points_of
from ..units import m
from .canvas import Canvas
from .description import Line, Polygon
from .looks import (
    CONE,
    CONES,
    FREE,
    GRID,
    GRID_STRONG,
    LINES,
    OCCUPIED,
    POLYGONS,
    UNKNOWN,
    WALL,
    rgb,
    shaded,
)

WALL_PIXELS = 2.0
"""Width of walls, which have none in the world."""
_LEAST_SQUARE = 22.0
"""Squares of the ground are at least so many pixels wide."""
_LEAST_CONE = 2.6
"""Cones have at least this radius in pixels."""
_RINGED = 5.0
"""From this radius in pixels on a cone shows its rings."""
_MOST_DASHES = 100_000
"""A line that would have more of them is drawn through."""
_SHARP = 1.5
"""Width in pixels from which on the edges of cells are sharp."""


class _Stroke(NamedTuple):
    segments: Array
    pixels: float
    colour: Array
    opacity: float


class Scenery:
    """What does not move, checked and ready to be drawn."""

    def __init__(
        self,
        walls: Any,
        grid: Grid | None,
        cones: Any,
        cone_colours: Sequence[str],
        polygons: Iterable[Polygon],
        lines: Iterable[Line],
    ) -> None:
        if grid is not None and not isinstance(grid, Grid):
            raise InvalidValue(f"grid must be a Grid or None, got a {type(grid).__name__}")
        self._cells = None if grid is None else Cells(grid)
        self._cones = _Cones(cones, cone_colours)
        walls = segments_of(np.empty((0, 4)) if walls is None else walls)
        self._walls = walls[~self._cones.holds(walls.reshape(-1, 2, 2))]
        order = list(POLYGONS)
        known = [p for p in polygons if _known(p.kind, POLYGONS) and not self._is_cone(p)]
        self._polygons = sorted(known, key=lambda polygon: order.index(polygon.kind))
        self._corners = [points_of("polygon", p.points, 3) for p in self._polygons]
        self._lines = [line for line in lines if _known(line.kind, LINES)]
        self._points = [points_of("line", line.points, 2) for line in self._lines]
        self._strokes_at: tuple[float, list[_Stroke]] = (0.0, [])

    def _is_cone(self, polygon: Polygon) -> bool:
        return polygon.kind == "solid" and bool(self._cones.holds(np.array([polygon.points]))[0])

    @property
    def bounds(self) -> tuple[m, m, m, m] | None:
        """Least x and y, largest x and y; None if there is nothing."""
        points = [self._walls.reshape(-1, 2), self._cones.centres, *self._corners, *self._points]
        if self._cells is not None:
            points.append(self._cells.grid.corners)
        everything = np.concatenate(points)
        if not len(everything):
            return None
        (x0, y0), (x1, y1) = everything.min(axis=0).tolist(), everything.max(axis=0).tolist()
        return x0, y0, x1, y1

    def draw(self, canvas: Canvas) -> None:
        """Draw all of it."""
        draw_ground(canvas)
        if self._cells is not None:
            self._cells.draw(canvas)
        for polygon, corners in zip(self._polygons, self._corners, strict=True):
            look = POLYGONS[polygon.kind]
            canvas.polygon(corners, rgb(polygon.colour or look.fill), look.opacity)
        for stroke in self._strokes(canvas.scale):
            canvas.segments(*stroke)
        canvas.segments(self._walls, WALL_PIXELS, rgb(WALL))
        self._cones.draw(canvas)

    def _strokes(self, scale: float) -> list[_Stroke]:
        """Edges of polygons and lines; how long dashes are in m depends on the scale."""
        if self._strokes_at[0] != scale:
            self._strokes_at = scale, [*self._edges(scale), *self._drawn_lines(scale)]
        return self._strokes_at[1]

    def _edges(self, scale: float) -> Iterable[_Stroke]:
        for polygon, corners in zip(self._polygons, self._corners, strict=True):
            look = POLYGONS[polygon.kind]
            if not look.edge:
                continue
            own = polygon.kind == "block" and polygon.colour
            colour = shaded(polygon.colour, -0.35) if own else rgb(look.edge)
            segments = _dashed(np.vstack([corners, corners[:1]]), look.dash, scale)
            yield _Stroke(segments, look.edge_width, colour, look.edge_opacity)

    def _drawn_lines(self, scale: float) -> Iterable[_Stroke]:
        for line, points in zip(self._lines, self._points, strict=True):
            look = LINES[line.kind]
            segments = _dashed(points, look.dash, scale)
            yield _Stroke(segments, look.width, rgb(line.colour or look.colour), look.opacity)


def _known(kind: str, looks: Any) -> bool:
    """True; raises for a kind that has no look."""
    if kind not in looks:
        raise InvalidValue(f"kind = {kind!r} is unknown; allowed are {', '.join(looks)}")
    return True


class _Cones:
    """Cones with their sizes and colours."""

    def __init__(self, places: Any, colours: Sequence[str]) -> None:
        self.centres = points_of("cones", np.empty((0, 2)) if places is None else places)
        if colours and len(colours) != len(self.centres):
            raise InvalidValue(f"{len(self.centres)} cones have {len(colours)} colours")
        names = list(colours) or [""] * len(self.centres)
        fills = [CONES.get(name, name) or CONE for name in names]
        radii = [CONE_RADII.get(name, CONE_RADII["blue"]) for name in names]
        self._radii = np.array(radii, dtype=np.float64)
        self._colours = np.array([rgb(colour) for colour in fills]).reshape(-1, 3)
        self._edges = np.array([shaded(colour, -0.25) for colour in fills]).reshape(-1, 3)

    @cached_property
    def _tree(self) -> Any:
        from scipy.spatial import KDTree

        return KDTree(self.centres)

    def holds(self, shapes: Array) -> Any:
        """Which shapes (n, k, 2) lie within a cone: edges of cones that count as walls."""
        if not len(self.centres) or not len(shapes):
            return np.zeros(len(shapes), dtype=np.bool_)
        distance, nearest = self._tree.query(shapes)
        return (distance <= 1.01 * self._radii[nearest]).all(axis=1)

    def draw(self, canvas: Canvas) -> None:
        x0, y0, x1, y1 = canvas.box
        x, y = self.centres.T
        seen = (x > x0) & (x < x1) & (y > y0) & (y < y1)
        centres, own, edges = self.centres[seen], self._colours[seen], self._edges[seen]
        radii = np.maximum(self._radii[seen], _LEAST_CONE / canvas.scale)
        canvas.discs(centres, radii, edges)
        canvas.discs(centres, 0.86 * radii, own)
        if len(radii) and radii.min() * canvas.scale >= _RINGED:
            canvas.discs(centres, 0.56 * radii, np.full(3, 255.0))
            canvas.discs(centres, 0.36 * radii, own)


class Cells:
    """The cells of a grid as they are drawn."""

    _COLOURS = np.stack([rgb(FREE), rgb(UNKNOWN), rgb(OCCUPIED)])

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        unknown = np.zeros(grid.shape, np.uint8) if grid.unknown is None else grid.unknown
        self._pooled = {1: np.where(grid.occupied, np.uint8(2), unknown.astype(np.uint8))}

    def draw(self, canvas: Canvas) -> None:
        """Draw the cells that are seen."""
        # Where several cells share a pixel, those that are occupied are seen.
        pixels = self.grid.resolution * canvas.scale
        most = max(self.grid.shape).bit_length()
        factor = 2 ** min(max(0, math.floor(-math.log2(pixels))), most)
        step = canvas.scale * self.grid.resolution * factor
        x, y, yaw = self.grid.origin
        c, s = math.cos(yaw) / step, math.sin(yaw) / step
        dx, dy = canvas.left - x * canvas.scale, -canvas.top - y * canvas.scale
        origin = np.array([c * dx + s * dy, c * dy - s * dx])
        right, down = np.array([c, -s]), np.array([-s, -c])
        samples = 1 if step >= _SHARP else 2
        colour_cells(
            canvas.pixels, self._cells(factor), self._COLOURS, origin, right, down, samples
        )

    def _cells(self, factor: int) -> Any:
        """The largest number of each square of so many cells."""
        if factor not in self._pooled:
            cells = self._pooled[1]
            for axis, length in enumerate(cells.shape):
                cells = np.maximum.reduceat(cells, np.arange(0, length, factor), axis=axis)
            self._pooled[factor] = cells
        return self._pooled[factor]


def draw_ground(canvas: Canvas) -> None:
    """Squares whose size follows the scale."""
    step = _round_step(_LEAST_SQUARE / canvas.scale)
    for length, colour in ((step, GRID), (_round_step(4.9 * step), GRID_STRONG)):
        height, width, _ = canvas.pixels.shape
        pixels = rgb(colour).astype(np.uint8)
        canvas.pixels[:, _places(canvas.left, width, length * canvas.scale)] = pixels
        canvas.pixels[_places(canvas.top, height, length * canvas.scale)] = pixels


def _places(begin: int, count: int, step: float) -> Any:
    """The pixels with lines, of so many from one that is the given number from the origin."""
    numbers = np.arange(math.ceil(begin / step), math.floor((begin + count) / step) + 1)
    places = np.floor(numbers * step).astype(np.int64) - begin
    return places[(places >= 0) & (places < count)]


def _round_step(least: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is not below a value."""
    power = 10.0 ** math.floor(math.log10(least))
    return power * next(k for k in (1.0, 2.0, 5.0, 10.0) if least <= k * power * (1.0 + 1e-9))


def _dashed(points: Array, dash: tuple[float, float] | None, scale: float) -> Array:
    """Segments (n, 4) of a line, or of its dashes, whose lengths are in pixels."""
    if dash is None:
        return line_edges(points)
    on, period = dash[0] / scale, sum(dash) / scale
    steps = np.diff(points, axis=0)
    along = np.concatenate([[0.0], np.cumsum(np.hypot(steps[:, 0], steps[:, 1]))])
    if along[-1] > _MOST_DASHES * period:
        return line_edges(points)
    begins = np.arange(0.0, along[-1], period)
    cuts = np.unique(np.concatenate([along, begins, np.minimum(begins + on, along[-1])]))
    x, y = (np.interp(cuts, along, column) for column in points.T)
    kept = (0.5 * (cuts[1:] + cuts[:-1])) % period < on
    return np.column_stack([x[:-1], y[:-1], x[1:], y[1:]])[kept]
