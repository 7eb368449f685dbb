"""Poses that others ask for, in whatever frame: kept until the way to our frame is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...compat.autoware.messages import InitialPose, initial_pose
from ...compat.autoware.pose import Quaternion, yaw_of
from ...errors import InvalidValue
from ..node import Node
from ..transforms import Listener, Rigid

Put = Callable[[InitialPose], Any]


class Placing:
    """Hands poses on in the origin frame.

    The translation of the transform is added and its rotation left out, as Autoware's simulator
    does; a rotation that is left out is logged.

    Args:
        node: hears the transforms and logs.
        origin: the frame in which poses are wanted.
    """

    def __init__(self, node: Node, origin: str) -> None:
        self._node, self._origin = node, origin.strip("/")
        self._transforms = Listener(node)
        self._waiting: dict[str, tuple[str, InitialPose, Put]] = {}

    def ask(self, kind: str, header: Any, pose: Any, put: Put) -> bool:
        """Hand a pose on now, or once its frame is known; says whether now.

        A later one of the same kind takes the place of one that waits.
        """
        place = pose.position
        wanted = initial_pose(InitialPose(place.x, place.y, yaw_of(_turn(pose)), place.z), {})
        frame = header.frame_id.strip("/") or self._origin
        self._waiting.pop(kind, None)
        if self._hand_on(frame, wanted, put):
            return True
        self._waiting[kind] = (frame, wanted, put)
        self._node.log("warn", f"{kind} waits for a transform from {frame} to {self._origin}")
        return False

    def look(self) -> None:
        """Hand on what waited and need not any longer."""
        for kind, waiting in [*self._waiting.items()]:
            try:
                done = self._hand_on(*waiting)
            except InvalidValue as error:
                self._node.log("error", f"{kind}: {error}")
                done = True
            if done:
                del self._waiting[kind]

    def forget(self) -> None:
        """Hand on nothing of what waits."""
        self._waiting.clear()

    def _hand_on(self, frame: str, wanted: InitialPose, put: Put) -> bool:
        if frame == self._origin:
            put(wanted)
            return True
        place = self._transforms.where(frame, self._origin)
        if place is None:
            return False
        self._tell_of_rotation(frame, place)
        x, y, z = place.translation
        put(InitialPose(wanted.x + x, wanted.y + y, wanted.yaw, wanted.z + z))
        return True

    def _tell_of_rotation(self, frame: str, place: Rigid) -> None:
        if abs(place.rotation[3]) < 1.0 - 1e-9:
            self._node.log(
                "warn",
                f"frame {frame} is turned in {self._origin}; the turn is left out, as Autoware's "
                f"simulator does: ask for poses in {self._origin}",
            )


def _turn(pose: Any) -> Quaternion:
    q = pose.orientation
    return Quaternion(q.x, q.y, q.z, q.w)
