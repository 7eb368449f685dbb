"""Bookkeeping of episodes: counters, ends, truncation and restarts, as two Programs.

`advance` follows the rollout of a control period, `conclude` its verdict (`programs.judge`). Both
are pure functions of flags and counters, traced once per number of agents. The CPU runs them in
lanes (`Books`); CUDA has their statements in its own kernels (`statements`). They compute in
float64 in every precision, so that counters and times are exact. Flags are 1 or 0.

`EpisodeInfo` has progress, laps and end reasons of episodes: the entries of `info` in every
interface. Its arrays are updated once per period; Python objects are created only for episodes that
end, and for the single environment of `SkidpadEnv`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..compile.cpu import BoundMap, CpuMap
from ..compile.cuda import Lines
from ..compile.lower import lower
from ..compile.program import Port, Program
from ..compile.trace import trace
from ..core.arrays import AnyArray, Array
from ..core.files import brief_repr
from ..ops import logical_and, logical_not, logical_or, where
from ..units import m, one, s
from .course import Course

AUTORESET = ("next_step", "same_step", "disabled")
"""Autoreset modes: an ended environment restarts in the next call, which ignores its action, in
the same call, or only by `reset`."""
OVER, ACTION, DIVERGED, OBSERVATION, START = range(1, 6)
"""Kinds of errors; the Programs return `DIVERGED`, `OBSERVATION` or 0, engines find the others."""

DURATION, OTHERS, NOT_FINITE = RESERVED = ("duration", "others", "diverged")
"""Reasons of ends besides the task's own.

The maximum duration, the end of another vehicle's episode in the same world, or a non-finite
number.
"""
END = ("end_reason", "is_success")
"""Entries of `info` that exist only at the end of an episode."""
_LENGTH, _CLOSED = Course._fields.index("length"), Course._fields.index("closed")


class Rules(NamedTuple):
    """Settings of the bookkeeping, an input of its Programs."""

    next_step: one
    """1 if an ended episode restarts in the next control period, else 0."""
    same_step: one
    """1 if an ended episode restarts in the same control period, else 0."""
    raises: one
    """1 if a non-finite number is an error, 0 if it ends the episode."""
    limit: one
    """Maximum episode length in control periods."""
    dt: s
    """Control period."""

    @classmethod
    def of(cls, autoreset: str, on_diverge: str, task: Any) -> Rules:
        next_step, same_step, _ = (float(autoreset == mode) for mode in AUTORESET)
        return cls(next_step, same_step, float(on_diverge == "raise"), float(task.limit), task.dt)


def advance(over: one, healthy: one, steps: one, rules: Rules) -> tuple[Any, ...]:
    """Bookkeeping of one row after its rollout.

    Args:
        over: whether the episode had ended before this period.
        healthy: whether the state is finite after the rollout.
        steps: control periods of the episode before this one.
        rules: settings.

    Returns:
        Whether the episode failed, whether it restarts instead of continuing, the control periods
        and the time of the episode in s after this one, and the kind of the error.
    """
    renewed = logical_and(over > 0.5, rules.next_step > 0.5)
    failed = logical_not(logical_or(healthy > 0.5, renewed))
    fault = where(logical_and(failed, rules.raises > 0.5), float(DIVERGED), 0.0)
    return _flag(failed), _flag(renewed), steps + 1.0, (steps + 1.0) * rules.dt, fault


def conclude(
    ended: Sequence[one],
    failed: Sequence[one],
    renewed: Sequence[one],
    sound: Sequence[one],
    steps: Sequence[one],
    rules: Rules,
) -> tuple[tuple[Any, ...], ...]:
    """Bookkeeping of all rows of a world, whose episodes end together, after the verdict.

    Args:
        ended: codes of the task's end reasons; above 0.5 the episode terminates.
        failed, renewed, steps: results of `advance`.
        sound: whether observation and reward are finite.
        rules: settings.

    Returns:
        For each row: whether it terminated, was truncated, has ended and waits for its restart,
        restarts now (in this order), and the kind of the error.
    """
    stops = [
        logical_or(logical_or(end > 0.5, fail > 0.5), logical_not(good > 0.5))
        for end, fail, good in zip(ended, failed, sound, strict=True)
    ]
    late = [step >= rules.limit for step in steps]
    cut = late
    if len(steps) > 1:
        any_over = late[0]
        for over in (*late[1:], *stops):
            any_over = logical_or(any_over, over)
        cut = [logical_and(any_over, logical_not(stop)) for stop in stops]
    results: list[list[Any]] = []
    for row, (stop, short) in enumerate(zip(stops, cut, strict=True)):
        restarted = renewed[row] > 0.5
        judged = logical_not(restarted)
        over = logical_and(judged, logical_or(stop, short))
        again = logical_and(over, rules.same_step > 0.5)
        bad = logical_and(logical_and(judged, rules.raises > 0.5), logical_not(sound[row] > 0.5))
        results.append([
            _flag(logical_and(judged, stop)), _flag(logical_and(judged, short)),
            _flag(logical_and(over, logical_not(again))), _flag(logical_or(again, restarted)),
            where(bad, float(OBSERVATION), 0.0),
        ])  # fmt: skip
    return tuple(zip(*results, strict=True))


def _flag(condition: Any) -> one:
    return where(condition, 1.0, 0.0)


BOOKKEEPING = {
    "advance": (("over", "healthy", "steps"), ("failed", "renewed", "steps", "time", "fault")),
    "conclude": (
        ("ended", "failed", "renewed", "sound", "steps"),
        ("terminated", "truncated", "over", "again", "fault"),
    ),
}
"""Names of the input ports before the rules, and of the output ports, by Program."""


def trace_bookkeeping(agents: int) -> tuple[Program, Program]:
    """`advance` of a row and `conclude` of a world with this number of agents, as Programs."""

    def advance_row(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
        (over,), (healthy,), (steps,), rules = ports
        return tuple((value,) for value in advance(over, healthy, steps, Rules(*rules)))

    def conclude_world(*ports: tuple[Any, ...]) -> tuple[Any, ...]:
        *rows, rules = ports
        return conclude(*rows, rules=Rules(*rules))

    made: list[Program] = []
    for name, function, rows in (("advance", advance_row, 1), ("conclude", conclude_world, agents)):
        fields = tuple(str(k) for k in range(rows))
        read, written = (tuple(Port(n, fields) for n in side) for side in BOOKKEEPING[name])
        read = (*read, Port("rules", Rules._fields))
        made.append(trace(f"episodes.{name}", function, read, written))
    return made[0], made[1]


class Books:
    """Ports of both Programs for all rows on the CPU, and calls that run them.

    Args:
        programs: `advance` and `conclude`.
        rows: number of rows B.
        rules: settings.
        threads: number of threads, or None to run few rows without the overhead of launches.
    """

    def __init__(
        self, programs: tuple[Program, Program], rows: int, rules: Rules, threads: int | None, *,
        few: bool,
    ) -> None:  # fmt: skip
        names = {name for ports in BOOKKEEPING.values() for side in ports for name in side}
        self.of: dict[str, Array] = {name: np.zeros(rows) for name in names}
        """Values of the ports by name, (B,); an output and an input of the same name share them."""
        calls: list[Any] = []
        for program in programs:
            each = len(program.inputs[0].fields)
            # Few rows are run without broadcasting.
            settings = np.tile(np.array(rules), (1, rows // each if few else 1, 1))
            inputs = [self.of[p.name].reshape(1, -1, each) for p in program.inputs[:-1]]
            outputs = [self.of[port.name].reshape(1, -1, each) for port in program.outputs]
            if few:
                calls.append(BoundMap(program, [*inputs, settings], outputs))
                continue
            engine = CpuMap(program, "float64", threads)
            ports, worlds = [*inputs, settings], rows // each
            calls.append(lambda e=engine, i=ports, n=worlds, o=outputs: e.run(i, n, o))
        self.advance, self.conclude = calls


def statements(program: Program, rules: Rules) -> tuple[list[str], dict[str, list[str]]]:
    """Statements of a bookkeeping Program in CUDA C, and the expressions of its results.

    Field f of an input port `name` is the variable `name` followed by f, a double.
    """
    lines = Lines(lower(program, "float64"), "float64")
    taken = [f"const double rules{k} = {float(value)!r};" for k, value in enumerate(rules)]
    taken += lines.take(lambda _: True)
    return taken, {port.name: lines.results(k) for k, port in enumerate(program.outputs)}


class Ends(NamedTuple):
    """Episodes that ended in a call, in the order of their rows."""

    rows: AnyArray
    """Indices of the rows, (k,)."""
    reasons: tuple[str, ...] = ()
    """Reason of each end: a name of the task's `ended`, or "duration", "others" or "diverged"."""
    infos: tuple[dict[str, Any], ...] = ()
    """Last `info` of each episode, see `EpisodeInfo.of_row`."""

    __repr__ = brief_repr


NO_ENDS = Ends(np.empty(0, np.int64))


class EpisodeInfo:
    """Progress and laps of the current episodes of environments on the CPU.

    Args:
        task: a `Task` or a `SavedTask`.
        engine: the engine whose arrays are read.
    """

    def __init__(self, task: Any, engine: Any) -> None:
        self._task, self._engine = task, engine
        self.has_progress: bool = bool(task.tracks) and task.reads_place
        """Whether the task reads the vehicle's place on a track."""
        self.has_laps = self.has_progress and any(track.closed for track in task.tracks)
        """Whether one of its tracks is closed."""
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
        """Progress along the track since the start of the episode in m, (B,); not a copy."""
        return self._engine.m[0, :, 1]

    def begin(self, rows: AnyArray) -> None:
        if self.has_laps:
            course = self._engine.q[0]
            self._line[rows] = np.where(course[rows, _CLOSED] > 0.5, course[rows, _LENGTH], np.inf)
            self.lap[rows] = 0
            self.lap_time[rows] = self._since[rows] = self._before[rows] = 0.0

    def advance(self, steps: AnyArray) -> None:
        """Update progress and laps; `steps` (B,) are the periods since the episodes began."""
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
        """`info` of many rows in the form of Gymnasium's vector environments.

        An array (B,) for each name, and a mask under the same name with a leading underscore.

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
            terminated: mask (B,) of the episodes that terminated.
            failed: mask (B,) of the episodes whose state is no longer finite.
            steps: control periods of the episodes, (B,).
        """
        rows = np.flatnonzero(over)
        reasons: list[str] = []
        infos: list[dict[str, Any]] = []
        for row in rows.tolist():
            if terminated[row]:
                reason = NOT_FINITE if failed[row] else self._reason(float(self._engine.ended[row]))
            else:
                reason = DURATION if steps[row] >= self._task.limit else OTHERS
            info = {**self.of_row(row), "end_reason": reason}
            if self._task.successes:
                info["is_success"] = reason in self._task.successes
            reasons.append(reason)
            infos.append(info)
        return Ends(rows, tuple(reasons), tuple(infos))

    def _reason(self, code: float) -> str:
        """Reason for a code of `ended`; 0 stands for a non-finite number."""
        reasons = self._engine.programs.reasons
        return reasons[min(int(code), len(reasons)) - 1] if code > 0.5 else NOT_FINITE


def info_of(environments: Any, row: int) -> dict[str, Any]:
    """`info` of one row after a call without restarts; after its end, its last `info`."""
    ends: Ends = environments.ends
    at = ends.rows.tolist().index(row) if row in ends.rows else -1
    return ends.infos[at] if at >= 0 else environments.info.of_row(row)


def end_arrays(ends: Ends, count: int) -> dict[str, Any]:
    """Reasons and successes of ended episodes, in the form of `info_arrays`."""
    infos = tuple({name: info[name] for name in END if name in info} for info in ends.infos)
    return info_arrays(ends._replace(infos=infos), count)


def info_arrays(ends: Ends, count: int) -> dict[str, Any]:
    """Infos of ended episodes in Gymnasium's vector form: arrays (count,) and masks."""
    arrays: dict[str, Any] = {}
    for row, info in zip(ends.rows.tolist(), ends.infos, strict=True):
        for name, value in info.items():
            if name not in arrays:
                text = isinstance(value, str)
                empty = np.full(count, None, np.object_) if text else np.zeros(count, type(value))
                arrays[name], arrays[f"_{name}"] = empty, np.zeros(count, np.bool_)
            arrays[name][row], arrays[f"_{name}"][row] = value, True
    return arrays
