"""What a simulation hands out: skidpad's records and trajectories, or those of a user's factory."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np

from ... import record
from ...arrays import Array
from ...model import Vehicle
from ...trajectory.columns import TrajectoryMode
from ...trajectory.table import Layout
from ...trajectory.trajectory import Trajectory
from .grid import Grid
from .streams import Streams

Result = tuple[Any, Any, Any]
"""The measurement, the perturbed and the nominal trajectory."""


class Outcome(NamedTuple):
    """What a simulation found, before it is handed out."""

    nominal: Array
    """(steps + 1, nx)"""
    perturbed: Array
    """The same array where nothing was drawn that differs from the nominal value."""
    drawn: Array | None
    """Disturbances (steps, nw); None if the nominal value acted throughout."""
    measurement: Any
    streams: Streams
    """Where the random numbers stand afterwards."""
    grid: Grid


class Results:
    """Makes the results of one simulation.

    Args:
        vehicle: what was simulated.
        factory: an object of commonroad-control's kind, or None.
    """

    def __init__(self, vehicle: Vehicle, factory: Any) -> None:
        self.factory = factory
        self._State = vehicle.State
        self._layout = Layout.of(vehicle.State, "state", vehicle.name)
        self._times: tuple[Grid, Array] = (Grid(-1, 0.0), np.zeros(1))

    def of(self, outcome: Outcome, method: str) -> Result:
        """Measurement, perturbed and nominal trajectory; `method` goes into their notes."""
        nominal = self._trajectory(outcome.nominal, outcome.grid, method)
        perturbed = nominal
        if outcome.perturbed is not outcome.nominal:
            perturbed = self._trajectory(outcome.perturbed, outcome.grid, method)
        y = outcome.measurement
        if self.factory is not None and isinstance(y, self._State):
            y = self.factory.state_from_numpy_array(np.array(record.flatten(y), dtype=float))
        return y, perturbed, nominal

    def _trajectory(self, states: Array, over: Grid, method: str) -> Any:
        if self.factory is not None:
            return self._from_factory(states, over)
        states.flags.writeable = False
        notes = {"dt": over.dt, "integrator": method}
        return Trajectory.of_rows(self._time(over), states, self._layout, notes)

    def _time(self, over: Grid) -> Array:
        """The times of the grid, shared by trajectories on the same one."""
        if self._times[0] != over:
            t = np.arange(over.steps + 1, dtype=float)
            t *= over.dt
            t.flags.writeable = False
            self._times = (over, t)
        return self._times[1]

    def _from_factory(self, states: Array, over: Grid) -> Any:
        # Its own enumeration, where its module has one: members of two are never equal.
        module = sys.modules.get(getattr(self.factory, "__module__", ""))
        modes = getattr(module, "TrajectoryMode", TrajectoryMode)
        return self.factory.trajectory_from_numpy_array(
            traj_np=states.T,
            mode=modes("state"),
            time_steps=list(range(over.steps + 1)),
            t_0=0.0,
            delta_t=over.dt,
        )
