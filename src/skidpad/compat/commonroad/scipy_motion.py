"""Motion by the methods of `scipy.integrate.solve_ivp`, restarted at every step of the grid."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ... import record
from ...arrays import Array
from ...errors import InvalidValue, SimulationDiverged
from ...integrate.scipy_ivp import StepSolver
from ...model import Model, Vehicle
from ...run.failures import diverged
from .grid import Grid


class Derivative:
    """x -> x' with input, disturbance and parameters held.

    CasADi's interpreter evaluates it operation by operation, which rounds as the function is
    written. Compiled code is no faster for one vehicle at a time, and it contracts products with
    sums: solvers that choose their steps by an estimate of the error magnify that difference, ten
    thousand times for a car at walking pace.
    """

    def __init__(self, vehicle: Vehicle) -> None:
        model = vehicle.model
        function = _function(model)
        self._x, self._start = (np.zeros(record.size(model.State)) for _ in range(2))
        self._u = np.zeros(record.size(model.Input))
        self._w = np.array(record.flatten(record.build(model.Disturbance)), dtype=float)
        params = np.array(record.flatten(vehicle.params), dtype=float)
        self._out = np.zeros(len(self._x))
        self._buffer, self._evaluate = function.buffer()
        self._kept: tuple[Any, ...] = (self._x, self._start, self._u, self._w, params, self._out)
        *rows, result = self._kept
        for k, row in enumerate(rows):
            if row.size:
                self._buffer.set_arg(k, memoryview(row))
        self._buffer.set_res(0, memoryview(result))

    def hold(self, start: ArrayLike, inputs: ArrayLike, w: ArrayLike) -> None:
        """Set the state at the start of the step, the input and the disturbance."""
        self._start[:] = start
        self._u[:] = inputs
        self._w[:] = w

    def __call__(self, x: Array) -> Array:
        """The derivative at a state."""
        self._x[:] = x
        self._evaluate()
        return self._out.copy()


def _function(model: Model) -> Any:
    """x' of (x, the state at the start of the step, u, w, p) as a CasADi function."""
    import casadi as ca

    derivative = model.derivative
    if derivative is None:
        raise InvalidValue(f"{model.name!r} is a discrete model: it has no derivative")
    kinds = (model.State, model.State, model.Input, model.Disturbance, model.Params)
    symbols = [[ca.SX.sym(name) for name in record.names(kind)] for kind in kinds]
    x, start, u, w, p = (
        record.unflatten(kind, leaves) for kind, leaves in zip(kinds, symbols, strict=True)
    )
    rates = derivative(x, model.held_input(start, u, w, p), w, p)
    columns = [ca.vertcat(ca.SX(0, 1), *leaves) for leaves in symbols]
    result = ca.vertcat(*(ca.SX(rate) for rate in record.flatten(rates)))
    return ca.Function("derivative", columns, [result], {"cse": True})


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
