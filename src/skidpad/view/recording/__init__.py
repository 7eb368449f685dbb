"""Recordings as MCAP files, for skidpad and for the viewers that read the format.

`Recorder` and `WorldRecorder` write them while a run goes on, `read` gives a `Recording` back,
`info` says what is inside, `recover` mends one that was cut off. `BagWriter` writes bags of ROS 2,
`bag_info` and `recover_bag` do the same for them.
To use them takes the packages of the extra `recording`, to import them does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core import record
from ...core.lazy import lazy_attributes
from .inspection import Info, Recovered, Topic, info, recover
from .mcap import RecordingFailed
from .reading import Recording, read
from .recorder import Recorder
from .sensors import SensorLog, SensorMount

if TYPE_CHECKING:
    from .bag_tools import BagFile, BagInfo, BagTopic, RecoveredBag, bag_info, recover_bag
    from .bags import BagWriter
    from .world_recorder import WorldRecorder

__all__ = [
    "BagFile",
    "BagInfo",
    "BagTopic",
    "BagWriter",
    "Info",
    "Recorder",
    "Recording",
    "RecordingFailed",
    "Recovered",
    "RecoveredBag",
    "SensorLog",
    "SensorMount",
    "Topic",
    "WorldRecorder",
    "bag_info",
    "info",
    "read",
    "recover",
    "recover_bag",
]

__getattr__ = lazy_attributes(
    __name__,
    {
        ".bag_tools": ("BagFile", "BagInfo", "BagTopic", "RecoveredBag", "bag_info", "recover_bag"),
        ".bags": ("BagWriter",),
        ".world_recorder": ("WorldRecorder",),
    },
)

record.document_all()
