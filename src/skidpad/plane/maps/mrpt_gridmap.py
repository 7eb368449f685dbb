"""Occupancy grids as MRPT keeps them: `.gridmap` files, plain or with gzip.

The layout is that of MRPT's `COccupancyGridMap2D::serializeTo` (versions 0 to 7) inside of its
archives: the length of a class name with the highest bit set, the name, a version, and the object.
Of the object only the head matters here: bits per cell, columns, rows, the edges and the
resolution, and then the cells, row after row from the lower left, as log-odds of being free.
"""

from __future__ import annotations

import gzip
import math
import os
import struct
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from ...errors import InvalidValue
from ...files import open_file, path_of, reading
from .grid import MOST_CELLS, Grid
from .map import Map

CLASSES = ("mrpt::maps::COccupancyGridMap2D", "mrpt::slam::COccupancyGridMap2D")
"""Names of the map's class, by age; the oldest files have it without a prefix."""
NEWEST = 7
"""Version of the object up to which the layout is known."""
_HEAD = struct.Struct("<IIfffff")
_UNSURE = 1
"""Log-odds up to which, on either side of 0, upstream counts a cell as unknown."""


class _Head(NamedTuple):
    columns: int
    rows: int
    x_min: float
    x_max: float
    y_min: float
    y_max: float
    resolution: float


def read_gridmap(path: str | os.PathLike[str]) -> Map:
    """The map in a file, which may be compressed whatever its name is."""
    file = path_of(path)
    return Map(grid=read_grid(file), name=file.name.split(".")[0])


def read_grid(file: Path) -> Grid:
    """The grid in a file. Raises `InvalidValue` for one that is not a map."""
    with reading(file, "cannot be read"), open_file(file) as stream:
        packed = stream.read(2) == b"\x1f\x8b"
        stream.seek(0)
        content: Any = gzip.GzipFile(fileobj=stream) if packed else stream
        return _grid(content, file)


def _grid(stream: BinaryIO, file: Path) -> Grid:
    version = _version(stream, file)
    bits = _exactly(stream, 1, file)[0] if version >= 2 else 8
    head = _Head._make(_HEAD.unpack(_exactly(stream, _HEAD.size, file)))
    if bits not in (8, 16):
        raise InvalidValue(f"{file} has {bits} bits in a cell; 8 and 16 are known")
    if not all(map(math.isfinite, head)) or head.resolution <= 0.0:
        raise InvalidValue(f"{file} has a resolution of {head.resolution:g} m; it must be above 0")
    count = head.columns * head.rows
    if not 0 < count <= MOST_CELLS:
        raise InvalidValue(
            f"{file} has {head.columns} x {head.rows} cells; allowed are 1 to {MOST_CELLS} in all"
        )
    data = _exactly(stream, count * bits // 8, file)
    cells = np.frombuffer(data, f"<i{bits // 8}").reshape(head.rows, head.columns)
    if bits == 16:
        cells = (cells >> 8).astype(np.int8)
    odds = cells if version >= 3 else cells.view(np.uint8).astype(np.int16) - 128
    # Only the sign counts: a cell is an obstacle if it is rather occupied than free.
    unknown = np.abs(odds.astype(np.int16)) <= _UNSURE
    # Kept in single precision: 0.05 m shall be 0.05 m.
    resolution = float(f"{head.resolution:.7g}")
    x, y = (resolution * round(edge / resolution) for edge in (head.x_min, head.y_min))
    return Grid((odds < 0) & ~unknown, resolution, (x, y, 0.0), unknown)


def _version(stream: BinaryIO, file: Path) -> int:
    """Version of the object, after its class was checked."""
    length = _exactly(stream, 1, file)[0]
    old = not length & 0x80
    if old and _exactly(stream, 3, file) != b"\0\0\0":
        raise InvalidValue(f"{file} is not a map of MRPT's")
    name = _exactly(stream, length & 0x7F, file).decode("ascii", "replace")
    if name not in (*CLASSES, "COccupancyGridMap2D"):
        raise InvalidValue(f"{file} holds a {name!r}; a {CLASSES[0]} is needed")
    version = int.from_bytes(_exactly(stream, 4 if old else 1, file), "little")
    if version > NEWEST:
        raise InvalidValue(f"{file} has version {version}; versions up to {NEWEST} are known")
    return version


def _exactly(stream: BinaryIO, count: int, file: Path) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise InvalidValue(f"{file} ends too early to be a map of MRPT's")
    return data
