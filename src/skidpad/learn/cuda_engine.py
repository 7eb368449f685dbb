"""The engine of a task on a CUDA device: all arrays live there, a control period is one graph.

A period is some ten kernels. They are launched one by one at first and then recorded as a CUDA
graph, so that Python pays for two launches in a call, however many kernels there are. The bits are
those of `CpuEngine`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from .. import record
from ..arrays import AnyArray
from ..compile import gpu
from ..compile.cpu import RolloutArrays
from ..compile.cuda import EXACT_FLAGS
from ..compile.gpu_arrays import LOCK
from ..errors import InvalidValue
from ..random.shares import names_as_words
from . import cuda_text
from .cuda_scans import CudaScans
from .programs import TaskPrograms

NEXT_STEP, SAME_STEP, DISABLED = range(3)
"""When an environment that has ended begins anew."""
THREADS = 128
_TOLERANCE = {"float64": 1e-8, "float32": 1e-4}
_WARM = 2
"""Periods that are launched kernel by kernel: modules are loaded with their first launch."""

Launch = Callable[[], object]


class CudaEngine:
    """Arrays of all rows and the launches that advance them.

    Args:
        programs: of the task.
        rows: how many.
        precision: "float32" or "float64".
        mode: `NEXT_STEP`, `SAME_STEP` or `DISABLED`.
        raises: whether what is no longer finite is an error; else it ends the episode.
    """

    def __init__(
        self, programs: TaskPrograms, rows: int, precision: str, mode: int, *, raises: bool
    ) -> None:
        self.programs, self.rows, self.mode = programs, rows, mode
        self.task, self.dtype = programs.task, np.dtype(precision)
        self.xp = gpu.cupy()
        lidar = self.task.lidar
        if rows * max(1, 0 if lidar is None else lidar.rays) >= 2**31:
            raise InvalidValue(f"{rows} rows are too many for a device: rays are below 2**31")
        self._make_arrays()
        self._make_books(raises=raises)
        self._kernels: list[gpu.Kernel] = []
        self._scans = None
        if lidar is not None:
            self._scans = CudaScans(
                self.xp, lidar, self.task.tracks, programs.parts, self._others, self.observation,
                (self.seeds, self.periods),
            )  # fmt: skip
        self._maps = {
            name: self._kept(gpu.masked_map(getattr(programs, name), precision))
            for name in ("judge", "look", "start", "sense")
        }
        self._rollout = gpu.CudaRollout(
            programs.plant.step, dt=self.task.dt, tolerance=_TOLERANCE[precision],
            precision=precision, fast=False, substeps=self.task.substeps,
        )  # fmt: skip
        self._step = Recorded(self.xp, self._kernels, self._period())
        self._reset = Recorded(self.xp, self._kernels, self._beginning(), graph=False)

    def _kept(self, kernel: gpu.Kernel) -> gpu.Kernel:
        self._kernels.append(kernel)
        return kernel

    def _make_arrays(self) -> None:
        programs, task, rows, xp = self.programs, self.task, self.rows, self.xp
        size = {port.name: len(port.fields) for port in programs.judge.inputs}
        self.size = size
        self._after = self._room(size["x"], 2)
        self.x, self.a = self._room(size["x"]), self._room(size["a"])
        self._shared = not any(name.startswith(("params.", "delay")) for name in task.randomised)
        base = np.array(record.flatten(programs.plant.params), self.dtype).reshape(1, 1, -1)
        self.base = xp.asarray(base)
        """Parameters of the vehicle as it is told, (1, 1, n)."""
        self.p = self.base if self._shared else self._room(size["p"])
        self.m, self.q = self._room(size["m"]), self._room(size["q"])
        self.w = self._room(record.size(programs.plant.Disturbance))
        self._m_after = self._room(size["m"])
        self._w_after = self._room(len(programs.judge.outputs[4].fields))
        self.time, self._e = self._room(1), self._room(size["e"])
        self._d = self._room(len(programs.draws))
        self._motion, self._lidar_pose = self._room(6), self._room(3 if task.lidar else 0)
        self._others = self._room(size["others"])
        table = () if programs.courses is None else (float(programs.courses.table),)
        self._table = xp.asarray(np.array(table, self.dtype).reshape(1, 1, -1))
        agents = np.tile(np.arange(task.agents), rows // task.agents)
        self._agent = xp.asarray(agents.astype(self.dtype).reshape(1, rows, 1))
        self._zero = xp.zeros((1, 1, 1), self.dtype)
        self.fields = record.size(task.Observation)
        self.width = self.fields + (0 if task.lidar is None else task.lidar.rays)
        self.observation = xp.zeros((rows, self.width), self.dtype)
        self.reward, self.ended = xp.zeros(rows, self.dtype), xp.zeros(rows, self.dtype)

    def _make_books(self, *, raises: bool) -> None:
        xp, rows, task, programs = self.xp, self.rows, self.task, self.programs
        leaves = record.fields(task.Action)
        self.low = [f.allowed.low if f.allowed else -np.inf for f in leaves]
        self.high = [f.allowed.high if f.allowed else np.inf for f in leaves]
        draws = cuda_text.Draws(
            names_as_words(programs.draws).tolist(), names_as_words(programs.noise).tolist()
        )
        disturbed = len(programs.judge.outputs[4].fields)
        sizes = cuda_text.Sizes(
            rows, task.agents, self.size["x"], self.size["m"], disturbed, self.fields, self.width,
            task.limit, self.mode, int(raises),
        )  # fmt: skip
        text = cuda_text.source(self.dtype.name, sizes, task.dt, (self.low, self.high), draws)
        module = xp.RawModule(code=text, options=EXACT_FLAGS)
        self._books = {name: module.get_function(name) for name in cuda_text.KERNELS}
        names = (name for name, kind in cuda_text.ARRAYS.items() if kind == "flag")
        flags = {name: xp.zeros(rows, np.uint8) for name in names}
        self._fine = xp.asarray(np.array([cuda_text.NONE], np.uint64))
        self.fault = self._fine.copy()
        self.seeds, self.episodes, self.periods = (xp.zeros(rows, np.uint64) for _ in range(3))
        self.steps = xp.zeros(rows, np.int64)
        self._every_row = xp.ones(rows, np.uint8)
        self._contact = xp.zeros(rows, self.dtype)
        last = self.observation if self.mode != SAME_STEP else xp.zeros_like(self.observation)
        self.last_observation = last
        self._health = xp.zeros((3, rows), self.dtype)
        self._told = {
            "fault": self.fault, "a": self.a, "health": self._health, "x": self.x,
            "after": self._after[1:], "m": self.m, "m_after": self._m_after, "w": self.w,
            "w_after": self._w_after, "time": self.time, "e": self._e, "d": self._d,
            "seeds": self.seeds, "episodes": self.episodes, "periods": self.periods,
            "steps": self.steps, **flags, "observation": self.observation, "last": last,
            "reward": self.reward, "ended": self.ended, "contact": self._contact,
        }  # fmt: skip
        self.over, self.again = flags["over"], flags["again"]
        self.terminated, self.truncated = flags["terminated"], flags["truncated"]
        self._arguments = tuple(self._told[name] for name in cuda_text.ARRAYS)

    def _room(self, fields: int, steps: int = 1) -> Any:
        # The row last in memory: neighbouring threads then read neighbouring numbers.
        return self.xp.zeros((steps, fields, self.rows), self.dtype).swapaxes(1, 2)

    def _book(self, name: str) -> Launch:
        threads = self.rows // self.task.agents if name == "conclude" else self.rows
        blocks = (-(-threads // THREADS),)
        return partial(self._books[name], blocks, (THREADS,), self._arguments)

    def _map(self, name: str, ports: Sequence[Any], out: Sequence[Any], mask: Any) -> Launch:
        return self._maps[name].prepared(self.rows, (*ports, *out), [self.rows, mask])

    def _period(self) -> list[Launch]:
        """A control period after the actions are taken."""
        moved = RolloutArrays(self.x, self.a, self.w, self.p)
        kernel, advance = self._rollout.prepared(moved, self._after, self._health)
        self._kept(kernel)
        launches = [advance, self._book("adopt")]
        if self.mode == NEXT_STEP:
            # Who begins anew has nothing to be judged by: one scan serves both.
            launches += [self._starts(), *self._feels(self._every_row)]
            return [*launches, self._judges(), self._book("conclude"), *self._looks()]
        launches += [*self._feels(self._every_row), self._judges(), self._book("conclude")]
        if self.mode == SAME_STEP:
            launches += [self._starts(), *self._feels(self.again), *self._looks()]
        return launches

    def _beginning(self) -> list[Launch]:
        """What begins anew where `again` says so."""
        return [self._book("anew"), self._starts(), *self._feels(self.again), *self._looks()]

    def _starts(self) -> Launch:
        # Parameters that all rows share go nowhere.
        p = self.xp.zeros_like(self.base) if self._shared else self.p
        ports = [self._d, self.base, self._agent, self._table]
        return self._map("start", ports, [self.x, p, self.m, self.q, self.w], self.again)

    def _feels(self, mask: Any) -> list[Launch]:
        """Poses, the others, scans."""
        if self._scans is None and self.task.agents == 1:
            return []
        ports, out = [self.x, self.a, self.p], [self._lidar_pose, self._motion]
        launches = [self._map("sense", ports, out, mask)]
        if self.task.agents > 1:
            launches.append(self._beside())
        if self._scans is not None:
            launches += self._scans.prepared(self._lidar_pose, self.q, mask)
        return launches

    def _beside(self) -> Launch:
        """Motions of the other vehicles of each one's world."""
        text = _BESIDE.format(
            real={"float32": "float", "float64": "double"}[self.dtype.name], rows=self.rows,
            agents=self.task.agents,
        )  # fmt: skip
        kernel = self.xp.RawModule(code=text, options=EXACT_FLAGS).get_function("beside")
        blocks = (-(-self.rows // THREADS),)
        return partial(kernel, blocks, (THREADS,), (self._motion, self._others))

    def _felt(self, time: Any) -> list[Any]:
        ranges = self._room(0)
        if self._scans is not None and self.task.reads_ranges:
            ranges = self._scans.ranges[None]
        return [
            self.x, self.a, self.p, self.m, self.q, time, self._others, ranges, self._e,
        ]  # fmt: skip

    def _judges(self) -> Launch:
        out = [
            self._seen, self.reward[None, :, None], self.ended[None, :, None], self._m_after,
            self._w_after,
        ]  # fmt: skip
        return self._map("judge", self._felt(self.time), out, self._every_row)

    def _looks(self) -> list[Launch]:
        out = [self._seen, self._contact[None, :, None]]
        return [self._map("look", self._felt(self._zero), out, self.again), self._book("begun")]

    @property
    def _seen(self) -> Any:
        return self.observation[None, :, : self.fields]

    def step(self, actions: Any) -> None:
        """One control period with actions (B, n), a contiguous array of the device."""
        blocks = (-(-self.rows // THREADS),)
        self._books["intake"](blocks, (THREADS,), (actions, *self._arguments))
        self._step.run()

    def begin(self, chosen: AnyArray) -> None:
        """Begin anew the rows (B,) that are chosen, and forget what was wrong."""
        self.fault[:] = self._fine
        self.again[:] = self.xp.asarray(chosen.astype(np.uint8))
        self._reset.run()

    def motion_of(self, row: int) -> tuple[float, ...]:
        """x, y, yaw, v_x, v_y, omega of one vehicle."""
        with LOCK:
            self._maps["sense"].tell_arrays()
            ports, out = [self.x, self.a, self.p], [self._lidar_pose, self._motion]
            self._map("sense", ports, out, self._every_row)()
        return tuple(self._motion[0, row].tolist())


_BESIDE = """\
extern "C" __global__ void beside(const {real}* __restrict__ motion, {real}* __restrict__ others) {{
  const long long row = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (row >= {rows}) return;
  const long long first = row - row % {agents};
  int place = 0;
  for (int k = 0; k < {agents}; ++k) {{
    if (first + k == row) continue;
    for (int f = 0; f < 6; ++f) others[(6 * place + f) * {rows}LL + row] =
        motion[f * {rows}LL + first + k];
    ++place;
  }}
}}
"""


class Recorded:
    """Launches that are done again and again, as a CUDA graph once they are warm."""

    def __init__(
        self,
        xp: Any,
        kernels: Sequence[gpu.Kernel],
        launches: Sequence[Launch],
        *,
        graph: bool = True,
    ) -> None:
        self._xp, self._kernels, self._launches = xp, kernels, launches
        self._left = _WARM if graph else -1
        self._graph: Any = None

    def run(self) -> None:
        """All of them, on the present stream."""
        with LOCK:
            for kernel in self._kernels:
                kernel.tell_arrays()
            if self._graph is not None:
                self._graph.launch()
                return
            for launch in self._launches:
                launch()
            self._left -= 1
            if self._left == 0:
                self._graph = self.captured()

    def captured(self) -> Any:
        """The graph of all launches; None where there are no graphs."""
        stream = self._xp.cuda.Stream(non_blocking=True)
        with stream:
            stream.begin_capture()
            try:
                for launch in self._launches:
                    launch()
            finally:
                graph = stream.end_capture()
        return graph
