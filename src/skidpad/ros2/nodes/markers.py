"""What Foxglove and RViz draw of a car and its cones: boxes and cylinders, no meshes."""

from __future__ import annotations

from collections.abc import Mapping
from math import cos, sin, sqrt
from typing import Any

from ...arrays import Array
from ...body import Geometry
from ...ros_messages import message_type
from ...units import m, rad

CUBE, CYLINDER = 1, 3
_SMALL: tuple[m, m] = (0.228, 0.325)
_LARGE: tuple[m, m] = (0.285, 0.505)
"""Width and height of the cones of Formula Student."""
_COLOURS = {
    "blue": (0.0, 0.0, 1.0), "yellow": (1.0, 1.0, 0.0), "orange": (1.0, 0.5, 0.0),
    "white": (1.0, 1.0, 1.0), "dark_gray": (0.25, 0.25, 0.25),
}  # fmt: skip
_TUB_WIDTH = 0.6
"""Of the track of the wheels, so that these are seen beside it."""
_TUB_HEIGHT: m = 0.45
STEERED = (1, 2)
"""Which markers of a car are its front wheels."""


def cone_markers(cones: Mapping[str, Array]) -> list[Any]:
    """A `visualization_msgs/Marker` for every cone, in the frame "world"."""
    markers: list[Any] = []
    for colour, places in cones.items():
        width, height = _LARGE if colour == "orange" else _SMALL
        for number, (x, y) in enumerate(places.tolist()):
            place = (x, y, 0.5 * height)
            size = (width, width, height)
            space = f"{colour}_cones"
            markers.append(_marker("world", space, number, CYLINDER, place, size, colour))
    return markers


def car_markers(car: Geometry) -> list[Any]:
    """Every `visualization_msgs/Marker` of a car, in the frame "car": its tub, then its wheels in
    the order front left, front right, rear left, rear right."""
    xs = [x for outline in car.outlines for x, _ in outline]
    front, rear = max(xs), min(xs)
    wheels = sorted(car.wheels, key=lambda wheel: (-wheel.x, -wheel.y))
    radius = wheels[0].radius
    tub_size = (front - rear, _TUB_WIDTH * (wheels[0].y - wheels[1].y), _TUB_HEIGHT)
    middle = (0.5 * (front + rear), 0.0, radius + 0.25 * _TUB_HEIGHT)
    markers = [_marker("car", "chassis", 0, CUBE, middle, tub_size, "white")]
    for number, wheel in enumerate(wheels, start=1):
        size = (2.0 * wheel.radius, 2.0 * wheel.radius, wheel.width)
        place = (wheel.x, wheel.y, wheel.radius)
        turn = wheel_rotation(0.0)
        markers.append(_marker("car", "tires", number, CYLINDER, place, size, "dark_gray", turn))
    return markers


def wheel_rotation(steer: rad) -> tuple[float, float, float, float]:
    """Quaternion of a cylinder, whose axis is z, as a wheel that is steered to the left."""
    c, s = sqrt(0.5) * cos(0.5 * steer), sqrt(0.5) * sin(0.5 * steer)
    return c, s, s, c


def _marker(
    frame: str,
    space: str,
    number: int,
    shape: int,
    place: tuple[m, m, m],
    size: tuple[m, m, m],
    colour: str,
    turn: tuple[float, ...] = (0.0, 0.0, 0.0, 1.0),
) -> Any:
    Point = message_type("geometry_msgs/msg/Point").Record
    Quaternion = message_type("geometry_msgs/msg/Quaternion").Record
    return message_type("visualization_msgs/msg/Marker").Record(
        header=message_type("std_msgs/msg/Header").Record(frame_id=frame),
        ns=space,
        id=number,
        type=shape,
        pose=message_type("geometry_msgs/msg/Pose").Record(Point(*place), Quaternion(*turn)),
        scale=message_type("geometry_msgs/msg/Vector3").Record(*size),
        color=message_type("std_msgs/msg/ColorRGBA").Record(*_COLOURS[colour], 1.0),
    )
