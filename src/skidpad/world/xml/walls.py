"""Reading `<walls>`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...body import Outline, Point
from ...units import m, positive
from ..scene.elements import WallSpec
from .fields import Fields, as_colour, as_size
from .matrices import matrix
from .mesh import NoMesh, segments_of
from .nodes import Node
from .shapes import corner_points


def walls(node: Node, count: int) -> list[WallSpec]:
    """The pieces of a `<walls>`, numbered from `count` on."""
    fields = Fields.of(node)
    thickness = fields.get("wallThickness", as_size, 0.1)
    height = fields.number("wallHeight", 2.0, positive)
    fields.get("color", as_colour, "")
    scale = fields.number("scale", 1.0, positive)
    # Upstream reads the scale and leaves it at that.
    ends = _placed(_ends(fields), 1.0 if node.context.upstream else scale, fields)
    fields.finish()
    specs: list[WallSpec] = []
    corners: list[Point] = []
    for start, end in ends:
        count += 1
        if start == end:
            raise node.error(f"a piece of wall begins and ends at {start[0]:g} {start[1]:g}")
        outline = _wall_outline(start, end, thickness, corners)
        corners += [start, end]
        specs.append(
            WallSpec(f"wall_{count:04d}", start, end, outline, height, thickness, node.source)
        )
    return specs


def _ends(fields: Fields) -> list[tuple[Point, Point]]:
    drawn = fields.find("shape")
    uri = fields.string("model_uri")
    if drawn is not None:
        points = corner_points(drawn)
        if len(points) < 2 or len(points) % 2:
            raise drawn.error(
                f"walls are pairs of <pt>, one for each piece: {len(points)} points make no pairs"
            )
        if len(points) < 3 and drawn.context.upstream:
            raise drawn.error("upstream wants 4 points or more in the <shape> of <walls>")
        return [(points[k], points[k + 1]) for k in range(0, len(points), 2)]
    owner = fields.owner
    if not uri:
        raise owner.error("walls need a <shape> with pairs of <pt>, or a <model_uri>")
    file = owner.regular(owner.path(uri))
    try:
        lines = segments_of(file)
    except NoMesh as error:
        owner.context.note("walls left out", f"{uri}: {error}", owner.source)
        return []
    return [((float(a[0]), float(a[1])), (float(b[0]), float(b[1]))) for a, b in lines]


def _placed(
    ends: list[tuple[Point, Point]], scale: float, fields: Fields
) -> list[tuple[Point, Point]]:
    node = fields.find("transformation")
    change = np.eye(4) if node is None else matrix(node)
    if node is not None and change.shape != (4, 4):
        raise node.error(f"the transformation must be 4 x 4 numbers, got {change.shape}")

    def placed(point: Point) -> Point:
        x, y, *_ = change @ np.array([scale * point[0], scale * point[1], 0.0, 1.0])
        return float(x), float(y)

    return [(placed(a), placed(b)) for a, b in ends]


def _wall_outline(start: Point, end: Point, thickness: m, corners: Sequence[Point]) -> Outline:
    """Corners of a piece; it is longer by half its thickness where an earlier piece ends."""
    length = math.dist(start, end)
    u_x, u_y = (end[0] - start[0]) / length, (end[1] - start[1]) / length
    half = 0.5 * thickness

    def reach(point: Point) -> m:
        return half if any(math.dist(point, c) < 1.01 * thickness for c in corners) else 0.0

    a = start[0] - reach(start) * u_x, start[1] - reach(start) * u_y
    b = end[0] + reach(end) * u_x, end[1] + reach(end) * u_y
    n_x, n_y = -u_y * half, u_x * half
    return (
        (a[0] - n_x, a[1] - n_y),
        (b[0] - n_x, b[1] - n_y),
        (b[0] + n_x, b[1] + n_y),
        (a[0] + n_x, a[1] + n_y),
    )
