"""How far a model is from a recorded run, channel by channel, and the figure that shows it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...core.arrays import Array
from ...core.checks import positive
from ...core.files import brief_repr
from ...core.model import Vehicle
from ...errors import SimulationDiverged
from ...run.trajectory import Trajectory
from ...vehicles.command_driven import autoware
from ...vehicles.command_driven.parameters import UnknownParameter, gather, period
from ...view.plots.motion import thin_line
from ...view.plots.style import (
    BLUE,
    DASHES,
    GREY,
    ORANGE,
    check,
    headings,
    new_figure,
    on_screen,
    screen_unit,
    write_figure,
)
from .log import Log, read_log
from .replay import CHANNELS, Curve, Replay, error, recording

if TYPE_CHECKING:
    from matplotlib.axes import Axes
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
    """A recorded run and its replay."""

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
        """Recorded against replayed for every channel, the error below; written if there is a
        path."""
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
        window: time in s after which to start again from the measured state; None: never.
    """
    if window is not None:
        window = positive("window", window, "s")
    vehicle, gathered = prepare(model, params, compat)
    recorded = recording(read_log(log, names), vehicle.model)
    return compare_replay(Replay(vehicle, recorded, period(gathered), window))


def prepare(model: str, params: Any, compat: str | None) -> tuple[Vehicle, dict[str, Any]]:
    """The vehicle, and all its parameters by upstream's names."""
    vehicle = autoware(model, params, compat=compat)
    with warnings.catch_warnings():
        # Each unknown parameter was named once already.
        warnings.simplefilter("ignore", UnknownParameter)
        return vehicle, gather(params, model, compat)


def compare_replay(replay: Replay, params: Mapping[str, float] | None = None) -> Comparison:
    """Compare a replay with its recording, with some parameters replaced."""
    replaced = {name: np.array([value]) for name, value in (params or {}).items()}
    t = replay.recorded.t[replay.rows]
    curves: dict[str, Curve] = {}
    for name, values in replay.run(replaced).items():
        measured, replayed = replay.measured[name], values[:, 0]
        bad = np.argwhere(~np.isfinite(replayed))
        if len(bad):
            row, window = bad[0].tolist()
            raise SimulationDiverged(
                f"{replay.vehicle.name} diverges in the replay: {name} is not finite at "
                f"t = {t[row, window]:.6g} s",
                time=float(t[max(row - 1, 0), window]),
                last_state=None,
            )
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


RECORDED: Any = {"color": GREY, "linewidth": 2.2}
REPLAYED: Any = {"color": BLUE, "linewidth": 1.2, "linestyle": DASHES}
ERROR: Any = {"color": ORANGE, "linewidth": 1.0}
TITLES = {
    "x": "x",
    "y": "y",
    "yaw": "Yaw",
    "v_x": "Velocity",
    "a_x": "Acceleration",
    "omega": "Yaw rate",
    "steer": "Steering angle",
}
MOST_MARKS = 40
"""Starts of windows that are marked; more would hide the curves."""


def replay_figure(
    title: str,
    curves: Mapping[str, Curve],
    starts: Array,
    path: str | os.PathLike[str] | None = None,
) -> Figure:
    """Two stacks of channels, each with its error below it; `starts` are those of the windows in
    s. Written if there is a path."""
    check(path, "matplotlib", None)
    from matplotlib.lines import Line2D

    stacks = 2 if len(curves) > 2 else 1
    rows = -(-len(curves) // stacks)
    with new_figure((5.2,) * stacks, (1.85, 0.85) * rows) as (figure, grid):
        first: Axes | None = None
        for i, (name, curve) in enumerate(curves.items()):
            stack, row = divmod(i, rows)
            above = figure.add_subplot(grid[2 * row, stack], sharex=first)
            first = first or above
            below = figure.add_subplot(grid[2 * row + 1, stack], sharex=first)
            _draw(above, below, name, curve, starts)
            above.tick_params(labelbottom=False)
            below.tick_params(labelbottom=row == rows - 1 or i == len(curves) - 1)
            below.set_xlabel("time [s]" if row == rows - 1 else "")
        if len(curves) % stacks and {"x", "y"} <= set(curves):
            # Both paths over ground, in the place that an odd number of channels leaves.
            axes = figure.add_subplot(grid[2 * rows - 2 :, stacks - 1])
            x, y = curves["x"], curves["y"]
            axes.set_title("Path [m]")
            axes.set_aspect("equal", adjustable="datalim")
            axes.plot(_broken(x.recorded, starts), _broken(y.recorded, starts), **RECORDED)
            axes.plot(_broken(x.replayed, starts), _broken(y.replayed, starts), **REPLAYED)
        looks = {"recorded": RECORDED, "replayed": REPLAYED, "replayed - recorded": ERROR}
        keys: list[Any] = [Line2D([], [], label=label, **look) for label, look in looks.items()]
        headings(figure, title, keys)
    return write_figure(figure, path)


def _draw(above: Axes, below: Axes, name: str, curve: Curve, starts: Array) -> None:
    unit = CHANNELS[name][0]
    recorded, replayed, error = (
        on_screen(values, unit) for values in (curve.recorded, curve.replayed, curve.error)
    )
    above.set_title(f"{TITLES[name]} [{screen_unit(unit)}]")
    above.plot(*_line(curve.t, recorded, starts), **RECORDED)
    above.plot(*_line(curve.t, replayed, starts), **REPLAYED)
    below.plot(*_line(curve.t, error, starts), **ERROR)
    below.axhline(0.0, color="#999999", linewidth=0.6, zorder=1)
    below.set_ylabel("error")
    most = 1.1 * float(np.abs(error).max())
    # A replay that agrees to rounding shows a flat line, not the rounding.
    least = 1e-9 * max(1.0, float(np.abs(recorded).max()))
    below.set_ylim(-max(most, least), max(most, least))
    below.locator_params(axis="y", nbins=3)
    if 1 < len(starts) <= MOST_MARKS:
        for axes in (above, below):
            axes.vlines(
                starts[1:],
                0.0,
                1.0,
                transform=axes.get_xaxis_transform(),
                color="#BBBBBB",
                linewidth=0.6,
                linestyle=":",
            )


def _line(t: Array, values: Array, starts: Array) -> tuple[Array, Array]:
    """The samples to draw, with the line broken where a window starts again."""
    return thin_line(_broken(t, starts), _broken(values, starts))


def _broken(values: Array, starts: Array) -> Array:
    """The values of all windows, which are equally long, with NaN between them."""
    table = values.reshape(len(starts), -1)
    return np.pad(table, ((0, 0), (0, 1)), constant_values=np.nan).ravel()[:-1]
