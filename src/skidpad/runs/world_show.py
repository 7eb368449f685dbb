"""A world as a show, with somebody who tells its vehicles what to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..brief import brief_repr
from ..errors import SkidpadError
from ..recording.world_recorder import WorldRecorder
from ..stage.film import ScanAt
from ..stage.world_stage import WorldStage
from ..units import m, per_s, s
from ..world.world import World
from .laps import StartLine
from .show import Picture, Segment, input_columns

RATE: per_s = 30.0
"""Samples per second, unless somebody wants it otherwise."""
DURATION: s = 10.0
APART: s = 1.0
"""Who touches the same thing again within this time collides with it once."""
HALF_WIDTH: m = 1.0
"""Of the start line of a vehicle that follows a closed path of its own."""


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
        rate: per_s = RATE,
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
        rows = self._view.rows(np.array(taken)) if taken else self._nothing()
        return Segment(
            np.array(times),
            np.array(motion).reshape(len(times), -1, 6),
            np.array(inputs).reshape(len(times), len(self.inputs)),
            collisions,
            np.array(sampled),
            rows,
            scans,
        )

    def _nothing(self) -> Array:
        return np.empty((0, len(self.stage.channels)))

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
