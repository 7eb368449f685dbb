"""What vehicles, blocks and actors have in common: pose, velocity, keyframes, topics."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping

from ..scene.shapes import Keyframe, Pose, Publish, Velocity
from .fields import Fields, as_numbers, as_switch, one_of
from .nodes import Context, Node

RENDERED = "not simulated, as they need a renderer"
NOT_DONE = "read and not done: nothing is written, published or asked for while a world runs"
"""Kind of the note on what is only shown."""


class Names:
    """Names of the objects of one kind: given, or made up with a number."""

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

    return fields.kept(parsed, Velocity())


def keyframes(fields: Fields) -> tuple[Keyframe, ...]:
    """The keyframes of an `<animation>`, by time."""
    node = fields.find("animation")
    return () if node is None else fields.kept(lambda: _keyframes(node), ())


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
    values = node.context.values
    around, values.named = values.named, {**values.named, "NAME": name}
    try:
        inner = Fields.of(node)
        enabled = node.attribute("enabled")
        topics = Publish(
            enabled is None or as_switch(node, "enabled", enabled),
            inner.string("publish_pose_topic"),
            inner.number("publish_pose_period", 0.1),
            inner.string("publish_relative_pose_topic"),
            tuple(inner.string("publish_relative_pose_objects").replace(",", " ").split()),
        )
        inner.ignore(("publish_topic",))
        inner.finish()
        if topics.enabled:
            node.context.note(NOT_DONE, "publish of", node.source, name)
        return topics
    finally:
        values.named = around


def note_lights(fields: Fields) -> None:
    """Remember to warn of lamps, which later versions of upstream have on vehicles and blocks."""
    for node in fields.all("light_group"):
        node.context.note(RENDERED, "light_group", node.source)


def presence(fields: Fields, tag: str) -> bool:
    """Whether a tag is there and does not say false."""
    node = fields.find(tag)
    if node is None:
        return False
    return fields.kept(lambda: not node.text() or as_switch(node, tag, node.text()), True)
