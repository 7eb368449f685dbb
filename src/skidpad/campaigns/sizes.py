"""How many bytes a campaign takes on disk, at most: what is told, and what must be free."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import log
from typing import Any

from ..trajectory.trajectory import Trajectory
from .cover import LEVEL
from .experiment import Column
from .part_files import GROUP_ROWS

NUMBER_BYTES, TRUTH_BYTES = 8.0, 1.0
"""Of one run: random numbers do not compress. Its number takes as much as a truth."""
_COLUMN_BYTES = 640
"""That a file takes for a column, whatever is in it, beside what the column is called."""
_PART_BYTES = 256
"""In the manifest."""
_FILES_BYTES = 16_384
"""Of the plan's own files and notes, beside its text."""


def runs_bytes(columns: Iterable[Column], runs: int) -> float:
    """Of so many runs, in the largest number of parts that they may be cut into."""
    if not runs:
        return 0.0
    known = list(columns)
    row = TRUTH_BYTES + sum(
        TRUTH_BYTES if column.kind == "truth" else NUMBER_BYTES for column in known
    )
    head = _COLUMN_BYTES + sum(
        _COLUMN_BYTES + 4 * len("".join((one.name, one.unit, one.meaning)).encode())
        for one in known
    )
    return row * runs + most_parts(runs) * (head + _PART_BYTES)


def most_parts(runs: int) -> int:
    """Files that a number of runs may be in: those that wait at each level until they are merged,
    new ones, and groups of rows, which are as long as a file's head."""
    levels = 1 + int(log(max(runs, 1), LEVEL))
    return min(runs, LEVEL * (levels + 1)) + runs // GROUP_ROWS


def files_bytes(plan: bytes, text: str) -> float:
    """Of plan, manifest and notes."""
    return _FILES_BYTES + 4.0 * len(plan) + 2.0 * len(text.encode())


def trajectory_bytes(run: Trajectory, identity: Mapping[str, Any]) -> float:
    """Of a run like this one that goes on to the end, as far as an experiment's identity tells
    how many steps that are."""
    columns = 1 + len(run.columns)
    samples = max(len(run.t), 1 + _steps(identity))
    return columns * (NUMBER_BYTES * samples + 2.0 * _COLUMN_BYTES) + _FILES_BYTES


def _steps(identity: Mapping[str, Any]) -> int:
    if "steps" in identity:
        return int(identity["steps"])
    if "duration" in identity and "dt" in identity:
        return round(identity["duration"] / identity["dt"])
    return 0
