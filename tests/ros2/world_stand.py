"""A node of a world on an exchange of its own, and worlds for it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import skidpad as sp
from skidpad.ros2.dds import Identity, Qos
from skidpad.ros2.loop import Exchange, InProcess, Loop
from skidpad.ros2.messages import message_type
from skidpad.ros2.messages.types import service_type
from skidpad.ros2.node import Clock, Node, parse_arguments
from skidpad.ros2.nodes.world import WorldProgram
from skidpad.world.scene import Scene, WorldWarning
from skidpad.world.xml import loads

LASER = (
    "<sensor class='laser' name='scan'><pose_3d>0.2 0.1 0.3 90 0 0</pose_3d>"
    "<fov_degrees>270</fov_degrees><nrays>271</nrays><max_range>6</max_range></sensor>"
)
IMU = (
    "<sensor class='imu' name='imu'><pose>0 0 90</pose><sensor_period>0.005</sensor_period>"
    "<measure_orientation>true</measure_orientation>"
    "<orientation_std_noise>0</orientation_std_noise></sensor>"
)
GNSS = "<sensor class='gnss' name='gps'><sensor_period>0.2</sensor_period></sensor>"
CAMERA = "<sensor class='camera' name='cam'/>"
TWIST = "<controller class='twist_pid'><KP>20</KP></controller>"
WALLS = "<walls><shape><pt>6 -3</pt><pt>6 3</pt><pt>9 9</pt><pt>9 10</pt></shape></walls>"


def robot(name: str, pose: str, sensors: str = LASER, controller: str = TWIST) -> str:
    return (
        f"<vehicle name='{name}'><init_pose>{pose}</init_pose>"
        f"<dynamics class='differential'>{controller}</dynamics>{sensors}</vehicle>"
    )


def scene(*parts: str, **options: Any) -> Scene:
    step = "<simul_timestep>0.005</simul_timestep>"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WorldWarning)
        return loads(f"<mvsim_world version='1.0'>{step}{''.join(parts)}</mvsim_world>", **options)


TWO = (robot("r1", "1 2 45"), robot("r2", "-3 -1 180"), WALLS)


class Stand:
    """A node on an exchange of its own, and what is heard of it."""

    def __init__(self, what: Scene, *words: str, lock_step: bool = False) -> None:
        self.exchange = Exchange()
        arguments = parse_arguments(["--ros-args", *words] if words else [])
        identity = arguments.identity("mvsim")
        self.node = Node(identity, InProcess(identity, self.exchange), arguments, Clock(wall=False))
        self.program = WorldProgram(self.node, what)
        self.loop = Loop(self.node, self.program, lock_step=lock_step)
        self.other = InProcess(Identity("other"), self.exchange)

    @property
    def world(self) -> sp.World:
        return self.program.world

    def heard(self, topic: str, qos: Qos | None = None) -> list[Any]:
        """What is published on a topic from now on."""
        type_, messages = message_type(self.exchange.types[topic]), list[Any]()
        self.other.subscribe(
            topic, type_, qos or Qos(), lambda data: messages.append(type_.decode(data))
        )
        return messages

    def say(self, topic: str, **fields: Any) -> None:
        """Publish a message."""
        type_ = message_type(self.exchange.types[topic])
        self.other.publisher(topic, type_, Qos()).write(type_.encode(type_.Record(**fields)))

    def twist(self, topic: str, v: float, omega: float = 0.0) -> None:
        Vector = message_type("geometry_msgs/msg/Vector3").Record
        self.say(topic, linear=Vector(x=v), angular=Vector(z=omega))

    def run(self, ticks: int) -> None:
        for _ in range(ticks):
            self.node.handle()
            self.loop.tick()

    def ask(self, name: str, type_name: str, **fields: Any) -> Any:
        type_, replies = service_type(type_name), list[bytes]()
        request = type_.request.encode(type_.request.Record(**fields))
        self.exchange.call(name, request, lambda cdr: replies.append(bytes(cdr)))
        while not replies:
            assert self.node.handle()
        return type_.response.decode(replies[0])


def yaw_of(q: Any) -> float:
    return float(np.arctan2(2.0 * (q.w * q.z + q.x * q.y), 1.0 - 2.0 * (q.y**2 + q.z**2)))


def pose_message(x: float, y: float, yaw: float, frame: str = "map") -> Any:
    record = {name: message_type(f"geometry_msgs/msg/{name}").Record for name in (
        "Point", "Quaternion", "Pose", "PoseWithCovariance", "PoseWithCovarianceStamped"
    )}  # fmt: skip
    turn = record["Quaternion"](0.0, 0.0, np.sin(0.5 * yaw), np.cos(0.5 * yaw))
    pose = record["Pose"](record["Point"](x, y, 0.0), turn)
    header = message_type("std_msgs/msg/Header").Record(frame_id=frame)
    return record["PoseWithCovarianceStamped"](header, record["PoseWithCovariance"](pose))


CARS = {
    "twist": "<dynamics class='ackermann'><controller class='twist_front_steer_pid'>"
    "<KP>500</KP><max_torque>2000</max_torque></controller></dynamics>",
    "steer": "<dynamics class='ackermann'><controller class='front_steer_pid'><KP>500</KP>"
    "<max_torque>2000</max_torque></controller></dynamics>",
    "torque": "<dynamics class='ackermann_drivetrain'><controller class='raw'/></dynamics>",
    "bicycle": "<dynamics class='skidpad:kinematic_bicycle'/>",
    "four wheels": "<dynamics class='skidpad:four_wheel'/>",
    "autoware": "<dynamics class='skidpad:DELAY_STEER_ACC_GEARED'/>",
}
