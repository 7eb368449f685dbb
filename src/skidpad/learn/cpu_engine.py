"""The engine of a task on the processor: lanes and threads for many rows, bound calls for few."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import record
from ..arrays import AnyArray, Array
from ..compile.bound import BoundMap
from ..compile.cpu import CpuMap, CpuRollout, RolloutArrays
from ..compile.program import Program
from ..errors import InvalidValue
from .programs import TaskPrograms
from .scans import Scans

FEW = 16
"""Rows up to which calls are bound to their arrays: working these out costs more than the work."""
_TOLERANCE = {"float64": 1e-8, "float32": 1e-4}
"""Newton residual above which an implicit step counts as failed."""


class _Calls(NamedTuple):
    """A control period, from one set of states and memories to the other."""

    advance: Callable[[], AnyArray]
    """Returns the health of the rows, (3, B)."""
    sense: Callable[[], Any]
    judge: Callable[[], Any]


class CpuEngine:
    """See `engine.TaskEngine` for what it promises."""

    def __init__(
        self, programs: TaskPrograms, rows: int, precision: str, threads: int | None
    ) -> None:
        self.programs, self.rows = programs, rows
        self.task, self.dtype = programs.task, np.dtype(precision)
        self._few = rows <= FEW
        self._threads = 1 if self._few else threads
        self._make_arrays()
        self._look, self._start = self._map(programs.look), self._map(programs.start)
        self._sensed, self._judged = self._map(programs.sense), self._map(programs.judge)
        self._rollout = CpuRollout(
            programs.plant.step, dt=self.task.dt, tolerance=_TOLERANCE[precision],
            precision=precision, lanes=1 if self._few else None, threads=self._threads,
            substeps=self.task.substeps,
        )  # fmt: skip
        self._scans = None
        if self.task.lidar is not None:
            self._scans = Scans(
                self.task.lidar, self.task.tracks, programs.parts,
                self.observation[:, self._fields :], self._threads,
                keeps_ranges=self.task.reads_ranges,
            )  # fmt: skip
        self._calls = [self._period(now) for now in range(2)]

    def _map(self, program: Program) -> CpuMap:
        made = CpuMap(program, self.dtype.name, self._threads)
        if self._few:
            made.lanes = 1
        return made

    def _make_arrays(self) -> None:
        programs, task, rows = self.programs, self.task, self.rows
        size = {port.name: len(port.fields) for port in programs.judge.inputs}
        # Two sets of states and memories, each written from the other.
        self._states = [self._room(size["x"], 2) for _ in range(2)]
        self._memories = [self._room(size["m"]) for _ in range(2)]
        self._now = 0
        drawn = any(name.startswith(("params.", "delay")) for name in task.randomised)
        self._shared = not (drawn or self._few)
        base = np.array(record.flatten(programs.plant.params), self.dtype).reshape(1, 1, -1)
        self.base = base
        """Parameters of the vehicle as it is told, (1, 1, n)."""
        self.p = base if self._shared else self._room(size["p"])
        self.p[:] = base
        self.q, self.a = self._room(size["q"]), self._room(size["a"])
        self.w = self._room(record.size(task.vehicle.model.Disturbance))
        self.time = np.zeros((1, rows, 1), self.dtype)
        self._noise = self._room(size["e"])
        self._motion, self._lidar_pose = self._room(6), self._room(3 if task.lidar else 0)
        self._others = self._room(size["others"])
        courses = programs.courses
        table = () if courses is None else (float(courses.table),)
        self._table = np.array(table, self.dtype).reshape(1, 1, -1)
        rays = 0 if task.lidar is None else task.lidar.rays
        self._fields = record.size(task.Observation)
        self.width = self._fields + rays
        self.observation = np.zeros((rows, self.width), self.dtype)
        self.reward = np.zeros(rows, self.dtype)
        self.ended = np.zeros(rows, self.dtype)
        leaves = record.fields(task.Action)
        self._low = np.array([f.allowed.low if f.allowed else -np.inf for f in leaves], self.dtype)
        self._high = np.array([f.allowed.high if f.allowed else np.inf for f in leaves], self.dtype)

    def _room(self, fields: int, steps: int = 1) -> AnyArray:
        # The row last in memory: neighbouring lanes then read neighbouring numbers.
        return np.zeros((steps, fields, self.rows), self.dtype).swapaxes(1, 2)

    def _period(self, now: int) -> _Calls:
        """The calls of a period that begins in one set of arrays and ends in the other."""
        after = self._states[1 - now]
        x, m, m_after = after[1:], self._memories[now], self._memories[1 - now]
        moved = RolloutArrays(self._states[now][1:], self.a, self.w, self.p)
        felt = [x, self.a, self.p]
        sensed = [self._lidar_pose, self._motion]
        judged = [*felt, m, self.q, self.time, self._others, self._seen_ranges(), self._noise]
        w = self.w if self.task.disturb else self._room(0)
        verdict = [
            self.observation[None, :, : self._fields], self.reward[None, :, None],
            self.ended[None, :, None], m_after, w,
        ]  # fmt: skip
        if self._few:
            return _Calls(
                self._rollout.bound(moved, after),
                BoundMap(self.programs.sense, felt, sensed),
                BoundMap(self.programs.judge, judged, verdict),
            )
        return _Calls(
            lambda: self._rollout.run(moved, after, 1),
            lambda: self._sensed.run(felt, self.rows, sensed),
            lambda: self._judged.run(judged, self.rows, verdict),
        )

    def _seen_ranges(self) -> AnyArray:
        """Ranges (1, B, rays) where a function of the task reads them."""
        if self._scans is None or self._scans.ranges is None:
            return self._room(0)
        return self._scans.ranges[None]

    @property
    def x(self) -> AnyArray:
        """States (1, B, n)."""
        return self._states[self._now][1:]

    def draw_from(self, seeds: AnyArray, periods: AnyArray) -> None:
        """See `TaskEngine`."""
        if self._scans is not None:
            self._scans.draw_from(seeds, periods, self.task.agents)

    def set_actions(self, actions: Any) -> None:
        """See `TaskEngine`."""
        try:
            array = np.asarray(actions)
            if array.dtype.kind not in "fiub":
                array = array.astype(float, casting="safe")
        except (TypeError, ValueError, RuntimeError) as error:  # the last: PyTorch's, of gradients
            raise InvalidValue(f"actions must be an array of real numbers: {error}") from error
        if array.shape != self.a.shape[1:]:
            raise InvalidValue(f"actions have shape {array.shape}; expected {self.a.shape[1:]}")
        if not np.isfinite(array).all():
            row, field = np.argwhere(~np.isfinite(array))[0].tolist()
            name = record.names(self.task.Action)[field]
            raise InvalidValue(
                f"the action {name} of environment {row // self.task.agents} is "
                f"{array[row, field]}; it must be a number from {self._low[field]:g} to "
                f"{self._high[field]:g}"
            )
        np.minimum(np.maximum(array, self._low), self._high, out=self.a[0])

    def advance(self) -> AnyArray | None:
        """See `TaskEngine`."""
        now = self._now
        health = self._calls[now].advance()
        bad = None
        if not np.isfinite(health).all():
            bad = ~(np.isfinite(health[0]) & np.isfinite(health[1]))
            self._states[1 - now][1, bad] = self._states[now][1, bad]
            health[:] = 0.0
        return bad

    def judge(self, time: Any, noise: Array) -> None:
        """See `TaskEngine`."""
        calls = self._calls[self._now]
        self._now = 1 - self._now
        self.time[0, :, 0] = time
        self._noise[0] = noise
        if self._scans is not None or self.task.agents > 1:
            calls.sense()
            self._others[0] = self._beside(self._motion[0])
            if self._scans is not None:
                self._scans.scan(self._lidar_pose[0], self._others[0], self.q[0, :, 0])
        calls.judge()

    @property
    def m(self) -> AnyArray:
        """Memories (1, B, n)."""
        return self._memories[self._now]

    def start(self, rows: Any, drawn: Array, agent: Any) -> None:
        """See `TaskEngine`."""
        number = agent.astype(self.dtype).reshape(1, -1, 1)
        ports = [drawn.astype(self.dtype)[None], self.base, number, self._table]
        x, p, m, q, w = self._start.run(ports, len(rows))
        self.x[0, rows], self.m[0, rows], self.q[0, rows], self.w[0, rows] = x[0], m[0], q[0], w[0]
        if not self._shared:
            self.p[0, rows] = p[0]
        self.a[0, rows] = 0.0

    def look(self, rows: Any, noise: Array) -> AnyArray:
        """See `TaskEngine`."""
        count = len(rows)
        x, a, m, q = (array[:, rows] for array in (self.x, self.a, self.m, self.q))
        p = self.p if self._shared else self.p[:, rows]
        others = np.empty((1, count, 0), self.dtype)
        ranges = others
        if self._scans is not None or self.task.agents > 1:
            lidar, motion = self._sensed.run([x, a, p], count)
            others = self._beside(motion[0])[None]
            if self._scans is not None:
                self._scans.scan(lidar[0], others[0], q[0, :, 0], rows)
                if self._scans.ranges is not None:
                    ranges = self._scans.ranges[None, rows]
        time = np.zeros((1, count, 1), self.dtype)
        ports = [x, a, p, m, q, time, others, ranges, noise.astype(self.dtype)[None]]
        seen, contact = self._look.run(ports, count)
        self.observation[rows, : self._fields] = seen[0]
        return contact[0, :, 0]

    def motion_of(self, row: int) -> tuple[float, ...]:
        """See `TaskEngine`."""
        rows = slice(row, row + 1)
        p = self.p if self._shared else self.p[:, rows]
        _, motion = self._sensed.run([self.x[:, rows], self.a[:, rows], p], 1)
        return tuple(motion[0, 0].tolist())

    def _beside(self, motion: AnyArray) -> AnyArray:
        """Motions of the other vehicles of each one's world, (n, k)."""
        agents = self.task.agents
        if agents == 1:
            return motion[:, :0]
        order = [[other for other in range(agents) if other != k] for k in range(agents)]
        return motion.reshape(-1, agents, 6)[:, order].reshape(len(motion), -1)
