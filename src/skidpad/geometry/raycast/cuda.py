"""Scenes on a CUDA device: scans of many lidars, bit-identical to those of the CPU."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...compile.cuda import EXACT_FLAGS, FAST_FLAGS
from ...compile.gpu import cupy, is_on_device
from ...errors import InvalidValue
from .cuda_text import source
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
    """Grid for the kernel: x, y, cos, sin, resolution, rows, columns; and its cells.

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
        """Cosines and sines of the angles on the device; those of the last call are cached."""
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
