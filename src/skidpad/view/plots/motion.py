"""Motion of recorded runs: speed, distance, accelerations, and where vehicles are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...core import record
from ...core.arrays import Array
from ...core.checks import positive
from ...core.model import Vehicle
from ...errors import InvalidValue
from ...geometry.line import arc_length
from ...run.trajectory import Trajectory
from ...run.trajectory_table import PREFIXES, Column, Role
from ...sensors.motion import Motion, motion_along
from ..stage import Body, BodyShape, PlacedUnit, place_bodies
from ..stages import trajectory_stage

ACCELERATIONS = (("a_x", "a_y"), ("a_long", "a_lat"))
"""Columns that are accelerations along and across, in the order they are looked for."""
_OF_STATE: tuple[str, ...] = ("x", "y", "yaw", "v_x", "v_y", "omega")
MOST_MOMENTS = 400
"""Vehicles on one path; more could not be distinguished."""


def with_motion(run: Trajectory, vehicle: Vehicle | BodyShape | None) -> Trajectory:
    """A run with the pose, velocity, acceleration and steering that the vehicle's body tells.

    They are columns named as the fields of `Motion`, in place of those that are so named. The run
    is as it was recorded where there is no vehicle, or one that the run was not recorded with.
    """
    if not isinstance(vehicle, Vehicle) or not _recorded_with(run, vehicle):
        return run
    body, motion = vehicle.model.body, motion_along(run, vehicle)
    # The run does not hold the disturbances and the ground, of which recorded accelerations know.
    names = list[str](_OF_STATE)
    if not set(ACCELERATIONS[0]) <= set(run.names):
        names += ACCELERATIONS[0]
    if body is not None and body.steer is not None:
        names.append("steer")
    units = {field.name: field.unit for field in record.fields(Motion)}
    columns = {column.name: column for column in run.columns}
    for name in names:
        role: Role = "output" if name.startswith("a_") else "state"
        columns[name] = Column(name, units[name], role, getattr(motion, name))
    return replace(run, columns=tuple(columns.values()), State=None)


def with_motions(
    runs: Sequence[Trajectory], vehicle: Vehicle | Sequence[Vehicle] | None
) -> list[Trajectory]:
    """Runs with the motion of their vehicles: one vehicle for all of them, or one each."""
    vehicles = [vehicle] * len(runs) if vehicle is None or isinstance(vehicle, Vehicle) else vehicle
    if len(vehicles) != len(runs):
        raise InvalidValue(f"vehicle: {len(vehicles)} vehicles for {len(runs)} trajectories")
    return [with_motion(run, one) for run, one in zip(runs, vehicles, strict=True)]


def _recorded_with(run: Trajectory, vehicle: Vehicle) -> bool:
    """Whether a run has the states and inputs of a vehicle, which has a body."""
    kinds: dict[Role, type] = {"state": vehicle.State, "input": vehicle.Input}
    return vehicle.model.body is not None and all(
        [column.name for column in run.columns if column.role == role]
        == [PREFIXES[role] + name for name in record.names(kind)]
        for role, kind in kinds.items()
    )


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
            "a_y, or vehicle=, with which it was recorded; there are "
            f"{', '.join(run.names) or 'none'}"
        )
    return run[pair[0]], run[pair[1]]


def moments(run: Trajectory, every: float | None, count: int) -> Array:
    """Times in s at which the vehicle is drawn: so far apart, or at equal distances on the path."""
    if every is not None:
        every = positive("every", every, "s")
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


MOST_POINTS = 4000
"""Above this many samples a line is thinned."""


def thin_line(t: Array, values: Array, most: int = MOST_POINTS) -> tuple[Array, Array]:
    """The samples that can be seen: of each block its least and its greatest value."""
    if t.size <= most:
        return t, values
    length = -(-t.size // (most // 2))
    starts = np.arange(0, t.size, length)
    kept = {0, t.size - 1}
    for begin in starts:
        block = values[begin : begin + length]
        if not np.isfinite(block).all():
            kept.update(range(begin, begin + block.size))
            continue
        kept.update((int(begin + block.argmin()), int(begin + block.argmax())))
    rows = np.array(sorted(kept))
    return t[rows], values[rows]


def place_along(
    run: Trajectory, vehicle: Vehicle | BodyShape, times: Array
) -> list[tuple[Body, PlacedUnit]]:
    """A vehicle and its trailers at some times of a run, in s."""
    if not len(times):
        return []
    stage, _, rows = trajectory_stage({"car": run.resample(times)}, vehicle)
    return [body for row in rows for body in place_bodies(stage, row)]
