"""Motion by the methods of `scipy.integrate.solve_ivp`, restarted at every step of the grid."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import record
from ...arrays import Array
from ...errors import InvalidValue, SimulationDiverged
from ...integrate.scipy_ivp import StepSolver
from ...model import Vehicle
from ...run.failures import diverged
from .derivative import Derivative
from .grid import Grid


class ScipyMotion:
    """Moves a vehicle over grids of steps with a solver of scipy's kind.

    Args:
        vehicle: what moves.
        solver: how.
        nominal: the disturbance of the nominal vehicle, (nw,).
    """

    def __init__(self, vehicle: Vehicle, solver: StepSolver, nominal: Array) -> None:
        if vehicle.model.dead_times:
            raise InvalidValue(
                f"{vehicle.name!r} has dead time, which a Simulation does not keep from one call "
                "to the next; a Simulator does"
            )
        self.vehicle, self.name, self.nominal = vehicle, solver.name, nominal
        self._solver, self._derivative = solver, Derivative(vehicle)

    def alone(self, x: tuple[float, ...], u: tuple[float, ...], grid: Grid) -> Array:
        """The states (steps + 1, nx) of the nominal vehicle."""
        states = np.empty((grid.steps + 1, len(x)))
        states[0] = x
        for k in range(grid.steps):
            states[k + 1] = self._step(states[k], u, self.nominal, grid.dt, k * grid.dt)
        return states

    def pair(
        self, k: int, nominal: Array, perturbed: Array, u: tuple[float, ...], w: Array, dt: float
    ) -> None:
        """Step k of both vehicles, from row k of their states to the next; w is the perturbed
        one's. Integrated once where nothing tells them apart."""
        same = (w == self.nominal).all() and (nominal[k] == perturbed[k]).all()
        nominal[k + 1] = self._step(nominal[k], u, self.nominal, dt, k * dt)
        perturbed[k + 1] = nominal[k + 1] if same else self._step(perturbed[k], u, w, dt, k * dt)

    def _step(self, x: Array, u: tuple[float, ...], w: Array, dt: float, time: float) -> Array:
        """The state dt seconds on; `time` goes into the errors only, the models know none."""
        self._derivative.hold(x, u, w)
        try:
            return self._solver.advance(self._derivative, x, dt, time)
        except SimulationDiverged:
            raise diverged(time, self._state(x)) from None

    def _state(self, x: Array) -> Any:
        return record.unflatten(self.vehicle.State, x.tolist())
