"""What is published of the motion of the robots of a world."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

from ...ros_messages import Prepared, message_type
from ..node import Node
from ..transforms import Rigid, tf_message
from ..transport import LATCHED, TF, Qos
from .fleet_topic import FleetTopic
from .hot_topic import ORIENTATION, POSITION, STAMP, inside
from .stream import Audience
from .world_names import MAP, RobotNames
from .world_numbers import Numbers

_POSE = (*POSITION, *ORIENTATION)
_TWIST = ("twist.twist.linear.x", "twist.twist.linear.y", "twist.twist.angular.z")
_TRANSLATION = tuple(f"transform.translation.{axis}" for axis in "xyz")
_ROTATION = tuple(f"transform.rotation.{axis}" for axis in "xyzw")


class Robots:
    """Odometry, ground truth and localisation of all robots.

    Args:
        node: whose topics they are.
        names: of the robots.
        qos: of what is not latched.
        localised: whether they are told where they are on the map, as localisation would.
        upstream: whether messages have upstream's errors.
    """

    def __init__(
        self,
        node: Node,
        names: Sequence[RobotNames],
        qos: Qos,
        *,
        localised: bool,
        upstream: bool,
    ) -> None:
        self._upstream = upstream
        Odometry = message_type("nav_msgs/msg/Odometry").Record

        def frame(robot: RobotNames) -> str:
            # Upstream says "odom" of places on the map.
            return robot.frame("odom") if upstream else MAP

        def topic(name: str, kind: str, record: Any, paths: Iterable[str], qos: Qos) -> FleetTopic:
            paths = (*STAMP, *paths)
            return FleetTopic(node, names, lambda it: it.topic(name), kind, qos, record, paths)

        self._odometry = topic(
            "odom",
            "nav_msgs/msg/Odometry",
            lambda robot: Odometry(_header(robot.frame("odom")), robot.frame("base_link")),
            (*inside("pose.pose", *POSITION[:2], *ORIENTATION[2:]), _TWIST[0], _TWIST[2]),
            qos,
        )
        self._truth = topic(
            "base_pose_ground_truth",
            "nav_msgs/msg/Odometry",
            lambda robot: Odometry(_header(frame(robot)), robot.frame("base_link")),
            (*inside("pose.pose", *_POSE), *_TWIST),
            qos,
        )
        self._localisation: list[FleetTopic] = []
        if localised:
            Stamped = message_type("geometry_msgs/msg/PoseWithCovarianceStamped").Record
            Cloud = message_type("geometry_msgs/msg/PoseArray").Record
            one = message_type("geometry_msgs/msg/Pose").Record()
            self._localisation = [
                topic(
                    "amcl_pose",
                    "geometry_msgs/msg/PoseWithCovarianceStamped",
                    lambda robot: Stamped(_header(frame(robot))),
                    inside("pose.pose", *_POSE),
                    LATCHED,
                ),
                topic(
                    "particlecloud",
                    "geometry_msgs/msg/PoseArray",
                    lambda robot: Cloud(_header(MAP), (one,)),
                    inside("poses[0]", *_POSE),
                    qos._replace(depth=1),
                ),
            ]

    @property
    def audiences(self) -> list[Audience]:
        """Everything that somebody may listen to."""
        return [
            one
            for topic in (self._odometry, self._truth, *self._localisation)
            for one in topic.topics
        ]

    def publish(self, stamp: Sequence[int], numbers: Numbers) -> None:
        """Tell where they are."""
        truth, reckoned = numbers.truth.T, numbers.odometry.T
        # Upstream's odometry has no velocities, which Nav2 plans with.
        speeds = (0.0, 0.0) if self._upstream else reckoned[4:]
        self._odometry.publish(*stamp, *reckoned[:4], *speeds)
        self._truth.publish(*stamp, *truth)
        for topic in self._localisation:
            topic.publish(*stamp, *truth[:7])


class Collision:
    """Whether a robot touched something since that was told last."""

    def __init__(self, node: Node, names: RobotNames, qos: Qos) -> None:
        self.vehicle = names.vehicle
        self.topic = node.publisher(names.topic("collision"), "std_msgs/msg/Bool", qos)
        self.wanted = True
        encode, Bool = self.topic.type.encode, self.topic.type.Record
        self._told = [encode(Bool(value)) for value in (False, True)]

    def publish(self, touched: bool) -> None:
        """Tell it."""
        self.topic.write(self._told[touched])


class OwnTrees:
    """The moving frames of every robot on a topic of its own.

    Args:
        node: whose topics they are.
        names: of the robots.
        localised: whether `odom` is placed on the map.
        reckoned: whether `base_link` is placed in `odom`.
    """

    def __init__(
        self, node: Node, names: Sequence[RobotNames], localised: bool, reckoned: bool
    ) -> None:
        self._parts = localised, reckoned
        self._topic = FleetTopic(
            node,
            names,
            lambda robot: robot.tf,
            "tf2_msgs/msg/TFMessage",
            TF,
            lambda robot: tf_message([(*pair, Rigid()) for pair in _pairs(robot, *self._parts)]),
            _paths(0, *self._parts),
        )

    @property
    def audiences(self) -> list[Audience]:
        """Everything that somebody may listen to."""
        return [*self._topic.topics]

    def publish(self, stamp: Sequence[int], ahead: Sequence[int], numbers: Numbers) -> None:
        """Tell where the frames are; `ahead` is the stamp of those on the map."""
        localised, reckoned = self._parts
        on_map = (*ahead, *numbers.correction.T) if localised else ()
        in_odom = (*stamp, *numbers.odometry.T[:4]) if reckoned else ()
        if on_map or in_odom:
            self._topic.publish(*on_map, *in_odom)


class SharedTree:
    """The moving frames of all robots in one message; arguments as of `OwnTrees`."""

    def __init__(
        self, node: Node, names: Sequence[RobotNames], localised: bool, reckoned: bool
    ) -> None:
        self.topic = node.publisher("/tf", "tf2_msgs/msg/TFMessage", TF)
        self.wanted = True
        self._parts = localised, reckoned
        pairs = [pair for robot in names for pair in _pairs(robot, *self._parts)]
        message = tf_message([(*pair, Rigid()) for pair in pairs])
        self._message = Prepared(self.topic.type, message)
        each = sum(self._parts)
        paths = [_paths(k * each, *self._parts) for k in range(len(names))] if each else []
        self._puts = [self._message.patcher(*own) for own in paths]

    @property
    def audiences(self) -> list[Audience]:
        """Everything that somebody may listen to."""
        return [self]

    def publish(self, stamp: Sequence[int], ahead: Sequence[int], numbers: Numbers) -> None:
        """Tell where the frames are; `ahead` is the stamp of those on the map."""
        if not (self.wanted and self._puts):
            return
        localised, reckoned = self._parts
        places = zip(numbers.correction.tolist(), numbers.odometry.tolist(), strict=True)
        for put, (on_map, in_odom) in zip(self._puts, places, strict=True):
            own = [*ahead, *on_map] if localised else []
            put(*own, *([*stamp, *in_odom[:4]] if reckoned else ()))
        self.topic.write(self._message.data)


def _pairs(robot: RobotNames, localised: bool, reckoned: bool) -> list[tuple[str, str]]:
    """Frames and those that lie in them."""
    odom, base = robot.frame("odom"), robot.frame("base_link")
    return [(MAP, odom)] * localised + [(odom, base)] * reckoned


def _paths(first: int, localised: bool, reckoned: bool) -> list[str]:
    """The numbers of the frames of one robot, whose first has a number in the message."""
    kinds = [(*STAMP, *_TRANSLATION, *_ROTATION)] * localised
    kinds += [(*STAMP, *_TRANSLATION[:2], *_ROTATION[2:])] * reckoned
    return [*chain(*(inside(f"transforms[{first + k}]", *kind) for k, kind in enumerate(kinds)))]


def _header(frame: str) -> Any:
    return message_type("std_msgs/msg/Header").Record(frame_id=frame)
