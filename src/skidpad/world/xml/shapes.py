"""Readers of blocks, actors, joints, walls, and of outlines: polygons, solids and 3-D models.

The outline of a model is the convex hull of its top view. Remote models are looked up in a folder
of the user's and downloaded only if allowed. The folder has the layout of upstream's own cache, so
that both can share it: a file is stored under the last part of its address, and an archive
`NAME.zip` next to it, unpacked in `NAME.out`.

Shared with vehicles are names, classes, the initial pose and velocity, keyframes and topics.
`matrix` and `table` also read numbers for maps.
"""

from __future__ import annotations

import math
import os
import re
import urllib.error
import urllib.request
import warnings
import zipfile
from collections.abc import Callable, Container, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from itertools import count
from pathlib import Path, PurePosixPath
from typing import Any, cast

import numpy as np

from ...core.arrays import Array
from ...core.body import Outline, Point
from ...core.files import bytes_of, open_file, replacing, text_of
from ...errors import InvalidValue, MissingExtra, require
from ...geometry import polygon as rings
from ...geometry.polygon import rectangle
from ...units import m, non_negative, positive
from .. import scene as specs
from ..scene import (
    ActorSpec,
    BlockSpec,
    Geometry,
    JointSpec,
    Keyframe,
    Pose,
    Shape,
    Visual,
    WallSpec,
)
from .markup import (
    SMALLEST,
    Context,
    Fields,
    Models,
    Node,
    as_colour,
    as_integer,
    as_number,
    as_numbers,
    as_size,
    as_switch,
    one_of,
    pose_in_degrees,
    ranged,
)

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
    triangles = _triangles(str(file), stat.st_mtime_ns, stat.st_size)
    (cy, cp, cr), (sy, sp, sr) = np.cos(pose[3:]), np.sin(pose[3:])
    rotation = np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )
    triangles = scale * triangles @ rotation.T + np.array([pose.x, pose.y, pose.z])
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
    """Points of a COLLADA file in the axes of upstream's importer, which turns z-up files to y-up
    and leaves others unchanged."""
    if not re.search(r"<up_axis>\s*Z_UP", _head(file)):
        return points
    return np.stack([points[:, 0], points[:, 2], -points[:, 1]], axis=1)


def _head(file: Path) -> str:
    """Beginning of a COLLADA file, which contains unit and axes."""
    with open_file(file) as content:
        return content.read(20_000).decode("utf-8", "replace")


def _check_text(file: Path) -> None:
    content = bytes_of(file)
    # Search the whole text, since a long comment may come first. Zero bytes mean another encoding.
    if b"<!ENTITY" in content or b"<!DOCTYPE" in content or b"\0" in content:
        raise NoMesh(f"{file.name} defines XML entities, which are refused")


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
        # Broken files cause exceptions of any kind, depending on the library.
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
                # `extractall` keeps all members within the folder.
                content.extractall(folder)
        except OSError:
            raise
        # Damaged, encrypted or unusual archives raise exceptions of several kinds.
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
_RENDERED_TAGS = (
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
    fields.ignore(_RENDERED_TAGS)
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
    """Shape that replaces a model: the declared shape, else one around the wheels, else a box."""
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


RENDERED = "not simulated, as they need a renderer"
NOT_DONE = "read and not done: nothing is written, published or asked for while a world runs"


class Names:
    """Names of the objects of one kind: from the file, or generated with a number."""

    def __init__(self, context: Context, kind: str, pattern: str) -> None:
        self._context, self._kind, self._pattern = context, kind, pattern
        self.taken: dict[str, Node] = {}
        self._count = 0

    def of(self, node: Node) -> str:
        """Name of an object, with variables substituted, unlike in upstream."""
        written = node.written("name")
        if written is None:
            self._count += 1
            while self._pattern.format(self._count) in self.taken:
                self._count += 1
            name = self._pattern.format(self._count)
        elif not self._context.upstream:
            name = node.needed("name")
        elif "${" in written and self._kind == "vehicle":
            raise node.error(f"name={written!r}: upstream does not replace variables in names")
        else:
            name = written
        other, free = self.taken.get(name), free_name(name, self.taken)
        if other is not None:
            if self._kind == "vehicle":
                fault = f"the name {name!r} was given to the vehicle at {other.source} before"
                raise node.error(fault)
            twice = f"{self._kind} {name}, here {free}"
            self._context.note("names given twice", twice, node.source)
        self.taken[free] = node
        return free


def free_name(name: str, taken: Container[str]) -> str:
    """Name that is not in `taken`: the name itself, numbered if necessary."""
    return (
        name
        if name not in taken
        else next(free for number in count(2) if (free := f"{name}_{number}") not in taken)
    )


Classes = Mapping[str, Node]
"""Elements of classes by name."""


def fields_of(node: Node, classes: Classes, own: Callable[[Node], list[list[Node]]]) -> Fields:
    """Fields of an object: the elements `own` take precedence over those of its class."""
    name = node.attribute("class")
    if name is None:
        return Fields(own(node), node.context, node)
    kind = classes[one_of(node, f"{node.tag}:class", name, classes)]
    return Fields([*own(node), kind.children()], node.context, node)


def initial_pose(fields: Fields) -> Pose:
    """Initial pose, which is required."""
    if not fields.find("init_pose", "init_pose3d"):
        owner = fields.owner
        missing = owner.error("<init_pose>x y yaw</init_pose> or <init_pose3d> is missing")
        owner.context.report(missing)
    return fields.pose("init_pose", "init_pose3d")


def initial_velocity(fields: Fields) -> specs.Velocity:
    """Initial velocity, in body axes; in upstream, in world axes."""

    def parsed(node: Node) -> specs.Velocity:
        v_x, v_y, omega = as_numbers(node, "init_vel", node.text(), 3)
        frame = "world" if node.context.upstream else "body"
        return specs.Velocity(v_x, v_y, math.radians(omega), frame)

    return fields.part("init_vel", parsed, specs.AT_REST)


def keyframes(fields: Fields) -> tuple[Keyframe, ...]:
    """Keyframes of an `<animation>`, in order of time."""
    return fields.part("animation", _keyframes, ())


def _keyframes(node: Node) -> tuple[Keyframe, ...]:
    one_of(node, "type of animation", node.needed("type"), ("keyframes",))
    fields = Fields.of(node)
    frames: dict[float, Keyframe] = {}
    for frame in fields.all("time_pose", "time_pose3d"):
        count = 4 if frame.tag == "time_pose" else 7
        time, *place = as_numbers(frame, frame.tag, frame.text(), count)
        frame.check(time >= 0.0, f"the time {time:g} must be at least 0 s")
        frame.check(time not in frames, f"there are two keyframes at {time:g} s")
        frames[time] = Keyframe(time, pose_in_degrees(*place))
    fields.finish()
    node.check(frames, "an animation needs a <time_pose> or <time_pose3d>")
    return tuple(frames[time] for time in sorted(frames))


def publish(fields: Fields, name: str) -> specs.Publish | None:
    node = fields.find("publish")
    if node is None:
        return None
    with node.context.values.naming(NAME=name):
        inner = Fields.of(node)
        objects = inner.string("publish_relative_pose_objects").replace(",", " ").split()
        enabled = is_enabled(inner, node)
        topics = inner.record(specs.Publish(enabled, relative_objects=tuple(objects)))
        inner.ignore(("publish_topic",))
        inner.finish()
        if topics.enabled:
            node.context.note(NOT_DONE, "publish of", node.source, name)
        return topics


def is_enabled(fields: Fields, node: Node, name: str = "enabled") -> bool:
    """Whether an element is enabled, which is the default without the attribute."""
    return fields.get(name, as_switch, True, attributes_of=node, children=False)


def note_lights(fields: Fields) -> None:
    """Record a warning of lights, which later versions of upstream support on vehicles and
    blocks."""
    for node in fields.all("light_group"):
        node.context.note(RENDERED, "light_group", node.source)


def presence(fields: Fields, tag: str) -> bool:
    """Whether a tag is present and not false."""
    if fields.find(tag) is None:
        return False
    return fields.get(tag, lambda node, name, text: not text or as_switch(node, name, text), True)


JOINTS = {"distance": "distance", "rope": "distance", "revolute": "revolute", "pin": "revolute"}
"""Joint types by their names in files."""


def actor(node: Node, classes: Classes, names: Names) -> ActorSpec:
    """Actor of an element and its class."""
    fields = fields_of(node, classes, lambda node: [node.children()])
    spec = ActorSpec(
        names.of(node),
        initial_pose(fields),
        animation=keyframes(fields),
        visuals=visuals(fields.all("visual")),
        class_name=node.attribute("class") or "",
        source=node.source,
    )
    spec = replace(fields.record(spec), **fields.part("path", _path, {}))
    # Upstream documents the last tag, but its program does not read it.
    fields.ignore(("skip_elevation_adjust", "publish", "turning_rate"))
    fields.finish()
    return spec


def _path(node: Node) -> dict[str, Any]:
    fields = Fields.of(node)
    waypoints: list[specs.Waypoint] = []
    for child in fields.all("waypoint"):
        pose = pose_in_degrees(*as_numbers(child, "waypoint", child.text(), 3, 6))
        pause = as_number(child, "pause", child.attribute("pause") or "0", non_negative)
        animation: Any = child.attribute("animation") or ""
        if animation:
            one_of(child, "animation", animation, ("walk", "run", "idle"))
        waypoints.append(specs.Waypoint(pose, pause, animation))
    fields.finish()
    node.expects("type")
    return {"path": tuple(waypoints), "loop": is_enabled(fields, node, "loop")}


def joint(node: Node) -> JointSpec:
    """Joint of an element; the existence of its bodies is checked at the end."""
    kind: Any = JOINTS[one_of(node, "type of joint", node.needed("type"), JOINTS)]
    ends = [as_numbers(node, name, node.needed(name), 2) for name in ("anchor_a", "anchor_b")]
    (ax, ay), (bx, by) = ends
    fields = Fields.of(node)
    a, b = node.needed("body_a"), node.needed("body_b")
    template = JointSpec(kind, a, b, (ax, ay), (bx, by), source=node.source)
    it = fields.record(template, attributes_of=node)
    if kind == "distance":
        node.check(it.max_length, 'a joint of type distance needs max_length="..."')
        fault = f"min_length = {it.min_length:g} must not exceed max_length = {it.max_length:g}"
        node.check(it.min_length <= it.max_length, fault)
    swapped = it.enable_limit and it.lower_angle > it.upper_angle
    node.check(not swapped, "lower_angle_deg must not exceed upper_angle_deg")
    node.check(a != b, f"{a!r} cannot be joined to itself")
    fields.finish()
    return it


_DEFAULT: Outline = rectangle(-0.5, 0.5, -0.5, 0.5)
_HEIGHTS = (0.0, 1.0)


def block(node: Node, classes: Classes, names: Names) -> BlockSpec:
    """Block of an element and its class."""
    name = names.of(node)
    fields = fields_of(node, classes, Node.included_and_own)
    pictures = visuals(fields.all("visual"))
    geometry = fields.part("geometry", solid, None)
    spec = BlockSpec(
        name,
        initial_pose(fields),
        _shape(fields, name, geometry, pictures),
        velocity=initial_velocity(fields),
        geometry=geometry,
        visuals=pictures,
        animation=keyframes(fields),
        publish=publish(fields, name),
        skip_elevation_adjust=presence(fields, "skip_elevation_adjust"),
        class_name=node.attribute("class") or "",
        source=node.source,
    )
    # Upstream reads the class after the block, so the class takes precedence.
    spec = (fields.backwards() if node.context.upstream else fields).record(spec)
    fields.record(spec)
    fields.ignore(("visual_scale",))
    note_lights(fields)
    fields.finish()
    return spec


def _shape(
    fields: Fields, name: str, geometry: specs.Geometry | None, pictures: Sequence[specs.Visual]
) -> Shape:
    upstream = fields.owner.context.upstream
    span: tuple[m | None, m | None] = (
        fields.get("zmin", ranged(), None),
        fields.get("zmax", ranged(), None),
    )

    def declared_heights(low: m, high: m) -> tuple[m, m]:
        low, high = low if span[0] is None else span[0], high if span[1] is None else span[1]
        return heights(fields.owner, low, high, (low, low + 1.0))

    from_visual = fields.find("shape_from_visual") is not None
    outline = fields.part("shape", polygon, _DEFAULT)
    declared: Shape | None = None
    if fields.find("shape") is not None:
        declared = shape(outline, declared_heights(*_HEIGHTS), "shape", upstream)
    # In upstream a solid is only drawn, unless the shape is taken from it.
    if geometry is not None and (from_visual or (declared is None and not upstream)):
        outline, low, high = outline_of_solid(geometry)
        return shape(outline, declared_heights(low, high), "geometry", upstream)
    if from_visual:
        try:
            return shape_of_model(pictures, span, fields.owner.context.models)
        except NoMesh as error:
            kind = "a box of 1 m" if declared is None else "its <shape>"
            note_stand_in(fields.owner, name, error, kind)
            return stand_in(declared, None, declared_heights(*_HEIGHTS))
    return declared or shape(_DEFAULT, declared_heights(*_HEIGHTS), "default", upstream)


def matrix(node: Node) -> Array:
    """Matrix in MATLAB notation, `[1 2; 3 4]`; without semicolons each line is a row."""
    text = node.text().removeprefix("[").removesuffix("]")
    rows = [row for row in text.split(";" if ";" in text else "\n") if row.strip(" \t\r\n,")]
    numbers = [as_numbers(node, node.tag, row) for row in rows]
    node.check(numbers, "the matrix is empty")
    width = len(numbers[0])
    for number, row in enumerate(numbers, 1):
        fault = f"row {number} of the matrix has {len(row)} numbers, but row 1 has {width}"
        node.check(len(row) == width, fault)
    return np.array(numbers)


def table(node: Node, file: Path, least: int) -> Array:
    """Numbers in a text file, in rows of at least `least` columns."""
    try:
        text = text_of(file)
    except InvalidValue as error:
        raise node.error(error) from None
    rows: list[list[float]] = []
    for number, line in enumerate(text.splitlines(), 1):
        try:
            row = [float(word) for word in re.split("[%#]", line)[0].replace(",", " ").split()]
        except ValueError:
            raise node.error(
                f"{file}, line {number}: {line.strip()!r} must contain only numbers"
            ) from None
        if not row:
            continue
        if len(row) < least or (rows and len(row) != len(rows[0])):
            expected = len(rows[0]) if rows else f"{least} or more"
            raise node.error(f"{file}, line {number}: {len(row)} numbers, expected {expected}")
        rows.append(row)
    numbers = np.array(rows)
    node.check(rows and np.isfinite(numbers).all(), f"{file} holds no rows of finite numbers")
    return numbers


def walls(node: Node, count: int) -> list[WallSpec]:
    """Pieces of a `<walls>`, numbered from `count`."""
    fields = Fields.of(node)
    template = fields.record(WallSpec("", (0.0, 0.0), (0.0, 0.0), (), source=node.source))
    fields.get("color", as_colour, "")
    scale = fields.number("scale", 1.0, positive)
    # Upstream reads the scale but does not use it.
    ends = _placed_wall(_ends(fields), 1.0 if node.context.upstream else scale, fields)
    fields.finish()
    specs: list[WallSpec] = []
    corners: list[Point] = []
    for start, end in ends:
        count += 1
        fault = f"a piece of wall begins and ends at {start[0]:g} {start[1]:g}"
        node.check(start != end, fault)
        outline = _wall_outline(start, end, template.thickness, corners)
        corners += [start, end]
        name = f"wall_{count:04d}"
        specs.append(replace(template, name=name, start=start, end=end, outline=outline))
    return specs


def _ends(fields: Fields) -> list[tuple[Point, Point]]:
    drawn = fields.find("shape")
    uri = fields.string("model_uri")
    if drawn is not None:
        points = corner_points(drawn)
        count, few = len(points), drawn.context.upstream and len(points) < 3
        fault = f"walls are pairs of <pt>, one for each piece: {count} points make no pairs"
        drawn.check(count >= 2 and count % 2 == 0, fault)
        drawn.check(not few, "upstream wants 4 points or more in the <shape> of <walls>")
        return list(zip(points[::2], points[1::2], strict=True))
    owner = fields.owner
    owner.check(uri, "walls need a <shape> with pairs of <pt>, or a <model_uri>")
    file = owner.regular(owner.path(uri))
    try:
        lines = segments_of(file)
    except NoMesh as error:
        owner.context.note("walls left out", f"{uri}: {error}", owner.source)
        return []
    return [((float(a[0]), float(a[1])), (float(b[0]), float(b[1]))) for a, b in lines]


def _placed_wall(
    ends: list[tuple[Point, Point]], scale: float, fields: Fields
) -> list[tuple[Point, Point]]:
    node = fields.find("transformation")
    change = np.eye(4)
    if node is not None:
        change = matrix(node)
        fault = f"the transformation must be 4 x 4 numbers, got {change.shape}"
        node.check(change.shape == (4, 4), fault)

    def placed(point: Point) -> Point:
        x, y, *_ = change @ np.array([scale * point[0], scale * point[1], 0.0, 1.0])
        return float(x), float(y)

    return [(placed(a), placed(b)) for a, b in ends]


def _wall_outline(start: Point, end: Point, thickness: m, corners: Sequence[Point]) -> Outline:
    """Corners of a piece, extended by half its thickness where an earlier piece ends."""
    length = math.dist(start, end)
    u_x, u_y = (end[0] - start[0]) / length, (end[1] - start[1]) / length
    half = 0.5 * thickness

    def reach(point: Point) -> m:
        return half if any(math.dist(point, c) < 1.01 * thickness for c in corners) else 0.0

    n_x, n_y = -u_y * half, u_x * half
    (x0, y0), (x1, y1) = start, end
    x0, y0 = x0 - reach(start) * u_x, y0 - reach(start) * u_y
    x1, y1 = x1 + reach(end) * u_x, y1 + reach(end) * u_y
    ends = ((x0 - n_x, y0 - n_y), (x1 - n_x, y1 - n_y))
    return (*ends, (x1 + n_x, y1 + n_y), (x0 + n_x, y0 + n_y))
