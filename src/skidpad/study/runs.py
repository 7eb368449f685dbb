"""Manoeuvres, episodes of learning tasks and user functions as experiments of campaigns.

    runs = ManoeuvreRuns(sp.vehicles.two_track(), ["step_steer", "slalom_18_m"])
    Campaign(experiment=runs, factors={"m": Range(1200.0, 1800.0), "step_steer.speed": ...}, ...)

A run of `ManoeuvreRuns` returns, to the bit, what `manoeuvres.perform` returns for the vehicle with
the parameters of the run: limits, linear theory and searches use these parameters. Several runs
share rollouts of compiled drives, in which vehicles do not influence each other.

    runs = TaskRuns("race", "driver.npz", options={"lidar": 108})
    Campaign(experiment=runs, factors={"params.m": Range(1200.0, 1800.0)}, design=Sobol(4096))

A run of `TaskRuns` is one episode, driven by a network or a function of observations. Quantities
that are not factors are drawn as in the task, from the random streams of the run.

    def stopping(v: si.m_s, mu: si.one, draw: Draw) -> dict[str, Array]:
        grip = mu * (1.0 + 0.05 * draw.normal()[:, 0])
        return {"distance": v**2 / (2.0 * 9.81 * grip)}

    FunctionRuns(stopping, [Column("distance", "m", "until it stands")])

`FunctionRuns` is for everything that no other experiment covers.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, cast, get_type_hints

import numpy as np

from .. import integrate
from ..compile.lower import lower
from ..compile.plant import Plant
from ..control.networks.network import Network
from ..core import record
from ..core.arrays import AnyArray, Array
from ..core.checks import whole
from ..core.files import brief_repr
from ..core.lazy import RecentCache
from ..core.model import Constant, Vehicle, arguments, pickled_fields, vehicle_of
from ..core.record import unknown_name
from ..errors import InvalidValue
from ..learn.environments import Environments
from ..learn.programs import compile_task
from ..learn.saved_task import task_of
from ..learn.task import GIVEN, Task
from ..random.streams import Draw, of_run
from ..run.trajectory import Trajectory
from ..run.trajectory_table import Column as Series
from ..units import Allowed, Unit
from .experiment import (
    FAILED,
    FAILURES,
    Column,
    ExperimentBase,
    Resources,
    Rows,
    Setting,
    blank_columns,
    function_identity,
    in_blocks,
    plain,
)
from .manoeuvres.kernels import Kernels
from .manoeuvres.manoeuvre import Manoeuvre
from .manoeuvres.proving_ground import Result, perform, perform_each, select
from .manoeuvres.subject import Subject

TOGETHER = 16
"""Number of runs that share rollouts."""


@dataclass(frozen=True, eq=False)
class ManoeuvreRuns(ExperimentBase, Constant):
    """Runs of one or several manoeuvres, each with the vehicle of the run.

    Factors are parameters of the vehicle (`m`, `tyres.D`) and numerical settings of a manoeuvre
    (`step_steer.speed`). Columns are metrics, such as `step_steer.yaw_rate_overshoot`: those of the
    unchanged vehicle, which drives every manoeuvre once when the experiment is made. A metric that
    a run does not have is NaN. A manoeuvre has failed if it cannot be driven or gives no number, as
    when the vehicle spins; a run has failed if one of its manoeuvres has.
    """

    growing = ("manoeuvres",)

    vehicle: Vehicle
    manoeuvres: str | Manoeuvre | Sequence[str | Manoeuvre] | Mapping[str, str | Manoeuvre]
    """Names of standard manoeuvres, or manoeuvres. A mapping gives them other names in columns,
    so that one manoeuvre can be used with several settings."""
    _: KW_ONLY
    dt: float = 0.001
    """Step of the simulation in s; by default a tenth of the sampling interval."""
    replayed: str = ""
    """Name of the manoeuvre that a replay returns; the first if empty."""
    known: tuple[Column, ...] = field(default=(), repr=False)
    """The columns, if they are already known; if empty, they are found by a trial drive of the
    vehicle."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        vehicle_of(self.vehicle)
        object.__setattr__(self, "manoeuvres", _by_name(self.manoeuvres))
        if self.replayed not in ("", *self._all):
            raise InvalidValue(
                record.unknown_name("replayed", self.replayed, tuple(self._all), "manoeuvre")
            )
        if not self.known:
            object.__setattr__(self, "known", self._trial_columns())

    def __getstate__(self) -> dict[str, Any]:
        return pickled_fields("a ManoeuvreRuns", self, "take one of skidpad's manoeuvres")

    @property
    def _all(self) -> dict[str, Manoeuvre]:
        made: Any = self.manoeuvres
        return made

    def settings(self) -> dict[str, Setting]:
        """Units and ranges of the parameters of the vehicle, then of the settings of manoeuvres."""
        own = {leaf.name: Setting.of(leaf) for leaf in record.fields(self.vehicle.model.Params)}
        return own | {
            f"{name}.{setting}": Setting.of_argument(type(one), setting)
            for name, one in self._all.items()
            for setting in _numeric_settings(one)
        }

    def columns(self) -> tuple[Column, ...]:
        """Metrics of all manoeuvres."""
        return self.known

    def check(self, ends: Mapping[str, tuple[float, float]]) -> None:
        """Raise for factors whose smallest or largest value the vehicle or a manoeuvre does not
        accept."""
        super().check(ends)
        names = record.names(self.vehicle.model.Params)
        for side in (0, 1):
            self.vehicle.with_params({n: float(p[side]) for n, p in ends.items() if n in names})

    def evaluate(self, rows: Rows, resources: Resources) -> dict[str, AnyArray]:
        """All columns and `failed`, (n,) each; all numbers of a failed manoeuvre are NaN."""
        kernels = _kernels(self.dt, resources)
        out = blank_columns(self.known, len(rows.runs), failed=False)
        for begin in range(0, len(rows.runs), TOGETHER):
            places = range(begin, min(begin + TOGETHER, len(rows.runs)))
            for k, results in zip(places, self._perform(rows, places, kernels), strict=True):
                for name in self._all:
                    findings = results[name].findings if name in results else None
                    metrics = () if findings is None else findings.metrics
                    own = {f"{name}.{one.name}": float(one.value[0]) for one in metrics}
                    out[FAILED][k] |= not np.isfinite(list(own.values())).any()
                    for column in own.keys() & out.keys():
                        out[column][k] = own[column]
        return out

    def replay(self, rows: Rows) -> Trajectory:
        """Repeat one manoeuvre of the run.

        Returns the first completed of its final drives, or else the latest drive that was
        completed. A run that could not be driven has only the start.
        """
        name = self.replayed or next(iter(self._all))
        requests = _attempt(self._requests, rows, 0)
        pair = () if requests is None else ([one] for one in requests[name])
        results = requests and _attempt(perform, *pair, _kernels(self.dt, Resources()))
        if not results or not results[0].runs:
            return self._standing(name, results[0].unfit if results else "")
        (result,) = results
        tried = (*result.last, *result.runs[::-1])
        run = next((run for run in tried if run.done[0]), result.last[0])
        assert run.states is not None
        assert run.inputs is not None
        model = result.car.vehicle.model
        states, inputs = (model.State, run.states[:, 0]), (model.Input, run.inputs[:, 0])
        return Trajectory.from_arrays(run.t, states, inputs, name=f"{name}: {run.label}")

    def identity(self) -> dict[str, Any]:
        """The vehicle with parameters and Program, the manoeuvres with settings and code."""
        names = record.names(self.vehicle.model.Params)
        values = record.flatten(self.vehicle.params)
        step = Plant.of(self.vehicle, integrate.get("rk4")).step
        return {
            "kind": "manoeuvres",
            "vehicle": self.vehicle.name,
            "params": plain(dict(zip(names, values, strict=True))),
            "program": lower(step, "float64").digest,
            "dt": self.dt,
            "manoeuvres": {
                name: function_identity(f"manoeuvre {name}", one) for name, one in self._all.items()
            },
        }

    def _perform(
        self, rows: Rows, places: Sequence[int], kernels: Kernels
    ) -> list[dict[str, Result]]:
        """Results by manoeuvre for the rows at `places`, without manoeuvres that cannot be
        driven."""
        requests = [_attempt(self._requests, rows, k) or {} for k in places]
        places_of = [(k, name) for k, row in enumerate(requests) for name in row]
        pairs = [requests[k][name] for k, name in places_of]
        results = _attempt(perform_each, pairs, kernels)
        if results is None:  # drive them one by one, with the same bits
            alone = [_attempt(perform_each, [pair], kernels) for pair in pairs]
            results = [one[0] if one else None for one in alone]
        out: list[dict[str, Result]] = [{} for _ in requests]
        for (k, name), result in zip(places_of, results, strict=True):
            if result is not None:
                out[k][name] = result
        return out

    def _requests(self, rows: Rows, k: int) -> dict[str, tuple[Manoeuvre, Subject]]:
        """Manoeuvres of run k, each with its own vehicle under test."""
        names = record.names(self.vehicle.model.Params)
        values = {name: float(column[k]) for name, column in rows.factors.items()}
        vehicle = self.vehicle.with_params({n: v for n, v in values.items() if n in names})
        requests: dict[str, tuple[Manoeuvre, Subject]] = {}
        for name, one in self._all.items():
            wanted = {setting: f"{name}.{setting}" for setting in _numeric_settings(one)}
            changes = {key: values[place] for key, place in wanted.items() if place in values}
            own: Any = replace(cast(Any, one), **changes) if changes else one
            requests[name] = own, Subject(vehicle, name=self.vehicle.name)
        return requests

    def _trial_columns(self) -> tuple[Column, ...]:
        """Columns from a drive of the unchanged vehicle; raises if it cannot drive a manoeuvre."""
        pairs = [(one, Subject(self.vehicle)) for one in self._all.values()]
        columns: list[Column] = []
        try:
            results = perform_each(pairs, _kernels(self.dt, Resources()))
        except _BEYOND as error:
            what = str(error) or type(error).__name__
            raise InvalidValue(
                f"{', '.join(self._all)}: the settings cannot be driven: {what:.200}"
            ) from error
        for name, result in zip(self._all, results, strict=True):
            if result.findings is None:
                raise InvalidValue(f"{name}: {result.unfit}")
            columns += [
                Column(f"{name}.{metric.name}", metric.unit, metric.definition)
                for metric in result.findings.metrics
            ]
        return tuple(columns)

    def _standing(self, name: str, why: str) -> Trajectory:
        model = self.vehicle.model
        start = np.array([record.flatten(record.build(model.State))])
        error = InvalidValue(f"{name}: {why or 'the vehicle of this run cannot be driven'}")
        return Trajectory.from_arrays(np.zeros(1), (model.State, start), name=name, error=error)


def _by_name(manoeuvres: Any) -> dict[str, Manoeuvre]:
    if isinstance(manoeuvres, Mapping):
        return {str(name): _manoeuvre(one) for name, one in manoeuvres.items()}
    listed = (
        [manoeuvres]
        if isinstance(manoeuvres, str) or not isinstance(manoeuvres, Sequence)
        else list(manoeuvres)
    )
    made = [_manoeuvre(one) for one in listed]
    names = [one.name for one in made]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None or not made:
        raise InvalidValue(
            f"manoeuvres has {twice} more than once: give them names, {{'slow': ..., 'fast': ...}}"
            if made
            else "manoeuvres is empty; name at least one"
        )
    return dict(zip(names, made, strict=True))


def _manoeuvre(one: Any) -> Manoeuvre:
    return select([one])[0] if isinstance(one, str) else one


def _numeric_settings(one: Any) -> list[str]:
    hints = get_type_hints(type(one))
    return [setting.name for setting in fields(one) if hints[setting.name] is float]


def _attempt(work: Any, *arguments: Any) -> Any:
    """Return the result of a function, or None if it raises one of `FAILURES`."""
    try:
        return work(*arguments)
    except FAILURES:
        return None


_BEYOND = (ArithmeticError, LookupError, MemoryError, TypeError)
"""Exceptions caused by settings that a manoeuvre does not check: a duration that exceeds the
memory, a speed whose square is infinite, a side that does not exist."""


@cache
def _kernels(dt: float, resources: Resources) -> Kernels:
    return Kernels(dt=dt, threads=resources.threads, device=resources.device)


COLUMNS = (
    Column("return", "", "sum of the rewards of the episode"),
    Column("duration", "s", "until it was over"),
    Column("terminated", "", "whether it ended for good, not by its duration", "truth"),
)
PROGRESS = Column("progress", "m", "along the track since the start")
_MOST_SETUPS = 8


@dataclass(frozen=True, eq=False)
class TaskRuns(ExperimentBase, Constant):
    """Runs of episodes of a task, one vehicle each.

    Factors are the quantities that the task draws: `draw.NAME` (its `draws`), `params.NAME` and
    `disturbance.NAME` of the vehicle, and `task.NAME` of the task's own numbers. Columns are the
    return, the duration, whether the episode terminated and, on tracks, the progress. A run has
    failed if its vehicle diverged.
    """

    catches = ()

    task: str | Callable[..., Task]
    """Name of a task of `skidpad.learn.tasks`, or a function that makes one and can be imported."""
    driver: str | Network | Callable[[Array], Any]
    """A network, the path of a network file, or an importable function from observations (n,
    width) to actions (n, k)."""
    _: KW_ONLY
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Arguments of the function that makes the task."""
    precision: str = "float64"
    block: int = 64
    """Number of episodes that are always driven together; see `experiment.in_blocks`."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        whole("block", self.block, "at least 1")
        if isinstance(self.driver, (str, Path)):
            object.__setattr__(self, "driver", Network.load(self.driver))
        if not (isinstance(self.driver, Network) or callable(self.driver)):
            raise InvalidValue(
                f"driver must be a network, its file or a function, got {self.driver!r:.60}"
            )
        made = self._made()
        if made.agents > 1:
            raise InvalidValue(f"task {made.name!r} has {made.agents} agents; allowed is 1")

    def __getstate__(self) -> dict[str, Any]:
        return pickled_fields("a TaskRuns", self, "take another driver")

    def _made(self) -> Task:
        if isinstance(self.task, str):
            return task_of(self.task, self.options)
        if not callable(self.task):
            raise InvalidValue("task must be the name of a task or a function that makes one")
        made = self.task(**self.options)
        if not isinstance(made, Task):
            raise InvalidValue(f"task must be a name or a function that makes a Task: {made!r:.60}")
        return made

    def settings(self) -> dict[str, Setting]:
        """Units and ranges of the quantities that the task draws or could draw."""
        task = self._setup(()).task
        model = task.vehicle.model
        kinds = {"params": model.Params, "disturbance": model.Disturbance, "task": task.Params}
        return {f"draw.{name}": Setting("", Allowed()) for name in task.draws} | {
            f"{group}.{leaf.name}": Setting.of(leaf)
            for group, kind in kinds.items()
            for leaf in record.fields(kind)
        }

    def columns(self) -> tuple[Column, ...]:
        """Return, duration, termination and progress."""
        return (*COLUMNS, PROGRESS) if self._setup(()).task.tracks else COLUMNS

    def evaluate_block(self, rows: Rows, resources: Resources) -> dict[str, AnyArray]:
        """Drive a block of episodes; returns all columns and `failed`, (block,) each."""
        return self._driven(rows, None)[0]

    def replay(self, rows: Rows) -> Trajectory:
        """Repeat the single run of `rows`, with a sample after every control period."""
        (block,) = in_blocks(rows, self.block)
        _, states = self._driven(block.rows, int(block.places[0]))
        task = self._setup(tuple(rows.factors)).task
        times = task.dt * np.arange(len(states))
        model = task.vehicle.model
        return Trajectory.from_arrays(times, (model.State, states), name=model.name)

    def _driven(self, rows: Rows, watched: int | None) -> tuple[dict[str, AnyArray], Array]:
        """Columns of a block of episodes, and the states of the episode `watched`."""
        environments = self._setup(tuple(sorted(rows.factors)))
        count, task = len(rows.runs), environments.task
        seeds = [of_run(rows.seed, int(k)) for k in rows.runs]
        observations = environments.reset(seeds, given=dict(rows.factors))
        state = [] if watched is None else [environments.state[watched]]
        measures = {name: np.zeros(count) for name in ("return", "duration", "progress")}
        alive, ended = np.ones(count, np.bool_), np.zeros(count, np.bool_)
        failed = np.zeros(count, np.bool_)
        for _ in range(task.limit):
            stepped = environments.step(self._action(observations.copy()))
            observations = stepped.observation
            measures["return"] += np.where(alive, stepped.reward, 0.0)
            measures["duration"] += np.where(alive, task.dt, 0.0)
            failed |= alive & environments.failed
            over = alive & (stepped.terminated | stepped.truncated)
            if task.tracks:
                progress = environments.progress
                measures["progress"] = np.where(alive, progress, measures["progress"])
            if watched is not None and alive[watched]:
                state.append(environments.state[watched])
            ended |= over & stepped.terminated
            alive &= ~over
            if not alive.any():
                break
        columns: dict[str, AnyArray] = {name: measures[name] for name in ("return", "duration")}
        if task.tracks:
            columns["progress"] = measures["progress"]
        for name in columns:
            columns[name][failed] = np.nan
        return {**columns, "terminated": ended & ~failed, FAILED: failed}, np.array(state)

    def _action(self, seen: Array) -> Any:
        driver = self.driver
        if isinstance(driver, Network):
            return np.stack(np.broadcast_arrays(*driver(tuple(seen.T))), axis=1)
        assert callable(driver)
        return driver(seen)

    def _setup(self, factors: tuple[str, ...]) -> Environments:
        """Environments of a block, with these factors supplied rather than drawn."""
        return _SETUPS.get(self, factors, lambda: self._environments(factors))

    def _environments(self, factors: tuple[str, ...]) -> Environments:
        task = self._made()
        draws, randomised = dict(task.draws), dict(task.randomised)
        for name in factors:
            group, _, leaf = name.partition(".")
            if group == "draw":
                draws[leaf] = GIVEN
            else:
                randomised[name] = GIVEN
        return Environments(
            replace(task, draws=draws, randomised=randomised), self.block,
            precision=self.precision, threads=1, on_diverge="end",
        )  # fmt: skip

    def identity(self) -> dict[str, Any]:
        """The Programs of the task, and the weights or the code of its driver."""
        programs = compile_task(self._setup(()).task)
        parts = (programs.plant.step, programs.judge, programs.look, programs.start, programs.sense)
        digests = [lower(part, self.precision).digest for part in parts]
        driver = self.driver
        does = (
            {"network": sha256(driver.weights.tobytes()).hexdigest(), "layers": repr(driver)}
            if isinstance(driver, Network) else function_identity("driver", driver)
        )  # fmt: skip
        task = self._setup(()).task
        return {
            "kind": "task", "programs": digests, "driver": does, "block": self.block,
            "numbers": plain(record.flatten(programs.plant.params)), "limit": task.limit,
            "dt": task.dt, "draws": {name: one.identity() for name, one in task.draws.items()},
            "randomised": {name: one.identity() for name, one in task.randomised.items()},
            "tracks": [sha256(t.centre.tobytes() + t.walls.tobytes()).hexdigest()
                       for t in task.tracks],
        }  # fmt: skip


_SETUPS: RecentCache[Environments] = RecentCache(_MOST_SETUPS)

DRAW, RUN_NUMBER, SEED = "draw", "run", "seed"


@dataclass(frozen=True, eq=False)
class FunctionRuns(ExperimentBase, Constant):
    """Runs of a Python function that can be imported.

    Factors are the function's arguments, with units and ranges from their annotations. It may also
    take `draw`, a `skidpad.random.Draw` of these runs, `run`, their numbers, and `seed`, the seed
    of the campaign. It returns a column, or columns by name, some of which may be left out of
    `gives`; `failed` may be among them. If it is not, a run has failed if a column is NaN or if the
    function raises a `ValueError` or an `ArithmeticError`. Truth values of failed runs are false.
    """

    function: Callable[..., Any]
    gives: Sequence[Column | str]
    """Columns that the function returns, in order; a name is a number without a unit."""
    _: KW_ONLY
    vectorised: bool = True
    """Whether the function takes and returns arrays (n,); otherwise it is called once per run
    with numbers, and `draw` belongs to that run."""
    block: int = 256
    """Number of rows in each call of a vectorised function; see `experiment.in_blocks`."""
    trajectory: Callable[..., Trajectory] | None = None
    """Function of the same arguments, as numbers, that replays a run. Without it a replay has
    one sample, with the columns."""

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        whole("block", self.block, "at least 1")
        gives = self.gives
        listed = [gives] if isinstance(gives, (str, Column)) else list(gives)
        columns = tuple(Column(one) if isinstance(one, str) else one for one in listed)
        object.__setattr__(self, "gives", columns)
        if not self.vectorised:
            object.__setattr__(self, "block", 1)
        self.identity()

    def __getstate__(self) -> dict[str, Any]:
        return pickled_fields("a FunctionRuns", self, "take another function")

    def settings(self) -> dict[str, Setting]:
        """Units and ranges of the function's arguments."""
        return {name: Setting.of_argument(self.function, name) for name in self._arguments()}

    def columns(self) -> tuple[Column, ...]:
        """The columns of `gives`."""
        return tuple(one for one in self.gives if isinstance(one, Column))

    def check(self, ends: Mapping[str, tuple[float, float]]) -> None:
        """Raise for values outside the ranges of the annotations, and for arguments with neither a
        factor nor a default."""
        super().check(ends)
        for name, default in self._arguments().items():
            if default is inspect.Parameter.empty and name not in ends:
                raise InvalidValue(f"argument {name} of {self._name} has no default and no factor")

    def replay(self, rows: Rows) -> Trajectory:
        """Repeat the single run of `rows`, bit for bit."""
        if self.trajectory is not None:
            return self.trajectory(**self._numbers(rows, self.trajectory))
        columns = self.evaluate(rows, Resources())
        series = [
            Series(one.name, Unit(one.unit or "1"), "output", columns[one.name].astype(float))
            for one in self.columns()
        ]
        return Trajectory(np.zeros(1), tuple(series), self._name)

    def identity(self) -> dict[str, Any]:
        """Import path and bytecode of the function; see `function_identity`."""
        own = {"kind": "function", **function_identity("function", self.function)}
        return {**own, "vectorised": self.vectorised, "block": self.block}

    @property
    def _name(self) -> str:
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def _arguments(self) -> dict[str, Any]:
        """Arguments that are factors, with their defaults."""
        parameters = inspect.signature(self.function).parameters
        arguments("function", self.function, tuple(parameters))
        return {
            name: one.default
            for name, one in parameters.items()
            if name not in (DRAW, RUN_NUMBER, SEED)
            and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
        }

    def evaluate_block(self, rows: Rows, resources: Resources) -> dict[str, AnyArray]:
        """Call the function with a block of n runs; checks its columns, (n,) each, and returns
        them."""
        if self.vectorised:
            answer = self.function(**_named_arguments(self.function, rows, rows.factors))
        else:
            answer = self.function(**self._numbers(rows, self.function))
        count, columns = len(rows.runs), self.columns()
        names = [column.name for column in columns]
        if not isinstance(answer, Mapping):
            if len(names) != 1:
                raise TypeError(f"{self._name} must return {', '.join(names)} by name: {answer!r}")
            answer = {names[0]: answer}
        out: dict[str, AnyArray] = {}
        for column in columns:
            if column.name not in answer:
                there = [str(name) for name in answer]
                raise TypeError(unknown_name(self._name, column.name, there, "column"))
            out[column.name] = self._column(column.name, answer[column.name], count, column.kind)
        truths = [column.name for column in columns if column.kind == "truth"]
        if FAILED in answer:
            failed = self._column(FAILED, answer[FAILED], count, "truth")
        else:
            failed = np.zeros(count, dtype=bool)
            for name in out.keys() - truths:
                failed |= np.isnan(out[name])
        out |= {name: out[name] & ~failed for name in truths}
        return {**out, FAILED: failed}

    def _numbers(self, rows: Rows, function: Callable[..., Any]) -> dict[str, Any]:
        """Arguments of a function of a single run."""
        values: dict[str, Any] = {name: float(row[0]) for name, row in rows.factors.items()}
        return _named_arguments(function, rows, values, int(rows.runs[0]))

    def _column(self, name: str, values: Any, count: int, kind: str) -> AnyArray:
        array = np.asarray(values, dtype=bool if kind == "truth" else float)
        if array.shape not in ((), (1,), (count,)):
            shape = array.shape
            raise TypeError(f"{self._name} returned {name} of shape {shape}; allowed is ({count},)")
        return np.broadcast_to(array, (count,))


def _named_arguments(
    function: Callable[..., Any], rows: Rows, values: Mapping[str, Any], run: Any = None
) -> dict[str, Any]:
    """Arguments for the function: factors, and `draw`, `run` and `seed` if it takes them."""
    draw = Draw(rows.seed, "function", rows.runs)
    run = rows.runs if run is None else run
    known = {**values, DRAW: draw, RUN_NUMBER: run, SEED: rows.seed}
    names = inspect.signature(function).parameters
    return {name: value for name, value in known.items() if name in names}
