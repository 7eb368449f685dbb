"""Maps from files: `load` chooses the reader by suffix and content; CommonRoad's is here.

Road boundaries of CommonRoad scenarios are read with `commonroad-io`.
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
    read_table,
    read_tum,
)
from .geojson import read_geojson
from .map import Map, from_shapes
from .occupancy import read_gridmap, read_image, read_occupancy

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
"""Readers by suffix; a `.gridmap` may have `.gz` behind it."""
TABLE_READERS: tuple[tuple[tuple[str, ...], Reader], ...] = (
    (CONE_HEADER, read_cones),
    (LINE_HEADER, read_centre_line),
    (TUM_HEADER, read_tum),
)
"""Readers of CSV files by the columns that their header must have."""


def load(path: str | os.PathLike[str], **options: Any) -> Map:
    """The map in a file; options go to the reader of its format.

    `.geojson`, `.json`: `read_geojson`. `.yaml`, `.yml`: `read_occupancy`, the file next to an
    image; `.png`, `.pgm`, `.bmp`: `read_image`, an image alone; `.gridmap`, `.gridmap.gz`:
    `read_gridmap`. `.csv`: `read_cones`, `read_centre_line`, `read_tum` or `read_points`, by the
    header. `.xml`, `.pb`: `read_commonroad`.
    """
    file = path_of(path)
    if file.is_dir():
        raise InvalidValue(f"{file} is a folder; a map is a file")
    reader = _reader(file)
    parameters = list(inspect.signature(reader).parameters.values())[1:]
    allowed = [parameter.name for parameter in parameters]
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    for name in options:
        if name not in allowed and not takes_any:
            raise InvalidValue(
                f"{file}: {name} is no option of {reader.__name__}; allowed are "
                f"{', '.join(allowed)}"
            )
    return reader(file, **options)


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
        return read_points
    raise InvalidValue(
        f"{file}, line 1: neither cones (color,X,Y) nor a centre line (s,X,Y,phi,kappa,w "
        f"or x_m,y_m,w_tr_right_m,w_tr_left_m or x,y); the header is {','.join(sorted(header))}"
    )
