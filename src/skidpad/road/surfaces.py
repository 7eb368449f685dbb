"""How high a road is, by the class of a record: flat, a plane, waves, a profile or a grid.

A surface is any record with a method `at(x, y)` that gives a `SurfacePoint`. Its numbers are
leaves, so they are parameters of a vehicle that stands on it; its class is the kind of the road.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple, Protocol

from ..ops import cos, sin
from ..ops.interpolation import sloped_value
from ..plane.pose import turned, turned_back
from ..units import m, one, positive, rad
from .grids import HeightGrid, HeightProfile, SmoothGrid, SmoothProfile

__all__ = [
    "FlatRoad",
    "GridRoad",
    "PlaneRoad",
    "ProfileRoad",
    "SmoothGridRoad",
    "SmoothProfileRoad",
    "Surface",
    "SurfacePoint",
    "WaveRoad",
]

_TURN = 6.283185307179586


class SurfacePoint(NamedTuple):
    """A place on a road."""

    z: m
    """Height, positive up."""
    z_x: one
    """How much it rises along the x axis of the world, over the horizontal way."""
    z_y: one
    """The same along the y axis."""


class Surface(Protocol):
    """What every surface has."""

    def at(self, x: m, y: m) -> SurfacePoint:
        """Height and slopes at a place of the world."""
        ...


class FlatRoad(NamedTuple):
    """Level ground at height 0."""

    def at(self, x: m, y: m) -> SurfacePoint:
        """See `Surface`."""
        return SurfacePoint(0.0, 0.0, 0.0)


class PlaneRoad(NamedTuple):
    """A plane with a slope along a direction and a bank across it."""

    slope: one = 0.0
    """Rise over the horizontal way along the direction, positive uphill."""
    bank: one = 0.0
    """Rise over the horizontal way to the left of the direction, positive when the left is high."""
    yaw: rad = 0.0
    """The direction, from the x axis of the world, positive to the left."""
    z: m = 0.0
    """Height at the origin of the world."""

    def at(self, x: m, y: m) -> SurfacePoint:
        """See `Surface`."""
        z_x, z_y = turned(cos(self.yaw), sin(self.yaw), self.slope, self.bank)
        return SurfacePoint(self.z + z_x * x + z_y * y, z_x, z_y)


class WaveRoad(NamedTuple):
    """Sine waves along a direction, the same everywhere across it."""

    amplitude: m = 0.0
    """Height of the crests over the mean."""
    wavelength: Annotated[m, positive] = 10.0
    """From crest to crest."""
    phase: rad = 0.0
    """Phase of the sine at the origin of the world; it rises there if this is 0."""
    yaw: rad = 0.0
    """The direction, from the x axis of the world, positive to the left."""

    def at(self, x: m, y: m) -> SurfacePoint:
        """See `Surface`."""
        c, s = cos(self.yaw), sin(self.yaw)
        along, _ = turned_back(c, s, x, y)
        density = _TURN * (1.0 / self.wavelength)
        angle = density * along + self.phase
        rise = (self.amplitude * density) * cos(angle)
        return SurfacePoint(self.amplitude * sin(angle), c * rise, s * rise)


def _along_line(road: Any, x: m, y: m) -> SurfacePoint:
    c, s = cos(road.yaw), sin(road.yaw)
    along, _ = turned_back(c, s, x - road.x, y - road.y)
    z, rise = sloped_value(road.profile, along)
    return SurfacePoint(z, c * rise, s * rise)


class ProfileRoad(NamedTuple):
    """Heights along a straight line, the same everywhere across it, with kinks at the points.

    Before the first and behind the last point it is level.
    """

    profile: HeightProfile
    """Heights over the way along the line."""
    x: m = 0.0
    """Where the line begins, in the world."""
    y: m = 0.0
    """Where the line begins, in the world."""
    yaw: rad = 0.0
    """Direction of the line, from the x axis of the world, positive to the left."""

    def at(self, x: m, y: m) -> SurfacePoint:
        """See `Surface`."""
        return _along_line(self, x, y)


class SmoothProfileRoad(NamedTuple):
    """Heights along a straight line with a smooth curve through them."""

    profile: SmoothProfile
    """Heights over the way along the line."""
    x: m = 0.0
    """Where the line begins, in the world."""
    y: m = 0.0
    """Where the line begins, in the world."""
    yaw: rad = 0.0
    """Direction of the line, from the x axis of the world, positive to the left."""

    def at(self, x: m, y: m) -> SurfacePoint:
        """See `Surface`."""
        return _along_line(self, x, y)


class GridRoad(NamedTuple):
    """Heights at the points of a lattice over x and y, bilinear between them.

    Outside it is as high as at the nearest point of the border.
    """

    heights: HeightGrid
    """Heights over x and y of the world."""

    def at(self, x: m, y: m) -> SurfacePoint:
        """See `Surface`."""
        return SurfacePoint(*sloped_value(self.heights, x, y))


class SmoothGridRoad(NamedTuple):
    """Heights at the points of a lattice over x and y with a smooth surface through them."""

    heights: SmoothGrid
    """Heights over x and y of the world."""

    def at(self, x: m, y: m) -> SurfacePoint:
        """See `Surface`."""
        return SurfacePoint(*sloped_value(self.heights, x, y))
