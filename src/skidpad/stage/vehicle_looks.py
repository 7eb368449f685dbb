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
from .drawn import Drawn, DrawnUnit
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
_LEAST = 8.0
"""Length in pixels that a unit has at least: smaller ones are drawn larger."""


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


class _Parts(NamedTuple):
    """Of a unit, in its own frame."""

    extents: _Extents
    bodies: tuple[Array, ...]
    glass: tuple[Array, ...] = ()
    lights: tuple[Array, ...] = ()
    marks: Array = np.empty((0, 4))
    """Segments."""
    mark_width: float = 0.0
    """In m."""


def draw_vehicle(canvas: Canvas, vehicle: Drawn, number: int) -> None:
    """Draw a vehicle with its trailers; its number among all says which colour it has."""
    colour = vehicle.colour or VEHICLES[number % len(VEHICLES)]
    for unit in reversed(vehicle.trailers):
        _draw_unit(canvas, unit, "trailer", shaded(colour, 0.3), shaded(colour, -0.4))
    _draw_unit(canvas, vehicle.vehicle, "vehicle", rgb(colour), shaded(colour, -0.4))


def _draw_unit(canvas: Canvas, unit: DrawnUnit, kind: str, fill: Array, edge: Array) -> None:
    parts = _parts(unit.outlines, len(unit.wheels), kind)
    size = max(parts.extents.length, parts.extents.width) * canvas.scale
    larger = max(1.0, _LEAST / size)
    fine = size >= _FINE

    def placed(points: Array) -> Array:
        return points_to_world(unit.pose, larger * points)

    bodies = [placed(body) for body in parts.bodies]
    if fine:
        lift = min(0.05 * parts.extents.width * canvas.scale, 5.0) / canvas.scale
        for body in bodies:
            canvas.polygon(body + (0.6 * lift, -lift), rgb(SHADOW), SHADOW_OPACITY)
    for body in bodies:
        canvas.polygon(body, fill)
    if fine:
        canvas.segments(stacked_edges(bodies), 1.2, edge)
    for glass in parts.glass:
        canvas.polygon(placed(glass), rgb(GLASS), GLASS_OPACITY)
    if not fine:
        return
    for light in parts.lights:
        canvas.polygon(placed(light), rgb(LIGHTS))
    if len(parts.marks):
        ends = placed(parts.marks.reshape(-1, 2)).reshape(-1, 4)
        width = max(1.4, parts.mark_width * canvas.scale)
        canvas.segments(ends, width, edge if kind == "trailer" else rgb(SURFACE))
    _draw_wheels(canvas, unit)


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


def _windows(size: _Extents) -> tuple[Array, ...]:
    """Windscreen and rear window."""
    y, half = 0.5 * (size.left + size.right), 0.5 * size.width
    a, b = size.front - 0.27 * size.length, size.front - 0.4 * size.length
    c, d = size.rear + 0.2 * size.length, size.rear + 0.12 * size.length
    return (
        np.array([(a, y - 0.78 * half), (a, y + 0.78 * half), (b, y + 0.66 * half), (b, y - 0.66 * half)]),
        np.array([(c, y - 0.66 * half), (c, y + 0.66 * half), (d, y + 0.74 * half), (d, y - 0.74 * half)]),
    )


def _lights(size: _Extents) -> tuple[Array, ...]:
    y, half = 0.5 * (size.left + size.right), 0.5 * size.width
    x = [size.front - share * size.length for share in (0.045, 0.012, 0.035, 0.075)]
    across = [(y + side * 0.72 * half, y + side * 0.42 * half) for side in (-1.0, 1.0)]
    return tuple(
        np.array([(x[0], outer), (x[1], inner), (x[2], inner), (x[3], outer)])
        for outer, inner in across
    )


def _chevron(size: _Extents) -> Array:
    """An arrow towards the front."""
    y = 0.5 * (size.left + size.right)
    reach = min(0.25 * size.width, 0.24 * size.length)
    tip = size.front - 0.16 * size.length
    back = tip - reach
    return np.array([(back, y + reach, tip, y), (tip, y, back, y - reach)])


def _ribs(size: _Extents) -> Array:
    count = max(2, round(size.length / 1.6))
    x = size.rear + np.arange(1, count) * (size.length / count)
    return np.column_stack([x, np.full_like(x, size.right), x, np.full_like(x, size.left)])


def _rounded(ring: Array, radius: float) -> Array:
    """A ring with round corners; where its sides are short, as round as they allow."""
    before, after = np.roll(ring, 1, axis=0) - ring, np.roll(ring, -1, axis=0) - ring
    a, b = (ring + side * _reach(side, radius) for side in (before, after))
    arcs = [
        (1.0 - t) ** 2 * a + 2.0 * t * (1.0 - t) * ring + t**2 * b for t in (0.0, 0.3, 0.7, 1.0)
    ]
    return np.stack(arcs, axis=1).reshape(-1, 2)


def _reach(sides: Array, radius: float) -> Array:
    """How much of each side (n, 2) becomes part of the arc at its end: at most half."""
    length = np.hypot(sides[:, 0], sides[:, 1])
    return np.minimum(radius / np.maximum(length, 1e-9), 0.5)[:, None]
