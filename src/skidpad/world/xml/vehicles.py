"""Reading vehicles: their dynamics and friction, their sensors, and what follows a path by itself.

`vehicle` reads a `<vehicle>` with its `<vehicle:class>`; `dynamics` makes the description of a
wheeled vehicle of its `<dynamics>` and `<friction>`; `sensor_of` reads a `<sensor>`.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count, pairwise
from typing import Any

from ...control.pid import Form, Gains
from ...core.body import Outline, Point
from ...core.record import fields as leaves
from ...errors import InvalidValue
from ...geometry.polygon import cleaned, rectangle
from ...units import Allowed, m, non_negative, positive
from ...vehicles.parts.wheel_friction import Friction
from ...vehicles.wheeled.description import (
    FRICTIONS,
    KINDS,
    Chassis,
    Control,
    Description,
    Drivetrain,
    Wheel,
    default_description,
    differential,
)
from ..scene import (
    CAMERA_POSE,
    SENSORS,
    Laser,
    Odometry,
    OwnDynamics,
    OwnSensor,
    Pose,
    RgbdCamera,
    Sensor,
    Shape,
    TimedPath,
    TimedPoint,
    VehicleSpec,
    Visual,
    WorldError,
    written,
)
from .fields import Fields, T, as_number, as_numbers, as_pose, as_size, one_of, ranged
from .markup import Node
from .shapes import (
    Models,
    NoMesh,
    corner_points,
    note_stand_in,
    polygon,
    shape,
    shape_of_model,
    stand_in,
    visuals,
)
from .things import (
    NOT_DONE,
    RENDERED,
    Names,
    class_of,
    free_name,
    initial_pose,
    initial_velocity,
    is_enabled,
    keyframes,
    note_lights,
    presence,
    publish,
)

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
"""Controllers of versions of upstream after 1.2, for which others stand in."""
DRIVES = ("open_front", "open_rear", "open_4wd", "torsen_front", "torsen_rear", "torsen_4wd")
FRICTION_TAGS = {
    "R_1": "R1",
    "R_2": "R2",
    "alpha_s": "slip_angle_saturation",
    "s_s": "slip_ratio_saturation",
}
"""Tags of friction parameters that have another name here."""
_PICTURE = ("color", "visual", "linked_yaw", "linked_yaw_offset_deg", "joint_name")
_WHEEL = ("diameter", "width", "mass", "inertia")
_CHASSIS = ("mass", "zmin", "zmax", "linear_damping", "angular_damping")
"""Attributes that upstream ignores as children."""


def dynamics(
    node: Node,
    kind: str,
    friction: Node | None,
    name: str,
    pictures: tuple[Visual, ...],
    models: Models,
) -> tuple[Description, Shape]:
    """The vehicle that a `<dynamics>` describes, and the outline of its chassis."""
    fields = Fields.of(node)
    wheels = _wheels(fields, kind)
    body, outline = chassis(fields, kind, wheels, name, pictures, models)
    limit = fields.number("max_steer_ang_deg", 30.0, Allowed(0.0, 89.0, open_low=True))
    parts = {
        "chassis": body,
        "wheels": wheels,
        **_friction(friction),
        "control": _part(fields, "controller", lambda it: _control(it, kind), Control()),
        "drivetrain": (
            _part(fields, "drivetrain", _drivetrain, Drivetrain())
            if KINDS[kind].one_motor
            else None
        ),
        **({"steer_max": math.radians(limit)} if KINDS[kind].steered else {}),
        # Not upstream's: whether acceleration moves load between the wheels.
        "loads": fields.string("wheel_loads", "dynamic"),
    }
    # Some of upstream's files carry these whatever the class.
    fields.ignore(("drivetrain", "f_wheels_x", "f_wheels_d"))
    fields.finish()
    try:
        return default_description(kind, **parts), outline
    except InvalidValue as error:
        raise node.error(error) from None


def _part(fields: Fields, tag: str, read: Callable[[Node], T], default: T) -> T:
    """A part that a child describes; the default without that child."""
    node = fields.find(tag)
    return default if node is None else fields.attempt(lambda: read(node), default)


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
        # One of upstream's own vehicles has them the wrong way round.
        left, right = CLASSES[kind][:2]
        owner = fields.owner
        note = f"<{left}> stands to the right of <{right}>: taken for each other"
        owner.context.note("slips", note, owner.source)
        wheels[:2] = wheels[1::-1]
    return tuple(wheels)


def _wheel(fields: Fields, tag: str, place: Point, *, placed: bool) -> Wheel:
    """A wheel; one that is `placed` has its place from elsewhere, and only an angle of its own."""
    node = fields.find(tag)
    if node is None:
        return Wheel(*place)
    inner = Fields.of(node)
    inner.ignore((*_PICTURE, *(_WHEEL if node.context.upstream else ())))
    node.expects(*_PICTURE)
    default = Wheel(*place)
    text = node.attribute("pos")
    x, y, *yaw = (
        [*place]
        if text is None
        else inner.attempt(lambda: as_numbers(node, "pos", text, 2, 3), [*place])
    )
    if placed:
        x, y = place
    wheel = Wheel(
        x,
        y,
        math.radians(yaw[0]) if yaw else 0.0,
        inner.get("diameter", as_size, default.diameter, attributes_of=node),
        inner.get("width", as_size, default.width, attributes_of=node),
        inner.get("mass", ranged(positive), default.mass, attributes_of=node),
        inner.get("inertia", ranged(positive), None, attributes_of=node),
    )
    inner.finish()
    return wheel


def chassis(
    fields: Fields,
    kind: str,
    wheels: Sequence[Wheel],
    name: str,
    pictures: tuple[Visual, ...],
    models: Models,
) -> tuple[Chassis, Shape]:
    """The chassis as the vehicle's dynamics need it, and its outline for contacts."""
    known = KINDS[kind]
    upstream = fields.owner.context.upstream
    node = fields.find("chassis")
    if node is None:
        outline = shape(cleaned(known.shape), (known.z_min, known.z_max), "default", upstream)
        return Chassis(known.mass, known.shape, known.z_min, known.z_max), outline
    inner = Fields.of(node)
    inner.ignore((*_PICTURE, *(_CHASSIS if upstream else ())))
    node.expects(*_PICTURE)
    mass = inner.get("mass", ranged(positive), known.mass, attributes_of=node)
    heights = _heights(inner, node, (known.z_min, known.z_max))
    damping: list[float | None] = [
        inner.get(f"{kind}_damping", ranged(non_negative), None, attributes_of=node)
        for kind in ("linear", "angular")
    ]
    corners, outline = _outline(inner, node, known.shape, heights, upstream)
    if inner.find("shape_from_visual") is not None:
        try:
            outline = shape_of_model(pictures, heights, models)
        except NoMesh as error:
            declared = outline if outline.made_from == "shape" else None
            around = _around(wheels)
            outline = stand_in(declared, around, heights)
            what = "the rectangle around its wheels" if around else "a box of 1 m"
            note_stand_in(node, name, error, what if declared is None else "its <shape>")
        corners = outline.outline
    inner.finish()
    return Chassis(mass, tuple(corners), outline.z_min, outline.z_max, *damping), outline


def _heights(fields: Fields, node: Node, default: tuple[m, m]) -> tuple[m, m]:
    low, high = (
        fields.get(tag, ranged(), value, attributes_of=node)
        for tag, value in zip(("zmin", "zmax"), default, strict=True)
    )
    if high > low:
        return low, high
    node.context.report(node.error(f"zmax = {high:g} must be above zmin = {low:g}"))
    return default


def _outline(
    fields: Fields, node: Node, default: Sequence[Point], heights: tuple[m, m], upstream: bool
) -> tuple[Sequence[Point], Shape]:
    """Corners as the file has them, and the outline made of them."""
    drawn = fields.find("shape")
    if drawn is None:
        return default, shape(cleaned(default), heights, "default", upstream)
    outline = fields.attempt(lambda: polygon(drawn), cleaned(default))
    # Upstream spreads the mass over the hull of the corners, in their order.
    corners = corner_points(drawn) if upstream else outline
    return corners, shape(outline, heights, "shape", upstream)


def _around(wheels: Sequence[Wheel]) -> Outline | None:
    """The rectangle around the wheels."""
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
    # Upstream's own files have these; nothing there reads them. Gains may be left over from another
    # controller.
    fields.ignore(("I_MAX", "joyMaxLinSpeed", "joyMaxAngSpeed", *Gains._fields))
    gains: Gains | None = None
    form = Form()
    if "pid" in name:
        gains = fields.numbers(KINDS[kind].default_gains(name))
        form = _form(fields, gains)
        if name == "front_steer_pid" and node.context.upstream:
            # Upstream hands on four of the numbers only.
            kept = {key: getattr(gains, key) for key in ("KP", "KI", "KD", "max_torque")}
            gains, form = KINDS[kind].default_gains(name)._replace(**kept), Form()
    set_point = _set_point(fields, kind, name)
    fields.finish()
    return Control(name, gains, form, set_point)


def _standing_in(node: Node, fields: Fields, name: str) -> str:
    """The controller with which a vehicle does what one of upstream's later ones makes it do."""
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
    """The controller's reference at the start; torques in files are negative forward."""
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


def _friction(node: Node | None) -> dict[str, Any]:
    """The friction model, and whether it limits the whole force: that one is not upstream's."""
    if node is None:
        return {"friction": Friction()}
    kind = node.attribute("class") or "default"
    one_of(node, "class of friction", kind, FRICTIONS)
    fields = Fields.of(node)
    settings = {
        "friction": fields.numbers(FRICTIONS[kind](), FRICTION_TAGS),
        "friction_circle": fields.switch("friction_circle", True),
    }
    fields.finish()
    return settings


OWN = "skidpad:"
"""Begins the names of classes that upstream does not have."""
ALWAYS = ("odometry", "bumper")
"""Sensors of skidpad's own."""
SEEN = ("lidar3d", "camera", "rgbd_camera")
"""Classes that need a renderer."""
_SENSORS_PICTURE = (
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
    kind = node.needed("class")
    own = kind.removeprefix(OWN) if kind.startswith(OWN) else None
    if own is None:
        one_of(node, "class of sensor", kind, [*SENSORS, f"{OWN}NAME"])
    numbered = (f"{own or kind}{number}" for number in count(1))
    name = node.attribute("name") or next(one for one in numbered if one not in taken)
    if name in taken:
        # Upstream's own vehicles have sensors that its worlds add once more.
        of = f" of {parent}" if parent else ""
        node.context.note("names given twice", f"sensor {name}{of}", node.source)
        name = free_name(name, taken)
    with node.context.values.naming(NAME=name, PARENT_NAME=parent):
        return (
            _upstream_sensor(node, kind, name, parent)
            if own is None
            else _own_sensor(node, own, name)
        )


def _upstream_sensor(node: Node, kind: str, name: str, parent: str) -> Sensor:
    fields = Fields.of(node)
    fields.ignore(_SENSORS_PICTURE)
    default = CAMERA_POSE if kind == "camera" else Pose()
    template = SENSORS[kind](name, pose=_pose(fields, default), source=node.source)
    sensor = fields.record(template)
    if isinstance(sensor, RgbdCamera):
        inner = fields.find("relativePoseIntensityWRTDepth")
        if inner is not None:
            pose = fields.attempt(lambda: as_pose(inner, inner.tag, inner.text()), sensor.rgb_pose)
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
    if not is_enabled(inner, node):
        return ""
    named = node.context.values.named
    if topic:
        whom = " of ".join(n for n in (named.get("NAME"), named.get("PARENT_NAME")) if n)
        node.context.note(NOT_DONE, "publish of", node.source, whom)
    return topic


def _own_sensor(node: Node, kind: str, name: str) -> OwnSensor:
    """One of skidpad's sensors; what it understands is for the world to say."""
    fields = Fields.of(node)
    pose = _pose(fields, Pose())
    period = fields.number("sensor_period", 0.1)
    topic = _topic(fields)
    known = ("pose", "pose_3d", "sensor_period", "publish", "visual")
    others = {child.tag: child.text() for child in node.children() if child.tag not in known}
    if kind not in ALWAYS:
        what = "sensors of classes that skidpad does not have"
        node.context.note(what, f"{OWN}{kind} {name}", node.source)
    return OwnSensor(name, pose, period, topic, node.source, kind, others)


def timed_path(vehicle: Fields) -> TimedPath | None:
    """The path that a vehicle follows by itself; None: it has none."""
    dynamics = vehicle.find("dynamics")
    controller = None if dynamics is None else Fields.of(dynamics).find("controller")
    if controller is None or controller.attribute("class") != "trajectory":
        return None
    return vehicle.attempt(lambda: _path(controller), None)


def _path(node: Node) -> TimedPath:
    fields = Fields.of(node)
    points = sorted(_point(child) for child in fields.all("waypoint"))
    if len(points) < 2:
        raise node.error(
            f'a trajectory needs two or more <waypoint t=".." x=".." y=".."/>, got {len(points)}'
        )
    for before, after in pairwise(points):
        if before.time == after.time:
            raise node.error(f"two waypoints are at t = {after.time:g} s")
    # Both as children and as attributes, in either mode.
    path = fields.record(TimedPath(()), attributes_of=node, children=True)
    return replace(path, points=tuple(points))


def _point(node: Node) -> TimedPoint:
    texts = {"t": node.attribute("t"), "x": node.attribute("x"), "y": node.attribute("y")}
    numbers = [as_number(node, name, text or "0") for name, text in texts.items()]
    return TimedPoint(*numbers)


def vehicle(node: Node, classes: Mapping[str, Node], names: Names, models: Models) -> VehicleSpec:
    """The vehicle that an element describes, with what its class says."""
    name = names.of(node)
    kind = class_of(node, classes, "vehicle")
    own, included = node.own_and_included()
    groups = [*included, own, *([] if kind is None else [kind.children()])]
    fields = Fields(groups, node.context, node)
    with node.context.values.naming(NAME=name):
        pictures = visuals(fields.all("visual"))
        # Where it is wrong the rest is read all the same, to find all problems at once.
        moved_by, shape = fields.attempt(
            lambda: _dynamics(fields, name, pictures, models), (differential(), None)
        )
        spec = VehicleSpec(
            name,
            initial_pose(fields),
            moved_by,
            shape,
            initial_velocity(fields),
            sensors(fields.all("sensor"), name),
            _odometry(fields),
            pictures,
            keyframes(fields),
            publish(fields, name),
            presence(fields, "skip_elevation_adjust"),
            class_name=node.attribute("class") or "",
            path=timed_path(fields),
            source=node.source,
        )
        spec = fields.record(spec)
        note_lights(fields)
        for tag in ("log_path", "auto_start_recording"):
            if getattr(spec, tag):
                node.context.note(NOT_DONE, f"{tag} of", node.source, name)
        fields.finish()
        return spec


def _dynamics(
    fields: Fields, name: str, pictures: tuple[Visual, ...], models: Models
) -> tuple[Description | OwnDynamics, Shape | None]:
    node = fields.find("dynamics")
    friction = fields.find("friction")
    if node is None:
        raise fields.owner.error("<dynamics> is missing, here and in its class")
    kind = node.needed("class")
    if kind.startswith(OWN):
        return _own(node, kind.removeprefix(OWN), name, pictures, models)
    one_of(node, "class of dynamics", kind, [*CLASSES, f"{OWN}NAME"])
    return dynamics(node, kind, friction, name, pictures, models)


def _own(
    node: Node, name: str, owner: str, pictures: tuple[Visual, ...], models: Models
) -> tuple[OwnDynamics, Shape | None]:
    """One of skidpad's vehicles: a chassis for contacts, the rest are its parameters."""
    from ...vehicles.command_driven.records import NAMES
    from ...vehicles.registry import get, names

    one_of(node, "vehicle of skidpad", name, [*names(), *NAMES])
    known = None if name in NAMES else [leaf.name for leaf in leaves(get(name).model.Params)]
    fields = Fields.of(node)
    shape: Shape | None = None
    if fields.find("chassis") is not None:
        shape = chassis(fields, "differential", (), owner, pictures, models)[1]
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
    """Raise for parameters that the vehicle refuses, and note those it does not know."""
    from ...vehicles.registry import get

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            get(name)(dict(parameters))
        except InvalidValue as error:
            raise node.error(error) from None
    for warning in caught:
        node.context.note("parameters without effect", str(warning.message), node.source)


def _odometry(fields: Fields) -> Odometry:
    node = fields.find("odometry")
    if node is None:
        return Odometry()
    if node.context.upstream:
        # Upstream reads the factors into too few bytes, so that none of them has an effect.
        node.expects(*written(Odometry))
        return Odometry()
    inner = Fields.of(node)
    factors = inner.record(Odometry(), attributes_of=node, children=False)
    inner.finish()
    return factors
