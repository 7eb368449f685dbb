"""ROS 2 nodes that run with or without a ROS installation; see docs/ros2.md.

The nodes of `skidpad ros2` are programs of a `Node` that a `Loop` runs; `Exchange` connects nodes
within one process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..core.lazy import lazy_attributes

if TYPE_CHECKING:
    from .loop import Exchange, Loop
    from .nodes.brains2 import Brains2
    from .nodes.common import write_package
    from .nodes.planning import Planning
    from .nodes.truck import Truck
    from .nodes.vehicle import SingleVehicle
    from .nodes.world import WorldProgram

__all__ = [
    "Brains2",
    "Exchange",
    "Loop",
    "Planning",
    "SingleVehicle",
    "Truck",
    "WorldProgram",
    "write_package",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        ".loop": ("Exchange", "Loop"),
        ".nodes.brains2": ("Brains2",),
        ".nodes.common": ("write_package",),
        ".nodes.planning": ("Planning",),
        ".nodes.truck": ("Truck",),
        ".nodes.vehicle": ("SingleVehicle",),
        ".nodes.world": ("WorldProgram",),
    },
)
