"""Stages and rows of values for recorded runs, worlds and episodes."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..compile import pipeline
from ..compile.cpu import CpuMap
from ..core import record
from ..core.arrays import AnyArray, Array
from ..core.body import body_of
from ..core.model import Vehicle
from ..errors import InvalidValue
from ..geometry.maps.occupancy import Grid as OccupiedGrid
from ..road.road import Road
from ..run.trajectory import Trajectory
from ..sensors.lidar import Scan as Reading
from ..world import scene as said
from ..world.motion import Group, mean_acceleration
from ..world.world import World
from .stage import (
    ATTITUDE,
    POSE_NAMES,
    Body,
    BodyShape,
    Line,
    Named,
    Polygon,
    Ranges,
    Rows,
    Scan,
    Stage,
    Trailers,
    VehicleChannels,
    attitude_on_road,
    relief_of,
    road_box,
    road_under,
    shape_of,
    shown_grid,
    still_life,
    thing_shape,
    vehicle_body,
)


def trajectory_stage(
    runs: Mapping[str, Trajectory],
    vehicles: Mapping[str, Vehicle | BodyShape] | Vehicle | BodyShape,
    *,
    title: str = "",
    **still: Any,
) -> tuple[Stage, Array, Array]:
    """Stage of named runs, its times (T,) in s and rows (T, channels).

    If times differ, all runs are sampled at the times of the longest one; shorter runs stand still
    after their end. `still` are lines, polygons and discs on the ground, by field of `Stage`.
    """
    if not runs:
        raise InvalidValue("a stage needs at least one trajectory")
    times = max(runs.values(), key=lambda run: run.t[-1]).t
    rows = Rows()
    drawn: list[tuple[Body, BodyShape]] = []
    columns: list[Array] = []
    roads: dict[Road, list[Array]] = {}
    for name, run in runs.items():
        vehicle = vehicles.get(name) if isinstance(vehicles, Mapping) else vehicles
        if vehicle is None:
            raise InvalidValue(f"no vehicle is given for the trajectory {name!r}")
        named, own, shape, pose = _columns_of(name, run, times, vehicle)
        if (road := road_under(vehicle)) is not None and isinstance(vehicle, Vehicle):
            poses = np.column_stack([own[field] for field in pose])
            roads.setdefault(road, []).append(poses[:, :2])
            # Height, pitch and roll, unless the run has these columns.
            attitude = zip(ATTITUDE, attitude_on_road(vehicle, road, poses), strict=True)
            added = {channel: values for channel, values in attitude if channel.name not in own}
            named += added
            own |= {channel.name: values for channel, values in added.items()}
        body = vehicle_body(name, shape, pose, rows.add(name, named), model=run.name)
        drawn.append((body, shape))
        columns += own.values()
    trailers = Trailers(drawn, rows)
    bodies = (*(body for body, _ in drawn), *trailers.bodies)
    reliefs = (relief_of(r, road_box(r, np.concatenate(paths))) for r, paths in roads.items())
    still.setdefault("reliefs", tuple(relief for relief in reliefs if relief is not None))
    stage = Stage(title or next(iter(runs)), tuple(rows.channels), bodies, **still)
    return stage, times, trailers.added(np.column_stack(columns))


def _columns_of(
    name: str, run: Trajectory, times: Array, vehicle: Vehicle | BodyShape
) -> tuple[list[Named], dict[str, Array], BodyShape, Sequence[str]]:
    """Channels and columns of a run at the times of the stage, with those that the vehicle's body
    computes; the shape of the vehicle and the names of its pose channels."""
    named = [Named(c.name, c.unit.symbol, c.role) for c in run.columns]
    columns = _sample(run, times)

    def check(names: Sequence[str], effect: str) -> list[str]:
        missing = [field for field in names if field not in columns]
        if missing:
            raise InvalidValue(f"the trajectory {name!r} has no {', '.join(missing)}, so {effect}")
        return [*names]

    if isinstance(vehicle, BodyShape):
        shape, pose = vehicle, POSE_NAMES
    else:
        kind = VehicleChannels(vehicle)
        shape, pose = kind.shape, kind.pose
        if kind.computed:
            effect = "its position is unknown"
            states = check(record.names(vehicle.State), effect)
            inputs = check([f"u_{field}" for field in record.names(vehicle.Input)], effect)
            x = record.unflatten(vehicle.State, [columns[field] for field in states])
            u = record.unflatten(vehicle.Input, [columns[field] for field in inputs])
            values = kind.computed_values(x, u, vehicle.params)
            columns |= {n.name: v for n, v in zip(kind.computed, values, strict=True)}
            named += kind.computed
    check(pose, "it cannot be drawn")
    return named, columns, shape, pose


def _sample(run: Trajectory, times: Array) -> dict[str, Array]:
    """Columns of a run sampled at times (T,), constant beyond its ends."""
    inside = np.clip(times, run.t[0], run.t[-1])
    if len(times) == len(run) and np.array_equal(inside, run.t):
        return {column.name: column.values for column in run.columns}
    latest = np.searchsorted(run.t, inside, side="right") - 1
    return {
        column.name: column.values[latest]
        if column.role == "input"
        else np.interp(inside, run.t, column.values)
        for column in run.columns
    }


_FELT = ("a_x", "a_y")
"""Accelerations of the centre of mass, along and across the vehicle."""
_POSE = (Named("x", "m", "state"), Named("y", "m", "state"), Named("yaw", "rad", "state"))


class _Part(NamedTuple):
    """Position of a group's values in samples and rows."""

    group: Group
    taken: slice
    """States, inputs and disturbances, field by field."""
    outputs: CpuMap | None
    kind: VehicleChannels
    columns: tuple[int, ...]
    """Output columns, existing or appended, for the accelerations of the centres of mass. These
    replace accelerations that follow from tyre forces alone."""
    centres: Array
    """Centres of mass (2, B) in the axes of the vehicles."""
    before: slice = slice(0)
    """Poses and velocities at the previous row (B, 6) and the time since then of each vehicle,
    NaN without such a row."""


class _Moment(NamedTuple):
    """Poses and velocities at the last sample."""

    time: float
    motions: list[Array]
    jumps: list[AnyArray]


class WorldStage:
    """Stage of a world, and the rows of values that go with it.

    Taking a sample copies arrays; what has to be computed from them (outputs such as wheel
    loads) is computed for many samples together when rows are needed.

    A row has the mean acceleration of each vehicle's centre of mass since the previous row: the
    change of its velocity, contact impulses included, in the axes of the vehicle. It replaces
    the outputs `a_x` and `a_y`; a vehicle without these has it in addition, as `out_a_x` and
    `out_a_y` if `a_x` and `a_y` are states. The first row, and the first after a teleport of the
    vehicle, have the outputs of the model, or else 0.
    """

    def __init__(self, world: World, title: str = "", lines: Sequence[Line] = ()) -> None:
        self.world = world
        rows = Rows()
        self._parts: list[_Part] = []
        self._shapes: dict[str, BodyShape] = {}
        bodies: list[Body] = []
        self._size = 0
        for group in world.groups:
            bodies += self._add_group(group, rows)
        self._before: _Moment | None = None
        self._now: _Moment | None = None
        self._others = [*world.movable]
        bodies += [self._other(name, rows) for name in self._others]
        self._uneven = world.uneven
        if self._uneven:
            bodies = [self._tilting(body, rows) for body in bodies]
        self._trailers = Trailers([(b, s) for b in bodies if (s := self._shapes.get(b.name))], rows)
        bodies += self._trailers.bodies
        attitudes = 3 * len(world.vehicles) if self._uneven else 0
        self._stated = self._size + 3 * len(self._others) + attitudes
        self.width = self._stated
        for k, part in enumerate(self._parts):
            begin, self.width = self.width, self.width + 7 * len(part.group.names)
            self._parts[k] = part._replace(before=slice(begin, self.width))
        """Count of numbers in a sample of `take`."""
        self._repeated: dict[int, tuple[Array, Array]] = {}
        self._seen: dict[int, float] = {}
        self.scans, self._readings = self._lidars()
        self.stage = Stage(
            title=title or Path(world.scene.file).name or "world",
            channels=tuple(rows.channels),
            bodies=tuple(bodies),
            scans=tuple(self.scans),
            lines=tuple(lines),
            **still_life(world.scene),
        )

    def take(self, out: Array | None = None) -> Array:
        """Sample the world: raw numbers (width,) for `rows`, written into `out` if it is given."""
        taken, at = np.empty(self.width) if out is None else out, 0
        for group in self.world.groups:
            for table in (group.state, group.inputs, group.disturbances):
                # Written in place: a temporary copy would evict the world from the cache.
                taken[at : at + table.size].reshape(table.shape[::-1])[...] = table.T
                at += table.size
        for name in self._others:
            taken[at : at + 3] = self.world.block(name)[:3]
            at += 3
        if self._uneven:
            taken[at : self._stated] = self.world.attitudes().ravel()
        self._take_motions(taken)
        return taken

    def _take_motions(self, taken: Array) -> None:
        """Note the vehicles' motions, and add those of the previous sample to `taken`."""
        time, then = self.world.time, self._now
        bodies = [self.world.vehicles[part.group.names[0]].bodies for part in self._parts]
        if then is None or time != then.time:
            self._before = then if then is not None and then.time < time else None
            self._now = _Moment(time, [b.motions for b in bodies], [b.jumps.copy() for b in bodies])
        before = self._before
        for k, part in enumerate(self._parts):
            table = taken[part.before].reshape(len(part.group.names), 7)
            if before is None:
                table[:] = np.nan
                continue
            table[:, :6], table[:, 6] = before.motions[k], time - before.time
            table[before.jumps[k] != bodies[k].jumps] = np.nan

    def rows(self, taken: Array) -> Array:
        """Rows (T, channels) of the stage from samples (T, width) of `take`."""
        columns = [np.empty((len(taken), 0))]
        for part in self._parts:
            columns += self._group_rows(part, taken)
        columns.append(taken[:, self._size : self._stated])
        return self._trailers.added(np.concatenate(columns, axis=1))

    def row(self) -> Array:
        return self.rows(self.take()[None])[0]

    def readings(self) -> list[Reading | None]:
        """Latest scan of every lidar of the stage; None for a lidar without a scan."""
        sensing = self.world.sensing
        return [sensing.of(owner)[name] for owner, name in self._readings]

    def scans_now(self) -> list[tuple[Ranges, bool]]:
        """Latest scan of each lidar that has one, and whether it is new since the last call."""
        scans: list[tuple[Ranges, bool]] = []
        for index, reading in enumerate(self.readings()):
            if reading is not None:
                new = self._seen.get(index) != reading.stamp
                scans.append((Ranges(index, reading.ranges), new))
                self._seen[index] = reading.stamp
        return scans

    def _add_group(self, group: Group, rows: Rows) -> list[Body]:
        kind = VehicleChannels(group.vehicles[0])
        program = None
        if kind.outputs:
            program = CpuMap(pipeline.outputs_program(group.vehicles[0]), "float64", 1)
        own = record.names(group.model.Outputs)
        columns = [*own, *(field for field in _FELT if field not in own)]
        columns = tuple(columns.index(field) for field in _FELT)
        taken = {one.name for one in (*kind.states, *kind.inputs)}
        for name, column in zip(_FELT, columns, strict=True):
            shown = f"out_{name}" if name in taken else name
            kind.outputs[column : column + 1] = [Named(shown, "m/s²", "measured")]
        places = rows.add_many(group.names, kind.named)
        widths = (len(kind.states), len(kind.inputs), record.size(group.model.Disturbance))
        size = len(group.names) * sum(widths)
        part = slice(self._size, self._size + size)
        built = [self.world.vehicles[name].built for name in group.names]
        centres = np.array([one.geometry.centre_of_mass for one in built], float).T
        self._parts.append(_Part(group, part, program, kind, columns, centres))
        self._size += size
        self._shapes |= {n: shape_of(b.vehicle) for n, b in zip(group.names, built, strict=True)}
        return [
            vehicle_body(n, self._shapes[n], kind.pose, own, model=b.vehicle.name)
            for n, own, b in zip(group.names, places, built, strict=True)
        ]

    def _group_rows(self, part: _Part, taken: Array) -> list[Array]:
        """States, inputs and outputs of a group, field by field, each (T, ...)."""
        group, count, times = part.group, len(part.group.names), len(taken)
        model = group.model
        sizes = [record.size(kind) for kind in (model.State, model.Input, model.Disturbance)]
        ends = np.cumsum([0, *sizes]) * count
        own = taken[:, part.taken]
        known = own[:, : ends[2]]
        records = self._records(part, known)
        fields = record.size(model.Outputs)
        outputs = np.zeros((times, max(fields, *(c + 1 for c in part.columns)), count))
        if part.outputs is not None:
            # With time as the last axis, the values of all vehicles at all times are contiguous for
            # every field.
            flat = np.ascontiguousarray(own.T)
            x, u, w = (
                flat[a:b].reshape(n, count * times).T[None]
                for (a, b), n in zip(itertools.pairwise(ends), sizes, strict=True)
            )
            y = part.outputs.run([x, x, u, w, self._params(part, times)], count * times)[0]
            outputs[:, :fields] = y.reshape(count, times, -1).transpose(1, 2, 0)
        # Accelerations from the motions at the previous row.
        (s, u, p), body = records, body_of(group.vehicles[0], "a picture")
        *then, since = np.moveaxis(taken[:, part.before].reshape(times, count, 7), -1, 0)
        now = np.broadcast_arrays(*body.pose(s, p), *body.velocity(s, u, p))
        # Motions of the centres of mass, in the axes of the vehicles.
        along, across = part.centres
        before, after = (
            [*pose, v_x - omega * across, v_y + omega * along, omega]
            for *pose, v_x, v_y, omega in (then, now)
        )
        felt = mean_acceleration(before, after, since)
        for column, values in zip(part.columns, felt[:2], strict=True):
            outputs[:, column] = np.where(np.isnan(since), outputs[:, column], values)
        return [known, outputs.reshape(times, -1), *part.kind.computed_values(*records)]

    def _records(self, part: _Part, known: Array) -> tuple[Any, Any, Any]:
        """States and inputs (T, B) and parameters (B,) of a group as records."""
        model, count = part.group.model, len(part.group.names)
        columns = [known[:, k : k + count] for k in range(0, known.shape[1], count)]
        states = record.size(model.State)
        x = record.unflatten(model.State, columns[:states])
        u = record.unflatten(model.Input, columns[states:])
        return x, u, record.unflatten(model.Params, list(part.group.params.T))

    def _params(self, part: _Part, times: int) -> Array:
        """Parameters of a group's vehicles, each repeated `times` times; cached until they
        change."""
        now = part.group.params
        kept = self._repeated.get(id(part.group))
        if kept is None or kept[0].shape[1] != times * len(now) or not np.array_equal(kept[1], now):
            kept = np.repeat(now.T, times, axis=1).T[None], now.copy()
            self._repeated[id(part.group)] = kept
        return kept[0]

    def _other(self, name: str, rows: Rows) -> Body:
        """Body of a block or a pedestrian."""
        places = rows.add(name, _POSE)
        shape, kind, colour = thing_shape(self.world.scene, name)
        return vehicle_body(name, shape, POSE_NAMES, places, kind=kind, colour=colour)

    def _tilting(self, body: Body, rows: Rows) -> Body:
        if body.kind != "vehicle":
            return body
        return replace(body, channels={**body.channels, **rows.add(body.name, ATTITUDE)})

    def _lidars(self) -> tuple[list[Scan], list[tuple[str, str]]]:
        scans: list[Scan] = []
        readings: list[tuple[str, str]] = []
        for spec in self.world.scene.vehicles:
            for one in spec.sensors:
                if isinstance(one, said.Laser):
                    at, step = one.pose, one.fov / max(one.nrays - 1, 1)
                    where = (float(at.x), float(at.y), float(at.yaw))
                    rays = (-0.5 * one.fov, step, one.nrays, one.max_range)
                    scans.append(Scan(one.name, spec.name, *where, *rays))
                    readings.append((spec.name, one.name))
        return scans, readings


class EpisodeStage:
    """Stage of an episode: named vehicles of one kind on the ground.

    Args:
        title: title of the stage.
        vehicle: the kind of vehicle.
        names: names of the vehicles.
        walls: segments x0, y0, x1, y1 in m, (k, 4).
        grid: occupancy grid.
        polygons: polygons on the ground.
        scans: lidars of the vehicles.
    """

    def __init__(
        self,
        title: str,
        vehicle: Vehicle,
        names: Sequence[str],
        *,
        walls: Array | None = None,
        grid: OccupiedGrid | None = None,
        polygons: Sequence[Polygon] = (),
        scans: Sequence[Scan] = (),
    ) -> None:
        rows, self._kind = Rows(), VehicleChannels(vehicle)
        bodies = [self._kind.add(rows, name) for name in names]
        self._trailers = Trailers([(body, self._kind.shape) for body in bodies], rows)
        self.stage = Stage(
            title,
            tuple(rows.channels),
            (*bodies, *self._trailers.bodies),
            tuple(scans),
            tuple(polygons),
            lines_of(walls),
            grids=() if grid is None else (shown_grid(grid),),
        )

    def row(self, vehicles: Sequence[tuple[Vehicle, Any, Any]]) -> Array:
        """Row of a moment, from each vehicle with its state and input."""
        values: list[float] = []
        for vehicle, x, u in vehicles:
            outputs = record.flatten(vehicle.outputs(x, u))
            computed = self._kind.computed_values(x, u, vehicle.params)
            values += [*record.flatten(x), *record.flatten(u), *outputs, *map(float, computed)]
        return self._trailers.added(np.array([values], float))[0]


def lines_of(walls: Array | None) -> tuple[Line, ...]:
    """Lines from segments (k, 4); consecutive segments are joined."""
    lines: list[list[tuple[float, float]]] = []
    for x0, y0, x1, y1 in [] if walls is None else walls.tolist():
        if lines and lines[-1][-1] == (x0, y0):
            lines[-1].append((x1, y1))
        else:
            lines.append([(x0, y0), (x1, y1)])
    return tuple(Line(tuple(points), "boundary") for points in lines)
