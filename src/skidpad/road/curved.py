"""Roads in the coordinates of a reference line: heights over u along it and v to its left.

Heights are bilinear in u and v. Outside they are those of the border. Columns of heights lie at
equal distances of v, or where a list says.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

from ..ops import clip, floor, logical_or, read, where
from ..ops.interpolation import sloped_value
from ..units import m, one, per_m, positive
from .grids import ColumnGrid, HeightGrid
from .reference_line import CurvedLine, LinePlace, StraightLine
from .surfaces import SurfacePoint

__all__ = ["Columns", "CurvedRoad", "ListedCurvedRoad", "ListedStripRoad", "StripRoad"]


class Columns(NamedTuple):
    """Where columns of heights lie that are not at equal distances."""

    places: m
    """Number of the array of their v, increasing; see `shared_array`."""
    columns: one
    """How many there are."""
    before: one
    """Number of the array of the last column before each of many equal parts of v, none of which
    has two columns in it."""
    start: m
    """Where the first part begins."""
    parts_per_m: Annotated[per_m, positive]
    """One over the width of a part."""
    parts: one
    """How many parts there are."""

    def coordinate(self, v: m) -> tuple[one, per_m]:
        """Number of the column at v, with its fraction, and the derivative by v."""
        part = clip(floor((v - self.start) * self.parts_per_m), 0.0, floor(self.parts) - 1.0)
        column = read(self.before, part)
        last = floor(self.columns) - 2.0
        passed = where(v < read(self.places, column + 1.0), 0.0, 1.0)
        column = clip(column + passed, 0.0, last)
        left, right = read(self.places, column), read(self.places, column + 1.0)
        by_width = 1.0 / (right - left)
        t = (v - left) * by_width
        inside = where(logical_or(t < 0.0, t > 1.0), 0.0, by_width)
        return column + clip(t, 0.0, 1.0), inside


def _regular(road: Any, x: m, y: m) -> SurfacePoint:
    place = road.line.place(x, y)
    return _in_world(place, *sloped_value(road.heights, place.u, place.v))


def _listed(road: Any, x: m, y: m) -> SurfacePoint:
    place = road.line.place(x, y)
    column, by_v = road.columns.coordinate(place.v)
    z, z_u, z_column = sloped_value(road.heights, place.u, column)
    return _in_world(place, z, z_u, z_column * by_v)


def _in_world(place: LinePlace, z: m, z_u: one, z_v: one) -> SurfacePoint:
    z_x = z_u * place.u_x + z_v * place.v_x
    return SurfacePoint(z, z_x, z_u * place.u_y + z_v * place.v_y)


class StripRoad(NamedTuple):
    """Heights along and across a straight line."""

    line: StraightLine
    """The reference line."""
    heights: HeightGrid
    """Over u and v."""

    def at(self, x: m, y: m) -> SurfacePoint:
        """See `Surface`."""
        return _regular(self, x, y)


class ListedStripRoad(NamedTuple):
    """Heights along and across a straight line, in columns where a list says."""

    line: StraightLine
    """The reference line."""
    columns: Columns
    """Where the columns are."""
    heights: ColumnGrid
    """Over u and the number of the column."""

    def at(self, x: m, y: m) -> SurfacePoint:
        """See `Surface`."""
        return _listed(self, x, y)


class CurvedRoad(NamedTuple):
    """Heights along and across a curved line."""

    line: CurvedLine
    """The reference line."""
    heights: HeightGrid
    """Over u and v."""

    def at(self, x: m, y: m) -> SurfacePoint:
        """See `Surface`."""
        return _regular(self, x, y)


class ListedCurvedRoad(NamedTuple):
    """Heights along and across a curved line, in columns where a list says."""

    line: CurvedLine
    """The reference line."""
    columns: Columns
    """Where the columns are."""
    heights: ColumnGrid
    """Over u and the number of the column."""

    def at(self, x: m, y: m) -> SurfacePoint:
        """See `Surface`."""
        return _listed(self, x, y)
