"""A map: walls, solid areas, an occupancy grid, cones and a centre line, whatever its source."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array, Mask
from ...brief import counted, shortened
from ...checks import not_negative, one_of, positive, whole
from ...errors import InvalidValue
from ...units import m, rad
from ..polygon import enclosed, frozen, line_of, points_of, ring_of, stacked_edges
from .areas import INSIDE, Inside, Polygon, areas, solid_at
from .contour import border_segments
from .field import DistanceField, field_of_cells, sampled_field
from .grid import Grid
from .parts import centre_line_of, polygon_of, rings_of, segments_of
from .raster import rasterised
from .sampling import sampled_poses

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..index.nearest import Nearby


class Nearest(NamedTuple):
    """What is nearest to each of N points."""

    distance: Array
    """In m, at least 0, shape (N,)."""
    segment: NDArray[np.int64]
    """Row of `segments`; from their number on, of `border_segments`. Shape (N,)."""
    point: Array
    """The nearest point (x, y) itself, shape (N, 2)."""


def _no_segments() -> Array:
    return np.empty((0, 4))


def _no_points() -> Array:
    return np.empty((0, 2))


@dataclass(frozen=True, eq=False)
class Map:
    """Obstacles in the plane, in m, in one world frame with x and y as usual.

    Obstacles are all `segments`, which are walls without thickness and include the edges of the
    areas below, the solid areas within `polygons`, and the occupied cells of `grid`. Arrays are
    read-only; every loader gives a map that is complete, or raises.
    """

    segments: Array = field(default_factory=_no_segments)
    """Walls x0, y0, x1, y1, shape (n, 4); n may be 0."""
    grid: Grid | None = None
    """Occupied cells, or None."""
    polygons: tuple[Array, ...] = ()
    """Outlines of solid areas, each (k, 2), not repeating the first vertex at the end."""
    holes: tuple[tuple[Array, ...], ...] = ()
    """For each of `polygons`, the rings in it within which it is free again."""
    fences: tuple[Array, ...] = ()
    """Rings around areas to drive in: walls, free on both sides."""
    cones: Array = field(default_factory=_no_points)
    """Positions of cones, shape (m, 2). That they are obstacles too is in `polygons`."""
    colours: tuple[str, ...] = ()
    """Colour of each cone."""
    centre_line: Array | None = None
    """Columns s, x, y, phi, kappa, w; one lap, on a closed track with its start as last row."""
    name: str = "map"
    """Shown on pictures and in errors."""

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        set_field(self, "segments", segments_of(self.segments))
        if self.grid is not None and not isinstance(self.grid, Grid):
            raise InvalidValue(f"grid must be a Grid or None, got a {type(self.grid).__name__}")
        polygons = rings_of("polygon", self.polygons)
        holes = tuple(rings_of(f"hole of polygon {k}", rings) for k, rings in enumerate(self.holes))
        set_field(self, "polygons", polygons)
        set_field(self, "holes", holes or ((),) * len(polygons))
        set_field(self, "fences", rings_of("fence", self.fences))
        set_field(self, "cones", points_of("cones", self.cones))
        set_field(self, "colours", tuple(self.colours))
        if self.centre_line is not None:
            set_field(self, "centre_line", centre_line_of(self.centre_line))
        self._check_counts()

    def _check_counts(self) -> None:
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
        """The map in a file, by its suffix and content; `plane.maps.load` has the options."""
        from .load import load

        return load(path, **options)

    @classmethod
    def from_polylines(
        cls, lines: Iterable[Any], *, closed: bool = False, name: str = "map"
    ) -> Map:
        """Walls along lines, each a list of points (x, y) in m; nothing is solid.

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
        """Areas with straight edges: each a ring of points (x, y) in m, or an outline with holes.

        An outline with holes is a list of rings, the outline first, as in GeoJSON. `inside` says
        what the areas are: "solid", "free" (to drive in; then the holes are solid), or "auto" (see
        `skidpad.plane.maps.areas`).
        """
        one_of("inside", inside, INSIDE)
        return from_shapes(
            [polygon_of(f"polygon {k}", shape) for k, shape in enumerate(polygons)],
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
        """Cells that are obstacles or not: rows and columns, row 0 lowest in y; see `Grid`."""
        return cls(grid=Grid(occupied, resolution, origin), name=name)

    @property
    def solids(self) -> tuple[Polygon, ...]:
        """The solid areas: outlines paired with their holes."""
        return tuple(map(Polygon, self.polygons, self.holes))

    @property
    def empty(self) -> bool:
        """Whether there is no obstacle at all; an empty grid has none."""
        return not len(self.segments) and (self.grid is None or not self.grid.occupied.any())

    @cached_property
    def bounds(self) -> tuple[m, m, m, m]:
        """Least x and y, largest x and y of everything in the map; raises where nothing is."""
        line = self.centre_line
        parts = [
            self.segments.reshape(-1, 2),
            self.cones,
            _no_points() if line is None else line[:, 1:3],
            _no_points() if self.grid is None else self.grid.corners,
        ]
        points = np.concatenate(parts)
        if not len(points):
            raise InvalidValue(f"map {self.name!r} is empty and has no bounds")
        (x0, y0), (x1, y1) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
        return x0, y0, x1, y1

    def occupied(self, points: Any) -> Mask:
        """Which points (x, y) lie in a solid area or an occupied cell, shape (N,).

        The border of an area belongs to it. Walls have no thickness and occupy nothing.
        """
        places = points_of("points", points)
        result = solid_at(places, self.solids)
        return result if self.grid is None else result | self.grid.at(places)

    def free(self, points: Any) -> Mask:
        """Which points (x, y) lie neither in a solid area nor in an occupied cell."""
        return ~self.occupied(points)

    def nearest(self, points: Any) -> Nearest:
        """The nearest wall, or border of occupied cells, of each point (x, y)."""
        if self.empty:
            raise InvalidValue(f"map {self.name!r} has no obstacle to be near to")
        return Nearest(*self.nearby.search(points_of("points", points)))

    def distance(self, points: Any) -> Array:
        """Distance (n,) in m of points (n, 2) to the nearest wall; negative inside what is solid.

        The border of the map is a wall too.
        """
        places = points_of("points", points)
        return np.where(self.occupied(places), -1.0, 1.0) * self.nearest(places).distance

    def distance_field(self, resolution: m | None = None, *, margin: m = 0.0) -> DistanceField:
        """`distance` in the middles of square cells over the bounds and `margin` around them.

        The cells have the edge `resolution` in m; None: those of the grid. Positive outside of
        obstacles, negative inside of them.
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
            raise InvalidValue(f"map {self.name!r} has no obstacle to be near to")
        own_cells = not len(self.segments) and not margin
        if grid is not None and own_cells and resolution == grid.resolution:
            return field_of_cells(grid)
        return sampled_field(Grid.over(self.bounds, resolution, margin), self.distance)

    def sample_free(
        self, count: int, *, clearance: m = 0.0, seed: int = 0, within: Any = None
    ) -> Array:
        """Random poses x, y, yaw with nothing nearer than `clearance`, shape (count, 3).

        Drawn evenly from the area within the fences, without fences from the bounds, or from
        `within`, a ring of points (x, y). Cells of which nothing is known are left out.
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
        return sampled_poses(count, seed, corners, is_good, what)

    def rasterised(self, resolution: m, *, margin: m = 0.0) -> Grid:
        """The map as cells: occupied is each one that touches an obstacle at all."""
        resolution = positive("resolution", resolution, "m")
        cells = Grid.over(self.bounds, resolution, not_negative("margin", margin, "m"))
        return rasterised(cells, self._walls_and_borders, self.occupied)

    def vectorised(self) -> Map:
        """The map without its grid: the borders of its occupied cells become segments."""
        if self.grid is None:
            return self
        return replace(self, segments=self._walls_and_borders, grid=None)

    @cached_property
    def border_segments(self) -> Array:
        """Segments between occupied and free cells of the grid, as long as they run straight."""
        return frozen(_no_segments() if self.grid is None else border_segments(self.grid))

    @cached_property
    def nearby(self) -> Nearby:
        """Where `segments` and `border_segments` are looked up by `nearest`; made on first use."""
        # Beside the other compiled loops over segments; a map is of use without them.
        from ..index.nearest import Nearby

        return Nearby(self._walls_and_borders)

    @property
    def _walls_and_borders(self) -> Array:
        return np.concatenate([self.segments, self.border_segments])

    def plot(
        self, path: str | os.PathLike[str] | None = None, *, title: str | None = None
    ) -> Figure:
        """A figure of the map; with `path` it is written as PNG, SVG or PDF by its suffix."""
        from ...plots.figures.map import plot

        return plot(self, path, title=title)

    def _repr_png_(self) -> bytes | None:
        shown = len(self.segments) or self.grid is not None or self.centre_line is not None
        from ...plots.figures.map import png

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
    """A map of checked polygons and walls; the segments keep the order in which they are given."""
    rings = [ring for polygon in polygons for ring in (polygon.outline, *polygon.holes)]
    solids, fences = areas(polygons, inside)
    return Map(
        segments=stacked_edges(rings, lines),
        polygons=tuple(solid.outline for solid in solids),
        holes=tuple(solid.holes for solid in solids),
        fences=fences,
        name=name,
    )
