"""Grip of a road by position, by the class of a record, and grids of it from patches.

Grip is a factor: that under a wheel over that on which its tyre was measured. 1 is the road of the
tyre, 0.3 a road with three tenths of its friction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Protocol

import numpy as np

from ..arrays import Array
from ..brief import brief_repr, shown
from ..checks import must_be
from ..checks import positive as positive_number
from ..errors import InvalidValue
from ..ops import interpolate
from ..plane.polygon import enclosed, ring_of
from ..random.patches import Patch, on_top, same_for_all
from ..units import m, non_negative, one
from .grids import GripValues, grid_of

__all__ = ["Area", "FullGrip", "Grip", "GripGrid", "PolygonPatch", "UniformGrip", "grip_of_patches"]

Area = tuple[float, float, float, float]
"""Least x, least y, largest x, largest y of a rectangle in the world, in m."""
_MOST_POINTS = 100_000_000
"""Of a grid of grip."""


class Grip(Protocol):
    """What every grip has."""

    def at(self, x: m, y: m) -> one:
        """Grip at a place of the world."""
        ...


class FullGrip(NamedTuple):
    """Everywhere that of the road on which the tyres were measured."""

    def at(self, x: m, y: m) -> one:
        """See `Grip`."""
        return 1.0


class UniformGrip(NamedTuple):
    """The same everywhere."""

    mu: Annotated[one, non_negative] = 1.0
    """Grip over that on which the tyres were measured."""

    def at(self, x: m, y: m) -> one:
        """See `Grip`."""
        return self.mu


class GripGrid(NamedTuple):
    """At the points of a lattice over x and y, bilinear between them; outside as at the border."""

    mu: GripValues
    """Grip over x and y of the world."""

    def at(self, x: m, y: m) -> one:
        """See `Grip`."""
        return interpolate(self.mu, x, y)


@dataclass(frozen=True, repr=False)
class PolygonPatch:
    """A patch of ground inside a ring of points, its border included."""

    value: float
    """Its grip."""
    ring: Any
    """Corners (n, 2) in the world, in m, in order; the last is joined to the first."""

    def __post_init__(self) -> None:
        must_be("PolygonPatch.value", self.value, non_negative)
        object.__setattr__(self, "ring", ring_of("PolygonPatch.ring", self.ring))

    __repr__ = brief_repr


def grip_grid(values: Any, start: Any, step: Any) -> GripGrid:
    """The grip of values at the points of a lattice."""
    mu = grid_of(GripValues, values, start, step)
    if not (np.isfinite(mu.values.values).all() and (mu.values.values >= 0.0).all()):
        raise InvalidValue("grip must be finite and at least 0 everywhere")
    return GripGrid(mu)


def grip_of_patches(
    patches: Sequence[Patch | PolygonPatch], base: float, step: float, area: Area | None
) -> GripGrid:
    """The grid of patches on top of each other, later ones above earlier ones, and `base` around.

    An edge of a patch is as sharp as the distance of the points. Without `area` the grid goes
    around all patches.
    """
    must_be("base", base, non_negative)
    positive_number("step", step, "m")
    for k, patch in enumerate(patches):
        if not isinstance(patch, (Patch, PolygonPatch)):
            raise InvalidValue(
                f"patches[{k}] = {patch!r} must be a Patch, a strip or a PolygonPatch"
            )
    low, high = np.reshape(_area_of(patches) if area is None else _checked_area(area), (2, 2))
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
        values = _covered(patch, x, y, values)
    values = values.reshape(xs.size, ys.size)
    if area is None:
        for edge in (np.s_[0], np.s_[-1], np.s_[:, 0], np.s_[:, -1]):
            values[edge] = base
    return grip_grid(values, (xs[0], ys[0]), step)


def _covered(patch: Patch | PolygonPatch, x: Array, y: Array, below: Array) -> Array:
    if isinstance(patch, Patch):
        return on_top(same_for_all((patch,)), x, y, below)
    inside = enclosed(np.stack([x, y], axis=-1), patch.ring)
    return np.where(inside, patch.value, below)


def _corners(patch: Patch | PolygonPatch) -> Array:
    if isinstance(patch, PolygonPatch):
        return patch.ring
    if not (math.isfinite(patch.length) and math.isfinite(patch.width)):
        raise InvalidValue(
            f"area = None: {patch!r} has no end; say with area=(x, y, x, y) where the grid of grip "
            "begins and ends"
        )
    along = 0.5 * patch.length * np.array([math.cos(patch.yaw), math.sin(patch.yaw)])
    across = 0.5 * patch.width * np.array([-math.sin(patch.yaw), math.cos(patch.yaw)])
    middle = np.array([patch.x, patch.y])
    return np.array([middle + i * along + j * across for i in (-1, 1) for j in (-1, 1)])


def _area_of(patches: Sequence[Patch | PolygonPatch]) -> Array:
    if not patches:
        raise InvalidValue("patches is empty: give at least one")
    corners = np.concatenate([_corners(patch) for patch in patches])
    return np.array([corners.min(axis=0), corners.max(axis=0)])


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
