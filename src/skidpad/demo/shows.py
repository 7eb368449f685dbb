"""Shows: simulations that are run step by step for statistics, recording and drawing.

A `Show` is the interface that `performing.perform` runs. A `TrajectoryShow` has independent
vehicles on an empty plane, a `WorldShow` a world. `Laps` counts laps over a start line, `ConeHits`
the cones that vehicles touch.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import chain, takewhile
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ..core import record
from ..core.arrays import Array
from ..core.body import Pose
from ..core.files import brief_repr
from ..core.model import Vehicle
from ..errors import InvalidValue, SkidpadError
from ..geometry.polygon import within
from ..geometry.pose import rotated, to_body
from ..run.simulator import Simulator
from ..run.trajectory import Trajectory
from ..units import m, per_s, rad, s
from ..view.film import Film, ScanAt
from ..view.recording.reading import Recording
from ..view.recording.recorder import Recorder, WorldRecorder
from ..view.stage import Body, Disc, PlacedUnit, Stage
from ..view.stages import WorldStage, trajectory_stage
from ..world.world import World

ON_THE_LINE: m = 1e-6
"""Distance in m within which a vehicle counts as starting on the line, that is, crossing it."""


class StartLine(NamedTuple):
    """A line across a track, at which laps begin and end."""

    x: m
    y: m
    """World coordinates of its middle, in m."""
    heading: rad
    """Direction of the track at the line in rad, in which laps count."""
    half_width: m
    """Distance from the middle in m beyond which crossings do not count."""

    @classmethod
    def of(cls, reference: Any, half_width: m) -> StartLine:
        """Start line across the first point of a `control.Reference`."""
        p = reference.points
        return cls(float(p.x[0]), float(p.y[0]), float(p.heading[0]), half_width)

    def seen(self, places: Array) -> tuple[Array, Array]:
        """Coordinates in m of points (..., 2) relative to the line: distance beyond it, and to the
        left of its middle.
        """
        return to_body((self.x, self.y, self.heading), places[..., 0], places[..., 1])


class Laps:
    """Counts and times the laps of vehicles.

    A vehicle that goes back over the line has to cross it forwards once more before the next lap
    counts.
    """

    __repr__ = brief_repr

    def __init__(self, vehicles: Sequence[str], lines: Mapping[str, StartLine]) -> None:
        self._lines = {k: lines[name] for k, name in enumerate(vehicles) if name in lines}
        self.crossings: list[list[s]] = [[] for _ in vehicles]
        """Times in s at which each vehicle crossed its line for the first time, the second,
        and so on."""
        self._net = [0] * len(vehicles)

    def start(self, t: s, places: Array) -> None:
        """Start counting at the vehicles' initial positions (B, 2) in m at time `t`."""
        for k, line in self._lines.items():
            beyond, left = line.seen(places[k])
            if abs(beyond) <= ON_THE_LINE and abs(left) <= line.half_width:
                self._cross(k, t)

    def add(self, t: Array, places: Array) -> None:
        """Append path segments: times (T,) and positions (T, B, 2); the first row is the last known
        position.
        """
        for k, line in self._lines.items():
            beyond, left = line.seen(places[:, k])
            past = beyond >= -ON_THE_LINE
            for i in np.flatnonzero(past[1:] != past[:-1]).tolist():
                share = float(np.clip(beyond[i] / (beyond[i] - beyond[i + 1]), 0.0, 1.0))
                if abs(left[i] + share * (left[i + 1] - left[i])) > line.half_width:
                    continue
                if past[i + 1]:
                    self._cross(k, float(t[i] + share * (t[i + 1] - t[i])))
                else:
                    self._net[k] -= 1

    def _cross(self, k: int, t: s) -> None:
        self._net[k] += 1
        if self._net[k] > len(self.crossings[k]):
            self.crossings[k].append(t)

    def counted(self, vehicle: int) -> bool:
        return vehicle in self._lines

    def times(self, vehicle: int) -> tuple[s, ...]:
        """Lap times in s of a vehicle, for completed laps."""
        return tuple(np.diff(self.crossings[vehicle]).tolist())


class ConeHits:
    """Counts the discs that each body has touched, each disc once.

    A cone that is hit stays where it is and is no obstacle: it is only counted.
    """

    def __init__(self, bodies: Sequence[Body], discs: Sequence[Disc]) -> None:
        # Outline including the unsteered wheels.
        units = [PlacedUnit(Pose(0.0, 0.0, 0.0), body.outlines, body.wheels) for body in bodies]
        self._outlines = [[*unit.world_outlines, *unit.world_wheels] for unit in units]
        corners = [[p for outline in outlines for p in outline] for outlines in self._outlines]
        self._reach = np.array([max(float(np.hypot(*p)) for p in points) for points in corners])
        self._places = np.array([(d.x, d.y) for d in discs]).reshape(-1, 2)
        self._radii = np.array([d.radius for d in discs])
        self.hit: NDArray[np.bool_] = np.zeros((len(bodies), len(discs)), bool)
        """Mask of the discs that each body has touched, (bodies, discs)."""

    def add(self, poses: Array) -> NDArray[np.int64]:
        """Add poses x, y, yaw (T, bodies, 3); returns how many discs each body touched for the
        first time."""
        new = np.zeros(len(self._outlines), np.int64)
        for k, outlines in enumerate(self._outlines):
            for d in self._near(k, poses[:, k]):
                seen = np.column_stack(to_body(poses[:, k].T, *self._places[d]))
                if any(within(seen, outline, self._radii[d]).any() for outline in outlines):
                    self.hit[k, d] = True
                    new[k] += 1
        return new

    def _near(self, k: int, poses: Array) -> list[int]:
        """Indices of the discs near body `k` during these poses that it has not touched yet."""
        if not len(poses) or not len(self._places):
            return []
        low, high = poses[:, :2].min(axis=0), poses[:, :2].max(axis=0)
        room = (self._reach[k] + self._radii)[:, None]
        inside = ((self._places > low - room) & (self._places < high + room)).all(axis=1)
        return np.flatnonzero(inside & ~self.hit[k]).tolist()


Picture = Callable[[Recording, Path], Any]
"""Function that draws the recording of a show into a PNG, SVG or PDF file."""


class InputColumn(NamedTuple):
    """Description of one input of a vehicle in a show."""

    vehicle: int
    """Index of its vehicle in `Show.vehicles`."""
    name: str
    model: str
    """Model of the vehicle; inputs with the same name and model are compared."""
    span: float | None
    """Largest minus smallest value; None if the vehicle declares no limits."""

    __repr__ = brief_repr


def input_columns(vehicle: Vehicle, owner: int) -> list[InputColumn]:
    """Input descriptions of a vehicle, in the order of its input record, with the spans that its
    limits allow.
    """
    spans = {name: high - low for name, (low, high) in vehicle.limits.inputs.items()}
    names = record.names(vehicle.Input)
    return [InputColumn(owner, name, vehicle.name, spans.get(name)) for name in names]


class Segment(NamedTuple):
    """Motion of B vehicles during T steps, and S samples of it for display."""

    t: Array
    """Time at the end of each step in s, (T,)."""
    motion: Array
    """Poses x, y, yaw and velocities v_x, v_y, omega in world axes, (T, B, 6)."""
    inputs: Array
    """Inputs commanded in each step, (T, inputs)."""
    collisions: NDArray[np.int64]
    """Number of contacts that each vehicle began, (B,)."""
    times: Array
    """Times of the samples in s, (S,)."""
    rows: Array
    """Samples, (S, channels of the stage); inputs are those of the step before the sample."""
    scans: Sequence[ScanAt] = ()
    """Scans of lidars."""

    __repr__ = brief_repr


class Show(Protocol):
    """Interface of a simulation that is run step by step for display.

    1. `begin` is called once, before any step; it returns the initial segment (T = 1, S = 1).
    2. `advance` makes some steps and returns their segment. A show that cannot continue returns the
       segment up to that point and stores the reason in `error`; it is not called again.
    3. A sample is taken every `every` steps from the start, the argument of `begin`.
    4. The same seed gives the same numbers, however the steps are divided into calls.
    """

    stage: Stage
    dt: s
    """Length of a step in s."""
    duration: s
    """Default duration in s."""
    rate: per_s
    """Default samples per second of simulated time."""
    vehicles: tuple[str, ...]
    listed: tuple[str, ...]
    """Names of the vehicles whose statistics are printed."""
    inputs: tuple[InputColumn, ...]
    start_lines: Mapping[str, StartLine]
    """Start lines of the vehicles that drive laps, by name."""
    meets: bool
    """Whether there is anything that vehicles could touch."""
    remarks: tuple[str, ...]
    """Lines that are printed with the statistics."""
    picture: Picture | None
    """Function that draws a picture of the show for print; None without one."""
    error: SkidpadError | None

    def record(
        self, path: Path, rate: per_s, meta: Mapping[str, Any]
    ) -> AbstractContextManager[Any]:
        """Context manager that records the show; entered before `begin`, closed after the last
        step."""
        ...

    def begin(self, every: int) -> Segment:
        """Start the show and return the initial segment; afterwards, every `every`-th step is
        sampled.
        """
        ...

    def advance(self, steps: int) -> Segment:
        """Make some steps and return their segment."""
        ...


MOST = 40_000_000
"""Largest number of stored values: 160 MB, ten times what a page can contain."""
_LARGEST = float(np.finfo(np.float32).max)
"""Largest float32, to which values of a diverging vehicle are clipped."""


class FilmBuffer:
    """Collects the samples of a replay in memory.

    When a run gets too long, every second sample is dropped, repeatedly if needed.
    """

    def __init__(self, stage: Stage, most: int = MOST) -> None:
        self._stage, self._most = stage, most
        self._times: list[NDArray[np.float64]] = []
        self._rows: list[NDArray[np.float32]] = []
        self._scans: list[ScanAt] = []
        self._taken, self._every = 0, 1

    def add(self, segment: Segment) -> None:
        keep = np.arange(self._taken, self._taken + len(segment.times)) % self._every == 0
        self._taken += len(segment.times)
        self._times.append(segment.times[keep])
        self._rows.append(np.clip(segment.rows[keep], -_LARGEST, _LARGEST).astype(np.float32))
        self._scans += segment.scans
        size = sum(rows.size for rows in self._rows) + sum(s.ranges.size for s in self._scans)
        if size > self._most:
            # Drop every second sample, and every second scan of each lidar.
            self._times = [np.concatenate(self._times)[::2]]
            self._rows = [np.vstack(self._rows)[::2]]
            lidars = range(len(self._stage.scans))
            by_lidar = ([scan for scan in self._scans if scan.index == k] for k in lidars)
            scans = [scan for own in by_lidar for scan in own[::2]]
            self._scans, self._every = sorted(scans, key=lambda scan: scan.time), 2 * self._every

    def film(self, note: str = "") -> Film:
        times, rows = np.concatenate(self._times), np.vstack(self._rows)
        return Film(self._stage, times, rows, tuple(self._scans), note)


RATE: per_s = 100.0


class Driver(NamedTuple):
    """Vehicle with its controller and its start state."""

    vehicle: Vehicle
    controller: Callable[[s, Any], Any]
    """Function of time in s and state that returns the input of the coming step, as in
    `Simulator.run`."""
    start: Any = None
    """Start state: a record or a mapping; zero if None."""

    __repr__ = brief_repr


Source = Callable[[int], Mapping[str, Trajectory]]
"""Function from a number of steps to each vehicle's trajectory over the next steps; its first
sample is the last of the previous call."""


class TrajectoryShow:
    """Show of vehicles on an empty plane, which do not interact.

    Args:
        source: source of their trajectories; see `driving_show` and `finished_show`.
        vehicles: vehicles by name.
        dt: length of a step, in s.
        title: title of the stage.
        duration: default duration, in s.
        start_line: start line for laps of all vehicles: x, y, heading and half width.
        colours: colours of some vehicles, as `#rrggbb`.
        remarks: lines to print with the statistics.
        listed: names of the vehicles whose statistics are printed; all if empty.
        picture: draws the show for print.
        still: lines, polygons and discs on the ground, by the fields of `Stage`. Touching a disc
            counts as a collision.
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
        columns = (input_columns(vehicle, k) for k, vehicle in enumerate(vehicles.values()))
        self.inputs = tuple(chain.from_iterable(columns))
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
        self._recorder = Recorder(path, self.stage, rate=rate, meta={"dt": self.dt, **meta})
        return self._recorder

    def begin(self, every: int) -> Segment:
        self._every = every
        if self._recorder is not None:
            self._recorder.add_rows(self._t, self._rows)
        motion = self._motion(self._first)
        hits = self._hits.add(motion[..., :3])
        inputs = np.empty((0, len(self.inputs)))
        return Segment(self._t, motion, inputs, hits, self._t, self._rows)

    def advance(self, steps: int) -> Segment:
        pieces = self._source(steps)
        errors = (p.error for p in pieces.values() if isinstance(p.error, SkidpadError))
        self.error = next(errors, None)
        least = min(len(piece) for piece in pieces.values())
        pieces = {name: piece[:least] for name, piece in pieces.items()}
        _, _, rows = trajectory_stage(pieces, self._vehicles)
        # The first sample repeats the last sample of the previous segment.
        motion = self._motion(pieces)[1:]
        done = np.arange(self._steps + 1, self._steps + len(rows))
        self._steps += len(done)
        # Times count from the beginning, and each row has the input that led to it rather than the
        # next one, so that the result does not depend on how the steps are divided into calls.
        t = self._t[0] + self.dt * done
        rows[1:, self._input_columns] = rows[:-1, self._input_columns]
        rows = rows[1:]
        if self._recorder is not None:
            self._recorder.add_rows(t, rows)
        sampled = done % self._every == 0
        inputs = np.concatenate([piece.inputs[:-1] for piece in pieces.values()], axis=1)
        hits = self._hits.add(motion[..., :3])
        return Segment(t, motion, inputs, hits, t[sampled], rows[sampled])

    def _motion(self, pieces: Mapping[str, Trajectory]) -> Array:
        """Poses and velocities in world axes (T, B, 6)."""
        motions: list[Array] = []
        for name, piece in pieces.items():
            vehicle = self._vehicles[name]
            body, p = vehicle.body, vehicle.params
            x = record.unflatten(vehicle.State, list(piece.states.T))
            u = record.unflatten(vehicle.Input, list(piece.inputs.T))
            pose, (v_x, v_y, omega) = body.pose(x, p), body.velocity(x, u, p)
            columns = (*pose, *rotated(v_x, v_y, pose.yaw), omega)
            motions.append(np.column_stack(np.broadcast_arrays(*columns)))
        return np.stack(motions, axis=1)


def driving_show(
    drivers: Mapping[str, tuple[Any, ...]],
    *,
    dt: s,
    integrator: str = "radau",
    substeps: int | None = None,
    **shown: Any,
) -> TrajectoryShow:
    """Make a show of vehicles that are driven while it runs, each in a simulator of its own.

    Args:
        drivers: by name, each a vehicle, its controller and its start state (zero if left out).
            The controller returns the input for a time and a state.
        dt: step in s, for the vehicles' `Simulator`, as are `integrator` and `substeps`.
        shown: keywords of `TrajectoryShow`, such as `title`, `duration` and `start_line`.
    """
    settings: Any = {"substeps": substeps, "on_diverge": "return"}
    known = {name: Driver(*one) for name, one in drivers.items()}
    simulators = {n: Simulator(d.vehicle, dt, integrator, **settings) for n, d in known.items()}
    for name, one in known.items():
        simulators[name].reset(one.start)

    def advance(steps: int) -> Mapping[str, Trajectory]:
        with warnings.catch_warnings():
            # The trajectory itself records that it ended early.
            warnings.filterwarnings("ignore", "run ended at", UserWarning)
            return {n: sim.run(known[n].controller, steps=steps) for n, sim in simulators.items()}

    vehicles = {name: one.vehicle for name, one in known.items()}
    return TrajectoryShow(advance, vehicles, dt=dt, **shown)


def finished_show(
    runs: Mapping[str, Trajectory], vehicles: Mapping[str, Vehicle], **shown: Any
) -> TrajectoryShow:
    """Make a show of finished trajectories, all at the same equidistant times."""
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
DURATION: s = 10.0
APART: s = 1.0
"""Time in s within which contacts with the same object count as one collision."""
HALF_WIDTH: m = 1.0
"""Half width in m of the start line of a vehicle that follows a closed path of its own."""


class WorldShow:
    """Show of a world.

    Args:
        world: the world.
        direct: called before steps, at most every `period` s, to command the vehicles.
        title: title of the stage; the name of the world's file if empty.
        duration: default duration, in s.
        start_lines: start lines of vehicles that drive laps; if None, those of the vehicles that
            follow closed paths.
        remarks: lines to print with the statistics.
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
        places = self._places = {name: k for k, name in enumerate(self.vehicles)}
        owned = (zip(group.vehicles, group.names, strict=True) for group in world.groups)
        columns = (input_columns(v, places[name]) for v, name in chain.from_iterable(owned))
        self.inputs = tuple(chain.from_iterable(columns))
        if start_lines is None:
            # Start lines lie across the first point of each closed path that a vehicle follows.
            start_lines = {}
            for spec in world.scene.vehicles:
                if spec.path is not None and spec.path.loop:
                    a, b = spec.path.points[:2]
                    heading = float(np.arctan2(b.y - a.y, b.x - a.x))
                    start_lines[spec.name] = StartLine(a.x, a.y, heading, HALF_WIDTH)
        self.start_lines: Mapping[str, StartLine] = dict(start_lines)
        self.meets, self.error = True, None
        self._between = max(1, round(period / world.dt))
        self._every, self._steps = 1, 0
        self._recorder: WorldRecorder | None = None
        self._touched: dict[tuple[str, str], s] = {}
        self._seen: list[Any] = [None] * len(self.stage.scans)

    def record(
        self, path: Path, rate: per_s, meta: Mapping[str, Any]
    ) -> AbstractContextManager[Any]:
        self._recorder = WorldRecorder(
            self.world, path, rate=rate, meta=meta, title=self.stage.title
        )
        return self._recorder

    def begin(self, every: int) -> Segment:
        self._every = every
        if self._recorder is not None:
            self._recorder.sample()
        t = np.array([self.world.time])
        inputs, hits = np.empty((0, len(self.inputs))), np.zeros(len(self.vehicles), np.int64)
        motion, rows = self.world.motion()[None], self._view.row()[None]
        return Segment(t, motion, inputs, hits, t, rows, self._scans())

    def advance(self, steps: int) -> Segment:
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
        motions = np.array(motion).reshape(len(times), -1, 6)
        commands = np.array(inputs).reshape(len(times), len(self.inputs))
        shown = (np.array(sampled), rows, scans)
        return Segment(np.array(times), motions, commands, collisions, *shown)

    def _count(self, collisions: Any) -> None:
        """Count the collisions that began in the last step."""
        now = self.world.time
        for event in takewhile(lambda it: it.time >= now, reversed(self.world.contact_events)):
            pair = (event.a, event.b)
            before = self._touched.get(pair, -np.inf)
            self._touched[pair] = event.time
            if event.kind == "begin" and event.time - before > APART:
                for name in self._places.keys() & pair:
                    collisions[self._places[name]] += 1

    def _scans(self) -> list[ScanAt]:
        """Lidar scans taken since the previous call."""
        scans: list[ScanAt] = []
        for k, scan in enumerate(self._view.readings()):
            if scan is not None and scan is not self._seen[k]:
                self._seen[k] = scan
                scans.append(ScanAt(k, scan.stamp, scan.ranges.astype(np.float32)))
        return scans
