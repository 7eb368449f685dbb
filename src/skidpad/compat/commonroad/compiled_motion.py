"""Motion by skidpad's own integrators: one compiled call for all steps, or for both trajectories.

The kernel is the one of `Fleet`, so the bits are those of a fleet with the same dt and sub-steps.
The nominal and the perturbed vehicle are two lanes of it: the second costs nothing.
"""

from __future__ import annotations

import math
import struct

import numpy as np

from ... import record
from ...arrays import Array
from ...compile.cpu import RolloutArrays
from ...compile.plant import Plant
from ...errors import InvalidValue, SkidpadError, StepNotConverged
from ...integrate.base import Integrator
from ...model import Vehicle
from ...run.failures import diverged
from ...run.runner import Runner
from ...run.settings import Settings
from .grid import Grid, whole_parts

LONGEST = 0.0025
"""Longest step in s of an integrator, if none is asked for."""
_LANES = 4
"""The narrowest kernel in which two vehicles go at the price of one."""
_KEPT = 32
"""Batches kept for further calls with as many steps."""


class CompiledMotion:
    """Moves a vehicle over grids of steps with an integrator that is compiled.

    Args:
        vehicle: what moves.
        integrator: how.
        nominal: the disturbance of the nominal vehicle, (nw,).
        substep: longest step in s; None for `LONGEST` of an integrator, and for what a discrete
            model has itself.
    """

    def __init__(
        self, vehicle: Vehicle, integrator: Integrator, nominal: Array, substep: float | None
    ) -> None:
        if vehicle.model.dead_times:
            raise InvalidValue(
                f"{vehicle.name!r} has dead time, which a Simulation does not keep from one call "
                "to the next; a Simulator does"
            )
        self.vehicle, self.nominal = vehicle, nominal
        self.name = f"skidpad:{integrator.name}"
        own = LONGEST if vehicle.model.continuous else math.inf
        self._substep = own if substep is None else substep
        # A step takes what the grid says, see `_Batch.set_dt`.
        settings = Settings(substep or LONGEST, integrator, threads=1, lanes=_LANES)
        self._runner = Runner(Plant.of(vehicle, integrator), settings)
        self._batches: dict[tuple[int, int], _Batch] = {}

    def substeps(self, dt: float) -> int:
        """Steps of the integrator, or updates of a discrete model, within one of dt in s."""
        return max(self.vehicle.model.substeps, whole_parts(dt, self._substep))

    def alone(self, x: tuple[float, ...], u: tuple[float, ...], grid: Grid) -> Array:
        """The states (steps + 1, nx) of the nominal vehicle."""
        batch = self._batch(grid.steps, 1, grid.dt)
        batch.start(x)
        batch.hold(u)
        self._go(batch, 0.0)
        return batch.states[:, 0].copy()

    def pair(
        self, k: int, nominal: Array, perturbed: Array, u: tuple[float, ...], w: Array, dt: float
    ) -> None:
        """Step k of both vehicles, from row k of their states to the next; w is the perturbed
        one's."""
        batch = self._batch(1, 2, dt)
        batch.states[0, 0], batch.states[0, 1] = nominal[k], perturbed[k]
        batch.disturbances[0, 1] = w
        batch.hold((*u, *u))
        self._go(batch, k * dt)
        nominal[k + 1], perturbed[k + 1] = batch.states[1]

    def _batch(self, steps: int, vehicles: int, dt: float) -> _Batch:
        batch = self._batches.get((steps, vehicles))
        if batch is None:
            if len(self._batches) >= _KEPT:
                self._batches.clear()
            batch = _Batch(self._runner, self.nominal, steps, vehicles)
            self._batches[steps, vehicles] = batch
        if batch.dt != dt:
            batch.set_dt(dt, self.substeps(dt))
        return batch

    def _go(self, batch: _Batch, time: float) -> None:
        health = batch.run()
        # NaN counts as true.
        if any(health[0].tolist()):
            raise self._failure(batch, health, time)

    def _failure(self, batch: _Batch, health: Array, time: float) -> SkidpadError:
        vehicle = next(v for v in range(health.shape[1]) if health[0, v] != 0.0)
        states = batch.states[:, vehicle]
        last = int(np.argmax(~np.isfinite(states).all(axis=1))) - 1
        when, residual = time + last * batch.dt, float(health[2, vehicle])
        limit = self._runner.settings.tolerance
        if self._runner.plant.implicit and not residual <= limit:
            return StepNotConverged(
                f"{self.name} failed in the step from t = {when:g} s: it left a Newton residual of "
                f"{residual:.3g}; allowed is {limit:g}. Take a smaller substep or delta_t_w",
                time=when,
                residual=residual,
            )
        return diverged(when, record.unflatten(self.vehicle.State, states[last].tolist()))


class _Batch:
    """So many vehicles over so many steps, their arrays bound once."""

    def __init__(self, runner: Runner, nominal: Array, steps: int, vehicles: int) -> None:
        plant = runner.plant
        nx, nu = record.size(plant.State), record.size(plant.Input)
        # The kernel starts from the first row of states and writes those after it.
        self.states = np.zeros((steps + 1, vehicles, nx))
        inputs = np.zeros((1, vehicles, nu))
        self.disturbances = np.tile(nominal, (1, vehicles, 1))
        params = np.tile(np.array(record.flatten(plant.params)), (1, vehicles, 1))
        arrays = RolloutArrays(self.states[:1], inputs, self.disturbances, params)
        self.run = runner.bound(arrays, self.states)
        # Numbers are packed: assigning a tuple to an array takes longer than a step.
        self._start, self._held = struct.Struct(f"{nx}d"), struct.Struct(f"{vehicles * nu}d")
        self._first_row, self._input_row = self.states.data, inputs.data
        self.dt = 0.0

    def set_dt(self, dt: float, substeps: int) -> None:
        """Let a step take dt in s, in so many sub-steps."""
        self.run.set_step(dt, substeps)
        self.dt = dt

    def start(self, x: tuple[float, ...]) -> None:
        """Put the one vehicle into a state."""
        self._start.pack_into(self._first_row, 0, *x)

    def hold(self, u: tuple[float, ...]) -> None:
        """Hold the inputs of all vehicles."""
        self._held.pack_into(self._input_row, 0, *u)
