"""Topics and frames of the robots of a world, as mvsim_node and Nav2 name them.

Every robot has topics of its own, under its name if there are several. Frames have the same names
for each: they are told apart by the topic, `ROBOT/tf`, as Nav2 has it. In one tree that all share,
on `/tf`, they have the robot's name in front.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ...units import s
from ..node import Node

MAP = "map"
AHEAD: s = 0.05
"""How far the place of `odom` on the map is dated ahead, so that nobody has to wait for it."""


@dataclass(frozen=True)
class RobotNames:
    """What belongs to one robot."""

    vehicle: str
    """Its name in the world."""
    prefix: str
    """Of topics: empty, or the name and a slash."""
    frame_prefix: str
    tf: str
    """Topic of its moving frames."""
    tf_static: str

    def topic(self, name: str) -> str:
        """A topic of the robot."""
        return f"{self.prefix}{legal(name)}"

    def frame(self, name: str) -> str:
        """A frame of the robot."""
        return f"{self.frame_prefix}{legal(name)}"


def robot_names(vehicle: str, *, spaced: bool, shared: bool) -> RobotNames:
    """Names of a robot; `spaced`: topics under its name, `shared`: one tree of frames for all."""
    name = legal(vehicle)
    prefix = f"{name}/" if spaced else ""
    if shared:
        return RobotNames(vehicle, prefix, f"{name}/", "/tf", "/tf_static")
    return RobotNames(vehicle, prefix, "", f"{prefix}tf", f"{prefix}tf_static")


def legal(name: str) -> str:
    """A name with whatever topics may not have replaced by underscores."""
    changed = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{changed}" if changed[:1].isdigit() or not changed else changed


def tell_changed_names(node: Node, names: list[str]) -> None:
    """Say which names of the world file are others in ROS."""
    for name in dict.fromkeys(names):
        if legal(name) != name:
            node.log("warn", f"{name!r} is {legal(name)!r} in topics and frames")
