"""Tracks in CSV files: cones, centre lines and points.

A cone track of brains2 has the columns color, X, Y: blue cones on the left, yellow ones on the
right, large orange ones at start and finish. Its centre line has s, X, Y, phi, kappa, w, with half
the width of the track as w; brains2 repeats the lap three times, and one is used. TUM's files
(github.com/TUMFTM/racetrack-database) have x_m, y_m, w_tr_right_m, w_tr_left_m, in m, with the
names in a comment; the map's line is in the middle between the two borders. Files of points have
x, y alone.

The line between cones (`line_between`): in a triangulation of all cones, a triangle with both
colours has two edges between them. From edge to edge such triangles make a strip, which is the
track; the midpoints of these edges are its line.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import AnyArray, Array
from ...core.checks import not_negative, positive
from ...core.files import brief_repr, path_of, text_of
from ...errors import InvalidValue
from ...units import m
from ..line import Line, arc_length, directions, lengths
from ..polygon import line_edges
from .map import LINE_COLUMNS, Map, Polygon, centre_line_of, from_shapes

_SAME: m = 1e-6
"""Distance in m below which points count as the same."""
COLOURS = ("blue", "yellow", "orange")
CONE_RADII: dict[str, m] = {"blue": 0.114, "yellow": 0.114, "orange": 0.1425}
"""Base radii of Formula Student's cones, which are 228 mm and 285 mm wide."""
CONE_SIDES = 8
CONE_HEADER = ("color", "x", "y")
LINE_HEADER = LINE_COLUMNS
TUM_HEADER = ("x_m", "y_m", "w_tr_right_m", "w_tr_left_m")
POINT_HEADER = ("x", "y")
HALF_WIDTH: m = 1.5
"""Default half width of a track in a file of points."""
_STEPS = 1.5
"""Largest gap between the ends of a closed line, in multiples of its longest step."""


class Projection(NamedTuple):
    """Points in the coordinates of a centre line."""

    s: Array
    """Arc length in m, within one lap."""
    d: Array
    """Lateral offset in m, positive to the left of the line's direction."""


@dataclass(frozen=True, eq=False)
class CentreLine:
    """A centre line with rows s, x, y, phi, kappa, w as in `Map.centre_line`.

    It is straight between the rows in x and y; phi has no jumps of 2π.
    """

    rows: Array
    """Rows of the line, one per point; on a closed track the last row is the first one again, a lap
    later.
    """

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", centre_line_of(self.rows))

    @classmethod
    def of(cls, map_: Map) -> CentreLine:
        """Centre line of a map."""
        if map_.centre_line is None:
            raise InvalidValue(f"map {map_.name!r} has no centre line")
        return cls(map_.centre_line)

    @cached_property
    def line(self) -> Line:
        """The centre line as a `Line`, without widths."""
        s, x, y, phi, kappa, _ = self.rows.T
        return Line(s, x, y, phi, kappa, closed=math.dist((x[0], y[0]), (x[-1], y[-1])) <= _SAME)

    @property
    def closed(self) -> bool:
        """Whether the line ends at its start."""
        return self.line.closed

    @property
    def length(self) -> m:
        """Length of the line; for a closed one, of a lap."""
        return self.line.length

    def at(self, s: Any) -> Array:
        """Rows at each s in m, shape (N, 6), interpolated linearly.

        On a closed track s may be anything: laps are equal except for s, and for phi, which
        grows by a turn each lap. On an open one s is clamped to the ends.
        """
        distances = np.atleast_1d(np.asarray(s, dtype=np.float64))
        if distances.ndim != 1 or not np.isfinite(distances).all():
            raise InvalidValue("s must be one finite number or a row of them, in m")
        if not self.closed:
            distances = np.clip(distances, self.rows[0, 0], self.rows[-1, 0])
        width = self.line.spot(distances).between(self.rows[:, 5])
        return np.column_stack([distances, *self.line.at(distances), width])

    def laps(self, before: int = 1, after: int = 1) -> Array:
        """Rows (n, 6) of several consecutive laps, with s = 0 at the start of the middle lap.

        brains2 stores lines in this form: the previous, the current and the next lap.
        """
        if not self.closed:
            raise InvalidValue("an open line has no laps")
        step = np.zeros(len(LINE_COLUMNS))
        step[0], step[3] = self.length, self.rows[-1, 3] - self.rows[0, 3]
        return np.concatenate([self.rows[:-1] + k * step for k in range(-before, after + 1)])

    def project(self, points: Any) -> Projection:
        """Nearest position on the line for each point (x, y)."""
        places = np.atleast_2d(np.asarray(points, dtype=np.float64))
        return Projection(*self.line.project(places))


def read_cones(
    path: str | os.PathLike[str], *, cone_radius: m | None = None, centre_line: Any = "auto"
) -> Map:
    """Map of the cones in a file, each a solid octagon of radius `cone_radius`; 0: no obstacles.

    By default they have the sizes of Formula Student. The centre line is read from the file
    `..._center_line.csv` next to it if that exists; otherwise it is the one between blue and yellow
    cones, if these form a track. `centre_line` can be a path to read another, or None for no line.
    """
    file = path_of(path)
    table = read_table(file)
    table.need(CONE_HEADER)
    if not table.rows:
        raise InvalidValue(f"{file} has no cones")
    colours, allowed = [text.lower() for text in table.texts("color")], ", ".join(COLOURS)
    table.check(
        np.isin(colours, COLOURS),
        lambda k: f"color = {colours[k]!r} is unknown; allowed are {allowed}",
    )
    positions = np.column_stack(table.columns(CONE_HEADER[1:]))
    solids = from_shapes(
        cone_outlines(positions, colours, cone_radius), inside="solid", name=file.stem
    )
    line = _found_line(file, centre_line, positions, colours)
    return replace(solids, cones=positions, colours=tuple(colours), centre_line=line)


def read_centre_line(path: str | os.PathLike[str], *, walls: bool = False) -> Map:
    """Map with the centre line in a file; with `walls`, also walls at its width on both sides."""
    file = path_of(path)
    return _with_walls(_line_rows(file), walls, file.stem)


def read_tum(path: str | os.PathLike[str], *, walls: bool = False) -> Map:
    """Map of the race track in a TUM file; with `walls`, also walls at its borders."""
    file = path_of(path)
    table = read_table(file)
    x, y, right, left = table.columns(TUM_HEADER)
    for name, w in zip(TUM_HEADER[2:], (right, left), strict=True):
        table.check(w >= 0.0, lambda k, name=name, w=w: f"{name} = {w[k]:g} must be at least 0 m")
    rows = line_rows(line_points(table, x, y), np.maximum(0.5 * (left + right), _SAME)[: len(x)])
    count = min(len(rows), len(x))
    sideways = 0.5 * (left - right)[:count]
    if np.any(sideways != 0.0):
        middle = Line(*rows[:count].T[:5]).beside(sideways)
        rows = line_rows(middle, rows[:count, 5])
    return _with_walls(rows, walls, file.stem)


def read_points(
    path: str | os.PathLike[str], *, half_width: m = HALF_WIDTH, walls: bool = False
) -> Map:
    """Map of a line through points x, y with a track width; with `walls`, also borders."""
    file = path_of(path)
    table = read_table(file)
    points = line_points(table, *table.columns(POINT_HEADER))
    half = positive("half_width", half_width, "m")
    return _with_walls(line_rows(points, np.full(len(points), half)), walls, file.stem)


def _with_walls(rows: Array, walls: bool, name: str) -> Map:
    sides = [line_edges(side) for side in borders(rows)] if walls else []
    return Map(segments=np.concatenate([np.empty((0, 4)), *sides]), centre_line=rows, name=name)


def borders(rows: Array) -> tuple[Array, Array]:
    """Left and right border of a centre line: points (x, y) at the distance w from it."""
    line, width = Line(*rows.T[:5]), rows[:, 5]
    return line.beside(width), line.beside(-width)


def _found_line(file: Path, chosen: Any, cones: Array, colours: list[str]) -> Array | None:
    """Rows of the centre line of a cone track, or None if it has none."""
    if chosen is None:
        return None
    if chosen != "auto":
        return _line_rows(Path(chosen))
    neighbour = file.with_name(f"{file.stem}_center_line.csv")
    return _line_rows(neighbour) if neighbour.is_file() else line_between(cones, colours)


def _line_rows(file: Path) -> Array:
    table = read_table(file)
    table.need(LINE_HEADER)
    rows = np.column_stack(table.columns(LINE_HEADER))
    if len(rows) < 2:
        raise InvalidValue(f"{file} has {len(rows)} points; a line needs at least 2")
    s, w = rows[:, 0], rows[:, 5]
    rises = np.diff(s, prepend=-math.inf) > 0.0
    table.check(rises, lambda k: f"s = {s[k]:g} must be above {s[k - 1]:g}")
    table.check(w > 0.0, lambda k: f"w = {w[k]:g} must be above 0 m")
    # Rows of one lap from s = 0, closed by its first point;
    third, rest = divmod(len(rows), 3)
    if rest == 0 and third > 1 and _repeats(rows, third):
        lap = rows[third : 2 * third + 1].copy()
        lap[:, 0] -= lap[0, 0]
        # The last row is the next lap's first: the same point, to the last digit.
        lap[-1, 1:3], lap[-1, 4:] = lap[0, 1:3], lap[0, 4:]
        return lap
    gap = math.dist(rows[0, 1:3], rows[-1, 1:3])
    if len(rows) < 3 or gap <= _SAME or gap > 1.5 * lengths(rows[:, 1:3]).max():
        return rows
    last = rows[0].copy()
    last[0] = rows[-1, 0] + gap
    last[3] += 2.0 * math.pi * round((rows[-1, 3] - rows[0, 3]) / (2.0 * math.pi))
    return np.vstack([rows, last])


def _repeats(rows: Array, period: int) -> bool:
    plan = rows[:, [1, 2, 4, 5]]
    # Tolerate a thousandth of a step, since files contain rounded numbers.
    tolerance = 1e-3 * float(lengths(rows[:, 1:3]).max())
    return bool(np.all(np.abs(plan[period:] - plan[:-period]) <= tolerance))


def line_rows(points: Array, half_widths: Array) -> Array:
    """Rows s, x, y, phi, kappa, w of the line through points (n, 2).

    A line that returns to its start is closed: its last row repeats the first point.
    """
    if len(points) > 2 and math.dist(points[0], points[-1]) <= _SAME:
        points, half_widths = points[:-1], half_widths[: len(points) - 1]
    closed = comes_back(points)
    heading, curvature = directions(points, closed=closed)
    if closed:
        points = np.vstack([points, points[:1]])
        half_widths = np.append(half_widths, half_widths[0])
    return np.column_stack([arc_length(points), points, heading, curvature, half_widths])


def comes_back(points: Array) -> bool:
    """Whether the last of points (n, 2) is about a step away from the first."""
    gap = math.dist(points[0], points[-1])
    return len(points) > 2 and gap <= _STEPS * float(lengths(points).max())


def line_points(table: Table, x: Array, y: Array) -> Array:
    """Points of a table, without consecutive duplicates."""
    points = np.column_stack([x, y])
    if len(points) < 2:
        raise InvalidValue(f"{table.file} has {len(points)} points; a line needs at least 2")
    differs = np.append(True, lengths(points) > _SAME)
    table.check(differs, lambda k: "the point repeats the one before it")
    return points


def cone_outlines(positions: Array, colours: list[str], radius: m | None) -> list[Polygon]:
    """Octagon of each cone, without a radius in the size of its colour; no octagons for radius
    0.
    """
    if radius is not None and not_negative("cone_radius", radius, "m") == 0.0:
        return []
    angles = (np.arange(CONE_SIDES) + 0.5) * (2.0 * math.pi / CONE_SIDES)
    circle = np.column_stack([np.cos(angles), np.sin(angles)])
    radii = [CONE_RADII[colour] if radius is None else radius for colour in colours]
    return [Polygon(at + r * circle) for at, r in zip(positions, radii, strict=True)]


_WIDEST = 2.5
"""Longest edge across a track, in multiples of the usual one."""
_LEAST = 4
"""Least number of edges across a track."""
_APART: m = 0.2
"""Least distance of the points of the line."""
_Edge = tuple[int, int]
"""Edge across the track, as the indices of a blue and a yellow cone."""


def line_between(cones: Array, colours: Sequence[str]) -> Array | None:
    """Rows s, x, y, phi, kappa, w of the line between cones (n, 2), or None if they form no track.

    The blue cones are on its left, and it begins near the orange ones if there are any.
    """
    from scipy.spatial import Delaunay, QhullError

    named = np.array(colours)
    sides = np.unique(cones[(named == "blue") | (named == "yellow")], axis=0)
    is_blue = np.array(
        [bool(((cones == at).all(axis=1) & (named == "blue")).any()) for at in sides]
    )
    if is_blue.sum() < 2 or (~is_blue).sum() < 2:
        return None
    try:
        triangles = Delaunay(sides).simplices
    except QhullError:
        return None
    # The longest chain of edges; each has two neighbours at most, so chains do not branch.
    beside = _neighbours(triangles, is_blue, sides)
    strip: list[_Edge] = []
    left = dict.fromkeys(sorted(beside, key=lambda edge: (len(beside[edge]), edge)))
    while left:
        chain = [next(iter(left))]
        del left[chain[0]]
        while ahead := [edge for edge in beside[chain[-1]] if edge in left]:
            chain.append(ahead[0])
            del left[ahead[0]]
        strip = max(strip, chain, key=len)
    if len(strip) < _LEAST:
        return None
    ends = np.array(strip)
    blue, yellow = sides[ends[:, 0]], sides[ends[:, 1]]
    middles, aside = 0.5 * (blue + yellow), 0.5 * (blue - yellow)
    ahead = np.gradient(middles, axis=0)
    if np.sum(ahead[:, 0] * aside[:, 1] - ahead[:, 1] * aside[:, 0]) < 0.0:  # blue is on the right
        middles, aside = middles[::-1], aside[::-1]
    start = cones[named == "orange"]
    closed = np.hypot(*(middles[0] - middles[-1])) <= 1.5 * lengths(middles).max()
    if closed and len(start):
        first = int(np.argmin(np.hypot(*(middles - start.mean(axis=0)).T)))
        middles, aside = (np.roll(them, -first, axis=0) for them in (middles, aside))
    kept = _spread(middles)
    if len(kept) < _LEAST:
        return None
    rows = line_rows(middles[kept], np.ones(len(kept)))
    # Half widths: distances of the cones from the line, at a right angle to it.
    heading, offset = rows[:, 3], np.resize(aside[kept], (len(rows), 2))
    rows[:, 5] = np.abs(np.cos(heading) * offset[:, 1] - np.sin(heading) * offset[:, 0])
    return rows


def _neighbours(triangles: AnyArray, is_blue: AnyArray, sides: Array) -> dict[_Edge, list[_Edge]]:
    """For each edge between colours, the edges that share a triangle with it."""
    pairs: list[tuple[_Edge, _Edge]] = []
    for corners in triangles.tolist():
        blue = [k for k in corners if is_blue[k]]
        yellow = [k for k in corners if not is_blue[k]]
        if blue and yellow:
            first, second = [(b, y) for b in blue for y in yellow]
            pairs.append((first, second))
    edges = {edge for pair in pairs for edge in pair}
    across = {(b, y): float(np.hypot(*(sides[b] - sides[y]))) for b, y in edges}
    # The shortest edge of each cone leads to the opposite one, so it has the usual width.
    shortest: dict[int, float] = {}
    for (b, y), length in across.items():
        shortest[b] = min(shortest.get(b, length), length)
        shortest[~y] = min(shortest.get(~y, length), length)
    widest = _WIDEST * float(np.median(list(shortest.values()))) if shortest else 0.0
    beside: dict[_Edge, list[_Edge]] = {}
    for a, b in pairs:
        if max(across[a], across[b]) <= widest:
            beside.setdefault(a, []).append(b)
            beside.setdefault(b, []).append(a)
    return beside


def _spread(points: Array) -> list[int]:
    """Select points at least a given distance from the previously selected point; return their
    indices.
    """
    kept = [0]
    for k in range(1, len(points)):
        if np.hypot(*(points[k] - points[kept[-1]])) >= _APART:
            kept.append(k)
    if len(kept) > 2 and np.hypot(*(points[kept[-1]] - points[0])) < _APART:
        kept.pop()
    return kept


class Table(NamedTuple):
    """Rows of a CSV file without blank lines.

    The column names are in the first line, or in a comment (#) above the numbers. Without names,
    two columns are points x, y, and four those of TUM's race tracks. Cells are separated by
    commas, or by semicolons or tabs if the first line of numbers or names contains any.
    """

    file: Path
    header: tuple[str, ...]
    """Column names in lower case."""
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]
    """Line number of each row, from 1."""

    def texts(self, name: str) -> list[str]:
        column = self.header.index(name)
        return [row[column].strip() for row in self.rows]

    def error(self, fault: str, row: int) -> InvalidValue:
        return InvalidValue(f"{self.file}, line {self.lines[row]}: {fault}")

    def check(self, good: AnyArray, fault: Callable[[int], str]) -> None:
        """Raise for the first row whose mask `good` is False; `fault` describes the row by its
        index.
        """
        bad = np.flatnonzero(~good)
        if len(bad):
            raise self.error(fault(int(bad[0])), int(bad[0]))

    def need(self, names: Sequence[str]) -> None:
        """Raise unless the file has these columns."""
        missing = ", ".join(name for name in names if name not in self.header)
        if missing:
            fault = f"column {missing} is missing; the header is {','.join(self.header)}"
            raise InvalidValue(f"{self.file}, line 1: {fault}")

    def columns(self, names: Sequence[str]) -> list[Array]:
        """Return columns as arrays of numbers; raise for any other content."""
        return [
            np.array([self._number(name, text, row) for row, text in enumerate(self.texts(name))])
            for name in names
        ]

    def _number(self, name: str, text: str, row: int) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not math.isfinite(number) or "_" in text:
            raise self.error(f"{name} = {text!r} must be a finite number", row)
        return number


UNNAMED = {2: POINT_HEADER, 4: TUM_HEADER}
"""Default column names by the number of columns."""


def read_table(file: Path) -> Table:
    # `strict` makes the reader reject malformed text, such as an open quote.
    lines = text_of(file).splitlines()
    first = next((line for line in lines if line.strip() and not line.lstrip().startswith("#")), "")
    mark = next((mark for mark in ";\t" if mark in first), ",")
    reader = csv.reader(lines, delimiter=mark, skipinitialspace=True, strict=True)
    try:
        rows = [(reader.line_num, tuple(row)) for row in reader if any(c.strip() for c in row)]
    except csv.Error as error:
        raise InvalidValue(f"{file}, line {reader.line_num}: not CSV: {error}") from error
    comments = [row for row in rows if row[1][0].startswith("#")]
    rows = [row for row in rows if not row[1][0].startswith("#")]
    if not rows:
        raise InvalidValue(f"{file} is empty: the first line must name the columns")
    names, body = _named(rows, comments)
    header = tuple(name.strip().lower() for name in names)
    lines, cells = (tuple(column) for column in zip(*body, strict=True)) if body else ((), ())
    table, counts = Table(file, header, cells, lines), np.array([len(row) for row in cells])
    fault = f"cells, but the header has {len(header)}"
    table.check(counts == len(header), lambda k: f"{counts[k]} {fault}")
    return table


_Row = tuple[int, tuple[str, ...]]
"""A row of a CSV file as its line number and cells."""


def _named(rows: list[_Row], comments: list[_Row]) -> tuple[tuple[str, ...], list[_Row]]:
    """Split a table into column names and the rows below them."""
    line, first = rows[0]
    if not all(map(_is_number, first)):
        return first, rows[1:]
    above = [cells for number, cells in comments if number < line and len(cells) == len(first)]
    if above:
        return (above[-1][0].lstrip("#"), *above[-1][1:]), rows
    return UNNAMED.get(len(first), first), rows


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
