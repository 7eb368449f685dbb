"""Motion by skidpad's own integrators: one compiled call for all steps, or for both trajectories.

The kernel is the one of `Fleet`, so the bits are those of a fleet with the same dt and sub-steps.
The nominal and the perturbed vehicle are two lanes of it: the second costs nothing.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from ... import record
from ...arrays import Array
from ...compile import host, pipeline
from ...errors import InvalidValue, SkidpadError, StepNotConverged
from ...integrate.base import Integrator
from ...model import Vehicle
from ...run.stepper import diverged, residual_tolerance
from .grid import Grid, whole_parts

_LANES = 4
"""The narrowest kernel in which two vehicles go at the price of one."""
_KEPT = 32
"""Blocks of memory kept for further calls with as many steps."""
_PRECISION = "float64"


class CompiledMotion:
    """Moves a vehicle over grids of steps with an integrator that is compiled.

    Args:
        vehicle: what moves.
        integrator: how.
        nominal: the disturbance of the nominal vehicle.
        substep: longest step of the integrator in s; a discrete model has steps of its own.
    """

    def __init__(
        self, vehicle: Vehicle, integrator: Integrator, nominal: Array, substep: float
    ) -> None:
        model = vehicle.model
        if model.dead_times:
            raise InvalidValue(
                f"{vehicle.name!r} has dead time, which a Simulation does not keep from one call "
                "to the next; a Simulator does"
            )
        self.vehicle, self.integrator, self.nominal = vehicle, integrator, nominal
        self.name = f"skidpad:{integrator.name}"
        self._substep = substep
        self._implicit = model.continuous and integrator.implicit
        program = pipeline.step_program(vehicle, integrator)
        self._kernel, _ = pipeline.rollout_kernel(program, _PRECISION, _LANES)
        self._blocks: dict[tuple[int, int], _Block] = {}

    def substeps(self, dt: float) -> int:
        """Steps of the integrator within one of dt in s."""
        model = self.vehicle.model
        if not model.continuous:
            return model.substeps
        return max(model.substeps, whole_parts(dt, self._substep))

    def alone(self, x: tuple[float, ...], u: tuple[float, ...], grid: Grid) -> Array:
        """The states (steps + 1, nx) of the nominal vehicle."""
        block = self._block(grid.steps, 1, grid.dt)
        block.start(x)
        block.hold(u)
        self._go(block, 0.0)
        return block.states[:, 0].copy()

    def pair(
        self, k: int, nominal: Array, perturbed: Array, u: tuple[float, ...], w: Array, dt: float
    ) -> None:
        """Step k of both vehicles, from row k of their states to the next; w is the perturbed
        one's."""
        block = self._block(1, 2, dt)
        block.states[0, 0], block.states[0, 1] = nominal[k], perturbed[k]
        block.disturbances[0, 1] = w
        block.hold((*u, *u))
        self._go(block, k * dt)
        nominal[k + 1], perturbed[k + 1] = block.states[1]

    def _block(self, steps: int, vehicles: int, dt: float) -> _Block:
        block = self._blocks.get((steps, vehicles))
        if block is None:
            if len(self._blocks) >= _KEPT:
                self._blocks.clear()
            block = _Block(self.vehicle, self.nominal, steps, vehicles)
            self._blocks[steps, vehicles] = block
        if block.dt != dt:
            block.set_dt(dt, self.substeps(dt))
        return block

    def _go(self, block: _Block, time: float) -> None:
        self._kernel(block.address)
        if not block.fine():
            raise self._failure(block, time)

    def _failure(self, block: _Block, time: float) -> SkidpadError:
        vehicle = next(v for v in range(block.states.shape[1]) if block.health[0, v] != 0.0)
        states = block.states[:, vehicle]
        last = int(np.argmax(~np.isfinite(states).all(axis=1))) - 1
        when, residual = time + last * block.dt, float(block.health[2, vehicle])
        limit = residual_tolerance(_PRECISION)
        if self._implicit and not residual <= limit:
            return StepNotConverged(
                f"{self.name} failed in the step from t = {when:g} s: it left a Newton residual of "
                f"{residual:.3g}; allowed is {limit:g}. Take a smaller substep or delta_t_w",
                time=when,
                residual=residual,
            )
        return diverged(when, record.unflatten(self.vehicle.State, states[last].tolist()))


class _Block:
    """What a kernel call of so many steps and vehicles reads and writes, laid out once."""

    def __init__(self, vehicle: Vehicle, nominal: Array, steps: int, vehicles: int) -> None:
        model = vehicle.model
        nx, nu = record.size(model.State), record.size(model.Input)
        # The kernel starts from the first row of states and writes those after it.
        self._room = bytearray(8 * (steps + 1) * vehicles * nx)
        self.states = np.frombuffer(self._room).reshape(steps + 1, vehicles, nx)
        self._inputs = bytearray(8 * vehicles * nu)
        inputs = np.frombuffer(self._inputs).reshape(1, vehicles, nu)
        self.disturbances = np.tile(nominal, (1, vehicles, 1))
        params = np.tile(np.array(record.flatten(vehicle.params)), (1, vehicles, 1))
        self.health = np.zeros((3, vehicles))
        self._start, self._held = struct.Struct(f"{nx}d"), struct.Struct(f"{vehicles * nu}d")
        words: list[Any] = []
        for array in (self.states[:1], inputs, self.disturbances, params, self.states):
            words += host.writable(array)
        words += [self.health.ctypes.data, vehicles, 1, 0, 0, vehicles, *host.UNWATCHED, steps]
        limit = host.bits(residual_tolerance(_PRECISION), np.dtype(_PRECISION))
        self._words = np.array([*words, 0, 0, 0, limit], dtype=np.int64)
        self._kept = params, inputs
        self.address = int(self._words.ctypes.data)
        self.dt = 0.0

    def set_dt(self, dt: float, substeps: int) -> None:
        """Let a step take dt in s, in so many sub-steps."""
        bits = host.bits(dt / substeps, np.dtype(_PRECISION))
        self._words[-4:-1] = substeps, substeps, bits
        self.dt = dt

    def start(self, x: tuple[float, ...]) -> None:
        """Put the one vehicle into a state."""
        self._start.pack_into(self._room, 0, *x)

    def hold(self, u: tuple[float, ...]) -> None:
        """Hold the inputs of all vehicles."""
        self._held.pack_into(self._inputs, 0, *u)

    def fine(self) -> bool:
        """Whether every state of the last call is finite."""
        # NaN counts as true.
        return not any(self.health[0].tolist())
