"""Solids: what a stage shows, as shapes in three dimensions.

`body_entities` and `still_entities` expand the bodies and the fixed objects of a `Stage`, which is
flat, into shapes with heights and colours in the coordinates of a named frame. Recordings encode
them as Foxglove scenes; the ROS 2 nodes encode the same kinds of shapes as RViz markers.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import cos, sin, sqrt
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..core.arrays import AnyArray
from ..errors import InvalidValue
from ..geometry.polygon import cleaned, convex_parts
from ..units import m, rad

if TYPE_CHECKING:
    from ..core.body import Wheel as BodyWheel
    from .stage import Body, Point, Relief, Stage, Wheel

Colour = tuple[float, float, float, float]
"""Red, green, blue and opacity, from 0 to 1."""
Position = tuple[m, m, m]
Quaternion = tuple[float, float, float, float]
"""Quaternion x, y, z, w."""
Placement = tuple[Position, Quaternion]
"""Position and orientation of a solid in its frame."""

UPRIGHT: Quaternion = (0.0, 0.0, 0.0, 1.0)
ORIGIN: Placement = ((0.0, 0.0, 0.0), UPRIGHT)


class Mesh(NamedTuple):
    points: Sequence[Position]
    corners: Sequence[int]
    """Indices of the points, three for each counter-clockwise triangle."""
    colour: Colour


class Box(NamedTuple):
    placement: Placement
    size: tuple[m, m, m]
    """Lengths along its own x, y and z axes; the placement is that of its middle."""
    colour: Colour


class Cylinder(NamedTuple):
    """A cylinder along its own z axis, or a truncated cone."""

    placement: Placement
    size: tuple[m, m, m]
    """Diameters along its own x and y axes, and its height; the placement is that of its middle."""
    colour: Colour
    top: float = 1.0
    """Width at the top as a share of that at the bottom."""


class Polyline(NamedTuple):
    points: Sequence[Position]
    colour: Colour
    closed: bool = False
    """Whether the last point is joined to the first."""
    width: m = 0.08
    placement: Placement = ORIGIN


Solid = Mesh | Box | Cylinder | Polyline


class Entity(NamedTuple):
    """Solids that move together."""

    frame: str
    """Name of the frame of their coordinates."""
    name: str
    solids: Sequence[Solid]


_COLOURS: Mapping[str, Colour] = {
    "vehicle": (0.16, 0.47, 0.84, 1.0),
    "trailer": (0.45, 0.56, 0.66, 1.0),
    "actor": (0.90, 0.49, 0.13, 1.0),
    "block": (0.60, 0.45, 0.30, 1.0),
    "wall": (0.55, 0.57, 0.60, 1.0),
    "region": (0.95, 0.77, 0.06, 0.25),
    "lane": (0.35, 0.37, 0.40, 0.6),
    "field": (0.35, 0.55, 0.35, 0.4),
    "ground": (0.46, 0.47, 0.46, 1.0),
    "cone": (0.95, 0.45, 0.05, 1.0),
    "wheel": (0.12, 0.12, 0.13, 1.0),
    "reference": (0.20, 0.65, 0.33, 1.0),
}
_OTHER: Colour = (0.70, 0.70, 0.70, 1.0)
_NAMED: Mapping[str, Colour] = {
    "blue": (0.10, 0.35, 0.85, 1.0),
    "yellow": (0.98, 0.80, 0.05, 1.0),
    "orange": (0.95, 0.45, 0.05, 1.0),
}
_HEIGHTS: Mapping[str, m] = {"wall": 1.0, "block": 0.5}
"""Drawn heights; a stage is flat, but oblique views show more with some height."""
_MOST_CORNERS = 200
"""Most corners of a filled outline; others are drawn as lines, since triangulation takes time
with the square of the corners."""
MOST_POINTS = 16_000
"""Most points of a mesh of uneven ground; a finer relief is thinned."""


def colour_of(text: str, kind: str) -> Colour:
    """Colour from `#rrggbb`, `#rrggbbaa` or the name of a cone colour; otherwise the colour of the
    kind."""
    if match := re.fullmatch(r"#([0-9a-fA-F]{6})([0-9a-fA-F]{2})?", text.strip()):
        r, g, b = bytes.fromhex(match[1])
        return r / 255.0, g / 255.0, b / 255.0, int(match[2] or "ff", 16) / 255.0
    return _NAMED.get(text, _COLOURS.get(kind, _OTHER))


def planar(x: m, y: m, yaw: rad) -> Placement:
    """Placement on the ground."""
    return (x, y, 0.0), (0.0, 0.0, sin(0.5 * yaw), cos(0.5 * yaw))


def wheel_rotation(yaw: rad) -> Quaternion:
    """Rotation of a cylinder along z into a wheel turned to the left: a quarter turn about x lays
    it down."""
    c, s = sqrt(0.5) * cos(0.5 * yaw), sqrt(0.5) * sin(0.5 * yaw)
    return c, s, s, c


def wheel_solid(
    wheel: Wheel | BodyWheel, x: m, y: m, yaw: rad, colour: Colour = _COLOURS["wheel"]
) -> Cylinder:
    """Wheel standing on the ground at x and y."""
    size = (wheel.length, wheel.length, wheel.width)
    return Cylinder(((x, y, 0.5 * wheel.length), wheel_rotation(yaw)), size, colour)


def upright_solid(x: m, y: m, size: tuple[m, m, m], colour: Colour, top: float = 1.0) -> Cylinder:
    """Post or cone standing on the ground at x and y."""
    return Cylinder(((x, y, 0.5 * size[2]), UPRIGHT), size, colour, top)


def body_entities(frame: str, body: Body) -> Iterator[Entity]:
    """Entities of a body: itself in its frame, then its steered wheels, which have frames of their
    own."""
    if body.outlines:
        x, y = zip(*(point for outline in body.outlines for point in outline), strict=True)
        width = min(max(x) - min(x), max(y) - min(y))
        low = 0.3 * body.wheels[0].length if body.wheels else 0.0
        colour = colour_of(body.colour, body.kind)
        parts = prisms(body.outlines, low, low + 0.45 * width, colour)
        fixed = (wheel for wheel in body.wheels if wheel.steer is None)
        wheels = (wheel_solid(w, w.x, w.y, w.yaw) for w in fixed)
        yield Entity(frame, body.name, [*parts, *wheels])
    for wheel in body.wheels:
        if wheel.steer is not None:
            name = f"{body.name} {wheel.name}"
            turned = wheel_solid(wheel, 0.0, 0.0, 0.0)
            yield Entity(f"{frame}/{wheel.name}", name, [turned])


def still_entities(stage: Stage, frame: str) -> Iterator[Entity]:
    """Entities of the fixed objects of each kind, in the frame of the world."""
    if stage.reliefs:
        yield Entity(frame, "still ground", [relief_mesh(relief) for relief in stage.reliefs])
    for kind in dict.fromkeys(polygon.kind for polygon in stage.polygons):
        by_colour: dict[Colour, list[Sequence[Point]]] = {}
        for polygon in stage.polygons:
            if polygon.kind == kind:
                by_colour.setdefault(colour_of(polygon.colour, kind), []).append(polygon.points)
        parts = (prisms(o, 0.0, _HEIGHTS.get(kind, 0.0), c) for c, o in by_colour.items())
        yield Entity(frame, f"still {kind}", [*itertools.chain(*parts)])
    for kind in dict.fromkeys(line.kind for line in stage.lines):
        alike = (line for line in stage.lines if line.kind == kind)
        lines = [_line(o.points, colour_of(o.colour, kind)) for o in alike]
        yield Entity(frame, f"still {kind}s", lines)
    if stage.discs:
        posts: list[Cylinder] = []
        for disc in stage.discs:
            is_cone, width = disc.kind == "cone", 2.0 * disc.radius
            size = (width, width, 2.2 * disc.radius if is_cone else _HEIGHTS["wall"])
            colour, top = colour_of(disc.colour, disc.kind), 0.15 if is_cone else 1.0
            posts.append(upright_solid(disc.x, disc.y, size, colour, top))
        yield Entity(frame, "still discs", posts)


def _line(
    points: Iterable[Point], colour: Colour, *, closed: bool = False, z: m = 0.01
) -> Polyline:
    return Polyline([(x, y, z) for x, y in points], colour, closed)


def prisms(outlines: Sequence[Sequence[Point]], low: m, high: m, colour: Colour) -> list[Solid]:
    """Tops and sides of prisms as one mesh; outlines that cannot be filled are drawn as lines."""
    points, corners, lines = list[Position](), list[int](), list[Solid]()
    for outline in outlines:
        try:
            ring = cleaned(outline) if len(outline) <= _MOST_CORNERS else None
            parts = () if ring is None else convex_parts(ring)
        except (InvalidValue, StopIteration):
            ring, parts = None, ()
        if ring is None:
            lines.append(_line(outline, colour, closed=True, z=high))
            continue
        for part in parts:
            begin = len(points)
            points += [(x, y, high) for x, y in part]
            for k in range(1, len(part) - 1):
                corners += [begin, begin + k, begin + k + 1]
        for a, b in itertools.pairwise([*ring, ring[0]]) if high > low else ():
            begin = len(points)
            points += [(*a, low), (*b, low), (*b, high), (*a, high)]
            corners += [begin + k for k in (0, 1, 2, 0, 2, 3)]
    return [*([Mesh(points, corners, colour)] if corners else []), *lines]


def relief_mesh(relief: Relief) -> Mesh:
    """Mesh of uneven ground."""
    levels = np.frombuffer(relief.heights, "<u2").reshape(relief.height, relief.width)
    stride = int(np.ceil(np.sqrt(max(levels.size / MOST_POINTS, 1.0))))
    rows, columns = (_every(stride, count) for count in levels.shape)
    z = relief.low + (relief.high - relief.low) / 65535.0 * levels[np.ix_(rows, columns)]
    x, y = np.meshgrid(relief.x + relief.step * columns, relief.y + relief.step * rows)
    numbers = np.arange(z.size, dtype=np.uint32).reshape(z.shape)
    a, b = numbers[:-1, :-1].ravel(), numbers[:-1, 1:].ravel()
    c, d = numbers[1:, 1:].ravel(), numbers[1:, :-1].ravel()
    corners = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    points = zip(x.ravel().tolist(), y.ravel().tolist(), z.ravel().tolist(), strict=True)
    return Mesh([*points], corners.ravel().tolist(), _COLOURS["ground"])


def _every(stride: int, count: int) -> AnyArray:
    """Multiples of `stride` below `count`, and the last index."""
    return np.unique([*range(0, count, stride), count - 1])
