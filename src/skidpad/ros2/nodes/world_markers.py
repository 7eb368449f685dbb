"""Outlines of a robot for RViz, whose wheels turn as they steer."""

from __future__ import annotations

from math import cos, sin

from ...ros_messages import Prepared
from ...units import s
from ...world.handle import WorldVehicle
from ..clock import SECOND
from ..node import Node
from ..transport import LATCHED
from .world_map import markers_message
from .world_names import RobotNames

PERIOD: s = 0.1
"""Least time between two messages: eyes are slow."""


class Markers:
    """The topic `chassis_markers` of one robot: published when it has changed."""

    def __init__(self, node: Node, names: RobotNames, number: int, vehicle: WorldVehicle) -> None:
        self._topic = node.publisher(
            names.topic("chassis_markers"),
            "visualization_msgs/msg/MarkerArray",
            LATCHED._replace(depth=5),
        )
        message = markers_message(vehicle, number, names.frame("base_link"))
        self._message = Prepared(self._topic.type, message)
        wheels = vehicle.built.geometry.wheels
        steered = [(k, wheel.steer) for k, wheel in enumerate(wheels) if wheel.steer]
        self._fields = [field for _, field in steered]
        paths = [f"markers[{1 + k}].pose.orientation.{axis}" for k, _ in steered for axis in "zw"]
        self._put = self._message.patcher(*paths) if paths else None
        self._shown: list[float] = []
        self._next = 0
        self.restart(vehicle)

    def restart(self, vehicle: WorldVehicle) -> None:
        """The vehicle of a world that began anew."""
        self._vehicle = vehicle
        self._next = 0
        self._topic.write(self._message.data)

    def publish(self, now: int) -> None:
        """Publish if its wheels have turned, at a time in ns."""
        if self._put is None or now < self._next:
            return
        bodies = self._vehicle.bodies
        (angles,) = bodies.fields(self._fields, [self._vehicle.row], bodies.group.state)
        if angles == self._shown:
            return
        self._shown, self._next = angles, now + round(PERIOD * SECOND)
        self._put(*(part for angle in angles for part in (sin(0.5 * angle), cos(0.5 * angle))))
        self._topic.write(self._message.data)
