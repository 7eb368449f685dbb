"""Centre lines of tracks: points along one lap, continued without end where the track is closed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Array
from ...brief import brief_repr
from ...errors import InvalidValue
from ...units import m
from ..line import Line, lengths
from .map import Map
from .parts import LINE_COLUMNS, centre_line_of

_SAME: m = 1e-6
"""Points nearer than this are one."""


class Projection(NamedTuple):
    """Points seen from a centre line."""

    s: Array
    """Length along the line in m, within one lap."""
    d: Array
    """Distance from the line in m, positive to the left of its direction."""


@dataclass(frozen=True, eq=False)
class CentreLine:
    """A centre line with its rows as in `Map.centre_line`: s, x, y, phi, kappa, w.

    Straight between the rows in x and y; phi runs on without jumps of 2π.
    """

    rows: Array
    """One row per point; on a closed track the last is the first one again, a lap further."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", centre_line_of(self.rows))

    @classmethod
    def of(cls, map_: Map) -> CentreLine:
        """The centre line of a map."""
        if map_.centre_line is None:
            raise InvalidValue(f"map {map_.name!r} has no centre line")
        return cls(map_.centre_line)

    @cached_property
    def line(self) -> Line:
        """The line without its width."""
        s, x, y, phi, kappa, _ = self.rows.T
        return Line(s, x, y, phi, kappa, closed=math.dist((x[0], y[0]), (x[-1], y[-1])) <= _SAME)

    @property
    def closed(self) -> bool:
        """Whether the line ends where it began."""
        return self.line.closed

    @property
    def length(self) -> m:
        """Length of the line; of a closed one that of a lap."""
        return self.line.length

    def at(self, s: Any) -> Array:
        """The row at each s in m, shape (N, 6): linear between the points.

        On a closed track s may be anything: laps before and after are the same but for s, and phi,
        which goes on by a turn each lap. On an open one the ends are held.
        """
        distances = np.atleast_1d(np.asarray(s, dtype=np.float64))
        if distances.ndim != 1 or not np.isfinite(distances).all():
            raise InvalidValue("s must be one finite number or a row of them, in m")
        if not self.closed:
            distances = np.clip(distances, self.rows[0, 0], self.rows[-1, 0])
        width = self.line.spot(distances).between(self.rows[:, 5])
        return np.column_stack([distances, *self.line.at(distances), width])

    def laps(self, before: int = 1, after: int = 1) -> Array:
        """The rows (n, 6) of several laps in a row, with s = 0 at the start of the middle one.

        This is how brains2 stores a line: the lap before, this one and the next.
        """
        if not self.closed:
            raise InvalidValue("an open line has no laps")
        step = np.zeros(len(LINE_COLUMNS))
        step[0], step[3] = self.length, self.rows[-1, 3] - self.rows[0, 3]
        return np.concatenate([self.rows[:-1] + k * step for k in range(-before, after + 1)])

    def project(self, points: Any) -> Projection:
        """The nearest place on the line for each point (x, y)."""
        places = np.atleast_2d(np.asarray(points, dtype=np.float64))
        return Projection(*self.line.project(places))


def one_lap(rows: Array) -> Array:
    """The rows of one lap from s = 0, closed by its first point again; an open line as it is.

    brains2 stores the lap before, the lap itself and the lap after: then the middle one is taken.
    Of a single closed lap the last point is a step short of the first.
    """
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
    # A thousandth of a step: files have their numbers rounded.
    tolerance = 1e-3 * float(lengths(rows[:, 1:3]).max())
    return bool(np.all(np.abs(plan[period:] - plan[:-period]) <= tolerance))
