"""Footprints: what a vehicle covers of the ground, around the point its pose is given for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...brief import brief_repr
from ...checks import finite, positive
from ...errors import InvalidValue
from ...units import m
from ..polygon import FARTHEST, frozen, points_of, ring_of, signed_area
from ..pose import points_to_world


@dataclass(frozen=True, eq=False)
class Footprint:
    """Convex polygons fixed to a vehicle; their borders belong to it.

    Coordinates are in m in the vehicle's axes, x forward and y to the left, from its body point:
    the point whose x, y and yaw the poses are.
    """

    parts: tuple[Array, ...]
    """Corners of each part, counter-clockwise, shape (k, 2); parts may overlap."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        parts = tuple(_convex(f"part {k}", part) for k, part in enumerate(self.parts))
        if not parts:
            raise InvalidValue("a footprint needs at least one part")
        object.__setattr__(self, "parts", parts)

    @classmethod
    def rectangle(cls, *, length: m, width: m, rear: m) -> Footprint:
        """A rectangle whose rear end lies `rear` behind the body point, centred sideways.

        It reaches from -rear to length - rear along x, so `rear` below 0 is all in front.
        """
        length, width = positive("length", length, "m"), positive("width", width, "m")
        rear = finite("rear", rear, "m")
        front, side = length - rear, width / 2.0
        corners = [(-rear, -side), (front, -side), (front, side), (-rear, side)]
        return cls((np.array(corners),))

    @classmethod
    def polygons(cls, parts: Iterable[Any]) -> Footprint:
        """A footprint of convex polygons, each a list of corners (x, y) in m, in either sense."""
        return cls(tuple(parts))

    @cached_property
    def radius(self) -> m:
        """Distance of the farthest corner from the body point."""
        return float(max(np.hypot(part[:, 0], part[:, 1]).max() for part in self.parts))

    def at(self, pose: Any) -> tuple[Array, ...]:
        """Corners (n, 2) of each part in the world for a pose x, y, yaw."""
        place, *_ = poses_of("pose", pose)
        return tuple(points_to_world(place, part) for part in self.parts)

    @cached_property
    def arrays(self) -> tuple[Array, NDArray[np.int64]]:
        """The corners of all parts in a row, and where each part begins and the last one ends."""
        counts = [len(part) for part in self.parts]
        return np.concatenate(self.parts), np.cumsum([0, *counts], dtype=np.int64)


def poses_of(name: str, values: Any) -> Array:
    """Poses x, y, yaw as an array (B, 3) of its own; raises unless all are finite."""
    try:
        poses = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidValue(f"{name} must hold numbers x, y, yaw: {error}") from error
    if poses.ndim == 1:
        poses = poses[None]
    if poses.ndim != 2 or poses.shape[1] != 3:
        raise InvalidValue(f"{name} has shape {np.shape(values)}; allowed are (3,) and (B, 3)")
    # The largest number stands for all of them, as each call has to look at its poses.
    largest = np.abs(poses).max(initial=0.0)
    if not largest <= FARTHEST:
        points_of(name, poses[:, :2], 0, lambda k: f"{name}[{k}]")
        wrong = np.flatnonzero(~(np.abs(poses[:, 2]) <= FARTHEST))[0]
        raise InvalidValue(f"{name}[{wrong}]: yaw = {poses[wrong, 2]} must be finite and small")
    return poses


def _convex(name: str, corners: Any) -> Array:
    ring = ring_of(f"footprint, {name}", corners)
    if signed_area(ring) < 0.0:
        ring = ring[::-1]
    ahead = np.roll(ring, -1, axis=0) - ring
    turns: Array = ahead[:, 0] * np.roll(ahead[:, 1], -1) - ahead[:, 1] * np.roll(ahead[:, 0], -1)
    headings = np.unwrap(np.arctan2(ahead[:, 1], ahead[:, 0]), period=2.0 * np.pi)
    wrong = np.flatnonzero(turns < 0.0)
    if wrong.size:
        x, y = ring[(wrong[0] + 1) % len(ring)]
        raise InvalidValue(
            f"footprint, {name}: the corner ({x:g}, {y:g}) points inwards; parts must be convex"
        )
    if headings[-1] - headings[0] > 2.0 * np.pi:
        raise InvalidValue(f"footprint, {name}: its edges cross; parts must be convex")
    return frozen(np.ascontiguousarray(ring))
