"""Records of roads: height and grip, with one record class per kind of road.

A surface is any record with a method `at(x, y)` that returns a `SurfacePoint`. Its numbers are
leaves, so they are parameters of a vehicle that stands on it; its class is the kind of the road.
Grip is a factor: that under a wheel relative to that on which its tyre was measured. 1 is the road
of the tyre, 0.3 a road with three tenths of its friction. `road_record` joins a surface and a grip.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol

import numpy as np

from ..core import record
from ..core.arrays import Array
from ..core.checks import must_be
from ..core.checks import positive as must_be_positive
from ..core.files import brief_repr, shown
from ..core.record import made_once
from ..errors import InvalidValue
from ..geometry.polygon import enclosed, ring_of
from ..geometry.pose import turned, turned_back
from ..ops import Grid1, Grid2, cos, grid, grid_type, interpolate, sin, sloped_value
from ..random.patches import Patch, on_top, same_for_all
from ..units import m, non_negative, one, positive, rad

if TYPE_CHECKING:
    HeightProfile = Grid1
    SmoothProfile = Grid1
    HeightGrid = Grid2
    SmoothGrid = Grid2
    ColumnGrid = Grid2
    GripValues = Grid2
else:
    HeightProfile = grid_type(1, "linear", (m, m))
    """Heights along a line, with straight lines between them."""
    SmoothProfile = grid_type(1, "cubic", (m, m))
    """Heights along a line, with a smooth curve through them."""
    HeightGrid = grid_type(2, "linear", (m, m, m))
    """Heights over two coordinates, bilinear between them."""
    SmoothGrid = grid_type(2, "cubic", (m, m, m))
    """Heights over two coordinates, with a smooth surface through them."""
    ColumnGrid = grid_type(2, "linear", (m, m, one))
    """Heights over a coordinate and the number of a column, bilinear between them."""
    GripValues = grid_type(2, "linear", (one, m, m))
    """Grip over two coordinates, bilinear between them."""


def grid_of(kind: Any, values: Any, start: Any, step: Any) -> Any:
    """Instance of the grid class `kind` with these values; see `skidpad.ops.grid`."""
    return kind(*grid(values, start=start, step=step))


_TURN = 6.283185307179586


class SurfacePoint(NamedTuple):
    """Height and slopes of a road at a point."""

    z: m
    """Height, positive up."""
    z_x: one
    """Slope along the x axis of the world: rise per horizontal distance."""
    z_y: one
    """Slope along the y axis of the world."""


class Surface(Protocol):
    """Interface of road surfaces."""

    def at(self, x: m, y: m) -> SurfacePoint:
        """Height and slopes at a position in the world."""
        ...


class FlatRoad(NamedTuple):
    """Level ground at height 0."""

    def at(self, x: m, y: m) -> SurfacePoint:
        """Height and slopes at a position; see `Surface`."""
        return SurfacePoint(0.0, 0.0, 0.0)


class PlaneRoad(NamedTuple):
    """A plane with a slope along a direction and a bank across it."""

    slope: one = 0.0
    """Rise per horizontal distance along the direction, positive uphill."""
    bank: one = 0.0
    """Rise per horizontal distance to the left of the direction, positive if the left side is
    higher."""
    yaw: rad = 0.0
    """The direction, from the x axis of the world, positive to the left."""
    z: m = 0.0
    """Height at the origin of the world."""

    def at(self, x: m, y: m) -> SurfacePoint:
        """Height and slopes at a position; see `Surface`."""
        z_x, z_y = turned(cos(self.yaw), sin(self.yaw), self.slope, self.bank)
        return SurfacePoint(self.z + z_x * x + z_y * y, z_x, z_y)


class WaveRoad(NamedTuple):
    """Sine waves along a direction, constant across it."""

    amplitude: m = 0.0
    """Height of the crests above the mean."""
    wavelength: Annotated[m, positive] = 10.0
    """Distance from crest to crest."""
    phase: rad = 0.0
    """Phase of the sine at the origin of the world; it rises there if this is 0."""
    yaw: rad = 0.0
    """The direction, from the x axis of the world, positive to the left."""

    def at(self, x: m, y: m) -> SurfacePoint:
        """Height and slopes at a position; see `Surface`."""
        c, s = cos(self.yaw), sin(self.yaw)
        along, _ = turned_back(c, s, x, y)
        density = _TURN * (1.0 / self.wavelength)
        angle = density * along + self.phase
        rise = (self.amplitude * density) * cos(angle)
        return SurfacePoint(self.amplitude * sin(angle), c * rise, s * rise)


def _on_lattice(road: Any, x: m, y: m) -> SurfacePoint:
    """Height and slopes at a position; see `Surface`."""
    return SurfacePoint(*sloped_value(road.heights, x, y))


def _along_line(road: Any, x: m, y: m) -> SurfacePoint:
    """Height and slopes at a position; see `Surface`."""
    c, s = cos(road.yaw), sin(road.yaw)
    along, _ = turned_back(c, s, x - road.x, y - road.y)
    z, rise = sloped_value(road.profile, along)
    return SurfacePoint(z, c * rise, s * rise)


class ProfileRoad(NamedTuple):
    """Heights along a straight line, constant across it, linear between the points.

    It is level before the first and after the last point.
    """

    profile: HeightProfile
    """Heights over the distance along the line."""
    x: m = 0.0
    """x of the start of the line in the world."""
    y: m = 0.0
    """y of the start of the line in the world."""
    yaw: rad = 0.0
    """Direction of the line, from the x axis of the world, positive to the left."""

    at = _along_line


class SmoothProfileRoad(NamedTuple):
    """Heights along a straight line, interpolated by a smooth curve."""

    profile: SmoothProfile
    """Heights over the distance along the line."""
    x: m = 0.0
    """x of the start of the line in the world."""
    y: m = 0.0
    """y of the start of the line in the world."""
    yaw: rad = 0.0
    """Direction of the line, from the x axis of the world, positive to the left."""

    at = _along_line


class GridRoad(NamedTuple):
    """Heights at the points of a lattice over x and y, bilinear between them.

    Outside, the height is that of the nearest point of the border.
    """

    heights: HeightGrid
    """Heights over x and y of the world."""

    at = _on_lattice


class SmoothGridRoad(NamedTuple):
    """Heights at the points of a lattice over x and y, interpolated by a smooth surface."""

    heights: SmoothGrid
    """Heights over x and y of the world."""

    at = _on_lattice


Area = tuple[float, float, float, float]
"""Least x, least y, largest x, largest y of a rectangle in the world, in m."""
_MOST_POINTS = 100_000_000
"""Most points of a grid of grip."""


class Grip(Protocol):
    """Interface of grip records."""

    def at(self, x: m, y: m) -> one:
        """Grip at a position in the world."""
        ...


class FullGrip(NamedTuple):
    """The reference road everywhere: grip 1, that of the road on which the tyres were measured."""

    def at(self, x: m, y: m) -> one:
        """Grip at a position; see `Grip`."""
        return 1.0


class UniformGrip(NamedTuple):
    """The same grip everywhere."""

    mu: Annotated[one, non_negative] = 1.0
    """Grip relative to that on which the tyres were measured."""

    def at(self, x: m, y: m) -> one:
        """Grip at a position; see `Grip`."""
        return self.mu


class GripGrid(NamedTuple):
    """Grip at the points of a lattice over x and y, bilinear between them; constant beyond the
    border."""

    mu: GripValues
    """Grip over x and y of the world."""

    def at(self, x: m, y: m) -> one:
        """Grip at a position; see `Grip`."""
        return interpolate(self.mu, x, y)


@dataclass(frozen=True, repr=False)
class PolygonPatch:
    """A patch of ground inside a ring of points, its border included."""

    value: float
    """Grip of the patch."""
    ring: Any
    """Corners (n, 2) in the world, in m, in order; the last is joined to the first."""

    def __post_init__(self) -> None:
        must_be("PolygonPatch.value", self.value, non_negative)
        object.__setattr__(self, "ring", ring_of("PolygonPatch.ring", self.ring))

    __repr__ = brief_repr


def grip_grid(values: Any, start: Any, step: Any) -> GripGrid:
    """Grip record of values at the points of a lattice."""
    mu = grid_of(GripValues, values, start, step)
    if not (np.isfinite(mu.values.values).all() and (mu.values.values >= 0.0).all()):
        raise InvalidValue("grip must be finite and at least 0 everywhere")
    return GripGrid(mu)


def grip_of_patches(
    patches: Sequence[Patch | PolygonPatch], base: float, step: float, area: Area | None
) -> GripGrid:
    """Grip grid of overlapping patches, later ones on top, with `base` around them.

    Edges of patches are as sharp as the spacing of the points. Without `area` the grid covers all
    patches.
    """
    must_be("base", base, non_negative)
    must_be_positive("step", step, "m")
    for k, patch in enumerate(patches):
        if not isinstance(patch, (Patch, PolygonPatch)):
            raise InvalidValue(
                f"patches[{k}] = {patch!r} must be a Patch, a strip or a PolygonPatch"
            )
    if area is None:
        if not patches:
            raise InvalidValue("patches is empty: give at least one")
        corners = np.concatenate([_corners(patch) for patch in patches])
        low, high = corners.min(axis=0), corners.max(axis=0)
    else:
        low, high = np.reshape(_checked_area(area), (2, 2))
    # One point more on every side has the base, which holds outside.
    first = np.floor(low / step) - 1.0
    counts = np.ceil(high / step) + 1.0 - first + 1.0
    if not counts[0] * counts[1] <= _MOST_POINTS:
        raise InvalidValue(
            f"step = {step:g} m gives {counts[0] * counts[1]:.3g} points of grip; allowed are "
            f"{_MOST_POINTS}"
        )
    xs, ys = (step * (first[k] + np.arange(int(counts[k]))) for k in range(2))
    x, y = (places.ravel() for places in np.meshgrid(xs, ys, indexing="ij"))
    values = np.full(x.size, float(base))
    for patch in patches:
        if isinstance(patch, Patch):
            values = on_top(same_for_all((patch,)), x, y, values)
        else:
            inside = enclosed(np.stack([x, y], axis=-1), patch.ring)
            values = np.where(inside, patch.value, values)
    values = values.reshape(xs.size, ys.size)
    if area is None:
        for edge in (np.s_[0], np.s_[-1], np.s_[:, 0], np.s_[:, -1]):
            values[edge] = base
    return grip_grid(values, (xs[0], ys[0]), step)


def _corners(patch: Patch | PolygonPatch) -> Array:
    if isinstance(patch, PolygonPatch):
        return patch.ring
    if not (math.isfinite(patch.length) and math.isfinite(patch.width)):
        raise InvalidValue(
            f"area = None: {patch!r} is unbounded; give the extent of the grid of grip as "
            "area=(x, y, x, y)"
        )
    along = 0.5 * patch.length * np.array([math.cos(patch.yaw), math.sin(patch.yaw)])
    across = 0.5 * patch.width * np.array([-math.sin(patch.yaw), math.cos(patch.yaw)])
    middle = np.array([patch.x, patch.y])
    return np.array([middle + i * along + j * across for i in (-1, 1) for j in (-1, 1)])


def _checked_area(area: Any) -> Array:
    try:
        corners = np.array(area, dtype=float)
    except (TypeError, ValueError, OverflowError):
        corners = np.array([])
    if corners.shape != (4,) or not np.isfinite(corners).all():
        raise InvalidValue(
            f"area = {shown(area)} must be four numbers: x and y of two corners, in m"
        )
    if not (corners[0] < corners[2] and corners[1] < corners[3]):
        raise InvalidValue(f"area = {shown(area)} must have its lower left corner first")
    return corners


@made_once
def road_type(surface: type, grip: type) -> Any:
    """Record class of roads with these classes of surface and grip."""
    kinds: dict[str, Any] = {"surface": surface, "grip": grip}
    # All or none, so that the fields keep their order.
    whole = all(len(kind._field_defaults) == len(kind._fields) for kind in kinds.values())
    return record.define(
        "RoadRecord",
        kinds,
        {name: kind() for name, kind in kinds.items()} if whole else None,
        docs={"surface": "How high the road is.", "grip": "How much friction it has."},
        doc="A road: how high it is and how much friction it has.",
    )


def road_record(surface: Any, grip: Any) -> Any:
    """Record of a road with a surface and a grip."""
    return road_type(type(surface), type(grip))(surface, grip)


def record_of(road: Any) -> Any:
    """Record of a road, from a record or a `Road`; raises for anything else."""
    made = getattr(road, "record", road)
    if record.is_record_type(type(made)) and getattr(made, "_fields", ()) == ("surface", "grip"):
        return made
    raise InvalidValue(f"road = {road!r} must be a Road or its record")


FLAT = road_record(FlatRoad(), FullGrip())
"""Level ground with the grip on which the tyres were measured."""
