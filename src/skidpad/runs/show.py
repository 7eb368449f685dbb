"""What can be performed: the contract between what moves and who counts, records and draws it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import record
from ..arrays import Array
from ..brief import brief_repr
from ..errors import SkidpadError
from ..model import Vehicle
from ..recording.recording import Recording
from ..stage import Stage
from ..stage.film import ScanAt
from ..units import per_s, s
from .laps import StartLine

Picture = Callable[[Recording, Path], Any]
"""Draws the recording of a show into a PNG, SVG or PDF file."""


class InputColumn(NamedTuple):
    """An input of a vehicle: a column of `Segment.inputs`."""

    vehicle: int
    """Whose it is: place in `Show.vehicles`."""
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
    """What happened during T steps of B vehicles, and S samples of it for the eye."""

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
    """What lidars saw."""

    __repr__ = brief_repr


class Show(Protocol):
    """Something that moves step by step.

    1. `begin` is called once, before any step; it gives the first moment (one T, one S).
    2. `advance` makes some steps and tells what happened. A show that cannot go on tells what
       happened until then and keeps the reason in `error`; it is not called again.
    3. Samples are taken every so many steps from the beginning, as `begin` was told.
    4. The same seed gives the same numbers, however the steps are divided into calls.
    """

    stage: Stage
    dt: s
    """Length of a step."""
    duration: s
    """How long it is worth watching, unless somebody wants it otherwise."""
    rate: per_s
    """Samples per second of simulated time, likewise."""
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
    """What draws a picture of it for paper."""
    error: SkidpadError | None

    def record(
        self, path: Path, rate: per_s, meta: Mapping[str, Any]
    ) -> AbstractContextManager[Any]:
        """Record what happens from now on; called before `begin`, closed after the last step."""
        ...

    def begin(self, every: int) -> Segment:
        """The first moment; from now on every so many steps is a sample."""
        ...

    def advance(self, steps: int) -> Segment:
        """Make so many steps."""
        ...
