"""One way in for files: the format is chosen by suffix and content."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ...errors import InvalidValue
from ...files import path_of
from .commonroad import read_commonroad
from .cones import CONE_HEADER, LINE_HEADER, read_centre_line, read_cones
from .geojson import read_geojson
from .map import Map
from .mrpt_gridmap import read_gridmap
from .occupancy import read_image, read_occupancy
from .tables import read_table
from .tracks import POINT_HEADER, TUM_HEADER, read_points, read_tum

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
