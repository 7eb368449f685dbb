"""Shows without a world: vehicles that drive on an empty plain, each for itself."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from .. import record
from ..arrays import Array
from ..controllers.car import car_of
from ..errors import InvalidValue, SkidpadError
from ..model import Vehicle
from ..plane.pose import rotated
from ..recording import Recorder
from ..run.simulator import Simulator
from ..stage import shape_of
from ..stage.trajectory_stage import trajectory_stage
from ..trajectory.trajectory import Trajectory
from ..units import per_s, s
from .cone_hits import ConeHits
from .laps import StartLine
from .levers import levers
from .show import Picture, Stretch

RATE: per_s = 100.0
"""Samples per second, unless somebody wants it otherwise."""


class Driver(NamedTuple):
    """A vehicle and what drives it."""

    vehicle: Vehicle
    controller: Callable[[s, Any], Any]
    """Input for the step that starts at a time in a state, as `Simulator.run` calls it."""
    start: Any = None
    """State at the beginning: a record or a mapping; zero if None."""


class Source(Protocol):
    """Where trajectories come from."""

    dt: s
    error: SkidpadError | None

    def next(self, steps: int) -> Mapping[str, Trajectory]:
        """The next steps of each vehicle; the first sample is the last of before."""
        ...


class TrajectoryShow:
    """Vehicles on an empty plain, side by side or through each other.

    Args:
        source: of their trajectories; see `driven` and `finished`.
        vehicles: by name.
        title: of the stage.
        duration: how long it is worth watching, in s.
        start_line: that all of them count laps by.
        colours: of some of them, as `#rrggbb`.
        remarks: lines to print with the figures.
        listed: whose figures are worth printing; all if empty.
        picture: draws it for paper.
        still: lines, polygons and discs on the ground, by the fields of `Stage`. Vehicles that
            touch discs are said to collide with them.
    """

    def __init__(
        self,
        source: Source,
        vehicles: Mapping[str, Vehicle],
        *,
        title: str,
        duration: s,
        start_line: StartLine | None = None,
        colours: Mapping[str, str] | None = None,
        remarks: tuple[str, ...] = (),
        listed: tuple[str, ...] = (),
        picture: Picture | None = None,
        rate: per_s = RATE,
        **still: Any,
    ) -> None:
        self._source, self.remarks, self.picture = source, remarks, picture
        self.listed = listed or tuple(vehicles)
        self._shapes = {name: shape_of(vehicle) for name, vehicle in vehicles.items()}
        self._cars = [car_of_any(vehicle) for vehicle in vehicles.values()]
        self.vehicles = tuple(vehicles)
        self.levers = tuple(
            lever for k, vehicle in enumerate(vehicles.values()) for lever in levers(vehicle, k)
        )
        self.dt, self.duration, self.rate = source.dt, duration, rate
        self.start_lines: Mapping[str, StartLine] = (
            {} if start_line is None else dict.fromkeys(vehicles, start_line)
        )
        self.error: SkidpadError | None = None
        first = source.next(0)
        stage, self._t, self._rows = trajectory_stage(first, self._shapes, title=title, **still)
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

    def begin(self, every: int) -> Stretch:
        """The first moment."""
        self._every = every
        if self._recorder is not None:
            self._recorder.add_rows(self._t, self._rows)
        motion = self._motion(self._first)
        hits = self._hits.add(motion[..., :3])
        inputs = np.empty((0, len(self.levers)))
        return Stretch(self._t, motion, inputs, hits, self._t, self._rows)

    def advance(self, steps: int) -> Stretch:
        """The next steps."""
        pieces = self._source.next(steps)
        self.error = self._source.error
        _, _, rows = trajectory_stage(pieces, self._shapes)
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
        return Stretch(
            t,
            motion,
            np.concatenate([piece.inputs[:-1] for piece in pieces.values()], axis=1),
            self._hits.add(motion[..., :3]),
            t[sampled],
            rows[sampled],
        )

    def _motion(self, pieces: Mapping[str, Trajectory]) -> Array:
        found = [motion(piece) for motion, piece in zip(self._cars, pieces.values(), strict=True)]
        return np.stack(found, axis=1)


def car_of_any(vehicle: Vehicle) -> Callable[[Trajectory], Array]:
    """What reads pose and velocity in world axes (T, 6) off the trajectories of a vehicle."""
    try:
        car = car_of(vehicle)
    except InvalidValue:
        # Its inputs may be unknown, which do not matter here; its velocity is along it.
        return _straight

    def motion(piece: Trajectory) -> Array:
        state = record.unflatten(vehicle.State, list(piece.states.T))
        seen: Any = car.motion(state, car.geometry)
        omega = np.broadcast_to(car.omega(state, car.geometry), piece.t.shape)
        return _in_world(seen.x, seen.y, seen.yaw, seen.v_x, seen.v_y, omega)

    return motion


def _straight(piece: Trajectory) -> Array:
    zero = np.zeros(len(piece.t))
    v = next((piece[name] for name in ("v_x", "v") if name in piece), zero)
    omega = next((piece[name] for name in ("omega", "out_omega") if name in piece), zero)
    across = next((piece[name] for name in ("v_y", "out_v_y") if name in piece), zero)
    return _in_world(piece["x"], piece["y"], piece["yaw"], v, across, omega)


def _in_world(x: Any, y: Any, yaw: Any, v_x: Any, v_y: Any, omega: Any) -> Array:
    return np.column_stack([x, y, yaw, *rotated(v_x, v_y, yaw), omega])


class _Driven:
    """Vehicles driven step by step, each in a simulator of its own."""

    def __init__(
        self, drivers: Mapping[str, Driver], dt: s, integrator: str, substeps: int | None
    ) -> None:
        self.dt = dt
        self.error: SkidpadError | None = None
        self._drivers = {
            name: (Simulator(one.vehicle, dt, integrator, substeps=substeps), one.controller)
            for name, one in drivers.items()
        }
        for name, one in drivers.items():
            self._drivers[name][0].reset(one.start)

    def next(self, steps: int) -> Mapping[str, Trajectory]:
        pieces: dict[str, Trajectory] = {}
        with warnings.catch_warnings():
            # The piece says itself that it ended early.
            warnings.filterwarnings("ignore", "run ended at", UserWarning)
            for name, (sim, controller) in self._drivers.items():
                pieces[name] = sim.run(controller, steps=steps)
                found = pieces[name].error
                self.error = found if isinstance(found, SkidpadError) else self.error
        least = min(len(piece) for piece in pieces.values())
        return {name: piece[:least] for name, piece in pieces.items()}


def driven(
    drivers: Mapping[str, Driver],
    *,
    dt: s,
    integrator: str = "radau",
    substeps: int | None = None,
    **shown: Any,
) -> TrajectoryShow:
    """A show of vehicles that are driven while it goes on.

    Step, integrator and substeps are those of their `Simulator`; other keywords are those of
    `TrajectoryShow`.
    """
    vehicles = {name: one.vehicle for name, one in drivers.items()}
    return TrajectoryShow(_Driven(drivers, dt, integrator, substeps), vehicles, **shown)


class _Finished:
    """Trajectories that are there already."""

    error: SkidpadError | None = None

    def __init__(self, runs: Mapping[str, Trajectory]) -> None:
        self._runs = runs
        t = next(iter(runs.values())).t
        self.dt, self._at = float(t[1] - t[0]), 0

    def next(self, steps: int) -> Mapping[str, Trajectory]:
        begin, self._at = self._at, self._at + steps
        return {name: run[begin : self._at + 1] for name, run in self._runs.items()}


def finished(
    runs: Mapping[str, Trajectory], vehicles: Mapping[str, Vehicle], **shown: Any
) -> TrajectoryShow:
    """A show of trajectories that were computed before, all at the same equidistant times."""
    times = {run.t.tobytes() for run in runs.values()}
    if len(times) != 1:
        raise InvalidValue("the trajectories of a show must have the same times")
    return TrajectoryShow(_Finished(runs), vehicles, **shown)
