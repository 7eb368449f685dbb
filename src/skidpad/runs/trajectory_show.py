"""Shows without a world: vehicles that drive on an empty plain, each for itself."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import record
from ..arrays import Array
from ..brief import brief_repr
from ..errors import InvalidValue, SkidpadError
from ..model import Vehicle
from ..plane.pose import rotated
from ..recording import Recorder
from ..run.simulator import Simulator
from ..stage.trajectory_stage import trajectory_stage
from ..trajectory.trajectory import Trajectory
from ..units import per_s, s
from .cone_hits import ConeHits
from .laps import StartLine
from .show import Picture, Segment, input_columns

RATE: per_s = 100.0
"""Samples per second, unless somebody wants it otherwise."""


class Driver(NamedTuple):
    """A vehicle and what drives it."""

    vehicle: Vehicle
    controller: Callable[[s, Any], Any]
    """Input for the step that starts at a time in a state, as `Simulator.run` calls it."""
    start: Any = None
    """State at the beginning: a record or a mapping; zero if None."""

    __repr__ = brief_repr


Source = Callable[[int], Mapping[str, Trajectory]]
"""The next so many steps of each vehicle; the first sample is the last of before."""


class TrajectoryShow:
    """Vehicles on an empty plain, side by side or through each other.

    Args:
        source: of their trajectories; see `driven` and `finished`.
        vehicles: by name.
        dt: length of a step, in s.
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

    __repr__ = brief_repr

    def __init__(
        self,
        source: Source,
        vehicles: Mapping[str, Vehicle],
        *,
        dt: s,
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
        self._vehicles, self.vehicles = vehicles, tuple(vehicles)
        self.inputs = tuple(
            column
            for k, vehicle in enumerate(vehicles.values())
            for column in input_columns(vehicle, k)
        )
        self.dt, self.duration, self.rate = dt, duration, rate
        self.start_lines: Mapping[str, StartLine] = (
            {} if start_line is None else dict.fromkeys(vehicles, start_line)
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


def driven(
    drivers: Mapping[str, Driver],
    *,
    dt: s,
    integrator: str = "radau",
    substeps: int | None = None,
    **shown: Any,
) -> TrajectoryShow:
    """A show of vehicles that are driven while it goes on, each in a simulator of its own.

    Step, integrator and substeps are those of their `Simulator`; other keywords are those of
    `TrajectoryShow`.
    """
    simulators: dict[str, Simulator] = {}
    for name, one in drivers.items():
        simulators[name] = Simulator(
            one.vehicle, dt, integrator, substeps=substeps, on_diverge="return"
        )
        simulators[name].reset(one.start)

    def advanced(steps: int) -> Mapping[str, Trajectory]:
        with warnings.catch_warnings():
            # The piece says itself that it ended early.
            warnings.filterwarnings("ignore", "run ended at", UserWarning)
            return {
                name: sim.run(drivers[name].controller, steps=steps)
                for name, sim in simulators.items()
            }

    vehicles = {name: one.vehicle for name, one in drivers.items()}
    return TrajectoryShow(advanced, vehicles, dt=dt, **shown)


def finished(
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
