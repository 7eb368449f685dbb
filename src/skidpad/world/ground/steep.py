"""Ground too steep to get onto: it stops vehicles as an obstacle does.

Upstream's rule: where the ground under a corner of the chassis is higher than the mean ground under
the wheels by more than 0.55 wheel diameters, a square stands around that corner, the larger the
faster the vehicle is. Its middle is on a lattice of its own half side.

By that rule a long car cannot drive up an even ramp of 20 %. Without `compat="upstream"` the ground
also has to be that much higher than the plane that the vehicle lies on. And a wheel that reaches
out of the chassis is stopped where the ground rises beside it by more than that step on the length
of its radius. The square then has a side along the rise, at most as far behind the corner as this
came in a step, so that a vehicle is stopped and not thrown back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import hypot
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...body import Geometry, Point
from ...plane.polygon import enclosed
from ...units import m, m_s, s
from ..contact.contacts import Contacts
from ..contact.solids import Points, Square, Surface
from ..motion.bodies import Bodies
from ..motion.build import BuiltVehicle
from .footing import in_world
from .ground import Ground

STEEP = Surface(friction=0.5, restitution=0.1, skin=0.001)
STEP = 0.55
"""How high a step may be, in diameters of the first wheel."""
LEAST: m = 0.01
"""Half side of the obstacles of a vehicle at rest."""
PER_SPEED = 0.07
"""In s: how much the half side grows with the speed."""
_INSIDE: m = 0.1
"""How far inside of or behind points it is looked whether the ground is as high there."""
_LEAVES: m_s = 0.05
"""How fast a point moves inwards if a vehicle leaves what is there."""
_NO_WHEEL: m = 0.6
"""Diameter of the wheels that a vehicle without any is taken to have."""
_DEEPEST: m = 0.007
"""Depth beyond the way of a step from which points are pushed out; the solver leaves 5 mm."""
_RINGS: tuple[m, ...] = (0.02, 0.1, 0.3)
"""Distances around a point, beyond the way of a step, at which lower ground is looked for."""
_ANGLES = np.arange(32) * (np.pi / 16.0)
_DIRECTIONS = np.stack([np.cos(_ANGLES), np.sin(_ANGLES)], axis=1)
_DEPTHS = np.linspace(0.0, 1.0, 9)


class SteepGround:
    """Obstacles of steep ground before vehicles.

    Args:
        bodies: the vehicles, by groups.
        built: the same by name.
        dt: length of a step.
        upstream: whether to keep to upstream's rule.
    """

    def __init__(
        self,
        bodies: Sequence[Bodies],
        built: Mapping[str, BuiltVehicle],
        dt: s,
        *,
        upstream: bool,
    ) -> None:
        self._bodies, self._dt, self._upstream = bodies, dt, upstream
        self._names = [name for them in bodies for name in them.group.names]
        shapes = [built[name].geometry for name in self._names]
        feelers = [_corners(s) + ([] if upstream else _wheel_corners(s)) for s in shapes]
        most = max((len(row) for row in feelers), default=0)
        # Shorter rows repeat their last one.
        rows = [row + row[-1:] * (most - len(row)) for row in feelers]
        self._points = np.array([[point for point, _, _ in row] for row in rows])
        self._step = np.array([[step for _, step, _ in row] for row in rows])
        self._wheel = np.array([[wheel for _, _, wheel in row] for row in rows])
        # What hangs higher than the chassis is driven under.
        self._top = 1.05 * np.array([built[name].height for name in self._names])[:, None]
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
        level = mean
        if not self._upstream:
            loose = ground.loose
            if steep.any():
                level = self._level(ground, mean)
                steep &= z - level > self._step
                hung = steep & self._hung(ground, mean, level, loose[:, None])
                steep &= ~hung
            else:
                hung = steep
            if loose.any():
                ground.tighten(np.logical_or.reduce(hung, axis=1))
        stopped = np.flatnonzero(steep.any(axis=1)).tolist() if steep.any() else []
        if stopped or self._stopped:
            places, speeds = np.stack([x, y], axis=2), self._speeds()
            for row in sorted({*stopped, *self._stopped}):
                at, speed = places[row][steep[row]], speeds[row]
                if self._upstream or not len(at):
                    squares = _on_lattice(at, LEAST + PER_SPEED * speed)
                else:
                    limits = np.broadcast_to(level, steep.shape)[row] + self._step[row]
                    look = _Look(
                        ground, limits[steep[row]], float(mean[row, 0] + self._top[row, 0])
                    )
                    outlines = contacts.outlines(self._names[row])
                    squares = self._against(look, row, at, speed, outlines)
                contacts.obstruct(self._names[row], squares)
            self._stopped = stopped
        return stopped

    def _speeds(self) -> list[m_s]:
        return np.concatenate([them.speeds() for them in self._bodies]).tolist()

    def _hung(
        self, ground: Ground, mean: Array, level: Array, loose: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Whether points (B, n) are over ground that vehicles do not drive against.

        Below one that is `loose` this is the edge over which it goes: ground as high as under the
        point is inside of it, or where it comes from. What lies behind as a vehicle moves, and does
        not rise as a wall does, stops it as little.
        """
        motions = np.concatenate([them.motions for them in self._bodies])
        offsets = self._points - self._points.mean(axis=1, keepdims=True)
        away = offsets / np.maximum(np.linalg.norm(offsets, axis=2, keepdims=True), LEAST)
        turning = motions[:, None, 5:] * np.stack([-offsets[..., 1], offsets[..., 0]], axis=2)
        velocity = motions[:, None, 3:5] + turning
        speed = np.linalg.norm(velocity, axis=2, keepdims=True)
        ahead = np.where(speed > _LEAVES, velocity / np.maximum(speed, _LEAVES), away)

        def rise(direction: Array) -> Array:
            x, y = in_world(motions[:, :3], self._points - _INSIDE * direction)
            return ground.heights_at(x, y, mean + self._top, solid=True) - level

        inside = rise(away)
        lags = (away * velocity).sum(axis=2) < -_LEAVES
        edge = (inside > self._step) | (rise(ahead) > self._step)
        return (lags & (inside > 0.5 * self._step)) | (loose & edge)

    def _against(
        self, look: _Look, row: int, at: Array, speed: m_s, outlines: Sequence[Points]
    ) -> list[Square]:
        """Squares before points (k, 2) of a vehicle on steep ground: with a side where the ground
        rises, or farther off, so that no part of the vehicle is deep inside."""
        motions = np.concatenate([them.motions for them in self._bodies])[row]
        arms = at - motions[:2]
        ways = self._dt * np.hypot(
            motions[3] - motions[5] * arms[:, 1], motions[4] + motions[5] * arms[:, 0]
        )
        middle = np.mean(in_world(motions[None, :3], self._points[row : row + 1]), axis=(1, 2))
        ahead = look.downhill(at, ways, middle - at)
        deepest = ways + _DEEPEST
        steps = deepest[:, None] * _DEPTHS
        out = ~look.steep(at[:, None] + steps[..., None] * ahead[:, None])
        depth = np.where(out.any(axis=1), steps[np.arange(len(at)), out.argmax(axis=1)], deepest)
        half = np.maximum(LEAST + PER_SPEED * speed, 2.0 * deepest)
        corners = [in_world(motions[None, :3], np.array([outline])) for outline in outlines]
        sides = [_sides(np.stack(xy, axis=2)[0]) for xy in corners]
        behind = _reach_behind(np.concatenate(sides), at, ahead, half)
        middles = at + (depth - half - behind)[:, None] * ahead
        return [
            Square(x, y, side, STEEP, (u, v))
            for (x, y), side, (u, v) in zip(
                middles.tolist(), half.tolist(), ahead.tolist(), strict=True
            )
        ]

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


class _Look(NamedTuple):
    """Ground around some points of a vehicle."""

    ground: Ground
    limits: Array
    """Heights above which it is steep for each of the points, (k,)."""
    reach: m
    """Height up to which it counts."""

    def steep(self, places: Array) -> NDArray[np.bool_]:
        """Whether the ground at n places around each point, (k, n, 2), is too high."""
        x, y = places[..., 0], places[..., 1]
        z = self.ground.heights_at(x, y, np.full(x.shape, self.reach), solid=True)
        return z > self.limits[:, None]

    def downhill(self, at: Array, ways: Array, otherwise: Array) -> Array:
        """Unit vectors (k, 2) from steep ground at points to lower ground near by; in the direction
        `otherwise` where that is nowhere in particular."""
        ahead = otherwise
        for ring in reversed(_RINGS):
            around = at[:, None] + (ring + ways)[:, None, None] * _DIRECTIONS
            sums = (~self.steep(around)).astype(float) @ _DIRECTIONS
            clear = np.linalg.norm(sums, axis=1, keepdims=True) > 0.5
            ahead = np.where(clear, sums, ahead)
        length = np.linalg.norm(ahead, axis=1, keepdims=True)
        return np.where(length > 0.0, ahead / np.where(length > 0.0, length, 1.0), _DIRECTIONS[0])


def _sides(corners: Array) -> Array:
    """Sides (n, 2, 2) of an outline (n, 2)."""
    return np.stack([corners, np.roll(corners, -1, axis=0)], axis=1)


def _reach_behind(sides: Array, at: Array, ahead: Array, half: Array) -> Array:
    """Distances (k,) by which sides (n, 2, 2) reach behind points (k, 2), seen along `ahead`
    (k, 2), within strips of the half widths (k,) around these."""
    seen = sides[None] - at[:, None, None]
    along = (seen * ahead[:, None, None]).sum(axis=3)
    across = seen[..., 1] * ahead[:, None, None, 0] - seen[..., 0] * ahead[:, None, None, 1]
    way = across[..., 1] - across[..., 0]
    way = np.where(np.abs(way) < 1e-12, 1e-12, way)
    # Parts of the sides between the edges of the strip, as shares of their lengths.
    cuts = np.stack([(edge - across[..., 0]) / way for edge in (-half[:, None], half[:, None])])
    first, last = np.clip(cuts.min(axis=0), 0.0, 1.0), np.clip(cuts.max(axis=0), 0.0, 1.0)
    rise = along[..., 1] - along[..., 0]
    lowest = along[..., 0] + np.minimum(first * rise, last * rise)
    inside = (np.minimum(across[..., 0], across[..., 1]) <= half[:, None]) & (
        np.maximum(across[..., 0], across[..., 1]) >= -half[:, None]
    )
    return np.maximum(0.0, -np.where(inside, lowest, 0.0).min(axis=1))


def _on_lattice(at: Array, half: m) -> list[Square]:
    """Squares around points (k, 2), their middles on a lattice of half their sides."""
    middles = np.unique(np.round(at / half), axis=0) * half
    return [Square(x, y, half, STEEP) for x, y in middles.tolist()]


_Feeler = tuple[Point, m, int]
"""A point of a vehicle, how much higher the ground may be there, and than under which wheel;
negative: than under all of them."""


def _corners(shape: Geometry) -> list[_Feeler]:
    """Corners of the chassis."""
    diameter = 2.0 * shape.wheels[0].radius if shape.wheels else _NO_WHEEL
    return [(point, STEP * diameter, -1) for outline in shape.outlines for point in outline]


def _wheel_corners(shape: Geometry) -> list[_Feeler]:
    """Corners of wheels that are not under the chassis."""
    corners: list[_Feeler] = []
    for k, wheel in enumerate(shape.wheels):
        a, b = wheel.radius, 0.5 * wheel.width
        for u, v in ((-a, -b), (a, -b), (a, b), (-a, b)):
            point = wheel.x + u, wheel.y + v
            if not any(enclosed(np.array([point]), np.array(o))[0] for o in shape.outlines):
                corners.append((point, 2.0 * STEP * hypot(u, v), k))
    return corners
