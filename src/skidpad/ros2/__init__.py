"""skidpad beside ROS 2, whether or not ROS is installed; see docs/ros2.md."""

from .. import record
from .clock import Clock
from .in_process import Exchange, InProcess
from .loop import Loop
from .node import Node
from .transport import Identity

__all__ = ["Clock", "Exchange", "Identity", "InProcess", "Loop", "Node"]

record.document_all()
