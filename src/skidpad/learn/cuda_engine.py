"""Task engine on a CUDA device: all arrays stay there, and a control period is one CUDA graph.

A period consists of about ten kernels. They are launched one by one at first and then captured as
a CUDA graph, so that Python pays for two launches per call regardless of the number of kernels. The
results equal those of `CpuEngine` bit for bit.

Two CUDA C sources belong to it. `_BOOKKEEPING` carries out the bookkeeping of `episodes`, whose
Programs are part of its kernels, and samples parameters and noise; sizes and rules are constants in
the source, and all kernels take the same arguments. An error is reported in one word, the smallest
of all that were reported; once it is set, all rows stop advancing.
`_SCANNING` simulates the lidars of all rows in one launch, each row on its own track, with the
arithmetic of `geometry.raycast.cuda` in float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import isfinite
from typing import Any, NamedTuple

import numpy as np

from ..compile import gpu
from ..compile.cpu import RolloutArrays, StepOptions
from ..compile.cuda import EXACT_FLAGS, indent
from ..compile.gpu import LOCK
from ..core.arrays import AnyArray
from ..errors import InvalidValue
from ..geometry.maps.track import Track
from ..geometry.polygon import ring_edges
from ..geometry.raycast.cuda import Tables, grid_of
from ..geometry.raycast.cuda import source as raycast_source
from ..geometry.raycast.scene import Scene
from ..random.streams import ROOT_OF_THREE, channel_key, names_as_words
from .cpu_engine import CHANNEL, TOLERANCE, TaskArrays
from .episodes import ACTION, OVER, START, Rules, statements
from .programs import TaskPrograms, action_bounds
from .task import Lidar

NONE = 2**64 - 1
"""Value of the error word if there is no error.

Otherwise the word is the kind of the error times 2⁴⁸ plus the row times 2¹⁶ plus the field.
"""

ARRAYS = {
    "fault": "word", "a": "real", "health": "real", "x": "real", "after": "real", "m": "real",
    "m_after": "real", "w": "real", "w_after": "real", "time": "real", "e": "real", "d": "real",
    "seeds": "word", "episodes": "word", "periods": "word", "steps": "count", "over": "flag",
    "again": "flag", "failed": "flag", "observation": "real", "last": "real", "reward": "real",
    "ended": "real", "terminated": "flag", "truncated": "flag", "contact": "real",
}  # fmt: skip
"""Arguments of all kernels in order, with their types.

The row is the last index in memory of arrays with several fields, except in observations.
"""
THREADS = 128
KERNELS = ("intake", "adopt", "conclude", "anew", "begun")


class Sizes(NamedTuple):
    """Sizes and rules that are constants in the CUDA source."""

    rows: int
    agents: int
    states: int
    memory: int
    disturbed: int
    """Length of the disturbance if the task sets it in every period, else 0."""
    fields: int
    """Length of an observation without rays."""
    width: int
    """Length of an observation with rays."""


PHILOX = """\
typedef unsigned long long word;

// The words of a counter by a key, as in `random.kernel`.
static __device__ void philox(word* c, word k0, word k1) {
  const word low = 0xffffffffULL;
  for (int round = 0; round < 10; ++round) {
    const word p0 = c[0] * 0xD2511F53ULL, p1 = c[2] * 0xCD9E8D57ULL;
    c[0] = (p1 >> 32) ^ c[1] ^ k0;
    c[2] = (p0 >> 32) ^ c[3] ^ k1;
    c[1] = p1 & low;
    c[3] = p0 & low;
    k0 = (k0 + 0x9E3779B9ULL) & low;
    k1 = (k1 + 0xBB67AE85ULL) & low;
  }
}
"""

_BOOKKEEPING = """\
{philox}
typedef {real} real;
typedef long long count;
typedef unsigned char flag;
{sizes}
#define NONE 0xffffffffffffffffULL
#define LARGEST {largest}
static __device__ const word start_words[] = {{{start_words}}};
static __device__ const word noise_words[] = {{{noise_words}}};

static __device__ inline bool is_finite(real value) {{ return value - value == 0; }}

static __device__ inline void tell(word* fault, word what, count row, word field) {{
  atomicMin(fault, what << 48 | (word)row << 16 | field);
}}

static __device__ inline real limited(int field, real value) {{
{limits}
  return value;
}}

static __device__ double share(word seed, word counter, word element, word k0, word k1) {{
  word c[4] = {{counter & 0xffffffffULL, seed >> 32, seed & 0xffffffffULL, element}};
  philox(c, k0, k1);
  return ((double)(count)((c[0] | c[1] << 32) >> 12) + 0.5) * 2.220446049250313e-16;
}}

static __device__ void restart({parameters}, count row) {{
  episodes[row] += 1;
  steps[row] = 0;
  over[row] = 0;
  for (int f = 0; f < ACTIONS; ++f) a[f * ROWS + row] = 0;
  for (int k = 0; k < DRAWS; ++k)
    d[k * ROWS + row] = (real)share(
        seeds[row], episodes[row], start_words[k], {start_key[0]}ULL, {start_key[1]}ULL);
}}

static __device__ void shake({parameters}, count row) {{
  // Agents of a world draw the same starts, and errors of their own.
  const word seed = seeds[row] + ((word)(row % AGENTS) << 40);
  for (int k = 0; k < NOISES; ++k)
    e[k * ROWS + row] = (real)share(
        seed, periods[row], noise_words[k], {noise_key[0]}ULL, {noise_key[1]}ULL);
}}

// Take the actions of a period.
extern "C" __global__ void __launch_bounds__(128) intake(
    const real* __restrict__ actions, {parameters}) {{
  const count row = blockIdx.x * (count)blockDim.x + threadIdx.x;
  if (row >= ROWS) return;
  for (int k = 0; k < 3; ++k) health[k * ROWS + row] = 0;
  if (*fault != NONE) return;
  if (DISABLED && over[row]) tell(fault, {OVER}, row, 0);
  for (int f = 0; f < ACTIONS; ++f) {{
    real value = actions[row * ACTIONS + f];
    if (!is_finite(value)) tell(fault, {ACTION}, row, f);
    a[f * ROWS + row] = limited(f, value);
  }}
}}

// After the rollout: `advance` of each row.
extern "C" __global__ void __launch_bounds__(128) adopt({parameters}) {{
  const count row = blockIdx.x * (count)blockDim.x + threadIdx.x;
  if (row >= ROWS) return;
  again[row] = 0;
  if (*fault != NONE) return;
  const bool healthy = is_finite(health[row]) && is_finite(health[ROWS + row]);
  const double over0 = over[row], healthy0 = healthy, steps0 = steps[row];
{advance}
  if ({advanced[fault]} != 0) {{
    tell(fault, (word)({advanced[fault]}), row, 0);
    return;
  }}
  if (healthy) for (int f = 0; f < STATES; ++f) x[f * ROWS + row] = after[f * ROWS + row];
  const bool renewed = {advanced[renewed]} != 0;
  failed[row] = {advanced[failed]} != 0;
  // For a row that only restarts no period passes.
  if (!renewed) periods[row] += 1;
  steps[row] = (count)({advanced[steps]});
  time[row] = (real)({advanced[time]});
  shake({arguments}, row);
  if (renewed) {{
    again[row] = 1;
    restart({arguments}, row);
  }}
}}

// The first field of the observation that is not finite, WIDTH for the reward, or -1.
static __device__ int unsound({parameters}, count row) {{
  // If one ray is not finite, none of them is.
  for (int f = 0; f < FIELDS + (WIDTH > FIELDS); ++f)
    if (!is_finite(observation[row * WIDTH + f])) return f;
  return is_finite(reward[row]) ? -1 : WIDTH;
}}

// Carry out the results of `conclude` for one row.
static __device__ void settle(
    {parameters}, count row, word kind, bool stopped, bool cut, bool waits, bool restarts) {{
  const int bad = again[row] ? -1 : unsound({arguments}, row);
  if (kind != 0) tell(fault, kind, row, (word)bad);
  terminated[row] = stopped;
  truncated[row] = cut;
  over[row] = waits;
  if (again[row] || failed[row] || bad == WIDTH) reward[row] = 0;
  if (again[row]) return;
  real* values = observation + row * WIDTH;
  for (int f = 0; f < WIDTH && bad >= 0 && kind == 0; ++f) {{
    const real value = values[f];
    if (!is_finite(value)) values[f] = value != value ? (real)0 : value > 0 ? LARGEST : -LARGEST;
  }}
  for (int f = 0; f < MEMORY; ++f) m[f * ROWS + row] = m_after[f * ROWS + row];
  for (int f = 0; f < DISTURBED; ++f) w[f * ROWS + row] = w_after[f * ROWS + row];
  if (!restarts) return;
  again[row] = 1;
  for (int f = 0; f < WIDTH; ++f) last[row * WIDTH + f] = values[f];
  restart({arguments}, row);
}}

// After the verdict: `conclude` of each world.
extern "C" __global__ void __launch_bounds__(128) conclude({parameters}) {{
  const count first = (blockIdx.x * (count)blockDim.x + threadIdx.x) * AGENTS;
  if (first >= ROWS || *fault != NONE) return;
{conclude}
}}

// Restart the rows where `again` is set.
extern "C" __global__ void __launch_bounds__(128) anew({parameters}) {{
  const count row = blockIdx.x * (count)blockDim.x + threadIdx.x;
  if (row >= ROWS || !again[row]) return;
  restart({arguments}, row);
  shake({arguments}, row);
}}

// After the first observation.
extern "C" __global__ void __launch_bounds__(128) begun({parameters}) {{
  const count row = blockIdx.x * (count)blockDim.x + threadIdx.x;
  if (row < ROWS && again[row] && contact[row] > (real)0.5) tell(fault, {START}, row, 0);
}}
"""


def source(
    precision: str,
    sizes: Sizes,
    programs: TaskPrograms,
    rules: Rules,
    bounds: tuple[Sequence[float], Sequence[float]],
) -> str:
    """CUDA C source with the kernels of `KERNELS`; `bounds` are the bounds of the actions."""
    start, noise = (names_as_words(names).tolist() for names in (programs.draws, programs.noise))
    whole: dict[str, Any] = {name.upper(): value for name, value in sizes._asdict().items()}
    whole["ROWS"] = f"{sizes.rows}LL"
    whole |= {"ACTIONS": len(bounds[0]), "DRAWS": len(start), "NOISES": len(noise)}
    whole["DISABLED"] = int(not (rules.next_step or rules.same_step))
    arguments = ", ".join(ARRAYS)
    advanced, after_rollout = statements(programs.advance, rules)
    concluded, results = statements(programs.conclude, rules)
    loads = [
        f"const double ended{k} = ended[first + {k}], failed{k} = failed[first + {k}], "
        f"renewed{k} = again[first + {k}], steps{k} = steps[first + {k}],\n    "
        f"sound{k} = again[first + {k}] || unsound({arguments}, first + {k}) < 0;"
        for k in range(sizes.agents)
    ]
    order = ("fault", "terminated", "truncated", "over", "again")
    each = zip(*(results[name] for name in order), strict=True)
    settles = [
        f"settle({arguments}, first + {k},\n    (word)({kind}), "
        f"{', '.join(f'{flag} != 0' for flag in flags)});"
        for k, (kind, *flags) in enumerate(each)
    ]
    return _BOOKKEEPING.format(
        philox=PHILOX,
        real={"float32": "float", "float64": "double"}[precision],
        largest={"float32": "3.4028234663852886e+38f", "float64": "1.7976931348623157e+308"}[
            precision
        ],
        sizes="\n".join(f"#define {name} {value}" for name, value in whole.items()),
        limits="\n".join(_limits(*bounds)),
        # An array of C has at least one element.
        start_words=", ".join(f"{word}ULL" for word in start) or "0",
        noise_words=", ".join(f"{word}ULL" for word in noise) or "0",
        start_key=channel_key("learn.start"),
        noise_key=channel_key("learn.noise"),
        parameters=", ".join(f"{kind}* {name}" for name, kind in ARRAYS.items()),
        arguments=arguments,
        advance=indent(advanced, 2),
        advanced={name: values[0] for name, values in after_rollout.items()},
        conclude=indent([*loads, *concluded, *settles], 2),
        OVER=OVER,
        ACTION=ACTION,
        START=START,
    )


def _limits(lowest: Sequence[float], highest: Sequence[float]) -> list[str]:
    """CUDA statements that clip each field to its bounds; NaN stays NaN."""
    lines: list[str] = []
    for field, ends in enumerate(zip(lowest, highest, strict=True)):
        for sign, bound in zip("<>", ends, strict=True):
            if isfinite(bound):
                end = f"(real){bound!r}"
                lines.append(f"  if (field == {field} && value {sign} {end}) value = {end};")
    return lines


_SCANNING = """\
#define ROWS {rows}
#define RAYS {rays}
#define MOVING {moving}
#define EDGES {edges}
#define FIELDS {fields}
#define WIDTH {width}
#define TRACKS {tracks}
#define AGENTS {agents}
#define NOISY {noisy}

// Edges of the other vehicles of each row; motions and poses have the row last in memory.
extern "C" __global__ void __launch_bounds__(128) movers(
    const unsigned char* __restrict__ mask, const result* __restrict__ others,
    const double* __restrict__ edges, Segment* __restrict__ moving) {{
  const long long t = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (t >= (long long)ROWS * (MOVING / EDGES)) return;
  const long long row = t % ROWS, other = t / ROWS;
  if (!mask[row]) return;
  double c, s;
  const result* motion = others + 6 * other * ROWS + row;
  const double x = motion[0], y = motion[ROWS];
  unit((double)motion[2 * ROWS], c, s);
  for (int k = 0; k < EDGES; ++k) {{
    const double* ends = edges + 4 * k;
    Segment& made = moving[row * MOVING + other * EDGES + k];
    made.a.x = x + c * ends[0] - s * ends[1];
    made.a.y = y + s * ends[0] + c * ends[1];
    made.b.x = x + c * ends[2] - s * ends[3];
    made.b.y = y + s * ends[2] + c * ends[3];
    made.middle.x = made.middle.y = made.square.y = 0;
    made.square.x = INFINITY;
  }}
}}

// Errors as in `random.kernel.shake_ranges`.
static __device__ result shaken(result seen, word seed, word counter, word ray) {{
  if (!(seen < (result){range})) return seen;
  word c[4] = {{counter & 0xffffffffULL, seed >> 32, seed & 0xffffffffULL, ray}};
  philox(c, {key[0]}ULL, {key[1]}ULL);
  const double total = (double)(long long)(c[0] + c[1] + c[2] + c[3]) * 2.3283064365386963e-10;
  const double error = {scale} * (total - {mean});
  const double value = (double)seen + error, longest = (double)(result){range};
  return (result)(value < 0 ? 0.0 : value > longest ? longest : value);
}}

extern "C" __global__ void __launch_bounds__(128) scan_rows(
    const unsigned char* __restrict__ mask, const result* __restrict__ lidar,
    const result* __restrict__ track, const double* __restrict__ cos_n,
    const double* __restrict__ sin_n, const double* __restrict__ frames,
    const int* __restrict__ starts, const Segment* __restrict__ walls,
    const unsigned char* __restrict__ occupied, const double* __restrict__ grids,
    const long long* __restrict__ firsts, const Segment* __restrict__ moving,
    result* __restrict__ ranges, result* __restrict__ observation,
    const word* __restrict__ seeds, const word* __restrict__ periods) {{
  const unsigned int t = blockIdx.x * blockDim.x + threadIdx.x;
  if (t >= (unsigned int)ROWS * RAYS) return;
  const unsigned int row = t / RAYS, n = t - row * RAYS;
  if (!mask[row]) return;
  const int number = TRACKS > 1 ? (int)track[row] : 0;
  const double x = lidar[row], y = lidar[ROWS + row], yaw = lidar[2 * ROWS + row];
  const double* frame = frames + 8 * number;
  const double* grid = grids + 7 * number;
  const long long* first = firsts + 3 * number;
  result seen;
  if (!(fabs(x) <= 1e9 && fabs(y) <= 1e9 && fabs(yaw) <= 1e9)) {{
    seen = NAN;
  }} else if (grid[4] > 0 && solid(occupied + first[2], grid, x, y)) {{
    seen = 0;
  }} else {{
    double cos, sin;
    unit(yaw, cos, sin);
    const double c = cos_n[n], s = sin_n[n];
    const Two o = {{x - frame[6], y - frame[7]}}, d = {{cos * c - sin * s, sin * c + cos * s}};
    double near = 0;
    for (int k = 0; k < MOVING; ++k)
      near = met(moving[row * (long long)MOVING + k], o, d, near, true);
    near = walk(frame, starts + first[0], walls + first[1], o, d, {range}, near);
    const double distance = 1 / near;
    seen = distance <= {range} ? (result)distance : (result)INFINITY;
    seen = seen < (result){range} ? seen : (result){range};
  }}
  if (NOISY) seen = shaken(seen, seeds[row] + ((word)(row % AGENTS) << 40), periods[row], n);
  ranges[t] = seen;
  observation[row * (long long)WIDTH + FIELDS + n] = seen * (result){share};
}}
"""


class ScanTables(NamedTuple):
    """Tracks of a task for the scan kernel, as NumPy arrays."""

    frames: AnyArray
    starts: AnyArray
    walls: AnyArray
    occupied: AnyArray
    grids: AnyArray
    firsts: AnyArray
    """Indices of the first start, the first wall and the first grid cell of each track."""

    @classmethod
    def of(cls, tracks: Sequence[Track]) -> ScanTables:
        scenes = [Scene.of(track.map) for track in tracks] or [Scene()]
        tables = [Tables(scene, "float64") for scene in scenes]
        grids, cells = zip(*(grid_of(scene) for scene in scenes), strict=True)
        parts = ([t.starts for t in tables], [t.rows for t in tables], [c.ravel() for c in cells])
        firsts = np.stack([np.cumsum([0, *map(len, part)])[:-1] for part in parts], axis=1)
        frames = np.concatenate([t.frame for t in tables])
        starts, walls, occupied = (np.concatenate(part) for part in parts)
        grid = np.concatenate(grids)
        return cls(frames, starts, walls, occupied, grid, firsts.astype(np.int64))


class CudaScans:
    """Lidar scans of all rows on a CUDA device.

    `xp` is the array library; `streams` are the seeds and period counters of the rows.
    """

    def __init__(
        self, xp: Any, lidar: Lidar, tracks: Sequence[Track], parts: Any, others: Any, out: Any,
        streams: tuple[Any, Any],
    ) -> None:  # fmt: skip
        rows, width = out.shape
        rings = np.concatenate([ring_edges(np.array(part)) for part in parts])
        vehicles = others.shape[2] // 6
        sizes = {
            "rows": rows, "width": width, "fields": width - lidar.rays, "edges": len(rings),
            "moving": len(rings) * vehicles, "tracks": max(1, len(tracks)), "agents": vehicles + 1,
        }  # fmt: skip
        text = _SCANNING.format(
            **sizes, rays=lidar.rays, range=repr(lidar.range),
            share=repr(1.0 / lidar.range), noisy=int(lidar.noise > 0.0), key=channel_key(CHANNEL),
            scale=repr(lidar.noise * ROOT_OF_THREE), mean=repr(2.0 - 2.0**-31),
        )  # fmt: skip
        text = raycast_source("float64", out.dtype.name) + PHILOX + text
        module = xp.RawModule(code=text, options=EXACT_FLAGS)
        self._scan, self._move = module.get_function("scan_rows"), None
        if vehicles:
            self._move = module.get_function("movers")
        self.ranges = xp.zeros((rows, lidar.rays), out.dtype)
        """Ranges in m, (B, rays), at most the maximum range."""
        self._others, self._out, self._streams = others, out, streams
        self._moving = xp.zeros((rows, max(1, sizes["moving"]), 8))
        self._edges = xp.asarray(rings)
        tables = (xp.asarray(array) for array in ScanTables.of(tracks))
        self._tables = [*_units(xp, module, lidar), *tables]
        self._blocks = [-(-n // THREADS) for n in (rows * lidar.rays, rows * max(1, vehicles))]

    def prepared(self, poses: Any, tracks: Any, mask: Any) -> list[Callable[[], object]]:
        """Launches that scan from poses (1, B, 3) on tracks (B,) where `mask` (B,) is not 0."""
        launches: list[Callable[[], object]] = []
        if self._move is not None:
            arguments = (mask, self._others, self._edges, self._moving)
            launches.append(partial(self._move, (self._blocks[1],), (THREADS,), arguments))
        room = (self._moving, self.ranges, self._out)
        arguments = (mask, poses, tracks, *self._tables, *room, *self._streams)
        return [
            *launches,
            partial(self._scan, (self._blocks[0],), (THREADS,), arguments),
        ]


def _units(xp: Any, module: Any, lidar: Lidar) -> tuple[Any, Any]:
    angles = xp.asarray(lidar.angles)
    cos, sin = xp.empty_like(angles), xp.empty_like(angles)
    blocks = (-(-lidar.rays // THREADS),)
    module.get_function("units")(blocks, (THREADS,), (angles, cos, sin, xp.int64(lidar.rays)))
    return cos, sin


_WARM = 2
"""Periods launched kernel by kernel: modules are loaded at their first launch."""

Launch = Callable[[], object]


class CudaEngine(TaskArrays):
    """Arrays of all rows on a CUDA device, and the launches that advance them.

    Args:
        programs: Programs of the task.
        rows: number of rows.
        precision: "float32" or "float64".
        rules: settings of the bookkeeping.
    """

    def __init__(self, programs: TaskPrograms, rows: int, precision: str, rules: Rules) -> None:
        lidar = programs.task.lidar
        if rows * max(1, 0 if lidar is None else lidar.rays) >= 2**31:
            raise InvalidValue(
                f"{rows} rows are too many for a device, which takes fewer than 2**31 rays"
            )
        super().__init__(programs, rows, precision, gpu.cupy(), own_parameters=False)
        self.rules, xp, agents = rules, self.xp, self.task.agents
        self._after, self.x = self.room(self.size["x"], 2), self.room(self.size["x"])
        self.m, self._m_after = self.room(self.size["m"]), self.room(self.size["m"])
        self._w_after = self.room(len(programs.judge.outputs[4].fields))
        self._d = self.room(len(programs.draws))
        number = np.tile(np.arange(agents), rows // agents).astype(self.dtype)
        self._agent = xp.asarray(number.reshape(1, rows, 1))
        self._zero = xp.zeros((1, 1, 1), self.dtype)
        self._make_books()
        self._kernels: list[gpu.Kernel] = []
        self._scans = None
        if lidar is not None:
            self._scans = CudaScans(
                self.xp, lidar, self.task.tracks, programs.parts, self.others, self.observation,
                (self.seeds, self.periods),
            )  # fmt: skip
        self._maps = {
            name: self._kept(gpu.masked_map(getattr(programs, name), precision))
            for name in ("judge", "look", "start", "sense")
        }
        options = StepOptions(self.task.dt, TOLERANCE[precision], precision, self.task.substeps)
        self._rollout = gpu.CudaRollout(programs.plant.step, options, fast=False)
        self._step = Recorded(self.xp, self._kernels, self._period())
        self._reset = Recorded(self.xp, self._kernels, self._beginning(), graph=False)

    def _kept(self, kernel: gpu.Kernel) -> gpu.Kernel:
        self._kernels.append(kernel)
        return kernel

    def _make_books(self) -> None:
        xp, rows, task, programs = self.xp, self.rows, self.task, self.programs
        disturbed = len(programs.judge.outputs[4].fields)
        sizes = Sizes(
            rows, task.agents, self.size["x"], self.size["m"], disturbed, self.fields, self.width,
        )  # fmt: skip
        text = source(self.dtype.name, sizes, programs, self.rules, action_bounds(task))
        module = xp.RawModule(code=text, options=EXACT_FLAGS)
        self._books = {name: module.get_function(name) for name in KERNELS}
        names = (name for name, kind in ARRAYS.items() if kind == "flag")
        flags = {name: xp.zeros(rows, np.uint8) for name in names}
        self._fine = xp.asarray(np.array([NONE], np.uint64))
        self.fault = self._fine.copy()
        self.seeds, self.episodes, self.periods = (xp.zeros(rows, np.uint64) for _ in range(3))
        self.steps = xp.zeros(rows, np.int64)
        self._every_row = xp.ones(rows, np.uint8)
        self._contact = xp.zeros(rows, self.dtype)
        last = self.observation if not self.rules.same_step else xp.zeros_like(self.observation)
        self.last_observation = last
        self._health = xp.zeros((3, rows), self.dtype)
        arrays: dict[str, Any] = {
            "fault": self.fault, "a": self.a, "health": self._health, "x": self.x,
            "after": self._after[1:], "m": self.m, "m_after": self._m_after, "w": self.w,
            "w_after": self._w_after, "time": self.time, "e": self.noise, "d": self._d,
            "seeds": self.seeds, "episodes": self.episodes, "periods": self.periods,
            "steps": self.steps, **flags, "observation": self.observation, "last": last,
            "reward": self.reward, "ended": self.ended, "contact": self._contact,
        }  # fmt: skip
        self.over, self.again = flags["over"], flags["again"]
        self.terminated, self.truncated = flags["terminated"], flags["truncated"]
        self._arguments = tuple(arrays[name] for name in ARRAYS)

    def _book(self, name: str) -> Launch:
        threads = self.rows // self.task.agents if name == "conclude" else self.rows
        blocks = (-(-threads // THREADS),)
        return partial(self._books[name], blocks, (THREADS,), self._arguments)

    def _map(self, name: str, ports: Sequence[Any], out: Sequence[Any], mask: Any) -> Launch:
        return self._maps[name].prepared(self.rows, (*ports, *out), [self.rows, mask])

    def _period(self) -> list[Launch]:
        """Launches of a control period, after the actions have been set."""
        moved = RolloutArrays(self.x, self.a, self.w, self.p)
        kernel, advance = self._rollout.prepared(moved, self._after, self._health)
        self._kept(kernel)
        launches = [advance, self._book("adopt")]
        if self.rules.next_step:
            # Rows that restart are not judged: one scan serves both.
            launches += [self._starts(), *self._senses(self._every_row)]
            return [*launches, self._judges(), self._book("conclude"), *self._looks()]
        launches += [*self._senses(self._every_row), self._judges(), self._book("conclude")]
        if self.rules.same_step:
            launches += [self._starts(), *self._senses(self.again), *self._looks()]
        return launches

    def _beginning(self) -> list[Launch]:
        """Launches that restart the rows where `again` is set."""
        return [self._book("anew"), self._starts(), *self._senses(self.again), *self._looks()]

    def _starts(self) -> Launch:
        # Parameters that all rows share are not written.
        p = self.xp.zeros_like(self.base) if self.shared else self.p
        ports = [self._d, self.base, self._agent, self.table]
        return self._map("start", ports, [self.x, p, self.m, self.q, self.w], self.again)

    def _senses(self, mask: Any) -> list[Launch]:
        """Launches that compute poses, motions of the other vehicles and scans."""
        if self._scans is None and self.task.agents == 1:
            return []
        ports, out = [self.x, self.a, self.p], [self.lidar_pose, self.motion]
        launches = [self._map("sense", ports, out, mask)]
        if self.task.agents > 1:
            launches.append(self._beside())
        if self._scans is not None:
            launches += self._scans.prepared(self.lidar_pose, self.q, mask)
        return launches

    def _beside(self) -> Launch:
        """Launch that gathers the motions of the other vehicles in each row's world."""
        text = _BESIDE.format(
            real={"float32": "float", "float64": "double"}[self.dtype.name], rows=self.rows,
            agents=self.task.agents,
        )  # fmt: skip
        kernel = self.xp.RawModule(code=text, options=EXACT_FLAGS).get_function("beside")
        blocks = (-(-self.rows // THREADS),)
        return partial(kernel, blocks, (THREADS,), (self.motion, self.others))

    def _moment(self, time: Any) -> list[Any]:
        ranges = self.room(0)
        if self._scans is not None and self.task.reads_ranges:
            ranges = self._scans.ranges[None]
        return [
            self.x,
            self.a,
            self.p,
            self.m,
            self.q,
            time,
            self.others,
            ranges,
            self.noise,
        ]

    def _judges(self) -> Launch:
        out = [
            self._seen, self.reward[None, :, None], self.ended[None, :, None], self._m_after,
            self._w_after,
        ]  # fmt: skip
        return self._map("judge", self._moment(self.time), out, self._every_row)

    def _looks(self) -> list[Launch]:
        out = [self._seen, self._contact[None, :, None]]
        return [self._map("look", self._moment(self._zero), out, self.again), self._book("begun")]

    @property
    def _seen(self) -> Any:
        return self.observation[None, :, : self.fields]

    def step(self, actions: Any) -> None:
        """Advance by one control period with actions (B, n), a contiguous array on the device."""
        blocks = (-(-self.rows // THREADS),)
        self._books["intake"](blocks, (THREADS,), (actions, *self._arguments))
        self._step.run()

    def begin(self, chosen: AnyArray) -> None:
        """Restart the rows of a mask (B,) and clear the error word."""
        self.fault[:] = self._fine
        self.again[:] = self.xp.asarray(chosen.astype(np.uint8))
        self._reset.run()

    def motion_of(self, row: int) -> tuple[float, ...]:
        """Motion of the vehicle in a row: x, y, yaw, v_x, v_y, omega."""
        with LOCK:
            self._maps["sense"].tell_arrays()
            ports, out = [self.x, self.a, self.p], [self.lidar_pose, self.motion]
            self._map("sense", ports, out, self._every_row)()
        return tuple(self.motion[0, row].tolist())


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
    """Repeated launches, captured as a CUDA graph after the warm-up."""

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
        """Launch all of them on the current stream."""
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
        """Graph of all launches, or None if graphs are not supported."""
        stream = self._xp.cuda.Stream(non_blocking=True)
        with stream:
            stream.begin_capture()
            try:
                for launch in self._launches:
                    launch()
            finally:
                graph = stream.end_capture()
        return graph
