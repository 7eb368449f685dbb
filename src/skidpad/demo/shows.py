"""Shows: vehicles that drive on an empty plain, each for itself, and worlds.

A `Show` (see `show`) moves step by step; `performing.perform` runs it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..core import record
from ..core.arrays import Array
from ..core.files import brief_repr
from ..core.model import Vehicle
from ..errors import InvalidValue, SkidpadError
from ..geometry.pose import rotated
from ..run.simulator import Simulator
from ..run.trajectory import Trajectory
from ..units import m, per_s, s
from ..view.film import ScanAt
from ..view.recording.recorder import Recorder
from ..view.recording.world_recorder import WorldRecorder
from ..view.stages import WorldStage, trajectory_stage
from ..world.world import World
from .laps import ConeHits, StartLine
from .show import Picture, Segment, input_columns

RATE: per_s = 100.0
"""Default samples per second."""


class Driver(NamedTuple):
    """A vehicle and what drives it."""

    vehicle: Vehicle
    controller: Callable[[s, Any], Any]
    """Input for the step that starts at a time in a state, as `Simulator.run` calls it."""
    start: Any = None
    """State at the beginning: a record or a mapping; zero if None."""

    __repr__ = brief_repr


Source = Callable[[int], Mapping[str, Trajectory]]
"""The next steps of each vehicle, by their number; the first sample is the last of before."""


class TrajectoryShow:
    """Vehicles on an empty plain, side by side or through each other.

    Args:
        source: of their trajectories; see `driving_show` and `finished_show`.
        vehicles: by name.
        dt: length of a step, in s.
        title: of the stage.
        duration: how long it is worth watching, in s.
        start_line: that all of them count laps by: x, y, heading and half width.
        colours: of some of them, as `#rrggbb`.
        remarks: lines to print with the figures.
        listed: whose figures are worth printing; all if empty.
        picture: draws it for paper.
        still: lines, polygons and discs on the ground, by the fields of `Stage`. Vehicles that
            touch discs are said to collide with them.
    """

    __repr__ = brief_repr

    def __init__(
        self,
        source: Source,
        vehicles: Mapping[str, Vehicle],
        *,
        dt: s,
        title: str,
        duration: s,
        start_line: StartLine | tuple[float, float, float, float] | None = None,
        colours: Mapping[str, str] | None = None,
        remarks: tuple[str, ...] = (),
        listed: tuple[str, ...] = (),
        picture: Picture | None = None,
        rate: per_s = RATE,
        **still: Any,
    ) -> None:
        self._source, self.remarks, self.picture = source, remarks, picture
        self.listed = listed or tuple(vehicles)
        self._vehicles, self.vehicles = vehicles, tuple(vehicles)
        self.inputs = tuple(
            column
            for k, vehicle in enumerate(vehicles.values())
            for column in input_columns(vehicle, k)
        )
        self.dt, self.duration, self.rate = dt, duration, rate
        self.start_lines: Mapping[str, StartLine] = (
            {} if start_line is None else dict.fromkeys(vehicles, StartLine(*start_line))
        )
        self.error: SkidpadError | None = None
        first = source(0)
        stage, self._t, self._rows = trajectory_stage(first, vehicles, title=title, **still)
        colours = colours or {}
        bodies = tuple(replace(b, colour=colours.get(b.name, b.colour)) for b in stage.bodies)
        self.stage = replace(stage, bodies=bodies)
        self._first = first
        self._input_columns = [k for k, c in enumerate(stage.channels) if c.role == "input"]
        self._hits = ConeHits([self.stage.body(name) for name in vehicles], stage.discs)
        self.meets = bool(stage.discs)
        self._recorder: Recorder | None = None
        self._every, self._steps = 1, 0

    def record(
        self, path: Path, rate: per_s, meta: Mapping[str, Any]
    ) -> AbstractContextManager[Any]:
        """Record what happens from now on."""
        self._recorder = Recorder(path, self.stage, rate=rate, meta={"dt": self.dt, **meta})
        return self._recorder

    def begin(self, every: int) -> Segment:
        """The first moment."""
        self._every = every
        if self._recorder is not None:
            self._recorder.add_rows(self._t, self._rows)
        motion = self._motion(self._first)
        hits = self._hits.add(motion[..., :3])
        inputs = np.empty((0, len(self.inputs)))
        return Segment(self._t, motion, inputs, hits, self._t, self._rows)

    def advance(self, steps: int) -> Segment:
        """The next steps."""
        pieces = self._source(steps)
        errors = (p.error for p in pieces.values() if isinstance(p.error, SkidpadError))
        self.error = next(errors, None)
        least = min(len(piece) for piece in pieces.values())
        pieces = {name: piece[:least] for name, piece in pieces.items()}
        _, _, rows = trajectory_stage(pieces, self._vehicles)
        # The first sample is the last one of before.
        motion = self._motion(pieces)[1:]
        done = np.arange(self._steps + 1, self._steps + len(rows))
        self._steps += len(done)
        # Times from the beginning, and inputs that led to the samples rather than those that will
        # act: so nothing depends on how the steps are divided into calls.
        t = self._t[0] + self.dt * done
        rows[1:, self._input_columns] = rows[:-1, self._input_columns]
        rows = rows[1:]
        if self._recorder is not None:
            self._recorder.add_rows(t, rows)
        sampled = done % self._every == 0
        return Segment(
            t,
            motion,
            np.concatenate([piece.inputs[:-1] for piece in pieces.values()], axis=1),
            self._hits.add(motion[..., :3]),
            t[sampled],
            rows[sampled],
        )

    def _motion(self, pieces: Mapping[str, Trajectory]) -> Array:
        """Poses and velocities in world axes (T, B, 6)."""
        motions = [_motion(self._vehicles[name], piece) for name, piece in pieces.items()]
        return np.stack(motions, axis=1)


def _motion(vehicle: Vehicle, piece: Trajectory) -> Array:
    body, p = vehicle.body, vehicle.params
    x = record.unflatten(vehicle.State, list(piece.states.T))
    u = record.unflatten(vehicle.Input, list(piece.inputs.T))
    pose, (v_x, v_y, omega) = body.pose(x, p), body.velocity(x, u, p)
    columns = (*pose, *rotated(v_x, v_y, pose.yaw), omega)
    return np.column_stack(np.broadcast_arrays(*columns))


def driving_show(
    drivers: Mapping[str, tuple[Any, ...]],
    *,
    dt: s,
    integrator: str = "radau",
    substeps: int | None = None,
    **shown: Any,
) -> TrajectoryShow:
    """A show of vehicles that are driven while it runs, each in a simulator of its own.

    Args:
        drivers: by name, each a vehicle, its controller and the state at the start (zero if left
            out). The controller returns the input for a time and a state.
        dt: step in s; it, `integrator` and `substeps` are those of the vehicles' `Simulator`.
        shown: keywords of `TrajectoryShow`, such as `title`, `duration` and `start_line`.
    """
    simulators: dict[str, Simulator] = {}
    known = {name: Driver(*one) for name, one in drivers.items()}
    for name, one in known.items():
        simulators[name] = Simulator(
            one.vehicle, dt, integrator, substeps=substeps, on_diverge="return"
        )
        simulators[name].reset(one.start)

    def advance(steps: int) -> Mapping[str, Trajectory]:
        with warnings.catch_warnings():
            # The piece says itself that it ended early.
            warnings.filterwarnings("ignore", "run ended at", UserWarning)
            return {n: sim.run(known[n].controller, steps=steps) for n, sim in simulators.items()}

    vehicles = {name: one.vehicle for name, one in known.items()}
    return TrajectoryShow(advance, vehicles, dt=dt, **shown)


def finished_show(
    runs: Mapping[str, Trajectory], vehicles: Mapping[str, Vehicle], **shown: Any
) -> TrajectoryShow:
    """A show of trajectories that were computed before, all at the same equidistant times."""
    times = {run.t.tobytes() for run in runs.values()}
    if len(times) != 1:
        raise InvalidValue("the trajectories of a show must have the same times")
    steps_driven = 0

    def piece(steps: int) -> Mapping[str, Trajectory]:
        nonlocal steps_driven
        begin, steps_driven = steps_driven, steps_driven + steps
        return {name: run[begin : steps_driven + 1] for name, run in runs.items()}

    t = next(iter(runs.values())).t
    return TrajectoryShow(piece, vehicles, dt=float(t[1] - t[0]), **shown)


WORLD_SHOW_RATE: per_s = 30.0
"""Default samples per second."""
DURATION: s = 10.0
APART: s = 1.0
"""Contacts with the same thing within this time count as one collision."""
HALF_WIDTH: m = 1.0
"""Half width of the start line of a vehicle that follows a closed path of its own."""


class WorldShow:
    """A world that is stepped.

    Args:
        world: what moves.
        direct: called before steps, at most every `period` s; it commands the vehicles.
        title: of the stage; the name of the world's file if empty.
        duration: how long it is worth watching, in s.
        start_lines: of vehicles that drive laps; those that follow closed paths if None.
        remarks: lines to print with the figures.
    """

    error: SkidpadError | None
    picture: Picture | None = None

    __repr__ = brief_repr

    def __init__(
        self,
        world: World,
        *,
        direct: Callable[[World], None] | None = None,
        period: s = 0.0,
        title: str = "",
        duration: s = DURATION,
        rate: per_s = WORLD_SHOW_RATE,
        start_lines: Mapping[str, StartLine] | None = None,
        remarks: tuple[str, ...] = (),
    ) -> None:
        self.world, self._direct, self.remarks = world, direct, remarks
        self._view = WorldStage(world, title)
        self.stage = self._view.stage
        self.dt, self.duration, self.rate = world.dt, duration, rate
        self.vehicles = self.listed = tuple(world.vehicles)
        places = {name: k for k, name in enumerate(self.vehicles)}
        self._places = places
        self.inputs = tuple(
            column
            for group in world.groups
            for name, vehicle in zip(group.names, group.vehicles, strict=True)
            for column in input_columns(vehicle, places[name])
        )
        self.start_lines: Mapping[str, StartLine] = (
            _start_lines(world) if start_lines is None else dict(start_lines)
        )
        self.meets, self.error = True, None
        self._between = max(1, round(period / world.dt))
        self._every, self._steps = 1, 0
        self._recorder: WorldRecorder | None = None
        self._touched: dict[tuple[str, str], s] = {}
        self._seen: list[Any] = [None] * len(self.stage.scans)

    def record(
        self, path: Path, rate: per_s, meta: Mapping[str, Any]
    ) -> AbstractContextManager[Any]:
        """Record what happens from now on."""
        self._recorder = WorldRecorder(
            self.world, path, rate=rate, meta=meta, title=self.stage.title
        )
        return self._recorder

    def begin(self, every: int) -> Segment:
        """The first moment."""
        self._every = every
        if self._recorder is not None:
            self._recorder.sample()
        t = np.array([self.world.time])
        return Segment(
            t,
            self.world.motion()[None],
            np.empty((0, len(self.inputs))),
            np.zeros(len(self.vehicles), np.int64),
            t,
            self._view.row()[None],
            self._scans(),
        )

    def advance(self, steps: int) -> Segment:
        """The next steps."""
        world = self.world
        motion, inputs, times, sampled, taken = [], [], [], [], []
        scans: list[ScanAt] = []
        collisions = np.zeros(len(self.vehicles), np.int64)
        for _ in range(steps):
            if self._direct is not None and self._steps % self._between == 0:
                self._direct(world)
            try:
                world.step()
            except SkidpadError as error:
                self.error = error
                break
            self._steps += 1
            times.append(world.time)
            motion.append(world.motion())
            inputs.append(np.concatenate([np.empty(0), *(g.inputs.ravel() for g in world.groups)]))
            self._count(collisions)
            if self._recorder is not None:
                self._recorder.sample()
            if self._steps % self._every == 0:
                sampled.append(world.time)
                taken.append(self._view.take())
                scans += self._scans()
        nothing = np.empty((0, len(self.stage.channels)))
        rows = self._view.rows(np.array(taken)) if taken else nothing
        return Segment(
            np.array(times),
            np.array(motion).reshape(len(times), -1, 6),
            np.array(inputs).reshape(len(times), len(self.inputs)),
            collisions,
            np.array(sampled),
            rows,
            scans,
        )

    def _count(self, collisions: Any) -> None:
        """Add the collisions that began in the last step."""
        for event in reversed(self.world.contact_events):
            if event.time < self.world.time:
                break
            pair = (event.a, event.b)
            before = self._touched.get(pair, -np.inf)
            self._touched[pair] = event.time
            if event.kind == "begin" and event.time - before > APART:
                for name in pair:
                    if name in self._places:
                        collisions[self._places[name]] += 1

    def _scans(self) -> list[ScanAt]:
        """Scans that lidars took since the last time."""
        scans: list[ScanAt] = []
        for k, scan in enumerate(self._view.readings()):
            if scan is not None and scan is not self._seen[k]:
                self._seen[k] = scan
                scans.append(ScanAt(k, scan.stamp, scan.ranges.astype(np.float32)))
        return scans


def _start_lines(world: World) -> dict[str, StartLine]:
    """Across the first point of each closed path that a vehicle follows by itself."""
    lines: dict[str, StartLine] = {}
    for spec in world.scene.vehicles:
        if spec.path is not None and spec.path.loop:
            a, b = spec.path.points[:2]
            heading = float(np.arctan2(b.y - a.y, b.x - a.x))
            lines[spec.name] = StartLine(a.x, a.y, heading, HALF_WIDTH)
    return lines
