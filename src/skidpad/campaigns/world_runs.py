"""Worlds as the experiment of a campaign: a scene that is stepped once per run.

    runs = WorldRuns(
        "yard.world.xml", duration=10.0, drive={"r1": Wish(v=1.0)},
        metrics={"hit": collided("r1"), "gap": nearest("r1", "crate")},
    )
    Campaign(experiment=runs, factors={"block.crate.y": Range(-1.0, 1.0)}, ...)

`world_factors` says what factors may set, `world_driving` what may drive, `world_metrics` what may
be kept.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from .. import record
from ..arrays import AnyArray
from ..brief import brief_repr
from ..checks import must_be, steps_in
from ..errors import InvalidValue
from ..random.seeds import of_run
from ..run.kept import Kept
from ..signature import Constant, pickled_fields
from ..trajectory.trajectory import Trajectory
from ..world.scene.scene import Scene
from ..world.world import World
from .experiment import FAILED, Column, Means, Rows
from .functions import FAILURES, function_identity
from .identities import only_adds
from .world_driving import check_drive, drive_identity, pilots
from .world_factors import changed_scene, commanded
from .world_metrics import WorldMetric, WorldRun, metric_of
from .world_recorded import RunLog
from .world_setup import WorldSetup, world_setup

MOST_SETUPS = 16
_SETUPS: Kept[WorldSetup] = Kept(MOST_SETUPS)
"""Worlds as they were read, by the marks of their experiments."""


@dataclass(frozen=True, eq=False)
class WorldRuns(Constant):
    """Runs of a world, each with the seed `random.of_run(seed, run)`."""

    world: str | os.PathLike[str] | Scene | Callable[[Mapping[str, float], int], World | Scene]
    """A world file, the text of one, a scene, or a function of one's own that takes `variables`
    and a seed and gives a world or a scene."""
    duration: float
    """In s, a whole number of steps."""
    _: KW_ONLY
    drive: Any = None
    """What drives; see `world_driving`. None: what the scene says."""
    metrics: Mapping[str, WorldMetric | Callable[..., Any]] = field(
        default_factory=dict[str, WorldMetric]
    )
    """Columns by name: functions of a `WorldRun`, ready ones in `world_metrics`."""
    variables: Mapping[str, float] = field(default_factory=dict[str, float])
    """What a file or text is read with as variables, or a function is handed; the factor
    `variable.NAME` changes one."""
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """How a file or text is read, as of `world.xml.load`."""
    units: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of `variables`, for tables and reports."""
    replayed: str = ""
    """The vehicle whose trajectory a replay gives; the first if empty."""
    _mark: str = field(default_factory=lambda: uuid4().hex, init=False, repr=False)
    _scene: str = field(default="", init=False, repr=False)

    __repr__ = brief_repr

    def __post_init__(self) -> None:
        metrics = {name: metric_of(name, one) for name, one in self.metrics.items()}
        object.__setattr__(self, "metrics", metrics)
        setup = self._setup()
        object.__setattr__(self, "_scene", setup.digest)
        steps_in(self.duration, setup.world.dt)
        if self.replayed not in ("", *setup.world.vehicles) or not setup.world.vehicles:
            known = tuple(setup.world.vehicles)
            raise InvalidValue(record.unknown_name("replayed", self.replayed, known, "vehicle"))
        check_drive(self.drive, setup.world)
        things = (*setup.world.vehicles, *RunLog(setup.world).places, *setup.grids)
        for name, metric in metrics.items():
            for thing in metric.things:
                if thing not in things:
                    where = f"metric {name}"
                    raise InvalidValue(record.unknown_name(where, thing, things, "thing"))
        self.identity()

    def __getstate__(self) -> dict[str, Any]:
        return pickled_fields("a WorldRuns", self, "take functions from a module")

    def _setup(self) -> WorldSetup:
        """The world as it is read, once for all chunks of this process."""
        return _SETUPS.get(None, self._mark, self._read)

    def _read(self) -> WorldSetup:
        setup = world_setup(self.world, self.variables, self.options, self.units)
        if self._scene not in ("", setup.digest):
            raise InvalidValue(f"{setup.source} is not what it was when the campaign began")
        return setup

    @property
    def block(self) -> int:
        """Each run is a world of its own."""
        return 1

    @property
    def threaded(self) -> bool:
        """A world steps on one processor."""
        return False

    def factor_units(self) -> dict[str, str]:
        """Names that a factor may have, with units."""
        return {name: setting.unit for name, setting in self._setup().settings.items()}

    def columns(self) -> tuple[Column, ...]:
        """The metrics."""
        return tuple(metric.column(name) for name, metric in self._metrics.items())

    @property
    def _metrics(self) -> dict[str, WorldMetric]:
        made: Any = self.metrics
        return made

    def check(self, ends: Mapping[str, tuple[float, float]]) -> None:
        """Raise for ends that cannot be meant: the worlds of all lower and of all upper ends must
        be there, and make a first step."""
        settings = self._setup().settings
        for name, pair in ends.items():
            for end in pair:
                must_be(f"factor {name}", end, settings[name].allowed, settings[name].unit)
        for side in (0, 1):
            values = {name: np.array([pair[side]]) for name, pair in ends.items()}
            start = self._start(Rows(np.zeros(1, dtype=np.int64), values, 0))
            for _ in start.steps(1):
                pass

    def evaluate(self, rows: Rows, means: Means) -> dict[str, AnyArray]:
        """All columns and `failed`, (n,) each; of runs that failed numbers are NaN and nothing is
        true."""
        self._setup()  # what is wrong with it is wrong with every run
        count, metrics = len(rows.runs), self._metrics
        out: dict[str, AnyArray] = {
            name: np.zeros(count, dtype=bool) if one.kind == "truth" else np.full(count, np.nan)
            for name, one in metrics.items()
        }
        failed = np.zeros(count, dtype=bool)
        for k in range(count):
            try:
                log = self.logged(rows.part(slice(k, k + 1)))
                values = {name: metric(log) for name, metric in metrics.items()}
            except FAILURES:
                failed[k] = True
                continue
            for name, value in values.items():
                out[name][k] = value
        return {**out, FAILED: failed}

    def logged(self, rows: Rows) -> WorldRun:
        """The one run of `rows` as metrics see it."""
        start = self._start(rows)
        log = RunLog(start.world)
        for _ in start.steps(steps_in(self.duration, start.world.dt)):
            log.sample()
        return log.run()

    def replay(self, rows: Rows) -> Trajectory:
        """The one run of `rows`: states and inputs of one vehicle, as far as they go."""
        return self._replayed(rows, None)

    def record(self, rows: Rows, path: str | os.PathLike[str], rate: float | None = 30.0) -> None:
        """Write the one run of `rows` to an MCAP file, everything of the world in it, with so many
        samples per second; None for every step."""
        from ..recording.world_recorder import WorldRecorder

        self._replayed(rows, lambda world: WorldRecorder(world, path, rate=rate))

    def _replayed(self, rows: Rows, recorder: Callable[[World], Any] | None) -> Trajectory:
        start = self._start(rows)
        world = start.world
        vehicle = world.vehicles[self.replayed or next(iter(world.vehicles))]
        group, row = vehicle.bodies.group, vehicle.row
        states, inputs, error = [group.state[row].copy()], [group.inputs[row].copy()], None
        written = None if recorder is None else recorder(world)
        try:
            if written is not None:
                written.sample()
            for _ in start.steps(steps_in(self.duration, start.world.dt)):
                states.append(group.state[row].copy())
                # The input that led here is that of the sample before.
                inputs[-1] = group.inputs[row].copy()
                inputs.append(inputs[-1])
                if written is not None:
                    written.sample()
        except FAILURES as reason:
            error = reason
        finally:
            if written is not None:
                written.close()
        model, t = vehicle.vehicle.model, world.dt * np.arange(len(states))
        both = (model.State, np.array(states)), (model.Input, np.array(inputs))
        return Trajectory.from_arrays(t, *both, name=vehicle.name, error=error)

    def identity(self) -> dict[str, Any]:
        """The scene with all that its files say, the vehicles' Programs, drive and metrics."""
        setup = self._setup()
        made = not isinstance(self.world, (str, os.PathLike, Scene))
        return {
            "kind": "world",
            "scene": setup.digest,
            "function": function_identity("world", self.world) if made else None,
            "programs": dict(setup.programs),
            "variables": dict(self.variables),
            "dt": setup.world.dt,
            "duration": self.duration,
            "drive": drive_identity(self.drive),
            "metrics": {name: metric.identity() for name, metric in self._metrics.items()},
        }

    def extends(self, before: Mapping[str, Any]) -> bool:
        """Whether it only has other metrics beside those before."""
        return only_adds(self.identity(), before, "metrics")

    def _start(self, rows: Rows) -> _Start:
        """The one run of `rows`, at its beginning."""
        values = {name: float(column[0]) for name, column in rows.factors.items()}
        seed = of_run(rows.seed, int(rows.runs[0]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # said once, when this was made
            made = self._setup().made(values, seed)
            if isinstance(made, World):
                made.on_diverge = "raise"
                return _Start(made, pilots(self.drive, made))
            world = World(changed_scene(made, values), seed=seed, on_diverge="raise")
        acting = pilots(self.drive, world)
        for name, fields in commanded(made, values).items():
            world.vehicles[name].command(fields)
        return _Start(world, acting)


class _Start(NamedTuple):
    """A run that is about to begin."""

    world: World
    pilots: Sequence[Callable[[float], None]]

    def steps(self, count: int) -> Iterator[None]:
        """Make steps, and stop after each."""
        for _ in range(count):
            for act in self.pilots:
                act(self.world.time)
            self.world.step()
            yield
