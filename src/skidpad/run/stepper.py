"""The engine behind a Simulator: compiled code over one block of memory.

An engine keeps the state, the input, the state before the last step and a step counter, and leaves
all of it untouched when a step fails.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from .. import integrate, record
from ..arrays import AnyArray
from ..compile import pipeline
from ..compile.host import TICK_BAD_INPUT, TICK_DIVERGED, TICK_OK
from ..errors import InvalidValue, SimulationDiverged, SkidpadError, StepNotConverged
from ..integrate.base import Integrator
from ..model import Vehicle


def residual_tolerance(precision: str) -> float:
    """Newton residual above which an implicit step is rejected; float32 cannot resolve less than
    1e-4."""
    return integrate.RESIDUAL_TOLERANCE if precision == "float64" else 1e-4


class Stepper(Protocol):
    """What a Simulator asks of an engine."""

    count: int
    """Steps since the last reset."""

    @property
    def time(self) -> float:
        """Time in s."""
        ...

    @property
    def state(self) -> Any:
        """The present state, a record."""
        ...

    @property
    def previous_state(self) -> Any:
        """The state before the last step; the present one after a reset."""
        ...

    @property
    def input(self) -> Any:
        """The input of the last step; all zero after a reset."""
        ...

    @property
    def disturbance(self) -> Any:
        """The disturbance held, a record."""
        ...

    def disturb(self, row: Sequence[float]) -> None:
        """Hold this row of disturbances from now on."""
        ...

    def reset(self, state: tuple[float, ...], time: float) -> None:
        """Start again."""
        ...

    def step(self, row: Any) -> Any:
        """One step with this row of inputs; returns the new state."""
        ...

    def drive(self, rows: AnyArray) -> tuple[AnyArray, SkidpadError | None]:
        """A step per row of inputs: the states after each, and the error that ended it early."""
        ...

    def snapshot(self) -> Any:
        """A copy of everything that changes."""
        ...

    def restore(self, snapshot: Any) -> None:
        """Put back what `snapshot` gave."""
        ...


class CompiledStepper:
    """Compiled `tick` over one block of numbers: x, u, w, p, dt, residual allowed and seen, x
    before."""

    def __init__(
        self,
        vehicle: Vehicle,
        dt: float,
        integrator: Integrator,
        precision: str,
        substeps: int = 1,
    ) -> None:
        model = vehicle.model
        self.vehicle, self.dt, self.precision = vehicle, dt, precision
        self.substeps = substeps
        program = pipeline.step_program(vehicle, integrator)
        library = pipeline.tick_library(program, precision)
        self._tick = library.function("tick", ctypes.c_void_p, result=ctypes.c_int64)
        self._drive = library.function(
            "drive",
            *([ctypes.c_void_p] * 3),
            ctypes.c_int64,
            ctypes.c_void_p,
            result=ctypes.c_int64,
        )
        self._tolerance = residual_tolerance(precision)
        self._lay_out(model)
        self.count = 0
        self._start_time = 0.0

    def _lay_out(self, model: Any) -> None:
        """Reserve the block and remember where its parts are."""
        code, width = ("d", 8) if self.precision == "float64" else ("f", 4)
        nx, nu = record.size(model.State), record.size(model.Input)
        w = record.flatten(record.build(model.Disturbance))
        numbers_of_step = [self.dt / self.substeps, self._tolerance, 0.0, float(self.substeps)]
        fixed = [*w, *record.flatten(self.vehicle.params), *numbers_of_step]
        numbers = [0.0] * (nx + nu) + fixed + [0.0] * nx
        packed = self._packed(struct.Struct(f"{len(numbers)}{code}"), numbers, "parameters")
        self._buffer = ctypes.create_string_buffer(packed)
        self._address = ctypes.addressof(self._buffer)
        self._states = struct.Struct(f"{nx}{code}")
        self._inputs = struct.Struct(f"{nu}{code}")
        self._input_at = slice(width * nx, width * (nx + nu))
        self._disturbances = struct.Struct(f"{len(w)}{code}")
        self._disturbance_at = slice(width * (nx + nu), width * (nx + nu + len(w)))
        self._step_number = struct.Struct(code)
        self._dt_at = width * (nx + nu + len(fixed) - 4)
        self._residual_at = width * (nx + nu + len(fixed) - 2)
        self._before_at = width * (nx + nu + len(fixed))
        self._State, self._Input = model.State, model.Input
        flat = len(model.State._fields) == nx
        # `_make` skips the length check and the name lookup of the general way.
        self._state_record = model.State._make if flat else self._nested_state
        self._unpack_state = self._states.unpack_from

    def _packed(self, form: struct.Struct, numbers: Sequence[float], what: str) -> bytes:
        """Finite numbers as bytes of this precision; raises where one is too large for it."""
        packed = form.pack(*numbers)
        for number, rounded in zip(numbers, form.unpack(packed), strict=True):
            if not math.isfinite(rounded):
                raise InvalidValue(f"{what}: {number:g} is too large for {self.precision}")
        return packed

    def set_dt(self, dt: float) -> None:
        """Let the coming steps take dt in s each; `time` goes on counting them as before."""
        self._step_number.pack_into(self._buffer, self._dt_at, dt / self.substeps)

    def disturb(self, row: Sequence[float]) -> None:
        """Hold this row of disturbances from now on."""
        packed = self._packed(self._disturbances, row, "disturbance")
        self._buffer[self._disturbance_at] = packed

    @property
    def disturbance(self) -> Any:
        """The disturbance that is held."""
        row = self._disturbances.unpack_from(self._buffer, self._disturbance_at.start)
        return record.unflatten(self.vehicle.model.Disturbance, row)

    def _nested_state(self, leaves: Any) -> Any:
        return record.unflatten(self._State, leaves)

    @property
    def time(self) -> float:
        """Time in s."""
        return self._start_time + self.count * self.dt

    @property
    def state(self) -> Any:
        """The present state."""
        return self._state_record(self._unpack_state(self._buffer))

    @property
    def previous_state(self) -> Any:
        """The state before the last step."""
        return self._state_record(self._unpack_state(self._buffer, self._before_at))

    @property
    def input(self) -> Any:
        """The input of the last step."""
        row = self._inputs.unpack_from(self._buffer, self._input_at.start)
        return record.unflatten(self._Input, row)

    def reset(self, state: tuple[float, ...], time: float) -> None:
        """Start again."""
        packed = self._packed(self._states, state, "state")
        self._buffer[: len(packed)] = packed
        self._buffer[self._before_at : self._before_at + len(packed)] = packed
        self._buffer[self._input_at] = bytes(self._inputs.size)
        self.count = 0
        self._start_time = time

    def step(self, row: Any) -> Any:
        """One step with this row of inputs."""
        buffer = self._buffer
        before = buffer[self._input_at]
        try:
            buffer[self._input_at] = self._inputs.pack(*row)
        except (struct.error, OverflowError):
            raise not_numbers(self._Input, row) from None
        code = self._tick(self._address)
        if code:
            error = self._error(code, row)
            buffer[self._input_at] = before
            raise error
        self.count += 1
        return self._state_record(self._unpack_state(buffer))

    def drive(self, rows: AnyArray) -> tuple[AnyArray, SkidpadError | None]:
        """A step per row of inputs."""
        table = np.ascontiguousarray(rows, dtype=self.precision)
        samples = np.empty((len(table), self._states.size // table.itemsize), self.precision)
        code = ctypes.c_int64(TICK_OK)
        before = self._buffer[self._input_at]
        done = self._drive(
            self._address,
            table.ctypes.data,
            samples.ctypes.data,
            len(table),
            ctypes.addressof(code),
        )
        self.count += done
        error: SkidpadError | None = None
        if code.value != TICK_OK:
            error = self._error(code.value, tuple(table[done]))
            self._buffer[self._input_at] = table[done - 1].tobytes() if done else before
        return samples[:done].astype(float), error

    def _error(self, code: int, row: Any) -> SkidpadError:
        """The exception for a step that failed."""
        if code == TICK_BAD_INPUT:
            return not_numbers(self._Input, row)
        if code == TICK_DIVERGED:
            return diverged(self.time, self.state)
        kind = "d" if self.precision == "float64" else "f"
        residual = struct.unpack_from(kind, self._buffer, self._residual_at)[0]
        return _not_converged(self.time, residual, self._tolerance, self.dt)

    def snapshot(self) -> Any:
        """A copy of everything that changes."""
        return bytes(self._buffer.raw), self.count, self._start_time

    def restore(self, snapshot: Any) -> None:
        """Put back what `snapshot` gave."""
        match snapshot:
            case (bytes(block), int(count), float(start_time)) if self._fits(block):
                self._buffer[:] = block
                self.count, self._start_time = count, start_time
            case _:
                raise foreign_snapshot()

    def _fits(self, block: bytes) -> bool:
        """Whether a block has the parameters and the step of this one."""
        mine, fixed = self._buffer.raw, slice(self._input_at.stop, self._residual_at)
        return len(block) == len(mine) and block[fixed] == mine[fixed]


def not_numbers(kind: type, row: Any) -> InvalidValue:
    """The error for a row of inputs that are not all finite numbers, one per field."""
    names = record.names(kind)
    if len(row) != len(names):
        return InvalidValue(
            f"Input takes {len(names)} numbers ({', '.join(names)}), got {len(row)}"
        )
    for name, value in zip(names, row, strict=True):
        try:
            fine = bool(np.isfinite(float(value)))
        except (TypeError, ValueError, OverflowError):
            fine = None
        if fine is None or isinstance(value, str):
            return InvalidValue(f"Input.{name} = {value!r} must be a number")
        if not fine:
            return InvalidValue(f"Input.{name} = {value} must be finite")
    return InvalidValue(f"Input {row!r} cannot be used: a value is too large for the precision")


def foreign_snapshot() -> InvalidValue:
    """The error for a snapshot of another simulator."""
    return InvalidValue(
        "this snapshot is not of this simulator: vehicle, parameters, dt, integrator and precision "
        "must be the same"
    )


def diverged(time: float, state: Any) -> SimulationDiverged:
    """The error for a step that ends in a state that is not finite."""
    return SimulationDiverged(
        f"the state became NaN or infinite in the step from t = {time:g} s; the last finite state "
        f"is {state}. Take a smaller dt or an implicit integrator",
        time=time,
        last_state=state,
    )


def _not_converged(time: float, residual: float, tolerance: float, dt: float) -> StepNotConverged:
    return StepNotConverged(
        f"the step from t = {time:g} s left a Newton residual of {residual:.3g}; allowed is "
        f"{tolerance:g}. Take a smaller dt than {dt:g} s",
        time=time,
        residual=residual,
    )
