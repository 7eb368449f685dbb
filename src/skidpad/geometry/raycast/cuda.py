"""Scenes on a CUDA device: scans of many lidars, bit-identical to those of the CPU.

The CUDA C source of the scan has one thread for each ray, which walks from cell to cell. It mirrors
`drawing.walk` and `lanes.fill_units`, operation by operation: compiled without contraction it is
bit-identical to the CPU, also to whole scans (see `drawing`). With float32 for `real` it is faster
and rounds to about 1e-6 of the coordinates; a ray that passes within that of an edge may then hit
what lies behind it.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...compile.coefficients import COS, HALF_PI, SIN, TWO_OVER_PI
from ...compile.cuda import EXACT_FLAGS, FAST_FLAGS
from ...compile.gpu import cupy, is_on_device
from ...compile.program import MAGIC
from ...errors import InvalidValue
from .fan import Fan, angles_of
from .scene import FIELDS, NEVER, SPREAD, Scene, limit_of, movers_per_pose, poses_of, single_rows

if TYPE_CHECKING:
    from ..maps.map import Map

THREADS = 128
MOST_RAYS = 2**31 - 1
"""Most rays of one launch, as ray indices are 32-bit integers."""
COARSE = 1e-5
"""Margin of the cells in float32; see `scene.SPREAD`."""


class Tables:
    """Tables of a scene for the kernel, in one precision, as NumPy arrays."""

    def __init__(self, scene: Scene, precision: str) -> None:
        exact = precision == "float64"
        cells, starts, fields = single_rows(scene.rows, SPREAD if exact else COARSE)
        rows = np.column_stack([fields[:, [0, 1, 2, 3, 5, 6, 7]], np.zeros(len(fields))])
        low = cells[:2].copy()
        if not exact:
            rows[:, [0, 2, 4]] -= low[0]
            rows[:, [1, 3, 5]] -= low[1]
            cells[:2] = 0.0
        shift = np.zeros(2) if exact else low
        self.precision = precision
        self.shift = shift
        """Offset subtracted from coordinates before they are rounded."""
        self.frame = np.concatenate([cells, shift]).astype(precision)
        """Frame of the `Cells`, then the shift."""
        self.starts = starts.astype(np.int32)
        """First row of each cell, and the number of rows."""
        self.rows = np.ascontiguousarray(rows, dtype=precision)
        """x0, y0, x1, y1, x, y, square, 0 of each segment; see `scene.FIELDS`."""


def grid_of(scene: Scene) -> tuple[NDArray[np.float64], NDArray[np.uint8]]:
    """Convert an occupancy grid for the kernel: x, y, cos, sin, resolution, rows, columns; and its
    cells.

    Without a grid the resolution is 0.
    """
    grid = scene.grid
    if grid is None:
        return np.zeros(7), np.zeros(1, np.uint8)
    x, y, yaw = grid.origin
    numbers = [x, y, math.cos(yaw), math.sin(yaw), grid.resolution, *grid.shape]
    return np.array(numbers, dtype=np.float64), np.ascontiguousarray(grid.occupied, dtype=np.uint8)


class CudaScene:
    """Walls of a scene on a CUDA device.

    Scans in float64 arithmetic, the default, are bit-identical to `Scene.scan`. With `fast` they
    are computed in float32, with an error of about 1e-5 m, except for rays that just pass an
    edge.
    """

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        """The scene on the CPU."""
        self.xp = cupy()
        self._there: dict[str, Any] = {}
        self._angles: NDArray[np.float64] | None = None
        self._kept: Any = None

    @classmethod
    def of(cls, map: Map) -> CudaScene:
        """CUDA scene of a map's walls."""
        return cls(Scene.of(map))

    def scan(
        self,
        poses: Any,
        angles: Any,
        out: Any = None,
        *,
        max_range: float = math.inf,
        movers: Any = None,
        fast: bool = False,
    ) -> Any:
        """Ranges in m of whole scans, a CuPy array (B, N); inf where nothing is hit.

        Arguments are those of `Scene.scan`; poses (float64), movers and `out` may be on the device.
        Poses on the device that are not finite give NaN ranges.
        """
        xp = self.xp
        where = self._poses(poses)
        units = self._units(angles)
        shape = (len(where), len(units[0]))
        if out is None:
            out = xp.empty(shape)
        self._check(out, shape)
        tables, arrays = self._tables("float32" if fast else "float64")
        moving = self._movers(movers, tables, len(where))
        step = moving.shape[1] if len(moving) > 1 else 0
        kernel = _kernel("scan", tables.precision, out.dtype.name)
        count = shape[0] * shape[1]
        numbers = (xp.int64(n) for n in (shape[1], count, moving.shape[1], step))
        arguments = (where, *units, *arrays[:3], moving, *arrays[3:], out, *numbers)
        limit = xp.float64(limit_of(max_range))
        kernel((-(-count // THREADS),), (THREADS,), (*arguments, limit))
        return out

    def _poses(self, values: Any) -> Any:
        xp = self.xp
        if not is_on_device(values):
            return xp.asarray(poses_of(values))
        array = xp.ascontiguousarray(xp.asarray(values))
        if array.ndim != 2 or array.shape[1] != 3 or array.dtype != np.float64:
            raise InvalidValue(
                f"poses has shape {array.shape} and type {array.dtype}: it must be (B, 3), float64"
            )
        return array

    def _units(self, angles: Any) -> tuple[Any, Any]:
        """Cosines and sines of the angles on the device; the last result is cached."""
        values = angles.angles if isinstance(angles, Fan) else angles
        if self._angles is None or not np.array_equal(values, self._angles):
            xp = self.xp
            checked = angles_of(values)
            there = xp.asarray(checked)
            units = xp.empty_like(there), xp.empty_like(there)
            blocks = -(-len(there) // THREADS)
            kernel = _kernel("units", "float64", "float64")
            kernel((blocks,), (THREADS,), (there, *units, xp.int64(len(there))))
            self._angles, self._kept = checked, units
        return self._kept

    def _tables(self, precision: str) -> tuple[Tables, list[Any]]:
        if precision not in self._there:
            tables = Tables(self.scene, precision)
            grid, occupied = grid_of(self.scene)
            arrays = (tables.frame, tables.starts, tables.rows, occupied, grid)
            self._there[precision] = tables, [self.xp.asarray(a) for a in arrays]
        return self._there[precision]

    def _movers(self, values: Any, tables: Tables, poses: int) -> Any:
        xp = self.xp
        if values is None:
            return xp.empty((1, 0, len(FIELDS)), tables.precision)
        there = is_on_device(values)
        array = movers_per_pose(values if there else np.asarray(values, dtype=np.float64), poses)
        rows = xp.zeros((*array.shape[:2], len(FIELDS)), tables.precision)
        rows[..., :4] = xp.asarray(array) - xp.asarray(np.tile(tables.shift, 2))
        rows[..., 6] = NEVER
        return rows

    def _check(self, out: Any, shape: tuple[int, int]) -> None:
        if not is_on_device(out) or out.shape != shape or not out.flags.c_contiguous:
            raise InvalidValue(f"out must be a contiguous device array of shape {shape}")
        if out.dtype.name not in ("float64", "float32"):
            raise InvalidValue(f"out has type {out.dtype}: it must be float64 or float32")
        if shape[0] * shape[1] > MOST_RAYS:
            raise InvalidValue(
                f"{shape[0]} scans of {shape[1]} rays: at most {MOST_RAYS} at a time"
            )


@cache
def _kernel(name: str, precision: str, result: str) -> Any:
    code = source(precision, result)
    flags = EXACT_FLAGS if precision == "float64" else FAST_FLAGS
    return cupy().RawModule(code=code, options=flags).get_function(name)


NOISE = {"float64": "1e-15", "float32": "5e-7f"}
TINY = {"float64": "1e-290", "float32": "1e-30f"}
BEYOND = {"float64": "(1.0 + 1e-12)", "float32": "(1.0f + 1e-5f)"}
TYPES = {"float64": "double", "float32": "float"}

_TEXT = """\
#ifdef __CUDACC_RTC__
#define NAN __int_as_float(0x7fc00000)
#define INFINITY __int_as_float(0x7f800000)
#endif
typedef {real} real;
typedef {out} result;
struct __align__(2 * sizeof(real)) Two {{ real x, y; }};
struct Segment {{ Two a, b, middle, square; }};

static __device__ __forceinline__ void unit(double angle, double& cos, double& sin) {{
  const double n = fma(angle, {per_quadrant}, {rounder}) - {rounder};
  const double r = fma(n, -{P[2]}, fma(n, -{P[1]}, fma(n, -{P[0]}, angle)));
  const double z = r * r;
  double s = {S[0]}, c = {C[0]};
{sines}
{cosines}
  s = fma(r * z, s, r);
  c = fma(c, z, 1.0);
  const long long quadrant = (long long)n;
  cos = quadrant & 1 ? -s : c;
  sin = quadrant & 1 ? c : s;
  if (quadrant & 2) {{ cos = -cos; sin = -sin; }}
}}

// Nearness of a segment to a ray from o along d, or `near` if that is nearer. With `first`,
// infinity if o is on the segment, whatever the ray.
static __device__ __forceinline__ real met(
    const Segment& s, const Two o, const Two d, real near, bool first) {{
  const real ax = s.a.x - o.x, ay = s.a.y - o.y, bx = s.b.x - o.x, by = s.b.y - o.y;
  const real at_a = ax * d.y - ay * d.x, at_b = bx * d.y - by * d.x;
  const bool left = at_a >= 0 && at_b <= 0, right = at_a <= 0 && at_b >= 0;
  if (!first && !left && !right) return near;
  const real ex = s.b.x - s.a.x, ey = s.b.y - s.a.y;
  const real one = ax * ey, other = ay * ex, area = one - other;
  real mx = ey, my = 0 - ex, per = area;
  if (fabs(area) <= (fabs(one) + fabs(other)) * {noise} + {tiny}) {{
    if (!(fabs(ex) + fabs(ey) > 0)) return near;
    const real square_a = ax * ax + ay * ay, square_b = bx * bx + by * by;
    const bool b_nearer = square_b < square_a;
    per = b_nearer ? square_b : square_a;
    if (ax * bx + ay * by <= 0 || per < {tiny}) return INFINITY;
    if (!left && !right) return near;
    mx = b_nearer ? bx : ax;
    my = b_nearer ? by : ay;
  }} else if (area > 0) {{
    if (!left) return near;
  }} else {{
    const real to_x = s.middle.x - o.x, to_y = s.middle.y - o.y;
    if (!right || to_x * to_x + to_y * to_y > s.square.x) return near;
  }}
  per = 1 / per;
  const real here = mx * per * d.x + my * per * d.y;
  return here > near ? here : near;
}}

static __device__ __forceinline__ void span(
    real low, real high, real at, real d, real& begin, real& end) {{
  if (d == 0) {{
    if (!(low <= at && at <= high)) end = -1;
    return;
  }}
  const real one = (low - at) / d, other = (high - at) / d;
  begin = fmax(begin, fmin(one, other));
  end = fmin(end, fmax(one, other));
}}

static __device__ real walk(
    const real* frame, const int* starts, const Segment* rows, const Two o, const Two d,
    real max_range, real near) {{
  const real size = frame[2];
  const int columns = (int)frame[3], lines = (int)frame[4];
  const real gx = o.x - frame[0], gy = o.y - frame[1];
  if (fabs(gx) + fabs(gy) > frame[5]) {{
    for (int k = 0; k < starts[columns * lines]; ++k) near = met(rows[k], o, d, near, true);
    return near;
  }}
  const real slack = size * (real)1e-6;
  real begin = 0, end = max_range;
  span(-slack, columns * size + slack, gx, d.x, begin, end);
  span(-slack, lines * size + slack, gy, d.y, begin, end);
  if (begin > end) return near;
  int i = min(max((int)((gx + begin * d.x) / size), 0), columns - 1);
  int j = min(max((int)((gy + begin * d.y) / size), 0), lines - 1);
  const int step_i = d.x > 0 ? 1 : -1, step_j = d.y > 0 ? 1 : -1;
  const real every_x = size / fabs(d.x), every_y = size / fabs(d.y);
  real next_x = d.x != 0 ? ((i + (d.x > 0)) * size - gx) / d.x : (real)INFINITY;
  real next_y = d.y != 0 ? ((j + (d.y > 0)) * size - gy) / d.y : (real)INFINITY;
  bool first = true;
  while (true) {{
    const int cell = j * columns + i;
    const int last = starts[cell + 1];
    for (int k = starts[cell]; k < last; ++k) near = met(rows[k], o, d, near, first);
    first = false;
    const real out = fmin(next_x, next_y);
    if (near * out >= {beyond} || out > end) return near;
    if (next_x < next_y) {{
      i += step_i;
      next_x += every_x;
      if (i < 0 || i >= columns) return near;
    }} else {{
      j += step_j;
      next_y += every_y;
      if (j < 0 || j >= lines) return near;
    }}
  }}
}}

// Whether a point is in an occupied cell of a grid: the operations of `Grid.at`.
static __device__ __forceinline__ bool solid(
    const unsigned char* occupied, const double* grid, double x, double y) {{
  const double dx = x - grid[0], dy = y - grid[1];
  const double column = floor((grid[2] * dx + grid[3] * dy) / grid[4]);
  const double row = floor((grid[2] * dy - grid[3] * dx) / grid[4]);
  if (!(row >= 0 && row < grid[5] && column >= 0 && column < grid[6])) return false;
  return occupied[(long long)row * (long long)grid[6] + (long long)column] != 0;
}}

extern "C" __global__ void units(
    const double* __restrict__ angles, double* __restrict__ cos_n, double* __restrict__ sin_n,
    long long count) {{
  const long long n = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (n < count) unit(angles[n], cos_n[n], sin_n[n]);
}}

extern "C" __global__ void __launch_bounds__(128) scan(
    const double* __restrict__ poses, const double* __restrict__ cos_n,
    const double* __restrict__ sin_n, const real* __restrict__ frame,
    const int* __restrict__ starts, const Segment* __restrict__ rows,
    const Segment* __restrict__ movers, const unsigned char* __restrict__ occupied,
    const double* __restrict__ grid, result* __restrict__ out, long long rays, long long count,
    long long moving, long long moving_step, double max_range) {{
  const long long t = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (t >= count) return;
  const unsigned int b = (unsigned int)t / (unsigned int)rays;
  const unsigned int n = (unsigned int)t - b * (unsigned int)rays;
  const double x = poses[3 * b], y = poses[3 * b + 1], yaw = poses[3 * b + 2];
  if (!(fabs(x) <= 1e9 && fabs(y) <= 1e9 && fabs(yaw) <= 1e9)) {{
    out[t] = NAN;
    return;
  }}
  if (grid[4] > 0 && solid(occupied, grid, x, y)) {{
    out[t] = 0;
    return;
  }}
  double cos, sin;
  unit(yaw, cos, sin);
  const double c = cos_n[n], s = sin_n[n];
  // Coordinates are taken from a corner of the map where they are rounded to float32.
  const Two o = {{(real)(x - frame[6]), (real)(y - frame[7])}};
  const Two d = {{(real)(cos * c - sin * s), (real)(sin * c + cos * s)}};
  real near = 0;
  for (long long k = 0; k < moving; ++k) near = met(movers[b * moving_step + k], o, d, near, true);
  near = walk(frame, starts, rows, o, d, (real)max_range, near);
  const real distance = 1 / near;
  out[t] = distance <= max_range ? (result)distance : (result)INFINITY;
}}
"""


def source(precision: str, result: str) -> str:
    """CUDA C of the kernel `scan`, which computes in one precision and stores in another.

    Also contains the kernel `units`: cosines and sines of angles.
    """
    sines, cosines = SIN["float64"], COS["float64"]
    return _TEXT.format(
        real=TYPES[precision],
        out=TYPES[result],
        noise=NOISE[precision],
        tiny=TINY[precision],
        beyond=BEYOND[precision],
        per_quadrant=repr(TWO_OVER_PI["float64"][0]),
        rounder=repr(MAGIC["float64"]),
        P=[f"({value!r})" for value in HALF_PI["float64"]],
        S=sines,
        C=cosines,
        sines="\n".join(f"  s = fma(s, z, {value!r});" for value in sines[1:]),
        cosines="\n".join(f"  c = fma(c, z, {value!r});" for value in cosines[1:]),
    )
