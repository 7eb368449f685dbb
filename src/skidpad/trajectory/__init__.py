"""Recorded runs: columns with names and units over time, points of them, and their files."""

from .trajectory import Trajectory, TrajectoryMode

__all__ = ["Trajectory", "TrajectoryMode"]
