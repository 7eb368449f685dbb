"""Recordings as MCAP files, for skidpad and for the viewers that read the format.

`Recorder` and `WorldRecorder` write them during a run, `read` returns a `Recording`, `info`
summarises the contents, `recover` repairs a truncated file. `BagWriter` writes bags of ROS 2, with
`bag_info` and `recover_bag` in `bag_tools`. Using them requires the packages of the extra
`recording`; importing them does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...core import record
from ...core.lazy import lazy_attributes
from .bag_tools import info, recover
from .mcap import RecordingFailed
from .reading import read
from .recorder import Recorder, WorldRecorder
from .topics import SensorMount

if TYPE_CHECKING:
    from .bags import BagWriter

__all__ = [
    "BagWriter",
    "Recorder",
    "RecordingFailed",
    "SensorMount",
    "WorldRecorder",
    "info",
    "read",
    "recover",
]

__getattr__ = lazy_attributes(__name__, {".bags": ("BagWriter",)})

record.document_all()
