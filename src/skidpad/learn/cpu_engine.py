"""Task engine on the CPU: lanes and threads for many rows, pre-bound calls for few.

`TaskArrays` are the arrays of every engine; `Scans` simulates the lidars of all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from ..compile.cpu import BoundMap, CpuMap, CpuRollout, RolloutArrays, StepOptions
from ..compile.program import Program
from ..core import record
from ..core.arrays import AnyArray, Array
from ..core.checks import one_of
from ..core.threads import spread
from ..errors import InvalidValue
from ..geometry.maps.track import Track
from ..geometry.polygon import ring_edges
from ..geometry.pose import moved
from ..geometry.raycast.fan import fan, units
from ..geometry.raycast.scene import Scene
from ..random.streams import shaken
from ..run.runner import PRECISIONS
from .episodes import Books, Rules
from .programs import TaskPrograms, action_bounds, draws_parameters, invalid_action
from .task import Lidar, Parts

HIDING = 100
"""Number of walls from which a track is scanned with a tree: near walls hide most others."""
IN_CACHE = 200_000
"""Rays that are scanned and scaled in one chunk, small enough for the CPU cache."""
WORTH_A_THREAD = 20_000
"""Number of rays that makes another thread worthwhile."""
CHANNEL = "learn.lidar"
"""Random channel of the lidar range noise."""


class Scans:
    """Lidar scans of all rows, each in the scene of its own track.

    Args:
        lidar: lidar of every vehicle.
        tracks: tracks of the task.
        parts: convex parts of the vehicle's outline, which the lidars of other vehicles detect.
        seen: output array (B, rays): ranges as fractions of the maximum range.
        threads: number of threads; all processors if None.
        keeps_ranges: whether to store the ranges in m as well.
    """

    def __init__(
        self, lidar: Lidar, tracks: Sequence[Track], parts: Parts, seen: AnyArray,
        threads: int | None, *, keeps_ranges: bool,
    ) -> None:  # fmt: skip
        self._lidar, self._seen, self._threads = lidar, seen, threads
        self._scenes = [
            Scene.of(track.map, engine="tree" if len(track.walls) > HIDING else None)
            for track in tracks
        ] or [Scene()]
        self._fan = fan(lidar.angles)
        self._edges = np.concatenate([ring_edges(np.array(part)) for part in parts])
        self.ranges = np.zeros(seen.shape, seen.dtype) if keeps_ranges else None
        """Ranges in m, (B, rays), at most the maximum range."""
        self._streams: tuple[AnyArray, AnyArray, AnyArray] | None = None

    def draw_from(self, seeds: AnyArray, periods: AnyArray, agents: int) -> None:
        """Set the seeds and period counters (B,) of the range noise, which every scan reads."""
        own = (np.arange(len(seeds), dtype=np.uint64) % np.uint64(agents)) << np.uint64(40)
        self._streams = seeds, periods, own

    def scan(self, poses: AnyArray, others: AnyArray, tracks: AnyArray, rows: Any = None) -> None:
        """Scan from poses (n, 3) and write the results to `rows`, or to all rows if None.

        Args:
            poses: lidar poses, x and y in m and yaw in rad.
            others: motions (n, 6 k) of the k other vehicles in each world.
            tracks: index of each row's track, (n,).
            rows: indices of the rows.
        """
        movers = self._movers(others)
        places = poses.astype(np.float64)
        if len(self._scenes) == 1:
            self._scan(self._scenes[0], places, movers, rows)
            return
        numbers = np.arange(len(poses)) if rows is None else np.asarray(rows)
        for track in np.unique(tracks).astype(int).tolist():
            here = np.flatnonzero(tracks == track)
            moving = None if movers is None else movers[here]
            self._scan(self._scenes[track], places[here], moving, numbers[here])

    def _scan(self, scene: Scene, places: Array, movers: Array | None, rows: Any) -> None:
        """Scan one scene and write the results to `rows`, or to all rows if None."""
        kind, limit = self._seen.dtype, self._lidar.range
        share = kind.type(1.0 / limit)
        most = max(IN_CACHE // self._lidar.rays, 1)

        def part(begin: int, end: int) -> None:
            room = np.empty((min(most, end - begin), self._lidar.rays), kind)
            for first in range(begin, end, most):
                chunk = slice(first, min(first + most, end))
                into = chunk if rows is None else rows[chunk]
                ranges = scene.scan(
                    places[chunk], self._fan, room[: chunk.stop - first], max_range=limit,
                    missed=limit, movers=None if movers is None else movers[chunk], threads=1,
                )  # fmt: skip
                self._shake(ranges, into)
                if self.ranges is not None:
                    self.ranges[into] = ranges
                self._seen[into] = np.multiply(ranges, share, out=ranges)

        worth = len(places) * self._lidar.rays // WORTH_A_THREAD
        spread(part, len(places), worth=worth, threads=self._threads)

    def _shake(self, ranges: AnyArray, rows: Any) -> None:
        if not self._lidar.noise or self._streams is None:
            return
        seeds, periods, own = self._streams
        longest = float(ranges.dtype.type(self._lidar.range))
        of_rows = seeds[rows] + own[rows], periods[rows]
        shaken(CHANNEL, ranges, *of_rows, self._lidar.noise, longest)

    def _movers(self, others: AnyArray) -> Array | None:
        """Outline edges (n, m, 4) of the other vehicles, for each row."""
        if not others.shape[1]:
            return None
        poses = others.reshape(len(others), -1, 6)[:, :, :3].astype(np.float64)
        x, y = (poses[:, :, k, None] for k in range(2))
        # The cosines and sines of the scans, which have the same bits on every machine.
        c, s = (u.reshape(x.shape) for u in units(poses[:, :, 2].ravel()))
        ends = self._edges.T
        begin, end = (moved(c, s, x, y, ends[k], ends[k + 1]) for k in (0, 2))
        return np.stack([*begin, *end], axis=-1).reshape(len(others), -1, 4)


FEW = 16
"""Largest number of rows with pre-bound calls: converting arguments would cost too much."""
TOLERANCE = {"float64": 1e-8, "float32": 1e-4}
"""Newton residual above which an implicit step counts as failed."""


class _Calls(NamedTuple):
    """Pre-bound calls of one control period, from one set of states and memories to the other."""

    advance: Callable[[], AnyArray]
    """Advances all rows and returns their health, (3, B)."""
    sense: Callable[[], Any]
    judge: Callable[[], Any]


class TaskArrays:
    """Arrays of all rows of a task, the same for every engine.

    Args:
        programs: Programs of the task.
        rows: number of rows B.
        precision: "float32" or "float64".
        xp: array library, NumPy or CuPy.
        own_parameters: whether each row has its own parameters even if the task samples none.
    """

    def __init__(
        self, programs: TaskPrograms, rows: int, precision: str, xp: Any, *, own_parameters: bool
    ) -> None:
        self.programs, self.rows, self.xp = programs, rows, xp
        self.task, self.dtype = programs.task, np.dtype(precision)
        task, rays = self.task, self.task.lidar.rays if self.task.lidar else 0
        self.size = {port.name: len(port.fields) for port in programs.judge.inputs}
        base = np.array(record.flatten(programs.plant.params), self.dtype).reshape(1, 1, -1)
        self.base = xp.asarray(base)
        """Nominal parameters of the vehicle, (1, 1, n)."""
        self.shared = not (own_parameters or draws_parameters(task))
        """Whether all rows have the same parameters."""
        self.p = self.base if self.shared else self.room(self.size["p"])
        self.p[:] = self.base
        self.a, self.q, self.noise = (self.room(self.size[name]) for name in "aqe")
        self.w = self.room(record.size(programs.plant.Disturbance))
        self.time, self.others = self.room(1), self.room(self.size["others"])
        self.motion, self.lidar_pose = self.room(6), self.room(3 if task.lidar else 0)
        table = () if programs.courses is None else (float(programs.courses.table),)
        self.table = xp.asarray(np.array(table, self.dtype).reshape(1, 1, -1))
        self.fields = record.size(task.Observation)
        self.width = self.fields + rays
        """Length of an observation, rays included."""
        self.observation = xp.zeros((rows, self.width), self.dtype)
        """Observations, (B, width)."""
        self.reward, self.ended = xp.zeros(rows, self.dtype), xp.zeros(rows, self.dtype)
        """Rewards (B,), and (B,) above 0.5 where the episode has terminated."""

    def room(self, fields: int, steps: int = 1) -> Any:
        """Zeros (steps, B, fields)."""
        # Rows are the fastest-varying axis in memory, so that neighbouring lanes read neighbouring
        # numbers.
        return self.xp.zeros((steps, fields, self.rows), self.dtype).swapaxes(1, 2)


class CpuEngine(TaskArrays):
    def __init__(
        self, programs: TaskPrograms, rows: int, precision: str, threads: int | None
    ) -> None:
        one_of("precision", precision, PRECISIONS)
        self._few = rows <= FEW
        super().__init__(programs, rows, precision, np, own_parameters=self._few)
        self._threads = 1 if self._few else threads
        # States and memories exist twice; each period reads one set and writes the other.
        self._states = [self.room(self.size["x"], 2) for _ in range(2)]
        self._memories = [self.room(self.size["m"]) for _ in range(2)]
        self._now = 0
        self._low, self._high = (np.array(ends, self.dtype) for ends in action_bounds(self.task))
        self._look, self._start = self._map(programs.look), self._map(programs.start)
        self._sensed, self._judged = self._map(programs.sense), self._map(programs.judge)
        options = StepOptions(self.task.dt, TOLERANCE[precision], precision, self.task.substeps)
        lanes = 1 if self._few else None
        self._rollout = CpuRollout(programs.plant.step, options, lanes, self._threads)
        self._scans = None
        if self.task.lidar is not None:
            self._scans = Scans(
                self.task.lidar, self.task.tracks, programs.parts,
                self.observation[:, self.fields :], self._threads,
                keeps_ranges=self.task.reads_ranges,
            )  # fmt: skip
        self._calls = [self._period(now) for now in range(2)]

    def _map(self, program: Program) -> CpuMap:
        made = CpuMap(program, self.dtype.name, self._threads)
        if self._few:
            made.lanes = 1
        return made

    def _period(self, now: int) -> _Calls:
        """Calls of a period that starts in array set `now` and ends in the other."""
        after = self._states[1 - now]
        x, m, m_after = after[1:], self._memories[now], self._memories[1 - now]
        moved = RolloutArrays(self._states[now][1:], self.a, self.w, self.p)
        felt = [x, self.a, self.p]
        sensed = [self.lidar_pose, self.motion]
        judged = [*felt, m, self.q, self.time, self.others, self._seen_ranges(), self.noise]
        w = self.w if self.task.disturb else self.room(0)
        verdict = [
            self.observation[None, :, : self.fields], self.reward[None, :, None],
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

    def books(self, rules: Rules) -> Books:
        """Bookkeeping of all rows."""
        programs = self.programs.advance, self.programs.conclude
        return Books(programs, self.rows, rules, self._threads, few=self._few)

    def _seen_ranges(self) -> AnyArray:
        """Ranges (1, B, rays) in m if a function of the task reads them."""
        if self._scans is None or self._scans.ranges is None:
            return self.room(0)
        return self._scans.ranges[None]

    @property
    def x(self) -> AnyArray:
        """States (1, B, n)."""
        return self._states[self._now][1:]

    def draw_from(self, seeds: AnyArray, periods: AnyArray) -> None:
        """Set the seeds and period counters (B,) of the lidar noise; the caller updates both."""
        if self._scans is not None:
            self._scans.draw_from(seeds, periods, self.task.agents)

    def set_actions(self, actions: Any) -> None:
        """Set the actions (B, n) of the coming period, clipped to their bounds."""
        try:
            array = np.asarray(actions)
            if array.dtype.kind not in "fiub":
                array = array.astype(float, casting="safe")
        except (TypeError, ValueError, RuntimeError) as error:  # the last by PyTorch
            raise InvalidValue(f"actions must be an array of real numbers: {error}") from error
        if array.shape != self.a.shape[1:]:
            raise InvalidValue(f"actions have shape {array.shape}; expected {self.a.shape[1:]}")
        if not np.isfinite(array).all():
            row, field = np.argwhere(~np.isfinite(array))[0].tolist()
            raise invalid_action(self.task, row, field, array[row, field].item())
        np.minimum(np.maximum(array, self._low), self._high, out=self.a[0])

    def advance(self) -> AnyArray | Literal[True]:
        """Advance all vehicles by one control period.

        Returns a mask (B,) of the rows whose state is finite, or True if all are; other rows keep
        their previous state.
        """
        now = self._now
        health = self._calls[now].advance()
        if np.isfinite(health).all():
            return True
        healthy = np.isfinite(health[0]) & np.isfinite(health[1])
        self._states[1 - now][1, ~healthy] = self._states[now][1, ~healthy]
        health[:] = 0.0
        return healthy

    def judge(self, time: Any, noise: Array) -> None:
        """Scan, test contacts and compute observation, reward and ended.

        `time` (B,) is in s; `noise` (B, k) are uniform samples between 0 and 1.
        """
        calls = self._calls[self._now]
        self._now = 1 - self._now
        self.time[0, :, 0] = time
        self.noise[0] = noise
        if self._scans is not None or self.task.agents > 1:
            calls.sense()
            self.others[0] = self._others_of(self.motion[0])
            if self._scans is not None:
                self._scans.scan(self.lidar_pose[0], self.others[0], self.q[0, :, 0])
        calls.judge()

    @property
    def m(self) -> AnyArray:
        """Memories (1, B, n)."""
        return self._memories[self._now]

    def start(self, rows: Any, drawn: Array, agent: Any) -> None:
        """Put rows (k,) at the start states given by their samples `drawn` (k, n)."""
        number = agent.astype(self.dtype).reshape(1, -1, 1)
        ports = [drawn.astype(self.dtype)[None], self.base, number, self.table]
        x, p, m, q, w = self._start.run(ports, len(rows))
        self.x[0, rows], self.m[0, rows], self.q[0, rows], self.w[0, rows] = x[0], m[0], q[0], w[0]
        if not self.shared:
            self.p[0, rows] = p[0]
        self.a[0, rows] = 0.0

    def look(self, rows: Any, noise: Array) -> AnyArray:
        """Compute the first observations of rows (k,) and return their contacts (k,)."""
        count = len(rows)
        x, a, m, q = (array[:, rows] for array in (self.x, self.a, self.m, self.q))
        p = self.p if self.shared else self.p[:, rows]
        others = np.empty((1, count, 0), self.dtype)
        ranges = others
        if self._scans is not None or self.task.agents > 1:
            lidar, motion = self._sensed.run([x, a, p], count)
            others = self._others_of(motion[0])[None]
            if self._scans is not None:
                self._scans.scan(lidar[0], others[0], q[0, :, 0], rows)
                if self._scans.ranges is not None:
                    ranges = self._scans.ranges[None, rows]
        time = np.zeros((1, count, 1), self.dtype)
        ports = [x, a, p, m, q, time, others, ranges, noise.astype(self.dtype)[None]]
        seen, contact = self._look.run(ports, count)
        self.observation[rows, : self.fields] = seen[0]
        return contact[0, :, 0]

    def motion_of(self, row: int) -> tuple[float, ...]:
        """Motion of the vehicle in a row: x, y, yaw, v_x, v_y, omega."""
        rows = slice(row, row + 1)
        p = self.p if self.shared else self.p[:, rows]
        _, motion = self._sensed.run([self.x[:, rows], self.a[:, rows], p], 1)
        return tuple(motion[0, 0].tolist())

    def _others_of(self, motion: AnyArray) -> AnyArray:
        """Motions (n, k) of the other vehicles in each row's world."""
        agents = self.task.agents
        if agents == 1:
            return motion[:, :0]
        order = [[other for other in range(agents) if other != k] for k in range(agents)]
        return motion.reshape(-1, agents, 6)[:, order].reshape(len(motion), -1)
