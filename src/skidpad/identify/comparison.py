"""How far a model is from a recorded run, channel by channel."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays import Array
from ..brief import brief_repr
from ..checks import positive
from ..errors import SimulationDiverged
from ..model import Vehicle
from ..trajectory.trajectory import Trajectory
from ..vehicles.autoware import autoware
from ..vehicles.autoware.parameters import UnknownParameter, gather, period
from .log import Log, read_log
from .recording import CHANNELS, recording
from .replay import Curve, Replay, error

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Error(NamedTuple):
    """Error of one channel, replayed minus recorded."""

    channel: str
    unit: str
    rmse: float
    """Root of the mean square."""
    max: float
    """Largest magnitude."""
    mean: float
    """Mean with its sign; of the position, mean distance."""


@dataclass(frozen=True)
class Comparison:
    """A recorded run beside its replay."""

    log: str
    """Name of the log."""
    model: str
    errors: tuple[Error, ...]
    """`position` is the distance in the plane."""
    curves: Mapping[str, Curve]
    """Over all windows one after the other; their first samples are the starts."""
    starts: Array
    """Times at which a window starts from the measured state, in s."""
    dt: float
    """Period of the samples in s."""
    notes: tuple[str, ...]

    __repr__ = brief_repr

    def __getitem__(self, channel: str) -> Error:
        """The error of a channel."""
        return next(e for e in self.errors if e.channel == channel)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Recorded against replayed for every channel, the error below; written if asked for."""
        from .figure import replay_figure

        title = f"{self.log} replayed by {self.model}"
        return replay_figure(title, self.curves, self.starts, path)


def compare(
    log: str | os.PathLike[str] | Trajectory | Log,
    model: str,
    params: Any = None,
    *,
    compat: str | None = None,
    names: Mapping[str, str] | None = None,
    window: float | None = None,
) -> Comparison:
    """Replay the commands of a recorded run through a model and measure the difference.

    Args:
        log: a file or a Trajectory; see `read_log`.
        model: one of the command-driven models, such as "DELAY_STEER_ACC_GEARED".
        params: a parameter file, a mapping, or a sequence of these; see `vehicles.autoware`.
        compat: "upstream" for the upstream program with its errors.
        names: columns of the log and what they are here, `{"steer_cmd": "u_steer"}`.
        window: start again from the measured state every so many s; None: only once.
    """
    if window is not None:
        window = positive("window", window, "s")
    vehicle, gathered = prepared(model, params, compat)
    recorded = recording(read_log(log, names), vehicle.model)
    return compared(Replay(vehicle, recorded, period(gathered), window))


def prepared(model: str, params: Any, compat: str | None) -> tuple[Vehicle, dict[str, Any]]:
    """The vehicle, and all its parameters by upstream's names."""
    vehicle = autoware(model, params, compat=compat)
    with warnings.catch_warnings():
        # Each unknown parameter was named once already.
        warnings.simplefilter("ignore", UnknownParameter)
        return vehicle, gather(params, model, compat)


def compared(replay: Replay, params: Mapping[str, float] | None = None) -> Comparison:
    """The comparison of a replay, with some parameters replaced."""
    replaced = {name: np.array([value]) for name, value in (params or {}).items()}
    t = replay.recorded.t[replay.rows]
    curves: dict[str, Curve] = {}
    for name, values in replay.run(replaced).items():
        measured, replayed = replay.measured[name], values[:, 0]
        _must_be_finite(replay.vehicle, name, replayed, t)
        parts = (t, measured, replayed, error(name, replayed, measured))
        curves[name] = Curve(*(part.T.ravel() for part in parts))
    return Comparison(
        replay.recorded.name,
        replay.vehicle.name,
        _errors(curves),
        curves,
        t[0],
        replay.recorded.dt,
        replay.recorded.notes,
    )


def _errors(curves: Mapping[str, Curve]) -> tuple[Error, ...]:
    """The two coordinates as one distance, then the other channels."""
    errors: list[Error] = []
    if {"x", "y"} <= set(curves):
        distance = np.hypot(curves["x"].error, curves["y"].error)
        errors.append(_error("position", "m", distance))
    for name, curve in curves.items():
        if not (errors and name in ("x", "y")):
            errors.append(_error(name, CHANNELS[name][0], curve.error))
    return tuple(errors)


def _error(name: str, unit: str, e: Array) -> Error:
    rmse = float(np.sqrt(np.mean(e * e)))
    return Error(name, unit, rmse, float(np.abs(e).max()), float(e.mean()))


def _must_be_finite(vehicle: Vehicle, name: str, replayed: Array, t: Array) -> None:
    bad = np.argwhere(~np.isfinite(replayed))
    if len(bad):
        row, window = bad[0].tolist()
        raise SimulationDiverged(
            f"{vehicle.name} diverges in the replay: {name} is not finite at "
            f"t = {t[row, window]:.6g} s",
            time=float(t[max(row - 1, 0), window]),
            last_state=None,
        )
