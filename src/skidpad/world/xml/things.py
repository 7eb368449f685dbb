"""Reader of blocks, actors, joints and walls, and of the parts they share with vehicles.

Shared are names, classes, the initial pose and velocity, keyframes and topics. `matrix` and
`table` also read numbers for maps.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from ...core.arrays import Array
from ...core.body import Outline, Point
from ...core.files import text_of
from ...errors import InvalidValue
from ...geometry.polygon import rectangle
from ...units import m, non_negative, positive
from .. import scene as specs
from ..scene import ActorSpec, BlockSpec, JointSpec, Keyframe, Pose, Shape, WallSpec
from . import shapes
from .fields import (
    Fields,
    as_colour,
    as_number,
    as_numbers,
    as_switch,
    one_of,
    pose_in_degrees,
    ranged,
)
from .markup import Context, Node

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
    """The name, numbered if it is taken."""
    return (
        name
        if name not in taken
        else next(free for number in count(2) if (free := f"{name}_{number}") not in taken)
    )


Classes = Mapping[str, Node]
"""Elements of classes by name."""


def fields_of(node: Node, classes: Classes, own: Callable[[Node], list[list[Node]]]) -> Fields:
    """Fields of an object, those of its `own` elements before those of its class."""
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
        visuals=shapes.visuals(fields.all("visual")),
        class_name=node.attribute("class") or "",
        source=node.source,
    )
    spec = replace(fields.record(spec), **fields.part("path", _path, {}))
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


def _waypoint(node: Node) -> specs.Waypoint:
    pose = pose_in_degrees(*as_numbers(node, "waypoint", node.text(), 3, 6))
    pause = as_number(node, "pause", node.attribute("pause") or "0", non_negative)
    animation: Any = node.attribute("animation") or ""
    if animation:
        one_of(node, "animation", animation, ("walk", "run", "idle"))
    return specs.Waypoint(pose, pause, animation)


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
    pictures = shapes.visuals(fields.all("visual"))
    geometry = fields.part("geometry", shapes.solid, None)
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
    # Upstream reads the class after the block, so that it wins where both say something.
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

    def heights(low: m, high: m) -> tuple[m, m]:
        low, high = low if span[0] is None else span[0], high if span[1] is None else span[1]
        return shapes.heights(fields.owner, low, high, (low, low + 1.0))

    from_visual = fields.find("shape_from_visual") is not None
    outline = fields.part("shape", shapes.polygon, _DEFAULT)
    declared: Shape | None = None
    if fields.find("shape") is not None:
        declared = shapes.shape(outline, heights(*_HEIGHTS), "shape", upstream)
    # To upstream a solid is only a picture, unless the shape is taken from it.
    if geometry is not None and (from_visual or (declared is None and not upstream)):
        outline, low, high = shapes.outline_of_solid(geometry)
        return shapes.shape(outline, heights(low, high), "geometry", upstream)
    if from_visual:
        try:
            return shapes.shape_of_model(pictures, span, fields.owner.context.models)
        except shapes.NoMesh as error:
            kind = "a box of 1 m" if declared is None else "its <shape>"
            shapes.note_stand_in(fields.owner, name, error, kind)
            return shapes.stand_in(declared, None, heights(*_HEIGHTS))
    return declared or shapes.shape(_DEFAULT, heights(*_HEIGHTS), "default", upstream)


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
            raise node.error(f"{file}, line {number}: {line.strip()!r} is not numbers") from None
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
    # Upstream reads the scale and leaves it at that.
    ends = _placed(_ends(fields), 1.0 if node.context.upstream else scale, fields)
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
        points = shapes.corner_points(drawn)
        count, few = len(points), drawn.context.upstream and len(points) < 3
        fault = f"walls are pairs of <pt>, one for each piece: {count} points make no pairs"
        drawn.check(count >= 2 and count % 2 == 0, fault)
        drawn.check(not few, "upstream wants 4 points or more in the <shape> of <walls>")
        return list(zip(points[::2], points[1::2], strict=True))
    owner = fields.owner
    owner.check(uri, "walls need a <shape> with pairs of <pt>, or a <model_uri>")
    file = owner.regular(owner.path(uri))
    try:
        lines = shapes.segments_of(file)
    except shapes.NoMesh as error:
        owner.context.note("walls left out", f"{uri}: {error}", owner.source)
        return []
    return [((float(a[0]), float(a[1])), (float(b[0]), float(b[1]))) for a, b in lines]


def _placed(
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
