"""Film: the data that the replay page shows of a run, as one block of bytes.

Layout, little endian. A browser reads the numbers with typed arrays; integers are stored as planes
of single bytes (first all lowest bytes, then all second bytes, ...), which deflate packs well:

    char    magic[8]            "skidfilm"
    uint32  version             1
    uint32  size                of the header in bytes, a multiple of 8
    header                      JSON: samples T, the stage with C channels, and for each lidar
                                the number of scans and its range in m
    float64 times[T]            in s
    float64 low[C], step[C]     value = low + step * number; a step of 0: the bits are a float32
    float64 scan times          of the first lidar, then of the next, in s
    uint8   numbers[C][4][T]    per channel: planes of the zigzag differences from number to number
    uint8   ranges[2][n * rays] per lidar: planes of the zigzag differences from ray to ray;
                                65535 is no echo, else range = number * reach / 65534

The fixed-point error is invisible: positions and headings have a resolution of 2^-22 of the span of
their channel, all others 2^-17. A channel whose span is set by a few outliers, next to which all
other values would be coarse, is stored as float32. Floats in the stage's JSON have seven digits.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core.checks import floats, positive
from ..core.files import brief_repr
from ..errors import InvalidValue
from .stage import Stage

MAGIC = b"skidfilm"
VERSION = 1
POSE_BITS = 22
OTHER_BITS = 17
COARSE = 1e-3
"""Largest rounding step that is invisible, relative to the usual size of a channel's values."""
USUAL = 0.9
"""Share of the values that do not count as outliers. With a smaller share, such as the median, a
swerve on a straight would be an outlier, and the noise on the straight would make the film larger.
"""
NO_ECHO = 65535


class ScanAt(NamedTuple):
    index: int  # pyright: ignore[reportIncompatibleMethodOverride]
    """Index of the lidar in the stage."""
    time: float
    """Time of the scan, in s."""
    ranges: NDArray[np.float32]
    """Ranges in m, from the first ray on; without an echo, not finite or the maximum range."""

    __repr__ = brief_repr


@dataclass(frozen=True, eq=False)
class Film:
    """Film of a stage: the motion of everything on it over time."""

    stage: Stage
    times: NDArray[np.float64]
    """Sample times (T,) in s, increasing."""
    rows: NDArray[np.float32]
    """Values of the channels, (T, channels)."""
    scans: tuple[ScanAt, ...] = ()
    """Lidar scans in order of their times."""
    note: str = ""
    """Note below the title, such as which data were left out or where a recording ends early."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        times = np.ascontiguousarray(floats("times", self.times))
        rows = floats("rows", self.rows, np.float32)
        expected = (times.size, len(self.stage.channels))
        if times.ndim != 1 or not times.size or rows.shape != expected:
            raise InvalidValue(
                f"a film of {times.size} times and {len(self.stage.channels)} channels needs rows "
                f"of shape {expected}, at least one; got {rows.shape}"
            )
        if not (np.isfinite(times).all() and (np.diff(times) > 0.0).all()):
            raise InvalidValue("the times of a film must be finite and increase from row to row")
        for scan in self.scans:
            lidars = self.stage.scans
            if not 0 <= scan.index < len(lidars):
                raise InvalidValue(f"a scan of lidar {scan.index}; the stage has {len(lidars)}")
            if len(scan.ranges) != lidars[scan.index].count:
                raise InvalidValue(
                    f"a scan of {lidars[scan.index].name!r} has {len(scan.ranges)} ranges; "
                    f"its lidar has {lidars[scan.index].count} rays"
                )
        object.__setattr__(self, "times", times)
        object.__setattr__(self, "rows", rows)

    @classmethod
    def of(cls, stage: Stage, times: NDArray[np.float64], rows: NDArray[np.float64]) -> Film:
        """Film from the result of `trajectory_stage`: times (T,) in s and rows (T, channels)."""
        return cls(stage, times, rows.astype(np.float32))

    @property
    def duration(self) -> float:
        """Length of the film, in s."""
        return float(self.times[-1] - self.times[0])

    def thinned(self, fps: float = 60.0) -> Film:
        """A copy with at most `fps` pictures per second of film time; the first and the last are
        kept."""
        fps = positive("fps", fps, "1/s")
        # The first sample of each slot, so that integer fractions of the recorded rate stay evenly
        # spaced. The small number absorbs rounding at the edges of slots.
        slots = np.floor((self.times - self.times[0]) * fps + 1e-6)
        keep = np.append(True, np.diff(slots) > 0.0)
        keep[-1] = True
        if keep.all():
            return self
        return replace(self, times=self.times[keep], rows=self.rows[keep])

    def to_html(self, path: str | os.PathLike[str], *, limit_mb: float = 15.0) -> None:
        """Write one self-contained page, which opens from disk and without a network.

        If it would be larger than `limit_mb` (10^6 bytes), pictures are dropped first, then
        channels that are not drawn; the page says so.
        """
        from .pages.page import write_html

        write_html(self, path, limit_mb=limit_mb)

    def show(self, *, height: int = 560, limit_mb: float = 5.0) -> Any:
        """Page for a notebook, as the last value of a cell, in a frame `height` pixels high.

        It is stored in the notebook's file, so it is thinned to `limit_mb` as in `to_html`.
        """
        from .pages.page import show_film

        return show_film(self, height=height, limit_mb=limit_mb)

    def _repr_html_(self) -> str:
        return self.show()._repr_html_()

    def to_bytes(self) -> bytes:
        """Film in the binary layout of the module docstring."""
        pairs = zip(self.rows.T, self._bits, strict=True)
        coded = [_Coded.of(column, bits) for column, bits in pairs]
        by_lidar = self._by_lidar
        numbers = [
            self.times,
            np.array([c.low for c in coded]),
            np.array([c.step for c in coded]),
            *(np.array([s.time for s in scans]) for scans in by_lidar),
        ]
        planes = [c.planes for c in coded]
        planes += map(_code_ranges, by_lidar, self._reaches)
        head = json.dumps(self.header(), separators=(",", ":")).encode()
        head += b" " * (-len(head) % 8)
        sizes = np.array([VERSION, len(head)], "<u4").tobytes()
        return b"".join(
            [MAGIC, sizes, head, *(n.astype("<f8").tobytes() for n in numbers), *planes]
        )

    def header(self) -> dict[str, Any]:
        """Header of the block as JSON values, which the page needs before it reads the numbers."""
        return {
            "samples": int(self.times.size),
            "scans": [
                {"count": len(scans), "reach": reach}
                for scans, reach in zip(self._by_lidar, self._reaches, strict=True)
            ],
            "note": self.note,
            "stage": _round_floats(self.stage.to_json()),
        }

    @cached_property
    def _by_lidar(self) -> list[list[ScanAt]]:
        by_lidar: list[list[ScanAt]] = [[] for _ in self.stage.scans]
        for scan in self.scans:
            by_lidar[scan.index].append(scan)
        return by_lidar

    @cached_property
    def _reaches(self) -> list[float]:
        """Maximum range of each lidar in m; if none is known, slightly more than the farthest
        echo."""
        reaches: list[float] = []
        for lidar, scans in zip(self.stage.scans, self._by_lidar, strict=True):
            echoes = [float(s.ranges[np.isfinite(s.ranges)].max(initial=1.0)) for s in scans]
            farthest = 1.001 * max(echoes, default=1.0)
            reaches.append(lidar.max_range if np.isfinite(lidar.max_range) else farthest)
        return reaches

    @property
    def _bits(self) -> list[int]:
        """Resolution of each channel, in bits of its span."""
        poses = {place for body in self.stage.bodies for place in (body.x, body.y, body.yaw)}
        return [POSE_BITS if c in poses else OTHER_BITS for c in range(len(self.stage.channels))]


class _Coded(NamedTuple):
    low: float
    step: float
    planes: bytes

    @classmethod
    def of(cls, column: NDArray[np.float32], bits: int) -> _Coded:
        """Fixed-point code of a channel; its float32 bits if that is too coarse or some values are
        not finite."""
        low, high = float(column.min()), float(column.max())
        step = (high - low) / (1 << bits) or 1.0
        place = int(USUAL * (column.size - 1))
        usual = float(np.partition(np.abs(column), place)[place])
        if not np.isfinite(step) or (high > low and step > COARSE * usual):
            return cls(0.0, 0.0, _planes(column.view(np.int32), 4))
        numbers = np.rint((column.astype(np.float64) - low) / step).astype(np.int32)
        return cls(low, step, _planes(numbers, 4))


def _code_ranges(scans: list[ScanAt], reach: float) -> bytes:
    if not scans:
        return b""
    ranges = np.stack([scan.ranges for scan in scans]).astype(np.float64)
    seen = np.isfinite(ranges) & (ranges >= 0.0) & (ranges < reach * (1.0 - 1e-6))
    share = np.where(seen, ranges, 0.0) / reach * (NO_ECHO - 1)
    numbers = np.where(seen, np.rint(share), NO_ECHO).astype(np.int32)
    return _planes(numbers.ravel(), 2)


def _planes(numbers: NDArray[np.int32], count: int) -> bytes:
    """Planes of the lowest `count` bytes of the zigzag differences.

    Zigzag (0, -1, 1, -2 as 0, 1, 2, 3) leaves the high bytes of small negative steps at 0.
    Arithmetic is modulo 2^(8 count), so that no difference overflows.
    """
    kind = np.dtype("<i4") if count == 4 else np.dtype("<i2")
    whole = numbers.astype(kind)
    steps = np.diff(whole, prepend=kind.type(0))
    zigzag = (steps << 1) ^ (steps >> (8 * count - 1))
    return np.ascontiguousarray(zigzag.view(np.uint8).reshape(-1, count).T).tobytes()


def _round_floats(value: Any) -> Any:
    """Round floats to seven digits, since outlines of many vehicles dominate the size of a header.

    JSON has no infinity; null stands for it.
    """
    if isinstance(value, float):
        return float(f"{value:.7g}") if np.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _round_floats(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_round_floats(item) for item in value]
    return value
