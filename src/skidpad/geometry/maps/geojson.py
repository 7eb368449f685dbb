"""Maps from GeoJSON (RFC 7946), with coordinates in m: polygons with holes, and lines as walls.

Errors name the file, the feature (from 0, in the order of the file), its ring and the vertex. Rings
may be closed or not, and run either way round; coordinates may have any sign; heights and
properties are ignored. A geometry without `type` is read as a polygon, as the truck's simulator
does.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...core.arrays import Array
from ...core.checks import one_of
from ...core.files import parsed_json, path_of, reading, text_of
from ...errors import InvalidValue
from ..polygon import line_of, ring_of
from .areas import INSIDE, Inside, Polygon
from .map import Map, from_shapes

GEOMETRIES = (
    "Polygon",
    "MultiPolygon",
    "LineString",
    "MultiLineString",
    "GeometryCollection",
)
"""The types of geometry that make obstacles."""


class _Geometry(NamedTuple):
    place: str
    content: Mapping[str, Any]


def read_geojson(path: str | os.PathLike[str], *, inside: Inside = "auto") -> Map:
    """The map in a GeoJSON file; `inside` is explained at `skidpad.geometry.maps.areas`."""
    file = path_of(path)
    return parse_geojson(text_of(file), source=str(file), name=file.stem, inside=inside)


def parse_geojson(
    text: str, *, source: str = "GeoJSON", name: str = "map", inside: Inside = "auto"
) -> Map:
    """The map in a text; `source` begins the errors."""
    one_of("inside", inside, INSIDE)
    content = parsed_json(text, source)
    polygons: list[Polygon] = []
    lines: list[Array] = []
    with reading(source, "cannot be understood"):
        for geometry in _geometries(content, source):
            _collect(geometry, polygons, lines)
    if not polygons and not lines:
        raise InvalidValue(f"{source} holds no polygon and no line")
    return from_shapes(polygons, lines, inside=inside, name=name)


def _geometries(content: Any, source: str) -> Iterator[_Geometry]:
    """The geometries of a collection of features, of one feature, or the bare geometry."""
    top = _mapping(content, source)
    kind = top.get("type")
    if kind == "FeatureCollection" or (kind is None and "features" in top):
        features = _sequence(top.get("features"), f"{source}: features")
        for k, feature in enumerate(features):
            place = f"{source}, feature {k}"
            yield from _parts(_mapping(feature, place).get("geometry"), place)
    elif kind == "Feature" or (kind is None and "geometry" in top):
        yield from _parts(top.get("geometry"), f"{source}, feature 0")
    else:
        yield from _parts(top, source)


def _parts(content: Any, place: str) -> Iterator[_Geometry]:
    """The geometry itself, or the members of a collection."""
    if content is None:
        raise InvalidValue(f"{place} has no geometry")
    geometry = _mapping(content, f"{place}: geometry")
    if geometry.get("type") != "GeometryCollection":
        yield _Geometry(place, geometry)
        return
    members = _sequence(geometry.get("geometries"), f"{place}: geometries")
    for k, member in enumerate(members):
        yield from _parts(member, f"{place}, geometry {k}")


def _collect(geometry: _Geometry, polygons: list[Polygon], lines: list[Array]) -> None:
    """Append what a geometry holds."""
    place, content = geometry
    kind = content.get("type", "Polygon")
    if kind not in GEOMETRIES:
        raise InvalidValue(
            f"{place}: type {kind!r} makes no obstacle; allowed are {', '.join(GEOMETRIES)}"
        )
    if "coordinates" not in content:
        raise InvalidValue(f"{place}: geometry has no coordinates")
    coordinates = content["coordinates"]
    if kind == "Polygon":
        polygons.append(_polygon(coordinates, place))
        return
    members = _sequence(coordinates, f"{place}: coordinates") if "Multi" in kind else [coordinates]
    for k, member in enumerate(members):
        if kind == "MultiPolygon":
            polygons.append(_polygon(member, f"{place}, polygon {k}"))
        else:
            at = f"{place}, line {k}"
            lines.append(line_of(at, _positions(member, at)))


def _polygon(coordinates: Any, place: str) -> Polygon:
    rings = _sequence(coordinates, f"{place}: coordinates")
    if not rings:
        raise InvalidValue(f"{place}: the polygon is empty, it has no ring")
    named = {f"{place}, ring {k}": ring for k, ring in enumerate(rings)}
    outline, *holes = (ring_of(at, _positions(ring, at)) for at, ring in named.items())
    return Polygon(outline, tuple(holes))


def _positions(coordinates: Any, place: str) -> list[tuple[float, float]]:
    return [
        _position(position, f"{place}, vertex {k}")
        for k, position in enumerate(_sequence(coordinates, place))
    ]


def _position(values: Any, place: str) -> tuple[float, float]:
    numbers = isinstance(values, list) and all(
        isinstance(value, (int, float)) and not isinstance(value, bool) for value in values[:2]
    )
    if not numbers or len(values) < 2:
        raise InvalidValue(f"{place}: {_shown(values)} must be a position [x, y]")
    try:
        return float(values[0]), float(values[1])
    except OverflowError as error:
        raise InvalidValue(f"{place}: {_shown(values)} is too large") from error


def _sequence(content: Any, place: str) -> list[Any]:
    if not isinstance(content, list):
        raise InvalidValue(f"{place} must be a list, got {_shown(content)}")
    return content


def _mapping(content: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(content, dict):
        raise InvalidValue(f"{place} must be a JSON object, got {_shown(content)}")
    return content


def _shown(content: Any) -> str:
    text = json.dumps(content)
    return text if len(text) <= 60 else f"{text[:57]}..."
