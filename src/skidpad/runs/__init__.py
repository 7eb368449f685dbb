"""Runs to be watched: something that moves, performed step by step, measured, recorded and shown.

A `Show` is what moves: a world, or vehicles that drive without one. `perform` runs it, keeps the
figures of every vehicle and hands the moments on to a recording and to a replay page.
"""

from .figures import Figures, Tally
from .laps import Laps, StartLine
from .performing import Outcome, Performance, perform, perform_into
from .show import InputColumn, Segment, Show
from .trajectory_show import Driver, TrajectoryShow, driven, finished
from .world_show import WorldShow

__all__ = [
    "Driver",
    "Figures",
    "InputColumn",
    "Laps",
    "Outcome",
    "Performance",
    "Segment",
    "Show",
    "StartLine",
    "Tally",
    "TrajectoryShow",
    "WorldShow",
    "driven",
    "finished",
    "perform",
    "perform_into",
]
