"""Outlines of vehicles and blocks: polygons, simple solids, 3-D models, and their stand-ins.

Of a model, the convex hull of what one sees from above is taken. Models at remote addresses are
looked up in a folder of the user's and downloaded only if allowed. The folder is laid out as
upstream's own cache, so that one may serve both: a file lies there under the last part of its
address, and an archive `NAME.zip` next to it, unpacked in `NAME.out`.
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
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.body import Outline, Point
from ...core.files import bytes_of, open_file, replacing
from ...errors import InvalidValue, MissingExtra, require
from ...geometry.polygon import (
    MOST_CORNERS,
    cleaned,
    convex_parts,
    hull,
    rectangle,
    regular,
    rounded_hull,
    signed_area,
)
from ...units import m
from ..scene import Geometry, Pose, Shape, Visual
from .fields import SMALLEST, Fields, as_integer, as_numbers, as_size, as_switch, one_of
from .markup import Node

FORMATS = (".stl", ".obj", ".dae", ".ply", ".glb", ".gltf", ".off")
"""Suffixes of models that trimesh reads."""
_LEAST_AREA = 1e-6
"""In m²."""


class NoMesh(Exception):
    """Why a model could not be read."""


def outline_of(
    file: Path, pose: Pose, scale: float, z_min: m | None, z_max: m | None
) -> tuple[Outline, m, m]:
    """Convex outline of a model between two heights, and the heights it takes up there.

    The model is scaled, then placed at the pose. Raises `NoMesh`.
    """
    triangles = _placed(_triangles(*_identity(file)), pose, scale)
    low = -np.inf if z_min is None else z_min
    high = np.inf if z_max is None else z_max
    points = _between(triangles, low, high)
    if len(points) < 3:
        raise NoMesh(f"nothing of {file.name} lies between z = {low:g} and {high:g} m")
    try:
        corners = rounded_hull([(float(x), float(y)) for x, y in points[:, :2]])
    except InvalidValue as error:
        raise NoMesh(f"{file.name} has no area seen from above: {error}") from None
    if len(corners) < 3 or signed_area(corners) < _LEAST_AREA:
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


def _identity(file: Path) -> tuple[str, int, int]:
    """Name, time and size of a file, which identify its content."""
    if file.suffix.lower() not in FORMATS:
        raise NoMesh(f"models with the suffix {file.suffix or '(none)'} cannot be read")
    if not file.is_file():
        raise NoMesh(f"the model {file} does not exist")
    stat = file.stat()
    return str(file), stat.st_mtime_ns, stat.st_size


@lru_cache(maxsize=64)
def _triangles(name: str, time: int, size: int) -> Array:
    """Triangles of a model in m, shape (triangles, 3 corners, 3); worlds repeat their models."""
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
    others stay as they are."""
    if not re.search(r"<up_axis>\s*Z_UP", _head(file)):
        return points
    return np.stack([points[:, 0], points[:, 2], -points[:, 1]], axis=1)


def _head(file: Path) -> str:
    """The beginning of a COLLADA file, which says unit and axes."""
    with open_file(file) as content:
        return content.read(20_000).decode("utf-8", "replace")


def _check_text(file: Path) -> None:
    content = bytes_of(file)
    # All of it: a long comment may come first. One with zeros is in another encoding.
    if b"<!ENTITY" in content or b"<!DOCTYPE" in content or b"\0" in content:
        raise NoMesh(f"{file.name} defines XML entities, which are refused")


def _placed(triangles: Array, pose: Pose, scale: float) -> Array:
    cy, sy = np.cos(pose.yaw), np.sin(pose.yaw)
    cp, sp = np.cos(pose.pitch), np.sin(pose.pitch)
    cr, sr = np.cos(pose.roll), np.sin(pose.roll)
    rotation = np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )
    return scale * triangles @ rotation.T + np.array([pose.x, pose.y, pose.z])


def _between(triangles: Array, low: m, high: m) -> Array:
    """Corners of what the slab between two heights leaves of the triangles."""
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
    """Calls of the libraries: without their warnings, and all that goes wrong as `NoMesh`."""
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
"""Size in bytes of the largest file that is downloaded or unpacked."""
_TIMEOUT = 30.0


def cache_folder() -> Path:
    """Where models are looked up if no folder is given: upstream's own cache."""
    if os.name == "nt":
        return Path(os.environ.get("APPDATA", "~")).expanduser() / "mvsim-storage"
    return Path("~/.cache/mvsim-storage").expanduser()


def is_remote(uri: str) -> bool:
    """Whether a path is an address."""
    return uri.startswith(("http://", "https://"))


def local_file(uri: str, folder: Path, *, allow_download: bool) -> Path | None:
    """The file that holds a remote model; None: it is not there and may not be downloaded.

    Raises OSError if a download that is allowed fails.
    """
    address, inside = _split(uri)
    file = folder / PurePosixPath(address).name
    if not file.is_file():
        unpacked = file.with_suffix(".out") / inside
        if inside and unpacked.is_file():
            return unpacked
        if not allow_download:
            return None
        _download(address, file)
    return _unpacked(file, inside) if inside else file


def _split(uri: str) -> tuple[str, str]:
    """Address of a file or archive, and the path inside the archive."""
    at = uri.find(".zip/")
    return (uri, "") if at < 0 else (uri[: at + 4], uri[at + 5 :])


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
    """The solid that a `<geometry>` describes."""
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
    # With fewer corners than in the file, the outline is around the circle and not in it.
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
    enabled = fields.get("enabled", as_switch, True, attributes_of=node, children=False)
    template = Visual(pose=Pose(*offset, *angles), enabled=enabled, source=node.source)
    visual = fields.record(template)
    fields.finish()
    if not visual.uri or is_remote(visual.uri):
        return visual if visual.uri else None
    return replace(visual, uri=str(node.path(visual.uri)))


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
            path = Path(visual.uri)
            # As in `models.zip/robot.dae`.
            zips = [it for it in path.parents if it.suffix == ".zip" and it.is_file()]
            return _unpacked(zips[0], path.relative_to(zips[0]).as_posix()) if zips else path
        file = local_file(visual.uri, where.folder, allow_download=where.allow_download)
    except OSError as error:
        raise NoMesh(str(error)) from error
    if file is None:
        raise NotFetched(visual.uri, where.folder)
    return file


def stand_in(declared: Shape | None, around: Outline | None, heights: tuple[m, m]) -> Shape:
    """Shape in place of a model: the declared one, one around the wheels, or a box."""
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
