"""What can be performed: the contract between what moves and who counts, records and draws it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..core import record
from ..core.arrays import Array
from ..core.files import brief_repr
from ..core.model import Vehicle
from ..errors import SkidpadError
from ..units import per_s, s
from ..view.film import Film, ScanAt
from ..view.recording.reading import Recording
from ..view.stage import Stage
from .laps import StartLine

Picture = Callable[[Recording, Path], Any]
"""Draws the recording of a show into a PNG, SVG or PDF file."""


class InputColumn(NamedTuple):
    """An input of a vehicle: a column of `Segment.inputs`."""

    vehicle: int
    """Place of its vehicle in `Show.vehicles`."""
    name: str
    model: str
    """Inputs of one name and model are compared with each other."""
    span: float | None
    """From its lowest to its highest value; None where the vehicle's limits do not say."""

    __repr__ = brief_repr


def input_columns(vehicle: Vehicle, owner: int) -> list[InputColumn]:
    """The inputs of a vehicle, in the order of its record, with the span that its limits allow."""
    ranges = vehicle.limits.inputs
    spans = {name: high - low for name, (low, high) in ranges.items()}
    return [
        InputColumn(owner, name, vehicle.name, spans.get(name))
        for name in record.names(vehicle.Input)
    ]


class Segment(NamedTuple):
    """Motion of B vehicles during T steps, and S samples of it to be shown."""

    t: Array
    """(T,): time at the end of each step, s."""
    motion: Array
    """(T, B, 6): poses x, y, yaw and velocities v_x, v_y, omega there, in world axes."""
    inputs: Array
    """(T, inputs): what was commanded in each step."""
    collisions: NDArray[np.int64]
    """(B,): how many contacts each vehicle began."""
    times: Array
    """(S,): times of the samples, s."""
    rows: Array
    """(S, channels of the stage); inputs are those that led to the sample."""
    scans: Sequence[ScanAt] = ()
    """Scans of lidars."""

    __repr__ = brief_repr


class Show(Protocol):
    """Something that moves step by step.

    1. `begin` is called once, before any step; it gives the first moment (one T, one S).
    2. `advance` makes some steps and returns what happened. A show that cannot continue returns
       what happened until then and keeps the reason in `error`; it is not called again.
    3. Samples are taken each `every` steps from the beginning, the argument of `begin`.
    4. The same seed gives the same numbers, however the steps are divided into calls.
    """

    stage: Stage
    dt: s
    """Length of a step."""
    duration: s
    """How long it is worth watching."""
    rate: per_s
    """Default samples per second of simulated time."""
    vehicles: tuple[str, ...]
    listed: tuple[str, ...]
    """Vehicles whose figures are worth printing."""
    inputs: tuple[InputColumn, ...]
    start_lines: Mapping[str, StartLine]
    """For the vehicles that drive laps."""
    meets: bool
    """Whether there is anything that vehicles could touch."""
    remarks: tuple[str, ...]
    """Lines worth printing with the figures."""
    picture: Picture | None
    """Function that draws a picture of it for paper."""
    error: SkidpadError | None

    def record(
        self, path: Path, rate: per_s, meta: Mapping[str, Any]
    ) -> AbstractContextManager[Any]:
        """Record what happens from now on; called before `begin`, closed after the last step."""
        ...

    def begin(self, every: int) -> Segment:
        """The first moment; from now on each `every` steps make a sample."""
        ...

    def advance(self, steps: int) -> Segment:
        """Make some steps."""
        ...


MOST = 40_000_000
"""Numbers that are kept: 160 MB. A page has room for a tenth of that."""
_LARGEST = float(np.finfo(np.float32).max)
"""A vehicle that diverges leaves numbers that no float32 holds."""


class FilmBuffer:
    """The samples of a replay, in memory.

    Of a run that gets too long for that, every second sample goes, and again when it is needed.
    """

    def __init__(self, stage: Stage, most: int = MOST) -> None:
        self._stage, self._most = stage, most
        self._times: list[NDArray[np.float64]] = []
        self._rows: list[NDArray[np.float32]] = []
        self._scans: list[ScanAt] = []
        self._taken, self._every = 0, 1

    def add(self, segment: Segment) -> None:
        """Keep the samples of a segment."""
        keep = np.arange(self._taken, self._taken + len(segment.times)) % self._every == 0
        self._taken += len(segment.times)
        self._times.append(segment.times[keep])
        self._rows.append(np.clip(segment.rows[keep], -_LARGEST, _LARGEST).astype(np.float32))
        self._scans += segment.scans
        if self._size() > self._most:
            # Drop every second sample, and every second scan of each lidar.
            self._times = [np.concatenate(self._times)[::2]]
            self._rows = [np.vstack(self._rows)[::2]]
            by_lidar = [
                [s for s in self._scans if s.index == k] for k in range(len(self._stage.scans))
            ]
            scans = [scan for one in by_lidar for scan in one[::2]]
            self._scans, self._every = sorted(scans, key=lambda scan: scan.time), 2 * self._every

    def _size(self) -> int:
        return sum(rows.size for rows in self._rows) + sum(s.ranges.size for s in self._scans)

    def film(self, note: str = "") -> Film:
        """All that was kept."""
        times, rows = np.concatenate(self._times), np.vstack(self._rows)
        return Film(self._stage, times, rows, tuple(self._scans), note)
