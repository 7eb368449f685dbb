"""The episode of an environment on the page, in step with the clock, for people to watch."""

from __future__ import annotations

import json
import sys
import time
import webbrowser
from collections.abc import Callable
from time import perf_counter
from typing import Any

from ...learn.pictures import SeenMoment
from ...learn.task import Task
from ...stage.description import Scan
from ...stage.episode_stage import EpisodeStage
from ...units import s
from .frames import Frame, Moment, Ranges
from .messages import Message
from .outbox import Outbox
from .server import LiveServer, has_display
from .session import LetGo

_REASON = "an environment runs here; it is driven by its actions"
_RATE = 60.0


class WatchedEpisode:
    """What a server shows of an environment; see `Source`."""

    def __init__(self, task: Task) -> None:
        self.outbox, self.rate = Outbox(), _RATE
        self._task, self._sequence = task, 0
        self._names = [f"car_{k}" for k in range(task.agents)]
        self._shown: tuple[Any, ...] = ()
        self._view: EpisodeStage | None = None

    def start(self) -> None:
        """Say what there is to see."""
        self.outbox.say("vehicles", vehicles=[])
        self.outbox.say(
            "status", paused=False, factor=1.0, real_time_factor=1.0, recording=False, file=None,
            message="", watched=_REASON,
        )  # fmt: skip

    def stop(self) -> None:
        """The environment goes on without being watched."""

    def submit(self, client: int, message: Message) -> None:
        """Tell a client that this is not the place."""
        if not isinstance(message, LetGo):
            self.outbox.say("error", to=client, text=_REASON)

    def show(self, seen: SeenMoment) -> None:
        """A frame of this moment, on the stage of its track."""
        if self._view is None or (seen.track, seen.marks) != self._shown:
            self._view, self._shown = self._stage(seen), (seen.track, seen.marks)
            stage = self._view.stage.to_json()
            text = json.dumps(stage, separators=(",", ":"), allow_nan=False)
            self.outbox.say("stage", stage=text)
        self._sequence += 1
        row = self._view.row([one[:3] for one in seen.vehicles])
        scans = [Ranges(k, v.ranges) for k, v in enumerate(seen.vehicles) if len(v.ranges)]
        moment = Moment(self._sequence, 0, seen.time, row, scans)
        self.outbox.frame(Frame(moment, frozenset(range(len(scans)))))

    def _stage(self, seen: SeenMoment) -> EpisodeStage:
        task = self._task
        track = None if seen.track is None else task.tracks[seen.track]
        return EpisodeStage(
            task.name if track is None else f"{task.name}: {track.name}",
            task.vehicle,
            self._names,
            walls=None if track is None else track.walls,
            grid=None if track is None else track.grid,
            polygons=seen.marks,
            scans=self._scans(),
        )

    def _scans(self) -> list[Scan]:
        lidar = self._task.lidar
        if lidar is None:
            return []
        first, second = lidar.angles[:2].tolist()
        rays = (first, second - first, lidar.rays, lidar.range)
        return [Scan("lidar", name, lidar.x, lidar.y, 0.0, *rays) for name in self._names]


class EpisodePage:
    """Serves the episode of an environment to browsers on this machine and opens one.

    Args:
        task: of the environment.
        clock: a clock in s that never goes back.
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
        """Address of the page."""
        print(f"the environment is at {self.url}", file=sys.stderr)
        if has_display():
            webbrowser.open(self.url)

    def show(self, seen: SeenMoment) -> None:
        """Wait until this moment is due in real time, and show it."""
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
        """End the server."""
        self._server.stop()
