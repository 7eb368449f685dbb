"""The stage of a world, and its numbers taken step by step."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .. import record
from ..arrays import AnyArray, Array
from ..body import body_of
from ..compile import pipeline
from ..compile.cpu import CpuMap
from ..sensing.lidar import Scan as Reading
from ..world.motion.bodies import mean_acceleration
from ..world.motion.groups import Group
from ..world.scene import sensors as said
from ..world.world import World
from .computed import ComputedMotion
from .description import Body, Line, Scan, Stage
from .layout import ATTITUDE, Named, Rows, named_channels
from .shapes import BodyShape, drawn_wheels, shape_of
from .standing import still_life
from .trailers import Trailers

__all__ = ["WorldStage"]

_FELT = ("a_x", "a_y")
"""Accelerations of the centre of mass, along and across the vehicle."""
_POSE = (Named("x", "m", "state"), Named("y", "m", "state"), Named("yaw", "rad", "state"))
_CIRCLE = tuple((float(np.cos(a)), float(np.sin(a))) for a in np.arange(16) * np.pi / 8.0)


class _Part(NamedTuple):
    """Where the numbers of a group lie in what is taken and in the rows."""

    group: Group
    taken: slice
    """States, inputs and disturbances, field by field."""
    outputs: CpuMap | None
    motion: ComputedMotion
    accelerations: _Accelerations | None


class _Accelerations(NamedTuple):
    """Where the accelerations of the centres of mass of a group go, in place of those that the
    forces of their tyres alone would give."""

    taken: slice
    """Poses and velocities at the row before (B, 6) and the time since then, NaN if there is none,
    of each vehicle."""
    columns: tuple[int, int]
    """Of a_x and a_y among the outputs."""
    centres: Array
    """Centres of mass (2, B) in the axes of the vehicles."""


class _Moment(NamedTuple):
    """How everything moved when it was last taken."""

    time: float
    motions: list[Array]
    jumps: list[AnyArray]


class WorldStage:
    """The stage of a world and the rows of numbers that go with it.

    Taking numbers is a copy of arrays; what has to be computed from them (outputs such as wheel
    loads) is computed for many rows together, when somebody wants to see them.

    Where `a_x` and `a_y` are outputs, a row has the mean acceleration of the centre of mass since
    the row before: the change of its velocity, impulses of contacts included, in the axes of the
    vehicle. Of the first row, and of a vehicle that was put elsewhere, it has the model's.
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
        self._place_accelerations()
        """How many numbers `take` gives."""
        self._repeated: dict[int, tuple[Array, Array]] = {}
        self.scans, self._readings = self._lidars()
        self.stage = Stage(
            title=title or Path(world.scene.file).name or "world",
            channels=tuple(rows.channels),
            bodies=tuple(bodies),
            scans=tuple(self.scans),
            lines=tuple(lines),
            **still_life(world.scene),
        )
        """What there is to see."""

    def take(self, out: Array | None = None) -> Array:
        """The numbers of this moment, to be turned into rows by `rows`; into `out` if it is given.

        They are as many as `width`.
        """
        taken, at = np.empty(self.width) if out is None else out, 0
        for group in self.world.groups:
            for table in (group.state, group.inputs, group.disturbances):
                # Straight to where they go: on the way they would push the world out of the cache.
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
        """Note how the vehicles move, and take how they did when they were last taken."""
        measured = [part for part in self._parts if part.accelerations is not None]
        if not measured:
            return
        time, then = self.world.time, self._now
        bodies = [self.world.vehicles[part.group.names[0]].bodies for part in measured]
        if then is None or time != then.time:
            self._before = then if then is not None and then.time < time else None
            self._now = _Moment(time, [b.motions for b in bodies], [b.jumps.copy() for b in bodies])
        before = self._before
        for k, part in enumerate(measured):
            assert part.accelerations is not None
            table = taken[part.accelerations.taken].reshape(len(part.group.names), 7)
            if before is None:
                table[:] = np.nan
                continue
            table[:, :6], table[:, 6] = before.motions[k], time - before.time
            table[before.jumps[k] != bodies[k].jumps] = np.nan

    def rows(self, taken: Array) -> Array:
        """Rows (T, channels) of the stage from what `take` gave, (T, ...)."""
        columns = [np.empty((len(taken), 0))]
        for part in self._parts:
            columns += self._group_rows(part, taken)
        columns.append(taken[:, self._size : self._stated])
        return self._trailers.added(np.concatenate(columns, axis=1))

    def row(self) -> Array:
        """The row of this moment."""
        return self.rows(self.take()[None])[0]

    def readings(self) -> list[Reading | None]:
        """The latest scan of every lidar of the stage; None of one that has none yet."""
        sensing = self.world.sensing
        return [sensing.of(owner)[name] for owner, name in self._readings]

    def _add_group(self, group: Group, rows: Rows) -> list[Body]:
        states, inputs, outputs = named_channels(group.model)
        if _accelerations(outputs) is not None:
            outputs = [n._replace(role="measured") if n.name in _FELT else n for n in outputs]
        motion = ComputedMotion(group.vehicles[0])
        places = rows.add_many(group.names, [*states, *inputs, *outputs, *motion.named])
        widths = (len(states), len(inputs), record.size(group.model.Disturbance))
        size = len(group.names) * sum(widths)
        program = None
        if outputs:
            program = CpuMap(pipeline.outputs_program(group.vehicles[0]), "float64", 1)
        part = slice(self._size, self._size + size)
        self._parts.append(_Part(group, part, program, motion, None))
        self._size += size
        return [
            self._vehicle(name, motion.pose, one)
            for name, one in zip(group.names, places, strict=True)
        ]

    def _place_accelerations(self) -> None:
        """Find where the accelerations come from, behind everything else that is taken."""
        for k, part in enumerate(self._parts):
            columns = _accelerations(named_channels(part.group.model)[2])
            if columns is None:
                continue
            size = 7 * len(part.group.names)
            own = slice(self.width, self.width + size)
            self.width += size
            built = [self.world.vehicles[name].built for name in part.group.names]
            centres = np.array([one.geometry.centre_of_mass for one in built], float).T
            self._parts[k] = part._replace(accelerations=_Accelerations(own, columns, centres))

    def _vehicle(self, name: str, pose: tuple[str, ...], places: dict[str, int]) -> Body:
        vehicle = self.world.vehicles[name].built.vehicle
        self._shapes[name] = shape = shape_of(vehicle)
        at = (places[field] for field in pose)
        wheels = drawn_wheels(shape.wheels, places)
        body = Body(name, "vehicle", shape.outlines, *at, wheels=wheels, channels=places)
        return replace(body, model=vehicle.name)

    def _group_rows(self, part: _Part, taken: Array) -> list[Array]:
        """States and inputs, and outputs of a group, field by field, (T, ...) each."""
        group, count, times = part.group, len(part.group.names), len(taken)
        model = group.model
        sizes = [record.size(kind) for kind in (model.State, model.Input, model.Disturbance)]
        ends = np.cumsum([0, *sizes]) * count
        own = taken[:, part.taken]
        known = own[:, : ends[2]]
        computed = self._computed(part, known)
        if part.outputs is None:
            return [known, *computed]
        # With the times last, vehicles at all times lie behind each other in every field.
        flat = np.ascontiguousarray(own.T)
        x, u, w = (
            flat[a:b].reshape(n, count * times).T[None]
            for (a, b), n in zip(itertools.pairwise(ends), sizes, strict=True)
        )
        y = part.outputs.run([x, x, u, w, self._params(part, times)], count * times)[0]
        outputs = y.reshape(count, times, -1).transpose(1, 2, 0)
        if part.accelerations is not None:
            outputs = outputs.copy()
            self._put_accelerations(part, known, taken[:, part.accelerations.taken], outputs)
        return [known, outputs.reshape(times, -1), *computed]

    def _put_accelerations(self, part: _Part, known: Array, before: Array, outputs: Array) -> None:
        """Write accelerations into outputs (T, fields, B), from states and inputs field by field
        and what was taken of the row before (T, B * 7)."""
        assert part.accelerations is not None
        _, columns, (x, y) = part.accelerations
        table = before.reshape(len(known), -1, 7)
        body = body_of(part.group.vehicles[0], "a picture")
        s, u, p = self._records(part, known)
        now = np.broadcast_arrays(*body.pose(s, p), *body.velocity(s, u, p))
        then = [table[:, :, k] for k in range(6)]
        mean = mean_acceleration(_at_point(then, x, y), _at_point(now, x, y), table[:, :, 6])
        for column, values in zip(columns, mean[:2], strict=True):
            given = outputs[:, column]
            outputs[:, column] = np.where(np.isnan(table[:, :, 6]), given, values)

    def _computed(self, part: _Part, known: Array) -> list[Array]:
        """What the bodies of a group compute (T, B) from states and inputs field by field."""
        return part.motion.values(*self._records(part, known)) if part.motion.named else []

    def _records(self, part: _Part, known: Array) -> tuple[Any, Any, Any]:
        """States, inputs (T, B) and parameters (B,) of a group as records."""
        model, count = part.group.model, len(part.group.names)
        columns = [known[:, k : k + count] for k in range(0, known.shape[1], count)]
        states = record.size(model.State)
        x = record.unflatten(model.State, columns[:states])
        u = record.unflatten(model.Input, columns[states:])
        return x, u, record.unflatten(model.Params, list(part.group.params.T))

    def _params(self, part: _Part, times: int) -> Array:
        """Parameters of the vehicles of a group, each so many times; kept until they change."""
        now = part.group.params
        kept = self._repeated.get(id(part.group))
        if kept is None or kept[0].shape[1] != times * len(now) or not np.array_equal(kept[1], now):
            kept = np.repeat(now.T, times, axis=1).T[None], now.copy()
            self._repeated[id(part.group)] = kept
        return kept[0]

    def _other(self, name: str, rows: Rows) -> Body:
        """A block or somebody who walks."""
        places = rows.add(name, _POSE)
        scene = self.world.scene
        block = next((b for b in scene.blocks if b.name == name), None)
        if block is not None:
            outlines = (tuple((float(x), float(y)) for x, y in block.shape.outline),)
            kind, colour = "block", block.color
        else:
            actor = next(a for a in scene.actors if a.name == name)
            r = actor.collision_radius
            outlines, kind, colour = (tuple((r * x, r * y) for x, y in _CIRCLE),), "actor", ""
        at = (places["x"], places["y"], places["yaw"])
        return Body(name, kind, outlines, *at, channels=places, colour=colour)

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


def _accelerations(outputs: Sequence[Named]) -> tuple[int, int] | None:
    """Places of a_x and a_y among the outputs; None of a model that has not got both."""
    names = [one.name for one in outputs]
    return (names.index("a_x"), names.index("a_y")) if {*_FELT} <= {*names} else None


def _at_point(motion: Sequence[Any], x: Any, y: Any) -> list[Any]:
    """Pose and velocity with the velocity of another point of the body, seen from its own."""
    *pose, v_x, v_y, omega = motion
    return [*pose, v_x - omega * y, v_y + omega * x, omega]
