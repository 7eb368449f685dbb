"""Recordings as MCAP files, for skidpad and for the viewers that read the format.

`Recorder` and `WorldRecorder` write them while a run goes on, `read` gives a `Recording` back,
`info` says what is inside, `recover` mends one that was cut off. To use them takes the packages of
the extra `recording`, to import them does not.
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
    from .world_recorder import WorldRecorder

__all__ = [
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
    """`WorldRecorder` when it is asked for: it needs the compiler, which reading does not."""
    if name == "WorldRecorder":
        from .world_recorder import WorldRecorder

        return WorldRecorder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
