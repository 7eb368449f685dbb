"""Simulator: one vehicle in closed loop, a step of compiled code per call."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .. import integrate, record
from ..arrays import AnyArray
from ..checks import PRECISIONS, made, positive_step, substeps_of, whole
from ..compile import pipeline
from ..compile.cpu import CpuMap
from ..errors import InvalidValue, SkidpadError
from ..integrate.base import Integrator
from ..integrate.scipy_ivp import ScipyMethod
from ..model import Vehicle
from ..trajectory.trajectory import Trajectory
from . import batch
from .delay import Waiting, delay_line
from .scipy_stepper import ScipyStepper
from .stepper import CompiledStepper, Stepper, foreign_snapshot, not_numbers

Controls = Callable[[float, Any], Any]
"""A controller: `controller(t, x)` returns the input as a record, mapping or sequence."""


class Simulator:
    """Steps one vehicle. Time is in s, states and inputs are the vehicle's records.

    Args:
        vehicle: what to simulate.
        dt: step in s.
        integrator: "rk4", "radau", ... or "scipy:RK45" and the like; see
            `skidpad.integrate.names()`.
        precision: "float64" or "float32", for compiled integrators.
        substeps: steps of the integrator within one step of dt, over which the input and what the
            model samples (`Model.hold`) stay constant; as the model says if None, mostly 1.
        **options: passed to the integrator, such as rtol and atol of a scipy method.
    """

    def __init__(
        self,
        vehicle: Vehicle,
        dt: float = 0.01,
        integrator: str | Integrator = "rk4",
        *,
        precision: str = "float64",
        substeps: int | None = None,
        **options: Any,
    ) -> None:
        if precision not in PRECISIONS:
            raise InvalidValue(
                f"precision = {precision!r} is unknown; allowed are {', '.join(PRECISIONS)}"
            )
        self.vehicle = made(vehicle)
        self.dt = positive_step(dt, precision)
        self.integrator = integrate.get(integrator, **options)
        self.precision = precision
        self._stepper: Stepper
        if isinstance(self.integrator, ScipyMethod):
            if precision != "float64":
                raise InvalidValue(f"{self.integrator.name!r} has float64 only, not {precision!r}")
            self._stepper = ScipyStepper(vehicle, self.dt, self.integrator)
        else:
            many = substeps_of(vehicle.model.substeps, substeps)
            self._stepper = CompiledStepper(vehicle, self.dt, self.integrator, precision, many)
        self._line = delay_line(vehicle.model, vehicle.params, self.dt)
        # Bound once: looking it up costs as much as a tenth of the step.
        self._advance = self._stepper.step if self._line is None else self._late_step
        self._ranges = [
            (k, leaf) for k, leaf in enumerate(record.fields(vehicle.Input)) if leaf.allowed
        ]
        if self._ranges:
            self._unranged = self._advance
            self._advance = self._ranged_step
        self._Input = vehicle.Input
        self._defaults = record.flatten(record.build(vehicle.Input))
        self._flat = len(self._defaults) == len(vehicle.Input._fields)
        self._positions = {name: k for k, name in enumerate(record.names(vehicle.Input))}
        self._outputs: CpuMap | None = None
        self._settled_start = record.build(vehicle.State)
        self.reset()

    @property
    def state(self) -> Any:
        """The present state, a State record."""
        return self._stepper.state

    @property
    def time(self) -> float:
        """Time since the last reset (plus the time it was reset to), in s."""
        return self._stepper.time

    @property
    def input(self) -> Any:
        """The input that acted in the last step, an Input record; with dead time, an older one."""
        return self._stepper.input

    @property
    def disturbance(self) -> Any:
        """The disturbance that acts, a Disturbance record; see `disturb`."""
        return self._stepper.disturbance

    def disturb(self, given: Any = None, /, **fields: float) -> Any:
        """Let a disturbance act from now on, also after a reset; what is not given is neutral.

        Returns the Disturbance record; `disturb()` ends it.
        """
        wanted = record.build(self.vehicle.model.Disturbance, given, **fields)
        self._stepper.disturb(record.flatten(wanted))
        return self.disturbance

    def reset(self, state: Any = None, /, *, time: float = 0.0, **fields: Any) -> Any:
        """Start again at a state given as record, mapping, array or keywords; the rest is zero.

        Returns the state. Fields that depend on others in this model are made consistent, delayed
        commands are forgotten; see `Model.reset_keeps` for models that keep some of it.
        """
        model = self.vehicle.model
        start = record.build(model.State, state, base=self._settled_start, **fields)
        start = start._replace(
            **{n: getattr(self.state, n) for n in model.reset_keeps if n in start._fields}
        )
        if not np.isfinite(time):
            raise InvalidValue(f"time = {time} must be finite")
        if model.settle is not None:
            start = record.build(model.State, model.settle(start, self.vehicle.params))
        self._stepper.reset(record.flatten(start), float(time))
        if self._line is not None and "pending" not in model.reset_keeps:
            self._line.clear()
        return self.state

    def step(self, inputs: Any = None, /, **fields: float) -> Any:
        """One step of dt with the input held; returns the new State record.

        The input is an Input record, a mapping, an array, or keywords; fields that are not given
        are zero. A rejected input leaves the simulator as it was.
        """
        if fields:
            return self._advance(self._with_keywords(inputs, fields))
        return self._advance(self._commanded(inputs))

    def _commanded(self, inputs: Any) -> Any:
        """The numbers of an input, or of none."""
        if type(inputs) is self._Input:
            return inputs if self._flat else record.flatten(inputs)
        return self._defaults if inputs is None else self._row(inputs)

    def _ranged_step(self, row: Any) -> Any:
        """One step of a model whose inputs have ranges, such as the numbers of gears."""
        for k, leaf in self._ranges:
            if k < len(row) and not isinstance(row[k], str) and row[k] not in leaf.allowed:
                record.check(record.unflatten(self._Input, row))
        return self._unranged(row)

    def _late_step(self, row: Any) -> Any:
        """One step of a model with dead time."""
        line = self._line
        assert line is not None
        try:
            usable = len(row) == len(self._defaults) and not line.first_bad(row)
        except TypeError:
            usable = False
        if not usable:
            raise not_numbers(self._Input, row)
        state = self._stepper.step(line.acting(row))
        line.push(row)
        return state

    def _with_keywords(self, inputs: Any, fields: Mapping[str, float]) -> list[Any]:
        row = list(self._defaults if inputs is None else self._row(inputs))
        try:
            for name, value in fields.items():
                row[self._positions[name]] = value
        except KeyError as error:
            allowed = record.names(self._Input)
            raise InvalidValue(record.unknown_name("Input", error.args[0], allowed)) from None
        return row

    def _row(self, inputs: Any) -> Any:
        """The numbers of an input given as record, mapping or sequence."""
        if type(inputs) is np.ndarray and inputs.shape == (len(self._defaults),):
            return inputs.tolist()
        if isinstance(inputs, Mapping):
            return self._with_keywords(None, inputs)
        return record.flatten(record.build(self._Input, inputs))

    def run(
        self, controls: Any = None, *, duration: float | None = None, steps: int | None = None
    ) -> Trajectory:
        """Run from the present state and return what happened, outputs included.

        Args:
            controls: a function `controls(t, x)`, an array (T, nu) of one row per step, or one
                input (record, mapping) held throughout.
            duration: time to run in s, rounded to whole steps; or `steps`. An array needs neither.

        A controller that returns something unusable raises, with the simulator as it was before
        `run`. If the state diverges or a step fails, the trajectory up to there is returned, with
        the exception in `trajectory.error` and a warning.
        """
        count = self._step_count(controls, duration, steps)
        begin, waiting = self.time, None if self._line is None else self._line.snapshot()
        first = record.flatten(self.state)
        states, inputs, error = self._drive(controls, count)
        times = begin + self.dt * np.arange(len(states) + 1)
        rows = np.vstack([np.array([first]), states])
        held = np.vstack([inputs, inputs[-1:]]) if len(inputs) else self._no_inputs()
        acted = held if self._line is None else self._line.acting_rows(held, waiting)
        if error is not None:
            warnings.warn(f"run ended at t = {times[-1]:g} s: {error}", stacklevel=2)
        return Trajectory.from_arrays(
            times,
            states=(self.vehicle.State, rows),
            inputs=(self.vehicle.Input, held),
            outputs=(self.vehicle.model.Outputs, self._outputs_along(rows, acted)),
            name=self.vehicle.name,
            meta={"dt": self.dt, "integrator": self.integrator.name},
            error=error,
        )

    def _no_inputs(self) -> AnyArray:
        return np.array([record.flatten(self.input)])

    def _step_count(self, controls: Any, duration: float | None, steps: int | None) -> int:
        if duration is not None and steps is not None:
            raise InvalidValue(f"give duration or steps, not both (got {duration} s and {steps})")
        if duration is not None:
            if not (np.isfinite(duration) and duration >= 0.0):
                raise InvalidValue(f"duration = {duration} s must be finite and not negative")
            return round(duration / self.dt)
        if steps is not None:
            return whole("steps", steps, "not negative", least=0)
        if np.ndim(controls) == 2:
            return len(controls)
        raise InvalidValue("say how long to run: duration= in s, steps=, or an array (T, nu)")

    def _drive(self, controls: Any, count: int) -> tuple[AnyArray, AnyArray, SkidpadError | None]:
        """States after each step, inputs of each step, and the error that ended it early."""
        if not callable(controls):
            rows = self._rows(controls, count)
            if self._line is None:
                states, error = self._stepper.drive(rows)
            else:
                states, error = self._stepper.drive(self._line.acting_rows(rows))
                self._line.push_rows(rows[: len(states)])
            return states, rows[: len(states)], error
        reached: list[Any] = []
        inputs: list[Any] = []
        error = None
        start = self.snapshot()
        for _ in range(count):
            try:
                row = self._commanded(controls(self.time, self.state))
                state = self._advance(row)
            except InvalidValue:
                self.restore(start)
                raise
            except SkidpadError as failure:
                error = failure
                break
            reached.append(record.flatten(state))
            inputs.append(row)
        sizes = record.size(self.vehicle.State), record.size(self.vehicle.Input)
        return (
            np.array(reached, dtype=float).reshape(-1, sizes[0]),
            np.array(inputs, dtype=float).reshape(-1, sizes[1]),
            error,
        )

    def _rows(self, controls: Any, count: int) -> AnyArray:
        """Held or tabulated controls as (count, nu), checked."""
        size = len(self._defaults)
        if controls is None or isinstance(controls, (Mapping, self._Input)):
            controls = record.flatten(record.build(self._Input, controls))
        table = batch.numbers("controls", controls, batch.Space.of("cpu", self.precision))
        if table.shape == (size,):
            table = np.repeat(table[None], count, axis=0)
        if table.ndim != 2 or table.shape[1] != size or len(table) < count:
            raise InvalidValue(
                f"controls have shape {table.shape}; expected ({count}, {size}) with fields "
                f"{', '.join(self._positions)}"
            )
        if not np.isfinite(table).all():
            raise InvalidValue(batch.not_finite(self._Input, "controls", table[:, None]))
        batch.in_range(self._Input, "controls", table[:, None])
        return np.ascontiguousarray(table[:count])

    def outputs(self) -> Any:
        """Outputs at the present state under the input of the last step, an Outputs record."""
        before = record.flatten(self._stepper.previous_state)
        row = self._output_rows(
            np.array([record.flatten(self.state)]),
            np.array([before]),
            np.array([record.flatten(self.input)]),
        )
        return record.unflatten(self.vehicle.model.Outputs, row[0].tolist())

    def _outputs_along(self, states: AnyArray, inputs: AnyArray) -> AnyArray:
        """Outputs at each sample. At the first, the coming input applies; then the one that led
        there."""
        led_there = np.vstack([inputs[:1], inputs[:-1]])
        before = np.vstack([states[:1], states[:-1]])
        return self._output_rows(states, before, led_there)

    def _output_rows(self, states: AnyArray, before: AnyArray, inputs: AnyArray) -> AnyArray:
        if self._outputs is None:
            program = pipeline.outputs_program(self.vehicle)
            self._outputs = CpuMap(program, self.precision, 1)
        rest = (record.flatten(self.disturbance), record.flatten(self.vehicle.params))
        shared = (np.array([row]) for row in rest)
        given = [np.asarray(a, self.precision)[None] for a in (states, before, inputs, *shared)]
        return self._outputs.run(given, len(states))[0][0].astype(float)

    def snapshot(self) -> Any:
        """Everything needed to come back to this moment; see `restore`."""
        waiting = None if self._line is None else self._line.snapshot()
        return self._stepper.snapshot() if waiting is None else (self._stepper.snapshot(), waiting)

    def restore(self, snapshot: Any) -> None:
        """Return to the moment a snapshot of this simulator was taken; what follows has the same
        bits."""
        if self._line is None:
            self._stepper.restore(snapshot)
            return
        match snapshot:
            case (inner, Waiting() as waiting):
                self._stepper.restore(inner)
                self._line.restore(waiting)
            case _:
                raise foreign_snapshot()
