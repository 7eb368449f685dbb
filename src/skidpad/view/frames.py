"""Frames: pictures of one moment as pixel arrays, drawn without a browser or a display.

The pictures look like the replay page seen from above. A picture of 640 x 480 pixels takes a few
milliseconds. Order of the module: `Canvas`, a raster picture of the world with shapes given in
metres; fixed objects (ground, grid, lanes, walls, lines, cones); vehicles, whose parts are built
once per shape in its own frame; then `FramePainter`, which combines them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import Array
from ..core.body import Outline
from ..core.checks import floats, must_be, one_of, whole
from ..core.checks import text as check_text
from ..core.files import brief_repr, shown
from ..errors import InvalidValue, require
from ..geometry.maps.cones import CONE_RADII, borders
from ..geometry.maps.map import Map, segments_of
from ..geometry.maps.occupancy import Grid
from ..geometry.pixels import Pixels, colour_cells, empty_shares, fill_polygons
from ..geometry.polygon import FARTHEST, line_edges, points_of, signed_area, stacked_edges
from ..geometry.pose import points_to_world
from ..units import Allowed, m
from . import colours as palette
from .stage import Line, PlacedUnit, PlacedVehicle, Polygon, as_points


class Canvas:
    """Raster picture of a rectangle of the world, x to the right and y up.

    The view is aligned to whole pixels, so that fixed objects look the same from picture to picture
    while the view moves.
    """

    def __init__(
        self, size: tuple[int, int], centre: tuple[m, m], scale: float, ground: str
    ) -> None:
        width, height = size
        self.scale = scale
        """Pixels per metre."""
        self.left = round(centre[0] * scale - 0.5 * width)
        """Offset of the left border from the origin of the world, in pixels."""
        self.top = round(-centre[1] * scale - 0.5 * height)
        """Offset of the upper border from the origin of the world, in pixels, positive
        downwards."""
        self.pixels: Pixels = np.empty((height, width, 3), np.uint8)
        # Fill the background row by row, which is many times as fast as pixel by pixel.
        self.pixels[0] = palette.rgb(ground)
        self.pixels[1:] = self.pixels[0]
        self._shares = empty_shares(height, width)

    @property
    def box(self) -> tuple[m, m, m, m]:
        """Visible box with a margin of a few pixels: least x and y, largest x and y."""
        height, width, _ = self.pixels.shape
        around = 8.0
        return (
            (self.left - around) / self.scale,
            -(self.top + height + around) / self.scale,
            (self.left + width + around) / self.scale,
            -(self.top - around) / self.scale,
        )

    def to_pixels(self, points: Array) -> Array:
        """Pixel coordinates of world points (..., 2)."""
        return points * (self.scale, -self.scale) - (self.left, self.top)

    def polygon(self, corners: Array, colour: Array, opacity: float = 1.0) -> None:
        """Fill a polygon with corners (n, 2), n > 0."""
        self._fill(self.to_pixels(corners)[None], colour, opacity)

    def polygons(self, corners: Array, colour: Array, opacity: float = 1.0) -> None:
        """Fill polygons (n, k, 2), in colours (n, 3) or in a single colour."""
        self._fill(self.to_pixels(corners), colour, opacity)

    def discs(self, centres: Array, radii: Array, colour: Array) -> None:
        """Fill discs with centres (n, 2) and radii (n,) in m, in colours (n, 3) or in a single
        colour."""
        self.polygons(centres[:, None] + radii[:, None, None] * palette.CIRCLE, colour)

    def squares(self, centres: Array, pixels: float, colour: Array) -> None:
        """Fill upright squares with centres (n, 2), `pixels` wide."""
        corners = pixels * np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
        self._fill(self.to_pixels(centres)[:, None] + corners, colour, 1.0)

    def segments(self, ends: Array, pixels: float, colour: Array, opacity: float = 1.0) -> None:
        """Draw segments x0, y0, x1, y1 (n, 4), `pixels` wide, with square ends."""
        x, y, box = ends[:, ::2], ends[:, 1::2], self.box
        outside = (x < box[0]).all(axis=1) | (x > box[2]).all(axis=1)
        ends = ends[~(outside | (y < box[1]).all(axis=1) | (y > box[3]).all(axis=1))]
        a, b = self.to_pixels(ends[:, :2]), self.to_pixels(ends[:, 2:])
        along = b - a
        length = np.hypot(along[:, 0], along[:, 1])
        along[length == 0.0] = (1.0, 0.0)
        along *= (0.5 * pixels / np.where(length == 0.0, 1.0, length))[:, None]
        aside = along[:, ::-1] * (-1.0, 1.0)
        a, b = a - along, b + along
        self._fill(np.stack([a - aside, b - aside, b + aside, a + aside], 1), colour, opacity)

    def card(self, text: str) -> None:
        """Write lines of text on a white card in the upper left corner."""
        shades = _written(text)[: self.pixels.shape[0] - 3 * palette.PADDING]
        shades = shades[:, : self.pixels.shape[1] - 3 * palette.PADDING]
        height, width = shades.shape
        if not shades.size:
            return
        low, radius = palette.PADDING, 4.0
        right, bottom = 3 * palette.PADDING + width - 1, 3 * palette.PADDING + height - 1
        angle = np.arange(16) // 4 * (0.5 * np.pi) + np.arange(16) % 4 * (np.pi / 6.0)
        x = np.repeat([right - radius, low + radius, low + radius, right - radius], 4)
        y = np.repeat([bottom - radius, bottom - radius, low + radius, low + radius], 4)
        corners = np.column_stack([x + radius * np.cos(angle), y + radius * np.sin(angle)])
        self._fill(corners[None], palette.rgb(palette.SURFACE), 0.88)
        inside = self.pixels[2 * low : 2 * low + height, 2 * low : 2 * low + width]
        inside[:] = np.rint(inside + shades[:, :, None] * (palette.rgb(palette.INK) - inside))

    def _fill(self, corners: Array, colour: Array, opacity: float) -> None:
        """Fill polygons (n, k, 2) given in pixels."""
        count, sides, _ = corners.shape
        ends = np.arange(1, count + 1) * sides
        colours = np.broadcast_to(colour, (count, 3)).copy()
        flat = np.ascontiguousarray(corners.reshape(-1, 2))
        fill_polygons(self.pixels, self._shares, flat, ends, colours, float(opacity))


def _written(text: str) -> Array:
    """Coverage of the pixels of a rendered text, from 0 to 1."""
    face = font()
    lines = [face.getmask2(line) for line in text.split("\n")]
    height = sum(face.getmetrics())
    page = np.zeros((height * len(lines), max(x + mask.size[0] for mask, (x, _) in lines)))
    for k, (mask, (x, y)) in enumerate(lines):
        shades = np.array(mask, dtype=np.float64).reshape(mask.size[::-1]) / 255.0
        # Some letters begin left of where they stand, and some accents above.
        place = page[k * height + max(y, 0) :, max(x, 0) :][: len(shades), : shades.shape[1]]
        place[:] = shades[: len(place), : place.shape[1]]
    return page


@cache
def font() -> Any:
    """Font for text on pictures; raises if Pillow is missing."""
    return require("PIL.ImageFont", purpose="Text on a picture").load_default(palette.FONT_SIZE)


WALL_PIXELS = 2.0
"""Drawn width of walls in pixels; in the world they have none."""
_LEAST_SQUARE = 22.0
"""Least width of the squares of the ground grid, in pixels."""
_LEAST_CONE = 2.6
"""Least radius at which cones are drawn, in pixels."""
_RINGED = 5.0
"""Radius in pixels from which a cone shows its rings."""
_MOST_DASHES = 100_000
"""Number of dashes above which a line is drawn solid."""
_SHARP = 1.5
"""Cell width in pixels from which cells have sharp edges."""


class _Stroke(NamedTuple):
    segments: Array
    pixels: float
    colour: Array
    opacity: float


class Scenery:
    """The fixed objects of a scene, checked and ready to be drawn."""

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
        order, self._polygons, self._lines = list(palette.POLYGONS), [*polygons], [*lines]
        for shapes, looks in ((self._polygons, palette.POLYGONS), (self._lines, palette.LINES)):
            for shape in shapes:
                one_of("kind", shape.kind, looks)
        self._polygons.sort(key=lambda polygon: order.index(polygon.kind))
        self._polygons = [
            p
            for p in self._polygons
            if p.kind != "solid" or not self._cones.holds(np.array([p.points]))[0]
        ]
        self._corners = [points_of("polygon", p.points, 3) for p in self._polygons]
        self._points = [points_of("line", line.points, 2) for line in self._lines]
        self._strokes_at: tuple[float, list[_Stroke]] = (0.0, [])

    @property
    def bounds(self) -> tuple[m, m, m, m] | None:
        """Least x and y, largest x and y of the scenery; None if it is empty."""
        points = [self._walls.reshape(-1, 2), self._cones.centres, *self._corners, *self._points]
        if self._cells is not None:
            points.append(self._cells.grid.corners)
        everything = np.concatenate(points)
        if not len(everything):
            return None
        (x0, y0), (x1, y1) = everything.min(axis=0).tolist(), everything.max(axis=0).tolist()
        return x0, y0, x1, y1

    def draw(self, canvas: Canvas) -> None:
        step = _round_step(_LEAST_SQUARE / canvas.scale)
        steps, (height, width, _) = (step, _round_step(4.9 * step)), canvas.pixels.shape
        for length, colour in zip(steps, (palette.GRID, palette.GRID_STRONG), strict=True):
            pixels = palette.rgb(colour).astype(np.uint8)
            canvas.pixels[:, _places(canvas.left, width, length * canvas.scale)] = pixels
            canvas.pixels[_places(canvas.top, height, length * canvas.scale)] = pixels
        if self._cells is not None:
            self._cells.draw(canvas)
        for polygon, corners in zip(self._polygons, self._corners, strict=True):
            look = palette.POLYGONS[polygon.kind]
            canvas.polygon(corners, palette.rgb(polygon.colour or look.fill), look.opacity)
        for stroke in self._strokes(canvas.scale):
            canvas.segments(*stroke)
        canvas.segments(self._walls, WALL_PIXELS, palette.rgb(palette.WALL))
        self._cones.draw(canvas)

    def _strokes(self, scale: float) -> list[_Stroke]:
        """Edges of polygons and lines at a scale, which sets the length of dashes in m."""
        if self._strokes_at[0] == scale:
            return self._strokes_at[1]
        strokes: list[_Stroke] = []
        for polygon, corners in zip(self._polygons, self._corners, strict=True):
            look = palette.POLYGONS[polygon.kind]
            if look.edge:
                own = polygon.kind == "block" and polygon.colour
                colour = palette.shade(polygon.colour, -0.35) if own else palette.rgb(look.edge)
                edges = _dash(np.vstack([corners, corners[:1]]), look.dash, scale)
                strokes.append(_Stroke(edges, look.edge_width, colour, look.edge_opacity))
        for line, points in zip(self._lines, self._points, strict=True):
            look, colour = (
                palette.LINES[line.kind],
                palette.rgb(line.colour or palette.LINES[line.kind].colour),
            )
            edges = _dash(points, look.dash, scale)
            strokes.append(_Stroke(edges, look.width, colour, look.opacity))
        self._strokes_at = scale, strokes
        return strokes


class _Cones:
    def __init__(self, places: Any, colours: Sequence[str]) -> None:
        self.centres = points_of("cones", np.empty((0, 2)) if places is None else places)
        if colours and len(colours) != len(self.centres):
            raise InvalidValue(f"{len(self.centres)} cones have {len(colours)} colours")
        names = list(colours) or [""] * len(self.centres)
        fills = [palette.CONES.get(name, name) or palette.CONE for name in names]
        radii = [CONE_RADII.get(name, CONE_RADII["blue"]) for name in names]
        self._radii = np.array(radii, dtype=np.float64)
        self._colours = np.array([palette.rgb(colour) for colour in fills]).reshape(-1, 3)
        self._edges = np.array([palette.shade(colour, -0.25) for colour in fills]).reshape(-1, 3)

    @cached_property
    def _tree(self) -> Any:
        from scipy.spatial import KDTree

        return KDTree(self.centres)

    def holds(self, shapes: Array) -> Any:
        """Mask of the shapes (n, k, 2) that lie inside a cone: walls may include the edges of
        cones."""
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
    """Raster of an occupancy grid, pooled to the scale of the picture."""

    _COLOURS = np.stack(
        [palette.rgb(palette.FREE), palette.rgb(palette.UNKNOWN), palette.rgb(palette.OCCUPIED)]
    )

    def __init__(self, grid: Grid) -> None:
        self.grid = grid
        unknown = np.zeros(grid.shape, np.uint8) if grid.unknown is None else grid.unknown
        self._pooled = {1: np.where(grid.occupied, np.uint8(2), unknown.astype(np.uint8))}

    def draw(self, canvas: Canvas) -> None:
        """Draw the visible cells."""
        # Where several cells share a pixel, occupied cells are drawn on top.
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
        """Cells max-pooled over squares of `factor` by `factor` cells."""
        if factor not in self._pooled:
            cells = self._pooled[1]
            for axis, length in enumerate(cells.shape):
                cells = np.maximum.reduceat(cells, np.arange(0, length, factor), axis=axis)
            self._pooled[factor] = cells
        return self._pooled[factor]


def _places(begin: int, count: int, step: float) -> Any:
    """Pixels with grid lines, of `count` pixels whose first is `begin` pixels from the origin."""
    numbers = np.arange(math.ceil(begin / step), math.floor((begin + count) / step) + 1)
    places = np.floor(numbers * step).astype(np.int64) - begin
    return places[(places >= 0) & (places < count)]


def _round_step(least: float) -> float:
    """Smallest of 1, 2, 5 times a power of ten that is at least `least`."""
    power = 10.0 ** math.floor(math.log10(least))
    return power * next(k for k in (1.0, 2.0, 5.0, 10.0) if least <= k * power * (1.0 + 1e-9))


def _dash(points: Array, dash: tuple[float, float] | None, scale: float) -> Array:
    """Segments (n, 4) of a line or of its dashes, whose lengths are in pixels."""
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


_FINE = 30.0
"""Length in pixels from which a unit is drawn with edge, shadow and wheels."""
_DART = 13.0
"""Length in pixels below which a unit is drawn as an arrowhead."""
_LEAST = 8.0
"""Least drawn length of a unit in pixels; smaller units are enlarged."""
_NO_QUADS: Array = np.empty((0, 4, 2))


class _Extents(NamedTuple):
    rear: float
    front: float
    right: float
    left: float

    @property
    def length(self) -> float:
        return self.front - self.rear

    @property
    def width(self) -> float:
        return self.left - self.right

    @property
    def middle(self) -> float:
        """Lateral offset of the centre line from the reference point, positive to the left."""
        return 0.5 * (self.left + self.right)


class _Parts(NamedTuple):
    """Drawable parts of a vehicle unit in the unit's frame; quadrilaterals are arrays (n, 4, 2)."""

    extents: _Extents
    bodies: tuple[Array, ...]
    windows: Array = _NO_QUADS
    lights: Array = _NO_QUADS
    marks: Array = np.empty((0, 4))
    """Segments (n, 4)."""
    mark_width: float = 0.0
    """Width of the marks, in m."""


def _draw_unit(canvas: Canvas, unit: PlacedUnit, kind: str, fill: Array, edge: Array) -> None:
    """Draw a unit with the detail that its size in pixels allows, if it is visible."""
    parts = _parts(unit.outlines, len(unit.wheels), kind)
    extents = parts.extents
    reach = max(extents.front, -extents.rear, extents.left, -extents.right) * 1.5
    x0, y0, x1, y1 = canvas.box
    if not (x0 - reach < unit.pose.x < x1 + reach and y0 - reach < unit.pose.y < y1 + reach):
        return

    def placed(points: Array) -> Array:
        return points_to_world(unit.pose, points)

    size = max(extents.length, extents.width) * canvas.scale
    if size < _DART:
        larger = max(1.0, _LEAST / max(size, 1e-6))
        y, notch, half = extents.middle, extents.rear + 0.25 * extents.length, 0.5 * extents.width
        half = min(half, 0.35 * extents.length)
        canvas.polygon(
            placed(
                larger
                * np.array(
                    [
                        (extents.front, y),
                        (extents.rear, y + half),
                        (notch, y),
                        (extents.rear, y - half),
                    ]
                )
            ),
            fill,
        )
        return
    bodies = [placed(body) for body in parts.bodies]
    if size >= _FINE:
        lift = min(0.05 * extents.width * canvas.scale, 5.0) / canvas.scale
        for body in bodies:
            shadow = body + np.array([0.6 * lift, -lift])
            canvas.polygon(shadow, palette.rgb(palette.SHADOW), palette.SHADOW_OPACITY)
    for body in bodies:
        canvas.polygon(body, fill)
    if size >= _FINE:
        canvas.segments(stacked_edges(bodies), 1.2, edge)
        canvas.polygons(placed(parts.windows), palette.rgb(palette.GLASS), palette.GLASS_OPACITY)
        canvas.polygons(placed(parts.lights), palette.rgb(palette.LIGHTS))
        ends = placed(parts.marks.reshape(-1, 2)).reshape(-1, 4)
        mark = edge if kind == "trailer" else palette.rgb(palette.SURFACE)
        canvas.segments(ends, max(1.4, parts.mark_width * canvas.scale), mark)
        if unit.wheels:
            own = [
                points_to_world((w.x, w.y, w.yaw), _wheel(w.length, w.width)) for w in unit.wheels
            ]
            wheels = placed(np.stack(own))
            canvas.polygons(wheels, palette.rgb(palette.WHEEL))
            rims = np.concatenate([wheels, np.roll(wheels, -1, axis=1)], axis=2)
            canvas.segments(rims.reshape(-1, 4), 0.8, palette.rgb(palette.WHEEL_EDGE))
    elif len(parts.windows):
        canvas.polygons(
            placed(parts.windows[:1]), palette.rgb(palette.GLASS), palette.GLASS_OPACITY
        )
    elif kind == "vehicle":
        y, side = extents.middle, 0.3 * extents.width
        tip, base = extents.front - 0.08 * extents.length, extents.front - 0.32 * extents.length
        nose = np.array([(tip, y), (base, y + side), (base, y - side)])
        canvas.polygon(placed(nose), palette.rgb(palette.SURFACE))


@lru_cache(maxsize=64)
def _wheel(length: float, width: float) -> Array:
    half = 0.5 * np.array([length, width])
    box = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]) * half
    return _round_corners(box, 0.3 * width)


@lru_cache(maxsize=64)
def _parts(outlines: tuple[Outline, ...], wheels: int, kind: str) -> _Parts:
    shapes = [np.array(outline, dtype=np.float64) for outline in outlines if len(outline) > 2]
    if not shapes:
        shapes = [np.array([[-0.2, -0.2], [0.2, -0.2], [0.2, 0.2], [-0.2, 0.2]])]
    corners = np.concatenate(shapes)
    (rear, right), (front, left) = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
    size = _Extents(rear, front, right, left)
    radius = 0.07 * min(size.length, size.width)
    bodies = tuple(_round_corners(shape, radius) for shape in shapes)
    if kind == "trailer":
        count = max(2, round(size.length / 1.6))
        ribs = np.empty((count - 1, 4))
        ribs[:, ::2] = size.rear + np.arange(1, count)[:, None] * (size.length / count)
        ribs[:, 1::2] = size.right, size.left
        return _Parts(size, bodies, marks=ribs, mark_width=0.03)
    if wheels >= 4 and size.length > 1.35 * size.width and len(shapes) == 1:
        return _Parts(size, bodies, _windows(size), _lights(size))
    y, tip = size.middle, size.front - 0.16 * size.length
    reach = min(0.25 * size.width, 0.24 * size.length)
    chevron = np.array([(tip - reach, y + reach, tip, y), (tip, y, tip - reach, y - reach)])
    return _Parts(size, bodies, marks=chevron, mark_width=0.05 * size.width)


def _windows(size: _Extents) -> Array:
    front, rear, length = size.front, size.rear, size.length
    screen = _trapezium(front - 0.27 * length, 0.78, front - 0.4 * length, 0.66)
    window = _trapezium(rear + 0.2 * length, 0.66, rear + 0.12 * length, 0.74)
    return np.stack([screen, window]) * (1.0, 0.5 * size.width) + (0.0, size.middle)


def _trapezium(x: float, half: float, other_x: float, other_half: float) -> Array:
    return np.array([(x, -half), (x, half), (other_x, other_half), (other_x, -other_half)])


def _lights(size: _Extents) -> Array:
    half = 0.5 * size.width
    x = size.front - size.length * np.array([0.045, 0.012, 0.035, 0.075])
    y = half * np.array([0.72, 0.42, 0.42, 0.72])
    return np.stack([np.column_stack([x, size.middle + side * y]) for side in (-1.0, 1.0)])


def _round_corners(ring: Array, radius: float) -> Array:
    """Ring with rounded corners; short sides limit the radius."""
    before, after = np.roll(ring, 1, axis=0) - ring, np.roll(ring, -1, axis=0) - ring
    a, b = (ring + side * _reach(side, radius) for side in (before, after))
    arcs = [
        (1.0 - t) ** 2 * a + 2.0 * t * (1.0 - t) * ring + t**2 * b for t in (0.0, 0.3, 0.7, 1.0)
    ]
    return np.stack(arcs, axis=1, dtype=np.float64).reshape(-1, 2)


def _reach(sides: Array, radius: float) -> Array:
    """Share of each side (n, 2) replaced by the arc at its end, at most half."""
    length = np.hypot(sides[:, 0], sides[:, 1])
    return np.minimum(radius / np.maximum(length, 1e-9), 0.5)[:, None]


MOST_PIXELS = 8192
"""Largest width and height of a picture, in pixels."""
SCALES = Allowed(1e-3, 1e5)
"""Allowed scales, in pixels per metre."""
_LENGTHS_SEEN = 9.0
"""Default width of a picture in vehicle lengths."""
_WIDTHS: tuple[m, m] = (8.0, 60.0)
"""Least and largest default width of a picture."""
_LEAST_LENGTHS = 2.5
"""Least width of a picture in vehicle lengths, also for long road trains."""
_MARGIN = 0.05
"""Margin on each side when all fixed objects are shown, as a share of the picture."""


class FramePainter:
    """Painter of vehicles in fixed surroundings: frames (height, width, 3) of bytes.

    x is to the right and y up, as in the world. `walls` (k, 4) are segments x0, y0, x1, y1 in m,
    `cones` are positions (n, 2) with a colour each, "blue", "yellow", "orange" or `#rrggbb`;
    `polygons` and `lines` are those of a `Stage`, such as lanes, patches of ice and references.
    Edges of cones among the walls are left out. `size` is the width and the height in pixels.
    """

    def __init__(
        self,
        walls: Any = None,
        *,
        grid: Grid | None = None,
        cones: Any = None,
        cone_colours: Sequence[str] = (),
        polygons: Iterable[Polygon] = (),
        lines: Iterable[Line] = (),
        size: tuple[int, int] = (640, 480),
    ) -> None:
        self.size = _size(size)
        self._scenery = Scenery(walls, grid, cones, cone_colours, polygons, lines)

    __repr__ = brief_repr

    @classmethod
    def of_map(cls, ground: Map, *, size: tuple[int, int] = (640, 480)) -> FramePainter:
        """Painter for vehicles on a map, with the lane along its centre line if it has one."""
        solids: list[Polygon] = []
        for outline, holes in zip(ground.polygons, ground.holes, strict=True):
            # One ring, joined to each hole by a seam.
            ring = outline if signed_area(outline) > 0.0 else outline[::-1]
            parts = [ring]
            for hole in holes:
                inner = hole if signed_area(hole) < 0.0 else hole[::-1]
                parts += [ring[:1], inner, inner[:1]]
            joined = np.concatenate([*parts, ring[:1]]) if len(holes) else ring
            solids.append(Polygon(as_points(joined), "solid"))
        lanes = [] if ground.centre_line is None else [_lane(ground.centre_line)]
        return cls(
            ground.segments,
            grid=ground.grid,
            cones=ground.cones,
            cone_colours=ground.colours,
            polygons=[*lanes, *solids],
            size=size,
        )

    def frame(
        self,
        vehicles: Sequence[PlacedVehicle] = (),
        *,
        centre: tuple[m, m] | None = None,
        scale: float | None = None,
        lidar: Any = None,
        text: str = "",
    ) -> Pixels:
        """Picture of these vehicles, the first on top, as a new array.

        The picture is centred on `centre`, or on the first vehicle, with `scale` pixels per
        metre, or a scale that suits the size of that vehicle; without vehicles it shows all
        fixed objects. `lidar` (n, 2) are hit points in the world; points that are not finite are
        rays without a hit. `text` is written in the upper left corner, which needs the extra
        `maps`.
        """
        vehicles = _vehicles(vehicles)
        hits = _hits(lidar)
        check_text("text", text)
        canvas = Canvas(self.size, *self._view(vehicles, centre, scale), palette.GROUND)
        self._scenery.draw(canvas)
        for number, vehicle in reversed([*enumerate(vehicles)]):
            colour = vehicle.colour or palette.VEHICLES[number % len(palette.VEHICLES)]
            for unit in reversed(vehicle.trailers):
                _draw_unit(
                    canvas, unit, "trailer", palette.shade(colour, 0.3), palette.shade(colour, -0.4)
                )
            _draw_unit(
                canvas, vehicle.vehicle, "vehicle", palette.rgb(colour), palette.shade(colour, -0.4)
            )
        canvas.squares(hits, min(max(0.06 * canvas.scale, 2.0), 3.0), palette.rgb(palette.ECHO))
        if text:
            canvas.card(text)
        return canvas.pixels

    def _view(
        self, vehicles: Sequence[PlacedVehicle], centre: Any, scale: float | None
    ) -> tuple[tuple[m, m], float]:
        """Centre of the picture, and pixels per metre."""
        if vehicles:
            length = 0.0
            for unit in vehicles[0].units:
                along = [x for outline in unit.outlines for x, _ in outline]
                length += max(along, default=0.0) - min(along, default=0.0)
            width = min(max(_LENGTHS_SEEN * length, _WIDTHS[0]), _WIDTHS[1])
            usual = self.size[0] / max(width, _LEAST_LENGTHS * length)
            at = vehicles[0].vehicle.pose[:2]
        else:
            at, usual = self._all_seen()
        return (
            at if centre is None else _point("centre", centre),
            usual if scale is None else must_be("scale", scale, SCALES, "pixels/m"),
        )

    def _all_seen(self) -> tuple[tuple[m, m], float]:
        box = self._scenery.bounds
        if box is None:
            return (0.0, 0.0), self.size[0] / _WIDTHS[1]
        x0, y0, x1, y1 = box
        lengths = (max(x1 - x0, 1.0), max(y1 - y0, 1.0))
        scale = min(pixels / length for pixels, length in zip(self.size, lengths, strict=True))
        return (0.5 * (x0 + x1), 0.5 * (y0 + y1)), (1.0 - 2.0 * _MARGIN) * scale


def _size(size: Any) -> tuple[int, int]:
    try:
        width, height = size
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"size = {shown(size)} must be width and height in pixels") from None
    allowed = f"from 1 to {MOST_PIXELS} pixels"
    numbers = whole("width of size", width, allowed), whole("height of size", height, allowed)
    for name, number in zip(("width", "height"), numbers, strict=True):
        if number > MOST_PIXELS:
            raise InvalidValue(f"{name} of size = {number} must be {allowed}")
    return numbers


def _point(name: str, point: Any) -> tuple[m, m]:
    try:
        x, y = point
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"{name} = {shown(point)} must be two numbers: x, y") from None
    near = Allowed(-FARTHEST, FARTHEST)
    return must_be(f"x of {name}", x, near, "m"), must_be(f"y of {name}", y, near, "m")


def _vehicles(vehicles: Any) -> Sequence[PlacedVehicle]:
    if isinstance(vehicles, PlacedVehicle):
        return (vehicles,)
    vehicles = tuple(vehicles)
    for vehicle in vehicles:
        if not isinstance(vehicle, PlacedVehicle):
            raise InvalidValue(
                f"vehicles must be PlacedVehicle, got a {type(vehicle).__qualname__}: "
                "skidpad.view.place_vehicle(vehicle, x) makes one"
            )
    return vehicles


def _hits(lidar: Any) -> Array:
    points = floats("lidar", np.empty((0, 2)) if lidar is None else lidar)
    if points.shape[1:] != (2,):
        raise InvalidValue(f"lidar has shape {points.shape}; allowed is (n, 2)")
    return points[np.isfinite(points).all(axis=1)]


def _lane(rows: Array) -> Polygon:
    """Area between the borders of a centre line."""
    left, right = borders(rows)
    return Polygon(as_points(np.concatenate([left, right[::-1]])), "lane")
