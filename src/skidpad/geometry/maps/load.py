"""One way in for files: the format is chosen by suffix and content.

Road boundaries from CommonRoad scenarios, read by `commonroad-io`.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from ...core.checks import one_of
from ...core.files import path_of, regular_file
from ...errors import InvalidValue, require
from ..polygon import line_of
from .cones import (
    CONE_HEADER,
    LINE_HEADER,
    POINT_HEADER,
    TUM_HEADER,
    read_centre_line,
    read_cones,
    read_points,
    read_tum,
)
from .geojson import read_geojson
from .map import Map, from_shapes
from .occupancy import read_gridmap, read_image, read_occupancy
from .tables import read_table

Boundaries = Literal["road", "lanelets"]
BOUNDARIES = ("road", "lanelets")


def read_commonroad(path: str | os.PathLike[str], *, boundaries: Boundaries = "road") -> Map:
    """The boundaries of the lanelets of a scenario as walls.

    "road" leaves out those between adjacent lanelets, which are markings to drive over; "lanelets"
    takes them all. Where lanelets cross, as on junctions, their boundaries cross too.
    """
    file = path_of(path)
    one_of("boundaries", boundaries, BOUNDARIES)
    return road_of(file, opened(file)[0], boundaries)


def opened(file: Path) -> tuple[Any, Any]:
    """The scenario and the planning problems in a file, as CommonRoad's own objects."""
    reader = require("commonroad.common.file_reader", purpose=f"Reading {file}")
    regular_file(file)
    try:
        return reader.CommonRoadFileReader(str(file)).open()
    # The reader lets out whatever its parsers and checks raise, assertions included.
    except Exception as error:
        raise InvalidValue(f"{file} is not a CommonRoad scenario: {error!r}") from error


def road_of(file: Path, scenario: Any, boundaries: Boundaries) -> Map:
    """The boundaries of the lanelets of a scenario as walls; see `read_commonroad`."""
    one_of("boundaries", boundaries, BOUNDARIES)
    lanelets = list(scenario.lanelet_network.lanelets)
    if not lanelets:
        raise InvalidValue(f"{file} has no lanelets")
    lines = [line for lanelet in lanelets for line in _walls(file, lanelet, boundaries)]
    return from_shapes([], lines, inside="solid", name=file.stem)


def _walls(file: Path, lanelet: Any, boundaries: Boundaries) -> list[Any]:
    sides = (
        ("left", lanelet.left_vertices, lanelet.adj_left),
        ("right", lanelet.right_vertices, lanelet.adj_right),
    )
    return [
        line_of(f"{file}, lanelet {lanelet.lanelet_id}, {side} boundary", vertices[:, :2])
        for side, vertices, neighbour in sides
        if boundaries == "lanelets" or neighbour is None
    ]


Reader = Callable[..., Map]
READERS: dict[str, Reader] = {
    ".geojson": read_geojson,
    ".json": read_geojson,
    ".yaml": read_occupancy,
    ".yml": read_occupancy,
    ".png": read_image,
    ".pgm": read_image,
    ".bmp": read_image,
    ".gridmap": read_gridmap,
    ".xml": read_commonroad,
    ".pb": read_commonroad,
}
"""Who reads files with a suffix; CSV files are told apart by their header. A `.gridmap` may have
`.gz` behind it."""


def load(path: str | os.PathLike[str], **options: Any) -> Map:
    """The map in a file; options go to the reader of its format.

    `.geojson`, `.json`: `read_geojson`. `.yaml`, `.yml`: `read_occupancy`, the file beside an
    image; `.png`, `.pgm`, `.bmp`: `read_image`, an image alone; `.gridmap`, `.gridmap.gz`:
    `read_gridmap`. `.csv`: `read_cones`, `read_centre_line`, `read_tum` or `read_points`, by the
    header. `.xml`, `.pb`: `read_commonroad`.
    """
    file = path_of(path)
    if file.is_dir():
        raise InvalidValue(f"{file} is a folder; a map is a file")
    reader = _reader(file)
    _check_options(file, reader, options)
    return reader(file, **options)


def _reader(file: Path) -> Reader:
    suffix = file.suffix.lower()
    if file.name.lower().endswith(".gridmap.gz"):
        return read_gridmap
    if suffix == ".csv":
        return _reader_of_table(file)
    if suffix not in READERS:
        raise InvalidValue(
            f"{file}: the suffix {suffix or '(none)'} is not that of a map; allowed are "
            f"{', '.join([*READERS, '.csv'])}"
        )
    return READERS[suffix]


def _reader_of_table(file: Path) -> Reader:
    header = set(read_table(file).header)
    if header >= set(CONE_HEADER):
        return read_cones
    if header >= set(LINE_HEADER):
        return read_centre_line
    if header >= set(TUM_HEADER):
        return read_tum
    if header == set(POINT_HEADER):
        return read_points
    raise InvalidValue(
        f"{file}, line 1: neither cones (color,X,Y) nor a centre line (s,X,Y,phi,kappa,w "
        f"or x_m,y_m,w_tr_right_m,w_tr_left_m or x,y); the header is {','.join(sorted(header))}"
    )


def _check_options(file: Path, reader: Reader, options: dict[str, Any]) -> None:
    parameters = list(inspect.signature(reader).parameters.values())[1:]
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return
    allowed = [parameter.name for parameter in parameters]
    for name in options:
        if name not in allowed:
            raise InvalidValue(
                f"{file}: {name} is no option of {reader.__name__}; allowed are "
                f"{', '.join(allowed)}"
            )
