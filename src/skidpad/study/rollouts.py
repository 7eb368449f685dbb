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

Factors may be parameters of the vehicle (`m`, `tyres.D`) or of its policy (`policy.k_p`), fields of
the start state (`x0.v_x`), of constant controls or references (`input.steer`) and of a constant
disturbance (`disturbance.F_y`).

`setup_of` checks the settings of a drive and compiles it once. A `Setup` turns rows of a campaign
into arrays: parameters, start states, inputs and disturbances. `Strips` cuts a run into pieces that
the compiled loop of `rollout_kernel` runs at once.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from copy import copy
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, NoReturn, get_type_hints
from uuid import uuid4

import numpy as np

from ..compile.cpu import RolloutArrays
from ..core import record
from ..core.arrays import AnyArray, Array, ArrayNumber
from ..core.checks import instance_of, positive
from ..core.files import brief_repr
from ..core.lazy import RecentCache
from ..core.model import Constant, Vehicle, vehicle_of
from ..core.plausibility import warn_of_changes
from ..core.policy import Nothing, Policy
from ..core.record import Field
from ..errors import InvalidValue
from ..integrate.base import Integrator
from ..random.model import NoUncertainty, UncertaintyModel, checked_model, draw_sample
from ..random.streams import Draw, of_run
from ..run import arguments
from ..run.arguments import consistent_rows, make_consistent, record_of_rows
from ..run.monte_carlo import (
    Experiment,
    disturbance_of,
    input_rows,
    noise_of,
    replay_run,
    step_count,
)
from ..run.runner import Settings
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
from .logs.preparation import SHORTEST_PERIOD, prepare
from .logs.reading import read_log
from .logs.units import how_to_name
from .metrics import Fold, Quantity, happened
from .rollout_kernel import Loop, Strip

ENDED = "ended_at"
"""Name of the column with the end time of a drive with `until`."""


X0, INPUT, DISTURBANCE = "x0.", "input.", "disturbance."


class Prepared(NamedTuple):
    """Arrays of runs that are ready to start, in host memory."""

    x: Array
    """States of the vehicle, then the memory of its policy, (1, runs, n)."""
    p: Array
    """Parameters of the vehicle, then those of its policy, (1, 1 or runs, n)."""
    u: Array
    """Controls or references, (1 or steps, 1 or runs, n)."""
    w: Array
    """Constant disturbances, (1, 1 or runs, n)."""


@dataclass(frozen=True)
class Setup:
    """A validated and compiled drive; makes the arrays of its runs."""

    loop: Loop
    Reference: type
    """Record class of `inputs`: the input of the vehicle, or the reference of its policy."""
    steps: int
    x0: Any
    """Start state: a record, a mapping, an array (n,), or an `UncertaintyModel`."""
    memory: Array
    """Initial memory of the policy, (n,)."""
    inputs: Array
    """Controls or references, (1 or steps, 1, n)."""
    params: Mapping[str, Any]
    """Parameters of vehicle and policy by name: numbers, or models to draw them from."""
    disturbance: UncertaintyModel | None
    """Model of the disturbances at every step; None if they are constant."""
    noise: UncertaintyModel | None
    log: Array | None
    """Columns of the log, (steps + 1, columns)."""
    pending: Array | None
    """Commands that are pending at the start, (rows, 1, n)."""

    @property
    def folds(self) -> Mapping[str, Fold]:
        """Metrics and events by column name."""
        return self.loop.folding.folds

    @cached_property
    def factors(self) -> dict[str, Field]:
        """Fields that factors set, by factor name."""
        plant = self.loop.runner.plant
        pairs = zip(record.names(plant.Params), record.flatten(plant.params), strict=True)
        # Values between two indices of shared arrays are meaningless.
        arrays = [name for name, value in pairs if isinstance(value, ArrayNumber)]
        return {
            prefix + leaf.name: leaf
            for prefix, kind, closed in self._groups
            if not closed
            for leaf in record.fields(kind)
            if prefix + leaf.name not in arrays
        }

    @property
    def _groups(self) -> list[tuple[str, type, str]]:
        """Prefix and record class of each group of factors, and the reason why the group cannot be
        used, or an empty text."""
        plant = self.loop.base.plant
        drawn = "starts are drawn from x0, an uncertainty model"
        table = "the inputs are a table with a row per step; hold them to vary one"
        disturbed = "disturbances are drawn at every step; give no model to hold one"
        return [
            ("", self.loop.runner.plant.Params, ""),
            (X0, plant.State, drawn if isinstance(self.x0, UncertaintyModel) else ""),
            (INPUT, self.Reference, table if len(self.inputs) > 1 else ""),
            (DISTURBANCE, plant.Disturbance, "" if self.disturbance is None else disturbed),
        ]

    def check_name(self, name: str) -> None:
        """Raise for an unknown factor, suggesting the nearest name, and for one that is not
        allowed."""
        if name in self.factors:
            return
        for prefix, _, closed in self._groups:
            if closed and name.startswith(prefix):
                raise InvalidValue(f"factor {name!r}: {closed}")
        raise InvalidValue(record.unknown_name("the drive", name, tuple(self.factors), "factor"))

    def prepare(self, rows: Rows) -> Prepared:
        for name in rows.factors:
            self.check_name(name)
        p = self._params(rows)
        return Prepared(
            self._starts(rows, p),
            p,
            self._held(self.Reference, "inputs", self.inputs, INPUT, rows),
            self._disturbances(rows),
        )

    def _params(self, rows: Rows) -> Array:
        plant, count = self.loop.runner.plant, len(rows.runs)
        columns: dict[str, Any] = {}
        for name, source in self.params.items():
            if isinstance(source, UncertaintyModel):
                draw = self.draw(rows, f"params.{name}")
                source = draw_sample(source, draw, source.start(count))[0][:, 0]
            columns[name] = source
        names = record.names(plant.Params)
        columns |= {name: value for name, value in rows.factors.items() if name in names}
        space = arguments.Space.of("cpu", self.loop.base.settings.precision)
        p = arguments.parameters(plant.Params, plant.params, columns or None, space)
        same = p.shape[1] > 1 and not any(np.ndim(c) for c in columns.values())
        return p[:, :1] if same else p

    def _starts(self, rows: Rows, p: Array) -> Array:
        plant, count, x0 = self.loop.base.plant, len(rows.runs), self.x0
        own = p[:, :, : record.size(plant.Params)]
        if isinstance(x0, UncertaintyModel):
            states, _ = draw_sample(x0, self.draw(rows, "start"), x0.start(count))
            states = consistent_rows(plant, states, own)
        else:
            states = self._start_by_name(rows, own)
        states = arguments.finite(
            plant.State, "x0", np.broadcast_to(states, (1, count, states.shape[-1]))
        )
        memory = np.broadcast_to(self.memory, (1, count, self.memory.size))
        return np.concatenate([states, memory], axis=2)

    def _start_by_name(self, rows: Rows, own: Array) -> AnyArray:
        """Start states (1 or runs, n) with fields that are factors; dependent fields are made
        consistent with the parameters of each run, unless the start is given as a whole state
        array."""
        State, x0 = self.loop.base.plant.State, self.x0
        chosen = _of_prefix(rows.factors, X0)
        start = record.build(State, x0)
        values = dict(zip(record.names(State), record.flatten(start), strict=True)) | chosen
        if x0 is None or isinstance(x0, (Mapping, State)):
            whole = record.unflatten(State, list(values.values()))
            params = record_of_rows(self.loop.base.plant.Params, own)
            whole = make_consistent(self.loop.base.plant, whole, params, x0, tuple(chosen))
            values = dict(zip(record.names(State), record.flatten(whole), strict=True))
        table = np.stack(np.broadcast_arrays(*values.values()), axis=-1)
        return arguments.in_range(State, "x0", np.atleast_2d(table)[None])[0]

    def _held(self, kind: type, what: str, base: Array, prefix: str, rows: Rows) -> Array:
        """Constant rows (1, 1 or runs, n) with fields that are factors."""
        chosen = _of_prefix(rows.factors, prefix)
        if not chosen:
            return base
        table = np.repeat(base, len(rows.runs), axis=1)
        for name, values in chosen.items():
            table[0, :, record.names(kind).index(name)] = values
        return arguments.in_range(kind, what, arguments.finite(kind, what, table))

    def _disturbances(self, rows: Rows) -> Array:
        kind = self.loop.base.plant.Disturbance
        neutral = np.array(record.flatten(record.build(kind)), dtype=float).reshape(1, 1, -1)
        return self._held(kind, "disturbance", neutral, DISTURBANCE, rows)

    def draw(self, rows: Rows, channel: str, threads: int | None = None) -> Draw:
        """Random numbers of these runs at the first step, as in `Fleet.monte_carlo`."""
        dt = self.loop.base.settings.dt
        return Draw(rows.seed, channel, rows.runs, 0, dt, threads=threads)

    def replay(self, rows: Rows) -> Trajectory:
        """Repeat the single run of `rows` step by step."""
        ready = self.prepare(rows)
        n = record.size(self.loop.base.plant.State)
        names = record.names(self.loop.runner.plant.Params)
        held = NoUncertainty(ready.w.shape[2], nominal_value=ready.w[0, 0])
        experiment = _Repeated(
            runner=self.loop.runner,
            vehicle_states=n,
            steps=self.steps,
            seed=rows.seed,
            start=ready.x[0, :1, :n],
            memory=self.memory,
            inputs=ready.u[:, :1],
            params={name: ready.p[0, :1, k] for k, name in enumerate(names)},
            disturbance=self.disturbance or held,
            noise=self.noise,
            before=self.pending,
        )
        run = int(rows.runs[0])
        return replay_run(experiment, run, of_run(rows.seed, run))


def _of_prefix(factors: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    """Values of the factors with a prefix, by name without the prefix."""
    size = len(prefix)
    return {name[size:]: np.asarray(v) for name, v in factors.items() if name.startswith(prefix)}


@dataclass(frozen=True, kw_only=True)
class _Repeated(Experiment):
    """Repeats a finished run, without checking again whether its numbers are plausible."""

    before: Array | None
    """Commands that are pending at the start, (rows, 1, n)."""

    def _advanced(
        self, x: Array, u: Array, w: Array, params: AnyArray | None, pending: Array | None
    ) -> tuple[Array, Array | None]:
        return super()._advanced(x, u, w, params, self.before if pending is None else pending)

    def _check(self, x: Array, named: Mapping[str, Array] | None, params: AnyArray | None) -> None:
        pass


MOST_NUMBERS = 4_000_000
"""Largest number of values in the arrays of a strip: 32 MB."""
LONGEST = 1024
"""Largest number of steps in a strip with random numbers."""


class Strips:
    """Cuts a run into strips of steps with their inputs, columns of the log and random numbers.

    Call it with the states (runs, n) for the next strip. Disturbances and noise of many steps are
    drawn in advance, so that one call of the kernel runs them all; for a model that reads the
    states of the runs, a strip is one step.
    """

    def __init__(self, setup: Setup, rows: Rows, prepared: Prepared, threads: int | None) -> None:
        self._setup, self._prepared = setup, prepared
        models = {"disturbance": setup.disturbance, "noise": setup.noise}
        self._models = {name: model for name, model in models.items() if model is not None}
        self._draws = {name: setup.draw(rows, name, threads) for name in self._models}
        count = len(rows.runs)
        self._memory = {name: model.start(count) for name, model in self._models.items()}
        self._done, self._longest = 0, setup.steps
        u, w = prepared.u, prepared.w
        if self._models or (setup.log is not None and u.shape[1] > 1):
            noise = 0 if setup.noise is None else setup.noise.dim
            width = max(u.shape[2] + w.shape[2] + noise, 1)
            self._longest = max(1, min(LONGEST, MOST_NUMBERS // (count * width)))

    def __call__(self, states: Array) -> Strip | None:
        """Next strip; None at the end."""
        setup, begin = self._setup, self._done
        if begin == setup.steps:
            return None
        steps = min(self._longest, setup.steps - begin)
        try:
            drawn = self._drawn(steps, _AHEAD if steps > 1 else states)
        except _StatesNeeded:
            self._longest = steps = 1
            drawn = self._drawn(steps, states)
        self._done = end = begin + steps
        _, _, u, w = self._prepared
        u = _joined(u if len(u) == 1 else u[begin:end], drawn.get("noise"))
        last = u[-1:]
        if setup.log is not None:
            last = _joined(last, setup.log[None, end : end + 1])
            u = _joined(u, setup.log[begin:end, None])
        return Strip(steps, u, drawn.get("disturbance", w), last)

    def _drawn(self, steps: int, states: Any) -> dict[str, Array]:
        """Random rows (steps, runs, n) by name; `states` are known only if `steps` is 1."""
        memory, table = dict(self._memory), {name: list[Array]() for name in self._models}
        for step in range(self._done, self._done + steps):
            for name, model in self._models.items():
                draw = self._draws[name].at(step)
                numbers, memory[name] = draw_sample(model, draw, memory[name], states)
                table[name].append(numbers)
        self._memory = memory
        return {name: np.stack(numbers) for name, numbers in table.items()}


def _joined(a: Array, b: Array | None) -> Array:
    """Concatenates the fields of two arrays (1 or steps, 1 or runs, field)."""
    if b is None:
        return a
    outer = np.broadcast_shapes(a.shape[:2], b.shape[:2])
    return np.concatenate(
        [np.broadcast_to(part, (*outer, part.shape[2])) for part in (a, b)], axis=2
    )


class _StatesNeeded(Exception):
    """A model read the states of the runs, which are not known in advance."""


class _Ahead:
    """Placeholder for states that are not yet known; any use of it raises `_StatesNeeded`."""

    def _needed(self, *_: Any, **__: Any) -> NoReturn:
        raise _StatesNeeded

    __getattr__ = __getitem__ = __len__ = __iter__ = __bool__ = __float__ = _needed
    __array__ = __array_ufunc__ = __array_function__ = __eq__ = __ne__ = _needed
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _needed
    __truediv__ = __rtruediv__ = __neg__ = __lt__ = __gt__ = __abs__ = _needed
    __hash__ = object.__hash__


_AHEAD: Any = _Ahead()


def setup_of(drive: Drive) -> Setup:
    """Check the settings of a drive and compile it."""
    vehicle = vehicle_of(drive.vehicle)
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
    folds = {**drive.metrics, **{name: happened(event) for name, event in drive.events.items()}}
    policy = drive.policy
    if policy is None:
        of_policy = {"references": drive.references, "noise": drive.noise}
        for name, value in {**of_policy, "policy_params": drive.policy_params or None}.items():
            if value is not None:
                raise InvalidValue(f"{name} are for a policy, and there is none: give policy=")
    else:
        instance_of("policy", policy, Policy)
        if drive.controls is not None:
            raise InvalidValue("controls need a drive without policy: give references=")
    settings = Settings(drive.dt, None, drive.precision, substeps=drive.substeps, on_diverge="mask")

    def loop_with(log: Mapping[str, Any]) -> Loop:
        noisy = drive.noise is not None
        # Drives that differ in their numbers only share a loop. Numbers are compared by their bits.
        owners = (vehicle,) if policy is None else (vehicle, policy)
        numbers = [np.array(record.flatten(one.params), float).tobytes() for one in owners]
        starts = [(name, fold, repr(fold.start)) for name, fold in folds.items()]
        key = (settings, drive.integrator, policy, noisy, drive.until, *log, *numbers, *starts)
        return _LOOPS.get(
            vehicle.model,
            key,
            lambda: Loop(
                vehicle,
                settings,
                drive.integrator,
                policy,
                noisy,
                _log_record(vehicle, log),
                folds,
                drive.until,
            ),
        )

    loop = loop_with(drive.log)
    log = {name: drive.log[name] for name in loop.folding.log_columns}
    if len(log) < len(drive.log):
        # A kernel reads all of its inputs at every step.
        loop = loop_with(log)
    Reference = vehicle.model.Input if policy is None else policy.Reference
    inputs = _inputs(drive, loop, Reference)
    dt, plant = loop.base.settings.dt, loop.base.plant
    steps = step_count(dt, drive.steps, drive.duration, inputs)
    for name, fold in folds.items():
        fold.check_time(name, steps, dt)
    disturbance = drive.disturbance
    return Setup(
        loop=loop,
        Reference=Reference,
        steps=steps,
        x0=_start(drive),
        memory=np.array(() if policy is None else record.flatten(record.build(policy.Memory))),
        inputs=inputs,
        params=_params(drive),
        disturbance=None if disturbance is None else disturbance_of(plant, disturbance),
        noise=noise_of(plant, drive.noise),
        log=_log(log, steps),
        pending=_pending(drive, loop),
    )


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


MOST_SETUPS = 16
"""Largest number of cached drives and of their compiled loops."""
_LOOPS: RecentCache[Loop] = RecentCache(MOST_SETUPS)
"""Compiled loops by model."""
MOST_RUNS = {"cpu": 16_384, "cuda": 262_144}
"""Largest number of runs in memory at a time, by device; a larger chunk is split."""


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
    """Start: a record, a mapping of names, a whole state (nx,), or an `UncertaintyModel`. If it is
    a mapping of names, dependent fields are made consistent with the parameters of each run."""
    controls: Any = None
    """Constant inputs, a record or a mapping; or a table (steps, nu)."""
    pending: Any = None
    """Commands before the first step, oldest first, (rows, nu), for a model with dead time."""
    policy: Policy | None = None
    references: Any = None
    """References of the policy, in the forms of `controls`."""
    params: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Parameters of the vehicle that are replaced: numbers, or models of one number from which they
    are drawn for each run."""
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
        return {name: Setting.of(leaf) for name, leaf in self._setup().factors.items()}

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
            setup.check_name(name)
        super().check(ends)
        table = _corners(ends)
        count = max(map(len, table.values()), default=1)
        ready = setup.prepare(Rows(np.arange(count), table, 0))
        names = record.names(setup.loop.runner.plant.Params)
        own = not any(name in names for name in (*ends, *setup.params))
        arrays = RolloutArrays(ready.x, ready.u, ready.w, ready.p)
        setup.loop.runner.plausible.check(arrays, own_params=own)
        if not own:
            params = self.vehicle.params
            rows = np.asarray(ready.p, float)[0, :, : len(record.flatten(params))]
            warn_of_changes(self.vehicle.name, self.vehicle.model.body, params, rows)

    def evaluate(self, rows: Rows, resources: Resources) -> dict[str, AnyArray]:
        """Execute the runs; returns all columns, (n,) each.

        `failed` says whether a state was not finite at some sample, because the run diverged or a
        step found no solution. In such a run numbers are NaN and truth values are false.
        """
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
        ready = setup.prepare(rows)
        strips = Strips(setup, rows, ready, resources.threads)
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
        run = self._setup().replay(rows)
        if self.until is None:
            return run
        ended = float(self.evaluate(rows, Resources())[ENDED][0])
        return run if np.isnan(ended) else run[: round(ended / self.dt) + 1]

    def identity(self) -> dict[str, Any]:
        """Settings as plain values, and digests of Programs in IEEE operations for functions: the
        motion, and each metric separately."""
        setup = self._setup()
        plant = setup.loop.runner.plant
        params = dict(zip(record.names(plant.Params), record.flatten(plant.params), strict=True))
        x0, State = setup.x0, self.vehicle.model.State
        if not isinstance(x0, UncertaintyModel):
            # A plain state, with the names of the fields that are set.
            named = sorted(x0) if isinstance(x0, Mapping) else type(x0).__name__
            x0 = {"state": list(record.flatten(record.build(State, x0))), "named": named}
        folding = setup.loop.folding
        return {
            "kind": "drive",
            "vehicle": plant.name,
            "integrator": plant.integrator,
            "dt": self.dt,
            "steps": setup.steps,
            "substeps": folding.substeps,
            "precision": self.precision,
            **setup.loop.digests,
            "metric_starts": {name: plain(fold.start) for name, fold in folding.folds.items()},
            "params": plain({**params, **setup.params}),
            "x0": plain(x0),
            "inputs": plain(setup.inputs),
            "pending": plain(setup.pending),
            "disturbance": plain(self.disturbance),
            "noise": plain(self.noise),
            "log": plain(setup.log),
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
        leaves = {f"u_{leaf.name}": leaf for leaf in record.fields(vehicle.Input)}
        missing = [n for n, leaf in leaves.items() if n not in log and leaf.name not in OPTIONAL]
        if missing:
            named = ", ".join(f"{name} ({leaves[name].unit})" for name in missing)
            there = ", ".join(log.channels) or "no numbers"
            raise InvalidValue(
                f"{log.name} lacks columns that {vehicle.name} needs: {named}. It has {there}; "
                f"{how_to_name(missing[0], tuple(log.channels))}"
            )
        # The period of the fastest channel, if it is shorter than that of a preparation.
        gaps = [np.median(np.diff(one.t)) for one in log.channels.values() if len(one.t) > 1]
        fastest = float(min(gaps, default=np.inf))
        period = float(f"{fastest:.9g}") if fastest < SHORTEST_PERIOD else None
        drive = prepare(log, period=period, without=AS_RECORDED)
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
        """Execute the runs; returns all columns and `failed`, (n,) each."""
        return self.drive.evaluate(rows, resources)

    def replay(self, rows: Rows) -> Trajectory:
        """Repeat the single run of `rows`, bit for bit."""
        return self.drive.replay(rows)

    def identity(self) -> dict[str, Any]:
        """Identity of the drive, with the contents of the log rather than its path."""
        return self.drive.identity() | {"kind": "log drive"}


AS_RECORDED = ("repeats", "frozen", "spikes", "latency", "filter", "gravity", "imu")
"""Preparation steps that are left out, because a repeated run is compared with what was
recorded."""
DOUBTFUL = ("stamps", "gaps", "consistency")
"""Steps whose findings are warnings."""
OPTIONAL = ("gear", "slope")
"""Inputs that keep their default, DRIVE and level road, if the log lacks them."""


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
