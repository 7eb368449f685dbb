"""The runs of a recording, for those who look at a file without knowing whose it is."""

from __future__ import annotations

from pathlib import Path

from ..errors import InvalidValue
from ..trajectory.trajectory import Trajectory
from .contents import opened
from .reading import read
from .topics import RECORDING


def recorded_runs(path: Path) -> dict[str, Trajectory] | None:
    """The trajectory of each body of a recording; None if an MCAP file is none of skidpad's."""
    try:
        with opened(path) as contents:
            own = any(name == RECORDING for name, _ in contents.metadata)
    except InvalidValue:  # said by who reads the files of others
        return None
    if not own:
        return None
    recording = read(path)
    bodies = dict.fromkeys(channel.body for channel in recording.stage.channels)
    return {body: recording.trajectory(body) for body in bodies}
