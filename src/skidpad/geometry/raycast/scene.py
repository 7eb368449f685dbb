"""Scene of a ray caster: the walls of a map, sorted for fast queries.

The functions before `Scene` check its arguments; errors name the position, the value and the
allowed range.

Segments in the layouts of the ray-casting kernels: in blocks of eight, in cells, and in a tree.

Single rays walk through square cells (`cells_of`). Scans traverse a tree of discs (`tree_of`),
eight segments in each leaf and eight branches in each node, from near to far, and skip discs
behind nearer hits.
"""

from __future__ import annotations

import math
from functools import cached_property
from threading import local
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.checks import number, one_of
from ...core.files import brief_repr
from ...core.threads import spread
from ...errors import InvalidValue
from ..maps.map import border_segments
from ..pose import turned
from .fan import LARGEST_ANGLE, MARGIN, MAX_RANGE, MISSED, Fan, check_size, fan, rising_units, units

if TYPE_CHECKING:
    from ..maps.map import Map
    from ..maps.occupancy import Grid

FIELDS = ("x0", "y0", "x1", "y1", "length", "x", "y", "square")
"""Fields of a segment: ends, length, and the disc (x, y, `square`) that controls back-face
culling. From points whose squared distance from (x, y) is above `square` only its left side
is visible, because a closed shape lies on its right."""
BLOCK = 8 * len(FIELDS)
ALWAYS, NEVER = -1.0, np.inf
"""Values of `square` for backs that are hidden from all points, and from none."""


def rows_of(segments: Array, square: float = NEVER) -> Array:
    """Fields (n, 8) of segments (n, 4); segments without length are left out."""
    edges = segments[:, 2:] - segments[:, :2]
    kept = np.any(edges != 0.0, axis=1)
    rows = np.zeros((int(kept.sum()), len(FIELDS)))
    rows[:, :4] = segments[kept]
    rows[:, 4] = np.hypot(*edges[kept].T)
    rows[:, 7] = square
    return rows


def in_blocks(rows: Array, chosen: NDArray[np.int64] | None = None) -> Array:
    """Rows in blocks of eight, field by field; the last one pads the last block.

    `chosen`: the indices of the rows to take, a multiple of eight.
    """
    if chosen is None:
        chosen = np.minimum(np.arange(-(-len(rows) // 8) * 8), len(rows) - 1)
    table = rows[chosen].reshape(-1, 8, len(FIELDS)).transpose(0, 2, 1)
    return np.ascontiguousarray(table).reshape(-1)


def moving_blocks(movers: Array) -> Array:
    """Segments (poses, m, 4) in blocks for each pose, shape (poses, blocks, 64).

    Their length field is infinite, and they are visible from both sides; the padding of
    the last block has no extent.
    """
    poses, count = movers.shape[:2]
    blocks = -(-count // 8)
    padded = np.zeros((poses, 8 * blocks, 4))
    padded[:, :count] = movers
    table = np.empty((poses, blocks, len(FIELDS), 8))
    table[:, :, :4] = padded.reshape(poses, blocks, 8, 4).transpose(0, 1, 3, 2)
    table[:, :, 4:] = np.array([np.inf, 0.0, 0.0, NEVER])[:, None]
    return table.reshape(poses, blocks, BLOCK)


def hide_backs(rows: Array) -> Array:
    """Rows with back-face culling: segments around a convex shape are oriented with it on their
    right.

    A ray from outside a convex loop hits its near side first, so the far side can be skipped:
    half of the work in front of boxes, pillars and cones. Loops are found where each segment
    ends at the start of the next in the array.
    """
    if len(rows) == 0:
        return rows
    joined = np.all(rows[:-1, 2:4] == rows[1:, :2], axis=1)
    starts = np.concatenate([[0], np.flatnonzero(~joined) + 1])
    counts = np.diff([*starts, len(rows)])
    ends = starts + counts - 1
    closed = np.all(rows[ends, 2:4] == rows[starts, :2], axis=1) & (counts >= 3)
    following = np.arange(1, len(rows) + 1)
    following[ends] = starts
    edges = rows[:, 2:4] - rows[:, :2]
    after = edges[following]
    cross = edges[:, 0] * after[:, 1] - edges[:, 1] * after[:, 0]
    turn = np.arctan2(cross, np.sum(edges * after, axis=1))
    total = np.add.reduceat(turn, starts)
    least, most = np.minimum.reduceat(turn, starts), np.maximum.reduceat(turn, starts)
    one_way = (least >= 0.0) | (most <= 0.0)
    convex = closed & one_way & (np.abs(np.abs(total) - 2.0 * np.pi) < 1e-6)
    x, y = rows[:, 0], rows[:, 1]
    middle_x, middle_y = (
        np.repeat(0.5 * (np.minimum.reduceat(v, starts) + np.maximum.reduceat(v, starts)), counts)
        for v in (x, y)
    )
    square = np.maximum.reduceat((x - middle_x) ** 2 + (y - middle_y) ** 2, starts)
    # Reverse loops that turn left.
    about = np.repeat(convex & (total > 0.0), counts)
    turned = rows.copy()
    turned[about, :4] = rows[about][:, [2, 3, 0, 1]]
    turned[:, 5], turned[:, 6] = middle_x, middle_y
    # Rounding must not put a sensor within a loop outside of its disc.
    turned[:, 7] = np.repeat(np.where(convex, square * (1.0 + 1e-9), NEVER), counts)
    return turned


PER_CELL = 4.0
"""Target number of segments per cell."""
MOST_CELLS = 1 << 20
SPREAD = 1e-9
"""Margin, as a share of a cell, within which a segment is also listed in cells that it misses,
so that rounding on the way through the cells never skips it; larger where coordinates are
large."""
ROUNDING = 4e-15
"""Bound of the rounding error of a position on the ray, relative to its coordinates."""


class Cells(NamedTuple):
    """Segments in square cells, in blocks of eight."""

    frame: NDArray[np.float64]
    """x and y of the lower left corner, size of a cell in m, columns, rows, and the largest
    distance from the corner at which a ray may start for its way through the cells to be
    exact enough."""
    starts: NDArray[np.int64]
    """First block of each cell, row by row, and the number of blocks."""
    table: NDArray[np.float64]
    """Blocks of eight segments; see `FIELDS`. The last segment of a cell pads its last
    block."""


def cells_of(rows: NDArray[np.float64]) -> Cells:
    """Sort segments, as rows of `FIELDS`, into cells."""
    frame, per, owner = _sorted(rows, SPREAD)
    blocks = -(-per // 8)
    starts = np.concatenate([[0], np.cumsum(blocks)]).astype(np.int64)
    # Segment of each place in the blocks; the last segment of a cell is repeated to fill its block.
    which, step = _expanded(8 * blocks)
    chosen = owner[(np.cumsum(per) - per)[which] + np.minimum(step, per[which] - 1)]
    return Cells(frame, starts, in_blocks(rows, chosen))


def single_rows(
    rows: NDArray[np.float64], spread: float = SPREAD
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """Cells without blocks: the frame, the first row of each cell and the end, the rows."""
    frame, per, owner = _sorted(rows, spread)
    starts = np.concatenate([[0], np.cumsum(per)]).astype(np.int64)
    return frame, starts, rows[owner]


def _sorted(
    rows: NDArray[np.float64], spread: float
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Frame of the cells, number of segments per cell, and their indices, cell by cell."""
    segments = rows[:, :4]
    frame = _frame(segments, spread)
    owner, cell = _places(segments, frame)
    order = np.lexsort((owner, cell))
    return frame, np.bincount(cell, minlength=int(frame[3] * frame[4])), owner[order]


def _frame(segments: NDArray[np.float64], spread: float) -> NDArray[np.float64]:
    if len(segments) == 0:
        return np.array([0.0, 0.0, 1.0, 1.0, 1.0, np.inf])
    points = segments.reshape(-1, 2)
    low, high = points.min(axis=0), points.max(axis=0)
    width, height = (high - low).tolist()
    cells = min(max(len(segments) / PER_CELL, 1.0), MOST_CELLS / 4)
    # A long thin map has cells no smaller than its length divided by their number.
    size = max(math.sqrt(width * height / cells), max(width, height) / cells)
    farthest = float(np.abs(points).max())
    size = max(size, 1e-9 * farthest, 1e-9)
    spread = max(spread, 2.0 * ROUNDING * farthest / size)
    # Rounding must not put the last point outside of the last cell.
    columns, lines = (math.floor(side / size) + 1 for side in (width, height))
    reach = 0.5 * spread * size / ROUNDING
    return np.array([low[0], low[1], size, columns, lines, reach])


def _places(
    segments: NDArray[np.float64], frame: NDArray[np.float64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of segment and cell indices where a segment passes through a cell, or nearly so."""
    x_low, y_low, size = frame[:3]
    columns, lines = int(frame[3]), int(frame[4])
    spread = 2.0 * frame[5] * ROUNDING / size
    ends = (segments.reshape(-1, 2, 2) - np.array([x_low, y_low])) / size
    left, right = ends[:, 0], ends[:, 1]
    swap = left[:, 0] > right[:, 0]
    left[swap], right[swap] = right[swap], left[swap].copy()
    first = _clipped(left[:, 0] - spread, columns)
    number = _clipped(right[:, 0] + spread, columns) - first + 1
    owner, step = _expanded(number)
    column = first[owner] + step
    # Heights of the segment at both sides of its column, a little outside.
    run = right[owner, 0] - left[owner, 0]
    rise = right[owner, 1] - left[owner, 1]
    slope = np.divide(rise, run, out=np.zeros_like(run), where=run > 0.0)
    part = np.stack([column - spread, column + 1.0 + spread]) - left[owner, 0]
    heights = left[owner, 1] + np.clip(part, 0.0, run) * slope
    steep = run <= 0.0
    heights[:, steep] = np.stack([left[owner[steep], 1], right[owner[steep], 1]])
    low = np.minimum(heights[0], heights[1]) - spread
    high = np.maximum(heights[0], heights[1]) + spread
    bottom = _clipped(low, lines)
    which, up = _expanded(_clipped(high, lines) - bottom + 1)
    return owner[which], (bottom[which] + up) * columns + column[which]


def _clipped(value: NDArray[np.float64], count: int) -> NDArray[np.int64]:
    return np.clip(np.floor(value), 0, count - 1).astype(np.int64)


def _expanded(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Index of each row repeated `counts` times, and the index within its repeats."""
    owner = np.repeat(np.arange(len(counts)), counts)
    ends = np.cumsum(counts)
    return owner, np.arange(len(owner)) - np.repeat(ends - counts, counts)


FINEST = 16
"""Bits per coordinate of the space-filling curve."""
CHAINED = 0.9
"""Share of segments that continue others, above which their order is kept."""
LEVELS = 16
"""Most levels of a tree, as node numbers carry their level in the last four bits."""


class Tree(NamedTuple):
    """Tree of discs: blocks of segments and, above them, blocks of eight discs."""

    table: Array
    """Blocks of eight segments; see `FIELDS`."""
    discs: Array
    """Blocks of eight discs: x, y and radius, which is negative for an empty slot."""
    levels: NDArray[np.int64]
    """Index of the top level, then the first block of discs of each level from 1 on. If the top
    level is 0 there is no tree, and the number of blocks of segments follows.

    Block k of level l has the discs of nodes 8 k to 8 k + 7 of the level below; those of
    level 0 are the blocks of segments.
    """

    @property
    def nodes(self) -> int:
        """Number of nodes, including leaves."""
        return len(self.discs) // 3 + 1


def tree_of(rows: Array, *, flat: bool = False) -> Tree:
    """Tree of segments, given as rows of `FIELDS`; with `flat`, only their blocks."""
    # If nearly every segment follows the previous one, neighbours are already adjacent in memory.
    follows = np.all(rows[:-1, 2:4] == rows[1:, :2], axis=1).sum()
    in_chains = follows > CHAINED * len(rows)
    table = in_blocks(rows if in_chains else rows[np.lexsort(_neighbourhood(rows))])
    levels = np.zeros(LEVELS + 1, np.int64)
    if flat or len(rows) == 0:
        levels[1] = len(table) // BLOCK
        return Tree(table, np.zeros(0), levels)
    x, y = (table.reshape(-1, 8, 8)[:, n : n + 3 : 2].reshape(-1, 16) for n in (0, 1))
    boxes = np.stack([x.min(axis=1), y.min(axis=1), x.max(axis=1), y.max(axis=1)], axis=1)
    middle = _middle(boxes)
    radius = np.hypot(x - middle[:, :1], y - middle[:, 1:]).max(axis=1, initial=0.0)
    blocks: list[Array] = []
    starts = [0]
    while len(boxes) > 1 or not blocks:
        spare = np.tile([0.0, 0.0, -1.0], (-len(middle) % 8, 1))
        discs = np.concatenate([np.column_stack([middle, radius]), spare])
        blocks.append(np.ascontiguousarray(discs.reshape(-1, 8, 3).transpose(0, 2, 1)))
        starts.append(starts[-1] + len(blocks[-1]))
        boxes, middle, radius = _above(boxes, middle, radius)
    levels[0] = len(blocks)
    levels[1 : len(starts)] = starts[:-1]
    return Tree(table, np.concatenate(blocks).reshape(-1), levels)


def _neighbourhood(rows: Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sort keys, the last one first: classes of length, positions along a Z-order curve.

    A long segment among short ones would make large discs, so segments of similar length are
    grouped.
    """
    middle = 0.5 * (rows[:, :2] + rows[:, 2:4])
    if len(middle) == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    low = middle.min(axis=0)
    size = max(float((middle.max(axis=0) - low).max()), 1e-9)
    place = ((middle - low) * ((2**FINEST - 1) / size)).astype(np.int64)
    curve = np.zeros(len(middle), np.int64)
    for bit in range(FINEST):
        for axis in range(2):
            curve |= ((place[:, axis] >> bit) & 1) << (2 * bit + axis)
    # Up to the extent of a leaf, lengths make no difference.
    leaf = size * np.sqrt(8.0 / len(middle))
    return curve, -np.ceil(np.log2(np.maximum(rows[:, 4] / leaf, 1.0)) / 2.0).astype(np.int64)


def _middle(boxes: Array) -> Array:
    return 0.5 * (boxes[:, :2] + boxes[:, 2:])


def _above(boxes: Array, middle: Array, radius: Array) -> tuple[Array, Array, Array]:
    """Bounding boxes and discs of each group of eight."""
    starts = np.arange(0, len(boxes), 8)
    if len(starts) == 0:
        return boxes, middle, radius
    low = np.minimum.reduceat(boxes[:, :2], starts)
    high = np.maximum.reduceat(boxes[:, 2:], starts)
    around = np.concatenate([low, high], axis=1)
    centre = _middle(around)
    away = np.hypot(*(middle - np.repeat(centre, 8, axis=0)[: len(middle)]).T) + radius
    corner = 0.5 * np.hypot(*(high - low).T)
    # Rounding must not leave an end outside.
    reach = np.minimum(np.maximum.reduceat(away, starts), corner) * (1.0 + 1e-12)
    return around, centre, reach


FARTHEST = 1e9
"""Largest magnitude of coordinates of walls and sensors, in m."""
_FARTHEST_POSE = np.array([FARTHEST, FARTHEST, LARGEST_ANGLE])
_NO_MOVERS = np.empty((1, 0, BLOCK))


def plain(array: Array) -> Array:
    """Return the array, or a copy of it, as a contiguous and writable one.

    Kernels are compiled for such arrays only.
    """
    return array if array.flags.c_contiguous and array.flags.writeable else array.copy(order="C")


def segments_of(values: Any) -> Array:
    """Check segments (n, 4) for finite coordinates within the limit."""
    array = np.array(values, dtype=np.float64)
    if array.size == 0:
        return np.empty((0, 4))
    if array.ndim != 2 or array.shape[1] != 4:
        raise InvalidValue(f"segments has shape {array.shape}: it must be (n, 4): x0, y0, x1, y1")
    check_size("segments", array, FARTHEST, "m")
    return array


def movers_of(values: Any, poses: int) -> Array:
    """Blocks of moving segments, common to all poses or for each; see `moving_blocks`."""
    if values is None:
        return _NO_MOVERS
    array = movers_per_pose(np.asarray(values, dtype=np.float64), poses)
    check_size("movers", array, FARTHEST, "m")
    return moving_blocks(array)


def movers_per_pose(movers: Any, poses: int) -> Any:
    """Segments (1, m, 4) or (poses, m, 4), from an array that may be common to all poses."""
    array = movers[None] if movers.ndim == 2 else movers
    if array.ndim != 3 or array.shape[2] != 4 or array.shape[0] not in (1, poses):
        raise InvalidValue(
            f"movers has shape {movers.shape}: it must be (m, 4), or ({poses}, m, 4) with the "
            "segments for each pose"
        )
    return array


def poses_of(values: Any) -> Array:
    """Check the poses (B, 3) of sensors: x, y, yaw."""
    array = plain(np.asarray(values, dtype=np.float64))
    if array.ndim != 2 or array.shape[1] != 3:
        raise InvalidValue(f"poses has shape {array.shape}: it must be (B, 3) with x, y, yaw")
    # Test all poses at once, and search for the wrong one only if there is any.
    if not (np.abs(array) <= _FARTHEST_POSE).all():
        check_rays(*array.T)
    return array


def rays_of(x: Any, y: Any, angle: Any) -> list[Array]:
    """Check origins and angles of rays, each (N,)."""
    values = [np.atleast_1d(np.asarray(v, dtype=np.float64)) for v in (x, y, angle)]
    try:
        shape = np.broadcast_shapes(*(v.shape for v in values))
    except ValueError:
        shapes = ", ".join(str(v.shape) for v in values)
        raise InvalidValue(f"x, y, angle have shapes {shapes}: they must be (N,) each") from None
    if len(shape) != 1:
        raise InvalidValue(f"x, y, angle have shape {shape}: they must be (N,) each")
    rays = [plain(np.broadcast_to(v, shape) if v.shape != shape else v) for v in values]
    check_rays(*rays)
    return rays


def check_rays(x: Array, y: Array, angle: Array) -> None:
    """Raise unless coordinates and angles are finite and not too large."""
    check_size("x", x, FARTHEST, "m")
    check_size("y", y, FARTHEST, "m")
    check_size("yaw", angle, LARGEST_ANGLE, "rad")


def limit_of(max_range: Any) -> float:
    """Largest range in m, which must be above 0 and may be infinite."""
    limit = number("max_range", max_range, "m")
    if not limit > 0.0:
        raise InvalidValue(f"max_range = {limit} m must be greater than 0")
    return limit


def result_of(out: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """Array for the result: `out` if it fits, or a new one if it is None."""
    if out is None:
        return np.empty(shape)
    if not isinstance(out, np.ndarray) or out.shape != shape:
        raise InvalidValue(f"out has shape {np.shape(out)}: it must be an array of shape {shape}")
    if out.dtype not in (np.float64, np.float32):
        raise InvalidValue(f"out has type {out.dtype}: it must be float64 or float32")
    if not out.flags.writeable:
        raise InvalidValue("out is read-only: it must be an array that can be written to")
    return out


ALL_AT_ONCE = 1200
"""Number of segments up to which each scan tests all: a tree would cost more than it saves."""
_NO_ROWS = np.empty((0, 0)), np.empty((0, 0), np.float32)

_WORTH_A_THREAD = 50_000
"""Rays per thread below which a further thread costs more than it saves."""


class _Scans(NamedTuple):
    """Checked arguments of scans, ready for the kernels."""

    poses: Array
    rays: Fan
    beams: Array
    """Blocks of directions: common to all poses, or for each."""
    margin: float
    """Addition to the margin of the rays' view."""
    movers: Array
    """Blocks of moving segments: common to all poses, or for each."""
    limit: float
    missed: float

    def part(self, begin: int, end: int) -> _Scans:
        beams, movers = (
            them if len(them) == 1 else them[begin:end] for them in (self.beams, self.movers)
        )
        return self._replace(poses=self.poses[begin:end], beams=beams, movers=movers)


class Scene:
    """Walls for ray casting, exact, for any number of rays at a time.

    A ray hits a segment where it crosses it, ends included; segments that share an end leave no
    gap. A ray along a segment hits its nearer end. A sensor on a segment, or within an occupied
    cell of a grid, has range 0 along every ray. Segments without length are invisible.

    The search method of scans follows from the number of walls; `engine` = "tree" is faster for
    few that hide each other, as along a track, "sweep" for those that do not.
    """

    __repr__ = brief_repr

    def __init__(
        self, segments: Any = (), grid: Grid | None = None, *, engine: str | None = None
    ) -> None:
        one_of("engine", engine, (None, "sweep", "tree"))
        rows = hide_backs(rows_of(segments_of(segments)))
        self.grid = grid
        """Occupancy grid, or None."""
        self.engine = engine or ("sweep" if len(rows) <= ALL_AT_ONCE else "tree")
        """Search method of scans: "sweep", "tree" or, with a grid, "raster"."""
        if grid is not None:
            # Reversed, as segments of a scene have the closed side on their right.
            borders = border_segments(grid)[:, [2, 3, 0, 1]]
            rows = np.concatenate([rows, rows_of(borders, ALWAYS)])
            self.engine = "raster"
        self.rows: Array = rows
        """Walls as rows of `scene.FIELDS`."""
        self.tree: Tree = tree_of(rows, flat=self.engine == "sweep")
        """Walls as sorted for whole scans."""
        self._scratch = local()

    @cached_property
    def cells(self) -> Cells:
        """Walls sorted into cells for single rays, built on first use."""
        return cells_of(self.rows)

    @classmethod
    def of(cls, map: Map, *, engine: str | None = None) -> Scene:
        """Scene of a map: its segments and the occupied cells of its grid."""
        return cls(map.segments, map.grid, engine=engine)

    def on_cuda(self) -> Any:
        """Copy the walls to a CUDA device, as a `cuda.CudaScene` for many sensors."""
        from .cuda import CudaScene

        return CudaScene(self)

    def cast(
        self,
        x: Any,
        y: Any,
        angle: Any,
        out: Any = None,
        *,
        max_range: float = math.inf,
        movers: Any = None,
    ) -> NDArray[Any]:
        """Ranges of single rays in m, each from its own origin; inf where nothing is hit.

        `x`, `y` in m and `angle` in rad in the world, of one shape (N,) or scalars; `movers` (m, 4)
        are additional segments for this call only. `out` may be float64 or float32.
        """
        x, y, angle = rays_of(x, y, angle)
        out = result_of(out, x.shape)
        limit, moving = limit_of(max_range), movers_of(movers, 1)[0]
        direct = out.dtype == np.float64 and out.flags.c_contiguous
        ranges = out if direct else np.empty(x.shape)
        dx, dy = units(angle)

        def part(begin: int, end: int) -> None:
            rays = slice(begin, end)
            along = x[rays], y[rays], dx[rays], dy[rays]
            self._cast_along(*along, limit, moving, ranges[rays])

        spread(part, len(x), worth=len(x) // _WORTH_A_THREAD, threads=None)
        ranges[self._within_solid(np.stack([x, y], axis=1))] = 0.0
        if not direct:
            out[...] = ranges
        return out

    def scan(
        self,
        poses: Any,
        angles: Any,
        out: Any = None,
        *,
        max_range: float = math.inf,
        movers: Any = None,
        jitter: Any = None,
        threads: int | None = None,
        missed: float = math.inf,
    ) -> NDArray[Any]:
        """Ranges in m of whole scans, shape (B, N); `missed` where nothing is hit.

        `poses` (B, 3): x and y in m, yaw in rad, in the world. `angles` (N,) or a `Fan`: of the
        rays relative to the sensor. `out` may be float64 or float32. `movers` (m, 4) or (B, m,
        4) are additional segments for this call only, for all poses or for each. `jitter` (B, N)
        in rad is added to the angles of each pose; small values cost little. The poses are
        distributed over `threads` (by default a suitable number), which does not affect the
        result.
        """
        where, rays = poses_of(poses), fan(angles)
        out = result_of(out, (len(where), len(rays)))
        limit, moving = limit_of(max_range), movers_of(movers, len(where))
        beams, margin = rays.beams[None], 0.0
        if jitter is not None:
            by = np.asarray(jitter, dtype=np.float64)
            if by.shape != out.shape:
                raise InvalidValue(
                    f"jitter has shape {by.shape}: it must be {out.shape}, as the ranges"
                )
            check_size("jitter", by, LARGEST_ANGLE, "rad")
            beams, margin = rays.shaken(by)
        direct = out.flags.c_contiguous and not rays.backwards
        ranges = out if direct else np.empty(out.shape, out.dtype)
        scans = _Scans(where, rays, beams, margin, moving, limit, missed)
        write = self._scan_uneven if rays.view is None else self._scan_even

        def part(begin: int, end: int) -> None:
            write(scans.part(begin, end), ranges[begin:end])

        spread(part, len(where), worth=out.size // _WORTH_A_THREAD, threads=threads)
        ranges[self._within_solid(where[:, :2])] = 0.0
        if not direct:
            out[...] = ranges[:, ::-1] if rays.backwards else ranges
        return out

    def _cast_along(
        self, x: Array, y: Array, dx: Array, dy: Array, limit: float, moving: Array, out: Array
    ) -> None:
        from .drawing import cast_rays

        cast_rays(x, y, dx, dy, limit, *self.cells, moving.reshape(-1), len(moving), out)

    def _scan_even(self, scans: _Scans, out: NDArray[Any]) -> None:
        from .drawing import scan_rows

        poses, rays, beams, margin, movers, limit, missed = scans
        assert rays.view is not None
        view = rays.view.copy()
        view[MAX_RANGE], view[MISSED] = limit, missed
        view[MARGIN] += margin
        apart = beams.shape[1] // 16 if len(beams) > 1 else 0
        count = movers.shape[1]
        moving = movers.reshape(-1), count, count if len(movers) > 1 else 0
        turned = units(poses[:, 2])
        results = (out, _NO_ROWS[1]) if out.dtype == np.float64 else (_NO_ROWS[0], out)
        scratch = self._scratch_of(len(rays))
        along = beams.reshape(-1), apart
        scan_rows(poses, *turned, *along, view, *self.tree, *moving, *scratch, *results)

    def _scratch_of(self, count: int) -> tuple[NDArray[Any], ...]:
        """Work arrays of the kernel: one set for each thread."""
        kept: Any = getattr(self._scratch, "arrays", None)
        blocks = -(-count // 8)
        if kept is None or kept[0] != blocks:
            arrays = (
                np.empty(256, np.int64),
                np.empty((self.tree.nodes + 2, 4), np.int64),
                np.empty(self.tree.nodes + 2),
                # Segments are drawn over two blocks of rays at a time.
                np.zeros(24 * (blocks + 1)),
                np.empty(48),
                np.empty(24, np.int64),
            )
            kept = self._scratch.arrays = (blocks, arrays)
        return kept[1]

    def _scan_uneven(self, scans: _Scans, out: NDArray[Any]) -> None:
        poses, rays, beams, _, movers, limit, missed = scans
        count = len(rays)
        cos, sin = units(poses[:, 2])
        ranges = np.empty(count)
        for b, (x, y) in enumerate(poses[:, :2].tolist()):
            ahead, left = rising_units(beams[min(b, len(beams) - 1)], count)
            dx, dy = turned(cos[b], sin[b], ahead, left)
            moving = movers[min(b, len(movers) - 1)]
            origin = np.full(count, x), np.full(count, y)
            self._cast_along(*origin, dx, dy, limit, moving, ranges)
            out[b] = np.where(ranges < math.inf, ranges, missed)

    def _within_solid(self, points: Array) -> Any:
        return slice(0, 0) if self.grid is None else self.grid.at(points)
