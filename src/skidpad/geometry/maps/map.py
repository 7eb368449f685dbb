"""Map: walls, solid areas, an occupancy grid, cones and a centre line, from any source.

`Map` is first; below are the checks of its parts, and computations on cells: distances to
them, the cells that segments touch, and the border between free and occupied cells.

A ray meets the border of the first occupied cell on its way exactly where it meets one of the
`border_segments`, and drawing whole scans from segments is much faster than marching rays through a
grid. Collinear neighbouring cells make one segment. Ends of segments are corners of cells, computed
in one way, so that segments that meet there have the same end.

Solid areas of a map are inferred from its rings. A polygon may be an obstacle, or the yard a car
drives in. Files that do not say are interpreted by the nesting of rings: an outermost ring around
others, or a ring that is alone in its map, is a fence, free on both sides; inside of a fence solid
and free areas alternate from ring to ring; outermost rings next to others that contain nothing are
solid. A polygon that is drawn twice counts once. Where outermost rings cross, a yard with something
across its fence cannot be distinguished from two obstacles: they are solid, and a `MapWarning` says
so.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array, Mask
from ...core.checks import floats, not_negative, one_of, positive, whole
from ...core.files import brief_repr, counted, shortened
from ...errors import InvalidValue
from ...units import m, rad
from ..line import crossing_shares
from ..polygon import enclosed, frozen, line_of, points_of, ring_edges, ring_of, stacked_edges
from ..pose import points_to_body
from .occupancy import Grid

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..index import Nearby

LINE_COLUMNS = ("s", "x", "y", "phi", "kappa", "w")
"""Column names of a centre line, with units m, m, m, rad, 1/m, and half the width in m."""
_ROWS = 200_000
"""Number of points of a distance field that are evaluated at once."""
_LARGEST_DRAW = 100_000
_DRAWS = 2_000_000
"""Largest number of random points tried by `Map.sample_free`."""
_ROUNDING = 1e-9
"""Tolerance in cells within which a segment counts as touching a cell."""


class Nearest(NamedTuple):
    """Nearest obstacle of each of N points."""

    distance: Array
    """Distance in m, at least 0, shape (N,)."""
    segment: NDArray[np.int64]
    """Index in `segments`, followed by `border_segments`. Shape (N,)."""
    point: Array
    """Nearest points (x, y), shape (N, 2)."""


@dataclass(frozen=True, eq=False)
class DistanceField:
    """Signed distances at the centres of square cells; exact there up to rounding."""

    values: Array
    """Distances in m, shape (rows, columns), row 0 lowest in y; negative inside of
    obstacles."""
    resolution: m
    """Edge of a cell in m."""
    origin: tuple[m, m, rad]
    """Pose (x, y, yaw) of the lower left corner of the lower left cell."""

    __repr__ = brief_repr

    def at(self, points: Any) -> Array:
        """Distances at points (x, y) in m, interpolated between cell centres and constant beyond.

        Exact distances change by at most 1 m per m, so the error is less than a cell.
        """
        rows, columns = self.values.shape
        local = points_to_body(self.origin, points_of("points", points)) / self.resolution - 0.5
        column = np.clip(local[:, 0], 0.0, columns - 1.0)
        row = np.clip(local[:, 1], 0.0, rows - 1.0)
        c, r = column.astype(np.int64), row.astype(np.int64)
        c1, r1 = np.minimum(c + 1, columns - 1), np.minimum(r + 1, rows - 1)
        right, up = column - c, row - r
        low = self.values[r, c] * (1.0 - right) + self.values[r, c1] * right
        high = self.values[r1, c] * (1.0 - right) + self.values[r1, c1] * right
        return low * (1.0 - up) + high * up


@dataclass(frozen=True, eq=False)
class Map:
    """Obstacles in the plane, in m, in one world frame.

    Obstacles are all `segments`, which are walls without thickness and include the edges of the
    areas below, the solid areas within `polygons`, and the occupied cells of `grid`. Arrays are
    read-only; every loader returns a complete map, or raises.
    """

    segments: Array = field(default_factory=lambda: np.empty((0, 4)))
    """Walls x0, y0, x1, y1, shape (n, 4); n may be 0."""
    grid: Grid | None = None
    """Occupied cells, or None."""
    polygons: tuple[Array, ...] = ()
    """Outlines of solid areas, each (k, 2), not repeating the first vertex at the end."""
    holes: tuple[tuple[Array, ...], ...] = ()
    """For each of `polygons`, the rings of its free holes."""
    fences: tuple[Array, ...] = ()
    """Rings around drivable areas: walls, free on both sides."""
    cones: Array = field(default_factory=lambda: np.empty((0, 2)))
    """Positions of cones, shape (m, 2). As obstacles they are also in `polygons`."""
    colours: tuple[str, ...] = ()
    """Colour of each cone."""
    centre_line: Array | None = None
    """Columns s, x, y, phi, kappa, w of one lap; on a closed track the last row repeats the
    start."""
    name: str = "map"
    """Name in pictures and errors."""

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        set_field(self, "segments", segments_of(self.segments))
        if self.grid is not None and not isinstance(self.grid, Grid):
            raise InvalidValue(f"grid must be a Grid or None, got a {type(self.grid).__name__}")
        polygons = _rings_of("polygon", self.polygons)
        holes = tuple(
            _rings_of(f"hole of polygon {k}", rings) for k, rings in enumerate(self.holes)
        )
        set_field(self, "polygons", polygons)
        set_field(self, "holes", holes or ((),) * len(polygons))
        set_field(self, "fences", _rings_of("fence", self.fences))
        set_field(self, "cones", points_of("cones", self.cones))
        set_field(self, "colours", tuple(self.colours))
        if self.centre_line is not None:
            set_field(self, "centre_line", centre_line_of(self.centre_line))
        if len(self.holes) != len(self.polygons):
            raise InvalidValue(
                f"{len(self.polygons)} polygons have {len(self.holes)} entries of holes; "
                "needed is one for each"
            )
        if len(self.colours) != len(self.cones):
            raise InvalidValue(f"{len(self.cones)} cones have {len(self.colours)} colours")
        rings = [*self.polygons, *(ring for group in self.holes for ring in group), *self.fences]
        edges = sum(len(ring) for ring in rings)
        if edges > len(self.segments):
            raise InvalidValue(
                f"the rings of polygons, holes and fences have {edges} edges, but there are "
                f"{len(self.segments)} segments, which must include them; Map.from_polygons does so"
            )

    @classmethod
    def load(cls, path: str | os.PathLike[str], **options: Any) -> Map:
        """Load a map by the suffix and content of a file; `geometry.maps.load` has the options."""
        from .files import load

        return load(path, **options)

    @classmethod
    def from_polylines(
        cls, lines: Iterable[Any], *, closed: bool = False, name: str = "map"
    ) -> Map:
        """Map of walls along lines, each a list of points (x, y) in m, without solid areas.

        With `closed` the last point of each line is joined to its first.
        """
        shapes = [line_of(f"line {k}", line) for k, line in enumerate(lines)]
        if closed:
            shapes = [ring_of(f"line {k}", line) for k, line in enumerate(shapes)]
        edges = stacked_edges(shapes) if closed else stacked_edges([], shapes)
        return cls(segments=edges, name=name)

    @classmethod
    def from_polygons(
        cls, polygons: Iterable[Any], *, inside: Inside = "solid", name: str = "map"
    ) -> Map:
        """Map of polygons: each a ring of points (x, y) in m, or an outline with holes.

        An outline with holes is a list of rings, the outline first, as in GeoJSON. `inside` is
        the kind of the areas: "solid", "free" (drivable; then the holes are solid), or "auto"
        (see `skidpad.geometry.maps.map`).
        """
        one_of("inside", inside, INSIDE)
        return from_shapes(
            [_polygon_of(f"polygon {k}", shape) for k, shape in enumerate(polygons)],
            inside=inside,
            name=name,
        )

    @classmethod
    def from_grid(
        cls,
        occupied: Any,
        *,
        resolution: m,
        origin: tuple[m, m, rad] = (0.0, 0.0, 0.0),
        name: str = "map",
    ) -> Map:
        """Map of an occupancy grid: rows and columns, row 0 lowest in y; see `Grid`."""
        return cls(grid=Grid(occupied, resolution, origin), name=name)

    @property
    def solids(self) -> tuple[Polygon, ...]:
        """Solid areas: outlines with their holes."""
        return tuple(map(Polygon, self.polygons, self.holes))

    @property
    def empty(self) -> bool:
        """Whether the map has no obstacle; an empty grid has none."""
        return not len(self.segments) and (self.grid is None or not self.grid.occupied.any())

    @cached_property
    def bounds(self) -> tuple[m, m, m, m]:
        """Least x and y, largest x and y of everything in the map; raises if it is empty."""
        line = self.centre_line
        parts = [
            self.segments.reshape(-1, 2),
            self.cones,
            np.empty((0, 2)) if line is None else line[:, 1:3],
            np.empty((0, 2)) if self.grid is None else self.grid.corners,
        ]
        points = np.concatenate(parts)
        if not len(points):
            raise InvalidValue(f"map {self.name!r} is empty and has no bounds")
        (x0, y0), (x1, y1) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
        return x0, y0, x1, y1

    def occupied(self, points: Any) -> Mask:
        """Whether points (x, y) lie in a solid area or an occupied cell, shape (N,).

        Borders of areas and of their holes count as occupied. Walls have no thickness and occupy
        nothing.
        """
        places = points_of("points", points)
        result = np.zeros(len(places), dtype=np.bool_)
        order = places[:, 0].argsort(kind="stable")
        x = places[order, 0]
        for outline, holes in self.solids:
            begin = int(np.searchsorted(x, outline[:, 0].min(), "left"))
            end = int(np.searchsorted(x, outline[:, 0].max(), "right"))
            rows = order[begin:end]
            rows = rows[~result[rows]]
            inside = enclosed(places[rows], outline)
            for hole in holes:
                inside[inside] = ~enclosed(places[rows][inside], hole, border=False)
            result[rows[inside]] = True
        return result if self.grid is None else result | self.grid.at(places)

    def free(self, points: Any) -> Mask:
        """Whether points (x, y) lie neither in a solid area nor in an occupied cell."""
        return ~self.occupied(points)

    def nearest(self, points: Any) -> Nearest:
        """Nearest wall or border of occupied cells, for each point (x, y)."""
        if self.empty:
            raise InvalidValue(f"map {self.name!r} has no obstacles")
        return Nearest(*self.nearby.search(points_of("points", points)))

    def distance(self, points: Any) -> Array:
        """Distance (n,) in m of points (n, 2) to the nearest wall; negative inside of solid areas.

        The border of the map is a wall, too.
        """
        places = points_of("points", points)
        return np.where(self.occupied(places), -1.0, 1.0) * self.nearest(places).distance

    def distance_field(self, resolution: m | None = None, *, margin: m = 0.0) -> DistanceField:
        """Field of `distance` at the centres of square cells over the bounds and `margin` around
        them.

        `resolution` is the edge of the cells in m, by default that of the grid. Distances are
        positive outside of obstacles and negative inside of them.
        """
        margin = not_negative("margin", margin, "m")
        grid = self.grid
        if resolution is None:
            if grid is None:
                raise InvalidValue(
                    f"map {self.name!r} has no grid to take a resolution from: give resolution in m"
                )
            resolution = grid.resolution
        resolution = positive("resolution", resolution, "m")
        if self.empty:
            raise InvalidValue(f"map {self.name!r} has no obstacles")
        own_cells = not len(self.segments) and not margin
        if grid is not None and own_cells and resolution == grid.resolution:
            outside = distances_to_cells(grid.occupied)
            # Outside of the grid counts as free, so an occupied cell at the border is near to free
            # space.
            inside = distances_to_cells(~np.pad(grid.occupied, 1))[1:-1, 1:-1]
            values = grid.resolution * np.where(grid.occupied, -inside, outside)
            return DistanceField(frozen(values), grid.resolution, grid.origin)
        cells = Grid.over(self.bounds, resolution, margin)
        middles = cells.centres().reshape(-1, 2)
        starts = range(0, len(middles), _ROWS)
        values = np.concatenate([self.distance(middles[k : k + _ROWS]) for k in starts])
        return DistanceField(frozen(values.reshape(cells.shape)), cells.resolution, cells.origin)

    def sample_free(
        self, count: int, *, clearance: m = 0.0, seed: int = 0, within: Any = None
    ) -> Array:
        """Random poses x, y, yaw with at least `clearance` in m to all obstacles, shape (count, 3).

        The poses are uniformly distributed over the area within the fences, without fences over the
        bounds, or over `within`, a ring of points (x, y). Unknown cells are excluded.
        """
        count = whole("count", count, "at least 0", least=0)
        seed = whole("seed", seed, "at least 0", least=0, most=None)
        clearance = not_negative("clearance", clearance, "m")
        rings = self.fences if within is None else (ring_of("within", within),)
        corners = np.concatenate(rings) if rings else np.array(self.bounds).reshape(2, 2)

        def is_good(points: Array) -> Mask:
            good = self.free(points)
            if rings:
                good &= np.any([enclosed(points, ring) for ring in rings], axis=0)
            if self.grid is not None:
                good &= ~self.grid.unknown_at(points)
            if clearance > 0.0 and not self.empty:
                rows = np.flatnonzero(good)
                good[rows] = self.nearest(points[rows]).distance >= clearance
            return good

        what = f"of map {self.name!r} are free with clearance = {clearance:g} m"
        return _sample_poses(count, seed, corners, is_good, what)

    def rasterised(self, resolution: m, *, margin: m = 0.0) -> Grid:
        """Convert the map to an occupancy grid; a cell is occupied if it touches an obstacle."""
        resolution = positive("resolution", resolution, "m")
        cells = Grid.over(self.bounds, resolution, not_negative("margin", margin, "m"))
        ends = cells.to_grid(self._walls_and_borders.reshape(-1, 2)).reshape(-1, 4)
        touched = cells_under(ends / resolution, cells.shape)
        # A cell that no wall passes through is solid throughout or free throughout.
        rest = np.argwhere(~touched)
        middles = resolution * (rest[:, ::-1].astype(np.float64) + 0.5)
        solid = self.occupied(cells.to_world(middles))
        touched[rest[solid, 0], rest[solid, 1]] = True
        return Grid(touched, cells.resolution, cells.origin)

    def vectorised(self) -> Map:
        """Convert the grid to walls: the borders of its occupied cells become segments."""
        if self.grid is None:
            return self
        return replace(self, segments=self._walls_and_borders, grid=None)

    @cached_property
    def border_segments(self) -> Array:
        """Segments between occupied and free cells of the grid, merged along straight lines."""
        return frozen(np.empty((0, 4)) if self.grid is None else border_segments(self.grid))

    @cached_property
    def nearby(self) -> Nearby:
        """Index of `segments` and `border_segments` for `nearest`, built on first use."""
        # Imported here, as it loads compiled loops that most maps do not need.
        from ..index import Nearby

        return Nearby(self._walls_and_borders)

    @property
    def _walls_and_borders(self) -> Array:
        return np.concatenate([self.segments, self.border_segments])

    def plot(
        self, path: str | os.PathLike[str] | None = None, *, title: str | None = None
    ) -> Figure:
        """Draw a figure of the map; with `path` the figure is written as PNG, SVG or PDF by its
        suffix.
        """
        from ...view.plots.runs import plot

        return plot(self, path, title=title)

    def _repr_png_(self) -> bytes | None:
        shown = len(self.segments) or self.grid is not None or self.centre_line is not None
        from ...view.plots.runs import png

        return png(self) if shown or len(self.cones) else None

    def __repr__(self) -> str:
        parts = [
            counted(len(self.segments), "segment"),
            counted(len(self.polygons), "solid area") if self.polygons else "",
            repr(self.grid) if self.grid is not None else "",
            counted(len(self.cones), "cone") if len(self.cones) else "",
            "a centre line" if self.centre_line is not None else "",
        ]
        return shortened(f"<Map {self.name!r}: {', '.join(part for part in parts if part)}>")


def from_shapes(
    polygons: Sequence[Polygon], lines: Sequence[Array] = (), *, inside: Inside, name: str
) -> Map:
    """Map of checked polygons and walls; segments keep their order."""
    rings = [ring for polygon in polygons for ring in (polygon.outline, *polygon.holes)]
    solids, fences = areas(polygons, inside)
    return Map(
        segments=stacked_edges(rings, lines),
        polygons=tuple(solid.outline for solid in solids),
        holes=tuple(solid.holes for solid in solids),
        fences=fences,
        name=name,
    )


def _polygon_of(name: str, shape: Any) -> Polygon:
    """Convert a ring, a list of rings or a `Polygon` to a polygon."""
    try:
        flat = np.ndim(shape) == 2
    except ValueError:  # rings of different lengths
        flat = False
    if flat:
        return Polygon(ring_of(f"{name}, ring 0", shape))
    rings = [shape.outline, *shape.holes] if isinstance(shape, Polygon) else list(shape)
    if not rings:
        raise InvalidValue(f"{name} is empty: it needs an outline")
    outline, *holes = (ring_of(f"{name}, ring {k}", ring) for k, ring in enumerate(rings))
    return Polygon(outline, tuple(holes))


def _rings_of(name: str, rings: Iterable[Any]) -> tuple[Array, ...]:
    return tuple(ring_of(f"{name} {k}", ring) for k, ring in enumerate(rings))


def segments_of(values: Any) -> Array:
    """Check segments: an array (n, 4) of finite numbers."""
    array = floats("segments", values)
    if array.ndim != 2 or array.shape[1] != 4:
        raise InvalidValue(f"segments has shape {array.shape}; allowed is (n, 4)")
    ends = points_of("segments", array.reshape(-1, 2), 0, lambda k: f"segment {k // 2}")
    return cast("Array", frozen(ends.reshape(-1, 4)))


def centre_line_of(rows: Any) -> Array:
    """Check the rows of a centre line (`LINE_COLUMNS`): at least 2, finite, with increasing s."""
    line = np.array(floats("centre_line", rows))
    if line.ndim != 2 or line.shape[1] != len(LINE_COLUMNS) or len(line) < 2:
        raise InvalidValue(
            f"centre_line has shape {line.shape}; allowed are at least 2 rows of "
            f"{', '.join(LINE_COLUMNS)}"
        )
    if not np.isfinite(line).all():
        row, column = np.argwhere(~np.isfinite(line))[0]
        raise InvalidValue(f"centre_line, row {row}: {LINE_COLUMNS[column]} must be finite")
    if not np.all(np.diff(line[:, 0]) > 0.0):
        row = int(np.argmin(np.diff(line[:, 0]) > 0.0)) + 1
        raise InvalidValue(f"centre_line, row {row}: s = {line[row, 0]:g} must increase")
    return frozen(line)


def _sample_poses(
    count: int, seed: int, corners: Array, is_good: Callable[[Array], Mask], what: str
) -> Array:
    """Uniformly random poses x, y, yaw (count, 3) in the box around corners (n, 2), all of them
    good.

    `what` describes good points in the error, as in "of map 'yard' are free".
    """
    low, high = corners.min(axis=0), corners.max(axis=0)
    random = np.random.default_rng(seed)
    kept = [np.empty((0, 2))]
    have = tried = 0
    while have < count:
        if tried >= _DRAWS:
            raise InvalidValue(f"only {have} of {tried} random points {what}; {count} are required")
        # Try twice as many points as are missing, and more where little of the area is free.
        size = min(_LARGEST_DRAW, max(64, 2 * (count - have), tried))
        points = random.uniform(low, high, (size, 2))
        kept.append(points[is_good(points)])
        have += len(kept[-1])
        tried += size
    return np.column_stack([np.concatenate(kept)[:count], random.uniform(-np.pi, np.pi, count)])


def distances_to_cells(cells: Any) -> Array:
    """Distances from all cell centres to the nearest marked cell, border included, in cells.

    On a lattice of half the spacing a cell covers 3 x 3 points, and the point of it nearest to the
    centre of another cell is always one of them. So the distance to points is that to squares.
    """
    from scipy.ndimage import distance_transform_edt

    rows, columns = cells.shape
    lattice = np.ones((2 * rows + 1, 2 * columns + 1), dtype=np.bool_)
    for down in range(3):
        for across in range(3):
            covered = lattice[down : down + 2 * rows : 2, across : across + 2 * columns : 2]
            covered &= ~cells
    distances = cast("Array", distance_transform_edt(lattice))
    return distances[1::2, 1::2] / 2.0


def cells_under(segments: Array, shape: tuple[int, int]) -> Mask:
    """Mask of the cells that segments touch, given in cells from the lower left corner of the grid.

    In each row a segment covers an interval of x, and thus all cells from one end to the other.
    """
    rows, columns = shape
    # Changes of the number of segments that cover a cell, summed up along each row at the end.
    steps = np.zeros((rows, columns + 1), dtype=np.int32)
    for x0, y0, x1, y1 in segments:
        first = max(0, int(np.floor(min(y0, y1) - _ROUNDING)))
        last = min(rows - 1, int(np.floor(max(y0, y1) + _ROUNDING)))
        row = np.arange(first, last + 1)
        slope = (x1 - x0) / (y1 - y0) if y1 != y0 else 0.0
        low, high = min(x0, x1), max(x0, x1)
        if y1 != y0:
            ends = x0 + slope * (np.stack([row, row + 1]) - y0)
            left, right = ends.min(axis=0).clip(low, high), ends.max(axis=0).clip(low, high)
        else:
            left, right = np.full(row.size, low), np.full(row.size, high)
        begin = np.floor(left - _ROUNDING).astype(np.int64).clip(0, columns)
        end = (np.floor(right + _ROUNDING).astype(np.int64) + 1).clip(0, columns)
        np.add.at(steps, (row, begin), 1)
        np.add.at(steps, (row, np.maximum(begin, end)), -1)
    return np.cumsum(steps, axis=1)[:, :-1] > 0


def border_segments(grid: Grid) -> Array:
    """Segments (n, 4) in the world between occupied cells, on their left, and free ones.

    Everything beyond the grid is free.
    """
    corners = contour(grid.occupied).reshape(-1, 2).astype(np.float64)
    return grid.to_world(corners * grid.resolution).reshape(-1, 4)


def contour(occupied: Mask) -> NDArray[np.int64]:
    """Segments (n, 4) of column, row, column, row with occupied cells on their left.

    The cell in row r and column c has corners (c, r) and (c + 1, r + 1); everything outside is
    free.
    """
    solid = np.pad(occupied, 1).astype(np.int8)
    line, begin, end, above = _runs(solid[1:, 1:-1] - solid[:-1, 1:-1])
    # Direct segments to the right if the occupied cells are above, else to the left.
    first, last = np.where(above, begin, end), np.where(above, end, begin)
    level = np.column_stack([first, line, last, line])
    line, begin, end, right = _runs((solid[1:-1, 1:] - solid[1:-1, :-1]).T)
    first, last = np.where(right, end, begin), np.where(right, begin, end)
    upright = np.column_stack([line, first, line, last])
    return np.concatenate([level, upright])


def _runs(change: NDArray[np.int8]) -> tuple[Any, Any, Any, Any]:
    """Find runs of equal changes along each line: line, begin, end, and whether the value rises."""
    padded = np.pad(change, ((0, 0), (1, 1)))
    differs = padded[:, 1:] != padded[:, :-1]
    begins = np.nonzero(differs & (padded[:, 1:] != 0))
    ends = np.nonzero(differs & (padded[:, :-1] != 0))
    return begins[0], begins[1], ends[1], change[begins] > 0


Inside = Literal["auto", "solid", "free"]
INSIDE: tuple[Inside, ...] = ("auto", "solid", "free")
"""Interpretations of a polygon's area, within its outline and outside of its holes."""
_TOUCH = 1e-9
"""Share of an edge, at its ends, within which an intersection counts as touching."""


class MapWarning(UserWarning):
    """Warning about ambiguous content of a map."""


class Polygon(NamedTuple):
    """A polygon with holes, as rings without closing vertex."""

    outline: Array
    holes: tuple[Array, ...] = ()

    __repr__ = brief_repr


class Areas(NamedTuple):
    """Rings of a map as obstacles and as fences."""

    solids: tuple[Polygon, ...]
    """Obstacle areas."""
    fences: tuple[Array, ...]
    """Rings around drivable areas; walls, but free on both sides."""


def areas(polygons: Sequence[Polygon], inside: Inside) -> Areas:
    """Split polygons into solid areas and fences, which are walls around free ground."""
    if inside == "solid":
        return Areas(tuple(polygons), ())
    if inside == "free":
        islands = (Polygon(hole) for polygon in polygons for hole in polygon.holes)
        return Areas(tuple(islands), tuple(polygon.outline for polygon in polygons))
    polygons = _without_repeats(polygons)
    rings = [ring for polygon in polygons for ring in (polygon.outline, *polygon.holes)]
    around = _nesting(polygons, rings)
    full = {k for outer in around for k in outer}
    fences = {k for k, outer in enumerate(around) if not outer and (k in full or len(rings) == 1)}
    _warn_of_crossings(
        [k for k, outer in enumerate(around) if not outer and k not in fences], rings
    )
    levels = [len(outer - fences) for outer in around]
    is_solid = [k not in fences and level % 2 == 0 for k, level in enumerate(levels)]
    holes: dict[int, list[Array]] = {}
    for k in range(len(rings)):
        if k in fences or is_solid[k]:
            continue
        solid = [outer for outer in around[k] if is_solid[outer]]
        if solid:
            holes.setdefault(max(solid, key=lambda outer: levels[outer]), []).append(rings[k])
        else:
            # A hole sticks out of its outline; treating the area as an obstacle is the safe choice.
            is_solid[k] = True
    solids = (Polygon(ring, tuple(holes.get(k, ()))) for k, ring in enumerate(rings) if is_solid[k])
    return Areas(tuple(solids), tuple(rings[k] for k in sorted(fences)))


def _without_repeats(polygons: Sequence[Polygon]) -> list[Polygon]:
    """Polygons without duplicates of the same outline, which would otherwise contain each other."""
    kept: dict[tuple[tuple[float, float], ...], int] = {}
    result: list[Polygon] = []
    for polygon in polygons:
        # Corners of a ring in a canonical order, independent of start and orientation.
        before, after = np.roll(polygon.outline, 1, axis=0), np.roll(polygon.outline, -1, axis=0)
        (a, b), (c, d) = (polygon.outline - before).T, (after - polygon.outline).T
        bends = polygon.outline[(a * d != b * c) | (a * c + b * d < 0.0)]
        corners = [(float(x), float(y)) for x, y in (bends if len(bends) else polygon.outline)]
        first = corners.index(min(corners))
        ahead = tuple(corners[first:] + corners[:first])
        k = kept.setdefault(min(ahead, (ahead[0], *ahead[:0:-1])), len(result))
        if k == len(result):
            result.append(polygon)
        elif not polygon.holes:
            # Of two polygons with the same outline, the one without holes fills the holes of the
            # other.
            result[k] = polygon
    return result


def _warn_of_crossings(numbers: Sequence[int], rings: Sequence[Array]) -> None:
    """Warn about outermost rings of a map that cross each other."""
    pairs: list[str] = []
    boxes = {k: (rings[k].min(axis=0), rings[k].max(axis=0)) for k in numbers}
    order = sorted(numbers, key=lambda k: boxes[k][0][0])
    for at, k in enumerate(order):
        for j in order[at + 1 :]:
            if boxes[j][0][0] > boxes[k][1][0]:
                break
            if boxes[j][0][1] <= boxes[k][1][1] and boxes[k][0][1] <= boxes[j][1][1]:
                where = _crossing(rings[k], rings[j])
                if where is not None:
                    pairs.append(f"near ({where[0]:g}, {where[1]:g})")
    if pairs:
        more = f" and at {len(pairs) - 3} places more" if len(pairs) > 3 else ""
        warnings.warn(
            MapWarning(
                f"outlines cross {', '.join(pairs[:3])}{more}: all of them count as solid. If one "
                "of them is a fence to drive in, say inside='free'; if not, inside='solid'"
            ),
            stacklevel=4,
        )


def _crossing(a: Array, b: Array) -> Array | None:
    """A point where the edges of two rings cross (touching is excluded), or None."""
    p, q = ring_edges(a)[:, None], ring_edges(b)[None]
    s, t = crossing_shares(p, q)
    hits = (s > _TOUCH) & (s < 1.0 - _TOUCH) & (t > _TOUCH) & (t < 1.0 - _TOUCH)
    where = np.argwhere(hits)
    if not len(where):
        return None
    row, column = where[0]
    return p[row, 0, :2] + s[row, column] * (p[row, 0, 2:] - p[row, 0, :2])


def _nesting(polygons: Sequence[Polygon], rings: Sequence[Array]) -> list[set[int]]:
    """For each ring, the rings that contain it. Rings that cross do not contain each other."""
    low = np.array([ring.min(axis=0) for ring in rings]).reshape(-1, 2)
    high = np.array([ring.max(axis=0) for ring in rings]).reshape(-1, 2)
    order = low[:, 0].argsort(kind="stable")
    lefts = low[order, 0]
    around: list[set[int]] = [set() for _ in rings]
    for k, ring in enumerate(rings):
        begin, end = np.searchsorted(lefts, [low[k, 0], np.nextafter(high[k, 0], np.inf)])
        near = order[begin:end]
        boxed = near[np.all((low[near] >= low[k]) & (high[near] <= high[k]), axis=1)].tolist()
        # Of two equal rings, the later one counts as the inner.
        inner = [j for j in boxed if j != k and j not in around[k]]
        if inner:
            # Rings with all their vertices in this ring are contained in it.
            starts = np.cumsum([0, *(len(rings[j]) for j in inner[:-1])])
            inside = enclosed(np.concatenate([rings[j] for j in inner]), ring)
            whole = np.logical_and.reduceat(inside, starts)
            for j, is_within in zip(inner, whole.tolist(), strict=True):
                if is_within:
                    around[j].add(k)
    # The file says that holes lie in their outlines, even where one sticks out.
    outline = 0
    for polygon in polygons:
        for hole in range(outline + 1, outline + 1 + len(polygon.holes)):
            around[hole].add(outline)
            around[outline].discard(hole)
        outline += 1 + len(polygon.holes)
    return around
