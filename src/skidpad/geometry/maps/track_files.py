"""Tracks from files: tables of points and widths, cones, walls and grids, recognised by content."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import Array
from ...core.checks import flag, positive
from ...core.files import path_of, reading
from ...errors import InvalidValue
from ...units import m, rad
from .cones import (
    CONE_HEADER,
    LINE_HEADER,
    Table,
    comes_back,
    line_points,
    read_centre_line,
    read_cones,
    read_table,
)
from .geojson import read_geojson
from .grid import Grid
from .map import Map, cells_under
from .occupancy import read_gridmap, read_occupancy
from .track import Track

TABLES = (".csv", ".txt", ".tsv", ".dat")
WALLS = (".geojson", ".json")
GRIDS = (".yaml", ".yml", ".gridmap", ".gz")
SUFFIXES = (*TABLES, *WALLS, *GRIDS)
_CELLS = 1000
"""Cells along the longer side of a map of walls, in which its ring is looked for."""


class _Columns(NamedTuple):
    """Names of the columns of a table."""

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
    """The track in a file: a table, a map of walls, or a grid.

    Tables, with commas, semicolons or tabs: TUM's x, y and widths to the right and to the left, in
    this order or by names with "right" and "left" in them; points x, y alone, which need `width` in
    m, from border to border; cones by colour, and centre lines, of brains2. ROS maps (YAML next to
    an image), MRPT's grids and GeoJSON: the ring of free space, begun near the pose `start` (x, y,
    yaw) and run its way, without one counter-clockwise.

    Lines are closed if their ends are about a step apart; `closed` overrules that. `spacing` is
    about the distance in m between points of the centre line.
    """
    file = path_of(path)
    if file.is_dir():
        raise InvalidValue(f"{file} is a folder; a track is a file")
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
    return _of_ring(file, start, options)


def _refuse(file: Path, name: str, value: Any, reason: str) -> None:
    if value is not None:
        raise InvalidValue(f"{file}: {name} = {value!r} is not for this file: {reason}")


def _of_table(file: Path, width: m | None, closed: bool | None, options: dict[str, Any]) -> Track:
    table = read_table(file)
    header = set(table.header)
    is_cones = header >= set(CONE_HEADER)
    if is_cones or header >= set(LINE_HEADER):
        _refuse(file, "width", width, "it has widths of its own")
        map_ = read_cones(file) if is_cones else read_centre_line(file)
        return _of_line(file, map_, closed, options)
    columns = _columns(table)
    x, y = (np.array(table.numbers(name)) for name in columns[:2])
    points = line_points(table, x, y)
    right, left = _sides(table, columns, width)
    repeats = len(points) > 2 and bool((points[0] == points[-1]).all())
    closed = repeats or comes_back(points) if closed is None else closed
    with reading(file, "holds no track"):
        return Track.between(points, left, right, closed=closed, name=file.stem, **options)


def _columns(table: Table) -> _Columns:
    """The columns by what their names say, or in TUM's order where these say nothing."""
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
    """Distances to the right and to the left of each point."""
    if columns.right is None or columns.left is None:
        if width is None:
            raise InvalidValue(
                f"{table.file} has points without widths: give width, from border to border in m"
            )
        half = np.full(len(table.rows), 0.5 * positive("width", width, "m"))
        return half, half
    _refuse(table.file, "width", width, "it has widths of its own")
    sides = [np.array(table.numbers(name)) for name in (columns.right, columns.left)]
    for name, widths in zip((columns.right, columns.left), sides, strict=True):
        bad = np.flatnonzero(~(widths > 0.0))
        if len(bad):
            raise InvalidValue(
                f"{table.file}, line {table.lines[bad[0]]}: {name} = {widths[bad[0]]:g} m must be "
                "greater than 0"
            )
    return sides[0], sides[1]


def _of_line(file: Path, map_: Map, closed: bool | None, options: dict[str, Any]) -> Track:
    """The track along the centre line of a map, between its cones if it has some."""
    if map_.centre_line is None:
        raise InvalidValue(
            f"{file}: its {len(map_.cones)} cones make no track: needed are blue ones on its left "
            "and yellow ones on its right"
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


def _of_ring(file: Path, start: tuple[m, m, rad] | None, options: dict[str, Any]) -> Track:
    """The track in the ring of free space of a map."""
    suffix = file.suffix.lower()
    if suffix in WALLS:
        map_ = read_geojson(file)
    else:
        map_ = read_occupancy(file) if suffix in (".yaml", ".yml") else read_gridmap(file)
    with reading(file, "holds no track"):
        if map_.grid is not None:
            return Track.of_grid(map_.grid, start, name=file.stem, **options)
        # The walls as cells; what is solid within them encloses nothing, and is no ring.
        x0, y0, x1, y1 = map_.bounds
        size = max(x1 - x0, y1 - y0) / _CELLS
        cells = Grid.over(map_.bounds, size, 3.0 * size)
        ends = cells.to_grid(map_.segments.reshape(-1, 2)).reshape(-1, 4)
        occupied = cells_under(ends / size, cells.shape)
        track = Track.of_grid(Grid(occupied, size, cells.origin), start, **options)
        return replace(track, walls=map_.segments, grid=None, name=file.stem)
