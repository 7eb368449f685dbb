"""Readers of occupancy grids: ROS maps, a YAML file with an image, and MRPT's `.gridmap` files.

The rules for images are those of ROS's map server (nav2_map_server, map_io). The shade of a pixel
is the mean of its colours from 0 to 1, and its occupancy 1 - shade, or the shade itself with
`negate`. Modes:

* trinary: above `occupied_thresh` occupied, below `free_thresh` free, else unknown. Transparency
  counts as a fourth colour here, as it does upstream.
* scale: the same, but unknown is what is not opaque; a cell between the thresholds is merely
  unlikely to be free, which planners, and this reader, treat as free.
* raw: the shade from 0 to 255 is the occupancy in per cent, above 100 unknown; values of at least
  `occupied_thresh` are occupied.

Unknown cells are free by default, as rays pass them in ROS too.

A `.gridmap`, plain or with gzip, has the layout of MRPT's `COccupancyGridMap2D::serializeTo`
(versions 0 to 7) inside of its archives: the length of a class name with the highest bit set, the
name, a version, and the object. Only the head of the object is used: bits per cell, columns,
rows, the edges and the resolution, and then the cells, row after row from the lower left, as
log-odds of being free.
"""

from __future__ import annotations

import gzip
import math
import os
import struct
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

import numpy as np

from ...core.arrays import Array
from ...core.checks import one_of, positive
from ...core.files import open_file, path_of, reading, shown, yaml_of
from ...errors import InvalidValue, require
from ...units import m, one, rad
from .grid import MOST_CELLS, Grid
from .map import Map

Mode = Literal["trinary", "scale", "raw"]
MODES = ("trinary", "scale", "raw")
Unknown = Literal["free", "occupied"]
UNKNOWN = ("free", "occupied")
FORMATS = ("PNG", "PPM", "BMP")
"""Supported image formats, by Pillow's names; PPM includes PGM, plain and binary."""
_STRIP = 1 << 20
"""Pixels that are processed at once."""


class Reading(NamedTuple):
    """Interpretation of an image."""

    resolution: m
    """Edge of a pixel in m."""
    origin: tuple[m, m, rad] = (0.0, 0.0, 0.0)
    """Pose of the lower left corner of the image."""
    negate: bool = False
    """Whether white means occupied."""
    occupied_thresh: one = 0.65
    """Occupancy above which a cell is occupied, from 0 to 1."""
    free_thresh: one = 0.25
    """Occupancy below which a cell is free, from 0 to 1."""
    mode: Mode = "trinary"


def read_occupancy(path: str | os.PathLike[str], *, unknown: Unknown = "free") -> Map:
    """Map from a YAML file and the image it names, relative to the file."""
    one_of("unknown", unknown, UNKNOWN)
    file = path_of(path)
    entries = _entries(file)
    image = entries.get("image")
    if not isinstance(image, str) or not image:
        raise InvalidValue(f"{file}: image = {image!r} must be the path of an image")
    reading = _reading(file, entries)
    grid = _grid(file.parent / image, reading, unknown)
    return Map(grid=grid, name=file.stem)


def read_image(
    path: str | os.PathLike[str],
    *,
    resolution: m | None = None,
    origin: tuple[m, m, rad] = (0.0, 0.0, 0.0),
    unknown: Unknown = "free",
    **reading: Any,
) -> Map:
    """Map from an image without YAML file; other options are the fields of `Reading`."""
    one_of("unknown", unknown, UNKNOWN)
    file = path_of(path)
    if resolution is None:
        raise InvalidValue(
            f"{file} is an image, which does not say how large it is: give resolution in m per "
            "pixel, or load the YAML file next to it"
        )
    entries = {"resolution": resolution, "origin": origin, **reading}
    unknown_options = set(entries) - set(Reading._fields)
    if unknown_options:
        raise InvalidValue(
            f"{file}: {', '.join(sorted(unknown_options))} is no option; allowed are unknown, "
            f"{', '.join(Reading._fields)}"
        )
    return Map(grid=_grid(file, _reading(file, entries), unknown), name=file.stem)


def _entries(file: Path) -> Mapping[str, Any]:
    content = yaml_of(file)
    if not isinstance(content, dict):
        raise InvalidValue(f"{file} holds no map: a mapping with image, resolution and origin")
    known = ("image", *Reading._fields)
    for name in content:
        # Other programs keep entries of their own here, but a near miss is a slip.
        close = get_close_matches(str(name), known, 1, 0.8)
        if name not in known and close:
            raise InvalidValue(f"{file}: {name} is unknown; did you mean {close[0]!r}?")
    for name in ("image", "resolution", "origin"):
        if name not in content:
            raise InvalidValue(f"{file}: {name} is missing")
    return content


def _reading(file: Path, entries: Mapping[str, Any]) -> Reading:
    given = {**Reading._field_defaults, **entries}
    try:
        resolution = positive("resolution", _number("resolution", given["resolution"]), "m")
        origin, negate = given["origin"], given["negate"]
        if not isinstance(origin, (list, tuple)) or len(origin) != 3:
            raise InvalidValue(f"origin = {origin!r} must be three numbers: x, y, yaw")
        x, y, yaw = (_number(f"origin[{k}]", value) for k, value in enumerate(origin))
        if negate not in (0, 1):
            raise InvalidValue(f"negate = {negate!r} must be 0 or 1")
        one_of("mode", given["mode"], MODES)
        free, occupied = (_number(name, given[name]) for name in ("free_thresh", "occupied_thresh"))
        if not 0.0 <= free <= occupied <= 1.0:
            raise InvalidValue(
                f"free_thresh = {free:g} and occupied_thresh = {occupied:g} must increase from 0 "
                "to 1 in this order"
            )
    except InvalidValue as error:
        raise InvalidValue(f"{file}: {error}") from None
    return Reading(resolution, (x, y, yaw), bool(negate), occupied, free, given["mode"])


def _number(name: str, value: Any) -> float:
    """A number of a YAML file; accepts 1e-4, which is a text in YAML 1.1 but a number in ROS."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"{name} = {shown(value)} must be a number") from None
    if isinstance(value, bool) or not math.isfinite(number):
        raise InvalidValue(f"{name} = {shown(value)} must be a finite number")
    return number


def _grid(file: Path, reading: Reading, unknown: Unknown) -> Grid:
    strips = [_judged(*pixels, reading) for pixels in _pixels(file)]
    occupied, is_unknown = (np.concatenate(parts) for parts in zip(*strips, strict=True))
    if unknown == "occupied":
        occupied = occupied | is_unknown
    # Images begin at the top.
    return Grid(occupied[::-1], reading.resolution, reading.origin, is_unknown[::-1])


def _judged(colours: Array, opacity: Array | None, reading: Reading) -> tuple[Any, Any]:
    """Masks of the occupied and of the unknown pixels."""
    shade = colours.mean(axis=2)
    if reading.mode == "raw":
        percent = np.round(255.0 * shade)
        unknown = percent > 100.0
        return (percent >= 100.0 * reading.occupied_thresh) & ~unknown, unknown
    if reading.mode == "trinary" and opacity is not None:
        bands = colours.shape[2]
        # Three colours and the opacity; a grey pixel has its one shade three times.
        shade = (colours.sum(axis=2) * (3 / bands) + opacity) / 4.0
    occupancy = shade if reading.negate else 1.0 - shade
    occupied = occupancy > reading.occupied_thresh
    if reading.mode == "trinary":
        return occupied, ~occupied & ~(occupancy < reading.free_thresh)
    unknown = np.zeros_like(occupied) if opacity is None else opacity < 1.0
    return occupied & ~unknown, unknown


def _pixels(file: Path) -> Iterator[tuple[Array, Array | None]]:
    """Strips of an image from the top: colours from 0 to 1, shape (rows, columns, 1 or 3), and
    opacities if there are any.

    As floats, a large image would take 30 times the memory of the resulting map.
    """
    Image = require("PIL.Image", purpose=f"Reading {file}")
    with (
        reading(file, "cannot be read as an image"),
        open_file(file) as stream,
        Image.open(stream, formats=FORMATS) as image,
    ):
        if image.width * image.height > MOST_CELLS:
            raise InvalidValue(
                f"{file} has {image.width} x {image.height} pixels; allowed are {MOST_CELLS}"
            )
        rows = max(_STRIP // max(image.width, 1), 1)
        for top in range(0, image.height, rows):
            yield _bands(image.crop((0, top, image.width, min(top + rows, image.height))))


def _bands(image: Any) -> tuple[Array, Array | None]:
    if image.mode.startswith("I"):
        # 16 bits a pixel, which Pillow keeps in integers of 16 or 32 bits.
        return np.asarray(image, dtype=np.float64)[:, :, None] / 65535.0, None
    transparent = image.mode in ("LA", "PA", "RGBA") or "transparency" in image.info
    grey = image.mode in ("1", "L", "LA")
    mode = ("L" if grey else "RGB") + ("A" if transparent else "")
    values = np.asarray(image.convert(mode), dtype=np.float64) / 255.0
    if values.ndim == 2:
        values = values[:, :, None]
    return (values[:, :, :-1], values[:, :, -1]) if transparent else (values, None)


CLASSES = ("mrpt::maps::COccupancyGridMap2D", "mrpt::slam::COccupancyGridMap2D")
"""Class names of the map, by age; the oldest files have it without a prefix."""
NEWEST = 7
"""Latest known version of the layout."""
_HEAD = struct.Struct("<IIfffff")
_UNSURE = 1
"""Largest magnitude of log-odds that upstream treats as unknown."""


class _Head(NamedTuple):
    columns: int
    rows: int
    x_min: float
    x_max: float
    y_min: float
    y_max: float
    resolution: float


def read_gridmap(path: str | os.PathLike[str]) -> Map:
    """Map from a file, which may be compressed regardless of its name."""
    file = path_of(path)
    return Map(grid=read_grid(file), name=file.name.split(".")[0])


def read_grid(file: Path) -> Grid:
    """Grid from a file. Raises `InvalidValue` if it is not a map."""
    with reading(file, "cannot be read"), open_file(file) as stream:
        packed = stream.read(2) == b"\x1f\x8b"
        stream.seek(0)
        content: Any = gzip.GzipFile(fileobj=stream) if packed else stream
        return _unpacked_grid(content, file)


def _unpacked_grid(stream: BinaryIO, file: Path) -> Grid:
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
    """Version of the object, after a check of its class."""
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
