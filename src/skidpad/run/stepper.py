"""One vehicle bound to a block of memory that compiled code steps in place.

A step is one call of compiled code, which changes the state, the input that acted, the state before
and the clock together, or nothing at all if the step fails.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import record
from ..arrays import AnyArray
from ..compile import pipeline
from ..compile.host import TICK_BAD_INPUT, TICK_DIVERGED, TICK_OK
from ..compile.plant import Plant
from ..errors import InvalidValue, SkidpadError
from ..shared_arrays import ArrayNumber
from .failures import diverged, ended, foreign_snapshot, not_converged, not_numbers
from .settings import Settings

STRIP = 256
"""Steps between two looks at signals such as Ctrl-C while rows of inputs are driven."""


class CompiledStepper:
    """Compiled steps over one block; `compile.kernels.tick_module` says what is in it.

    It starts with a state and an input of zeros.
    """

    def __init__(self, plant: Plant, settings: Settings) -> None:
        self.plant, self.settings, self.dt = plant, settings, settings.dt
        self.substeps = settings.substeps or plant.substeps
        library = pipeline.tick_library(plant.step, settings.precision)
        block, number, integer = ctypes.c_void_p, ctypes.c_double, ctypes.c_int64
        self._tick = library.function("tick", block, result=integer)
        self._tick_of = library.function("tick_of", block, number, number, number, result=integer)
        self._drive = library.function("drive", block, block, block, integer, block, result=integer)
        self._lay_out()

    def _lay_out(self) -> None:
        """Reserve the block and remember where its parts are."""
        plant, precision = self.plant, self.settings.precision
        code, width = ("d", 8) if precision == "float64" else ("f", 4)
        nx, nu = record.size(plant.State), record.size(plant.Input)
        w = record.flatten(record.build(plant.Disturbance))
        p = record.flatten(plant.params)
        at = [0, nx, nx + nu, nx + nu + len(w), nx + nu + len(w) + len(p)]
        self._input_at, self._disturbance_at, self._params_at, dt_at = (width * k for k in at[1:])
        self._residual_at, self._before_at = dt_at + 2 * width, dt_at + 4 * width
        self._acted_at = self._before_at + width * nx
        end = self._acted_at + width * nu
        self._clock_at = -(-end // 8) * 8
        self._states, self._inputs = struct.Struct(f"{nx}{code}"), struct.Struct(f"{nu}{code}")
        self._disturbances = struct.Struct(f"{len(w)}{code}")
        self._residual, self._clock = struct.Struct(code), struct.Struct("ddq")
        numbers = [self.dt / self.substeps, self.settings.tolerance, 0.0, float(self.substeps)]
        fixed = [*w, *p, *numbers]
        packed = self._packed(struct.Struct(f"{len(fixed)}{code}"), fixed, "parameters")
        self._buffer = bytearray(self._clock_at + self._clock.size)
        self._buffer[self._disturbance_at : self._before_at] = packed
        self._anchor = ctypes.c_char.from_buffer(self._buffer)
        self._address = ctypes.addressof(self._anchor)
        # `_make` skips the length check and the name lookup of the general way.
        flat = len(plant.State._fields) == nx
        self._state_record = plant.State._make if flat else self._nested_state
        # Bound once: looking them up costs as much as a tenth of the step.
        self._unpack_state, self._pack_input = self._states.unpack_from, self._inputs.pack_into

    def _nested_state(self, leaves: Any) -> Any:
        return record.unflatten(self.plant.State, leaves)

    def _packed(self, form: struct.Struct, numbers: Sequence[float], what: str) -> bytes:
        """Finite numbers as bytes of this precision; raises where one is too large for it."""
        packed = form.pack(*numbers)
        for number, rounded in zip(numbers, form.unpack(packed), strict=True):
            if not math.isfinite(rounded):
                raise InvalidValue(f"{what}: {number:g} is too large for {self.settings.precision}")
        return packed

    @property
    def age(self) -> float:
        """Steps made; a step of another length counts as `step_of` was told."""
        return self._clock.unpack_from(self._buffer, self._clock_at)[1]

    @property
    def time(self) -> float:
        """Time in s. Steps of dt are counted, not added up, so it does not drift."""
        time, _, since = self._clock.unpack_from(self._buffer, self._clock_at)
        return time + since * self.dt

    @property
    def state(self) -> Any:
        """The present state, a State record."""
        return self._state_record(self._unpack_state(self._buffer))

    @property
    def previous_state(self) -> Any:
        """The state before the last step; the present one after a reset."""
        return self._state_record(self._unpack_state(self._buffer, self._before_at))

    @property
    def input(self) -> Any:
        """The input of the last step, an Input record; all zero after a reset."""
        row = self._inputs.unpack_from(self._buffer, self._acted_at)
        return record.unflatten(self.plant.Input, row)

    @property
    def disturbance(self) -> Any:
        """The disturbance that is held, a Disturbance record."""
        row = self._disturbances.unpack_from(self._buffer, self._disturbance_at)
        return record.unflatten(self.plant.Disturbance, row)

    def disturb(self, row: Sequence[float]) -> None:
        """Hold this row of disturbances from now on."""
        packed = self._packed(self._disturbances, row, "disturbance")
        self._buffer[self._disturbance_at : self._params_at] = packed

    def reset(self, state: tuple[float, ...], time: float) -> None:
        """Start again at this state and time in s; the age goes on."""
        packed = self._packed(self._states, state, "state")
        block = bytearray(self._buffer)
        block[: len(packed)] = block[self._before_at : self._acted_at] = packed
        block[self._acted_at : self._clock_at] = bytes(self._clock_at - self._acted_at)
        self._clock.pack_into(block, self._clock_at, time, self.age, 0)
        self._buffer[:] = block

    def step(self, row: Any) -> Any:
        """One step of dt with this row of inputs; returns the new state."""
        buffer = self._buffer
        try:
            self._pack_input(buffer, self._input_at, *row)
        except (struct.error, OverflowError):
            raise not_numbers(self.plant.Input, row) from None
        code = self._tick(self._address)
        if code:
            raise self._error(code, row, self.dt)
        return self._state_record(self._unpack_state(buffer))

    def step_of(self, row: Any, dt: float, age: float = 1.0) -> Any:
        """One step of another length, dt in s, that counts as so many; returns the new state."""
        try:
            self._pack_input(self._buffer, self._input_at, *row)
        except (struct.error, OverflowError):
            raise not_numbers(self.plant.Input, row) from None
        code = self._tick_of(self._address, dt / self.substeps, self.time + dt, self.age + age)
        if code:
            raise self._error(code, row, dt)
        return self.state

    def drive(
        self, rows: AnyArray, advance: Callable[[int], object] | None = None
    ) -> tuple[AnyArray, SkidpadError | None]:
        """A step per row of inputs (T, nu): the states after each (T, nx), and the error that ended
        it early. `advance(n)` is called after every n steps."""
        table = np.ascontiguousarray(rows, dtype=self.settings.precision)
        samples = np.empty((len(table), self._states.size // table.itemsize), table.dtype)
        code = ctypes.c_int64(TICK_OK)
        status, source, goal = ctypes.addressof(code), table.ctypes.data, samples.ctypes.data
        for begin in range(0, len(table), STRIP):
            steps = min(STRIP, len(table) - begin)
            count = self._drive(
                self._address,
                source + begin * self._inputs.size,
                goal + begin * self._states.size,
                steps,
                status,
            )
            if code.value != TICK_OK:
                count += begin
                error = self._error(code.value, tuple(table[count]), self.dt)
                return samples[:count].astype(float), error
            if advance is not None:
                advance(steps)
        return samples.astype(float), None

    def _error(self, code: int, row: Any, dt: float) -> SkidpadError:
        """The exception for a step of dt that failed."""
        if code == TICK_BAD_INPUT:
            return not_numbers(self.plant.Input, row)
        if code == TICK_DIVERGED:
            return diverged(self.time, self.state, self.plant.vehicle)
        if ended(self.plant.vehicle, self.state):
            return diverged(self.time, self.state, self.plant.vehicle)
        (residual,) = self._residual.unpack_from(self._buffer, self._residual_at)
        return not_converged(self.time, residual, self.settings.tolerance, dt)

    def snapshot(self) -> bytes:
        """A copy of everything that changes."""
        block = bytearray(self._buffer)
        # What a step that failed left behind is no part of the moment.
        block[self._input_at : self._disturbance_at] = block[self._acted_at :][: self._inputs.size]
        self._residual.pack_into(block, self._residual_at, 0.0)
        return bytes(block)

    def with_own_arrays(self, snapshot: bytes) -> bytes:
        """A snapshot of another process with the numbers that its shared arrays have here."""
        block, width = bytearray(snapshot), self._residual.size
        for k, value in enumerate(record.flatten(self.plant.params)):
            if isinstance(value, ArrayNumber):
                self._residual.pack_into(block, self._params_at + k * width, value)
        return bytes(block)

    def restore(self, snapshot: Any) -> None:
        """Put back what `snapshot` gave."""
        mine, fixed = self._buffer, slice(self._params_at, self._residual_at)
        fits = isinstance(snapshot, bytes) and len(snapshot) == len(mine)
        if not fits or snapshot[fixed] != mine[fixed]:
            raise foreign_snapshot()
        mine[:] = snapshot
