"""A Simulator engine on `scipy.integrate.solve_ivp`: adaptive, for references rather than for
speed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import record
from ..arrays import AnyArray
from ..compile import pipeline
from ..errors import InvalidValue, SimulationDiverged, SkidpadError
from ..integrate import scipy_ivp
from ..integrate.scipy_ivp import ScipyMethod
from ..model import Vehicle
from .stepper import diverged, foreign_snapshot, not_numbers


class ScipyStepper:
    """Solves each step with a scipy method and the compiled derivative."""

    def __init__(self, vehicle: Vehicle, dt: float, method: ScipyMethod) -> None:
        if not vehicle.model.continuous:
            raise InvalidValue(f"{method.name!r} needs a derivative; {vehicle.name!r} is discrete")
        self.vehicle, self.dt, self.method = vehicle, dt, method
        self._derivative = _Derivative(vehicle)
        self._rows = [np.zeros(record.size(vehicle.State)) for _ in range(2)]
        self._input = record.flatten(record.build(vehicle.Input))
        self.count = 0
        self._start_time = 0.0

    @property
    def time(self) -> float:
        """Time in s."""
        return self._start_time + self.count * self.dt

    @property
    def state(self) -> Any:
        """The present state."""
        return record.unflatten(self.vehicle.State, self._rows[0].tolist())

    @property
    def previous_state(self) -> Any:
        """The state before the last step."""
        return record.unflatten(self.vehicle.State, self._rows[1].tolist())

    @property
    def input(self) -> Any:
        """The input of the last step."""
        return record.unflatten(self.vehicle.Input, self._input)

    @property
    def disturbance(self) -> Any:
        """The disturbance that is held."""
        return record.unflatten(self.vehicle.model.Disturbance, self._derivative.w.tolist())

    def disturb(self, row: Sequence[float]) -> None:
        """Hold this row of disturbances from now on."""
        self._derivative.w[:] = row

    def reset(self, state: tuple[float, ...], time: float) -> None:
        """Start again."""
        self._rows = [np.array(state), np.array(state)]
        self._input = (0.0,) * len(self._input)
        self.count = 0
        self._start_time = time

    def step(self, row: Any) -> Any:
        """One step with this row of inputs."""
        try:
            inputs = tuple(float(value) for value in row)
        except (TypeError, ValueError, OverflowError):
            raise not_numbers(self.vehicle.Input, row) from None
        if any(isinstance(value, str) for value in row):
            raise not_numbers(self.vehicle.Input, row)
        if len(inputs) != len(self._input) or not np.isfinite(inputs).all():
            raise not_numbers(self.vehicle.Input, row)
        now = self._rows[0]
        self._derivative.hold(now, inputs)
        self._rows = [self._advanced(now), now]
        self._input = inputs
        self.count += 1
        return self.state

    def _advanced(self, now: AnyArray) -> AnyArray:
        # From a derivative that is not finite SciPy would look for its first step without end.
        if not np.isfinite(self._derivative(now)).all():
            raise diverged(self.time, self.state)
        m = self.method
        try:
            return scipy_ivp.advance(
                m.method, self._derivative, now, self.dt, m.rtol, m.atol, time=self.time
            )
        except SimulationDiverged:
            raise diverged(self.time, self.state) from None

    def drive(self, rows: AnyArray) -> tuple[AnyArray, SkidpadError | None]:
        """A step per row of inputs."""
        states: list[AnyArray] = []
        error: SkidpadError | None = None
        for row in rows:
            try:
                self.step(row)
            except SkidpadError as failure:
                error = failure
                break
            states.append(self._rows[0])
        return np.array(states).reshape(-1, len(self._rows[0])), error

    def snapshot(self) -> Any:
        """A copy of everything that changes."""
        return [row.copy() for row in self._rows], self._input, self.count, self._start_time

    def restore(self, snapshot: Any) -> None:
        """Put back what `snapshot` gave."""
        match snapshot:
            case (list(rows), tuple(row), int(count), float(start_time)) if len(rows[0]) == len(
                self._rows[0]
            ) and len(row) == len(self._input):
                self._rows = [saved.copy() for saved in rows]
                self._input, self.count, self._start_time = row, count, start_time
            case _:
                raise foreign_snapshot()


class _Derivative:
    """The compiled derivative as a function of the state alone, inputs and parameters held."""

    def __init__(self, vehicle: Vehicle) -> None:
        model = vehicle.model
        program = pipeline.derivative_program(vehicle)
        self._kernel, _ = pipeline.apply_kernel(program, "float64", 1)
        w = record.flatten(record.build(model.Disturbance))
        rows = [
            np.zeros(record.size(model.State)),
            np.zeros(record.size(model.State)),
            np.zeros(record.size(model.Input)),
            np.array(w),
            np.array(record.flatten(vehicle.params)),
        ]
        self._x, self._start, self._u, self.w, _ = rows
        self._out = np.zeros(len(self._x))
        self._kept = rows
        words = [word for row in (*rows, self._out) for word in (row.ctypes.data, 1, 0, 0)]
        self._block = np.array([*words, 0, 1], dtype=np.int64)

    def hold(self, start: AnyArray, inputs: tuple[float, ...]) -> None:
        """Set the state at the start of the step and the input held over it."""
        self._start[:] = start
        self._u[:] = inputs

    def __call__(self, x: AnyArray) -> AnyArray:
        self._x[:] = x
        self._kernel(self._block.ctypes.data)
        return self._out.copy()
