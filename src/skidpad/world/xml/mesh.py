"""Outlines of 3-D models: what is left of a mesh when one looks at it from above."""

from __future__ import annotations

import re
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import Array
from ...body import Outline
from ...errors import InvalidValue, MissingExtra
from ...extras import require
from ...files import bytes_of, open_file
from ...plane.outline import rounded_hull
from ...plane.polygon import signed_area
from ...units import m
from ..scene.shapes import Pose

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
    """What tells one content of a file from another: its name, its time and its size."""
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
    """Points of a COLLADA file as upstream's importer turns them: with y up."""
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
