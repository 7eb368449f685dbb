"""Reading blocks, actors, joints and walls, and what they have in common with vehicles.

Common are names, classes, the pose and velocity at the start, keyframes and topics. `matrix` and
`table` read numbers for maps as well.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.body import Outline, Point
from ...core.files import text_of
from ...errors import InvalidValue
from ...geometry.polygon import rectangle
from ...units import m, non_negative, positive
from ..scene import (
    ActorSpec,
    BlockSpec,
    Geometry,
    JointSpec,
    Keyframe,
    Pose,
    Publish,
    Shape,
    Velocity,
    Visual,
    WallSpec,
    Waypoint,
)
from .fields import (
    Fields,
    as_colour,
    as_number,
    as_numbers,
    as_pose,
    as_switch,
    one_of,
    ranged,
)
from .markup import Context, Node
from .shapes import (
    Models,
    NoMesh,
    corner_points,
    note_stand_in,
    outline_of_solid,
    polygon,
    segments_of,
    shape,
    shape_of_model,
    solid,
    stand_in,
    visuals,
)

RENDERED = "not simulated, as they need a renderer"
NOT_DONE = "read and not done: nothing is written, published or asked for while a world runs"


class Names:
    """Names of the objects of one kind: those of the file, or made up with a number."""

    def __init__(self, context: Context, kind: str, pattern: str) -> None:
        self._context = context
        self._kind = kind
        self._pattern = pattern
        self.taken: dict[str, Node] = {}
        self._count = 0

    def of(self, node: Node) -> str:
        """The name of an object; expanded, which upstream does not do."""
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
        return self._free(node, name)

    def _free(self, node: Node, name: str) -> str:
        other = self.taken.get(name)
        if other is None:
            self.taken[name] = node
            return name
        if self._kind == "vehicle":
            raise node.error(f"the name {name!r} was given to the vehicle at {other.source} before")
        free = free_name(name, self.taken)
        self._context.note("names given twice", f"{self._kind} {name}, here {free}", node.source)
        self.taken[free] = node
        return free


def free_name(name: str, taken: Container[str]) -> str:
    """The name, with a number if it is taken."""
    if name not in taken:
        return name
    number = 2
    while f"{name}_{number}" in taken:
        number += 1
    return f"{name}_{number}"


def class_of(node: Node, classes: Mapping[str, Node], kind: str) -> Node | None:
    """The class an object names; None: it names none."""
    name = node.attribute("class")
    return None if name is None else classes[one_of(node, f"{kind}:class", name, classes)]


def initial_pose(fields: Fields) -> Pose:
    """The pose at the start, which has to be there."""
    pose = fields.pose(flat="init_pose", solid="init_pose3d", default=None)
    if pose is not None:
        return pose
    if not (fields.find("init_pose") or fields.find("init_pose3d")):
        owner = fields.owner
        missing = owner.error("<init_pose>x y yaw</init_pose> or <init_pose3d> is missing")
        owner.context.report(missing)
    return Pose()


def initial_velocity(fields: Fields) -> Velocity:
    """The velocity at the start, along the axes of the body; upstream: of the world."""
    node = fields.find("init_vel")
    if node is None:
        return Velocity()

    def parsed() -> Velocity:
        v_x, v_y, omega = as_numbers(node, "init_vel", node.text(), 3)
        frame = "world" if node.context.upstream else "body"
        return Velocity(v_x, v_y, math.radians(omega), frame)

    return fields.attempt(parsed, Velocity())


def keyframes(fields: Fields) -> tuple[Keyframe, ...]:
    """The keyframes of an `<animation>`, by time."""
    node = fields.find("animation")
    return () if node is None else fields.attempt(lambda: _keyframes(node), ())


def _keyframes(node: Node) -> tuple[Keyframe, ...]:
    one_of(node, "type of animation", node.needed("type"), ("keyframes",))
    fields = Fields.of(node)
    frames: list[Keyframe] = []
    for frame in fields.all("time_pose", "time_pose3d"):
        if frame.tag == "time_pose":
            time, x, y, yaw = as_numbers(frame, frame.tag, frame.text(), 4)
            pose = Pose(x, y, yaw=math.radians(yaw))
        else:
            time, *place = as_numbers(frame, frame.tag, frame.text(), 7)
            pose = Pose(*place[:3], *(math.radians(angle) for angle in place[3:]))
        if time < 0.0:
            raise frame.error(f"the time {time:g} must be at least 0 s")
        if any(other.time == time for other in frames):
            raise frame.error(f"there are two keyframes at {time:g} s")
        frames.append(Keyframe(time, pose))
    fields.finish()
    if not frames:
        raise node.error("an animation needs a <time_pose> or <time_pose3d>")
    return tuple(sorted(frames, key=lambda frame: frame.time))


def publish(fields: Fields, name: str) -> Publish | None:
    """Topics of an object."""
    node = fields.find("publish")
    if node is None:
        return None
    with node.context.values.naming(NAME=name):
        inner = Fields.of(node)
        objects = inner.string("publish_relative_pose_objects").replace(",", " ").split()
        enabled = is_enabled(inner, node)
        topics = inner.record(Publish(enabled, relative_objects=tuple(objects)))
        inner.ignore(("publish_topic",))
        inner.finish()
        if topics.enabled:
            node.context.note(NOT_DONE, "publish of", node.source, name)
        return topics


def is_enabled(fields: Fields, node: Node, name: str = "enabled") -> bool:
    """Whether an element is enabled, as it is without the attribute that says so."""
    return fields.get(name, as_switch, True, attributes_of=node, children=False)


def note_lights(fields: Fields) -> None:
    """Remember to warn of lamps, which later versions of upstream have on vehicles and blocks."""
    for node in fields.all("light_group"):
        node.context.note(RENDERED, "light_group", node.source)


def presence(fields: Fields, tag: str) -> bool:
    """Whether a tag is there and does not say false."""
    node = fields.find(tag)
    if node is None:
        return False
    return fields.attempt(lambda: not node.text() or as_switch(node, tag, node.text()), True)


JOINTS = {"distance": "distance", "rope": "distance", "revolute": "revolute", "pin": "revolute"}
"""Types of joints by the names files use."""


def actor(node: Node, classes: Mapping[str, Node], names: Names) -> ActorSpec:
    """The actor that an element describes, with what its class says."""
    kind = class_of(node, classes, "actor")
    groups = [node.children(), *([] if kind is None else [kind.children()])]
    fields = Fields(groups, node.context, node)
    spec = ActorSpec(
        names.of(node),
        initial_pose(fields),
        animation=keyframes(fields),
        visuals=visuals(fields.all("visual")),
        class_name=node.attribute("class") or "",
        source=node.source,
    )
    spec = fields.record(spec)
    path = fields.find("path")
    if path is not None:
        spec = fields.attempt(lambda: replace(spec, **_path(path)), spec)
    # The last is on upstream's page of actors; nothing there reads it.
    fields.ignore(("skip_elevation_adjust", "publish", "turning_rate"))
    fields.finish()
    return spec


def _path(node: Node) -> dict[str, Any]:
    fields = Fields.of(node)
    waypoints = tuple(_waypoint(child) for child in fields.all("waypoint"))
    fields.finish()
    node.expects("type")
    return {"path": waypoints, "loop": is_enabled(fields, node, "loop")}


def _waypoint(node: Node) -> Waypoint:
    text = node.text()
    count = len(as_numbers(node, "waypoint", text, 3, 6))
    pose: Pose = as_pose(node, "waypoint" if count == 3 else "waypoint3d", text)
    pause = as_number(node, "pause", node.attribute("pause") or "0", non_negative)
    animation = node.attribute("animation") or ""
    if animation:
        one_of(node, "animation", animation, ("walk", "run", "idle"))
    return Waypoint(pose, pause, animation)  # pyright: ignore[reportArgumentType]


def joint(node: Node) -> JointSpec:
    """The joint that an element describes; whether its bodies exist is checked at the end."""
    kind = JOINTS[one_of(node, "type of joint", node.needed("type"), JOINTS)]
    anchors: list[Point] = []
    for name in ("anchor_a", "anchor_b"):
        x, y = as_numbers(node, name, node.needed(name), 2)
        anchors.append((x, y))
    fields = Fields.of(node)
    template = JointSpec(
        kind,  # pyright: ignore[reportArgumentType]
        node.needed("body_a"),
        node.needed("body_b"),
        anchors[0],
        anchors[1],
        source=node.source,
    )
    spec = fields.record(template, attributes_of=node)
    if kind == "distance":
        if not spec.max_length:
            raise node.error('a joint of type distance needs max_length="..."')
        if spec.min_length > spec.max_length:
            raise node.error(
                f"min_length = {spec.min_length:g} must not exceed max_length = {spec.max_length:g}"
            )
    if spec.enable_limit and spec.lower_angle > spec.upper_angle:
        raise node.error("lower_angle_deg must not exceed upper_angle_deg")
    if spec.body_a == spec.body_b:
        raise node.error(f"{spec.body_a!r} cannot be joined to itself")
    fields.finish()
    return spec


_DEFAULT: Outline = rectangle(-0.5, 0.5, -0.5, 0.5)
_HEIGHTS = (0.0, 1.0)


def block(node: Node, classes: Mapping[str, Node], names: Names, models: Models) -> BlockSpec:
    """The block that an element describes, with what its class says."""
    name = names.of(node)
    kind = class_of(node, classes, "block")
    own, included = node.own_and_included()
    groups = [*included, own, *([] if kind is None else [kind.children()])]
    fields = Fields(groups, node.context, node)
    pictures = visuals(fields.all("visual"))
    drawn = fields.find("geometry")
    geometry = None if drawn is None else fields.attempt(lambda: solid(drawn), None)
    spec = BlockSpec(
        name,
        initial_pose(fields),
        _shape(fields, name, geometry, pictures, models),
        velocity=initial_velocity(fields),
        geometry=geometry,
        visuals=pictures,
        animation=keyframes(fields),
        publish=publish(fields, name),
        skip_elevation_adjust=presence(fields, "skip_elevation_adjust"),
        class_name=node.attribute("class") or "",
        source=node.source,
    )
    # Upstream reads the class after the block, so that it wins where both say something.
    settings = Fields(groups[::-1], node.context, node) if node.context.upstream else fields
    spec = settings.record(spec)
    fields.record(spec)
    fields.ignore(("visual_scale",))
    note_lights(fields)
    fields.finish()
    return spec


def _shape(
    fields: Fields,
    name: str,
    geometry: Geometry | None,
    pictures: Sequence[Visual],
    models: Models,
) -> Shape:
    upstream = fields.owner.context.upstream
    span: tuple[m | None, m | None] = (
        fields.get("zmin", ranged(), None),
        fields.get("zmax", ranged(), None),
    )
    from_visual = fields.find("shape_from_visual") is not None
    drawn = fields.find("shape")
    declared: Shape | None = None
    if drawn is not None:
        outline = fields.attempt(lambda: polygon(drawn), _DEFAULT)
        declared = shape(outline, _filled(span, _HEIGHTS, fields), "shape", upstream)
    # To upstream a solid is only a picture, unless the shape is taken from it.
    if geometry is not None and (from_visual or (declared is None and not upstream)):
        outline, low, high = outline_of_solid(geometry)
        return shape(outline, _filled(span, (low, high), fields), "geometry", upstream)
    if from_visual:
        try:
            return shape_of_model(pictures, span, models)
        except NoMesh as error:
            kind = "a box of 1 m" if declared is None else "its <shape>"
            note_stand_in(fields.owner, name, error, kind)
            return stand_in(declared, None, _filled(span, _HEIGHTS, fields))
    return declared or shape(_DEFAULT, _filled(span, _HEIGHTS, fields), "default", upstream)


def _filled(span: tuple[m | None, m | None], default: tuple[m, m], fields: Fields) -> tuple[m, m]:
    low = default[0] if span[0] is None else span[0]
    high = default[1] if span[1] is None else span[1]
    if high <= low:
        owner = fields.owner
        owner.context.report(owner.error(f"zmax = {high:g} must be above zmin = {low:g}"))
        return low, low + 1.0
    return low, high


def matrix(node: Node) -> Array:
    """A matrix as MATLAB writes it, `[1 2; 3 4]`; without semicolons rows are lines."""
    text = node.text().removeprefix("[").removesuffix("]")
    rows = [row for row in text.split(";" if ";" in text else "\n") if row.strip(" \t\r\n,")]
    numbers = [as_numbers(node, node.tag, row) for row in rows]
    if not numbers:
        raise node.error("the matrix is empty")
    for number, row in enumerate(numbers, 1):
        if len(row) != len(numbers[0]):
            raise node.error(
                f"row {number} of the matrix has {len(row)} numbers, but row 1 has "
                f"{len(numbers[0])}"
            )
    return np.array(numbers)


def table(node: Node, file: Path, least: int) -> Array:
    """The numbers in a text file, in rows of at least `least` columns."""
    try:
        text = text_of(file)
    except InvalidValue as error:
        raise node.error(error) from None
    rows: list[list[float]] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("%")[0].split("#")[0].replace(",", " ").split()
        if not words:
            continue
        try:
            row = [float(word) for word in words]
        except ValueError:
            raise node.error(f"{file}, line {number}: {line.strip()!r} is not numbers") from None
        if len(row) < least or (rows and len(row) != len(rows[0])):
            expected = len(rows[0]) if rows else f"{least} or more"
            raise node.error(f"{file}, line {number}: {len(row)} numbers, expected {expected}")
        rows.append(row)
    numbers = np.array(rows)
    if not rows or not np.isfinite(numbers).all():
        raise node.error(f"{file} holds no rows of finite numbers")
    return numbers


def walls(node: Node, count: int) -> list[WallSpec]:
    """The pieces of a `<walls>`, numbered from `count` on."""
    fields = Fields.of(node)
    template = fields.record(WallSpec("", (0.0, 0.0), (0.0, 0.0), (), source=node.source))
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
