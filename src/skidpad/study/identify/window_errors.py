"""Errors of vehicles over the windows of logs, by channel and by the time since their start."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.arrays import Array
from ...core.files import brief_repr
from ...units import s
from ...view.plots.comparison import ReplayedChannel
from .observed import CHANNELS
from .replay import Guess, Replay

WHOLE: s = 0.0
"""Horizon of errors over all samples of the windows."""


class ReplayedLog(NamedTuple):
    """One log replayed by one vehicle."""

    vehicle: str
    log: str
    channels: tuple[str, ...]
    t: Array
    """Times in s, (windows, rows)."""
    measured: Array
    """(channels, windows, rows), NaN where not known."""
    replayed: Array
    """(channels, windows, rows), NaN from where a window diverged."""
    errors: Array
    """Replayed minus measured, the yaw to half a turn, (channels, windows, rows)."""

    __repr__ = brief_repr

    @property
    def compared(self) -> tuple[str, ...]:
        """Names of the errors: the channels, with `position` for x and y together."""
        if not {"x", "y"} <= set(self.channels):
            return self.channels
        return ("position", *(name for name in self.channels if name not in ("x", "y")))

    @property
    def in_sequence(self) -> list[int]:
        """Numbers of windows that follow each other without an overlap."""
        chosen: list[int] = []
        for k in np.argsort(self.t[:, 0]).tolist():
            if not chosen or self.t[k, 0] >= self.t[chosen[-1], -1] - 1e-9:
                chosen.append(k)
        return chosen

    def error(self, channel: str) -> tuple[Array, NDArray[np.bool_]]:
        """Errors (windows, rows) and whether they were measured; infinite once diverged."""
        names = ("x", "y") if channel == "position" else (channel,)
        places = [self.channels.index(name) for name in names]
        known = np.isfinite(self.measured[places]).all(axis=0)
        errors = self.errors[places]
        errors = errors[0] if len(errors) == 1 else np.hypot(*errors)
        lost = ~np.isfinite(self.replayed).all(axis=0)
        return np.where(lost, np.inf, errors), np.asarray(known)


class Error(NamedTuple):
    """Error of one vehicle in one channel, replayed minus measured."""

    vehicle: str
    channel: str
    """A channel of the log; `position` is the distance in the plane."""
    unit: str
    horizon: s
    """Time since the start of the windows; 0 for all samples of the windows."""
    rmse: float
    """Root of the mean square, in the unit; infinite if a window diverged before."""
    max: float
    """Largest magnitude."""
    mean: float
    """Mean with its sign; of the position, mean distance."""
    windows: int
    """Number of windows with a measured value."""
    diverged: int
    """Number of these in which the simulation diverged."""

    __repr__ = brief_repr


def unit_of(channel: str) -> str:
    """Unit of a compared channel."""
    return CHANNELS.get(channel, "rad/s" if channel.startswith("spin_") else "")


def replayed_log(name: str, replay: Replay, guess: Guess, chosen: NDArray[np.bool_]) -> ReplayedLog:
    """The chosen windows of a log as a vehicle replays them.

    A run-in before the window lets states settle that no log contains. Position and heading start
    at the begin of the window all the same: a planar motion does not depend on them, so the path is
    moved to the pose measured there.
    """
    replay.follow_speed(guess)
    values, measured = replay.run([guess])[0][:, chosen], replay.measured[:, chosen]
    at = {channel: k for k, channel in enumerate(replay.channels)}
    if {"x", "y"} <= at.keys() and replay.track is not None:
        _turn_along(values, measured, at, replay.track.course[replay.begins[chosen]])
    if {"x", "y", "yaw"} <= at.keys() and replay.lead:
        places = [at[channel] for channel in ("x", "y", "yaw")]
        pose, seen = values[places], measured[places, :, 0]
        known = np.isfinite(seen).all(axis=0) & np.isfinite(pose[:, :, 0]).all(axis=0)
        turn = np.where(known, seen[2] - pose[2, :, 0], 0.0)[:, None]
        x, y = pose[0] - pose[0, :, :1], pose[1] - pose[1, :, :1]
        origin = np.where(known, seen[:2], pose[:2, :, 0])[:, :, None]
        values[at["x"]] = origin[0] + np.cos(turn) * x - np.sin(turn) * y
        values[at["y"]] = origin[1] + np.sin(turn) * x + np.cos(turn) * y
        values[at["yaw"]] = pose[2] + turn
    differences = values - measured
    if "yaw" in at:
        half = differences[at["yaw"]]
        differences[at["yaw"]] = np.arctan2(np.sin(half), np.cos(half))
    t = replay.drive.t[replay.rows[chosen]]
    return ReplayedLog(name, replay.drive.name, replay.channels, t, measured, values, differences)


def _turn_along(values: Array, measured: Array, at: Mapping[str, int], course: Array) -> None:
    """Move paths so that they start at the measured place in the direction `course`, in rad.

    The heading is not known then: that of each vehicle is the course minus its own sideslip.
    """
    paths = [values[at[name]] for name in ("x", "y")]
    # A derivative of second order at the first row.
    x, y = (-3.0 * path[:, 0] + 4.0 * path[:, 1] - path[:, 2] for path in paths)
    origin = [measured[at[name], :, 0] for name in ("x", "y")]
    known = np.isfinite([x, y, course, *origin]).all(axis=0) & (np.hypot(x, y) > 0.0)
    turn = np.where(known, course - np.arctan2(y, x), 0.0)[:, None]
    x, y = (path - path[:, :1] for path in paths)
    first = [np.where(known, o, p[:, 0])[:, None] for o, p in zip(origin, paths, strict=True)]
    values[at["x"]] = first[0] + np.cos(turn) * x - np.sin(turn) * y
    values[at["y"]] = first[1] + np.sin(turn) * x + np.cos(turn) * y


def replayed_channels(runs: Sequence[ReplayedLog]) -> dict[str, ReplayedChannel]:
    """Channels of one log for pictures, with its replays by several vehicles."""
    curves: dict[str, ReplayedChannel] = {}
    for name in dict.fromkeys(name for run in runs for name in run.channels):
        own = {r.vehicle: (r, r.channels.index(name)) for r in runs if name in r.channels}
        first, k = next(iter(own.values()))
        shown = first.in_sequence
        curves[name] = ReplayedChannel(
            unit_of(name),
            first.t[shown],
            first.measured[k, shown],
            {vehicle: run.replayed[i, shown] for vehicle, (run, i) in own.items()},
            {vehicle: run.errors[i, shown] for vehicle, (run, i) in own.items()},
        )
    return curves


def errors_by_horizon(
    vehicles: Collection[str], replays: Sequence[ReplayedLog], horizons: Sequence[s]
) -> list[Error]:
    """Errors of every vehicle, channel and horizon that a window reaches."""
    found: list[Error] = []
    for vehicle in vehicles:
        runs = [run for run in replays if run.vehicle == vehicle]
        for channel in dict.fromkeys(name for run in runs for name in run.compared):
            own = [(run, *run.error(channel)) for run in runs if channel in run.compared]
            unit = unit_of("x" if channel == "position" else channel)
            for horizon in (WHOLE, *horizons):
                values: list[Array] = []
                windows = diverged = 0
                for run, errors, known in own:
                    row = round(horizon / float(run.t[0, 1] - run.t[0, 0]))
                    rows = slice(None) if horizon == WHOLE else slice(row, row + 1)
                    part, there = errors[:, rows], known[:, rows]
                    values.append(part[there])
                    windows += int(there.any(axis=1).sum())
                    diverged += int((np.isinf(part) & there).any(axis=1).sum())
                every = np.concatenate(values)
                if not every.size:
                    continue
                figures = (np.inf, np.inf, np.nan)
                if not diverged:
                    root = float(np.sqrt(np.mean(every**2)))
                    figures = (root, float(np.abs(every).max()), float(every.mean()))
                found.append(Error(vehicle, channel, unit, horizon, *figures, windows, diverged))
    return found
