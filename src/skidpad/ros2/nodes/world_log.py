"""What upstream would write into its log files, number by number: `log/pose/q0x` and so on."""

from __future__ import annotations

from ...ros_messages import Prepared
from ...world.handle import WorldVehicle
from ...world.world import World
from ..node import Node
from ..transport import Qos
from .world_names import RobotNames

_POSE = ("q0x", "q1y", "q2z", "q3yaw", "q4pitch", "q5roll", "dqx", "dqy", "dqw")
_ODOMETRY = ("odo_x", "odo_y", "odo_yaw")
_WHEEL = ("velocity_x", "velocity_y")


class _Number:
    """A topic with one number."""

    def __init__(self, node: Node, topic: str, qos: Qos) -> None:
        self.topic = node.publisher(topic, "std_msgs/msg/Float64", qos)
        self.wanted = True
        self._message = Prepared(self.topic.type, self.topic.type.Record())
        self._put = self._message.patcher("data")

    def send(self, value: float) -> None:
        """Publish it, if anybody listens."""
        if self.wanted:
            self._put(value)
            self.topic.write(self._message.data)


class LogTopics:
    """The numbers of one robot: its motion, its odometry, and how its wheels move.

    Args:
        node: whose topics they are.
        names: of the robot.
        vehicle: the robot.
        qos: of the topics.
    """

    def __init__(self, node: Node, names: RobotNames, vehicle: WorldVehicle, qos: Qos) -> None:
        self._name = names.vehicle
        self._wheels = [(wheel.x, wheel.y) for wheel in vehicle.built.geometry.wheels]
        paths = [f"pose/{column}" for column in (*_POSE, *_ODOMETRY)]
        for k in range(len(self._wheels)):
            paths += [f"wheel_{k + 1}/{column}" for column in _WHEEL]
        self.numbers = [_Number(node, f"{names.prefix}log/{path}", qos) for path in paths]

    def publish(self, world: World, odometry: list[float]) -> None:
        """Tell them, with the robot's row of the odometry of all."""
        x, y, z, yaw, pitch, roll, v_x, v_y, omega = world.vehicles[self._name].truth
        values = [x, y, z, yaw, pitch, roll, v_x, v_y, omega, *odometry[:3]]
        for at_x, at_y in self._wheels:
            values += [v_x - omega * at_y, v_y + omega * at_x]
        for number, value in zip(self.numbers, values, strict=True):
            number.send(value)
