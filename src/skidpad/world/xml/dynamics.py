"""Reading `<dynamics>` and `<friction>` into the description of a wheeled vehicle."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from ...body import Outline, Point
from ...errors import InvalidValue
from ...plane.outline import cleaned, rectangle
from ...units import Allowed, m, non_negative, positive
from ...vehicles.wheeled import (
    FRICTIONS,
    KINDS,
    Chassis,
    Control,
    Description,
    Drivetrain,
    Form,
    Friction,
    Gains,
    Wheel,
    default_description,
)
from ..scene.shapes import Shape, Visual
from .fields import Fields, Parse, as_number, as_numbers, as_size, one_of
from .mesh import NoMesh
from .nodes import Node
from .shapes import Models, corner_points, note_stand_in, polygon, shape, shape_of_model, stand_in

D = TypeVar("D", float, None)
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
        "control": _control(fields, kind),
        "drivetrain": _drivetrain(fields) if KINDS[kind].one_motor else None,
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
    inner.ignore(_PICTURE)
    node.expects(*_PICTURE)
    default = Wheel(*place)
    text = node.attribute("pos")
    x, y, *yaw = (
        [*place]
        if text is None
        else inner.kept(lambda: as_numbers(node, "pos", text, 2, 3), [*place])
    )
    if placed:
        x, y = place
    wheel = Wheel(
        x,
        y,
        math.radians(yaw[0]) if yaw else 0.0,
        _of(inner, node, "diameter", default.diameter, as_size),
        _of(inner, node, "width", default.width, as_size),
        _of(inner, node, "mass", default.mass, _positive),
        _of(inner, node, "inertia", None, _positive),
    )
    inner.finish()
    return wheel


def _of(fields: Fields, node: Node, name: str, default: D, parse: Parse[float]) -> float | D:
    """A number, as attribute or, except as upstream does, as child."""
    text = node.attribute(name)
    if text is not None:
        return fields.kept(lambda: parse(node, name, text), default)
    if node.context.upstream:
        fields.ignore((name,))
        return default
    return fields.get(name, parse, default)


def _positive(node: Node, name: str, text: str) -> float:
    return as_number(node, name, text, positive)


def _non_negative(node: Node, name: str, text: str) -> float:
    return as_number(node, name, text, non_negative)


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
    inner.ignore(_PICTURE)
    node.expects(*_PICTURE)
    mass = _of(inner, node, "mass", known.mass, _positive)
    heights = _heights(inner, node, (known.z_min, known.z_max))
    damping = [
        _of(inner, node, f"{kind}_damping", None, _non_negative) for kind in ("linear", "angular")
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
    low = _of(fields, node, "zmin", default[0], as_number)
    high = _of(fields, node, "zmax", default[1], as_number)
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
    outline = fields.kept(lambda: polygon(drawn), cleaned(default))
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


def _control(fields: Fields, kind: str) -> Control:
    node = fields.find("controller")
    return Control() if node is None else fields.kept(lambda: _read_control(node, kind), Control())


def _read_control(node: Node, kind: str) -> Control:
    name = node.attribute("class") or "raw"
    fields = Fields.of(node)
    if name in STANDING_IN:
        name = _standing_in(node, fields, name)
    one_of(node, f"controller of {kind}", name, KINDS[kind].controllers)
    # Upstream's own files have these; nothing there reads them. Gains stay behind when somebody
    # tries another controller.
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
    """What the controller is told at the start; files have torques that are negative forward."""
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


def _drivetrain(fields: Fields) -> Drivetrain:
    node = fields.find("drivetrain")
    if node is None:
        return Drivetrain()

    def read() -> Drivetrain:
        kind = node.attribute("type") or "torsen_4wd"
        if kind not in DRIVES and node.context.upstream:
            kind = "torsen_4wd"
        one_of(node, "type of drivetrain", kind, DRIVES)
        inner = Fields.of(node)
        splits = inner.numbers(Drivetrain().splits)
        inner.finish()
        return replace(Drivetrain(), kind=kind, splits=splits)

    return fields.kept(read, Drivetrain())


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
