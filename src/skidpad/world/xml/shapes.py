"""Outlines of vehicles and blocks: polygons, simple solids, models, and what stands in for them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...errors import InvalidValue
from ...plane.outline import (
    MOST_CORNERS,
    Outline,
    Point,
    cleaned,
    convex_parts,
    hull,
    rectangle,
    regular,
)
from ...plane.polygon import signed_area
from ...units import m, positive
from ..scene.shapes import Geometry, Pose, Shape, Visual
from .fields import SMALLEST, Fields, as_integer, as_numbers, as_size, as_switch, one_of
from .mesh import NoMesh, outline_of
from .nodes import Node
from .remote import is_remote, local_file, zipped_file

GEOMETRIES = {
    "box": ("lx", "ly", "lz"),
    "cylinder": ("radius", "length"),
    "sphere": ("radius",),
    "semi_cylinder_bump": ("lx", "ly", "lz"),
    "ramp": ("lx", "ly", "lz"),
}
"""Kinds of `<geometry>` and the attributes each needs."""
RENDERED = (
    *("show_bounding_box", "model_cull_faces", "model_color", "model_split_size"),
    *("model_cull_face", "material", "animation", "model_emissive", "cast_shadows"),
)
"""Tags of `<visual>` that only change the picture."""


class NotFetched(NoMesh):
    """A remote model that is not in the folder and may not be downloaded."""

    def __init__(self, uri: str, folder: Path) -> None:
        super().__init__(f"{uri} is not in the folder {folder}, and downloads are not allowed")
        self.uri, self.folder = uri, folder


@dataclass(frozen=True)
class Models:
    """Where models come from."""

    folder: Path
    """In which remote ones are looked up."""
    allow_download: bool = False


def polygon(node: Node) -> Outline:
    """The outline in a `<shape>`: three or more `<pt>x y</pt>`."""
    points = corner_points(node)
    try:
        outline = hull(points) if node.context.upstream else cleaned(points)
    except InvalidValue as error:
        raise node.error(error) from None
    if signed_area(outline) < SMALLEST * SMALLEST:
        raise node.error(
            f"an outline of {signed_area(outline):.3g} m² is too small; its area must be at least "
            f"{SMALLEST * SMALLEST:g} m²"
        )
    return outline


def corner_points(node: Node) -> list[Point]:
    """The points in a `<shape>`, whatever they mean."""
    fields = Fields.of(node)
    points: list[Point] = []
    for point in fields.all("pt"):
        x, y = as_numbers(point, "pt", point.text(), 2)
        points.append((x, y))
    fields.finish()
    return points


def solid(node: Node) -> Geometry:
    """What a `<geometry>` says."""
    kind = one_of(node, "type of geometry", node.needed("type"), GEOMETRIES)
    values = {"lx": 0.0, "ly": 0.0, "lz": 0.0, "radius": 0.0, "length": 0.0}
    for name in values:
        text = node.attribute(name)
        if text is not None:
            values[name] = as_size(node, name, text)
        elif name in GEOMETRIES[kind]:
            raise node.error(f'a {kind} needs the attribute {name}="..."')
    count = node.attribute("vertex_count")
    vertices = 10 if count is None else as_integer(node, "vertex_count", count) or 10
    if vertices < 3:
        raise node.error(f"vertex_count = {count} must be at least 3")
    return Geometry(
        kind,  # pyright: ignore[reportArgumentType]
        values["lx"],
        values["ly"],
        values["lz"],
        values["radius"],
        values["length"],
        vertices,
    )


def outline_of_solid(geometry: Geometry) -> tuple[Outline, m, m]:
    """Outline and heights of a simple solid.

    As upstream has them: a box has one corner at the reference point and a ramp begins there, the
    others have it in the middle.
    """
    g = geometry
    if g.kind == "box":
        return rectangle(0.0, g.l_x, 0.0, g.l_y), 0.0, g.l_z
    if g.kind == "ramp":
        return rectangle(0.0, g.l_x, -0.5 * g.l_y, 0.5 * g.l_y), 0.0, g.l_z
    if g.kind == "semi_cylinder_bump":
        half = 0.5 * g.l_x
        return rectangle(-half, half, -0.5 * g.l_y, 0.5 * g.l_y), 0.0, g.l_z
    corners = min(g.vertices, MOST_CORNERS)
    # With fewer corners than asked for, the outline is around the circle and not in it.
    outside = g.vertices > MOST_CORNERS
    radius = g.radius / math.cos(math.pi / corners) if outside else g.radius
    heights = (0.0, g.length) if g.kind == "cylinder" else (-g.radius, g.radius)
    return regular(radius, corners), *heights


def shape(outline: Outline, heights: tuple[m, m], made_from: str, upstream: bool) -> Shape:
    """The shape with an outline that is already clean."""
    parts = (outline,) if upstream else convex_parts(outline)
    return Shape(outline, parts, *heights, made_from)  # pyright: ignore[reportArgumentType]


def visuals(nodes: Sequence[Node]) -> tuple[Visual, ...]:
    """The 3-D models of an object."""
    pictures = [_visual(node) for node in nodes]
    return tuple(visual for visual in pictures if visual is not None)


def _visual(node: Node) -> Visual | None:
    fields = Fields.of(node)
    fields.ignore(RENDERED)
    node.expects("light_group")
    angles = [math.radians(fields.number(f"model_{a}", 0.0)) for a in ("yaw", "pitch", "roll")]
    offset = [fields.number(f"model_offset_{axis}", 0.0) for axis in "xyz"]
    uri = fields.string("model_uri")
    enabled = node.attribute("enabled")
    visual = Visual(
        uri if is_remote(uri) else str(node.path(uri)),
        fields.number("model_scale", 1.0, positive),
        Pose(*offset, *angles),
        fields.string("name", "group"),
        enabled is None or as_switch(node, "enabled", enabled),
        node.source,
    )
    fields.finish()
    return visual if uri else None


def shape_of_model(
    models: Sequence[Visual], heights: tuple[m | None, m | None], where: Models
) -> Shape:
    """The shape around 3-D models. Raises `NoMesh`."""
    if not models:
        raise NoMesh("there is no <visual> with a model")
    outlines = [outline_of(_file(one, where), one.pose, one.scale, *heights) for one in models]
    if len(outlines) == 1:
        outline, low, high = outlines[0]
    else:
        outline = hull([point for corners, _, _ in outlines for point in corners])
        low, high = min(f[1] for f in outlines), max(f[2] for f in outlines)
    return Shape(outline, (outline,), low, high, "mesh")


def _file(visual: Visual, where: Models) -> Path:
    try:
        if not is_remote(visual.uri):
            return zipped_file(Path(visual.uri))
        file = local_file(visual.uri, where.folder, allow_download=where.allow_download)
    except OSError as error:
        raise NoMesh(str(error)) from error
    if file is None:
        raise NotFetched(visual.uri, where.folder)
    return file


def stand_in(declared: Shape | None, around: Outline | None, heights: tuple[m, m]) -> Shape:
    """What is used for a model that cannot be read: what was declared, what is around, or a box."""
    if declared is not None:
        return replace(declared, made_from="stand-in")
    outline = around or rectangle(-0.5, 0.5, -0.5, 0.5)
    return Shape(outline, (outline,), *heights, "stand-in")


def note_stand_in(owner: Node, name: str, reason: NoMesh, shape: str) -> None:
    """Remember to name an object that got a stand-in; `shape` says what it is."""
    kind, subject = "stand-in shapes", str(reason)
    if isinstance(reason, NotFetched):
        subject = reason.uri
        kind += f", as the folder {reason.folder} does not hold these models and downloads are not"
        kind += " allowed"
    owner.context.note(kind, f"{subject}: {shape} for", owner.source, name)
