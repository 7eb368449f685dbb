"""Reading `<sensor>`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..errors import WorldError
from ..scene.sensors import CAMERA_POSE, SENSORS, Laser, OwnSensor, RgbdCamera, Sensor
from ..scene.shapes import Pose
from .common import NOT_DONE, RENDERED
from .fields import Fields, as_number, as_pose, as_switch, one_of
from .nodes import Node

OWN = "skidpad:"
"""Begins the names of classes that upstream does not have."""
ALWAYS = ("odometry", "bumper")
"""Sensors of skidpad's own."""
SEEN = ("lidar3d", "camera", "rgbd_camera")
"""Classes that need a renderer."""
_PICTURE = (
    *("visual", "preview_win_visible", "preview_depth", "show_3d_pointcloud", "viz_visiblePoints"),
    *("viz_pointSize", "viz_visiblePlane", "viz_visibleLines", "viz_pointsColor"),
    *("viz_planeColor", "publish_ros_depth_image", "publish_ros_colored_pointcloud", "height"),
    *("xsize", "ysize", "preview_win_x", "preview_win_y", "fbo_nrows", "fbo_ncols"),
    *("distortion_model", "k1", "k2", "k3", "p1", "p2", "image_noise_std", "fix_type"),
)
"""Tags that only change a picture, or that upstream reads and never uses."""


def sensors(nodes: Sequence[Node], parent: str) -> tuple[Sensor, ...]:
    """The sensors in some elements; those without a name are numbered by class."""
    specs: list[Sensor] = []
    for node in nodes:
        names = {other.name for other in specs}
        try:
            specs.append(sensor_of(node, parent, names))
        except WorldError as error:
            node.context.report(error)
    return tuple(specs)


def sensor_of(node: Node, parent: str, taken: set[str]) -> Sensor:
    """The sensor that an element describes."""
    values = node.context.values
    around = dict(values.named)
    try:
        kind = node.needed("class")
        if not kind.startswith(OWN):
            one_of(node, "class of sensor", kind, [*SENSORS, f"{OWN}NAME"])
        name = node.attribute("name") or _free_name(kind.removeprefix(OWN), taken)
        if name in taken:
            # Upstream's own vehicles have sensors that its worlds add once more.
            of = f" of {parent}" if parent else ""
            node.context.note("names given twice", f"sensor {name}{of}", node.source)
            name = _free_name(f"{name}_", taken, first=2)
        values.named = {**around, "NAME": name, "PARENT_NAME": parent}
        return _own(node, kind, name) if kind.startswith(OWN) else _read(node, kind, name, parent)
    finally:
        values.named = around


def _free_name(kind: str, taken: set[str], first: int = 1) -> str:
    number = first
    while f"{kind}{number}" in taken:
        number += 1
    return f"{kind}{number}"


def _read(node: Node, kind: str, name: str, parent: str) -> Sensor:
    fields = Fields.of(node)
    fields.ignore(_PICTURE)
    default = CAMERA_POSE if kind == "camera" else Pose()
    template = SENSORS[kind](name, pose=_pose(fields, default), source=node.source)
    sensor = fields.record(template)
    if isinstance(sensor, RgbdCamera):
        inner = fields.find("relativePoseIntensityWRTDepth")
        if inner is not None:
            pose = fields.kept(lambda: as_pose(inner, inner.tag, inner.text()), sensor.rgb_pose)
            sensor = replace(sensor, rgb_pose=pose)
    sensor = replace(sensor, publish_topic=_topic(fields))
    fields.finish()
    label = f"{kind} {name}" + (" of" if parent else "")
    if kind in SEEN:
        node.context.note(RENDERED, label, node.source, parent)
    elif isinstance(sensor, Laser) and sensor.raytrace_3d:
        kind = "lidars simulated in 2-D instead of rendered"
        node.context.note(kind, label, node.source, parent)
    return sensor


def _pose(fields: Fields, default: Pose) -> Pose:
    pose = fields.pose(flat="pose", solid="pose_3d", default=default)
    return default if pose is None else pose


def _topic(fields: Fields) -> str:
    node = fields.find("publish")
    if node is None:
        return ""
    inner = Fields.of(node)
    topic = inner.string("publish_topic")
    inner.finish()
    enabled = node.attribute("enabled")
    if enabled is not None and not as_switch(node, "enabled", enabled):
        return ""
    named = node.context.values.named
    if topic:
        whom = " of ".join(n for n in (named.get("NAME"), named.get("PARENT_NAME")) if n)
        node.context.note(NOT_DONE, "publish of", node.source, whom)
    return topic


def _own(node: Node, kind: str, name: str) -> OwnSensor:
    """One of skidpad's sensors; what it understands is for the world to say."""
    fields = Fields.of(node)
    pose = _pose(fields, Pose())
    period = fields.get("sensor_period", lambda n, t, x: as_number(n, t, x), 0.1)
    topic = _topic(fields)
    known = ("pose", "pose_3d", "sensor_period", "publish", "visual")
    others = {child.tag: child.text() for child in node.children() if child.tag not in known}
    if kind.removeprefix(OWN) not in ALWAYS:
        node.context.note(
            "sensors of classes that skidpad does not have", f"{kind} {name}", node.source
        )
    return OwnSensor(name, pose, period, topic, node.source, kind.removeprefix(OWN), others)
