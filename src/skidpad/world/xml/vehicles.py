"""Reader of vehicles: dynamics, friction, sensors, and paths that vehicles follow by themselves.

`vehicle` reads a `<vehicle>` with its `<vehicle:class>`, with a description of a wheeled vehicle
from `<dynamics>` and `<friction>`; `sensor_of` reads a `<sensor>`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count, pairwise
from typing import Any

from ...control.pid import Form, Gains
from ...core.body import Outline, Point
from ...core.record import fields as leaves
from ...errors import InvalidValue
from ...geometry.polygon import cleaned, rectangle
from ...units import Allowed, non_negative, positive
from ...vehicles.parts.wheel_friction import Friction
from ...vehicles.wheeled import description as robots
from ...vehicles.wheeled.description import KINDS, Chassis, Control, Drivetrain, Wheel
from .. import scene as specs
from ..scene import OwnDynamics, Sensor, Shape, TimedPath, VehicleSpec, Visual, WorldError
from . import shapes
from .markup import Fields, Node, as_number, as_numbers, as_pose, as_size, one_of, ranged

_CORNERS = ("rl_wheel", "rr_wheel", "fl_wheel", "fr_wheel")
CLASSES = {
    "differential": ("l_wheel", "r_wheel"),
    "differential_3_wheels": ("l_wheel", "r_wheel", "caster_wheel"),
    "differential_4_wheels": ("lr_wheel", "rr_wheel", "lf_wheel", "rf_wheel"),
    "ackermann": _CORNERS,
    "ackermann_drivetrain": _CORNERS,
}
"""Classes of dynamics, and the tags of their wheels in the order of `KINDS`."""
STANDING_IN = ("trajectory", "ros2_control")
"""Controllers of versions of upstream after 1.2, which are replaced by others."""
DRIVES = ("open_front", "open_rear", "open_4wd", "torsen_front", "torsen_rear", "torsen_4wd")
FRICTION_TAGS = {
    "R_1": "R1",
    "R_2": "R2",
    "alpha_s": "slip_angle_saturation",
    "s_s": "slip_ratio_saturation",
}
"""Tags of friction parameters whose names differ here."""
_PICTURE = ("color", "visual", "linked_yaw", "linked_yaw_offset_deg", "joint_name")
_WHEEL = ("diameter", "width", "mass", "inertia")
_CHASSIS = ("mass", "zmin", "zmax", "linear_damping", "angular_damping")
"""Attributes that upstream ignores if they are children."""


Made = tuple[robots.Description | OwnDynamics, Shape | None]
"""Dynamics of a vehicle, and the outline of its chassis."""


def _dynamics(fields: Fields, pictures: tuple[Visual, ...]) -> Made:
    """Vehicle of a `<dynamics>` and a `<friction>`."""
    node, friction = fields.find("dynamics"), fields.find("friction")
    if node is None:
        raise fields.owner.error("<dynamics> is missing, here and in its class")
    kind = node.needed("class")
    if kind.startswith(OWN):
        return _own(node, kind.removeprefix(OWN), pictures)
    one_of(node, "class of dynamics", kind, [*CLASSES, f"{OWN}NAME"])
    fields = Fields.of(node)
    wheels = _wheels(fields, kind)
    body, outline = chassis(fields, kind, wheels, pictures)
    limit = fields.number("max_steer_ang_deg", 30.0, Allowed(0.0, 89.0, open_low=True))
    parts: dict[str, Any] = {
        "chassis": body,
        "wheels": wheels,
        **({"friction": Friction()} if friction is None else _friction(friction)),
        "control": fields.part("controller", lambda it: _control(it, kind), Control()),
        "drivetrain": None,
    }
    if KINDS[kind].one_motor:
        parts["drivetrain"] = fields.part("drivetrain", _drivetrain, Drivetrain())
    if KINDS[kind].steered:
        parts["steer_max"] = math.radians(limit)
    # Extension of the format: whether acceleration causes load transfer between the wheels.
    parts["loads"] = fields.string("wheel_loads", "dynamic")
    # Some of upstream's files have these tags for every class.
    fields.ignore(("drivetrain", "f_wheels_x", "f_wheels_d"))
    fields.finish()
    try:
        return robots.default_description(kind, **parts), outline
    except InvalidValue as error:
        raise node.error(error) from None


def _wheels(fields: Fields, kind: str) -> tuple[Wheel, ...]:
    places: list[Point] = list(KINDS[kind].places)
    steered = KINDS[kind].steered
    if steered:
        x = fields.number("f_wheels_x", 1.3)
        half = 0.5 * fields.number("f_wheels_d", 2.0, positive)
        places[2:] = [(x, half), (x, -half)]
    wheels = [
        _wheel(fields, tag, place, placed=steered and k > 1)
        for k, (tag, place) in enumerate(zip(CLASSES[kind], places, strict=True))
    ]
    if wheels[0].y < wheels[1].y:
        # One of upstream's own vehicles has the wheels in the wrong order.
        left, right = CLASSES[kind][:2]
        owner = fields.owner
        note = f"<{left}> stands to the right of <{right}>: taken for each other"
        owner.context.note("slips", note, owner.source)
        wheels[:2] = wheels[1::-1]
    return tuple(wheels)


def _wheel(fields: Fields, tag: str, place: Point, *, placed: bool) -> Wheel:
    """Wheel of a vehicle. If `placed`, its position is `place`, and only its angle is read from the
    file."""
    node = fields.find(tag)
    if node is None:
        return Wheel(*place)
    inner = Fields.of(node)
    inner.ignore((*_PICTURE, *(_WHEEL if node.context.upstream else ())))
    node.expects(*_PICTURE)
    x, y, *yaw = place
    text = node.attribute("pos")
    if text is not None:
        read = inner.attempt(lambda: as_numbers(node, "pos", text, 2, 3), [*place])
        x, y, *yaw = (*place, *read[2:]) if placed else read
    default, size = Wheel(x, y, math.radians(yaw[0]) if yaw else 0.0), ranged(positive)
    wheel = replace(
        default,
        diameter=inner.get("diameter", as_size, default.diameter, attributes_of=node),
        width=inner.get("width", as_size, default.width, attributes_of=node),
        mass=inner.get("mass", size, default.mass, attributes_of=node),
        inertia=inner.get("inertia", size, None, attributes_of=node),
    )
    inner.finish()
    return wheel


def chassis(
    fields: Fields, kind: str, wheels: Sequence[Wheel], pictures: tuple[Visual, ...]
) -> tuple[Chassis, Shape]:
    """Chassis for the vehicle's dynamics, and its outline for contacts."""
    known, context = KINDS[kind], fields.owner.context
    node, z = fields.find("chassis"), (known.z_min, known.z_max)
    if node is None:
        outline = shapes.shape(cleaned(known.shape), z, "default", context.upstream)
        return Chassis(known.mass, known.shape, *z), outline
    inner = Fields.of(node)
    inner.ignore((*_PICTURE, *(_CHASSIS if context.upstream else ())))
    node.expects(*_PICTURE)
    mass = inner.get("mass", ranged(positive), known.mass, attributes_of=node)
    low, high = (
        inner.get(tag, ranged(), value, attributes_of=node)
        for tag, value in zip(("zmin", "zmax"), z, strict=True)
    )
    z = shapes.heights(node, low, high, z)
    damping: list[float | None] = [
        inner.get(f"{kind}_damping", ranged(non_negative), None, attributes_of=node)
        for kind in ("linear", "angular")
    ]
    corners: Sequence[Point] = known.shape
    drawn, made_from = inner.find("shape"), "default"
    rounded = inner.part("shape", shapes.polygon, cleaned(corners))
    if drawn is not None:
        # Upstream spreads the mass over the hull of the corners, in their order.
        corners = shapes.corner_points(drawn) if context.upstream else rounded
        made_from = "shape"
    outline = shapes.shape(rounded, z, made_from, context.upstream)
    if inner.find("shape_from_visual") is not None:
        try:
            outline = shapes.shape_of_model(pictures, z, context.models)
        except shapes.NoMesh as error:
            around = _around(wheels)
            what = "the rectangle around its wheels" if around else "a box of 1 m"
            what = what if drawn is None else "its <shape>"
            outline = shapes.stand_in(outline if drawn is not None else None, around, z)
            shapes.note_stand_in(node, context.values.named["NAME"], error, what)
        corners = outline.outline
    inner.finish()
    return Chassis(mass, tuple(corners), outline.z_min, outline.z_max, *damping), outline


def _around(wheels: Sequence[Wheel]) -> Outline | None:
    if not wheels:
        return None
    x = [wheel.x + side * 0.5 * wheel.diameter for wheel in wheels for side in (-1.0, 1.0)]
    y = [wheel.y + side * 0.5 * wheel.width for wheel in wheels for side in (-1.0, 1.0)]
    return rectangle(min(x), max(x), min(y), max(y))


def _control(node: Node, kind: str) -> Control:
    name = node.attribute("class") or "raw"
    fields = Fields.of(node)
    if name in STANDING_IN:
        name = _standing_in(node, fields, name)
    one_of(node, f"controller of {kind}", name, KINDS[kind].controllers)
    # Upstream's own files have these, but its program does not read them. Gains may be left over
    # from another controller.
    fields.ignore(("I_MAX", "joyMaxLinSpeed", "joyMaxAngSpeed", *Gains._fields))
    gains: Gains | None = None
    form = Form()
    if "pid" in name:
        gains = fields.numbers(KINDS[kind].default_gains(name))
        form = _form(fields, gains)
        if name == "front_steer_pid" and node.context.upstream:
            # Upstream passes only four of the numbers on to the controller.
            kept = {key: getattr(gains, key) for key in ("KP", "KI", "KD", "max_torque")}
            gains, form = KINDS[kind].default_gains(name)._replace(**kept), Form()
    set_point = _set_point(fields, kind, name)
    fields.finish()
    return Control(name, gains, form, set_point)


def _standing_in(node: Node, fields: Fields, name: str) -> str:
    """Controller that stands in for a controller of a later upstream version."""
    if name == "trajectory":
        # `timed_path` reads them; the world gives the commands.
        fields.ignore(("loop", "lookahead_distance", "max_angular_speed", "waypoint"))
        node.expects("loop", "lookahead_distance", "max_angular_speed")
        return "twist_ideal"
    effort = fields.string("command_interface", "velocity") == "effort"
    fields.ignore(("controllers_yaml", "robot_description"))
    controller = "raw" if effort else "twist_pid"
    of = node.context.values.named.get("NAME", "")
    kind = "controllers that need ROS 2, replaced"
    node.context.note(kind, f"ros2_control by {controller} in", node.source, of)
    return controller


def _form(fields: Fields, gains: Gains) -> Form:
    order = fields.number("reference_filter_order", 1.0, Allowed(1, 2))
    filtered = fields.switch("enable_reference_filter", False)
    return Form(
        filtered_derivative=gains.N > 0.0,
        anti_windup=fields.switch("enable_antiwindup", False),
        reference_order=int(order) if filtered else 0,
        feed_forward=fields.switch("enable_feedforward", False),
    )


def _set_point(fields: Fields, kind: str, controller: str) -> dict[str, float]:
    """Initial set-points of the controller; torques in files are negative forward."""
    if controller == "raw":
        if KINDS[kind].one_motor:
            names = {"torque": "tau"}
        elif KINDS[kind].steered:
            names = {"fl_torque": "tau_fl", "fr_torque": "tau_fr"}
        else:
            names = {"l_torque": "tau_left", "r_torque": "tau_right"}
        values = {name: 0.0 - fields.number(tag, 0.0) for tag, name in names.items()}
        if KINDS[kind].steered:
            values["steer"] = math.radians(fields.number("steer_ang_deg", 0.0))
    else:
        values = {"v": fields.number("V", 0.0)}
        if controller == "front_steer_pid":
            values["steer"] = math.radians(fields.number("STEER_ANG", 0.0))
        else:
            values["omega"] = math.radians(fields.number("W", 0.0))
        fields.ignore(("W", "STEER_ANG"))
    return {name: value for name, value in values.items() if value}


def _drivetrain(node: Node) -> Drivetrain:
    kind = node.attribute("type") or "torsen_4wd"
    if kind not in DRIVES and node.context.upstream:
        kind = "torsen_4wd"
    one_of(node, "type of drivetrain", kind, DRIVES)
    inner = Fields.of(node)
    splits = inner.numbers(Drivetrain().splits)
    inner.finish()
    return replace(Drivetrain(), kind=kind, splits=splits)


def _friction(node: Node) -> dict[str, Any]:
    """Friction model, and whether it limits the total force, which upstream does not."""
    kind = node.attribute("class") or "default"
    one_of(node, "class of friction", kind, robots.FRICTIONS)
    fields = Fields.of(node)
    settings = {
        "friction": fields.numbers(robots.FRICTIONS[kind](), FRICTION_TAGS),
        "friction_circle": fields.switch("friction_circle", True),
    }
    fields.finish()
    return settings


OWN = "skidpad:"
"""Prefix of the class names that upstream does not have."""
SEEN = ("lidar3d", "camera", "rgbd_camera")
"""Classes that need a renderer."""
_SENSORS_PICTURE = (
    *("visual", "preview_win_visible", "preview_depth", "show_3d_pointcloud", "viz_visiblePoints"),
    *("viz_pointSize", "viz_visiblePlane", "viz_visibleLines", "viz_pointsColor"),
    *("viz_planeColor", "publish_ros_depth_image", "publish_ros_colored_pointcloud", "height"),
    *("xsize", "ysize", "preview_win_x", "preview_win_y", "fbo_nrows", "fbo_ncols"),
    *("distortion_model", "k1", "k2", "k3", "p1", "p2", "image_noise_std", "fix_type"),
)
"""Tags that affect only rendering, or that upstream reads and never uses."""


def sensors(nodes: Sequence[Node], parent: str) -> tuple[Sensor, ...]:
    """Sensors in some elements; unnamed ones are numbered by class."""
    specs: list[Sensor] = []
    for node in nodes:
        names = {other.name for other in specs}
        try:
            specs.append(sensor_of(node, parent, names))
        except WorldError as error:
            node.context.report(error)
    return tuple(specs)


def sensor_of(node: Node, parent: str, taken: set[str]) -> Sensor:
    kind = node.needed("class")
    own = kind.removeprefix(OWN) if kind.startswith(OWN) else None
    if own is None:
        one_of(node, "class of sensor", kind, [*specs.SENSORS, f"{OWN}NAME"])
    numbered = (f"{own or kind}{number}" for number in count(1))
    name = node.attribute("name") or next(one for one in numbered if one not in taken)
    if name in taken:
        # Upstream's own vehicles have sensors that its worlds add once more.
        of = f" of {parent}" if parent else ""
        node.context.note("names given twice", f"sensor {name}{of}", node.source)
        name = shapes.free_name(name, taken)
    with node.context.values.naming(NAME=name, PARENT_NAME=parent):
        if own is not None:
            return _own_sensor(node, own, name)
        return _upstream_sensor(node, kind, name, parent)


def _upstream_sensor(node: Node, kind: str, name: str, parent: str) -> Sensor:
    fields = Fields.of(node)
    fields.ignore(_SENSORS_PICTURE)
    default = specs.CAMERA_POSE if kind == "camera" else specs.ORIGIN
    pose = fields.pose("pose", "pose_3d", default)
    sensor = fields.record(specs.SENSORS[kind](name, pose=pose, source=node.source))
    if isinstance(sensor, specs.RgbdCamera):
        pose = fields.part("relativePoseIntensityWRTDepth", as_pose, sensor.rgb_pose)
        sensor = replace(sensor, rgb_pose=pose)
    sensor = replace(sensor, publish_topic=_topic(fields))
    fields.finish()
    label = f"{kind} {name}" + (" of" if parent else "")
    if kind in SEEN:
        node.context.note(shapes.RENDERED, label, node.source, parent)
    elif isinstance(sensor, specs.Laser) and sensor.raytrace_3d:
        kind = "lidars simulated in 2-D instead of rendered"
        node.context.note(kind, label, node.source, parent)
    return sensor


def _topic(fields: Fields) -> str:
    node = fields.find("publish")
    if node is None:
        return ""
    inner = Fields.of(node)
    topic = inner.string("publish_topic")
    inner.finish()
    if not shapes.is_enabled(inner, node):
        return ""
    named = node.context.values.named
    if topic:
        whom = " of ".join(n for n in (named.get("NAME"), named.get("PARENT_NAME")) if n)
        node.context.note(shapes.NOT_DONE, "publish of", node.source, whom)
    return topic


def _own_sensor(node: Node, kind: str, name: str) -> Sensor:
    """One of skidpad's sensors; the world checks its parameters."""
    fields = Fields.of(node)
    pose = fields.pose("pose", "pose_3d")
    period = fields.number("sensor_period", 0.1)
    topic = _topic(fields)
    known = ("pose", "pose_3d", "sensor_period", "publish", "visual")
    others = {child.tag: child.text() for child in node.children() if child.tag not in known}
    if kind not in specs.OWN_SENSORS:
        what = "sensors of classes that skidpad does not have"
        node.context.note(what, f"{OWN}{kind} {name}", node.source)
    return specs.OwnSensor(name, pose, period, topic, node.source, kind, others)


def timed_path(vehicle: Fields) -> TimedPath | None:
    """Path that a vehicle follows by itself, or None."""
    dynamics = vehicle.find("dynamics")
    controller = None if dynamics is None else Fields.of(dynamics).find("controller")
    if controller is None or controller.attribute("class") != "trajectory":
        return None
    return vehicle.attempt(lambda: _path(controller), None)


def _path(node: Node) -> TimedPath:
    fields = Fields.of(node)
    points = sorted(
        specs.TimedPoint(*(as_number(child, x, child.attribute(x) or "0") for x in "txy"))
        for child in fields.all("waypoint")
    )
    waypoints = '<waypoint t=".." x=".." y=".."/>'
    node.check(len(points) > 1, f"a trajectory needs two or more {waypoints}, got {len(points)}")
    for before, after in pairwise(points):
        node.check(before.time < after.time, f"two waypoints are at t = {after.time:g} s")
    # Values may be children or attributes, with or without compat.
    path = fields.record(TimedPath(()), attributes_of=node, children=True)
    return replace(path, points=tuple(points))


def vehicle(node: Node, classes: shapes.Classes, names: shapes.Names) -> VehicleSpec:
    """Read a vehicle from an element and the class that the element names."""
    name = names.of(node)
    fields = shapes.fields_of(node, classes, Node.included_and_own)
    with node.context.values.naming(NAME=name):
        pictures = shapes.visuals(fields.all("visual"))
        # If the element is invalid, the rest is still read, to report all errors at once.
        nothing: Made = robots.differential(), None
        moved_by, shape = fields.attempt(lambda: _dynamics(fields, pictures), nothing)
        spec = VehicleSpec(
            name,
            shapes.initial_pose(fields),
            moved_by,
            shape,
            shapes.initial_velocity(fields),
            sensors(fields.all("sensor"), name),
            fields.part("odometry", _odometry, specs.Odometry()),
            pictures,
            shapes.keyframes(fields),
            shapes.publish(fields, name),
            shapes.presence(fields, "skip_elevation_adjust"),
            class_name=node.attribute("class") or "",
            path=timed_path(fields),
            source=node.source,
        )
        spec = fields.record(spec)
        shapes.note_lights(fields)
        for tag in ("log_path", "auto_start_recording"):
            if getattr(spec, tag):
                node.context.note(shapes.NOT_DONE, f"{tag} of", node.source, name)
        fields.finish()
        return spec


def _own(node: Node, name: str, pictures: tuple[Visual, ...]) -> Made:
    """One of skidpad's vehicles: parameters, and a chassis shape for contacts."""
    from ...vehicles.registry import COMMAND_DRIVEN, get, names

    one_of(node, "vehicle of skidpad", name, [*names(), *COMMAND_DRIVEN])
    is_described = name not in COMMAND_DRIVEN
    known = [leaf.name for leaf in leaves(get(name).model.Params)] if is_described else None
    fields = Fields.of(node)
    shape: Shape | None = None
    if fields.find("chassis") is not None:
        shape = chassis(fields, "differential", (), pictures)[1]
    parameters: dict[str, float] = {}
    for child in node.children():
        if child.tag != "chassis":
            if known is not None:
                one_of(child, f"parameter of {name}", child.tag, known)
            parameters[child.tag] = fields.attempt(
                lambda child=child: as_number(child, child.tag, child.text()), 0.0
            )
    fields.attempt(lambda: _check_own(node, name, parameters), None)
    return OwnDynamics(name, parameters), shape


def _check_own(node: Node, name: str, parameters: Mapping[str, float]) -> None:
    """Raise for parameters that the vehicle rejects, and warn of unknown ones."""
    from ...vehicles.registry import get

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            get(name)(dict(parameters))
        except InvalidValue as error:
            raise node.error(error) from None
    for warning in caught:
        node.context.note("parameters without effect", str(warning.message), node.source)


def _odometry(node: Node) -> specs.Odometry:
    if node.context.upstream:
        # Upstream reads the factors into too few bytes, so none of them has an effect.
        node.expects(*specs.written(specs.Odometry))
        return specs.Odometry()
    inner = Fields.of(node)
    factors = inner.record(specs.Odometry(), attributes_of=node, children=False)
    inner.finish()
    return factors
