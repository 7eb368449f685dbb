"""What vehicles look like on pictures: what is drawn on the plain outline shows which end is front.

Parts are made once for each shape, in its own frame, in m.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..arrays import Array
from ..body import Outline
from ..plane.polygon import stacked_edges
from ..plane.pose import points_to_world
from .canvas import Canvas
from .drawn_vehicle import Drawn, DrawnUnit
from .looks import (
    GLASS,
    GLASS_OPACITY,
    LIGHTS,
    SHADOW,
    SHADOW_OPACITY,
    SURFACE,
    VEHICLES,
    WHEEL,
    WHEEL_EDGE,
    rgb,
    shaded,
)

_FINE = 30.0
"""Length in pixels from which on a unit has an edge, a shadow and wheels."""
_DART = 13.0
"""Length in pixels below which a unit is an arrowhead."""
_LEAST = 8.0
"""Length in pixels that it has at least: smaller ones are drawn larger."""
_NO_QUADS: Array = np.empty((0, 4, 2))


class _Extents(NamedTuple):
    rear: float
    front: float
    right: float
    left: float

    @property
    def length(self) -> float:
        return self.front - self.rear

    @property
    def width(self) -> float:
        return self.left - self.right

    @property
    def middle(self) -> float:
        """From the reference point to the left."""
        return 0.5 * (self.left + self.right)


class _Parts(NamedTuple):
    """Of a unit, in its own frame; what has four corners as arrays (n, 4, 2)."""

    extents: _Extents
    bodies: tuple[Array, ...]
    windows: Array = _NO_QUADS
    lights: Array = _NO_QUADS
    marks: Array = np.empty((0, 4))
    """Segments."""
    mark_width: float = 0.0
    """In m."""


def draw_vehicle(canvas: Canvas, vehicle: Drawn, number: int) -> None:
    """Draw a vehicle with its trailers; its number among all says which colour it has."""
    colour = vehicle.colour or VEHICLES[number % len(VEHICLES)]
    for unit in reversed(vehicle.trailers):
        _Painter(canvas, unit, "trailer", shaded(colour, 0.3), shaded(colour, -0.4)).draw()
    _Painter(canvas, vehicle.vehicle, "vehicle", rgb(colour), shaded(colour, -0.4)).draw()


class _Painter:
    """Draws one unit."""

    def __init__(
        self, canvas: Canvas, unit: DrawnUnit, kind: str, fill: Array, edge: Array
    ) -> None:
        self._canvas, self._unit, self._kind = canvas, unit, kind
        self._fill, self._edge = fill, edge
        self._parts = _parts(unit.outlines, len(unit.wheels), kind)
        extents = self._parts.extents
        self._size = max(extents.length, extents.width) * canvas.scale
        """In pixels."""

    def draw(self) -> None:
        """Draw it as finely as its size allows, if it can be seen at all."""
        if not self._seen():
            return
        if self._size >= _FINE:
            self._draw_finely()
        elif self._size >= _DART:
            self._draw_coarsely()
        else:
            larger = max(1.0, _LEAST / max(self._size, 1e-6))
            self._canvas.polygon(self._placed(larger * _dart(self._parts.extents)), self._fill)

    def _seen(self) -> bool:
        rear, front, right, left = self._parts.extents
        reach = max(front, -rear, left, -right) * 1.5
        x, y, _ = self._unit.pose
        x0, y0, x1, y1 = self._canvas.box
        return x0 - reach < x < x1 + reach and y0 - reach < y < y1 + reach

    def _placed(self, points: Array) -> Array:
        return points_to_world(self._unit.pose, points)

    def _draw_finely(self) -> None:
        canvas, parts = self._canvas, self._parts
        bodies = [self._placed(body) for body in parts.bodies]
        lift = min(0.05 * parts.extents.width * canvas.scale, 5.0) / canvas.scale
        shadow = np.array([0.6 * lift, -lift])
        for body in bodies:
            canvas.polygon(body + shadow, rgb(SHADOW), SHADOW_OPACITY)
        for body in bodies:
            canvas.polygon(body, self._fill)
        canvas.segments(stacked_edges(bodies), 1.2, self._edge)
        canvas.polygons(self._placed(parts.windows), rgb(GLASS), GLASS_OPACITY)
        canvas.polygons(self._placed(parts.lights), rgb(LIGHTS))
        ends = self._placed(parts.marks.reshape(-1, 2)).reshape(-1, 4)
        mark = self._edge if self._kind == "trailer" else rgb(SURFACE)
        canvas.segments(ends, max(1.4, parts.mark_width * canvas.scale), mark)
        _draw_wheels(canvas, self._unit)

    def _draw_coarsely(self) -> None:
        canvas, parts = self._canvas, self._parts
        for body in parts.bodies:
            canvas.polygon(self._placed(body), self._fill)
        if len(parts.windows):
            canvas.polygons(self._placed(parts.windows[:1]), rgb(GLASS), GLASS_OPACITY)
        elif self._kind == "vehicle":
            canvas.polygon(self._placed(_nose(parts.extents)), rgb(SURFACE))


def _draw_wheels(canvas: Canvas, unit: DrawnUnit) -> None:
    if not unit.wheels:
        return
    own = [points_to_world((w.x, w.y, w.yaw), _wheel(w.length, w.width)) for w in unit.wheels]
    wheels = points_to_world(unit.pose, np.stack(own))
    canvas.polygons(wheels, rgb(WHEEL))
    edges = np.concatenate([wheels, np.roll(wheels, -1, axis=1)], axis=2)
    canvas.segments(edges.reshape(-1, 4), 0.8, rgb(WHEEL_EDGE))


@lru_cache(maxsize=64)
def _wheel(length: float, width: float) -> Array:
    half = 0.5 * np.array([length, width])
    box = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]) * half
    return _rounded(box, 0.3 * width)


@lru_cache(maxsize=64)
def _parts(outlines: tuple[Outline, ...], wheels: int, kind: str) -> _Parts:
    shapes = [np.array(outline, dtype=np.float64) for outline in outlines if len(outline) > 2]
    if not shapes:
        shapes = [np.array([[-0.2, -0.2], [0.2, -0.2], [0.2, 0.2], [-0.2, 0.2]])]
    corners = np.concatenate(shapes)
    (rear, right), (front, left) = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
    size = _Extents(rear, front, right, left)
    radius = 0.07 * min(size.length, size.width)
    bodies = tuple(_rounded(shape, radius) for shape in shapes)
    if kind == "trailer":
        return _Parts(size, bodies, marks=_ribs(size), mark_width=0.03)
    if wheels >= 4 and size.length > 1.35 * size.width and len(shapes) == 1:
        return _Parts(size, bodies, _windows(size), _lights(size))
    return _Parts(size, bodies, marks=_chevron(size), mark_width=0.05 * size.width)


def _windows(size: _Extents) -> Array:
    """Windscreen and rear window."""
    front, rear, length = size.front, size.rear, size.length
    screen = _trapezium(front - 0.27 * length, 0.78, front - 0.4 * length, 0.66)
    window = _trapezium(rear + 0.2 * length, 0.66, rear + 0.12 * length, 0.74)
    return np.stack([screen, window]) * (1.0, 0.5 * size.width) + (0.0, size.middle)


def _trapezium(x: float, half: float, other_x: float, other_half: float) -> Array:
    return np.array([(x, -half), (x, half), (other_x, other_half), (other_x, -other_half)])


def _lights(size: _Extents) -> Array:
    half = 0.5 * size.width
    x = size.front - size.length * np.array([0.045, 0.012, 0.035, 0.075])
    y = half * np.array([0.72, 0.42, 0.42, 0.72])
    return np.stack([np.column_stack([x, size.middle + side * y]) for side in (-1.0, 1.0)])


def _chevron(size: _Extents) -> Array:
    """An arrow towards the front."""
    y = size.middle
    reach = min(0.25 * size.width, 0.24 * size.length)
    tip = size.front - 0.16 * size.length
    back = tip - reach
    return np.array([(back, y + reach, tip, y), (tip, y, back, y - reach)])


def _nose(size: _Extents) -> Array:
    """A triangle towards the front."""
    y, side = size.middle, 0.3 * size.width
    tip, base = size.front - 0.08 * size.length, size.front - 0.32 * size.length
    return np.array([(tip, y), (base, y + side), (base, y - side)])


def _dart(size: _Extents) -> Array:
    """An arrowhead as long as the unit, and never so wide that it points nowhere."""
    y, notch, half = size.middle, size.rear + 0.25 * size.length, 0.5 * size.width
    half = min(half, 0.35 * size.length)
    return np.array([(size.front, y), (size.rear, y + half), (notch, y), (size.rear, y - half)])


def _ribs(size: _Extents) -> Array:
    count = max(2, round(size.length / 1.6))
    ribs = np.empty((count - 1, 4))
    ribs[:, ::2] = size.rear + np.arange(1, count)[:, None] * (size.length / count)
    ribs[:, 1::2] = size.right, size.left
    return ribs


def _rounded(ring: Array, radius: float) -> Array:
    """A ring with round corners; where its sides are short, as round as they allow."""
    before, after = np.roll(ring, 1, axis=0) - ring, np.roll(ring, -1, axis=0) - ring
    a, b = (ring + side * _reach(side, radius) for side in (before, after))
    arcs = [
        (1.0 - t) ** 2 * a + 2.0 * t * (1.0 - t) * ring + t**2 * b for t in (0.0, 0.3, 0.7, 1.0)
    ]
    return np.stack(arcs, axis=1, dtype=np.float64).reshape(-1, 2)


def _reach(sides: Array, radius: float) -> Array:
    """How much of each side (n, 2) becomes part of the arc at its end: at most half."""
    length = np.hypot(sides[:, 0], sides[:, 1])
    return np.minimum(radius / np.maximum(length, 1e-9), 0.5)[:, None]
