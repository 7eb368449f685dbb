"""Outlines of vehicles and blocks: polygons, simple solids, 3-D models, and stand-ins for models.

The outline of a model is the convex hull of its top view. Remote models are looked up in a folder
of the user's and downloaded only if allowed. The folder has the layout of upstream's own cache, so
that both can share it: a file is stored under the last part of its address, and an archive
`NAME.zip` next to it, unpacked in `NAME.out`.
"""

from __future__ import annotations

import math
import os
import re
import urllib.error
import urllib.request
import warnings
import zipfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, cast

import numpy as np

from ...core.arrays import Array
from ...core.body import Outline, Point
from ...core.files import bytes_of, open_file, replacing
from ...errors import InvalidValue, MissingExtra, require
from ...geometry import polygon as rings
from ...units import m
from ..scene import Geometry, Pose, Shape, Visual
from .fields import SMALLEST, Fields, as_integer, as_numbers, as_size, as_switch, one_of
from .markup import Models, Node

FORMATS = (".stl", ".obj", ".dae", ".ply", ".glb", ".gltf", ".off")
"""Suffixes of models that trimesh reads."""
_LEAST_AREA = 1e-6
"""Least area of an outline, in m²."""


class NoMesh(Exception):
    """Error: a model could not be read."""


def outline_of(
    file: Path, pose: Pose, scale: float, z_min: m | None, z_max: m | None
) -> tuple[Outline, m, m]:
    """Convex outline of a model between two heights, and its height range there.

    The model is scaled, then placed at the pose. Raises `NoMesh`.
    """
    if file.suffix.lower() not in FORMATS:
        raise NoMesh(f"3D models with the suffix {file.suffix or '(none)'} cannot be read")
    if not file.is_file():
        raise NoMesh(f"the model {file} does not exist")
    stat = file.stat()
    triangles = _placed(_triangles(str(file), stat.st_mtime_ns, stat.st_size), pose, scale)
    low = -np.inf if z_min is None else z_min
    high = np.inf if z_max is None else z_max
    points = _between(triangles, low, high)
    if len(points) < 3:
        raise NoMesh(f"nothing of {file.name} lies between z = {low:g} and {high:g} m")
    try:
        corners = rings.rounded_hull([(float(x), float(y)) for x, y in points[:, :2]])
    except InvalidValue as error:
        raise NoMesh(f"{file.name} has no area seen from above: {error}") from None
    if len(corners) < 3 or rings.signed_area(corners) < _LEAST_AREA:
        raise NoMesh(f"{file.name} has no area seen from above")
    return corners, float(points[:, 2].min()), float(points[:, 2].max())


def segments_of(file: Path) -> Array:
    """Lines of a drawing in a COLLADA file, shape (lines, 2 ends, 3). Raises `NoMesh`."""
    with _reading(file):
        _check_text(file)
        drawing = _module("collada").Collada(str(file))
        edges = [
            np.asarray(part.vertex, dtype=np.float64)[np.asarray(part.vertex_index)]
            for geometry in drawing.scene.objects("geometry")
            for part in geometry.primitives()
            if type(part).__name__ == "BoundLineSet" and len(part.vertex_index)
        ]
        unit = drawing.assetInfo.unitmeter or 1.0
    if not edges:
        raise NoMesh(f"{file.name} holds no lines")
    return _upright(np.concatenate(edges).reshape(-1, 3) * unit, file).reshape(-1, 2, 3)


@lru_cache(maxsize=64)
def _triangles(name: str, time: int, size: int) -> Array:
    """Triangles of a model in m, shape (triangles, 3 corners, 3); cached, as worlds repeat their
    models."""
    file = Path(name)
    with _reading(file):
        trimesh = _module("trimesh")
        if file.suffix.lower() == ".dae":
            _module("collada")
            _check_text(file)
        scene: Any = trimesh.load_scene(str(file), skip_materials=True)
        triangles = np.asarray(scene.to_mesh().triangles, dtype=np.float64)
    if triangles.size == 0 or not np.isfinite(triangles).all():
        raise NoMesh(f"{file.name} holds no finite triangles")
    if file.suffix.lower() == ".dae":
        unit = re.search(r'<unit[^>]*meter\s*=\s*"([^"]+)"', _head(file))
        scaled = triangles.reshape(-1, 3) * (float(unit[1]) if unit else 1.0)
        triangles = _upright(scaled, file).reshape(-1, 3, 3)
    return triangles


def _upright(points: Array, file: Path) -> Array:
    """Points of a COLLADA file in y-up axes, to which upstream's importer converts z-up files;
    others are unchanged."""
    if not re.search(r"<up_axis>\s*Z_UP", _head(file)):
        return points
    return np.stack([points[:, 0], points[:, 2], -points[:, 1]], axis=1)


def _head(file: Path) -> str:
    """Beginning of a COLLADA file, which contains unit and axes."""
    with open_file(file) as content:
        return content.read(20_000).decode("utf-8", "replace")


def _check_text(file: Path) -> None:
    content = bytes_of(file)
    # All of it: a long comment may come first. One with zeros is in another encoding.
    if b"<!ENTITY" in content or b"<!DOCTYPE" in content or b"\0" in content:
        raise NoMesh(f"{file.name} defines XML entities, which are refused")


def _placed(triangles: Array, pose: Pose, scale: float) -> Array:
    (cy, cp, cr), (sy, sp, sr) = np.cos(pose[3:]), np.sin(pose[3:])
    rotation = np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )
    return scale * triangles @ rotation.T + np.array([pose.x, pose.y, pose.z])


def _between(triangles: Array, low: m, high: m) -> Array:
    """Corners of the triangles clipped to the slab between two heights."""
    points = triangles.reshape(-1, 3)
    within = [points[(points[:, 2] >= low) & (points[:, 2] <= high)]]
    begin, end = points, np.roll(triangles, -1, axis=1).reshape(-1, 3)
    for height in (low, high):
        if not np.isfinite(height):
            continue
        crosses = (begin[:, 2] < height) != (end[:, 2] < height)
        a, b = begin[crosses], end[crosses]
        share = (height - a[:, 2]) / (b[:, 2] - a[:, 2])
        within.append(a + share[:, None] * (b - a))
    return np.concatenate(within)


@contextmanager
def _reading(file: Path) -> Generator[None]:
    """Context for library calls that suppresses warnings and converts all errors to `NoMesh`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            yield
        except NoMesh:
            raise
        # Which exceptions broken files cause is up to the libraries.
        except Exception as error:
            raise NoMesh(f"{file.name} cannot be read: {error}") from error


def _module(name: str) -> Any:
    try:
        return require(name, purpose="A 3-D model")
    except MissingExtra as error:
        raise NoMesh(str(error)) from None


LARGEST = 500_000_000
"""Largest file that is downloaded or unpacked, in bytes."""
_TIMEOUT = 30.0


def cache_folder() -> Path:
    """Default folder of remote models: upstream's own cache."""
    if os.name == "nt":
        return Path(os.environ.get("APPDATA", "~")).expanduser() / "mvsim-storage"
    return Path("~/.cache/mvsim-storage").expanduser()


def is_remote(uri: str) -> bool:
    return uri.startswith(("http://", "https://"))


def local_file(uri: str, where: Models) -> Path:
    """Local copy of a remote model, which may be a file `inside` of an archive.

    Raises `NotFetched` if it is missing and may not be downloaded, and OSError if a download fails.
    """
    address, archived, inside = uri.partition(".zip/")
    address += archived[:-1]
    file = where.folder / PurePosixPath(address).name
    if not file.is_file():
        unpacked = file.with_suffix(".out") / inside
        if inside and unpacked.is_file():
            return unpacked
        if not where.allow_download:
            raise NotFetched(uri, where.folder)
        _download(address, file)
    return _unpacked(file, inside) if inside else file


def _download(address: str, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        with urllib.request.urlopen(address, timeout=_TIMEOUT) as answer, replacing(file) as part:
            left = LARGEST
            with part.open("wb") as target:
                while block := answer.read(1 << 20):
                    left -= len(block)
                    if left < 0:
                        raise OSError(f"{address} is larger than {LARGEST} bytes")
                    target.write(block)
    except urllib.error.URLError as error:
        raise OSError(f"{address} cannot be downloaded: {error.reason}") from error


def _unpacked(archive: Path, inside: str) -> Path:
    folder = archive.with_suffix(".out")
    target = folder / inside
    if not target.is_file():
        try:
            with zipfile.ZipFile(archive) as content:
                if sum(entry.file_size for entry in content.infolist()) > LARGEST:
                    raise OSError(f"{archive} unpacks to more than {LARGEST} bytes")
                # `extractall` drops what would lead out of the folder.
                content.extractall(folder)
        except OSError:
            raise
        # Damaged, with a password, or packed in a rare way: each has an exception of its own.
        except Exception as error:
            raise OSError(f"{archive} is not an archive that can be read: {error}") from error
    return target


GEOMETRIES = {
    "box": ("lx", "ly", "lz"),
    "cylinder": ("radius", "length"),
    "sphere": ("radius",),
    "semi_cylinder_bump": ("lx", "ly", "lz"),
    "ramp": ("lx", "ly", "lz"),
}
"""Kinds of `<geometry>` and their required attributes."""
RENDERED = (
    *("show_bounding_box", "model_cull_faces", "model_color", "model_split_size"),
    *("model_cull_face", "material", "animation", "model_emissive", "cast_shadows"),
)
"""Tags of `<visual>` that affect only rendering."""


class NotFetched(NoMesh):
    """Error: a remote model is not in the folder and may not be downloaded."""

    def __init__(self, uri: str, folder: Path) -> None:
        super().__init__(f"{uri} is not in the folder {folder}, and downloads are not allowed")
        self.uri, self.folder = uri, folder


def polygon(node: Node) -> Outline:
    """Outline of a `<shape>`: three or more `<pt>x y</pt>`."""
    points = corner_points(node)
    try:
        outline = rings.hull(points) if node.context.upstream else rings.cleaned(points)
    except InvalidValue as error:
        raise node.error(error) from None
    area, least = rings.signed_area(outline), SMALLEST * SMALLEST
    fault = f"an outline of {area:.3g} m² is too small; its area must be at least {least:g} m²"
    node.check(area >= least, fault)
    return outline


def corner_points(node: Node) -> list[Point]:
    """Points of a `<shape>`, unchecked."""
    fields = Fields.of(node)
    points: list[Point] = []
    for point in fields.all("pt"):
        x, y = as_numbers(point, "pt", point.text(), 2)
        points.append((x, y))
    fields.finish()
    return points


def solid(node: Node) -> Geometry:
    """Solid of a `<geometry>`."""
    kind = one_of(node, "type of geometry", node.needed("type"), GEOMETRIES)
    values = dict.fromkeys(("lx", "ly", "lz", "radius", "length"), 0.0)
    for name in values:
        text = node.attribute(name)
        if text is not None:
            values[name] = as_size(node, name, text)
        elif name in GEOMETRIES[kind]:
            raise node.error(f'a {kind} needs the attribute {name}="..."')
    count = node.attribute("vertex_count")
    vertices = 10 if count is None else as_integer(node, "vertex_count", count) or 10
    node.check(vertices >= 3, f"vertex_count = {count} must be at least 3")
    lengths: Any = values.values()
    return Geometry(cast("Any", kind), *lengths, vertices=vertices)


def outline_of_solid(geometry: Geometry) -> tuple[Outline, m, m]:
    """Outline and heights of a simple solid.

    As in upstream, a box has one corner at the reference point and a ramp begins there; the
    others are centred on it.
    """
    g = geometry
    x, y = 0.5 * g.l_x, 0.5 * g.l_y
    sides = {
        "box": (0.0, g.l_x, 0.0, g.l_y),
        "ramp": (0.0, g.l_x, -y, y),
        "semi_cylinder_bump": (-x, x, -y, y),
    }
    if g.kind in sides:
        return rings.rectangle(*sides[g.kind]), 0.0, g.l_z
    corners = min(g.vertices, rings.MOST_CORNERS)
    # With fewer corners than in the file, the outline is around the circle and not in it.
    outside = g.vertices > rings.MOST_CORNERS
    radius = g.radius / math.cos(math.pi / corners) if outside else g.radius
    z = (0.0, g.length) if g.kind == "cylinder" else (-g.radius, g.radius)
    return rings.regular(radius, corners), *z


def shape(outline: Outline, z: tuple[m, m], made_from: str, upstream: bool) -> Shape:
    """Shape with an outline that is already cleaned."""
    parts = (outline,) if upstream else rings.convex_parts(outline)
    return Shape(outline, parts, *z, made_from)  # pyright: ignore[reportArgumentType]


def heights(owner: Node, low: m, high: m, otherwise: tuple[m, m]) -> tuple[m, m]:
    """Least and largest height; while errors are collected, `otherwise` if they are reversed."""
    if high > low:
        return low, high
    owner.context.report(owner.error(f"zmax = {high:g} must be above zmin = {low:g}"))
    return otherwise


def visuals(nodes: Sequence[Node]) -> tuple[Visual, ...]:
    return tuple(visual for node in nodes if (visual := _visual(node)) is not None)


def _visual(node: Node) -> Visual | None:
    fields = Fields.of(node)
    fields.ignore(RENDERED)
    node.expects("light_group")
    angles = [math.radians(fields.number(f"model_{a}", 0.0)) for a in ("yaw", "pitch", "roll")]
    offset = [fields.number(f"model_offset_{axis}", 0.0) for axis in "xyz"]
    enabled = fields.get("enabled", as_switch, True, attributes_of=node, children=False)
    template = Visual(pose=Pose(*offset, *angles), enabled=enabled, source=node.source)
    visual = fields.record(template)
    fields.finish()
    if not visual.uri or is_remote(visual.uri):
        return visual if visual.uri else None
    return replace(visual, uri=str(node.path(visual.uri)))


def shape_of_model(models: Sequence[Visual], z: tuple[m | None, m | None], where: Models) -> Shape:
    """Shape around 3-D models. Raises `NoMesh`."""
    if not models:
        raise NoMesh("there is no <visual> with a model")
    each = [outline_of(_file(one, where), one.pose, one.scale, *z) for one in models]
    outlines, lows, highs = zip(*each, strict=True)
    outline = outlines[0] if len(each) == 1 else rings.hull([p for o in outlines for p in o])
    return Shape(outline, (outline,), min(lows), max(highs), "mesh")


def _file(visual: Visual, where: Models) -> Path:
    try:
        if not is_remote(visual.uri):
            path = Path(visual.uri)
            # As in `models.zip/robot.dae`.
            zips = [it for it in path.parents if it.suffix == ".zip" and it.is_file()]
            return _unpacked(zips[0], path.relative_to(zips[0]).as_posix()) if zips else path
        return local_file(visual.uri, where)
    except OSError as error:
        raise NoMesh(str(error)) from error


def stand_in(declared: Shape | None, around: Outline | None, z: tuple[m, m]) -> Shape:
    """Shape in place of a model: the declared one, one around the wheels, or a box."""
    if declared is not None:
        return replace(declared, made_from="stand-in")
    outline = around or rings.rectangle(-0.5, 0.5, -0.5, 0.5)
    return Shape(outline, (outline,), *z, "stand-in")


def note_stand_in(owner: Node, name: str, reason: NoMesh, shape: str) -> None:
    """Record a warning of an object with a stand-in; `shape` describes it."""
    kind, subject = "stand-in shapes", str(reason)
    if isinstance(reason, NotFetched):
        subject = reason.uri
        kind += f", as the folder {reason.folder} does not hold these models and downloads are not"
        kind += " allowed"
    owner.context.note(kind, f"{subject}: {shape} for", owner.source, name)
