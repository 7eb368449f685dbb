"""The engine of a task on the processor: lanes and threads for many rows, bound calls for few.

`TaskEngine` is the contract of engines, `Scans` are the lidars of all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..compile.cpu import BoundMap, CpuMap, CpuRollout, RolloutArrays
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
from ..random.draw import shaken
from ..run.settings import DEVICES, PRECISIONS
from .programs import TaskPrograms, action_bounds, draws_parameters, invalid_action
from .task import Lidar, Parts

HIDING = 100
"""Walls of a track above which near ones hide most of the others from a lidar."""
IN_CACHE = 200_000
"""Rays that are scanned and scaled at a time, so that they stay in the cache."""
WORTH_A_THREAD = 20_000
"""Rays below which another thread costs more than it saves."""
CHANNEL = "learn.lidar"
"""Channel of the errors of ranges."""


class Scans:
    """Scans of all rows, each in the scene of its own track.

    Args:
        lidar: the lidar of every vehicle.
        tracks: of the task.
        parts: of the vehicle's outline, which the lidars of others see.
        seen: array (B, rays) for the ranges as shares of the longest.
        threads: all processors if None.
        keeps_ranges: whether ranges in m are needed as well.
    """

    def __init__(
        self,
        lidar: Lidar,
        tracks: Sequence[Track],
        parts: Parts,
        seen: AnyArray,
        threads: int | None,
        *,
        keeps_ranges: bool,
    ) -> None:
        self._lidar, self._seen, self._threads = lidar, seen, threads
        self._scenes = [
            Scene.of(track.map, engine="tree" if len(track.walls) > HIDING else None)
            for track in tracks
        ] or [Scene()]
        self._fan = fan(lidar.angles)
        self._edges = np.concatenate([ring_edges(np.array(part)) for part in parts])
        self.ranges = np.zeros(seen.shape, seen.dtype) if keeps_ranges else None
        """In m, (B, rays); at most the range."""
        self._streams: tuple[AnyArray, AnyArray, AnyArray] | None = None

    def draw_from(self, seeds: AnyArray, periods: AnyArray, agents: int) -> None:
        """Take errors from the streams of the rows: seeds and counts of periods, (B,), read at each
        scan."""
        own = (np.arange(len(seeds), dtype=np.uint64) % np.uint64(agents)) << np.uint64(40)
        self._streams = seeds, periods, own

    def scan(self, poses: AnyArray, others: AnyArray, tracks: AnyArray, rows: Any = None) -> None:
        """Scan from poses (n, 3) of rows, all if None, on tracks by number (n,); `others` are
        the motions (n, k) of the other vehicles of each world."""
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
        """Scan from poses into these rows, or all if None."""
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
        """Edges of the other vehicles for each row, (n, m, 4)."""
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
"""Rows up to which calls are bound to their arrays: preparing the arguments costs more than the
work."""
TOLERANCE = {"float64": 1e-8, "float32": 1e-4}
"""Newton residual above which an implicit step counts as failed."""


class _Calls(NamedTuple):
    """The calls of a control period, from one set of states and memories to the other."""

    advance: Callable[[], AnyArray]
    """Returns the health of the rows, (3, B)."""
    sense: Callable[[], Any]
    judge: Callable[[], Any]


class CpuEngine:
    """A `TaskEngine` on the processor."""

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
            programs.plant.step, dt=self.task.dt, tolerance=TOLERANCE[precision],
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
        self._shared = not (draws_parameters(task) or self._few)
        base = np.array(record.flatten(programs.plant.params), self.dtype).reshape(1, 1, -1)
        self.base = base
        """Nominal parameters of the vehicle, (1, 1, n)."""
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
        self._low, self._high = (np.array(ends, self.dtype) for ends in action_bounds(task))

    def _room(self, fields: int, steps: int = 1) -> AnyArray:
        # The row is last in memory, so that neighbouring lanes read neighbouring numbers.
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
            raise invalid_action(self.task, row, field, array[row, field].item())
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
            self._others[0] = self._others_of(self._motion[0])
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
            others = self._others_of(motion[0])[None]
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

    def _others_of(self, motion: AnyArray) -> AnyArray:
        """Motions of the other vehicles in the world of each, (n, k)."""
        agents = self.task.agents
        if agents == 1:
            return motion[:, :0]
        order = [[other for other in range(agents) if other != k] for k in range(agents)]
        return motion.reshape(-1, agents, 6)[:, order].reshape(len(motion), -1)


class TaskEngine(Protocol):
    """Arrays of all rows of a task, on a GPU if that runs it, and the calls that advance them."""

    dtype: Any
    width: int
    """Numbers of an observation, rays included."""
    x: Any
    """States, (1, B, n)."""
    m: Any
    """Memories, (1, B, n)."""
    observation: Any
    """(B, width)."""
    reward: Any
    """(B,)."""
    ended: Any
    """(B,), above 0.5 where an episode is over for good."""

    def draw_from(self, seeds: Any, periods: Any) -> None:
        """Take errors of lidars from the streams of these seeds and counts of periods, (B,), arrays
        that the caller updates."""
        ...

    def set_actions(self, actions: Any) -> None:
        """Take the actions (B, n) of the coming period, clipped to their bounds."""
        ...

    def advance(self) -> Any:
        """Move all vehicles by a control period. Returns a mask (B,) of the rows that are no longer
        finite, which keep their states, or None."""
        ...

    def judge(self, time: Any, noise: Array) -> None:
        """Scan, test contacts and fill observation, reward, ended; `time` (B,) is in s, `noise`
        (B, k) are drawn shares."""
        ...

    def start(self, rows: Any, drawn: Array, agent: Any) -> None:
        """Put rows (k,) at the starts of their draws (k, n)."""
        ...

    def look(self, rows: Any, noise: Array) -> Any:
        """Fill the first observations of rows (k,); returns their contacts (k,)."""
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
    return CpuEngine(programs, rows, precision, threads)
