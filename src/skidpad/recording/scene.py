"""What viewers draw: shapes of bodies and of everything that stands still, as SceneUpdates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import cos, sin, sqrt

import numpy as np

from ..errors import InvalidValue
from ..plane.outline import cleaned, convex_parts
from ..stage import Body, Disc, Grid, Line, Polygon, Relief, Stage, Wheel
from . import protobuf as pb
from .messages import WORLD, still_pose, vector
from .protobuf import Template
from .relief_mesh import relief_mesh

Colour = tuple[float, float, float, float]
Point = tuple[float, float]

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
_HEIGHTS = {"wall": 1.0, "block": 0.5}
"""In m; a stage is flat, but a viewer that looks at an angle shows more with some height."""
_MOST_CORNERS = 200
"""Outlines with more are drawn as lines: to fill one takes time with the square of its corners."""
_LINE_WIDTH = 0.08
"""In m."""
_SHADES = {0: (255, 255, 255, 0), 255: (40, 42, 46, 255)}
"""Red, green, blue and opacity of free and occupied cells."""
_UNSURE = (150, 152, 156, 90)
_UPRIGHT = (0.0, 0.0, 0.0, 1.0)


def colour_of(text: str, kind: str) -> Colour:
    """From `#rrggbb`, `#rrggbbaa` or one of the colours of cones; else that of the kind."""
    if match := re.fullmatch(r"#([0-9a-fA-F]{6})([0-9a-fA-F]{2})?", text.strip()):
        r, g, b = bytes.fromhex(match[1])
        return r / 255.0, g / 255.0, b / 255.0, int(match[2] or "ff", 16) / 255.0
    return _NAMED.get(text, _COLOURS.get(kind, _OTHER))


class _Mesh:
    """Triangles of one colour."""

    def __init__(self) -> None:
        self.points: list[tuple[float, float, float]] = []
        self.corners: list[int] = []

    def add_prism(self, outline: Sequence[Point], low: float, high: float) -> bool:
        """The upper side and the sides of a prism; False if the outline cannot be filled."""
        if len(outline) > _MOST_CORNERS:
            return False
        try:
            ring = cleaned(outline)
            parts = convex_parts(ring)
        except (InvalidValue, StopIteration):
            return False
        for part in parts:
            begin = len(self.points)
            self.points += [(x, y, high) for x, y in part]
            for k in range(1, len(part) - 1):
                self.corners += [begin, begin + k, begin + k + 1]
        if high > low:
            for a, b in pairwise([*ring, ring[0]]):
                begin = len(self.points)
                self.points += [(*a, low), (*b, low), (*b, high), (*a, high)]
                self.corners += [begin + k for k in (0, 1, 2, 0, 2, 3)]
        return True

    def template(self, colour: Colour) -> Template:
        """As an entry of SceneEntity.triangles."""
        points = [vector(2, *point) for point in self.points]
        corners = pb.octets(5, np.array(self.corners, "<u4").tobytes())
        return pb.message(12, _here(1), *points, vector(3, *colour), corners)


def _here(number: int) -> Template:
    return still_pose(number, 0.0, 0.0, 0.0, _UPRIGHT)


def _line(points: Iterable[Point], colour: Colour, *, closed: bool, z: float = 0.01) -> Template:
    """An entry of SceneEntity.lines."""
    head = (pb.integer(1, int(closed)), _here(2), pb.double(3, _LINE_WIDTH))
    return pb.message(11, *head, *(vector(5, x, y, z) for x, y in points), vector(6, *colour))


def _entity(frame: str, name: str, parts: Iterable[Template]) -> Template:
    """An entry of SceneUpdate.entities, in its frame wherever that goes and until the end."""
    return pb.message(
        2, pb.timestamp(1), pb.string(2, frame), pb.string(3, name), pb.integer(5, 1), *parts
    )


def bodies_scene(frames: Mapping[str, Body]) -> Template:
    """A SceneUpdate of bodies by their frames, and of steered wheels in theirs."""
    entities: list[Template] = []
    for frame, body in frames.items():
        if body.outlines:
            entities.append(_body_entity(body, frame))
        for wheel in body.wheels:
            if wheel.steer is not None:
                cylinder = _wheel_cylinder(wheel, 0.0, 0.0, 0.0)
                name = f"{body.name} {wheel.name}"
                entities.append(_entity(f"{frame}/{wheel.name}", name, [cylinder]))
    return pb.joined(entities)


def _body_entity(body: Body, frame: str) -> Template:
    """A body with those of its wheels that are not steered."""
    x, y = zip(*(point for outline in body.outlines for point in outline), strict=True)
    width = min(max(x) - min(x), max(y) - min(y))
    low = 0.3 * body.wheels[0].length if body.wheels else 0.0
    colour = colour_of(body.colour, body.kind)
    parts = _prisms(body.outlines, low, low + 0.45 * width, colour)
    parts += [_wheel_cylinder(w, w.x, w.y, w.yaw) for w in body.wheels if w.steer is None]
    return _entity(frame, body.name, parts)


def _wheel_cylinder(wheel: Wheel, x: float, y: float, yaw: float) -> Template:
    """An entry of SceneEntity.cylinders whose axis lies across the wheel."""
    # A cylinder stands on the ground: a quarter turn about x lays it down.
    c, s, quarter = cos(0.5 * yaw), sin(0.5 * yaw), sqrt(0.5)
    lying = (c * quarter, s * quarter, s * quarter, c * quarter)
    at = still_pose(1, x, y, 0.5 * wheel.length, lying)
    size = vector(2, wheel.length, wheel.length, wheel.width)
    return pb.message(
        10, at, size, pb.double(3, 1.0), pb.double(4, 1.0), vector(5, *_COLOURS["wheel"])
    )


def still_scene(stage: Stage) -> Template:
    """A SceneUpdate of what stands still: an entity per kind of thing."""
    entities: list[Template] = []
    if stage.reliefs:
        entities.append(_entity(WORLD, "still ground", [_ground(r) for r in stage.reliefs]))
    for kind in dict.fromkeys(polygon.kind for polygon in stage.polygons):
        alike = [polygon for polygon in stage.polygons if polygon.kind == kind]
        entities.append(_entity(WORLD, f"still {kind}", _polygons(alike, kind)))
    for kind in dict.fromkeys(line.kind for line in stage.lines):
        alike = [line for line in stage.lines if line.kind == kind]
        entities.append(_entity(WORLD, f"still {kind}s", [_ground_line(line) for line in alike]))
    if stage.discs:
        entities.append(_entity(WORLD, "still discs", [_disc(disc) for disc in stage.discs]))
    return pb.joined(entities)


def _ground(relief: Relief) -> Template:
    mesh = _Mesh()
    points, corners = relief_mesh(relief)
    mesh.points = [(x, y, z) for x, y, z in points.tolist()]
    mesh.corners = corners.ravel().tolist()
    return mesh.template(_COLOURS["ground"])


def _polygons(polygons: Sequence[Polygon], kind: str) -> list[Template]:
    by_colour: dict[Colour, list[Sequence[Point]]] = {}
    for polygon in polygons:
        by_colour.setdefault(colour_of(polygon.colour, kind), []).append(polygon.points)
    height = _HEIGHTS.get(kind, 0.0)
    return [
        template
        for colour, outlines in by_colour.items()
        for template in _prisms(outlines, 0.0, height, colour)
    ]


def _prisms(
    outlines: Sequence[Sequence[Point]], low: float, high: float, colour: Colour
) -> list[Template]:
    """Outlines of one colour as prisms; those that cannot be filled as lines."""
    mesh, lines = _Mesh(), list[Template]()
    for outline in outlines:
        if not mesh.add_prism(outline, low, high):
            lines.append(_line(outline, colour, closed=True, z=high))
    return [*([mesh.template(colour)] if mesh.corners else []), *lines]


def _ground_line(line: Line) -> Template:
    return _line(line.points, colour_of(line.colour, line.kind), closed=False)


def _disc(disc: Disc) -> Template:
    """A cone, or a post for whatever else is round; an entry of SceneEntity.cylinders."""
    cone = disc.kind == "cone"
    height = 2.2 * disc.radius if cone else _HEIGHTS["wall"]
    at = still_pose(1, disc.x, disc.y, 0.5 * height, _UPRIGHT)
    size = vector(2, 2.0 * disc.radius, 2.0 * disc.radius, height)
    scales = pb.double(3, 1.0), pb.double(4, 0.15 if cone else 1.0)
    return pb.message(10, at, size, *scales, vector(5, *colour_of(disc.colour, disc.kind)))


def grid_message(grid: Grid) -> Template:
    """A Grid in colours: dark where it is occupied, clear where it is free."""
    shades = np.full((256, 4), _UNSURE, np.uint8)
    for level, shade in _SHADES.items():
        shades[level] = shade
    cells = shades[np.frombuffer(grid.cells, np.uint8)]
    names = ("red", "green", "blue", "alpha")
    fields = [
        pb.message(8, pb.string(1, n), pb.fixed32(2, k), pb.integer(3, 1))
        for k, n in enumerate(names)
    ]
    return pb.joined(
        [
            pb.timestamp(1),
            pb.string(2, WORLD),
            still_pose(3, grid.x, grid.y, 0.0, _UPRIGHT),
            pb.fixed32(4, grid.width),
            vector(5, grid.resolution, grid.resolution),
            pb.fixed32(6, 4 * grid.width),
            pb.fixed32(7, 4),
            *fields,
            pb.octets(9, cells.tobytes()),
        ]
    )
