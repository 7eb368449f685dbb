"""What a world file says about the surroundings: maps, ground, walls and regions."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from ...body import Outline, Point
from ...brief import brief_repr
from ...plane.maps import Grid
from ...road.road import Road
from ...units import m, non_negative, one, positive
from .fields import NOWHERE, READ, Source
from .shapes import ORIGIN, Keyframe, Pose


@dataclass(frozen=True, eq=False)
class OccupancyGrid:
    """A map of square cells that vehicles and blocks collide with and lidars see."""

    grid: Grid
    restitution: Annotated[one, READ, non_negative] = 0.01
    lateral_friction: Annotated[one, READ, non_negative] = 0.5
    source: Source = NOWHERE


@dataclass(frozen=True, eq=False)
class ElevationMap:
    """Heights of the ground on a square lattice."""

    heights: NDArray[np.float64]
    """In m, shape (along x, along y), at least 2 x 2, read-only."""
    resolution: m = 1.0
    """Distance of the points of the lattice."""
    corner: Point = (0.0, 0.0)
    """Least x and y."""
    source: Source = NOWHERE

    __repr__ = brief_repr

    @property
    def road(self) -> Road:
        """The same heights as a road, which goes on beyond the map as high as its border."""
        return Road.grid(self.heights, self.corner, self.resolution)


@dataclass(frozen=True, eq=False)
class RoadGround:
    """A road that everything stands on: its heights are the ground, its grip is under wheels."""

    road: Road
    source: Source = NOWHERE

    __repr__ = brief_repr


@dataclass(frozen=True)
class HorizontalPlane:
    """A rectangle of flat ground, which may move as a lift does."""

    x_min: Annotated[m, READ] = -10.0
    x_max: Annotated[m, READ] = 10.0
    y_min: Annotated[m, READ] = -10.0
    y_max: Annotated[m, READ] = 10.0
    z: Annotated[m, READ] = 0.0
    pose: Pose = ORIGIN
    """Moves the rectangle."""
    animation: tuple[Keyframe, ...] = ()
    source: Source = field(default=NOWHERE, compare=False)

    __repr__ = brief_repr


@dataclass(frozen=True)
class Opening:
    """A gap in a vertical plane."""

    kind: Literal["door", "window"]
    """One can pass a door; a window keeps vehicles out."""
    position: Annotated[one, READ] = 0.0
    """Of its middle along the wall, 0 at the start, 1 at the end."""
    width: Annotated[m, READ, positive] = 1.0
    z_min: Annotated[m, READ] = 0.0
    z_max: Annotated[m, READ] = 2.1
    name: str = ""


@dataclass(frozen=True)
class VerticalPlane:
    """A wall from one point to another, with doors and windows."""

    x0: Annotated[m, READ] = -10.0
    y0: Annotated[m, READ] = -10.0
    x1: Annotated[m, READ] = -10.0
    y1: Annotated[m, READ] = 10.0
    z: Annotated[m, READ] = 0.0
    height: Annotated[m, READ, positive] = 3.0
    thickness: Annotated[m, READ, positive] = 0.02
    restitution: Annotated[one, READ, non_negative] = 0.01
    openings: tuple[Opening, ...] = ()
    source: Source = field(default=NOWHERE, compare=False)

    __repr__ = brief_repr


@dataclass(frozen=True)
class PropertyRegion:
    """A box in which a property has a value: friction_mu, friction_C_rr, gps_no_coverage, ..."""

    name: str
    value: float | bool | str
    x_min: Annotated[m, READ] = -inf
    x_max: Annotated[m, READ] = inf
    y_min: Annotated[m, READ] = -inf
    y_max: Annotated[m, READ] = inf
    z_min: Annotated[m, READ] = -inf
    z_max: Annotated[m, READ] = inf
    source: Source = field(default=NOWHERE, compare=False)

    def __contains__(self, point: tuple[m, m, m]) -> bool:
        """Whether a point of the world lies in the box; its faces belong to it."""
        x, y, z = point
        return (
            self.x_min <= x <= self.x_max
            and self.y_min <= y <= self.y_max
            and self.z_min <= z <= self.z_max
        )


Element = (
    OccupancyGrid | ElevationMap | RoadGround | HorizontalPlane | VerticalPlane | PropertyRegion
)
"""What a `<element>` of a world file may be."""


@dataclass(frozen=True)
class WallSpec:
    """A straight piece of `<walls>`: a box that stands still."""

    name: str
    start: Point
    end: Point
    """Ends as the file has them."""
    outline: Outline
    """Corners in the world, counter-clockwise; longer than the piece where it meets another."""
    height: m = 2.0
    thickness: m = 0.1
    source: Source = field(default=NOWHERE, compare=False)
