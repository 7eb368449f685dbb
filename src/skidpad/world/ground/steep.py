"""Ground too steep to get onto: it stops vehicles as an obstacle does.

Upstream's rule: where the ground under a corner of the chassis is higher than the mean ground under
the wheels by more than 0.55 wheel diameters, a square stands around that corner, the larger the
faster the vehicle is. Its middle is on a lattice of its own half side.

By that rule a long car cannot drive up an even ramp of 20 %. Without `compat="upstream"` the ground
also has to be that much higher than the plane that the vehicle lies on. And a wheel that reaches
out of the chassis is stopped where the ground rises beside it by more than that step on the length
of its radius.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import hypot

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...units import m
from ...vehicles.wheeled import Description, Wheel
from ..contact.contacts import Contacts
from ..contact.outline import Point, contains
from ..contact.solids import Square, Surface
from ..motion.bodies import Bodies
from ..motion.build import OWN_OUTLINE
from ..scene.scene import VehicleSpec
from .footing import in_world
from .ground import Ground

STEEP = Surface(friction=0.5, restitution=0.1, skin=0.001)
STEP = 0.55
"""How high a step may be, in diameters of the first wheel."""
LEAST: m = 0.01
"""Half side of the obstacles of a vehicle at rest."""
PER_SPEED = 0.07
"""In s: how much the half side grows with the speed."""
_OWN_DIAMETER: m = 0.6
_OWN_HEIGHT: m = 1.5
"""Of wheels and chassis of skidpad's own vehicles, as far as steep ground goes."""


class SteepGround:
    """Obstacles of steep ground before vehicles.

    Args:
        bodies: the vehicles, by groups.
        specs: what the scene says about them, by name.
        upstream: whether to keep to upstream's rule.
    """

    def __init__(
        self, bodies: Sequence[Bodies], specs: Mapping[str, VehicleSpec], *, upstream: bool
    ) -> None:
        self._bodies, self._upstream = bodies, upstream
        self._names = [name for them in bodies for name in them.group.names]
        them = [specs[name] for name in self._names]
        feelers = [_corners(s) + ([] if upstream else _wheel_corners(s)) for s in them]
        most = max((len(row) for row in feelers), default=0)
        # Shorter rows repeat their last one.
        rows = [row + row[-1:] * (most - len(row)) for row in feelers]
        self._points = np.array([[point for point, _, _ in row] for row in rows])
        self._step = np.array([[step for _, step, _ in row] for row in rows])
        self._wheel = np.array([[wheel for _, _, wheel in row] for row in rows])
        # What hangs higher than the chassis is driven under.
        heights = [_OWN_HEIGHT if s.shape is None else s.shape.z_max for s in them]
        self._top = 1.05 * np.array(heights)[:, None]
        self._stopped: list[int] = []

    def look(self, ground: Ground, contacts: Contacts) -> Sequence[int]:
        """Put obstacles where vehicles cannot go; returns the numbers of those that have some.

        Vehicles are counted through all groups.
        """
        if not self._names:
            return []
        under = [ground.heights_under(k) for k in range(len(self._bodies))]
        mean = np.concatenate([heights.mean(axis=1, keepdims=True) for heights in under])
        x, y = in_world(np.concatenate([them.poses for them in self._bodies]), self._points)
        z = ground.heights_at(x, y, mean + self._top, solid=not self._upstream)
        lowest = np.concatenate([heights.min(axis=1, keepdims=True) for heights in under])
        steep = z - (mean if self._upstream else lowest) > self._step
        if steep.any() and not self._upstream:
            steep &= z - self._level(ground, mean) > self._step
        stopped = np.flatnonzero(steep.any(axis=1)).tolist() if steep.any() else []
        if stopped or self._stopped:
            self._obstruct(contacts, stopped, np.stack([x, y], axis=2), steep)
        return stopped

    def _obstruct(
        self, contacts: Contacts, stopped: list[int], places: Array, steep: NDArray[np.bool_]
    ) -> None:
        speed = np.concatenate([them.speed() for them in self._bodies])
        for row in sorted({*stopped, *self._stopped}):
            half = LEAST + PER_SPEED * float(speed[row])
            middles = np.unique(np.round(places[row][steep[row]] / half), axis=0) * half
            squares = [Square(x, y, half, STEEP) for x, y in middles.tolist()]
            contacts.obstruct(self._names[row], squares)
        self._stopped = stopped

    def _level(self, ground: Ground, mean: Array) -> Array:
        """Heights from which the ground counts at the points, (B, n)."""
        level, first = np.broadcast_to(mean, self._step.shape).copy(), 0
        for k, them in enumerate(self._bodies):
            rows = slice(first, first + len(them.group.names))
            first = rows.stop
            z, pitch, roll = (v[:, None] for v in ground.lying(k))
            along = 0.0 - np.tan(pitch)
            across = np.tan(roll) * np.hypot(1.0, along)
            points, wheel = self._points[rows], self._wheel[rows]
            plane = z + along * points[..., 0] + across * points[..., 1]
            level[rows] = np.maximum(level[rows], plane)
            under = ground.wheel_heights(k)
            if under is not None:
                own = np.take_along_axis(under, np.maximum(wheel, 0), axis=1)
                level[rows] = np.where(wheel < 0, level[rows], own)
        return level


_Feeler = tuple[Point, m, int]
"""A point of a vehicle, how much higher the ground may be there, and than under which wheel;
negative: than under all of them."""


def _corners(spec: VehicleSpec) -> list[_Feeler]:
    """Corners of the chassis."""
    wheels = _wheels(spec)
    diameter = wheels[0].diameter if wheels else _OWN_DIAMETER
    return [(point, STEP * diameter, -1) for point in _outline(spec)]


def _wheel_corners(spec: VehicleSpec) -> list[_Feeler]:
    """Corners of wheels that are not under the chassis."""
    found: list[_Feeler] = []
    for k, wheel in enumerate(
        spec.dynamics.wheels if isinstance(spec.dynamics, Description) else ()
    ):
        a, b = 0.5 * wheel.diameter, 0.5 * wheel.width
        for u, v in ((-a, -b), (a, -b), (a, b), (-a, b)):
            point = wheel.x + u, wheel.y + v
            if not contains(_outline(spec), point):
                found.append((point, 2.0 * STEP * hypot(u, v), k))
    return found


def _wheels(spec: VehicleSpec) -> Sequence[Wheel]:
    return spec.dynamics.wheels if isinstance(spec.dynamics, Description) else ()


def _outline(spec: VehicleSpec) -> tuple[Point, ...]:
    return OWN_OUTLINE if spec.shape is None else spec.shape.outline
