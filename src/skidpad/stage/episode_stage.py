"""The stage of vehicles of one kind among walls, and a row of its numbers for each moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .. import record
from ..arrays import Array
from ..model import Vehicle
from ..plane.maps.grid import Grid as OccupiedGrid
from .computed import ComputedMotion
from .description import Body, Line, Polygon, Scan, Stage
from .layout import Rows, named_channels
from .shapes import drawn_wheels, shape_of
from .standing import shown_grid
from .trailers import Trailers


class EpisodeStage:
    """Some vehicles of one kind on the ground, by their names.

    Args:
        title: of what is shown.
        vehicle: what each of them is.
        names: of them.
        walls: segments x0, y0, x1, y1 in m, (k, 4).
        grid: what is occupied.
        polygons: on the ground.
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
        rows, shape = Rows(), shape_of(vehicle)
        self._motion = ComputedMotion(vehicle)
        states, inputs, outputs = named_channels(vehicle.model)
        bodies: list[Body] = []
        for name in names:
            places = rows.add(name, [*states, *inputs, *outputs, *self._motion.named])
            at = (places[field] for field in self._motion.pose)
            wheels = drawn_wheels(shape.wheels, places)
            body = Body(name, "vehicle", shape.outlines, *at, wheels=wheels, channels=places)
            bodies.append(replace(body, model=vehicle.name))
        self._trailers = Trailers([(body, shape) for body in bodies], rows)
        self.stage = Stage(
            title,
            tuple(rows.channels),
            (*bodies, *self._trailers.bodies),
            tuple(scans),
            tuple(polygons),
            lines_of(walls),
            grids=() if grid is None else (shown_grid(grid),),
        )
        """What there is to see."""

    def row(self, vehicles: Sequence[tuple[Vehicle, Any, Any]]) -> Array:
        """The numbers of a moment: each vehicle with its state and input."""
        values: list[float] = []
        for vehicle, x, u in vehicles:
            outputs = record.flatten(vehicle.outputs(x, u))
            computed = self._motion.values(x, u, vehicle.params)
            values += [*record.flatten(x), *record.flatten(u), *outputs, *map(float, computed)]
        return self._trailers.added(np.array([values], float))[0]


def lines_of(walls: Array | None) -> tuple[Line, ...]:
    """Segments (k, 4) as lines, those that go on from each other as one."""
    lines: list[list[tuple[float, float]]] = []
    for x0, y0, x1, y1 in [] if walls is None else walls.tolist():
        if lines and lines[-1][-1] == (x0, y0):
            lines[-1].append((x1, y1))
        else:
            lines.append([(x0, y0), (x1, y1)])
    return tuple(Line(tuple(points), "boundary") for points in lines)
