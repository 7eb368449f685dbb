"""What `Simulator.run` is asked for: how many steps, driven by what, and whether they fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import record
from ..arrays import AnyArray
from ..checks import steps_in, whole
from ..errors import InvalidValue
from ..model import Vehicle
from ..trajectory.trajectory import Trajectory
from ..units import s


def step_count(controls: Any, dt: s, duration: float | None, steps: int | None) -> int:
    """The number of steps of dt that a run takes."""
    if duration is not None and steps is not None:
        raise InvalidValue(f"give duration or steps, not both (got {duration!r} s and {steps})")
    if duration is not None:
        return steps_in(duration, dt)
    if steps is not None:
        return whole("steps", steps, "not negative", least=0)
    if np.ndim(controls) == 2:
        return len(controls)
    raise InvalidValue("say how long to run: duration= in s, steps=, or an array (T, nu)")


def driven_again(run: Trajectory, vehicle: Vehicle, dt: s) -> AnyArray:
    """The inputs of the steps of a run, (T, nu): one less than it has samples."""
    wanted = tuple(f"u_{name}" for name in record.names(vehicle.Input))
    names = tuple(column.name for column in run.columns if column.role == "input")
    if names != wanted:
        raise InvalidValue(
            f"a run with the inputs {', '.join(names) or 'none'} cannot drive "
            f"{vehicle.name!r}, which has {', '.join(wanted)}"
        )
    lengths = np.diff(run.t)
    if not np.allclose(lengths, dt, rtol=1e-6, atol=0.0):
        raise InvalidValue(
            f"the run has steps of {lengths.min():g} to {lengths.max():g} s, the simulator of "
            f"{dt:g} s: take run.resample(dt={dt:g})"
        )
    return run.inputs[:-1]


def check_room(vehicle: Vehicle, count: int) -> None:
    """Raise if there is no room for the samples of so many steps."""
    model = vehicle.model
    width = sum(map(record.size, (model.State, model.Input, model.Outputs)))
    try:
        np.empty((count + 1, width))
    except (MemoryError, ValueError, OverflowError) as error:
        raise InvalidValue(
            f"{count} steps of {vehicle.name!r} take {8e-9 * count * width:.3g} GB of "
            "memory, more than there is: run it in parts"
        ) from error


def masked(rows: AnyArray, count: int) -> AnyArray:
    """Rows (count, n) that begin with these and go on with NaN."""
    return np.vstack([rows, np.full((count - len(rows), rows.shape[1]), np.nan)])
