"""A recorded run driven again as the experiment of a campaign: its commands, its start, compared.

    drive = LogDrive(vehicle, "lap.csv", metrics={"off": highest("hypot(x - log.x, y - log.y)")})

The columns of the log are found as `skidpad.identify` finds them: commands are `u_` and the name of
the input, what was measured has plain names, others are said by `names`. The commands of the
longest dead time ahead of the first step are still to act when it begins.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from .. import record
from ..arrays import AnyArray, Array
from ..brief import brief_repr
from ..checks import positive, vehicle_of
from ..identify.log import Log, read_log
from ..identify.recording import recording
from ..identify.replay import Replay
from ..integrate.base import Integrator
from ..model import Vehicle
from ..random import UncertaintyModel
from ..signature import Constant
from ..trajectory.trajectory import Trajectory
from .drive import Drive
from .experiment import Column, Means, Rows
from .folds import Fold, Quantity
from .identities import only_adds


@dataclass(frozen=True, eq=False)
class LogDrive(Constant):
    """Runs of one vehicle with the commands of a log; metrics may use its columns as `log.NAME`.

    Factors may be parameters of the vehicle and fields of the start.
    """

    vehicle: Vehicle
    log: str | os.PathLike[str] | Trajectory | Log
    """A file (.csv, .parquet, .mcap), a bag of ROS 2, or a Trajectory."""
    _: KW_ONLY
    names: Mapping[str, str] | None = None
    """Columns of the log and what they are here: `{"steer_cmd": "u_steer"}`."""
    dt: float | None = None
    """Longest step in s; a whole part of the log's period is taken. The period itself if None."""
    integrator: str | Integrator = "auto"
    substeps: int | None = None
    precision: str = "float64"
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    disturbance: UncertaintyModel | None = None
    metrics: Mapping[str, Fold] = field(default_factory=dict[str, Fold])
    events: Mapping[str, Quantity] = field(default_factory=dict[str, Quantity])
    until: Quantity | None = None
    """As of a `Drive`."""
    drive: Drive = field(init=False, repr=False)
    """What is run."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        vehicle = vehicle_of(self.vehicle)
        log = read_log(self.log, self.names)
        recorded = recording(log, vehicle.model)
        for note in recorded.lost:
            warnings.warn(f"{recorded.name}: {note}", stacklevel=3)
        longest = recorded.dt if self.dt is None else positive("dt", self.dt, "s")
        again = Replay(vehicle, recorded, longest)
        lead = int(again.begins[0])
        before = again.begins[:, None] + np.arange(-lead, 0)[None]
        drive = Drive(
            vehicle,
            dt=again.dt,
            integrator=self.integrator,
            substeps=self.substeps,
            precision=self.precision,
            x0=_start(again),
            controls=recorded.split(again.rows[:-1, 0], again.split),
            pending=recorded.split(before[0], again.split) if lead else None,
            params=self.params,
            disturbance=self.disturbance,
            metrics=self.metrics,
            events=self.events,
            until=self.until,
            log=_columns(log, again),
        )
        object.__setattr__(self, "drive", drive)

    @property
    def block(self) -> int:
        """Any number of runs may be done together."""
        return self.drive.block

    @property
    def threaded(self) -> bool:
        """One process keeps all processors busy."""
        return self.drive.threaded

    def factor_units(self) -> dict[str, str]:
        """Names that a factor may have, with units."""
        return self.drive.factor_units()

    def columns(self) -> tuple[Column, ...]:
        """As of a `Drive`."""
        return self.drive.columns()

    def check(self, ends: Mapping[str, tuple[float, float]]) -> None:
        """Raise for factors that are unknown or whose ends cannot be meant."""
        self.drive.check(ends)

    def evaluate(self, rows: Rows, means: Means) -> dict[str, AnyArray]:
        """All columns and `failed`, (n,) each."""
        return self.drive.evaluate(rows, means)

    def replay(self, rows: Rows) -> Trajectory:
        """The one run of `rows` with its states, inputs, outputs and disturbances."""
        return self.drive.replay(rows)

    def identity(self) -> dict[str, Any]:
        """That of the drive: what was read of the log, not where it lies."""
        return self.drive.identity() | {"kind": "log drive"}

    def extends(self, before: Mapping[str, Any]) -> bool:
        """Whether it differs from the drive before in more metrics alone."""
        return only_adds(self.identity(), before, "metrics", "metric_starts")


def _start(again: Replay) -> Array:
    """The measured state at the first row; a steering angle less the bias of its measurement."""
    start = again.start[0].copy()
    if again.start_has_bias:
        place = record.names(again.vehicle.model.State).index("steer")
        start[place] -= again.vehicle.params.steer_bias
    return start


def _columns(log: Log, again: Replay) -> dict[str, Array]:
    """All columns of the log with plain names at the samples of the drive, linear between the
    values that there are."""
    recorded, rows = again.recorded, again.rows[:, 0]
    count = (len(rows) - 1) * again.split + 1
    times = recorded.t[rows[0]] + again.dt * np.arange(count)
    matched = {**recorded.states, **recorded.measured}
    others = {
        name: (one, ~np.isnan(one.values))
        for name, one in log.series.items()
        if name.isidentifier() and name not in matched
    }
    columns = {
        name: np.interp(times, one.t[known], one.values[known])
        for name, (one, known) in others.items()
    }
    # By numbers of rows, not by times, so that a row keeps its bits.
    places, whole = np.arange(count) / again.split, np.arange(len(rows))
    return columns | {name: np.interp(places, whole, v[rows]) for name, v in matched.items()}
