"""What is published of the motion of one robot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ...ros_messages import Prepared, message_type
from ..node import Node
from ..transforms import Rigid, tf_message
from ..transport import LATCHED, TF, Qos
from .hot_topic import ORIENTATION, POSITION, STAMP, inside
from .stream import Stream
from .world_names import MAP, RobotNames

_TWIST = ("twist.twist.linear.x", "twist.twist.linear.y", "twist.twist.angular.z")


class Robot:
    """Odometry, ground truth, localisation and collisions of one robot.

    Args:
        node: whose topics they are.
        names: of the robot.
        qos: of what is not latched.
        localised: whether it is told where it is on the map, as localisation would.
        upstream: whether messages have upstream's errors.
    """

    def __init__(
        self, node: Node, names: RobotNames, qos: Qos, *, localised: bool, upstream: bool
    ) -> None:
        self.names, self._upstream = names, upstream
        base, odom = names.frame("base_link"), names.frame("odom")
        pose = (*POSITION, *ORIENTATION)
        # Upstream says "odom" of places on the map.
        frame = odom if upstream else MAP
        self.odometry = Stream(
            node,
            names.topic("odom"),
            "nav_msgs/msg/Odometry",
            (*inside("pose.pose", *POSITION[:2], *ORIENTATION[2:]), _TWIST[0], _TWIST[2]),
            qos,
            header=_header(odom),
            child_frame_id=base,
        )
        self.truth = Stream(
            node,
            names.topic("base_pose_ground_truth"),
            "nav_msgs/msg/Odometry",
            (*inside("pose.pose", *pose), *_TWIST),
            qos,
            header=_header(frame),
            child_frame_id=base,
        )
        self.streams = [self.odometry, self.truth]
        if localised:
            self.streams += self._localisation(node, frame, qos)
        self.collision = Collision(node, names, qos)

    def _localisation(self, node: Node, frame: str, qos: Qos) -> list[Stream]:
        names, paths = self.names, (*POSITION, *ORIENTATION)
        one = message_type("geometry_msgs/msg/Pose").Record()
        return [
            Stream(
                node,
                names.topic("amcl_pose"),
                "geometry_msgs/msg/PoseWithCovarianceStamped",
                inside("pose.pose", *paths),
                LATCHED,
                header=_header(frame),
            ),
            Stream(
                node,
                names.topic("particlecloud"),
                "geometry_msgs/msg/PoseArray",
                inside("poses[0]", *paths),
                qos._replace(depth=1),
                header=_header(MAP),
                poses=(one,),
            ),
        ]

    def publish(self, stamp: Sequence[int], truth: list[float], odometry: list[float]) -> None:
        """Tell where it is, with rows of the world's numbers."""
        if self.odometry.wanted:
            # Upstream's odometry has no velocities, which Nav2 plans with.
            speed = (0.0, 0.0) if self._upstream else odometry[4:]
            self.odometry.send(*stamp, *odometry[:4], *speed)
        if self.truth.wanted:
            self.truth.send(*stamp, *truth)
        for stream in self.streams[2:]:
            if stream.wanted:
                stream.send(*stamp, *truth[:7])


class Collision:
    """Whether a robot touched something since that was told last."""

    def __init__(self, node: Node, names: RobotNames, qos: Qos) -> None:
        self.topic = node.publisher(names.topic("collision"), "std_msgs/msg/Bool", qos)
        self.wanted = True
        encode, Bool = self.topic.type.encode, self.topic.type.Record
        self._told = [encode(Bool(value)) for value in (False, True)]

    def publish(self, touched: bool) -> None:
        """Tell it."""
        self.topic.write(self._told[touched])


class Tree:
    """The moving frames of some robots, in one message.

    Args:
        node: whose topic it is.
        topic: where it goes.
        robots: names of the robots.
        localised: whether `odom` is placed on the map.
        reckoned: whether `base_link` is placed in `odom`.
    """

    def __init__(
        self, node: Node, topic: str, robots: Sequence[RobotNames], localised: bool, reckoned: bool
    ) -> None:
        self.topic = node.publisher(topic, "tf2_msgs/msg/TFMessage", TF)
        self.wanted = True
        self._parts = localised, reckoned
        frames = [
            pair
            for names in robots
            for pair, there in (
                ((MAP, names.frame("odom")), localised),
                ((names.frame("odom"), names.frame("base_link")), reckoned),
            )
            if there
        ]
        message = tf_message([(*pair, Rigid()) for pair in frames])
        self._message = Prepared(self.topic.type, message)
        self._puts = [self._message.patcher(*paths) for paths in self._paths(len(frames))]

    def _paths(self, count: int) -> Iterable[list[str]]:
        """Of each robot, the numbers of its frames."""
        place = [f"transform.translation.{axis}" for axis in "xyz"]
        turn = [f"transform.rotation.{axis}" for axis in "xyzw"]
        localised, reckoned = self._parts
        kinds = [[*STAMP, *place, *turn]] * localised
        kinds += [[*STAMP, *place[:2], *turn[2:]]] * reckoned
        for first in range(0, count, max(len(kinds), 1)):
            yield [
                f"transforms[{first + k}].{path}" for k, kind in enumerate(kinds) for path in kind
            ]

    def publish(
        self,
        stamp: Sequence[int],
        ahead: Sequence[int],
        corrections: Sequence[list[float]],
        odometries: Sequence[list[float]],
    ) -> None:
        """Tell where the frames are; `ahead` is the stamp of those on the map."""
        localised, reckoned = self._parts
        if not (self._puts and self.wanted):
            return
        for put, correction, odometry in zip(self._puts, corrections, odometries, strict=True):
            if localised and reckoned:
                put(*ahead, *correction, *stamp, *odometry[:4])
            elif localised:
                put(*ahead, *correction)
            else:
                put(*stamp, *odometry[:4])
        self.topic.write(self._message.data)


def _header(frame: str) -> Any:
    return message_type("std_msgs/msg/Header").Record(frame_id=frame)
