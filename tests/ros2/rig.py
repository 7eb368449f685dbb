"""A node and its loop on an exchange of this process, with somebody who hears everything."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from math import cos, sin
from typing import Any

from skidpad.ros2.dds import Identity, Qos
from skidpad.ros2.loop import Exchange, InProcess, Loop, Program
from skidpad.ros2.messages import message_type
from skidpad.ros2.messages.types import service_type
from skidpad.ros2.node import Clock, Node, RosArguments, parse_arguments

BEST_EFFORT = Qos(reliable=False)


class Rig:
    """A node that runs a program.

    Args:
        make: makes the program from the node.
        name: of the node.
        parameters: by their names.
        words: what stands behind the command, `--ros-args` and so on.
    """

    def __init__(
        self,
        make: Callable[[Node], Program],
        name: str,
        parameters: Mapping[str, Any] | None = None,
        words: Sequence[str] = (),
        *,
        lock_step: bool = False,
    ) -> None:
        arguments = parse_arguments(words)
        if parameters:
            arguments = RosArguments(
                arguments.remaps, (*arguments.parameters, lambda _: parameters), arguments.shares
            )
        self.exchange = Exchange()
        self.heard: dict[str, list[bytes]] = defaultdict(list)
        who = arguments.identity(name)
        self.node = Node(who, InProcess(who, self.exchange), arguments, Clock(wall=False))
        self._hear_what_comes()
        self.program: Any = make(self.node)
        self.loop = Loop(self.node, self.program, lock_step=lock_step)
        self._other = InProcess(Identity("other"), self.exchange)

    def _hear_what_comes(self) -> None:
        """Listen to every topic from the moment at which it is there."""
        publisher = self.node.transport.publisher

        def heard_publisher(topic: str, type_: Any, qos: Qos) -> Any:
            reader = (BEST_EFFORT, self.heard[topic].append)
            self.exchange.readers[topic].append(reader)
            return publisher(topic, type_, qos)

        self.node.transport.publisher = heard_publisher  # type: ignore[method-assign]

    def publish(self, topic: str, record: Any) -> None:
        """Publish a record to the node, which takes it in at once."""
        self.publish_bytes(topic, message_type(self.exchange.types[topic]).encode(record))

    def publish_bytes(self, topic: str, data: bytes) -> None:
        """The same with bytes of any kind."""
        type_ = message_type(self.exchange.types[topic])
        self._other.publisher(topic, type_, Qos()).write(data)
        if self.loop.lock_step:
            self.loop.turn()
        else:
            self.node.handle()

    def call(self, service: str, **request: Any) -> Any:
        """Ask a service of the node; gives its response."""
        type_ = self.exchange.services[service][0]
        answers: list[Any] = []
        data = type_.request.encode(type_.request.Record(**request))
        self.exchange.call(service, data, lambda reply: answers.append(bytes(reply)))
        self.node.handle()
        return type_.response.decode(answers[0])

    def tick(self, count: int = 1) -> None:
        """Let the node do some ticks."""
        for _ in range(count):
            self.loop.tick()

    def all(self, topic: str) -> list[Any]:
        """All messages of a topic so far."""
        type_ = message_type(self.exchange.types[topic])
        return [type_.decode(data) for data in self.heard[topic]]

    def last(self, topic: str) -> Any:
        """The latest message of a topic."""
        return message_type(self.exchange.types[topic]).decode(self.heard[topic][-1])


def pose_request(x: float, y: float, z: float = 0.0, w: float = 1.0, frame: str = "") -> Any:
    """The pose in a request of `SetInitialPose`, by the ends of its quaternion."""
    pose = service_type("nav2_msgs/srv/SetInitialPose").request.Record().pose
    header = pose.header._replace(frame_id=frame)
    at = pose.pose.pose.position._replace(x=x, y=y)
    turn = pose.pose.pose.orientation._replace(z=z, w=w)
    inner = pose.pose.pose._replace(position=at, orientation=turn)
    return pose._replace(header=header, pose=pose.pose._replace(pose=inner))


def transform(parent: str, child: str, x: float, y: float, yaw: float) -> Any:
    """A `TFMessage` of one frame in another."""
    one = message_type("geometry_msgs/msg/TransformStamped").Record()
    at = one.transform.translation._replace(x=x, y=y)
    turn = one.transform.rotation._replace(z=sin(yaw / 2), w=cos(yaw / 2))
    moved = one.transform._replace(translation=at, rotation=turn)
    header = one.header._replace(frame_id=parent)
    filled = one._replace(header=header, child_frame_id=child, transform=moved)
    return message_type("tf2_msgs/msg/TFMessage").Record([filled])
