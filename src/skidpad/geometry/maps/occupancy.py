"""Occupancy grids: square cells that are occupied or free, at any pose in the world; and readers.

Readers take ROS maps, a YAML file with an image, and MRPT's `.gridmap` files. The rules for images
are those of ROS's map server (nav2_map_server, map_io). The shade of a pixel is the mean of its
colours from 0 to 1, and its occupancy 1 - shade, or the shade itself with `negate`. Modes:

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
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array, Mask
from ...core.checks import one_of, positive
from ...core.files import open_file, path_of, reading, shown, yaml_of
from ...errors import InvalidValue, require
from ...units import m, one, rad
from ..polygon import FARTHEST, frozen, points_of
from ..pose import points_to_body, points_to_world

Mode = Literal["trinary", "scale", "raw"]
MODES = ("trinary", "scale", "raw")
Unknown = Literal["free", "occupied"]
UNKNOWN = ("free", "occupied")
FORMATS = ("PNG", "PPM", "BMP")
"""Supported image formats, by Pillow's names; PPM includes PGM, plain and binary."""
_STRIP = 1 << 20
"""Pixels that are processed at once."""


class Reading(NamedTuple):
    """Interpretation of an image as an occupancy grid: scale, pose and thresholds."""

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


def read_occupancy(path: str | os.PathLike[str], *, unknown: Unknown = "free") -> Grid:
    """Grid from a YAML file and the image it names, relative to the file."""
    one_of("unknown", unknown, UNKNOWN)
    file = path_of(path)
    entries = _entries(file)
    image = entries.get("image")
    if not isinstance(image, str) or not image:
        raise InvalidValue(f"{file}: image = {image!r} must be the path of an image")
    reading = _reading(file, entries)
    return _grid(file.parent / image, reading, unknown)


def read_image(
    path: str | os.PathLike[str],
    *,
    resolution: m | None = None,
    origin: tuple[m, m, rad] = (0.0, 0.0, 0.0),
    unknown: Unknown = "free",
    **reading: Any,
) -> Grid:
    """Grid from an image without YAML file; other options are the fields of `Reading`."""
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
            f"{file}: {', '.join(sorted(unknown_options))} is not an option; allowed are unknown, "
            f"{', '.join(Reading._fields)}"
        )
    return _grid(file, _reading(file, entries), unknown)


def _entries(file: Path) -> Mapping[str, Any]:
    content = yaml_of(file)
    if not isinstance(content, dict):
        raise InvalidValue(f"{file} holds no map: a mapping with image, resolution and origin")
    known = ("image", *Reading._fields)
    for name in content:
        # Other programs store further entries here, but a name close to a known one is a typing
        # error.
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
    # Flip the rows, since images begin at the top.
    return Grid(occupied[::-1], reading.resolution, reading.origin, is_unknown[::-1])


def _judged(colours: Array, opacity: Array | None, reading: Reading) -> tuple[Any, Any]:
    """Classify pixels: masks of the occupied and of the unknown ones."""
    shade = colours.mean(axis=2)
    if reading.mode == "raw":
        percent = np.round(255.0 * shade)
        unknown = percent > 100.0
        return (percent >= 100.0 * reading.occupied_thresh) & ~unknown, unknown
    if reading.mode == "trinary" and opacity is not None:
        bands = colours.shape[2]
        # Average three colours and the opacity; a grey pixel counts its shade three times.
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
                f"{file} has {image.width} x {image.height} pixels; at most {MOST_CELLS} are "
                "allowed"
            )
        rows = max(_STRIP // max(image.width, 1), 1)
        for top in range(0, image.height, rows):
            yield _bands(image.crop((0, top, image.width, min(top + rows, image.height))))


def _bands(image: Any) -> tuple[Array, Array | None]:
    if image.mode.startswith("I"):
        # Images of 16 bits per pixel, which Pillow stores in integers of 16 or 32 bits.
        return np.asarray(image, dtype=np.float64)[:, :, None] / 65535.0, None
    transparent = image.mode in ("LA", "PA", "RGBA") or "transparency" in image.info
    grey = image.mode in ("1", "L", "LA")
    mode = ("L" if grey else "RGB") + ("A" if transparent else "")
    values = np.asarray(image.convert(mode), dtype=np.float64) / 255.0
    if values.ndim == 2:
        values = values[:, :, None]
    return (values[:, :, :-1], values[:, :, -1]) if transparent else (values, None)


CLASSES = ("mrpt::maps::COccupancyGridMap2D", "mrpt::slam::COccupancyGridMap2D")
"""Class names of MRPT's grid map, by age; the oldest files have a name without prefix."""
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


def read_gridmap(path: str | os.PathLike[str]) -> Grid:
    """Grid from a `.gridmap` file, which may be compressed regardless of its name."""
    file = path_of(path)
    with reading(file, "cannot be read"), open_file(file) as stream:
        packed = stream.read(2) == b"\x1f\x8b"
        stream.seek(0)
        content: Any = gzip.GzipFile(fileobj=stream) if packed else stream
        version = _version(content, file)
        bits = _exactly(content, 1, file)[0] if version >= 2 else 8
        head = _Head._make(_HEAD.unpack(_exactly(content, _HEAD.size, file)))
        if bits not in (8, 16):
            raise InvalidValue(f"{file} has {bits} bits in a cell; 8 and 16 are known")
        if not all(map(math.isfinite, head)) or head.resolution <= 0.0:
            raise InvalidValue(
                f"{file} has a resolution of {head.resolution:g} m; it must be above 0"
            )
        count = head.columns * head.rows
        if not 0 < count <= MOST_CELLS:
            raise InvalidValue(
                f"{file} has {head.columns} x {head.rows} cells; allowed are 1 to {MOST_CELLS} in "
                "all"
            )
        data = _exactly(content, count * bits // 8, file)
        cells = np.frombuffer(data, f"<i{bits // 8}").reshape(head.rows, head.columns)
        if bits == 16:
            cells = (cells >> 8).astype(np.int8)
        odds = cells if version >= 3 else cells.view(np.uint8).astype(np.int16) - 128
        # Test the sign only: a cell is an obstacle if it is more likely occupied than free.
        unknown = np.abs(odds.astype(np.int16)) <= _UNSURE
        # Files store single precision: convert by the shortest decimal, so that 0.05 m is 0.05 m.
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


MOST_CELLS = 100_000_000
"""Largest number of cells of a grid: 100 MB."""


@dataclass(frozen=True, eq=False)
class Grid:
    """Occupancy grid of square cells; the outside of the grid is free.

    Row 0 is lowest in y of the grid's own frame and column 0 lowest in x, so that the cell in row
    r and column c covers `[c, c + 1) x [r, r + 1)` times the resolution. Images have their first
    row on top: the loaders flip them.
    """

    occupied: Mask
    """True where a cell is an obstacle, shape (rows, columns), read-only."""
    resolution: m
    """Edge of a cell in m, above 0."""
    origin: tuple[m, m, rad] = (0.0, 0.0, 0.0)
    """Pose (x, y, yaw) in the world of the lower left corner of the lower left cell."""
    unknown: Mask | None = None
    """True in unknown cells, same shape; `occupied` says whether they count as obstacles."""

    def __post_init__(self) -> None:
        set_field = object.__setattr__
        set_field(self, "resolution", positive("resolution", self.resolution, "m"))
        x, y, yaw = origin = pose_of("origin", self.origin)
        if not (abs(x) <= FARTHEST and abs(y) <= FARTHEST and math.isfinite(yaw)):
            raise InvalidValue(f"origin = {origin} must be finite and within {FARTHEST:g} m")
        set_field(self, "origin", origin)
        set_field(self, "occupied", _cells("occupied", self.occupied))
        if self.unknown is not None:
            unknown = _cells("unknown", self.unknown)
            if unknown.shape != self.shape:
                raise InvalidValue(
                    f"unknown has shape {unknown.shape}, but occupied has {self.shape}"
                )
            set_field(self, "unknown", unknown)

    @classmethod
    def over(cls, bounds: tuple[m, m, m, m], resolution: m, margin: m) -> Grid:
        """Free grid over a box (least x and y, largest x and y) and a margin around it; raises if
        it has too many cells."""
        x0, y0, x1, y1 = bounds
        width, height = x1 - x0 + 2.0 * margin, y1 - y0 + 2.0 * margin
        rows, columns = (max(1, math.ceil(length / resolution)) for length in (height, width))
        if rows * columns > MOST_CELLS:
            raise InvalidValue(
                f"resolution = {resolution:g} m makes {rows} x {columns} cells of an area of "
                f"{width:g} m x {height:g} m; allowed are {MOST_CELLS}"
            )
        free = np.zeros((rows, columns), dtype=np.bool_)
        return cls(free, resolution, (x0 - margin, y0 - margin, 0.0))

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        rows, columns = self.occupied.shape
        return rows, columns

    @property
    def size(self) -> tuple[m, m]:
        """Width and height in m, along the grid's own x and y."""
        rows, columns = self.shape
        return columns * self.resolution, rows * self.resolution

    @property
    def corners(self) -> Array:
        """The four corners in the world, counter-clockwise from the origin, shape (4, 2)."""
        width, height = self.size
        return self.to_world(np.array([[0.0, 0.0], [width, 0.0], [width, height], [0.0, height]]))

    @property
    def bounds(self) -> tuple[m, m, m, m]:
        """Least x and y, largest x and y in the world."""
        corners = self.corners
        (x0, y0), (x1, y1) = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
        return x0, y0, x1, y1

    def to_world(self, points: Array) -> Array:
        """World coordinates of points (n, 2) in m along the grid's axes from its origin."""
        return points_to_world(self.origin, points)

    def to_grid(self, points: Array) -> Array:
        """Coordinates of world points (n, 2), in m along the grid's axes from its origin."""
        return points_to_body(self.origin, points)

    def cell_of(self, points: Any) -> NDArray[np.int64]:
        """Row and column of world points, shape (N, 2); they are out of range outside of the
        grid."""
        local = self.to_grid(points_of("points", points))
        return np.floor(local[:, ::-1] / self.resolution).astype(np.int64)

    def at(self, points: Any) -> Mask:
        """Whether world points (n, 2) lie in an occupied cell; False outside of the grid."""
        return self._looked_up(self.occupied, points)

    def unknown_at(self, points: Any) -> Mask:
        """Whether world points (n, 2) lie in an unknown cell."""
        if self.unknown is None:
            return np.zeros(len(points_of("points", points)), dtype=np.bool_)
        return self._looked_up(self.unknown, points)

    def centres(self) -> Array:
        """Centres of all cells in the world, shape (rows, columns, 2)."""
        rows, columns = self.shape
        x, y = np.meshgrid(np.arange(columns) + 0.5, np.arange(rows) + 0.5)
        return self.to_world(self.resolution * np.stack([x, y], axis=-1, dtype=np.float64))

    def mirrored(self) -> Grid:
        """The grid reflected about the world's x axis: y becomes -y."""
        _, height = self.size
        x, y = self.to_world(np.array([[0.0, height]]))[0].tolist()
        unknown = None if self.unknown is None else self.unknown[::-1]
        return Grid(self.occupied[::-1], self.resolution, (x, -y, -self.origin[2]), unknown)

    def _looked_up(self, mask: Mask, points: Any) -> Mask:
        row, column = self.cell_of(points).T
        rows, columns = self.shape
        within = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
        return within & mask[np.clip(row, 0, rows - 1), np.clip(column, 0, columns - 1)]

    def __repr__(self) -> str:
        rows, columns = self.shape
        return f"Grid({rows} x {columns} cells of {self.resolution:g} m, origin {self.origin})"


def pose_of(name: str, values: Any) -> tuple[m, m, rad]:
    """Pose x, y, yaw as floats; raises for anything else."""
    try:
        x, y, yaw = (float(value) for value in values)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValue(f"{name} = {shown(values)} must be three numbers: x, y, yaw") from None
    return x, y, yaw


def _cells(name: str, values: Any) -> Mask:
    cells = np.array(values)
    if cells.ndim != 2 or cells.size == 0:
        raise InvalidValue(f"{name} has shape {cells.shape}; allowed are rows and columns of cells")
    if cells.dtype != np.bool_:
        if not np.isin(cells, (0, 1)).all():
            raise InvalidValue(f"{name} must be true or false, or 1 or 0, in each cell")
        cells = cells.astype(np.bool_)
    return frozen(cells)
