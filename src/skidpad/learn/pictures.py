"""Rendering of an environment with its vehicles, as image arrays or on a page in the browser."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..core import record
from ..core.arrays import AnyArray, Array
from ..core.body import Pose, body_of
from ..core.model import Vehicle
from ..errors import InvalidValue
from ..geometry.pixels import Pixels
from ..geometry.pose import to_world
from ..units import s
from ..view.frames import FramePainter
from ..view.stage import Polygon, place_vehicle
from .environments import Environments
from .task import lane_of

RENDER_MODES = ("human", "rgb_array")
_MOST_PAINTERS = 64
"""Largest number of cached painters: one per ground, which differs with the goal."""


class Seen(NamedTuple):
    """One vehicle of a rendered environment."""

    vehicle: Vehicle
    """Vehicle with the parameters of this episode."""
    x: Any
    u: Any
    """Input of the last control period."""
    ranges: AnyArray
    """Ranges of its lidar in m; empty without a lidar."""


class SeenMoment(NamedTuple):
    """One environment at the current time."""

    time: s
    """Time since the start of the episode."""
    track: int | None
    """Index of its track, or None."""
    marks: tuple[Polygon, ...]
    """Markings on the ground."""
    vehicles: tuple[Seen, ...]


class Rendering:
    """Display of one environment: as images, on a page, or not at all.

    Args:
        environments: environments with one world.
        mode: "rgb_array", "human" or None.
    """

    def __init__(self, environments: Environments, mode: str | None) -> None:
        self.human = mode == "human"
        self._environments, self._mode, self._begun = environments, mode, False
        self._pictures = Pictures(environments)
        self._page: Any = None

    def begin(self) -> None:
        self._begun = True
        if self.human:
            self.render()

    def render(self) -> Pixels | None:
        """Image (height, width, 3), or None if it is shown on the page."""
        if not self._begun:
            raise InvalidValue("no episode has begun: call reset() before render()")
        if not self.human:
            return self._pictures.frame(0) if self._mode else None
        if self._page is None:
            from ..view.live.server import EpisodePage

            self._page = EpisodePage(self._environments.task)
        self._page.show(self._pictures.moment(0))
        return None

    def close(self) -> None:
        page, self._page, self._begun = self._page, None, False
        if page is not None:
            page.close()


class Pictures:
    def __init__(self, environments: Environments) -> None:
        self._environments, self._task = environments, environments.task
        self._lanes: dict[int, Polygon] = {}
        self._painters: dict[tuple[Any, ...], FramePainter] = {}

    def frame(self, world: int) -> Pixels:
        """Image (height, width, 3) of one environment, centred on its first vehicle."""
        moment = self.moment(world)
        shown = (moment.track, moment.marks)
        painter = self._painters.get(shown)
        if painter is None:
            if len(self._painters) >= _MOST_PAINTERS:
                self._painters.clear()
            of_track: dict[str, Any] = {}
            if moment.track is not None:
                track = self._task.tracks[moment.track]
                of_track = {"walls": track.walls, "grid": track.grid}
            painter = self._painters[shown] = FramePainter(polygons=moment.marks, **of_track)
        shapes = [place_vehicle(one.vehicle, one.x, u=one.u) for one in moment.vehicles]
        hits = [self._hits(one) for one in moment.vehicles]
        return painter.frame(shapes, lidar=np.concatenate(hits))

    def moment(self, world: int) -> SeenMoment:
        """Current state of one environment, ready to be drawn."""
        environments, task = self._environments, self._task
        engine: Any = environments.engine
        rows = range(world * task.agents, (world + 1) * task.agents)
        track = int(engine.q[0, rows[0], 0]) if task.tracks else None
        time = float(environments.steps[rows[0]] * task.dt)
        marks = self._marks(engine, rows[0], track)
        return SeenMoment(time, track, marks, tuple(self._seen(engine, row) for row in rows))

    def _marks(self, engine: Any, row: int, track: int | None) -> tuple[Polygon, ...]:
        task = self._task
        if task.marks is not None:
            m = record.unflatten(task.Memory, _last(engine.m[0, row], record.size(task.Memory)))
            return tuple(task.called("marks", {"m": m, "q": self._own(engine, row)}))
        if track is None:
            return ()
        if track not in self._lanes:
            self._lanes[track] = lane_of(task.tracks[track])
        return (self._lanes[track],)

    def _own(self, engine: Any, row: int) -> Any:
        """Parameters of the task in this episode."""
        Params = self._task.Params
        return record.unflatten(Params, _last(engine.q[0, row], record.size(Params)))

    def _seen(self, engine: Any, row: int) -> Seen:
        task, model = self._task, self._task.vehicle.model
        x = record.unflatten(model.State, engine.x[0, row, : record.size(model.State)].tolist())
        leaves = engine.p[0, row if engine.p.shape[1] > 1 else 0, : record.size(model.Params)]
        vehicle = task.vehicle
        if any(name.startswith("params.") for name in task.randomised):
            vehicle = vehicle.with_params(record.unflatten(model.Params, leaves.tolist()))
        a = record.unflatten(task.Action, engine.a[0, row].tolist())
        q = self._own(engine, row)
        u = task.called("act", {"x": x, "a": a, "p": task.vehicle.params, "q": q, "dt": task.dt})
        fields = record.size(task.Observation)
        reach = 0.0 if task.lidar is None else task.lidar.range
        return Seen(vehicle, x, u, engine.observation[row, fields:] * reach)

    def _hits(self, seen: Seen) -> Array:
        """Points (n, 2) hit by the lidar of a vehicle, in the world frame, in m."""
        lidar = self._task.lidar
        if lidar is None:
            return np.empty((0, 2))
        body = body_of(seen.vehicle, "a picture")
        pose = Pose(*map(float, body.pose(seen.x, seen.vehicle.params)))
        x, y = to_world(pose, lidar.x, lidar.y)
        ranges = np.asarray(seen.ranges.tolist())
        hit = ranges < 0.999 * lidar.range
        along = lidar.angles[hit] + pose.yaw
        reach = ranges[hit]
        return np.column_stack([x + reach * np.cos(along), y + reach * np.sin(along)])


def _last(values: Any, count: int) -> list[float]:
    numbers = values.tolist()
    return numbers[len(numbers) - count :]
