"""The lidars of all rows of a task on a CUDA device: one launch, each row on its own track.

The arithmetic is that of `plane.raycast.cuda_text` in float64, with the bits of the processor. The
tables of all tracks lie one behind the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..arrays import AnyArray
from ..compile.cuda import EXACT_FLAGS
from ..plane.maps.track import Track
from ..plane.polygon import ring_edges
from ..plane.raycast import Scene
from ..plane.raycast.cuda import THREADS, Tables, grid_of
from ..plane.raycast.cuda_text import source
from ..random.shares import ROOT_OF_THREE, channel_key
from .cuda_text import PHILOX
from .lidar import Lidar
from .scans import CHANNEL

_TEXT = """\
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
    """The tracks of a task as the kernel reads them; the arrays are NumPy's."""

    frames: AnyArray
    starts: AnyArray
    walls: AnyArray
    occupied: AnyArray
    grids: AnyArray
    firsts: AnyArray
    """Of each track the places of its first start, wall and cell of a grid."""


def tables_of(tracks: Sequence[Track]) -> ScanTables:
    """The tables of all tracks, one behind the other."""
    scenes = [Scene.of(track.map) for track in tracks] or [Scene()]
    tables = [Tables(scene, "float64") for scene in scenes]
    grids, cells = zip(*(grid_of(scene) for scene in scenes), strict=True)
    parts = ([t.starts for t in tables], [t.rows for t in tables], [c.ravel() for c in cells])
    firsts = np.stack([np.cumsum([0, *map(len, part)])[:-1] for part in parts], axis=1)
    frames = np.concatenate([t.frame for t in tables])
    starts, walls, occupied = (np.concatenate(part) for part in parts)
    grid = np.concatenate(grids)
    return ScanTables(frames, starts, walls, occupied, grid, firsts.astype(np.int64))


def text_of(lidar: Lidar, sizes: dict[str, int], precision: str) -> str:
    """CUDA C with the kernels `movers` and `scan_rows`."""
    text = _TEXT.format(
        **sizes, rays=lidar.rays, range=repr(lidar.range),
        share=repr(1.0 / lidar.range), noisy=int(lidar.noise > 0.0), key=channel_key(CHANNEL),
        scale=repr(lidar.noise * ROOT_OF_THREE), mean=repr(2.0 - 2.0**-31),
    )  # fmt: skip
    return source("float64", precision) + PHILOX + text


class CudaScans:
    """Scans of all rows. `xp` is the library of the arrays; `streams` are seeds and counts of
    periods of the rows."""

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
        module = xp.RawModule(code=text_of(lidar, sizes, out.dtype.name), options=EXACT_FLAGS)
        self._scan, self._move = module.get_function("scan_rows"), None
        if vehicles:
            self._move = module.get_function("movers")
        self.ranges = xp.zeros((rows, lidar.rays), out.dtype)
        """In m, (B, rays); at most the range."""
        self._others, self._out, self._streams = others, out, streams
        self._moving = xp.zeros((rows, max(1, sizes["moving"]), 8))
        self._edges = xp.asarray(rings)
        tables = (xp.asarray(array) for array in tables_of(tracks))
        self._tables = [*_units(xp, module, lidar), *tables]
        self._blocks = [-(-n // THREADS) for n in (rows * lidar.rays, rows * max(1, vehicles))]

    def prepared(self, poses: Any, tracks: Any, mask: Any) -> list[Callable[[], object]]:
        """Launches that scan from poses (1, B, 3) on tracks (B,), where the mask (B,) is not 0."""
        launches: list[Callable[[], object]] = []
        if self._move is not None:
            arguments = (mask, self._others, self._edges, self._moving)
            launches.append(partial(self._move, (self._blocks[1],), (THREADS,), arguments))
        room = (self._moving, self.ranges, self._out)
        arguments = (mask, poses, tracks, *self._tables, *room, *self._streams)
        return [*launches, partial(self._scan, (self._blocks[0],), (THREADS,), arguments)]


def _units(xp: Any, module: Any, lidar: Lidar) -> tuple[Any, Any]:
    """Cosines and sines of the rays."""
    angles = xp.asarray(lidar.angles)
    cos, sin = xp.empty_like(angles), xp.empty_like(angles)
    blocks = (-(-lidar.rays // THREADS),)
    module.get_function("units")(blocks, (THREADS,), (angles, cos, sin, xp.int64(lidar.rays)))
    return cos, sin
