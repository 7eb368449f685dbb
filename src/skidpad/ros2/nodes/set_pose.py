"""Putting a vehicle somewhere else: the service `~/set_pose`."""

from __future__ import annotations

from collections.abc import Callable
from math import atan2, hypot, isfinite
from typing import Any

from ...body import Pose
from ...errors import InvalidValue
from ...ros_messages import service_type
from ..node import Node

SERVICE = "nav2_msgs/srv/SetInitialPose"
_LEAST = 1e-6
"""Length of a quaternion below which it has no direction."""


def serve_set_pose(
    node: Node, frame: str, put: Callable[[Pose], None], name: str = "~/set_pose"
) -> None:
    """Offer the service, for poses in one frame; `put` is given what was asked for."""

    def answer(request: Any) -> Any:
        put(planar_pose(request.pose, frame))
        return service_type(SERVICE).response.Record()

    node.serve(name, SERVICE, answer)


def planar_pose(message: Any, frame: str) -> Pose:
    """Place and heading in a `PoseWithCovarianceStamped`; without a frame, it is in ours."""
    named = message.header.frame_id.strip("/")
    if named not in ("", frame):
        raise InvalidValue(f"frame_id = {named[:80]!r} of a pose must be {frame!r} or empty")
    at, q = message.pose.pose.position, message.pose.pose.orientation
    if not all(map(isfinite, (at.x, at.y, *q))):
        raise InvalidValue(f"pose {at.x}, {at.y} with the quaternion {[*q]} must be finite")
    if hypot(*q) < _LEAST:
        raise InvalidValue(f"orientation {[*q]} of a pose must be a quaternion of length 1")
    yaw = atan2(2.0 * (q.w * q.z + q.x * q.y), q.w * q.w + q.x * q.x - q.y * q.y - q.z * q.z)
    return Pose(at.x, at.y, yaw)
