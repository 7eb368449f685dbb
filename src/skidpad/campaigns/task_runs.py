"""Episodes of a learning task as the experiment of a campaign.

    runs = TaskRuns("race", "driver.npz", options={"lidar": 108})
    Campaign(experiment=runs, factors={"params.m": Range(1200.0, 1800.0)}, design=Sobol(4096))

A run is one episode, driven by a network or a function of what is observed. What is no factor is
drawn as the task draws it, from the streams of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from .. import record
from ..arrays import AnyArray, Array
from ..brief import brief_repr
from ..checks import must_be, whole
from ..compile.lower import lower
from ..errors import InvalidValue
from ..learn import Environments, Task
from ..learn.given import GIVEN
from ..learn.named_task import task_of
from ..learn.programs import compiled
from ..networks import Network
from ..random.seeds import of_run
from ..run.kept import Kept
from ..signature import Constant, pickled_fields
from ..trajectory.trajectory import Trajectory
from ..units import Allowed
from .blocks import in_blocks
from .drive_rows import unit_of
from .experiment import FAILED, Column, Means, Rows
from .functions import function_identity
from .identities import plain

COLUMNS = (
    Column("return", "", "sum of the rewards of the episode"),
    Column("duration", "s", "until it was over"),
    Column("terminated", "", "whether it ended for good, not by its duration", "truth"),
)
PROGRESS = Column("progress", "m", "along the track since the start")
_MOST_SETUPS = 8


@dataclass(frozen=True, eq=False)
class TaskRuns(Constant):
    """Runs of episodes of a task, one vehicle each.

    Factors are what the task draws: `draw.NAME` (its `draws`), `params.NAME` and
    `disturbance.NAME` of the vehicle and `task.NAME` of its own numbers. Columns are the return,
    the duration, whether it ended for good and, on tracks, the progress. A run has failed where its
    vehicle diverged.
    """

    task: str | Callable[..., Task]
    """Name of a task of `skidpad.learn.tasks`, or a function that makes one and can be imported."""
    driver: str | Network | Callable[[Array], Any]
    """A network, a file of one, or a function that can be imported, of observations (n, width) to
    actions (n, k)."""
    _: KW_ONLY
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Arguments of the function that makes the task."""
    precision: str = "float64"
    block: int = 64
    """Episodes that are always driven together; see `blocks`."""

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

    @property
    def threaded(self) -> bool:
        """The driver is called by Python, on one processor."""
        return False

    def _made(self) -> Task:
        if isinstance(self.task, str):
            return task_of(self.task, self.options)
        if not callable(self.task):
            raise InvalidValue("task must be the name of a task or a function that makes one")
        made = self.task(**self.options)
        if not isinstance(made, Task):
            raise InvalidValue(f"task must be a name or a function that makes a Task: {made!r:.60}")
        return made

    def factor_units(self) -> dict[str, str]:
        """What the task draws, and what it could."""
        task = self._setup(()).task
        model = task.vehicle.model
        kinds = {"params": model.Params, "disturbance": model.Disturbance, "task": task.Params}
        drawn = {f"draw.{name}": "" for name in task.draws}
        return drawn | {
            f"{group}.{leaf.name}": unit_of(leaf)
            for group, kind in kinds.items() for leaf in record.fields(kind)
        }  # fmt: skip

    def columns(self) -> tuple[Column, ...]:
        """Return, duration, end and progress."""
        return (*COLUMNS, PROGRESS) if self._setup(()).task.tracks else COLUMNS

    def check(self, ends: Mapping[str, tuple[float, float]]) -> None:
        """Raise for factors that a field does not take."""
        task = self._setup(()).task
        model = task.vehicle.model
        kinds = {"params": model.Params, "disturbance": model.Disturbance, "task": task.Params}
        for name, pair in ends.items():
            group, _, path = name.partition(".")
            if group == "draw":
                continue
            leaf = next(one for one in record.fields(kinds[group]) if one.name == path)
            for end in pair:
                must_be(f"factor {name}", end, leaf.allowed or Allowed(), unit_of(leaf))

    def evaluate(self, rows: Rows, means: Means) -> dict[str, AnyArray]:
        """All columns and `failed`, (n,) each."""
        names = [column.name for column in self.columns()]
        truths = {"terminated", FAILED}
        out: dict[str, AnyArray] = {
            name: np.zeros(len(rows.runs), bool if name in truths else float)
            for name in (*names, FAILED)
        }
        for block in in_blocks(rows, self.block):
            columns, _ = self._driven(block.rows, None)
            for name, values in columns.items():
                out[name][block.among] = values[block.places]
        return out

    def replay(self, rows: Rows) -> Trajectory:
        """The one run of `rows`, a sample after every control period."""
        (block,) = in_blocks(rows, self.block)
        _, states = self._driven(block.rows, int(block.places[0]))
        task = self._setup(tuple(rows.factors)).task
        times = task.dt * np.arange(len(states))
        model = task.vehicle.model
        return Trajectory.from_arrays(times, (model.State, states), name=model.name)

    def _driven(self, rows: Rows, watched: int | None) -> tuple[dict[str, AnyArray], Array]:
        """Columns of a block of episodes, and the states of one of them."""
        environments = self._setup(tuple(sorted(rows.factors)))
        count, task = len(rows.runs), environments.task
        numbers = {name: rows.factors[name] for name in rows.factors}
        observations = environments.reset(
            [of_run(rows.seed, int(k)) for k in rows.runs], given=numbers
        )
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
        """The environments of a block, with these factors told instead of drawn."""
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
        """The Programs of the task and what its driver does."""
        programs = compiled(self._setup(()).task)
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

    def extends(self, before: Mapping[str, Any]) -> bool:
        """Whether it is the same: its columns do not grow."""
        return self.identity() == before


_SETUPS: Kept[Environments] = Kept(_MOST_SETUPS)
