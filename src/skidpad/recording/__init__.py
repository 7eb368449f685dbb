"""Recordings as MCAP files, for skidpad and for the viewers that read the format.

`Recorder` and `WorldRecorder` write them while a run goes on, `read` gives a `Recording` back,
`info` says what is inside, `recover` mends one that was cut off. `BagWriter` writes bags of ROS 2,
`bag_info` and `recover_bag` do the same for them.
To use them takes the packages of the extra `recording`, to import them does not.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .. import record
from .inspection import Info, Topic, info
from .mcap_file import RecordingFailed
from .reading import read
from .recorder import Recorder
from .recording import Recording
from .recovery import Recovered, recover
from .sensors import SensorLog, SensorMount

if TYPE_CHECKING:
    from .bag_inspection import BagFile, BagInfo, BagTopic, bag_info
    from .bag_recovery import RecoveredBag, recover_bag
    from .rosbag2 import BagWriter
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

_LATER = {
    "BagFile": "bag_inspection",
    "BagInfo": "bag_inspection",
    "BagTopic": "bag_inspection",
    "BagWriter": "rosbag2",
    "RecoveredBag": "bag_recovery",
    "WorldRecorder": "world_recorder",
    "bag_info": "bag_inspection",
    "recover_bag": "bag_recovery",
}


def __getattr__(name: str) -> Any:
    """What is not needed for reading, when it is asked for: the compiler, messages of ROS 2."""
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_LATER[name]}", __name__), name)
    record.document_all()
    globals()[name] = value
    return value


record.document_all()
