"""From the settings of a drive to what runs it: checked, and compiled once."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, get_type_hints

import numpy as np

from .. import record
from ..arrays import AnyArray, Array
from ..checks import must_be_policy, steps_in, vehicle_of, whole
from ..compile.lower import lower
from ..compile.program import Program
from ..errors import InvalidValue
from ..model import Vehicle
from ..policy import Nothing
from ..random import NoUncertainty, UncertaintyModel
from ..random.model import checked_model
from ..random.seeds import of_run
from ..run.monte_carlo.experiment import Experiment, input_rows
from ..run.monte_carlo.result import replayed
from ..trajectory.trajectory import Trajectory
from .drive_loop import Driven, Loop
from .drive_rows import Common, RowArrays
from .drive_settings import DriveSettings
from .drive_strips import Course
from .experiment import FAILED, RUN, Rows
from .folds import Fold, happened

ENDED = "ended_at"
"""Column of a drive with `until`."""


class Digests(NamedTuple):
    """Of Programs in IEEE operations, which stand for the functions of a drive."""

    motion: str
    until: str
    """When a run ends."""
    metrics: Mapping[str, str]
    """Of each alone."""


@dataclass(frozen=True)
class Setup:
    """A drive, ready to run."""

    loop: Loop
    course: Course
    arrays: RowArrays
    folds: Mapping[str, Fold]
    """Metrics and events."""
    pending: Array | None
    """Commands before the first ones, (rows, 1, n)."""

    @property
    def common(self) -> Common:
        """What all runs have in common."""
        return self.arrays.common

    @cached_property
    def digests(self) -> Digests:
        """Which functions it has, lowered once: plans ask for them again and again."""
        folding, runner = self.loop.folding, self.loop.runner

        def digest(program: Program) -> str:
            return lower(program, runner.settings.precision).digest

        return Digests(
            digest(runner.plant.step),
            digest(replace(folding, folds={}).closing),
            {
                name: digest(replace(folding, folds={name: fold}).closing)
                for name, fold in folding.folds.items()
            },
        )

    @property
    def start(self) -> Any:
        """The start as a plain state and the fields that were named, or what it is drawn from."""
        x0 = self.common.x0
        if isinstance(x0, UncertaintyModel):
            return x0
        named = sorted(x0) if isinstance(x0, Mapping) else type(x0).__name__
        return {"state": list(record.flatten(record.build(self._State, x0))), "named": named}

    @property
    def _State(self) -> type:
        return self.arrays.base.plant.State

    def replayed(self, rows: Rows) -> Trajectory:
        """One run again, step by step."""
        ready = self.arrays.prepared(rows)
        n = record.size(self._State)
        names = record.names(self.loop.runner.plant.Params)
        dim = ready.w.shape[2]
        held = NoUncertainty(dim, nominal_value=ready.w[0, 0])
        experiment = _Repeated(
            runner=self.loop.runner,
            vehicle_states=n,
            steps=self.course.steps,
            seed=rows.seed,
            start=ready.x[0, :1, :n],
            memory=self.common.memory,
            inputs=ready.u[:, :1],
            params={name: ready.p[0, :1, k] for k, name in enumerate(names)},
            disturbance=self.course.disturbance or held,
            noise=self.course.noise,
            before=self.pending,
        )
        run = int(rows.runs[0])
        return replayed(experiment, run, of_run(rows.seed, run))


@dataclass(frozen=True, kw_only=True)
class _Repeated(Experiment):
    """A run that was done already, so that it need not be looked at whether it can be meant."""

    before: Array | None
    """Commands before the first ones, (rows, 1, n)."""

    def _advanced(
        self, x: Array, u: Array, w: Array, params: AnyArray | None, pending: Array | None
    ) -> tuple[Array, Array | None]:
        return super()._advanced(x, u, w, params, self.before if pending is None else pending)

    def _check(self, x: Array, named: Mapping[str, Array] | None, params: AnyArray | None) -> None:
        pass


def setup_of(drive: DriveSettings) -> Setup:
    """The drive, checked."""
    vehicle = vehicle_of(drive.vehicle)
    folds = _folds(drive)
    _check_driver(drive)
    driven = Driven(
        vehicle=vehicle,
        dt=drive.dt,
        integrator=drive.integrator,
        substeps=drive.substeps,
        precision=drive.precision,
        policy=drive.policy,
        noisy=drive.noise is not None,
        Log=_log_record(vehicle, drive.log),
        folds=folds,
        until=drive.until,
    )
    loop = Loop(driven)
    log = {name: drive.log[name] for name in loop.folding.log_columns}
    if len(log) < len(drive.log):
        # A kernel reads all that it is given, at every step.
        loop = Loop(replace(driven, Log=_log_record(vehicle, log)))
    Told = vehicle.model.Input if drive.policy is None else drive.policy.Reference
    inputs = _inputs(drive, loop, Told)
    steps = _steps(drive, inputs)
    for name, fold in folds.items():
        fold.check_time(name, steps, loop.base.settings.dt)
    course = Course(steps, _disturbance(drive), _noise(drive), _log(log, steps))
    common = Common(
        x0=_start(drive),
        memory=_memory(drive),
        inputs=inputs,
        params=_params(drive),
        disturbed=drive.disturbance is not None,
    )
    return Setup(
        loop, course, RowArrays(loop.runner, loop.base, Told, common), folds, _pending(drive, loop)
    )


def _folds(drive: DriveSettings) -> dict[str, Fold]:
    for what, named in (("metrics", drive.metrics), ("events", drive.events)):
        if not isinstance(named, Mapping):
            raise InvalidValue(f"{what} = {named!r} must be a mapping by name")
    for name, fold in drive.metrics.items():
        if not isinstance(fold, Fold):
            raise InvalidValue(
                f"metric {name!r} = {fold!r} must be a Fold, such as highest('abs(v_y)')"
            )
    both = [*drive.metrics, *drive.events]
    for name in both:
        if not isinstance(name, str) or not name.strip() or name in (RUN, FAILED, ENDED):
            raise InvalidValue(f"metric {name!r}: a column must have a name, and not this one")
        if both.count(name) > 1:
            raise InvalidValue(f"{name!r} is both a metric and an event; a column has one name")
    return {**drive.metrics, **{name: happened(event) for name, event in drive.events.items()}}


def _check_driver(drive: DriveSettings) -> None:
    if drive.policy is None:
        for name in ("references", "noise"):
            if getattr(drive, name) is not None:
                raise InvalidValue(f"{name} are for a policy, and there is none: give policy=")
        if drive.policy_params:
            raise InvalidValue("policy_params are for a policy, and there is none: give policy=")
        return
    must_be_policy(drive.policy)
    if drive.controls is not None:
        raise InvalidValue("controls are for a drive without policy: give references=")


def _inputs(drive: DriveSettings, loop: Loop, Told: type) -> Array:
    """Controls or references as (1 or steps, 1, n)."""
    values = drive.controls if drive.policy is None else drive.references
    rows = input_rows(loop.base if drive.policy is None else loop.runner, Told, values)
    if rows.shape[1] != 1:
        raise InvalidValue(
            f"controls have shape {np.shape(values)}; allowed are one row held, or a table "
            f"(steps, {rows.shape[2]}): what differs between runs is a factor"
        )
    if not np.isfinite(rows).all():
        raise InvalidValue("controls and references must be finite")
    return rows.astype(float)


def _pending(drive: DriveSettings, loop: Loop) -> Array | None:
    if drive.pending is None:
        return None
    if not loop.runner.engines.channels:
        raise loop.base.no_dead_time()
    rows = np.asarray(drive.pending, dtype=float)
    if rows.ndim != 2:
        raise InvalidValue(f"pending has shape {rows.shape}; allowed is (rows, inputs)")
    return rows[:, None]


def _steps(drive: DriveSettings, inputs: Array) -> int:
    counts = {len(inputs)} if len(inputs) > 1 else set[int]()
    if drive.duration is not None:
        counts.add(steps_in(drive.duration, drive.dt))
    if drive.steps is not None:
        counts.add(whole("steps", drive.steps, "at least 1"))
    if len(counts) != 1 or min(counts) < 1:
        listed = " and ".join(map(str, sorted(counts))) or "none given"
        raise InvalidValue(
            f"number of steps: {listed}; say one, at least 1, with steps=, duration= in s, or a "
            "table of inputs"
        )
    return counts.pop()


def _start(drive: DriveSettings) -> Any:
    State = drive.vehicle.model.State
    if isinstance(drive.x0, UncertaintyModel):
        return checked_model("x0", drive.x0, record.names(State), "the state")
    record.build(State, drive.x0)
    # A copy: whoever changes what he gave changes no run.
    return copy(drive.x0)


def _memory(drive: DriveSettings) -> Array:
    if drive.policy is None:
        return np.empty(0)
    return np.array(record.flatten(record.build(drive.policy.Memory)), dtype=float)


def _params(drive: DriveSettings) -> dict[str, Any]:
    """Parameters by the names that they have in the loop."""
    own = drive.policy.Params if drive.policy is not None else Nothing
    named: dict[str, Any] = {}
    for before, kind, values in (
        ("", drive.vehicle.model.Params, drive.params),
        ("policy.", own, drive.policy_params),
    ):
        for name, value in values.items():
            if name not in record.names(kind):
                raise InvalidValue(
                    record.unknown_name(f"{before or 'vehicle.'}params", name, record.names(kind))
                )
            if isinstance(value, UncertaintyModel) and value.dim != 1:
                raise InvalidValue(f"params[{name!r}] has {value.dim} numbers; allowed is one")
            if not isinstance(value, UncertaintyModel) and np.ndim(value):
                raise InvalidValue(
                    f"params[{name!r}] has shape {np.shape(value)}: what differs between runs is "
                    "a factor"
                )
            named[before + name] = value
    return named


def _disturbance(drive: DriveSettings) -> UncertaintyModel | None:
    if drive.disturbance is None:
        return None
    kind = drive.vehicle.model.Disturbance
    if not record.size(kind):
        raise InvalidValue(
            f"{drive.vehicle.name!r} takes no disturbance; `skidpad.with_disturbance(vehicle)` "
            "makes a vehicle that takes one on the rate of every state"
        )
    what = f"the disturbance of {drive.vehicle.name!r}"
    return checked_model("disturbance", drive.disturbance, record.names(kind), what)


def _noise(drive: DriveSettings) -> UncertaintyModel | None:
    if drive.noise is None:
        return None
    State = drive.vehicle.model.State
    checked_model("noise", drive.noise, record.names(State), "the state").check_state(State)
    return drive.noise


def _log_record(vehicle: Vehicle, log: Mapping[str, Any]) -> type | None:
    """The record of the columns of a log, with the units of fields of the same names."""
    if not log:
        return None
    for name in log:
        if not isinstance(name, str) or not name.isidentifier():
            raise InvalidValue(f"log column {name!r} must be a name such as 'v_x'")
    model = vehicle.model
    known = get_type_hints(model.State, include_extras=True)
    inputs = get_type_hints(model.Input, include_extras=True)
    known |= {f"u_{name}": hint for name, hint in inputs.items()}
    hints = {name: known.get(name, float) for name in log}
    hints = {n: float if record.is_record_type(hint) else hint for n, hint in hints.items()}
    return record.define("Log", hints, doc="Columns of a log.")


def _log(log: Mapping[str, Any], steps: int) -> Array | None:
    """The columns of a log as (steps + 1, columns)."""
    if not log:
        return None
    columns = [np.asarray(values, dtype=float) for values in log.values()]
    for name, column in zip(log, columns, strict=True):
        if column.shape != (steps + 1,):
            raise InvalidValue(
                f"log[{name!r}] has shape {column.shape}; a run of {steps} steps has "
                f"{steps + 1} samples"
            )
        if not np.isfinite(column).all():
            raise InvalidValue(f"log[{name!r}] must be finite")
    return np.stack(columns, axis=1)
