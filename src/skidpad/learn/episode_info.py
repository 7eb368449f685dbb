"""Progress, laps and ends of episodes: the entries of `info` in every interface.

Arrays of all rows are advanced once a period; Python objects are made for episodes that end, and
for the one environment of `SkidpadEnv`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core.arrays import AnyArray, Array
from ..core.files import brief_repr
from ..units import m, s
from .course import Course

DURATION, OTHERS, DIVERGED = "duration", "others", "diverged"
"""Reasons of ends other than the task's own: its duration, the end of another vehicle of the world,
or a number that is no longer finite."""
END = ("end_reason", "is_success")
"""Entries of `info` only at the end of an episode."""
_LENGTH, _CLOSED = Course._fields.index("length"), Course._fields.index("closed")


class Ends(NamedTuple):
    """Episodes that ended in a call, in the order of their rows."""

    rows: AnyArray
    """Numbers (k,) of the rows."""
    reasons: tuple[str, ...] = ()
    """Reason of each end: a name of the task's `ended`, or "duration", "others" or "diverged"."""
    infos: tuple[dict[str, Any], ...] = ()
    """Last `info` of each, see `EpisodeInfo.of_row`."""

    __repr__ = brief_repr


NO_ENDS = Ends(np.empty(0, np.int64))


class EpisodeInfo:
    """Progress and laps of the present episodes of environments on the processor.

    Args:
        task: a `Task` or a `SavedTask`.
        engine: the engine with the memories and numbers of its rows.
    """

    def __init__(self, task: Any, engine: Any) -> None:
        self._task, self._engine = task, engine
        self.has_progress: bool = bool(task.tracks) and task.reads_place
        """Whether the task reads its place on a track."""
        self.has_laps = self.has_progress and any(track.closed for track in task.tracks)
        """Whether one of its tracks has laps."""
        rows = engine.observation.shape[0]
        self.lap = np.zeros(rows, np.int64)
        """Laps completed since the start of the episode, counted from its starting point, (B,)."""
        self.lap_time: Array = np.zeros(rows)
        """Time of the last lap in s, (B,), interpolated within the control period."""
        self._line: Array = np.full(rows, np.inf)
        self._since: Array = np.zeros(rows)
        self._before: Array = np.zeros(rows)

    @property
    def progress(self) -> AnyArray:
        """Progress along the track since the start of the episode in m, (B,), not a copy."""
        return self._engine.m[0, :, 1]

    def begin(self, rows: AnyArray) -> None:
        """Reset the rows whose episodes have just begun."""
        if self.has_laps:
            course = self._engine.q[0]
            self._line[rows] = np.where(course[rows, _CLOSED] > 0.5, course[rows, _LENGTH], np.inf)
            self.lap[rows] = 0
            self.lap_time[rows] = self._since[rows] = self._before[rows] = 0.0

    def advance(self, steps: AnyArray) -> None:
        """Count a period; `steps` (B,) are those of the present episodes."""
        if not self.has_laps:
            return
        progress = self.progress
        crossed = progress >= self._line
        if crossed.any():
            self._count_laps(np.flatnonzero(crossed), progress, steps)
        self._before[:] = progress

    def _count_laps(self, rows: AnyArray, progress: AnyArray, steps: AnyArray) -> None:
        length = self._engine.q[0, rows, _LENGTH].astype(float)
        before, line = self._before[rows], self._line[rows]
        share = (line - before) / (progress[rows] - before)
        now: s = (steps[rows] - 1.0 + share) * self._task.dt
        self.lap_time[rows] = now - self._since[rows]
        self._since[rows] = now
        self.lap[rows] += 1
        self._line[rows] += length

    def of_row(self, row: int) -> dict[str, Any]:
        """`info` of one row: `progress` in m, `lap`, and `lap_time` in s after the first lap."""
        if not self.has_progress:
            return {}
        progress: m = float(self.progress[row])
        if not self.has_laps:
            return {"progress": progress}
        info: dict[str, Any] = {"progress": progress, "lap": int(self.lap[row])}
        if self.lap[row]:
            info["lap_time"] = float(self.lap_time[row])
        return info

    def of_rows(self, which: AnyArray | None = None) -> dict[str, Any]:
        """`info` of many rows in the form of Gymnasium's vectors: an array (B,) for each name and a
        mask with the same name after an underscore.

        Args:
            which: mask (B,); all rows if None.
        """
        if not self.has_progress:
            return {}
        has = np.ones(len(self.lap), np.bool_) if which is None else which.copy()
        progress = self.progress.astype(float)
        infos: dict[str, Any] = {"progress": np.where(has, progress, 0.0), "_progress": has}
        if self.has_laps:
            infos |= {"lap": np.where(has, self.lap, 0), "_lap": has.copy()}
            lapped = has & (self.lap > 0)
            if lapped.any():
                infos |= {"lap_time": np.where(lapped, self.lap_time, 0.0), "_lap_time": lapped}
        return infos

    def ends_of(self, over: AnyArray, terminated: AnyArray, failed: AnyArray, steps: Any) -> Ends:
        """Reasons and last infos of the episodes that ended, before their rows restart.

        Args:
            over: mask (B,) of the episodes that ended.
            terminated: mask (B,) of those that terminated.
            failed: mask (B,) of those whose state is no longer finite.
            steps: control periods of the episodes, (B,).
        """
        rows = np.flatnonzero(over)
        reasons: list[str] = []
        infos: list[dict[str, Any]] = []
        for row in rows.tolist():
            if terminated[row]:
                reason = DIVERGED if failed[row] else self._reason(float(self._engine.ended[row]))
            else:
                reason = DURATION if steps[row] >= self._task.limit else OTHERS
            info = {**self.of_row(row), "end_reason": reason}
            if self._task.successes:
                info["is_success"] = reason in self._task.successes
            reasons.append(reason)
            infos.append(info)
        return Ends(rows, tuple(reasons), tuple(infos))

    def _reason(self, code: float) -> str:
        """The reason of a number of `ended`; 0 means that a number was not finite."""
        reasons = self._engine.programs.reasons
        return reasons[min(int(code), len(reasons)) - 1] if code > 0.5 else DIVERGED


def info_of(environments: Any, row: int) -> dict[str, Any]:
    """`info` of one row after a call without restarts: that of its end if it has ended."""
    ends: Ends = environments.ends
    at = ends.rows.tolist().index(row) if row in ends.rows else -1
    return ends.infos[at] if at >= 0 else environments.info.of_row(row)


def end_arrays(ends: Ends, count: int) -> dict[str, Any]:
    """Reasons and successes of episodes that ended, in the form of `info_arrays`."""
    infos = tuple({name: info[name] for name in END if name in info} for info in ends.infos)
    return info_arrays(ends._replace(infos=infos), count)


def info_arrays(ends: Ends, count: int) -> dict[str, Any]:
    """Infos of ended episodes in the form of Gymnasium's vectors: arrays (count,) and masks."""
    arrays: dict[str, Any] = {}
    for row, info in zip(ends.rows.tolist(), ends.infos, strict=True):
        for name, value in info.items():
            if name not in arrays:
                text = isinstance(value, str)
                empty = np.full(count, None, np.object_) if text else np.zeros(count, type(value))
                arrays[name], arrays[f"_{name}"] = empty, np.zeros(count, np.bool_)
            arrays[name][row], arrays[f"_{name}"][row] = value, True
    return arrays
