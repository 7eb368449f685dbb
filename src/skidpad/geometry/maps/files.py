"""Reading of maps and tracks from files: `load` and `read_track` choose by suffix and content.

GeoJSON maps (RFC 7946) have coordinates in m: polygons with holes, and lines as walls. Errors name
the file, the feature (from 0, in the order of the file), its ring and the vertex. Rings may be
closed or not, in either orientation; coordinates may have any sign; heights and properties are
ignored. A geometry without `type` is read as a polygon, as in the truck's simulator.

Road boundaries of CommonRoad scenarios are read with `commonroad-io`. Tracks are tables of points
and widths, cones, walls or grids.
"""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from ...core.arrays import Array
from ...core.checks import flag, one_of, positive
from ...core.files import parsed_json, path_of, reading, regular_file, text_of
from ...errors import InvalidValue, require
from ...units import m, rad
from ..polygon import line_of, ring_of
from . import cones
from .cones import CONE_HEADER, LINE_HEADER, POINT_HEADER, TUM_HEADER, Table, read_table
from .map import INSIDE, Inside, Map, Polygon, cells_under, from_shapes
from .occupancy import Grid, read_gridmap, read_image, read_occupancy
from .track import Track

GEOMETRIES = "Polygon", "MultiPolygon", "LineString", "MultiLineString", "GeometryCollection"
"""Geometry types that make obstacles."""


def read_geojson(path: str | os.PathLike[str], *, inside: Inside = "auto") -> Map:
    """Map from a GeoJSON file; `inside` is explained at `skidpad.geometry.maps.map`."""
    file = path_of(path)
    return parse_geojson(text_of(file), source=str(file), name=file.stem, inside=inside)


def parse_geojson(
    text: str, *, source: str = "GeoJSON", name: str = "map", inside: Inside = "auto"
) -> Map:
    """Map from a GeoJSON text; `source` is the prefix of errors."""
    one_of("inside", inside, INSIDE)
    content = parsed_json(text, source)
    polygons: list[Polygon] = []
    lines: list[Array] = []
    with reading(source, "cannot be understood"):
        for place, geometry in _geometries(content, source):
            _collect(place, geometry, polygons, lines)
    if not polygons and not lines:
        raise InvalidValue(f"{source} holds no polygon and no line")
    return from_shapes(polygons, lines, inside=inside, name=name)


_Geometries = Iterator[tuple[str, Mapping[str, Any]]]
"""Geometries of a file, each with its place in the file (for errors) and its content."""


def _geometries(content: Any, source: str) -> _Geometries:
    """Geometries of a feature collection, of one feature, or of a bare geometry."""
    top = _checked(content, dict, source)
    kind = top.get("type")
    if kind == "FeatureCollection" or (kind is None and "features" in top):
        for k, feature in enumerate(_checked(top.get("features"), list, f"{source}: features")):
            place = f"{source}, feature {k}"
            yield from _parts(_checked(feature, dict, place).get("geometry"), place)
    elif kind == "Feature" or (kind is None and "geometry" in top):
        yield from _parts(top.get("geometry"), f"{source}, feature 0")
    else:
        yield from _parts(top, source)


def _parts(content: Any, place: str) -> _Geometries:
    """List a geometry itself, or the members of a geometry collection."""
    if content is None:
        raise InvalidValue(f"{place} has no geometry")
    geometry = _checked(content, dict, f"{place}: geometry")
    if geometry.get("type") != "GeometryCollection":
        yield place, geometry
        return
    members = _checked(geometry.get("geometries"), list, f"{place}: geometries")
    for k, member in enumerate(members):
        yield from _parts(member, f"{place}, geometry {k}")


def _collect(
    place: str, content: Mapping[str, Any], polygons: list[Polygon], lines: list[Array]
) -> None:
    """Append the polygons and lines of a GeoJSON geometry to two lists."""
    kind = content.get("type", "Polygon")
    if kind not in GEOMETRIES:
        allowed = ", ".join(GEOMETRIES)
        raise InvalidValue(f"{place}: type {kind!r} makes no obstacle; allowed are {allowed}")
    if "coordinates" not in content:
        raise InvalidValue(f"{place}: geometry has no coordinates")
    members = [content["coordinates"]]
    if "Multi" in kind:
        members = _checked(members[0], list, f"{place}: coordinates")
    for k, member in enumerate(members):
        if "Polygon" in kind:
            polygons.append(_polygon(member, f"{place}, polygon {k}" if "Multi" in kind else place))
        else:
            at = f"{place}, line {k}"
            lines.append(line_of(at, _positions(member, at)))


def _polygon(coordinates: Any, place: str) -> Polygon:
    rings = _checked(coordinates, list, f"{place}: coordinates")
    if not rings:
        raise InvalidValue(f"{place}: the polygon is empty, it has no ring")
    named = {f"{place}, ring {k}": ring for k, ring in enumerate(rings)}
    outline, *holes = (ring_of(at, _positions(ring, at)) for at, ring in named.items())
    return Polygon(outline, tuple(holes))


def _positions(coordinates: Any, place: str) -> list[tuple[float, float]]:
    positions: list[tuple[float, float]] = []
    for k, values in enumerate(_checked(coordinates, list, place)):
        at = f"{place}, vertex {k}"
        pair = values[:2] if isinstance(values, list) else ()
        if len(pair) < 2 or not all(type(value) in (int, float) for value in pair):
            raise InvalidValue(f"{at}: {_shown(values)} must be a position [x, y]")
        try:
            positions.append((float(pair[0]), float(pair[1])))
        except OverflowError as error:
            raise InvalidValue(f"{at}: {_shown(values)} is too large") from error
    return positions


def _checked(content: Any, kind: type, place: str) -> Any:
    if not isinstance(content, kind):
        expected = "a list" if kind is list else "a JSON object"
        raise InvalidValue(f"{place} must be {expected}, got {_shown(content)}")
    return content


def _shown(content: Any) -> str:
    text = json.dumps(content)
    return text if len(text) <= 60 else f"{text[:57]}..."


Boundaries = Literal["road", "lanelets"]
BOUNDARIES = ("road", "lanelets")


def read_commonroad(path: str | os.PathLike[str], *, boundaries: Boundaries = "road") -> Map:
    """Map of a scenario, with the lanelet boundaries as walls.

    "road" leaves out boundaries between adjacent lanelets, which are lane markings; "lanelets"
    includes all boundaries. Where lanelets cross, as at junctions, their boundaries cross too.
    """
    file = path_of(path)
    one_of("boundaries", boundaries, BOUNDARIES)
    return road_of(file, opened(file)[0], boundaries)


def opened(file: Path) -> tuple[Any, Any]:
    """Read scenario and planning problems from a file, as objects of `commonroad-io`."""
    reader = require("commonroad.common.file_reader", purpose=f"Reading {file}")
    regular_file(file)
    try:
        return reader.CommonRoadFileReader(str(file)).open()
    # The reader passes on any exception of its parsers and checks, assertions included.
    except Exception as error:
        raise InvalidValue(f"{file} is not a CommonRoad scenario: {error!r}") from error


def road_of(file: Path, scenario: Any, boundaries: Boundaries) -> Map:
    """Map of a scenario, with the lanelet boundaries as walls; see `read_commonroad`."""
    one_of("boundaries", boundaries, BOUNDARIES)
    lanelets = list(scenario.lanelet_network.lanelets)
    if not lanelets:
        raise InvalidValue(f"{file} has no lanelets")
    lines = [
        line_of(f"{file}, lanelet {lanelet.lanelet_id}, {side} boundary", vertices[:, :2])
        for lanelet in lanelets
        for side, vertices, neighbour in (
            ("left", lanelet.left_vertices, lanelet.adj_left),
            ("right", lanelet.right_vertices, lanelet.adj_right),
        )
        if boundaries == "lanelets" or neighbour is None
    ]
    return from_shapes([], lines, inside="solid", name=file.stem)


Reader = Callable[..., "Map | Grid"]
READERS: dict[str, Reader] = {
    **dict.fromkeys((".geojson", ".json"), read_geojson),
    **dict.fromkeys((".yaml", ".yml"), read_occupancy),
    **dict.fromkeys((".png", ".pgm", ".bmp"), read_image),
    ".gridmap": read_gridmap,
    **dict.fromkeys((".xml", ".pb"), read_commonroad),
}
"""Readers by suffix; a `.gridmap` may be followed by `.gz`."""
TABLE_READERS: tuple[tuple[tuple[str, ...], Reader], ...] = (
    (CONE_HEADER, cones.read_cones),
    (LINE_HEADER, cones.read_centre_line),
    (TUM_HEADER, cones.read_tum),
)
"""Readers of CSV files by the columns required in their header."""


def load(path: str | os.PathLike[str], **options: Any) -> Map:
    """Load a map from a file; options are passed to the reader of its format.

    `.geojson`, `.json`: `read_geojson`. `.yaml`, `.yml`: `read_occupancy`, the file next to an
    image; `.png`, `.pgm`, `.bmp`: `read_image`, an image alone; `.gridmap`, `.gridmap.gz`:
    `read_gridmap`. `.csv`: `read_cones`, `read_centre_line`, `read_tum` or `read_points`, by the
    header. `.xml`, `.pb`: `read_commonroad`.
    """
    file = path_of(path)
    if file.is_dir():
        raise InvalidValue(f"{file} is a folder; a map file is expected")
    reader = _reader(file)
    parameters = list(inspect.signature(reader).parameters.values())[1:]
    allowed = [parameter.name for parameter in parameters]
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    for name in options:
        if name not in allowed and not takes_any:
            raise InvalidValue(
                f"{file}: {name} is not an option of {reader.__name__}; allowed are "
                f"{', '.join(allowed)}"
            )
    content = reader(file, **options)
    if isinstance(content, Map):
        return content
    return Map(grid=content, name=file.name.removesuffix(".gz").rpartition(".")[0])


def _reader(file: Path) -> Reader:
    suffix = ".gridmap" if file.name.lower().endswith(".gridmap.gz") else file.suffix.lower()
    if suffix in READERS:
        return READERS[suffix]
    if suffix != ".csv":
        raise InvalidValue(
            f"{file}: the suffix {suffix or '(none)'} is not that of a map; allowed are "
            f"{', '.join([*READERS, '.csv'])}"
        )
    header = set(read_table(file).header)
    for columns, reader in TABLE_READERS:
        if header >= set(columns):
            return reader
    if header == set(POINT_HEADER):
        return cones.read_points
    raise InvalidValue(
        f"{file}, line 1: neither cones (color,X,Y) nor a centre line (s,X,Y,phi,kappa,w "
        f"or x_m,y_m,w_tr_right_m,w_tr_left_m or x,y); the header is {','.join(sorted(header))}"
    )


TABLES = (".csv", ".txt", ".tsv", ".dat")
WALLS = (".geojson", ".json")
GRIDS = (".yaml", ".yml", ".gridmap", ".gz")
SUFFIXES = (*TABLES, *WALLS, *GRIDS)
_CELLS = 1000
"""Cells along the longer side of the raster in which the ring of a map of walls is searched."""


class _Columns(NamedTuple):
    x: str
    y: str
    right: str | None = None
    left: str | None = None


def read_track(
    path: str | os.PathLike[str],
    *,
    width: m | None = None,
    closed: bool | None = None,
    start: tuple[m, m, rad] | None = None,
    spacing: m | None = None,
) -> Track:
    """Read a track from a file: a table, a map of walls, or a grid.

    Tables, with commas, semicolons or tabs: TUM's x, y and widths to the right and to the left, in
    this order or by names with "right" and "left" in them; points x, y alone, which need `width` in
    m, from border to border; cones by colour, and centre lines, of brains2. ROS maps (YAML next to
    an image), MRPT's grids and GeoJSON: the ring of free space, from near the pose `start` (x, y,
    yaw) and in its direction, by default counter-clockwise.

    Lines are closed if their ends are about a step apart; `closed` overrides that. `spacing` is
    the approximate distance in m between points of the centre line.
    """
    file = path_of(path)
    if file.is_dir():
        raise InvalidValue(f"{file} is a folder; a track file is expected")
    suffix = file.suffix.lower()
    if suffix not in SUFFIXES:
        raise InvalidValue(
            f"{file}: the suffix {suffix or '(none)'} is not that of a track; allowed are "
            f"{', '.join(SUFFIXES)}"
        )
    if closed is not None:
        flag("closed", closed)
    options: dict[str, Any] = (
        {} if spacing is None else {"spacing": positive("spacing", spacing, "m")}
    )
    if suffix in TABLES:
        _refuse(file, "start", start, "a table of points says where it begins")
        return _of_table(file, width, closed, options)
    _refuse(file, "width", width, "it has walls")
    _refuse(file, "closed", closed if closed is False else None, "its track is a ring")
    suffix = file.suffix.lower()
    if suffix not in WALLS:
        grid = read_occupancy(file) if suffix in (".yaml", ".yml") else read_gridmap(file)
        with reading(file, "holds no track"):
            return Track.of_grid(grid, start, name=file.stem, **options)
    map_ = read_geojson(file)
    with reading(file, "holds no track"):
        # Rasterise the walls only: a solid area encloses no free ground, so it forms no ring.
        x0, y0, x1, y1 = map_.bounds
        size = max(x1 - x0, y1 - y0) / _CELLS
        cells = Grid.over(map_.bounds, size, 3.0 * size)
        ends = cells.to_grid(map_.segments.reshape(-1, 2)).reshape(-1, 4)
        occupied = cells_under(ends / size, cells.shape)
        track = Track.of_grid(Grid(occupied, size, cells.origin), start, **options)
        return replace(track, walls=map_.segments, grid=None, name=file.stem)


def _refuse(file: Path, name: str, value: Any, reason: str) -> None:
    if value is not None:
        raise InvalidValue(f"{file}: {name} = {value!r} does not apply to this file: {reason}")


def _of_table(file: Path, width: m | None, closed: bool | None, options: dict[str, Any]) -> Track:
    table = read_table(file)
    header = set(table.header)
    is_cones = header >= set(CONE_HEADER)
    if is_cones or header >= set(LINE_HEADER):
        _refuse(file, "width", width, "it has widths of its own")
        map_ = cones.read_cones(file) if is_cones else cones.read_centre_line(file)
        if map_.centre_line is None:
            raise InvalidValue(
                f"{file}: its {len(map_.cones)} cones make no track: needed are blue ones on its "
                "left and yellow ones on its right"
            )
        with reading(file, "holds no track"):
            return Track.of_centre_line(
                map_.centre_line,
                closed=closed,
                walls=map_.segments if len(map_.cones) else None,
                name=file.stem,
                smooth=bool(len(map_.cones)),
                **options,
            )
    columns = _columns(table)
    points = cones.line_points(table, *table.columns(columns[:2]))
    right, left = _sides(table, columns, width)
    repeats = len(points) > 2 and bool((points[0] == points[-1]).all())
    closed = repeats or cones.comes_back(points) if closed is None else closed
    with reading(file, "holds no track"):
        return Track.between(points, left, right, closed=closed, name=file.stem, **options)


def _columns(table: Table) -> _Columns:
    """Find columns by name, or by TUM's order if the names are not conclusive."""
    names = table.header
    x, y, right, left = (
        [name for name in names if says(name)]
        for says in (
            lambda name: name.startswith("x"),
            lambda name: name.startswith("y") and not name.startswith("yaw"),
            lambda name: "right" in name,
            lambda name: "left" in name,
        )
    )
    if x and y and bool(right) == bool(left) and len(set(names)) == len(names):
        return _Columns(x[0], y[0], *(right[:1] + left[:1]))
    if len(names) in (2, 4) and not right and not left and len(set(names)) == len(names):
        return _Columns(*names)
    raise InvalidValue(
        f"{table.file}, line 1: the columns {','.join(names)} are not those of a track; allowed "
        "are x and y, with or without widths that have right and left in their names, four of them "
        "as x_m,y_m,w_tr_right_m,w_tr_left_m, cones (color,X,Y) or s,X,Y,phi,kappa,w"
    )


def _sides(table: Table, columns: _Columns, width: m | None) -> tuple[Array, Array]:
    """Distances from each point to the right and to the left border."""
    if columns.right is None or columns.left is None:
        if width is None:
            raise InvalidValue(
                f"{table.file} has points without widths: give width, from border to border in m"
            )
        half = np.full(len(table.rows), 0.5 * positive("width", width, "m"))
        return half, half
    _refuse(table.file, "width", width, "it has widths of its own")
    names = columns.right, columns.left
    right, left = table.columns(names)
    for k, w in enumerate((right, left)):
        table.check(
            w > 0.0, lambda row, k=k, w=w: f"{names[k]} = {w[row]:g} m must be greater than 0"
        )
    return right, left
