"""Cone tracks and centre lines in the CSV files of brains2.

A track has the columns color, X, Y: blue cones on the left, yellow ones on the right, orange ones,
which are the large, at start and finish. A centre line has s, X, Y, phi, kappa, w, with half the
width of the track as w; brains2 repeats the lap three times, of which one is kept.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import Array
from ...checks import not_negative
from ...errors import InvalidValue
from ...files import path_of
from ...units import m
from ..line import Line
from ..polygon import line_edges
from .areas import Polygon
from .cone_line import line_between
from .line import one_lap
from .map import Map, from_shapes
from .parts import LINE_COLUMNS
from .tables import Table, read_table

COLOURS = ("blue", "yellow", "orange")
CONE_RADII: dict[str, m] = {"blue": 0.114, "yellow": 0.114, "orange": 0.1425}
"""Half the width of the base: Formula Student's cones are 228 mm and 285 mm wide."""
CONE_SIDES = 8

CONE_HEADER = ("color", "x", "y")
LINE_HEADER = LINE_COLUMNS


def read_cones(
    path: str | os.PathLike[str], *, cone_radius: m | None = None, centre_line: Any = "auto"
) -> Map:
    """The cones in a file, each a solid octagon of radius `cone_radius`; 0: none is an obstacle.

    Without a radius they have the sizes of Formula Student. The centre line is read from the file
    `..._center_line.csv` beside it, if there is one, and else is the one between blue and yellow
    cones, if these make a track; give a path to read another, None for none.
    """
    file = path_of(path)
    table = read_table(file)
    _need(table, CONE_HEADER)
    if not table.rows:
        raise InvalidValue(f"{file} has no cones")
    colours = [text.lower() for text in table.texts("color")]
    for colour, line in zip(colours, table.lines, strict=True):
        if colour not in COLOURS:
            raise InvalidValue(
                f"{file}, line {line}: color = {colour!r} is unknown; allowed are "
                f"{', '.join(COLOURS)}"
            )
    positions = np.column_stack([table.numbers("x"), table.numbers("y")])
    solids = from_shapes(
        cone_outlines(positions, colours, cone_radius), inside="solid", name=file.stem
    )
    return Map(
        segments=solids.segments,
        polygons=solids.polygons,
        cones=positions,
        colours=tuple(colours),
        centre_line=_line_of(file, centre_line, positions, colours),
        name=file.stem,
    )


def read_centre_line(path: str | os.PathLike[str], *, walls: bool = False) -> Map:
    """The centre line in a file; with `walls` also walls at its width on both sides."""
    file = path_of(path)
    rows = _line_rows(file)
    segments = np.concatenate([line_edges(side) for side in borders(rows)])
    return Map(segments=segments if walls else segments[:0], centre_line=rows, name=file.stem)


def borders(rows: Array) -> tuple[Array, Array]:
    """Left and right border of a centre line: points (x, y) at the distance w from it."""
    line, width = Line(*rows.T[:5]), rows[:, 5]
    return line.beside(width), line.beside(-width)


def _line_rows(file: Path) -> Array:
    table = read_table(file)
    _need(table, LINE_HEADER)
    rows = np.column_stack([table.numbers(name) for name in LINE_HEADER])
    if len(rows) < 2:
        raise InvalidValue(f"{file} has {len(rows)} points; a line needs at least 2")
    stuck = np.flatnonzero(~(np.diff(rows[:, 0]) > 0.0))
    if stuck.size:
        k = int(stuck[0]) + 1
        raise InvalidValue(
            f"{file}, line {table.lines[k]}: s = {rows[k, 0]:g} must be above {rows[k - 1, 0]:g}"
        )
    narrow = np.flatnonzero(~(rows[:, 5] > 0.0))
    if narrow.size:
        k = int(narrow[0])
        raise InvalidValue(f"{file}, line {table.lines[k]}: w = {rows[k, 5]:g} must be above 0 m")
    return one_lap(rows)


def _need(table: Table, names: tuple[str, ...]) -> None:
    missing = [name for name in names if name not in table.header]
    if missing:
        raise InvalidValue(
            f"{table.file}, line 1: column {', '.join(missing)} is missing; the header is "
            f"{','.join(table.header)}"
        )


def cone_outlines(positions: Array, colours: list[str], radius: m | None) -> list[Polygon]:
    """An octagon for each cone; without a radius of its colour's size, with 0 none."""
    if radius is not None and not_negative("cone_radius", radius, "m") == 0.0:
        return []
    angles = (np.arange(CONE_SIDES) + 0.5) * (2.0 * math.pi / CONE_SIDES)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    radii = [CONE_RADII[colour] if radius is None else radius for colour in colours]
    return [Polygon(at + r * circle) for at, r in zip(positions, radii, strict=True)]


def _line_of(file: Path, chosen: Any, cones: Array, colours: list[str]) -> Array | None:
    """The rows of the centre line of a track; None: it has none."""
    if chosen is None:
        return None
    if chosen != "auto":
        return _line_rows(Path(chosen))
    beside = file.with_name(f"{file.stem}_center_line.csv")
    return _line_rows(beside) if beside.is_file() else line_between(cones, colours)
