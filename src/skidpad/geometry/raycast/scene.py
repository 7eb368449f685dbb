"""What rays can meet: the walls of a map, sorted so that few of them are looked at.

The functions before `Scene` check what is handed to it; errors name the place, the value and what
is allowed.
"""

from __future__ import annotations

import math
from functools import cached_property
from threading import local
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.checks import number, one_of
from ...core.files import brief_repr
from ...core.threads import spread
from ...errors import InvalidValue
from ..maps.map import border_segments
from ..pose import turned
from .fan import (
    LARGEST_ANGLE,
    MARGIN,
    MAX_RANGE,
    MISSED,
    Fan,
    check_size,
    fan,
    rising_units,
    units,
)
from .segments import (
    ALWAYS,
    BLOCK,
    Cells,
    Tree,
    cells_of,
    hide_backs,
    moving_blocks,
    rows_of,
    tree_of,
)

if TYPE_CHECKING:
    from ..maps.grid import Grid
    from ..maps.map import Map

FARTHEST = 1e9
"""Largest coordinate in m, either sign, of walls and sensors."""
_FARTHEST_POSE = np.array([FARTHEST, FARTHEST, LARGEST_ANGLE])
_NO_MOVERS = np.empty((1, 0, BLOCK))


def plain(array: Array) -> Array:
    """The array, or a copy, so that its rows lie one after the other and nothing is read-only.

    Kernels are compiled for such arrays only.
    """
    return array if array.flags.c_contiguous and array.flags.writeable else array.copy(order="C")


def segments_of(values: Any) -> Array:
    """Segments (n, 4)."""
    array = np.array(values, dtype=np.float64)
    if array.size == 0:
        return np.empty((0, 4))
    if array.ndim != 2 or array.shape[1] != 4:
        raise InvalidValue(f"segments has shape {array.shape}: it must be (n, 4): x0, y0, x1, y1")
    check_size("segments", array, FARTHEST, "m")
    return array


def movers_of(values: Any, poses: int) -> Array:
    """Blocks of segments that are there for all poses, or for each; see `moving_blocks`."""
    if values is None:
        return _NO_MOVERS
    array = movers_per_pose(np.asarray(values, dtype=np.float64), poses)
    check_size("movers", array, FARTHEST, "m")
    return moving_blocks(array)


def movers_per_pose(movers: Any, poses: int) -> Any:
    """Segments (1, m, 4) or (poses, m, 4), from an array that may be one for all poses."""
    array = movers[None] if movers.ndim == 2 else movers
    if array.ndim != 3 or array.shape[2] != 4 or array.shape[0] not in (1, poses):
        raise InvalidValue(
            f"movers has shape {movers.shape}: it must be (m, 4), or ({poses}, m, 4) with the "
            "segments for each pose"
        )
    return array


def poses_of(values: Any) -> Array:
    """Poses (B, 3) of sensors: x, y, yaw."""
    array = plain(np.asarray(values, dtype=np.float64))
    if array.ndim != 2 or array.shape[1] != 3:
        raise InvalidValue(f"poses has shape {array.shape}: it must be (B, 3) with x, y, yaw")
    # One look at all of them is enough where none is wrong.
    if not (np.abs(array) <= _FARTHEST_POSE).all():
        check_rays(*array.T)
    return array


def rays_of(x: Any, y: Any, angle: Any) -> list[Array]:
    """Origins and angles of rays, each (N,)."""
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
    """The largest range in m: above 0, may be infinite."""
    limit = number("max_range", max_range, "m")
    if not limit > 0.0:
        raise InvalidValue(f"max_range = {limit} m must be greater than 0")
    return limit


def result_of(out: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """The array to write to: `out` if it fits, a new one without."""
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
"""Number of segments up to which each scan looks at all: a tree would cost more than it saves."""
_NO_ROWS = np.empty((0, 0)), np.empty((0, 0), np.float32)

_WORTH_A_THREAD = 50_000
"""Rays below which another thread costs more than it saves."""


class Scene:
    """Walls that rays meet: exact, and any number of rays at a time.

    A ray meets a segment where it crosses it, ends included; segments that share an end leave no
    gap. A ray along a segment meets its nearer end. A sensor on a segment, or within an occupied
    cell of a grid, has range 0 along every ray. Segments without length are not seen.

    How scans find what they see follows from the number of walls; `engine` = "tree" is faster for
    few that hide each other, as along a track, "sweep" for those that do not.
    """

    __repr__ = brief_repr

    def __init__(
        self, segments: Any = (), grid: Grid | None = None, *, engine: str | None = None
    ) -> None:
        one_of("engine", engine, (None, "sweep", "tree"))
        rows = hide_backs(rows_of(segments_of(segments)))
        self.grid = grid
        """The occupancy grid, if there is one."""
        self.engine = engine or ("sweep" if len(rows) <= ALL_AT_ONCE else "tree")
        """How scans find what they see: "sweep", "tree" or, with a grid, "raster"."""
        if grid is not None:
            # What is closed lies on their right here.
            borders = border_segments(grid)[:, [2, 3, 0, 1]]
            rows = np.concatenate([rows, rows_of(borders, ALWAYS)])
            self.engine = "raster"
        self.rows: Array = rows
        """The walls, as rows of `segments.FIELDS`."""
        self.tree: Tree = tree_of(rows, flat=self.engine == "sweep")
        """The walls as whole scans read them."""
        self._scratch = local()

    @cached_property
    def cells(self) -> Cells:
        """The walls as single rays read them, sorted when first needed."""
        return cells_of(self.rows)

    @classmethod
    def of(cls, map: Map, *, engine: str | None = None) -> Scene:
        """The walls of a map: its segments and the occupied cells of its grid."""
        return cls(map.segments, map.grid, engine=engine)

    def on_cuda(self) -> Any:
        """The same walls on a CUDA device, a `cuda.CudaScene`, for fleets of sensors."""
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
        """Ranges of single rays in m, each from its own origin; inf where nothing is met.

        `x`, `y` in m and `angle` in rad in the world, of one shape (N,) or scalars; `movers` (m, 4)
        are segments that are there in this call only. `out` may be float64 or float32.
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
        """Ranges in m of whole scans, shape (B, N); `missed` where nothing is met.

        `poses` (B, 3): x and y in m, yaw in rad, in the world. `angles` (N,) or a `Fan`: of the
        rays against the sensor. `out` may be float64 or float32. `movers` (m, 4) or (B, m, 4) are
        segments that are there in this call only, for all poses or for each. `jitter` (B, N) in rad
        is added to the angles, for each pose its own; small ones cost little. The poses are shared
        out over `threads` (default: as many as pay); the bits do not depend on that.
        """
        where, rays = poses_of(poses), fan(angles)
        out = result_of(out, (len(where), len(rays)))
        limit, moving = limit_of(max_range), movers_of(movers, len(where))
        rows = self._scan_uneven if rays.view is None else self._scan_even
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

        def part(begin: int, end: int) -> None:
            moved = moving if len(moving) == 1 else moving[begin:end]
            along = beams if jitter is None else beams[begin:end]
            rows(where[begin:end], rays, along, margin, moved, limit, missed, ranges[begin:end])

        spread(part, len(where), worth=out.size // _WORTH_A_THREAD, threads=threads)
        ranges[self._within_solid(where[:, :2])] = 0.0
        if not direct:
            out[...] = ranges[:, ::-1] if rays.backwards else ranges
        return out

    def _cast_along(
        self, x: Array, y: Array, dx: Array, dy: Array, limit: float, moving: Array, out: Array
    ) -> None:
        from .walking import cast_rays

        cast_rays(x, y, dx, dy, limit, *self.cells, moving.reshape(-1), len(moving), out)

    def _scan_even(
        self,
        poses: Array,
        rays: Fan,
        beams: Array,
        margin: float,
        movers: Array,
        limit: float,
        missed: float,
        out: NDArray[Any],
    ) -> None:
        from .drawing import scan_rows

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
        """Arrays that the kernel works in: one set for each thread."""
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

    def _scan_uneven(
        self,
        poses: Array,
        rays: Fan,
        beams: Array,
        margin: float,
        movers: Array,
        limit: float,
        missed: float,
        out: NDArray[Any],
    ) -> None:
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
