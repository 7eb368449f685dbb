"""Simulator: one vehicle in closed loop, a step of compiled code per call."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic

import numpy as np

from .. import record
from ..arrays import AnyArray
from ..checks import finite, positive_step, vehicle_of
from ..compile.plant import Plant
from ..errors import (
    InvalidValue,
    SimulationDiverged,
    SimulatorInUse,
    SkidpadError,
    StepNotConverged,
)
from ..integrate.base import Integrator
from ..integrate.scipy_ivp import ScipyMethod
from ..model import P, U, Vehicle, W, X, Y
from ..policy import Policy
from ..progress import Choice, Progress, watching
from ..trajectory.trajectory import Trajectory
from .asked_run import check_room, driven_again, masked, step_count
from .commands import FAR_BEYOND, Commands
from .delay_line import DelayLine, Waiting
from .failures import foreign_snapshot, not_numbers
from .output_rows import OutputRows
from .scipy_stepper import ScipyStepper
from .settings import Settings
from .stability import check_step, chosen
from .start import check_start, consistent
from .stepper import CompiledStepper

Numbers = Mapping[str, Any] | Sequence[float] | AnyArray | None
"""A record as its fields by name or its numbers in order; what is not given has its default."""
_STEPPING = -1
"""Who uses a simulator within a step; in a run it is the number of the thread."""

_READY = frozenset(
    [
        "_stepper",
        "_commands",
        "_line",
        "_row",
        "_advance",
        "_user",
        "_outputs",
        "_settled_start",
        "_longest_checked",
        "__orig_class__",
    ]
)
"""What a simulator makes for itself from its vehicle and its settings; and what `typing` notes of
its records, which may be classes that cannot be pickled."""


class Simulator(Generic[X, U, P, Y, W]):
    """Steps one vehicle. Time is in s, states and inputs are the vehicle's records.

    It is for one thread at a time: a call while another thread steps it raises `SimulatorInUse`.

    Args:
        vehicle: what to simulate.
        dt: step in s.
        integrator: "auto", which takes "rk4" where dt is short enough for it at every speed of
            the vehicle and else "radau"; one of these, ... or "scipy:RK45" and the like; see
            `skidpad.integrate.names()`. An explicit method is refused where its steps make the
            vehicle's modes grow at every speed, and warned about where they do at some.
        precision: "float64" or "float32", for compiled integrators.
        substeps: steps of the integrator within one step of dt, over which the input and what the
            model samples (`Model.hold`) stay constant; as the model says if None, mostly 1.
        on_diverge: what `run` does where the state becomes NaN or infinite or a step cannot be
            solved: "raise" the error, which carries the trajectory up to there and leaves the
            simulator as it was before; "return" that trajectory with a warning, the error in
            `trajectory.error`; or "mask" what comes after with NaN, as a `Fleet` does.
        **options: passed to the integrator, such as rtol and atol of a scipy method.
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
        self._integrator = chosen(
            self._vehicle, integrator, settings.dt, settings.substeps, **options
        )
        self._settings = settings.replace(integrator=self._integrator)
        self._get_ready()
        self.reset()

    def _get_ready(self) -> None:
        """Make what steps the vehicle."""
        vehicle, method, settings = self.vehicle, self.integrator, self._settings
        self._stepper: CompiledStepper | ScipyStepper
        if isinstance(method, ScipyMethod):
            if settings.substeps not in (None, 1):
                raise InvalidValue(
                    f"substeps = {settings.substeps} go with steps of one length; {method.name!r} "
                    "chooses its own"
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
        """For `pickle` and `copy`: how it steps, and this moment."""
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
        """What it steps."""
        return self._vehicle

    @property
    def dt(self) -> float:
        """Step in s; one of another length is `step(dt=...)`, another simulator has another."""
        return self._settings.dt

    @property
    def integrator(self) -> Integrator:
        """How a step is made."""
        return self._integrator

    @property
    def precision(self) -> str:
        """Of its numbers."""
        return self._settings.precision

    @property
    def state(self) -> X:
        """The present state, a State record."""
        return self._stepper.state

    @property
    def time(self) -> float:
        """Time since the last reset (plus the time it was reset to), in s."""
        return self._stepper.time

    @property
    def input(self) -> U:
        """The input that acted in the last step, an Input record; with dead time, an older one."""
        return self._stepper.input

    @property
    def disturbance(self) -> W:
        """The disturbance that acts, a Disturbance record; see `disturb`."""
        return self._stepper.disturbance

    def disturb(self, disturbance: W | Numbers = None, /, **fields: float) -> W:
        """Let a disturbance act from now on, also after a reset; what is not given is neutral.

        Returns the Disturbance record; `disturb()` ends it.
        """
        wanted = record.build(self.vehicle.model.Disturbance, disturbance, **fields)
        self._must_be_free()
        self._stepper.disturb(record.flatten(wanted))
        return self.disturbance

    def reset(self, state: X | Numbers = None, /, *, time: float = 0.0, **fields: Any) -> X:
        """Start again at a state given as record, mapping, array or keywords; the rest is zero.

        Returns the state. Fields that depend on others in this model are made consistent, and those
        in `Model.fills` filled where no name gives them; delayed commands are forgotten; see
        `Model.reset_keeps` for models that keep some of it.
        """
        model = self.vehicle.model
        start = record.build(model.State, state, base=self._settled_start, **fields)
        start = start._replace(
            **{n: getattr(self.state, n) for n in model.reset_keeps if n in start._fields}
        )
        time = finite("time", time, "s")
        check_start(self.vehicle, start)
        if model.settle is not None:
            whole = consistent(model, start, self.vehicle.params, state, fields)
            start = record.build(model.State, whole)
        self._must_be_free()
        self._stepper.reset(record.flatten(start), time)
        if self._line is not None and "pending" not in model.reset_keeps:
            self._line.restore(None)
        return self.state

    def step(self, inputs: U | Numbers = None, /, *, dt: float | None = None, **fields: float) -> X:
        """One step with the input held; returns the new State record.

        The input is an Input record, a mapping, an array, or keywords; fields that are not given
        are zero, and a keyword goes before what the record says of its field. The step takes the
        simulator's dt, or this one in s. A rejected input leaves the simulator as it was.
        """
        row = self._commands.with_fields(inputs, fields) if fields else self._row(inputs)
        user = self._user
        # Python changes threads and answers signals at calls and in loops: none comes between.
        if user is not None and user != threading.get_ident():
            raise self._in_use()
        self._user = _STEPPING
        try:
            return self._advance(row) if dt is None else self._step_of(row, dt)
        finally:
            self._user = user

    def _guarded_step(self) -> Callable[[Any], Any]:
        """One step of a model whose inputs act at once, at most one of them an angle that may be a
        mistake: as few operations as that takes."""
        step, check, angles = self._stepper.step, self._commands.check_ranges, self._commands.angles
        if len(angles) != 1:
            return self._checked_step if angles else step
        (angle,) = angles
        place, most = angle.place, FAR_BEYOND * angle.end

        def advance(row: Any) -> Any:
            try:
                fine = -most <= row[place] <= most
            except (TypeError, IndexError):  # said by the step
                fine = True
            if not fine:
                check(row)
            return step(row)

        return advance

    def _checked_step(self, row: Any) -> Any:
        """One step of a model whose inputs have ranges or act late."""
        self._commands.check_ranges(row)
        return self._stepper.step(self._acting(row, 1.0))

    def _step_of(self, row: Any, dt: float) -> Any:
        """One step of another length."""
        dt = positive_step(dt, self.precision)
        if dt > self._longest_checked:
            check_step(self.vehicle, self.integrator, dt, self._settings.substeps or 1)
            self._longest_checked = dt
        # Some models count updates, whatever their length.
        age = 1.0 if self.vehicle.model.dead_time_rule == "nearest" else dt / self.dt
        self._commands.check_ranges(row)
        return self._stepper.step_of(self._acting(row, age), dt, age)

    def _acting(self, row: Any, age: float) -> Any:
        """The numbers that act if these are commanded now, in a step that counts as so many."""
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
        """Run from the present state and return what happened, outputs included.

        Args:
            controls: a function `controls(t, x)`, a policy, an array (T, nu) of one row per step,
                one input (record, mapping) held throughout, or a trajectory whose steps are driven
                again. A policy starts with the memory and the reference that it has by default;
                `Policy.controller` takes others.
            duration: time to run in s, a whole number of steps; or `steps`. An array or a
                trajectory needs neither.
            progress: how far it is: None, True, False or a function, see `skidpad.progress`.

        A controller that raises or returns something unusable, and an interrupt such as Ctrl-C,
        leave the simulator as it was before `run`. If the state diverges or a step fails, what
        comes of it is up to `on_diverge`.
        """
        if isinstance(controls, Policy):
            controls = controls.controller(self.dt)
        if isinstance(controls, Trajectory):
            controls = driven_again(controls, self.vehicle, self.dt)
        count = step_count(controls, self.dt, duration, steps)
        check_room(self.vehicle, count)
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
        held = np.vstack([inputs, inputs[-1:]]) if len(inputs) else self._no_inputs()
        acted = held
        if self._line is not None and waiting is not None:
            acted = self._line.acting_rows(held, waiting, clock)
        outputs = self._outputs.along(rows, acted, self.disturbance)
        if error is not None and self._settings.on_diverge == "mask":
            times = begin + self.dt * np.arange(count + 1)
            rows, held, outputs = (masked(part, count + 1) for part in (rows, held, outputs))
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
        """Raise what ended a run early, or warn."""
        if self._settings.on_diverge == "raise":
            if isinstance(error, (SimulationDiverged, StepNotConverged)):
                error.trajectory = trajectory
            raise error
        if self._settings.on_diverge == "return":
            warnings.warn(f"run ended at t = {trajectory.t[-1]:g} s: {error}", stacklevel=4)

    def _no_inputs(self) -> AnyArray:
        return np.array([record.flatten(self.input)])

    def _drive_table(
        self, controls: Any, count: int, watch: Progress
    ) -> tuple[AnyArray, AnyArray, SkidpadError | None]:
        """States after each step (T, nx), inputs of each step (T, nu), and the error that ended it
        early, for controls that are held or one per step."""
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
        """The same for a controller."""
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
        """Outputs at the present state under the input of the last step, an Outputs record."""
        moment = (self.state, self._stepper.previous_state, self.input)
        state, before, held = (np.array([record.flatten(part)]) for part in moment)
        row = self._outputs.at(state, before, held, self.disturbance)
        return record.unflatten(self.vehicle.model.Outputs, row[0].tolist())

    def _waiting(self) -> Waiting | None:
        """The delayed commands that have not acted yet; None if nothing is delayed."""
        return None if self._line is None else self._line.waiting(self._stepper.age)

    def snapshot(self) -> Any:
        """Everything needed to come back to this moment; see `restore`."""
        waiting = self._waiting()
        return self._stepper.snapshot() if waiting is None else (self._stepper.snapshot(), waiting)

    def restore(self, snapshot: Any) -> None:
        """Return to the moment a snapshot of this simulator was taken; what follows has the same
        bits."""
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

    def _in_use(self) -> SimulatorInUse:
        return SimulatorInUse(
            "this simulator is in use by another thread: take one simulator for each thread, or a "
            "lock around the calls of this one"
        )
