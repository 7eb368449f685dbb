"""Drives: a vehicle with its inputs or policy as an experiment, with metrics compiled in.

    drive = Drive(
        sp.vehicles.four_wheel(), duration=5.0, dt=0.001, x0={"v_x": 20.0},
        controls={"steer": 0.02},
        metrics={"slip": highest("abs(v_y) / v_x"), "end": last("y")},
        events={"left_lane": "abs(y) > 1.5"},
    )

No samples are stored: the metrics are accumulated along with the state. Random numbers are those of
`Fleet.monte_carlo`, bit for bit: run k of a drive equals run k of a Monte Carlo with the same seed.

    drive = LogDrive(vehicle, "lap.csv", metrics={"off": highest("hypot(x - log.x, y - log.y)")})

A `LogDrive` repeats a recorded run, from its start and with its commands, for comparison. The
columns of the log are named as in `skidpad.study.logs`: commands are `u_` and the name of the
input, measurements have plain names, and `names` maps other names. Commands from before the first
step, up to the longest dead time, are still pending when the run begins.

`setup_of` checks the settings of a drive and compiles it once; `rollout_kernel` runs it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from copy import copy
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import Any, get_type_hints
from uuid import uuid4

import numpy as np

from ..compile.cpu import RolloutArrays
from ..compile.lower import lower
from ..compile.program import Program
from ..core import record
from ..core.arrays import AnyArray, Array
from ..core.checks import instance_of, positive
from ..core.files import brief_repr
from ..core.lazy import RecentCache
from ..core.model import Constant, Vehicle, vehicle_of
from ..core.plausibility import warn_of_changes
from ..core.policy import Nothing, Policy
from ..errors import InvalidValue
from ..integrate.base import Integrator
from ..random.model import NoUncertainty, UncertaintyModel, checked_model
from ..random.streams import of_run
from ..run.monte_carlo import disturbance_of, noise_of, replay_run, step_count
from ..run.monte_carlo_runs import Experiment, input_rows
from ..run.trajectory import Trajectory
from .experiment import (
    FAILED,
    RUN,
    Column,
    ExperimentBase,
    Resources,
    Rows,
    Setting,
    blank_columns,
    plain,
)
from .identify.drives import reported
from .identify.replay import Guess, Replay, over_steps
from .logs.log import Log
from .logs.names import how_to_name
from .logs.preparation import SHORTEST_PERIOD, prepare
from .logs.reading import read_log
from .metrics import Fold, Quantity, happened
from .rollout_kernel import Common, Course, Driven, Loop, RowArrays, Strips

ENDED = "ended_at"
"""Name of the column with the end time of a drive with `until`."""


@dataclass(frozen=True)
class Setup:
    """A validated and compiled drive."""

    loop: Loop
    course: Course
    arrays: RowArrays
    folds: Mapping[str, Fold]
    """Metrics and events by column name."""
    pending: Array | None
    """Commands that are pending at the start, (rows, 1, n)."""

    @property
    def common(self) -> Common:
        """The settings that all runs share."""
        return self.arrays.common

    @cached_property
    def digests(self) -> dict[str, Any]:
        """Digests of Programs in IEEE operations, for the functions of the drive: its motion, the
        condition that ends it and each metric separately."""
        folding, runner = self.loop.folding, self.loop.runner

        def digest(program: Program) -> str:
            return lower(program, runner.settings.precision).digest

        return {
            "motion": digest(runner.plant.step),
            "until": digest(replace(folding, folds={}).closing),
            "metrics": {
                name: digest(replace(folding, folds={name: fold}).closing)
                for name, fold in folding.folds.items()
            },
        }

    @property
    def start(self) -> Any:
        """Start as a plain state with the named fields, or the model from which it is drawn."""
        x0 = self.common.x0
        if isinstance(x0, UncertaintyModel):
            return x0
        named = sorted(x0) if isinstance(x0, Mapping) else type(x0).__name__
        return {"state": list(record.flatten(record.build(self._State, x0))), "named": named}

    @property
    def _State(self) -> type:
        return self.arrays.base.plant.State

    def replayed(self, rows: Rows) -> Trajectory:
        """Repeat one run step by step."""
        ready = self.arrays.prepare(rows)
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
        return replay_run(experiment, run, of_run(rows.seed, run))


@dataclass(frozen=True, kw_only=True)
class _Repeated(Experiment):
    """Replays a finished run; skips the plausibility check."""

    before: Array | None
    """Commands that are pending at the start, (rows, 1, n)."""

    def _advanced(
        self, x: Array, u: Array, w: Array, params: AnyArray | None, pending: Array | None
    ) -> tuple[Array, Array | None]:
        return super()._advanced(x, u, w, params, self.before if pending is None else pending)

    def _check(self, x: Array, named: Mapping[str, Array] | None, params: AnyArray | None) -> None:
        pass


def setup_of(drive: Drive) -> Setup:
    """Check the settings of a drive and compile it."""
    vehicle = vehicle_of(drive.vehicle)
    folds = _folds(drive)
    policy = drive.policy
    if policy is None:
        of_policy = {"references": drive.references, "noise": drive.noise}
        for name, value in {**of_policy, "policy_params": drive.policy_params or None}.items():
            if value is not None:
                raise InvalidValue(f"{name} are for a policy, and there is none: give policy=")
    else:
        instance_of("policy", policy, Policy)
        if drive.controls is not None:
            raise InvalidValue("controls are for a drive without policy: give references=")
    driven = Driven(
        vehicle=vehicle,
        dt=drive.dt,
        integrator=drive.integrator,
        substeps=drive.substeps,
        precision=drive.precision,
        policy=policy,
        noisy=drive.noise is not None,
        Log=_log_record(vehicle, drive.log),
        folds=folds,
        until=drive.until,
    )
    loop = Loop(driven)
    log = {name: drive.log[name] for name in loop.folding.log_columns}
    if len(log) < len(drive.log):
        # A kernel reads all of its inputs at every step.
        loop = Loop(replace(driven, Log=_log_record(vehicle, log)))
    Reference = vehicle.model.Input if policy is None else policy.Reference
    inputs = _inputs(drive, loop, Reference)
    dt = loop.base.settings.dt
    steps = step_count(dt, drive.steps, drive.duration, inputs)
    for name, fold in folds.items():
        fold.check_time(name, steps, dt)
    plant = loop.base.plant
    disturbance = drive.disturbance
    if disturbance is not None:
        disturbance = disturbance_of(plant, disturbance)
    course = Course(steps, disturbance, noise_of(plant, drive.noise), _log(log, steps))
    common = Common(
        x0=_start(drive),
        memory=np.array(() if policy is None else record.flatten(record.build(policy.Memory))),
        inputs=inputs,
        params=_params(drive),
        disturbed=drive.disturbance is not None,
    )
    arrays = RowArrays(loop.runner, loop.base, Reference, common)
    return Setup(loop, course, arrays, folds, _pending(drive, loop))


def _folds(drive: Drive) -> dict[str, Fold]:
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
            raise InvalidValue(f"metric {name!r}: this name is not allowed for a column")
        if both.count(name) > 1:
            raise InvalidValue(f"{name!r} is both a metric and an event; a column has one name")
    return {**drive.metrics, **{name: happened(event) for name, event in drive.events.items()}}


def _inputs(drive: Drive, loop: Loop, Reference: type) -> Array:
    """Controls or references as (1 or steps, 1, n)."""
    values = drive.controls if drive.policy is None else drive.references
    rows = input_rows(loop.base if drive.policy is None else loop.runner, Reference, values)
    if rows.shape[1] != 1:
        raise InvalidValue(
            f"controls have shape {np.shape(values)}; allowed are one constant row, or a table "
            f"(steps, {rows.shape[2]}): values that differ between runs are factors"
        )
    if not np.isfinite(rows).all():
        raise InvalidValue("controls and references must be finite")
    return rows.astype(float)


def _pending(drive: Drive, loop: Loop) -> Array | None:
    if drive.pending is None:
        return None
    if not loop.runner.engines.channels:
        raise loop.base.no_dead_time()
    rows = np.asarray(drive.pending, dtype=float)
    if rows.ndim != 2:
        raise InvalidValue(f"pending has shape {rows.shape}; allowed is (rows, inputs)")
    return rows[:, None]


def _start(drive: Drive) -> Any:
    State = drive.vehicle.model.State
    if isinstance(drive.x0, UncertaintyModel):
        return checked_model("x0", drive.x0, record.names(State), "the state")
    record.build(State, drive.x0)
    # A copy, so that later changes by the caller change no run.
    return copy(drive.x0)


def _params(drive: Drive) -> dict[str, Any]:
    """Parameters by their names in the closed loop."""
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
                    f"params[{name!r}] has shape {np.shape(value)}: values that differ between "
                    "runs are factors"
                )
            named[before + name] = value
    return named


def _log_record(vehicle: Vehicle, log: Mapping[str, Any]) -> type | None:
    """Record class with the columns of a log, with the units of fields of the same names."""
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


MOST_RUNS = {"cpu": 16_384, "cuda": 262_144}
"""Largest number of runs in memory at a time, by device; a larger chunk is split."""
MOST_SETUPS = 16
"""Number of compiled drives that are cached."""


@dataclass(frozen=True, eq=False)
class Drive(ExperimentBase, Constant):
    """An experiment in which every run simulates one vehicle.

    Factors may be parameters of the vehicle (`m`, `tyres.D`) or of the policy (`policy.k_p`), start
    values (`x0.v_x`), constant controls or references (`input.steer`) and a constant disturbance
    (`disturbance.F_y`).
    """

    threaded = True
    growing = ("metrics", "metric_starts")

    vehicle: Vehicle
    _: KW_ONLY
    duration: float | None = None
    """Length of a run in s; alternatively `steps`, or a table of inputs."""
    steps: int | None = None
    dt: float = 0.001
    """Step in s."""
    integrator: str | Integrator = "auto"
    substeps: int | None = None
    precision: str = "float64"
    x0: Any = None
    """Start: a record, a mapping of names, a whole state (nx,), or an `UncertaintyModel`. If it
    is given by names, dependent fields are made consistent with the parameters of each run."""
    controls: Any = None
    """Constant inputs, a record or a mapping; or a table (steps, nu)."""
    pending: Any = None
    """Commands before the first step, oldest first, (rows, nu), for a model with dead time."""
    policy: Policy | None = None
    references: Any = None
    """References of the policy, in the forms of `controls`."""
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Parameters that replace those of the vehicle: numbers, or models of one number from which
    they are drawn for each run."""
    policy_params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Parameters that replace those of the policy: numbers or models, as `params`."""
    disturbance: UncertaintyModel | None = None
    """Uncertainty model of the Disturbance record, drawn from at every step."""
    noise: UncertaintyModel | None = None
    """Uncertainty model of the error in the state that the policy receives."""
    metrics: Mapping[str, Fold] = field(default_factory=dict[str, Fold])
    """Metrics by column name; see the module `metrics`."""
    events: Mapping[str, Quantity] = field(default_factory=dict[str, Quantity])
    """Conditions by column name; each column says whether its condition was ever met."""
    until: Quantity | None = None
    """Condition that ends a run at the first sample where it is met. That sample counts, and
    the vehicle stays there. The column `ended_at` has the time in s, NaN if it was never met."""
    log: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Series (steps + 1,) by name, which metrics may read as `log.NAME`."""
    _mark: str = field(default_factory=lambda: uuid4().hex, init=False, repr=False)

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        # Faults that prevent compiling are raised here, not in the first chunk.
        assert self._setup().loop.folding.update

    def _setup(self) -> Setup:
        """Compiled drive, shared by all chunks of this process."""
        return _SETUPS.get(None, self._mark, lambda: setup_of(self))

    def settings(self) -> dict[str, Setting]:
        """Units and ranges by factor name."""
        return {name: Setting.of(leaf) for name, leaf in self._setup().arrays.factors.items()}

    def columns(self) -> tuple[Column, ...]:
        """End time of the run, if there is `until`, then metrics and events."""
        setup = self._setup()
        records = setup.loop.folding.records
        named = [
            Column(name, fold.unit_for(records), fold.meaning, fold.kind)
            for name, fold in setup.folds.items()
        ]
        ended = Column(ENDED, "s", "time at which the run ended; NaN where it went on to the end")
        return (*([] if self.until is None else [ended]), *named)

    def check(self, ends: Mapping[str, tuple[float, float]]) -> None:
        """Raise for factors that are unknown or whose smallest or largest value is implausible."""
        setup = self._setup()
        for name in ends:
            setup.arrays.check_name(name)
        super().check(ends)
        table = _corners(ends)
        count = max(map(len, table.values()), default=1)
        ready = setup.arrays.prepare(Rows(np.arange(count), table, 0))
        names = record.names(setup.loop.runner.plant.Params)
        own = not any(name in names for name in (*ends, *setup.common.params))
        arrays = RolloutArrays(ready.x, ready.u, ready.w, ready.p)
        setup.loop.runner.plausible.check(arrays, own_params=own)
        if not own:
            params = self.vehicle.params
            rows = np.asarray(ready.p, float)[0, :, : len(record.flatten(params))]
            warn_of_changes(self.vehicle.name, self.vehicle.model.body, params, rows)

    def evaluate(self, rows: Rows, resources: Resources) -> dict[str, AnyArray]:
        """All columns, (n,) each, and `failed`: whether a state was not finite at some sample,
        because the run diverged or a step found no solution. In such a run numbers are NaN and
        truth values are false."""
        if not len(rows.runs):
            return blank_columns(self.columns(), 0, failed=False)
        most = MOST_RUNS.get(resources.device, MOST_RUNS["cpu"])
        whole = [
            self._part(rows.part(slice(begin, begin + most)), resources)
            for begin in range(0, len(rows.runs), most)
        ]
        return {name: np.concatenate([part[name] for part in whole]) for name in whole[0]}

    def _part(self, rows: Rows, resources: Resources) -> dict[str, AnyArray]:
        setup = self._setup()
        ready = setup.arrays.prepare(rows)
        strips = Strips(setup.course, setup.arrays, rows, ready, resources.threads)
        _, results, failed = setup.loop.run(ready.x, ready.p, strips, resources, setup.pending)
        kinds = {ENDED: "number", **{name: fold.kind for name, fold in setup.folds.items()}}
        out: dict[str, AnyArray] = {}
        for (name, kind), column in zip(kinds.items(), results.T, strict=True):
            if kind == "truth":
                out[name] = (column != 0.0) & np.isfinite(column) & ~failed
            else:
                out[name] = np.where(failed, np.nan, column)
        if self.until is None:
            del out[ENDED]
        return {**out, FAILED: failed}

    def replay(self, rows: Rows) -> Trajectory:
        """Repeat the single run of `rows` with its states, inputs, outputs and disturbances, up to
        its end."""
        run = self._setup().replayed(rows)
        if self.until is None:
            return run
        ended = float(self.evaluate(rows, Resources())[ENDED][0])
        return run if np.isnan(ended) else run[: round(ended / self.dt) + 1]

    def identity(self) -> dict[str, Any]:
        """Settings as plain values, and digests of Programs in IEEE operations for functions: the
        motion, and each metric separately."""
        setup = self._setup()
        plant, common = setup.loop.runner.plant, setup.common
        params = dict(zip(record.names(plant.Params), record.flatten(plant.params), strict=True))
        folding = setup.loop.folding
        return {
            "kind": "drive",
            "vehicle": plant.name,
            "integrator": plant.integrator,
            "dt": self.dt,
            "steps": setup.course.steps,
            "substeps": folding.substeps,
            "precision": self.precision,
            **setup.digests,
            "metric_starts": {name: plain(fold.start) for name, fold in folding.folds.items()},
            "params": plain({**params, **common.params}),
            "x0": plain(setup.start),
            "inputs": plain(common.inputs),
            "pending": plain(setup.pending),
            "disturbance": plain(self.disturbance),
            "noise": plain(self.noise),
            "log": plain(setup.course.log),
        }


_SETUPS: RecentCache[Setup] = RecentCache(MOST_SETUPS)
"""Compiled drives by `_mark`, the random identifier that is pickled along with a drive."""


def _corners(ends: Mapping[str, tuple[float, float]]) -> dict[str, AnyArray]:
    """Rows to check: all factors at their smallest, all at their largest value, and each one alone
    at either end with the others half-way."""
    count = 2 + 2 * len(ends)
    table: dict[str, AnyArray] = {}
    for k, (name, (low, high)) in enumerate(ends.items()):
        middle = low + 0.5 * (high - low)
        column = np.full(count, middle)
        column[:2] = low, high
        column[2 + 2 * k : 4 + 2 * k] = low, high
        table[name] = column
    return table


@dataclass(frozen=True, eq=False)
class LogDrive(ExperimentBase, Constant):
    """Runs of one vehicle with the commands of a log; metrics may use its columns as `log.NAME`.

    Factors may be parameters of the vehicle and fields of the start.
    """

    threaded = True
    growing = ("metrics", "metric_starts")

    vehicle: Vehicle
    log: str | os.PathLike[str] | Trajectory | Log
    """A file (.csv, .parquet, .mcap), a ROS 2 bag, or a Trajectory."""
    _: KW_ONLY
    names: Mapping[str, str] | None = None
    """Names by column of the log: `{"steer_cmd": "u_steer"}`."""
    dt: float | None = None
    """Largest step in s, reduced to an integer fraction of the log's period; None for the
    period."""
    integrator: str | Integrator = "auto"
    substeps: int | None = None
    precision: str = "float64"
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    disturbance: UncertaintyModel | None = None
    metrics: Mapping[str, Fold] = field(default_factory=dict[str, Fold])
    events: Mapping[str, Quantity] = field(default_factory=dict[str, Quantity])
    until: Quantity | None = None
    """Condition that ends a run, as in a `Drive`."""
    drive: Drive = field(init=False, repr=False)
    """The `Drive` that repeats the log."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        vehicle = vehicle_of(self.vehicle)
        log = reported(read_log(self.log, self.names))
        _check_commands(log, vehicle)
        drive = prepare(log, period=_period(log), without=AS_RECORDED)
        for line in drive.lines:
            if line.step in DOUBTFUL:
                warnings.warn(f"{drive.name}: {line.channel}: {line.text}", stacklevel=3)
        longest = drive.dt if self.dt is None else positive("dt", self.dt, "s")
        again = Replay(
            vehicle, drive, window=None, steer="commanded", speed="commanded", lead=0.0, dt=longest
        )
        begin = int(again.begins[0])
        late = again.late
        drive = Drive(
            vehicle,
            dt=again.dt,
            integrator=self.integrator,
            substeps=self.substeps,
            precision=self.precision,
            x0=again.start_states(Guess())[0],
            controls=_commands(again, begin, again.steps),
            pending=_commands(again, begin - late, late) if late else None,
            params=self.params,
            disturbance=self.disturbance,
            metrics=self.metrics,
            events=self.events,
            until=self.until,
            log=_columns(again),
        )
        object.__setattr__(self, "drive", drive)

    def settings(self) -> dict[str, Setting]:
        """Units and ranges by factor name."""
        return self.drive.settings()

    def columns(self) -> tuple[Column, ...]:
        """Columns of the `Drive`."""
        return self.drive.columns()

    def check(self, ends: Mapping[str, tuple[float, float]]) -> None:
        """Raise for factors that are unknown or whose smallest or largest value is implausible."""
        self.drive.check(ends)

    def evaluate(self, rows: Rows, resources: Resources) -> dict[str, AnyArray]:
        """All columns and `failed`, (n,) each."""
        return self.drive.evaluate(rows, resources)

    def replay(self, rows: Rows) -> Trajectory:
        """Repeat the single run of `rows` with its states, inputs, outputs and disturbances."""
        return self.drive.replay(rows)

    def identity(self) -> dict[str, Any]:
        """Identity of the drive, with the contents of the log rather than its path."""
        return self.drive.identity() | {"kind": "log drive"}


AS_RECORDED = ("repeats", "frozen", "spikes", "latency", "filter", "gravity", "imu")
"""Steps of the preparation that are left out: a repeated run is compared with what was recorded."""
DOUBTFUL = ("stamps", "gaps", "consistency")
"""Steps whose findings are warnings."""
OPTIONAL = ("gear", "slope")
"""Inputs that keep their default, DRIVE and level road, if the log lacks them."""


def _check_commands(log: Log, vehicle: Vehicle) -> None:
    """Raise InvalidValue for a log without a command of the vehicle."""
    leaves = {f"u_{leaf.name}": leaf for leaf in record.fields(vehicle.Input)}
    missing = [n for n, leaf in leaves.items() if n not in log and leaf.name not in OPTIONAL]
    if missing:
        named = ", ".join(f"{name} ({leaves[name].unit})" for name in missing)
        there = ", ".join(log.channels) or "no numbers"
        raise InvalidValue(
            f"{log.name} lacks columns that {vehicle.name} needs: {named}. It has {there}; "
            f"{how_to_name(missing[0], tuple(log.channels))}"
        )


def _period(log: Log) -> float | None:
    """Period of the fastest channel in s, if it is shorter than that of a preparation."""
    steps = [np.median(np.diff(one.t)) for one in log.channels.values() if len(one.t) > 1]
    fastest = float(min(steps, default=np.inf))
    return float(f"{fastest:.9g}") if fastest < SHORTEST_PERIOD else None


def _commands(again: Replay, row: int, rows: int) -> Array:
    """Inputs (rows times split, inputs) over the steps after a row of the log."""
    drive, leaves = again.drive, record.fields(again.vehicle.Input)
    times = drive.t[row] + again.dt * np.arange(rows * again.split + 1)
    table = np.tile(record.flatten(record.build(again.vehicle.Input)), (len(times) - 1, 1))
    for k, leaf in enumerate(leaves):
        if (series := drive.commands.get(f"u_{leaf.name}")) is not None:
            whole = leaf.allowed is not None and leaf.allowed.whole
            table[:, k] = over_steps(series, times, whole=whole)
    return table


def _columns(again: Replay) -> dict[str, Array]:
    """Channels of the log with plain names, interpolated linearly at the samples of the drive."""
    rows = again.rows[0]
    # By row numbers rather than times, so that a row keeps its bits.
    places, whole = np.arange((len(rows) - 1) * again.split + 1) / again.split, np.arange(len(rows))
    return {
        name: np.interp(places, whole, values[rows])
        for name, values in again.drive.channels.items()
        if name.isidentifier()
    }
