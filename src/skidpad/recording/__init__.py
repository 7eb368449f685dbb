"""Recordings as MCAP files, for skidpad and for the viewers that read the format.

`Recorder` and `WorldRecorder` write them while a run goes on, `read` gives a `Recording` back,
`info` says what is inside, `recover` mends one that was cut off. `BagWriter` writes bags of ROS 2.
To use them takes the packages of the extra `recording`, to import them does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .inspection import Info, Topic, info
from .mcap_file import RecordingFailed
from .reading import read
from .recorder import Recorder
from .recording import ImuLog, Recording
from .recovery import Recovered, recover
from .topics import ImuMount

if TYPE_CHECKING:
    from .rosbag2 import BagWriter
    from .world_recorder import WorldRecorder

__all__ = [
    "BagWriter",
    "ImuLog",
    "ImuMount",
    "Info",
    "Recorder",
    "Recording",
    "RecordingFailed",
    "Recovered",
    "Topic",
    "WorldRecorder",
    "info",
    "read",
    "recover",
]


def __getattr__(name: str) -> Any:
    """What is not needed for reading, when it is asked for: the compiler, messages of ROS 2."""
    if name == "BagWriter":
        from .rosbag2 import BagWriter

        return BagWriter
    if name == "WorldRecorder":
        from .world_recorder import WorldRecorder

        return WorldRecorder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
