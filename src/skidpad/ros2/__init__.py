"""skidpad beside ROS 2, whether or not ROS is installed; see docs/ros2.md."""

from ..core import record
from .loop import Loop
from .node import Clock, Node
from .transport import Exchange, Identity, InProcess

__all__ = ["Clock", "Exchange", "Identity", "InProcess", "Loop", "Node"]

record.document_all()
