"""What rays can meet: the walls of a map, sorted so that few of them are looked at."""

from __future__ import annotations

import math
from functools import cached_property
from threading import local
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...arrays import Array
from ...brief import brief_repr
from ...checks import one_of
from ...workers import spread
from ..maps.contour import border_segments
from ..pose import turned
from .arguments import jitter_of, limit_of, movers_of, poses_of, rays_of, result_of, segments_of
from .blocks import ALWAYS, rows_of, with_hidden_backs
from .cells import Cells, sorted_into_cells
from .fan import MARGIN, MAX_RANGE, MISSED, Fan, fan, rising_units, units
from .tree import Tree, grown

if TYPE_CHECKING:
    from ..maps import Grid, Map

ALL_AT_ONCE = 1200
"""Up to so many segments each scan looks at all of them: a tree would cost more than it saves."""
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
        rows = with_hidden_backs(rows_of(segments_of(segments)))
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
        """The walls, as rows of `blocks.FIELDS`."""
        self.tree: Tree = grown(rows, flat=self.engine == "sweep")
        """The walls as whole scans read them."""
        self._scratch = local()

    @cached_property
    def cells(self) -> Cells:
        """The walls as single rays read them, sorted when first needed."""
        return sorted_into_cells(self.rows)

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
            beams, margin = rays.shaken(jitter_of(jitter, out.shape))
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
