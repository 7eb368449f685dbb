"""Sources of a live server other than a session: playground, watched world, episode.

`playground` is the default world of `skidpad serve`: a track of cones and objects to run into.
A `WatchedWorld` is stepped by its owner, and an `EpisodePage` shows an environment in real time;
neither can be driven from the page.
"""

from __future__ import annotations

import sys
import time
import webbrowser
from collections.abc import Callable, Sequence
from math import atan2, cos, pi, sin
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...core.body import Outline
from ...geometry.line import Line, smooth_loop
from ...geometry.polygon import rectangle
from ...learn.pictures import SeenMoment
from ...learn.task import Task
from ...units import m, per_s, rad, s
from ...vehicles import wheeled
from ...vehicles.twin_track.model import formula_student
from ...world.scene import (
    BlockSpec,
    Laser,
    OwnDynamics,
    Pose,
    PropertyRegion,
    Scene,
    Settings,
    Shape,
    VehicleSpec,
    WallSpec,
)
from ...world.world import World
from ..stage import Line as Mark
from ..stage import Ranges, Scan, as_points, shape_of
from ..stages import EpisodeStage, WorldStage
from .arena import BOX_SIDE, KEYBOARD, PATH, box, cone
from .messages import Frame, Message, Moment, Outbox
from .server import LiveServer, has_display
from .session import LetGo

_CORNERS = (
    *((-30.0, -18.0), (-8.0, -19.5), (14.0, -18.0), (31.0, -15.0), (36.5, -4.0)),
    *((27.0, 2.5), (14.0, -2.0), (4.0, -4.5), (-4.0, 2.0), (3.0, 11.0), (0.0, 19.0)),
    *((-12.0, 20.0), (-22.0, 12.5), (-33.0, 8.0), (-38.5, -5.0)),
)
"""Points on the centre line of the track, counter-clockwise."""
_WIDTH: m = 5.0
_CONES_EVERY: m = 4.5
_HALF_X, _HALF_Y, _THICK = 47.0, 29.0, 0.5
"""Half lengths of the yard around the track, and thickness of its walls, in m."""
_LEFT, _RIGHT = "#2f6fde", "#e8b90c"
_PIT = Pose(-22.0, -25.0)
"""Waiting place of the car next to the straight."""
_GAP = (-14.0, 6.0)
"""Range of x without cones between the pit and the track, in m."""


class Playground(NamedTuple):
    """Arguments of an `Arena`."""

    scene: Scene
    lines: tuple[Mark, ...]
    starts: dict[str, str]
    title: str


def playground() -> Playground:
    """World with a Formula Student car on a track of cones, a second car, a robot, boxes and
    ice."""
    middle = _middle()
    scene = Scene(
        settings=Settings(timestep=0.005),
        vehicles=(
            _car("car", _PIT, lidar=True),
            _car("pace", _on(middle, 0.1)),
            _robot("robot", Pose(20.0, 14.0, yaw=pi)),
        ),
        blocks=(*_cones(middle), *_boxes()),
        walls=_walls(),
        elements=(
            PropertyRegion("friction_mu", 0.25, x_min=-44.0, x_max=-30.0, y_min=15.0, y_max=26.0),
        ),
    )
    starts = {"car": KEYBOARD, "pace": PATH}
    return Playground(scene, (Mark(as_points(middle), "centre"),), starts, "Playground")


def _middle() -> NDArray[np.float64]:
    """Closed centre line of the track, a point every half metre, the first one repeated at the
    end."""
    points = smooth_loop(np.array(_CORNERS), 0.5)
    return np.vstack([points, points[:1]])


def _on(middle: NDArray[np.float64], share: float) -> Pose:
    """Pose on the track, in its direction, at a share of its length."""
    k = round(share * (len(middle) - 1))
    (x, y), (d_x, d_y) = middle[k].tolist(), (middle[k + 1] - middle[k]).tolist()
    return Pose(x, y, yaw=atan2(d_y, d_x))


def _cones(middle: NDArray[np.float64]) -> list[BlockSpec]:
    line = Line.through(middle[:-1], closed=True)
    blocks: list[BlockSpec] = []
    for side, colour, name in ((0.5, _LEFT, "left"), (-0.5, _RIGHT, "right")):
        edge = Line.through(line.beside(side * _WIDTH), closed=True)
        for x, y in edge.resampled(_CONES_EVERY).vertices.tolist():
            if not (y < -20.0 and _GAP[0] < x < _GAP[1]):
                blocks.append(cone(f"{name} {len(blocks) + 1}", x, y, colour))
    return blocks


def _boxes() -> list[BlockSpec]:
    pitch = BOX_SIDE + 0.02
    places = [(24.0 + pitch * row, 19.0 + pitch * (k + 0.5 * row), 0.0)
              for row in range(4) for k in range(4 - row)]  # fmt: skip
    places += [(-17.0 + 1.6 * cos(a), -4.0 + 1.6 * sin(a), a) for a in np.arange(5) * 1.2566]
    return [box(f"crate {k + 1}", x, y, yaw) for k, (x, y, yaw) in enumerate(places)]


def _car(name: str, pose: Pose, *, lidar: bool = False) -> VehicleSpec:
    rays: Any = {"fov": 1.5 * pi, "nrays": 271, "max_range": 25.0}
    sensors = (Laser("lidar", Pose(0.9, 0.0, 0.3), period=0.05, **rays),) if lidar else ()
    # It collides with the box around body and wheels.
    car = shape_of(formula_student())
    x = [x for outline in car.outlines for x, _ in outline]
    half = max(abs(w.y) + 0.5 * w.width for w in car.wheels)
    box = rectangle(min(x), max(x), -half, half)
    shape = Shape(box, (box,), 0.1, 1.1, "default")
    return VehicleSpec(name, pose, OwnDynamics("formula_student"), shape, sensors=sensors)


def _robot(name: str, pose: Pose) -> VehicleSpec:
    """A small robot that can turn on the spot."""
    described = wheeled.differential(control=wheeled.Control("twist_pid"))
    outline: Outline = described.chassis.shape
    around: rad = 2.0 * pi * 359.0 / 360.0
    lidar = Laser("lidar", Pose(0.0, 0.0, 0.4), fov=around, nrays=180, max_range=12.0)
    shape = Shape(outline, (outline,), 0.05, 0.6)
    return VehicleSpec(name, pose, described, shape, sensors=(lidar,))


def _walls() -> tuple[WallSpec, ...]:
    x, y, t = _HALF_X, _HALF_Y, _THICK
    sides = {
        "south": ((-x - t, -y - t), (x + t, -y)),
        "north": ((-x - t, y), (x + t, y + t)),
        "west": ((-x - t, -y), (-x, y)),
        "east": ((x, -y), (x + t, y)),
    }
    return tuple(
        WallSpec(f"{name} wall", a, b, rectangle(a[0], b[0], a[1], b[1]), height=1.0, thickness=t)
        for name, (a, b) in sides.items()
    )


_STATUS: s = 0.5
"""Period of status messages."""
_REASON = "an environment runs here; it is driven by its actions"
_RATE = 60.0


class _Watched:
    """Source that cannot be driven; `reason` is sent to clients who try."""

    def __init__(self, reason: str, rate: per_s) -> None:
        self.outbox, self.rate = Outbox(), rate
        self._reason, self._sequence = reason, 0

    def stop(self) -> None:
        """Stop the source; the world it shows continues."""

    def submit(self, client: int, message: Message) -> None:
        """Refuse a client's message."""
        if not isinstance(message, LetGo):
            self.outbox.say("error", to=client, text=self._reason)

    def _put_frame(
        self, time: s, row: NDArray[np.float64], scans: Sequence[tuple[Ranges, bool]]
    ) -> None:
        """Queue a frame; each scan comes with whether it is new."""
        self._sequence += 1
        moment = Moment(self._sequence, 0, time, row, [scan for scan, _ in scans])
        self.outbox.frame(Frame(moment, frozenset(scan.scan for scan, new in scans if new)))


class WatchedWorld(_Watched):
    """Source that shows a world stepped by its owner, in the owner's thread.

    Args:
        world: the world.
        reason: why it cannot be driven, for clients who try.
        title: title of the view.
        rate: frame rate.
        clock: a monotonic clock in s.
    """

    def __init__(
        self,
        world: World,
        reason: str,
        *,
        title: str = "",
        rate: per_s = 30.0,
        clock: Callable[[], s] = perf_counter,
    ) -> None:
        super().__init__(reason, rate)
        self._world, self._title, self._clock = world, title, clock
        self._next_frame = self._next_status = clock()
        self._noted = clock(), world.time
        self._view = WorldStage(world, title)
        self._stage = self._view.stage

    def start(self) -> None:
        """Queue the description of the stage."""
        self.outbox.say_stage(self._stage)
        self.outbox.say("vehicles", vehicles=[])
        self._report(0.0)

    def show(self) -> None:
        """Queue a frame if one is due; call it in the thread that steps the world."""
        now = self._clock()
        if now >= self._next_frame:
            self._next_frame = max(self._next_frame + 1.0 / self.rate, now)
            self._put_frame(self._world.time, self._view.row(), self._view.scans_now())
        if now >= self._next_status:
            self._next_status = now + _STATUS
            (then, before), self._noted = self._noted, (now, self._world.time)
            self._report((self._world.time - before) / (now - then) if now > then else 0.0)

    def renew(self) -> None:
        """Show a restarted world; call it in the thread that steps it."""
        self._view = WorldStage(self._world, self._title)
        self._noted = self._clock(), self._world.time
        self._next_frame = self._clock()

    def _report(self, reached: float) -> None:
        factor = round(max(reached, 0.0), 3)
        self.outbox.say_status(real_time_factor=factor, watched=self._reason)


class WatchedEpisode(_Watched):
    """Episode of a learning environment as a `Source`."""

    def __init__(self, task: Task) -> None:
        super().__init__(_REASON, _RATE)
        self._task = task
        self._names = [f"car_{k}" for k in range(task.agents)]
        self._shown: tuple[Any, ...] = ()
        self._view: EpisodeStage | None = None

    def start(self) -> None:
        """Queue the description of the stage."""
        self.outbox.say("vehicles", vehicles=[])
        self.outbox.say_status(watched=_REASON)

    def show(self, seen: SeenMoment) -> None:
        """Queue a frame of this moment, on the stage of its track."""
        if self._view is None or (seen.track, seen.marks) != self._shown:
            self._view, self._shown = self._stage(seen), (seen.track, seen.marks)
            self.outbox.say_stage(self._view.stage)
        row = self._view.row([one[:3] for one in seen.vehicles])
        scans = [(Ranges(k, v.ranges), True) for k, v in enumerate(seen.vehicles) if len(v.ranges)]
        self._put_frame(seen.time, row, scans)

    def _stage(self, seen: SeenMoment) -> EpisodeStage:
        task = self._task
        track = None if seen.track is None else task.tracks[seen.track]
        scans: list[Scan] = []
        if (lidar := task.lidar) is not None:
            first, second = lidar.angles[:2].tolist()
            rays = (first, second - first, lidar.rays, lidar.range)
            scans = [Scan("lidar", name, lidar.x, lidar.y, 0.0, *rays) for name in self._names]
        title = task.name if track is None else f"{task.name}: {track.name}"
        ground: dict[str, Any] = {}
        if track is not None:
            ground = {"walls": track.walls, "grid": track.grid}
        kind, names = task.vehicle, self._names
        return EpisodeStage(title, kind, names, polygons=seen.marks, scans=scans, **ground)


class EpisodePage:
    """Server that shows an environment's episodes in a browser on this machine.

    Args:
        task: task of the environment.
        clock: a monotonic clock in s.
        sleep: waits for a time in s.
    """

    def __init__(
        self,
        task: Task,
        clock: Callable[[], s] = perf_counter,
        sleep: Callable[[s], None] = time.sleep,
    ) -> None:
        self._source = WatchedEpisode(task)
        self._clock, self._sleep = clock, sleep
        self._begun = self._next_frame = clock()
        self._server = LiveServer(self._source)
        self._server.start()
        self.url = self._server.url
        print(f"the environment is at {self.url}", file=sys.stderr)
        if has_display():
            webbrowser.open(self.url)

    def show(self, seen: SeenMoment) -> None:
        """Wait until this moment is due in real time, then show it."""
        now = self._clock()
        if seen.time == 0.0:
            self._begun = self._next_frame = now
        due = self._begun + seen.time
        if now < due:
            self._sleep(due - now)
        else:
            # Who is late has missed that time: nothing is caught up.
            self._begun = now - seen.time
        if max(now, due) >= self._next_frame:
            self._next_frame = max(now, due) + 1.0 / _RATE
            self._source.show(seen)

    def close(self) -> None:
        """Stop the server."""
        self._server.stop()
