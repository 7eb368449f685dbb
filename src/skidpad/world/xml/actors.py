"""Reading `<actor>`, `<actor:class>` and `<joint>`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...body import Point
from ...units import non_negative
from ..scene.scene import ActorSpec, JointSpec, Waypoint
from ..scene.shapes import Pose
from .common import Names, class_of, initial_pose, keyframes
from .fields import Fields, as_number, as_numbers, as_pose, as_switch, one_of
from .nodes import Node
from .shapes import visuals

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
        spec = fields.kept(lambda: replace(spec, **_path(path)), spec)
    # The last is on upstream's page of actors; nothing there reads it.
    fields.ignore(("skip_elevation_adjust", "publish", "turning_rate"))
    fields.finish()
    return spec


def _path(node: Node) -> dict[str, Any]:
    fields = Fields.of(node)
    waypoints = tuple(_waypoint(child) for child in fields.all("waypoint"))
    fields.finish()
    loop = node.attribute("loop")
    node.expects("type")
    return {"path": waypoints, "loop": loop is None or as_switch(node, "loop", loop)}


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
