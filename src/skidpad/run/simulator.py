"""Simulator: one vehicle in closed loop, a step of compiled code per call.

`CompiledStepper` binds the vehicle to a block of memory that one call of compiled code steps in
place: it changes the state, the input in effect, the state before and the clock together, or
nothing at all if the step fails. `ScipyStepper` steps it by a method of `scipy.integrate`, for
references rather than for speed. `Simulator` converts the user's inputs for either of them.
"""

from __future__ import annotations

import ctypes
import math
import struct
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Generic, NamedTuple

import numpy as np

from .. import errors
from ..compile import pipeline
from ..compile.cpu import BoundMap
from ..compile.host import TICK_BAD_INPUT, TICK_DIVERGED, TICK_OK
from ..compile.plant import Plant
from ..core import record
from ..core.arrays import AnyArray, Array, ArrayNumber
from ..core.checks import finite, positive_step
from ..core.model import P, U, Vehicle, W, X, Y, vehicle_of
from ..core.policy import Policy
from ..core.progress import Choice, Progress, watching
from ..errors import InvalidValue, SimulationDiverged, SkidpadError, StepNotConverged
from ..integrate.base import Integrator
from ..integrate.scipy_ivp import ScipyMethod
from . import arguments
from .arguments import FAR_BEYOND, Commands, check_start, make_consistent
from .delay import DelayLine, Waiting
from .runner import (
    OutputRows,
    Settings,
    cause_of_end,
    diverged,
    foreign_snapshot,
    not_converged,
    not_numbers,
)
from .stability import check_step, choose_integrator
from .trajectory import Trajectory

STRIP = 256
"""Steps between two checks for signals such as Ctrl-C during a run with tabulated inputs."""


class CompiledStepper:
    """Stepper by compiled code over one block of memory, whose layout `compile.kernels.tick_module`
    describes.

    State and input are zero until the first `reset`.
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
        # For a flat record, use `_make`, which skips the length check and name lookup of
        # `unflatten`.
        flat = len(plant.State._fields) == nx
        self._state_record = plant.State._make if flat else partial(record.unflatten, plant.State)
        # Bound once: looking them up costs as much as a tenth of the step.
        self._unpack_state, self._pack_input = self._states.unpack_from, self._inputs.pack_into

    def _packed(self, form: struct.Struct, numbers: Sequence[float], what: str) -> bytes:
        """Pack finite numbers as bytes of this precision; raises for a number too large for it."""
        packed = form.pack(*numbers)
        for number, rounded in zip(numbers, form.unpack(packed), strict=True):
            if not math.isfinite(rounded):
                raise InvalidValue(f"{what}: {number:g} is too large for {self.settings.precision}")
        return packed

    @property
    def age(self) -> float:
        """Number of steps made so far; a step of another length counts as the `age` passed to
        `step_of`.
        """
        return self._clock.unpack_from(self._buffer, self._clock_at)[1]

    @property
    def time(self) -> float:
        """Time in s. Steps of dt are counted rather than summed, so it does not drift."""
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
        """The held disturbance, a Disturbance record."""
        row = self._disturbances.unpack_from(self._buffer, self._disturbance_at)
        return record.unflatten(self.plant.Disturbance, row)

    def disturb(self, row: Sequence[float]) -> None:
        """Hold this row of disturbances from now on."""
        packed = self._packed(self._disturbances, row, "disturbance")
        self._buffer[self._disturbance_at : self._params_at] = packed

    def reset(self, state: tuple[float, ...], time: float) -> None:
        """Restart at a state and a time in s; the step count `age` continues."""
        packed = self._packed(self._states, state, "state")
        block = bytearray(self._buffer)
        block[: len(packed)] = block[self._before_at : self._acted_at] = packed
        block[self._acted_at : self._clock_at] = bytes(self._clock_at - self._acted_at)
        self._clock.pack_into(block, self._clock_at, time, self.age, 0)
        self._buffer[:] = block

    def step(self, row: Any) -> Any:
        """Make one step of dt with this row of inputs; returns the new state."""
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
        """Make one step of dt in s that counts as `age` steps; returns the new state."""
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
        """Make a step per row of inputs (T, nu); returns the states (T, nx) and a possible error.

        The error is the one that ended the run early, or None. `advance(n)` is called after every n
        steps.
        """
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
        if code == TICK_BAD_INPUT:
            return not_numbers(self.plant.Input, row)
        if code == TICK_DIVERGED:
            return diverged(self.time, self.state, self.plant.vehicle)
        if cause_of_end(self.plant.vehicle, self.state):
            return diverged(self.time, self.state, self.plant.vehicle)
        (residual,) = self._residual.unpack_from(self._buffer, self._residual_at)
        return not_converged(self.time, residual, self.settings.tolerance, dt)

    def snapshot(self) -> bytes:
        """Copy the complete changing state of the stepper."""
        block = bytearray(self._buffer)
        # Leftovers of a failed step are not part of the snapshot.
        block[self._input_at : self._disturbance_at] = block[self._acted_at :][: self._inputs.size]
        self._residual.pack_into(block, self._residual_at, 0.0)
        return bytes(block)

    def with_own_arrays(self, snapshot: bytes) -> bytes:
        """Replace array numbers in a snapshot of another process by those of this process."""
        block, width = bytearray(snapshot), self._residual.size
        for k, value in enumerate(record.flatten(self.plant.params)):
            if isinstance(value, ArrayNumber):
                self._residual.pack_into(block, self._params_at + k * width, value)
        return bytes(block)

    def restore(self, snapshot: Any) -> None:
        """Restore the result of `snapshot`."""
        mine, fixed = self._buffer, slice(self._params_at, self._residual_at)
        fits = isinstance(snapshot, bytes) and len(snapshot) == len(mine)
        if not fits or snapshot[fixed] != mine[fixed]:
            raise foreign_snapshot()
        mine[:] = snapshot


class _Moment(NamedTuple):
    """Complete changing state of a stepper, in one object so that a single assignment replaces
    it.
    """

    state: Array
    previous_state: Array
    input: tuple[float, ...]
    disturbance: tuple[float, ...]
    time: float
    """Time in s of the last reset or step of another length."""
    age: float
    """Number of steps made."""
    since: int
    """Number of steps since `time` was set."""


class ScipyStepper:
    """Stepper that solves each step of dt in s by a SciPy method with the compiled derivative."""

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
        """Number of steps made so far; a step of another length counts as the `age` passed to
        `step_of`.
        """
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
        """The held disturbance, a Disturbance record."""
        return record.unflatten(self.vehicle.model.Disturbance, self._now.disturbance)

    def disturb(self, row: Sequence[float]) -> None:
        """Hold this row of disturbances from now on."""
        self._now = self._now._replace(disturbance=tuple(row))

    def reset(self, state: tuple[float, ...], time: float) -> None:
        """Restart at a state and a time in s; the step count `age` continues."""
        x, now = np.array(state), self._now
        self._now = _Moment(x, x, self._no_input, now.disturbance, time, now.age, 0)

    def step(self, row: Any) -> Any:
        """Make one step of dt with this row of inputs; returns the new state."""
        now = self._now
        return self._commit(row, self.dt, now.time, now.age + 1.0, now.since + 1)

    def step_of(self, row: Any, dt: float, age: float = 1.0) -> Any:
        """Make one step of dt in s that counts as `age` steps; returns the new state."""
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
            # A SciPy method stops where the equations lose their validity and its steps cannot get
            # shorter.
            if isinstance(error, StepNotConverged) and not cause_of_end(self.vehicle, self.state):
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
        """Make a step per row of inputs (T, nu); returns the states (T, nx) and a possible error.

        The error is the one that ended the run early, or None. `advance(n)` is called after every n
        steps.
        """
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
        """Copy the complete changing state of the stepper."""
        return self._now

    def restore(self, snapshot: Any) -> None:
        """Restore the result of `snapshot`."""
        now = self._now
        if not isinstance(snapshot, _Moment) or any(
            len(a) != len(b) for a, b in zip(snapshot[:4], now[:4], strict=True)
        ):
            raise foreign_snapshot()
        self._now = snapshot


class _Derivative:
    """Compiled derivative as a function of the state alone; inputs and parameters are held."""

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


Numbers = Mapping[str, Any] | Sequence[float] | AnyArray | None
"""A record as a mapping of names or numbers in order; omitted fields have their defaults."""
_STEPPING = -1
"""Mark of a simulator that is in use during a step; during a run the mark is the thread's
number.
"""

_READY = frozenset(
    (
        *("_stepper", "_commands", "_line", "_row", "_advance", "_user", "_outputs"),
        *("_settled_start", "_longest_checked", "__orig_class__"),
    )
)
"""Attributes that are not pickled.

Such attributes are derived from the simulator's vehicle and settings, or are an annotation of
`typing` on record classes, which need not be picklable.
"""


class Simulator(Generic[X, U, P, Y, W]):
    """Simulator of one vehicle, advanced step by step; states and inputs are the vehicle's records.

    Time is in s. Only one thread at a time may use it: a call while another thread steps it raises
    `SimulatorInUse`.

    Args:
        vehicle: what to simulate.
        dt: step in s.
        integrator: a name of `skidpad.integrate.names()`, such as "rk4", "radau" or "scipy:RK45".
            "auto" chooses "rk4" if dt is short enough for it at every speed of the vehicle,
            else "radau". An explicit method is refused if its steps are unstable for the
            vehicle at every speed; if they are at some speeds, a warning names them.
        precision: "float64" or "float32", for compiled integrators.
        substeps: steps of the integrator within one step of dt, over which the input and the values
            that the model samples (`Model.hold`) stay constant; by default the model's, mostly 1.
        on_diverge: behaviour of `run` if the state becomes NaN or infinite or a step cannot be
            solved: "raise" the error, which carries the trajectory up to there and leaves the
            simulator as it was before; "return" that trajectory with a warning, the error in
            `trajectory.error`; or "mask" all later samples with NaN, as a `Fleet` does.
        **options: passed to the integrator, such as rtol and atol of a SciPy method.
    """

    def __init__(
        self,
        vehicle: Vehicle[X, U, P, Y, W],
        dt: float = 0.01,
        integrator: str | Integrator = "auto",
        *,
        precision: str = "float64",
        substeps: int | None = None,
        on_diverge: str = "raise",
        **options: Any,
    ) -> None:
        settings = Settings(
            dt, None, precision, threads=1, substeps=substeps, on_diverge=on_diverge
        )
        self._vehicle = vehicle_of(vehicle)
        self._integrator = choose_integrator(
            self._vehicle, integrator, settings.dt, settings.substeps, **options
        )
        self._settings = settings.replace(integrator=self._integrator)
        self._get_ready()
        self.reset()

    def _get_ready(self) -> None:
        vehicle, method, settings = self.vehicle, self.integrator, self._settings
        self._stepper: CompiledStepper | ScipyStepper
        if isinstance(method, ScipyMethod):
            if settings.substeps not in (None, 1):
                raise InvalidValue(
                    f"substeps = {settings.substeps} is not allowed with {method.name!r}, which "
                    "chooses its own step lengths"
                )
            self._stepper = ScipyStepper(vehicle, self.dt, method)
        else:
            self._stepper = CompiledStepper(Plant.of(vehicle, method), settings)
        self._commands = Commands(vehicle, self.precision)
        self._line = DelayLine.of(vehicle.model, vehicle.params, self.dt)
        # Bound once: looking them up costs as much as a tenth of the step.
        self._row = self._commands.row
        simple = self._line is None and not self._commands.ranges
        self._advance = self._guarded_step() if simple else self._checked_step
        self._user: int | None = None
        self._outputs = OutputRows(vehicle, self.precision)
        self._settled_start = record.build(vehicle.State)
        self._longest_checked = self.dt

    def __getstate__(self) -> dict[str, Any]:
        """Pickle or copy the settings and the present moment."""
        self._must_be_free()
        kept = {name: value for name, value in vars(self).items() if name not in _READY}
        return {**kept, "_moment": self.snapshot()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        moment = state.pop("_moment")
        vars(self).update(state)
        self._get_ready()
        if isinstance(self._stepper, CompiledStepper):
            inner, *waiting = moment if isinstance(moment, tuple) else (moment,)
            inner = self._stepper.with_own_arrays(inner)
            moment = (inner, *waiting) if waiting else inner
        self.restore(moment)

    def __repr__(self) -> str:
        substeps = self._settings.substeps or self.vehicle.model.substeps
        within = f" in {substeps} sub-steps" if substeps > 1 else ""
        how = f"{self.integrator.name}, dt = {self.dt:g} s{within}, {self.precision}"
        return f"<Simulator of {self.vehicle!r}: {how}, at t = {self.time:.6g} s>"

    @property
    def vehicle(self) -> Vehicle[X, U, P, Y, W]:
        """The simulated vehicle."""
        return self._vehicle

    @property
    def dt(self) -> float:
        """Step length in s; `step(dt=...)` makes a single step of another length."""
        return self._settings.dt

    @property
    def integrator(self) -> Integrator:
        """The integration method."""
        return self._integrator

    @property
    def precision(self) -> str:
        """Floating-point precision, "float64" or "float32"."""
        return self._settings.precision

    @property
    def state(self) -> X:
        """The present state, a State record."""
        return self._stepper.state

    @property
    def time(self) -> float:
        """Time since the last reset, plus the time it was reset to, in s."""
        return self._stepper.time

    @property
    def input(self) -> U:
        """The input in effect in the last step, an Input record; with dead time, an older one."""
        return self._stepper.input

    @property
    def disturbance(self) -> W:
        """The disturbance in effect, a Disturbance record; see `disturb`."""
        return self._stepper.disturbance

    def disturb(self, disturbance: W | Numbers = None, /, **fields: float) -> W:
        """Apply a disturbance from now on, also after a reset; missing fields are neutral.

        Returns the Disturbance record; `disturb()` ends it.
        """
        wanted = record.build(self.vehicle.model.Disturbance, disturbance, **fields)
        self._must_be_free()
        self._stepper.disturb(record.flatten(wanted))
        return self.disturbance

    def reset(self, state: X | Numbers = None, /, *, time: float = 0.0, **fields: Any) -> X:
        """Start again at a state given as record, mapping, array or keywords; omitted fields are
        zero.

        Returns the state. Dependent fields of the model are made consistent, and those in
        `Model.fills` are filled unless given by name. Delayed commands are forgotten; see
        `Model.reset_keeps` for models that keep some of them.
        """
        model = self.vehicle.model
        start = record.build(model.State, state, base=self._settled_start, **fields)
        start = start._replace(
            **{n: getattr(self.state, n) for n in model.reset_keeps if n in start._fields}
        )
        time = finite("time", time, "s")
        check_start(self.vehicle, start)
        if model.settle is not None:
            whole = make_consistent(model, start, self.vehicle.params, state, fields)
            start = record.build(model.State, whole)
        self._must_be_free()
        self._stepper.reset(record.flatten(start), time)
        if self._line is not None and "pending" not in model.reset_keeps:
            self._line.restore(None)
        return self.state

    def step(self, inputs: U | Numbers = None, /, *, dt: float | None = None, **fields: float) -> X:
        """Make one step with the input held; returns the new State record.

        The input is an Input record, a mapping, an array, or keywords; missing fields are zero, and
        a keyword overrides the record. The step is the simulator's dt long, or `dt` in s. A
        rejected input leaves the simulator unchanged.
        """
        row = self._commands.with_fields(inputs, fields) if fields else self._row(inputs)
        user = self._user
        # Python switches threads and handles signals at calls and in loops, so nothing interrupts
        # these assignments.
        if user is not None and user != threading.get_ident():
            raise self._in_use()
        self._user = _STEPPING
        try:
            return self._advance(row) if dt is None else self._step_of(row, dt)
        finally:
            self._user = user

    def _guarded_step(self) -> Callable[[Any], Any]:
        """A step function for a model without delayed inputs, with as few operations as possible.

        At most one input is an angle that is checked against its actuator's limit.
        """
        step, check, angles = self._stepper.step, self._commands.check_ranges, self._commands.angles
        if len(angles) != 1:
            return self._checked_step if angles else step
        (angle,) = angles
        place, most = angle.place, FAR_BEYOND * angle.end

        def advance(row: Any) -> Any:
            try:
                fine = -most <= row[place] <= most
            except (TypeError, IndexError):  # the step reports the invalid input
                fine = True
            if not fine:
                check(row)
            return step(row)

        return advance

    def _checked_step(self, row: Any) -> Any:
        """Make one step of a model whose inputs have ranges or delays."""
        self._commands.check_ranges(row)
        return self._stepper.step(self._acting(row, 1.0))

    def _step_of(self, row: Any, dt: float) -> Any:
        """Make one step of another length, dt in s."""
        dt = positive_step(dt, self.precision)
        if dt > self._longest_checked:
            check_step(self.vehicle, self.integrator, dt, self._settings.substeps or 1)
            self._longest_checked = dt
        # Some models count updates instead of measuring their length.
        age = 1.0 if self.vehicle.model.dead_time_rule == "nearest" else dt / self.dt
        self._commands.check_ranges(row)
        return self._stepper.step_of(self._acting(row, age), dt, age)

    def _acting(self, row: Any, age: float) -> Any:
        """Return the inputs in effect if `row` is commanded in a step that counts as `age`
        steps.
        """
        line = self._line
        if line is None:
            return row
        try:
            usable = len(row) == len(self._commands.defaults) and line.finite(row)
        except TypeError:
            usable = False
        if not usable:
            raise not_numbers(self.vehicle.Input, row)
        clock = self._stepper.age
        return line.acting(row, clock, clock + age)

    def run(
        self,
        controls: Callable[[float, X], Any] | Policy | U | Numbers = None,
        *,
        duration: float | None = None,
        steps: int | None = None,
        progress: Choice = None,
    ) -> Trajectory:
        """Run from the present state and return the trajectory, outputs included.

        Args:
            controls: a function `controls(t, x)`, a policy, an array (T, nu) of one row per step,
                one input (record, mapping) held throughout, or a trajectory whose inputs are
                repeated. A policy starts with its default memory and reference;
                `Policy.controller` takes others.
            duration: time to run in s, a whole number of steps.
            steps: number of steps, instead of `duration`. An array or a trajectory needs neither.
            progress: how to report progress: None, True, False or a function, see
                `skidpad.core.progress`.

        A controller that raises or returns something unusable, and an interrupt such as Ctrl-C,
        leave the simulator as it was before `run`. `on_diverge` sets the behaviour if the state
        diverges or a step fails.
        """
        if isinstance(controls, Policy):
            controls = controls.controller(self.dt)
        if isinstance(controls, Trajectory):
            controls = arguments.inputs_of_run(controls, self.vehicle, self.dt)
        count = arguments.step_count(controls, self.dt, duration, steps)
        arguments.check_sample_room(self.vehicle, count)
        start, thread = self.snapshot(), threading.get_ident()
        user = self._user
        if user is not None and user != thread:
            raise self._in_use()
        self._user = thread
        try:
            with watching(count, "steps", self.vehicle.name, progress) as watch:
                return self._run(controls, count, watch)
        except BaseException:
            self.restore(start)
            raise
        finally:
            self._user = user

    def _run(self, controls: Any, count: int, watch: Progress) -> Trajectory:
        begin, clock, waiting = self.time, self._stepper.age, self._waiting()
        first = record.flatten(self.state)
        drive = self._drive_controller if callable(controls) else self._drive_table
        states, inputs, error = drive(controls, count, watch)
        times = begin + self.dt * np.arange(len(states) + 1)
        rows = np.vstack([np.array([first]), states])
        held = np.array([record.flatten(self.input)])
        if len(inputs):
            held = np.vstack([inputs, inputs[-1:]])
        acted = held
        if self._line is not None and waiting is not None:
            acted = self._line.acting_rows(held, waiting, clock)
        outputs = self._outputs.along(rows, acted, self.disturbance)
        if error is not None and self._settings.on_diverge == "mask":
            times = begin + self.dt * np.arange(count + 1)
            rows, held, outputs = (
                arguments.padded(part, count + 1) for part in (rows, held, outputs)
            )
        trajectory = Trajectory.from_arrays(
            times,
            states=(self.vehicle.State, rows),
            inputs=(self.vehicle.Input, held),
            outputs=(self.vehicle.model.Outputs, outputs),
            name=self.vehicle.name,
            meta={"dt": self.dt, "integrator": self.integrator.name},
            error=error,
        )
        if error is not None:
            self._fail(error, trajectory)
        return trajectory

    def _fail(self, error: SkidpadError, trajectory: Trajectory) -> None:
        """Raise the error that ended a run early, or warn."""
        if self._settings.on_diverge == "raise":
            if isinstance(error, (SimulationDiverged, StepNotConverged)):
                error.trajectory = trajectory
            raise error
        if self._settings.on_diverge == "return":
            warnings.warn(f"run ended at t = {trajectory.t[-1]:g} s: {error}", stacklevel=4)

    def _drive_table(
        self, controls: Any, count: int, watch: Progress
    ) -> tuple[AnyArray, AnyArray, SkidpadError | None]:
        """Run with controls that are held or tabulated, one row per step.

        Returns the states after each step (T, nx), the inputs of each step (T, nu), and the error
        that ended the run early, or None.
        """
        rows, line, waiting = self._commands.table(controls, count), self._line, self._waiting()
        if line is None or waiting is None:
            states, error = self._stepper.drive(rows, watch.advance)
        else:
            clock = self._stepper.age
            acting = line.acting_rows(rows, waiting, clock)
            states, error = self._stepper.drive(acting, watch.advance)
            line.push_rows(rows[: len(states)], clock)
        return states, rows[: len(states)], error

    def _drive_controller(
        self, controls: Callable[[float, X], Any], count: int, watch: Progress
    ) -> tuple[AnyArray, AnyArray, SkidpadError | None]:
        """Run with a controller, called once per step; results as in `_drive_table`."""
        reached: list[Any] = []
        inputs: list[Any] = []
        error = None
        for _ in range(count):
            try:
                command = controls(self.time, self.state)
                if command is None:
                    raise InvalidValue(
                        f"controls returned None at t = {self.time:g} s instead of an input: a "
                        "`return` may be missing"
                    )
                row = self._row(command)
                state = self._advance(row)
            except InvalidValue:
                raise
            except SkidpadError as failure:
                error = failure
                break
            reached.append(record.flatten(state))
            inputs.append(row)
            watch.advance()
        sizes = record.size(self.vehicle.State), record.size(self.vehicle.Input)
        return (
            np.array(reached, dtype=float).reshape(-1, sizes[0]),
            np.array(inputs, dtype=float).reshape(-1, sizes[1]),
            error,
        )

    def outputs(self) -> Y:
        """Outputs at the present state with the input of the last step, an Outputs record."""
        moment = (self.state, self._stepper.previous_state, self.input)
        state, before, held = (np.array([record.flatten(part)]) for part in moment)
        row = self._outputs.at(state, before, held, self.disturbance)
        return record.unflatten(self.vehicle.model.Outputs, row[0].tolist())

    def _waiting(self) -> Waiting | None:
        """The delayed commands that have not taken effect yet; None if nothing is delayed."""
        return None if self._line is None else self._line.waiting(self._stepper.age)

    def snapshot(self) -> Any:
        """A snapshot of the present moment, for `restore`."""
        waiting = self._waiting()
        return self._stepper.snapshot() if waiting is None else (self._stepper.snapshot(), waiting)

    def restore(self, snapshot: Any) -> None:
        """Return to the moment of a snapshot of this simulator; later steps have the same bits."""
        self._must_be_free()
        if self._line is None:
            self._stepper.restore(snapshot)
            return
        match snapshot:
            case (inner, Waiting() as waiting):
                self._stepper.restore(inner)
                self._line.restore(waiting)
            case _:
                raise foreign_snapshot()

    def _must_be_free(self) -> None:
        if self._user is not None and self._user != threading.get_ident():
            raise self._in_use()

    def _in_use(self) -> errors.SimulatorInUse:
        return errors.SimulatorInUse(
            "this simulator is in use by another thread: take one simulator for each thread, or a "
            "lock around the calls of this one"
        )
