"""What runs the Programs of a task: the contract, and the engine of the processor."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from .. import record
from ..arrays import AnyArray, Array
from ..checks import one_of
from ..compile.cpu import CpuMap, CpuRollout, RolloutArrays
from ..errors import InvalidValue
from ..extension import outer
from ..plane.polygon import ring_edges
from ..plane.pose import to_world
from ..plane.raycast import Scene
from ..run.settings import DEVICES, PRECISIONS
from .programs import TaskPrograms


class TaskEngine(Protocol):
    """Arrays of all rows of a task and what advances them. On a GPU all of them live there."""

    dtype: Any
    width: int
    """Numbers of an observation, rays included."""
    x: Any
    """States, (1, B, n)."""
    observation: Any
    """(B, width)."""
    reward: Any
    """(B,)."""
    ended: Any
    """(B,), above 0.5 where an episode is over for good."""

    def set_actions(self, actions: Any) -> None:
        """Take the actions (B, n) of the coming period, within their bounds."""
        ...

    def advance(self) -> Any:
        """Move all vehicles by a control period; which rows (B,) are no longer finite, None if all
        are. Those stay where they were."""
        ...

    def judge(self, time: Any, noise: Array) -> None:
        """Scan, test contacts and fill observation, reward, ended; `time` (B,) in s, `noise` (B, k)
        shares."""
        ...

    def start(self, rows: Any, drawn: Array, agent: Any) -> None:
        """Put rows (k,) where their draws (k, n) begin."""
        ...

    def look(self, rows: Any, noise: Array) -> Any:
        """Fill the observations of rows (k,) that have just begun; returns their contacts (k,)."""
        ...

    def motion_of(self, row: int) -> tuple[float, ...]:
        """x, y, yaw, v_x, v_y, omega of one vehicle."""
        ...


def engine_of(
    programs: TaskPrograms, rows: int, precision: str, device: str, threads: int | None
) -> TaskEngine:
    """The engine of a device."""
    one_of("precision", precision, PRECISIONS)
    one_of("device", device, DEVICES)
    if device == "cuda":
        return outer("Task on cuda")(programs, rows, precision)
    return CpuEngine(programs, rows, precision, threads)


class CpuEngine:
    """Lanes and threads of the processor."""

    def __init__(
        self, programs: TaskPrograms, rows: int, precision: str, threads: int | None
    ) -> None:
        self.programs, self.rows = programs, rows
        task, plant = programs.task, programs.plant
        self.task, self.dtype = task, np.dtype(precision)
        self._rollout = CpuRollout(
            plant.step, dt=task.dt, tolerance=_TOLERANCE[precision], precision=precision,
            lanes=None, threads=threads, substeps=task.substeps,
        )  # fmt: skip
        self._judge = CpuMap(programs.judge, precision, threads)
        self._look = CpuMap(programs.look, precision, threads)
        self._start = CpuMap(programs.start, precision, threads)
        self._sense = CpuMap(programs.sense, precision, threads)
        self._threads = threads
        self._make_arrays()
        self._lidar = _Scans(self) if task.lidar is not None else None

    def _make_arrays(self) -> None:
        programs, task, rows = self.programs, self.task, self.rows
        size = {port.name: len(port.fields) for port in programs.judge.inputs}
        # Two sets of states, each written from the other.
        self._states = [self._room(size["x"], 2) for _ in range(2)]
        self._now = 0
        self._shared = not any(name.startswith(("params.", "delay")) for name in task.randomised)
        base = np.array(record.flatten(programs.plant.params), self.dtype)
        self.base = base.reshape(1, 1, -1)
        """Parameters of the vehicle as it is told, (1, 1, n)."""
        courses = programs.courses
        table = () if courses is None else (float(courses.table),)
        self._table = np.array(table, self.dtype).reshape(1, 1, -1)
        self.p = self.base if self._shared else self._room(size["p"])
        self.m, self.q = self._room(size["m"]), self._room(size["q"])
        self._m_after = self._room(size["m"])
        self.w = self._room(record.size(task.vehicle.model.Disturbance))
        self.a = self._room(size["a"])
        self.time = np.zeros((1, rows, 1), self.dtype)
        rays = 0 if task.lidar is None else task.lidar.rays
        self._fields = record.size(task.Observation)
        self.width = self._fields + rays
        self.observation = np.zeros((rows, self.width), self.dtype)
        self.reward = np.zeros(rows, self.dtype)
        self.ended = np.zeros(rows, self.dtype)
        leaves = record.fields(task.Action)
        self._low = np.array([f.allowed.low if f.allowed else -np.inf for f in leaves], self.dtype)
        self._high = np.array([f.allowed.high if f.allowed else np.inf for f in leaves], self.dtype)

    def _room(self, fields: int, steps: int = 1, rows: int | None = None) -> AnyArray:
        # The row last in memory: neighbouring lanes then read neighbouring numbers.
        room = np.zeros((steps, fields, self.rows if rows is None else rows), self.dtype)
        return room.swapaxes(1, 2)

    @property
    def x(self) -> AnyArray:
        """States (1, B, n)."""
        return self._states[self._now][1:]

    def set_actions(self, actions: Any) -> None:
        """See `TaskEngine`."""
        try:
            given = np.asarray(actions, self.dtype)
        except (TypeError, ValueError) as error:
            raise InvalidValue(f"actions must be an array of numbers: {error}") from error
        if given.shape != self.a.shape[1:]:
            raise InvalidValue(f"actions have shape {given.shape}; expected {self.a.shape[1:]}")
        if not np.isfinite(given.sum()) and not np.isfinite(given).all():
            row, field = np.argwhere(~np.isfinite(given))[0].tolist()
            name = record.names(self.task.Action)[field]
            raise InvalidValue(
                f"the action {name} of environment {row // self.task.agents} is "
                f"{given[row, field]}; it must be a number from {self._low[field]:g} to "
                f"{self._high[field]:g}"
            )
        np.clip(given, self._low, self._high, out=self.a[0])

    def advance(self) -> AnyArray | None:
        """See `TaskEngine`."""
        after = self._states[1 - self._now]
        health = self._rollout.run(RolloutArrays(self.x, self.a, self.w, self.p), after, 1)
        bad = None
        if not np.isfinite(health.sum()):
            bad = ~np.isfinite(health[0]) | ~np.isfinite(health[1])
            after[1, bad] = self.x[0, bad]
        self._now = 1 - self._now
        return bad

    def judge(self, time: Any, noise: Array) -> None:
        """See `TaskEngine`."""
        self.time[0, :, 0] = time
        others = self._felt(self.x, self.a, self.p, None)
        ports = [
            self.x, self.a, self.p, self.m, self.q, self.time, others,
            self._ranges(None), noise.astype(self.dtype)[None],
        ]  # fmt: skip
        w = self.w if self.task.disturb else self._room(0)
        self._judge.run(
            ports, self.rows,
            [self.observation[None, :, : self._fields], self.reward[None, :, None],
             self.ended[None, :, None], self._m_after, w],
        )  # fmt: skip
        self.m, self._m_after = self._m_after, self.m

    def start(self, rows: Any, drawn: Array, agent: Any) -> None:
        """See `TaskEngine`."""
        count = len(rows)
        ports = [
            drawn.astype(self.dtype)[None], self.base,
            agent.astype(self.dtype).reshape(1, -1, 1),
            self._table,
        ]  # fmt: skip
        x, p, m, q, w = self._start.run(ports, count)
        self.x[0, rows], self.m[0, rows], self.q[0, rows], self.w[0, rows] = x[0], m[0], q[0], w[0]
        if not self._shared:
            self.p[0, rows] = p[0]
        self.a[0, rows] = 0.0

    def look(self, rows: Any, noise: Array) -> AnyArray:
        """See `TaskEngine`."""
        count = len(rows)
        x, m, q = self.x[:, rows], self.m[:, rows], self.q[:, rows]
        p = self.p if self._shared else self.p[:, rows]
        a = self.a[:, rows]
        others = self._felt(x, a, p, rows)
        ports = [
            x, a, p, m, q, np.zeros((1, count, 1), self.dtype), others, self._ranges(rows),
            noise.astype(self.dtype)[None],
        ]  # fmt: skip
        seen, contact = self._look.run(ports, count)
        self.observation[rows, : self._fields] = seen[0]
        return contact[0, :, 0]

    def motion_of(self, row: int) -> tuple[float, ...]:
        """See `TaskEngine`."""
        rows = slice(row, row + 1)
        p = self.p if self._shared else self.p[:, rows]
        _, motion = self._sense.run([self.x[:, rows], self.a[:, rows], p], 1)
        return tuple(motion[0, 0].tolist())

    def _felt(self, x: AnyArray, a: AnyArray, p: AnyArray, rows: Any) -> AnyArray:
        """Scan where there is a lidar; motions of the other vehicles (1, n, k)."""
        count, agents = x.shape[1], self.task.agents
        if self._lidar is None and agents == 1:
            return np.empty((1, count, 0), self.dtype)
        lidar, motion = self._sense.run([x, a, p], count)
        others = np.empty((1, count, 0), self.dtype)
        if agents > 1:
            order = [[other for other in range(agents) if other != k] for k in range(agents)]
            each = motion[0].reshape(-1, agents, 6)[:, order]
            others = each.reshape(1, count, -1)
        if self._lidar is not None:
            self._lidar.scan(lidar[0].astype(np.float64), others[0], rows)
        return others

    def _ranges(self, rows: Any) -> AnyArray:
        count = self.rows if rows is None else len(rows)
        if self._lidar is None or not self.task.reads_ranges:
            return np.empty((1, count, 0), self.dtype)
        return self._lidar.ranges[None] if rows is None else self._lidar.ranges[None, rows]


_TOLERANCE = {"float64": 1e-8, "float32": 1e-4}


class _Scans:
    """The lidars of all rows."""

    def __init__(self, engine: CpuEngine) -> None:
        assert engine.task.lidar is not None
        self._engine, self._lidar = engine, engine.task.lidar
        self._scenes = [Scene.of(track.map) for track in engine.task.tracks] or [Scene()]
        self.ranges = np.zeros((engine.rows, self._lidar.rays), engine.dtype)
        """In m, (B, rays); at most the range."""
        rings = [ring_edges(np.array(part)) for part in engine.programs.parts]
        self._edges = np.concatenate(rings)

    def scan(self, poses: Array, others: AnyArray, rows: Any) -> None:
        """Scan from poses (n, 3) of these rows, all if None, and put the ranges into the
        observations, as shares of the longest."""
        engine, lidar = self._engine, self._lidar
        ranges = self.ranges if rows is None else np.empty((len(rows), lidar.rays), engine.dtype)
        movers = self._movers(others)
        tracks = engine.q[0, :, 0] if engine.task.tracks else np.zeros(engine.rows)
        tracks = tracks if rows is None else tracks[rows]
        for number, scene in enumerate(self._scenes):
            if len(self._scenes) == 1:
                self._scan(scene, poses, movers, ranges)
                break
            here = np.flatnonzero(tracks == number)
            if here.size:
                some = np.empty((len(here), lidar.rays), engine.dtype)
                moving = None if movers is None else movers[here]
                self._scan(scene, poses[here], moving, some)
                ranges[here] = some
        np.minimum(ranges, engine.dtype.type(lidar.range), out=ranges)
        if rows is not None:
            self.ranges[rows] = ranges
        seen = engine.observation[:, engine._fields :]  # pyright: ignore[reportPrivateUsage]
        share = engine.dtype.type(1.0 / lidar.range)
        if rows is None:
            np.multiply(ranges, share, out=seen)
        else:
            seen[rows] = ranges * share

    def _scan(self, scene: Scene, poses: Array, movers: Any, out: AnyArray) -> None:
        scene.scan(
            poses, self._lidar.angles, out, max_range=self._lidar.range, movers=movers,
            threads=self._engine._threads,  # pyright: ignore[reportPrivateUsage]
        )  # fmt: skip

    def _movers(self, others: AnyArray) -> Array | None:
        """Edges of the other vehicles for each row, (n, m, 4)."""
        if not others.shape[1]:
            return None
        poses = others.reshape(len(others), -1, 6)[:, :, :3].astype(np.float64)
        x, y, yaw = (poses[:, :, k, None] for k in range(3))
        ends = self._edges.T
        begin, end = (to_world((x, y, yaw), ends[k], ends[k + 1]) for k in (0, 2))
        return np.stack([*begin, *end], axis=-1).reshape(len(others), -1, 4)
