"""Motion of a recorded run: speed, distance, accelerations, and moments to look at."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...errors import InvalidValue
from ...plane.line import arc_length
from ...trajectory.trajectory import Trajectory

ACCELERATIONS = (("a_x", "a_y"), ("a_long", "a_lat"))
"""Columns that are accelerations along and across, in the order they are looked for."""
MOST_MOMENTS = 400
"""Vehicles on one path; more could not be told apart."""


def speed(run: Trajectory) -> Array | None:
    """Speed over ground in m/s, or None where no velocity was recorded."""
    if {"v_x", "v_y"} <= set(run.names):
        return np.hypot(run["v_x"], run["v_y"])
    candidates = ("v_x", "v", "speed")
    return next((np.abs(run[name]) for name in candidates if name in run), None)


def travelled(run: Trajectory) -> Array:
    """Distance over ground up to each sample, in m."""
    return arc_length(np.column_stack([run["x"], run["y"]]))


def accelerations(run: Trajectory) -> tuple[Array, Array]:
    """Accelerations along and across the vehicle, in m/s², at the samples of a run."""
    pair = next((pair for pair in ACCELERATIONS if set(pair) <= set(run.names)), None)
    if pair is None:
        raise InvalidValue(
            f"{run.name or 'the trajectory'} has no accelerations; needed are the columns a_x and "
            f"a_y, and there are {', '.join(run.names) or 'none'}"
        )
    return run[pair[0]], run[pair[1]]


def moments(run: Trajectory, every: float | None, count: int) -> Array:
    """Times in s at which the vehicle is drawn: so far apart, or at equal distances on the path."""
    if every is not None:
        if not (np.isfinite(every) and every > 0.0):
            raise InvalidValue(f"every = {every} s must be finite and greater than 0")
        times = run.t[0] + every * np.arange(int(run.duration / every * (1.0 + 1e-12)) + 1)
    else:
        way = travelled(run)
        if count < 1 or not way[-1] > 0.0:
            times = run.t[:1] if count else run.t[:0]
        else:
            # Distance stands still with the car, so it has no inverse there.
            rising = np.append(True, np.diff(way) > 0.0)
            times = np.interp(np.linspace(0.0, way[-1], count), way[rising], run.t[rising])
    if len(times) > MOST_MOMENTS:
        raise InvalidValue(
            f"every = {every} s draws {len(times)} vehicles; allowed are {MOST_MOMENTS}"
        )
    return times
