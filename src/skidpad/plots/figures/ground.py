"""The path over ground with the vehicle drawn at intervals, on a map if there is one."""

from __future__ import annotations

import numpy as np

from ...arrays import Array
from ...errors import InvalidValue
from ...model import Vehicle
from ...plane.maps import Map
from ...stage import BodyShape, Stage
from ...stage.trajectory_stage import trajectory_stage
from ...trajectory.trajectory import Trajectory
from ..numbers.bodies import placed
from ..panels import speed
from ..path_diagram import path_diagram, travelled
from .map_marks import map_extent, map_marks
from .sheet import INK, Areas, Cell, Diagram, Mark, Sheet
from .stage_marks import still_extent, still_marks

BODY, WHEEL, TRAILER = "#9FB4C7", "#444444", "#C2CDD6"
MOST_DRAWN = 400
"""Vehicles on one path; more could not be told apart."""


def moments(run: Trajectory, every: float | None, count: int) -> Array:
    """Times in s at which the vehicle is drawn: so far apart, or at equal distances on the path."""
    if every is not None:
        if not (np.isfinite(every) and every > 0.0):
            raise InvalidValue(f"every = {every} s must be finite and greater than 0")
        times = run.t[0] + every * np.arange(int(run.duration / every * (1.0 + 1e-12)) + 1)
    else:
        way = travelled(run)
        if count < 1 or not way[-1] > 0.0:
            times = run.t[:1] if count else run.t[:0]
        else:
            # Distance stands still with the car, so it has no inverse there.
            rising = np.append(True, np.diff(way) > 0.0)
            times = np.interp(np.linspace(0.0, way[-1], count), way[rising], run.t[rising])
    if len(times) > MOST_DRAWN:
        raise InvalidValue(
            f"every = {every} s draws {len(times)} vehicles; allowed are {MOST_DRAWN}"
        )
    return times


def vehicle_marks(run: Trajectory, vehicle: Vehicle | BodyShape, times: Array) -> list[Mark]:
    """Bodies, trailers and wheels at some times of a run."""
    if not len(times):
        return []
    columns = [c for c in run.columns if c.name in ("x", "y", "yaw", "steer", "hitch")
               or c.name.startswith("steer_")]  # fmt: skip
    drawn = Trajectory(run.t, tuple(columns), run.name).resample(times)
    stage, _, rows = trajectory_stage({"car": drawn}, vehicle)
    bodies: dict[str, list[Array]] = {"vehicle": [], "trailer": []}
    wheels: list[Array] = []
    for row in rows:
        for one in placed(stage, row):
            bodies[one.body.kind] += one.outlines
            wheels += one.wheels
    return [
        Areas(tuple(bodies["trailer"]), fill=TRAILER, edge=INK, opacity=0.7),
        Areas(tuple(bodies["vehicle"]), fill=BODY, edge=INK, opacity=0.7),
        Areas(tuple(wheels), fill=WHEEL),
    ]


def ground_diagram(
    run: Trajectory,
    vehicle: Vehicle | BodyShape | None,
    ground: Map | Stage | None,
    *,
    every: float | None = None,
    count: int = 12,
) -> Diagram:
    """Map, path coloured by speed, and vehicles upon it."""
    if not {"x", "y"} <= set(run.names):
        raise InvalidValue(f"a path needs the columns x and y; there are {', '.join(run.names)}")
    above: list[Mark] = []
    if vehicle is not None:
        if "yaw" not in run:
            raise InvalidValue("a vehicle is drawn where it points: the column yaw is missing")
        above = [m for m in vehicle_marks(run, vehicle, moments(run, every, count)) if _some(m)]
    points = [m.outlines for m in above if isinstance(m, Areas)]
    within = np.vstack([o for outlines in points for o in outlines]) if points else np.empty((0, 2))
    below: list[Mark] = []
    if isinstance(ground, Stage):
        below, within = still_marks(ground), np.vstack([within, still_extent(ground)])
    elif ground is not None:
        below, within = map_marks(ground), np.vstack([within, map_extent(ground)])
    return path_diagram(
        run,
        speed(run),
        below=below,
        above=above,
        darts=vehicle is None,
        within=within,
    )


def _some(mark: Mark) -> bool:
    return not isinstance(mark, Areas) or bool(mark.outlines)


def ground_sheet(diagram: Diagram, title: str) -> Sheet:
    """One diagram, shaped as the path is."""
    spans = [
        1.0 if axis.low is None or axis.high is None else axis.high - axis.low
        for axis in (diagram.x, diagram.y)
    ]
    ratio = float(np.clip(spans[1] / spans[0], 0.3, 1.4))
    return Sheet((Cell(diagram, 0, 0),), (7.0,), (7.0 * ratio * 0.86 + 0.8,), title=title)
