"""One vehicle stepped by a method of `scipy.integrate`: adaptive, for references rather than for
speed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import record
from ..arrays import AnyArray, Array
from ..compile import pipeline
from ..compile.bound import BoundMap
from ..errors import InvalidValue, SimulationDiverged, SkidpadError, StepNotConverged
from ..integrate.scipy_ivp import ScipyMethod
from ..model import Vehicle
from .failures import diverged, ended, foreign_snapshot, not_numbers


class _Moment(NamedTuple):
    """All that changes, so that one assignment changes it together."""

    state: Array
    previous_state: Array
    input: tuple[float, ...]
    disturbance: tuple[float, ...]
    time: float
    """Time in s of the last reset or step of another length."""
    age: float
    """Steps made."""
    since: int
    """Steps since that time."""


class ScipyStepper:
    """Solves each step of dt in s with a scipy method and the compiled derivative."""

    def __init__(self, vehicle: Vehicle, dt: float, method: ScipyMethod) -> None:
        if not vehicle.model.continuous:
            raise InvalidValue(f"{method.name!r} needs a derivative; {vehicle.name!r} is discrete")
        self.vehicle, self.dt = vehicle, dt
        self._solver = method.solver()
        self._derivative = _Derivative(vehicle)
        w = record.flatten(record.build(vehicle.model.Disturbance))
        zero = np.zeros(record.size(vehicle.State))
        self._no_input = (0.0,) * record.size(vehicle.Input)
        self._now = _Moment(zero, zero, self._no_input, w, 0.0, 0.0, 0)

    @property
    def age(self) -> float:
        """Steps made; a step of another length counts as `step_of` was told."""
        return self._now.age

    @property
    def time(self) -> float:
        """Time in s."""
        return self._now.time + self._now.since * self.dt

    @property
    def state(self) -> Any:
        """The present state, a State record."""
        return record.unflatten(self.vehicle.State, self._now.state.tolist())

    @property
    def previous_state(self) -> Any:
        """The state before the last step; the present one after a reset."""
        return record.unflatten(self.vehicle.State, self._now.previous_state.tolist())

    @property
    def input(self) -> Any:
        """The input of the last step, an Input record; all zero after a reset."""
        return record.unflatten(self.vehicle.Input, self._now.input)

    @property
    def disturbance(self) -> Any:
        """The disturbance that is held, a Disturbance record."""
        return record.unflatten(self.vehicle.model.Disturbance, self._now.disturbance)

    def disturb(self, row: Sequence[float]) -> None:
        """Hold this row of disturbances from now on."""
        self._now = self._now._replace(disturbance=tuple(row))

    def reset(self, state: tuple[float, ...], time: float) -> None:
        """Start again at this state and time in s; the age goes on."""
        x, now = np.array(state), self._now
        self._now = _Moment(x, x, self._no_input, now.disturbance, time, now.age, 0)

    def step(self, row: Any) -> Any:
        """One step of dt with this row of inputs; returns the new state."""
        now = self._now
        return self._commit(row, self.dt, now.time, now.age + 1.0, now.since + 1)

    def step_of(self, row: Any, dt: float, age: float = 1.0) -> Any:
        """One step of another length, dt in s, that counts as so many; returns the new state."""
        return self._commit(row, dt, self.time + dt, self.age + age, 0)

    def _commit(self, row: Any, dt: float, *clock: Any) -> Any:
        now, inputs = self._now, self._numbers(row)
        after = self._advanced(inputs, dt)
        self._now = _Moment(after, now.state, inputs, now.disturbance, *clock)
        return self.state

    def _advanced(self, inputs: tuple[float, ...], dt: float) -> Array:
        now = self._now
        self._derivative.hold(now.state, inputs, now.disturbance)
        try:
            return self._solver.advance(self._derivative, now.state, dt, self.time)
        except (SimulationDiverged, StepNotConverged) as error:
            # What cannot step into a range where the equations end has gone short of it.
            if isinstance(error, StepNotConverged) and not ended(self.vehicle, self.state):
                raise
            raise diverged(self.time, self.state, self.vehicle) from None

    def _numbers(self, row: Any) -> tuple[float, ...]:
        try:
            inputs = tuple(float(value) for value in row)
        except (TypeError, ValueError, OverflowError):
            raise not_numbers(self.vehicle.Input, row) from None
        text = any(isinstance(value, str) for value in row)
        if text or len(inputs) != len(self._no_input) or not np.isfinite(inputs).all():
            raise not_numbers(self.vehicle.Input, row)
        return inputs

    def drive(
        self, rows: AnyArray, advance: Callable[[int], object] | None = None
    ) -> tuple[AnyArray, SkidpadError | None]:
        """A step per row of inputs (T, nu): the states after each (T, nx), and the error that ended
        it early. `advance(n)` is called after every n steps."""
        states: list[AnyArray] = []
        error: SkidpadError | None = None
        for row in rows:
            try:
                self.step(row)
            except SkidpadError as failure:
                error = failure
                break
            states.append(self._now.state)
            if advance is not None:
                advance(1)
        return np.array(states).reshape(-1, len(self._now.state)), error

    def snapshot(self) -> Any:
        """A copy of everything that changes."""
        return self._now

    def restore(self, snapshot: Any) -> None:
        """Put back what `snapshot` gave."""
        now = self._now
        if not isinstance(snapshot, _Moment) or any(
            len(a) != len(b) for a, b in zip(snapshot[:4], now[:4], strict=True)
        ):
            raise foreign_snapshot()
        self._now = snapshot


class _Derivative:
    """The compiled derivative as a function of the state alone, inputs and parameters held."""

    def __init__(self, vehicle: Vehicle) -> None:
        program = pipeline.derivative_program(vehicle)
        sizes = [len(port.fields) for port in program.inputs]
        self._x, self._start, self._u, self._w, p = (np.zeros(size) for size in sizes)
        p[:] = record.flatten(vehicle.params)
        self._out = np.zeros(len(self._x))
        arrays = (self._x, self._start, self._u, self._w, p)
        self._evaluate = BoundMap(program, arrays, (self._out,))

    def hold(self, start: AnyArray, inputs: Sequence[float], w: Sequence[float]) -> None:
        """Set the state at the start of the step, and the input and disturbance held over it."""
        self._start[:], self._u[:], self._w[:] = start, inputs, w

    def __call__(self, x: AnyArray) -> AnyArray:
        self._x[:] = x
        self._evaluate()
        return self._out.copy()
